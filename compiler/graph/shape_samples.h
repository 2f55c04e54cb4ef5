/*
 * Smaller shapes of a graph that takes override shapes, which between them tell what general
 * kernels its smaller shapes need.
 */
#ifndef KILN_COMPILER_GRAPH_SHAPE_SAMPLES_H
#define KILN_COMPILER_GRAPH_SHAPE_SAMPLES_H

#include "compiler/graph/override_shapes.h"

/* Sample 0 is the declared shape, without any override. */
uint32_t kiln_shape_sample_count(const struct kiln_graph *declared);
/* Shapes of all inputs and outputs, in the arena. Axes of equal size change together. They need not
 * fit together: kiln_graph_read_with_overrides tells. KILN_NO_MEMORY. */
enum kiln_status kiln_shape_sample(const struct kiln_graph *declared, uint32_t sample,
                                   struct kiln_arena *arena,
                                   struct kiln_shape_overrides *ret_overrides,
                                   struct kiln_error *error) KILN_NODISCARD;

#endif
