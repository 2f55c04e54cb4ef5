#include "compiler/graph/graph_builder.h"

static enum kiln_status read_list(struct kiln_graph_builder *builder, const struct kiln_node *node,
                                  enum kiln_reject_reason reason,
                                  const struct kiln_spatial_parameter *list,
                                  const struct kiln_spatial_parameter *first)
{
    if (list->wire->count != first->wire->count)
        return kiln_reject_node(builder->error, reason, &builder->graph, node,
                                "%s has %u %s and %s %u, must be one for each spatial axis",
                                list->name, list->wire->count,
                                list->wire->count == 1 ? "entry" : "entries", first->name,
                                first->wire->count);
    for (uint32_t i = 0; i < list->wire->count; i++) {
        int64_t item = list->wire->items[i];
        if (item < list->smallest || item > INT32_MAX)
            return kiln_reject_node(builder->error, reason, &builder->graph, node,
                                    "%s %u is %lld, must be from %lld to %d", list->name, i,
                                    (long long)item, (long long)list->smallest, INT32_MAX);
        list->ret_items[i] = item;
    }
    return KILN_OK;
}

enum kiln_status kiln_spatial_parameters_read(struct kiln_graph_builder *builder,
                                              const struct kiln_node *node,
                                              enum kiln_reject_reason reason,
                                              const struct kiln_spatial_parameter *lists,
                                              size_t list_count, uint32_t *ret_spatial_count)
{
    uint32_t spatial_count = lists[0].wire->count;
    if (spatial_count < 1 || spatial_count > KILN_MAX_SPATIAL_AXES)
        return kiln_reject_node(builder->error, reason, &builder->graph, node,
                                "%s has %u entries, must be one for each of 1 to %d spatial axes",
                                lists[0].name, spatial_count, KILN_MAX_SPATIAL_AXES);
    enum kiln_status status = KILN_OK;
    for (size_t i = 0; status == KILN_OK && i < list_count; i++)
        status = read_list(builder, node, reason, &lists[i], &lists[0]);
    if (status == KILN_OK)
        *ret_spatial_count = spatial_count;
    return status;
}
