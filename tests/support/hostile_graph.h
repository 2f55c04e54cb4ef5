/*
 * Graphs that are as hard to lower as their number of nodes allows: long chains, wide fans, many
 * reductions, many shapes, many outputs. For benchmarks of lowering and for tests that bound its
 * work.
 */
#ifndef KILN_TESTS_SUPPORT_HOSTILE_GRAPH_H
#define KILN_TESTS_SUPPORT_HOSTILE_GRAPH_H

#include "compiler/graph/graph.h"
#include "runtime/support/arena.h"
#include "runtime/support/error.h"

enum kiln_hostile_family {
#define KILN_HOSTILE(name, text) KILN_HOSTILE_##name,
#include "tests/support/hostile_graph.def"
    KILN_HOSTILE_COUNT
};

/* In words: "chain of batch norms". Static. */
const char *kiln_hostile_text(enum kiln_hostile_family family);

/* A graph of the family with exactly `node_count` nodes, 1 or more. Memory belongs to the arena.
 * Fails only for lack of memory. */
enum kiln_status kiln_hostile_graph_make(enum kiln_hostile_family family, uint32_t node_count,
                                         struct kiln_arena *arena, struct kiln_graph *ret_graph,
                                         struct kiln_error *error) KILN_NODISCARD;

#endif
