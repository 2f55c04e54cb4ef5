#include "runtime/device/host_memory.h"

#include <stdbool.h>
#include <stdio.h>
#include <unistd.h>

enum { GUESSED_CACHE_BYTES = 64 << 20 };

uint64_t kiln_host_memory_available(void)
{
    unsigned long long kilobytes = 0;
    FILE *file = fopen("/proc/meminfo", "re");
    if (file) {
        char line[128];
        while (fgets(line, sizeof line, file) &&
               sscanf(line, "MemAvailable: %llu kB", &kilobytes) != 1) {
        }
        fclose(file);
    }
    if (kilobytes != 0)
        return (uint64_t)kilobytes << 10;
    long pages = sysconf(_SC_AVPHYS_PAGES);
    long page_bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : 0;
}

/* The number that a file of a CPU's third cache starts with; false when it does not. A missing file
 * is a cache that is not there. */
static bool read_cache_file(long cpu, const char *name, unsigned long long *ret_number)
{
    char path[96];
    (void)snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%ld/cache/index3/%s", cpu, name);
    FILE *file = fopen(path, "re");
    bool is_read = file != NULL && fscanf(file, "%llu", ret_number) == 1;
    if (file != NULL)
        fclose(file);
    return is_read;
}

/* Each cache counts once, with the first of the CPUs that share it; its size is "32768K". */
static uint64_t third_level_bytes(void)
{
    uint64_t bytes = 0;
    long cpus = sysconf(_SC_NPROCESSORS_CONF);
    for (long cpu = 0; cpu < cpus; cpu++) {
        unsigned long long first = 0;
        unsigned long long kilobytes = 0;
        if (read_cache_file(cpu, "shared_cpu_list", &first) && first == (unsigned long long)cpu &&
            read_cache_file(cpu, "size", &kilobytes))
            bytes += (uint64_t)kilobytes << 10;
    }
    return bytes;
}

uint64_t kiln_host_memory_cache_bytes(void)
{
    uint64_t bytes = third_level_bytes();
    if (bytes != 0)
        return bytes;
    /* In a virtual machine glibc 2.36 counts the caches of the whole processor, also those of cores
     * that the machine does not have; others hide them. */
    long cache_bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    return cache_bytes > 0 ? (uint64_t)cache_bytes : GUESSED_CACHE_BYTES;
}
