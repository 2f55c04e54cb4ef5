#include "compiler/fuse/workspace.h"

static uint64_t padded(uint64_t bytes)
{
    return (bytes + KILN_WORKSPACE_ALIGNMENT_BYTES - 1) / KILN_WORKSPACE_ALIGNMENT_BYTES *
           KILN_WORKSPACE_ALIGNMENT_BYTES;
}

enum { END = UINT32_MAX };

uint64_t kiln_workspace_assign(struct kiln_workspace_value *values, uint32_t count)
{
    uint64_t total = 0;
    uint32_t lowest = END; /* the list of values alive, by offset; whoever is dead stays dead */
    for (uint32_t index = 0; index < count; index++) {
        struct kiln_workspace_value *value = &values[index];
        uint32_t *link = &lowest;
        value->offset_bytes = 0;
        while (*link != END) {
            const struct kiln_workspace_value *other = &values[*link];
            if (other->last_group < value->first_group) {
                *link = other->next;
                continue;
            }
            if (other->offset_bytes >= value->offset_bytes + padded(value->bytes))
                break;
            value->offset_bytes = other->offset_bytes + padded(other->bytes);
            link = &values[*link].next;
        }
        value->next = *link;
        *link = index;
        if (value->offset_bytes + padded(value->bytes) > total)
            total = value->offset_bytes + padded(value->bytes);
    }
    return total;
}
