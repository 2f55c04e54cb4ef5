/*
 * Random numbers that are the same on every machine: splitmix64 (Steele, Lea, Flood 2014).
 */
#ifndef KILN_TESTS_SUPPORT_RANDOM_NUMBERS_H
#define KILN_TESTS_SUPPORT_RANDOM_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

struct kiln_random {
    uint64_t state;
};

static inline uint64_t kiln_random_next(struct kiln_random *random)
{
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static inline uint32_t kiln_random_below(struct kiln_random *random, uint32_t count)
{
    return (uint32_t)((kiln_random_next(random) >> 32) * count >> 32);
}

static inline bool kiln_random_chance(struct kiln_random *random, uint32_t percent)
{
    return kiln_random_below(random, 100) < percent;
}

static inline double kiln_random_uniform(struct kiln_random *random, double low, double high)
{
    return low + (high - low) * ((double)(kiln_random_next(random) >> 11) * 0x1p-53);
}

#endif
