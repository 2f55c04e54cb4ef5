/* Block-scale quantisation of tensors that the graph has or of new ones, perhaps with pointwise
 * nodes before and after it. */
#include "tests/support/random_graph_generator.h"

enum { OPERANDS_TRIED = 8, TRIES = 8, MOST_STEPS = 3 };

/* One of a list of types that the options allow. Narrow types, which elements and scales are often
 * of, need no leave. False if they allow none. */
static bool choose_of(struct kiln_random_generator *generator, const enum kiln_dtype *types,
                      uint32_t count, enum kiln_dtype *ret_type)
{
    enum kiln_dtype allowed[KILN_DTYPE_COUNT];
    uint32_t allowed_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (((generator->options->dtypes | KILN_RANDOM_NARROW_DTYPES) >> types[i] & 1) != 0)
            allowed[allowed_count++] = types[i];
    }
    if (allowed_count != 0)
        *ret_type = allowed[kiln_random_below(&generator->random, allowed_count)];
    return allowed_count != 0;
}

static bool choose_types(struct kiln_random_generator *generator, enum kiln_dtype *ret_elements,
                         enum kiln_dtype *ret_scales)
{
    static const enum kiln_dtype elements[] = {
        KILN_DTYPE_F8E4M3, KILN_DTYPE_F8E5M2, KILN_DTYPE_F8E4M3FNUZ, KILN_DTYPE_F8E5M2FNUZ,
        KILN_DTYPE_I8,     KILN_DTYPE_U8,     KILN_DTYPE_I32,        KILN_DTYPE_F16,
        KILN_DTYPE_BF16,   KILN_DTYPE_F32,    KILN_DTYPE_F4E2M1,     KILN_DTYPE_F4E2M1,
        KILN_DTYPE_F6E2M3, KILN_DTYPE_F6E3M2};
    static const enum kiln_dtype scales[] = {KILN_DTYPE_E8M0, KILN_DTYPE_E8M0, KILN_DTYPE_F32,
                                             KILN_DTYPE_F16, KILN_DTYPE_BF16};
    return choose_of(generator, elements, sizeof elements / sizeof *elements, ret_elements) &&
           choose_of(generator, scales, sizeof scales / sizeof *scales, ret_scales);
}

static bool is_element_type(enum kiln_dtype dtype)
{
    return dtype != KILN_DTYPE_F64 && dtype != KILN_DTYPE_I64 && dtype != KILN_DTYPE_BOOL &&
           dtype != KILN_DTYPE_E8M0 && dtype != KILN_DTYPE_I4;
}

/* A tensor that can be quantised: often what nobody reads yet. */
static uint32_t find_operand(struct kiln_random_generator *generator)
{
    struct kiln_random *random = &generator->random;
    uint32_t count = generator->graph.tensor_count;
    for (uint32_t i = 0; count != 0 && i < OPERANDS_TRIED; i++) {
        uint32_t ordinal = count - 1 - kiln_random_below(random, count);
        const struct kiln_tensor *tensor = &generator->graph.tensors[ordinal];
        if (is_element_type(tensor->dtype) && tensor->rank != 0 &&
            (!generator->read[ordinal] || kiln_random_chance(random, 40)))
            return ordinal;
    }
    return KILN_NONE;
}

/* Blocks of a usual size, of any that divides the axis, all of it, or any size. */
static int64_t choose_block_size(struct kiln_random *random, int64_t size)
{
    static const uint8_t usual[] = {32, 16, 64, 128, 8, 4, 2};
    if (kiln_random_chance(random, 10))
        return size;
    if (kiln_random_chance(random, 25)) /* a short last block, perhaps */
        return 1 + kiln_random_below(random, (uint32_t)(size < 100 ? size : 100));
    for (uint32_t i = 0; i < sizeof usual && kiln_random_chance(random, 85); i++) {
        if (size % usual[i] == 0)
            return usual[i];
    }
    int64_t block_size = 1 + kiln_random_below(random, (uint32_t)(size < 300 ? size : 300));
    while (size % block_size != 0)
        block_size--;
    return block_size;
}

static void choose_dims(struct kiln_random_generator *generator, struct kiln_random_dims *dims)
{
    static const uint16_t sizes[] = {1, 2, 3, 4, 7, 16, 24, 32, 33, 64, 96, 128, 160, 256, 1024};
    struct kiln_random *random = &generator->random;
    int64_t left = generator->options->max_elements;
    dims->rank = 1 + kiln_random_below(random, 4);
    if (dims->rank > generator->options->max_rank)
        dims->rank = generator->options->max_rank;
    for (uint32_t i = dims->rank; i-- > 0;) {
        uint32_t count = 1;
        while (count < sizeof sizes / sizeof *sizes && sizes[count] <= left)
            count++;
        dims->sizes[i] = sizes[kiln_random_below(random, count)];
        left /= dims->sizes[i];
    }
}

/* Elements or scales take part in something else. */
static void append_readers(struct kiln_random_generator *generator, uint32_t tensor)
{
    if (kiln_random_chance(&generator->random, 25))
        (void)kiln_random_append_steps(generator, tensor,
                                       1 + kiln_random_below(&generator->random, 2));
}

/* A product whose rows have whole blocks, or a shorter last one; KILN_NONE if it would be too
 * large. */
static uint32_t append_product(struct kiln_random_generator *generator, int64_t block_size)
{
    static const uint8_t rows[] = {1, 5, 16, 33, 40, 64, 70, 130};
    static const uint8_t sums[] = {1, 7, 16, 24, 33, 64, 128, 200};
    enum { MOST_BLOCKS = 5, MOST_BATCHES = 3 };
    struct kiln_random *random = &generator->random;
    struct kiln_random_shape shapes[3];
    int64_t m = rows[kiln_random_below(random, sizeof rows)];
    int64_t k = sums[kiln_random_below(random, sizeof sums)];
    int64_t n =
        block_size *
        (kiln_random_chance(random, 10) ? 1 : 2 + kiln_random_below(random, MOST_BLOCKS - 1));
    if (kiln_random_chance(random, 20))
        n -= kiln_random_below(random, (uint32_t)block_size);
    struct kiln_random_dims dims[] = {{2, {m, k}}, {2, {k, n}}, {2, {m, n}}};
    bool has_batches = generator->options->max_rank > 2 && kiln_random_chance(random, 25);
    int64_t batches = has_batches ? 1 + kiln_random_below(random, MOST_BATCHES) : 1;
    for (uint32_t i = 0; i < 3; i++) {
        if (has_batches)
            dims[i] = (struct kiln_random_dims){
                3, {i == 1 ? 1 : batches, dims[i].sizes[0], dims[i].sizes[1]}};
        if (kiln_random_count_elements(&dims[i]) > generator->options->max_elements ||
            !kiln_random_find_shape(generator, &dims[i], &shapes[i]))
            return KILN_NONE;
    }
    uint32_t a = kiln_random_append_factor(generator, &shapes[0], KILN_NONE);
    uint32_t b = kiln_random_append_factor(generator, &shapes[1], a);
    struct kiln_node *node = kiln_random_append_node(generator, KILN_NODE_MATMUL);
    kiln_random_add_input(generator, node, KILN_OPERAND_A, a);
    kiln_random_add_input(generator, node, KILN_OPERAND_B, b);
    return kiln_random_add_output(generator, node, KILN_OPERAND_C, &shapes[2],
                                  kiln_random_choose_sum_dtype(generator, a, b));
}

static bool try_quantize(struct kiln_random_generator *generator)
{
    static const uint8_t product_blocks[] = {8, 16, 32, 32, 64, 128};
    struct kiln_random *random = &generator->random;
    uint32_t x = kiln_random_chance(random, 60) ? find_operand(generator) : KILN_NONE;
    int64_t product_block = 0;
    uint32_t families = generator->options->families;
    bool may_multiply = (families & KILN_RANDOM_PRODUCTS) != 0 &&
                        generator->options->max_rank > 1 &&
                        generator->graph.node_count + 1 < generator->node_limit;
    if (may_multiply && kiln_random_chance(random, families == KILN_RANDOM_ALL ? 40 : 80)) {
        product_block = product_blocks[kiln_random_below(random, sizeof product_blocks)];
        x = append_product(generator, product_block);
        product_block = x == KILN_NONE ? 0 : product_block;
    }
    enum kiln_dtype y_type, scale_type;
    struct kiln_random_dims dims;
    struct kiln_random_shape shape, scales;
    if (!choose_types(generator, &y_type, &scale_type))
        return false;
    if (x != KILN_NONE)
        dims = kiln_random_dims_of(generator, x);
    else
        choose_dims(generator, &dims);
    bool is_last = product_block != 0 || kiln_random_chance(random, 60);
    uint32_t axis = is_last ? dims.rank - 1 : kiln_random_below(random, dims.rank);
    struct kiln_block_quantize attributes = {
        .axis = axis,
        .block_size =
            product_block != 0 ? product_block : choose_block_size(random, dims.sizes[axis])};
    if (attributes.block_size > dims.sizes[axis])
        attributes.block_size = dims.sizes[axis];
    struct kiln_random_dims scale_dims = dims;
    scale_dims.sizes[axis] = (dims.sizes[axis] - 1) / attributes.block_size + 1;
    bool is_split = attributes.block_size != 1 && scale_dims.sizes[axis] != 1;
    if ((is_split && dims.rank == KILN_MAX_RANK) ||
        !kiln_random_find_shape(generator, &dims, &shape) ||
        !kiln_random_find_shape(generator, &scale_dims, &scales))
        return false;
    if (x == KILN_NONE)
        x = kiln_random_append_factor(generator, &shape, KILN_NONE);
    uint32_t before = x;
    if (kiln_random_chance(random, 50))
        x = kiln_random_append_steps(generator, x, 1 + kiln_random_below(random, MOST_STEPS));
    x = is_element_type(generator->graph.tensors[x].dtype) ? x : before;
    if (!is_element_type(generator->graph.tensors[x].dtype))
        return false;
    struct kiln_node *node = kiln_random_append_node(generator, KILN_NODE_BLOCK_SCALE_QUANTIZE);
    node->block_quantize = attributes;
    kiln_random_add_input(generator, node, KILN_OPERAND_X, x);
    uint32_t y = kiln_random_add_output(generator, node, KILN_OPERAND_Y, &shape, y_type);
    uint32_t scale =
        kiln_random_add_output(generator, node, KILN_OPERAND_SCALE, &scales, scale_type);
    if (generator->graph.node_count + 2 * MOST_STEPS < generator->node_limit) {
        append_readers(generator, y);
        append_readers(generator, scale);
    }
    return true;
}

bool kiln_random_append_blocks(struct kiln_random_generator *generator)
{
    for (uint32_t i = 0; i < TRIES; i++) {
        uint32_t nodes = generator->graph.node_count;
        if (try_quantize(generator) || generator->graph.node_count != nodes)
            return true;
    }
    return false;
}
