/*
 * Schedules of contractions: which instruction multiplies, tiles, how operands are loaded, in which
 * order work-groups take tiles. kernels_templates/contraction.hip.
 *
 * The kernel sees one axis m, one n, one k and some batch axes, whose sizes and strides are
 * arguments: equal schedules of other sizes are the same kernel.
 */
#ifndef KILN_COMPILER_SCHEDULE_SCHEDULE_CONTRACTION_H
#define KILN_COMPILER_SCHEDULE_SCHEDULE_CONTRACTION_H

#include "compiler/schedule/schedule.h"

/* Fills everything but traffic; false when memory is out. `schedule` is zeroed but for accesses. */
bool kiln_schedule_contraction(const struct kiln_ir *ir, const struct kiln_graph *graph,
                               const struct kiln_fusion_group *group,
                               const struct kiln_target *target, struct kiln_schedule *schedule);

/* Lowers the bound in `limits` (those of `schedule`) that the family gives up next; false when
 * there is none. First smaller tiles, then shorter vectors of the result. */
bool kiln_relax_contraction(const struct kiln_schedule *schedule,
                            struct kiln_register_limits *limits);

/* Columns of the result that a tile has: each product has as many. */
uint32_t kiln_tile_columns(const struct kiln_contraction_schedule *contraction);

/* Elements of a pack: 16 bytes of what is staged. */
uint32_t kiln_pack_elements(const struct kiln_contraction_schedule *contraction);

/* Appends sizes, tile, instruction and loads to the line of kiln_schedule_print. */
void kiln_print_contraction(const struct kiln_schedule *schedule,
                            const struct kiln_fusion_group *group, struct kiln_buffer *buffer);

#endif
