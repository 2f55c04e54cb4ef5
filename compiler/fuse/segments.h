/*
 * Whether a reduction has too few rows to fill the target, or a product too few tiles, so that
 * segments of what is summed up are done by kernels of their own. Internal to the partitioner.
 */
#ifndef KILN_COMPILER_FUSE_SEGMENTS_H
#define KILN_COMPILER_FUSE_SEGMENTS_H

#include "compiler/fuse/group_builder.h"

/*
 * Into how many segments the rows of a reduction of `operand` over the axes of its domain are cut;
 * 1: they are not.
 */
uint32_t kiln_segment_count(struct kiln_group_builder *builder, uint32_t operand, uint32_t axes);

/*
 * Into how many segments the k of a CONTRACT is cut, as many as the options say or as its few tiles
 * need to fill the target; 1: it is not. At most 64, of a depthwise gradient 512, and k.
 */
uint32_t kiln_contraction_segment_count(struct kiln_group_builder *builder, uint32_t index);

#endif
