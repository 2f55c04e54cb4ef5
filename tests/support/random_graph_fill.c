/* Values: of elements, of constants, and what the readers of a tensor need them to be. */
#include "compiler/reference/convert.h"
#include "tests/support/random_graph_generator.h"

#include <math.h>
#include <string.h>

static double choose_number(struct kiln_random *random, enum kiln_random_purpose purpose)
{
    switch (purpose) {
    case KILN_RANDOM_POSITIVE:
        return exp(kiln_random_uniform(random, -2, 1.4));
    case KILN_RANDOM_NEAR_ONE:
    case KILN_RANDOM_NEAR_ONE_OR_ZERO: {
        double number = exp(kiln_random_uniform(random, -0.05, 0.05));
        return kiln_random_chance(random, 20) ? -number : number;
    }
    case KILN_RANDOM_FRACTION:
        return kiln_random_uniform(random, 0, 1);
    case KILN_RANDOM_EPSILON:
        return exp(kiln_random_uniform(random, log(1e-5), log(1e-2)));
    case KILN_RANDOM_MASK: {
        uint32_t kind = kiln_random_below(random, 100);
        return kind < 40   ? 0
               : kind < 52 ? -(double)INFINITY
               : kind < 57 ? -1e9
                           : kiln_random_uniform(random, -2, 2);
    }
    case KILN_RANDOM_HIDDEN:
        return kiln_random_chance(random, 70) ? -(double)INFINITY : -1e9;
    case KILN_RANDOM_LOG_SUM:
        return kiln_random_chance(random, 3) ? -(double)INFINITY
                                             : kiln_random_uniform(random, 2, 20);
    case KILN_RANDOM_LENGTH:
    case KILN_RANDOM_POSITION:
    case KILN_RANDOM_ANY:
    case KILN_RANDOM_DATA:
    case KILN_RANDOM_FACTOR:
        break;
    }
    /* Where relu and its gradient change: those of random_graph.c's clips that are in reach. */
    static const double clips[] = {0, -0.5, 0.25, 0.75, 1};
    if (kiln_random_chance(random, 4))
        return clips[kiln_random_below(random, sizeof clips / sizeof *clips)];
    return kiln_random_chance(random, 50) ? kiln_random_uniform(random, -1, 1)
                                          : kiln_random_uniform(random, -4, 4);
}

static int64_t choose_integer(struct kiln_random *random, enum kiln_dtype dtype,
                              enum kiln_random_purpose purpose)
{
    if (purpose == KILN_RANDOM_NEAR_ONE || purpose == KILN_RANDOM_NEAR_ONE_OR_ZERO) {
        uint32_t kind = kiln_random_below(random, 100);
        return kind < 3 ? 2 : kind < 20 && dtype != KILN_DTYPE_U8 ? -1 : 1;
    }
    if (purpose == KILN_RANDOM_POSITION && kiln_random_chance(random, 90))
        return kiln_random_below(random, kiln_random_chance(random, 50) ? 16 : 128);
    if (purpose == KILN_RANDOM_LENGTH) {
        uint32_t kind = kiln_random_below(random, 100);
        if (kind < 85)
            return kiln_random_below(random, kind < 50 ? 12 : 70);
        if (kind < 93)
            return -(int64_t)kiln_random_below(random, 4);
        return dtype == KILN_DTYPE_I64 ? INT64_MAX - kind : INT32_MAX;
    }
    if (purpose == KILN_RANDOM_FRACTION || purpose == KILN_RANDOM_EPSILON)
        return 1;
    /* Mostly small; sometimes the whole range, where int32 wraps and float can't follow. */
    bool positive = purpose == KILN_RANDOM_POSITIVE;
    unsigned bits = kiln_dtype_info(dtype)->bits;
    bool is_small = purpose == KILN_RANDOM_DATA || (purpose == KILN_RANDOM_FACTOR && bits > 8);
    unsigned kept =
        is_small || kiln_random_chance(random, purpose == KILN_RANDOM_FACTOR ? 30 : 85) ? 4 : bits;
    int64_t integer = (int64_t)kiln_random_next(random) >> (64 - kept);
    if (positive || dtype == KILN_DTYPE_U8)
        integer &= (int64_t)((UINT64_C(1) << (kept - 1)) - 1);
    return integer + (positive && integer == 0);
}

struct kiln_constant kiln_random_element(struct kiln_random *random, enum kiln_dtype dtype,
                                         enum kiln_random_purpose purpose)
{
    struct kiln_constant value = {0};
    bool zero = purpose == KILN_RANDOM_NEAR_ONE_OR_ZERO && kiln_random_chance(random, 10);
    if (!kiln_dtype_is_integer(dtype)) {
        value.real = zero ? 0 : kiln_round_to_dtype(dtype, choose_number(random, purpose));
        return value;
    }
    if (dtype == KILN_DTYPE_BOOL)
        value.integer = kiln_random_below(random, 2);
    else if (!zero)
        value.integer = choose_integer(random, dtype, purpose);
    value.real = (double)value.integer;
    return value;
}

static struct kiln_constant choose_special(struct kiln_random *random, enum kiln_dtype dtype)
{
    static const double specials[] = {INFINITY,  -INFINITY, NAN,  0.0,   -0.0,  0x1p-149,
                                      -0x1p-130, 0x1p-24,   1e-3, 65504, -3e38, 1e30,
                                      88.7,      -103.9,    1e5,  -12.5, 0.5,   -0.5};
    double value = specials[kiln_random_below(random, sizeof specials / sizeof *specials)];
    struct kiln_constant constant = {.real = kiln_round_to_dtype(dtype, value)};
    if (kiln_dtype_is_integer(dtype))
        constant.integer = kiln_round_to_integer(constant.real, INT64_MIN, INT64_MAX);
    return constant;
}

bool kiln_random_wants_positive(enum kiln_pointwise_mode mode, uint32_t slot)
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

static enum kiln_random_purpose purpose_in_reduction(enum kiln_reduction_mode mode)
{
    return mode == KILN_REDUCTION_MUL            ? KILN_RANDOM_NEAR_ONE
           : mode == KILN_REDUCTION_MUL_NO_ZEROS ? KILN_RANDOM_NEAR_ONE_OR_ZERO
                                                 : KILN_RANDOM_DATA;
}

static enum kiln_random_purpose purpose_in_norm(enum kiln_operand role)
{
    switch (role) {
    case KILN_OPERAND_VARIANCE:
    case KILN_OPERAND_PREV_RUNNING_VARIANCE:
    case KILN_OPERAND_INV_VARIANCE:
    case KILN_OPERAND_INV_RMS:
        return KILN_RANDOM_POSITIVE;
    case KILN_OPERAND_EPSILON:
        return KILN_RANDOM_EPSILON;
    case KILN_OPERAND_MOMENTUM:
        return KILN_RANDOM_FRACTION;
    default:
        return KILN_RANDOM_DATA;
    }
}

static enum kiln_random_purpose purpose_in_attention(enum kiln_operand role)
{
    switch (role) {
    case KILN_OPERAND_Q:
    case KILN_OPERAND_K:
    case KILN_OPERAND_V:
    case KILN_OPERAND_O:
    case KILN_OPERAND_DO:
        return KILN_RANDOM_FACTOR;
    case KILN_OPERAND_ATTN_MASK:
        return KILN_RANDOM_MASK;
    case KILN_OPERAND_SEQ_LEN_Q:
    case KILN_OPERAND_SEQ_LEN_KV:
        return KILN_RANDOM_LENGTH;
    case KILN_OPERAND_STATS:
        return KILN_RANDOM_LOG_SUM;
    case KILN_OPERAND_SINK_TOKEN:
        return KILN_RANDOM_ANY;
    default:
        return KILN_RANDOM_POSITIVE; /* scales */
    }
}

static enum kiln_random_purpose purpose_in_node(const struct kiln_node *node, uint32_t slot)
{
    switch (node->kind) {
    case KILN_NODE_POINTWISE:
        return kiln_random_wants_positive(node->pointwise.mode, slot) ? KILN_RANDOM_POSITIVE
                                                                      : KILN_RANDOM_ANY;
    case KILN_NODE_REDUCTION:
        return purpose_in_reduction(node->reduction.mode);
    case KILN_NODE_MATMUL:
    case KILN_NODE_GROUPED_MATMUL:
    case KILN_NODE_GROUPED_MATMUL_BACKWARD:
    case KILN_NODE_CONVOLUTION_FORWARD:
    case KILN_NODE_CONVOLUTION_DATA_GRADIENT:
    case KILN_NODE_CONVOLUTION_WEIGHT_GRADIENT:
        return KILN_RANDOM_FACTOR;
    case KILN_NODE_BLOCK_SCALE_DEQUANTIZE:
        return slot == 1 ? KILN_RANDOM_POSITIVE : KILN_RANDOM_ANY;
    case KILN_NODE_RESAMPLE_FORWARD:
    case KILN_NODE_BLOCK_SCALE_QUANTIZE:
        return KILN_RANDOM_ANY;
    case KILN_NODE_RESAMPLE_BACKWARD:
        return node->input_roles[slot] == KILN_OPERAND_INDEX ? KILN_RANDOM_POSITION
                                                             : KILN_RANDOM_ANY;
    case KILN_NODE_ATTENTION:
    case KILN_NODE_ATTENTION_BACKWARD:
        return purpose_in_attention((enum kiln_operand)node->input_roles[slot]);
    default:
        return purpose_in_norm((enum kiln_operand)node->input_roles[slot]);
    }
}

/* What all readers of a tensor together need, and whether one of them reduces it. */
static enum kiln_random_purpose purpose_of(const struct kiln_graph *graph, uint32_t ordinal,
                                           bool *ret_is_reduced)
{
    enum kiln_random_purpose purpose = KILN_RANDOM_ANY;
    *ret_is_reduced = false;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct kiln_node *node = &graph->nodes[i];
        for (uint32_t slot = 0; slot < node->input_count; slot++) {
            if (node->inputs[slot] != ordinal)
                continue;
            enum kiln_random_purpose other = purpose_in_node(node, slot);
            purpose = other > purpose ? other : purpose;
            *ret_is_reduced = *ret_is_reduced || node->kind == KILN_NODE_REDUCTION ||
                              node->kind == KILN_NODE_MATMUL || kiln_node_is_grouped(node) ||
                              kiln_node_is_convolution(node) || kiln_node_is_attention(node) ||
                              (node->kind != KILN_NODE_POINTWISE &&
                               node->kind != KILN_NODE_BLOCK_SCALE_DEQUANTIZE &&
                               node->input_roles[slot] == KILN_OPERAND_X);
        }
    }
    return purpose;
}

/* Now and then data lies far from zero, where a variance as E(x^2) - E(x)^2 would cancel. */
static double choose_offset(struct kiln_random *random, enum kiln_dtype dtype)
{
    static const float offsets[] = {-1000, -100, 100, 3000};
    if (!kiln_random_chance(random, 12) || kiln_dtype_is_integer(dtype))
        return 0;
    double offset = (double)offsets[kiln_random_below(random, 4)];
    return kiln_dtype_info(dtype)->bytes < 4 ? offset / 32 : offset;
}

/* Now and then numbers are so large that products and sums of them overflow half. */
static double choose_factor(struct kiln_random *random, enum kiln_dtype dtype)
{
    return !kiln_dtype_is_integer(dtype) && kiln_random_chance(random, 3) ? 300 : 1;
}

/* A factor of a convolution or a product: what is not finite must not meet the zeros that stand for
 * padding and for the end of k. */
static bool is_factor(const struct kiln_graph *graph, uint32_t ordinal)
{
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct kiln_node *node = &graph->nodes[i];
        if (!kiln_node_is_convolution(node) && node->kind != KILN_NODE_MATMUL &&
            !kiln_node_is_grouped(node))
            continue;
        for (uint32_t slot = 0; slot < node->input_count; slot++) {
            if (node->inputs[slot] == ordinal)
                return true;
        }
    }
    return false;
}

static double choose_infinite(struct kiln_random *random)
{
    static const double infinite[] = {INFINITY, -INFINITY, NAN};
    return infinite[kiln_random_below(random, sizeof infinite / sizeof *infinite)];
}

void kiln_random_graph_fill(uint64_t seed, const struct kiln_random_graph_options *options,
                            const struct kiln_graph *graph, uint32_t ordinal, void *memory)
{
    const struct kiln_tensor *tensor = &graph->tensors[ordinal];
    memset(memory, 0xFF, (size_t)kiln_tensor_footprint_bytes(tensor));
    if (kiln_random_fill_routing(seed, graph, ordinal, memory) ||
        kiln_random_fill_offsets(seed, graph, ordinal, memory))
        return;
    struct kiln_random random = {seed ^ (UINT64_C(0x51ed270b1a2bd3c5) * (ordinal + 1))};
    (void)kiln_random_next(&random);
    bool positive = kiln_random_chance(&random, 20), is_reduced;
    enum kiln_random_purpose purpose = purpose_of(graph, ordinal, &is_reduced);
    if (positive && purpose < KILN_RANDOM_POSITIVE)
        purpose = KILN_RANDOM_POSITIVE;
    bool special = options->special_values && kiln_random_chance(&random, 15);
    double offset = 0;
    if (is_reduced) {
        /* One NaN takes a whole row with it: fewer, and not where they make nonsense of a norm. */
        special = special && purpose <= KILN_RANDOM_POSITIVE && kiln_random_chance(&random, 30);
        offset = purpose == KILN_RANDOM_DATA ? choose_offset(&random, tensor->dtype) : 0;
    }
    special = special && purpose <= KILN_RANDOM_POSITIVE;
    double factor = options->special_values && purpose <= KILN_RANDOM_FACTOR
                        ? choose_factor(&random, tensor->dtype)
                        : 1;
    bool has_infinite = options->infinite_factors && !kiln_dtype_is_integer(tensor->dtype) &&
                        is_factor(graph, ordinal) && kiln_random_chance(&random, 40);
    unsigned char *bytes = memory;
    int64_t index[KILN_MAX_RANK] = {0};
    int64_t place = 0;
    bool is_ragged = kiln_tensor_is_ragged(tensor);
    int64_t elements = is_ragged ? kiln_random_ragged_elements(seed, graph, ordinal)
                                 : kiln_tensor_elements(tensor);
    for (int64_t n = elements; n > 0; n--) {
        struct kiln_constant value = special && kiln_random_chance(&random, 3)
                                         ? choose_special(&random, tensor->dtype)
                                         : kiln_random_element(&random, tensor->dtype, purpose);
        value.real = value.real * factor + offset;
        if (has_infinite && kiln_random_chance(&random, 1))
            value.real = choose_infinite(&random);
        kiln_element_store_at(tensor->dtype, value, bytes, place);
        if (is_ragged) { /* element by element, gaps too */
            place++;
            continue;
        }
        for (uint32_t axis = tensor->rank; axis-- > 0;) {
            place += tensor->strides[axis];
            if (++index[axis] < tensor->dims[axis])
                break;
            place -= tensor->strides[axis] * tensor->dims[axis];
            index[axis] = 0;
        }
    }
}
