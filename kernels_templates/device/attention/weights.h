/*
 * From scores to weights without a softmax. (The other choice: softmax.h.)
 */
#ifndef KILN_DEVICE_ATTENTION_WEIGHTS_H
#define KILN_DEVICE_ATTENTION_WEIGHTS_H

#include "device/attention/run_weights.h"
#include "device/attention/second_products.h"

KILN_DEVICE void kiln_make_tile(const kiln_arguments &arguments, const kiln_score_source &source,
                                const kiln_tile_inputs &inputs, kiln_scores &scores,
                                unsigned wave_row, unsigned first_column, unsigned end,
                                bool is_masked, const kiln_rows &rows, kiln_weights &weights)
{
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
        KILN_UNROLL
    for (unsigned r = 0; r < KILN_CHAIN_ROWS; r++)
        KILN_UNROLL
    for (unsigned run = 0; run < KILN_CHAIN_RUNS; run++) {
        kiln_sum made[KILN_VALUES][KILN_CHAIN_RUN];
        kiln_make_run(arguments, source, inputs, scores, wave_row, first_column, end, is_masked,
                      rows, i, r, run, made);
        kiln_set_weights(i, r, run, made, weights);
    }
}

KILN_DEVICE void kiln_make_weights(const kiln_arguments &arguments,
                                   const kiln_score_source &source,
                                   const kiln_tile_inputs &inputs, kiln_scores &scores,
                                   unsigned wave_row, unsigned first_column, unsigned end,
                                   bool is_edge, kiln_rows &rows, kiln_results &,
                                   kiln_weights &weights)
{
    if (is_edge)
        kiln_make_tile(arguments, source, inputs, scores, wave_row, first_column, end, true, rows,
                       weights);
    else
        kiln_make_tile(arguments, source, inputs, scores, wave_row, first_column, end, false, rows,
                       weights);
}

KILN_DEVICE void kiln_rows_end(unsigned wave_row, kiln_rows &rows, kiln_results &, kiln_row *totals)
{
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
        KILN_UNROLL
    for (unsigned r = 0; r < KILN_CHAIN_ROWS; r++) {
        kiln_row row;
        row.max = rows.most[i][r];
        row.sum = rows.sum[i][r];
        if (kiln_leads_row() && kiln_leads_rows())
            totals[wave_row + i * KILN_MMA_M + kiln_chain_row(r)] = row;
    }
}

#endif
