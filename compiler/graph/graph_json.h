/*
 * Graphs as JSON: flatc's JSON of the schemas in compiler/graph/schema, so that graphs can be
 * written by hand, and, for reading, hipDNN's own JSON, which it writes to HIPDNN_LOG_GRAPH_DIR. A
 * library of its own (kiln_graph_json) because it needs JSON parsers at run time, which the plugin
 * must not carry. No C++ type or exception crosses this header.
 */
#ifndef KILN_COMPILER_GRAPH_GRAPH_JSON_H
#define KILN_COMPILER_GRAPH_GRAPH_JSON_H

#include "compiler/graph/graph.h"
#include "runtime/support/buffer.h"
#include "runtime/support/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * JSON text of `length` bytes to the bytes hipDNN would send, appended to an empty buffer. `era`
 * chooses the layout; NULL takes the current one where the text fits it, NOV2025 otherwise. Any
 * text is tolerated: KILN_BAD_ARGUMENT with line and column, or the path in the document, when it
 * is not such JSON, KILN_REJECTED for kinds of nodes in hipDNN's JSON that are not known. The graph
 * is not checked beyond its form; kiln_graph_read does that.
 */
enum kiln_status kiln_graph_json_to_bytes(const char *text, size_t length,
                                          const enum kiln_wire_era *era, struct kiln_buffer *buffer,
                                          enum kiln_wire_era *ret_era,
                                          struct kiln_error *error) KILN_NODISCARD;

/* A serialized graph of either era to strict JSON, indented, ending in a newline. */
enum kiln_status kiln_graph_json_from_bytes(const void *bytes, size_t size,
                                            struct kiln_buffer *buffer,
                                            struct kiln_error *error) KILN_NODISCARD;

#ifdef __cplusplus
}
#endif
#endif
