/*
 * Convolutions and their gradients: the value in double, and how far an implementation may be off
 * that adds the products in any order, each product rounded or not, as of matrix products
 * (matmul_reference.h). The length of a sum is the number of its terms inside the image.
 *
 * Padding contributes nothing, also where the other factor is an infinity or NaN.
 */
#ifndef KILN_COMPILER_REFERENCE_CONVOLUTION_REFERENCE_H
#define KILN_COMPILER_REFERENCE_CONVOLUTION_REFERENCE_H

#include "compiler/reference/reference.h"

/* Evaluates a convolution of any direction in `scalar` (kiln_node_scalar); contents of the operands
 * are in `tensors` already. Fails only for lack of memory. */
enum kiln_status kiln_convolution_evaluate(const struct kiln_graph *graph,
                                           const struct kiln_node *node, enum kiln_scalar scalar,
                                           struct kiln_reference_tensor *tensors,
                                           struct kiln_arena *arena,
                                           struct kiln_error *error) KILN_NODISCARD;

#endif
