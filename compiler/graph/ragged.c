/* Ragged tensors in a graph: their offsets, and where they may be. */
#include "compiler/graph/ragged.h"

#include "compiler/graph/graph_builder.h"

static const enum kiln_operand of_queries[] = {KILN_OPERAND_Q, KILN_OPERAND_O, KILN_OPERAND_STATS,
                                               KILN_OPERAND_MAX, KILN_OPERAND_SUM_EXP};
static const enum kiln_operand of_keys[] = {KILN_OPERAND_K, KILN_OPERAND_V};

enum { KERNEL_ROW = 256 /* elements of a row that attention's kernel takes */ };

static const struct kiln_tensor *find(const struct kiln_graph *graph, const struct kiln_node *node,
                                      enum kiln_operand role)
{
    uint32_t ordinal = kiln_node_input(node, role);
    if (ordinal == KILN_NONE)
        ordinal = kiln_node_output(node, role);
    return ordinal != KILN_NONE ? &graph->tensors[ordinal] : NULL;
}

/* ---- offsets ---- */

static enum kiln_status check_use(struct kiln_graph_builder *builder, const struct kiln_node *node,
                                  enum kiln_operand role, struct kiln_tensor *tensor)
{
    const struct kiln_graph *graph = &builder->graph;
    if (!kiln_tensor_is_ragged(tensor))
        return KILN_OK;
    enum kiln_operand offsets =
        node->kind == KILN_NODE_ATTENTION ? kiln_ragged_offsets_role(role) : KILN_OPERAND_COUNT;
    if (offsets == KILN_OPERAND_COUNT)
        return kiln_reject_tensor(builder->error, KILN_REJECT_RAGGED, graph, node, tensor,
                                  "a ragged tensor, which only the operands q, k, v, o and the "
                                  "statistics of attention, without its gradients, may be");
    if (tensor->role == KILN_TENSOR_VIRTUAL ||
        (tensor->producer != KILN_NONE && kiln_node_output(node, role) == KILN_NONE))
        return kiln_reject_tensor(builder->error, KILN_REJECT_RAGGED, graph, node, tensor,
                                  "a ragged tensor between two nodes is not supported");
    tensor->ragged.offsets = kiln_node_input(node, offsets);
    return KILN_OK;
}

enum kiln_status kiln_ragged_complete(struct kiln_graph_builder *builder)
{
    struct kiln_graph *graph = &builder->graph;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct kiln_node *node = &graph->nodes[i];
        enum kiln_status status = KILN_OK;
        for (uint32_t k = 0; status == KILN_OK && k < node->input_count; k++)
            status = check_use(builder, node, (enum kiln_operand)node->input_roles[k],
                               &graph->tensors[node->inputs[k]]);
        for (uint32_t k = 0; status == KILN_OK && k < node->output_count; k++)
            status = check_use(builder, node, (enum kiln_operand)node->output_roles[k],
                               &graph->tensors[node->outputs[k]]);
        if (status != KILN_OK)
            return status;
    }
    return KILN_OK;
}

/* ---- attention ---- */

static enum kiln_status check_offsets(const struct kiln_graph *graph, const struct kiln_node *node,
                                      const struct kiln_tensor *tensor, struct kiln_error *error)
{
    const struct kiln_tensor *offsets = &graph->tensors[tensor->ragged.offsets];
    int64_t wanted = tensor->dims[KILN_RAGGED_BATCH] + 1;
    bool is_line =
        offsets->rank >= 1 && offsets->dims[0] == wanted && kiln_tensor_elements(offsets) == wanted;
    if (offsets->dtype != KILN_DTYPE_I32 && offsets->dtype != KILN_DTYPE_I64)
        return kiln_reject_tensor(error, KILN_REJECT_UNSUPPORTED_TYPE, graph, node, offsets,
                                  "offsets of a ragged tensor are %s, must be int32 or int64",
                                  kiln_dtype_info(offsets->dtype)->text);
    if (!is_line)
        return kiln_reject_tensor(error, KILN_REJECT_SHAPE, graph, node, offsets,
                                  "offsets of a ragged tensor must have %lld elements along the "
                                  "first axis, one more than there are batches",
                                  (long long)wanted);
    if (offsets->role != KILN_TENSOR_INPUT || kiln_tensor_is_ragged(offsets))
        return kiln_reject_tensor(error, KILN_REJECT_RAGGED, graph, node, offsets,
                                  "offsets of a ragged tensor must be an input, not ragged "
                                  "themselves");
    return KILN_OK;
}

/* Checks operands that belong together: the first two are ragged, or none is. */
static enum kiln_status check_agreement(const struct kiln_graph *graph,
                                        const struct kiln_node *node,
                                        const enum kiln_operand *roles, size_t role_count,
                                        struct kiln_error *error)
{
    const struct kiln_tensor *first = find(graph, node, roles[0]);
    for (size_t i = 0; i < role_count; i++) {
        const struct kiln_tensor *tensor = find(graph, node, roles[i]);
        if (tensor == NULL)
            continue;
        if (kiln_tensor_is_ragged(tensor) != kiln_tensor_is_ragged(first) &&
            (i < 2 || kiln_tensor_is_ragged(tensor)))
            return kiln_reject_tensor(error, KILN_REJECT_RAGGED, graph, node, tensor,
                                      "%s is %s, and %s is %s", kiln_operand_text(roles[i]),
                                      kiln_tensor_is_ragged(tensor) ? "ragged" : "not ragged",
                                      kiln_operand_text(roles[0]),
                                      kiln_tensor_is_ragged(first) ? "ragged" : "not");
        if (!kiln_tensor_is_ragged(tensor))
            continue;
        enum kiln_status status = check_offsets(graph, node, tensor, error);
        if (status != KILN_OK)
            return status;
    }
    return KILN_OK;
}

static bool computes_in_double(const struct kiln_graph *graph, const struct kiln_node *node)
{
    bool is_double = node->compute_type == KILN_DTYPE_F64;
    for (uint32_t i = 0; i < node->input_count; i++)
        is_double = is_double || graph->tensors[node->inputs[i]].dtype == KILN_DTYPE_F64;
    for (uint32_t i = 0; i < node->output_count; i++)
        is_double = is_double || graph->tensors[node->outputs[i]].dtype == KILN_DTYPE_F64;
    return is_double;
}

/* Rows of q, k, v and o fit into attention's kernel, which alone reads and writes ragged tensors.
 */
static enum kiln_status check_rows(const struct kiln_graph *graph, const struct kiln_node *node,
                                   const struct kiln_tensor *tensor, enum kiln_operand role,
                                   struct kiln_error *error)
{
    enum { DEPTH = KILN_RAGGED_RANK - 1 };
    int64_t depth = tensor->dims[DEPTH];
    if (depth < 2 || depth > KERNEL_ROW)
        return kiln_reject_tensor(error, KILN_REJECT_RAGGED, graph, node, tensor,
                                  "%s has a depth of %lld, must be 2 to %d where operands are "
                                  "ragged",
                                  kiln_operand_text(role), (long long)depth, KERNEL_ROW);
    if (kiln_tensor_is_ragged(tensor) && tensor->strides[DEPTH] != 1)
        return kiln_reject_tensor(error, KILN_REJECT_RAGGED, graph, node, tensor,
                                  "%s is ragged and has stride %lld along its depth, must be 1",
                                  kiln_operand_text(role), (long long)tensor->strides[DEPTH]);
    return KILN_OK;
}

/* Lengths and masks must come from memory: attention's kernel holds no others. */
static enum kiln_status check_hiding(const struct kiln_graph *graph, const struct kiln_node *node,
                                     struct kiln_error *error)
{
    static const enum kiln_operand lengths[] = {KILN_OPERAND_SEQ_LEN_Q, KILN_OPERAND_SEQ_LEN_KV};
    const struct kiln_tensor *mask = find(graph, node, KILN_OPERAND_ATTN_MASK);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const struct kiln_tensor *tensor = find(graph, node, lengths[i]);
        if (tensor != NULL && tensor->role != KILN_TENSOR_INPUT)
            return kiln_reject_tensor(error, KILN_REJECT_RAGGED, graph, node, tensor,
                                      "%s must be an input of the graph where operands are ragged",
                                      kiln_operand_text(lengths[i]));
    }
    if (mask != NULL && mask->role == KILN_TENSOR_CONSTANT)
        return kiln_reject_tensor(error, KILN_REJECT_RAGGED, graph, node, mask,
                                  "a mask with a constant value is not supported where operands "
                                  "are ragged");
    return KILN_OK;
}

enum kiln_status kiln_ragged_check_attention(const struct kiln_graph *graph,
                                             const struct kiln_node *node, struct kiln_error *error)
{
    static const enum kiln_operand rows[] = {KILN_OPERAND_Q, KILN_OPERAND_K, KILN_OPERAND_V,
                                             KILN_OPERAND_O};
    if (kiln_node_input(node, KILN_OPERAND_Q_OFFSETS) == KILN_NONE &&
        kiln_node_input(node, KILN_OPERAND_O_OFFSETS) == KILN_NONE &&
        kiln_node_input(node, KILN_OPERAND_K_OFFSETS) == KILN_NONE &&
        kiln_node_input(node, KILN_OPERAND_V_OFFSETS) == KILN_NONE &&
        kiln_node_input(node, KILN_OPERAND_STATS_OFFSETS) == KILN_NONE &&
        kiln_node_input(node, KILN_OPERAND_MAX_OFFSETS) == KILN_NONE &&
        kiln_node_input(node, KILN_OPERAND_SUM_EXP_OFFSETS) == KILN_NONE)
        return KILN_OK;
    enum kiln_status status =
        check_agreement(graph, node, of_queries, sizeof of_queries / sizeof *of_queries, error);
    if (status == KILN_OK)
        status = check_agreement(graph, node, of_keys, sizeof of_keys / sizeof *of_keys, error);
    for (size_t i = 0; status == KILN_OK && i < sizeof rows / sizeof *rows; i++)
        status = check_rows(graph, node, find(graph, node, rows[i]), rows[i], error);
    if (status == KILN_OK)
        status = check_hiding(graph, node, error);
    if (status != KILN_OK)
        return status;
    if (computes_in_double(graph, node))
        return kiln_reject_node(error, KILN_REJECT_RAGGED, graph, node,
                                "it has ragged operands, and computes in double");
    const struct kiln_tensor *largest = find(graph, node, KILN_OPERAND_AMAX_O);
    if (largest != NULL)
        return kiln_reject_tensor(error, KILN_REJECT_RAGGED, graph, node, largest,
                                  "amax_o of a node with ragged operands is not supported");
    return KILN_OK;
}
