/*
 * A graph's kernels, for showing: the IR before the passes, the plan that kiln_lower makes, and the
 * kernels that compute each node.
 */
#ifndef KILN_CLI_FUSION_VIEW_H
#define KILN_CLI_FUSION_VIEW_H

#include "compiler/plan/kernel_plan.h"
#include "compiler/plan/node_kernels.h"
#include "compiler/schedule/alternatives.h"

struct kiln_fusion_view {
    struct kiln_arena arena;
    struct kiln_ir imported; /* before the passes */
    struct kiln_kernel_plan plan;
    struct kiln_node_kernels nodes;
};

/* The view is initialised in any case: fini it. */
enum kiln_status kiln_fusion_view_make(const struct kiln_graph *graph,
                                       const struct kiln_target *target,
                                       const struct kiln_lower_options *options,
                                       struct kiln_fusion_view *ret_view,
                                       struct kiln_error *error) KILN_NODISCARD;
void kiln_fusion_view_fini(struct kiln_fusion_view *view);

/* "in kernel 2", "at compile time", "nowhere, as its result is uid 1 'x'" or "nowhere, as no output
 * needs it". */
void kiln_fusion_view_print_home(const struct kiln_fusion_view *view,
                                 const struct kiln_graph *graph, uint32_t node,
                                 struct kiln_buffer *buffer);

/* The schedule of a kernel, and two that were passed over (schedule/alternatives.h). The list is
 * empty if there are none or memory is out. */
struct kiln_alternatives kiln_fusion_view_alternatives(const struct kiln_fusion_view *view,
                                                       const struct kiln_graph *graph,
                                                       uint32_t kernel);

#endif
