/*
 * The memory of ragged tensors, on the host: which of their elements there are, and where.
 */
#ifndef KILN_COMPILER_REFERENCE_RAGGED_MEMORY_H
#define KILN_COMPILER_REFERENCE_RAGGED_MEMORY_H

#include "compiler/graph/ragged.h"

/* Where the batches of tensor `ordinal` lie, by its offsets' memory. `ret_spans` has room for each
 * batch. */
void kiln_ragged_read_spans(const struct kiln_graph *graph, uint32_t ordinal, const void *offsets,
                            struct kiln_span *ret_spans);

/* The elements that the tensor's memory has: up to where its last batch ends. */
int64_t kiln_ragged_memory_elements(const struct kiln_graph *graph, uint32_t ordinal,
                                    const void *offsets);

/* Where the element with this logical index, row-major over dims, is; -1 where its batch is
 * shorter. */
int64_t kiln_ragged_place(const struct kiln_tensor *tensor, const struct kiln_span *spans,
                          int64_t index);

#endif
