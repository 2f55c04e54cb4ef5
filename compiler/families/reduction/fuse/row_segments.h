/*
 * Segments of rows: a reduction with too few rows to fill the target does segments of them in one
 * kernel, and another one combines these.
 */
#ifndef KILN_COMPILER_FAMILIES_REDUCTION_ROW_SEGMENTS_H
#define KILN_COMPILER_FAMILIES_REDUCTION_ROW_SEGMENTS_H

#include "compiler/fuse/group_builder.h"

/*
 * Into how many segments the rows of a reduction of `operand` over the axes of its domain are cut;
 * 1: they are not.
 */
uint32_t kiln_row_segment_count(struct kiln_group_builder *builder, uint32_t operand,
                                uint32_t axes);

#endif
