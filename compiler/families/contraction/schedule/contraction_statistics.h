/*
 * What a contraction's kernel does for statistics of its result (fuse/tile_statistics.h): what a
 * tile accumulates, how many tiles share a result, which lanes share a row.
 */
#ifndef KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_STATISTICS_H
#define KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_STATISTICS_H

#include "compiler/families/contraction/schedule/contraction_schedule.h"

/* Tiles of a contraction that share an accumulator. */
struct kiln_statistics_tiles {
    bool reduces_m, reduces_n; /* of the kernel: those along m, along n */
    uint32_t reduced_batches;  /* bit per batch axis: those along it */
    uint64_t batches;          /* the product of the sizes of these axes */
};

/* Axes are laid out; no tile has to be chosen. */
struct kiln_statistics_tiles
kiln_statistics_tiles(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                      const struct kiln_contraction_schedule *contraction);
/* The number of tiles that share one, with the tile of `contraction`. */
uint64_t kiln_count_statistics(const struct kiln_statistics_tiles *tiles,
                               const struct kiln_contraction_schedule *contraction);

/* Makes STATISTICS the ending of a contraction with tiles, and fills segment_count and lds_bytes of
 * its schedule, which has its block. The group has statistics, over m and n of the kernel or one of
 * them. */
void kiln_schedule_statistics(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                              const struct kiln_target *target,
                              const struct kiln_reduction_passes *passes,
                              struct kiln_schedule *schedule);

/* Of statistics of columns: vectors of a row that neighbouring work-items finish side by side. */
uint32_t kiln_vectors_abreast(const struct kiln_schedule *schedule);

/* Places in local memory where work-items meet to merge an accumulator: of columns one for each,
 * and some more to spread lanes over banks; of a tile one for each wave. */
uint32_t kiln_statistics_entries(const struct kiln_schedule *schedule,
                                 const struct kiln_target *target);

#endif
