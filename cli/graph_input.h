/*
 * One graph from a file or standard input: FlatBuffer bytes as they are, JSON turned into them.
 */
#ifndef KILN_CLI_GRAPH_INPUT_H
#define KILN_CLI_GRAPH_INPUT_H

#include "compiler/graph/graph.h"
#include "runtime/support/arena.h"
#include "runtime/support/buffer.h"
#include "runtime/support/error.h"

#include <stdbool.h>

enum { KILN_GRAPH_FILE_LIMIT_BYTES = 64 << 20 };

struct kiln_graph_input {
    struct kiln_buffer bytes; /* FlatBuffer, also when the file was JSON */
    struct kiln_arena arena;  /* of the graph */
    struct kiln_graph graph;
};

/*
 * Reads (as kiln_input_file_read does) and checks the graph. Files larger than
 * KILN_GRAPH_FILE_LIMIT_BYTES and directories give KILN_BAD_ARGUMENT, unreadable ones
 * KILN_NOT_FOUND or KILN_IO, JSON that is no graph KILN_BAD_ARGUMENT, declined graphs
 * KILN_REJECTED. The sentence names the path. The input is initialised in any case: fini it.
 */
enum kiln_status kiln_graph_input_read(const char *path, struct kiln_graph_input *ret_input,
                                       struct kiln_error *error) KILN_NODISCARD;
void kiln_graph_input_fini(struct kiln_graph_input *input);

/* True when the failure means that the bytes are no graph at all, rather than a graph that is
 * declined. */
bool kiln_graph_input_is_no_graph(const struct kiln_error *error);

/* True if writing `output` would destroy the graph in `path`. A file that was found in a directory
 * and holds no graph, as the report of the last run, would be skipped and is none. */
bool kiln_graph_input_is_output(const char *path, bool is_found, const char *output);

/* True if bytes are JSON text rather than a FlatBuffer: the first non-blank is '{' and no NUL is
 * near it. */
bool kiln_graph_bytes_are_json(const void *bytes, size_t size);

#endif
