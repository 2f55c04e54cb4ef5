/*
 * Attention: nodes, forward and backward, with everything they can ask for; and the same written
 * out, with what is done to queries and keys before it (RMSNorm, rotations) and to scores (soft
 * caps, distances, sigmoids instead of a softmax).
 */
#include "tests/support/random_graph_generator.h"

#include <math.h>
#include <string.h>

#define MODES(...)                                                                                 \
    (const enum kiln_pointwise_mode[])                                                             \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

enum { TRIES = 8, OPERANDS_TRIED = 8, MAX_TERMS = 1 << 19 };

/* ---- sizes ---- */

static int64_t choose_size(struct kiln_random *random, int64_t limit)
{
    static const uint8_t sizes[] = {1,  2,  3,  4,  5,  7,  8,  9,  12, 15, 16, 17,
                                    20, 24, 31, 32, 33, 40, 48, 63, 64, 65, 80, 96};
    uint32_t count = 1;
    while (count < sizeof sizes / sizeof *sizes && sizes[count] <= limit)
        count++;
    return sizes[kiln_random_below(random, count)];
}

static int64_t choose_divisor(struct kiln_random *random, int64_t of)
{
    int64_t divisor = 1 + kiln_random_below(random, (uint32_t)of);
    while (of % divisor != 0)
        divisor--;
    return kiln_random_chance(random, 40) ? of : divisor;
}

static struct kiln_random_dims dims_of(int64_t a, int64_t b, int64_t c, int64_t d)
{
    return (struct kiln_random_dims){.rank = 4, .sizes = {a, b, c, d}};
}

static void choose_sizes(struct kiln_random *random, int64_t limit,
                         struct kiln_attention_sizes *ret_sizes)
{
    ret_sizes->batch = kiln_random_chance(random, 50) ? 1 : 1 + kiln_random_below(random, 3);
    ret_sizes->heads = 1 + kiln_random_below(random, kiln_random_chance(random, 50) ? 4 : 8);
    ret_sizes->queries = kiln_random_chance(random, 12) ? 1 : choose_size(random, limit);
    ret_sizes->depth = choose_size(random, limit);
}

/* What q leaves open. */
static void choose_other_sizes(struct kiln_random *random, int64_t limit,
                               struct kiln_attention_sizes *sizes)
{
    bool is_square = kiln_random_chance(random, 40);
    sizes->keys = is_square ? sizes->queries : choose_size(random, limit);
    sizes->value_depth = kiln_random_chance(random, 65) ? sizes->depth : choose_size(random, limit);
    sizes->key_heads = choose_divisor(random, sizes->heads);
    sizes->value_heads =
        kiln_random_chance(random, 75) ? sizes->key_heads : choose_divisor(random, sizes->heads);
}

static bool is_small_enough(const struct kiln_random_generator *generator,
                            const struct kiln_attention_sizes *sizes)
{
    int64_t most = generator->options->max_elements;
    int64_t heads = sizes->batch * sizes->heads;
    int64_t depth = sizes->depth + sizes->value_depth;
    return heads * sizes->queries * sizes->depth <= most &&
           heads * sizes->queries * sizes->value_depth <= most &&
           heads * sizes->keys * sizes->depth <= most &&
           heads * sizes->keys * sizes->value_depth <= most &&
           heads * sizes->queries * sizes->keys <= most &&
           heads * sizes->queries * sizes->keys * depth <= MAX_TERMS;
}

/* ---- tensors ---- */

static enum kiln_dtype choose_real_dtype(struct kiln_random_generator *generator)
{
    for (uint32_t i = 0; i < 16; i++) {
        enum kiln_dtype dtype = kiln_random_choose_dtype(generator);
        if (!kiln_dtype_is_integer(dtype))
            return dtype;
    }
    return KILN_DTYPE_F32;
}

static enum kiln_dtype type_of(const struct kiln_random_generator *generator, uint32_t tensor)
{
    return generator->graph.tensors[tensor].dtype;
}

/* A type that is often that of another tensor. */
static enum kiln_dtype choose_dtype_like(struct kiln_random_generator *generator, uint32_t other)
{
    return kiln_random_chance(&generator->random, 80) ? type_of(generator, other)
                                                      : choose_real_dtype(generator);
}

/* The shapes of everything; false without room for so many. */
struct shapes {
    struct kiln_random_shape q, k, v, o, scores;
};

static bool find_shapes(struct kiln_random_generator *generator,
                        const struct kiln_attention_sizes *s, struct shapes *ret_shapes)
{
    const struct kiln_random_dims q = dims_of(s->batch, s->heads, s->queries, s->depth);
    const struct kiln_random_dims k = dims_of(s->batch, s->key_heads, s->keys, s->depth);
    const struct kiln_random_dims v = dims_of(s->batch, s->value_heads, s->keys, s->value_depth);
    const struct kiln_random_dims o = dims_of(s->batch, s->heads, s->queries, s->value_depth);
    const struct kiln_random_dims scores = dims_of(s->batch, s->heads, s->queries, s->keys);
    return kiln_random_find_shape(generator, &q, &ret_shapes->q) &&
           kiln_random_find_shape(generator, &k, &ret_shapes->k) &&
           kiln_random_find_shape(generator, &v, &ret_shapes->v) &&
           kiln_random_find_shape(generator, &o, &ret_shapes->o) &&
           kiln_random_find_shape(generator, &scores, &ret_shapes->scores);
}

/* The shape with those of its axes that are in the set, counted from the right. */
static struct kiln_random_shape along(struct kiln_random_shape shape, uint32_t axes)
{
    shape.full_axes &= axes;
    return shape;
}

enum { LAST = 1, ROW = 2, HEAD = 4, BATCH = 8 };

static struct kiln_random_shape one_element(struct kiln_random *random)
{
    return (struct kiln_random_shape){.rank = kiln_random_chance(random, 50) ? 1 : 4};
}

static uint32_t append_source(struct kiln_random_generator *generator,
                              const struct kiln_random_shape *shape, enum kiln_dtype dtype,
                              enum kiln_random_purpose purpose)
{
    return kiln_random_append_source(generator, shape, dtype, purpose);
}

/* A floating-point tensor of rank 4 that the graph has, to be the queries. */
static uint32_t find_queries(struct kiln_random_generator *generator)
{
    struct kiln_random *random = &generator->random;
    uint32_t count = generator->graph.tensor_count;
    for (uint32_t i = 0; count != 0 && i < OPERANDS_TRIED; i++) {
        uint32_t ordinal = kiln_random_below(random, count);
        const struct kiln_tensor *tensor = &generator->graph.tensors[ordinal];
        if (tensor->rank == 4 && !kiln_dtype_is_integer(tensor->dtype) &&
            kiln_tensor_elements(tensor) > 1 && tensor->dims[1] <= 8)
            return ordinal;
    }
    return KILN_NONE;
}

/* ---- the node ---- */

/* What forward and backward have in common. */
struct common {
    struct kiln_attention_sizes sizes;
    struct shapes shapes;
    struct kiln_attention attributes;
    uint32_t q, k, v, mask, scale, query_length, key_length;
    bool is_ragged; /* it has lengths, whatever operands say, and keeps to what these allow */
};

static bool chance(struct kiln_random_generator *generator, uint32_t percent)
{
    return kiln_random_chance(&generator->random, percent);
}

/* Distances from a diagonal, as the wire has them; what hides no key is none. Each batch with a
 * length has a corner of its own. */
static void choose_bounds(struct kiln_random_generator *generator, bool has_length,
                          const struct kiln_attention_sizes *sizes,
                          struct kiln_attention *attributes)
{
    struct kiln_random *random = &generator->random;
    bool is_bottom_right = kiln_random_chance(random, 40);
    bool has_corners = is_bottom_right && has_length;
    int64_t diagonal = is_bottom_right && !has_length ? sizes->keys - sizes->queries : 0;
    int64_t reach = 1 + (sizes->queries > sizes->keys ? sizes->queries : sizes->keys);
    bool is_causal = kiln_random_chance(random, 60);
    attributes->last_key =
        diagonal + (is_causal ? 0 : (int64_t)kiln_random_below(random, (uint32_t)reach));
    attributes->first_key = diagonal - kiln_random_below(random, (uint32_t)reach);
    attributes->has_last_key =
        kiln_random_chance(random, 80) &&
        attributes->last_key < (has_corners ? sizes->queries : sizes->keys) - 1;
    attributes->has_first_key =
        kiln_random_chance(random, 40) &&
        attributes->first_key > -((has_corners ? sizes->keys : sizes->queries) - 1);
    if (!attributes->has_last_key)
        attributes->last_key = 0;
    if (!attributes->has_first_key)
        attributes->first_key = 0;
    attributes->is_bottom_right =
        has_corners && (attributes->has_first_key || attributes->has_last_key);
}

/* A mask of any shape that broadcasts; rank 1 at least. Some masks are boolean. */
static uint32_t append_mask(struct kiln_random_generator *generator,
                            const struct kiln_random_shape *scores)
{
    struct kiln_random *random = &generator->random;
    struct kiln_random_shape shape = *scores;
    if (!kiln_random_chance(random, 40))
        shape.full_axes &= (uint32_t)kiln_random_next(random);
    while (shape.rank > 1 && (shape.full_axes >> (shape.rank - 1) & 1) == 0 &&
           kiln_random_chance(random, 70))
        shape.rank--;
    bool is_boolean =
        (generator->options->dtypes >> KILN_DTYPE_BOOL & 1) != 0 && kiln_random_chance(random, 35);
    return append_source(generator, &shape,
                         is_boolean ? KILN_DTYPE_BOOL : choose_real_dtype(generator),
                         KILN_RANDOM_MASK);
}

static uint32_t append_length(struct kiln_random_generator *generator,
                              const struct kiln_random_shape *shape)
{
    struct kiln_random_shape batch = along(*shape, BATCH);
    enum kiln_dtype dtype = chance(generator, 70) ? KILN_DTYPE_I32 : KILN_DTYPE_I64;
    return append_source(generator, &batch, dtype, KILN_RANDOM_LENGTH);
}

/* Queries, keys and values, of the graph or new. */
static void append_factors(struct kiln_random_generator *generator, struct common *c)
{
    if (c->q == KILN_NONE)
        c->q = append_source(generator, &c->shapes.q, choose_real_dtype(generator),
                             KILN_RANDOM_FACTOR);
    c->k = append_source(generator, &c->shapes.k, choose_dtype_like(generator, c->q),
                         KILN_RANDOM_FACTOR);
    c->v = append_source(generator, &c->shapes.v, choose_dtype_like(generator, c->k),
                         KILN_RANDOM_FACTOR);
}

/* Mask, scale and lengths, in the order in which forward reads them, or in that of backward. */
static void append_modifiers(struct kiln_random_generator *generator, bool is_backward,
                             struct common *c)
{
    struct kiln_random *random = &generator->random;
    struct kiln_random_shape one = one_element(random);
    bool has_mask = chance(generator, is_backward ? 50 : 35), has_scale = chance(generator, 20);
    c->mask = c->scale = c->query_length = c->key_length = KILN_NONE;
    if (has_mask && !is_backward)
        c->mask = append_mask(generator, &c->shapes.scores);
    if (has_scale)
        c->scale =
            append_source(generator, &one, choose_real_dtype(generator), KILN_RANDOM_POSITIVE);
    if (has_mask && is_backward)
        c->mask = append_mask(generator, &c->shapes.scores);
    bool has_lengths = chance(generator, 25);
    if (has_lengths && chance(generator, 70))
        c->query_length = append_length(generator, &c->shapes.scores);
    if (has_lengths && (c->query_length == KILN_NONE || chance(generator, 80)))
        c->key_length = append_length(generator, &c->shapes.scores);
    if (chance(generator, 50))
        choose_bounds(generator, has_lengths || c->is_ragged, &c->sizes, &c->attributes);
    c->attributes.scale = has_scale ? 1 : (double)(1 / sqrtf((float)c->sizes.depth));
    if (!has_scale && chance(generator, 30))
        c->attributes.scale = (double)(float)kiln_random_uniform(random, 0.05, 0.6);
}

static void add_optional(struct kiln_random_generator *generator, struct kiln_node *node,
                         enum kiln_operand role, uint32_t tensor)
{
    if (tensor != KILN_NONE)
        kiln_random_add_input(generator, node, role, tensor);
}

/* Roles and shapes of the scales that fp8 has; of other types they are rare. */
enum { SCALES = 6 };

static void append_scales(struct kiln_random_generator *generator, const struct common *c,
                          uint32_t tensors[SCALES])
{
    struct kiln_random *random = &generator->random;
    bool is_narrow = kiln_dtype_info(type_of(generator, c->q))->bytes == 1;
    bool has_scales = kiln_random_chance(random, is_narrow ? 80 : 10);
    const struct kiln_random_shape *const per_head[SCALES] = {&c->shapes.k, &c->shapes.k,
                                                              &c->shapes.v};
    for (uint32_t i = 0; i < SCALES; i++) {
        struct kiln_random_shape shape = one_element(random);
        tensors[i] = KILN_NONE;
        if (!has_scales || kiln_random_chance(random, 40))
            continue;
        if (per_head[i] != NULL && kiln_random_chance(random, 35))
            shape = along(*per_head[i], HEAD | BATCH);
        tensors[i] = append_source(generator, &shape, KILN_DTYPE_F32, KILN_RANDOM_POSITIVE);
    }
}

static const enum kiln_operand scale_roles[SCALES] = {
    KILN_OPERAND_DESCALE_Q, KILN_OPERAND_DESCALE_K, KILN_OPERAND_DESCALE_V,
    KILN_OPERAND_DESCALE_S, KILN_OPERAND_SCALE_S,   KILN_OPERAND_SCALE_O};

/* Returns O; STATS too where it is wanted. */
static uint32_t append_forward(struct kiln_random_generator *generator, const struct common *c,
                               uint32_t *ret_stats)
{
    struct kiln_random *random = &generator->random;
    const struct kiln_random_shape rows = along(c->shapes.o, ROW | HEAD | BATCH);
    const struct kiln_random_shape heads = along(c->shapes.o, HEAD);
    uint32_t scales[SCALES], sink = KILN_NONE;
    if (ret_stats == NULL && kiln_random_chance(random, 20))
        sink = append_source(generator, &heads, choose_real_dtype(generator), KILN_RANDOM_ANY);
    if (ret_stats == NULL)
        append_scales(generator, c, scales);
    struct kiln_node *node = kiln_random_append_node(generator, KILN_NODE_ATTENTION);
    node->attention = c->attributes;
    kiln_random_add_input(generator, node, KILN_OPERAND_Q, c->q);
    kiln_random_add_input(generator, node, KILN_OPERAND_K, c->k);
    kiln_random_add_input(generator, node, KILN_OPERAND_V, c->v);
    add_optional(generator, node, KILN_OPERAND_ATTN_MASK, c->mask);
    add_optional(generator, node, KILN_OPERAND_SCALE, c->scale);
    add_optional(generator, node, KILN_OPERAND_SEQ_LEN_Q, c->query_length);
    add_optional(generator, node, KILN_OPERAND_SEQ_LEN_KV, c->key_length);
    add_optional(generator, node, KILN_OPERAND_SINK_TOKEN, sink);
    for (uint32_t i = 0; ret_stats == NULL && i < SCALES; i++)
        add_optional(generator, node, scale_roles[i], scales[i]);
    uint32_t o = kiln_random_add_output(generator, node, KILN_OPERAND_O, &c->shapes.o,
                                        choose_dtype_like(generator, c->q));
    if (ret_stats != NULL || kiln_random_chance(random, 35)) {
        uint32_t stats =
            kiln_random_add_output(generator, node, KILN_OPERAND_STATS, &rows, KILN_DTYPE_F32);
        if (ret_stats != NULL)
            *ret_stats = stats;
    }
    if (kiln_random_chance(random, 15))
        (void)kiln_random_add_output(generator, node, KILN_OPERAND_MAX, &rows, KILN_DTYPE_F32);
    if (kiln_random_chance(random, 15))
        (void)kiln_random_add_output(generator, node, KILN_OPERAND_SUM_EXP, &rows, KILN_DTYPE_F32);
    static const enum kiln_operand largest[] = {KILN_OPERAND_AMAX_S, KILN_OPERAND_AMAX_O};
    for (uint32_t i = 0; i < (c->is_ragged ? 1 : 2); i++) {
        struct kiln_random_shape one = one_element(random);
        if (kiln_random_chance(random, 12))
            (void)kiln_random_add_output(generator, node, largest[i], &one, KILN_DTYPE_F32);
    }
    return o;
}

static void append_backward(struct kiln_random_generator *generator, const struct common *c,
                            uint32_t o, uint32_t gradient, uint32_t stats)
{
    struct kiln_node *node = kiln_random_append_node(generator, KILN_NODE_ATTENTION_BACKWARD);
    node->attention = c->attributes;
    kiln_random_add_input(generator, node, KILN_OPERAND_Q, c->q);
    kiln_random_add_input(generator, node, KILN_OPERAND_K, c->k);
    kiln_random_add_input(generator, node, KILN_OPERAND_V, c->v);
    kiln_random_add_input(generator, node, KILN_OPERAND_O, o);
    kiln_random_add_input(generator, node, KILN_OPERAND_DO, gradient);
    kiln_random_add_input(generator, node, KILN_OPERAND_STATS, stats);
    add_optional(generator, node, KILN_OPERAND_SCALE, c->scale);
    add_optional(generator, node, KILN_OPERAND_ATTN_MASK, c->mask);
    add_optional(generator, node, KILN_OPERAND_SEQ_LEN_Q, c->query_length);
    add_optional(generator, node, KILN_OPERAND_SEQ_LEN_KV, c->key_length);
    (void)kiln_random_add_output(generator, node, KILN_OPERAND_DQ, &c->shapes.q,
                                 choose_dtype_like(generator, c->q));
    (void)kiln_random_add_output(generator, node, KILN_OPERAND_DK, &c->shapes.k,
                                 choose_dtype_like(generator, c->k));
    (void)kiln_random_add_output(generator, node, KILN_OPERAND_DV, &c->shapes.v,
                                 choose_dtype_like(generator, c->v));
    if (c->mask != KILN_NONE && type_of(generator, c->mask) != KILN_DTYPE_BOOL &&
        chance(generator, 75)) {
        struct kiln_random_shape shape = generator->shapes[c->mask];
        (void)kiln_random_add_output(generator, node, KILN_OPERAND_DBIAS, &shape,
                                     choose_dtype_like(generator, c->mask));
    }
}

/* Gradients of a forward node, or of results and statistics from elsewhere. */
static void append_gradients(struct kiln_random_generator *generator, struct common *c)
{
    uint32_t o, gradient, stats;
    bool has_room = generator->graph.node_count + 2 <= generator->node_limit;
    const struct kiln_random_shape rows = along(c->shapes.o, ROW | HEAD | BATCH);
    append_factors(generator, c);
    if (has_room && chance(generator, 70)) {
        append_modifiers(generator, false, c);
        o = append_forward(generator, c, &stats);
        gradient = append_source(generator, &c->shapes.o, choose_dtype_like(generator, o),
                                 KILN_RANDOM_FACTOR);
    } else {
        o = append_source(generator, &c->shapes.o, choose_dtype_like(generator, c->q),
                          KILN_RANDOM_FACTOR);
        gradient = append_source(generator, &c->shapes.o, choose_dtype_like(generator, o),
                                 KILN_RANDOM_FACTOR);
        stats = append_source(generator, &rows, KILN_DTYPE_F32, KILN_RANDOM_LOG_SUM);
        append_modifiers(generator, true, c);
    }
    append_backward(generator, c, o, gradient, stats);
}

/* ---- written out ---- */

static uint32_t unary(struct kiln_random_generator *generator, enum kiln_pointwise_mode mode,
                      uint32_t x)
{
    return kiln_random_append_pointwise(generator, &mode, 1, &x);
}

static uint32_t binary(struct kiln_random_generator *generator, enum kiln_pointwise_mode mode,
                       uint32_t x, uint32_t y)
{
    const uint32_t operands[] = {x, y};
    return kiln_random_append_pointwise(generator, &mode, 1, operands);
}

/* x and a new tensor of a shape. */
static uint32_t binary_with(struct kiln_random_generator *generator, enum kiln_pointwise_mode mode,
                            uint32_t x, const struct kiln_random_shape *shape,
                            enum kiln_random_purpose purpose)
{
    return binary(generator, mode, x,
                  append_source(generator, shape, choose_real_dtype(generator), purpose));
}

static bool has_room(const struct kiln_random_generator *generator, uint32_t count)
{
    return generator->graph.node_count + count <= generator->node_limit;
}

/* x/sqrt(mean x^2) by nodes, or a rotation of two halves that are two tensors here. */
static uint32_t prepare(struct kiln_random_generator *generator, uint32_t x, uint32_t reserved)
{
    struct kiln_random_shape shape = generator->shapes[x];
    if (chance(generator, 35) && has_room(generator, reserved + 4)) {
        uint32_t square = binary(generator, KILN_POINTWISE_MUL, x, x);
        uint32_t mean = kiln_random_append_reduction(generator, KILN_REDUCTION_AVG, square, LAST);
        return binary(generator, KILN_POINTWISE_MUL, x,
                      unary(generator, KILN_POINTWISE_RSQRT, mean));
    }
    if (chance(generator, 35) && has_room(generator, reserved + 3)) {
        struct kiln_random_shape angles = along(shape, LAST | ROW);
        uint32_t straight = binary_with(generator, KILN_POINTWISE_MUL, x, &angles, KILN_RANDOM_ANY);
        uint32_t turned =
            append_source(generator, &shape, choose_real_dtype(generator), KILN_RANDOM_FACTOR);
        turned = binary_with(generator, KILN_POINTWISE_MUL, turned, &angles, KILN_RANDOM_ANY);
        return binary(generator, KILN_POINTWISE_ADD, straight, turned);
    }
    return x;
}

static uint32_t append_matmul(struct kiln_random_generator *generator, uint32_t a, uint32_t b,
                              const struct kiln_random_shape *shape)
{
    struct kiln_node *node = kiln_random_append_node(generator, KILN_NODE_MATMUL);
    kiln_random_add_input(generator, node, KILN_OPERAND_A, a);
    kiln_random_add_input(generator, node, KILN_OPERAND_B, b);
    return kiln_random_add_output(generator, node, KILN_OPERAND_C, shape,
                                  chance(generator, 60) ? KILN_DTYPE_F32
                                                        : choose_real_dtype(generator));
}

/* Adds a mask to scores; one of type bool decides between them and -infinity. */
static uint32_t apply_mask(struct kiln_random_generator *generator, uint32_t x, uint32_t mask)
{
    const enum kiln_pointwise_mode select = KILN_POINTWISE_BINARY_SELECT;
    const struct kiln_random_shape one = {.rank = 1};
    if (type_of(generator, mask) != KILN_DTYPE_BOOL)
        return binary(generator, KILN_POINTWISE_ADD, x, mask);
    const uint32_t operands[] = {
        x, append_source(generator, &one, KILN_DTYPE_F32, KILN_RANDOM_HIDDEN), mask};
    return kiln_random_append_pointwise(generator, &select, 1, operands);
}

/* What is done to scores before they become weights: `reserved` nodes are to follow. */
static uint32_t modify_scores(struct kiln_random_generator *generator, uint32_t x,
                              uint32_t reserved)
{
    struct kiln_random *random = &generator->random;
    struct kiln_random_shape scores = generator->shapes[x];
    struct kiln_random_shape one = {.rank = 1};
    if (has_room(generator, reserved + 1) && chance(generator, 85))
        x = binary_with(generator, KILN_POINTWISE_MUL, x, &one, KILN_RANDOM_FRACTION);
    if (has_room(generator, reserved + 3) && chance(generator, 25)) { /* a soft cap */
        x = binary_with(generator, KILN_POINTWISE_DIV, x, &one, KILN_RANDOM_POSITIVE);
        x = unary(generator, KILN_POINTWISE_TANH_FWD, x);
        x = binary_with(generator, KILN_POINTWISE_MUL, x, &one, KILN_RANDOM_POSITIVE);
    }
    if (has_room(generator, reserved + 3) &&
        chance(generator, 25)) { /* keys that are far count less */
        struct kiln_random_shape heads = along(scores, HEAD);
        uint32_t distance = unary(generator, KILN_POINTWISE_GEN_INDEX, x);
        generator->graph.nodes[generator->graph.node_count - 1].pointwise.axis =
            2 + kiln_random_below(random, 2);
        distance =
            binary_with(generator, KILN_POINTWISE_MUL, distance, &heads, KILN_RANDOM_FRACTION);
        x = binary(generator, KILN_POINTWISE_SUB, x, distance);
    }
    if (has_room(generator, reserved + 1) && chance(generator, 40))
        x = apply_mask(generator, x, append_mask(generator, &scores));
    return x;
}

/* Five nodes, or one. */
static uint32_t append_weights(struct kiln_random_generator *generator, uint32_t x, bool is_softmax)
{
    if (!is_softmax)
        return unary(generator, KILN_POINTWISE_SIGMOID_FWD, x);
    uint32_t max = kiln_random_append_reduction(generator, KILN_REDUCTION_MAX, x, LAST);
    uint32_t e =
        unary(generator, KILN_POINTWISE_EXP, binary(generator, KILN_POINTWISE_SUB, x, max));
    uint32_t sum = kiln_random_append_reduction(generator, KILN_REDUCTION_ADD, e, LAST);
    return binary(generator, KILN_POINTWISE_DIV, e, sum);
}

/* Floating-point types alone, often the three that attention is computed in. */
static void keep_real_types(struct kiln_random_generator *generator)
{
    uint32_t count = 0;
    bool is_usual = chance(generator, 70);
    for (uint32_t i = 0; i < generator->dtype_count; i++) {
        enum kiln_dtype dtype = generator->dtypes[i];
        if (dtype == KILN_DTYPE_F32 || dtype == KILN_DTYPE_F16 || dtype == KILN_DTYPE_BF16 ||
            (!is_usual && !kiln_dtype_is_integer(dtype) && !kiln_dtype_is_packed(dtype)))
            generator->dtypes[count++] = dtype;
    }
    if (count == 0)
        generator->dtypes[count++] = KILN_DTYPE_F32;
    generator->dtype_count = count;
}

static bool append_chain(struct kiln_random_generator *generator,
                         const struct kiln_attention_sizes *s, const struct shapes *shapes,
                         uint32_t q)
{
    const struct kiln_random_dims transposed = dims_of(s->batch, s->key_heads, s->depth, s->keys);
    struct kiln_random_shape k_shape;
    bool is_softmax = chance(generator, 80);
    uint32_t reserved = 2 + (is_softmax ? 5 : 1); /* both products and the weights */
    if (!has_room(generator, reserved) || !kiln_random_find_shape(generator, &transposed, &k_shape))
        return false;
    if (q == KILN_NONE)
        q = append_source(generator, &shapes->q, choose_real_dtype(generator), KILN_RANDOM_FACTOR);
    enum kiln_dtype dtype = type_of(generator, q);
    if (chance(generator, 30))
        q = prepare(generator, q, reserved);
    uint32_t k = append_source(generator, &k_shape, dtype, KILN_RANDOM_FACTOR);
    uint32_t x = append_matmul(generator, q, k, &shapes->scores);
    x = modify_scores(generator, x, reserved - 1);
    uint32_t weights = append_weights(generator, x, is_softmax);
    uint32_t v = append_source(generator, &shapes->v, dtype, KILN_RANDOM_FACTOR);
    (void)append_matmul(generator, weights, v, &shapes->o);
    return true;
}

/* ---- one of them ---- */

/* True if the options have the modes that attention is written with. */
static bool allows_chains(const struct kiln_random_generator *generator)
{
    static const enum kiln_pointwise_mode modes[] = {
        KILN_POINTWISE_MUL,          KILN_POINTWISE_ADD,       KILN_POINTWISE_SUB,
        KILN_POINTWISE_DIV,          KILN_POINTWISE_EXP,       KILN_POINTWISE_RSQRT,
        KILN_POINTWISE_TANH_FWD,     KILN_POINTWISE_GEN_INDEX, KILN_POINTWISE_SIGMOID_FWD,
        KILN_POINTWISE_BINARY_SELECT};
    bool allows = true;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        allows = allows && (generator->options->modes >> modes[i] & 1) != 0;
    return allows;
}

static bool try_attention(struct kiln_random_generator *generator, int64_t limit)
{
    struct kiln_random *random = &generator->random;
    struct common c = {.q = kiln_random_chance(random, 50) ? find_queries(generator) : KILN_NONE};
    if (c.q == KILN_NONE) {
        choose_sizes(random, limit, &c.sizes);
    } else {
        const struct kiln_tensor *q = &generator->graph.tensors[c.q];
        c.sizes = (struct kiln_attention_sizes){
            .batch = q->dims[0], .heads = q->dims[1], .queries = q->dims[2], .depth = q->dims[3]};
    }
    choose_other_sizes(random, limit, &c.sizes);
    if (!is_small_enough(generator, &c.sizes) || !find_shapes(generator, &c.sizes, &c.shapes))
        return false;
    uint32_t kind = kiln_random_below(random, 100);
    if (kind < 40 && allows_chains(generator))
        return append_chain(generator, &c.sizes, &c.shapes, c.q);
    if (kind < 65) {
        append_gradients(generator, &c);
        return true;
    }
    append_factors(generator, &c);
    append_modifiers(generator, false, &c);
    (void)append_forward(generator, &c, NULL);
    return true;
}

bool kiln_random_append_attention(struct kiln_random_generator *generator)
{
    static const int64_t limits[TRIES] = {96, 65, 48, 33, 24, 16, 8, 4};
    const struct kiln_random_generator before = *generator;
    uint32_t first = kiln_random_below(&generator->random, 4);
    bool is_done = false;
    keep_real_types(generator);
    for (uint32_t i = first; !is_done && i < TRIES; i++)
        is_done = try_attention(generator, limits[i]);
    generator->dtype_count = before.dtype_count;
    for (uint32_t i = 0; i < KILN_DTYPE_COUNT; i++)
        generator->dtypes[i] = before.dtypes[i];
    return is_done;
}

bool kiln_random_append_ragged(struct kiln_random_generator *generator)
{
    struct kiln_random *random = &generator->random;
    const struct kiln_random_generator before = *generator;
    uint32_t count = 0;
    bool is_done = false;
    keep_real_types(generator);
    for (uint32_t i = 0; i < generator->dtype_count; i++) {
        if (generator->dtypes[i] != KILN_DTYPE_F64)
            generator->dtypes[count++] = generator->dtypes[i];
    }
    generator->dtype_count = count;
    for (int64_t limit = 96; count != 0 && !is_done && limit >= 4; limit = limit * 3 / 4) {
        struct common c = {.q = KILN_NONE, .is_ragged = true};
        choose_sizes(random, limit, &c.sizes);
        c.sizes.batch = 1 + kiln_random_below(random, 5);
        choose_other_sizes(random, limit, &c.sizes);
        c.sizes.depth += c.sizes.depth == 1;
        c.sizes.value_depth += c.sizes.value_depth == 1;
        if (!is_small_enough(generator, &c.sizes) || !find_shapes(generator, &c.sizes, &c.shapes))
            continue;
        append_factors(generator, &c);
        append_modifiers(generator, false, &c);
        (void)append_forward(generator, &c, NULL);
        generator->graph.nodes[generator->graph.node_count - 1].compute_type = KILN_DTYPE_F32;
        is_done = true;
    }
    generator->dtype_count = before.dtype_count;
    memcpy(generator->dtypes, before.dtypes, sizeof before.dtypes);
    return is_done;
}
