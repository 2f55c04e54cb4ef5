/*
 * Columns that rows see where there are limits. The facts are kiln_limits, KILN_LIMITS(use), which is use(0) use(1) ..., and
 *   KILN_ARE_ROWS_HEADS   rows are heads of a single query, number 0 among the rows that limits compare
 *   kiln_limit_value      what the graph computes of lengths, of all that is loaded for a row
 */
#ifndef KILN_DEVICE_ATTENTION_VISIBLE_COLUMNS_H
#define KILN_DEVICE_ATTENTION_VISIBLE_COLUMNS_H

#include "device/attention/score_loads.h"

KILN_DEVICE long long kiln_limit_at(const kiln_arguments &arguments, const kiln_score_row &row,
                                    unsigned nth)
{
    (void)row;
    return kiln_number_of(arguments, kiln_limits[nth].offset) +
           kiln_limit_value(arguments, nth KILN_ALL_SCORE_LOADS(KILN_LOADED_FOR_ROW));
}

/* The schedule has made sure that sums of indices and values have 32 bits. */
KILN_DEVICE bool kiln_is_within(const kiln_limit &limit, long long value, unsigned row,
                                unsigned column)
{
    switch (limit.kind) {
    case KILN_LIMIT_LAST:
        return (int)column <= (int)row + (int)value;
    case KILN_LIMIT_FIRST:
        return (int)column >= (int)row + (int)value;
    case KILN_LIMIT_COLUMNS:
        return (long long)column < value;
    default:
        return (long long)row < value;
    }
}

KILN_DEVICE bool kiln_is_visible(const kiln_arguments &arguments, const kiln_score_source &source,
                                 const kiln_score_row &row, unsigned at_row, unsigned column)
{
    const unsigned m = KILN_ARE_ROWS_HEADS ? 0 : source.row + at_row;
#define KILN_IS_WITHIN(nth)                                                                        \
    &&kiln_is_within(kiln_limits[nth], kiln_limit_at(arguments, row, nth), m, column)
    return true KILN_LIMITS(KILN_IS_WITHIN);
}

struct kiln_column_bounds {
    long long first, end;
    long long whole_first, whole_end;
};

KILN_DEVICE void kiln_apply_limit(const kiln_limit &limit, long long value, unsigned first_row,
                                  unsigned end_row, kiln_column_bounds &bounds)
{
    switch (limit.kind) {
    case KILN_LIMIT_LAST:
        bounds.end = kiln_smaller(bounds.end, value + end_row);
        bounds.whole_end = kiln_smaller(bounds.whole_end, value + first_row + 1);
        break;
    case KILN_LIMIT_FIRST:
        bounds.first = kiln_greater(bounds.first, value + first_row);
        bounds.whole_first = kiln_greater(bounds.whole_first, value + end_row - 1);
        break;
    case KILN_LIMIT_COLUMNS:
        bounds.end = kiln_smaller(bounds.end, value);
        bounds.whole_end = kiln_smaller(bounds.whole_end, value);
        break;
    default:
        bounds.end = first_row < value ? bounds.end : 0;
        bounds.whole_end = end_row <= value ? bounds.whole_end : 0;
    }
}

KILN_DEVICE void kiln_find_columns(const kiln_arguments &arguments, const kiln_batch &batch,
                                   unsigned first_row, unsigned end_row, kiln_column_range &range)
{
    if (KILN_ARE_ROWS_HEADS)
        first_row = 0, end_row = 1;
    kiln_score_source source;
    kiln_score_row row;
    kiln_score_start(arguments, batch, 0, source);
    kiln_score_row_start(arguments, source, 0, row);
    kiln_column_bounds bounds = {0, arguments.n, 0, arguments.n};
#define KILN_APPLY_LIMIT(nth)                                                                      \
    kiln_apply_limit(kiln_limits[nth], kiln_limit_at(arguments, row, nth), first_row, end_row,     \
                     bounds);
    KILN_LIMITS(KILN_APPLY_LIMIT)
    const long long end = kiln_greater(bounds.end, 0);
    range.end = (unsigned)end;
    range.first = (unsigned)kiln_smaller(bounds.first, end);
    range.whole_first = (unsigned)kiln_smaller(bounds.whole_first, arguments.n);
    range.whole_end = (unsigned)kiln_greater(bounds.whole_end, 0);
}

#endif
