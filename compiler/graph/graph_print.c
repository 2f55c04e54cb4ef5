/* The human-readable dump: one line for the graph, one per tensor, one per node. */
#include "compiler/graph/graph_builder.h"

#include <inttypes.h>
#include <math.h>

static const char *const role_texts[] = {
    [KILN_TENSOR_INPUT] = "input",
    [KILN_TENSOR_OUTPUT] = "output",
    [KILN_TENSOR_VIRTUAL] = "virtual",
    [KILN_TENSOR_CONSTANT] = "constant",
    [KILN_TENSOR_HOST_SCALAR] = "host scalar",
};

static void print_list(struct kiln_buffer *buffer, const int64_t *items, uint32_t count)
{
    kiln_buffer_append_text(buffer, "[");
    for (uint32_t i = 0; i < count; i++)
        kiln_buffer_printf(buffer, "%s%" PRId64, i != 0 ? "," : "", items[i]);
    kiln_buffer_append_text(buffer, "]");
}

static void print_tensor(struct kiln_buffer *buffer, const struct kiln_graph *graph,
                         uint32_t ordinal)
{
    const struct kiln_tensor *tensor = &graph->tensors[ordinal];
    kiln_buffer_printf(buffer, "  %%%u = %s %s ", ordinal, role_texts[tensor->role],
                       kiln_dtype_info(tensor->dtype)->text);
    print_list(buffer, tensor->dims, tensor->rank);
    kiln_buffer_append_text(buffer, " strides ");
    print_list(buffer, tensor->strides, tensor->rank);
    if (tensor->role == KILN_TENSOR_CONSTANT) {
        if (kiln_dtype_is_integer(tensor->dtype))
            kiln_buffer_printf(buffer, " value %" PRId64, tensor->constant.integer);
        else
            kiln_buffer_printf(buffer, " value %.17g", tensor->constant.real);
    } else if (tensor->role == KILN_TENSOR_INPUT || tensor->role == KILN_TENSOR_OUTPUT) {
        kiln_buffer_printf(buffer, " align %" PRIu32, tensor->alignment_bytes);
    }
    kiln_buffer_printf(buffer, " uid %" PRId64 " %s\n", tensor->uid,
                       kiln_name_quote(tensor->name).text);
}

/* Operands of a pointwise node are named by their position. */
static void print_operands(struct kiln_buffer *buffer, const struct kiln_node *node,
                           const uint32_t *operands, const uint8_t *roles, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        kiln_buffer_append_text(buffer, i != 0 ? ", " : "");
        if (node->kind != KILN_NODE_POINTWISE)
            kiln_buffer_printf(buffer, "%s ", kiln_operand_text((enum kiln_operand)roles[i]));
        kiln_buffer_printf(buffer, "%%%u", operands[i]);
    }
}

static void print_axes(struct kiln_buffer *buffer, uint32_t axes)
{
    int64_t list[KILN_MAX_RANK];
    uint32_t count = 0;
    for (uint32_t i = 0; i < KILN_MAX_RANK; i++) {
        if ((axes >> i & 1) != 0)
            list[count++] = i;
    }
    kiln_buffer_append_text(buffer, " axes ");
    print_list(buffer, list, count);
}

/* Epsilon and momentum where they are no operands and are read. */
static void print_normalization(struct kiln_buffer *buffer, const struct kiln_node *node)
{
    bool has_statistics = kiln_node_input(node, KILN_OPERAND_INV_VARIANCE) != KILN_NONE ||
                          kiln_node_input(node, KILN_OPERAND_INV_RMS) != KILN_NONE;
    bool has_running = kiln_node_output(node, KILN_OPERAND_NEXT_RUNNING_MEAN) != KILN_NONE;
    print_axes(buffer, node->normalization.axes);
    if (!has_statistics && kiln_node_input(node, KILN_OPERAND_EPSILON) == KILN_NONE)
        kiln_buffer_printf(buffer, " epsilon %.9g", node->normalization.epsilon);
    if (has_running && kiln_node_input(node, KILN_OPERAND_MOMENTUM) == KILN_NONE)
        kiln_buffer_printf(buffer, " momentum %.9g", node->normalization.momentum);
}

static void print_pointwise(struct kiln_buffer *buffer, const struct kiln_pointwise *pointwise)
{
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

static void print_convolution(struct kiln_buffer *buffer,
                              const struct kiln_convolution *convolution)
{
    const struct {
        const char *text;
        const int64_t *items;
    } lists[] = {{" pre_padding ", convolution->pre_padding},
                 {" post_padding ", convolution->post_padding},
                 {" stride ", convolution->stride},
                 {" dilation ", convolution->dilation}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        kiln_buffer_append_text(buffer, lists[i].text);
        print_list(buffer, lists[i].items, convolution->spatial_count);
    }
    kiln_buffer_printf(buffer, " groups %" PRId64, convolution->groups);
    if (convolution->is_flipped)
        kiln_buffer_append_text(buffer, " flipped");
}

static void print_attention(struct kiln_buffer *buffer, const struct kiln_node *node)
{
    const struct kiln_attention *attention = &node->attention;
    if (kiln_node_input(node, KILN_OPERAND_SCALE) == KILN_NONE)
        kiln_buffer_printf(buffer, " scale %.9g", attention->scale);
    if (attention->has_first_key)
        kiln_buffer_printf(buffer, " first_key i%+" PRId64, attention->first_key);
    if (attention->has_last_key)
        kiln_buffer_printf(buffer, " last_key i%+" PRId64, attention->last_key);
    if (attention->is_bottom_right)
        kiln_buffer_append_text(buffer, " from each batch's corner");
}

static void print_node(struct kiln_buffer *buffer, const struct kiln_node *node)
{
    kiln_buffer_append_text(buffer, "  ");
    print_operands(buffer, node, node->outputs, node->output_roles, node->output_count);
    kiln_buffer_printf(buffer, " = %s(", kiln_node_operation(node));
    print_operands(buffer, node, node->inputs, node->input_roles, node->input_count);
    kiln_buffer_append_text(buffer, ")");
    switch (node->kind) {
    case KILN_NODE_POINTWISE:
        print_pointwise(buffer, &node->pointwise);
        break;
    case KILN_NODE_REDUCTION:
        print_axes(buffer, node->reduction.axes);
        break;
    case KILN_NODE_LAYERNORM:
    case KILN_NODE_LAYERNORM_BACKWARD:
    case KILN_NODE_RMSNORM:
    case KILN_NODE_RMSNORM_BACKWARD:
    case KILN_NODE_BATCHNORM_INFERENCE:
    case KILN_NODE_BATCHNORM_TRAINING:
    case KILN_NODE_BATCHNORM_BACKWARD:
        print_normalization(buffer, node);
        break;
    case KILN_NODE_MATMUL:
        break;
    case KILN_NODE_CONVOLUTION_FORWARD:
    case KILN_NODE_CONVOLUTION_DATA_GRADIENT:
    case KILN_NODE_CONVOLUTION_WEIGHT_GRADIENT:
        print_convolution(buffer, &node->convolution);
        break;
    case KILN_NODE_ATTENTION:
    case KILN_NODE_ATTENTION_BACKWARD:
        print_attention(buffer, node);
        break;
    }
    kiln_buffer_printf(buffer, " in %s %s\n", kiln_dtype_info(node->compute_type)->text,
                       kiln_name_quote(node->name).text);
}

void kiln_graph_print(const struct kiln_graph *graph, struct kiln_buffer *buffer)
{
    kiln_buffer_printf(buffer, "graph %s (%s layout): %u %s, %u %s\n",
                       kiln_name_quote(graph->name).text,
                       graph->era == KILN_WIRE_ERA_NOV2025 ? "nov2025" : "current",
                       graph->tensor_count, KILN_NOUN(graph->tensor_count, "tensor"),
                       graph->node_count, KILN_NOUN(graph->node_count, "node"));
    for (uint32_t i = 0; i < graph->tensor_count; i++)
        print_tensor(buffer, graph, i);
    for (uint32_t i = 0; i < graph->node_count; i++)
        print_node(buffer, &graph->nodes[i]);
}
