/*
 * What a node does, in a word.
 */
#ifndef KILN_CLI_NODE_OPERATION_H
#define KILN_CLI_NODE_OPERATION_H

#include "compiler/graph/graph.h"

/* "ADD", "GELU_FWD"; static. */
const char *kiln_node_operation(const struct kiln_node *node);

#endif
