/* Builds the layers of bench_models.def. */
#include "cli/bench/bench_builder.h"
#include "cli/bench/bench_suite.h"

#include <math.h>

enum { ALL = KILN_BENCH_ALL_AXES };

/* The sizes of a row, in the order of its columns. */
struct product {
    int64_t rows, k, n;
    enum kiln_pointwise_mode activation;
};

struct convolution {
    int64_t channels, filters, size, window, stride;
};

struct attention {
    int64_t heads, kv_heads, queries, keys, d;
    bool is_causal;
};

/* The largest power of two of things that have room, at least 1. */
static int64_t count_that_fits(int64_t elements, int64_t each)
{
    int64_t count = 1;
    while (count <= elements / each / 2)
        count *= 2;
    return count;
}

/* y = activation(x + bias), one bias for each place along an axis. */
static void finish(struct kiln_bench_builder *builder, uint32_t x, uint32_t axis,
                   enum kiln_pointwise_mode activation)
{
    uint32_t bias = kiln_bench_vector(builder, "bias", 1U << axis);
    uint32_t y = kiln_bench_pointwise(builder, KILN_POINTWISE_ADD, x, bias);
    if (activation != KILN_POINTWISE_IDENTITY)
        y = kiln_bench_unary(builder, activation, y);
    kiln_bench_output(builder, "y", y);
}

static void build_product(struct kiln_bench_builder *builder, int64_t elements)
{
    const struct product *layer = builder->layer;
    int64_t rows = layer->rows != 0 ? layer->rows : count_that_fits(elements, layer->k);
    kiln_bench_set_shape(builder, 2, (int64_t[]){rows, layer->k});
    uint32_t a = kiln_bench_input(builder, "a");
    kiln_bench_set_shape(builder, 2, (int64_t[]){layer->k, layer->n});
    uint32_t b = kiln_bench_input(builder, "b");
    kiln_bench_set_shape(builder, 2, (int64_t[]){rows, layer->n});
    struct kiln_node *node = kiln_bench_node(builder, KILN_NODE_MATMUL);
    kiln_bench_connect(node, KILN_OPERAND_A, a);
    kiln_bench_connect(node, KILN_OPERAND_B, b);
    finish(builder, kiln_bench_result(builder, node, KILN_OPERAND_C, ALL), 1, layer->activation);
}

static void build_convolution(struct kiln_bench_builder *builder, int64_t elements)
{
    const struct convolution *layer = builder->layer;
    int64_t size = layer->size, window = layer->window, padding = window / 2;
    int64_t out = (size + 2 * padding - window) / layer->stride + 1;
    int64_t larger = layer->channels * size * size > layer->filters * out * out
                         ? layer->channels * size * size
                         : layer->filters * out * out;
    int64_t images = count_that_fits(elements, larger);
    builder->is_channels_last = true;
    kiln_bench_set_shape(builder, 4, (int64_t[]){images, layer->channels, size, size});
    uint32_t x = kiln_bench_input(builder, "x");
    kiln_bench_set_shape(builder, 4, (int64_t[]){layer->filters, layer->channels, window, window});
    uint32_t w = kiln_bench_input(builder, "w");
    kiln_bench_set_shape(builder, 4, (int64_t[]){images, layer->filters, out, out});
    struct kiln_node *node = kiln_bench_node(builder, KILN_NODE_CONVOLUTION_FORWARD);
    node->convolution = (struct kiln_convolution){
        .spatial_count = 2,
        .pre_padding = {padding, padding},
        .post_padding = {padding, padding},
        .stride = {layer->stride, layer->stride},
        .dilation = {1, 1},
        .groups = 1,
    };
    kiln_bench_connect(node, KILN_OPERAND_X, x);
    kiln_bench_connect(node, KILN_OPERAND_W, w);
    finish(builder, kiln_bench_result(builder, node, KILN_OPERAND_Y, ALL), 1,
           KILN_POINTWISE_RELU_FWD);
}

static void build_attention(struct kiln_bench_builder *builder, int64_t elements)
{
    const struct attention *layer = builder->layer;
    int64_t batch = count_that_fits(elements, layer->kv_heads * layer->keys * layer->d);
    const int64_t keys[4] = {batch, layer->kv_heads, layer->keys, layer->d};
    const int64_t queries[4] = {batch, layer->heads, layer->queries, layer->d};
    kiln_bench_set_shape(builder, 4, queries);
    uint32_t q = kiln_bench_input(builder, "q");
    kiln_bench_set_shape(builder, 4, keys);
    uint32_t k = kiln_bench_input(builder, "k");
    uint32_t v = kiln_bench_input(builder, "v");
    kiln_bench_set_shape(builder, 4, queries);
    struct kiln_node *node = kiln_bench_node(builder, KILN_NODE_ATTENTION);
    node->attention = (struct kiln_attention){
        .has_last_key = layer->is_causal,
        .scale = 1 / sqrt((double)layer->d),
    };
    kiln_bench_connect(node, KILN_OPERAND_Q, q);
    kiln_bench_connect(node, KILN_OPERAND_K, k);
    kiln_bench_connect(node, KILN_OPERAND_V, v);
    kiln_bench_output(builder, "o", kiln_bench_result(builder, node, KILN_OPERAND_O, ALL));
}

#define ROW(name_, dtype_, default_, text, kind, ...)                                              \
    {                                                                                              \
        .name = #name_,                                                                            \
        .summary = text,                                                                           \
        .dtype = KILN_DTYPE_##dtype_,                                                              \
        .build = build_##kind,                                                                     \
        .is_default = default_,                                                                    \
        .layer = &(const struct kind){__VA_ARGS__},                                                \
    },
#define KILN_BENCH_PRODUCT(name, dtype, is_default, rows, k, n, activation, text)                  \
    ROW(name, dtype, is_default, text, product, rows, k, n, KILN_POINTWISE_##activation)
#define KILN_BENCH_CONVOLUTION(name, dtype, is_default, channels, filters, size, window, stride,   \
                               text)                                                               \
    ROW(name, dtype, is_default, text, convolution, channels, filters, size, window, stride)
#define KILN_BENCH_ATTENTION(name, dtype, is_default, heads, kv_heads, queries, keys, d, causal,   \
                             text)                                                                 \
    ROW(name, dtype, is_default, text, attention, heads, kv_heads, queries, keys, d, causal)

const struct kiln_bench_case kiln_bench_models[] = {
#include "cli/bench/bench_models.def"
};
const unsigned kiln_bench_model_count = sizeof kiln_bench_models / sizeof *kiln_bench_models;

unsigned kiln_bench_case_count(void)
{
    return kiln_bench_suite_count + kiln_bench_model_count;
}

const struct kiln_bench_case *kiln_bench_case_at(unsigned index)
{
    return index < kiln_bench_suite_count ? &kiln_bench_suite[index]
                                          : &kiln_bench_models[index - kiln_bench_suite_count];
}
