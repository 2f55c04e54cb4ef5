/*
 * Each index along the first axis of batches has the k of the group of its number. (Other choices: phases_none.h, phases.h.)
 */
#ifndef KILN_DEVICE_CONTRACTION_K_OF_GROUPS_H
#define KILN_DEVICE_CONTRACTION_K_OF_GROUPS_H

#include "device/contraction/group_starts.h"
#include "device/contraction/k_range.h"

/* The k of a batch. */
KILN_DEVICE kiln_k_range kiln_k_of_batch(const kiln_arguments &arguments, const kiln_batch &batch)
{
    const unsigned size = (unsigned)arguments.k, groups = (unsigned)arguments.groups;
    const unsigned group = batch.c[0];
    unsigned first = 0;
    KILN_NO_UNROLL
    for (unsigned g = 0; g <= group; g++)
        first = kiln_next_start(kiln_group_offset(arguments, g), first, size);
    const unsigned end = group + 1 < groups
                             ? kiln_next_start(kiln_group_offset(arguments, group + 1), first, size)
                             : size;
    kiln_k_range range;
    range.is_empty = end == first;
    range.first = range.is_empty ? 0 : first;
    range.size = range.is_empty ? 1 : end - first;
    return range;
}

#define kiln_is_row_of_phase(arguments, batch, row) ((void)(arguments), true)

#endif
