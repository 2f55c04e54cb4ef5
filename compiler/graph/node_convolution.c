/* Convolutions and their gradients: operands, parameters, groups. Sizes: convolution_shapes.c. */
#include "compiler/graph/graph_builder.h"
#include "compiler/graph/node_attributes.h"

#include <inttypes.h>

/* What tells the directions apart: operands in the order of the wire's slots. */
struct direction {
    enum kiln_node_kind kind;
    enum kiln_operand roles[3]; /* two inputs and the output */
};

/* hipDNN's front end writes CROSS_CORRELATION where its user says nothing, so an unset mode is a
 * mistake; taking it for one of the two could be silently wrong. */
static enum kiln_status read_mode(struct kiln_graph_builder *builder, const struct kiln_node *node,
                                  uint8_t mode, bool *ret_is_flipped)
{
    if (mode == KILN_WIRE_CONVOLUTION_UNSET)
        return kiln_reject_node(builder->error, KILN_REJECT_CONVOLUTION, &builder->graph, node,
                                "its conv_mode is unset, must be CROSS_CORRELATION or CONVOLUTION");
    if (mode > KILN_WIRE_CONVOLUTION_CROSS_CORRELATION)
        return kiln_reject_node(builder->error, KILN_REJECT_CONVOLUTION, &builder->graph, node,
                                "its conv_mode %u is unknown", mode);
    *ret_is_flipped = mode == KILN_WIRE_CONVOLUTION_FLIPPED;
    return KILN_OK;
}

static enum kiln_status read_attributes(struct kiln_graph_builder *builder,
                                        const struct kiln_wire_convolution *wire,
                                        struct kiln_node *node)
{
    struct kiln_convolution *convolution = &node->convolution;
    const struct kiln_spatial_parameter lists[] = {
        {"pre_padding", &wire->pre_padding, 0, convolution->pre_padding},
        {"post_padding", &wire->post_padding, 0, convolution->post_padding},
        {"stride", &wire->stride, 1, convolution->stride},
        {"dilation", &wire->dilation, 1, convolution->dilation},
    };
    enum kiln_status status =
        kiln_spatial_parameters_read(builder, node, KILN_REJECT_CONVOLUTION, lists,
                                     sizeof lists / sizeof *lists, &convolution->spatial_count);
    if (status == KILN_OK)
        status = read_mode(builder, node, wire->mode, &convolution->is_flipped);
    return status;
}

static enum kiln_status read_convolution(struct kiln_graph_builder *builder,
                                         const struct kiln_wire_convolution *wire,
                                         const struct direction *direction, struct kiln_node *node)
{
    node->kind = direction->kind;
    node->input_count = 2;
    node->output_count = 1;
    node->input_roles[0] = (uint8_t)direction->roles[0];
    node->input_roles[1] = (uint8_t)direction->roles[1];
    node->output_roles[0] = (uint8_t)direction->roles[2];
    uint32_t *const tensors[] = {&node->inputs[0], &node->inputs[1], &node->outputs[0]};
    enum kiln_status status = KILN_OK;
    for (uint32_t i = 0; status == KILN_OK && i < 3; i++)
        status = kiln_uid_resolve(builder, node, kiln_operand_text(direction->roles[i]),
                                  wire->operands[i], tensors[i]);
    if (status == KILN_OK)
        status = read_attributes(builder, wire, node);
    return status;
}

static enum kiln_status read_forward(struct kiln_graph_builder *builder,
                                     const struct kiln_wire_node *wire, struct kiln_node *node)
{
    static const struct direction direction = {KILN_NODE_CONVOLUTION_FORWARD,
                                               {KILN_OPERAND_X, KILN_OPERAND_W, KILN_OPERAND_Y}};
    return read_convolution(builder, &wire->convolution, &direction, node);
}

static enum kiln_status read_data_gradient(struct kiln_graph_builder *builder,
                                           const struct kiln_wire_node *wire,
                                           struct kiln_node *node)
{
    static const struct direction direction = {KILN_NODE_CONVOLUTION_DATA_GRADIENT,
                                               {KILN_OPERAND_DY, KILN_OPERAND_W, KILN_OPERAND_DX}};
    return read_convolution(builder, &wire->convolution, &direction, node);
}

static enum kiln_status read_weight_gradient(struct kiln_graph_builder *builder,
                                             const struct kiln_wire_node *wire,
                                             struct kiln_node *node)
{
    static const struct direction direction = {KILN_NODE_CONVOLUTION_WEIGHT_GRADIENT,
                                               {KILN_OPERAND_X, KILN_OPERAND_DY, KILN_OPERAND_DW}};
    return read_convolution(builder, &wire->convolution, &direction, node);
}

static enum kiln_status check_rank(const struct kiln_graph *graph, const struct kiln_node *node,
                                   uint32_t ordinal, struct kiln_error *error)
{
    const struct kiln_tensor *tensor = &graph->tensors[ordinal];
    uint32_t spatial_count = node->convolution.spatial_count;
    if (tensor->rank == spatial_count + 2)
        return KILN_OK;
    return kiln_reject_tensor(error, KILN_REJECT_SHAPE, graph, node, tensor,
                              "rank %u, must be %u for the %u %s of pre_padding", tensor->rank,
                              spatial_count + 2, spatial_count,
                              spatial_count == 1 ? "entry" : "entries");
}

/* The number of groups is what the shapes make it. */
static enum kiln_status complete_convolution(const struct kiln_graph *graph, struct kiln_node *node,
                                             struct kiln_error *error)
{
    struct kiln_convolution_tensors tensors = kiln_convolution_tensors_of(node);
    const struct kiln_tensor *image = &graph->tensors[tensors.image];
    const struct kiln_tensor *filter = &graph->tensors[tensors.filter];
    enum kiln_status status = check_rank(graph, node, node->inputs[0], error);
    if (status == KILN_OK)
        status = check_rank(graph, node, node->inputs[1], error);
    if (status == KILN_OK)
        status = check_rank(graph, node, node->outputs[0], error);
    if (status != KILN_OK)
        return status;
    if (image->dims[1] % filter->dims[1] != 0)
        return kiln_reject_tensor(error, KILN_REJECT_SHAPE, graph, node, filter,
                                  "dimension 1 is %lld, must divide the image's %lld %s",
                                  (long long)filter->dims[1], (long long)image->dims[1],
                                  KILN_NOUN(image->dims[1], "channel"));
    node->convolution.groups = image->dims[1] / filter->dims[1];
    if (filter->dims[0] % node->convolution.groups != 0)
        return kiln_reject_tensor(error, KILN_REJECT_SHAPE, graph, node, filter,
                                  "dimension 0 is %lld, must be a multiple of the %lld groups",
                                  (long long)filter->dims[0], (long long)node->convolution.groups);
    return KILN_OK;
}

const struct kiln_node_reader kiln_convolution_forward_reader = {
    .read = read_forward,
    .complete = complete_convolution,
    .infer = kiln_infer_convolution,
    .check = kiln_convolution_check,
};

const struct kiln_node_reader kiln_convolution_data_gradient_reader = {
    .read = read_data_gradient,
    .complete = complete_convolution,
    .infer = kiln_infer_convolution,
    .check = kiln_convolution_check,
};

const struct kiln_node_reader kiln_convolution_weight_gradient_reader = {
    .read = read_weight_gradient,
    .complete = complete_convolution,
    .infer = kiln_infer_convolution,
    .check = kiln_convolution_check,
};

static void visit_convolution(struct kiln_fields *fields, struct kiln_node *node)
{
    struct kiln_convolution *convolution = &node->convolution;
    kiln_field_u8(fields, &convolution->spatial_count, 1, KILN_MAX_SPATIAL_AXES + 1);
    kiln_field_list(fields, convolution->pre_padding, convolution->spatial_count);
    kiln_field_list(fields, convolution->post_padding, convolution->spatial_count);
    kiln_field_list(fields, convolution->stride, convolution->spatial_count);
    kiln_field_list(fields, convolution->dilation, convolution->spatial_count);
    kiln_field_bool(fields, &convolution->is_flipped);
    kiln_field_i64(fields, &convolution->groups);
}

static void print_convolution(const struct kiln_node *node, struct kiln_buffer *buffer)
{
    const struct kiln_convolution *convolution = &node->convolution;
    const struct {
        const char *text;
        const int64_t *items;
    } lists[] = {{" pre_padding ", convolution->pre_padding},
                 {" post_padding ", convolution->post_padding},
                 {" stride ", convolution->stride},
                 {" dilation ", convolution->dilation}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        kiln_buffer_append_text(buffer, lists[i].text);
        kiln_print_list(buffer, lists[i].items, convolution->spatial_count);
    }
    kiln_buffer_printf(buffer, " groups %" PRId64, convolution->groups);
    if (convolution->is_flipped)
        kiln_buffer_append_text(buffer, " flipped");
}

const struct kiln_node_attributes kiln_convolution_attributes = {visit_convolution,
                                                                 print_convolution};
