/*
 * Segments of k: a product with too few tiles to fill the target does segments of its sums in one
 * kernel, and another one adds these up.
 */
#ifndef KILN_COMPILER_FAMILIES_CONTRACTION_K_SEGMENTS_H
#define KILN_COMPILER_FAMILIES_CONTRACTION_K_SEGMENTS_H

#include "compiler/fuse/group_builder.h"

/*
 * Into how many segments the k of a CONTRACT is cut, as many as the options say or as its few tiles
 * need to fill the target; 1: it is not. At most 64, of a depthwise gradient 512, and k.
 */
uint32_t kiln_k_segment_count(struct kiln_group_builder *builder, uint32_t index);

#endif
