/*
 * Padding where work-items compute KILN_ITEM_ROWS x KILN_RESULT_VECTOR elements themselves: those whose sum is NaN are finished
 * again, from a sum without padding. (The other choice: padding_of_items_none.h.)
 */
#ifndef KILN_DEVICE_CONTRACTION_PADDING_OF_ITEMS_H
#define KILN_DEVICE_CONTRACTION_PADDING_OF_ITEMS_H

#include "device/contraction/sum_inside.h"

/* Rows beyond the end count too. The caller leaves them out later. */
KILN_DEVICE bool kiln_has_any_nan(const kiln_sum (&sums)[KILN_ITEM_ROWS][KILN_RESULT_VECTOR])
{
    bool has_nan = false;
    KILN_UNROLL
    for (unsigned r = 0; r < KILN_ITEM_ROWS; r++)
        has_nan |= kiln_has_nan(sums[r]);
    return has_nan;
}

/* Finishes a vector of the result once more. Kernels call it last, where little else is in registers. */
KILN_DEVICE void kiln_finish_inside(const kiln_arguments &arguments,
                                    const kiln_result_source &result, unsigned row, unsigned column)
{
    kiln_sum values[1][KILN_RESULT_VECTOR] = {};
    kiln_result_inputs inputs;
    KILN_NO_UNROLL
    for (unsigned e = 0; e < KILN_RESULT_VECTOR; e++)
        kiln_replace_sum(kiln_sum_inside0(arguments, result, row, column + e), e, values[0]);
    kiln_result_load(arguments, result, row, column, inputs);
    kiln_finish(arguments, result, row, column, inputs, values);
}

#endif
