/*
 * Forms of a contraction's schedule: each needs fewer registers than the one before.
 */
#ifndef KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_FORMS_H
#define KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_FORMS_H

#include "compiler/schedule/schedule.h"

/* Rows or columns of the smallest tile; streamed tiles can be smaller. A limit below it stands for
 * products that work-items compute. */
enum { KILN_SMALLEST_TILE = 32 };

/*
 * struct kiln_schedule_family.relax. A contraction gives up, in this order:
 *   - steps that a stream loads ahead, with matrix instructions
 *   - streaming: staged, a lane computes less of the operands
 *   - half of the tile
 *   - half of the result's vector
 *   - tiles, for products that are small enough for work-items to compute
 * Tiles that store statistics come last: the other kernel has their number in its text.
 */
bool kiln_relax_contraction(const struct kiln_schedule *schedule,
                            struct kiln_register_limits *limits);

#endif
