/* Ragged operands of attention: which tensors are, and what their offsets say. */
#include "compiler/graph/ragged.h"
#include "compiler/reference/convert.h"
#include "compiler/reference/ragged_memory.h"
#include "tests/support/random_graph_generator.h"

#include <stdlib.h>
#include <string.h>

enum { OPERANDS = 7 };

static const enum kiln_operand operands[OPERANDS] = {
    KILN_OPERAND_Q,     KILN_OPERAND_K,   KILN_OPERAND_V,       KILN_OPERAND_O,
    KILN_OPERAND_STATS, KILN_OPERAND_MAX, KILN_OPERAND_SUM_EXP,
};

static bool is_of_keys(enum kiln_operand role)
{
    return role == KILN_OPERAND_K || role == KILN_OPERAND_V;
}

static uint32_t find(const struct kiln_node *node, enum kiln_operand role)
{
    uint32_t input = kiln_node_input(node, role);
    return input != KILN_NONE ? input : kiln_node_output(node, role);
}

/* ---- layout ---- */

/* Token by token: heads of a token next to each other, now and then with gaps. */
static void lie_by_tokens(struct kiln_random *random, struct kiln_tensor *tensor)
{
    int64_t depth = tensor->dims[3], heads = tensor->dims[1];
    int64_t head = depth + (kiln_random_chance(random, 15) ? kiln_random_below(random, 5) : 0);
    int64_t token = head * heads;
    if (kiln_random_chance(random, 25))
        token += kiln_random_below(random, 9);
    tensor->ragged.longest = tensor->dims[KILN_RAGGED_SEQUENCE];
    tensor->ragged.token = token;
    tensor->strides[0] = 0;
    tensor->strides[1] = heads > 1 ? head : 0;
    tensor->strides[2] = tensor->dims[2] > 1 ? token : 0;
    tensor->strides[3] = depth > 1 ? 1 : 0;
}

/* Elements, tokens, or what divides a token. */
static int64_t choose_multiplier(struct kiln_random *random, int64_t token)
{
    int64_t divisor = kiln_random_chance(random, 60)   ? token
                      : kiln_random_chance(random, 50) ? 1
                                                       : 1 + kiln_random_below(random, 64);
    return token % divisor == 0 ? divisor : 1;
}

static uint32_t append_offsets(struct kiln_random_generator *generator, int64_t batches)
{
    struct kiln_graph *graph = &generator->graph;
    uint32_t ordinal = graph->tensor_count++;
    bool is_long = kiln_random_chance(&generator->random, 35);
    struct kiln_tensor *tensor = &graph->tensors[ordinal];
    *tensor = (struct kiln_tensor){
        .uid = graph->tensors[ordinal - 1].uid + 1,
        .name = "offsets",
        .dtype = is_long ? KILN_DTYPE_I64 : KILN_DTYPE_I32,
        .role = KILN_TENSOR_INPUT,
        .rank = kiln_random_chance(&generator->random, 30) ? 1 : KILN_RAGGED_RANK,
        .dims = {batches + 1},
        .strides = {kiln_random_chance(&generator->random, 10) ? 2 : 1},
        .alignment_bytes = is_long ? 8 : 4,
        .producer = KILN_NONE,
    };
    for (uint32_t i = 1; i < tensor->rank; i++)
        tensor->dims[i] = 1;
    return ordinal;
}

/* ---- which ones ---- */

static uint32_t count_uses(const struct kiln_graph *graph, uint32_t ordinal)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct kiln_node *node = &graph->nodes[i];
        for (uint32_t k = 0; k < node->input_count; k++)
            count += node->inputs[k] == ordinal;
        for (uint32_t k = 0; k < node->output_count; k++)
            count += node->outputs[k] == ordinal;
    }
    return count;
}

/* Used once, and in memory. */
static bool may_be_ragged(const struct kiln_graph *graph, uint32_t ordinal)
{
    const struct kiln_tensor *tensor = &graph->tensors[ordinal];
    return count_uses(graph, ordinal) == 1 && tensor->rank == KILN_RAGGED_RANK &&
           (tensor->role == KILN_TENSOR_INPUT || tensor->role == KILN_TENSOR_OUTPUT);
}

static bool may_have_ragged(const struct kiln_graph *graph, const struct kiln_node *node)
{
    bool may = node->kind == KILN_NODE_ATTENTION && node->compute_type != KILN_DTYPE_F64 &&
               kiln_node_output(node, KILN_OPERAND_AMAX_O) == KILN_NONE;
    for (uint32_t i = 0; may && i < 4; i++) {
        uint32_t ordinal = find(node, operands[i]);
        int64_t depth = graph->tensors[ordinal].dims[3];
        may = may_be_ragged(graph, ordinal) && depth >= 2 && depth <= 256;
    }
    for (uint32_t i = 0; may && i < node->input_count; i++) {
        const struct kiln_tensor *tensor = &graph->tensors[node->inputs[i]];
        bool is_length = node->input_roles[i] == KILN_OPERAND_SEQ_LEN_Q ||
                         node->input_roles[i] == KILN_OPERAND_SEQ_LEN_KV;
        bool is_mask = node->input_roles[i] == KILN_OPERAND_ATTN_MASK;
        may = tensor->dtype != KILN_DTYPE_F64 &&
              !(is_length && tensor->role != KILN_TENSOR_INPUT) &&
              !(is_mask && tensor->role == KILN_TENSOR_CONSTANT);
    }
    for (uint32_t i = 0; may && i < node->output_count; i++)
        may = graph->tensors[node->outputs[i]].dtype != KILN_DTYPE_F64;
    return may;
}

/* Offsets that can be shared have the same numbers of multipliers in a token. */
static bool may_share(const struct kiln_tensor *tensor, const struct kiln_tensor *other)
{
    int64_t parts = other->ragged.token / other->ragged.multiplier;
    return tensor->ragged.token % parts == 0;
}

static void make_ragged(struct kiln_random_generator *generator, struct kiln_node *node)
{
    struct kiln_random *random = &generator->random;
    struct kiln_graph *graph = &generator->graph;
    uint32_t of_queries = KILN_NONE, of_keys = KILN_NONE; /* tensors whose offsets others share */
    bool are_queries = kiln_random_chance(random, 90);
    bool are_keys = !are_queries || kiln_random_chance(random, 90);
    for (uint32_t i = 0; i < OPERANDS; i++) {
        uint32_t ordinal = find(node, operands[i]);
        bool is_key = is_of_keys(operands[i]);
        uint32_t *shared = is_key ? &of_keys : &of_queries;
        if (ordinal == KILN_NONE || !(is_key ? are_keys : are_queries) ||
            !may_be_ragged(graph, ordinal) || (i >= 4 && kiln_random_chance(random, 40)))
            continue;
        struct kiln_tensor *tensor = &graph->tensors[ordinal];
        lie_by_tokens(random, tensor);
        if (*shared != KILN_NONE && may_share(tensor, &graph->tensors[*shared]) &&
            kiln_random_chance(random, 75)) {
            const struct kiln_ragged *other = &graph->tensors[*shared].ragged;
            tensor->ragged.offsets = other->offsets;
            tensor->ragged.multiplier = tensor->ragged.token / (other->token / other->multiplier);
        } else {
            tensor->ragged.multiplier = choose_multiplier(random, tensor->ragged.token);
            tensor->ragged.offsets = append_offsets(generator, tensor->dims[0]);
        }
        *shared = ordinal;
        kiln_random_add_input(generator, node, kiln_ragged_offsets_role(operands[i]),
                              tensor->ragged.offsets);
    }
}

void kiln_random_make_ragged(struct kiln_random_generator *generator)
{
    for (uint32_t i = 0; i < generator->graph.node_count; i++) {
        if (may_have_ragged(&generator->graph, &generator->graph.nodes[i]))
            make_ragged(generator, &generator->graph.nodes[i]);
    }
}

/* ---- offsets ---- */

/* Tokens of a batch, the same for all that agree. */
static int64_t choose_length(struct kiln_random *random, int64_t longest)
{
    uint32_t kind = kiln_random_below(random, 100);
    int64_t length = kiln_random_below(random, (uint32_t)longest + 1);
    return kind < 15 ? 0 : kind < 40 ? longest : length;
}

/* A wrong offset. Batches of results must not overlap, so that theirs is the last one. */
static int64_t damage(struct kiln_random *random, bool is_stored, int64_t offset)
{
    switch (kiln_random_below(random, is_stored ? 1 : 3)) {
    case 0:
        return INT32_MAX;
    case 1:
        return -1 - (int64_t)kiln_random_below(random, 1000);
    default:
        return offset / 3;
    }
}

bool kiln_random_fill_offsets(uint64_t seed, const struct kiln_graph *graph, uint32_t ordinal,
                              void *memory)
{
    const struct kiln_tensor *line = &graph->tensors[ordinal];
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct kiln_node *node = &graph->nodes[i];
        const struct kiln_tensor *ragged = NULL;
        bool is_stored = false, is_key = false;
        for (uint32_t k = 0; k < OPERANDS && node->kind == KILN_NODE_ATTENTION; k++) {
            uint32_t tensor = find(node, operands[k]);
            if (tensor == KILN_NONE || !kiln_tensor_is_ragged(&graph->tensors[tensor]) ||
                graph->tensors[tensor].ragged.offsets != ordinal)
                continue;
            ragged = &graph->tensors[tensor];
            is_key = is_of_keys(operands[k]);
            is_stored = is_stored || ragged->role == KILN_TENSOR_OUTPUT;
        }
        if (ragged == NULL)
            continue;
        struct kiln_random random = {seed ^ (UINT64_C(0x2545f4914f6cdd1d) * (2 * i + is_key + 1))};
        int64_t batches = ragged->dims[KILN_RAGGED_BATCH], tokens = 0;
        bool is_damaged = kiln_random_chance(&random, 15);
        int64_t damaged = kiln_random_below(&random, (uint32_t)batches + 1);
        size_t step = (size_t)line->strides[0] * kiln_dtype_info(line->dtype)->bytes;
        for (int64_t b = 0; b <= batches; b++) {
            int64_t offset = tokens * ragged->ragged.token / ragged->ragged.multiplier;
            if (is_damaged && b == (is_stored ? batches : damaged))
                offset = damage(&random, is_stored, offset);
            tokens += choose_length(&random, ragged->ragged.longest);
            kiln_element_store(line->dtype, (struct kiln_constant){(double)offset, offset},
                               (unsigned char *)memory + (size_t)b * step);
        }
        return true;
    }
    return false;
}

int64_t kiln_random_ragged_elements(uint64_t seed, const struct kiln_graph *graph, uint32_t ordinal)
{
    const struct kiln_tensor *tensor = &graph->tensors[ordinal];
    const struct kiln_tensor *line = &graph->tensors[tensor->ragged.offsets];
    void *offsets = calloc((size_t)kiln_tensor_footprint_bytes(line), 1);
    int64_t elements = 0;
    if (offsets != NULL && kiln_random_fill_offsets(seed, graph, tensor->ragged.offsets, offsets))
        elements = kiln_ragged_memory_elements(graph, ordinal, offsets);
    free(offsets);
    return elements;
}
