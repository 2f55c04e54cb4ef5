#include "cli/fusion_view.h"

#include "compiler/ir/import.h"

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
    return status;
}

void kiln_fusion_view_fini(struct kiln_fusion_view *view)
{
    kiln_arena_fini(&view->arena);
}

static bool is_loaded(const struct kiln_fusion_group *group, uint32_t value)
{
    for (uint32_t i = 0; i < group->load_count; i++)
        if (group->accesses[i].value == value && !group->accesses[i].is_accumulator)
            return true;
    return false;
}

void kiln_fusion_view_members(const struct kiln_graph *graph, const struct kiln_ir *ir,
                              const struct kiln_fusion_group *group, bool *ret_member)
{
    memset(ret_member, 0, graph->node_count * sizeof(*ret_member));
    for (uint32_t i = 0; i < group->op_count; i++) {
        const struct kiln_op *op = &ir->ops[group->ops[i]];
        if (kiln_opcode_info(op->opcode)->op_class != KILN_OP_CLASS_SOURCE &&
            !is_loaded(group, group->ops[i]))
            ret_member[op->node] = true;
    }
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        uint32_t tensor = group->accesses[i].tensor;
        if (tensor != KILN_NONE && graph->tensors[tensor].producer != KILN_NONE)
            ret_member[graph->tensors[tensor].producer] = true;
    }
}
