/* Layernorm nodes, forward and backward: over the last normalized_dim_count axes. */
#include "compiler/graph/node_normalization.h"

/* Until the shapes are known, normalization.axes holds the count of axes. */
static enum kiln_status read_count(struct kiln_graph_builder *builder,
                                   const struct kiln_wire_node *wire, struct kiln_node *node)
{
    int64_t count = wire->normalization.normalized_dim_count;
    if (count < 0 || count > KILN_MAX_RANK)
        return kiln_reject_node(builder->error, KILN_REJECT_AXIS, &builder->graph, node,
                                "%lld normalised axes, must be 0 to %d", (long long)count,
                                KILN_MAX_RANK);
    node->normalization.axes = (uint32_t)count;
    return KILN_OK;
}

/*
 * Scale and bias may be absent, which the wire cannot tell from uid 0. Where both could be the one
 * tensor with uid 0, nobody knows which of them it is.
 */
static enum kiln_status read_affine(struct kiln_graph_builder *builder,
                                    struct kiln_wire_uid operands[KILN_OPERAND_COUNT],
                                    const struct kiln_node *node)
{
    struct kiln_wire_uid *scale = &operands[KILN_OPERAND_SCALE];
    struct kiln_wire_uid *bias = &operands[KILN_OPERAND_BIAS];
    scale->present = scale->uid != 0;
    bias->present = bias->uid != 0;
    if (scale->present && bias->present)
        return KILN_OK;
    bool is_zero = kiln_normalization_is_uid_zero(builder, operands, KILN_OPERAND_SCALE);
    if (is_zero && !scale->present && !bias->present)
        return kiln_reject_node(builder->error, KILN_REJECT_MISSING_OPERAND, &builder->graph, node,
                                "either of the operands scale and bias may be the tensor with "
                                "uid 0");
    if (!scale->present)
        scale->present = is_zero;
    else
        bias->present = is_zero;
    return KILN_OK;
}

static enum kiln_status read_layernorm(struct kiln_graph_builder *builder,
                                       const struct kiln_wire_node *wire, struct kiln_node *node)
{
    static const struct kiln_operand_slot slots[] = {
        {.operand = KILN_OPERAND_X},
        {.operand = KILN_OPERAND_SCALE, .is_optional = true},
        {.operand = KILN_OPERAND_BIAS, .is_optional = true},
        {.operand = KILN_OPERAND_EPSILON},
        {.operand = KILN_OPERAND_Y, .is_output = true},
        {.operand = KILN_OPERAND_MEAN, .is_output = true, .is_optional = true},
        {.operand = KILN_OPERAND_INV_VARIANCE, .is_output = true, .is_optional = true},
    };
    struct kiln_wire_normalization norm = wire->normalization;
    enum kiln_status status = kiln_normalization_check_phase(builder, wire, node);
    if (status == KILN_OK)
        status = read_affine(builder, norm.operands, node);
    if (status == KILN_OK)
        status = kiln_normalization_read(builder, norm.operands, slots,
                                         sizeof slots / sizeof *slots, KILN_NODE_LAYERNORM, node);
    if (status == KILN_OK)
        status = read_count(builder, wire, node);
    return status;
}

/* Epsilon is for statistics that are not given; beside given ones it is not read. */
static enum kiln_status read_layernorm_backward(struct kiln_graph_builder *builder,
                                                const struct kiln_wire_node *wire,
                                                struct kiln_node *node)
{
    static const struct kiln_operand_slot slots[] = {
        {.operand = KILN_OPERAND_DY},
        {.operand = KILN_OPERAND_X},
        {.operand = KILN_OPERAND_SCALE},
        {.operand = KILN_OPERAND_MEAN, .is_optional = true},
        {.operand = KILN_OPERAND_INV_VARIANCE, .is_optional = true},
        {.operand = KILN_OPERAND_EPSILON, .is_optional = true},
        {.operand = KILN_OPERAND_DX, .is_output = true},
        {.operand = KILN_OPERAND_DSCALE, .is_output = true},
        {.operand = KILN_OPERAND_DBIAS, .is_output = true},
    };
    struct kiln_wire_normalization norm = wire->normalization;
    enum kiln_status status = kiln_normalization_check_pair(
        builder, norm.operands, node, KILN_OPERAND_MEAN, KILN_OPERAND_INV_VARIANCE);
    if (status != KILN_OK)
        return status;
    if (norm.operands[KILN_OPERAND_MEAN].present)
        norm.operands[KILN_OPERAND_EPSILON].present = false;
    status = kiln_normalization_read(builder, norm.operands, slots, sizeof slots / sizeof *slots,
                                     KILN_NODE_LAYERNORM_BACKWARD, node);
    if (status == KILN_OK)
        status = read_count(builder, wire, node);
    return status;
}

/*
 * A count of 0 is what a wire without the field says: the scale tells the axes then, unless it has
 * all of x's size and might leave a batch axis out.
 */
static enum kiln_status derive_count(const struct kiln_graph *graph, const struct kiln_node *node,
                                     const struct kiln_tensor *x, uint32_t *ret_count,
                                     struct kiln_error *error)
{
    uint32_t ordinal = kiln_node_input(node, KILN_OPERAND_SCALE);
    if (ordinal == KILN_NONE)
        return kiln_reject_node(error, KILN_REJECT_AXIS, graph, node,
                                "neither a count of axes nor a scale says what to normalise over");
    const struct kiln_tensor *scale = &graph->tensors[ordinal];
    uint32_t run = kiln_normalization_matching_axes(x, scale);
    if (run == 0 || (run == x->rank && x->dims[0] != 1))
        return kiln_reject_tensor(error, KILN_REJECT_AXIS, graph, node, scale,
                                  "without a count of axes, the shape of scale does not tell what "
                                  "to normalise over");
    *ret_count = run;
    return KILN_OK;
}

static enum kiln_status complete_layernorm(const struct kiln_graph *graph, struct kiln_node *node,
                                           struct kiln_error *error)
{
    const struct kiln_tensor *x = &graph->tensors[kiln_node_input(node, KILN_OPERAND_X)];
    uint32_t count = node->normalization.axes;
    if (count > x->rank)
        return kiln_reject_tensor(error, KILN_REJECT_AXIS, graph, node, x,
                                  "%u normalised axes of a tensor of rank %u", count, x->rank);
    if (count == 0) {
        enum kiln_status status = derive_count(graph, node, x, &count, error);
        if (status != KILN_OK)
            return status;
    }
    node->normalization.axes = ((1U << count) - 1) << (x->rank - count);
    return KILN_OK;
}

const struct kiln_node_reader kiln_layernorm_reader = {
    .read = read_layernorm,
    .complete = complete_layernorm,
    .infer = kiln_infer_normalization,
    .check = kiln_normalization_check,
};

const struct kiln_node_reader kiln_layernorm_backward_reader = {
    .read = read_layernorm_backward,
    .complete = complete_layernorm,
    .infer = kiln_infer_normalization,
    .check = kiln_normalization_check,
};
