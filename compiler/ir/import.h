/*
 * From graph to IR: every node becomes primitive operations.
 *
 * In which type a node computes:
 *   1. double, when an operand or the result is double or the node's compute type is DOUBLE;
 *   2. else exact integers, when the mode has a meaning there (pointwise_mode.def or
 *      reduction_mode.def) and all operands and the result are integer or bool: int64 when one of
 *      them is int64, else int32, wrapping around; comparisons and logical modes compare integer
 *      operands as integers whatever the result or the compute type is (this comes before rule 1);
 *   3. else float, whatever narrower compute type was asked for.
 * Matrix products and convolutions have a meaning in integers when both inputs are int8 or uint8:
 * exact in int32, wrapping around, whatever the result is.
 * Attention computes in float or double; sequence lengths are int32 in any case. Between its two
 * products, weights are rounded to the 16-bit type of what they multiply (half for fp8), so that
 * matrix instructions take both. EPSILON and MOMENTUM do not count: they are converted to the type
 * that the others ask for. AVG and NORM2 have no meaning in integers: of integers they are float,
 * each element being rounded to float on the way in, unless rule 1 says double; so are the other
 * modes when the result is float.
 *
 * The result is then rounded once to the type of its tensor: to nearest even for floating-point
 * types (fp8 saturates to its largest finite value, half and bfloat16 overflow to infinity); to
 * integers nearest even, clamped to the range, NaN to 0; to bool: not equal to zero. IDENTITY, and
 * the condition of BINARY_SELECT, take their operand as it is: IDENTITY is one rounding from the
 * operand's type to the result's. A node with several results rounds each of them once, at its end:
 * where one result's formula names another (y and the mean), the unrounded value is meant.
 *
 * How the norms are computed: import_normalization.c, import_batchnorm.c.
 */
#ifndef KILN_COMPILER_IR_IMPORT_H
#define KILN_COMPILER_IR_IMPORT_H

#include "compiler/ir/ir.h"

/* Appends the operations of the whole graph, a STORE per output, to an initialised, empty program.
 * Fails only for lack of memory: what can't be computed was declined when the graph was read. */
enum kiln_status kiln_ir_import(const struct kiln_graph *graph, struct kiln_ir *ir,
                                struct kiln_error *error) KILN_NODISCARD;

/* Appends the operations of some of the graph's nodes, `count` of them, ascending. Tensors that
 * other nodes make must be inputs. */
enum kiln_status kiln_ir_import_nodes(const struct kiln_graph *graph, const uint32_t *nodes,
                                      uint32_t count, struct kiln_ir *ir,
                                      struct kiln_error *error) KILN_NODISCARD;

/* The scalar type that the rule above gives for a node of any kind. */
enum kiln_scalar kiln_node_scalar(const struct kiln_graph *graph, const struct kiln_node *node);
/* The same for a pointwise node alone. */
enum kiln_scalar kiln_pointwise_scalar(const struct kiln_graph *graph,
                                       const struct kiln_node *node);

#endif
