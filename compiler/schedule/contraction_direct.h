/*
 * The direct form of a contraction: work-items compute elements of the result by themselves. For
 * convolutions of few channels in a group, of which the tile of a matrix instruction has one column
 * in sixteen, or less.
 */
#ifndef KILN_COMPILER_SCHEDULE_CONTRACTION_DIRECT_H
#define KILN_COMPILER_SCHEDULE_CONTRACTION_DIRECT_H

#include "compiler/schedule/contraction_axes.h"

/* Whether the form is taken: where it is possible and either forced or, nothing being forced,
 * groups have few channels. */
bool kiln_is_contraction_direct(const struct kiln_contraction_problem *problem);

/* What is shared in LDS, and what a schedule without waves that share a tile has: part of
 * kiln_choose_direct_tile. */
void kiln_choose_shared_rows(const struct kiln_target *target,
                             struct kiln_contraction_schedule *contraction);

/* Chooses item_rows, slots, vectors, shared_rows and the tile, when m, n, result_vector and
 * are_rows_fast are there. is_left_shared: the operand that is shared in LDS is the left one. */
void kiln_choose_direct_tile(const struct kiln_target *target,
                             const struct kiln_register_limits *limits, bool is_left_shared,
                             struct kiln_contraction_schedule *contraction);

/* Columns of the result that a work-item does at once, at most. */
uint32_t kiln_direct_vector_limit(const struct kiln_target *target, bool is_left_shared,
                                  const struct kiln_contraction_schedule *contraction);

/* Work-items of a work-group. */
uint32_t kiln_direct_block(const struct kiln_target *target);

uint32_t kiln_direct_lds_bytes(const struct kiln_contraction_schedule *contraction,
                               uint32_t sum_bytes);

#endif
