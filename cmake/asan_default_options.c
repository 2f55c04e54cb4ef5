/*
 * What the address sanitizer does unless ASAN_OPTIONS says otherwise, in every program of a build
 * with it.
 *
 * Up to GCC 13 and LLVM 16 its interceptor of __tls_get_addr takes a block of thread-local data
 * that starts 16 bytes behind a page for one of glibc before 2.25, and what stands before it for
 * its address and size; the leak check then reads there and dies ("Tracer caught signal 11").
 * A library that is loaded later, as compilers are here, has such a block in one of some hundred
 * layouts of the heap.
 */
#include <sanitizer/asan_interface.h>

__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
    return "intercept_tls_get_addr=0";
}
