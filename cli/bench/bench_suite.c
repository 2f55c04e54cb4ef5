#include "cli/bench/bench_suite.h"

#include "cli/bench/bench_builder.h"

#include <stdio.h>

enum { ROWS = KILN_BENCH_ROW_AXIS, COLUMNS = KILN_BENCH_COLUMN_AXIS };
enum { CHANNEL = KILN_BENCH_CHANNEL_AXIS, BATCH = KILN_BENCH_BATCH_AXES };
enum { ALL = KILN_BENCH_ALL_AXES };

static const double small_number = 1e-5;

/* ---- pointwise ---- */

static void build_copy(struct kiln_bench_builder *builder, int64_t elements)
{
    kiln_bench_set_rows(builder, elements);
    uint32_t x = kiln_bench_input(builder, "x");
    kiln_bench_output(builder, "y", kiln_bench_unary(builder, KILN_POINTWISE_IDENTITY, x));
}

static void build_add_relu(struct kiln_bench_builder *builder, int64_t elements)
{
    kiln_bench_set_rows(builder, elements);
    uint32_t a = kiln_bench_input(builder, "a");
    uint32_t b = kiln_bench_input(builder, "b");
    uint32_t sum = kiln_bench_pointwise(builder, KILN_POINTWISE_ADD, a, b);
    kiln_bench_output(builder, "y", kiln_bench_unary(builder, KILN_POINTWISE_RELU_FWD, sum));
}

static void bias_gelu(struct kiln_bench_builder *builder, enum kiln_pointwise_mode gelu,
                      int64_t elements)
{
    kiln_bench_set_rows(builder, elements);
    uint32_t x = kiln_bench_input(builder, "x");
    uint32_t bias = kiln_bench_vector(builder, "bias", COLUMNS);
    uint32_t sum = kiln_bench_pointwise(builder, KILN_POINTWISE_ADD, x, bias);
    kiln_bench_output(builder, "y", kiln_bench_unary(builder, gelu, sum));
}

static void build_bias_gelu_tanh(struct kiln_bench_builder *builder, int64_t elements)
{
    bias_gelu(builder, KILN_POINTWISE_GELU_APPROX_TANH_FWD, elements);
}

static void build_bias_gelu_erf(struct kiln_bench_builder *builder, int64_t elements)
{
    bias_gelu(builder, KILN_POINTWISE_GELU_FWD, elements);
}

static void build_chain8(struct kiln_bench_builder *builder, int64_t elements)
{
    kiln_bench_set_rows(builder, elements);
    uint32_t a = kiln_bench_input(builder, "a");
    uint32_t b = kiln_bench_input(builder, "b");
    uint32_t y = kiln_bench_pointwise(builder, KILN_POINTWISE_ADD, a, b);
    y = kiln_bench_pointwise(builder, KILN_POINTWISE_MUL, y, a);
    y = kiln_bench_unary(builder, KILN_POINTWISE_SIGMOID_FWD, y);
    y = kiln_bench_pointwise(builder, KILN_POINTWISE_MUL, y, b);
    y = kiln_bench_pointwise(builder, KILN_POINTWISE_SUB, y, a);
    y = kiln_bench_unary(builder, KILN_POINTWISE_RELU_FWD, y);
    y = kiln_bench_pointwise(builder, KILN_POINTWISE_ADD, y, b);
    y = kiln_bench_pointwise(builder, KILN_POINTWISE_MUL, y, a);
    kiln_bench_output(builder, "y", y);
}

static void build_swiglu(struct kiln_bench_builder *builder, int64_t elements)
{
    kiln_bench_set_rows(builder, elements);
    uint32_t a = kiln_bench_input(builder, "a");
    uint32_t b = kiln_bench_input(builder, "b");
    uint32_t y = kiln_bench_unary(builder, KILN_POINTWISE_SIGMOID_FWD, a);
    y = kiln_bench_pointwise(builder, KILN_POINTWISE_MUL, a, y);
    kiln_bench_output(builder, "y", kiln_bench_pointwise(builder, KILN_POINTWISE_MUL, y, b));
}

static void build_transpose_add(struct kiln_bench_builder *builder, int64_t elements)
{
    kiln_bench_set_square(builder, elements);
    uint32_t a = kiln_bench_input(builder, "a");
    uint32_t b = kiln_bench_input_transposed(builder, "b");
    kiln_bench_output(builder, "y", kiln_bench_pointwise(builder, KILN_POINTWISE_ADD, a, b));
}

/* ---- norms of rows ---- */

static uint32_t layernorm(struct kiln_bench_builder *builder, int64_t elements)
{
    kiln_bench_set_rows(builder, elements);
    uint32_t x = kiln_bench_input(builder, "x");
    uint32_t scale = kiln_bench_vector(builder, "scale", COLUMNS);
    uint32_t bias = kiln_bench_vector(builder, "bias", COLUMNS);
    uint32_t epsilon = kiln_bench_constant(builder, small_number);
    struct kiln_node *node = kiln_bench_norm(builder, KILN_NODE_LAYERNORM, COLUMNS);
    kiln_bench_connect(node, KILN_OPERAND_X, x);
    kiln_bench_connect(node, KILN_OPERAND_SCALE, scale);
    kiln_bench_connect(node, KILN_OPERAND_BIAS, bias);
    kiln_bench_connect(node, KILN_OPERAND_EPSILON, epsilon);
    return kiln_bench_result(builder, node, KILN_OPERAND_Y, ALL);
}

static void build_layernorm(struct kiln_bench_builder *builder, int64_t elements)
{
    kiln_bench_output(builder, "y", layernorm(builder, elements));
}

static void build_layernorm_swish(struct kiln_bench_builder *builder, int64_t elements)
{
    uint32_t y = layernorm(builder, elements);
    kiln_bench_output(builder, "y", kiln_bench_unary(builder, KILN_POINTWISE_SWISH_FWD, y));
}

/* Returns the sum that is normalised. */
static uint32_t residual_rmsnorm(struct kiln_bench_builder *builder, int64_t elements)
{
    kiln_bench_set_rows(builder, elements);
    uint32_t x = kiln_bench_input(builder, "x");
    uint32_t residual = kiln_bench_input(builder, "residual");
    uint32_t sum = kiln_bench_pointwise(builder, KILN_POINTWISE_ADD, x, residual);
    uint32_t scale = kiln_bench_vector(builder, "scale", COLUMNS);
    uint32_t epsilon = kiln_bench_constant(builder, small_number);
    struct kiln_node *node = kiln_bench_norm(builder, KILN_NODE_RMSNORM, COLUMNS);
    kiln_bench_connect(node, KILN_OPERAND_X, sum);
    kiln_bench_connect(node, KILN_OPERAND_SCALE, scale);
    kiln_bench_connect(node, KILN_OPERAND_EPSILON, epsilon);
    kiln_bench_output(builder, "y", kiln_bench_result(builder, node, KILN_OPERAND_Y, ALL));
    return sum;
}

static void build_residual_rmsnorm(struct kiln_bench_builder *builder, int64_t elements)
{
    (void)residual_rmsnorm(builder, elements);
}

static void build_residual_rmsnorm_sum(struct kiln_bench_builder *builder, int64_t elements)
{
    kiln_bench_output(builder, "sum", residual_rmsnorm(builder, elements));
}

static void build_layernorm_backward(struct kiln_bench_builder *builder, int64_t elements)
{
    kiln_bench_set_rows(builder, elements);
    uint32_t dy = kiln_bench_input(builder, "dy");
    uint32_t x = kiln_bench_input(builder, "x");
    uint32_t scale = kiln_bench_vector(builder, "scale", COLUMNS);
    uint32_t mean = kiln_bench_parameter(builder, "mean", ROWS);
    uint32_t inv_variance = kiln_bench_parameter(builder, "inv_variance", ROWS);
    struct kiln_node *node = kiln_bench_norm(builder, KILN_NODE_LAYERNORM_BACKWARD, COLUMNS);
    kiln_bench_connect(node, KILN_OPERAND_DY, dy);
    kiln_bench_connect(node, KILN_OPERAND_X, x);
    kiln_bench_connect(node, KILN_OPERAND_SCALE, scale);
    kiln_bench_connect(node, KILN_OPERAND_MEAN, mean);
    kiln_bench_connect(node, KILN_OPERAND_INV_VARIANCE, inv_variance);
    uint32_t dx = kiln_bench_result(builder, node, KILN_OPERAND_DX, ALL);
    uint32_t dscale = kiln_bench_result(builder, node, KILN_OPERAND_DSCALE, COLUMNS);
    uint32_t dbias = kiln_bench_result(builder, node, KILN_OPERAND_DBIAS, COLUMNS);
    kiln_bench_output(builder, "dx", dx);
    kiln_bench_output_as(builder, "dscale", dscale, KILN_DTYPE_F32);
    kiln_bench_output_as(builder, "dbias", dbias, KILN_DTYPE_F32);
}

/* ---- softmax, reductions ---- */

static void build_softmax(struct kiln_bench_builder *builder, int64_t elements)
{
    kiln_bench_set_rows(builder, elements);
    uint32_t x = kiln_bench_input(builder, "x");
    uint32_t max = kiln_bench_reduce(builder, KILN_REDUCTION_MAX, x, COLUMNS);
    uint32_t shifted = kiln_bench_pointwise(builder, KILN_POINTWISE_SUB, x, max);
    uint32_t e = kiln_bench_unary(builder, KILN_POINTWISE_EXP, shifted);
    uint32_t sum = kiln_bench_reduce(builder, KILN_REDUCTION_ADD, e, COLUMNS);
    kiln_bench_output(builder, "y", kiln_bench_pointwise(builder, KILN_POINTWISE_DIV, e, sum));
}

static void build_softmax_backward(struct kiln_bench_builder *builder, int64_t elements)
{
    kiln_bench_set_rows(builder, elements);
    uint32_t dy = kiln_bench_input(builder, "dy");
    uint32_t y = kiln_bench_input(builder, "y");
    uint32_t product = kiln_bench_pointwise(builder, KILN_POINTWISE_MUL, dy, y);
    uint32_t sum = kiln_bench_reduce(builder, KILN_REDUCTION_ADD, product, COLUMNS);
    uint32_t shifted = kiln_bench_pointwise(builder, KILN_POINTWISE_SUB, dy, sum);
    kiln_bench_output(builder, "dx", kiln_bench_pointwise(builder, KILN_POINTWISE_MUL, y, shifted));
}

static void reduction(struct kiln_bench_builder *builder, enum kiln_reduction_mode mode,
                      uint32_t axes, int64_t elements)
{
    kiln_bench_set_rows(builder, elements);
    uint32_t x = kiln_bench_input(builder, "x");
    kiln_bench_output(builder, "y", kiln_bench_reduce(builder, mode, x, axes));
}

static void build_row_sum(struct kiln_bench_builder *builder, int64_t elements)
{
    reduction(builder, KILN_REDUCTION_ADD, COLUMNS, elements);
}

static void build_row_max(struct kiln_bench_builder *builder, int64_t elements)
{
    reduction(builder, KILN_REDUCTION_MAX, COLUMNS, elements);
}

static void build_column_sum(struct kiln_bench_builder *builder, int64_t elements)
{
    reduction(builder, KILN_REDUCTION_ADD, ROWS, elements);
}

static void build_column_max(struct kiln_bench_builder *builder, int64_t elements)
{
    reduction(builder, KILN_REDUCTION_MAX, ROWS, elements);
}

/* ---- batch norms ---- */

static void batchnorm_inference_relu(struct kiln_bench_builder *builder, bool is_channels_last,
                                     int64_t elements)
{
    kiln_bench_set_images(builder, is_channels_last, elements);
    uint32_t x = kiln_bench_input(builder, "x");
    uint32_t mean = kiln_bench_parameter(builder, "mean", CHANNEL);
    uint32_t inv_variance = kiln_bench_parameter(builder, "inv_variance", CHANNEL);
    uint32_t scale = kiln_bench_parameter(builder, "scale", CHANNEL);
    uint32_t bias = kiln_bench_parameter(builder, "bias", CHANNEL);
    struct kiln_node *node = kiln_bench_norm(builder, KILN_NODE_BATCHNORM_INFERENCE, BATCH);
    kiln_bench_connect(node, KILN_OPERAND_X, x);
    kiln_bench_connect(node, KILN_OPERAND_MEAN, mean);
    kiln_bench_connect(node, KILN_OPERAND_INV_VARIANCE, inv_variance);
    kiln_bench_connect(node, KILN_OPERAND_SCALE, scale);
    kiln_bench_connect(node, KILN_OPERAND_BIAS, bias);
    uint32_t y = kiln_bench_result(builder, node, KILN_OPERAND_Y, ALL);
    kiln_bench_output(builder, "y", kiln_bench_unary(builder, KILN_POINTWISE_RELU_FWD, y));
}

static void build_batchnorm_inference_relu(struct kiln_bench_builder *builder, int64_t elements)
{
    batchnorm_inference_relu(builder, true, elements);
}

static void build_batchnorm_inference_relu_nchw(struct kiln_bench_builder *builder,
                                                int64_t elements)
{
    batchnorm_inference_relu(builder, false, elements);
}

static void batchnorm_training(struct kiln_bench_builder *builder, bool is_channels_last,
                               int64_t elements)
{
    kiln_bench_set_images(builder, is_channels_last, elements);
    uint32_t x = kiln_bench_input(builder, "x");
    uint32_t scale = kiln_bench_parameter(builder, "scale", CHANNEL);
    uint32_t bias = kiln_bench_parameter(builder, "bias", CHANNEL);
    uint32_t epsilon = kiln_bench_constant(builder, small_number);
    struct kiln_node *node = kiln_bench_norm(builder, KILN_NODE_BATCHNORM_TRAINING, BATCH);
    kiln_bench_connect(node, KILN_OPERAND_X, x);
    kiln_bench_connect(node, KILN_OPERAND_SCALE, scale);
    kiln_bench_connect(node, KILN_OPERAND_BIAS, bias);
    kiln_bench_connect(node, KILN_OPERAND_EPSILON, epsilon);
    uint32_t y = kiln_bench_result(builder, node, KILN_OPERAND_Y, ALL);
    uint32_t mean = kiln_bench_result(builder, node, KILN_OPERAND_MEAN, CHANNEL);
    uint32_t inv_variance = kiln_bench_result(builder, node, KILN_OPERAND_INV_VARIANCE, CHANNEL);
    kiln_bench_output(builder, "y", y);
    kiln_bench_output_as(builder, "mean", mean, KILN_DTYPE_F32);
    kiln_bench_output_as(builder, "inv_variance", inv_variance, KILN_DTYPE_F32);
}

static void build_batchnorm_training(struct kiln_bench_builder *builder, int64_t elements)
{
    batchnorm_training(builder, true, elements);
}

static void build_batchnorm_training_nchw(struct kiln_bench_builder *builder, int64_t elements)
{
    batchnorm_training(builder, false, elements);
}

static void build_batchnorm_backward(struct kiln_bench_builder *builder, int64_t elements)
{
    kiln_bench_set_images(builder, true, elements);
    uint32_t activation = kiln_bench_input(builder, "activation");
    uint32_t gradient = kiln_bench_input(builder, "dy");
    uint32_t dy = kiln_bench_pointwise(builder, KILN_POINTWISE_RELU_BWD, gradient, activation);
    uint32_t x = kiln_bench_input(builder, "x");
    uint32_t mean = kiln_bench_parameter(builder, "mean", CHANNEL);
    uint32_t inv_variance = kiln_bench_parameter(builder, "inv_variance", CHANNEL);
    uint32_t scale = kiln_bench_parameter(builder, "scale", CHANNEL);
    struct kiln_node *node = kiln_bench_norm(builder, KILN_NODE_BATCHNORM_BACKWARD, BATCH);
    kiln_bench_connect(node, KILN_OPERAND_DY, dy);
    kiln_bench_connect(node, KILN_OPERAND_X, x);
    kiln_bench_connect(node, KILN_OPERAND_MEAN, mean);
    kiln_bench_connect(node, KILN_OPERAND_INV_VARIANCE, inv_variance);
    kiln_bench_connect(node, KILN_OPERAND_SCALE, scale);
    uint32_t dx = kiln_bench_result(builder, node, KILN_OPERAND_DX, ALL);
    uint32_t dscale = kiln_bench_result(builder, node, KILN_OPERAND_DSCALE, CHANNEL);
    uint32_t dbias = kiln_bench_result(builder, node, KILN_OPERAND_DBIAS, CHANNEL);
    kiln_bench_output(builder, "dx", dx);
    kiln_bench_output_as(builder, "dscale", dscale, KILN_DTYPE_F32);
    kiln_bench_output_as(builder, "dbias", dbias, KILN_DTYPE_F32);
}

/* ---- the table ---- */

#define CASE_OF(id, type, text)                                                                    \
    {                                                                                              \
        .name = #id,                                                                               \
        .summary = text,                                                                           \
        .dtype = KILN_DTYPE_##type,                                                                \
        .build = build_##id,                                                                       \
        .is_default = KILN_DTYPE_##type == KILN_DTYPE_F16,                                         \
    }
#define CASE(name, summary)      CASE_OF(name, F32, summary), CASE_OF(name, F16, summary)
#define CASE_BF16(name, summary) CASE(name, summary), CASE_OF(name, BF16, summary)

const struct kiln_bench_case kiln_bench_suite[] = {
    CASE(copy, "y = x"),
    CASE(add_relu, "y = relu(a + b)"),
    CASE_BF16(bias_gelu_tanh, "gelu(x + bias) by tanh, one bias per column"),
    CASE(bias_gelu_erf, "gelu(x + bias) by erf, one bias per column"),
    CASE(chain8, "(relu(sigmoid((a + b) * a) * b - a) + b) * a"),
    CASE(swiglu, "y = a * sigmoid(a) * b"),
    CASE_BF16(layernorm, "layernorm of rows, one node"),
    CASE(layernorm_swish, "swish of a layernorm of rows"),
    CASE_BF16(residual_rmsnorm, "RMSNorm of the rows of x + residual"),
    CASE(residual_rmsnorm_sum, "the same, and x + residual is an output too"),
    CASE_BF16(softmax, "softmax of rows, written out in five nodes"),
    CASE(row_sum, "sum of each row"),
    CASE(row_max, "maximum of each row"),
    CASE(column_sum, "sum of each column"),
    CASE(column_max, "maximum of each column"),
    CASE(transpose_add, "y = a + b, b stored column by column"),
    CASE(batchnorm_inference_relu, "relu of a batch norm with given statistics, NHWC"),
    CASE(batchnorm_inference_relu_nchw, "the same, NCHW"),
    CASE(batchnorm_training, "batch norm that saves its statistics, NHWC"),
    CASE(batchnorm_training_nchw, "the same, NCHW"),
    CASE(batchnorm_backward, "gradients of a batch norm followed by relu, NHWC"),
    CASE(layernorm_backward, "gradients of a layernorm of rows, statistics given"),
    CASE(softmax_backward, "dx = y * (dy - sum(dy * y)) of rows"),
};
const unsigned kiln_bench_suite_count = sizeof kiln_bench_suite / sizeof *kiln_bench_suite;

static const char *dtype_suffix(enum kiln_dtype dtype)
{
    switch (dtype) {
    case KILN_DTYPE_F16:
        return "fp16";
    case KILN_DTYPE_BF16:
        return "bf16";
    default:
        return "fp32";
    }
}

void kiln_bench_case_name(const struct kiln_bench_case *which, char ret_name[KILN_BENCH_NAME_BYTES])
{
    (void)snprintf(ret_name, KILN_BENCH_NAME_BYTES, "%s_%s", which->name,
                   dtype_suffix(which->dtype));
}

static enum kiln_status make(const struct kiln_bench_case *which, const char *name,
                             int64_t elements, const int64_t *sizes, struct kiln_arena *arena,
                             struct kiln_graph *ret_graph, struct kiln_error *error)
{
    if (elements < 1 || elements > KILN_BENCH_MAX_ELEMENTS)
        return kiln_error_set(error, KILN_BAD_ARGUMENT,
                              "a graph '%s' of %lld elements cannot be made, 1 to %lld can", name,
                              (long long)elements, (long long)KILN_BENCH_MAX_ELEMENTS);
    struct kiln_bench_builder builder;
    enum kiln_status status = kiln_bench_builder_init(&builder, name, which->dtype, arena, error);
    if (status != KILN_OK)
        return status;
    builder.layer = which->layer;
    builder.sizes = sizes;
    which->build(&builder, elements);
    return kiln_bench_builder_finish(&builder, arena, ret_graph, error);
}

enum kiln_status kiln_bench_case_make(const struct kiln_bench_case *which, int64_t elements,
                                      struct kiln_arena *arena, struct kiln_graph *ret_graph,
                                      struct kiln_error *error)
{
    char name[KILN_BENCH_NAME_BYTES];
    kiln_bench_case_name(which, name);
    return make(which, name, elements, NULL, arena, ret_graph, error);
}

enum kiln_status kiln_bench_case_make_shape(const struct kiln_bench_case *which,
                                            const int64_t *sizes, struct kiln_arena *arena,
                                            struct kiln_graph *ret_graph, struct kiln_error *error)
{
    char name[KILN_BENCH_NAME_BYTES];
    kiln_bench_case_name(which, name);
    return make(which, name, 1, sizes, arena, ret_graph, error);
}

static void build_line(struct kiln_bench_builder *builder, int64_t elements)
{
    kiln_bench_set_line(builder, elements);
    uint32_t x = kiln_bench_input(builder, "x");
    kiln_bench_output(builder, "y", kiln_bench_unary(builder, KILN_POINTWISE_IDENTITY, x));
}

enum kiln_status kiln_bench_copy_make(int64_t tensor_bytes, struct kiln_arena *arena,
                                      struct kiln_graph *ret_graph, struct kiln_error *error)
{
    int64_t elements = tensor_bytes / (int64_t)sizeof(float);
    const struct kiln_bench_case copy = {.dtype = KILN_DTYPE_F32, .build = build_line};
    return make(&copy, "copy of bytes", elements > 0 ? elements : 1, NULL, arena, ret_graph, error);
}
