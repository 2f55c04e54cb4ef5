/*
 * The plugin carries the C++ runtime of its FlatBuffers reader inside. That runtime takes a pool of
 * memory when the library is loaded and keeps it; hosts of Nov 2025 load and unload plugins many
 * times, so it is given back here.
 */

/* __gnu_cxx::__freeres(). Weak: absent with other runtimes. Hidden, which compilers do not say of a
 * symbol that is defined elsewhere: never that of the process. */
extern void free_runtime_pool(void) __asm__("_ZN9__gnu_cxx9__freeresEv") __attribute__((weak));
__asm__(".hidden _ZN9__gnu_cxx9__freeresEv");

__attribute__((destructor)) static void free_pool(void)
{
    if (free_runtime_pool)
        free_runtime_pool();
}
