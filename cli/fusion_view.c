#include "cli/fusion_view.h"

#include "compiler/ir/import.h"
#include "compiler/schedule/schedule_group.h"

#include <string.h>

enum kiln_status kiln_fusion_view_make(const struct kiln_graph *graph,
                                       const struct kiln_target *target,
                                       const struct kiln_lower_options *options,
                                       struct kiln_fusion_view *ret_view, struct kiln_error *error)
{
    memset(ret_view, 0, sizeof(*ret_view));
    kiln_arena_init(&ret_view->arena);
    kiln_ir_init(&ret_view->imported, &ret_view->arena);
    enum kiln_status status = kiln_ir_import(graph, &ret_view->imported, error);
    if (status == KILN_OK)
        status =
            kiln_kernel_plan_make(graph, target, options, &ret_view->arena, &ret_view->plan, error);
    if (status == KILN_OK)
        status = kiln_find_node_kernels(&ret_view->plan, graph, &ret_view->arena, &ret_view->nodes,
                                        error);
    return status;
}

void kiln_fusion_view_fini(struct kiln_fusion_view *view)
{
    kiln_arena_fini(&view->arena);
}

void kiln_fusion_view_print_home(const struct kiln_fusion_view *view,
                                 const struct kiln_graph *graph, uint32_t node,
                                 struct kiln_buffer *buffer)
{
    const struct kiln_node_home *home = &view->nodes.homes[node];
    switch (home->fate) {
    case KILN_NODE_COMPUTED:
        kiln_buffer_printf(buffer, "in kernel %u", (unsigned)home->kernel);
        break;
    case KILN_NODE_CONSTANT:
        kiln_buffer_append_text(buffer, "at compile time");
        break;
    case KILN_NODE_FORWARDED:
        kiln_buffer_append_text(buffer, "nowhere, as its result is ");
        kiln_tensor_print_name(&graph->tensors[home->tensor], buffer);
        break;
    case KILN_NODE_UNUSED:
        kiln_buffer_append_text(buffer, "nowhere, as no output needs it");
        break;
    }
}

struct kiln_alternatives kiln_fusion_view_alternatives(const struct kiln_fusion_view *view,
                                                       const struct kiln_graph *graph,
                                                       uint32_t kernel)
{
    const struct kiln_planned_kernel planned = kiln_kernel_plan_find(&view->plan, kernel);
    const struct kiln_kernel_plan *part = planned.part;
    struct kiln_alternatives alternatives = {0};
    struct kiln_error error;
    kiln_error_init(&error);
    if (kiln_find_alternatives(&part->ir, part->graph != NULL ? part->graph : graph,
                               &part->partition.groups[planned.index], &part->target,
                               &part->schedules[planned.index], &alternatives, &error) != KILN_OK)
        alternatives.count = 0;
    return alternatives;
}
