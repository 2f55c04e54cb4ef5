/*
 * What loading the plugin costs a process: time, and nothing of a compiler mapped.
 *
 * usage: plugin_load_test PLUGIN
 *
 * The limit of one millisecond is for release builds; the others only have to load.
 */
#include "tests/plugin_api/plugin_host.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { LOADS = 50, LIMIT_MICROSECONDS = 1000 };

/* Libraries that must not come along. */
static const char *const foreign[] = {"LLVM", "amd_comgr", "clang", "amdhip64", "libstdc++"};
enum { FOREIGN_COUNT = sizeof(foreign) / sizeof(foreign[0]) };

static double now_microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static bool is_mapped(const char *part)
{
    char line[1024];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && !found && fgets(line, sizeof(line), maps))
        found = strstr(line, part) != NULL;
    if (maps)
        fclose(maps);
    return found;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s PLUGIN\n", argv[0]);
        return 2;
    }
    /* This program itself may need some of them. */
    bool mapped_before[FOREIGN_COUNT];
    for (size_t i = 0; i < FOREIGN_COUNT; i++)
        mapped_before[i] = is_mapped(foreign[i]);
    double best = 1e12;
    for (int i = 0; i < LOADS; i++) {
        double start = now_microseconds();
        void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        double end = now_microseconds();
        if (!library) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        best = end - start < best ? end - start : best;
        dlclose(library);
        if (dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD)) {
            fprintf(stderr, "the plugin cannot be unloaded\n");
            return 1;
        }
    }
    printf("best of %d loads: %.0f microseconds\n", LOADS, best);

    struct plugin_host host;
    char text[PLUGIN_HOST_TEXT_BYTES];
    hipdnnEnginePluginHandle_t handle = NULL;
    if (!plugin_host_load(&host, argv[1], NULL, text) || host.hipdnnEnginePluginCreate(&handle)) {
        fprintf(stderr, "%s\n", text);
        return 1;
    }
    int faults = 0;
    for (size_t i = 0; i < FOREIGN_COUNT; i++) {
        if (!mapped_before[i] && is_mapped(foreign[i])) {
            fprintf(stderr, "loading the plugin maps '%s'\n", foreign[i]);
            faults++;
        }
    }
    host.hipdnnEnginePluginDestroy(handle);
    plugin_host_unload(&host);
    return faults > 0 || (KILN_MEASURE_LOAD && best > (double)LIMIT_MICROSECONDS);
}
