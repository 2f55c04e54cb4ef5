/*
 * A phase of the rows of a window with a divisor: the taps of k that have a whole coordinate, and the coordinate of its first
 * row and first such tap. `coordinate` is offset + phase.
 */
#ifndef KILN_DEVICE_CONTRACTION_FIND_PHASE_H
#define KILN_DEVICE_CONTRACTION_FIND_PHASE_H

struct kiln_phase {
    unsigned first; /* tap */
    unsigned count; /* at least 1 */
    int at;
    bool is_empty; /* no tap has a whole coordinate: first, count and at are safe to use but meaningless */
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
