/*
 * All products of a wave's fragments for one step along k.
 */
#ifndef KILN_DEVICE_CONTRACTION_MULTIPLY_H
#define KILN_DEVICE_CONTRACTION_MULTIPLY_H

KILN_DEVICE void kiln_multiply_fragments(const kiln_fragment (&left)[KILN_FRAGMENTS_M],
                                         const kiln_fragment (&right)[KILN_FRAGMENTS_N],
                                         kiln_mma_sums (&sums)[KILN_FRAGMENTS_M][KILN_FRAGMENTS_N])
{
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
        KILN_UNROLL
    for (unsigned j = 0; j < KILN_FRAGMENTS_N; j++)
        kiln_multiply_add(sums[i][j], left[i], right[j]);
}

#endif
