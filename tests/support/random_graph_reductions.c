/* Reductions over any set of axes, alone or in chains: reduce, use beside the operand, reduce. */
#include "tests/support/random_graph_generator.h"

#define MODES(...)                                                                                 \
    (const enum kiln_pointwise_mode[])                                                             \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

enum { OPERANDS_TRIED = 8, PRODUCT_ROW = 64 };

/* Axes counted from the right. */
static uint32_t choose_axes(struct kiln_random *random, uint32_t rank)
{
    uint32_t all = rank == 0 ? 0 : (UINT32_C(1) << rank) - 1;
    uint32_t kind = kiln_random_below(random, 100);
    if (rank == 0 || kind < 8)
        return all;
    if (kind < 45)
        return (UINT32_C(1) << (1 + kiln_random_below(random, rank))) - 1; /* trailing ones */
    if (kind < 60)
        return all & ~(UINT32_C(1) << (rank >= 2 ? rank - 2 : 0)); /* all but the channels */
    return (uint32_t)kiln_random_next(random) & all;
}

/* Axes that are longer than 1. */
static uint32_t long_axes(const struct kiln_random_generator *generator,
                          const struct kiln_random_shape *shape)
{
    uint32_t axes = 0;
    for (uint32_t i = 0; i < generator->frames[shape->frame].rank; i++)
        axes |= (uint32_t)(kiln_random_full_size(generator, shape, i) > 1) << i;
    return axes & shape->full_axes;
}

/* Two tries for something to be reduced and something to be kept. */
static uint32_t choose_useful_axes(struct kiln_random_generator *generator,
                                   const struct kiln_random_shape *shape)
{
    uint32_t useful = long_axes(generator, shape);
    uint32_t axes = choose_axes(&generator->random, shape->rank);
    for (uint32_t i = 0; i < 2 && ((axes & useful) == 0 || (useful & ~axes) == 0); i++)
        axes = choose_axes(&generator->random, shape->rank);
    return axes;
}

/* An earlier tensor with several elements, more often one that nothing has reduced yet. */
static uint32_t find_operand(struct kiln_random_generator *generator)
{
    struct kiln_random *random = &generator->random;
    uint32_t count = generator->graph.tensor_count;
    bool insists = kiln_random_chance(random, 70);
    for (uint32_t i = 0; count != 0 && i < OPERANDS_TRIED; i++) {
        uint32_t reach = kiln_random_chance(random, 50) && count > 4 ? 4 : count;
        uint32_t ordinal = count - 1 - kiln_random_below(random, reach);
        struct kiln_random_shape *shape = &generator->shapes[ordinal];
        struct kiln_random_shape full = kiln_random_full_shape(generator, shape->frame);
        uint32_t axes = long_axes(generator, shape);
        if (insists ? axes == long_axes(generator, &full) : axes != 0)
            return ordinal;
    }
    return KILN_NONE;
}

static uint32_t reduced_elements(const struct kiln_random_generator *generator,
                                 const struct kiln_random_shape *shape, uint32_t axes)
{
    int64_t count = 1;
    for (uint32_t i = 0; i < shape->rank; i++)
        count *=
            (shape->full_axes & axes) >> i & 1 ? kiln_random_full_size(generator, shape, i) : 1;
    return count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
}

static enum kiln_dtype choose_result_dtype(struct kiln_random_generator *generator,
                                           enum kiln_dtype in, enum kiln_reduction_mode mode)
{
    bool keeps = kiln_dtype_is_integer(in) && kiln_reduction_mode_info(mode)->integer;
    if (kiln_random_chance(&generator->random, keeps ? 70 : 25))
        return in;
    return kiln_random_choose_dtype(generator);
}

uint32_t kiln_random_append_reduction(struct kiln_random_generator *generator,
                                      enum kiln_reduction_mode mode, uint32_t operand,
                                      uint32_t axes)
{
    struct kiln_node *node = kiln_random_append_node(generator, KILN_NODE_REDUCTION);
    kiln_random_add_input(generator, node, KILN_OPERAND_IN, operand);
    struct kiln_random_shape shape = generator->shapes[operand];
    node->reduction.mode = mode;
    const struct kiln_tensor *in = &generator->graph.tensors[operand];
    for (uint32_t i = 0; i < shape.rank; i++) {
        if (in->dims[shape.rank - 1 - i] > 1 && (axes >> i & 1) != 0)
            node->reduction.axes |= UINT32_C(1) << (shape.rank - 1 - i);
    }
    shape.full_axes &= ~axes;
    return kiln_random_add_output(generator, node, KILN_OPERAND_OUT, &shape,
                                  choose_result_dtype(generator, in->dtype, mode));
}

static enum kiln_reduction_mode choose_mode(struct kiln_random_generator *generator)
{
    return (enum kiln_reduction_mode)(
        1 + kiln_random_below(&generator->random, KILN_REDUCTION_MODE_COUNT - 1));
}

static bool is_product(enum kiln_reduction_mode mode)
{
    return mode == KILN_REDUCTION_MUL || mode == KILN_REDUCTION_MUL_NO_ZEROS;
}

static bool has_room(const struct kiln_random_generator *generator, uint32_t tensor)
{
    return tensor != KILN_NONE && generator->graph.node_count < generator->node_limit;
}

/* The middle of a chain: `row` beside `x`, perhaps a function of that. */
static uint32_t append_middle(struct kiln_random_generator *generator, bool is_softmax, uint32_t x,
                              uint32_t row)
{
    struct kiln_random *random = &generator->random;
    uint32_t operands[] = {x, row};
    uint32_t value =
        is_softmax ? kiln_random_append_pointwise(generator, MODES(KILN_POINTWISE_SUB), 1, operands)
                   : kiln_random_append_pointwise(generator,
                                                  MODES(KILN_POINTWISE_SUB, KILN_POINTWISE_SUB,
                                                        KILN_POINTWISE_DIV, KILN_POINTWISE_MUL,
                                                        KILN_POINTWISE_ADD, KILN_POINTWISE_MAX_OP),
                                                  6, operands);
    if (!has_room(generator, value) || (!is_softmax && kiln_random_chance(random, 40)))
        return value;
    if (is_softmax)
        return kiln_random_append_pointwise(generator, MODES(KILN_POINTWISE_EXP), 1, &value);
    return kiln_random_append_pointwise(generator,
                                        MODES(KILN_POINTWISE_EXP, KILN_POINTWISE_ABS,
                                              KILN_POINTWISE_SIGMOID_FWD, KILN_POINTWISE_IDENTITY,
                                              KILN_POINTWISE_SWISH_FWD),
                                        5, &value);
}

/* Softmax and what looks like it. Ends early where the nodes run out or a mode is not wanted. */
static void append_chain(struct kiln_random_generator *generator, uint32_t x, uint32_t axes)
{
    struct kiln_random *random = &generator->random;
    bool is_softmax = kiln_random_chance(random, 35);
    for (uint32_t round = 0; round < 2 || kiln_random_chance(random, 25); round++) {
        enum kiln_reduction_mode mode = is_softmax ? KILN_REDUCTION_MAX : choose_mode(generator);
        while (is_product(mode)) /* of computed values: would overflow */
            mode = choose_mode(generator);
        if (is_softmax && round > 0)
            mode = KILN_REDUCTION_ADD;
        uint32_t row = kiln_random_append_reduction(generator, mode, x, axes);
        if (!has_room(generator, row))
            return;
        if (is_softmax && round > 0) {
            uint32_t operands[] = {x, row};
            (void)kiln_random_append_pointwise(generator, MODES(KILN_POINTWISE_DIV), 1, operands);
            return;
        }
        x = append_middle(generator, is_softmax, x, row);
        if (!has_room(generator, x))
            return;
    }
}

void kiln_random_append_statistics(struct kiln_random_generator *generator, uint32_t operand)
{
    struct kiln_random *random = &generator->random;
    /* Of rows, of columns, or of what else there is. */
    uint32_t axes = kiln_random_chance(random, 45)   ? 1
                    : kiln_random_chance(random, 40) ? 2
                                                     : 1 + kiln_random_below(random, 15);
    uint32_t count = 1 + kiln_random_below(random, 3);
    if (kiln_random_chance(random, 45)) {
        append_chain(generator, operand, axes);
        return;
    }
    for (uint32_t i = 0; i < count && has_room(generator, operand); i++) {
        enum kiln_reduction_mode mode = choose_mode(generator);
        if (!is_product(mode))
            (void)kiln_random_append_reduction(generator, mode, operand, axes);
    }
}

void kiln_random_append_reductions(struct kiln_random_generator *generator)
{
    struct kiln_random *random = &generator->random;
    enum kiln_reduction_mode mode = choose_mode(generator);
    uint32_t operand = kiln_random_chance(random, 85) ? find_operand(generator) : KILN_NONE;
    struct kiln_random_shape shape =
        operand == KILN_NONE ? kiln_random_full_shape(generator, 0) : generator->shapes[operand];
    uint32_t axes = choose_useful_axes(generator, &shape);
    bool is_chain = kiln_random_chance(random, 45);
    /* A long product only makes sense of factors near 1: of an input of its own. */
    if (!is_chain && is_product(mode) && reduced_elements(generator, &shape, axes) > PRODUCT_ROW &&
        kiln_random_chance(random, 90))
        operand = KILN_NONE;
    if (operand == KILN_NONE)
        operand =
            kiln_random_append_source(generator, &shape, kiln_random_choose_dtype(generator),
                                      is_product(mode) ? KILN_RANDOM_NEAR_ONE : KILN_RANDOM_DATA);
    if (is_chain)
        append_chain(generator, operand, axes);
    else
        (void)kiln_random_append_reduction(generator, mode, operand, axes);
}
