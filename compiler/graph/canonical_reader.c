#include "compiler/graph/canonical_reader.h"

#include "compiler/graph/canonical_form.h"
#include "compiler/graph/graph_reader.h"

#include <string.h>

/* Of a graph that wire.cc takes. */
enum { MOST_TENSORS = 16384, MOST_NODES = 4096 };

static enum kiln_status fail(struct kiln_error *error)
{
    return kiln_error_set(error, KILN_CORRUPT, "it is no canonical form of a graph");
}

/* Counts are checked before memory is taken for as many as untrusted bytes ask for. */
static enum kiln_status take_graph(struct kiln_reader *reader, struct kiln_arena *arena,
                                   struct kiln_graph *graph, struct kiln_error *error)
{
    graph->tensor_count = kiln_reader_u32(reader);
    graph->node_count = kiln_reader_u32(reader);
    if (reader->failed || graph->tensor_count > MOST_TENSORS || graph->node_count > MOST_NODES)
        return fail(error);
    graph->tensors = kiln_arena_calloc(arena, graph->tensor_count, sizeof *graph->tensors);
    graph->nodes = kiln_arena_calloc(arena, graph->node_count, sizeof *graph->nodes);
    if (graph->tensors == NULL || graph->nodes == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while reading a graph");
    for (uint32_t i = 0; i < graph->tensor_count && !reader->failed; i++) {
        struct kiln_tensor *tensor = &graph->tensors[i];
        kiln_visit_tensor(&(struct kiln_fields){.reader = reader}, tensor);
        tensor->uid = i;
        tensor->name = "";
        tensor->producer = KILN_NONE;
        if (tensor->ragged.multiplier < 0 ||
            (kiln_tensor_is_ragged(tensor) && tensor->ragged.offsets >= graph->tensor_count))
            return fail(error);
    }
    for (uint32_t i = 0; i < graph->node_count && !reader->failed; i++) {
        kiln_visit_node(&(struct kiln_fields){.reader = reader}, graph->tensor_count,
                        &graph->nodes[i]);
        graph->nodes[i].name = "";
        for (uint32_t j = 0; j < graph->nodes[i].output_count && !reader->failed; j++)
            graph->tensors[graph->nodes[i].outputs[j]].producer = i;
    }
    return reader->failed || reader->position != reader->size ? fail(error) : KILN_OK;
}

enum kiln_status kiln_graph_read_canonical(const void *bytes, size_t size, struct kiln_arena *arena,
                                           struct kiln_graph *ret_graph, struct kiln_error *error)
{
    struct kiln_reader reader;
    kiln_reader_init(&reader, bytes, size);
    uint32_t version = kiln_reader_u32(&reader);
    if (!reader.failed && version != KILN_CANONICAL_VERSION)
        return kiln_error_set(error, KILN_UNSUPPORTED,
                              "its graph is in version %u of the canonical form, not %d", version,
                              KILN_CANONICAL_VERSION);
    struct kiln_graph graph = {.era = KILN_WIRE_ERA_CURRENT, .name = ""};
    enum kiln_status status = take_graph(&reader, arena, &graph, error);
    if (status != KILN_OK)
        return status;
    struct kiln_buffer again;
    kiln_buffer_init(&again);
    kiln_graph_append_canonical(&graph, &again);
    status = kiln_buffer_check(&again, error);
    if (status == KILN_OK && (again.size != size || memcmp(again.data, bytes, size) != 0))
        status = fail(error);
    kiln_buffer_fini(&again);
    if (status == KILN_OK)
        *ret_graph = graph;
    return status;
}
