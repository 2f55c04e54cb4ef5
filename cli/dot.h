/*
 * Graphviz text of a graph with one cluster per kernel.
 */
#ifndef KILN_CLI_DOT_H
#define KILN_CLI_DOT_H

#include "cli/fusion_view.h"
#include "runtime/support/buffer.h"

/* Boxes are the caller's tensors, cylinders values in the workspace, rounded boxes nodes. A node
 * stands once, in the kernel that makes its result; its label names the others. */
void kiln_dot_append(const struct kiln_graph *graph, const struct kiln_fusion_view *view,
                     const char *target, struct kiln_buffer *dot);

#endif
