/*
 * Ragged operands: where a batch begins, and how many rows it has. Both are read once for a work-group. Facts:
 *   KILN_SPANS              how many: operands that lie alike have one each
 *   KILN_SPAN_LIST(use)     use(nth, n): the offsets are access n, and arguments.span<nth>_ has the rest
 *   KILN_SPAN_OF(n)         the span whose length access n is
 *   KILN_ROW_SPANS, KILN_COLUMN_SPANS   sets, a bit for each: those of rows, and of columns
 *   KILN_STORE_SPANS        those of results
 *   KILN_STORES_ALL_ROWS    1 where some result is not ragged: it has all rows
 *   KILN_SPAN_ROWS(length)  rows of the kernel that a batch of that length has
 *
 * An access whose map has a span lies within it. LENGTH is the form of an access that is its length: as SCALAR, but of the batch.
 */
#ifndef KILN_DEVICE_ATTENTION_SPANS_H
#define KILN_DEVICE_ATTENTION_SPANS_H

#include "device/attention/facts.h"
#include "device/contraction/offset.h"

#ifdef KILN_SPANS

KILN_DEVICE long long kiln_uniform_long(long long value)
{
    const unsigned low = (unsigned)kiln_uniform((unsigned)value);
    const unsigned high = (unsigned)kiln_uniform((unsigned)((unsigned long long)value >> 32));
    return (long long)((unsigned long long)high << 32 | low);
}

/*
 * Offsets are untrusted data. Those that are negative, decrease, or exceed what valid ones reach are cut (compiler/graph/ragged.h).
 * So no element is outside of what the last offset says.
 */
template <class Offset>
KILN_DEVICE kiln_span kiln_find_span(const Offset *all, long long batch, long long step,
                                     long long last_batch, long long limit, long long multiplier,
                                     long long token, long long longest)
{
    const long long last =
        kiln_smaller(kiln_greater((long long)all[last_batch * step], 0), limit);
    const long long first = kiln_smaller(kiln_greater((long long)all[batch], 0), last);
    const long long next = kiln_smaller(kiln_greater((long long)all[batch + step], first), last);
    kiln_span span;
    span.base = kiln_uniform_long(first * multiplier);
    span.length = (unsigned)kiln_uniform(
        (unsigned)kiln_smaller((next - first) * multiplier / token, longest));
    return span;
}

KILN_DEVICE void kiln_find_spans(const kiln_arguments &arguments, kiln_batch &batch)
{
#define KILN_FIND_SPAN(nth, n)                                                                     \
    batch.spans[nth] = kiln_find_span(                                                             \
        arguments.a##n, kiln_offset_of_batch(arguments, kiln_map_##n, batch),                      \
        arguments.span##nth##_step, arguments.span##nth##_batches, arguments.span##nth##_limit,    \
        arguments.span##nth##_multiplier, arguments.span##nth##_token,                             \
        arguments.span##nth##_longest);
    KILN_SPAN_LIST(KILN_FIND_SPAN)
}

/* The rows of the scores that all ragged operands have. */
KILN_DEVICE unsigned kiln_span_rows(const kiln_arguments &arguments, const kiln_batch &batch)
{
    unsigned rows = (unsigned)arguments.m;
#define KILN_TAKE_SPAN_ROWS(nth, n)                                                                \
    if ((KILN_ROW_SPANS >> nth & 1) != 0 && KILN_SPAN_ROWS(batch.spans[nth].length) < rows)        \
        rows = KILN_SPAN_ROWS(batch.spans[nth].length);
    KILN_SPAN_LIST(KILN_TAKE_SPAN_ROWS)
    return rows;
}

/* The rows that any result has: those that some operand lacks are stored as empty ones. */
KILN_DEVICE unsigned kiln_stored_rows(const kiln_arguments &arguments, const kiln_batch &batch)
{
    unsigned rows = KILN_STORES_ALL_ROWS ? (unsigned)arguments.m : 0;
#define KILN_TAKE_STORED_ROWS(nth, n)                                                              \
    if ((KILN_STORE_SPANS >> nth & 1) != 0 && KILN_SPAN_ROWS(batch.spans[nth].length) > rows)      \
        rows = KILN_SPAN_ROWS(batch.spans[nth].length);
    KILN_SPAN_LIST(KILN_TAKE_STORED_ROWS)
    return rows;
}

/* Leaves the columns that all ragged operands have; none, where there is no row. */
KILN_DEVICE void kiln_cut_to_spans(const kiln_batch &batch, bool has_rows,
                                   kiln_column_range &range)
{
    unsigned end = has_rows ? range.end : 0;
#define KILN_TAKE_SPAN_COLUMNS(nth, n)                                                             \
    if ((KILN_COLUMN_SPANS >> nth & 1) != 0 && batch.spans[nth].length < end)                      \
        end = batch.spans[nth].length;
    KILN_SPAN_LIST(KILN_TAKE_SPAN_COLUMNS)
    range.end = end;
    range.first = range.first < end ? range.first : end;
    range.whole_end = range.whole_end < end ? range.whole_end : end;
}

/* ---- accesses of the form LENGTH ---- */

#define KILN_POINTER_LENGTH(n, type) kiln_storage_##type x##n;
#define KILN_START_LENGTH(n)                                                                       \
    source.x##n = (decltype(source.x##n))batch.spans[KILN_SPAN_OF(n)].length;
#define KILN_ADVANCE_LENGTH(n)
#define KILN_ADVANCE_ROWS_LENGTH(n)
#define KILN_LOADS_LENGTH(side, n) KILN_LOADS_SCALAR(side, n)
#define KILN_OFFSETS_LENGTH(side, n)
#define KILN_LOCATE_LENGTH(side, n, type)
#define KILN_KEEP_LENGTH(side, n)
#define KILN_LOAD_LENGTH(side, n) inputs.x##n[0] = source.x##n;

#define KILN_RESULT_FROM_LENGTH(n, type)
#define KILN_RESULT_START_LENGTH(n)
#define KILN_RESULT_COUNT_LENGTH(n) 1u
#define KILN_RESULT_LOAD_LENGTH(n)                                                                 \
    inputs.x##n[0] = (int)source.batch.spans[KILN_SPAN_OF(n)].length;

#define KILN_SCORE_POINTER_LENGTH(n, type)
#define KILN_SCORE_START_LENGTH(n)
#define KILN_SCORE_ROW_LENGTH(n, type) kiln_storage_##type x##n;
#define KILN_SCORE_ROW_LOAD_LENGTH(n)                                                              \
    row.x##n = (decltype(row.x##n))source.batch.spans[KILN_SPAN_OF(n)].length;
#define KILN_SCORE_INPUT_LENGTH(n, type)
#define KILN_SCORE_LOAD_LENGTH(n)
#define KILN_LOADED_LENGTH(n)         row.x##n
#define KILN_LOADED_FOR_ROW_LENGTH(n) , row.x##n

#endif

#endif
