/*
 * Whether a reduction has too few rows to fill the target, so that segments of the rows are reduced
 * by kernels of their own. Internal to the partitioner.
 */
#ifndef KILN_COMPILER_FUSE_SEGMENTS_H
#define KILN_COMPILER_FUSE_SEGMENTS_H

#include "compiler/fuse/group_builder.h"

/*
 * Into how many segments the rows of a reduction of `operand` over the axes of its domain are cut;
 * 1: they are not.
 */
uint32_t kiln_segment_count(struct kiln_group_builder *builder, uint32_t operand, uint32_t axes);

#endif
