#include "compiler/fuse/workspace.h"

#include <stdbool.h>

static uint64_t padded(uint64_t bytes)
{
    return (bytes + KILN_WORKSPACE_ALIGNMENT_BYTES - 1) / KILN_WORKSPACE_ALIGNMENT_BYTES *
           KILN_WORKSPACE_ALIGNMENT_BYTES;
}

/* True when `offset` is free for value `index` against all values placed before it. */
static bool fits(const struct kiln_workspace_value *values, uint32_t index, uint64_t offset)
{
    for (uint32_t i = 0; i < index; i++) {
        bool together = values[i].last_group >= values[index].first_group;
        bool apart = offset >= values[i].offset_bytes + padded(values[i].bytes) ||
                     values[i].offset_bytes >= offset + padded(values[index].bytes);
        if (together && !apart)
            return false;
    }
    return true;
}

uint64_t kiln_workspace_assign(struct kiln_workspace_value *values, uint32_t count)
{
    uint64_t total = 0;
    for (uint32_t index = 0; index < count; index++) {
        /* The lowest free place starts at 0 or where an earlier value ends. */
        uint64_t best = fits(values, index, 0) ? 0 : UINT64_MAX;
        for (uint32_t i = 0; i < index && best != 0; i++) {
            uint64_t end = values[i].offset_bytes + padded(values[i].bytes);
            if (end < best && fits(values, index, end))
                best = end;
        }
        values[index].offset_bytes = best;
        if (best + padded(values[index].bytes) > total)
            total = best + padded(values[index].bytes);
    }
    return total;
}
