/*
 * Lines of the log, and counts, about questions and plans.
 */
#ifndef KILN_RUNTIME_ENGINE_ENGINE_REPORT_H
#define KILN_RUNTIME_ENGINE_ENGINE_REPORT_H

#include "runtime/engine/plan.h"

/*
 * For the answer of kiln_engine_check; `reason` is NULL for a yes. A decline is a line in the log,
 * once for each graph and reason; the first that this machine is the reason of is a warning.
 * `is_readable`: the graph was read; otherwise only its name is set, and its bytes stand for it.
 */
void kiln_report_answer(const struct kiln_graph *graph, bool is_readable, const void *bytes,
                        size_t size, const struct kiln_error *reason);

/* For a plan that was made in so many nanoseconds: one line, with the source of each kernel. */
void kiln_report_plan(const struct kiln_plan *plan, const struct kiln_graph *graph,
                      uint64_t nanoseconds);

#endif
