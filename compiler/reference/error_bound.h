/*
 * One element of one node: the reference value and how far an implementation may be off.
 */
#ifndef KILN_COMPILER_REFERENCE_ERROR_BOUND_H
#define KILN_COMPILER_REFERENCE_ERROR_BOUND_H

#include "compiler/graph/graph.h"

/* An element with its bound. `integer` counts for integer types, `real` always. */
struct kiln_bounded {
    double real;
    int64_t integer;
    double bound; /* >= 0; infinite: anything is possible, NaN included */
    enum kiln_dtype dtype;
};

/* Evaluates the mode on one element of each operand, computing in `scalar`, and rounds to `dtype`.
 */
struct kiln_bounded kiln_bounded_evaluate(const struct kiln_pointwise *attributes,
                                          enum kiln_scalar scalar,
                                          const struct kiln_bounded *operands,
                                          enum kiln_dtype dtype);

/* An exact integer (GEN_INDEX) rounded to `dtype`. */
struct kiln_bounded kiln_bounded_from_integer(int64_t integer, enum kiln_dtype dtype);

#endif
