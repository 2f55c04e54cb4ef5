#include "tests/support/random_graph.h"
#include "compiler/reference/convert.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- random numbers: splitmix64 (Steele, Lea, Flood 2014) ---- */

struct random {
    uint64_t state;
};

static uint64_t next(struct random *random)
{
    uint64_t z = random->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static uint32_t below(struct random *random, uint32_t count)
{
    return (uint32_t)((next(random) >> 32) * count >> 32);
}

static bool chance(struct random *random, uint32_t percent)
{
    return below(random, 100) < percent;
}

static double uniform(struct random *random, double low, double high)
{
    return low + (high - low) * ((double)(next(random) >> 11) * 0x1p-53);
}

/* ---- shapes ---- */

enum { MAX_OPERANDS_TRIED = 8 };

/* Every shape of a graph is the full shape with some axes at 1 and perhaps the leading ones left
 * out. */
struct shape {
    uint32_t rank;
    uint32_t full_axes; /* bit i: axis i counted from the right has its full size */
};

struct generator {
    struct random random;
    const struct kiln_random_graph_options *options;
    uint32_t rank; /* the full shape, axis 0 the last one */
    int64_t dims[KILN_MAX_RANK];
    enum kiln_dtype dtypes[KILN_DTYPE_COUNT];
    uint32_t dtype_count;
    enum kiln_pointwise_mode modes[KILN_POINTWISE_MODE_COUNT];
    uint32_t mode_count;
    enum kiln_dtype compute_type; /* of all nodes, in the older layout */
    struct kiln_graph graph;
    struct shape *shapes; /* per tensor */
    bool *read;           /* per tensor */
};

void kiln_random_graph_options_init(struct kiln_random_graph_options *ret_options)
{
    *ret_options = (struct kiln_random_graph_options){
        .min_nodes = 1,
        .max_nodes = 40,
        .max_elements = 2000,
        .max_rank = KILN_MAX_RANK,
        .dtypes = UINT32_MAX,
        .modes = UINT64_MAX,
        .special_values = true,
        .era = KILN_WIRE_ERA_CURRENT,
    };
}

static void choose_full_shape(struct generator *generator)
{
    static const uint16_t sizes[] = {1,  2,  2,  3,  3,  4,  5,  7,   8,   8,   13,  16,
                                     17, 30, 31, 32, 33, 64, 65, 100, 127, 128, 257, 1000};
    struct random *random = &generator->random;
    uint32_t rank = chance(random, 80) ? 1 + below(random, 4) : below(random, KILN_MAX_RANK + 1);
    generator->rank = rank < generator->options->max_rank ? rank : generator->options->max_rank;
    /* The target is spread over orders of magnitude: many small graphs, some large. */
    double limit = (double)generator->options->max_elements;
    double left = exp(uniform(random, log(limit) / 4, log(limit)));
    for (uint32_t i = 0; i < generator->rank; i++)
        generator->dims[i] = 1;
    for (uint32_t tries = 0; tries < 2 * generator->rank; tries++) {
        uint32_t axis = below(random, generator->rank);
        int64_t size = sizes[below(random, sizeof sizes / sizeof *sizes)];
        if (generator->dims[axis] != 1 || (double)size > left)
            continue;
        generator->dims[axis] = size;
        left /= (double)size;
    }
}

static bool fits(const struct shape *shape, const struct shape *result)
{
    return shape->rank <= result->rank && (shape->full_axes & ~result->full_axes) == 0;
}

/* A shape that can be broadcast to `result`. */
static struct shape choose_operand_shape(struct generator *generator, const struct shape *result)
{
    struct random *random = &generator->random;
    struct shape shape = *result;
    if (chance(random, 60))
        return shape;
    if (chance(random, 30)) {
        shape.full_axes = 0; /* one element */
        shape.rank = below(random, result->rank + 1);
        return shape;
    }
    shape.full_axes &= (uint32_t)next(random);
    if (chance(random, 40)) {
        while (shape.rank > 0 && (shape.full_axes >> (shape.rank - 1) & 1) == 0)
            shape.rank--;
    }
    return shape;
}

static struct shape choose_result_shape(struct generator *generator, const struct shape *operand)
{
    struct random *random = &generator->random;
    uint32_t all = generator->rank == 0 ? 0 : (UINT32_C(1) << generator->rank) - 1;
    struct shape shape = {generator->rank, all};
    if (chance(random, 75))
        return shape;
    shape.full_axes = operand->full_axes | (chance(random, 50) ? 0 : (uint32_t)next(random) & all);
    return shape;
}

/* ---- tensors ---- */

static enum kiln_dtype choose_dtype(struct generator *generator)
{
    static const enum kiln_dtype likely[] = {KILN_DTYPE_F32, KILN_DTYPE_F32, KILN_DTYPE_F32,
                                             KILN_DTYPE_F16, KILN_DTYPE_BF16};
    struct random *random = &generator->random;
    if (chance(random, 75)) {
        enum kiln_dtype dtype = likely[below(random, sizeof likely / sizeof *likely)];
        for (uint32_t i = 0; i < generator->dtype_count; i++) {
            if (generator->dtypes[i] == dtype)
                return dtype;
        }
    }
    return generator->dtypes[below(random, generator->dtype_count)];
}

/* Memory order of the axes, outermost first: as they are, channels last, or anything. */
static void choose_axis_order(struct random *random, uint32_t rank, uint32_t *ret_order)
{
    for (uint32_t i = 0; i < rank; i++)
        ret_order[i] = i;
    uint32_t kind = below(random, 100);
    if (kind < 55 || rank < 2)
        return;
    if (kind < 80 && rank >= 3) {
        memmove(ret_order + 1, ret_order + 2, (rank - 2) * sizeof *ret_order);
        ret_order[rank - 1] = 1;
        return;
    }
    for (uint32_t i = rank; i > 1; i--) {
        uint32_t j = below(random, i), axis = ret_order[i - 1];
        ret_order[i - 1] = ret_order[j];
        ret_order[j] = axis;
    }
}

static void choose_strides(struct random *random, struct kiln_tensor *tensor)
{
    uint32_t order[KILN_MAX_RANK] = {0};
    choose_axis_order(random, tensor->rank, order);
    bool padded = chance(random, 20);
    bool repeats = tensor->role == KILN_TENSOR_INPUT && chance(random, 8);
    int64_t stride = padded && chance(random, 30) ? 2 : 1;
    for (uint32_t i = tensor->rank; i-- > 0;) {
        uint32_t axis = order[i];
        int64_t dim = tensor->dims[axis];
        bool zero = dim == 1 || (repeats && chance(random, 40));
        tensor->strides[axis] = zero ? 0 : stride;
        if (zero)
            continue;
        stride *= dim;
        if (padded && chance(random, 50))
            stride += 1 + below(random, 8);
    }
}

static uint32_t append_tensor(struct generator *generator, enum kiln_dtype dtype,
                              const struct shape *shape)
{
    uint32_t ordinal = generator->graph.tensor_count++;
    struct kiln_tensor *tensor = &generator->graph.tensors[ordinal];
    generator->shapes[ordinal] = *shape;
    tensor->uid = 7 * (int64_t)ordinal; /* uid 0 included */
    tensor->name = "";
    tensor->dtype = dtype;
    tensor->rank = shape->rank;
    tensor->producer = KILN_NONE;
    tensor->alignment_bytes = 16;
    for (uint32_t i = 0; i < shape->rank; i++) {
        uint32_t from_right = shape->rank - 1 - i;
        tensor->dims[i] =
            (shape->full_axes >> from_right & 1) != 0 ? generator->dims[from_right] : 1;
    }
    return ordinal;
}

static double choose_number(struct random *random, bool positive)
{
    if (positive)
        return exp(uniform(random, -2, 1.4));
    return chance(random, 50) ? uniform(random, -1, 1) : uniform(random, -4, 4);
}

static struct kiln_constant choose_element(struct random *random, enum kiln_dtype dtype,
                                           bool positive)
{
    struct kiln_constant value = {0};
    switch (dtype) {
    case KILN_DTYPE_BOOL:
        value.integer = below(random, 2);
        break;
    case KILN_DTYPE_U8:
    case KILN_DTYPE_I8:
    case KILN_DTYPE_I32:
    case KILN_DTYPE_I64: {
        /* Mostly small; sometimes the whole range, where int32 wraps and float can't follow. */
        unsigned bits = 8u * kiln_dtype_info(dtype)->bytes;
        unsigned kept = chance(random, 85) ? 4 : bits;
        value.integer = (int64_t)next(random) >> (64 - kept);
        if (positive || dtype == KILN_DTYPE_U8)
            value.integer &= (int64_t)((UINT64_C(1) << (kept - 1)) - 1);
        value.integer += positive && value.integer == 0;
        break;
    }
    default:
        value.real = kiln_round_to_dtype(dtype, choose_number(random, positive));
        return value;
    }
    value.real = (double)value.integer;
    return value;
}

static struct kiln_constant choose_special(struct random *random, enum kiln_dtype dtype)
{
    static const double specials[] = {INFINITY,  -INFINITY, NAN,  0.0,   -0.0,  0x1p-149,
                                      -0x1p-130, 0x1p-24,   1e-3, 65504, -3e38, 1e30,
                                      88.7,      -103.9,    1e5,  -12.5, 0.5,   -0.5};
    double value = specials[below(random, sizeof specials / sizeof *specials)];
    struct kiln_constant constant = {.real = kiln_round_to_dtype(dtype, value)};
    if (kiln_dtype_is_integer(dtype))
        constant.integer = kiln_round_to_integer(constant.real, INT64_MIN, INT64_MAX);
    return constant;
}

/* A tensor that the graph doesn't make: an input, or a scalar in one of its three guises. */
static uint32_t append_source(struct generator *generator, const struct shape *result,
                              enum kiln_dtype dtype)
{
    struct random *random = &generator->random;
    struct shape shape = choose_operand_shape(generator, result);
    uint32_t ordinal = append_tensor(generator, dtype, &shape);
    struct kiln_tensor *tensor = &generator->graph.tensors[ordinal];
    tensor->role = KILN_TENSOR_INPUT;
    bool current = generator->options->era == KILN_WIRE_ERA_CURRENT;
    if (kiln_tensor_elements(tensor) == 1) {
        uint32_t kind = below(random, 100);
        if (kind < 50) {
            tensor->role = KILN_TENSOR_CONSTANT;
            tensor->constant = choose_element(random, dtype, chance(random, 50));
        } else if (kind < 70 && current) {
            tensor->role = KILN_TENSOR_HOST_SCALAR;
        }
    }
    choose_strides(random, tensor);
    if (current && tensor->role == KILN_TENSOR_INPUT && chance(random, 10))
        tensor->alignment_bytes = chance(random, 50) ? kiln_dtype_info(dtype)->bytes : 64;
    return ordinal;
}

/* ---- nodes ---- */

/* Modes whose given operand must be positive, or at least not zero, to say anything. */
static bool wants_positive(enum kiln_pointwise_mode mode, uint32_t slot)
{
    switch (mode) {
    case KILN_POINTWISE_LOG:
    case KILN_POINTWISE_RECIPROCAL:
    case KILN_POINTWISE_RSQRT:
    case KILN_POINTWISE_SQRT:
        return slot == 0;
    case KILN_POINTWISE_DIV:
        return slot == 1;
    default:
        return false;
    }
}

/* An earlier tensor that can be an operand of `result`; KILN_NONE when none was found. */
static uint32_t find_operand(struct generator *generator, const struct shape *result)
{
    struct random *random = &generator->random;
    uint32_t count = generator->graph.tensor_count;
    for (uint32_t i = 0; count != 0 && i < MAX_OPERANDS_TRIED; i++) {
        /* Recent tensors are likelier: chains as well as wide graphs. */
        uint32_t reach = chance(random, 50) && count > 4 ? 4 : count;
        uint32_t ordinal = count - 1 - below(random, reach);
        if (fits(&generator->shapes[ordinal], result))
            return ordinal;
    }
    return KILN_NONE;
}

static double choose_float(struct random *random, const float *values, uint32_t count)
{
    return (double)values[below(random, count)];
}

static struct kiln_pointwise choose_attributes(struct generator *generator,
                                               enum kiln_pointwise_mode mode, uint32_t rank)
{
    static const float lowers[] = {0, 0, -0.5F, 0.25F}, uppers[] = {1, 6, 0.75F};
    static const float slopes[] = {0, 0.01F, 0.125F}, factors[] = {1, 0.5F, 1.7F, 2};
    struct random *random = &generator->random;
    struct kiln_pointwise attributes = {
        .mode = mode,
        .relu_upper_clip = INFINITY,
        .swish_beta = 1,
        .elu_alpha = 1,
        .softplus_beta = 1,
    };
    switch (mode) {
    case KILN_POINTWISE_RELU_FWD:
    case KILN_POINTWISE_RELU_BWD:
        attributes.has_relu_parameter = chance(random, 60);
        if (!attributes.has_relu_parameter)
            break;
        attributes.relu_lower_clip = choose_float(random, lowers, 4);
        if (chance(random, 50))
            attributes.relu_upper_clip = choose_float(random, uppers, 3);
        attributes.relu_lower_clip_slope = choose_float(random, slopes, 3);
        break;
    case KILN_POINTWISE_ELU_FWD:
    case KILN_POINTWISE_ELU_BWD:
        attributes.elu_alpha = choose_float(random, factors, 4);
        break;
    case KILN_POINTWISE_SWISH_FWD:
    case KILN_POINTWISE_SWISH_BWD:
        attributes.swish_beta = choose_float(random, factors, 4);
        break;
    case KILN_POINTWISE_SOFTPLUS_FWD:
    case KILN_POINTWISE_SOFTPLUS_BWD:
        attributes.softplus_beta = choose_float(random, factors, 4);
        break;
    case KILN_POINTWISE_GEN_INDEX:
        attributes.axis = below(random, rank);
        break;
    default:
        break;
    }
    return attributes;
}

/* Integers stay integers where the mode can compute on them, else they would all be floats after a
 * few nodes. */
static enum kiln_dtype choose_result_dtype(struct generator *generator,
                                           const struct kiln_node *node)
{
    enum kiln_dtype first = generator->graph.tensors[node->inputs[0]].dtype;
    bool keeps =
        kiln_dtype_is_integer(first) && kiln_pointwise_mode_info(node->pointwise.mode)->integer;
    if (chance(&generator->random, keeps ? 60 : 15))
        return first;
    return choose_dtype(generator);
}

static enum kiln_dtype choose_compute_type(struct generator *generator)
{
    if (generator->options->era == KILN_WIRE_ERA_NOV2025)
        return generator->compute_type;
    uint32_t kind = below(&generator->random, 100);
    return kind < 4    ? KILN_DTYPE_F64
           : kind < 10 ? KILN_DTYPE_F16
           : kind < 15 ? KILN_DTYPE_BF16
                       : KILN_DTYPE_F32;
}

static void append_node(struct generator *generator)
{
    struct random *random = &generator->random;
    uint32_t index = generator->graph.node_count++;
    struct kiln_node *node = &generator->graph.nodes[index];
    enum kiln_pointwise_mode mode = generator->modes[below(random, generator->mode_count)];
    struct shape any = {0, 0};
    /* The first operand is an earlier tensor, so that the graph hangs together. */
    uint32_t first = index == 0 ? KILN_NONE
                                : generator->graph.tensor_count - 1 -
                                      below(random, generator->graph.tensor_count);
    struct shape result =
        choose_result_shape(generator, first == KILN_NONE ? &any : &generator->shapes[first]);
    if (mode == KILN_POINTWISE_GEN_INDEX && result.rank == 0)
        mode = KILN_POINTWISE_IDENTITY;
    node->kind = KILN_NODE_POINTWISE;
    node->name = "";
    node->compute_type = choose_compute_type(generator);
    node->input_count = kiln_pointwise_mode_info(mode)->arity;
    uint32_t first_slot = below(random, node->input_count);
    for (uint32_t slot = 0; slot < node->input_count; slot++) {
        uint32_t operand = slot == first_slot ? first : KILN_NONE;
        bool fresh = wants_positive(mode, slot) && chance(random, 60) && node->input_count > 1;
        if (operand == KILN_NONE && !fresh && chance(random, 60))
            operand = find_operand(generator, &result);
        if (operand == KILN_NONE)
            operand = append_source(generator, &result, choose_dtype(generator));
        generator->read[operand] = true;
        node->inputs[slot] = operand;
    }
    node->pointwise = choose_attributes(generator, mode, result.rank);
    node->output_count = 1;
    node->outputs[0] = append_tensor(generator, choose_result_dtype(generator, node), &result);
    struct kiln_tensor *output = &generator->graph.tensors[node->outputs[0]];
    output->producer = index;
    output->role = KILN_TENSOR_OUTPUT;
    choose_strides(random, output);
}

static void choose_outputs(struct generator *generator)
{
    for (uint32_t i = 0; i < generator->graph.tensor_count; i++) {
        struct kiln_tensor *tensor = &generator->graph.tensors[i];
        if (tensor->producer != KILN_NONE && generator->read[i] && chance(&generator->random, 80))
            tensor->role = KILN_TENSOR_VIRTUAL;
    }
}

static void collect_choices(struct generator *generator)
{
    static const uint32_t nov2025_dtypes = 1u << KILN_DTYPE_F32 | 1u << KILN_DTYPE_F16 |
                                           1u << KILN_DTYPE_BF16 | 1u << KILN_DTYPE_F64 |
                                           1u << KILN_DTYPE_U8 | 1u << KILN_DTYPE_I32;
    uint32_t dtypes = generator->options->dtypes;
    if (generator->options->era == KILN_WIRE_ERA_NOV2025)
        dtypes &= nov2025_dtypes;
    for (uint32_t i = 0; i < KILN_DTYPE_COUNT; i++) {
        if ((dtypes >> i & 1) != 0)
            generator->dtypes[generator->dtype_count++] = (enum kiln_dtype)i;
    }
    for (uint32_t i = 1; i < KILN_POINTWISE_MODE_COUNT; i++) {
        if ((generator->options->modes >> i & 1) != 0)
            generator->modes[generator->mode_count++] = (enum kiln_pointwise_mode)i;
    }
    generator->compute_type = chance(&generator->random, 5) ? KILN_DTYPE_F64 : KILN_DTYPE_F32;
}

enum kiln_status kiln_random_graph_make(uint64_t seed,
                                        const struct kiln_random_graph_options *options,
                                        struct kiln_arena *arena, struct kiln_graph *ret_graph,
                                        struct kiln_error *error)
{
    struct generator generator = {.random = {seed}, .options = options};
    next(&generator.random);
    collect_choices(&generator);
    choose_full_shape(&generator);
    uint32_t nodes =
        options->min_nodes + below(&generator.random, options->max_nodes - options->min_nodes + 1);
    size_t tensors = (size_t)nodes * 4;
    struct kiln_graph *graph = &generator.graph;
    graph->era = options->era;
    graph->name = "random";
    graph->nodes = kiln_arena_calloc(arena, nodes, sizeof *graph->nodes);
    graph->tensors = kiln_arena_calloc(arena, tensors, sizeof *graph->tensors);
    generator.shapes = kiln_arena_calloc(arena, tensors, sizeof *generator.shapes);
    generator.read = kiln_arena_calloc(arena, tensors, sizeof *generator.read);
    if (graph->nodes == NULL || graph->tensors == NULL || generator.shapes == NULL ||
        generator.read == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory for a random graph");
    for (uint32_t i = 0; i < nodes; i++)
        append_node(&generator);
    choose_outputs(&generator);
    *ret_graph = *graph;
    return KILN_OK;
}

void kiln_random_graph_fill(uint64_t seed, const struct kiln_random_graph_options *options,
                            const struct kiln_graph *graph, uint32_t ordinal, void *memory)
{
    const struct kiln_tensor *tensor = &graph->tensors[ordinal];
    struct random random = {seed ^ (UINT64_C(0x51ed270b1a2bd3c5) * (ordinal + 1))};
    next(&random);
    bool positive = chance(&random, 20);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct kiln_node *node = &graph->nodes[i];
        for (uint32_t slot = 0; slot < node->input_count; slot++)
            positive = positive || (node->inputs[slot] == ordinal &&
                                    wants_positive(node->pointwise.mode, slot));
    }
    bool special = options->special_values && chance(&random, 15);
    unsigned char *bytes = memory;
    size_t element_bytes = kiln_dtype_info(tensor->dtype)->bytes;
    memset(bytes, 0xFF, (size_t)kiln_tensor_footprint_bytes(tensor));
    int64_t index[KILN_MAX_RANK] = {0};
    int64_t offset = 0;
    for (int64_t n = kiln_tensor_elements(tensor); n > 0; n--) {
        struct kiln_constant value = special && chance(&random, 3)
                                         ? choose_special(&random, tensor->dtype)
                                         : choose_element(&random, tensor->dtype, positive);
        kiln_element_store(tensor->dtype, value, bytes + (size_t)offset * element_bytes);
        for (uint32_t axis = tensor->rank; axis-- > 0;) {
            offset += tensor->strides[axis];
            if (++index[axis] < tensor->dims[axis])
                break;
            offset -= tensor->strides[axis] * tensor->dims[axis];
            index[axis] = 0;
        }
    }
}
