/*
 * The work on vectors of the result that is elementwise: loads, computes and stores. (The other choice: row_passes.h.)
 *
 * Facts: those of result.h, and
 *   kiln_result_element   computes what is stored of an element (m, n) of the result, from its sums and operands
 * In attention KILN_ROW_TOTALS is defined, and the element has its row's totals too.
 */
#ifndef KILN_DEVICE_CONTRACTION_FINISH_H
#define KILN_DEVICE_CONTRACTION_FINISH_H

#include "device/contraction/result.h"

#ifdef KILN_ROW_TOTALS
#define KILN_TOTALS_PARAMETER const kiln_row &totals,
#define KILN_TOTALS           , totals
#else
#define KILN_TOTALS_PARAMETER
#define KILN_TOTALS
#endif

struct kiln_result_inputs {
    KILN_RESULT_LOADS(KILN_RESULT_INPUT)
};

KILN_DEVICE void kiln_result_load(const kiln_arguments &arguments, const kiln_result_source &source,
                                  unsigned at_row, unsigned column, kiln_result_inputs &inputs)
{
    (void)arguments, (void)source, (void)at_row, (void)column, (void)inputs;
    KILN_RESULT_LOADS(KILN_RESULT_LOAD)
}

KILN_DEVICE void kiln_finish(const kiln_arguments &arguments, const kiln_result_source &source,
                             unsigned at_row, unsigned column, const kiln_result_inputs &inputs,
                             KILN_TOTALS_PARAMETER const kiln_sum (
                                 &values)[KILN_PRODUCTS][KILN_RESULT_VECTOR])
{
    (void)inputs;
    KILN_RESULT_STORES(KILN_RESULT_OUTPUT)
    KILN_UNROLL
    for (unsigned e = 0; e < KILN_RESULT_VECTOR; e++)
        kiln_result_element(arguments, source.batch, source.row + at_row,
                            source.column + column + e KILN_TOTALS KILN_RESULT_SUMS
                                KILN_RESULT_LOADS(KILN_RESULT_X)
                                    KILN_RESULT_STORES(KILN_RESULT_Y));
    KILN_RESULT_STORES(KILN_RESULT_STORE)
}

#endif
