/*
 * Convolutions and their gradients, of tensors that the graph has or of new ones, with what engines
 * are sent before them (batch norms, scales and biases per channel, activations, dequantisation)
 * and behind them (the same, residuals, gates), sums per channel, and gradients side by side.
 */
#include "tests/support/random_graph_generator.h"

#include <string.h>

#define MODES(...)                                                                                 \
    (const enum kiln_pointwise_mode[])                                                             \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

enum { OPERANDS_TRIED = 8, TRIES = 8, MAX_TERMS = 1 << 19, MOST_STEPS = 3 };

/* The shapes and parameters of a convolution in any direction. */
struct plan {
    struct kiln_random_dims image, filter, result;
    struct kiln_convolution attributes;
};

/* ---- shapes ---- */

/* Below the limit: each try allows less. */
static int64_t choose_size(struct kiln_random *random, int64_t limit)
{
    static const uint8_t sizes[] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  12, 13,
                                    15, 16, 17, 20, 24, 31, 32, 33, 36, 40};
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
    return divisor;
}

/* Dense, depthwise with or without a multiplier, or between. */
static void choose_channels(struct kiln_random *random, int64_t limit, struct plan *plan)
{
    uint32_t kind = kiln_random_below(random, 100);
    int64_t groups = 1;
    int64_t group_channels = choose_size(random, limit);
    int64_t group_filters = choose_size(random, limit);
    if (kind < 25) {
        groups = choose_size(random, limit);
        group_channels = 1;
        group_filters = kiln_random_chance(random, 60) ? 1 : 1 + kiln_random_below(random, 3);
    } else if (kind < 50) {
        groups = 2 + kiln_random_below(random, 5);
        group_channels = choose_size(random, limit / groups);
        group_filters = choose_size(random, limit / groups);
    }
    plan->attributes.groups = groups;
    plan->filter.sizes[0] = groups * group_filters;
    plan->filter.sizes[1] = group_channels;
}

/* Groups that divide what is given, channels of the image or filters; the other side is free. */
static void choose_channels_with(struct kiln_random *random, int64_t given, bool is_image,
                                 int64_t limit, struct plan *plan)
{
    uint32_t kind = kiln_random_below(random, 100);
    int64_t groups = kind < 40 ? 1 : kind < 70 ? given : choose_divisor(random, given);
    int64_t other = choose_size(random, limit / groups);
    plan->attributes.groups = groups;
    plan->filter.sizes[0] = is_image ? groups * other : given;
    plan->filter.sizes[1] = is_image ? given / groups : other;
}

static int64_t choose_window(struct kiln_random *random)
{
    static const uint8_t windows[] = {1, 1, 2, 3, 3, 3, 3, 4, 5, 7};
    return windows[kiln_random_below(random, sizeof windows / sizeof *windows)];
}

/* Windows, strides, dilations and paddings that need not fit any image. */
static void choose_parameters(struct kiln_random *random, struct plan *plan)
{
    struct kiln_convolution *attributes = &plan->attributes;
    bool is_pointwise = kiln_random_chance(random, 20);
    bool is_strided = kiln_random_chance(random, 40);
    bool is_dilated = kiln_random_chance(random, 25);
    uint32_t padding = kiln_random_below(random, 100);
    attributes->is_flipped = kiln_random_chance(random, 15);
    for (uint32_t i = 0; i < attributes->spatial_count; i++) {
        int64_t window = is_pointwise ? 1 : choose_window(random);
        attributes->stride[i] = is_strided ? 1 + kiln_random_below(random, 4) : 1;
        attributes->dilation[i] = is_dilated ? 1 + kiln_random_below(random, 3) : 1;
        int64_t reach = (window - 1) * attributes->dilation[i];
        plan->filter.sizes[i + 2] = window;
        attributes->pre_padding[i] = attributes->post_padding[i] = 0;
        if (padding >= 20 && padding < 60) { /* as the image, with stride 1 */
            attributes->pre_padding[i] = reach / 2;
            attributes->post_padding[i] = reach - reach / 2;
        } else if (padding >= 60) {
            attributes->pre_padding[i] = kiln_random_below(random, (uint32_t)reach + 2);
            attributes->post_padding[i] = kiln_random_below(random, (uint32_t)reach + 2);
        }
    }
}

static int64_t extent(const struct plan *plan, uint32_t i)
{
    return (plan->filter.sizes[i + 2] - 1) * plan->attributes.dilation[i] + 1;
}

/* The result of the image; windows that do not fit become padding's. */
static void derive_result(struct plan *plan)
{
    struct kiln_convolution *attributes = &plan->attributes;
    plan->result = plan->image;
    plan->result.sizes[1] = plan->filter.sizes[0];
    for (uint32_t i = 0; i < attributes->spatial_count; i++) {
        int64_t padded =
            attributes->pre_padding[i] + plan->image.sizes[i + 2] + attributes->post_padding[i];
        if (padded < extent(plan, i)) {
            attributes->post_padding[i] += extent(plan, i) - padded;
            padded = extent(plan, i);
        }
        plan->result.sizes[i + 2] = (padded - extent(plan, i)) / attributes->stride[i] + 1;
    }
}

/* One of the images that have this result; without padding where it would be all. */
static void derive_image(struct kiln_random *random, struct plan *plan)
{
    struct kiln_convolution *attributes = &plan->attributes;
    plan->image = plan->result;
    plan->image.sizes[1] = plan->filter.sizes[1] * attributes->groups;
    for (uint32_t i = 0; i < attributes->spatial_count; i++) {
        int64_t padded = (plan->result.sizes[i + 2] - 1) * attributes->stride[i] + extent(plan, i) +
                         kiln_random_below(random, (uint32_t)attributes->stride[i]);
        if (padded <= attributes->pre_padding[i] + attributes->post_padding[i])
            attributes->pre_padding[i] = attributes->post_padding[i] = 0;
        plan->image.sizes[i + 2] =
            padded - attributes->pre_padding[i] - attributes->post_padding[i];
    }
}

/* What one try draws. */
struct limits {
    int64_t channels, pixels;
};

static void choose_plan(struct kiln_random *random, const struct limits *limits, struct plan *plan)
{
    uint32_t kind = kiln_random_below(random, 100);
    plan->attributes.spatial_count = kind < 60 ? 2 : kind < 82 ? 1 : 3;
    plan->image.rank = plan->filter.rank = plan->attributes.spatial_count + 2;
    choose_parameters(random, plan);
    choose_channels(random, limits->channels, plan);
    plan->image.sizes[0] = kiln_random_chance(random, 50) ? 1 : 2 + kiln_random_below(random, 3);
    plan->image.sizes[1] = plan->filter.sizes[1] * plan->attributes.groups;
    for (uint32_t i = 0; i < plan->attributes.spatial_count; i++)
        plan->image.sizes[i + 2] = 1 + choose_size(random, limits->pixels - 1);
    derive_result(plan);
}

static void choose_plan_with(struct kiln_random *random, const struct limits *limits,
                             const struct kiln_random_dims *given, bool is_image, struct plan *plan)
{
    plan->attributes.spatial_count = given->rank - 2;
    plan->filter.rank = given->rank;
    choose_parameters(random, plan);
    choose_channels_with(random, given->sizes[1], is_image, limits->channels, plan);
    if (is_image) {
        plan->image = *given;
        derive_result(plan);
    } else {
        plan->result = *given;
        derive_image(random, plan);
    }
}

static bool is_small_enough(const struct kiln_random_generator *generator, const struct plan *plan)
{
    int64_t most = generator->options->max_elements;
    int64_t terms = kiln_random_count_elements(&plan->filter) / plan->filter.sizes[0];
    int64_t results = kiln_random_count_elements(&plan->result);
    return kiln_random_count_elements(&plan->image) <= most && results <= most &&
           kiln_random_count_elements(&plan->filter) <= most && results * terms <= MAX_TERMS;
}

/* ---- what is before and behind ---- */

/* Nodes that may be appended, with `reserved` more to follow. */
static uint32_t room(const struct kiln_random_generator *generator, uint32_t reserved)
{
    uint32_t used = generator->graph.node_count + reserved;
    return used < generator->node_limit ? generator->node_limit - used : 0;
}

static bool allows(const struct kiln_random_generator *generator, enum kiln_pointwise_mode mode)
{
    return (generator->options->modes >> mode & 1) != 0;
}

/* The axis of the channels alone. */
static struct kiln_random_shape channel_shape(const struct kiln_random_generator *generator,
                                              uint32_t x)
{
    struct kiln_random_shape shape = generator->shapes[x];
    shape.full_axes &= UINT32_C(1) << (shape.rank - 2);
    return shape;
}

/* x beside a tensor of `shape`, new or one that the graph has. */
static uint32_t append_binary(struct kiln_random_generator *generator,
                              enum kiln_pointwise_mode mode, uint32_t x,
                              const struct kiln_random_shape *shape)
{
    struct kiln_random *random = &generator->random;
    if (!allows(generator, mode))
        return KILN_NONE; /* nobody would read the source */
    uint32_t other = KILN_NONE;
    for (uint32_t i = 0; other == KILN_NONE && i < OPERANDS_TRIED; i++) {
        uint32_t ordinal = kiln_random_below(random, generator->graph.tensor_count);
        if (ordinal != x && kiln_random_chance(random, 40) &&
            kiln_random_same_shape(generator, &generator->shapes[ordinal], shape))
            other = ordinal;
    }
    if (other == KILN_NONE)
        other = kiln_random_append_source(generator, shape, kiln_random_choose_dtype(generator),
                                          KILN_RANDOM_ANY);
    uint32_t operands[] = {x, other};
    return kiln_random_append_pointwise(generator, &mode, 1, operands);
}

/* x * sigmoid(x), of two nodes. */
static uint32_t append_silu(struct kiln_random_generator *generator, uint32_t x)
{
    uint32_t gate =
        kiln_random_append_pointwise(generator, MODES(KILN_POINTWISE_SIGMOID_FWD), 1, &x);
    uint32_t operands[] = {x, gate};
    return gate == KILN_NONE
               ? KILN_NONE
               : kiln_random_append_pointwise(generator, MODES(KILN_POINTWISE_MUL), 1, operands);
}

/* One thing that is often done to an image or a result; KILN_NONE where the options forbid it. */
static uint32_t append_step(struct kiln_random_generator *generator, uint32_t x, uint32_t reserved)
{
    struct kiln_random *random = &generator->random;
    uint32_t kind = kiln_random_below(random, 100);
    struct kiln_random_shape channels = channel_shape(generator, x);
    bool is_real = !kiln_dtype_is_integer(generator->graph.tensors[x].dtype);
    if (kind < 25)
        return append_binary(generator, KILN_POINTWISE_ADD, x, &channels);
    if (kind < 37)
        return append_binary(generator, KILN_POINTWISE_MUL, x, &channels);
    if (kind < 52 && is_real)
        return kiln_random_append_batchnorm_inference(generator, x);
    if (kind < 64 && room(generator, reserved) >= 2)
        return append_silu(generator, x);
    if (kind < 76)
        return append_binary(generator, KILN_POINTWISE_ADD, x, &generator->shapes[x]);
    return kiln_random_append_pointwise(generator,
                                        MODES(KILN_POINTWISE_RELU_FWD, KILN_POINTWISE_RELU_FWD,
                                              KILN_POINTWISE_IDENTITY, KILN_POINTWISE_GELU_FWD,
                                              KILN_POINTWISE_TANH_FWD),
                                        5, &x);
}

static uint32_t append_steps(struct kiln_random_generator *generator, uint32_t x, uint32_t count,
                             uint32_t reserved)
{
    for (uint32_t i = 0; i < count && room(generator, reserved) != 0; i++) {
        uint32_t next = append_step(generator, x, reserved);
        if (next == KILN_NONE)
            break;
        x = next;
    }
    return x;
}

/* The sum over all but the channels, perhaps of the squares too: for a batch norm in training, or
 * the gradient of a bias. The older layout has no reductions. */
static void append_channel_sums(struct kiln_random_generator *generator, uint32_t x)
{
    if (generator->options->era != KILN_WIRE_ERA_CURRENT || room(generator, 0) == 0)
        return;
    uint32_t rank = generator->shapes[x].rank;
    uint32_t axes = ((UINT32_C(1) << rank) - 1) & ~(UINT32_C(1) << (rank - 2));
    (void)kiln_random_append_reduction(generator, KILN_REDUCTION_ADD, x, axes);
    if (room(generator, 0) < 2 || !kiln_random_chance(&generator->random, 50))
        return;
    uint32_t operands[] = {x, x};
    uint32_t square =
        kiln_random_append_pointwise(generator, MODES(KILN_POINTWISE_MUL), 1, operands);
    if (square != KILN_NONE)
        (void)kiln_random_append_reduction(generator, KILN_REDUCTION_ADD, square, axes);
}

/* ---- the convolution ---- */

/* Operands by direction, in the order of the wire's slots; the last one is the output. */
static const struct {
    enum kiln_node_kind kind;
    enum kiln_operand roles[3];
} directions[] = {
    {KILN_NODE_CONVOLUTION_FORWARD, {KILN_OPERAND_X, KILN_OPERAND_W, KILN_OPERAND_Y}},
    {KILN_NODE_CONVOLUTION_DATA_GRADIENT, {KILN_OPERAND_DY, KILN_OPERAND_W, KILN_OPERAND_DX}},
    {KILN_NODE_CONVOLUTION_WEIGHT_GRADIENT, {KILN_OPERAND_X, KILN_OPERAND_DY, KILN_OPERAND_DW}},
};

enum { FORWARD, DATA_GRADIENT, WEIGHT_GRADIENT };

static const struct kiln_random_dims *dims_of_role(const struct plan *plan, enum kiln_operand role)
{
    if (role == KILN_OPERAND_X || role == KILN_OPERAND_DX)
        return &plan->image;
    return role == KILN_OPERAND_W || role == KILN_OPERAND_DW ? &plan->filter : &plan->result;
}

static uint32_t append_node(struct kiln_random_generator *generator, const struct plan *plan,
                            uint32_t direction, const uint32_t *inputs,
                            const struct kiln_random_shape *output)
{
    const enum kiln_operand *roles = directions[direction].roles;
    struct kiln_node *node = kiln_random_append_node(generator, directions[direction].kind);
    node->convolution = plan->attributes;
    kiln_random_add_input(generator, node, roles[0], inputs[0]);
    kiln_random_add_input(generator, node, roles[1], inputs[1]);
    enum kiln_dtype dtype = kiln_random_choose_sum_dtype(generator, inputs[0], inputs[1]);
    return kiln_random_add_output(generator, node, roles[2], output, dtype);
}

/* Fills the inputs that are KILN_NONE. Those with nodes before them come first, so that tensors are
 * in the order in which nodes read them. */
static void make_inputs(struct kiln_random_generator *generator, uint32_t direction,
                        const struct kiln_random_shape *shapes, uint32_t *inputs)
{
    struct kiln_random *random = &generator->random;
    for (uint32_t i = 0; i < 2; i++) {
        if (inputs[i] != KILN_NONE || room(generator, 1) == 0 || !kiln_random_chance(random, 40))
            continue;
        uint32_t x = kiln_random_append_factor(generator, &shapes[i], inputs[1 - i]);
        uint32_t count = 1 + kiln_random_below(random, MOST_STEPS);
        bool is_filter = directions[direction].roles[i] == KILN_OPERAND_W;
        uint32_t before = x;
        if (is_filter || kiln_random_chance(random, 30))
            x = kiln_random_append_steps(generator, x, count);
        else
            x = append_steps(generator, x, count, 1);
        /* A step may have ended in a type without a rule: then the product reads what it started
         * from, which has nodes beside it. */
        inputs[i] = kiln_random_is_factor(generator, x) ? x : before;
    }
    for (uint32_t i = 0; i < 2; i++) {
        if (inputs[i] == KILN_NONE)
            inputs[i] = kiln_random_append_factor(generator, &shapes[i], inputs[1 - i]);
    }
}

static bool is_image(const struct kiln_random_generator *generator, uint32_t ordinal)
{
    const struct kiln_tensor *tensor = &generator->graph.tensors[ordinal];
    return kiln_random_is_factor(generator, ordinal) && tensor->rank >= 3 &&
           tensor->rank <= 2 + KILN_MAX_SPATIAL_AXES && kiln_tensor_elements(tensor) > 1;
}

/* A tensor that can be an image or a result: often what nobody reads yet, so that there are
 * chains. */
static uint32_t find_given(struct kiln_random_generator *generator)
{
    struct kiln_random *random = &generator->random;
    uint32_t count = generator->graph.tensor_count;
    bool continues = kiln_random_chance(random, 60);
    for (uint32_t ordinal = count; continues && ordinal-- > 0;) {
        if (!generator->read[ordinal] && is_image(generator, ordinal))
            return ordinal;
    }
    for (uint32_t i = 0; count != 0 && i < OPERANDS_TRIED; i++) {
        uint32_t ordinal = kiln_random_below(random, count);
        if (is_image(generator, ordinal))
            return ordinal;
    }
    return KILN_NONE;
}

/* The gradient of the filters beside that of the data, or the gradient of the bias. */
static void append_beside(struct kiln_random_generator *generator, const struct plan *plan,
                          uint32_t direction, uint32_t dy)
{
    struct kiln_random *random = &generator->random;
    if (direction == DATA_GRADIENT && room(generator, 0) != 0 && kiln_random_chance(random, 30)) {
        struct kiln_random_shape image, filter;
        if (!kiln_random_find_shape(generator, &plan->image, &image) ||
            !kiln_random_find_shape(generator, &plan->filter, &filter))
            return;
        uint32_t inputs[2] = {kiln_random_append_factor(generator, &image, dy), dy};
        (void)append_node(generator, plan, WEIGHT_GRADIENT, inputs, &filter);
    }
    if (direction != FORWARD && kiln_random_chance(random, 30))
        append_channel_sums(generator, dy);
}

static bool try_convolution(struct kiln_random_generator *generator, const struct limits *limits)
{
    struct kiln_random *random = &generator->random;
    uint32_t kind = kiln_random_below(random, 100);
    uint32_t direction = kind < 45 ? FORWARD : kind < 75 ? DATA_GRADIENT : WEIGHT_GRADIENT;
    const enum kiln_operand *roles = directions[direction].roles;
    uint32_t inputs[2] = {KILN_NONE, KILN_NONE};
    struct plan plan = {.attributes = {.groups = 1}};
    uint32_t given = kiln_random_chance(random, 55) ? find_given(generator) : KILN_NONE;
    if (given == KILN_NONE) {
        choose_plan(random, limits, &plan);
    } else {
        uint32_t slot = direction == WEIGHT_GRADIENT && kiln_random_chance(random, 60);
        struct kiln_random_dims dims = kiln_random_dims_of(generator, given);
        choose_plan_with(random, limits, &dims, roles[slot] == KILN_OPERAND_X, &plan);
        inputs[slot] = given;
    }
    struct kiln_random_shape shapes[3];
    if (!is_small_enough(generator, &plan))
        return false;
    for (uint32_t i = 0; i < 3; i++) {
        if (!kiln_random_find_shape(generator, dims_of_role(&plan, roles[i]), &shapes[i]))
            return false;
    }
    make_inputs(generator, direction, shapes, inputs);
    uint32_t result = append_node(generator, &plan, direction, inputs, &shapes[2]);
    bool is_summed = direction != WEIGHT_GRADIENT && kiln_random_chance(random, 30);
    bool is_raw = kiln_random_chance(random, 60); /* as training has it: before the norm */
    if (is_summed && is_raw)
        append_channel_sums(generator, result);
    uint32_t x = append_steps(generator, result, kiln_random_below(random, MOST_STEPS + 2), 0);
    if (is_summed && !is_raw)
        append_channel_sums(generator, x);
    append_beside(generator, &plan, direction, inputs[direction == WEIGHT_GRADIENT ? 1 : 0]);
    return true;
}

bool kiln_random_append_convolution(struct kiln_random_generator *generator)
{
    static const struct limits limits[TRIES] = {{40, 20}, {33, 16}, {24, 12}, {16, 9},
                                                {12, 7},  {8, 6},   {5, 5},   {3, 4}};
    uint32_t first = kiln_random_below(&generator->random, 4);
    for (uint32_t i = first; i < TRIES; i++) {
        if (try_convolution(generator, &limits[i]))
            return true;
    }
    return false;
}
