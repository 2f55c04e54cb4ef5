/* Dequantising in blocks of tensors that the graph has or of new ones, perhaps with pointwise nodes
 * before it. */
#include "tests/support/random_graph_generator.h"

enum { OPERANDS_TRIED = 8, MOST_STEPS = 2 };

static bool is_scaled(const struct kiln_random_generator *generator, uint32_t ordinal)
{
    const struct kiln_tensor *tensor = &generator->graph.tensors[ordinal];
    return tensor->rank >= 1 && tensor->dtype != KILN_DTYPE_BOOL;
}

static uint32_t find_scaled(struct kiln_random_generator *generator)
{
    struct kiln_random *random = &generator->random;
    uint32_t count = generator->graph.tensor_count;
    for (uint32_t i = 0; count != 0 && i < OPERANDS_TRIED; i++) {
        uint32_t ordinal = count - 1 - kiln_random_below(random, count);
        if (is_scaled(generator, ordinal) &&
            (!generator->read[ordinal] || kiln_random_chance(random, 40)))
            return ordinal;
    }
    return KILN_NONE;
}

/* Sizes that graphs have, and any others: ragged ones, and longer ones than the axis. */
static int64_t choose_block(struct kiln_random *random, int64_t size)
{
    static const uint8_t blocks[] = {1, 1, 2, 3, 4, 5, 8, 16, 16, 32, 32, 64};
    if (kiln_random_chance(random, 10))
        return size;
    int64_t block = blocks[kiln_random_below(random, sizeof blocks / sizeof *blocks)];
    return block < size ? block : size;
}

static enum kiln_dtype choose_scale_dtype(struct kiln_random_generator *generator)
{
    uint32_t narrow = generator->options->dtypes >> KILN_DTYPE_E8M0 & 1;
    if (narrow != 0 && kiln_random_chance(&generator->random, 60))
        return KILN_DTYPE_E8M0;
    enum kiln_dtype dtype = kiln_random_choose_dtype(generator);
    return kiln_dtype_is_integer(dtype) ? KILN_DTYPE_F32 : dtype;
}

static uint32_t append_scaled(struct kiln_random_generator *generator)
{
    struct kiln_random_shape shape = generator->shapes[0];
    if (generator->graph.tensor_count == 0) {
        static const uint8_t sizes[] = {1, 3, 5, 8, 17, 32, 40, 64};
        struct kiln_random_dims dims = {.rank = 1 + kiln_random_below(&generator->random, 3)};
        for (uint32_t i = 0; i < dims.rank; i++)
            dims.sizes[i] =
                sizes[kiln_random_below(&generator->random, i + 1 == dims.rank ? 8 : 5)];
        if (!kiln_random_find_shape(generator, &dims, &shape))
            return KILN_NONE;
    }
    enum kiln_dtype dtype = kiln_random_choose_dtype(generator);
    if (shape.rank == 0)
        return KILN_NONE;
    return kiln_random_append_source(
        generator, &shape, dtype == KILN_DTYPE_BOOL ? KILN_DTYPE_I8 : dtype, KILN_RANDOM_ANY);
}

bool kiln_random_append_dequantize(struct kiln_random_generator *generator)
{
    struct kiln_random *random = &generator->random;
    uint32_t x = kiln_random_chance(random, 55) ? find_scaled(generator) : KILN_NONE;
    if (x == KILN_NONE)
        x = append_scaled(generator);
    if (x == KILN_NONE)
        return false;
    uint32_t before = x;
    if (kiln_random_chance(random, 30))
        x = kiln_random_append_steps(generator, x, 1 + kiln_random_below(random, MOST_STEPS));
    x = is_scaled(generator, x) ? x : before;
    struct kiln_random_dims dims = kiln_random_dims_of(generator, x);
    struct kiln_block_scale block_scale = {.block_count = dims.rank,
                                           .is_negative = kiln_random_chance(random, 20)};
    struct kiln_random_dims of_scale = {.rank = dims.rank};
    bool is_last = kiln_random_chance(random, 60);
    for (uint32_t i = 0; i < dims.rank; i++) {
        bool has_block = !is_last || i + 1 == dims.rank;
        block_scale.blocks[i] = has_block ? choose_block(random, dims.sizes[i]) : 1;
        of_scale.sizes[i] = (dims.sizes[i] - 1) / block_scale.blocks[i] + 1;
    }
    struct kiln_random_shape scale_shape;
    if (!kiln_random_find_shape(generator, &of_scale, &scale_shape))
        return false;
    uint32_t scale = kiln_random_append_source(generator, &scale_shape,
                                               choose_scale_dtype(generator), KILN_RANDOM_POSITIVE);
    uint32_t given = scale;
    if (kiln_random_chance(random, 15))
        scale = kiln_random_append_steps(generator, scale, 1);
    if (kiln_dtype_is_integer(generator->graph.tensors[scale].dtype))
        scale = given;
    struct kiln_node *node = kiln_random_append_node(generator, KILN_NODE_BLOCK_SCALE_DEQUANTIZE);
    node->block_scale = block_scale;
    kiln_random_add_input(generator, node, KILN_OPERAND_X, x);
    kiln_random_add_input(generator, node, KILN_OPERAND_SCALE, scale);
    enum kiln_dtype dtype = kiln_random_choose_dtype(generator);
    if (dtype == KILN_DTYPE_BOOL)
        dtype = KILN_DTYPE_F32;
    struct kiln_random_shape result = generator->shapes[x];
    (void)kiln_random_add_output(generator, node, KILN_OPERAND_Y, &result, dtype);
    return true;
}
