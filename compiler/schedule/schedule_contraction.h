/*
 * Schedules of contractions: which instruction multiplies, tiles, how operands are loaded, in which
 * order work-groups take tiles. kernels_templates/contraction.hip.
 *
 * The kernel sees one axis m, one n, one k and some batch axes, whose sizes and strides are
 * arguments: equal schedules of other sizes are the same kernel.
 */
#ifndef KILN_COMPILER_SCHEDULE_SCHEDULE_CONTRACTION_H
#define KILN_COMPILER_SCHEDULE_SCHEDULE_CONTRACTION_H

#include "compiler/schedule/contraction_tile.h"
#include "compiler/schedule/schedule.h"

/* Columns of the result that a tile has: each product has as many. */
uint32_t kiln_tile_columns(const struct kiln_contraction_schedule *contraction);

#endif
