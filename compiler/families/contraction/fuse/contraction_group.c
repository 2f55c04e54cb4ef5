#include "compiler/families/contraction/fuse/contraction_group.h"

#include "compiler/fuse/group_builder.h"
#include "compiler/ir/operand_sums.h"

enum kiln_place kiln_group_shared_place(const struct kiln_ir *ir,
                                        const struct kiln_fusion_group *group)
{
    if (group->anchor_count < 2)
        return KILN_PLACE_COUNT;
    return ir->ops[group->anchors[0]].operands[0] == ir->ops[group->anchors[1]].operands[0]
               ? KILN_PLACE_LEFT
               : KILN_PLACE_RIGHT;
}

enum kiln_routing kiln_group_routing(const struct kiln_ir *ir,
                                     const struct kiln_fusion_group *group)
{
    return ir->contractions[ir->ops[group->anchors[0]].contraction].routing;
}

bool kiln_place_routes(enum kiln_place place)
{
    return place == KILN_PLACE_OFFSETS || place == KILN_PLACE_INDEX || place == KILN_PLACE_KS;
}

uint32_t kiln_group_operand_sum(const struct kiln_ir *ir, const struct kiln_fusion_group *group)
{
    for (uint32_t i = 0; group->places != NULL && i < group->op_count; i++) {
        if ((group->places[i] >> KILN_PLACE_SUM & 1) != 0 &&
            kiln_op_reduces(&ir->ops[group->ops[i]]))
            return group->ops[i];
    }
    return KILN_NONE;
}

enum kiln_place kiln_group_summed_place(const struct kiln_ir *ir,
                                        const struct kiln_fusion_group *group)
{
    uint32_t sum = kiln_group_operand_sum(ir, group);
    if (sum == KILN_NONE)
        return KILN_PLACE_COUNT;
    /* Comparing the summed value is not enough: both factors of a product may be the same value. */
    uint32_t side = 0;
    (void)kiln_ir_is_operand_sum(ir, sum, group->anchors[0], &side);
    return side == 0 ? KILN_PLACE_LEFT : KILN_PLACE_RIGHT;
}

uint32_t kiln_group_operand(const struct kiln_fusion_group *group, enum kiln_place place)
{
    return ((const struct kiln_product_group *)group->family_data)->operands[place];
}

bool kiln_group_has_statistics(const struct kiln_fusion_group *group)
{
    return group->anchor_count != 0 && group->role == KILN_ROLE_PARTIAL && group->reduced_axes != 0;
}

bool kiln_group_has_whole_rows(const struct kiln_fusion_group *group)
{
    return group->anchor_count != 0 && group->role == KILN_ROLE_WHOLE && group->reduced_axes != 0;
}

uint32_t kiln_group_block(const struct kiln_ir *ir, const struct kiln_fusion_group *group)
{
    enum kiln_axis_role role;
    if (!kiln_group_has_whole_rows(group) || (group->reduced_axes & (group->reduced_axes - 1)) != 0)
        return 0;
    uint32_t axis = (uint32_t)__builtin_ctz(group->reduced_axes);
    return (uint32_t)kiln_contraction_block(
        &ir->contractions[ir->ops[group->anchors[0]].contraction],
        (uint8_t)(ir->domains[group->domain].rank - 1 - axis), &role);
}

uint32_t kiln_group_packed_unit(const struct kiln_fusion_group *group)
{
    uint32_t unit = 1;
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        uint32_t own = kiln_dtype_unit(group->accesses[i].dtype);
        unit = own > unit ? own : unit;
    }
    return unit;
}

bool kiln_group_cuts_k(const struct kiln_fusion_group *group)
{
    return group->anchor_count != 0 && group->role == KILN_ROLE_PARTIAL && group->reduced_axes == 0;
}
