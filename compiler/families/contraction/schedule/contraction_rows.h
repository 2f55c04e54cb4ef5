/*
 * Tiles that have whole rows of a contraction's result, so that what is reduced along a row is
 * known where its elements wait in local memory.
 */
#ifndef KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_ROWS_H
#define KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_ROWS_H

#include "compiler/families/contraction/schedule/contraction_schedule.h"

/*
 * Chooses instruction, tile, waves, buffers, the strip's parts and lanes of a row, within the bound
 * held_elems of the limits as long as a tile has the rows of an instruction. The contraction has
 * its sizes, products and types; n times the products is at most KILN_CONTRACTION_MAX_ROW, of sums
 * of 8 bytes half of it.
 */
void kiln_contraction_choose_row_tile(const struct kiln_target *target, enum kiln_scalar sums,
                                      const struct kiln_register_limits *limits,
                                      struct kiln_contraction_schedule *contraction);

#endif
