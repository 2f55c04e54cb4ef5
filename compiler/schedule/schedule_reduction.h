/*
 * Schedules of the template reduction.
 */
#ifndef KILN_COMPILER_SCHEDULE_SCHEDULE_REDUCTION_H
#define KILN_COMPILER_SCHEDULE_SCHEDULE_REDUCTION_H

#include "compiler/schedule/schedule.h"

/* Fills what of a collapsed schedule with passes is left open, except grid, index_is_64bit and the
 * traffic. `is_dense` is scratch memory, one per access; `reads` says for each access in how many
 * passes it is read (kiln_count_reads). */
void kiln_schedule_reduction(const struct kiln_graph *graph, const struct kiln_fusion_group *group,
                             const struct kiln_target *target,
                             const struct kiln_lower_options *options, const uint32_t *reads,
                             bool *is_dense, struct kiln_schedule *schedule);

#endif
