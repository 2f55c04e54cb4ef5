/*
 * Plans of parts of a graph. Internal to kernel_plan.c and kernel_plan_parts.c.
 */
#ifndef KILN_COMPILER_KERNEL_PLAN_PARTS_H
#define KILN_COMPILER_KERNEL_PLAN_PARTS_H

#include "compiler/kernel_plan.h"

/* Some nodes of a graph, ascending. */
struct kiln_part_nodes {
    const uint32_t *nodes;
    uint32_t count;
};

/* kernel_plan.c: plans some nodes, or all if `nodes` is NULL. Partitions take about `max_steps`
 * steps at most. Tensors that other nodes make must be inputs of the graph. */
enum kiln_status kiln_part_plan_make(const struct kiln_graph *graph,
                                     const struct kiln_part_nodes *nodes, uint64_t max_steps,
                                     const struct kiln_target *target,
                                     const struct kiln_lower_options *options,
                                     struct kiln_arena *arena, struct kiln_kernel_plan *ret_plan,
                                     struct kiln_error *error) KILN_NODISCARD;

/* kernel_plan.c: makes the same plan again, in another arena, without looking for the strategy. The
 * arena of the first plan can be freed then. */
enum kiln_status kiln_part_plan_repeat(const struct kiln_graph *graph,
                                       const struct kiln_kernel_plan *plan,
                                       const struct kiln_lower_options *options,
                                       struct kiln_arena *arena, struct kiln_kernel_plan *ret_plan,
                                       struct kiln_error *error) KILN_NODISCARD;

/* kernel_plan_parts.c: kiln_kernel_plan_make for a graph of any size, in parts of at most `most`
 * weight, or of the least weight where a partition runs out of steps. */
enum kiln_status kiln_kernel_plan_make_in_parts(const struct kiln_graph *graph, uint32_t most,
                                                const struct kiln_target *target,
                                                const struct kiln_lower_options *options,
                                                struct kiln_arena *arena,
                                                struct kiln_kernel_plan *ret_plan,
                                                struct kiln_error *error) KILN_NODISCARD;

/* kernel_plan_parts.c: the same for a graph that may be done as a whole: what is faster by the
 * model of time, that or parts of the least weight. */
enum kiln_status kiln_kernel_plan_make_either(const struct kiln_graph *graph,
                                              const struct kiln_target *target,
                                              const struct kiln_lower_options *options,
                                              struct kiln_arena *arena,
                                              struct kiln_kernel_plan *ret_plan,
                                              struct kiln_error *error) KILN_NODISCARD;

#endif
