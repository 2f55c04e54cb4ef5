/*
 * Long rows on NVIDIA GPUs with clusters: neighbouring work-groups that run at the same time share
 * a row, and read each other's accumulators. So each of them holds a part of the row that registers
 * have room for, several rows are in flight on each multiprocessor, and few rows fill the target.
 */
#ifndef KILN_COMPILER_FAMILIES_REDUCTION_REDUCTION_CLUSTER_H
#define KILN_COMPILER_FAMILIES_REDUCTION_REDUCTION_CLUSTER_H

#include "compiler/families/reduction/schedule/reduction_problem.h"

/* Work-groups that share a row, a power of two. 1: no cluster. The schedule has its sizes. */
uint32_t kiln_choose_groups_of_row(const struct kiln_reduction_problem *problem,
                                   const struct kiln_schedule *schedule);

/* Work-items of each work-group, a power of two: as few as have room for their part of a row, since
 * each of them merges what it has, however little. */
uint32_t kiln_items_of_cluster(const struct kiln_reduction_problem *problem,
                               const struct kiln_schedule *schedule);

#endif
