/*
 * Producers and the order of nodes. hipDNN promises sorted nodes; a graph that breaks the promise
 * is sorted here, keeping the given order wherever the edges leave a choice.
 */
#include "compiler/graph/graph_builder.h"

#include <string.h>

static enum kiln_status find_producers(struct kiln_graph_builder *builder)
{
    const struct kiln_graph *graph = &builder->graph;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct kiln_node *node = &graph->nodes[i];
        for (uint32_t o = 0; o < node->output_count; o++) {
            uint32_t tensor = node->outputs[o];
            uint32_t other = builder->producers[tensor];
            if (other != KILN_NONE)
                return kiln_reject_node(
                    builder->error, KILN_REJECT_WRITTEN_TWICE, graph, node,
                    "writes the tensor with uid %lld, which node %u (%s) writes too",
                    (long long)builder->wire->tensors[tensor].uid, other,
                    kiln_name_quote(graph->nodes[other].name).text);
            builder->producers[tensor] = i;
        }
    }
    return KILN_OK;
}

static bool is_sorted(const struct kiln_graph_builder *builder)
{
    const struct kiln_graph *graph = &builder->graph;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct kiln_node *node = &graph->nodes[i];
        for (uint32_t k = 0; k < node->input_count; k++) {
            uint32_t producer = builder->producers[node->inputs[k]];
            if (producer != KILN_NONE && producer >= i)
                return false;
        }
    }
    return true;
}

/* Binary heap of node indices, the smallest on top. */
struct heap {
    uint32_t *items;
    uint32_t count;
};

static void heap_push(struct heap *heap, uint32_t item)
{
    uint32_t hole = heap->count++;
    while (hole > 0 && heap->items[(hole - 1) / 2] > item) {
        heap->items[hole] = heap->items[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    heap->items[hole] = item;
}

static uint32_t heap_pop(struct heap *heap)
{
    uint32_t top = heap->items[0];
    uint32_t item = heap->items[--heap->count];
    uint32_t hole = 0;
    for (;;) {
        uint32_t child = 2 * hole + 1;
        if (child >= heap->count)
            break;
        if (child + 1 < heap->count && heap->items[child + 1] < heap->items[child])
            child++;
        if (heap->items[child] >= item)
            break;
        heap->items[hole] = heap->items[child];
        hole = child;
    }
    heap->items[hole] = item;
    return top;
}

/* Edges producer -> consumer as adjacency lists in one array. */
struct edges {
    uint32_t *first;   /* node_count + 1 offsets into consumers */
    uint32_t *targets; /* consumers */
    uint32_t *waiting; /* per node: inputs whose producer has not been placed */
};

static bool collect_edges(const struct kiln_graph_builder *builder, struct edges *ret_edges)
{
    const struct kiln_graph *graph = &builder->graph;
    size_t nodes = graph->node_count;
    uint32_t *first = kiln_arena_calloc(builder->scratch, nodes + 1, sizeof *first);
    uint32_t *next = kiln_arena_calloc(builder->scratch, nodes, sizeof *next);
    uint32_t *waiting = kiln_arena_calloc(builder->scratch, nodes, sizeof *waiting);
    uint32_t *targets =
        kiln_arena_calloc(builder->scratch, nodes * KILN_MAX_NODE_OPERANDS, sizeof *targets);
    if (first == NULL || next == NULL || waiting == NULL || targets == NULL)
        return false;
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < graph->node_count; i++) {
            const struct kiln_node *node = &graph->nodes[i];
            for (uint32_t k = 0; k < node->input_count; k++) {
                uint32_t producer = builder->producers[node->inputs[k]];
                if (producer == KILN_NONE)
                    continue;
                if (pass == 0) {
                    first[producer + 1]++;
                    waiting[i]++;
                } else {
                    targets[next[producer]++] = i;
                }
            }
        }
        for (uint32_t i = 0; pass == 0 && i < graph->node_count; i++) {
            first[i + 1] += first[i];
            next[i] = first[i];
        }
    }
    *ret_edges = (struct edges){.first = first, .targets = targets, .waiting = waiting};
    return true;
}

/* Every unplaced node waits for an unplaced one: walking back from any of them runs into a cycle.
 */
static enum kiln_status reject_cycle(const struct kiln_graph_builder *builder,
                                     const uint32_t *waiting)
{
    const struct kiln_graph *graph = &builder->graph;
    uint32_t node = 0;
    while (waiting[node] == 0)
        node++;
    uint32_t other = node;
    for (uint32_t step = 0; step <= graph->node_count; step++) {
        const struct kiln_node *current = &graph->nodes[node];
        other = node;
        for (uint32_t k = 0; k < current->input_count; k++) {
            uint32_t producer = builder->producers[current->inputs[k]];
            if (producer != KILN_NONE && waiting[producer] != 0) {
                node = producer;
                break;
            }
        }
    }
    if (other == node)
        return kiln_reject_node(builder->error, KILN_REJECT_CYCLE, graph, &graph->nodes[node],
                                "reads its own output");
    return kiln_reject_node(builder->error, KILN_REJECT_CYCLE, graph, &graph->nodes[node],
                            "part of a cycle: node %u (%s) reads its output, and it waits for "
                            "that node",
                            other, kiln_name_quote(graph->nodes[other].name).text);
}

static enum kiln_status sort_nodes(struct kiln_graph_builder *builder)
{
    struct kiln_graph *graph = &builder->graph;
    struct edges edges;
    struct heap ready = {
        .items = kiln_arena_calloc(builder->scratch, graph->node_count, sizeof *ready.items)};
    uint32_t *positions = kiln_arena_calloc(builder->scratch, graph->node_count, sizeof *positions);
    struct kiln_node *sorted = kiln_arena_calloc(builder->arena, graph->node_count, sizeof *sorted);
    if (ready.items == NULL || positions == NULL || sorted == NULL ||
        !collect_edges(builder, &edges))
        return kiln_graph_no_memory(builder->error);

    for (uint32_t i = 0; i < graph->node_count; i++) {
        if (edges.waiting[i] == 0)
            heap_push(&ready, i);
    }
    uint32_t placed = 0;
    while (ready.count != 0) {
        uint32_t node = heap_pop(&ready);
        positions[node] = placed;
        sorted[placed++] = graph->nodes[node];
        for (uint32_t e = edges.first[node]; e < edges.first[node + 1]; e++) {
            if (--edges.waiting[edges.targets[e]] == 0)
                heap_push(&ready, edges.targets[e]);
        }
    }
    if (placed != graph->node_count)
        return reject_cycle(builder, edges.waiting);

    graph->nodes = sorted;
    for (uint32_t i = 0; i < builder->wire->tensor_count; i++) {
        if (builder->producers[i] != KILN_NONE)
            builder->producers[i] = positions[builder->producers[i]];
    }
    return KILN_OK;
}

enum kiln_status kiln_node_order(struct kiln_graph_builder *builder)
{
    size_t bytes = builder->wire->tensor_count * sizeof *builder->producers;
    builder->producers = kiln_arena_calloc(builder->scratch, 1, bytes);
    if (builder->producers == NULL)
        return kiln_graph_no_memory(builder->error);
    memset(builder->producers, 0xff, bytes);
    enum kiln_status status = find_producers(builder);
    if (status != KILN_OK || is_sorted(builder))
        return status;
    return sort_nodes(builder);
}
