/*
 * What a schedule moves through memory.
 */
#ifndef KILN_COMPILER_SCHEDULE_TRAFFIC_H
#define KILN_COMPILER_SCHEDULE_TRAFFIC_H

#include "compiler/schedule/schedule.h"

/*
 * In how many passes of a reduction group each access is done, 1 for all that is done once per row
 * and for all of a pointwise group. `needed` is scratch memory, one per operation of the group;
 * ret_reads has one entry per access. Values are in the order of group->ops, ascending.
 */
void kiln_count_reads(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                      const struct kiln_reduction_passes *passes, bool *needed,
                      uint32_t *ret_reads);

/* Fills bytes_moved and bytes_fewest of a schedule that is complete otherwise. */
void kiln_measure_traffic(const struct kiln_fusion_group *group, const struct kiln_target *target,
                          const uint32_t *reads, struct kiln_schedule *schedule);

#endif
