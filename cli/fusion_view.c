#include "cli/fusion_view.h"

#include "compiler/ir/import.h"
#include "compiler/ir/passes.h"

#include <string.h>

enum kiln_status kiln_fusion_view_make(const struct kiln_graph *graph,
                                       const struct kiln_target *target,
                                       const struct kiln_lower_options *options,
                                       struct kiln_fusion_view *ret_view, struct kiln_error *error)
{
    memset(ret_view, 0, sizeof(*ret_view));
    kiln_arena_init(&ret_view->arena);
    kiln_ir_init(&ret_view->imported, &ret_view->arena);
    kiln_ir_init(&ret_view->optimized, &ret_view->arena);
    enum kiln_status status = kiln_ir_import(graph, &ret_view->imported, error);
    if (status == KILN_OK)
        status = kiln_ir_import(graph, &ret_view->optimized, error);
    if (status == KILN_OK)
        status = kiln_ir_optimize(&ret_view->optimized, graph, error);
    if (status == KILN_OK) {
        status = kiln_partition(&ret_view->optimized, graph, target, options, &ret_view->partition,
                                error);
    }
    if (status != KILN_OK)
        return status;
    uint32_t count = ret_view->partition.group_count;
    ret_view->schedules = kiln_arena_calloc(&ret_view->arena, count, sizeof(*ret_view->schedules));
    if (!ret_view->schedules)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while scheduling the graph");
    for (uint32_t i = 0; i < count && status == KILN_OK; i++) {
        status = kiln_schedule_group(&ret_view->optimized, graph, &ret_view->partition.groups[i],
                                     target, options, &ret_view->schedules[i], error);
    }
    return status;
}

void kiln_fusion_view_fini(struct kiln_fusion_view *view)
{
    kiln_arena_fini(&view->arena);
}

static bool is_loaded(const struct kiln_fusion_group *group, uint32_t tensor)
{
    for (uint32_t i = 0; i < group->load_count; i++)
        if (group->accesses[i].tensor == tensor)
            return true;
    return false;
}

void kiln_fusion_view_members(const struct kiln_graph *graph, const struct kiln_fusion_group *group,
                              bool *ret_member)
{
    memset(ret_member, 0, graph->node_count * sizeof(*ret_member));
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        uint32_t producer = graph->tensors[group->accesses[i].tensor].producer;
        if (producer != KILN_NONE)
            ret_member[producer] = true;
    }
    /* Nodes are sorted: whoever feeds a member comes before it. */
    for (uint32_t i = graph->node_count; i-- > 0;) {
        for (uint32_t j = 0; ret_member[i] && j < graph->nodes[i].input_count; j++) {
            uint32_t tensor = graph->nodes[i].inputs[j];
            uint32_t producer = graph->tensors[tensor].producer;
            if (producer != KILN_NONE && !is_loaded(group, tensor))
                ret_member[producer] = true;
        }
    }
}
