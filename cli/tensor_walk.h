/*
 * Walking the elements of a strided tensor in row-major order of their index:
 *
 *     for (kiln_tensor_walk_init(&walk, tensor); walk.index < walk.count;
 * kiln_tensor_walk_next(&walk))
 */
#ifndef KILN_CLI_TENSOR_WALK_H
#define KILN_CLI_TENSOR_WALK_H

#include "compiler/graph/graph.h"

#include <stdint.h>

struct kiln_tensor_walk {
    const struct kiln_tensor *tensor;
    int64_t count;
    int64_t index;
    int64_t offset; /* of the element, in elements */
    int64_t coordinates[KILN_MAX_RANK];
};

void kiln_tensor_walk_init(struct kiln_tensor_walk *walk, const struct kiln_tensor *tensor);
void kiln_tensor_walk_next(struct kiln_tensor_walk *walk);

#endif
