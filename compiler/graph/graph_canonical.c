/*
 * The canonical form: fixed-width little-endian records, counts in front of what they count.
 *
 * Data types are written as hipDNN's numbers and modes too, so that the form does not change when a
 * table of Kiln grows; kinds and roles of operands are Kiln's own numbers. Parameters that the mode
 * does not read are left out, as is the alignment of tensors that have no memory.
 */
#include "compiler/graph/canonical_form.h"
#include "compiler/graph/graph_reader.h"

#include <string.h>

/* One tensor or node; large enough for KILN_MAX_RANK and KILN_MAX_NODE_OPERANDS. */
struct record {
    size_t size;
    unsigned char bytes[512];
};

static void put_u8(struct record *record, uint32_t value)
{
    record->bytes[record->size++] = (unsigned char)value;
}

static void put_u32(struct record *record, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        record->bytes[record->size++] = (unsigned char)(value >> (8 * i));
}

static void put_u64(struct record *record, uint64_t value)
{
    for (unsigned i = 0; i < 8; i++)
        record->bytes[record->size++] = (unsigned char)(value >> (8 * i));
}

static void put_real(struct record *record, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_u64(record, bits);
}

static void put_dtype(struct record *record, enum kiln_dtype dtype)
{
    put_u8(record, (uint32_t)kiln_dtype_info(dtype)->wire);
}

static void append_record(struct kiln_buffer *buffer, const struct record *record)
{
    kiln_buffer_append(buffer, record->bytes, record->size);
}

static void append_tensor(struct kiln_buffer *buffer, const struct kiln_tensor *tensor)
{
    struct record record = {.size = 0};
    put_dtype(&record, tensor->dtype);
    put_u8(&record, tensor->role);
    put_u8(&record, tensor->rank);
    for (uint32_t i = 0; i < tensor->rank; i++)
        put_u64(&record, (uint64_t)tensor->dims[i]);
    for (uint32_t i = 0; i < tensor->rank; i++)
        put_u64(&record, (uint64_t)tensor->strides[i]);
    switch (tensor->role) {
    case KILN_TENSOR_INPUT:
    case KILN_TENSOR_OUTPUT:
        put_u32(&record, tensor->alignment_bytes);
        break;
    case KILN_TENSOR_CONSTANT:
        if (kiln_dtype_is_integer(tensor->dtype))
            put_u64(&record, (uint64_t)tensor->constant.integer);
        else
            put_real(&record, tensor->constant.real);
        break;
    case KILN_TENSOR_VIRTUAL:
    case KILN_TENSOR_HOST_SCALAR:
        break;
    }
    append_record(buffer, &record);
}

static void put_pointwise(struct record *record, const struct kiln_pointwise *pointwise)
{
    put_u8(record, pointwise->mode);
    switch (pointwise->mode) {
    case KILN_POINTWISE_RELU_BWD:
        put_u8(record, pointwise->has_relu_parameter);
        if (!pointwise->has_relu_parameter)
            break;
        /* fall through */
    case KILN_POINTWISE_RELU_FWD:
        put_real(record, pointwise->relu_lower_clip);
        put_real(record, pointwise->relu_upper_clip);
        put_real(record, pointwise->relu_lower_clip_slope);
        break;
    case KILN_POINTWISE_SWISH_FWD:
    case KILN_POINTWISE_SWISH_BWD:
        put_real(record, pointwise->swish_beta);
        break;
    case KILN_POINTWISE_ELU_FWD:
    case KILN_POINTWISE_ELU_BWD:
        put_real(record, pointwise->elu_alpha);
        break;
    case KILN_POINTWISE_SOFTPLUS_FWD:
    case KILN_POINTWISE_SOFTPLUS_BWD:
        put_real(record, pointwise->softplus_beta);
        break;
    case KILN_POINTWISE_GEN_INDEX:
        put_u32(record, pointwise->axis);
        break;
    default:
        break;
    }
}

/* Epsilon and momentum where no operand has them. */
static void put_normalization(struct record *record, const struct kiln_node *node)
{
    put_u32(record, node->normalization.axes);
    if (kiln_node_input(node, KILN_OPERAND_EPSILON) == KILN_NONE)
        put_real(record, node->normalization.epsilon);
    if (kiln_node_input(node, KILN_OPERAND_MOMENTUM) == KILN_NONE)
        put_real(record, node->normalization.momentum);
}

static void put_list(struct record *record, const int64_t *items, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        put_u64(record, (uint64_t)items[i]);
}

static void put_convolution(struct record *record, const struct kiln_convolution *convolution)
{
    put_u8(record, convolution->spatial_count);
    put_list(record, convolution->pre_padding, convolution->spatial_count);
    put_list(record, convolution->post_padding, convolution->spatial_count);
    put_list(record, convolution->stride, convolution->spatial_count);
    put_list(record, convolution->dilation, convolution->spatial_count);
    put_u8(record, convolution->is_flipped);
    put_u64(record, (uint64_t)convolution->groups);
}

/* The scale where no operand has it. */
static void put_attention(struct record *record, const struct kiln_node *node)
{
    const struct kiln_attention *attention = &node->attention;
    put_u8(record, attention->has_first_key);
    if (attention->has_first_key)
        put_u64(record, (uint64_t)attention->first_key);
    put_u8(record, attention->has_last_key);
    if (attention->has_last_key)
        put_u64(record, (uint64_t)attention->last_key);
    put_u8(record, attention->is_bottom_right);
    if (kiln_node_input(node, KILN_OPERAND_SCALE) == KILN_NONE)
        put_real(record, attention->scale);
}

static void append_node(struct kiln_buffer *buffer, const struct kiln_node *node)
{
    struct record record = {.size = 0};
    put_u8(&record, node->kind);
    put_dtype(&record, node->compute_type);
    put_u8(&record, node->input_count);
    put_u8(&record, node->output_count);
    for (uint32_t i = 0; i < node->input_count; i++) {
        put_u8(&record, node->input_roles[i]);
        put_u32(&record, node->inputs[i]);
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        put_u8(&record, node->output_roles[i]);
        put_u32(&record, node->outputs[i]);
    }
    switch (node->kind) {
    case KILN_NODE_POINTWISE:
        put_pointwise(&record, &node->pointwise);
        break;
    case KILN_NODE_REDUCTION:
        put_u8(&record, node->reduction.mode);
        put_u32(&record, node->reduction.axes);
        break;
    case KILN_NODE_LAYERNORM:
    case KILN_NODE_LAYERNORM_BACKWARD:
    case KILN_NODE_RMSNORM:
    case KILN_NODE_RMSNORM_BACKWARD:
    case KILN_NODE_BATCHNORM_INFERENCE:
    case KILN_NODE_BATCHNORM_TRAINING:
    case KILN_NODE_BATCHNORM_BACKWARD:
        put_normalization(&record, node);
        break;
    case KILN_NODE_MATMUL: /* the shapes say it all */
        break;
    case KILN_NODE_CONVOLUTION_FORWARD:
    case KILN_NODE_CONVOLUTION_DATA_GRADIENT:
    case KILN_NODE_CONVOLUTION_WEIGHT_GRADIENT:
        put_convolution(&record, &node->convolution);
        break;
    case KILN_NODE_ATTENTION:
    case KILN_NODE_ATTENTION_BACKWARD:
        put_attention(&record, node);
        break;
    }
    append_record(buffer, &record);
}

void kiln_graph_append_canonical(const struct kiln_graph *graph, struct kiln_buffer *buffer)
{
    struct record header = {.size = 0};
    put_u32(&header, KILN_CANONICAL_VERSION);
    put_u32(&header, graph->tensor_count);
    put_u32(&header, graph->node_count);
    append_record(buffer, &header);
    for (uint32_t i = 0; i < graph->tensor_count; i++)
        append_tensor(buffer, &graph->tensors[i]);
    for (uint32_t i = 0; i < graph->node_count; i++)
        append_node(buffer, &graph->nodes[i]);
}

enum kiln_status kiln_graph_hash(const struct kiln_graph *graph, struct kiln_hash128 *ret_hash,
                                 struct kiln_error *error)
{
    struct kiln_buffer canonical;
    kiln_buffer_init(&canonical);
    kiln_graph_append_canonical(graph, &canonical);
    enum kiln_status status = kiln_buffer_check(&canonical, error);
    if (status == KILN_OK)
        *ret_hash = kiln_hash128(canonical.data, canonical.size);
    kiln_buffer_fini(&canonical);
    return status;
}
