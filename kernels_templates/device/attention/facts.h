/*
 * Types of attention's facts, and of what its generated functions are given.
 */
#ifndef KILN_DEVICE_ATTENTION_FACTS_H
#define KILN_DEVICE_ATTENTION_FACTS_H

#include "device/contraction/map.h"

/* The elements that a limit allows. Its value is the offset and what kiln_limit_value adds. */
enum kiln_limit_kind {
    KILN_LIMIT_LAST,    /* column <= row + value */
    KILN_LIMIT_FIRST,   /* column >= row + value */
    KILN_LIMIT_COLUMNS, /* column < value */
    KILN_LIMIT_ROWS,    /* row < value: other rows see nothing */
};

struct kiln_limit {
    kiln_limit_kind kind;
    kiln_number offset;
};

KILN_DEVICE long long kiln_smaller(long long a, long long b)
{
    return a < b ? a : b;
}

KILN_DEVICE long long kiln_greater(long long a, long long b)
{
    return a > b ? a : b;
}

/* The totals of a row after its last tile: the largest x that the graph exponentiates, and the sum of exponentials of x - max (of x
 * where max is -infinity). Without a softmax they mean nothing. */
struct kiln_row {
    kiln_sum max, sum;
};

/* Columns that a tile of rows needs: from first to end, at most n. There are none where they are equal. All rows of the tile see
 * all columns from whole_first to whole_end. */
struct kiln_column_range {
    unsigned first, end;
    unsigned whole_first, whole_end;
};

#endif
