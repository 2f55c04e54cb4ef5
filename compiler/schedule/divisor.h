/* Division by a number that is the same for all of a kernel: a product and a shift. */
#ifndef KILN_COMPILER_SCHEDULE_DIVISOR_H
#define KILN_COMPILER_SCHEDULE_DIVISOR_H

#include <stdint.h>

/*
 * The kernel argument for divisions by `size`, 1 <= size <= INT32_MAX. Its high half is s, the
 * smallest number with 2^s >= size. Its low half is multiplier = floor(2^(31 + s) / size) + 1.
 * Then n / size = n * multiplier / 2^(31 + s) for all n below 2^31, because multiplier * size
 * exceeds 2^(31 + s) by at most 2^s. (Granlund and Montgomery, Division by Invariant Integers using
 * Multiplication, 1994.)
 */
static inline int64_t kiln_divisor_argument(int64_t size)
{
    uint32_t shift = 0;
    while ((INT64_C(1) << shift) < size)
        shift++;
    uint64_t multiplier = (UINT64_C(1) << (31 + shift)) / (uint64_t)size + 1;
    return (int64_t)(multiplier | (uint64_t)shift << 32);
}

#endif
