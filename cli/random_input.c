#include "cli/random_input.h"

#include <math.h>
#include <stddef.h>

static const struct {
    enum kiln_pointwise_mode mode;
    uint32_t slot;
    enum kiln_input_range range;
} wishes[] = {
    {KILN_POINTWISE_LOG, 0, KILN_INPUT_POSITIVE},
    {KILN_POINTWISE_SQRT, 0, KILN_INPUT_POSITIVE},
    {KILN_POINTWISE_RSQRT, 0, KILN_INPUT_POSITIVE},
    {KILN_POINTWISE_RECIPROCAL, 0, KILN_INPUT_NONZERO},
    {KILN_POINTWISE_DIV, 1, KILN_INPUT_NONZERO},
    {KILN_POINTWISE_BINARY_SELECT, 2, KILN_INPUT_FLAG},
    {KILN_POINTWISE_LOGICAL_AND, 0, KILN_INPUT_FLAG},
    {KILN_POINTWISE_LOGICAL_AND, 1, KILN_INPUT_FLAG},
    {KILN_POINTWISE_LOGICAL_OR, 0, KILN_INPUT_FLAG},
    {KILN_POINTWISE_LOGICAL_OR, 1, KILN_INPUT_FLAG},
    {KILN_POINTWISE_LOGICAL_NOT, 0, KILN_INPUT_FLAG},
    {KILN_POINTWISE_CMP_EQ, 0, KILN_INPUT_GRID},
    {KILN_POINTWISE_CMP_EQ, 1, KILN_INPUT_GRID},
    {KILN_POINTWISE_CMP_NEQ, 0, KILN_INPUT_GRID},
    {KILN_POINTWISE_CMP_NEQ, 1, KILN_INPUT_GRID},
    {KILN_POINTWISE_CMP_LE, 0, KILN_INPUT_GRID},
    {KILN_POINTWISE_CMP_LE, 1, KILN_INPUT_GRID},
    {KILN_POINTWISE_CMP_LT, 0, KILN_INPUT_GRID},
    {KILN_POINTWISE_CMP_LT, 1, KILN_INPUT_GRID},
    {KILN_POINTWISE_CMP_GE, 0, KILN_INPUT_GRID},
    {KILN_POINTWISE_CMP_GE, 1, KILN_INPUT_GRID},
    {KILN_POINTWISE_CMP_GT, 0, KILN_INPUT_GRID},
    {KILN_POINTWISE_CMP_GT, 1, KILN_INPUT_GRID},
};

/* Of the nodes that are no pointwise ones. */
static const struct {
    enum kiln_operand operand;
    enum kiln_input_range range;
} operand_wishes[] = {
    {KILN_OPERAND_VARIANCE, KILN_INPUT_POSITIVE},
    {KILN_OPERAND_INV_VARIANCE, KILN_INPUT_POSITIVE},
    {KILN_OPERAND_INV_RMS, KILN_INPUT_POSITIVE},
    {KILN_OPERAND_PREV_RUNNING_VARIANCE, KILN_INPUT_POSITIVE},
    {KILN_OPERAND_EPSILON, KILN_INPUT_POSITIVE},
    {KILN_OPERAND_MOMENTUM, KILN_INPUT_FRACTION},
};

/* splitmix64's mixing function (Steele, Lea, Flood 2014). */
uint64_t kiln_random_mix(uint64_t value)
{
    value += 0x9e3779b97f4a7c15u;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
    value = (value ^ value >> 27) * 0x94d049bb133111ebu;
    return value ^ value >> 31;
}

/* What a node would like to read from an operand; KILN_INPUT_ANY when it takes anything. */
static enum kiln_input_range wish_of(const struct kiln_node *node, uint32_t slot)
{
    for (size_t i = 0; i < sizeof(wishes) / sizeof(*wishes); i++)
        if (node->kind == KILN_NODE_POINTWISE && wishes[i].mode == node->pointwise.mode &&
            wishes[i].slot == slot)
            return wishes[i].range;
    for (size_t i = 0; i < sizeof(operand_wishes) / sizeof(*operand_wishes); i++)
        if (node->kind != KILN_NODE_POINTWISE &&
            operand_wishes[i].operand == node->input_roles[slot])
            return operand_wishes[i].range;
    return KILN_INPUT_ANY;
}

void kiln_random_input_init(struct kiln_random_input *random, const struct kiln_graph *graph,
                            uint32_t tensor, uint64_t seed)
{
    random->dtype = graph->tensors[tensor].dtype;
    random->range = KILN_INPUT_ANY;
    random->stream = kiln_random_mix(kiln_random_mix(seed) + tensor);
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct kiln_ragged *ragged = &graph->tensors[i].ragged;
        if (ragged->multiplier == 0 || ragged->offsets != tensor ||
            (random->range == KILN_INPUT_OFFSETS && ragged->longest >= random->ragged.longest))
            continue;
        random->range = KILN_INPUT_OFFSETS;
        random->ragged = *ragged;
    }
    if (random->range == KILN_INPUT_OFFSETS)
        return;
    /* The first reader with a wish decides. */
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct kiln_node *node = &graph->nodes[i];
        for (uint32_t slot = 0; slot < node->input_count; slot++) {
            if (node->inputs[slot] != tensor || wish_of(node, slot) == KILN_INPUT_ANY)
                continue;
            random->range = wish_of(node, slot);
            return;
        }
    }
}

/* As many tokens in front of a batch as the batches before it have. */
static struct kiln_constant make_offset(const struct kiln_random_input *random, int64_t batch)
{
    int64_t tokens = 0;
    for (int64_t b = 0; b < batch; b++)
        tokens += (int64_t)(kiln_random_mix(random->stream + (uint64_t)b) %
                            ((uint64_t)random->ragged.longest + 1));
    int64_t offset = tokens * random->ragged.token / random->ragged.multiplier;
    return (struct kiln_constant){(double)offset, offset};
}

static struct kiln_constant make_integer(const struct kiln_random_input *random, uint64_t bits)
{
    int64_t value;
    if (random->dtype == KILN_DTYPE_BOOL || random->range == KILN_INPUT_FLAG)
        value = (int64_t)(bits & 1);
    else if (random->range == KILN_INPUT_POSITIVE || random->range == KILN_INPUT_NONZERO)
        value = 1 + (int64_t)(bits % 8);
    else if (random->dtype == KILN_DTYPE_U8)
        value = (int64_t)(bits % 16);
    else
        value = (int64_t)(bits % 17) - 8;
    return (struct kiln_constant){(double)value, value};
}

struct kiln_constant kiln_random_input_element(void *context, int64_t index)
{
    const struct kiln_random_input *random = context;
    uint64_t bits = kiln_random_mix(random->stream + (uint64_t)index);
    if (random->range == KILN_INPUT_OFFSETS)
        return make_offset(random, index);
    if (kiln_dtype_is_integer(random->dtype))
        return make_integer(random, bits);
    double unit = (double)(bits >> 11) * 0x1p-53; /* [0, 1) */
    double value = 0;
    switch (random->range) {
    case KILN_INPUT_ANY:
        value = 4 * unit - 2;
        break;
    case KILN_INPUT_POSITIVE:
        value = 0.25 + 3.75 * unit;
        break;
    case KILN_INPUT_NONZERO:
        value = (bits & 1 ? -1 : 1) * (0.5 + 1.5 * unit);
        break;
    case KILN_INPUT_GRID:
        value = floor(9 * unit) / 2 - 2;
        break;
    case KILN_INPUT_FRACTION:
        value = unit;
        break;
    case KILN_INPUT_FLAG:
        value = (double)(bits & 1);
        break;
    case KILN_INPUT_OFFSETS: /* integers */
        break;
    }
    return (struct kiln_constant){value, 0};
}
