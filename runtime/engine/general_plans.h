/*
 * Plans of general kernels, for override shapes. They are made with the plan of the declared
 * shapes, so that a smaller shape never waits for a compiler when it is executed: the kernels that
 * are fastest for it may be missing, these are there.
 */
#ifndef KILN_RUNTIME_ENGINE_GENERAL_PLANS_H
#define KILN_RUNTIME_ENGINE_GENERAL_PLANS_H

#include "runtime/engine/plan.h"

/* Options of a plan of general kernels in place of this plan. False if hosts force something else.
 */
bool kiln_general_options(const struct kiln_plan *plan, struct kiln_lower_options *ret_lower);

/* Makes the general kernels of a plan that has the bytes of its graph. What cannot be made is
 * logged and left to the executions; only lack of memory fails. */
enum kiln_status kiln_plan_make_general(struct kiln_plan *plan, const struct kiln_graph *graph,
                                        struct kiln_error *error) KILN_NODISCARD;

#endif
