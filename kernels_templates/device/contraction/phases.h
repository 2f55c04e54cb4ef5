/*
 * Rows are sorted by the phase of a strided data gradient, and each phase has a k of its own: kiln_phase_axes, facts. (The other
 * choice: phases_none.h.)
 */
#ifndef KILN_DEVICE_CONTRACTION_PHASES_H
#define KILN_DEVICE_CONTRACTION_PHASES_H

#include "device/contraction/index.h"
#include "device/contraction/k_range.h"

KILN_DEVICE unsigned kiln_size_of_axes(const kiln_arguments &arguments, const kiln_batch &batch,
                                       const kiln_axes &axes)
{
    unsigned size = 1;
#define KILN_MULTIPLY_SIZE(i)                                                                      \
    size *= i < axes.rank ? kiln_size_of_axis(arguments, batch, axes.axes[i]) : 1;
    KILN_UP(KILN_INDEX_RANK, KILN_MULTIPLY_SIZE)
    return size;
}

/* The k of a batch. */
KILN_DEVICE kiln_k_range kiln_k_of_batch(const kiln_arguments &arguments, const kiln_batch &batch)
{
    kiln_k_range range;
    range.first = 0;
    range.size = kiln_size_of_axes(arguments, batch, kiln_k_axes);
    range.is_empty = false;
#define KILN_ASK_PHASE(p) range.is_empty = range.is_empty || batch.phases[p].is_empty;
    KILN_UP(KILN_PHASES, KILN_ASK_PHASE)
    return range;
}

KILN_DEVICE bool kiln_is_row_of(const kiln_arguments &arguments, const kiln_phase_axis &axis,
                                const kiln_batch &batch, const kiln_index &row)
{
    return row.c[axis.row_axis] * (unsigned)kiln_number_of(arguments, axis.divisor) +
               batch.c[axis.batch] <
           (unsigned)kiln_number_of(arguments, axis.rows);
}

/* False for rows that exist in other phases only. */
KILN_DEVICE bool kiln_is_row_of_phase(const kiln_arguments &arguments, const kiln_batch &batch,
                                      unsigned row)
{
    const kiln_index at = kiln_split_m(arguments, batch, row);
    bool is_row = true;
#define KILN_ASK_ROW(p) is_row = is_row && kiln_is_row_of(arguments, kiln_phase_axes[p], batch, at);
    KILN_UP(KILN_PHASES, KILN_ASK_ROW)
    return is_row;
}

#endif
