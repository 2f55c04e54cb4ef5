/*
 * What an elementwise operation makes of constants. The result is computed in double and rounded
 * once to the operation's scalar type; integers are exact and wrap around.
 */
#ifndef KILN_COMPILER_IR_EVALUATE_H
#define KILN_COMPILER_IR_EVALUATE_H

#include "compiler/ir/ir.h"

/* `op` is ELEMENTWISE; operand_scalars and operands have its arity. Members of kiln_constant as in
 * CONSTANT. */
struct kiln_constant kiln_op_evaluate(const struct kiln_op *op,
                                      const enum kiln_scalar *operand_scalars,
                                      const struct kiln_constant *operands);

#endif
