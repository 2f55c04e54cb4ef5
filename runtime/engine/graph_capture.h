/*
 * KILN_CAPTURE_DIR: every graph that a plugin sees, once, as a file, so that users can precompile
 * offline what they really run. A file is named after the hash of the graph's canonical form (of
 * the bytes where the graph cannot be read), so that equal graphs of any run and process make one
 * file: <32 hex digits>.bin. Files of counts (capture_counts.h) say how often the plugin was asked
 * for each.
 */
#ifndef KILN_RUNTIME_ENGINE_GRAPH_CAPTURE_H
#define KILN_RUNTIME_ENGINE_GRAPH_CAPTURE_H

#include "runtime/support/error.h"

#include <stddef.h>

struct kiln_graph_capture; /* opaque, thread-safe */

/* Files written by one process at most: a host that stamps each graph with a new identity must not
 * fill the disk. */
enum { KILN_GRAPH_CAPTURE_LIMIT = 4096 };

/* Captures to KILN_CAPTURE_DIR, which is created at the first graph. NULL when that is unset or
 * memory is out. */
struct kiln_graph_capture *kiln_graph_capture_create(void);
void kiln_graph_capture_destroy(struct kiln_graph_capture *capture);
/* Writes the graph unless it is there already. What fails is logged. `capture` may be NULL. */
void kiln_graph_capture_write(struct kiln_graph_capture *capture, const void *bytes, size_t size);
/* Does the same and counts one question of a host for the graph. */
void kiln_graph_capture_ask(struct kiln_graph_capture *capture, const void *bytes, size_t size);

#endif
