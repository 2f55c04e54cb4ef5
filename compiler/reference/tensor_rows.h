/*
 * A tensor seen as rows: the elements along a set of axes, one row per point of the other axes.
 * Rows and the elements of a row are counted in row-major order. Other tensors of the node are
 * reached through views, by the same position, broadcast right-aligned.
 */
#ifndef KILN_COMPILER_REFERENCE_TENSOR_ROWS_H
#define KILN_COMPILER_REFERENCE_TENSOR_ROWS_H

#include "compiler/graph/graph.h"

#include <stdbool.h>

struct kiln_tensor_rows {
    uint32_t rank;
    int64_t dims[KILN_MAX_RANK];
    uint32_t axes; /* bit per axis that runs along a row */
    int64_t row_count;
    int64_t row_length;
};

/* Where the elements of a packed tensor are. */
struct kiln_row_view {
    int64_t strides[KILN_MAX_RANK]; /* by the axes of the rows; 0 where it is broadcast */
    bool by_row; /* one element per row, in order, however many axes of size 1 its shape has */
};

void kiln_tensor_rows_init(struct kiln_tensor_rows *rows, const struct kiln_tensor *tensor,
                           uint32_t axes);

struct kiln_row_view kiln_row_view_of(const struct kiln_tensor_rows *rows,
                                      const struct kiln_tensor *tensor);

/* Offset into packed content of element `i` of a row. */
int64_t kiln_row_view_offset(const struct kiln_tensor_rows *rows, const struct kiln_row_view *view,
                             int64_t row, int64_t i);

#endif
