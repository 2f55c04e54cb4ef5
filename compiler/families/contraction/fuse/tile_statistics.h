/*
 * Statistics of a product's result that are more than one tile has: each tile's kernel accumulates
 * its own elements, and a COMBINE kernel merges what the tiles have stored. Internal to the
 * partitioner.
 */
#ifndef KILN_COMPILER_FAMILIES_CONTRACTION_TILE_STATISTICS_H
#define KILN_COMPILER_FAMILIES_CONTRACTION_TILE_STATISTICS_H

#include "compiler/fuse/group_builder.h"

/* True if the kernel of this contraction's cluster, which reduces nothing so far, may accumulate
 * its elements over these axes of its domain. */
bool kiln_may_have_statistics(const struct kiln_group_builder *builder,
                              const struct kiln_cluster *cluster, uint32_t axes);

/* Makes the cluster one that does, for the REDUCE `index`: it becomes PARTIAL and gets its COMBINE
 * cluster. So many segments are a guess: the schedule chooses the tiles. */
void kiln_begin_statistics(struct kiln_group_builder *builder, uint32_t cluster, uint32_t index,
                           uint32_t axes);

#endif
