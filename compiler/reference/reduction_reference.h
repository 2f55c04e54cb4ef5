/*
 * One row of a reduction: the value in double, and how far an implementation may be off that
 * reduces in any order.
 *
 * Sums and what is made of them: compiler/reference/sum_bound.h. Products grow a relative error of
 * half an ulp per factor; they are unchecked when the product of some of the factors leaves the
 * normal range of the computing type, which one order may meet and another not. MIN, MAX and AMAX
 * pick. Exact integers wrap around, where the order makes no difference; of inexact ones (rounded
 * from an inexact real somewhere before) sums and extremes get a bound while nothing can wrap, the
 * rest is unchecked.
 */
#ifndef KILN_COMPILER_REFERENCE_REDUCTION_REFERENCE_H
#define KILN_COMPILER_REFERENCE_REDUCTION_REFERENCE_H

#include "compiler/reference/error_bound.h"

#include <stdint.h>

/* Reduces count >= 1 elements in `scalar` (kiln_node_scalar) and rounds to `dtype`. */
struct kiln_bounded kiln_bounded_reduce(enum kiln_reduction_mode mode, enum kiln_scalar scalar,
                                        const struct kiln_bounded *row, int64_t count,
                                        enum kiln_dtype dtype);

#endif
