/*
 * An operand has a window, and sums may be NaN: such sums of a tile are computed again without padding. (The other choice:
 * padding_none.h.)
 */
#ifndef KILN_DEVICE_CONTRACTION_PADDING_H
#define KILN_DEVICE_CONTRACTION_PADDING_H

#include "device/contraction/sum_inside.h"

/* Replaces sums of a vector of the result that are NaN. */
KILN_DEVICE void kiln_take_padding_out(const kiln_arguments &arguments,
                                       const kiln_result_source &result, unsigned row,
                                       unsigned column,
                                       kiln_sum (&values)[KILN_PRODUCTS][KILN_RESULT_VECTOR])
{
    KILN_UNROLL
    for (unsigned p = 0; p < KILN_PRODUCTS; p++) {
        if (!kiln_has_nan(values[p]))
            continue;
        KILN_NO_UNROLL
        for (unsigned e = 0; e < KILN_RESULT_VECTOR; e++) {
            kiln_sum sum = kiln_choose_sum(values[p], e);
            if (sum == sum)
                continue;
            if (p == 0)
                sum = kiln_sum_inside0(arguments, result, row, column + e);
#if KILN_PRODUCTS > 1
            else
                sum = kiln_sum_inside1(arguments, result, row, column + e);
#endif
            kiln_replace_sum(sum, e, values[p]);
        }
    }
}

#endif
