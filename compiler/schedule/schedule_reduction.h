/*
 * Schedules of the template reduction.
 */
#ifndef KILN_COMPILER_SCHEDULE_SCHEDULE_REDUCTION_H
#define KILN_COMPILER_SCHEDULE_SCHEDULE_REDUCTION_H

#include "compiler/schedule/pass_work.h"

/* Fills what of a collapsed schedule with passes is left open, except grid, index_is_64bit and the
 * traffic. `is_dense` is scratch memory, one per access. */
void kiln_schedule_reduction(const struct kiln_graph *graph, const struct kiln_fusion_group *group,
                             const struct kiln_target *target, const struct kiln_pass_work *work,
                             bool *is_dense, struct kiln_schedule *schedule);

/* Lowers the bound in `limits` (those of `schedule`) that the family gives up next; false when
 * there is none. First more work-items for a row, so that each holds less of it; then the row read
 * again in each pass; then fewer loads at once; then shorter vectors. */
bool kiln_relax_reduction(const struct kiln_schedule *schedule,
                          struct kiln_register_limits *limits);

#endif
