/*
 * Rounding up, bit-exact models of the operations DIV_UP and ROUND_UP. Scales of quantised blocks
 * are rounded this way, so that no element of a block exceeds its type.
 */
#ifndef KILN_COMPILER_REFERENCE_ROUND_UP_H
#define KILN_COMPILER_REFERENCE_ROUND_UP_H

#include "compiler/dtype.h"

/* The smallest number of a floating-point type that is not below `value`, which is not negative.
 * The type's largest number if there is none, or `value` is NaN. */
double kiln_round_up_to_dtype(enum kiln_dtype dtype, double value);
/* The largest finite number of a type. */
double kiln_dtype_largest(enum kiln_dtype dtype);
/* a / b rounded up to F32 or F64. Both are numbers of that type, a >= 0 and b > 0. */
double kiln_quotient_up(enum kiln_scalar scalar, double a, double b);

#endif
