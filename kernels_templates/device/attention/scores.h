/*
 * Scores of a lane: its rows, what is loaded for them, and its sums of the first products.
 */
#ifndef KILN_DEVICE_ATTENTION_SCORES_H
#define KILN_DEVICE_ATTENTION_SCORES_H

#include "device/attention/products.h"
#include "device/attention/score_loads.h"

/* The rows of a lane. */
struct kiln_rows {
    kiln_score_row values[KILN_FRAGMENTS_M][KILN_CHAIN_ROWS];
    kiln_sum most[KILN_FRAGMENTS_M][KILN_CHAIN_ROWS]; /* x so far */
    kiln_sum shift[KILN_FRAGMENTS_M][KILN_CHAIN_ROWS]; /* of exponents; infinity: nothing was visible */
    kiln_sum sum[KILN_FRAGMENTS_M][KILN_CHAIN_ROWS]; /* of the exponentials of this lane */
};

typedef kiln_score_inputs kiln_tile_inputs[KILN_FRAGMENTS_M][KILN_CHAIN_ROWS][KILN_CHAIN_RUNS];

/* What belongs to one lane of those that share a row. */
KILN_DEVICE bool kiln_leads_row()
{
    return kiln_lane() % KILN_CHAIN_LANE_END / KILN_CHAIN_LANE_FIRST == 0;
}

KILN_DEVICE unsigned kiln_lane_row(unsigned wave_row, unsigned i, unsigned row, unsigned last)
{
    const unsigned nth = wave_row + i * KILN_MMA_M + kiln_chain_row(row);
    return nth < last ? nth : last;
}

KILN_DEVICE void kiln_rows_start(const kiln_arguments &arguments, const kiln_score_source &source,
                                 unsigned wave_row, unsigned last, bool is_first, kiln_rows &rows)
{
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
        KILN_UNROLL
    for (unsigned r = 0; r < KILN_CHAIN_ROWS; r++) {
        kiln_score_row_start(arguments, source, kiln_lane_row(wave_row, i, r, last),
                             rows.values[i][r]);
        if (!is_first)
            continue;
        rows.most[i][r] = -__builtin_inff();
        rows.shift[i][r] = __builtin_inff();
        rows.sum[i][r] = 0;
    }
}

KILN_DEVICE void kiln_load_scores(const kiln_arguments &arguments, const kiln_score_source &source,
                                  unsigned wave_row, unsigned last, unsigned first_column,
                                  unsigned end, kiln_tile_inputs &inputs)
{
    if (!KILN_HAS_SCORE_LOADS)
        return;
    const unsigned last_column = (end - 1) / KILN_CHAIN_RUN * KILN_CHAIN_RUN;
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
        KILN_UNROLL
    for (unsigned r = 0; r < KILN_CHAIN_ROWS; r++)
        KILN_UNROLL
    for (unsigned run = 0; run < KILN_CHAIN_RUNS; run++) {
        const unsigned column = first_column + kiln_chain_column(run);
        kiln_score_load(arguments, source, kiln_lane_row(wave_row, i, r, last),
                        column > last_column ? last_column : column,
                        inputs[i][r][run]);
    }
}

/* Weights of a run, for the second products. `exponentials`: without a softmax 1 where the column is within n and 0 beyond. */
KILN_DEVICE void kiln_weight(const kiln_arguments &arguments, const kiln_score_source &source,
                             const kiln_score_row &row, const kiln_score_inputs &loaded,
                             unsigned at_row, unsigned column, bool is_masked,
                             const kiln_sum (&sums)[KILN_SCORES][KILN_CHAIN_RUN],
                             const kiln_sum (&exponentials)[KILN_CHAIN_RUN],
                             kiln_sum (&weights)[KILN_RESULTS][KILN_CHAIN_RUN])
{
    (void)row, (void)loaded;
    KILN_UNROLL
    for (unsigned e = 0; e < KILN_CHAIN_RUN; e++) {
        const bool is_visible =
            !is_masked || kiln_is_visible(arguments, source, row, at_row, column + e);
        kiln_weight_element(arguments, source.batch, source.row + at_row, column + e, is_visible,
                            sums, exponentials, e, weights KILN_WEIGHT_LOADS(KILN_LOADED));
    }
}

KILN_DEVICE void kiln_get_run(kiln_scores &scores, unsigned i, unsigned row, unsigned run,
                              kiln_sum (&sums)[KILN_SCORES][KILN_CHAIN_RUN])
{
    KILN_UNROLL
    for (unsigned s = 0; s < KILN_SCORES; s++)
        KILN_UNROLL
    for (unsigned e = 0; e < KILN_CHAIN_RUN; e++) {
        const unsigned nth = kiln_chain_sum(row, run, e);
        (void)row;
        sums[s][e] =
            KILN_MMA_SUM(scores[s][i][nth / KILN_MMA_SLOTS][(int)(nth % KILN_MMA_SLOTS)]);
    }
}

#endif
