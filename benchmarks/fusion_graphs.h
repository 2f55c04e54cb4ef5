/*
 * The graphs of the fusion benchmark, of any size, built in memory: what fusion is for (softmax,
 * norms, chains), norms both as hipDNN's one node and written out node by node.
 */
#ifndef KILN_BENCHMARKS_FUSION_GRAPHS_H
#define KILN_BENCHMARKS_FUSION_GRAPHS_H

#include "compiler/graph/graph.h"
#include "runtime/support/arena.h"
#include "runtime/support/error.h"

struct kiln_fusion_builder; /* a graph in the making */

/* Builds graphs whose large tensors have about that many bytes each. */
struct kiln_fusion_graph {
    const char *name;
    void (*build)(struct kiln_fusion_builder *builder, int64_t tensor_bytes);
};

extern const struct kiln_fusion_graph kiln_fusion_graphs[];
extern const unsigned kiln_fusion_graph_count;
/* One identity node: reads a tensor and writes one. */
extern const struct kiln_fusion_graph kiln_copy_graph;

/* Memory belongs to the arena. Inputs hold what kiln_fusion_graph_fill writes. */
enum kiln_status kiln_fusion_graph_make(const struct kiln_fusion_graph *graph, int64_t tensor_bytes,
                                        struct kiln_arena *arena, struct kiln_graph *ret_graph,
                                        struct kiln_error *error) KILN_NODISCARD;

/* Fills the memory of an input with numbers between 0.25 and 1. */
void kiln_fusion_graph_fill(const struct kiln_tensor *tensor, void *memory);

#endif
