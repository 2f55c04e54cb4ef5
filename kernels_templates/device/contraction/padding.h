/*
 * Padding contributes nothing to a sum. Tiles and vectors hold it as zero, and zero times infinity is NaN. So an element
 * whose sum is NaN is added up again, slowly, from the factors that are inside of the image. Loops over k have no
 * instruction for it. The slow sum ends at the first NaN, which is none of padding's.
 *
 * KILN_HAS_PADDING is 1 where an operand has a window and sums may be NaN. The prelude defines KILN_ADD_SINGLE,
 * kiln_single_left and kiln_single_right<product> then (compiler/emit/emit_contraction_single.c).
 */
#ifndef KILN_DEVICE_CONTRACTION_PADDING_H
#define KILN_DEVICE_CONTRACTION_PADDING_H

#if KILN_HAS_PADDING

/* Arguments are loaded again for each k: otherwise registers of the whole kernel hold them and what follows from them. */
#define KILN_SUM_INSIDE(product)                                                                   \
    KILN_DEVICE kiln_sum kiln_sum_inside##product(const kiln_arguments &arguments,                 \
                                                  const kiln_result_source &result, unsigned row,  \
                                                  unsigned column)                                 \
    {                                                                                              \
        KILN_ARGUMENTS_AGAIN(kiln_arguments, arguments, own);                                      \
        const kiln_k_span span = kiln_find_span(own, result.batch);                                \
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
                kiln_single_left_inputs of_left;                                                   \
                kiln_single_right##product##_inputs of_right;                                      \
                kiln_single_left_load(now, left, row, result.column + column, of_left);            \
                kiln_single_right##product##_load(now, right, column, result.row + row,            \
                                                  of_right);                                       \
                sum = KILN_ADD_SINGLE(kiln_single_left_value(now, of_left),                        \
                                      kiln_single_right##product##_value(now, of_right),           \
                                      sum);                                                        \
                if (sum != sum)                                                                    \
                    break;                                                                         \
            }                                                                                      \
            kiln_single_left_advance(now, 1, left);                                                \
            kiln_single_right##product##_advance(now, 1, right);                                   \
        }                                                                                          \
        return sum;                                                                                \
    }

/* The k of a sum. */
struct kiln_k_span {
    unsigned first;
    unsigned size;
};

KILN_DEVICE kiln_k_span kiln_find_span(const kiln_arguments &arguments, const kiln_batch &batch)
{
    kiln_k_span span;
    span.first = 0;
#ifdef KILN_HAS_PHASES
    span.size = kiln_phase_k(arguments, batch);
#else
    span.size = (unsigned)arguments.k;
#endif
#if KILN_HAS_SEGMENTS
    const kiln_k_range range =
        kiln_range_of_segment(span.size, (unsigned)arguments.segments, batch.segment);
    span.first = range.first;
    span.size = range.size;
#endif
    (void)batch;
    return span;
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

#if KILN_HAS_PADDING && defined(KILN_ITEM_ROWS)

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

#elif !defined(KILN_ITEM_ROWS)

/* Replaces sums of a vector of the result that are NaN. */
KILN_DEVICE void kiln_take_padding_out(const kiln_arguments &arguments,
                                       const kiln_result_source &result, unsigned row,
                                       unsigned column,
                                       kiln_sum (&values)[KILN_PRODUCTS][KILN_RESULT_VECTOR])
{
    (void)arguments, (void)result, (void)row, (void)column, (void)values;
#if KILN_HAS_PADDING
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
#endif
}

#endif

#endif
