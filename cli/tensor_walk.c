#include "cli/tensor_walk.h"

void kiln_tensor_walk_init(struct kiln_tensor_walk *walk, const struct kiln_tensor *tensor)
{
    *walk = (struct kiln_tensor_walk){.tensor = tensor, .count = kiln_tensor_elements(tensor)};
}

void kiln_tensor_walk_next(struct kiln_tensor_walk *walk)
{
    const struct kiln_tensor *tensor = walk->tensor;
    walk->index++;
    for (uint32_t axis = tensor->rank; axis-- > 0;) {
        walk->offset += tensor->strides[axis];
        if (++walk->coordinates[axis] < tensor->dims[axis])
            return;
        walk->offset -= tensor->strides[axis] * tensor->dims[axis];
        walk->coordinates[axis] = 0;
    }
}
