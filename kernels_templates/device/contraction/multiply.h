/*
 * All products of a wave's fragments, or of some of its rows', for one step along k.
 */
#ifndef KILN_DEVICE_CONTRACTION_MULTIPLY_H
#define KILN_DEVICE_CONTRACTION_MULTIPLY_H

template <unsigned ROWS>
KILN_DEVICE void kiln_multiply_fragments(const kiln_fragment (&left)[ROWS],
                                         const kiln_fragment (&right)[KILN_FRAGMENTS_N],
                                         kiln_mma_sums (&sums)[ROWS][KILN_FRAGMENTS_N])
{
    KILN_UNROLL
    for (unsigned i = 0; i < ROWS; i++)
        KILN_UNROLL
    for (unsigned j = 0; j < KILN_FRAGMENTS_N; j++)
        kiln_multiply_add(sums[i][j], left[i], right[j]);
}

#endif
