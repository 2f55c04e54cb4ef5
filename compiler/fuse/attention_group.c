/* The group of attention: both products, or two of each kind, or two of the first kind and a fold
 * of their scores; the scores between them, and what is elementwise before and after. Recognition
 * has seen to it that nothing else reads the scores. */
#include "compiler/fuse/cluster.h"
#include "compiler/fuse/contraction_group.h"
#include "compiler/fuse/fuse_family.h"
#include "compiler/fuse/prologue.h"

static uint16_t place_bit(enum kiln_place place)
{
    return (uint16_t)(1u << place);
}

/* The cluster of other products that one kernel does with this one; KILN_NONE where there is none
 * so far. */
static uint32_t find_cluster(const struct kiln_group_builder *builder, uint32_t index)
{
    const struct kiln_op *ops = builder->ir->ops;
    for (uint32_t i = 0; i < builder->cluster_count && ops[index].kernel != 0; i++) {
        const struct kiln_cluster *cluster = &builder->clusters[i];
        if (cluster->contract_count != 0 && ops[cluster->contracts[0]].kernel == ops[index].kernel)
            return i;
    }
    return KILN_NONE;
}

/* The first product begins the cluster. */
static void place_score(struct kiln_group_builder *builder, uint32_t index)
{
    uint32_t level = kiln_level_needed(builder, index, KILN_NONE);
    uint32_t added = kiln_cluster_add(builder, KILN_FAMILY_ATTENTION, KILN_ROLE_WHOLE, index,
                                      builder->ir->ops[index].domain, level);
    builder->clusters[added].reduction_count = builder->clusters[added].contract_count = 1;
    builder->clusters[added].contracts[0] = index;
    builder->accumulated_in[index] = added;
    builder->cluster[index] = added;
    kiln_require_operands(builder, index, added, level);
}

/* What follows joins it. From the second product on, the cluster's points are the result's. */
static void place_attention(struct kiln_group_builder *builder, uint32_t index)
{
    const struct kiln_op *op = &builder->ir->ops[index];
    if (builder->bare[index])
        builder->is_attention_cut = true;
    uint32_t number = op->opcode == KILN_OP_SCORE ? find_cluster(builder, index)
                                                  : kiln_cluster_of(builder, op->operands[0]);
    if (op->opcode == KILN_OP_SCORE && number == KILN_NONE) {
        place_score(builder, index);
        return;
    }
    if (number == KILN_NONE ||
        (kiln_opcode_contracts(op->opcode) &&
         builder->clusters[number].contract_count == KILN_GROUP_MAX_CONTRACTS) ||
        !kiln_cluster_join(builder, index, number)) {
        builder->is_attention_cut = true;
        return;
    }
    struct kiln_cluster *cluster = &builder->clusters[number];
    builder->accumulated_in[index] = number;
    cluster->reduction_count += op->opcode != KILN_OP_SCORE_FOLD;
    if (op->opcode == KILN_OP_SCORE_MAX || op->opcode == KILN_OP_SCORE_SUM)
        cluster->row_domain = op->domain;
    if (kiln_opcode_contracts(op->opcode))
        cluster->contracts[cluster->contract_count++] = index;
    if (op->opcode != KILN_OP_ATTEND && op->opcode != KILN_OP_SCORE_FOLD)
        return;
    cluster->has_result = true;
    cluster->domain = op->domain;
}

/* Operands are; what lies between the products is evaluated nowhere else. */
static bool may_evaluate_operand(struct kiln_group_builder *builder, uint32_t index, uint32_t side)
{
    enum kiln_opcode opcode = builder->ir->ops[index].opcode;
    bool is_operand = opcode == KILN_OP_SCORE || (opcode == KILN_OP_ATTEND && side == 1);
    return !is_operand || kiln_prologue_may_evaluate(builder, index, side);
}

/* Scores are the kernel's whatever is asked here. */
static bool may_compute(const struct kiln_cluster *cluster, const struct kiln_op *op)
{
    bool has_rows = cluster->reduction_count > cluster->contract_count;
    return (cluster->has_result && op->domain == cluster->domain) ||
           (has_rows && op->domain == cluster->row_domain);
}

static enum kiln_boundary boundary(const struct kiln_cluster *cluster)
{
    (void)cluster;
    return KILN_BOUNDARY_ATTENTION;
}

/* The places where the operands of an operation are wanted. */
static void place_operands(struct kiln_fusion_group *group, const struct kiln_op *op,
                           uint32_t index, uint16_t places)
{
    uint16_t of[KILN_IR_MAX_OPERANDS] = {places, places, places};
    switch (op->opcode) {
    case KILN_OP_SCORE: {
        bool is_first = index == group->contracts[0];
        of[0] = place_bit(is_first ? KILN_PLACE_LEFT : KILN_PLACE_LEFT_1);
        of[1] = place_bit(is_first ? KILN_PLACE_RIGHT : KILN_PLACE_RIGHT_1);
        break;
    }
    case KILN_OP_ATTEND: {
        bool is_first = index == group->contracts[group->score_count];
        of[0] = place_bit(KILN_PLACE_WEIGHT);
        of[1] = place_bit(is_first ? KILN_PLACE_VALUE : KILN_PLACE_VALUE_1);
        break;
    }
    case KILN_OP_SCORE_MAX:
    case KILN_OP_SCORE_EXP:
        of[0] = place_bit(KILN_PLACE_SCORE);
        of[1] = 0; /* the template's own */
        break;
    case KILN_OP_SCORE_FOLD:
        of[0] = place_bit(KILN_PLACE_WEIGHT);
        break;
    case KILN_OP_SCORE_SUM:
        of[0] = 0;
        break;
    default:
        break;
    }
    for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++)
        group->places[kiln_group_position(group, op->operands[k])] |= of[k];
}

static void append_contracts(const struct kiln_group_builder *builder,
                             struct kiln_fusion_group *group, enum kiln_opcode opcode)
{
    for (uint32_t i = 0; i < group->op_count; i++) {
        if (builder->ir->ops[group->ops[i]].opcode == opcode && !builder->is_load[group->ops[i]])
            group->contracts[group->contract_count++] = group->ops[i];
    }
}

static bool find_places(struct kiln_group_builder *builder, struct kiln_fusion_group *group,
                        const uint32_t *items, uint32_t item_count)
{
    const struct kiln_ir *ir = builder->ir;
    group->places = kiln_arena_calloc(builder->ir->arena, group->op_count, sizeof *group->places);
    if (group->places == NULL)
        return false;
    for (uint32_t i = 0; i < item_count; i++)
        group->places[kiln_group_position(group, builder->items[items[i]].value)] =
            place_bit(KILN_PLACE_ELEMENT);
    append_contracts(builder, group, KILN_OP_SCORE);
    group->score_count = group->contract_count;
    append_contracts(builder, group, KILN_OP_ATTEND);
    for (uint32_t i = group->op_count; i-- > 0;) {
        if (!builder->is_load[group->ops[i]])
            place_operands(group, &ir->ops[group->ops[i]], group->ops[i], group->places[i]);
    }
    return true;
}

static uint32_t place_domain(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                             enum kiln_place place)
{
    uint32_t operand = kiln_group_operand(ir, group, place);
    if (place == KILN_PLACE_SCORE || place == KILN_PLACE_WEIGHT)
        return ir->ops[group->contracts[0]].domain;
    return operand == KILN_NONE ? group->domain : ir->ops[operand].domain;
}

const struct kiln_fuse_family kiln_fuse_attention = {
    .place = place_attention,
    .may_evaluate_operand = may_evaluate_operand,
    .may_compute = may_compute,
    .stores_elements = true,
    .boundary = boundary,
    .max_accesses = KILN_CONTRACTION_MAX_ACCESSES,
    .find_places = find_places,
    .place_domain = place_domain,
};
