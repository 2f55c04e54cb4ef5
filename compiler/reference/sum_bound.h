/*
 * Sums and moments of bounded numbers, and how far an implementation may be off that adds in any
 * order: chain, tree, or a mixture. With u half an ulp of the computing type, n numbers x known to
 * b each, |x| their 1-norm and ||x|| their 2-norm, both of x and b together:
 *
 *   sum      sum b + n*u*|x|. The bound (n-1)*u*|x| without terms of higher order holds for every
 *            order: Jeannerod and Rump, "Improved error bounds for inner products in floating-point
 *            arithmetic", SIAM J. Matrix Anal. Appl. 34 (2013). One more u is for this file's own
 * sum. mean     of a sum divided by n, or of updates m += (x - m)*w and merges m = m_a + (m_b -
 * m_a)*w with w = n_b/n, the part that starts holding at least half as many numbers as the other:
 * sum b/n + u*((n+8)*|x|/n + 16*sqrt((1+log2 n)/n)*||x - m||). For every merge adds u*|m| and
 * 8*u*w*|m_b - m_a| (a subtraction, a quotient and a product); weighted with the numbers below it,
 * the first gives u*|x| per level and there are at most n-1; of the second, n*w*|m_b - m_a| <=
 * sqrt(3*n_b)*sqrt(h)*|m_b - m_a| with h = n_a*n_b/n. The sum of h*(m_b - m_a)^2 over the merges is
 * exactly the sum of squared deviations, that of n_b at most n*log2 n: Cauchy and Schwarz do the
 * rest. squares  s = sum (x - m)^2, by two passes, by Welford's update or by the merges of Chan,
 * Golub and LeVeque, "Algorithms for computing the sample variance" (American Statistician 37,
 *            1983), or a mixture: (sqrt(s) +- d)^2 * (1 +- (n+8)*u) with
 *            d = ||b|| + u*((n+8)*||x|| + 16*sqrt(n*(1+log2 n))*sqrt(s)).
 *            s is the sum of h*(m_b - m_a)^2 over the merges; if each mean is off by e as above,
 * the sum of h*(e_b - e_a)^2 is at most d^2: merging parts of n_a and n_b numbers in at most as
 *            many levels contributes at most n_a*n_b*u^2*||x||^2, and the n_a*n_b add up to
 *            n*(n-1)/2 for every binary tree. Minkowski's inequality then gives the square root's
 *            interval. Two passes add n*e^2 for the mean's error e, which is less. With
 *            kappa = ||x||/sqrt(s) the relative error is 2*n*u*kappa + (n*u*kappa)^2: the table of
 * the paper has n*u*kappa for updates. The textbook form sum x^2 - n*m^2 (n*u*kappa^2) is outside
 *            as soon as kappa is large, on purpose.
 *
 * NaN among the numbers makes everything NaN; infinities of one sign make the sum infinite, of both
 * NaN; a mean or deviation of infinities is unknown (Welford's update gives NaN, a sum infinity).
 * Where partial sums may overflow in some order, all is unknown.
 */
#ifndef KILN_COMPILER_REFERENCE_SUM_BOUND_H
#define KILN_COMPILER_REFERENCE_SUM_BOUND_H

#include "compiler/reference/interval.h"

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: an empty sum. */
struct kiln_bounded_sum {
    int64_t count;
    double total, correction; /* the sum is their sum (Neumaier 1974) */
    double radius;            /* sum of the distances to the ends */
    double radius_squares;
    double magnitude; /* sum of the largest magnitudes */
    double squares;
    bool has_nan, has_unknown, has_positive_infinity, has_negative_infinity;
};

void kiln_bounded_sum_add(struct kiln_bounded_sum *sum, struct kiln_interval number);
struct kiln_interval kiln_bounded_sum_total(const struct kiln_bounded_sum *sum,
                                            const struct kiln_arithmetic *arithmetic);
/* Of at least one number. */
struct kiln_interval kiln_bounded_sum_mean(const struct kiln_bounded_sum *sum,
                                           const struct kiln_arithmetic *arithmetic);

struct kiln_moments {
    struct kiln_interval mean;
    struct kiln_interval squares; /* sum of squared deviations from the mean; never negative */
};

/* Of count >= 1 numbers. */
struct kiln_moments kiln_bounded_moments(const struct kiln_interval *numbers, int64_t count,
                                         const struct kiln_arithmetic *arithmetic);

#endif
