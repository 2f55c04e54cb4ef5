/* The group of a CONTRACT: values before it are computed where its operands are staged, values
 * after it where its result is. */
#include "compiler/families/contraction/fuse/contraction_group.h"
#include "compiler/families/contraction/fuse/contraction_grouping.h"
#include "compiler/families/contraction/fuse/k_segments.h"
#include "compiler/families/contraction/fuse/operand_sums.h"
#include "compiler/families/contraction/fuse/prologue.h"
#include "compiler/families/contraction/fuse/tile_statistics.h"
#include "compiler/families/reduction/fuse/reduction_passes.h"
#include "compiler/fuse/cluster.h"
#include "compiler/fuse/fuse_family.h"
#include "compiler/ir/view.h"

/* The values that the places stage, once the anchors are known. */
static void find_operands(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                          uint32_t sum, struct kiln_product_group *ret_data)
{
    const struct kiln_op *first = &ir->ops[group->anchors[0]];
    for (uint32_t place = 0; place < KILN_PLACE_COUNT; place++)
        ret_data->operands[place] = KILN_NONE;
    ret_data->operands[KILN_PLACE_LEFT] = first->operands[0];
    ret_data->operands[KILN_PLACE_RIGHT] = first->operands[1];
    if (group->anchor_count == 2)
        ret_data->operands[KILN_PLACE_SECOND] =
            ir->ops[group->anchors[1]]
                .operands[kiln_group_shared_place(ir, group) == KILN_PLACE_LEFT];
    for (uint32_t i = KILN_CONTRACT_RESULT; i < kiln_opcode_info(first->opcode)->arity; i++)
        ret_data->operands[KILN_PLACE_OFFSETS + i - KILN_CONTRACT_RESULT] = first->operands[i];
    if (sum != KILN_NONE)
        ret_data->operands[KILN_PLACE_SUM] = ir->ops[sum].operands[0];
}

/* True if a place stages an operand of this CONTRACT. */
static bool is_staged_for(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                          uint32_t contract, enum kiln_place place)
{
    if (place == KILN_PLACE_SUM || kiln_group_operand(group, place) == KILN_NONE)
        return false;
    bool is_second = contract != group->anchors[0];
    return is_second ? place == KILN_PLACE_SECOND || place == kiln_group_shared_place(ir, group)
                     : place != KILN_PLACE_SECOND;
}

static bool find_places(struct kiln_group_builder *builder, struct kiln_fusion_group *group,
                        const uint32_t *items, uint32_t item_count)
{
    const struct kiln_ir *ir = builder->ir;
    struct kiln_product_group *data = kiln_arena_calloc(ir->arena, 1, sizeof *data);
    group->places = kiln_arena_calloc(ir->arena, group->op_count, sizeof *group->places);
    group->family_data = data;
    if (group->places == NULL || data == NULL)
        return false;
    uint32_t sum = KILN_NONE;
    for (uint32_t i = 0; i < group->op_count; i++) {
        const struct kiln_op *op = &ir->ops[group->ops[i]];
        bool is_sum = kiln_op_reduces(op) && !builder->is_load[group->ops[i]] &&
                      kiln_is_sum_beside(builder, group->ops[i]);
        sum = is_sum ? group->ops[i] : sum;
        if (kiln_op_is_contraction(op) && !builder->is_load[group->ops[i]])
            group->anchors[group->anchor_count++] = group->ops[i];
        else if (is_sum)
            group->places[i] = kiln_place_bit(KILN_PLACE_SUM);
        else if (kiln_op_reduces(op) && !builder->is_load[group->ops[i]])
            group->places[i] = kiln_place_bit(KILN_PLACE_ELEMENT); /* stored or not */
    }
    find_operands(ir, group, sum, data);
    for (uint32_t i = 0; i < item_count; i++) {
        uint32_t value = builder->items[items[i]].value;
        bool is_of_sum = sum != KILN_NONE && ir->ops[value].domain == ir->ops[sum].domain;
        group->places[kiln_group_position(group, value)] |=
            kiln_place_bit(is_of_sum ? KILN_PLACE_SUM : KILN_PLACE_ELEMENT);
    }
    for (uint32_t i = group->op_count; i-- > 0;) {
        const struct kiln_op *op = &ir->ops[group->ops[i]];
        if (builder->is_load[group->ops[i]] || group->ops[i] == sum)
            continue;
        if (kiln_op_is_contraction(op)) {
            group->places[i] = kiln_place_bit(KILN_PLACE_ELEMENT);
            for (enum kiln_place place = 0; place < KILN_PLACE_COUNT; place++) {
                if (is_staged_for(ir, group, group->ops[i], place))
                    group->places[kiln_group_position(group, kiln_group_operand(group, place))] |=
                        kiln_place_bit(place);
            }
            continue;
        }
        for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++)
            group->places[kiln_group_position(group, op->operands[k])] |= group->places[i];
    }
    return kiln_keep_betweens(builder, group, data);
}

static enum kiln_place store_place(const struct kiln_fusion_group *group, uint32_t position)
{
    return (group->places[position] >> KILN_PLACE_SUM & 1) != 0 ? KILN_PLACE_SUM
                                                                : KILN_PLACE_ELEMENT;
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
    uint32_t operand = kiln_group_operand(group, place);
    return operand == KILN_NONE ? group->domain : ir->ops[operand].domain;
}

static void find_behind_products(const struct kiln_ir *ir, bool *ret_is_behind)
{
    for (uint32_t i = 0; i < ir->op_count; i++) {
        const struct kiln_op *op = &ir->ops[i];
        bool is_elementwise = kiln_opcode_is_elementwise(op->opcode);
        ret_is_behind[i] = kiln_op_is_contraction(op);
        for (uint32_t k = 0; is_elementwise && k < kiln_opcode_info(op->opcode)->arity; k++)
            ret_is_behind[i] = ret_is_behind[i] || ret_is_behind[op->operands[k]];
    }
}

static bool begin(struct kiln_group_builder *builder)
{
    const struct kiln_ir *ir = builder->ir;
    struct kiln_arena *arena = builder->arena;
    struct kiln_contraction_grouping *grouping = kiln_arena_calloc(arena, 1, sizeof *grouping);
    if (grouping == NULL)
        return false;
    uint32_t product_count = 0;
    for (uint32_t i = 0; i < ir->op_count; i++)
        product_count += kiln_opcode_contracts(ir->ops[i].opcode);
    *grouping = (struct kiln_contraction_grouping){
        .summed_with = kiln_arena_calloc(arena, ir->op_count, sizeof *grouping->summed_with),
        .operand_sum = kiln_arena_calloc(arena, ir->op_count, sizeof *grouping->operand_sum),
        .is_behind_product =
            kiln_arena_calloc(arena, ir->op_count, sizeof *grouping->is_behind_product),
        .betweens =
            kiln_arena_calloc(arena, 2 * (size_t)product_count + 1, sizeof *grouping->betweens),
    };
    if (grouping->summed_with == NULL || grouping->operand_sum == NULL ||
        grouping->is_behind_product == NULL || grouping->betweens == NULL)
        return false;
    find_behind_products(ir, grouping->is_behind_product);
    builder->family_data[KILN_FAMILY_CONTRACTION] = grouping;
    return true;
}

static void forget(struct kiln_group_builder *builder)
{
    kiln_contraction_grouping(builder)->between_count = 0;
}

/* Each begins a cluster; two that share an operand are merged where their results meet. Where k is
 * cut into segments, what follows is computed where they are combined. */
static void place_contraction(struct kiln_group_builder *builder, uint32_t index)
{
    uint32_t level = kiln_level_needed(builder, index, KILN_NONE);
    uint32_t segments = kiln_k_segment_count(builder, index);
    uint32_t added =
        kiln_cluster_begin(builder, KILN_FAMILY_CONTRACTION,
                           segments > 1 ? KILN_ROLE_PARTIAL : KILN_ROLE_WHOLE, index, level);
    if (segments > 1) { /* to what adds up its segments a product is a reduction */
        builder->cluster[index] =
            kiln_cluster_add_combine(builder, KILN_FAMILY_REDUCTION, index, added, segments);
        builder->clusters[builder->cluster[index]].core_count = 1;
    }
    kiln_require_operands(builder, index, added, level);
}

/* Kernels of segments of k have no result yet, and those of statistics none of these. */
static bool may_compute(const struct kiln_group_builder *builder,
                        const struct kiln_cluster *cluster, uint32_t index)
{
    const struct kiln_op *op = &builder->ir->ops[index];
    if (!kiln_operand_sum_allows(builder, cluster, index))
        return false;
    if (op->domain == kiln_operand_sum_domain(builder, cluster))
        return true;
    if (cluster->role == KILN_ROLE_PARTIAL)
        return cluster->axes != 0 && op->domain == cluster->domain;
    return op->domain == cluster->domain || op->domain == cluster->row_domain;
}

/* True if the kernel sorts rows by phase, the remainder of their coordinates. Some rows of a tile
 * are then padding. */
static bool has_phases(const struct kiln_contraction *contraction)
{
    return kiln_map_has_divisor(kiln_contraction_image(contraction));
}

/* The axis of the result that is all of its role, and of no other; KILN_NO_AXIS when there is none.
 */
static uint32_t only_axis(const struct kiln_contraction *contraction, enum kiln_axis_role role)
{
    const struct kiln_map_axis *result = contraction->maps[KILN_CONTRACT_RESULT].axes;
    uint32_t found = KILN_NO_AXIS;
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        if (contraction->roles[i] != role)
            continue;
        if (found != KILN_NO_AXIS)
            return KILN_NO_AXIS;
        found = result[i].along;
    }
    /* A grouped convolution's channels are two axes here: the groups and the channels of a group.
     * An axis of size 1 does not count. */
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        if (result[i].along == found && contraction->roles[i] != role && contraction->sizes[i] > 1)
            return KILN_NO_AXIS;
    }
    return found;
}

/* True if the memory of a value's tensor runs along an axis, counted from the right. */
static bool runs_along(const struct kiln_group_builder *builder, uint32_t value, uint32_t axis)
{
    uint32_t ordinal = builder->ir->ops[value].tensor;
    if (ordinal == KILN_NONE)
        return axis == 0;
    const struct kiln_tensor *tensor = &builder->graph->tensors[ordinal];
    const struct kiln_domain *domain = &builder->ir->domains[builder->ir->ops[value].domain];
    int64_t strides[KILN_MAX_RANK];
    return axis < domain->rank &&
           kiln_view_strides(domain, tensor->dims, tensor->strides, tensor->rank, strides) &&
           strides[domain->rank - 1 - axis] == 1;
}

/* True if the columns of a kernel's tiles can be along this axis of m or n. A single product has
 * them along n, or along m if the result's memory runs along the axis. Two products have them along
 * the rows of the operands that differ. */
static bool may_run_along(const struct kiln_group_builder *builder,
                          const struct kiln_cluster *cluster, enum kiln_axis_role role,
                          uint32_t axis)
{
    const struct kiln_op *ops = builder->ir->ops;
    if (cluster->anchor_count > 1) {
        bool shares_left =
            ops[cluster->anchors[0]].operands[0] == ops[cluster->anchors[1]].operands[0];
        return (role == KILN_AXIS_N) == shares_left;
    }
    return role == KILN_AXIS_N || runs_along(builder, cluster->anchors[0], axis);
}

/* Reductions of blocks of a row. A tile holds whole blocks. The widest tiles of vector
 * instructions have LARGEST_BLOCK columns; a vector of the result is no longer than the smallest
 * block. */
static bool has_whole_blocks(const struct kiln_group_builder *builder,
                             const struct kiln_cluster *cluster, uint32_t axes)
{
    enum { SMALLEST_BLOCK = 8, LARGEST_BLOCK = 128 };
    const struct kiln_ir *ir = builder->ir;
    const struct kiln_domain *domain = &ir->domains[cluster->domain];
    enum kiln_axis_role role = KILN_AXIS_N;
    if (axes == 0 || (axes & (axes - 1)) != 0)
        return false;
    uint32_t axis = domain->rank - 1 - (uint32_t)__builtin_ctz(axes);
    int64_t size = kiln_contraction_block(
        &ir->contractions[ir->ops[cluster->anchors[0]].contraction], (uint8_t)axis, &role);
    return size >= SMALLEST_BLOCK && size <= LARGEST_BLOCK && (size & (size - 1)) == 0 &&
           may_run_along(builder, cluster, role, axis);
}

/* Reductions along the columns of tiles where one tile has all of them. Elements wait in local
 * memory for what is reduced of them. */
static bool has_whole_rows(const struct kiln_group_builder *builder,
                           const struct kiln_cluster *cluster, uint32_t axes)
{
    const struct kiln_ir *ir = builder->ir;
    const struct kiln_op *product = &ir->ops[cluster->anchors[0]];
    const struct kiln_contraction *contraction = &ir->contractions[product->contraction];
    const struct kiln_domain *domain = &ir->domains[cluster->domain];
    int64_t most = product->scalar == KILN_SCALAR_F64 ? KILN_CONTRACTION_MAX_ROW / 2
                                                      : KILN_CONTRACTION_MAX_ROW;
    if (has_phases(contraction))
        return false;
    if (has_whole_blocks(builder, cluster, axes))
        return true;
    for (enum kiln_axis_role role = KILN_AXIS_M; role <= KILN_AXIS_N; role++) {
        uint32_t axis = only_axis(contraction, role);
        if (axis >= domain->rank || axes != UINT32_C(1) << (domain->rank - 1 - axis))
            continue;
        return may_run_along(builder, cluster, role, axis) &&
               kiln_contraction_size(contraction, role) * cluster->anchor_count <= most;
    }
    return false;
}

static bool may_reduce(const struct kiln_group_builder *builder, const struct kiln_cluster *cluster,
                       uint32_t index, uint32_t axes)
{
    const struct kiln_contraction_grouping *grouping = kiln_contraction_grouping(builder);
    const struct kiln_op *ops = builder->ir->ops;
    if (builder->ir->is_general || /* rows have any length */
        cluster->domain != ops[ops[index].operands[0]].domain ||
        ops[cluster->anchors[0]].opcode != KILN_OP_CONTRACT || /* a tile's rows vary */
        grouping->operand_sum[cluster->anchors[0]] != KILN_NONE)
        return false;
    if (cluster->axes != 0)
        return cluster->axes == axes;
    return cluster->role == KILN_ROLE_WHOLE && (has_whole_rows(builder, cluster, axes) ||
                                                kiln_may_have_statistics(builder, cluster, axes));
}

/* The elements of blocks or rows that are quantised. Vectors of the result lie along the columns
 * that are reduced, and start at whole bytes. */
static bool may_store_packed(const struct kiln_group_builder *builder,
                             const struct kiln_cluster *cluster, uint32_t store)
{
    enum { VECTOR = 8 }; /* the longest, whole bytes of every type */
    const struct kiln_ir *ir = builder->ir;
    const struct kiln_op *op = &ir->ops[store];
    const struct kiln_tensor *tensor = &builder->graph->tensors[op->tensor];
    const struct kiln_domain *domain = &ir->domains[op->domain];
    int64_t strides[KILN_MAX_RANK];
    if (cluster->role != KILN_ROLE_WHOLE || cluster->axes == 0 || op->domain != cluster->domain ||
        builder->target->kind == KILN_TARGET_CUDA ||
        !kiln_view_strides(domain, tensor->dims, tensor->strides, tensor->rank, strides))
        return false;
    for (uint32_t axis = 0; axis < domain->rank; axis++) {
        bool is_reduced = (cluster->axes >> axis & 1u) != 0;
        if (is_reduced ? strides[axis] != 1 || domain->dims[axis] % VECTOR != 0
                       : strides[axis] % VECTOR != 0)
            return false;
    }
    return true;
}

static void begin_reduce(struct kiln_group_builder *builder, uint32_t cluster, uint32_t index,
                         uint32_t axes)
{
    if (builder->clusters[cluster].axes == 0 &&
        !has_whole_rows(builder, &builder->clusters[cluster], axes))
        kiln_begin_statistics(builder, cluster, index, axes);
}

/* True if products have the same groups, and share the operand whose rows these are. */
static bool share_groups(const struct kiln_op *first, const struct kiln_op *second)
{
    bool are_same = first->opcode == second->opcode;
    for (uint32_t i = KILN_CONTRACT_RESULT; i < KILN_IR_MAX_OPERANDS; i++)
        are_same = are_same && first->operands[i] == second->operands[i];
    return are_same &&
           (first->opcode == KILN_OP_CONTRACT ||
            first->operands[KILN_CONTRACT_LEFT] == second->operands[KILN_CONTRACT_LEFT]);
}

/* Two of equal axes with an operand in common: one kernel stages the tiles of both. */
static bool may_merge(const struct kiln_group_builder *builder, const struct kiln_cluster *a,
                      const struct kiln_cluster *b)
{
    const struct kiln_contraction_grouping *grouping = kiln_contraction_grouping(builder);
    const struct kiln_op *first = &builder->ir->ops[a->anchors[0]];
    const struct kiln_op *second = &builder->ir->ops[b->anchors[0]];
    return a->axes == 0 && b->axes == 0 && grouping->operand_sum[a->anchors[0]] == KILN_NONE &&
           grouping->operand_sum[b->anchors[0]] == KILN_NONE &&
           !has_phases(&builder->ir->contractions[first->contraction]) &&
           a->anchor_count + b->anchor_count <= KILN_GROUP_MAX_PRODUCTS &&
           first->contraction == second->contraction && first->domain == second->domain &&
           first->scalar == second->scalar && share_groups(first, second) &&
           (first->operands[0] == second->operands[0] || first->operands[1] == second->operands[1]);
}

const struct kiln_fuse_family kiln_fuse_contraction = {
    .begin = begin,
    .forget = forget,
    .prepare = kiln_find_operand_sums,
    .place = place_contraction,
    .adopt = kiln_place_operand_sum,
    .may_evaluate_operand = kiln_prologue_may_evaluate,
    .may_compute = may_compute,
    .may_reduce = may_reduce,
    .begin_reduce = begin_reduce,
    .may_merge = may_merge,
    .stores_elements = true,
    .may_store_packed = may_store_packed,
    .operand_load_kinds = KILN_LOAD_PACKED | KILN_LOAD_REPEATED,
    .max_accesses = KILN_CONTRACTION_MAX_ACCESSES,
    .find_places = find_places,
    .store_place = store_place,
    .access_place = access_place,
    .place_domain = place_domain,
    .explain = kiln_explain_betweens,
};
