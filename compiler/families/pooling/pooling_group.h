/* Groups of pooling kernels: REDUCEs through one map, whose operands are evaluated per tap. */
#ifndef KILN_COMPILER_FAMILIES_POOLING_POOLING_GROUP_H
#define KILN_COMPILER_FAMILIES_POOLING_POOLING_GROUP_H

#include "compiler/fuse/fusion_group.h"

/* Values and loads of the image, at the points of the REDUCEs' operands. */
#define KILN_PLACE_IMAGE KILN_PLACE_OWN_0

/* The first REDUCE of a group, and the map of all. They reduce the same elements: operand 0 is the
 * same value, or a constant in place of it. */
const struct kiln_op *kiln_pooling_op(const struct kiln_ir *ir,
                                      const struct kiln_fusion_group *group);
const struct kiln_map *kiln_pooling_map(const struct kiln_ir *ir,
                                        const struct kiln_fusion_group *group);

#endif
