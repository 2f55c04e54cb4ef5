/*
 * Weights of a run that are computed of the scores alone.
 */
#ifndef KILN_DEVICE_ATTENTION_RUN_WEIGHTS_H
#define KILN_DEVICE_ATTENTION_RUN_WEIGHTS_H

#include "device/attention/scores.h"

/* Makes weights of the scores of a lane's run of columns: 0 after the last column. */
KILN_DEVICE void kiln_make_run(const kiln_arguments &arguments, const kiln_score_source &source,
                               const kiln_tile_inputs &inputs, kiln_scores &scores,
                               unsigned wave_row, unsigned first_column, unsigned end,
                               bool is_masked, const kiln_rows &rows, unsigned i, unsigned r,
                               unsigned run, kiln_sum (&made)[KILN_RESULTS][KILN_CHAIN_RUN])
{
    const unsigned column = first_column + kiln_chain_column(run);
    kiln_sum sums[KILN_SCORES][KILN_CHAIN_RUN], e[KILN_CHAIN_RUN];
    kiln_get_run(scores, i, r, run, sums);
    KILN_UNROLL
    for (unsigned n = 0; n < KILN_CHAIN_RUN; n++)
        e[n] = 1;
    kiln_weight(arguments, source, rows.values[i][r], inputs[i][r][run],
                wave_row + i * KILN_MMA_M + kiln_chain_row(r), column, is_masked, sums, e, made);
    KILN_UNROLL
    for (unsigned v = 0; v < KILN_RESULTS; v++)
        KILN_UNROLL
    for (unsigned n = 0; n < KILN_CHAIN_RUN; n++)
        if (is_masked)
            made[v][n] = column + n < end ? made[v][n] : (kiln_sum)0;
}

#endif
