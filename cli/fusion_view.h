/*
 * A graph's kernels, for showing: the IR before the passes, and the plan that kiln_lower makes.
 */
#ifndef KILN_CLI_FUSION_VIEW_H
#define KILN_CLI_FUSION_VIEW_H

#include "compiler/kernel_plan.h"

struct kiln_fusion_view {
    struct kiln_arena arena;
    struct kiln_ir imported; /* before the passes */
    struct kiln_kernel_plan plan;
};

/* The view is initialised in any case: fini it. */
enum kiln_status kiln_fusion_view_make(const struct kiln_graph *graph,
                                       const struct kiln_target *target,
                                       const struct kiln_lower_options *options,
                                       struct kiln_fusion_view *ret_view,
                                       struct kiln_error *error) KILN_NODISCARD;
void kiln_fusion_view_fini(struct kiln_fusion_view *view);

/*
 * Which graph nodes a group evaluates: ret_member[i] for node i of the graph. A node can be in
 * several groups (its value is computed again) and in none (nothing needs it, or an equal node's
 * value serves for both).
 */
void kiln_fusion_view_members(const struct kiln_graph *graph, const struct kiln_ir *ir,
                              const struct kiln_fusion_group *group, bool *ret_member);

#endif
