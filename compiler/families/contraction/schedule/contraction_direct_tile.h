/*
 * The tile of a direct contraction: rows and vectors of the result that a work-group's work-items
 * compute.
 */
#ifndef KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_DIRECT_TILE_H
#define KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_DIRECT_TILE_H

#include "compiler/families/contraction/schedule/contraction_schedule.h"

/* Sets the tile of k, and what a schedule without waves that share a tile has. */
void kiln_choose_taps(struct kiln_contraction_schedule *contraction, uint32_t taps);

/* Neighbours along the result's columns that a work-item computes, at most. Pixels are loaded one
 * by one, since each is inside of the window or not. So neighbours in memory are neighbouring
 * work-items', and what is the same for several channels is computed once. */
uint32_t kiln_direct_vector_limit(const struct kiln_target *target, bool is_left_shared,
                                  bool are_rows_fast);

/* Chooses the tile and the rest of the pipeline, when m, n, result_vector and are_rows_fast are
 * there. is_left_shared: the operand that is shared in LDS is the left one. */
void kiln_choose_direct_tile(const struct kiln_target *target,
                             const struct kiln_register_limits *limits, bool is_left_shared,
                             struct kiln_contraction_schedule *contraction);

/* Work-items of a work-group. */
uint32_t kiln_direct_block(const struct kiln_target *target);

uint32_t kiln_direct_lds_bytes(const struct kiln_contraction_schedule *contraction,
                               uint32_t sum_bytes);

#endif
