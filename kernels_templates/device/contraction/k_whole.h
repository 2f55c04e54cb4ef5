/*
 * A work-group multiplies all of k. (Other choices: k_segments.h, k_cluster.h.)
 */
#ifndef KILN_DEVICE_CONTRACTION_K_WHOLE_H
#define KILN_DEVICE_CONTRACTION_K_WHOLE_H

#include "device/contraction/alone.h"
#include "device/contraction/k_range.h"

#define KILN_CUTS_K 0

/* Takes the segment's number out of the work-group's. */
KILN_DEVICE void kiln_take_segment(const kiln_arguments &, unsigned &, kiln_batch &)
{
}

/* The part of `whole` that this work-group multiplies. */
KILN_DEVICE kiln_k_range kiln_range_of_group(const kiln_arguments &, const kiln_batch &,
                                             const kiln_k_range &whole)
{
    return whole;
}

/* The part of `whole` that a finished sum covers. */
KILN_DEVICE kiln_k_range kiln_range_of_sum(const kiln_arguments &, const kiln_batch &,
                                           const kiln_k_range &whole)
{
    return whole;
}

#endif
