#include "json_graph.h"

#include "compiler/graph/graph_json.h"
#include "compiler/graph/wire_graph.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void read_bytes(struct json_graph *graph)
{
    kiln_error_init(&graph->error);
    kiln_arena_init(&graph->arena);
    size_t size = graph->bytes.size;
    char *exact = malloc(size != 0 ? size : 1);
    cr_assert_not_null(exact);
    if (size != 0)
        memcpy(exact, graph->bytes.data, size);
    graph->status = kiln_graph_read(exact, size, &graph->arena, &graph->graph, &graph->error);
    free(exact);
}

void json_graph_init(struct json_graph *graph, const char *text, const enum kiln_wire_era *era)
{
    size_t length = strlen(text);
    char *quoted = malloc(length + 1);
    cr_assert_not_null(quoted);
    for (size_t i = 0; i <= length; i++)
        quoted[i] = text[i] == '\'' ? '"' : text[i];
    enum kiln_wire_era ignored;
    kiln_buffer_init(&graph->bytes);
    kiln_error_init(&graph->error);
    enum kiln_status status =
        kiln_graph_json_to_bytes(quoted, length, era, &graph->bytes, &ignored, &graph->error);
    free(quoted);
    cr_assert_eq(status, KILN_OK, "%s\nin %s", graph->error.text, text);
    read_bytes(graph);
}

void json_graph_init_bytes(struct json_graph *graph, const void *bytes, size_t size)
{
    kiln_buffer_init(&graph->bytes);
    kiln_buffer_append(&graph->bytes, bytes, size);
    read_bytes(graph);
}

void json_graph_fini(struct json_graph *graph)
{
    kiln_buffer_fini(&graph->bytes);
    kiln_arena_fini(&graph->arena);
}

void json_graph_accept(struct json_graph *graph, const char *text, const enum kiln_wire_era *era)
{
    json_graph_init(graph, text, era);
    cr_assert_eq(graph->status, KILN_OK, "%s\nin %s", graph->error.text, text);
    check_invariants(&graph->graph);
}

void canonical_of_json(const char *text, const enum kiln_wire_era *era,
                       struct kiln_buffer *ret_canonical)
{
    struct json_graph graph;
    json_graph_accept(&graph, text, era);
    kiln_buffer_init(ret_canonical);
    kiln_graph_append_canonical(&graph.graph, ret_canonical);
    json_graph_fini(&graph);
}

struct kiln_graph chain_graph(struct kiln_arena *arena, uint32_t node_count)
{
    struct kiln_graph graph = {
        .name = "chain",
        .tensor_count = node_count + 1,
        .node_count = node_count,
        .tensors = kiln_arena_calloc(arena, node_count + 1, sizeof *graph.tensors),
        .nodes = kiln_arena_calloc(arena, node_count, sizeof *graph.nodes),
    };
    cr_assert(graph.tensors != NULL && graph.nodes != NULL);
    for (uint32_t i = 0; i <= node_count; i++)
        graph.tensors[i] = (struct kiln_tensor){
            .uid = i,
            .name = "",
            .role = i == 0            ? KILN_TENSOR_INPUT
                    : i == node_count ? KILN_TENSOR_OUTPUT
                                      : KILN_TENSOR_VIRTUAL,
            .rank = 1,
            .dims = {4},
            .strides = {1},
            .alignment_bytes = 16,
        };
    for (uint32_t i = 0; i < node_count; i++)
        graph.nodes[i] = (struct kiln_node){
            .name = "",
            .input_count = 1,
            .output_count = 1,
            .inputs = {i},
            .outputs = {i + 1},
            .pointwise = {.mode = KILN_POINTWISE_NEG},
        };
    return graph;
}

static void check_tensor(const struct kiln_graph *graph, uint32_t ordinal)
{
    const struct kiln_tensor *tensor = &graph->tensors[ordinal];
    bool produced = tensor->producer != KILN_NONE;
    cr_assert_not_null(tensor->name);
    cr_assert_leq(tensor->rank, KILN_MAX_RANK);
    cr_assert_lt(tensor->dtype, KILN_DTYPE_COUNT);
    cr_assert_gt(kiln_tensor_footprint_bytes(tensor), 0);
    cr_assert_gt(kiln_tensor_elements(tensor), 0);
    cr_assert_eq(tensor->alignment_bytes & (tensor->alignment_bytes - 1), 0);
    cr_assert_geq(tensor->alignment_bytes, kiln_dtype_info(tensor->dtype)->bytes);
    for (uint32_t i = 0; i < tensor->rank; i++) {
        cr_assert_geq(tensor->dims[i], 1);
        cr_assert_geq(tensor->strides[i], 0);
        cr_assert(tensor->dims[i] > 1 || tensor->strides[i] == 0);
    }
    switch (tensor->role) {
    case KILN_TENSOR_INPUT:
        cr_assert(!produced);
        break;
    case KILN_TENSOR_OUTPUT:
    case KILN_TENSOR_VIRTUAL:
        cr_assert(produced);
        break;
    case KILN_TENSOR_CONSTANT:
    case KILN_TENSOR_HOST_SCALAR:
        cr_assert(!produced);
        cr_assert_eq(kiln_tensor_elements(tensor), 1);
        break;
    }
    if (produced) {
        cr_assert_lt(tensor->producer, graph->node_count);
        cr_assert_eq(graph->nodes[tensor->producer].outputs[0], ordinal);
    }
}

void check_invariants(const struct kiln_graph *graph)
{
    uint32_t seen = 0;
    cr_assert(graph->name != NULL && graph->node_count > 0 && graph->tensor_count > 0);
    for (uint32_t i = 0; i < graph->tensor_count; i++)
        check_tensor(graph, i);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct kiln_node *node = &graph->nodes[i];
        cr_assert_not_null(node->name);
        for (uint32_t k = 0; k < node->input_count; k++) {
            const struct kiln_tensor *input = &graph->tensors[node->inputs[k]];
            cr_assert_leq(node->inputs[k], seen, "ordinals follow first appearance");
            seen += node->inputs[k] == seen;
            cr_assert(input->producer == KILN_NONE || input->producer < i, "sorted");
        }
        cr_assert_eq(node->output_count, 1);
        cr_assert_leq(node->outputs[0], seen);
        seen += node->outputs[0] == seen;
        cr_assert_eq(graph->tensors[node->outputs[0]].producer, i);
    }
    cr_assert_eq(seen, graph->tensor_count, "every tensor is referenced");
}
