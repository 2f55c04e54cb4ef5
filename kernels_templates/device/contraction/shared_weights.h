/*
 * The weights that a work-group shares where work-items compute elements of the result: in LDS as what is
 * computed of them, KILN_WEIGHTS rows at most for each index of k. From the prelude comes also kiln_sum.
 */
#ifndef KILN_DEVICE_CONTRACTION_SHARED_WEIGHTS_H
#define KILN_DEVICE_CONTRACTION_SHARED_WEIGHTS_H

#define KILN_SUMS_OF_PACK (16 / (int)sizeof(kiln_sum))

/* All weights for one index of k. Padded, so that work-items that write along k do not meet in a bank. */
struct alignas(16) kiln_weights_line {
    kiln_sum at[KILN_WEIGHTS + KILN_SUMS_OF_PACK];
};

/* Those of `Count` neighbouring columns from `at` on, for one index of k. */
template <unsigned Count>
KILN_DEVICE void kiln_read_shared(const kiln_weights_line &line, unsigned at,
                                  kiln_sum (&weights)[Count])
{
    if (Count > 1 && sizeof weights % 16 == 0) {
        KILN_UNROLL
        for (unsigned e = 0; e < Count; e += KILN_SUMS_OF_PACK) {
            kiln_sum part[KILN_SUMS_OF_PACK];
            KILN_LOAD_LOCAL(16, part, line.at + at + e)
            KILN_UNROLL
            for (unsigned i = 0; i < KILN_SUMS_OF_PACK; i++)
                weights[(e + i) % Count] = part[i];
        }
        return;
    }
    KILN_UNROLL
    for (unsigned e = 0; e < Count; e++)
        weights[e] = line.at[at + e];
}

#endif
