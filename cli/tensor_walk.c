#include "cli/tensor_walk.h"

#include "compiler/reference/ragged_memory.h"

/* Goes on to the next element of a ragged tensor that is in memory, from this one on. */
static void find_present(struct kiln_tensor_walk *walk)
{
    for (; walk->spans != NULL && walk->index < walk->count; walk->index++) {
        walk->offset = kiln_ragged_place(walk->tensor, walk->spans, walk->index);
        if (walk->offset >= 0)
            return;
    }
}

void kiln_tensor_walk_init(struct kiln_tensor_walk *walk, const struct kiln_tensor *tensor,
                           const struct kiln_span *spans)
{
    *walk = (struct kiln_tensor_walk){
        .tensor = tensor, .spans = spans, .count = kiln_tensor_elements(tensor)};
    find_present(walk);
}

void kiln_tensor_walk_next(struct kiln_tensor_walk *walk)
{
    const struct kiln_tensor *tensor = walk->tensor;
    walk->index++;
    if (walk->spans != NULL) {
        find_present(walk);
        return;
    }
    for (uint32_t axis = tensor->rank; axis-- > 0;) {
        walk->offset += tensor->strides[axis];
        if (++walk->coordinates[axis] < tensor->dims[axis])
            return;
        walk->offset -= tensor->strides[axis] * tensor->dims[axis];
        walk->coordinates[axis] = 0;
    }
}
