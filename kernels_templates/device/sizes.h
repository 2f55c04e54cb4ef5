/*
 * Indices taken apart by sizes that are arguments (compiler/emit/emit_sizes.h).
 */
#ifndef KILN_DEVICE_SIZES_H
#define KILN_DEVICE_SIZES_H

#include "device/contraction/divide.h"

/* Returns rest % size and leaves rest / size. Indices of 32 bits are below 2^31. */
KILN_DEVICE unsigned kiln_split(unsigned &rest, long long size, long long divisor)
{
    const unsigned quotient = kiln_divide(rest, divisor);
    const unsigned remainder = rest - quotient * (unsigned)size;
    rest = quotient;
    return remainder;
}

KILN_DEVICE unsigned long long kiln_split(unsigned long long &rest, long long size)
{
    const unsigned long long remainder = rest % (unsigned long long)size;
    rest /= (unsigned long long)size;
    return remainder;
}

#endif
