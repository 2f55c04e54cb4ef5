/*
 * Statistics of layernorms in the shape of the batch dims alone, [N] for an x of [N,C], get the
 * trailing ones that they stand for, [N,1]: everybody later may align shapes at the right.
 */
#include "compiler/graph/graph_builder.h"

static bool is_layernorm(const struct kiln_node *node)
{
    return node->kind == KILN_NODE_LAYERNORM || node->kind == KILN_NODE_LAYERNORM_BACKWARD;
}

/*
 * The rank that the tensor gets as this operand of a node, 0 when it stays as it is. One element
 * means the same with any number of ones.
 */
static uint32_t padded_rank(const struct kiln_graph *graph, const struct kiln_node *node,
                            uint8_t role, uint32_t ordinal)
{
    if (!is_layernorm(node) || (role != KILN_OPERAND_MEAN && role != KILN_OPERAND_INV_VARIANCE))
        return 0;
    const struct kiln_tensor *x = &graph->tensors[kiln_node_input(node, KILN_OPERAND_X)];
    const struct kiln_tensor *tensor = &graph->tensors[ordinal];
    uint32_t batch_dims = x->rank;
    while (batch_dims > 0 && (node->normalization.axes >> (batch_dims - 1) & 1) != 0)
        batch_dims--;
    if (tensor->rank != batch_dims || kiln_tensor_elements(tensor) == 1)
        return 0;
    for (uint32_t i = 0; i < batch_dims; i++) {
        if (tensor->dims[i] != x->dims[i])
            return 0;
    }
    return x->rank;
}

static void note_ranks(const struct kiln_graph *graph, const struct kiln_node *node,
                       const uint32_t *operands, const uint8_t *roles, uint32_t count,
                       uint8_t *ranks)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t rank = padded_rank(graph, node, roles[i], operands[i]);
        if (rank != 0)
            ranks[operands[i]] = (uint8_t)rank;
    }
}

static enum kiln_status check_ranks(const struct kiln_graph_builder *builder,
                                    const struct kiln_node *node, const uint32_t *operands,
                                    const uint8_t *roles, uint32_t count, const uint8_t *ranks)
{
    const struct kiln_graph *graph = &builder->graph;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t rank = ranks[operands[i]];
        if (rank == 0 || padded_rank(graph, node, roles[i], operands[i]) == rank)
            continue;
        return kiln_reject_tensor(
            builder->error, KILN_REJECT_SHAPE, graph, node, &graph->tensors[operands[i]],
            "the statistics of a layernorm, without the normalised axes; as %s here its shape "
            "means something else",
            kiln_operand_text((enum kiln_operand)roles[i]));
    }
    return KILN_OK;
}

enum kiln_status kiln_layernorm_statistics_pad(struct kiln_graph_builder *builder)
{
    struct kiln_graph *graph = &builder->graph;
    uint8_t *ranks = kiln_arena_calloc(builder->scratch, graph->tensor_count, sizeof *ranks);
    if (ranks == NULL)
        return kiln_graph_no_memory(builder->error);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct kiln_node *node = &graph->nodes[i];
        note_ranks(graph, node, node->inputs, node->input_roles, node->input_count, ranks);
        note_ranks(graph, node, node->outputs, node->output_roles, node->output_count, ranks);
    }
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct kiln_node *node = &graph->nodes[i];
        enum kiln_status status =
            check_ranks(builder, node, node->inputs, node->input_roles, node->input_count, ranks);
        if (status == KILN_OK)
            status = check_ranks(builder, node, node->outputs, node->output_roles,
                                 node->output_count, ranks);
        if (status != KILN_OK)
            return status;
    }
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        struct kiln_tensor *tensor = &graph->tensors[i];
        for (; tensor->rank < ranks[i]; tensor->rank++) {
            tensor->dims[tensor->rank] = 1;
            tensor->strides[tensor->rank] = 0;
        }
    }
    return KILN_OK;
}
