/*
 * Splitting a group that is too much for one kernel. Internal to the partitioner.
 */
#ifndef KILN_COMPILER_FUSE_SPLIT_GROUP_H
#define KILN_COMPILER_FUSE_SPLIT_GROUP_H

#include "compiler/fuse/group_builder.h"

/*
 * Appends the group that stores these items, or several one after the other when it would need more registers than half of
 * the target's (the other half is for addresses and vectors) or exceed KILN_GROUP_MAX_*: each time the front part is cut
 * off, stores what the rest needs, and the rest goes round again. Cuts made here hold for these items only.
 * False when memory is out.
 */
bool kiln_group_split_append(struct kiln_group_builder *builder, uint32_t domain,
                             enum kiln_boundary boundary, const uint32_t *first_items,
                             uint32_t first_item_count);

#endif
