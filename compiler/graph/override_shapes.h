/*
 * Shapes that the caller of execute gives for a graph that was built for them: hipDNN's override
 * shapes. The graph declares the largest ones. Source: hipdnn-november-2026.md 1.6.
 */
#ifndef KILN_COMPILER_GRAPH_OVERRIDE_SHAPES_H
#define KILN_COMPILER_GRAPH_OVERRIDE_SHAPES_H

#include "compiler/graph/graph.h"
#include "runtime/support/arena.h"
#include "runtime/support/error.h"

/* Shape i is that of tensor uids[i]: ranks[i] sizes and as many strides, in elements. The arrays
 * are the caller's. */
struct kiln_shape_overrides {
    uint32_t count;
    const int64_t *uids;
    const uint32_t *ranks;
    const int64_t *const *dims;
    const int64_t *const *strides;
};

/*
 * Reads a graph (kiln_graph_read) as it is with these shapes. Other tensors keep the declared
 * shape, except that sizes of virtual tensors follow from the inputs.
 *
 * Every shape is checked, whatever the host has checked. KILN_BAD_ARGUMENT with a sentence:
 *   - the uid is unknown, named twice, or belongs to a tensor without memory;
 *   - an array is missing;
 *   - the rank is not the declared one;
 *   - a size is below 1 or above the declared one;
 *   - a stride is below 1, or strides are in another order than the declared ones;
 *   - the strides reach beyond the declared tensor, whose memory may end there.
 * A declared stride of 0 stays 0. KILN_REJECTED if the shapes do not fit together.
 */
enum kiln_status kiln_graph_read_with_overrides(const void *bytes, size_t size,
                                                const struct kiln_shape_overrides *overrides,
                                                struct kiln_arena *arena,
                                                struct kiln_graph *ret_graph,
                                                struct kiln_error *error) KILN_NODISCARD;

/*
 * Infers the sizes of all results from the inputs. `tensors` is a copy of the graph's tensors with
 * other sizes of inputs. Strides of a result are dense, in the declared order. The call checks
 * nothing: kiln_graph_read_with_overrides tells if the sizes make sense.
 */
void kiln_graph_infer_outputs(const struct kiln_graph *declared, struct kiln_tensor *tensors);

#endif
