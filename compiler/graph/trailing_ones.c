/*
 * Some operands may come without their last axes where these have size 1: the statistics of a
 * layernorm, [N] for an x of [N,C], and of attention, [B,H,S], and the lengths of its sequences,
 * [B]. They get the trailing ones that they stand for: everybody later may align shapes at the
 * right.
 */
#include "compiler/graph/graph_builder.h"

static bool is_layernorm(const struct kiln_node *node)
{
    return node->kind == KILN_NODE_LAYERNORM || node->kind == KILN_NODE_LAYERNORM_BACKWARD;
}

/* The shape of an operand of a layernorm that may come shortened, of the rank of x; returns the
 * rank, 0 for other operands. */
static uint32_t layernorm_shape(const struct kiln_graph *graph, const struct kiln_node *node,
                                uint8_t role, int64_t dims[KILN_MAX_RANK])
{
    if (role != KILN_OPERAND_MEAN && role != KILN_OPERAND_INV_VARIANCE)
        return 0;
    const struct kiln_tensor *x = &graph->tensors[kiln_node_input(node, KILN_OPERAND_X)];
    for (uint32_t i = 0; i < x->rank; i++)
        dims[i] = (node->normalization.axes >> i & 1) != 0 ? 1 : x->dims[i];
    return x->rank;
}

/* Same of attention. */
static uint32_t attention_shape(const struct kiln_graph *graph, const struct kiln_node *node,
                                uint8_t role, int64_t dims[KILN_MAX_RANK])
{
    const struct kiln_attention_sizes sizes = kiln_attention_sizes_of(graph, node);
    dims[0] = sizes.batch;
    dims[1] = dims[2] = dims[3] = 1;
    switch ((enum kiln_operand)role) {
    case KILN_OPERAND_SEQ_LEN_Q:
    case KILN_OPERAND_SEQ_LEN_KV:
        return 4;
    case KILN_OPERAND_STATS:
    case KILN_OPERAND_MAX:
    case KILN_OPERAND_SUM_EXP:
        dims[1] = sizes.heads;
        dims[2] = sizes.queries;
        return 4;
    default:
        return 0;
    }
}

/*
 * The rank that the tensor gets as this operand of a node, 0 when it stays as it is. One element
 * means the same with any number of ones.
 */
static uint32_t padded_rank(const struct kiln_graph *graph, const struct kiln_node *node,
                            uint8_t role, uint32_t ordinal)
{
    const struct kiln_tensor *tensor = &graph->tensors[ordinal];
    int64_t dims[KILN_MAX_RANK];
    uint32_t rank = 0;
    if (is_layernorm(node))
        rank = layernorm_shape(graph, node, role, dims);
    else if (kiln_node_is_attention(node))
        rank = attention_shape(graph, node, role, dims);
    if (tensor->rank >= rank || kiln_tensor_elements(tensor) == 1)
        return 0;
    for (uint32_t i = 0; i < rank; i++) {
        if (dims[i] != (i < tensor->rank ? tensor->dims[i] : 1))
            return 0;
    }
    return rank;
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
            "its last axes, of size 1, are left out, as statistics and lengths may do; as %s here "
            "its shape means something else",
            kiln_operand_text((enum kiln_operand)roles[i]));
    }
    return KILN_OK;
}

enum kiln_status kiln_trailing_ones_pad(struct kiln_graph_builder *builder)
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
