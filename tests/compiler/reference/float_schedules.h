/*
 * Sums and moments of float rows in the orders that kernels use: what the oracle's bounds must
 * admit.
 */
#ifndef KILN_TESTS_COMPILER_REFERENCE_FLOAT_SCHEDULES_H
#define KILN_TESTS_COMPILER_REFERENCE_FLOAT_SCHEDULES_H

#include <stdint.h>

enum schedule {
    SCHEDULE_CHAIN,
    SCHEDULE_BACKWARDS,
    SCHEDULE_TREE,  /* halves */
    SCHEDULE_LANES, /* 64 strided chains, then a tree */
    SCHEDULE_PARTS, /* a ninth each, one after the other */
    SCHEDULE_COUNT
};

struct float_moments {
    float count, mean, squares;
};

/* Welford's update of one element; the count of `b` at most twice that of `a`, or `a` empty. */
struct float_moments float_moments_merge(struct float_moments a, struct float_moments b);

float float_sum(enum schedule schedule, const float *x, int64_t count);
struct float_moments float_welford(enum schedule schedule, const float *x, int64_t count);
/* The mean from a sum, then the squares around it. */
struct float_moments float_two_passes(enum schedule schedule, const float *x, int64_t count);

#endif
