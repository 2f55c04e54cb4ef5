/*
 * Layouts, on a GPU, of the groups that combine what segments have left: of a reduction or a
 * contraction, or of attention. They are the same for all sizes, which are arguments.
 */
#ifndef KILN_COMPILER_SCHEDULE_REDUCTION_COMBINE_H
#define KILN_COMPILER_SCHEDULE_REDUCTION_COMBINE_H

#include "compiler/schedule/reduction_problem.h"

/*
 * A COMBINE group in the form `columns`. What segments have left is little, in a cache, and waited
 * for: it is shared out to as many work-groups and work-items as neighbours in memory allow. As a
 * rule there are eight segments, or a multiple of it (fuse/segments.h); where a contraction's tiles
 * have statistics, there are as many as tiles.
 *
 * Sets items_along_reduced and items_along_kept.
 */
void kiln_lay_out_combine(const struct kiln_reduction_problem *problem,
                          struct kiln_schedule *schedule);

/*
 * Segments of attention. All loads of a work-item are under way at once, and none needs local
 * memory: few segments are merged by one work-item; many, which occur where rows are few, are
 * shared out to a wave, which has as many neighbours as a sector.
 *
 * Sets items_along_reduced and items_along_kept, and raises steps_per_segment to the most segments
 * that the kernel is for.
 */
void kiln_lay_out_attention_merge(const struct kiln_reduction_problem *problem,
                                  struct kiln_schedule *schedule);

#endif
