/*
 * Ten sample graphs, damaged: every truncation and random byte flips of their bytes.
 */
#ifndef KILN_TESTS_DAMAGED_GRAPHS_H
#define KILN_TESTS_DAMAGED_GRAPHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One graph to try. `label` says what was done to it. Memory of `size` bytes exactly, so that
 * address sanitizer sees a reader that goes on behind them. */
struct damaged_graph {
    const unsigned char *bytes;
    size_t size;
    bool is_whole; /* undamaged: has to be accepted */
    char label[96];
};

/* False ends the run. */
typedef bool damaged_graph_visitor(void *context, const struct damaged_graph *graph);

/*
 * Visits each sample whole, then all its truncations, then a tenth of `flips` copies with one byte
 * changed. The same seed gives the same bytes. False, with a sentence on standard error, when a
 * sample cannot be read; or when the visitor returned false.
 */
bool damaged_graphs_visit(unsigned long flips, uint64_t seed, damaged_graph_visitor *visit,
                          void *context);

#endif
