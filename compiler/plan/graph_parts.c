#include "compiler/plan/graph_parts.h"

#include <stdlib.h>

static uint32_t weight_of(const struct kiln_node *node)
{
    static const uint32_t weights[KILN_NODE_KIND_COUNT] = {
#define KILN_NODE_KIND(name, text, attributes, importer, evaluator, scalar, weight) weight,
#include "compiler/graph/node_kind.def"
    };
    return weights[node->kind];
}

uint64_t kiln_graph_weight(const struct kiln_graph *graph)
{
    uint64_t weight = 0;
    for (uint32_t i = 0; i < graph->node_count; i++)
        weight += weight_of(&graph->nodes[i]);
    return weight;
}

/* Per node. */
struct splitter {
    const struct kiln_graph *graph;
    uint32_t *order; /* the nodes, each after what it needs */
    uint32_t count;  /* of nodes that have a place in it */
    uint32_t *place;
    uint32_t *input; /* the operand that is looked at next */
    uint32_t *stack;
    bool *is_read;
    int64_t *crossing; /* bytes that order[i] and later nodes read of what is made before */
};

/* ---- order ---- */

static uint32_t producer_of(const struct splitter *splitter, uint32_t tensor)
{
    return splitter->graph->tensors[tensor].producer;
}

/* Places a node right after those that it needs and that have no place. */
static void place_with_operands(struct splitter *splitter, uint32_t node)
{
    uint32_t depth = 0;
    splitter->stack[depth++] = node;
    while (depth != 0) {
        uint32_t top = splitter->stack[depth - 1];
        const struct kiln_node *at = &splitter->graph->nodes[top];
        if (splitter->input[top] < at->input_count) {
            uint32_t producer = producer_of(splitter, at->inputs[splitter->input[top]++]);
            if (producer != KILN_NONE && splitter->place[producer] == KILN_NONE)
                splitter->stack[depth++] = producer;
            continue;
        }
        splitter->place[top] = splitter->count;
        splitter->order[splitter->count++] = top;
        depth--;
    }
}

/* Nodes that none reads come in the order of the graph, each with what leads to it. */
static void choose_order(struct splitter *splitter)
{
    const struct kiln_graph *graph = splitter->graph;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        splitter->place[i] = KILN_NONE;
        for (uint32_t k = 0; k < graph->nodes[i].input_count; k++) {
            uint32_t producer = producer_of(splitter, graph->nodes[i].inputs[k]);
            if (producer != KILN_NONE)
                splitter->is_read[producer] = true;
        }
    }
    for (uint32_t i = 0; i < graph->node_count; i++) {
        if (!splitter->is_read[i])
            place_with_operands(splitter, i);
    }
}

/* ---- where parts end ---- */

/* Bytes that go through memory if a part ends between a tensor's producer and its readers: an
 * output is written anyway. */
static int64_t crossing_bytes(const struct kiln_tensor *tensor)
{
    static const int64_t most = INT64_C(1) << 40; /* their sum fits */
    int64_t bytes = kiln_tensor_footprint_bytes(tensor);
    bytes = bytes < most ? bytes : most;
    return tensor->role == KILN_TENSOR_OUTPUT ? bytes : 2 * bytes;
}

static bool count_crossing(struct splitter *splitter, struct kiln_arena *arena)
{
    const struct kiln_graph *graph = splitter->graph;
    uint32_t *last = kiln_arena_calloc(arena, graph->tensor_count, sizeof *last);
    if (last == NULL)
        return false;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct kiln_node *node = &graph->nodes[splitter->order[i]];
        for (uint32_t k = 0; k < node->input_count; k++)
            last[node->inputs[k]] = i;
    }
    for (uint32_t t = 0; t < graph->tensor_count; t++) {
        if (graph->tensors[t].producer == KILN_NONE)
            continue;
        uint32_t made = splitter->place[graph->tensors[t].producer];
        if (last[t] <= made)
            continue;
        splitter->crossing[made + 1] += crossing_bytes(&graph->tensors[t]);
        splitter->crossing[last[t] + 1] -= crossing_bytes(&graph->tensors[t]);
    }
    for (uint32_t i = 1; i < graph->node_count; i++)
        splitter->crossing[i] += splitter->crossing[i - 1];
    return true;
}

/* True if nodes before this one don't share its kernel as a rule: it is the heart of one. */
static bool begins_kernel(const struct kiln_node *node)
{
    enum { PRODUCT_WEIGHT = 24 };
    return weight_of(node) >= PRODUCT_WEIGHT;
}

/* The end of a part that begins at `begin`: where the fewest bytes cross in its second half. */
static uint32_t find_end(const struct splitter *splitter, uint32_t begin, uint32_t most)
{
    const struct kiln_graph *graph = splitter->graph;
    uint64_t weight = 0;
    uint32_t best = begin;
    for (uint32_t end = begin + 1; end <= graph->node_count; end++) {
        weight += weight_of(&graph->nodes[splitter->order[end - 1]]);
        if (weight > most && end > begin + 1)
            return best;
        if (end == graph->node_count)
            return end;
        int64_t bytes = splitter->crossing[end];
        int64_t fewest = splitter->crossing[best];
        bool begins = begins_kernel(&graph->nodes[splitter->order[end]]);
        bool best_begins = begins_kernel(&graph->nodes[splitter->order[best]]);
        if (best == begin || weight < most / 2 || bytes < fewest ||
            (bytes == fewest && begins >= best_begins))
            best = end;
    }
    return best;
}

static int compare_nodes(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

enum kiln_status kiln_graph_split(const struct kiln_graph *graph, uint32_t most,
                                  struct kiln_arena *arena, struct kiln_graph_parts *ret_parts,
                                  struct kiln_error *error)
{
    size_t count = (size_t)graph->node_count + 1;
    struct splitter splitter = {
        .graph = graph,
        .order = kiln_arena_calloc(arena, count, sizeof *splitter.order),
        .place = kiln_arena_calloc(arena, count, sizeof *splitter.place),
        .input = kiln_arena_calloc(arena, count, sizeof *splitter.input),
        .stack = kiln_arena_calloc(arena, count, sizeof *splitter.stack),
        .is_read = kiln_arena_calloc(arena, count, sizeof *splitter.is_read),
        .crossing = kiln_arena_calloc(arena, count, sizeof *splitter.crossing),
    };
    uint32_t *first = kiln_arena_calloc(arena, count, sizeof *first);
    if (splitter.order == NULL || splitter.place == NULL || splitter.input == NULL ||
        splitter.stack == NULL || splitter.is_read == NULL || splitter.crossing == NULL ||
        first == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory to split the graph");
    choose_order(&splitter);
    if (!count_crossing(&splitter, arena))
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory to split the graph");
    struct kiln_graph_parts parts = {.first = first, .nodes = splitter.order};
    while (first[parts.count] < graph->node_count) {
        uint32_t begin = first[parts.count];
        uint32_t end = find_end(&splitter, begin, most);
        first[++parts.count] = end;
        qsort(splitter.order + begin, end - begin, sizeof *splitter.order, compare_nodes);
    }
    *ret_parts = parts;
    return KILN_OK;
}
