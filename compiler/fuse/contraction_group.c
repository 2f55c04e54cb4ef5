/* The group of a CONTRACT: values before it are computed where its operands are staged, values
 * after it where its result is. */
#include "compiler/fuse/cluster.h"
#include "compiler/fuse/fuse_family.h"
#include "compiler/fuse/op_cost.h"

enum {
    PROLOGUE_MAX_LOADS = 6,
    /* An exponential and what goes with it; a longer expression is computed once and read. */
    PROLOGUE_MAX_COST = 16,
};

static bool is_allowed_in_prologue(const struct kiln_group_builder *builder, uint32_t value)
{
    const struct kiln_op *op = &builder->ir->ops[value];
    enum kiln_op_class op_class = kiln_opcode_info(op->opcode)->op_class;
    return op->opcode == KILN_OP_LOAD || op->opcode == KILN_OP_CONSTANT ||
           op_class == KILN_OP_CLASS_ELEMENTWISE || op_class == KILN_OP_CLASS_BROADCAST;
}

/* Whether the kernel of a contraction may compute this operand itself, element by element from
 * what it loads: no reduction, no index, few loads, little arithmetic, since an element is loaded
 * by every work-group that needs it. */
static bool can_be_prologue(struct kiln_group_builder *builder, uint32_t operand)
{
    const struct kiln_ir *ir = builder->ir;
    uint32_t mark = ++builder->stamp_now;
    uint32_t depth = 0;
    uint32_t loads = 0;
    uint32_t cost = 0;
    builder->stack[depth++] = operand;
    builder->stamp[operand] = mark;
    while (depth > 0) {
        uint32_t value = builder->stack[--depth];
        const struct kiln_op *op = &ir->ops[value];
        loads += op->opcode == KILN_OP_LOAD;
        cost += kiln_op_is_source(op) ? 0 : kiln_op_cost(op);
        if (!is_allowed_in_prologue(builder, value) || loads > PROLOGUE_MAX_LOADS ||
            cost > PROLOGUE_MAX_COST)
            return false;
        for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++) {
            if (builder->stamp[op->operands[k]] == mark)
                continue;
            builder->stamp[op->operands[k]] = mark;
            builder->stack[depth++] = op->operands[k];
        }
    }
    return true;
}

static uint8_t place_bit(enum kiln_place place)
{
    return (uint8_t)(1u << place);
}

static bool find_places(struct kiln_group_builder *builder, struct kiln_fusion_group *group,
                        const uint32_t *items, uint32_t item_count)
{
    const struct kiln_ir *ir = builder->ir;
    group->places = kiln_arena_calloc(builder->arena, group->op_count, sizeof *group->places);
    if (group->places == NULL)
        return false;
    for (uint32_t i = 0; i < item_count; i++)
        group->places[kiln_group_position(group, builder->items[items[i]].value)] =
            place_bit(KILN_PLACE_ELEMENT);
    for (uint32_t i = group->op_count; i-- > 0;) {
        const struct kiln_op *op = &ir->ops[group->ops[i]];
        if (builder->is_load[group->ops[i]])
            continue;
        if (kiln_op_is_contraction(op)) {
            group->contract = group->ops[i];
            group->places[i] = place_bit(KILN_PLACE_ELEMENT);
            group->places[kiln_group_position(group, op->operands[0])] |=
                place_bit(KILN_PLACE_LEFT);
            group->places[kiln_group_position(group, op->operands[1])] |=
                place_bit(KILN_PLACE_RIGHT);
            continue;
        }
        for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++)
            group->places[kiln_group_position(group, op->operands[k])] |= group->places[i];
    }
    return true;
}

static uint32_t place_domain(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                             enum kiln_place place)
{
    switch (place) {
    case KILN_PLACE_LEFT:
        return ir->ops[ir->ops[group->contract].operands[0]].domain;
    case KILN_PLACE_RIGHT:
        return ir->ops[ir->ops[group->contract].operands[1]].domain;
    case KILN_PLACE_ELEMENT:
    case KILN_PLACE_ROW:
    case KILN_PLACE_COUNT:
        break;
    }
    return group->domain;
}

/* A contraction has its kernel to itself: nothing else walks over its operands in tiles. */
static void place_contraction(struct kiln_group_builder *builder, uint32_t index)
{
    uint32_t level = kiln_level_needed(builder, index, KILN_NONE);
    uint32_t added = kiln_cluster_add(builder, KILN_FAMILY_CONTRACTION, KILN_ROLE_WHOLE, index,
                                      builder->ir->ops[index].domain, level);
    builder->clusters[added].reduction_count = 1;
    builder->accumulated_in[index] = added;
    builder->cluster[index] = added;
    kiln_require_operands(builder, index, added, level);
}

static bool may_compute(const struct kiln_cluster *cluster, const struct kiln_op *op)
{
    return op->domain == cluster->domain;
}

static enum kiln_boundary boundary(const struct kiln_cluster *cluster)
{
    (void)cluster;
    return KILN_BOUNDARY_CONTRACTION;
}

const struct kiln_fuse_family kiln_fuse_contraction = {
    .place = place_contraction,
    .may_evaluate_operand = can_be_prologue,
    .may_compute = may_compute,
    .boundary = boundary,
    .max_accesses = KILN_CONTRACTION_MAX_ACCESSES,
    .find_places = find_places,
    .place_domain = place_domain,
};
