/*
 * Intervals for the oracle: a value in double and between which ends an implementation that
 * computes in another type may be.
 *
 * An interval is one of four: finite, with low <= value <= high; a certain infinity, the three the
 * same; a certain NaN, the three NaN; or unknown, from -infinity to infinity, where anything is
 * possible, NaN included. Operations keep to these: what may overflow in the computing type, or be
 * NaN at one point and a number at another, becomes unknown.
 */
#ifndef KILN_COMPILER_REFERENCE_INTERVAL_H
#define KILN_COMPILER_REFERENCE_INTERVAL_H

#include "compiler/reference/error_bound.h"

#include <stdbool.h>

/* Properties of a computing type. */
struct kiln_arithmetic {
    double ulp;      /* relative spacing; one rounding is off by half of it */
    double tiny;     /* smallest positive number */
    double largest;  /* finite number */
    double overflow; /* magnitudes from here on round to infinity */
};

struct kiln_interval {
    double value, low, high;
};

/* The row of F64, or of F32 for every other scalar type. Static. */
const struct kiln_arithmetic *kiln_arithmetic_of(enum kiln_scalar scalar);

/* How far the operand moves when it is converted to the scalar type; 0 for real types, whose
 * scalar holds them. */
double kiln_conversion_error(const struct kiln_bounded *operand, enum kiln_scalar scalar);

struct kiln_interval kiln_interval_of(const struct kiln_bounded *operand, enum kiln_scalar scalar);
/* A number that an implementation may round to the computing type first. */
struct kiln_interval kiln_interval_of_number(double number,
                                             const struct kiln_arithmetic *arithmetic);
struct kiln_interval kiln_interval_unknown(double value);

bool kiln_interval_is_unknown(const struct kiln_interval *a);
bool kiln_interval_is_finite(const struct kiln_interval *a);
/* Largest magnitude of its numbers, and largest distance from the value. Of finite ones. */
double kiln_interval_magnitude(const struct kiln_interval *a);
double kiln_interval_radius(const struct kiln_interval *a);

/* Moves the ends of a finite interval outwards. Unknown when `error` is not finite or an end
 * overflows. */
struct kiln_interval kiln_interval_widen(struct kiln_interval a, double error,
                                         const struct kiln_arithmetic *arithmetic);

/* Arithmetic with room for one ulp (half of it is rounding, half is double's own error). A sum that
 * is no larger than the largest number does not overflow. */
struct kiln_interval kiln_interval_add(struct kiln_interval a, struct kiln_interval b,
                                       const struct kiln_arithmetic *arithmetic);
struct kiln_interval kiln_interval_sub(struct kiln_interval a, struct kiln_interval b,
                                       const struct kiln_arithmetic *arithmetic);
struct kiln_interval kiln_interval_mul(struct kiln_interval a, struct kiln_interval b,
                                       const struct kiln_arithmetic *arithmetic);
/* a*a, never negative. */
struct kiln_interval kiln_interval_square(struct kiln_interval a,
                                          const struct kiln_arithmetic *arithmetic);
struct kiln_interval kiln_interval_abs(struct kiln_interval a);
/* By a positive number that the computing type may round; 3 ulps. */
struct kiln_interval kiln_interval_divide(struct kiln_interval a, double divisor,
                                          const struct kiln_arithmetic *arithmetic);
/* Of what is known not to be negative: numbers below zero count as zero. 2 ulps. */
struct kiln_interval kiln_interval_sqrt(struct kiln_interval a,
                                        const struct kiln_arithmetic *arithmetic);
/* 1/sqrt(a); unknown when the interval reaches zero. 6 ulps: a root and a division. */
struct kiln_interval kiln_interval_rsqrt(struct kiln_interval a,
                                         const struct kiln_arithmetic *arithmetic);

/* Both ends and the value rounded to the type: rounding is monotone, so the distance of the farther
 * end is the bound, and an interval that crosses a jump of the rounding contains the jump. */
struct kiln_bounded kiln_interval_round(const struct kiln_interval *a, enum kiln_dtype dtype);
/* The same, but unchecked when unknown. */
struct kiln_bounded kiln_interval_store(const struct kiln_interval *a, enum kiln_dtype dtype);
/* `value` rounded, with an infinite bound. */
struct kiln_bounded kiln_bounded_unchecked(double value, enum kiln_dtype dtype);

/* min and max that tell -0 from 0, unlike fmin and fmax. */
double kiln_lower_of(double a, double b);
double kiln_higher_of(double a, double b);

#endif
