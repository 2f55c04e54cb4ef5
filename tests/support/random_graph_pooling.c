/* Pooling and its gradients, of tensors that the graph has or of new ones, perhaps with pointwise
 * nodes before it. */
#include "tests/support/random_graph_generator.h"

enum { OPERANDS_TRIED = 8, TRIES = 8, MAX_TAPS = 1 << 20, MOST_STEPS = 2 };

struct plan {
    struct kiln_random_dims image, result;
    struct kiln_resample attributes;
};

static int64_t choose_size(struct kiln_random *random, int64_t limit)
{
    static const uint8_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 12, 14, 16, 17, 24, 32, 40};
    uint32_t count = 1;
    while (count < sizeof sizes / sizeof *sizes && sizes[count] <= limit)
        count++;
    return sizes[kiln_random_below(random, count)];
}

static void choose_image(struct kiln_random *random, int64_t limit, struct kiln_random_dims *image)
{
    uint32_t kind = kiln_random_below(random, 100);
    image->rank = kind < 70 ? 4 : kind < 85 ? 5 : 3;
    image->sizes[0] = kiln_random_chance(random, 50) ? 1 : 2 + kiln_random_below(random, 3);
    image->sizes[1] = choose_size(random, limit);
    for (uint32_t i = 2; i < image->rank; i++)
        image->sizes[i] = choose_size(random, limit);
}

/* One window: usual ones, the whole image, windows of one tap, and any with any padding. */
static void choose_window(struct kiln_random *random, uint32_t kind, uint32_t i, struct plan *plan)
{
    static const uint8_t windows[] = {2, 2, 3, 3, 3, 4, 5, 7, 9};
    struct kiln_resample *attributes = &plan->attributes;
    int64_t size = plan->image.sizes[i + 2];
    int64_t window = windows[kiln_random_below(random, sizeof windows / sizeof *windows)];
    int64_t stride = kiln_random_chance(random, 50) ? window : 1 + kiln_random_below(random, 4);
    attributes->pre_padding[i] = attributes->post_padding[i] = 0;
    if (kind < 15) {
        window = size;
    } else if (kind < 25 && kiln_random_chance(random, 60)) {
        window = 1;
    } else if (kind < 55) {
        attributes->pre_padding[i] = (window - 1) / 2;
        attributes->post_padding[i] = window / 2;
    } else if (kind < 80) { /* some windows lie in padding alone */
        attributes->pre_padding[i] = kiln_random_below(random, (uint32_t)window + 3);
        attributes->post_padding[i] = kiln_random_below(random, (uint32_t)window + 3);
    }
    int64_t padded = attributes->pre_padding[i] + size + attributes->post_padding[i];
    if (padded < window) {
        attributes->post_padding[i] += window - padded;
        padded = window;
    }
    attributes->window[i] = window;
    attributes->stride[i] = stride;
    plan->result.sizes[i + 2] = (padded - window) / stride + 1;
}

static void choose_windows(struct kiln_random *random, struct plan *plan)
{
    uint32_t kind = kiln_random_below(random, 100);
    plan->attributes.spatial_count = plan->image.rank - 2;
    plan->attributes.mode =
        kiln_random_chance(random, 50)
            ? KILN_POOLING_MAX
            : (enum kiln_pooling_mode)kiln_random_below(random, KILN_POOLING_MODE_COUNT);
    plan->result = plan->image;
    for (uint32_t i = 0; i < plan->attributes.spatial_count; i++)
        choose_window(random, kind, i, plan);
}

static bool is_small_enough(const struct kiln_random_generator *generator, const struct plan *plan)
{
    int64_t most = generator->options->max_elements;
    int64_t taps = kiln_random_count_elements(&plan->result);
    bool is_small = kiln_random_count_elements(&plan->image) <= most && taps <= most;
    for (uint32_t i = 0; i < plan->attributes.spatial_count; i++)
        taps *= plan->attributes.window[i];
    return is_small && taps <= MAX_TAPS;
}

/* A tensor that can be an image: often what nobody reads yet. */
static uint32_t find_image(struct kiln_random_generator *generator)
{
    struct kiln_random *random = &generator->random;
    uint32_t count = generator->graph.tensor_count;
    for (uint32_t i = 0; count != 0 && i < OPERANDS_TRIED; i++) {
        uint32_t ordinal = count - 1 - kiln_random_below(random, count);
        uint32_t rank = generator->graph.tensors[ordinal].rank;
        if (kiln_random_is_factor(generator, ordinal) && rank >= 3 &&
            rank <= 2 + KILN_MAX_SPATIAL_AXES &&
            (!generator->read[ordinal] || kiln_random_chance(random, 40)))
            return ordinal;
    }
    return KILN_NONE;
}

/* The operand that is read, perhaps after some pointwise nodes. */
static uint32_t append_operand(struct kiln_random_generator *generator, uint32_t x,
                               const struct kiln_random_shape *shape)
{
    struct kiln_random *random = &generator->random;
    if (x == KILN_NONE)
        x = kiln_random_append_factor(generator, shape, KILN_NONE);
    uint32_t before = x;
    if (kiln_random_chance(random, 50))
        x = kiln_random_append_steps(generator, x, 1 + kiln_random_below(random, MOST_STEPS));
    return kiln_random_is_factor(generator, x) ? x : before;
}

/* The type of an index: int8 only if positions fit. */
static enum kiln_dtype choose_index_dtype(struct kiln_random *random, const struct plan *plan)
{
    int64_t positions = 1;
    for (uint32_t i = 2; i < plan->image.rank; i++)
        positions *= plan->image.sizes[i];
    return positions <= INT8_MAX + 1 && kiln_random_chance(random, 50) ? KILN_DTYPE_I8
                                                                       : KILN_DTYPE_I32;
}

static bool may_have_index(const struct kiln_random_generator *generator)
{
    uint32_t both = UINT32_C(1) << KILN_DTYPE_I8 | UINT32_C(1) << KILN_DTYPE_I32;
    return (generator->options->dtypes & both) == both;
}

/* Returns the index, KILN_NONE: there is none. */
static uint32_t append_forward(struct kiln_random_generator *generator, const struct plan *plan,
                               const struct kiln_random_shape *result, uint32_t x)
{
    struct kiln_random *random = &generator->random;
    struct kiln_node *node = kiln_random_append_node(generator, KILN_NODE_RESAMPLE_FORWARD);
    node->resample = plan->attributes;
    node->resample.pads_zeros =
        plan->attributes.mode == KILN_POOLING_MAX && kiln_random_chance(random, 50);
    kiln_random_add_input(generator, node, KILN_OPERAND_X, x);
    enum kiln_dtype dtype = generator->graph.tensors[x].dtype;
    (void)kiln_random_add_output(generator, node, KILN_OPERAND_Y, result, dtype);
    uint32_t chance = plan->attributes.mode == KILN_POOLING_MAX ? 50 : 10;
    if (!may_have_index(generator) || !kiln_random_chance(random, chance))
        return KILN_NONE;
    return kiln_random_add_output(generator, node, KILN_OPERAND_INDEX, result,
                                  choose_index_dtype(random, plan));
}

static void append_backward(struct kiln_random_generator *generator, const struct plan *plan,
                            const struct kiln_random_shape *image,
                            const struct kiln_random_shape *result, uint32_t index)
{
    struct kiln_random *random = &generator->random;
    struct plan own = *plan;
    if (own.attributes.mode == KILN_POOLING_MAX && !may_have_index(generator))
        own.attributes.mode = KILN_POOLING_MEAN_OF_IMAGE;
    uint32_t dy = append_operand(generator, KILN_NONE, result);
    if (own.attributes.mode == KILN_POOLING_MAX && index == KILN_NONE)
        index = kiln_random_append_source(generator, result, choose_index_dtype(random, plan),
                                          KILN_RANDOM_POSITION);
    struct kiln_node *node = kiln_random_append_node(generator, KILN_NODE_RESAMPLE_BACKWARD);
    node->resample = own.attributes;
    for (uint32_t i = 0; i < KILN_MAX_SPATIAL_AXES; i++)
        node->resample.post_padding[i] = 0;
    kiln_random_add_input(generator, node, KILN_OPERAND_DY, dy);
    if (own.attributes.mode == KILN_POOLING_MAX)
        kiln_random_add_input(generator, node, KILN_OPERAND_INDEX, index);
    enum kiln_dtype dtype = generator->graph.tensors[dy].dtype;
    (void)kiln_random_add_output(generator, node, KILN_OPERAND_DX, image, dtype);
}

static bool try_pooling(struct kiln_random_generator *generator, int64_t limit)
{
    struct kiln_random *random = &generator->random;
    struct plan plan = {.image = {.rank = 0}};
    bool is_forward = kiln_random_chance(random, 60);
    uint32_t x = is_forward && kiln_random_chance(random, 55) ? find_image(generator) : KILN_NONE;
    if (x != KILN_NONE)
        plan.image = kiln_random_dims_of(generator, x);
    else
        choose_image(random, limit, &plan.image);
    choose_windows(random, &plan);
    struct kiln_random_shape image, result;
    if (!is_small_enough(generator, &plan) ||
        !kiln_random_find_shape(generator, &plan.image, &image) ||
        !kiln_random_find_shape(generator, &plan.result, &result))
        return false;
    uint32_t index = KILN_NONE;
    if (is_forward)
        index = append_forward(generator, &plan, &result, append_operand(generator, x, &image));
    bool is_followed = index != KILN_NONE && plan.attributes.mode == KILN_POOLING_MAX &&
                       generator->graph.node_count < generator->node_limit &&
                       kiln_random_chance(random, 30);
    if (!is_forward || is_followed)
        append_backward(generator, &plan, &image, &result, index);
    return true;
}

bool kiln_random_append_pooling(struct kiln_random_generator *generator)
{
    static const uint8_t limits[TRIES] = {40, 24, 16, 12, 9, 7, 5, 3};
    for (uint32_t i = kiln_random_below(&generator->random, 4); i < TRIES; i++) {
        if (try_pooling(generator, limits[i]))
            return true;
    }
    return false;
}
