/*
 * Operations of the IR's interpreter on single elements: each scalar in its own precision, rounded
 * as a device might round it.
 */
#ifndef KILN_TESTS_COMPILER_IR_INTERPRETER_ELEMENTS_H
#define KILN_TESTS_COMPILER_IR_INTERPRETER_ELEMENTS_H

#include "tests/compiler/ir/ir_interpreter.h"

/* True for float and double. */
bool kiln_interpreter_is_float(enum kiln_scalar scalar);

/* An operation on floats or doubles; `b` is unused if it has one operand. */
double kiln_interpreter_real(enum kiln_interpreter_math math, enum kiln_opcode opcode,
                             enum kiln_scalar scalar, double a, double b);

/* The same on integers and booleans; results wrap around. */
int64_t kiln_interpreter_integer(enum kiln_opcode opcode, enum kiln_scalar scalar, int64_t a,
                                 int64_t b);

/* Any elementwise operation, conversions and rounding included, on the operands `x`. `from` is the
 * type of the first one. */
struct kiln_constant kiln_interpreter_element(enum kiln_interpreter_math math,
                                              const struct kiln_op *op, enum kiln_scalar from,
                                              const struct kiln_constant *x);

#endif
