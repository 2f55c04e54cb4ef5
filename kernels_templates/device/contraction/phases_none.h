/*
 * All rows have all of k. (The other choice: phases.h.)
 */
#ifndef KILN_DEVICE_CONTRACTION_PHASES_NONE_H
#define KILN_DEVICE_CONTRACTION_PHASES_NONE_H

#include "device/contraction/k_range.h"

/* The k of a batch. */
KILN_DEVICE kiln_k_range kiln_k_of_batch(const kiln_arguments &arguments, const kiln_batch &)
{
    kiln_k_range range;
    range.first = 0;
    range.size = (unsigned)arguments.k;
    range.is_empty = false;
    return range;
}

/* False for rows that exist in other phases only. */
#define kiln_is_row_of_phase(arguments, batch, row) ((void)(arguments), true)

#endif
