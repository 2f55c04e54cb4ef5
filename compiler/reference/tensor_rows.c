#include "compiler/reference/tensor_rows.h"

void kiln_tensor_rows_init(struct kiln_tensor_rows *rows, const struct kiln_tensor *tensor,
                           uint32_t axes)
{
    *rows = (struct kiln_tensor_rows){
        .rank = tensor->rank, .axes = axes, .row_count = 1, .row_length = 1};
    for (uint32_t axis = 0; axis < tensor->rank; axis++) {
        rows->dims[axis] = tensor->dims[axis];
        if ((axes >> axis & 1) != 0)
            rows->row_length *= tensor->dims[axis];
        else
            rows->row_count *= tensor->dims[axis];
    }
}

struct kiln_row_view kiln_row_view_of(const struct kiln_tensor_rows *rows,
                                      const struct kiln_tensor *tensor)
{
    struct kiln_row_view view = {.by_row = true};
    int64_t stride = 1;
    for (uint32_t i = 1; i <= tensor->rank && i <= rows->rank; i++) {
        uint32_t axis = rows->rank - i;
        int64_t dim = tensor->dims[tensor->rank - i];
        view.strides[axis] = dim == 1 ? 0 : stride;
        stride *= dim;
        /* Has it an axis along the row, it is no statistic. */
        if ((rows->axes >> axis & 1) != 0 && dim != 1 && dim == rows->dims[axis])
            view.by_row = false;
    }
    view.by_row = view.by_row && kiln_tensor_elements(tensor) == rows->row_count;
    return view;
}

int64_t kiln_row_view_offset(const struct kiln_tensor_rows *rows, const struct kiln_row_view *view,
                             int64_t row, int64_t i)
{
    if (view->by_row)
        return row;
    int64_t offset = 0;
    for (uint32_t axis = rows->rank; axis-- > 0;) {
        int64_t *position = (rows->axes >> axis & 1) != 0 ? &i : &row;
        offset += *position % rows->dims[axis] * view->strides[axis];
        *position /= rows->dims[axis];
    }
    return offset;
}
