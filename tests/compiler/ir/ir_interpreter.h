/*
 * Runs a program of the fusion IR on the CPU as a device would: float operations in float, one
 * rounding each, math functions off by a few units in the last place; reductions accumulated in
 * their scalar type, moments by Welford's update. Independent of constant folding's evaluator.
 */
#ifndef KILN_TESTS_COMPILER_IR_IR_INTERPRETER_H
#define KILN_TESTS_COMPILER_IR_IR_INTERPRETER_H

#include "compiler/ir/ir.h"

enum kiln_interpreter_math {
    KILN_MATH_ROUNDED, /* computed in double, rounded once: what constant folding does */
    KILN_MATH_NATIVE,  /* the float functions of libm */
    /* The same, moved by up to two representable numbers (divisions and roots by one): a hash of
     * the operands chooses, so that equal operands give equal results. Reductions are merged as a
     * balanced tree instead of in order. */
    KILN_MATH_NOISY,
};

/* `memory[i]` is the memory of graph tensor i: read for inputs and host scalars, written for
 * outputs. The interpreter's own memory comes from `arena`. */
enum kiln_status kiln_ir_interpret(const struct kiln_ir *ir, const struct kiln_graph *graph,
                                   void *const *memory, enum kiln_interpreter_math math,
                                   struct kiln_arena *arena,
                                   struct kiln_error *error) KILN_NODISCARD;

#endif
