/*
 * Graph bytes for tests of the engine and the plugin.
 */
#ifndef KILN_TESTS_SAMPLE_GRAPH_H
#define KILN_TESTS_SAMPLE_GRAPH_H

#include "compiler/graph/graph.h"
#include "runtime/support/buffer.h"

enum { SAMPLE_MAX_INPUTS = 600 };

/* A chain of additions, called "sample": out = in[0] + in[1] + ... + in[input_count-1], all of one
 * type and of `elements` elements; node i makes a virtual tensor, but the last. */
struct sample_graph {
    enum kiln_wire_era era;
    enum kiln_dtype dtype;
    int64_t elements;
    uint32_t input_count;      /* 2 to SAMPLE_MAX_INPUTS */
    const int64_t *input_uids; /* NULL: 1, 2, 3, ... */
    int64_t output_uid;       /* must differ from all others; virtual tensors have 1000000 and up */
    bool last_is_host_scalar; /* the last input is a runtime scalar of one element (current era) */
};

/* Appends the graph's bytes to the (empty) buffer; aborts when that fails. */
void sample_graph_write(const struct sample_graph *sample, struct kiln_buffer *ret_bytes);
/* out = a + b of 1000 floats with the uids 1, 2 and 3. */
void sample_graph_write_add(struct kiln_buffer *ret_bytes);

#endif
