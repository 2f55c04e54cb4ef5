/*
 * The printed form of a finished plan: what the search tried, groups, schedules. Each ends with a
 * line end.
 */
#ifndef KILN_COMPILER_PLAN_PLAN_PRINT_H
#define KILN_COMPILER_PLAN_PLAN_PRINT_H

#include "compiler/plan/kernel_plan.h"

/* The plans that were tried for each part, with the model's times, and the groups of all kernels:
 * operations, accesses, and why each is a kernel of its own. */
void kiln_plan_print_groups(const struct kiln_kernel_plan *plan, const struct kiln_graph *graph,
                            struct kiln_buffer *buffer);

/* Two lines for each kernel: its schedule and its time by the model. */
void kiln_plan_print_schedules(const struct kiln_kernel_plan *plan, const struct kiln_graph *graph,
                               struct kiln_buffer *buffer);

#endif
