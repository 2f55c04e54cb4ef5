/*
 * Schedules of the templates pointwise and pointwise_tiled.
 */
#ifndef KILN_COMPILER_SCHEDULE_SCHEDULE_POINTWISE_H
#define KILN_COMPILER_SCHEDULE_SCHEDULE_POINTWISE_H

#include "compiler/schedule/schedule.h"

/* Fills what of a collapsed schedule is left open, except grid and index_is_64bit. `is_dense` is
 * scratch memory, one per access. */
void kiln_schedule_pointwise(const struct kiln_graph *graph, const struct kiln_fusion_group *group,
                             const struct kiln_target *target, bool *is_dense,
                             struct kiln_schedule *schedule);

/* Lowers the bound in `limits` (those of `schedule`) that the family gives up next; false when
 * there is none. First fewer vectors at once, then shorter ones. */
bool kiln_relax_pointwise(const struct kiln_schedule *schedule,
                          struct kiln_register_limits *limits);

#endif
