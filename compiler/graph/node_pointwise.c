/* Pointwise nodes: operands by arity, parameters with hipDNN's defaults, the broadcast rule. */
#include "compiler/graph/graph_builder.h"
#include "compiler/graph/node_attributes.h"

#include <math.h>

static double float_or(struct kiln_wire_float value, double fallback)
{
    return value.present ? (double)value.value : fallback;
}

static enum kiln_status read_axis(struct kiln_graph_builder *builder,
                                  const struct kiln_wire_pointwise *wire, struct kiln_node *node)
{
    if (!wire->axis.present)
        return kiln_reject_node(builder->error, KILN_REJECT_AXIS, &builder->graph, node,
                                "GEN_INDEX without an axis");
    if (wire->axis.uid < 0 || wire->axis.uid >= KILN_MAX_RANK)
        return kiln_reject_node(builder->error, KILN_REJECT_AXIS, &builder->graph, node,
                                "GEN_INDEX along axis %lld, must be 0 to %d",
                                (long long)wire->axis.uid, KILN_MAX_RANK - 1);
    node->pointwise.axis = (uint32_t)wire->axis.uid;
    return KILN_OK;
}

/*
 * Operands beyond the mode's arity are ignored, as hipDNN's own reference does: an in_1 of uid 0 in
 * a unary node of November 2025 is an accident of its writer. Backward modes had the forward input
 * in in_0 then.
 */
static enum kiln_status read_operands(struct kiln_graph_builder *builder,
                                      const struct kiln_wire_pointwise *wire,
                                      const struct kiln_pointwise_mode_info *mode,
                                      struct kiln_node *node)
{
    static const uint8_t roles[] = {KILN_OPERAND_IN_0, KILN_OPERAND_IN_1, KILN_OPERAND_IN_2};
    const struct kiln_wire_uid operands[] = {{true, wire->in_0}, wire->in_1, wire->in_2};
    bool swaps = mode->gradient && builder->wire->era == KILN_WIRE_ERA_NOV2025;
    node->input_count = mode->arity;
    node->output_count = 1;
    node->output_roles[0] = KILN_OPERAND_OUT_0;
    for (uint32_t i = 0; i < mode->arity; i++) {
        uint32_t slot = swaps ? 1 - i : i;
        const char *name = kiln_operand_text((enum kiln_operand)roles[slot]);
        if (!operands[slot].present)
            return kiln_reject_node(builder->error, KILN_REJECT_MISSING_OPERAND, &builder->graph,
                                    node, "%s without operand %s", mode->name, name);
        node->input_roles[i] = roles[i];
        enum kiln_status status =
            kiln_uid_resolve(builder, node, name, operands[slot].uid, &node->inputs[i]);
        if (status != KILN_OK)
            return status;
    }
    return kiln_uid_resolve(builder, node, "out_0", wire->out_0, &node->outputs[0]);
}

static enum kiln_status read_pointwise(struct kiln_graph_builder *builder,
                                       const struct kiln_wire_node *wire_node,
                                       struct kiln_node *node)
{
    const struct kiln_wire_pointwise *wire = &wire_node->pointwise;
    if (wire->mode == KILN_POINTWISE_UNSET || wire->mode >= KILN_POINTWISE_MODE_COUNT)
        return kiln_reject_node(builder->error, KILN_REJECT_UNKNOWN_MODE, &builder->graph, node,
                                "pointwise mode %u is unknown", wire->mode);
    node->kind = KILN_NODE_POINTWISE;
    node->pointwise = (struct kiln_pointwise){
        .mode = (enum kiln_pointwise_mode)wire->mode,
        .has_relu_parameter = wire->relu_lower_clip.present || wire->relu_upper_clip.present ||
                              wire->relu_lower_clip_slope.present,
        .relu_lower_clip = float_or(wire->relu_lower_clip, 0.0),
        .relu_upper_clip = float_or(wire->relu_upper_clip, (double)INFINITY),
        .relu_lower_clip_slope = float_or(wire->relu_lower_clip_slope, 0.0),
        .swish_beta = float_or(wire->swish_beta, 1.0),
        .elu_alpha = float_or(wire->elu_alpha, 1.0),
        .softplus_beta = float_or(wire->softplus_beta, 1.0),
    };
    if (wire->mode == KILN_POINTWISE_GEN_INDEX) {
        enum kiln_status status = read_axis(builder, wire, node);
        if (status != KILN_OK)
            return status;
    }
    return read_operands(builder, wire, kiln_pointwise_mode_info(node->pointwise.mode), node);
}

/* Right-aligned, each input dim equal to the output's or 1, input rank <= output rank. */
static enum kiln_status check_broadcast(const struct kiln_graph *graph,
                                        const struct kiln_node *node,
                                        const struct kiln_tensor *input,
                                        const struct kiln_tensor *output, struct kiln_error *error)
{
    if (input->rank > output->rank)
        return kiln_reject_tensor(error, KILN_REJECT_BROADCAST, graph, node, input,
                                  "rank %u is above the output's rank %u", input->rank,
                                  output->rank);
    uint32_t missing = output->rank - input->rank;
    for (uint32_t i = 0; i < input->rank; i++) {
        if (input->dims[i] != 1 && input->dims[i] != output->dims[i + missing])
            return kiln_reject_tensor(
                error, KILN_REJECT_BROADCAST, graph, node, input,
                "dimension %u is %lld, must be 1 or %lld to broadcast to the output", i,
                (long long)input->dims[i], (long long)output->dims[i + missing]);
    }
    return KILN_OK;
}

static enum kiln_status check_pointwise(const struct kiln_graph *graph,
                                        const struct kiln_node *node, struct kiln_error *error)
{
    const struct kiln_tensor *output = &graph->tensors[node->outputs[0]];
    for (uint32_t i = 0; i < node->input_count; i++) {
        enum kiln_status status =
            check_broadcast(graph, node, &graph->tensors[node->inputs[i]], output, error);
        if (status != KILN_OK)
            return status;
    }
    if (node->pointwise.mode == KILN_POINTWISE_GEN_INDEX && node->pointwise.axis >= output->rank)
        return kiln_reject_tensor(error, KILN_REJECT_AXIS, graph, node, output,
                                  "GEN_INDEX along axis %u of a tensor of rank %u",
                                  node->pointwise.axis, output->rank);
    return KILN_OK;
}

const struct kiln_node_reader kiln_pointwise_reader = {
    .read = read_pointwise,
    .infer = kiln_infer_pointwise,
    .check = check_pointwise,
};

static void visit_pointwise(struct kiln_fields *fields, struct kiln_node *node)
{
    struct kiln_pointwise *pointwise = &node->pointwise;
    uint32_t mode = pointwise->mode;
    kiln_field_u8(fields, &mode, 1, KILN_POINTWISE_MODE_COUNT);
    pointwise->mode = (enum kiln_pointwise_mode)mode;
    switch (pointwise->mode) {
    case KILN_POINTWISE_RELU_BWD:
        kiln_field_bool(fields, &pointwise->has_relu_parameter);
        if (!pointwise->has_relu_parameter)
            break;
        /* fall through */
    case KILN_POINTWISE_RELU_FWD:
        kiln_field_real(fields, &pointwise->relu_lower_clip);
        kiln_field_real(fields, &pointwise->relu_upper_clip);
        kiln_field_real(fields, &pointwise->relu_lower_clip_slope);
        break;
    case KILN_POINTWISE_SWISH_FWD:
    case KILN_POINTWISE_SWISH_BWD:
        kiln_field_real(fields, &pointwise->swish_beta);
        break;
    case KILN_POINTWISE_ELU_FWD:
    case KILN_POINTWISE_ELU_BWD:
        kiln_field_real(fields, &pointwise->elu_alpha);
        break;
    case KILN_POINTWISE_SOFTPLUS_FWD:
    case KILN_POINTWISE_SOFTPLUS_BWD:
        kiln_field_real(fields, &pointwise->softplus_beta);
        break;
    case KILN_POINTWISE_GEN_INDEX:
        kiln_field_u32(fields, &pointwise->axis);
        break;
    default:
        break;
    }
}

static void print_pointwise(const struct kiln_node *node, struct kiln_buffer *buffer)
{
    const struct kiln_pointwise *pointwise = &node->pointwise;
    switch (pointwise->mode) {
    case KILN_POINTWISE_RELU_FWD:
    case KILN_POINTWISE_RELU_BWD:
        if (!pointwise->has_relu_parameter)
            break;
        kiln_buffer_printf(buffer, " lower %.9g", pointwise->relu_lower_clip);
        if (!isinf(pointwise->relu_upper_clip))
            kiln_buffer_printf(buffer, " upper %.9g", pointwise->relu_upper_clip);
        kiln_buffer_printf(buffer, " slope %.9g", pointwise->relu_lower_clip_slope);
        break;
    case KILN_POINTWISE_SWISH_FWD:
    case KILN_POINTWISE_SWISH_BWD:
        kiln_buffer_printf(buffer, " beta %.9g", pointwise->swish_beta);
        break;
    case KILN_POINTWISE_ELU_FWD:
    case KILN_POINTWISE_ELU_BWD:
        kiln_buffer_printf(buffer, " alpha %.9g", pointwise->elu_alpha);
        break;
    case KILN_POINTWISE_SOFTPLUS_FWD:
    case KILN_POINTWISE_SOFTPLUS_BWD:
        kiln_buffer_printf(buffer, " beta %.9g", pointwise->softplus_beta);
        break;
    case KILN_POINTWISE_GEN_INDEX:
        kiln_buffer_printf(buffer, " axis %u", pointwise->axis);
        break;
    default:
        break;
    }
}

const struct kiln_node_attributes kiln_pointwise_attributes = {visit_pointwise, print_pointwise};
