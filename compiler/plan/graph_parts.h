/*
 * Large graphs in parts: which nodes are lowered together (docs/decisions/0037). Tensors
 * that go from one part to another go through memory.
 */
#ifndef KILN_COMPILER_PLAN_GRAPH_PARTS_H
#define KILN_COMPILER_PLAN_GRAPH_PARTS_H

#include "compiler/graph/graph.h"
#include "runtime/support/arena.h"
#include "runtime/support/error.h"

/* Nodes are weighed by the work that lowering them is. A part of the larger weight takes some 60 MB
 * and 100 ms (release build); where a partition runs out of steps, parts of the smaller weight are
 * made instead. */
enum { KILN_PART_MAX_WEIGHT = 4096, KILN_PART_LEAST_WEIGHT = 256 };

struct kiln_graph_parts {
    uint32_t count;
    /* Part i has nodes[first[i]] to nodes[first[i + 1] - 1], which ascend. It reads nothing that a
     * later part makes. */
    uint32_t *first;
    uint32_t *nodes;
};

/* The weight of all nodes: a node of one operation is 1. */
uint64_t kiln_graph_weight(const struct kiln_graph *graph);

/*
 * Splits a graph into parts of at most `most` weight; a heavier node is a part by itself. Nodes
 * that lead to the same result come together, whatever their order in the graph, and parts end
 * where the fewest bytes go from one to the next. Memory belongs to the arena. Fails only for lack
 * of memory.
 */
enum kiln_status kiln_graph_split(const struct kiln_graph *graph, uint32_t most,
                                  struct kiln_arena *arena, struct kiln_graph_parts *ret_parts,
                                  struct kiln_error *error) KILN_NODISCARD;

#endif
