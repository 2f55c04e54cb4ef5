/*
 * Plans of parts of a graph. Internal to plan_pipeline.c and kernel_plan_parts.c.
 */
#ifndef KILN_COMPILER_PLAN_KERNEL_PLAN_PARTS_H
#define KILN_COMPILER_PLAN_KERNEL_PLAN_PARTS_H

#include "compiler/plan/plan_search.h"

/* Some nodes of a graph, ascending. */
struct kiln_part_nodes {
    const uint32_t *nodes;
    uint32_t count;
};

/* plan_pipeline.c: plans some nodes, or all if `nodes` is NULL. Tensors that other nodes make must
 * be inputs of the graph. */
enum kiln_status kiln_part_plan_make(const struct kiln_plan_task *task,
                                     const struct kiln_part_nodes *nodes,
                                     struct kiln_kernel_plan *ret_plan,
                                     struct kiln_error *error) KILN_NODISCARD;

/* plan_pipeline.c: makes the same plan again, in the task's arena, without the search. The arena of
 * the first plan can be freed then. */
enum kiln_status kiln_part_plan_repeat(const struct kiln_plan_task *task,
                                       const struct kiln_kernel_plan *plan,
                                       struct kiln_kernel_plan *ret_plan,
                                       struct kiln_error *error) KILN_NODISCARD;

/* kernel_plan_parts.c: kiln_kernel_plan_make for a graph of any size, in parts of at most `most`
 * weight, or of the least weight where a partition runs out of steps. */
enum kiln_status kiln_kernel_plan_make_in_parts(const struct kiln_plan_task *task, uint32_t most,
                                                struct kiln_kernel_plan *ret_plan,
                                                struct kiln_error *error) KILN_NODISCARD;

/* kernel_plan_parts.c: the same for a graph that may be done as a whole: what is faster by the
 * model of time, that or parts of the least weight. */
enum kiln_status kiln_kernel_plan_make_either(const struct kiln_plan_task *task,
                                              struct kiln_kernel_plan *ret_plan,
                                              struct kiln_error *error) KILN_NODISCARD;

#endif
