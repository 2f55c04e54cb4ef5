/*
 * Factors of matrix products and convolutions: shapes of any sizes, types with a rule, and what is
 * computed of a factor on its way into the product.
 */
#include "tests/support/random_graph_generator.h"

#include <string.h>

#define MODES(...)                                                                                 \
    (const enum kiln_pointwise_mode[])                                                             \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

enum { OPERANDS_TRIED = 8 };

/* ---- shapes ---- */

struct kiln_random_dims kiln_random_dims_of(const struct kiln_random_generator *generator,
                                            uint32_t ordinal)
{
    const struct kiln_tensor *tensor = &generator->graph.tensors[ordinal];
    struct kiln_random_dims dims = {.rank = tensor->rank};
    memcpy(dims.sizes, tensor->dims, sizeof dims.sizes);
    return dims;
}

int64_t kiln_random_count_elements(const struct kiln_random_dims *dims)
{
    int64_t count = 1;
    for (uint32_t i = 0; i < dims->rank; i++)
        count *= dims->sizes[i];
    return count;
}

static bool describe(const struct kiln_random_generator *generator, uint32_t frame,
                     const struct kiln_random_dims *dims, struct kiln_random_shape *ret_shape)
{
    *ret_shape = (struct kiln_random_shape){.rank = dims->rank, .frame = frame};
    if (generator->frames[frame].rank < dims->rank)
        return false;
    for (uint32_t axis = 0; axis < dims->rank; axis++) {
        int64_t size = dims->sizes[dims->rank - 1 - axis];
        if (size == generator->frames[frame].dims[axis])
            ret_shape->full_axes |= UINT32_C(1) << axis;
        else if (size != 1)
            return false;
    }
    return true;
}

bool kiln_random_find_shape(struct kiln_random_generator *generator,
                            const struct kiln_random_dims *dims,
                            struct kiln_random_shape *ret_shape)
{
    for (uint32_t frame = 0; frame < generator->frame_count; frame++) {
        if (describe(generator, frame, dims, ret_shape))
            return true;
    }
    if (generator->frame_count == KILN_RANDOM_MAX_FRAMES)
        return false;
    struct kiln_random_frame *frame = &generator->frames[generator->frame_count];
    frame->rank = dims->rank;
    for (uint32_t axis = 0; axis < dims->rank; axis++)
        frame->dims[axis] = dims->sizes[dims->rank - 1 - axis];
    return describe(generator, generator->frame_count++, dims, ret_shape);
}

/* ---- operands ---- */

static bool has_rule(enum kiln_dtype dtype)
{
    return !kiln_dtype_is_integer(dtype) || dtype == KILN_DTYPE_I4 || dtype == KILN_DTYPE_I8 ||
           dtype == KILN_DTYPE_U8;
}

bool kiln_random_is_factor(const struct kiln_random_generator *generator, uint32_t ordinal)
{
    enum kiln_dtype dtype = generator->graph.tensors[ordinal].dtype;
    return has_rule(dtype) && generator->graph.tensors[ordinal].rank >= 2;
}

/* A type with a rule, one that the options allow if any is. */
static enum kiln_dtype choose_factor_dtype(struct kiln_random_generator *generator)
{
    enum kiln_dtype allowed[KILN_DTYPE_COUNT];
    uint32_t count = 0;
    for (uint32_t i = 0; i < generator->dtype_count; i++) {
        enum kiln_dtype dtype = generator->dtypes[i];
        if (has_rule(dtype))
            allowed[count++] = dtype;
    }
    if (count == 0)
        return KILN_DTYPE_F32;
    enum kiln_dtype dtype = kiln_random_choose_dtype(generator);
    for (uint32_t i = 0; i < count && kiln_random_chance(&generator->random, 80); i++) {
        if (allowed[i] == dtype)
            return dtype;
    }
    return allowed[kiln_random_below(&generator->random, count)];
}

uint32_t kiln_random_find_factor(struct kiln_random_generator *generator,
                                 const struct kiln_random_dims *dims)
{
    struct kiln_random *random = &generator->random;
    uint32_t count = generator->graph.tensor_count;
    for (uint32_t i = 0; count != 0 && i < OPERANDS_TRIED; i++) {
        uint32_t reach = kiln_random_chance(random, 50) && count > 4 ? 4 : count;
        uint32_t ordinal = count - 1 - kiln_random_below(random, reach);
        struct kiln_random_dims found = kiln_random_dims_of(generator, ordinal);
        if (kiln_random_is_factor(generator, ordinal) &&
            (dims == NULL ||
             (found.rank == dims->rank &&
              memcmp(found.sizes, dims->sizes, found.rank * sizeof *found.sizes) == 0)))
            return ordinal;
    }
    return KILN_NONE;
}

/* One pointwise node over a factor: x, a scale or a zero point beside it, or a function of it. */
static uint32_t append_step(struct kiln_random_generator *generator, uint32_t x)
{
    struct kiln_random *random = &generator->random;
    if (kiln_random_chance(random, 40)) {
        return kiln_random_append_pointwise(generator,
                                            MODES(KILN_POINTWISE_IDENTITY, KILN_POINTWISE_RELU_FWD,
                                                  KILN_POINTWISE_SIGMOID_FWD, KILN_POINTWISE_NEG,
                                                  KILN_POINTWISE_ABS, KILN_POINTWISE_GELU_FWD,
                                                  KILN_POINTWISE_EXP, KILN_POINTWISE_TANH_FWD),
                                            8, &x);
    }
    const uint64_t binary = UINT64_C(1) << KILN_POINTWISE_MUL | UINT64_C(1) << KILN_POINTWISE_SUB |
                            UINT64_C(1) << KILN_POINTWISE_ADD;
    if ((generator->options->modes & binary) != binary) /* nobody would read the source */
        return KILN_NONE;
    struct kiln_random_shape shape =
        kiln_random_choose_operand_shape(generator, &generator->shapes[x]);
    uint32_t operands[] = {x, kiln_random_append_source(generator, &shape,
                                                        kiln_random_choose_dtype(generator),
                                                        KILN_RANDOM_ANY)};
    return kiln_random_append_pointwise(
        generator,
        MODES(KILN_POINTWISE_MUL, KILN_POINTWISE_MUL, KILN_POINTWISE_SUB, KILN_POINTWISE_ADD), 4,
        operands);
}

uint32_t kiln_random_append_factor(struct kiln_random_generator *generator,
                                   const struct kiln_random_shape *shape, uint32_t other)
{
    enum kiln_dtype dtype = choose_factor_dtype(generator);
    if (other != KILN_NONE && kiln_random_chance(&generator->random, 65))
        dtype = generator->graph.tensors[other].dtype;
    return kiln_random_append_source(generator, shape, dtype, KILN_RANDOM_FACTOR);
}

uint32_t kiln_random_append_steps(struct kiln_random_generator *generator, uint32_t x,
                                  uint32_t count)
{
    for (uint32_t i = 0; i < count && generator->graph.node_count + 1 < generator->node_limit;
         i++) {
        uint32_t next = append_step(generator, x);
        if (next == KILN_NONE || !kiln_random_is_factor(generator, next))
            break;
        x = next;
    }
    return x;
}

enum kiln_dtype kiln_random_choose_sum_dtype(struct kiln_random_generator *generator, uint32_t left,
                                             uint32_t right)
{
    bool both_integer = kiln_dtype_is_integer(generator->graph.tensors[left].dtype) &&
                        kiln_dtype_is_integer(generator->graph.tensors[right].dtype);
    enum kiln_dtype dtype = kiln_random_choose_dtype(generator);
    if (both_integer && (generator->options->dtypes >> KILN_DTYPE_I32 & 1) != 0 &&
        kiln_random_chance(&generator->random, 70))
        return KILN_DTYPE_I32;
    return dtype;
}
