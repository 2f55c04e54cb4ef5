/*
 * Plans of general kernels, for override shapes. The plan of the declared shapes makes them
 * beforehand, so that no smaller shape waits for a compiler while it is executed: general kernels
 * stand in for the fastest ones that no cache has.
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
