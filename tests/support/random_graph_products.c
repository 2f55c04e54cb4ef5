/*
 * Matrix products: of tensors that the graph has, or of new ones, with what engines are sent before
 * them: scales by row, column or group, casts, activations; two of them that meet in a gate, and
 * statistics of a result. What else is after them is the business of the other families.
 */
#include "tests/support/random_graph_generator.h"

#include <string.h>

#define MODES(...)                                                                                 \
    (const enum kiln_pointwise_mode[])                                                             \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

enum { OPERANDS_TRIED = 8, MAX_TERMS = 1 << 19 };

static int64_t choose_size(struct kiln_random *random)
{
    static const uint8_t sizes[] = {1,  1,  2,  3,  4,  5,  7,  8,   15,  16,  17,  24,  31,
                                    32, 33, 48, 63, 64, 65, 96, 100, 127, 128, 130, 192, 255};
    return sizes[kiln_random_below(random, sizeof sizes / sizeof *sizes)];
}

/* ---- shapes ---- */

/* The sizes of an operand's batch: the result's, fewer by a whole factor, or 1. */
static void choose_batch(struct kiln_random *random, const struct kiln_random_dims *c,
                         struct kiln_random_dims *ret_operand)
{
    bool is_shared = kiln_random_chance(random, 30); /* one matrix for all batches */
    for (uint32_t i = 0; i + 2 < c->rank; i++) {
        int64_t size = c->sizes[i];
        ret_operand->sizes[i] = is_shared || kiln_random_chance(random, 15) ? 1 : size;
        for (int64_t divisor = 2; divisor <= 4; divisor++) {
            if (ret_operand->sizes[i] == size && size % divisor == 0 &&
                kiln_random_chance(random, 20))
                ret_operand->sizes[i] = size / divisor;
        }
    }
}

/* ---- operands ---- */

/* Fills the factors that are KILN_NONE. Those with nodes before them come first, so that tensors
 * are in the order in which nodes read them. */
static void make_factors(struct kiln_random_generator *generator,
                         const struct kiln_random_dims *const *dims,
                         const struct kiln_random_shape *shapes, uint32_t *factors)
{
    struct kiln_random *random = &generator->random;
    for (uint32_t i = 0; i < 2; i++) {
        if (factors[i] == KILN_NONE && kiln_random_chance(random, 35))
            factors[i] = kiln_random_find_factor(generator, dims[i]);
        bool has_room = generator->graph.node_count + 1 < generator->node_limit;
        /* Another product's result, perhaps: nodes between two products. */
        if (factors[i] != KILN_NONE && kiln_random_chance(random, 30))
            factors[i] =
                kiln_random_append_steps(generator, factors[i], 1 + kiln_random_below(random, 2));
        if (factors[i] != KILN_NONE || !has_room || !kiln_random_chance(random, 45))
            continue;
        uint32_t x = kiln_random_append_factor(generator, &shapes[i], factors[1 - i]);
        factors[i] = kiln_random_append_steps(generator, x, 1 + kiln_random_below(random, 3));
    }
    for (uint32_t i = 0; i < 2; i++) {
        if (factors[i] == KILN_NONE)
            factors[i] = kiln_random_append_factor(generator, &shapes[i], factors[1 - i]);
    }
}

/* ---- the product ---- */

/* Many products that are far smaller than a tile. */
static void choose_small_result(struct kiln_random *random, uint32_t most_rank,
                                struct kiln_random_dims *ret_c, int64_t *ret_k)
{
    enum { MOST_BATCHES = 60, MOST_ROWS = 20 };
    ret_c->rank = 3 + (most_rank > 3 ? kiln_random_below(random, 2) : 0);
    for (uint32_t i = 0; i < ret_c->rank; i++)
        ret_c->sizes[i] = 1 + kiln_random_below(random, i + 2 < ret_c->rank ? MOST_BATCHES : 5);
    if (kiln_random_chance(random, 30))
        ret_c->sizes[ret_c->rank - 1 - kiln_random_below(random, 2)] =
            1 + kiln_random_below(random, MOST_ROWS);
    *ret_k = 1 + kiln_random_below(random, kiln_random_chance(random, 30) ? 40 : 6);
}

/* The result has the graph's full shape, or is of any sizes. */
static void choose_result(struct kiln_random_generator *generator, struct kiln_random_dims *ret_c)
{
    struct kiln_random *random = &generator->random;
    const struct kiln_random_frame *frame = &generator->frames[0];
    uint32_t most = generator->options->max_rank < 2 ? 2 : generator->options->max_rank;
    ret_c->rank = frame->rank;
    for (uint32_t i = 0; i < frame->rank; i++)
        ret_c->sizes[i] = frame->dims[frame->rank - 1 - i];
    if (frame->rank >= 2 && kiln_random_chance(random, 75))
        return;
    ret_c->rank = 2 + (kiln_random_chance(random, 50) ? kiln_random_below(random, most - 1) : 0);
    for (uint32_t i = 0; i < ret_c->rank; i++)
        ret_c->sizes[i] =
            i + 2 < ret_c->rank ? 1 + kiln_random_below(random, 4) : choose_size(random);
}

/* The sizes of a result with this left or right operand: batches repeat now and then. */
static void choose_result_with(struct kiln_random_generator *generator,
                               const struct kiln_random_dims *operand, bool is_left,
                               struct kiln_random_dims *ret_c)
{
    struct kiln_random *random = &generator->random;
    uint32_t row = operand->rank - 2;
    *ret_c = *operand;
    for (uint32_t i = 0; i < row; i++) {
        if (kiln_random_chance(random, 12))
            ret_c->sizes[i] *= 2 + kiln_random_below(random, 2);
    }
    if (kiln_random_chance(random, 50)) /* often square, or as the operand is */
        ret_c->sizes[is_left ? row + 1 : row] = choose_size(random);
}

static uint32_t append_matmul(struct kiln_random_generator *generator, uint32_t a, uint32_t b,
                              const struct kiln_random_shape *shape)
{
    struct kiln_node *node = kiln_random_append_node(generator, KILN_NODE_MATMUL);
    kiln_random_add_input(generator, node, KILN_OPERAND_A, a);
    kiln_random_add_input(generator, node, KILN_OPERAND_B, b);
    enum kiln_dtype dtype = kiln_random_choose_sum_dtype(generator, a, b);
    return kiln_random_add_output(generator, node, KILN_OPERAND_C, shape, dtype);
}

/* A second product that has an operand in common with `product`, of `factors`, and a node where
 * they meet: a gate. */
static void append_twin(struct kiln_random_generator *generator, uint32_t product,
                        const uint32_t *factors, const struct kiln_random_shape *shapes,
                        const struct kiln_random_shape *shape)
{
    struct kiln_random *random = &generator->random;
    const uint64_t meets = UINT64_C(1) << KILN_POINTWISE_MUL | UINT64_C(1) << KILN_POINTWISE_ADD;
    if (generator->graph.node_count + 4 >= generator->node_limit ||
        (generator->options->modes & meets) != meets)
        return;
    uint32_t other = kiln_random_chance(random, 75); /* of the two, what they do not share */
    uint32_t pair[2] = {factors[0], factors[1]};
    pair[other] = kiln_random_append_steps(
        generator, kiln_random_append_factor(generator, &shapes[other], factors[other]),
        kiln_random_chance(random, 30) ? 1 : 0);
    uint32_t twin = append_matmul(generator, pair[0], pair[1], shape);
    uint32_t gate = product;
    if (kiln_random_chance(random, 60))
        gate = kiln_random_append_pointwise(
            generator,
            MODES(KILN_POINTWISE_SIGMOID_FWD, KILN_POINTWISE_RELU_FWD, KILN_POINTWISE_TANH_FWD), 3,
            &product);
    uint32_t operands[] = {gate == KILN_NONE ? product : gate, twin};
    (void)kiln_random_append_pointwise(generator, MODES(KILN_POINTWISE_MUL, KILN_POINTWISE_ADD), 2,
                                       operands);
}

/* The sum of an operand over k: the gradient of a bias beside that of weights. The older layout has
 * no reductions. */
static void append_operand_sum(struct kiln_random_generator *generator, const uint32_t *factors,
                               int64_t k)
{
    uint32_t side = kiln_random_below(&generator->random, 2);
    if (generator->options->era == KILN_WIRE_ERA_CURRENT && k > 1 &&
        generator->graph.node_count < generator->node_limit)
        (void)kiln_random_append_reduction(generator, KILN_REDUCTION_ADD, factors[side],
                                           UINT32_C(1) << side);
}

/* The result of a product that was appended last, as layers follow each other; else any factor. */
static uint32_t find_given(struct kiln_random_generator *generator)
{
    const struct kiln_graph *graph = &generator->graph;
    const struct kiln_node *last =
        graph->node_count != 0 ? &graph->nodes[graph->node_count - 1] : NULL;
    if (last != NULL && last->kind == KILN_NODE_MATMUL &&
        kiln_random_is_factor(generator, last->outputs[0]) &&
        kiln_random_chance(&generator->random, 50))
        return last->outputs[0];
    return kiln_random_find_factor(generator, NULL);
}

static bool try_product(struct kiln_random_generator *generator)
{
    struct kiln_random *random = &generator->random;
    uint32_t given[2] = {KILN_NONE, KILN_NONE};
    struct kiln_random_dims c;
    uint32_t side = kiln_random_chance(random, 70) ? 0 : 1;
    if (kiln_random_chance(random, 65))
        given[side] = find_given(generator);
    int64_t k = choose_size(random);
    bool is_small = generator->options->max_rank >= 3 && kiln_random_chance(random, 30);
    if (given[side] == KILN_NONE && is_small) {
        choose_small_result(random, generator->options->max_rank, &c, &k);
    } else if (given[side] == KILN_NONE) {
        choose_result(generator, &c);
    } else {
        struct kiln_random_dims operand = kiln_random_dims_of(generator, given[side]);
        choose_result_with(generator, &operand, side == 0, &c);
        k = operand.sizes[side == 0 ? operand.rank - 1 : operand.rank - 2];
    }
    bool is_square = given[side] == KILN_NONE && kiln_random_chance(random, 8);
    if (is_square)
        c.sizes[c.rank - 2] = c.sizes[c.rank - 1] = k;
    struct kiln_random_dims a = c, b = c;
    choose_batch(random, &c, &a);
    choose_batch(random, &c, &b);
    a.sizes[c.rank - 1] = b.sizes[c.rank - 2] = k;
    if (given[side] != KILN_NONE)
        *(side == 0 ? &a : &b) = kiln_random_dims_of(generator, given[side]);
    if (is_square) /* One tensor is both factors. */
        a = b = c;
    int64_t most = generator->options->max_elements;
    struct kiln_random_shape shape, shapes[2];
    if (kiln_random_count_elements(&c) > most || kiln_random_count_elements(&a) > most ||
        kiln_random_count_elements(&b) > most || kiln_random_count_elements(&c) * k > MAX_TERMS ||
        !kiln_random_find_shape(generator, &c, &shape) ||
        !kiln_random_find_shape(generator, &a, &shapes[0]) ||
        !kiln_random_find_shape(generator, &b, &shapes[1]))
        return false;
    if (is_square)
        given[0] = given[1] = kiln_random_append_factor(generator, &shapes[0], KILN_NONE);
    else
        make_factors(generator, (const struct kiln_random_dims *const[]){&a, &b}, shapes, given);
    uint32_t product = append_matmul(generator, given[0], given[1], &shape);
    if (kiln_random_chance(random, 20))
        append_twin(generator, product, given, shapes, &shape);
    else if ((generator->options->families & KILN_RANDOM_REDUCTIONS) != 0 &&
             generator->graph.node_count < generator->node_limit && kiln_random_chance(random, 30))
        kiln_random_append_statistics(generator, product);
    else if (kiln_random_chance(random, 20))
        append_operand_sum(generator, given, k);
    return true;
}

bool kiln_random_append_product(struct kiln_random_generator *generator)
{
    enum { TRIES = 4 };
    for (uint32_t i = 0; i < TRIES; i++) {
        if (try_product(generator))
            return true;
    }
    return false;
}
