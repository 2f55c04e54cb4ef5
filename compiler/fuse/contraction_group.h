/*
 * What is special about the group of a CONTRACT: values before it are computed where its operands
 * are staged, values after it where its result is. Internal to the partitioner, but for
 * kiln_group_place_domain.
 */
#ifndef KILN_COMPILER_FUSE_CONTRACTION_GROUP_H
#define KILN_COMPILER_FUSE_CONTRACTION_GROUP_H

#include "compiler/fuse/group_builder.h"

/* Whether the kernel of a contraction may compute this operand itself, element by element from
 * what it loads: no reduction, no index, few loads, little arithmetic, since an element is loaded
 * by every work-group that needs it. */
bool kiln_can_be_prologue(struct kiln_group_builder *builder, uint32_t operand);

/* Fills group->contract and group->places from what the last closure found; false when memory is
 * out. Other kinds of groups: nothing to do. */
bool kiln_group_find_places(struct kiln_group_builder *builder, struct kiln_fusion_group *group,
                            const uint32_t *items, uint32_t item_count);

/* The domain that accesses of a place count their strides over: of an operand, or of the group. */
uint32_t kiln_group_place_domain(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                                 enum kiln_place place);

#endif
