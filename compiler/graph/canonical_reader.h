/*
 * Canonical forms as graphs again: to say what a cache entry is of. The form is in files that
 * anybody may have written.
 */
#ifndef KILN_COMPILER_GRAPH_CANONICAL_READER_H
#define KILN_COMPILER_GRAPH_CANONICAL_READER_H

#include "compiler/graph/graph.h"
#include "runtime/support/arena.h"
#include "runtime/support/error.h"

/*
 * Reads what kiln_graph_append_canonical wrote and nothing else: appended again the graph gives the
 * same bytes. Names are empty and uids are ordinals; parameters that the form leaves out are 0. The
 * graph is for describing: it is well-formed (operands, types, modes and roles exist), but what
 * kiln_graph_read checks besides was not checked, and nothing may be lowered from it.
 *
 * KILN_UNSUPPORTED for a form of another version, KILN_CORRUPT, KILN_NO_MEMORY.
 */
enum kiln_status kiln_graph_read_canonical(const void *bytes, size_t size, struct kiln_arena *arena,
                                           struct kiln_graph *ret_graph,
                                           struct kiln_error *error) KILN_NODISCARD;

#endif
