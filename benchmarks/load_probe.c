/*
 * Loads a library in a process that has nothing but libc, and prints how long that took and what it
 * mapped: "NANOSECONDS MAPPED_COMPILERS". Linked with nothing of Kiln on purpose.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int count_compilers(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    if (!maps)
        return -1;
    int found = 0;
    char line[8192];
    while (fgets(line, sizeof(line), maps)) {
        const char *file = strrchr(line, '/');
        found += file && (strstr(file, "LLVM") || strstr(file, "clang") || strstr(file, "comgr"));
    }
    fclose(maps);
    return found;
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    struct timespec start;
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &start);
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    clock_gettime(CLOCK_MONOTONIC, &end);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    printf("%lld %d\n",
           (long long)(end.tv_sec - start.tv_sec) * 1000000000LL + (end.tv_nsec - start.tv_nsec),
           count_compilers());
    return 0;
}
