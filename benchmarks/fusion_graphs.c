#include "benchmarks/fusion_graphs.h"
#include "compiler/reference/convert.h"

#include <math.h>
#include <string.h>

enum { MAX_NODES = 16, MAX_TENSORS = 48, SOFTMAX_COLUMNS = 2048, NORM_COLUMNS = 4096 };
enum { CHANNELS = 64, IMAGE = 56 };

/* A graph in the making. Values are tensor ordinals. */
struct kiln_fusion_builder {
    struct kiln_graph graph;
    enum kiln_dtype dtype; /* of what lies in memory; intermediates are float */
    uint32_t rank;         /* of the large tensors */
    int64_t dims[KILN_MAX_RANK];
    bool is_channels_last;
};

/* ---- tensors ---- */

enum { ALL_AXES = (1 << KILN_MAX_RANK) - 1 };

/* A tensor with the large tensors' size on a set of axes (bit per axis) and 1 on the others. */
static uint32_t add_tensor(struct kiln_fusion_builder *builder, enum kiln_tensor_role role,
                           enum kiln_dtype dtype, uint32_t axes)
{
    uint32_t ordinal = builder->graph.tensor_count++;
    struct kiln_tensor *tensor = &builder->graph.tensors[ordinal];
    *tensor = (struct kiln_tensor){.uid = ordinal + 1,
                                   .name = "",
                                   .dtype = dtype,
                                   .role = role,
                                   .rank = builder->rank,
                                   .alignment_bytes = 16,
                                   .producer = KILN_NONE};
    int64_t stride = 1;
    for (uint32_t i = 0; i < builder->rank; i++) {
        /* From the fastest axis on: in order, or axis 1 first. */
        uint32_t axis = builder->rank - 1 - i;
        if (builder->is_channels_last)
            axis = i == 0 ? 1 : i == builder->rank - 1 ? 0 : builder->rank - i;
        tensor->dims[axis] = (axes >> axis & 1) != 0 ? builder->dims[axis] : 1;
        tensor->strides[axis] = tensor->dims[axis] == 1 ? 0 : stride;
        stride *= tensor->dims[axis];
    }
    return ordinal;
}

static uint32_t add_input(struct kiln_fusion_builder *builder)
{
    return add_tensor(builder, KILN_TENSOR_INPUT, builder->dtype, ALL_AXES);
}

static uint32_t add_parameter(struct kiln_fusion_builder *builder, uint32_t axes)
{
    return add_tensor(builder, KILN_TENSOR_INPUT, KILN_DTYPE_F32, axes);
}

static uint32_t add_constant(struct kiln_fusion_builder *builder, double value)
{
    uint32_t tensor = add_tensor(builder, KILN_TENSOR_CONSTANT, KILN_DTYPE_F32, 0);
    builder->graph.tensors[tensor].constant.real = kiln_round_to_dtype(KILN_DTYPE_F32, value);
    return tensor;
}

/* Axes on which a tensor is as long as the large ones. */
static uint32_t axes_of(const struct kiln_fusion_builder *builder, uint32_t tensor)
{
    uint32_t axes = 0;
    for (uint32_t i = 0; i < builder->rank; i++)
        axes |= (uint32_t)(builder->graph.tensors[tensor].dims[i] > 1) << i;
    return axes;
}

/* ---- nodes ---- */

static struct kiln_node *add_node(struct kiln_fusion_builder *builder, enum kiln_node_kind kind)
{
    struct kiln_node *node = &builder->graph.nodes[builder->graph.node_count++];
    *node = (struct kiln_node){.kind = kind, .name = "", .compute_type = KILN_DTYPE_F32};
    return node;
}

static void connect(struct kiln_node *node, enum kiln_operand role, uint32_t tensor)
{
    node->input_roles[node->input_count] = (uint8_t)role;
    node->inputs[node->input_count++] = tensor;
}

static uint32_t add_result(struct kiln_fusion_builder *builder, struct kiln_node *node,
                           enum kiln_operand role, uint32_t axes)
{
    uint32_t tensor = add_tensor(builder, KILN_TENSOR_VIRTUAL, KILN_DTYPE_F32, axes);
    builder->graph.tensors[tensor].producer = (uint32_t)(node - builder->graph.nodes);
    node->output_roles[node->output_count] = (uint8_t)role;
    node->outputs[node->output_count++] = tensor;
    return tensor;
}

/* Makes a value an output of the graph, in the type of memory where it is large. */
static void write_out(struct kiln_fusion_builder *builder, uint32_t tensor)
{
    builder->graph.tensors[tensor].role = KILN_TENSOR_OUTPUT;
    if (kiln_tensor_elements(&builder->graph.tensors[tensor]) > NORM_COLUMNS * 16)
        builder->graph.tensors[tensor].dtype = builder->dtype;
}

static uint32_t pointwise(struct kiln_fusion_builder *builder, enum kiln_pointwise_mode mode,
                          uint32_t a, uint32_t b)
{
    struct kiln_node *node = add_node(builder, KILN_NODE_POINTWISE);
    node->pointwise = (struct kiln_pointwise){.mode = mode,
                                              .relu_upper_clip = (double)INFINITY,
                                              .swish_beta = 1,
                                              .elu_alpha = 1,
                                              .softplus_beta = 1};
    connect(node, KILN_OPERAND_IN_0, a);
    if (b != KILN_NONE)
        connect(node, KILN_OPERAND_IN_1, b);
    uint32_t axes = axes_of(builder, a) | (b != KILN_NONE ? axes_of(builder, b) : 0);
    return add_result(builder, node, KILN_OPERAND_OUT_0, axes);
}

static uint32_t unary(struct kiln_fusion_builder *builder, enum kiln_pointwise_mode mode,
                      uint32_t a)
{
    return pointwise(builder, mode, a, KILN_NONE);
}

static uint32_t reduce(struct kiln_fusion_builder *builder, enum kiln_reduction_mode mode,
                       uint32_t x, uint32_t axes)
{
    struct kiln_node *node = add_node(builder, KILN_NODE_REDUCTION);
    node->reduction = (struct kiln_reduction){.mode = mode, .axes = axes};
    connect(node, KILN_OPERAND_IN, x);
    return add_result(builder, node, KILN_OPERAND_OUT, axes_of(builder, x) & ~axes);
}

/* ---- graphs ---- */

/* Rows of `columns` elements, as many as fit the bytes. */
static void set_rows(struct kiln_fusion_builder *builder, enum kiln_dtype dtype, int64_t columns,
                     int64_t tensor_bytes)
{
    int64_t rows = tensor_bytes / (columns * kiln_dtype_info(dtype)->bytes);
    builder->dtype = dtype;
    builder->rank = 2;
    builder->dims[0] = rows > 1 ? rows : 2;
    builder->dims[1] = columns;
}

static void set_images(struct kiln_fusion_builder *builder, bool is_channels_last,
                       int64_t tensor_bytes)
{
    int64_t images = tensor_bytes / (CHANNELS * IMAGE * IMAGE * 4);
    builder->dtype = KILN_DTYPE_F32;
    builder->rank = 4;
    builder->dims[0] = images > 1 ? images : 2;
    builder->dims[1] = CHANNELS;
    builder->dims[2] = builder->dims[3] = IMAGE;
    builder->is_channels_last = is_channels_last;
}

static void build_copy(struct kiln_fusion_builder *builder, int64_t tensor_bytes)
{
    set_rows(builder, KILN_DTYPE_F32, NORM_COLUMNS, tensor_bytes);
    write_out(builder, unary(builder, KILN_POINTWISE_IDENTITY, add_input(builder)));
}

static void build_softmax(struct kiln_fusion_builder *builder, int64_t tensor_bytes)
{
    set_rows(builder, KILN_DTYPE_F32, SOFTMAX_COLUMNS, tensor_bytes);
    uint32_t x = add_input(builder);
    uint32_t max = reduce(builder, KILN_REDUCTION_MAX, x, 2);
    uint32_t shifted = pointwise(builder, KILN_POINTWISE_SUB, x, max);
    uint32_t e = unary(builder, KILN_POINTWISE_EXP, shifted);
    uint32_t sum = reduce(builder, KILN_REDUCTION_ADD, e, 2);
    write_out(builder, pointwise(builder, KILN_POINTWISE_DIV, e, sum));
}

/* x * 1/sqrt(mean(x * x) + epsilon) * scale over the axes. */
static uint32_t write_rms(struct kiln_fusion_builder *builder, uint32_t x, uint32_t squared,
                          uint32_t axes, uint32_t parameter_axes)
{
    uint32_t square = pointwise(builder, KILN_POINTWISE_MUL, squared, squared);
    uint32_t mean = reduce(builder, KILN_REDUCTION_AVG, square, axes);
    uint32_t shifted = pointwise(builder, KILN_POINTWISE_ADD, mean, add_constant(builder, 1e-5));
    uint32_t inverse = unary(builder, KILN_POINTWISE_RSQRT, shifted);
    uint32_t normalized = pointwise(builder, KILN_POINTWISE_MUL, x, inverse);
    return pointwise(builder, KILN_POINTWISE_MUL, normalized,
                     add_parameter(builder, parameter_axes));
}

/* (x - mean) / deviation * scale + bias over the axes. */
static uint32_t write_normalization(struct kiln_fusion_builder *builder, uint32_t x, uint32_t axes,
                                    uint32_t parameter_axes)
{
    uint32_t mean = reduce(builder, KILN_REDUCTION_AVG, x, axes);
    uint32_t centred = pointwise(builder, KILN_POINTWISE_SUB, x, mean);
    uint32_t scaled = write_rms(builder, centred, centred, axes, parameter_axes);
    return pointwise(builder, KILN_POINTWISE_ADD, scaled, add_parameter(builder, parameter_axes));
}

static void layernorm(struct kiln_fusion_builder *builder, enum kiln_dtype dtype,
                      int64_t tensor_bytes)
{
    set_rows(builder, dtype, NORM_COLUMNS, tensor_bytes);
    uint32_t x = add_input(builder);
    uint32_t scale = add_parameter(builder, 2), bias = add_parameter(builder, 2);
    uint32_t epsilon = add_constant(builder, 1e-5);
    struct kiln_node *node = add_node(builder, KILN_NODE_LAYERNORM);
    node->normalization = (struct kiln_normalization){.axes = 2, .epsilon = 1e-5, .momentum = 0.1};
    connect(node, KILN_OPERAND_X, x);
    connect(node, KILN_OPERAND_SCALE, scale);
    connect(node, KILN_OPERAND_BIAS, bias);
    connect(node, KILN_OPERAND_EPSILON, epsilon);
    write_out(builder, unary(builder, KILN_POINTWISE_SWISH_FWD,
                             add_result(builder, node, KILN_OPERAND_Y, ALL_AXES)));
}

static void build_layernorm(struct kiln_fusion_builder *builder, int64_t tensor_bytes)
{
    layernorm(builder, KILN_DTYPE_F32, tensor_bytes);
}

static void build_layernorm_fp16(struct kiln_fusion_builder *builder, int64_t tensor_bytes)
{
    layernorm(builder, KILN_DTYPE_F16, tensor_bytes);
}

static void build_layernorm_alone(struct kiln_fusion_builder *builder, int64_t tensor_bytes)
{
    set_rows(builder, KILN_DTYPE_F32, NORM_COLUMNS, tensor_bytes);
    write_out(builder, write_normalization(builder, add_input(builder), 2, 2));
}

static void build_layernorm_written_out(struct kiln_fusion_builder *builder, int64_t tensor_bytes)
{
    set_rows(builder, KILN_DTYPE_F32, NORM_COLUMNS, tensor_bytes);
    uint32_t y = write_normalization(builder, add_input(builder), 2, 2);
    write_out(builder, unary(builder, KILN_POINTWISE_SWISH_FWD, y));
}

/* x + residual, which is an output too: the next block adds to it. */
static uint32_t add_residual(struct kiln_fusion_builder *builder)
{
    uint32_t x = add_input(builder);
    uint32_t sum = pointwise(builder, KILN_POINTWISE_ADD, x, add_input(builder));
    write_out(builder, sum);
    return sum;
}

static void build_rmsnorm(struct kiln_fusion_builder *builder, int64_t tensor_bytes)
{
    set_rows(builder, KILN_DTYPE_F32, NORM_COLUMNS, tensor_bytes);
    uint32_t sum = add_residual(builder);
    uint32_t scale = add_parameter(builder, 2);
    uint32_t epsilon = add_constant(builder, 1e-5);
    struct kiln_node *node = add_node(builder, KILN_NODE_RMSNORM);
    node->normalization = (struct kiln_normalization){.axes = 2, .epsilon = 1e-5, .momentum = 0.1};
    connect(node, KILN_OPERAND_X, sum);
    connect(node, KILN_OPERAND_SCALE, scale);
    connect(node, KILN_OPERAND_EPSILON, epsilon);
    write_out(builder, unary(builder, KILN_POINTWISE_RELU_FWD,
                             add_result(builder, node, KILN_OPERAND_Y, ALL_AXES)));
}

static void build_rmsnorm_written_out(struct kiln_fusion_builder *builder, int64_t tensor_bytes)
{
    set_rows(builder, KILN_DTYPE_F32, NORM_COLUMNS, tensor_bytes);
    uint32_t sum = add_residual(builder);
    uint32_t y = write_rms(builder, sum, sum, 2, 2);
    write_out(builder, unary(builder, KILN_POINTWISE_RELU_FWD, y));
}

/* All axes but the channels'. */
enum { BATCH_AXES = 13, CHANNEL_AXIS = 2 };

static void batchnorm(struct kiln_fusion_builder *builder, bool is_channels_last,
                      int64_t tensor_bytes)
{
    set_images(builder, is_channels_last, tensor_bytes);
    uint32_t x = add_input(builder);
    uint32_t scale = add_parameter(builder, CHANNEL_AXIS);
    uint32_t bias = add_parameter(builder, CHANNEL_AXIS);
    uint32_t epsilon = add_constant(builder, 1e-5);
    uint32_t mean = add_parameter(builder, CHANNEL_AXIS);
    uint32_t variance = add_parameter(builder, CHANNEL_AXIS);
    uint32_t momentum = add_constant(builder, 0.1);
    struct kiln_node *node = add_node(builder, KILN_NODE_BATCHNORM_TRAINING);
    node->normalization =
        (struct kiln_normalization){.axes = BATCH_AXES, .epsilon = 1e-5, .momentum = 0.1};
    connect(node, KILN_OPERAND_X, x);
    connect(node, KILN_OPERAND_SCALE, scale);
    connect(node, KILN_OPERAND_BIAS, bias);
    connect(node, KILN_OPERAND_EPSILON, epsilon);
    connect(node, KILN_OPERAND_PREV_RUNNING_MEAN, mean);
    connect(node, KILN_OPERAND_PREV_RUNNING_VARIANCE, variance);
    connect(node, KILN_OPERAND_MOMENTUM, momentum);
    static const enum kiln_operand statistics[] = {KILN_OPERAND_MEAN, KILN_OPERAND_INV_VARIANCE,
                                                   KILN_OPERAND_NEXT_RUNNING_MEAN,
                                                   KILN_OPERAND_NEXT_RUNNING_VARIANCE};
    uint32_t y = add_result(builder, node, KILN_OPERAND_Y, ALL_AXES);
    for (size_t i = 0; i < sizeof(statistics) / sizeof(statistics[0]); i++)
        write_out(builder, add_result(builder, node, statistics[i], CHANNEL_AXIS));
    write_out(builder, unary(builder, KILN_POINTWISE_RELU_FWD, y));
}

static void build_batchnorm_nchw(struct kiln_fusion_builder *builder, int64_t tensor_bytes)
{
    batchnorm(builder, false, tensor_bytes);
}

static void build_batchnorm_nhwc(struct kiln_fusion_builder *builder, int64_t tensor_bytes)
{
    batchnorm(builder, true, tensor_bytes);
}

static void batchnorm_written_out(struct kiln_fusion_builder *builder, bool is_channels_last,
                                  int64_t tensor_bytes)
{
    set_images(builder, is_channels_last, tensor_bytes);
    uint32_t y = write_normalization(builder, add_input(builder), BATCH_AXES, CHANNEL_AXIS);
    write_out(builder, unary(builder, KILN_POINTWISE_RELU_FWD, y));
}

static void build_batchnorm_nchw_written_out(struct kiln_fusion_builder *builder,
                                             int64_t tensor_bytes)
{
    batchnorm_written_out(builder, false, tensor_bytes);
}

static void build_batchnorm_nhwc_written_out(struct kiln_fusion_builder *builder,
                                             int64_t tensor_bytes)
{
    batchnorm_written_out(builder, true, tensor_bytes);
}

static void build_batchnorm_inference(struct kiln_fusion_builder *builder, int64_t tensor_bytes)
{
    set_images(builder, true, tensor_bytes);
    uint32_t x = add_input(builder);
    static const enum kiln_operand parameters[] = {KILN_OPERAND_MEAN, KILN_OPERAND_INV_VARIANCE,
                                                   KILN_OPERAND_SCALE, KILN_OPERAND_BIAS};
    struct kiln_node *node = add_node(builder, KILN_NODE_BATCHNORM_INFERENCE);
    node->normalization = (struct kiln_normalization){.axes = BATCH_AXES, .epsilon = 1e-5};
    connect(node, KILN_OPERAND_X, x);
    for (size_t i = 0; i < sizeof(parameters) / sizeof(parameters[0]); i++)
        connect(node, parameters[i], add_parameter(builder, CHANNEL_AXIS));
    uint32_t y = add_result(builder, node, KILN_OPERAND_Y, ALL_AXES);
    write_out(builder, unary(builder, KILN_POINTWISE_RELU_FWD, y));
}

static void build_batchnorm_backward(struct kiln_fusion_builder *builder, int64_t tensor_bytes)
{
    set_images(builder, true, tensor_bytes);
    uint32_t activated = add_input(builder);
    uint32_t gradient = add_input(builder);
    uint32_t dy = pointwise(builder, KILN_POINTWISE_RELU_BWD, activated, gradient);
    uint32_t x = add_input(builder);
    struct kiln_node *node = add_node(builder, KILN_NODE_BATCHNORM_BACKWARD);
    node->normalization = (struct kiln_normalization){.axes = BATCH_AXES, .epsilon = 1e-5};
    connect(node, KILN_OPERAND_DY, dy);
    connect(node, KILN_OPERAND_X, x);
    connect(node, KILN_OPERAND_MEAN, add_parameter(builder, CHANNEL_AXIS));
    connect(node, KILN_OPERAND_INV_VARIANCE, add_parameter(builder, CHANNEL_AXIS));
    connect(node, KILN_OPERAND_SCALE, add_parameter(builder, CHANNEL_AXIS));
    write_out(builder, add_result(builder, node, KILN_OPERAND_DX, ALL_AXES));
    write_out(builder, add_result(builder, node, KILN_OPERAND_DSCALE, CHANNEL_AXIS));
    write_out(builder, add_result(builder, node, KILN_OPERAND_DBIAS, CHANNEL_AXIS));
}

static void build_bias_gelu(struct kiln_fusion_builder *builder, int64_t tensor_bytes)
{
    set_rows(builder, KILN_DTYPE_F32, NORM_COLUMNS, tensor_bytes);
    uint32_t x = add_input(builder);
    uint32_t biased = pointwise(builder, KILN_POINTWISE_ADD, x, add_parameter(builder, 2));
    uint32_t gelu = unary(builder, KILN_POINTWISE_GELU_APPROX_TANH_FWD, biased);
    write_out(builder, pointwise(builder, KILN_POINTWISE_MUL, gelu, add_parameter(builder, 2)));
}

const struct kiln_fusion_graph kiln_copy_graph = {"copy", build_copy};

const struct kiln_fusion_graph kiln_fusion_graphs[] = {
    {"bias + gelu + scale", build_bias_gelu},
    {"softmax, written out", build_softmax},
    {"layernorm, written out", build_layernorm_alone},
    {"layernorm + swish", build_layernorm},
    {"layernorm + swish, fp16", build_layernorm_fp16},
    {"layernorm + swish, written out", build_layernorm_written_out},
    {"residual + rmsnorm + relu", build_rmsnorm},
    {"residual + rmsnorm + relu, written out", build_rmsnorm_written_out},
    {"batchnorm training + relu, NCHW", build_batchnorm_nchw},
    {"batchnorm training + relu, NCHW, written out", build_batchnorm_nchw_written_out},
    {"batchnorm training + relu, NHWC", build_batchnorm_nhwc},
    {"batchnorm training + relu, NHWC, written out", build_batchnorm_nhwc_written_out},
    {"batchnorm inference + relu, NHWC", build_batchnorm_inference},
    {"relu backward + batchnorm backward, NHWC", build_batchnorm_backward},
};
const unsigned kiln_fusion_graph_count = sizeof(kiln_fusion_graphs) / sizeof(kiln_fusion_graphs[0]);

enum kiln_status kiln_fusion_graph_make(const struct kiln_fusion_graph *graph, int64_t tensor_bytes,
                                        struct kiln_arena *arena, struct kiln_graph *ret_graph,
                                        struct kiln_error *error)
{
    struct kiln_fusion_builder builder = {
        .graph = {.era = KILN_WIRE_ERA_CURRENT, .name = graph->name}};
    builder.graph.nodes = kiln_arena_calloc(arena, MAX_NODES, sizeof(struct kiln_node));
    builder.graph.tensors = kiln_arena_calloc(arena, MAX_TENSORS, sizeof(struct kiln_tensor));
    if (!builder.graph.nodes || !builder.graph.tensors)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory for the graph '%s'", graph->name);
    graph->build(&builder, tensor_bytes);
    *ret_graph = builder.graph;
    return KILN_OK;
}

void kiln_fusion_graph_fill(const struct kiln_tensor *tensor, void *memory)
{
    enum { PERIOD = 251 };
    size_t bytes = kiln_dtype_info(tensor->dtype)->bytes;
    size_t total = (size_t)kiln_tensor_footprint_elements(tensor) * bytes;
    unsigned char *to = memory;
    unsigned char pattern[PERIOD * 8];
    for (size_t i = 0; i < PERIOD; i++) {
        struct kiln_constant value = {.real =
                                          0.25 + 0.75 * (double)(i * 97 % PERIOD) / (double)PERIOD};
        kiln_element_store(tensor->dtype, value, pattern + i * bytes);
    }
    for (size_t done = 0; done < total;) {
        size_t part = total - done < PERIOD * bytes ? total - done : PERIOD * bytes;
        memcpy(to + done, pattern, part);
        done += part;
    }
}
