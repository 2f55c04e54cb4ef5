/*
 * A graph with memory for its tensors, and the comparison of its outputs with the interpreter.
 */
#ifndef KILN_TESTS_CHECKED_GRAPH_H
#define KILN_TESTS_CHECKED_GRAPH_H

#include "compiler/graph/graph.h"
#include "runtime/support/arena.h"
#include "runtime/support/error.h"
#include "tests/support/random_graph.h"

/* Memory by tensor, NULL for tensors that have none: inputs filled from the seed, outputs with
 * `poison`. NULL when there is no memory; free_tensor_memory drops it. */
void **make_tensor_memory(const struct kiln_graph *graph, uint64_t seed,
                          const struct kiln_random_graph_options *options, unsigned char poison);
void free_tensor_memory(const struct kiln_graph *graph, void **memory);

struct checked_elements {
    uint64_t checked;
    uint64_t unchecked; /* of these, for lack of a bound */
};

/* Compares every output with the interpreter. Fails at the first output with a wrong element, or
 * with a byte other than `poison` between its elements. */
enum kiln_status check_outputs(const struct kiln_graph *graph, void *const *memory,
                               unsigned char poison, struct kiln_arena *arena,
                               struct checked_elements *ret_elements,
                               struct kiln_error *error) KILN_NODISCARD;

#endif
