#include "compiler/families/attention/fuse/attention_group.h"

uint32_t kiln_group_fold(const struct kiln_ir *ir, const struct kiln_fusion_group *group)
{
    for (uint32_t i = 0; i < group->op_count; i++) {
        const struct kiln_op *op = &ir->ops[group->ops[i]];
        uint32_t weights = op->opcode == KILN_OP_SCORE_FOLD
                               ? kiln_group_position(group, op->operands[0])
                               : KILN_NONE;
        if (weights != KILN_NONE && group->anchor_count == kiln_group_score_count(group))
            return group->ops[i];
    }
    return KILN_NONE;
}

uint32_t kiln_group_weights(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                            uint32_t nth)
{
    uint32_t fold = kiln_group_fold(ir, group);
    return ir->ops[fold != KILN_NONE ? fold : group->anchors[kiln_group_score_count(group) + nth]]
        .operands[0];
}
