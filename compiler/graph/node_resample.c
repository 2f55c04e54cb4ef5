/* Resample nodes: pooling and its gradients. Their shapes: resample_shapes.c. */
#include "compiler/graph/graph_builder.h"
#include "compiler/graph/node_attributes.h"

/* ---- reading ---- */

static enum kiln_status read_modes(struct kiln_graph_builder *builder,
                                   const struct kiln_wire_resample *wire, struct kiln_node *node)
{
    struct kiln_resample *resample = &node->resample;
    if (wire->mode == KILN_WIRE_RESAMPLE_UNSET ||
        wire->mode > KILN_WIRE_RESAMPLE_AVGPOOL_INCLUDE_PADDING)
        return kiln_reject_node(builder->error, KILN_REJECT_UNKNOWN_MODE, &builder->graph, node,
                                "resample mode %u is unknown", wire->mode);
    if (wire->padding_mode > KILN_WIRE_PADDING_ZERO)
        return kiln_reject_node(builder->error, KILN_REJECT_UNKNOWN_MODE, &builder->graph, node,
                                "padding mode %u is unknown", wire->padding_mode);
    resample->mode = wire->mode == KILN_WIRE_RESAMPLE_MAXPOOL ? KILN_POOLING_MAX
                     : wire->mode == KILN_WIRE_RESAMPLE_AVGPOOL_EXCLUDE_PADDING
                         ? KILN_POOLING_MEAN_OF_IMAGE
                         : KILN_POOLING_MEAN_OF_WINDOW;
    resample->pads_zeros = node->kind == KILN_NODE_RESAMPLE_FORWARD &&
                           resample->mode == KILN_POOLING_MAX &&
                           wire->padding_mode != KILN_WIRE_PADDING_NEG_INF;
    return KILN_OK;
}

static enum kiln_status read_window(struct kiln_graph_builder *builder,
                                    const struct kiln_wire_resample *wire, struct kiln_node *node)
{
    struct kiln_resample *resample = &node->resample;
    const struct kiln_spatial_parameter lists[] = {
        {"window", &wire->window, 1, resample->window},
        {"pre_padding", &wire->pre_padding, 0, resample->pre_padding},
        {"post_padding", &wire->post_padding, 0, resample->post_padding},
        {"stride", &wire->stride, 1, resample->stride},
    };
    return kiln_spatial_parameters_read(builder, node, KILN_REJECT_SHAPE, lists,
                                        sizeof lists / sizeof *lists, &resample->spatial_count);
}

static enum kiln_status read_operands(struct kiln_graph_builder *builder,
                                      const struct kiln_wire_resample *wire, struct kiln_node *node)
{
    node->input_count = 1;
    node->output_count = 1;
    enum kiln_status status = kiln_uid_resolve(
        builder, node, kiln_operand_text(node->input_roles[0]), wire->input, &node->inputs[0]);
    if (status == KILN_OK)
        status = kiln_uid_resolve(builder, node, kiln_operand_text(node->output_roles[0]),
                                  wire->output, &node->outputs[0]);
    return status;
}

static enum kiln_status read_forward(struct kiln_graph_builder *builder,
                                     const struct kiln_wire_node *wire_node, struct kiln_node *node)
{
    const struct kiln_wire_resample *wire = &wire_node->resample;
    node->kind = KILN_NODE_RESAMPLE_FORWARD;
    node->input_roles[0] = KILN_OPERAND_X;
    node->output_roles[0] = KILN_OPERAND_Y;
    enum kiln_status status = read_modes(builder, wire, node);
    if (status == KILN_OK)
        status = read_operands(builder, wire, node);
    if (status == KILN_OK)
        status = read_window(builder, wire, node);
    if (status != KILN_OK)
        return status;
    if (wire->index.present) {
        node->output_roles[node->output_count] = KILN_OPERAND_INDEX;
        return kiln_uid_resolve(builder, node, "index", wire->index.uid,
                                &node->outputs[node->output_count++]);
    }
    if (wire->wants_index && node->resample.mode == KILN_POOLING_MAX)
        return kiln_reject_node(builder->error, KILN_REJECT_MISSING_OPERAND, &builder->graph, node,
                                "generate_index is set, and there is no operand index");
    return KILN_OK;
}

static enum kiln_status read_backward(struct kiln_graph_builder *builder,
                                      const struct kiln_wire_node *wire_node,
                                      struct kiln_node *node)
{
    const struct kiln_wire_resample *wire = &wire_node->resample;
    node->kind = KILN_NODE_RESAMPLE_BACKWARD;
    node->input_roles[0] = KILN_OPERAND_DY;
    node->output_roles[0] = KILN_OPERAND_DX;
    enum kiln_status status = read_modes(builder, wire, node);
    if (status == KILN_OK)
        status = read_operands(builder, wire, node);
    if (status == KILN_OK)
        status = read_window(builder, wire, node);
    for (uint32_t i = 0; status == KILN_OK && i < node->resample.spatial_count; i++)
        node->resample.post_padding[i] = 0;
    if (status != KILN_OK || node->resample.mode != KILN_POOLING_MAX)
        return status;
    if (!wire->index.present)
        return kiln_reject_node(builder->error, KILN_REJECT_MISSING_OPERAND, &builder->graph, node,
                                "the gradient of MAXPOOL needs the operand index");
    node->input_roles[node->input_count] = KILN_OPERAND_INDEX;
    return kiln_uid_resolve(builder, node, "index", wire->index.uid,
                            &node->inputs[node->input_count++]);
}

const struct kiln_node_reader kiln_resample_forward_reader = {
    .read = read_forward,
    .infer = kiln_infer_resample,
    .check = kiln_resample_check,
};

const struct kiln_node_reader kiln_resample_backward_reader = {
    .read = read_backward,
    .infer = kiln_infer_resample,
    .check = kiln_resample_check,
};

/* ---- attributes ---- */

static void visit_resample(struct kiln_fields *fields, struct kiln_node *node)
{
    struct kiln_resample *resample = &node->resample;
    uint32_t mode = resample->mode;
    bool is_forward = node->kind == KILN_NODE_RESAMPLE_FORWARD;
    kiln_field_u8(fields, &mode, KILN_POOLING_MAX, KILN_POOLING_MODE_COUNT);
    resample->mode = (enum kiln_pooling_mode)mode;
    kiln_field_u8(fields, &resample->spatial_count, 1, KILN_MAX_SPATIAL_AXES + 1);
    kiln_field_list(fields, resample->pre_padding, resample->spatial_count);
    kiln_field_list(fields, resample->stride, resample->spatial_count);
    kiln_field_list(fields, resample->window, resample->spatial_count);
    if (is_forward)
        kiln_field_list(fields, resample->post_padding, resample->spatial_count);
    if (is_forward && resample->mode == KILN_POOLING_MAX)
        kiln_field_bool(fields, &resample->pads_zeros);
}

static void print_resample(const struct kiln_node *node, struct kiln_buffer *buffer)
{
    static const char *const modes[KILN_POOLING_MODE_COUNT] = {
        " MAXPOOL", " AVGPOOL_EXCLUDE_PADDING", " AVGPOOL_INCLUDE_PADDING"};
    const struct kiln_resample *resample = &node->resample;
    bool is_forward = node->kind == KILN_NODE_RESAMPLE_FORWARD;
    const struct {
        const char *name;
        const int64_t *items;
    } lists[] = {
        {" window ", resample->window},
        {" stride ", resample->stride},
        {" pre_padding ", resample->pre_padding},
        {" post_padding ", resample->post_padding},
    };
    kiln_buffer_append_text(buffer, modes[resample->mode]);
    for (size_t i = 0; i < (is_forward ? 4 : 3); i++) {
        kiln_buffer_append_text(buffer, lists[i].name);
        kiln_print_list(buffer, lists[i].items, resample->spatial_count);
    }
    if (is_forward && resample->mode == KILN_POOLING_MAX)
        kiln_buffer_append_text(buffer, resample->pads_zeros ? " of zeros" : " of -infinity");
}

const struct kiln_node_attributes kiln_resample_attributes = {visit_resample, print_resample};
