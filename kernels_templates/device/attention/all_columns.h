/*
 * Rows see all columns. With limits it is visible_columns.h.
 */
#ifndef KILN_DEVICE_ATTENTION_ALL_COLUMNS_H
#define KILN_DEVICE_ATTENTION_ALL_COLUMNS_H

#include "device/attention/score_loads.h"

KILN_DEVICE bool kiln_is_visible(const kiln_arguments &, const kiln_score_source &,
                                 const kiln_score_row &, unsigned, unsigned)
{
    return true;
}

KILN_DEVICE void kiln_find_columns(const kiln_arguments &arguments, const kiln_batch &, unsigned,
                                   unsigned, kiln_column_range &range)
{
    /* n is not negative, but the maximum keeps the end of the loop apart from n. Without it gradients spill scalar registers on
     * gfx90a. */
    range.first = range.whole_first = 0;
    range.end = range.whole_end = (unsigned)kiln_greater(arguments.n, 0);
}

#endif
