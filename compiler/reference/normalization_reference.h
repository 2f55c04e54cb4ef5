/*
 * The norms and batch norms: values in double, and how far an implementation may be off that
 * computes the same formulas in the computing type, rounding only its results to their tensors'
 * types.
 *
 * All are one scheme over rows of L elements (a row of a norm, a channel of a batch norm):
 *   mean, rstd   given, or from the row: rstd = 1/sqrt(squares/L + epsilon); RMSNorm has mean 0 and
 *                squares = sum x^2
 *   forward      xhat = (x - mean)*rstd, y = scale*xhat + bias
 *   running      next = (1 - momentum)*previous + momentum*current, of the mean and of the unbiased
 *                variance squares/(L - 1), squares for L = 1
 *   backward     of norms: g = dy*scale, dx = (g - mean(g) - xhat*mean(g*xhat))*rstd, RMSNorm
 *                without mean(g); of batch norms, which have one scale to a row:
 *                dx = (dy - mean(dy) - xhat*mean(dy*xhat))*(scale*rstd);
 *                dscale = sum dy*xhat, dbias = sum dy, each over all axes along which its tensor
 *                has one element
 * Source: hipdnn-op-semantics.md 2 and 6.
 *
 * Bounds are intervals pushed through the formulas (interval.h), sums and moments in any order
 * (sum_bound.h). Any form will do whose terms are as large as those here, such as scale*rstd taken
 * first: the room of dx is proportional to rstd*(|g| + |mean(g)| + |xhat*mean(g*xhat)|), not to
 * what is left after cancellation. Forms that cancel more, such as sum(g*x) - mean*sum(g) for data
 * far from zero, are outside.
 */
#ifndef KILN_COMPILER_REFERENCE_NORMALIZATION_REFERENCE_H
#define KILN_COMPILER_REFERENCE_NORMALIZATION_REFERENCE_H

#include "compiler/reference/reference.h"

/* Evaluates a node of these kinds in `scalar` (kiln_node_scalar): fills `tensors` of its outputs
 * from those of its inputs. The arena gives scratch memory; fails for lack of it only. */
enum kiln_status kiln_normalization_evaluate(const struct kiln_graph *graph,
                                             const struct kiln_node *node, enum kiln_scalar scalar,
                                             struct kiln_reference_tensor *tensors,
                                             struct kiln_arena *arena,
                                             struct kiln_error *error) KILN_NODISCARD;

#endif
