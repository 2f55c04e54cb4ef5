/* The frame of a graph: shapes, tensors, pointwise nodes, and which family comes next. */
#include "tests/support/random_graph_generator.h"

#include <math.h>
#include <string.h>

/* ---- shapes ---- */

enum { MAX_OPERANDS_TRIED = 8, MAX_TENSORS_OF_NODE = 32 };

void kiln_random_graph_options_init(struct kiln_random_graph_options *ret_options)
{
    *ret_options = (struct kiln_random_graph_options){
        .min_nodes = 1,
        .max_nodes = 40,
        .max_elements = 2000,
        .max_rank = KILN_MAX_RANK,
        .dtypes = UINT32_MAX & ~KILN_RANDOM_NARROW_DTYPES,
        .modes = UINT64_MAX,
        .special_values = true,
        .infinite_factors = true,
        .families = KILN_RANDOM_POINTWISE,
        .era = KILN_WIRE_ERA_CURRENT,
    };
}

/* One axis of a thousand or more, where the limit of elements allows it: long rows, or many. */
static int64_t choose_long_axis(struct kiln_random_generator *generator)
{
    static const int32_t sizes[] = {1000, 1024, 1500,  2047,  2048,  3000,  4096,
                                    4099, 8192, 10007, 16384, 50021, 65536, 100003};
    struct kiln_random *random = &generator->random;
    uint32_t count = 0;
    while (count < sizeof sizes / sizeof *sizes && sizes[count] <= generator->options->max_elements)
        count++;
    if (count == 0)
        return 1;
    /* More often the last axis: the reductions that matter run along it. */
    struct kiln_random_frame *frame = &generator->frames[0];
    uint32_t axis = kiln_random_chance(random, 50) ? 0 : kiln_random_below(random, frame->rank);
    frame->dims[axis] = sizes[kiln_random_below(random, count)];
    return frame->dims[axis];
}

static void choose_full_shape(struct kiln_random_generator *generator)
{
    static const uint16_t sizes[] = {1,  2,  2,  3,  3,  4,  5,  7,   8,   8,   13,  16,
                                     17, 30, 31, 32, 33, 64, 65, 100, 127, 128, 257, 1000};
    struct kiln_random *random = &generator->random;
    bool reduces = generator->options->families != KILN_RANDOM_POINTWISE;
    uint32_t likely_ranks = reduces ? 6 : 4;
    uint32_t rank = kiln_random_chance(random, 80) ? 1 + kiln_random_below(random, likely_ranks)
                                                   : kiln_random_below(random, KILN_MAX_RANK + 1);
    struct kiln_random_frame *frame = &generator->frames[generator->frame_count++];
    frame->rank = rank < generator->options->max_rank ? rank : generator->options->max_rank;
    /* The target is spread over orders of magnitude: many small graphs, some large. */
    double limit = (double)generator->options->max_elements;
    double left = exp(kiln_random_uniform(random, log(limit) / (reduces ? 2 : 4), log(limit)));
    for (uint32_t i = 0; i < frame->rank; i++)
        frame->dims[i] = 1;
    if (reduces && frame->rank != 0 && kiln_random_chance(random, limit < 100000 ? 15 : 50))
        left /= (double)choose_long_axis(generator);
    for (uint32_t tries = 0; tries < (reduces ? 4 : 2) * frame->rank; tries++) {
        uint32_t axis = kiln_random_below(random, frame->rank);
        int64_t size = sizes[kiln_random_below(random, sizeof sizes / sizeof *sizes)];
        if (frame->dims[axis] != 1 || (double)size > left)
            continue;
        frame->dims[axis] = size;
        left /= (double)size;
    }
}

static bool fits(const struct kiln_random_shape *shape, const struct kiln_random_shape *result)
{
    return shape->rank <= result->rank && (shape->full_axes & ~result->full_axes) == 0 &&
           (shape->full_axes == 0 || shape->frame == result->frame);
}

struct kiln_random_shape kiln_random_full_shape(const struct kiln_random_generator *generator,
                                                uint32_t frame)
{
    uint32_t rank = generator->frames[frame].rank;
    uint32_t all = rank == 0 ? 0 : (UINT32_C(1) << rank) - 1;
    return (struct kiln_random_shape){.rank = rank, .full_axes = all, .frame = frame};
}

int64_t kiln_random_full_size(const struct kiln_random_generator *generator,
                              const struct kiln_random_shape *shape, uint32_t axis)
{
    return generator->frames[shape->frame].dims[axis];
}

bool kiln_random_same_shape(const struct kiln_random_generator *generator,
                            const struct kiln_random_shape *a, const struct kiln_random_shape *b)
{
    bool same = a->rank == b->rank && a->frame == b->frame;
    for (uint32_t i = 0; same && i < a->rank; i++)
        same = ((a->full_axes ^ b->full_axes) >> i & 1) == 0 ||
               kiln_random_full_size(generator, a, i) == 1;
    return same;
}

struct kiln_random_shape kiln_random_choose_operand_shape(struct kiln_random_generator *generator,
                                                          const struct kiln_random_shape *result)
{
    struct kiln_random *random = &generator->random;
    struct kiln_random_shape shape = *result;
    if (kiln_random_chance(random, 60))
        return shape;
    if (kiln_random_chance(random, 30)) {
        shape.full_axes = 0; /* one element */
        shape.rank = kiln_random_below(random, result->rank + 1);
        return shape;
    }
    shape.full_axes &= (uint32_t)kiln_random_next(random);
    if (kiln_random_chance(random, 40)) {
        while (shape.rank > 0 && (shape.full_axes >> (shape.rank - 1) & 1) == 0)
            shape.rank--;
    }
    return shape;
}

static struct kiln_random_shape choose_result_shape(struct kiln_random_generator *generator,
                                                    const struct kiln_random_shape *operand)
{
    struct kiln_random *random = &generator->random;
    struct kiln_random_shape shape = kiln_random_full_shape(generator, operand->frame);
    uint32_t all = shape.full_axes;
    if (operand->rank > shape.rank) /* one element of a norm's, in a shape with fewer axes */
        shape.rank = operand->rank;
    if (kiln_random_chance(random, 75))
        return shape;
    shape.full_axes =
        operand->full_axes |
        (kiln_random_chance(random, 50) ? 0 : (uint32_t)kiln_random_next(random) & all);
    return shape;
}

/* ---- tensors ---- */

enum kiln_dtype kiln_random_choose_dtype(struct kiln_random_generator *generator)
{
    static const enum kiln_dtype likely[] = {KILN_DTYPE_F32, KILN_DTYPE_F32, KILN_DTYPE_F32,
                                             KILN_DTYPE_F16, KILN_DTYPE_BF16};
    struct kiln_random *random = &generator->random;
    uint32_t narrow = generator->options->dtypes & KILN_RANDOM_NARROW_DTYPES;
    if (narrow != 0 && kiln_random_chance(random, 40)) {
        enum kiln_dtype dtype =
            generator->dtypes[kiln_random_below(random, generator->dtype_count)];
        if ((narrow >> dtype & 1) != 0)
            return dtype;
    }
    if (kiln_random_chance(random, 75)) {
        enum kiln_dtype dtype = likely[kiln_random_below(random, sizeof likely / sizeof *likely)];
        for (uint32_t i = 0; i < generator->dtype_count; i++) {
            if (generator->dtypes[i] == dtype)
                return dtype;
        }
    }
    return generator->dtypes[kiln_random_below(random, generator->dtype_count)];
}

/* Memory order of the axes, outermost first: as they are, channels last, or anything. */
static void choose_axis_order(struct kiln_random *random, uint32_t rank, uint32_t *ret_order)
{
    for (uint32_t i = 0; i < rank; i++)
        ret_order[i] = i;
    uint32_t kind = kiln_random_below(random, 100);
    if (kind < 55 || rank < 2)
        return;
    if (kind < 80 && rank >= 3) {
        memmove(ret_order + 1, ret_order + 2, (rank - 2) * sizeof *ret_order);
        ret_order[rank - 1] = 1;
        return;
    }
    for (uint32_t i = rank; i > 1; i--) {
        uint32_t j = kiln_random_below(random, i), axis = ret_order[i - 1];
        ret_order[i - 1] = ret_order[j];
        ret_order[j] = axis;
    }
}

static void choose_strides(struct kiln_random *random, struct kiln_tensor *tensor)
{
    uint32_t order[KILN_MAX_RANK] = {0};
    choose_axis_order(random, tensor->rank, order);
    bool is_packed = kiln_dtype_is_packed(tensor->dtype); /* dense, then */
    bool padded = kiln_random_chance(random, 20) && !is_packed;
    bool repeats = tensor->role == KILN_TENSOR_INPUT && kiln_random_chance(random, 8) && !is_packed;
    int64_t stride = padded && kiln_random_chance(random, 30) ? 2 : 1;
    for (uint32_t i = tensor->rank; i-- > 0;) {
        uint32_t axis = order[i];
        int64_t dim = tensor->dims[axis];
        bool zero = dim == 1 || (repeats && kiln_random_chance(random, 40));
        tensor->strides[axis] = zero ? 0 : stride;
        if (zero)
            continue;
        stride *= dim;
        if (padded && kiln_random_chance(random, 50))
            stride += 1 + kiln_random_below(random, 8);
    }
}

static uint32_t append_tensor(struct kiln_random_generator *generator, enum kiln_dtype dtype,
                              const struct kiln_random_shape *shape)
{
    uint32_t ordinal = generator->graph.tensor_count++;
    struct kiln_tensor *tensor = &generator->graph.tensors[ordinal];
    generator->shapes[ordinal] = *shape;
    tensor->uid = generator->first_uid + 7 * (int64_t)ordinal; /* uid 0 included */
    tensor->name = "";
    tensor->dtype = dtype;
    tensor->rank = shape->rank;
    tensor->producer = KILN_NONE;
    tensor->alignment_bytes = 16;
    for (uint32_t i = 0; i < shape->rank; i++) {
        uint32_t from_right = shape->rank - 1 - i;
        tensor->dims[i] = (shape->full_axes >> from_right & 1) != 0
                              ? kiln_random_full_size(generator, shape, from_right)
                              : 1;
    }
    return ordinal;
}

uint32_t kiln_random_append_source(struct kiln_random_generator *generator,
                                   const struct kiln_random_shape *shape, enum kiln_dtype dtype,
                                   enum kiln_random_purpose purpose)
{
    struct kiln_random *random = &generator->random;
    uint32_t ordinal = append_tensor(generator, dtype, shape);
    struct kiln_tensor *tensor = &generator->graph.tensors[ordinal];
    tensor->role = KILN_TENSOR_INPUT;
    bool current = generator->options->era == KILN_WIRE_ERA_CURRENT;
    if (kiln_tensor_elements(tensor) == 1 && !kiln_dtype_is_packed(dtype)) {
        uint32_t kind = kiln_random_below(random, 100);
        if (kind < 50) {
            tensor->role = KILN_TENSOR_CONSTANT;
            if (purpose == KILN_RANDOM_ANY && kiln_random_chance(random, 50))
                purpose = KILN_RANDOM_POSITIVE;
            tensor->constant = kiln_random_element(random, dtype, purpose);
        } else if (kind < 70 && current) {
            tensor->role = KILN_TENSOR_HOST_SCALAR;
        }
    }
    choose_strides(random, tensor);
    if (current && tensor->role == KILN_TENSOR_INPUT && kiln_random_chance(random, 10))
        tensor->alignment_bytes =
            kiln_random_chance(random, 50) ? kiln_dtype_info(dtype)->bytes : 64;
    return ordinal;
}

/* A source of any shape that broadcasts to the result. */
static uint32_t append_operand(struct kiln_random_generator *generator,
                               const struct kiln_random_shape *result)
{
    enum kiln_dtype dtype = kiln_random_choose_dtype(generator);
    struct kiln_random_shape shape = kiln_random_choose_operand_shape(generator, result);
    return kiln_random_append_source(generator, &shape, dtype, KILN_RANDOM_ANY);
}

/* ---- nodes ---- */

/* An earlier tensor that can be an operand of `result`; KILN_NONE when none was found. */
static uint32_t find_operand(struct kiln_random_generator *generator,
                             const struct kiln_random_shape *result)
{
    struct kiln_random *random = &generator->random;
    uint32_t count = generator->graph.tensor_count;
    for (uint32_t i = 0; count != 0 && i < MAX_OPERANDS_TRIED; i++) {
        /* Recent tensors are likelier: chains as well as wide graphs. */
        uint32_t reach = kiln_random_chance(random, 50) && count > 4 ? 4 : count;
        uint32_t ordinal = count - 1 - kiln_random_below(random, reach);
        if (fits(&generator->shapes[ordinal], result))
            return ordinal;
    }
    return KILN_NONE;
}

static double choose_float(struct kiln_random *random, const float *values, uint32_t count)
{
    return (double)values[kiln_random_below(random, count)];
}

static struct kiln_pointwise choose_attributes(struct kiln_random_generator *generator,
                                               enum kiln_pointwise_mode mode, uint32_t rank)
{
    static const float lowers[] = {0, 0, -0.5F, 0.25F}, uppers[] = {1, 6, 0.75F};
    static const float slopes[] = {0, 0.01F, 0.125F}, factors[] = {1, 0.5F, 1.7F, 2, 0};
    struct kiln_random *random = &generator->random;
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
        attributes.has_relu_parameter = kiln_random_chance(random, 60);
        if (!attributes.has_relu_parameter)
            break;
        attributes.relu_lower_clip = choose_float(random, lowers, 4);
        if (kiln_random_chance(random, 50))
            attributes.relu_upper_clip = choose_float(random, uppers, 3);
        attributes.relu_lower_clip_slope = choose_float(random, slopes, 3);
        break;
    case KILN_POINTWISE_ELU_FWD:
    case KILN_POINTWISE_ELU_BWD:
        attributes.elu_alpha = choose_float(random, factors, 5);
        break;
    case KILN_POINTWISE_SWISH_FWD:
    case KILN_POINTWISE_SWISH_BWD:
        attributes.swish_beta = choose_float(random, factors, 5);
        break;
    case KILN_POINTWISE_SOFTPLUS_FWD:
    case KILN_POINTWISE_SOFTPLUS_BWD:
        attributes.softplus_beta = choose_float(random, factors, 5);
        break;
    case KILN_POINTWISE_GEN_INDEX:
        attributes.axis = kiln_random_below(random, rank);
        break;
    default:
        break;
    }
    return attributes;
}

/* Integers stay integers where the mode can compute on them, else they would all be floats after a
 * few nodes. */
static enum kiln_dtype choose_result_dtype(struct kiln_random_generator *generator,
                                           const struct kiln_node *node)
{
    enum kiln_dtype first = generator->graph.tensors[node->inputs[0]].dtype;
    bool keeps =
        kiln_dtype_is_integer(first) && kiln_pointwise_mode_info(node->pointwise.mode)->integer;
    if (kiln_random_chance(&generator->random, keeps ? 60 : 15))
        return first;
    return kiln_random_choose_dtype(generator);
}

static enum kiln_dtype choose_compute_type(struct kiln_random_generator *generator)
{
    if (generator->options->era == KILN_WIRE_ERA_NOV2025)
        return generator->compute_type;
    uint32_t kind = kiln_random_below(&generator->random, 100);
    return kind < 4    ? KILN_DTYPE_F64
           : kind < 10 ? KILN_DTYPE_F16
           : kind < 15 ? KILN_DTYPE_BF16
                       : KILN_DTYPE_F32;
}

struct kiln_node *kiln_random_append_node(struct kiln_random_generator *generator,
                                          enum kiln_node_kind kind)
{
    struct kiln_node *node = &generator->graph.nodes[generator->graph.node_count++];
    node->kind = kind;
    node->name = "";
    node->compute_type = choose_compute_type(generator);
    return node;
}

void kiln_random_add_input(struct kiln_random_generator *generator, struct kiln_node *node,
                           enum kiln_operand role, uint32_t tensor)
{
    generator->read[tensor] = true;
    node->input_roles[node->input_count] = (uint8_t)role;
    node->inputs[node->input_count++] = tensor;
}

uint32_t kiln_random_add_output(struct kiln_random_generator *generator, struct kiln_node *node,
                                enum kiln_operand role, const struct kiln_random_shape *shape,
                                enum kiln_dtype dtype)
{
    uint32_t ordinal = append_tensor(generator, dtype, shape);
    struct kiln_tensor *tensor = &generator->graph.tensors[ordinal];
    tensor->producer = (uint32_t)(node - generator->graph.nodes);
    tensor->role = KILN_TENSOR_OUTPUT;
    choose_strides(&generator->random, tensor);
    node->output_roles[node->output_count] = (uint8_t)role;
    node->outputs[node->output_count++] = ordinal;
    return ordinal;
}

static uint32_t finish_pointwise(struct kiln_random_generator *generator, struct kiln_node *node,
                                 enum kiln_pointwise_mode mode,
                                 const struct kiln_random_shape *result)
{
    node->pointwise = choose_attributes(generator, mode, result->rank);
    return kiln_random_add_output(generator, node, KILN_OPERAND_OUT_0, result,
                                  choose_result_dtype(generator, node));
}

static const enum kiln_operand pointwise_roles[] = {KILN_OPERAND_IN_0, KILN_OPERAND_IN_1,
                                                    KILN_OPERAND_IN_2};

uint32_t kiln_random_append_pointwise(struct kiln_random_generator *generator,
                                      const enum kiln_pointwise_mode *modes, uint32_t mode_count,
                                      const uint32_t *operands)
{
    enum kiln_pointwise_mode mode = modes[kiln_random_below(&generator->random, mode_count)];
    if ((generator->options->modes >> mode & 1) == 0)
        return KILN_NONE;
    struct kiln_node *node = kiln_random_append_node(generator, KILN_NODE_POINTWISE);
    for (uint32_t slot = 0; slot < kiln_pointwise_mode_info(mode)->arity; slot++)
        kiln_random_add_input(generator, node, pointwise_roles[slot], operands[slot]);
    struct kiln_random_shape result = generator->shapes[operands[0]];
    return finish_pointwise(generator, node, mode, &result);
}

static void append_pointwise(struct kiln_random_generator *generator)
{
    struct kiln_random *random = &generator->random;
    enum kiln_pointwise_mode mode =
        generator->modes[kiln_random_below(random, generator->mode_count)];
    struct kiln_random_shape any = {0};
    /* The first operand is an earlier tensor, so that the graph hangs together. */
    uint32_t count = generator->graph.tensor_count;
    uint32_t first = count == 0 ? KILN_NONE : count - 1 - kiln_random_below(random, count);
    struct kiln_random_shape result =
        choose_result_shape(generator, first == KILN_NONE ? &any : &generator->shapes[first]);
    if (mode == KILN_POINTWISE_GEN_INDEX && result.rank == 0)
        mode = KILN_POINTWISE_IDENTITY;
    struct kiln_node *node = kiln_random_append_node(generator, KILN_NODE_POINTWISE);
    uint32_t arity = kiln_pointwise_mode_info(mode)->arity;
    uint32_t first_slot = kiln_random_below(random, arity);
    for (uint32_t slot = 0; slot < arity; slot++) {
        uint32_t operand = slot == first_slot ? first : KILN_NONE;
        bool fresh =
            kiln_random_wants_positive(mode, slot) && kiln_random_chance(random, 60) && arity > 1;
        if (operand == KILN_NONE && !fresh && kiln_random_chance(random, 60))
            operand = find_operand(generator, &result);
        if (operand == KILN_NONE)
            operand = append_operand(generator, &result);
        kiln_random_add_input(generator, node, pointwise_roles[slot], operand);
    }
    (void)finish_pointwise(generator, node, mode, &result);
}

/* Families take turns at random; what does not fit gives way to pointwise nodes. */
static void append_nodes(struct kiln_random_generator *generator)
{
    uint32_t families = generator->options->families;
    bool reductions = (families & KILN_RANDOM_REDUCTIONS) != 0 &&
                      generator->options->era == KILN_WIRE_ERA_CURRENT;
    bool norms = (families & KILN_RANDOM_NORMS) != 0;
    bool pointwise = (families & KILN_RANDOM_POINTWISE) != 0;
    if (families == KILN_RANDOM_POINTWISE) {
        append_pointwise(generator);
        return;
    }
    if ((families & KILN_RANDOM_GROUPED) != 0 && generator->options->era == KILN_WIRE_ERA_CURRENT &&
        kiln_random_chance(&generator->random, generator->graph.node_count == 0 ? 90 : 40) &&
        kiln_random_append_grouped(generator))
        return;
    if ((families & KILN_RANDOM_CONVOLUTIONS) != 0 &&
        kiln_random_chance(&generator->random, generator->graph.node_count == 0 ? 90 : 50) &&
        kiln_random_append_convolution(generator))
        return;
    if ((families & KILN_RANDOM_DEQUANTIZE) != 0 &&
        generator->options->era == KILN_WIRE_ERA_CURRENT &&
        kiln_random_chance(&generator->random, generator->graph.node_count == 0 ? 90 : 45) &&
        kiln_random_append_dequantize(generator))
        return;
    if ((families & KILN_RANDOM_POOLING) != 0 && generator->options->era == KILN_WIRE_ERA_CURRENT &&
        kiln_random_chance(&generator->random, generator->graph.node_count == 0 ? 90 : 35) &&
        kiln_random_append_pooling(generator))
        return;
    if ((families & KILN_RANDOM_BLOCKS) != 0 && generator->options->era == KILN_WIRE_ERA_CURRENT &&
        kiln_random_chance(&generator->random, generator->graph.node_count == 0 ? 90 : 35) &&
        kiln_random_append_blocks(generator))
        return;
    if ((families & KILN_RANDOM_RAGGED) != 0 && kiln_random_append_ragged(generator))
        return;
    if ((families & KILN_RANDOM_ATTENTION) != 0 &&
        generator->options->era == KILN_WIRE_ERA_CURRENT &&
        kiln_random_chance(&generator->random, generator->graph.node_count == 0 ? 90 : 40) &&
        kiln_random_append_attention(generator))
        return;
    bool products =
        (families & KILN_RANDOM_PRODUCTS) != 0 && generator->options->era == KILN_WIRE_ERA_CURRENT;
    if (products && kiln_random_chance(&generator->random, families == KILN_RANDOM_ALL ? 25 : 45) &&
        kiln_random_append_product(generator))
        return;
    uint32_t kind = kiln_random_below(&generator->random, 100);
    uint32_t norm_percent = !pointwise && !reductions ? 100 : pointwise ? 30 : 60;
    if (norms && kind < norm_percent && kiln_random_append_norm(generator))
        return;
    if (reductions && (kind < 47 || !pointwise)) {
        kiln_random_append_reductions(generator);
        return;
    }
    append_pointwise(generator);
}

static void choose_outputs(struct kiln_random_generator *generator)
{
    for (uint32_t i = 0; i < generator->graph.tensor_count; i++) {
        struct kiln_tensor *tensor = &generator->graph.tensors[i];
        if (tensor->producer == KILN_NONE)
            continue;
        /* Secondary outputs may be wanted by nobody. */
        const struct kiln_node *node = &generator->graph.nodes[tensor->producer];
        uint32_t percent = generator->read[i] ? 80 : node->outputs[0] != i ? 10 : 0;
        if (percent != 0 && kiln_random_chance(&generator->random, percent))
            tensor->role = KILN_TENSOR_VIRTUAL;
    }
}

static void collect_choices(struct kiln_random_generator *generator)
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
    if (generator->options->families != KILN_RANDOM_POINTWISE)
        generator->first_uid = kiln_random_below(&generator->random, 2);
    generator->compute_type =
        kiln_random_chance(&generator->random, 5) ? KILN_DTYPE_F64 : KILN_DTYPE_F32;
}

enum kiln_status kiln_random_graph_make(uint64_t seed,
                                        const struct kiln_random_graph_options *options,
                                        struct kiln_arena *arena, struct kiln_graph *ret_graph,
                                        struct kiln_error *error)
{
    struct kiln_random_generator generator = {.random = {seed}, .options = options};
    (void)kiln_random_next(&generator.random);
    collect_choices(&generator);
    choose_full_shape(&generator);
    uint32_t nodes =
        options->min_nodes +
        kiln_random_below(&generator.random, options->max_nodes - options->min_nodes + 1);
    size_t tensors = (size_t)nodes * MAX_TENSORS_OF_NODE;
    generator.node_limit = nodes;
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
    while (graph->node_count < nodes)
        append_nodes(&generator);
    choose_outputs(&generator);
    if ((options->families & KILN_RANDOM_RAGGED) != 0)
        kiln_random_make_ragged(&generator);
    *ret_graph = *graph;
    return KILN_OK;
}
