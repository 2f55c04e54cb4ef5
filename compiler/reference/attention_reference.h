/*
 * Attention and its gradients: values in double, and how far an implementation may be off that
 * computes the formulas of struct kiln_attention in the computing type.
 *
 * The softmax may be taken of any shifted scores, in one pass or two; SCALE may multiply q, the
 * products or the exponent. Sums may be taken in any order. Between the two products the weights
 * (forward the exponentials, backward p and ds) may be rounded to the 16-bit type of what they
 * multiply, fp8 counting as half. What lies at or beyond a length is not looked at.
 *
 * Unchecked are:
 *   - results of a row with a score that is NaN or infinite before the mask is added;
 *   - products of a weight that is 0 with an operand that is NaN or infinite: a kernel may skip
 *     them, or multiply. This concerns keys that a query does not see, before a length or behind
 *     it, and queries beyond their length;
 *   - gradients of what a row sees, and of its query, where its STATS is NaN, or -infinity although
 *     it has keys.
 *
 * Bounds of a row's probabilities follow from those of its scores: with every score x known to r,
 * and d = r + ulp*(2*(|x| + |maximum|) + 4) for the roundings of the exponent, exp(x) is known to
 * the factor exp(+-d), the sum to the sums of these. Everything after that is intervals
 * (interval.h) and sums in any order (sum_bound.h).
 */
#ifndef KILN_COMPILER_REFERENCE_ATTENTION_REFERENCE_H
#define KILN_COMPILER_REFERENCE_ATTENTION_REFERENCE_H

#include "compiler/reference/reference.h"

/* Evaluate a node of these kinds in `scalar` (kiln_node_scalar): fill `tensors` of its outputs from
 * those of its inputs. The arena gives scratch memory; they fail for lack of it only. */
enum kiln_status kiln_attention_evaluate(const struct kiln_graph *graph,
                                         const struct kiln_node *node, enum kiln_scalar scalar,
                                         struct kiln_reference_tensor *tensors,
                                         struct kiln_arena *arena,
                                         struct kiln_error *error) KILN_NODISCARD;
enum kiln_status
kiln_attention_backward_evaluate(const struct kiln_graph *graph, const struct kiln_node *node,
                                 enum kiln_scalar scalar, struct kiln_reference_tensor *tensors,
                                 struct kiln_arena *arena, struct kiln_error *error) KILN_NODISCARD;

#endif
