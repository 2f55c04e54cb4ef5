/*
 * Norms: operands and outputs in the order of the wire's slots, which is the order in which tensors
 * are appended.
 */
#include "tests/support/random_graph_generator.h"

enum { OPERANDS_TRIED = 8 };

/* A node in the making, and the shapes of its operands. */
struct norm {
    struct kiln_random_generator *generator;
    struct kiln_node *node;
    struct kiln_random_shape data;      /* of X, Y and their gradients */
    struct kiln_random_shape statistic; /* of mean, variance, inverse deviation */
    struct kiln_random_shape affine;    /* of scale, bias and their gradients */
};

static bool chance(const struct norm *norm, uint32_t percent)
{
    return kiln_random_chance(&norm->generator->random, percent);
}

static bool allows(const struct kiln_random_generator *generator, enum kiln_dtype dtype)
{
    for (uint32_t i = 0; i < generator->dtype_count; i++) {
        if (generator->dtypes[i] == dtype)
            return true;
    }
    return false;
}

/* Norms take and give floating-point types only. */
static bool allows_floats(const struct kiln_random_generator *generator)
{
    for (uint32_t i = 0; i < generator->dtype_count; i++) {
        if (!kiln_dtype_is_integer(generator->dtypes[i]))
            return true;
    }
    return false;
}

static enum kiln_dtype choose_float_dtype(struct kiln_random_generator *generator)
{
    enum kiln_dtype dtype = kiln_random_choose_dtype(generator);
    while (kiln_dtype_is_integer(dtype))
        dtype = kiln_random_choose_dtype(generator);
    return dtype;
}

/* Mostly float, as everybody keeps statistics. */
static enum kiln_dtype choose_statistic_dtype(const struct norm *norm)
{
    if (chance(norm, 70) && allows(norm->generator, KILN_DTYPE_F32))
        return KILN_DTYPE_F32;
    return choose_float_dtype(norm->generator);
}

/* ---- operands ---- */

static uint32_t find_data(const struct norm *norm)
{
    struct kiln_random_generator *generator = norm->generator;
    uint32_t count = generator->graph.tensor_count;
    for (uint32_t i = 0; count != 0 && i < OPERANDS_TRIED; i++) {
        uint32_t ordinal = count - 1 - kiln_random_below(&generator->random, count);
        if (!kiln_dtype_is_integer(generator->graph.tensors[ordinal].dtype) &&
            kiln_random_same_shape(generator, &generator->shapes[ordinal], &norm->data))
            return ordinal;
    }
    return KILN_NONE;
}

static void add_data(const struct norm *norm, enum kiln_operand role, uint32_t given)
{
    struct kiln_random_generator *generator = norm->generator;
    uint32_t tensor = given != KILN_NONE || chance(norm, 50) ? given : find_data(norm);
    if (tensor == KILN_NONE)
        tensor = kiln_random_append_source(generator, &norm->data, choose_float_dtype(generator),
                                           KILN_RANDOM_DATA);
    kiln_random_add_input(generator, norm->node, role, tensor);
}

static void add_affine(const struct norm *norm, enum kiln_operand role)
{
    struct kiln_random_generator *generator = norm->generator;
    struct kiln_random_shape shape = norm->affine;
    /* Layernorm's may come without the leading ones. */
    if (norm->node->kind == KILN_NODE_LAYERNORM ||
        norm->node->kind == KILN_NODE_LAYERNORM_BACKWARD) {
        uint32_t count = (uint32_t)__builtin_popcount(norm->node->normalization.axes);
        shape.rank = chance(norm, 50) ? count : shape.rank;
    }
    uint32_t tensor = kiln_random_append_source(generator, &shape, choose_float_dtype(generator),
                                                KILN_RANDOM_DATA);
    kiln_random_add_input(generator, norm->node, role, tensor);
}

/* A statistic that an earlier node saved, where there is one: a backward node's usual operand. */
static uint32_t find_saved(const struct norm *norm, enum kiln_operand role)
{
    struct kiln_random_generator *generator = norm->generator;
    for (uint32_t i = generator->graph.node_count - 1; i-- > 0;) {
        uint32_t tensor = kiln_node_output(&generator->graph.nodes[i], role);
        if (tensor != KILN_NONE &&
            kiln_random_same_shape(generator, &generator->shapes[tensor], &norm->statistic))
            return tensor;
    }
    return KILN_NONE;
}

static void add_statistic(const struct norm *norm, enum kiln_operand role)
{
    bool is_mean = role == KILN_OPERAND_MEAN || role == KILN_OPERAND_PREV_RUNNING_MEAN;
    uint32_t tensor = chance(norm, 70) ? find_saved(norm, role) : KILN_NONE;
    if (tensor == KILN_NONE)
        tensor = kiln_random_append_source(norm->generator, &norm->statistic,
                                           choose_statistic_dtype(norm),
                                           is_mean ? KILN_RANDOM_DATA : KILN_RANDOM_POSITIVE);
    kiln_random_add_input(norm->generator, norm->node, role, tensor);
}

static void add_scalar(const struct norm *norm, enum kiln_operand role,
                       enum kiln_random_purpose purpose)
{
    struct kiln_random_generator *generator = norm->generator;
    struct kiln_random_shape shape = {
        .rank = kiln_random_below(&generator->random, norm->data.rank + 1)};
    enum kiln_dtype dtype = KILN_DTYPE_F32;
    if (!allows(generator, dtype) || chance(norm, 10))
        dtype = allows(generator, KILN_DTYPE_F64) ? KILN_DTYPE_F64 : choose_float_dtype(generator);
    uint32_t tensor = kiln_random_append_source(generator, &shape, dtype, purpose);
    kiln_random_add_input(generator, norm->node, role, tensor);
}

/* ---- outputs ---- */

static void add_data_output(const struct norm *norm, enum kiln_operand role)
{
    uint32_t x = kiln_node_input(norm->node, KILN_OPERAND_X);
    enum kiln_dtype dtype = norm->generator->graph.tensors[x].dtype;
    if (!chance(norm, 70))
        dtype = choose_float_dtype(norm->generator);
    (void)kiln_random_add_output(norm->generator, norm->node, role, &norm->data, dtype);
}

static void add_statistic_output(const struct norm *norm, enum kiln_operand role)
{
    (void)kiln_random_add_output(norm->generator, norm->node, role, &norm->statistic,
                                 choose_statistic_dtype(norm));
}

static void add_affine_output(const struct norm *norm, enum kiln_operand role)
{
    (void)kiln_random_add_output(norm->generator, norm->node, role, &norm->affine,
                                 choose_statistic_dtype(norm));
}

/* ---- shapes ---- */

/* The last `count` axes are normalised; counted from the right in `full_axes`, from the left in the
 * node. */
static void normalize_last(struct norm *norm, uint32_t count)
{
    uint32_t last = (UINT32_C(1) << count) - 1;
    norm->affine = norm->statistic = norm->data;
    norm->affine.full_axes &= last;
    norm->statistic.full_axes &= ~last;
    norm->node->normalization.axes = last << (norm->data.rank - count);
}

/*
 * As hipDNN finds them: the longest run of last axes where scale has X's size, without axis 0. When
 * that is all but axis 0, scale may have X's size along axis 0 too.
 */
static void choose_rmsnorm_axes(struct norm *norm)
{
    const struct kiln_random_generator *generator = norm->generator;
    uint32_t rank = norm->data.rank;
    uint32_t count = 1 + kiln_random_below(&norm->generator->random, rank - 1);
    while (count < rank - 1 && ((norm->data.full_axes >> count & 1) == 0 ||
                                kiln_random_full_size(generator, &norm->data, count) == 1))
        count++;
    normalize_last(norm, count);
    if (count == rank - 1 && chance(norm, 30))
        norm->affine = norm->data;
}

static void choose_batchnorm_axes(struct norm *norm)
{
    uint32_t rank = norm->data.rank;
    uint32_t channels = UINT32_C(1) << (rank - 2);
    norm->statistic = norm->affine = norm->data;
    norm->statistic.full_axes = norm->affine.full_axes = norm->data.full_axes & channels;
    norm->node->normalization.axes = ((UINT32_C(1) << rank) - 1) & ~2u;
}

/* ---- kinds ---- */

/* On the wire some operands are absent by having uid 0, which must not be a tensor's then. */
static bool may_be_absent(const struct norm *norm)
{
    return norm->generator->first_uid != 0;
}

static void append_layernorm(struct norm *norm, uint32_t x)
{
    add_data(norm, KILN_OPERAND_X, x);
    if (!may_be_absent(norm) || chance(norm, 70))
        add_affine(norm, KILN_OPERAND_SCALE);
    if (!may_be_absent(norm) || chance(norm, 70))
        add_affine(norm, KILN_OPERAND_BIAS);
    add_scalar(norm, KILN_OPERAND_EPSILON, KILN_RANDOM_EPSILON);
    add_data_output(norm, KILN_OPERAND_Y);
    if (chance(norm, 60)) {
        add_statistic_output(norm, KILN_OPERAND_MEAN);
        add_statistic_output(norm, KILN_OPERAND_INV_VARIANCE);
    }
}

static void append_layernorm_backward(struct norm *norm, uint32_t x)
{
    add_data(norm, KILN_OPERAND_DY, KILN_NONE);
    add_data(norm, KILN_OPERAND_X, x);
    add_affine(norm, KILN_OPERAND_SCALE);
    if (chance(norm, 60)) {
        add_statistic(norm, KILN_OPERAND_MEAN);
        add_statistic(norm, KILN_OPERAND_INV_VARIANCE);
    } else if (chance(norm, 60)) {
        add_scalar(norm, KILN_OPERAND_EPSILON, KILN_RANDOM_EPSILON);
    }
    add_data_output(norm, KILN_OPERAND_DX);
    add_affine_output(norm, KILN_OPERAND_DSCALE);
    add_affine_output(norm, KILN_OPERAND_DBIAS);
}

static void append_rmsnorm(struct norm *norm, uint32_t x)
{
    add_data(norm, KILN_OPERAND_X, x);
    add_affine(norm, KILN_OPERAND_SCALE);
    add_scalar(norm, KILN_OPERAND_EPSILON, KILN_RANDOM_EPSILON);
    if (chance(norm, 50))
        add_affine(norm, KILN_OPERAND_BIAS);
    add_data_output(norm, KILN_OPERAND_Y);
    if (chance(norm, 50))
        add_statistic_output(norm, KILN_OPERAND_INV_RMS);
}

static void append_rmsnorm_backward(struct norm *norm, uint32_t x)
{
    add_data(norm, KILN_OPERAND_DY, KILN_NONE);
    add_data(norm, KILN_OPERAND_X, x);
    add_affine(norm, KILN_OPERAND_SCALE);
    if (!may_be_absent(norm) || chance(norm, 60))
        add_statistic(norm, KILN_OPERAND_INV_RMS);
    add_data_output(norm, KILN_OPERAND_DX);
    add_affine_output(norm, KILN_OPERAND_DSCALE);
    if (chance(norm, 50))
        add_affine_output(norm, KILN_OPERAND_DBIAS);
}

/* The third statistic is a variance in the older layout, without an epsilon to choose; in the
 * current one there are two kinds of nodes. */
static void append_batchnorm_inference(struct norm *norm, uint32_t x)
{
    bool current = norm->generator->options->era == KILN_WIRE_ERA_CURRENT;
    bool is_variance = !current || chance(norm, 50);
    add_data(norm, KILN_OPERAND_X, x);
    add_statistic(norm, KILN_OPERAND_MEAN);
    add_statistic(norm, is_variance ? KILN_OPERAND_VARIANCE : KILN_OPERAND_INV_VARIANCE);
    add_affine(norm, KILN_OPERAND_SCALE);
    add_affine(norm, KILN_OPERAND_BIAS);
    if (current && is_variance)
        add_scalar(norm, KILN_OPERAND_EPSILON, KILN_RANDOM_EPSILON);
    add_data_output(norm, KILN_OPERAND_Y);
}

static void append_batchnorm_training(struct norm *norm, uint32_t x)
{
    bool is_running = chance(norm, 50);
    add_data(norm, KILN_OPERAND_X, x);
    add_affine(norm, KILN_OPERAND_SCALE);
    add_affine(norm, KILN_OPERAND_BIAS);
    add_scalar(norm, KILN_OPERAND_EPSILON, KILN_RANDOM_EPSILON);
    if (is_running) {
        add_statistic(norm, KILN_OPERAND_PREV_RUNNING_MEAN);
        add_statistic(norm, KILN_OPERAND_PREV_RUNNING_VARIANCE);
        if (chance(norm, 80))
            add_scalar(norm, KILN_OPERAND_MOMENTUM, KILN_RANDOM_FRACTION);
    }
    add_data_output(norm, KILN_OPERAND_Y);
    if (chance(norm, 60)) {
        add_statistic_output(norm, KILN_OPERAND_MEAN);
        add_statistic_output(norm, KILN_OPERAND_INV_VARIANCE);
    }
    if (is_running) {
        add_statistic_output(norm, KILN_OPERAND_NEXT_RUNNING_MEAN);
        add_statistic_output(norm, KILN_OPERAND_NEXT_RUNNING_VARIANCE);
    }
}

static void append_batchnorm_backward(struct norm *norm, uint32_t x)
{
    add_data(norm, KILN_OPERAND_DY, KILN_NONE);
    add_data(norm, KILN_OPERAND_X, x);
    if (chance(norm, 60)) {
        add_statistic(norm, KILN_OPERAND_MEAN);
        add_statistic(norm, KILN_OPERAND_INV_VARIANCE);
    }
    add_affine(norm, KILN_OPERAND_SCALE);
    add_data_output(norm, KILN_OPERAND_DX);
    add_affine_output(norm, KILN_OPERAND_DSCALE);
    add_affine_output(norm, KILN_OPERAND_DBIAS);
}

/* How a kind is made. */
struct norm_kind {
    enum kiln_node_kind kind;
    uint32_t min_rank;
    bool is_current_only;
    void (*append)(struct norm *norm, uint32_t x);
};

static const struct norm_kind kinds[] = {
    {KILN_NODE_LAYERNORM, 1, true, append_layernorm},
    {KILN_NODE_LAYERNORM_BACKWARD, 1, true, append_layernorm_backward},
    {KILN_NODE_RMSNORM, 2, true, append_rmsnorm},
    {KILN_NODE_RMSNORM_BACKWARD, 2, true, append_rmsnorm_backward},
    {KILN_NODE_BATCHNORM_INFERENCE, 2, false, append_batchnorm_inference},
    {KILN_NODE_BATCHNORM_TRAINING, 2, false, append_batchnorm_training},
    {KILN_NODE_BATCHNORM_BACKWARD, 2, false, append_batchnorm_backward},
};

/* X: an earlier tensor of any shape with the rank, more often one of several elements. */
static uint32_t find_x(struct kiln_random_generator *generator, uint32_t min_rank)
{
    uint32_t count = generator->graph.tensor_count;
    for (uint32_t i = 0; count != 0 && i < OPERANDS_TRIED; i++) {
        uint32_t reach = kiln_random_chance(&generator->random, 50) && count > 4 ? 4 : count;
        uint32_t ordinal = count - 1 - kiln_random_below(&generator->random, reach);
        const struct kiln_tensor *tensor = &generator->graph.tensors[ordinal];
        bool single = kiln_tensor_elements(tensor) == 1;
        if (tensor->rank >= min_rank && !kiln_dtype_is_integer(tensor->dtype) &&
            (!single || kiln_random_chance(&generator->random, 3)))
            return ordinal;
    }
    return KILN_NONE;
}

static struct norm start_norm(struct kiln_random_generator *generator, enum kiln_node_kind kind,
                              const struct kiln_random_shape *data)
{
    struct norm norm = {.generator = generator, .data = *data};
    norm.node = kiln_random_append_node(generator, kind);
    norm.node->normalization = (struct kiln_normalization){.epsilon = 1e-5, .momentum = 0.1};
    return norm;
}

uint32_t kiln_random_append_batchnorm_inference(struct kiln_random_generator *generator, uint32_t x)
{
    if (!allows_floats(generator))
        return KILN_NONE;
    struct kiln_random_shape data = generator->shapes[x];
    struct norm norm = start_norm(generator, KILN_NODE_BATCHNORM_INFERENCE, &data);
    choose_batchnorm_axes(&norm);
    append_batchnorm_inference(&norm, x);
    return norm.node->outputs[0];
}

bool kiln_random_append_norm(struct kiln_random_generator *generator)
{
    const struct norm_kind *kind =
        &kinds[kiln_random_below(&generator->random, sizeof kinds / sizeof *kinds)];
    bool current = generator->options->era == KILN_WIRE_ERA_CURRENT;
    if (generator->frames[0].rank < kind->min_rank || (kind->is_current_only && !current) ||
        !allows_floats(generator))
        return false;
    uint32_t x =
        kiln_random_chance(&generator->random, 75) ? find_x(generator, kind->min_rank) : KILN_NONE;
    struct kiln_random_shape data =
        x == KILN_NONE ? kiln_random_full_shape(generator, 0) : generator->shapes[x];
    struct norm norm = start_norm(generator, kind->kind, &data);
    switch (kind->kind) {
    case KILN_NODE_LAYERNORM:
    case KILN_NODE_LAYERNORM_BACKWARD:
        normalize_last(&norm, 1 + kiln_random_below(&generator->random, norm.data.rank));
        break;
    case KILN_NODE_RMSNORM:
    case KILN_NODE_RMSNORM_BACKWARD:
        choose_rmsnorm_axes(&norm);
        break;
    default:
        choose_batchnorm_axes(&norm);
        break;
    }
    kind->append(&norm, x);
    return true;
}
