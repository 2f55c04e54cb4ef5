/* Many graphs, for tests of what must hold for all: those that are stored as files, and random
 * ones.
 */
#ifndef KILN_TESTS_COMPILER_EVERY_GRAPH_H
#define KILN_TESTS_COMPILER_EVERY_GRAPH_H

#include "compiler/graph/graph.h"

typedef void every_graph_visit(const struct kiln_graph *graph, const char *name);

/* The samples, and the shared graphs, which are not everywhere. Returns how many there were. */
uint32_t every_stored_graph(every_graph_visit *visit);
/* Random graphs of all families of nodes. */
void every_random_graph(every_graph_visit *visit);

#endif
