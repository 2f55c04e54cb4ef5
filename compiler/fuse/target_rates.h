/*
 * Rough rates of a target, for choices between ways to move the same data. No promise of speed.
 */
#ifndef KILN_COMPILER_FUSE_TARGET_RATES_H
#define KILN_COMPILER_FUSE_TARGET_RATES_H

#include "compiler/codegen/target.h"

/* Work-items that keep the whole target busy. */
uint64_t kiln_target_full_items(const struct kiln_target *target);

/* Bytes that the target moves in the time that it takes to launch a kernel. */
uint64_t kiln_target_launch_bytes(const struct kiln_target *target);

/* Bytes that the target moves in the time of so many simple operations (op_cost.h) of its vector
 * unit; 0 where its rates are not known. */
double kiln_target_vector_bytes(const struct kiln_target *target, double operations);

/* The same of multiplications and additions, counted apart, of matrix instructions on operands of
 * so many bytes (0: there is no such instruction), or of the vector unit where that does them. */
double kiln_target_matrix_bytes(const struct kiln_target *target, double operations,
                                uint32_t operand_bytes);

#endif
