/*
 * Matrix products: the value in double, and how far an implementation may be off that adds the
 * products in any order, each product rounded or not.
 *
 * Of float and double: sum_bound.h over the products, which are known to one ulp each. Matrix units
 * of GPUs are covered: products of 16-bit and narrower operands are exact in float, and their sums
 * are rounded at least as well as float's. Of int8 and uint8: exact in int32, wrapping around.
 *
 * An operand that lies between two nodes in 16 bits, and was divided or multiplied by what is the
 * same along k, may be rounded before that: softmax's division goes behind the product
 * (compiler/ir/rewrite_attention.c). It is off by another rounding then.
 */
#ifndef KILN_COMPILER_REFERENCE_MATMUL_REFERENCE_H
#define KILN_COMPILER_REFERENCE_MATMUL_REFERENCE_H

#include "compiler/reference/reference.h"

/* Evaluates a MATMUL node in `scalar` (kiln_node_scalar); contents of the operands are in `tensors`
 * already. */
void kiln_matmul_evaluate(const struct kiln_graph *graph, const struct kiln_node *node,
                          enum kiln_scalar scalar, struct kiln_reference_tensor *tensors);

#endif
