/*
 * Directions of the kernels' walks through memory. Internal to compiler/plan.
 *
 * When a kernel ends, the caches hold the memory that it walked over last. So a kernel walks in the
 * opposite direction to the kernel that last touched most of its traffic.
 */
#ifndef KILN_COMPILER_PLAN_WALK_DIRECTIONS_H
#define KILN_COMPILER_PLAN_WALK_DIRECTIONS_H

#include "compiler/plan/kernel_plan.h"

/* Sets walks_back of the plan's schedules. */
enum kiln_status kiln_choose_walk_directions(struct kiln_kernel_plan *plan,
                                             const struct kiln_graph *graph,
                                             struct kiln_error *error) KILN_NODISCARD;

#endif
