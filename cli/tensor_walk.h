/*
 * Walking the elements of a strided tensor in row-major order of their index:
 *
 *     for (kiln_tensor_walk_init(&walk, tensor, spans); walk.index < walk.count;
 * kiln_tensor_walk_next(&walk))
 *
 * Of a ragged tensor the elements that are in memory: `spans` says where its batches lie.
 */
#ifndef KILN_CLI_TENSOR_WALK_H
#define KILN_CLI_TENSOR_WALK_H

#include "compiler/graph/ragged.h"

#include <stdint.h>

struct kiln_tensor_walk {
    const struct kiln_tensor *tensor;
    const struct kiln_span *spans; /* NULL: the tensor is not ragged */
    int64_t count;
    int64_t index;
    int64_t offset; /* of the element, in elements */
    int64_t coordinates[KILN_MAX_RANK];
};

void kiln_tensor_walk_init(struct kiln_tensor_walk *walk, const struct kiln_tensor *tensor,
                           const struct kiln_span *spans);
void kiln_tensor_walk_next(struct kiln_tensor_walk *walk);

#endif
