/*
 * Workspace layout: offsets for values that live from one kernel to another, reused once they are
 * dead.
 */
#ifndef KILN_COMPILER_FUSE_WORKSPACE_H
#define KILN_COMPILER_FUSE_WORKSPACE_H

#include <stdint.h>

enum { KILN_WORKSPACE_ALIGNMENT_BYTES = 256 };

struct kiln_workspace_value {
    uint64_t bytes;
    uint32_t first_group;  /* the group that writes it */
    uint32_t last_group;   /* the last group that reads it, >= first_group */
    uint64_t offset_bytes; /* result */
    uint32_t next;         /* scratch: the next one up among those alive */
};

/*
 * Gives every value an offset such that values alive in the same group never overlap: first fit in
 * the order of the array, which must ascend in first_group. Returns the bytes of the whole
 * workspace.
 */
uint64_t kiln_workspace_assign(struct kiln_workspace_value *values, uint32_t count);

#endif
