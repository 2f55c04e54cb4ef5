/*
 * Division by numbers that are arguments: compiler/schedule/divisor.h says how it works.
 */
#ifndef KILN_DEVICE_CONTRACTION_DIVIDE_H
#define KILN_DEVICE_CONTRACTION_DIVIDE_H

/* For n below 2^31. */
KILN_DEVICE unsigned kiln_divide(unsigned n, long long divisor)
{
    const unsigned long long product = (unsigned long long)(n * 2) * (unsigned)divisor;
    return (unsigned)(product >> 32) >> (unsigned)((unsigned long long)divisor >> 32);
}

/* Of what the device counts itself. */
KILN_DEVICE long long kiln_make_divisor(unsigned size)
{
    unsigned shift = 0;
    while ((1u << shift) < size)
        shift++;
    const unsigned long long multiplier = (1ull << (31 + shift)) / size + 1;
    return (long long)(multiplier | (unsigned long long)shift << 32);
}

#endif
