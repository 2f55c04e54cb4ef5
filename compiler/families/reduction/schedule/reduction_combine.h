/*
 * Layouts, on a GPU, of the groups that combine what segments have left, of this family or another.
 * They are the same for all sizes, which are arguments.
 */
#ifndef KILN_COMPILER_FAMILIES_REDUCTION_REDUCTION_COMBINE_H
#define KILN_COMPILER_FAMILIES_REDUCTION_REDUCTION_COMBINE_H

#include "compiler/families/reduction/schedule/reduction_problem.h"

/*
 * A COMBINE group in the form `columns`. Segments leave little data, and it lies in a cache, so
 * latency dominates. The work is spread over as many work-groups and work-items as contiguous loads
 * allow. Usually there are eight segments, or a multiple of eight. If each tile of another kernel
 * leaves one, there are as many segments as tiles.
 *
 * Sets items_along_reduced and items_along_kept.
 */
void kiln_lay_out_combine(const struct kiln_reduction_problem *problem,
                          struct kiln_schedule *schedule);

/*
 * Segments along the first axis of loads (kiln_value_has_segment_axis). All loads of a work-item
 * are in flight at once, and no merge needs local memory. One work-item merges few segments. Many
 * segments occur only with few rows; a wave shares them, with as many neighbouring rows as a sector
 * holds.
 *
 * Sets items_along_reduced and items_along_kept, and raises steps_per_segment to the largest number
 * of segments that the kernel supports.
 */
void kiln_lay_out_merge(const struct kiln_reduction_problem *problem,
                        struct kiln_schedule *schedule);

#endif
