/*
 * A work-group multiplies one of arguments.segments segments of k: neighbouring work-groups have different segments of the
 * same tile. They store sums, which another kernel adds up. (Other choices: k_whole.h, k_cluster.h.)
 *
 * kiln_batch has a member `segment`.
 */
#ifndef KILN_DEVICE_CONTRACTION_K_SEGMENTS_H
#define KILN_DEVICE_CONTRACTION_K_SEGMENTS_H

#include "device/contraction/alone.h"
#include "device/contraction/k_cut.h"

#define KILN_CUTS_K 1

/* Takes the segment's number out of the work-group's. */
KILN_DEVICE void kiln_take_segment(const kiln_arguments &arguments, unsigned &group,
                                   kiln_batch &batch)
{
    batch.segment = kiln_uniform(group % (unsigned)arguments.segments);
    group /= (unsigned)arguments.segments;
}

/* The part of `whole` that this work-group multiplies. */
KILN_DEVICE kiln_k_range kiln_range_of_group(const kiln_arguments &arguments,
                                             const kiln_batch &batch, const kiln_k_range &whole)
{
    kiln_k_range range =
        kiln_range_of_segment(whole.size, (unsigned)arguments.segments, batch.segment);
    range.is_empty |= whole.is_empty;
    return range;
}

/* The part of `whole` that a finished sum covers. */
#define kiln_range_of_sum kiln_range_of_group

#endif
