/*
 * The accesses of a group: where in memory its loads and stores are. Internal to the partitioner.
 */
#ifndef KILN_COMPILER_FUSE_GROUP_ACCESSES_H
#define KILN_COMPILER_FUSE_GROUP_ACCESSES_H

#include "compiler/fuse/group_builder.h"

/* Fills the accesses of a group whose ops are those of the last closure, of this cluster or
 * KILN_NONE, and which stores these items; false when memory is out. */
bool kiln_group_build_accesses(struct kiln_group_builder *builder, struct kiln_fusion_group *group,
                               uint32_t cluster, const uint32_t *items, uint32_t item_count);

#endif
