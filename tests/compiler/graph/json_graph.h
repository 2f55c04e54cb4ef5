/* Graphs for tests, from JSON, from bytes, or generated. */
#ifndef KILN_TESTS_COMPILER_GRAPH_JSON_GRAPH_H
#define KILN_TESTS_COMPILER_GRAPH_JSON_GRAPH_H

#include "compiler/graph/graph_reader.h"

struct json_graph {
    struct kiln_arena arena;
    struct kiln_buffer bytes; /* as hipDNN would send them */
    enum kiln_status status;  /* of kiln_graph_read */
    struct kiln_error error;
    struct kiln_graph graph; /* when status is KILN_OK */
};

/* JSON with single quotes for double ones, of an era (NULL: detected). JSON that does not parse is
 * a test failure. */
void json_graph_init(struct json_graph *graph, const char *text, const enum kiln_wire_era *era);
/* Reads bytes; they are copied to memory of exactly their size first, for the address sanitizer. */
void json_graph_init_bytes(struct json_graph *graph, const void *bytes, size_t size);
void json_graph_fini(struct json_graph *graph);

/* The same, as a test failure when the graph is declined. */
void json_graph_accept(struct json_graph *graph, const char *text, const enum kiln_wire_era *era);

/* Appends the canonical form of accepted JSON to an empty buffer. */
void canonical_of_json(const char *text, const enum kiln_wire_era *era,
                       struct kiln_buffer *ret_canonical);

/* A chain of `node_count` NEG nodes with node_count + 1 tensors, all memory of the arena. */
struct kiln_graph chain_graph(struct kiln_arena *arena, uint32_t node_count);

/* Fails the test when an invariant of graph.h does not hold. */
void check_invariants(const struct kiln_graph *graph);

#endif
