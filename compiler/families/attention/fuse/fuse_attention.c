/* The group of attention: both products, or two of each kind, or two of the first kind and a fold
 * of their scores; the scores between them, and what is elementwise before and after. Recognition
 * has seen to it that nothing else reads the scores. */
#include "compiler/families/attention/fuse/attention_group.h"
#include "compiler/families/attention/fuse/attention_segments.h"
#include "compiler/families/contraction/fuse/prologue.h"

#include "compiler/fuse/cluster.h"
#include "compiler/fuse/fuse_family.h"

/* builder->family_data[KILN_FAMILY_ATTENTION]: per SCORE that begins a cluster, true once that has
 * a result, whose points are the cluster's from then on. */
static bool *has_result(const struct kiln_group_builder *builder,
                        const struct kiln_cluster *cluster)
{
    bool *has_results = builder->family_data[KILN_FAMILY_ATTENTION];
    return &has_results[cluster->anchors[0]];
}

/* Values between the products are enclosed in the kernel that has computed the scores, of one of
 * them where there are two. */
static bool begin(struct kiln_group_builder *builder)
{
    for (uint32_t i = 0; i < builder->ir->op_count; i++) {
        const struct kiln_op *op = &builder->ir->ops[i];
        bool is_element = kiln_opcode_is_elementwise(op->opcode) || op->opcode == KILN_OP_SCORE_EXP;
        if (op->opcode == KILN_OP_SCORE)
            builder->enclosed_in[i] = i;
        for (uint32_t k = 0; is_element && k < kiln_opcode_info(op->opcode)->arity; k++) {
            if (builder->enclosed_in[op->operands[k]] != KILN_NONE)
                builder->enclosed_in[i] = builder->enclosed_in[op->operands[k]];
        }
    }
    bool *has_results =
        kiln_arena_calloc(builder->arena, builder->ir->op_count, sizeof *has_results);
    builder->family_data[KILN_FAMILY_ATTENTION] = has_results;
    return has_results != NULL;
}

/* The cluster of other products that one kernel does with this one; KILN_NONE where there is none
 * so far. */
static uint32_t find_cluster(const struct kiln_group_builder *builder, uint32_t index)
{
    const struct kiln_op *ops = builder->ir->ops;
    for (uint32_t i = 0; i < builder->cluster_count && ops[index].kernel != 0; i++) {
        const struct kiln_cluster *cluster = &builder->clusters[i];
        if (cluster->anchor_count != 0 && ops[cluster->anchors[0]].kernel == ops[index].kernel)
            return i;
    }
    return KILN_NONE;
}

/* The first product begins the cluster. */
static void place_score(struct kiln_group_builder *builder, uint32_t index)
{
    uint32_t level = kiln_level_needed(builder, index, KILN_NONE);
    uint32_t added =
        kiln_cluster_begin(builder, KILN_FAMILY_ATTENTION, KILN_ROLE_WHOLE, index, level);
    *has_result(builder, &builder->clusters[added]) = false;
    kiln_require_operands(builder, index, added, level);
}

static const char broken[] = "attention needs a kernel of its own";

/* Begins the cluster with the first product; later operations join it. From the second product on,
 * the cluster's points are the result's. */
static void place_attention(struct kiln_group_builder *builder, uint32_t index)
{
    const struct kiln_op *op = &builder->ir->ops[index];
    if (builder->bare[index])
        builder->broken = broken;
    uint32_t number = op->opcode == KILN_OP_SCORE ? find_cluster(builder, index)
                                                  : kiln_cluster_of(builder, op->operands[0]);
    if (op->opcode == KILN_OP_SCORE && number == KILN_NONE) {
        place_score(builder, index);
        return;
    }
    if (number == KILN_NONE ||
        (kiln_opcode_contracts(op->opcode) &&
         builder->clusters[number].anchor_count == KILN_GROUP_MAX_ANCHORS) ||
        !kiln_cluster_join(builder, index, number)) {
        builder->broken = broken;
        return;
    }
    struct kiln_cluster *cluster = &builder->clusters[number];
    builder->accumulated_in[index] = number;
    cluster->core_count += op->opcode != KILN_OP_SCORE_FOLD;
    if (op->opcode == KILN_OP_SCORE_MAX || op->opcode == KILN_OP_SCORE_SUM)
        cluster->row_domain = op->domain;
    if (kiln_opcode_contracts(op->opcode))
        cluster->anchors[cluster->anchor_count++] = index;
    if (op->opcode != KILN_OP_ATTEND && op->opcode != KILN_OP_SCORE_FOLD)
        return;
    *has_result(builder, cluster) = true;
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
static bool may_compute(const struct kiln_group_builder *builder,
                        const struct kiln_cluster *cluster, uint32_t index)
{
    const struct kiln_op *op = &builder->ir->ops[index];
    bool has_rows = cluster->core_count > cluster->anchor_count;
    return (*has_result(builder, cluster) && op->domain == cluster->domain) ||
           (has_rows && op->domain == cluster->row_domain);
}

/* The places where the operands of an operation are wanted. */
static void place_operands(struct kiln_fusion_group *group, const struct kiln_op *op,
                           uint32_t index, uint16_t places)
{
    uint16_t of[KILN_IR_MAX_OPERANDS] = {places, places, places};
    switch (op->opcode) {
    case KILN_OP_SCORE: {
        bool is_first = index == group->anchors[0];
        of[0] = kiln_place_bit(is_first ? KILN_PLACE_LEFT : KILN_PLACE_LEFT_1);
        of[1] = kiln_place_bit(is_first ? KILN_PLACE_RIGHT : KILN_PLACE_RIGHT_1);
        break;
    }
    case KILN_OP_ATTEND: {
        bool is_first = index == group->anchors[kiln_group_score_count(group)];
        of[0] = kiln_place_bit(KILN_PLACE_WEIGHT);
        of[1] = kiln_place_bit(is_first ? KILN_PLACE_VALUE : KILN_PLACE_VALUE_1);
        break;
    }
    case KILN_OP_SCORE_MAX:
    case KILN_OP_SCORE_EXP:
        of[0] = kiln_place_bit(KILN_PLACE_SCORE);
        of[1] = 0; /* the template's own */
        break;
    case KILN_OP_SCORE_FOLD:
        of[0] = kiln_place_bit(KILN_PLACE_WEIGHT);
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

static void append_anchors(const struct kiln_group_builder *builder,
                           struct kiln_fusion_group *group, enum kiln_opcode opcode)
{
    for (uint32_t i = 0; i < group->op_count; i++) {
        if (builder->ir->ops[group->ops[i]].opcode == opcode && !builder->is_load[group->ops[i]])
            group->anchors[group->anchor_count++] = group->ops[i];
    }
}

/* The values that the places stage. */
static void find_operands(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                          struct kiln_attention_group *data)
{
    static const enum kiln_place lefts[] = {KILN_PLACE_LEFT, KILN_PLACE_LEFT_1};
    static const enum kiln_place rights[] = {KILN_PLACE_RIGHT, KILN_PLACE_RIGHT_1};
    static const enum kiln_place values[] = {KILN_PLACE_VALUE, KILN_PLACE_VALUE_1};
    uint32_t *operands = data->products.operands;
    for (uint32_t place = 0; place < KILN_PLACE_COUNT; place++)
        operands[place] = KILN_NONE;
    for (uint32_t i = 0; i < group->anchor_count; i++) {
        const struct kiln_op *op = &ir->ops[group->anchors[i]];
        bool is_score = i < data->score_count;
        uint32_t nth = is_score ? i : i - data->score_count;
        if (nth >= KILN_GROUP_MAX_PRODUCTS)
            continue;
        if (is_score)
            operands[lefts[nth]] = op->operands[0];
        operands[is_score ? rights[nth] : values[nth]] = op->operands[1];
    }
}

static bool find_places(struct kiln_group_builder *builder, struct kiln_fusion_group *group,
                        const uint32_t *items, uint32_t item_count)
{
    const struct kiln_ir *ir = builder->ir;
    struct kiln_attention_group *data = kiln_arena_calloc(ir->arena, 1, sizeof *data);
    group->places = kiln_arena_calloc(ir->arena, group->op_count, sizeof *group->places);
    group->family_data = data;
    if (group->places == NULL || data == NULL)
        return false;
    for (uint32_t i = 0; i < item_count; i++)
        group->places[kiln_group_position(group, builder->items[items[i]].value)] =
            kiln_place_bit(KILN_PLACE_ELEMENT);
    append_anchors(builder, group, KILN_OP_SCORE);
    data->score_count = group->anchor_count;
    append_anchors(builder, group, KILN_OP_ATTEND);
    find_operands(ir, group, data);
    for (uint32_t i = group->op_count; i-- > 0;) {
        if (!builder->is_load[group->ops[i]])
            place_operands(group, &ir->ops[group->ops[i]], group->ops[i], group->places[i]);
    }
    return kiln_keep_betweens(builder, group, &data->products);
}

static uint32_t place_domain(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                             enum kiln_place place)
{
    uint32_t operand = kiln_group_operand(group, place);
    if (place == KILN_PLACE_SCORE || place == KILN_PLACE_WEIGHT)
        return ir->ops[group->anchors[0]].domain;
    return operand == KILN_NONE ? group->domain : ir->ops[operand].domain;
}

const struct kiln_fuse_family kiln_fuse_attention = {
    .begin = begin,
    .place = place_attention,
    .may_evaluate_operand = may_evaluate_operand,
    .broken = broken,
    .may_compute = may_compute,
    .stores_elements = true,
    .max_accesses = KILN_CONTRACTION_MAX_ACCESSES,
    .find_places = find_places,
    .place_domain = place_domain,
    .has_segment_axis = kiln_attention_has_segment_axis,
    .explain = kiln_explain_betweens,
};
