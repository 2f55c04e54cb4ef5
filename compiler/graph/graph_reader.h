/*
 * Reading hipDNN's serialized operation graphs, both wire layouts, from untrusted bytes.
 *
 * Calling sequence: kiln_graph_read fills a graph whose memory belongs to the arena, or declines
 * with KILN_REJECTED, a row of reject.def in error->reject_reason and a sentence that names node
 * and tensor. Nothing of the bytes is referenced afterwards. No C++ type or exception crosses this
 * header.
 */
#ifndef KILN_COMPILER_GRAPH_GRAPH_READER_H
#define KILN_COMPILER_GRAPH_GRAPH_READER_H

#include "compiler/graph/graph.h"
#include "runtime/support/arena.h"
#include "runtime/support/buffer.h"
#include "runtime/support/error.h"
#include "runtime/support/hash.h"

#ifdef __cplusplus
extern "C" {
#endif

enum kiln_reject_reason {
    KILN_REJECT_NONE = 0,
#define KILN_REJECT(name, text) KILN_REJECT_##name,
#include "compiler/graph/reject.def"
    KILN_REJECT_REASON_COUNT
};

/* "DUPLICATE_UID" style name; static, never NULL. */
const char *kiln_reject_name(uint32_t reason);

/* Reads and checks a graph. `bytes` may have any alignment and any content. A failure sets no more
 * of the graph than its name, "" where that cannot be read. */
enum kiln_status kiln_graph_read(const void *bytes, size_t size, struct kiln_arena *arena,
                                 struct kiln_graph *ret_graph,
                                 struct kiln_error *error) KILN_NODISCARD;

/*
 * Appends the canonical form: equal for two graphs exactly when they ask for the same computation
 * with the same shapes, strides, types and constants, whatever their names, uids, tensor order and
 * wire layout. It is what cache keys hold.
 */
void kiln_graph_append_canonical(const struct kiln_graph *graph, struct kiln_buffer *buffer);
/* The same without sizes and strides of tensors: equal for all shapes of a computation. */
void kiln_graph_append_computation(const struct kiln_graph *graph, struct kiln_buffer *buffer);
/* The hash of the canonical form, which names the graph in messages and captures. KILN_NO_MEMORY.
 */
enum kiln_status kiln_graph_hash(const struct kiln_graph *graph, struct kiln_hash128 *ret_hash,
                                 struct kiln_error *error) KILN_NODISCARD;

/* Human-readable dump, one line per tensor and node, ending in a newline. Tensors are named by
 * ordinal, "%4". */
void kiln_graph_print(const struct kiln_graph *graph, struct kiln_buffer *buffer);
/* Prints the same text, with the user's names instead of ordinals. */
void kiln_graph_print_for_user(const struct kiln_graph *graph, struct kiln_buffer *buffer);
/* Prints the line of one node in that text, without its indentation. */
void kiln_graph_print_node_for_user(const struct kiln_graph *graph, uint32_t node,
                                    struct kiln_buffer *buffer);

#ifdef __cplusplus
}
#endif
#endif
