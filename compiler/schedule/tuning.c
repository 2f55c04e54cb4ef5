#include "compiler/schedule/tuning.h"

#include <string.h>

static const struct {
    const char *processors;
    struct kiln_tuning tuning;
} rows[] = {
#define KILN_TUNING(processors, bytes, row_bytes, sector, access, busy, full, comfortable, caches) \
    {processors, {bytes, row_bytes, sector, access, busy, full, comfortable, caches}},
#include "compiler/schedule/tuning.def"
};

const struct kiln_tuning *kiln_tuning_of(const struct kiln_target *target)
{
    size_t row = 0;
    while (row + 1 < sizeof rows / sizeof *rows &&
           strncmp(target->processor, rows[row].processors, strlen(rows[row].processors)) != 0)
        row++;
    return &rows[row].tuning;
}
