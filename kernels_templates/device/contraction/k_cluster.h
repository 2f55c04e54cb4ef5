/*
 * KILN_GROUPS_K neighbouring work-groups share the k of a tile. Hopper runs them at the same time, as a cluster, and they read
 * each other's LDS: so the sums are added up without a second kernel. (Other choices: k_whole.h, k_segments.h.)
 */
#ifndef KILN_DEVICE_CONTRACTION_K_CLUSTER_H
#define KILN_DEVICE_CONTRACTION_K_CLUSTER_H

#include "device/cluster.h"
#include "device/contraction/k_cut.h"

#define KILN_CUTS_K 1

#define kiln_strip_of_group(strip, group) kiln_in_group(strip, group)

/* Clusters begin at multiples of their size. */
KILN_DEVICE unsigned kiln_cluster_rank()
{
    return kiln_work_group_x() % KILN_GROUPS_K;
}

/* Takes the rank out of the work-group's number. */
KILN_DEVICE void kiln_take_segment(const kiln_arguments &, unsigned &group, kiln_batch &)
{
    group /= KILN_GROUPS_K;
}

/* The part of `whole` that this work-group multiplies. */
KILN_DEVICE kiln_k_range kiln_range_of_group(const kiln_arguments &, const kiln_batch &,
                                             const kiln_k_range &whole)
{
    kiln_k_range range = kiln_range_of_segment(whole.size, KILN_GROUPS_K, kiln_cluster_rank());
    range.is_empty |= whole.is_empty;
    return range;
}

/* The part of `whole` that a finished sum covers. */
KILN_DEVICE kiln_k_range kiln_range_of_sum(const kiln_arguments &, const kiln_batch &,
                                           const kiln_k_range &whole)
{
    return whole;
}

#endif
