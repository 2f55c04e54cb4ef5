/*
 * Sums of sizes that stay true, as "at least that", where they grow beyond what fits.
 */
#ifndef KILN_RUNTIME_SUPPORT_LIMITED_SUM_H
#define KILN_RUNTIME_SUPPORT_LIMITED_SUM_H

#include <stdint.h>

/* The sum, INT64_MAX at most: signed readers, such as JSON's, get it too. */
static inline uint64_t kiln_limited_sum(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) || sum > INT64_MAX ? INT64_MAX : sum;
}

/* The product, limited in the same way. */
static inline uint64_t kiln_limited_product(uint64_t a, uint64_t b)
{
    uint64_t product;
    return __builtin_mul_overflow(a, b, &product) || product > INT64_MAX ? INT64_MAX : product;
}

#endif
