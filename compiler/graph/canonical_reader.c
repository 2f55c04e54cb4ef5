/* graph_canonical.c backwards, record by record. */
#include "compiler/graph/canonical_reader.h"

#include "compiler/graph/canonical_form.h"
#include "compiler/graph/graph_reader.h"

#include <string.h>

/* Of a graph that wire.cc takes. */
enum { MOST_TENSORS = 16384, MOST_NODES = 4096 };

static uint32_t take_u8(struct kiln_reader *reader)
{
    const unsigned char *byte = kiln_reader_bytes(reader, 1);
    return byte != NULL ? *byte : 0;
}

/* A number below `end`. */
static uint32_t take_below(struct kiln_reader *reader, uint32_t end)
{
    uint32_t value = take_u8(reader);
    if (value >= end) {
        reader->failed = true;
        return 0;
    }
    return value;
}

static double take_real(struct kiln_reader *reader)
{
    uint64_t bits = kiln_reader_u64(reader);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static enum kiln_dtype take_dtype(struct kiln_reader *reader)
{
    enum kiln_dtype dtype = KILN_DTYPE_F32;
    if (!kiln_dtype_from_wire((int)take_u8(reader), &dtype))
        reader->failed = true;
    return dtype;
}

static void take_tensor(struct kiln_reader *reader, struct kiln_tensor *tensor)
{
    tensor->dtype = take_dtype(reader);
    tensor->role = (enum kiln_tensor_role)take_below(reader, KILN_TENSOR_HOST_SCALAR + 1);
    tensor->rank = take_below(reader, KILN_MAX_RANK + 1);
    for (uint32_t i = 0; i < tensor->rank; i++)
        tensor->dims[i] = (int64_t)kiln_reader_u64(reader);
    for (uint32_t i = 0; i < tensor->rank; i++)
        tensor->strides[i] = (int64_t)kiln_reader_u64(reader);
    switch (tensor->role) {
    case KILN_TENSOR_INPUT:
    case KILN_TENSOR_OUTPUT:
        tensor->alignment_bytes = kiln_reader_u32(reader);
        break;
    case KILN_TENSOR_CONSTANT:
        if (kiln_dtype_is_integer(tensor->dtype))
            tensor->constant.integer = (int64_t)kiln_reader_u64(reader);
        else
            tensor->constant.real = take_real(reader);
        break;
    case KILN_TENSOR_VIRTUAL:
    case KILN_TENSOR_HOST_SCALAR:
        break;
    }
    tensor->name = "";
    tensor->producer = KILN_NONE;
}

/* A mode from 1 to below `count`. */
static uint32_t take_mode(struct kiln_reader *reader, uint32_t count)
{
    uint32_t mode = take_below(reader, count);
    if (mode == 0) {
        reader->failed = true;
        return 1;
    }
    return mode;
}

static void take_pointwise(struct kiln_reader *reader, struct kiln_pointwise *pointwise)
{
    pointwise->mode = (enum kiln_pointwise_mode)take_mode(reader, KILN_POINTWISE_MODE_COUNT);
    switch (pointwise->mode) {
    case KILN_POINTWISE_RELU_BWD:
        pointwise->has_relu_parameter = take_below(reader, 2) != 0;
        if (!pointwise->has_relu_parameter)
            break;
        /* fall through */
    case KILN_POINTWISE_RELU_FWD:
        pointwise->relu_lower_clip = take_real(reader);
        pointwise->relu_upper_clip = take_real(reader);
        pointwise->relu_lower_clip_slope = take_real(reader);
        break;
    case KILN_POINTWISE_SWISH_FWD:
    case KILN_POINTWISE_SWISH_BWD:
        pointwise->swish_beta = take_real(reader);
        break;
    case KILN_POINTWISE_ELU_FWD:
    case KILN_POINTWISE_ELU_BWD:
        pointwise->elu_alpha = take_real(reader);
        break;
    case KILN_POINTWISE_SOFTPLUS_FWD:
    case KILN_POINTWISE_SOFTPLUS_BWD:
        pointwise->softplus_beta = take_real(reader);
        break;
    case KILN_POINTWISE_GEN_INDEX:
        pointwise->axis = kiln_reader_u32(reader);
        break;
    default:
        break;
    }
}

static void take_list(struct kiln_reader *reader, int64_t *items, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        items[i] = (int64_t)kiln_reader_u64(reader);
}

static void take_convolution(struct kiln_reader *reader, struct kiln_convolution *convolution)
{
    convolution->spatial_count = take_below(reader, KILN_MAX_SPATIAL_AXES + 1);
    reader->failed = reader->failed || convolution->spatial_count == 0;
    take_list(reader, convolution->pre_padding, convolution->spatial_count);
    take_list(reader, convolution->post_padding, convolution->spatial_count);
    take_list(reader, convolution->stride, convolution->spatial_count);
    take_list(reader, convolution->dilation, convolution->spatial_count);
    convolution->is_flipped = take_below(reader, 2) != 0;
    convolution->groups = (int64_t)kiln_reader_u64(reader);
}

static void take_attention(struct kiln_reader *reader, struct kiln_node *node)
{
    struct kiln_attention *attention = &node->attention;
    attention->has_first_key = take_below(reader, 2) != 0;
    if (attention->has_first_key)
        attention->first_key = (int64_t)kiln_reader_u64(reader);
    attention->has_last_key = take_below(reader, 2) != 0;
    if (attention->has_last_key)
        attention->last_key = (int64_t)kiln_reader_u64(reader);
    attention->is_bottom_right = take_below(reader, 2) != 0;
    if (kiln_node_input(node, KILN_OPERAND_SCALE) == KILN_NONE)
        attention->scale = take_real(reader);
}

static void take_operands(struct kiln_reader *reader, uint32_t tensor_count, uint32_t count,
                          uint8_t *roles, uint32_t *operands)
{
    for (uint32_t i = 0; i < count; i++) {
        roles[i] = (uint8_t)take_below(reader, KILN_OPERAND_COUNT);
        operands[i] = kiln_reader_u32(reader);
        if (operands[i] >= tensor_count) {
            reader->failed = true;
            operands[i] = 0;
        }
    }
}

static void take_node(struct kiln_reader *reader, uint32_t tensor_count, struct kiln_node *node)
{
    node->name = "";
    node->kind = (enum kiln_node_kind)take_below(reader, KILN_NODE_KIND_COUNT);
    node->compute_type = take_dtype(reader);
    node->input_count = take_below(reader, KILN_MAX_NODE_OPERANDS + 1);
    node->output_count = take_below(reader, KILN_MAX_NODE_OPERANDS + 1);
    take_operands(reader, tensor_count, node->input_count, node->input_roles, node->inputs);
    take_operands(reader, tensor_count, node->output_count, node->output_roles, node->outputs);
    switch (node->kind) {
    case KILN_NODE_POINTWISE:
        take_pointwise(reader, &node->pointwise);
        break;
    case KILN_NODE_REDUCTION:
        node->reduction.mode =
            (enum kiln_reduction_mode)take_mode(reader, KILN_REDUCTION_MODE_COUNT);
        node->reduction.axes = kiln_reader_u32(reader);
        break;
    case KILN_NODE_LAYERNORM:
    case KILN_NODE_LAYERNORM_BACKWARD:
    case KILN_NODE_RMSNORM:
    case KILN_NODE_RMSNORM_BACKWARD:
    case KILN_NODE_BATCHNORM_INFERENCE:
    case KILN_NODE_BATCHNORM_TRAINING:
    case KILN_NODE_BATCHNORM_BACKWARD:
        node->normalization.axes = kiln_reader_u32(reader);
        if (kiln_node_input(node, KILN_OPERAND_EPSILON) == KILN_NONE)
            node->normalization.epsilon = take_real(reader);
        if (kiln_node_input(node, KILN_OPERAND_MOMENTUM) == KILN_NONE)
            node->normalization.momentum = take_real(reader);
        break;
    case KILN_NODE_MATMUL:
        break;
    case KILN_NODE_CONVOLUTION_FORWARD:
    case KILN_NODE_CONVOLUTION_DATA_GRADIENT:
    case KILN_NODE_CONVOLUTION_WEIGHT_GRADIENT:
        take_convolution(reader, &node->convolution);
        break;
    case KILN_NODE_ATTENTION:
    case KILN_NODE_ATTENTION_BACKWARD:
        take_attention(reader, node);
        break;
    }
}

static enum kiln_status fail(struct kiln_error *error)
{
    return kiln_error_set(error, KILN_CORRUPT, "it is no canonical form of a graph");
}

/* Counts are checked before memory is taken for as many as untrusted bytes ask for. */
static enum kiln_status take_graph(struct kiln_reader *reader, struct kiln_arena *arena,
                                   struct kiln_graph *graph, struct kiln_error *error)
{
    graph->tensor_count = kiln_reader_u32(reader);
    graph->node_count = kiln_reader_u32(reader);
    if (reader->failed || graph->tensor_count > MOST_TENSORS || graph->node_count > MOST_NODES)
        return fail(error);
    graph->tensors = kiln_arena_calloc(arena, graph->tensor_count, sizeof *graph->tensors);
    graph->nodes = kiln_arena_calloc(arena, graph->node_count, sizeof *graph->nodes);
    if (graph->tensors == NULL || graph->nodes == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while reading a graph");
    for (uint32_t i = 0; i < graph->tensor_count && !reader->failed; i++) {
        take_tensor(reader, &graph->tensors[i]);
        graph->tensors[i].uid = i;
    }
    for (uint32_t i = 0; i < graph->node_count && !reader->failed; i++) {
        take_node(reader, graph->tensor_count, &graph->nodes[i]);
        for (uint32_t j = 0; j < graph->nodes[i].output_count && !reader->failed; j++)
            graph->tensors[graph->nodes[i].outputs[j]].producer = i;
    }
    return reader->failed || reader->position != reader->size ? fail(error) : KILN_OK;
}

enum kiln_status kiln_graph_read_canonical(const void *bytes, size_t size, struct kiln_arena *arena,
                                           struct kiln_graph *ret_graph, struct kiln_error *error)
{
    struct kiln_reader reader;
    kiln_reader_init(&reader, bytes, size);
    uint32_t version = kiln_reader_u32(&reader);
    if (!reader.failed && version != KILN_CANONICAL_VERSION)
        return kiln_error_set(error, KILN_UNSUPPORTED,
                              "its graph is in version %u of the canonical form, not %d", version,
                              KILN_CANONICAL_VERSION);
    struct kiln_graph graph = {.era = KILN_WIRE_ERA_CURRENT, .name = ""};
    enum kiln_status status = take_graph(&reader, arena, &graph, error);
    if (status != KILN_OK)
        return status;
    struct kiln_buffer again;
    kiln_buffer_init(&again);
    kiln_graph_append_canonical(&graph, &again);
    status = kiln_buffer_check(&again, error);
    if (status == KILN_OK && (again.size != size || memcmp(again.data, bytes, size) != 0))
        status = fail(error);
    kiln_buffer_fini(&again);
    if (status == KILN_OK)
        *ret_graph = graph;
    return status;
}
