/*
 * The maximum of attention's scores as a value of its own.
 *
 * A kernel may lose a NaN when it looks for the largest score: the sum of the row's exponentials is
 * NaN all the same, and whatever is made of the maximum and the sum.
 */
#ifndef KILN_COMPILER_IR_SCORE_MAXIMUM_H
#define KILN_COMPILER_IR_SCORE_MAXIMUM_H

#include "compiler/ir/ir.h"

/*
 * True if an output may show what SCORE_MAX `max` gives for rows with a NaN: one that is made of it
 * without the sum of its exponentials. True, too, when there is no memory to find out.
 */
bool kiln_ir_shows_nan_of_maximum(const struct kiln_ir *ir, uint32_t max);

#endif
