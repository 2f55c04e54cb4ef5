#include "benchmarks/graph_set.h"

#include "benchmarks/benchmark.h"
#include "compiler/graph/graph_reader.h"
#include "compiler/graph/wire_messages.h"

/* The outermost axis of the graph's first tensor, wherever it is: no stride depends on its size. */
static void enlarge(struct kiln_graph *graph, unsigned added)
{
    int64_t size = graph->tensors[0].dims[0];
    for (uint32_t i = 0; i < graph->tensor_count; i++)
        if (graph->tensors[i].rank > 1 && graph->tensors[i].dims[0] == size)
            graph->tensors[i].dims[0] += added;
}

enum kiln_status kiln_graph_set_at(unsigned index, struct kiln_buffer *ret_bytes,
                                   struct kiln_error *error)
{
    struct kiln_buffer bytes;
    struct kiln_arena arena;
    struct kiln_graph graph;
    kiln_buffer_init(ret_bytes);
    kiln_arena_init(&arena);
    const char *path = kiln_compile_graphs[index % kiln_compile_graph_count].path;
    enum kiln_status status = kiln_benchmark_graph(path, &bytes, error);
    if (!status)
        status = kiln_graph_read(bytes.data, bytes.size, &arena, &graph, error);
    if (!status) {
        enlarge(&graph, index / kiln_compile_graph_count);
        status = kiln_graph_write(&graph, KILN_WIRE_ERA_CURRENT, ret_bytes, error);
    }
    kiln_buffer_fini(&bytes);
    kiln_arena_fini(&arena);
    return status;
}
