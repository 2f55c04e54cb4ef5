/*
 * Appends fusion groups: from the values that a kernel has to store, what it evaluates and what it
 * reads. Internal to the partitioner.
 */
#ifndef KILN_COMPILER_FUSE_APPEND_GROUP_H
#define KILN_COMPILER_FUSE_APPEND_GROUP_H

#include "compiler/fuse/group_builder.h"

/* Appends the group without a cluster that stores these items; false when memory is out. */
bool kiln_group_append(struct kiln_group_builder *builder, uint32_t domain,
                       enum kiln_boundary boundary, const uint32_t *items, uint32_t item_count);

/* Appends the group of a cluster that stores these items besides its accumulators; false when
 * memory is out. */
bool kiln_group_append_cluster(struct kiln_group_builder *builder, uint32_t cluster,
                               enum kiln_boundary boundary, const uint32_t *items,
                               uint32_t item_count);

#endif
