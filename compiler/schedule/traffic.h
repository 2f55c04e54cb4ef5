/*
 * What a schedule moves through memory.
 */
#ifndef KILN_COMPILER_SCHEDULE_TRAFFIC_H
#define KILN_COMPILER_SCHEDULE_TRAFFIC_H

#include "compiler/schedule/schedule.h"

/* Fills bytes_moved and bytes_fewest of a schedule that is complete otherwise. `reads` says how
 * often the kernel reads an access (kiln_pass_work.reads); stays_on_chip: from memory once even so,
 * and `reads` may be NULL. */
void kiln_measure_traffic(const struct kiln_fusion_group *group, const uint32_t *reads,
                          bool stays_on_chip, struct kiln_schedule *schedule);

/* Fills bytes_moved and bytes_fewest. Each access of a place counts once: what a tile reads again
 * comes out of a cache. */
void kiln_measure_places(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                         struct kiln_schedule *schedule);

#endif
