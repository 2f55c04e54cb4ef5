/*
 * The graph that kiln doctor compiles and runs.
 */
#ifndef KILN_CLI_DOCTOR_DOCTOR_GRAPH_H
#define KILN_CLI_DOCTOR_DOCTOR_GRAPH_H

#include "compiler/graph/graph.h"
#include "runtime/support/arena.h"
#include "runtime/support/buffer.h"

/* Memory of the graph belongs to the arena; its bytes are appended to an empty buffer. */
enum kiln_status kiln_doctor_graph(struct kiln_arena *arena, struct kiln_graph *ret_graph,
                                   struct kiln_buffer *ret_bytes,
                                   struct kiln_error *error) KILN_NODISCARD;

#endif
