/* Hostile graphs of layers: matrix products, convolutions, attention, and what goes between. */
#include "tests/support/hostile_graph_builder.h"

enum { BATCH = 2, HEADS = 4, ROWS = 64, COLUMNS = 64, DEPTH = 64, KEYS = 4096, CHANNELS = 32 };

static struct kiln_hostile_dims dims_of(uint32_t rank, int64_t a, int64_t b, int64_t c, int64_t d)
{
    return (struct kiln_hostile_dims){.rank = rank, .sizes = {a, b, c, d}};
}

static uint32_t input(struct kiln_hostile_builder *builder, uint32_t rank, int64_t a, int64_t b,
                      int64_t c, int64_t d)
{
    const struct kiln_hostile_dims dims = dims_of(rank, a, b, c, d);
    return kiln_hostile_input(builder, &dims);
}

static uint32_t binary(struct kiln_hostile_builder *builder, enum kiln_pointwise_mode mode,
                       uint32_t a, uint32_t b)
{
    return kiln_hostile_pointwise(builder, mode, a, b);
}

static uint32_t unary(struct kiln_hostile_builder *builder, enum kiln_pointwise_mode mode,
                      uint32_t a)
{
    return kiln_hostile_pointwise(builder, mode, a, KILN_NONE);
}

static uint32_t reduce(struct kiln_hostile_builder *builder, enum kiln_reduction_mode mode,
                       uint32_t a, uint32_t axis)
{
    return kiln_hostile_reduce(builder, mode, a, axis);
}

static bool is_full(const struct kiln_hostile_builder *builder)
{
    return kiln_hostile_is_full(builder);
}

/* ---- matrix products ---- */

static uint32_t product(struct kiln_hostile_builder *builder, uint32_t a, uint32_t b)
{
    if (is_full(builder))
        return a;
    struct kiln_hostile_dims dims = kiln_hostile_dims_of(builder, a);
    struct kiln_hostile_dims right = kiln_hostile_dims_of(builder, b);
    struct kiln_node *node = kiln_hostile_node(builder, KILN_NODE_MATMUL);
    kiln_hostile_read(builder, node, KILN_OPERAND_A, a);
    kiln_hostile_read(builder, node, KILN_OPERAND_B, b);
    dims.sizes[dims.rank - 1] = right.sizes[dims.rank - 1];
    return kiln_hostile_write(builder, node, KILN_OPERAND_C, &dims);
}

static uint32_t matrix(struct kiln_hostile_builder *builder)
{
    return input(builder, 2, COLUMNS, COLUMNS, 0, 0);
}

static uint32_t rows(struct kiln_hostile_builder *builder)
{
    return input(builder, 2, ROWS, COLUMNS, 0, 0);
}

static uint32_t linear(struct kiln_hostile_builder *builder, uint32_t x)
{
    return binary(builder, KILN_POINTWISE_ADD, product(builder, x, matrix(builder)),
                  input(builder, 2, 1, COLUMNS, 0, 0));
}

void kiln_hostile_linear(struct kiln_hostile_builder *builder)
{
    for (uint32_t x = rows(builder); !is_full(builder);)
        x = unary(builder, KILN_POINTWISE_RELU_FWD, linear(builder, x));
}

void kiln_hostile_normed_linear(struct kiln_hostile_builder *builder)
{
    uint32_t x = rows(builder);
    while (!is_full(builder)) {
        uint32_t y = kiln_hostile_norm(builder, KILN_NODE_LAYERNORM, KILN_NONE, x);
        y = unary(builder, KILN_POINTWISE_GELU_FWD, linear(builder, y));
        x = binary(builder, KILN_POINTWISE_ADD, linear(builder, y), x);
    }
}

/* Gradients of activations, weights and biases, from the last layer to the first. ROWS is COLUMNS.
 */
void kiln_hostile_linear_gradients(struct kiln_hostile_builder *builder)
{
    uint32_t dy = rows(builder);
    while (!is_full(builder)) {
        dy = binary(builder, KILN_POINTWISE_RELU_BWD, dy, rows(builder));
        product(builder, rows(builder), dy);
        reduce(builder, KILN_REDUCTION_ADD, dy, 0);
        dy = product(builder, dy, matrix(builder));
    }
}

void kiln_hostile_small_products(struct kiln_hostile_builder *builder)
{
    uint32_t x = input(builder, 3, 1000, 4, 4, 0);
    while (!is_full(builder)) {
        x = product(builder, x, input(builder, 3, 1000, 4, 4, 0));
        x = unary(builder, KILN_POINTWISE_TANH_FWD, x);
    }
}

/* ---- convolutions ---- */

static struct kiln_node *convolution_node(struct kiln_hostile_builder *builder,
                                          enum kiln_node_kind kind, int64_t groups)
{
    struct kiln_node *node = kiln_hostile_node(builder, kind);
    node->convolution = (struct kiln_convolution){.spatial_count = 2,
                                                  .pre_padding = {1, 1},
                                                  .post_padding = {1, 1},
                                                  .stride = {1, 1},
                                                  .dilation = {1, 1},
                                                  .groups = groups};
    return node;
}

static uint32_t filter(struct kiln_hostile_builder *builder, int64_t groups)
{
    return input(builder, 4, CHANNELS, CHANNELS / groups, 3, 3);
}

static uint32_t image(struct kiln_hostile_builder *builder)
{
    return input(builder, 4, BATCH, CHANNELS, 16, 16);
}

/* Forward, or the gradient of its image: both have as many channels and pixels. */
static uint32_t convolution(struct kiln_hostile_builder *builder, enum kiln_node_kind kind,
                            uint32_t x, int64_t groups)
{
    bool is_forward = kind == KILN_NODE_CONVOLUTION_FORWARD;
    if (is_full(builder))
        return x;
    uint32_t w = filter(builder, groups);
    const struct kiln_hostile_dims dims = kiln_hostile_dims_of(builder, x);
    struct kiln_node *node = convolution_node(builder, kind, groups);
    kiln_hostile_read(builder, node, is_forward ? KILN_OPERAND_X : KILN_OPERAND_DY, x);
    kiln_hostile_read(builder, node, KILN_OPERAND_W, w);
    return kiln_hostile_write(builder, node, is_forward ? KILN_OPERAND_Y : KILN_OPERAND_DX, &dims);
}

static void weight_gradient(struct kiln_hostile_builder *builder, uint32_t x, uint32_t dy)
{
    const struct kiln_hostile_dims dims = dims_of(4, CHANNELS, CHANNELS, 3, 3);
    if (is_full(builder))
        return;
    struct kiln_node *node = convolution_node(builder, KILN_NODE_CONVOLUTION_WEIGHT_GRADIENT, 1);
    kiln_hostile_read(builder, node, KILN_OPERAND_X, x);
    kiln_hostile_read(builder, node, KILN_OPERAND_DY, dy);
    kiln_hostile_write(builder, node, KILN_OPERAND_DW, &dims);
}

static void make_convolutions(struct kiln_hostile_builder *builder, int64_t groups)
{
    uint32_t x = image(builder);
    while (!is_full(builder)) {
        x = convolution(builder, KILN_NODE_CONVOLUTION_FORWARD, x, groups);
        x = binary(builder, KILN_POINTWISE_ADD, x, input(builder, 4, 1, CHANNELS, 1, 1));
        x = unary(builder, KILN_POINTWISE_RELU_FWD, x);
    }
}

void kiln_hostile_convolutions(struct kiln_hostile_builder *builder)
{
    make_convolutions(builder, 1);
}

void kiln_hostile_depthwise(struct kiln_hostile_builder *builder)
{
    make_convolutions(builder, CHANNELS);
}

void kiln_hostile_normed_convolutions(struct kiln_hostile_builder *builder)
{
    uint32_t x = image(builder);
    while (!is_full(builder)) {
        uint32_t y = convolution(builder, KILN_NODE_CONVOLUTION_FORWARD, x, 1);
        y = kiln_hostile_norm(builder, KILN_NODE_BATCHNORM_TRAINING, KILN_NONE, y);
        y = unary(builder, KILN_POINTWISE_RELU_FWD, y);
        x = binary(builder, KILN_POINTWISE_ADD, x, y);
    }
}

void kiln_hostile_convolution_gradients(struct kiln_hostile_builder *builder)
{
    uint32_t dy = image(builder);
    while (!is_full(builder)) {
        uint32_t x = image(builder);
        dy = kiln_hostile_norm(builder, KILN_NODE_BATCHNORM_BACKWARD, dy, x);
        weight_gradient(builder, x, dy);
        dy = convolution(builder, KILN_NODE_CONVOLUTION_DATA_GRADIENT, dy, 1);
    }
}

/* ---- attention ---- */

static uint32_t keys(struct kiln_hostile_builder *builder, int64_t count)
{
    return input(builder, 4, BATCH, HEADS, count, DEPTH);
}

static uint32_t attention(struct kiln_hostile_builder *builder, uint32_t q, uint32_t k, uint32_t v)
{
    if (is_full(builder))
        return q;
    const struct kiln_hostile_dims dims = kiln_hostile_dims_of(builder, q);
    struct kiln_node *node = kiln_hostile_node(builder, KILN_NODE_ATTENTION);
    node->attention = (struct kiln_attention){.scale = 0.125};
    kiln_hostile_read(builder, node, KILN_OPERAND_Q, q);
    kiln_hostile_read(builder, node, KILN_OPERAND_K, k);
    kiln_hostile_read(builder, node, KILN_OPERAND_V, v);
    return kiln_hostile_write(builder, node, KILN_OPERAND_O, &dims);
}

/* Results are the next queries. */
static void chain_attention(struct kiln_hostile_builder *builder, int64_t queries, int64_t count)
{
    for (uint32_t x = keys(builder, queries); !is_full(builder);)
        x = attention(builder, x, keys(builder, count), keys(builder, count));
}

void kiln_hostile_attention(struct kiln_hostile_builder *builder)
{
    chain_attention(builder, ROWS, ROWS);
}

void kiln_hostile_decode(struct kiln_hostile_builder *builder)
{
    chain_attention(builder, 1, KEYS);
}

void kiln_hostile_decode_beside(struct kiln_hostile_builder *builder)
{
    while (!is_full(builder))
        attention(builder, keys(builder, 1), keys(builder, KEYS), keys(builder, KEYS));
}

void kiln_hostile_attention_gradients(struct kiln_hostile_builder *builder)
{
    uint32_t gradient = keys(builder, ROWS);
    while (!is_full(builder)) {
        static const enum kiln_operand results[] = {KILN_OPERAND_DQ, KILN_OPERAND_DK,
                                                    KILN_OPERAND_DV};
        const struct kiln_hostile_dims dims = kiln_hostile_dims_of(builder, gradient);
        uint32_t q = keys(builder, ROWS), k = keys(builder, ROWS), v = keys(builder, ROWS);
        uint32_t o = keys(builder, ROWS), stats = input(builder, 4, BATCH, HEADS, ROWS, 1);
        struct kiln_node *node = kiln_hostile_node(builder, KILN_NODE_ATTENTION_BACKWARD);
        node->attention = (struct kiln_attention){.scale = 0.125};
        kiln_hostile_read(builder, node, KILN_OPERAND_Q, q);
        kiln_hostile_read(builder, node, KILN_OPERAND_K, k);
        kiln_hostile_read(builder, node, KILN_OPERAND_V, v);
        kiln_hostile_read(builder, node, KILN_OPERAND_O, o);
        kiln_hostile_read(builder, node, KILN_OPERAND_DO, gradient);
        kiln_hostile_read(builder, node, KILN_OPERAND_STATS, stats);
        for (uint32_t i = 0; i < 3; i++) {
            uint32_t made = kiln_hostile_write(builder, node, results[i], &dims);
            gradient = i == 0 ? made : gradient;
        }
    }
}

/* One of several nodes that are attention together. */
enum { STEPS = 8 };

struct written_attention {
    uint32_t x; /* queries, scores, weights, result */
    uint32_t statistic;
    uint32_t v;
};

static struct written_attention begin_attention(struct kiln_hostile_builder *builder)
{
    return (struct written_attention){.x = input(builder, 3, HEADS, ROWS, DEPTH, 0),
                                      .v = input(builder, 3, HEADS, ROWS, DEPTH, 0)};
}

static void do_step(struct kiln_hostile_builder *builder, struct written_attention *attention,
                    uint32_t step)
{
    uint32_t x = attention->x;
    switch (step) {
    case 0:
        attention->x = product(builder, x, input(builder, 3, HEADS, DEPTH, ROWS, 0));
        break;
    case 1:
        attention->x = binary(builder, KILN_POINTWISE_MUL, x, input(builder, 3, 1, 1, 1, 0));
        break;
    case 2:
        attention->statistic = reduce(builder, KILN_REDUCTION_MAX, x, 2);
        break;
    case 3:
        attention->x = binary(builder, KILN_POINTWISE_SUB, x, attention->statistic);
        break;
    case 4:
        attention->x = unary(builder, KILN_POINTWISE_EXP, x);
        break;
    case 5:
        attention->statistic = reduce(builder, KILN_REDUCTION_ADD, x, 2);
        break;
    case 6:
        attention->x = binary(builder, KILN_POINTWISE_DIV, x, attention->statistic);
        break;
    default:
        attention->x = product(builder, x, attention->v);
        break;
    }
}

void kiln_hostile_written_attention(struct kiln_hostile_builder *builder)
{
    struct written_attention attention = begin_attention(builder);
    for (uint32_t i = 0; !is_full(builder); i++)
        do_step(builder, &attention, i % STEPS);
}

/* Each step of all before the next one of any. */
void kiln_hostile_attention_in_steps(struct kiln_hostile_builder *builder)
{
    enum { MOST = 1024 };
    struct written_attention attentions[MOST];
    uint32_t count = builder->node_count / STEPS + 1;
    count = count < MOST ? count : MOST;
    for (uint32_t i = 0; i < count; i++)
        attentions[i] = begin_attention(builder);
    for (uint32_t i = 0; !is_full(builder); i++)
        do_step(builder, &attentions[i % count], i / count % STEPS);
}

/* The ranks of products and attention differ: heads are one axis of both. */
static uint32_t project(struct kiln_hostile_builder *builder, uint32_t x)
{
    return product(builder, x, input(builder, 4, 1, HEADS, DEPTH, DEPTH));
}

void kiln_hostile_transformer(struct kiln_hostile_builder *builder)
{
    uint32_t x = keys(builder, ROWS);
    while (!is_full(builder)) {
        uint32_t y = kiln_hostile_norm(builder, KILN_NODE_LAYERNORM, KILN_NONE, x);
        uint32_t q = project(builder, y), k = project(builder, y), v = project(builder, y);
        y = project(builder, attention(builder, q, k, v));
        x = binary(builder, KILN_POINTWISE_ADD, x, y);
        y = kiln_hostile_norm(builder, KILN_NODE_LAYERNORM, KILN_NONE, x);
        uint32_t gate = unary(builder, KILN_POINTWISE_SWISH_FWD, project(builder, y));
        y = binary(builder, KILN_POINTWISE_MUL, gate, project(builder, y));
        x = binary(builder, KILN_POINTWISE_ADD, x, project(builder, y));
    }
}
