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

#ifdef KILN_HAS_PHASES
/*
 * A phase of the rows of a window with a divisor: which taps of k have a whole coordinate, and the
 * coordinate of its first row and its first such tap. `coordinate` is offset + phase.
 */
struct kiln_phase {
    unsigned first; /* tap */
    unsigned count; /* at least 1 */
    int at;
    bool is_empty; /* there is none: first, count and at are of no use, and harmless */
};

KILN_DEVICE kiln_phase kiln_find_phase(int coordinate, int step, int divisor, unsigned taps,
                                       unsigned spread)
{
    kiln_phase phase;
    phase.is_empty = true;
    phase.first = 0;
    KILN_NO_UNROLL
    for (unsigned tap = 0; tap < spread && tap < taps; tap++)
        if (phase.is_empty && (coordinate + step * (int)tap) % divisor == 0) {
            phase.is_empty = false;
            phase.first = tap;
        }
    phase.count = (taps - phase.first + spread - 1) / spread;
    phase.at = (coordinate + step * (int)phase.first) / divisor;
    return phase;
}
#endif

#endif
