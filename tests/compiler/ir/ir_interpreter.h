/*
 * Runs a program of the fusion IR on the CPU as a device would: float operations in float, one
 * rounding each, math functions off by a few units in the last place. Independent of constant
 * folding's evaluator.
 */
#ifndef KILN_TESTS_COMPILER_IR_IR_INTERPRETER_H
#define KILN_TESTS_COMPILER_IR_IR_INTERPRETER_H

#include "compiler/ir/ir.h"

/*
 * `memory[i]` is the memory of graph tensor i: read for inputs and host scalars, written for
 * outputs. With `noise` not 0, results of math functions move by up to that many representable
 * numbers (divisions and roots by one), chosen by a hash of the operands, so that equal operands
 * give equal results. Memory comes from `arena`.
 */
enum kiln_status kiln_ir_interpret(const struct kiln_ir *ir, const struct kiln_graph *graph,
                                   void *const *memory, uint32_t noise, struct kiln_arena *arena,
                                   struct kiln_error *error) KILN_NODISCARD;

#endif
