/*
 * The search for the fastest plan of one program: one table of alternatives, one budget of steps,
 * one comparison by the model's time. Internal to compiler/plan.
 *
 * An alternative is a program and a set of choices of its partition (fuse/choice.def). Programs
 * come in this order:
 *
 *   1. the variants that families offer in the program's place; the first whose kernels can be made
 *      is taken, without a comparison
 *   2. the program itself, if there is none
 *   3. refinements, by the same family, of the variant that was taken: compared by time
 *
 * Each program is partitioned without any departure first, then with each set of those that would
 * change its partition. The record has the reason for each alternative that cannot be made.
 */
#ifndef KILN_COMPILER_PLAN_PLAN_SEARCH_H
#define KILN_COMPILER_PLAN_PLAN_SEARCH_H

#include "compiler/plan/kernel_plan.h"

/* All but the last member are inputs. */
struct kiln_plan_task {
    const struct kiln_graph *graph;
    const struct kiln_target *target;
    const struct kiln_lower_options *options;
    struct kiln_arena *arena;
    uint64_t max_steps;       /* of all partitions together, apart from those of refused variants */
    struct kiln_buffer *dump; /* takes programs after each pass; NULL: none */
};

/* Plans the program with every alternative: *ret_plan is the fastest. Its kernels all walk
 * forwards (walk_directions.h). */
enum kiln_status kiln_search_plan(const struct kiln_plan_task *task, const struct kiln_ir *ir,
                                  struct kiln_kernel_plan *ret_plan,
                                  struct kiln_error *error) KILN_NODISCARD;

/* Makes one alternative of plan->ir again: groups, then their schedules. KILN_UNSUPPORTED: the
 * kernels of this program cannot be made. */
enum kiln_status kiln_plan_alternative(const struct kiln_plan_task *task,
                                       const struct kiln_partition_strategy *strategy,
                                       struct kiln_kernel_plan *plan,
                                       struct kiln_error *error) KILN_NODISCARD;

#endif
