/*
 * Graphviz text of a graph with one cluster per kernel.
 */
#ifndef KILN_CLI_DOT_H
#define KILN_CLI_DOT_H

#include "cli/fusion_view.h"
#include "runtime/support/buffer.h"

/* Boxes are tensors in memory, cylinders intermediates in the workspace, rounded boxes operations;
 * an operation that several kernels compute stands in each of them. */
void kiln_dot_append(const struct kiln_graph *graph, const struct kiln_fusion_view *view,
                     const char *target, struct kiln_buffer *dot);

#endif
