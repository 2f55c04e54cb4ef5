/*
 * From scores to weights, each lane its own sums: the score function, and the softmax over the columns seen so far.
 *
 * Exponentials are relative to a base of their row. It follows the row's maximum only when that is so much larger that the
 * exponentials would be: results are rescaled then, and once more in the end.
 */
#ifndef KILN_DEVICE_ATTENTION_SCORES_H
#define KILN_DEVICE_ATTENTION_SCORES_H

#define KILN_BASE_LAG ((kiln_sum)8) /* in the unit of exponents */

#ifndef KILN_MAXIMUM_KEEPS_NAN
#define KILN_MAXIMUM_KEEPS_NAN 0 /* or 1: an output shows the maximum itself; else exponentials keep a NaN */
#endif

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

/* The rows of a lane. */
struct kiln_rows {
    kiln_score_row values[KILN_FRAGMENTS_M][KILN_CHAIN_ROWS];
    kiln_sum most[KILN_FRAGMENTS_M][KILN_CHAIN_ROWS]; /* x so far */
    kiln_sum base[KILN_FRAGMENTS_M][KILN_CHAIN_ROWS];
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
                                 unsigned wave_row, unsigned last, bool is_first,
                                 bool has_start, kiln_rows &rows)
{
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
        KILN_UNROLL
    for (unsigned r = 0; r < KILN_CHAIN_ROWS; r++) {
        kiln_score_row_start(arguments, source, kiln_lane_row(wave_row, i, r, last),
                             rows.values[i][r]);
        if (!is_first)
            continue;
        kiln_row row;
        kiln_row_start(arguments, source, rows.values[i][r], row);
        if (!has_start) { /* of the first segment only */
            row.max = -__builtin_inff();
            row.sum = 0;
        }
        rows.most[i][r] = row.max;
        rows.base[i][r] = row.max;
        rows.sum[i][r] = kiln_leads_row() ? row.sum : (kiln_sum)0;
    }
}

KILN_DEVICE void kiln_load_scores(const kiln_arguments &arguments, const kiln_score_source &source,
                                  unsigned wave_row, unsigned last, unsigned first_column,
                                  unsigned end, kiln_tile_inputs &inputs)
{
#if KILN_HAS_SCORE_LOADS
    const unsigned last_column = (end - 1) / KILN_CHAIN_RUN * KILN_CHAIN_RUN;
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
        KILN_UNROLL
    for (unsigned r = 0; r < KILN_CHAIN_ROWS; r++)
        KILN_UNROLL
    for (unsigned run = 0; run < KILN_CHAIN_RUNS; run++) {
        const unsigned column = first_column + kiln_chain_column(run);
        kiln_score_load(arguments, source, kiln_lane_row(wave_row, i, r, last),
                        KILN_N_END && column > last_column ? last_column : column,
                        inputs[i][r][run]);
    }
#else
    (void)arguments, (void)source, (void)wave_row, (void)last, (void)first_column, (void)end,
        (void)inputs;
#endif
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

#if KILN_IS_ONLINE

typedef kiln_sum kiln_tile_x[KILN_FRAGMENTS_M][KILN_CHAIN_ROWS][KILN_CHAIN_RUNS][KILN_CHAIN_RUN];
typedef kiln_sum kiln_of_rows[KILN_FRAGMENTS_M][KILN_CHAIN_ROWS];

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
        const bool is_within = !KILN_N_END || column < end;
#if KILN_HIDES_SCORES_LAST
        const bool is_visible =
            is_within && kiln_score_is_visible(arguments, source, rows.values[i][r], row, column);
#else
        const bool is_visible = is_within;
        (void)arguments, (void)source, (void)rows, (void)row;
#endif
        x[i][r][run][e] = is_visible ? x[i][r][run][e] : -__builtin_inff();
    }
}

/* x of a tile, and the largest of each row and lane. */
KILN_DEVICE void kiln_find_x(const kiln_arguments &arguments, const kiln_score_source &source,
                             const kiln_rows &rows, const kiln_tile_inputs &inputs,
                             kiln_scores &scores, unsigned wave_row, unsigned first_column,
                             unsigned end, bool is_edge, kiln_tile_x &x, kiln_of_rows &most)
{
    const bool may_hide = KILN_HAS_MASK || KILN_N_END;
    if (may_hide && !KILN_HIDES_SCORES_LAST && is_edge)
        kiln_evaluate_scores(arguments, source, rows, inputs, scores, wave_row, first_column, true,
                             x);
    else
        kiln_evaluate_scores(arguments, source, rows, inputs, scores, wave_row, first_column, false,
                             x);
    if (may_hide && (KILN_HIDES_SCORES_LAST || KILN_N_END) && is_edge)
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

/* Which x stands for the exponential 1, never infinite because of a row without any. */
KILN_DEVICE kiln_sum kiln_finite_base(kiln_sum base)
{
    return base == -__builtin_inff() ? (kiln_sum)0 : base;
}

/* Bases where they are the largest x so far. */
KILN_DEVICE void kiln_rebase(kiln_sum factor, kiln_rows &rows, kiln_results &results)
{
    kiln_of_rows scale;
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
        KILN_UNROLL
    for (unsigned r = 0; r < KILN_CHAIN_ROWS; r++) {
        const kiln_sum base = kiln_finite_base(rows.most[i][r]);
        scale[i][r] = KILN_EXPONENTIAL((rows.base[i][r] - base) * factor);
        rows.base[i][r] = rows.most[i][r];
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
    const kiln_sum factor = kiln_score_factor(arguments, source);
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
        has_grown |= rows.most[i][r] * factor > rows.base[i][r] * factor + KILN_BASE_LAG;
    }
    if (kiln_any(has_grown))
        kiln_rebase(factor, rows, results);
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
        KILN_UNROLL
    for (unsigned r = 0; r < KILN_CHAIN_ROWS; r++) {
        const kiln_sum shift = -(kiln_finite_base(rows.base[i][r]) * factor);
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

/* After the last tile: bases are the rows' maxima, sums are of all lanes. */
KILN_DEVICE void kiln_rows_end(const kiln_arguments &arguments, const kiln_score_source &source,
                               unsigned wave_row, kiln_rows &rows, kiln_results &results,
                               kiln_row *totals)
{
    const kiln_sum factor = kiln_score_factor(arguments, source);
    kiln_rebase(factor, rows, results);
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
        KILN_UNROLL
    for (unsigned r = 0; r < KILN_CHAIN_ROWS; r++) {
        kiln_row row;
        row.max = kiln_score_value(arguments, source, rows.most[i][r]);
        row.sum = rows.sum[i][r];
        KILN_UNROLL
        for (unsigned mask = KILN_CHAIN_LANE_FIRST; mask < KILN_CHAIN_LANE_END; mask *= 2)
            row.sum += KILN_EXCHANGE_SUM(row.sum, mask);
        if (kiln_leads_row() && kiln_leads_rows())
            totals[wave_row + i * KILN_MMA_M + kiln_chain_row(r)] = row;
    }
}

#else

/* What becomes of the scores of a lane's run of columns, 0 from the last one on. */
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
        if (KILN_N_END && is_masked)
            made[v][n] = column + n < end ? made[v][n] : (kiln_sum)0;
}

#if KILN_VALUES > 0

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
    if ((KILN_HAS_MASK || KILN_N_END) && is_edge)
        kiln_make_tile(arguments, source, inputs, scores, wave_row, first_column, end, true, rows,
                       weights);
    else
        kiln_make_tile(arguments, source, inputs, scores, wave_row, first_column, end, false, rows,
                       weights);
}

KILN_DEVICE void kiln_rows_end(const kiln_arguments &, const kiln_score_source &, unsigned wave_row,
                               kiln_rows &rows, kiln_results &, kiln_row *totals)
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

#endif

#endif
