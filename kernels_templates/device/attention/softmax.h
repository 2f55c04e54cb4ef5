/*
 * From scores to weights: the softmax over the columns seen so far, in each lane. (The other choice: weights.h.)
 *
 * Exponentials are relative to a base of their row. It follows the row's maximum only when that is so much larger that the
 * exponentials would be: results are rescaled then, and once more after the last tile.
 *
 * The base exists only as what is added to exponents, rounded as it is there. If the maximum itself were the base, each
 * exponential would be wrong by that rounding, which grows with the maximum.
 */
#ifndef KILN_DEVICE_ATTENTION_SOFTMAX_H
#define KILN_DEVICE_ATTENTION_SOFTMAX_H

#include "device/attention/scores.h"
#include "device/attention/second_products.h"

#define KILN_BASE_LAG ((kiln_sum)8) /* in the unit of exponents */

/* KILN_MAXIMUM_KEEPS_NAN: an output shows the maximum itself. Otherwise exponentials keep a NaN. */
#if KILN_MAXIMUM_KEEPS_NAN
#define KILN_LARGER(suffix, a, b) ((a) < (b) || (b) != (b) ? (b) : (a))
#elif defined(__CUDACC__)
#define KILN_LARGER(suffix, a, b) fmax##suffix(a, b)
#elif defined(__AMDGCN__)
#define KILN_LARGER(suffix, a, b) __builtin_fmax##suffix(a, b)
#else
#define KILN_LARGER(suffix, a, b) ((a) < (b) ? (b) : (a))
#endif
KILN_DEVICE float kiln_larger(float a, float b)
{
    return KILN_LARGER(f, a, b);
}

KILN_DEVICE double kiln_larger(double a, double b)
{
    return KILN_LARGER(, a, b);
}

typedef kiln_sum kiln_tile_x[KILN_FRAGMENTS_M][KILN_CHAIN_ROWS][KILN_CHAIN_RUNS][KILN_CHAIN_RUN];
typedef kiln_sum kiln_of_rows[KILN_FRAGMENTS_M][KILN_CHAIN_ROWS];

/*
 * Makes x of a run, which kiln_score_scale multiplies to get the exponent. It is -infinity where it is not visible. With
 * is_masked = false, a constant, all of the run is visible. Columns beyond n are hidden later. With KILN_HIDES_SCORES_LAST so is all
 * that the limits hide.
 */
KILN_DEVICE void kiln_score(const kiln_arguments &arguments, const kiln_score_source &source,
                            const kiln_score_row &row, const kiln_score_inputs &loaded,
                            unsigned at_row, unsigned column, bool is_masked,
                            const kiln_sum (&sums)[KILN_SCORES][KILN_CHAIN_RUN],
                            kiln_sum (&x)[KILN_CHAIN_RUN])
{
    (void)row, (void)loaded;
    KILN_UNROLL
    for (unsigned e = 0; e < KILN_CHAIN_RUN; e++) {
        const bool is_visible =
            !is_masked || kiln_is_visible(arguments, source, row, at_row, column + e);
        kiln_score_element(arguments, source.batch, source.row + at_row, column + e, is_visible,
                           sums, e, x[e] KILN_SCORE_LOADS(KILN_LOADED));
    }
}

KILN_DEVICE void kiln_evaluate_scores(const kiln_arguments &arguments,
                                      const kiln_score_source &source, const kiln_rows &rows,
                                      const kiln_tile_inputs &inputs, kiln_scores &scores,
                                      unsigned wave_row, unsigned first_column, bool is_masked,
                                      kiln_tile_x &x)
{
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
        KILN_UNROLL
    for (unsigned r = 0; r < KILN_CHAIN_ROWS; r++)
        KILN_UNROLL
    for (unsigned run = 0; run < KILN_CHAIN_RUNS; run++) {
        kiln_sum sums[KILN_SCORES][KILN_CHAIN_RUN];
        kiln_get_run(scores, i, r, run, sums);
        kiln_score(arguments, source, rows.values[i][r], inputs[i][r][run],
                   wave_row + i * KILN_MMA_M + kiln_chain_row(r),
                   first_column + kiln_chain_column(run), is_masked, sums, x[i][r][run]);
    }
}

/* Apart from what computes scores, so that this is in the text once. */
KILN_DEVICE void kiln_hide_scores(const kiln_arguments &arguments, const kiln_score_source &source,
                                  const kiln_rows &rows, unsigned wave_row, unsigned first_column,
                                  unsigned end, kiln_tile_x &x)
{
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
        KILN_UNROLL
    for (unsigned r = 0; r < KILN_CHAIN_ROWS; r++)
        KILN_UNROLL
    for (unsigned run = 0; run < KILN_CHAIN_RUNS; run++)
        KILN_UNROLL
    for (unsigned e = 0; e < KILN_CHAIN_RUN; e++) {
        const unsigned row = wave_row + i * KILN_MMA_M + kiln_chain_row(r);
        const unsigned column = first_column + kiln_chain_column(run) + e;
        const bool is_within = column < end;
        const bool is_visible =
            is_within && (!KILN_HIDES_SCORES_LAST ||
                          kiln_is_visible(arguments, source, rows.values[i][r], row, column));
        x[i][r][run][e] = is_visible ? x[i][r][run][e] : -__builtin_inff();
    }
}

/* x of a tile, and the largest of each row and lane. */
KILN_DEVICE void kiln_find_x(const kiln_arguments &arguments, const kiln_score_source &source,
                             const kiln_rows &rows, const kiln_tile_inputs &inputs,
                             kiln_scores &scores, unsigned wave_row, unsigned first_column,
                             unsigned end, bool is_edge, kiln_tile_x &x, kiln_of_rows &most)
{
    if (!KILN_HIDES_SCORES_LAST && is_edge)
        kiln_evaluate_scores(arguments, source, rows, inputs, scores, wave_row, first_column, true,
                             x);
    else
        kiln_evaluate_scores(arguments, source, rows, inputs, scores, wave_row, first_column, false,
                             x);
    if (is_edge)
        kiln_hide_scores(arguments, source, rows, wave_row, first_column, end, x);
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
        KILN_UNROLL
    for (unsigned r = 0; r < KILN_CHAIN_ROWS; r++) {
        most[i][r] = -__builtin_inff();
        KILN_UNROLL
        for (unsigned run = 0; run < KILN_CHAIN_RUNS; run++)
            KILN_UNROLL
        for (unsigned e = 0; e < KILN_CHAIN_RUN; e++)
            most[i][r] = kiln_larger(most[i][r], x[i][r][run][e]);
    }
}

/* 0 for a row without visible columns, whose maximum is -infinity. */
KILN_DEVICE kiln_sum kiln_finite_shift(kiln_sum shift)
{
    return shift == __builtin_inff() ? (kiln_sum)0 : shift;
}

/* Multiplies what a row has so far by the exponential of an exponent. */
KILN_DEVICE void kiln_rescale(const kiln_of_rows &exponents, kiln_rows &rows, kiln_results &results)
{
    kiln_of_rows scale;
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
        KILN_UNROLL
    for (unsigned r = 0; r < KILN_CHAIN_ROWS; r++) {
        scale[i][r] = KILN_EXPONENTIAL(exponents[i][r]);
        rows.sum[i][r] *= scale[i][r];
    }
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
        KILN_UNROLL
    for (unsigned j = 0; j < KILN_STRIP_FRAGMENTS; j++)
        KILN_UNROLL
    for (int slot = 0; slot < KILN_MMA_SLOTS; slot++)
        results[i][j][slot] *= scale[i][kiln_chain_row_of_slot(slot)];
}

/* Bases where they are the largest x so far, except that shifts are rounded. */
KILN_DEVICE void kiln_rebase(kiln_sum factor, kiln_rows &rows, kiln_results &results)
{
    kiln_of_rows exponents;
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
        KILN_UNROLL
    for (unsigned r = 0; r < KILN_CHAIN_ROWS; r++) {
        const kiln_sum shift = -(rows.most[i][r] * factor);
        exponents[i][r] = kiln_finite_shift(shift) - rows.shift[i][r];
        rows.shift[i][r] = shift;
    }
    kiln_rescale(exponents, rows, results);
}

/* Exponentials of a run, and their sum: where there are operations on two floats at once, of those at even and at odd places. */
#if defined(KILN_HAS_PACKED_F32) && KILN_CHAIN_RUN % 2 == 0
typedef float kiln_exponential_sum __attribute__((ext_vector_type(2)));
KILN_DEVICE void kiln_exponentiate(const kiln_sum (&x)[KILN_CHAIN_RUN], kiln_sum factor,
                                   kiln_sum shift, kiln_sum (&e)[KILN_CHAIN_RUN],
                                   kiln_exponential_sum &sum)
{
    KILN_UNROLL
    for (unsigned n = 0; n < KILN_CHAIN_RUN; n += 2) {
        kiln_exponential_sum two = {x[n], x[n + 1]};
        two = __builtin_elementwise_fma(two, (kiln_exponential_sum)factor,
                                        (kiln_exponential_sum)shift);
        two = KILN_TO_EXPONENT(two);
        e[n] = kiln_seed_exp2_f32(two.x);
        e[n + 1] = kiln_seed_exp2_f32(two.y);
        sum += (kiln_exponential_sum){e[n], e[n + 1]};
    }
}

KILN_DEVICE kiln_sum kiln_sum_of_exponentials(kiln_exponential_sum sum)
{
    return sum.x + sum.y;
}
#else
typedef kiln_sum kiln_exponential_sum;
KILN_DEVICE void kiln_exponentiate(const kiln_sum (&x)[KILN_CHAIN_RUN], kiln_sum factor,
                                   kiln_sum shift, kiln_sum (&e)[KILN_CHAIN_RUN],
                                   kiln_exponential_sum &sum)
{
    KILN_UNROLL
    for (unsigned n = 0; n < KILN_CHAIN_RUN; n++) {
        e[n] = KILN_EXPONENTIAL(KILN_FMA_SUM(x[n], factor, shift));
        sum += e[n];
    }
}

KILN_DEVICE kiln_sum kiln_sum_of_exponentials(kiln_exponential_sum sum)
{
    return sum;
}
#endif

KILN_DEVICE void kiln_make_weights(const kiln_arguments &arguments,
                                   const kiln_score_source &source,
                                   const kiln_tile_inputs &inputs, kiln_scores &scores,
                                   unsigned wave_row, unsigned first_column, unsigned end,
                                   bool is_edge, kiln_rows &rows, kiln_results &results,
                                   kiln_weights &weights)
{
    const kiln_sum factor = kiln_score_scale / KILN_EXPONENTIAL_LOG;
    kiln_tile_x x;
    kiln_of_rows most;
    kiln_find_x(arguments, source, rows, inputs, scores, wave_row, first_column, end, is_edge, x,
                most);
    KILN_UNROLL
    for (unsigned mask = KILN_CHAIN_LANE_FIRST; mask < KILN_CHAIN_LANE_END; mask *= 2)
        KILN_UNROLL
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
        KILN_UNROLL
    for (unsigned r = 0; r < KILN_CHAIN_ROWS; r++)
        most[i][r] = kiln_larger(most[i][r], KILN_EXCHANGE_SUM(most[i][r], mask));
    bool has_grown = false;
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
        KILN_UNROLL
    for (unsigned r = 0; r < KILN_CHAIN_ROWS; r++) {
        rows.most[i][r] = kiln_larger(rows.most[i][r], most[i][r]);
        has_grown |= KILN_FMA_SUM(rows.most[i][r], factor, rows.shift[i][r]) > KILN_BASE_LAG;
    }
    if (kiln_any(has_grown))
        kiln_rebase(factor, rows, results);
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
        KILN_UNROLL
    for (unsigned r = 0; r < KILN_CHAIN_ROWS; r++) {
        const kiln_sum shift = kiln_finite_shift(rows.shift[i][r]);
        kiln_exponential_sum sum = {};
        KILN_UNROLL
        for (unsigned run = 0; run < KILN_CHAIN_RUNS; run++) {
            kiln_sum sums[KILN_SCORES][KILN_CHAIN_RUN], e[KILN_CHAIN_RUN];
            kiln_sum made[KILN_VALUES][KILN_CHAIN_RUN];
            kiln_exponentiate(x[i][r][run], factor, shift, e, sum);
            kiln_get_run(scores, i, r, run, sums);
            kiln_weight(arguments, source, rows.values[i][r], inputs[i][r][run],
                        wave_row + i * KILN_MMA_M + kiln_chain_row(r),
                        first_column + kiln_chain_column(run), false, sums, e, made);
            kiln_set_weights(i, r, run, made, weights);
        }
        rows.sum[i][r] += kiln_sum_of_exponentials(sum);
    }
}

/* After the last tile bases become the rows' maxima, unrounded, and sums those over all lanes. */
KILN_DEVICE void kiln_rows_end(unsigned wave_row, kiln_rows &rows, kiln_results &results,
                               kiln_row *totals)
{
    const kiln_sum factor = kiln_score_scale / KILN_EXPONENTIAL_LOG;
    kiln_of_rows exponents;
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
        KILN_UNROLL
    for (unsigned r = 0; r < KILN_CHAIN_ROWS; r++)
        exponents[i][r] = rows.shift[i][r] == __builtin_inff()
                              ? (kiln_sum)0
                              : -KILN_FMA_SUM(rows.most[i][r], factor, rows.shift[i][r]);
    kiln_rescale(exponents, rows, results);
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
        KILN_UNROLL
    for (unsigned r = 0; r < KILN_CHAIN_ROWS; r++) {
        kiln_row row;
        row.max = rows.most[i][r] * kiln_score_scale;
        if (kiln_score_offset != 0)
            row.max += kiln_score_offset;
        row.sum = rows.sum[i][r];
        KILN_UNROLL
        for (unsigned mask = KILN_CHAIN_LANE_FIRST; mask < KILN_CHAIN_LANE_END; mask *= 2)
            row.sum += KILN_EXCHANGE_SUM(row.sum, mask);
        if (kiln_leads_row() && kiln_leads_rows())
            totals[wave_row + i * KILN_MMA_M + kiln_chain_row(r)] = row;
    }
}

#endif
