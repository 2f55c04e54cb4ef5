/* Arithmetic on sizes that several schedules need. */
#ifndef KILN_COMPILER_SCHEDULE_INTEGER_MATH_H
#define KILN_COMPILER_SCHEDULE_INTEGER_MATH_H

#include <stdint.h>

static inline uint32_t kiln_min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static inline uint32_t kiln_max_u32(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static inline uint64_t kiln_min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t kiln_max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline int64_t kiln_min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* a / b rounded up, for a + b below 2^64 and b > 0. */
static inline uint64_t kiln_ceil_div(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

/* a / b rounded up, for a >= 0 and b > 0. */
static inline int64_t kiln_ceil_div_i64(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* The smallest multiple of `multiple` that is not below `value`, if it is below 2^32. */
static inline uint32_t kiln_round_up_u32(uint32_t value, uint32_t multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

#endif
