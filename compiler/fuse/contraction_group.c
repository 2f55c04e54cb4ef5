/* The group of a CONTRACT: values before it are computed where its operands are staged, values
 * after it where its result is. */
#include "compiler/fuse/contraction_group.h"

#include "compiler/fuse/cluster.h"
#include "compiler/fuse/fuse_family.h"
#include "compiler/fuse/operand_sums.h"
#include "compiler/fuse/prologue.h"
#include "compiler/fuse/reduction_passes.h"
#include "compiler/fuse/segments.h"
#include "compiler/fuse/tile_statistics.h"
#include "compiler/ir/operand_sums.h"

static uint16_t place_bit(enum kiln_place place)
{
    return (uint16_t)(1u << place);
}

enum kiln_place kiln_group_shared_place(const struct kiln_ir *ir,
                                        const struct kiln_fusion_group *group)
{
    if (group->contract_count < 2)
        return KILN_PLACE_COUNT;
    return ir->ops[group->contracts[0]].operands[0] == ir->ops[group->contracts[1]].operands[0]
               ? KILN_PLACE_LEFT
               : KILN_PLACE_RIGHT;
}

uint32_t kiln_group_operand_sum(const struct kiln_ir *ir, const struct kiln_fusion_group *group)
{
    for (uint32_t i = 0; group->places != NULL && i < group->op_count; i++) {
        if ((group->places[i] >> KILN_PLACE_SUM & 1) != 0 &&
            kiln_op_is_reduction(&ir->ops[group->ops[i]]))
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
    /* Not by its operand's value alone: both factors may be the same one. */
    uint32_t side = 0;
    (void)kiln_ir_is_operand_sum(ir, sum, group->contracts[0], &side);
    return side == 0 ? KILN_PLACE_LEFT : KILN_PLACE_RIGHT;
}

/* Then both products have left and right operands as their operations do. */
static bool is_attention(const struct kiln_ir *ir, const struct kiln_fusion_group *group)
{
    return ir->ops[group->contracts[0]].opcode != KILN_OP_CONTRACT;
}

uint32_t kiln_group_fold(const struct kiln_ir *ir, const struct kiln_fusion_group *group)
{
    for (uint32_t i = 0; i < group->op_count; i++) {
        const struct kiln_op *op = &ir->ops[group->ops[i]];
        uint32_t weights = op->opcode == KILN_OP_SCORE_FOLD
                               ? kiln_group_position(group, op->operands[0])
                               : KILN_NONE;
        if (weights != KILN_NONE && group->contract_count == group->score_count)
            return group->ops[i];
    }
    return KILN_NONE;
}

uint32_t kiln_group_weights(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                            uint32_t nth)
{
    uint32_t fold = kiln_group_fold(ir, group);
    return ir->ops[fold != KILN_NONE ? fold : group->contracts[group->score_count + nth]]
        .operands[0];
}

uint32_t kiln_group_operand(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                            enum kiln_place place)
{
    switch (place) {
    case KILN_PLACE_LEFT:
        return ir->ops[group->contracts[0]].operands[0];
    case KILN_PLACE_RIGHT:
        return ir->ops[group->contracts[0]].operands[1];
    case KILN_PLACE_LEFT_1:
        return group->score_count > 1 ? ir->ops[group->contracts[1]].operands[0] : KILN_NONE;
    case KILN_PLACE_RIGHT_1:
        return group->score_count > 1 ? ir->ops[group->contracts[1]].operands[1] : KILN_NONE;
    case KILN_PLACE_VALUE:
        if (is_attention(ir, group) && group->contract_count > group->score_count)
            return ir->ops[group->contracts[group->score_count]].operands[1];
        break;
    case KILN_PLACE_VALUE_1:
        if (is_attention(ir, group) && group->contract_count > group->score_count + 1)
            return ir->ops[group->contracts[group->score_count + 1]].operands[1];
        break;
    case KILN_PLACE_SECOND:
        if (group->contract_count == 2 && !is_attention(ir, group))
            return ir->ops[group->contracts[1]]
                .operands[kiln_group_shared_place(ir, group) == KILN_PLACE_LEFT];
        break;
    case KILN_PLACE_SUM:
        if (kiln_group_operand_sum(ir, group) != KILN_NONE)
            return ir->ops[kiln_group_operand_sum(ir, group)].operands[0];
        break;
    case KILN_PLACE_ELEMENT:
    case KILN_PLACE_ROW:
    case KILN_PLACE_SCORE:
    case KILN_PLACE_WEIGHT:
    case KILN_PLACE_COUNT:
        break;
    }
    return KILN_NONE;
}

/* Whether a place stages an operand of this CONTRACT. */
static bool is_staged_for(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                          uint32_t contract, enum kiln_place place)
{
    if (place == KILN_PLACE_SUM || kiln_group_operand(ir, group, place) == KILN_NONE)
        return false;
    bool is_second = contract != group->contracts[0];
    return is_second ? place == KILN_PLACE_SECOND || place == kiln_group_shared_place(ir, group)
                     : place != KILN_PLACE_SECOND;
}

static bool find_places(struct kiln_group_builder *builder, struct kiln_fusion_group *group,
                        const uint32_t *items, uint32_t item_count)
{
    const struct kiln_ir *ir = builder->ir;
    group->places = kiln_arena_calloc(builder->ir->arena, group->op_count, sizeof *group->places);
    if (group->places == NULL)
        return false;
    uint32_t sum = KILN_NONE;
    for (uint32_t i = 0; i < group->op_count; i++) {
        const struct kiln_op *op = &ir->ops[group->ops[i]];
        bool is_sum = kiln_op_is_reduction(op) && !builder->is_load[group->ops[i]] &&
                      kiln_is_sum_beside(builder, group->ops[i]);
        sum = is_sum ? group->ops[i] : sum;
        if (kiln_op_is_contraction(op) && !builder->is_load[group->ops[i]])
            group->contracts[group->contract_count++] = group->ops[i];
        else if (is_sum)
            group->places[i] = place_bit(KILN_PLACE_SUM);
        else if (kiln_op_is_reduction(op) && !builder->is_load[group->ops[i]])
            group->places[i] = place_bit(KILN_PLACE_ELEMENT); /* stored or not */
    }
    for (uint32_t i = 0; i < item_count; i++) {
        uint32_t value = builder->items[items[i]].value;
        bool is_of_sum = sum != KILN_NONE && ir->ops[value].domain == ir->ops[sum].domain;
        group->places[kiln_group_position(group, value)] |=
            place_bit(is_of_sum ? KILN_PLACE_SUM : KILN_PLACE_ELEMENT);
    }
    for (uint32_t i = group->op_count; i-- > 0;) {
        const struct kiln_op *op = &ir->ops[group->ops[i]];
        if (builder->is_load[group->ops[i]] || group->ops[i] == sum)
            continue;
        if (kiln_op_is_contraction(op)) {
            group->places[i] = place_bit(KILN_PLACE_ELEMENT);
            for (enum kiln_place place = 0; place < KILN_PLACE_COUNT; place++) {
                if (is_staged_for(ir, group, group->ops[i], place))
                    group->places[kiln_group_position(
                        group, kiln_group_operand(ir, group, place))] |= place_bit(place);
            }
            continue;
        }
        for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++)
            group->places[kiln_group_position(group, op->operands[k])] |= group->places[i];
    }
    return true;
}

bool kiln_group_has_statistics(const struct kiln_fusion_group *group)
{
    return group->contract_count != 0 && group->role == KILN_ROLE_PARTIAL &&
           group->reduced_axes != 0;
}

bool kiln_group_has_whole_rows(const struct kiln_fusion_group *group)
{
    return group->contract_count != 0 && group->role == KILN_ROLE_WHOLE && group->reduced_axes != 0;
}

bool kiln_group_cuts_k(const struct kiln_fusion_group *group)
{
    return group->contract_count != 0 && group->role == KILN_ROLE_PARTIAL &&
           group->reduced_axes == 0;
}

static enum kiln_place access_place(const struct kiln_fusion_group *group,
                                    const struct kiln_access *access)
{
    bool is_of_rows = kiln_group_has_whole_rows(group) ||
                      (kiln_group_has_statistics(group) && access->is_accumulator);
    return access->place == KILN_PLACE_ELEMENT && is_of_rows
               ? kiln_reduction_access_place(group, access)
               : access->place;
}

static uint32_t place_domain(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                             enum kiln_place place)
{
    uint32_t operand = kiln_group_operand(ir, group, place);
    return operand == KILN_NONE ? group->domain : ir->ops[operand].domain;
}

/* What adds up the sums of a PARTIAL cluster's segments: to it a product is a reduction. */
static uint32_t add_combine(struct kiln_group_builder *builder, uint32_t index, uint32_t partial,
                            uint32_t segments)
{
    uint32_t level = builder->clusters[partial].level + 1;
    uint32_t combine = kiln_cluster_add(builder, KILN_FAMILY_REDUCTION, KILN_ROLE_COMBINE, index,
                                        builder->ir->ops[index].domain, level);
    builder->clusters[combine].reduction_count = 1;
    builder->clusters[partial].first_reader = level;
    builder->clusters[partial].segment_count = segments;
    builder->clusters[partial].combine = combine;
    builder->clusters[combine].segment_count = segments;
    return combine;
}

/* Each begins a cluster; two that share an operand are merged where their results meet. Where k is
 * cut into segments, what follows is computed where they are combined. */
static void place_contraction(struct kiln_group_builder *builder, uint32_t index)
{
    uint32_t level = kiln_level_needed(builder, index, KILN_NONE);
    uint32_t segments = kiln_contraction_segment_count(builder, index);
    uint32_t added = kiln_cluster_add(builder, KILN_FAMILY_CONTRACTION,
                                      segments > 1 ? KILN_ROLE_PARTIAL : KILN_ROLE_WHOLE, index,
                                      builder->ir->ops[index].domain, level);
    builder->clusters[added].reduction_count = builder->clusters[added].contract_count = 1;
    builder->clusters[added].contracts[0] = index;
    builder->accumulated_in[index] = added;
    builder->cluster[index] = added;
    if (segments > 1)
        builder->cluster[index] = add_combine(builder, index, added, segments);
    kiln_require_operands(builder, index, added, level);
}

/* Kernels of segments of k have no result yet, and those of statistics none of these. What may be
 * made of an operand's sums: kiln_operand_sum_allows. */
static bool may_compute(const struct kiln_cluster *cluster, const struct kiln_op *op)
{
    if (op->domain == cluster->sum_domain)
        return true;
    if (cluster->role == KILN_ROLE_PARTIAL)
        return cluster->axes != 0 && op->domain == cluster->domain;
    return op->domain == cluster->domain || op->domain == cluster->row_domain;
}

/* Whether rows of the kernel's tiles are sorted by what is left over of their coordinates: then
 * some of a tile are none of the result's. */
static bool has_phases(const struct kiln_contraction *contraction)
{
    for (uint32_t i = 0; i < contraction->window_count; i++) {
        if (contraction->windows[i].divisor > 1)
            return true;
    }
    return false;
}

/* The axis of the result that is all of its role, and of no other; KILN_NO_AXIS when there is none.
 */
static uint32_t only_axis(const struct kiln_contraction *contraction, enum kiln_axis_role role)
{
    uint32_t found = KILN_NO_AXIS;
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        if (contraction->axes[i].role != role)
            continue;
        if (found != KILN_NO_AXIS)
            return KILN_NO_AXIS;
        found = contraction->axes[i].result;
    }
    /* A grouped convolution's channels are groups, and those of a group, of which there may be one.
     */
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        if (contraction->axes[i].result == found && contraction->axes[i].role != role &&
            contraction->axes[i].size > 1)
            return KILN_NO_AXIS;
    }
    return found;
}

/* Whether the memory of a value's tensor runs along an axis, counted from the right. */
static bool runs_along(const struct kiln_group_builder *builder, uint32_t value, uint32_t axis)
{
    uint32_t ordinal = builder->ir->ops[value].tensor;
    if (ordinal == KILN_NONE)
        return axis == 0;
    const struct kiln_tensor *tensor = &builder->graph->tensors[ordinal];
    return axis < tensor->rank && tensor->strides[tensor->rank - 1 - axis] == 1;
}

/* Whether the columns of a kernel's tiles are along this axis of m or n: of n, or of m where the
 * result's memory runs that way; of two products, of the operands that differ. */
static bool may_run_along(const struct kiln_group_builder *builder,
                          const struct kiln_cluster *cluster, enum kiln_axis_role role,
                          uint32_t axis)
{
    const struct kiln_op *ops = builder->ir->ops;
    if (cluster->contract_count > 1) {
        bool shares_left =
            ops[cluster->contracts[0]].operands[0] == ops[cluster->contracts[1]].operands[0];
        return (role == KILN_AXIS_N) == shares_left;
    }
    return role == KILN_AXIS_N || runs_along(builder, cluster->contracts[0], axis);
}

/* Reductions along the columns of tiles where one tile has all of them. Elements wait in local
 * memory for what is reduced of them. */
static bool has_whole_rows(const struct kiln_group_builder *builder,
                           const struct kiln_cluster *cluster, uint32_t axes)
{
    const struct kiln_ir *ir = builder->ir;
    const struct kiln_op *product = &ir->ops[cluster->contracts[0]];
    const struct kiln_contraction *contraction = &ir->contractions[product->contraction];
    const struct kiln_domain *domain = &ir->domains[cluster->domain];
    int64_t most = product->scalar == KILN_SCALAR_F64 ? KILN_CONTRACTION_MAX_ROW / 2
                                                      : KILN_CONTRACTION_MAX_ROW;
    if (has_phases(contraction))
        return false;
    for (enum kiln_axis_role role = KILN_AXIS_M; role <= KILN_AXIS_N; role++) {
        uint32_t axis = only_axis(contraction, role);
        if (axis >= domain->rank || axes != UINT32_C(1) << (domain->rank - 1 - axis))
            continue;
        return may_run_along(builder, cluster, role, axis) &&
               kiln_contraction_size(contraction, role) * cluster->contract_count <= most;
    }
    return false;
}

static bool may_reduce(const struct kiln_group_builder *builder, const struct kiln_cluster *cluster,
                       uint32_t index, uint32_t axes)
{
    const struct kiln_op *ops = builder->ir->ops;
    if (cluster->domain != ops[ops[index].operands[0]].domain ||
        builder->operand_sum[cluster->contracts[0]] != KILN_NONE)
        return false;
    if (cluster->axes != 0)
        return cluster->axes == axes;
    return cluster->role == KILN_ROLE_WHOLE && (has_whole_rows(builder, cluster, axes) ||
                                                kiln_may_have_statistics(builder, cluster, axes));
}

static void begin_reduce(struct kiln_group_builder *builder, uint32_t cluster, uint32_t index,
                         uint32_t axes)
{
    if (builder->clusters[cluster].axes == 0 &&
        !has_whole_rows(builder, &builder->clusters[cluster], axes))
        kiln_begin_statistics(builder, cluster, index, axes);
}

/* Two of equal axes with an operand in common: one kernel stages the tiles of both. */
static bool may_merge(const struct kiln_group_builder *builder, const struct kiln_cluster *a,
                      const struct kiln_cluster *b)
{
    const struct kiln_op *first = &builder->ir->ops[a->contracts[0]];
    const struct kiln_op *second = &builder->ir->ops[b->contracts[0]];
    return a->axes == 0 && b->axes == 0 && builder->operand_sum[a->contracts[0]] == KILN_NONE &&
           builder->operand_sum[b->contracts[0]] == KILN_NONE &&
           !has_phases(&builder->ir->contractions[first->contraction]) &&
           a->contract_count + b->contract_count <= KILN_GROUP_MAX_PRODUCTS &&
           first->contraction == second->contraction && first->domain == second->domain &&
           first->scalar == second->scalar &&
           (first->operands[0] == second->operands[0] || first->operands[1] == second->operands[1]);
}

static enum kiln_boundary boundary(const struct kiln_cluster *cluster)
{
    (void)cluster;
    return KILN_BOUNDARY_CONTRACTION;
}

const struct kiln_fuse_family kiln_fuse_contraction = {
    .place = place_contraction,
    .may_evaluate_operand = kiln_prologue_may_evaluate,
    .may_compute = may_compute,
    .may_reduce = may_reduce,
    .begin_reduce = begin_reduce,
    .may_merge = may_merge,
    .stores_elements = true,
    .boundary = boundary,
    .max_accesses = KILN_CONTRACTION_MAX_ACCESSES,
    .find_places = find_places,
    .access_place = access_place,
    .place_domain = place_domain,
};
