/*
 * The accesses of a group: where in memory its loads and stores are. Internal to the partitioner.
 */
#ifndef KILN_COMPILER_FUSE_GROUP_ACCESSES_H
#define KILN_COMPILER_FUSE_GROUP_ACCESSES_H

#include "compiler/fuse/group_builder.h"

/*
 * The tensor whose order of axes in memory a value in the workspace follows, so that the kernels on
 * both sides walk as their other operands want: the one whose content it is, else the first input
 * of as many elements that it is computed from. KILN_NONE when there is none. Nothing but the
 * program decides: all groups see the same layout.
 */
uint32_t kiln_layout_tensor(struct kiln_group_builder *builder, uint32_t value);

/* Fills the accesses of a group whose ops are those of the last closure, of this cluster or
 * KILN_NONE, and which stores these items; false when memory is out. */
bool kiln_group_build_accesses(struct kiln_group_builder *builder, struct kiln_fusion_group *group,
                               uint32_t cluster, const uint32_t *items, uint32_t item_count);

#endif
