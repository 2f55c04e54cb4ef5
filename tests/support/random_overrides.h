/*
 * Random override shapes of a graph, for tests: smaller sizes of inputs, and what follows for
 * outputs. Everything follows from the seed.
 */
#ifndef KILN_TESTS_SUPPORT_RANDOM_OVERRIDES_H
#define KILN_TESTS_SUPPORT_RANDOM_OVERRIDES_H

#include "compiler/graph/override_shapes.h"

/*
 * Shapes for all inputs and outputs of a graph with declared sizes. Axes of equal size change
 * together, so many of these shapes fit together; kiln_graph_read_with_overrides tells. Strides are
 * the declared ones or dense. The arrays belong to the arena. False without memory.
 */
bool kiln_random_overrides_make(uint64_t seed, const struct kiln_graph *graph,
                                struct kiln_arena *arena,
                                struct kiln_shape_overrides *ret_overrides);

#endif
