/*
 * Sums of a product's operand along the axes that the product sums over too: a bias gradient is one
 * beside a weight gradient, dw = dy x and db = dy 1. Whoever stages the operand can add it up.
 */
#ifndef KILN_COMPILER_IR_OPERAND_SUMS_H
#define KILN_COMPILER_IR_OPERAND_SUMS_H

#include "compiler/ir/ir.h"

/*
 * True if value `reduce` is the sum of an operand of the CONTRACT `contract` over all of its k, and
 * nothing but k, for each of its rows: ret_side is 0 for the left operand, 1 for the right one. Of
 * an operand whose elements the product reads several times, or not all of, through a window or in
 * steps, it is not.
 */
bool kiln_ir_is_operand_sum(const struct kiln_ir *ir, uint32_t reduce, uint32_t contract,
                            uint32_t *ret_side);

#endif
