/*
 * What a schedule moves through memory.
 */
#ifndef KILN_COMPILER_SCHEDULE_TRAFFIC_H
#define KILN_COMPILER_SCHEDULE_TRAFFIC_H

#include "compiler/schedule/schedule.h"

/* Fills bytes_moved and bytes_fewest of a schedule that is complete otherwise. `reads` is
 * kiln_pass_work.reads. */
void kiln_measure_traffic(const struct kiln_fusion_group *group, const struct kiln_target *target,
                          const uint32_t *reads, struct kiln_schedule *schedule);

#endif
