/*
 * A sum of products without padding. Tiles and vectors hold padding as zero, and zero times infinity is NaN, though padding
 * contributes nothing to a sum. So an element whose sum is NaN is added up again, slowly, from the factors inside the image.
 * Loops over k have no instruction for it. The slow sum ends at the first NaN, which is then not padding's.
 *
 * From the prelude: KILN_ADD_SINGLE(a, b, sum), and the facts of single.h about single_left and single_right<product>.
 */
#ifndef KILN_DEVICE_CONTRACTION_SUM_INSIDE_H
#define KILN_DEVICE_CONTRACTION_SUM_INSIDE_H

#include "device/contraction/k_range.h"
#include "device/contraction/single.h"

KILN_SINGLE(single_left, SINGLE_LEFT)
KILN_SINGLE(single_right0, SINGLE_RIGHT0)
#if KILN_PRODUCTS > 1
KILN_SINGLE(single_right1, SINGLE_RIGHT1)
#endif

/* Arguments are loaded again for each k: otherwise registers of the whole kernel hold them and what follows from them. */
#define KILN_SUM_INSIDE(product)                                                                   \
    KILN_DEVICE kiln_sum kiln_sum_inside##product(const kiln_arguments &arguments,                 \
                                                  const kiln_result_source &result, unsigned row,  \
                                                  unsigned column)                                 \
    {                                                                                              \
        (void)arguments;                                                                           \
        KILN_ARGUMENTS_AGAIN(kiln_arguments, arguments, own);                                      \
        const kiln_k_range span =                                                                  \
            kiln_range_of_sum(own, result.batch, kiln_k_of_batch(own, result.batch));              \
        kiln_single_left_source left;                                                              \
        kiln_single_right##product##_source right;                                                 \
        kiln_single_left_start(own, result.batch, result.row, left);                               \
        kiln_single_right##product##_start(own, result.batch, result.column, right);               \
        kiln_single_left_advance(own, span.first, left);                                           \
        kiln_single_right##product##_advance(own, span.first, right);                              \
        kiln_sum sum = 0;                                                                          \
        KILN_NO_UNROLL                                                                             \
        for (unsigned k = 0; k < span.size; k++) {                                                 \
            KILN_ARGUMENTS_AGAIN(kiln_arguments, arguments, now);                                  \
            if (kiln_single_left_counts(now, left, row) &&                                         \
                kiln_single_right##product##_counts(now, right, column)) {                         \
                const kiln_sum left_factor =                                                       \
                    kiln_single_left_factor(now, left, row, result.column + column);               \
                const kiln_sum right_factor = kiln_single_right##product##_factor(                 \
                    now, right, column, result.row + row);                                         \
                sum = KILN_ADD_SINGLE(left_factor, right_factor, sum);                             \
                if (sum != sum)                                                                    \
                    break;                                                                         \
            }                                                                                      \
            kiln_single_left_advance(now, 1, left);                                                \
            kiln_single_right##product##_advance(now, 1, right);                                   \
        }                                                                                          \
        return sum;                                                                                \
    }

KILN_SUM_INSIDE(0)
#if KILN_PRODUCTS > 1
KILN_SUM_INSIDE(1)
#endif

/* An element whose index is no constant: it is chosen among all, since registers are not indexed. */
template <unsigned Count>
KILN_DEVICE kiln_sum kiln_choose_sum(const kiln_sum (&sums)[Count], unsigned at)
{
    kiln_sum chosen = sums[0];
    KILN_UNROLL
    for (unsigned i = 1; i < Count; i++)
        chosen = i == at ? sums[i] : chosen;
    return chosen;
}

template <unsigned Count>
KILN_DEVICE void kiln_replace_sum(kiln_sum sum, unsigned at, kiln_sum (&sums)[Count])
{
    KILN_UNROLL
    for (unsigned i = 0; i < Count; i++)
        sums[i] = i == at ? sum : sums[i];
}

template <unsigned Count>
KILN_DEVICE bool kiln_has_nan(const kiln_sum (&sums)[Count])
{
    bool has_nan = false;
    KILN_UNROLL
    for (unsigned i = 0; i < Count; i++)
        has_nan |= sums[i] != sums[i];
    return __builtin_expect(has_nan, 0);
}

#endif
