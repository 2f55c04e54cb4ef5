#include "runtime/support/memory_map.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool kiln_memory_is_ordinary(const void *address)
{
    uintptr_t wanted = (uintptr_t)address;
    FILE *file = fopen("/proc/self/maps", "re");
    char *line = NULL;
    size_t capacity = 0;
    bool is_found = false;
    bool is_ordinary = false;
    while (file != NULL && !is_found && getline(&line, &capacity, file) > 0) {
        uintptr_t start, end;
        char access[5];
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %4s", &start, &end, access) != 3)
            continue;
        is_found = wanted >= start && wanted < end;
        /* Drivers share their memory, through a file of theirs. */
        is_ordinary = is_found && access[3] == 'p' && access[0] == 'r' && access[1] == 'w' &&
                      strstr(line, " /dev/") == NULL;
    }
    free(line);
    if (file != NULL)
        (void)fclose(file);
    return is_ordinary;
}
