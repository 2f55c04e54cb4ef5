#include "compiler/fuse/group_builder.h"

#include "compiler/fuse/closure.h"
#include "compiler/fuse/cluster.h"
#include "compiler/fuse/fuse_family.h"
#include "compiler/fuse/group_accesses.h"

#include <string.h>

/* What scheduling an operation of a group and writing its text takes, in steps of the
 * partitioner. */
enum { STEPS_OF_AN_OPERATION = 128 };

/* Values between the products of attention: what its kernel has computed of the scores, of one of
 * them where there are two. */
static void find_enclosed(struct kiln_group_builder *builder)
{
    for (uint32_t i = 0; i < builder->ir->op_count; i++) {
        const struct kiln_op *op = &builder->ir->ops[i];
        enum kiln_op_class op_class = kiln_opcode_info(op->opcode)->op_class;
        bool is_element = op_class == KILN_OP_CLASS_ELEMENTWISE ||
                          op_class == KILN_OP_CLASS_BROADCAST || op->opcode == KILN_OP_SCORE_EXP;
        builder->enclosed_in[i] = op->opcode == KILN_OP_SCORE ? i : KILN_NONE;
        for (uint32_t k = 0; is_element && k < kiln_opcode_info(op->opcode)->arity; k++) {
            if (builder->enclosed_in[op->operands[k]] != KILN_NONE)
                builder->enclosed_in[i] = builder->enclosed_in[op->operands[k]];
        }
    }
}

static void find_behind_products(struct kiln_group_builder *builder)
{
    for (uint32_t i = 0; i < builder->ir->op_count; i++) {
        const struct kiln_op *op = &builder->ir->ops[i];
        enum kiln_op_class op_class = kiln_opcode_info(op->opcode)->op_class;
        bool is_behind = kiln_op_is_contraction(op);
        bool is_elementwise =
            op_class == KILN_OP_CLASS_ELEMENTWISE || op_class == KILN_OP_CLASS_BROADCAST;
        for (uint32_t k = 0; is_elementwise && k < kiln_opcode_info(op->opcode)->arity; k++)
            is_behind = is_behind || builder->is_behind_product[op->operands[k]];
        builder->is_behind_product[i] = is_behind;
    }
}

bool kiln_group_builder_init(struct kiln_group_builder *builder)
{
    uint32_t count = builder->ir->op_count;
    struct kiln_arena *arena = builder->arena;
    bool **const flags[] = {&builder->reads_memory, &builder->cut,
                            &builder->always_cut,   &builder->needed,
                            &builder->bare,         &builder->is_load,
                            &builder->is_required,  &builder->wanted.is_in,
                            &builder->knows_layout, &builder->is_behind_product,
                            &builder->is_deferred};
    uint32_t **const numbers[] = {
        &builder->level,          &builder->first_reader, &builder->cluster,
        &builder->accumulated_in, &builder->store_op,     &builder->next_store,
        &builder->stamp,          &builder->own,          &builder->ops,
        &builder->live,           &builder->stack,        &builder->scratch,
        &builder->wanted.heap,    &builder->layout,       &builder->next_reduction,
        &builder->enclosed_in,    &builder->summed_with,  &builder->operand_sum};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        *flags[i] = kiln_arena_calloc(arena, count, sizeof **flags[i]);
        if (*flags[i] == NULL)
            return false;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        *numbers[i] = kiln_arena_calloc(arena, count, sizeof **numbers[i]);
        if (*numbers[i] == NULL)
            return false;
    }
    uint32_t reduction_count = 0;
    for (uint32_t i = 0; i < count; i++)
        reduction_count += kiln_op_has_cluster(&builder->ir->ops[i]);
    /* A PARTIAL and a COMBINE cluster per reduction. */
    builder->clusters =
        kiln_arena_calloc(arena, 2 * (size_t)reduction_count + 1, sizeof *builder->clusters);
    /* An item per STORE and per value in the workspace, and while a group is split another one per
     * value. */
    builder->items = kiln_arena_calloc(arena, 2 * (size_t)count + 1, sizeof *builder->items);
    /* Both operands of each. */
    builder->betweens =
        kiln_arena_calloc(arena, 2 * (size_t)reduction_count + 1, sizeof *builder->betweens);
    if (builder->clusters == NULL || builder->betweens == NULL || builder->items == NULL ||
        !kiln_load_sets_init(builder))
        return false;
    for (uint32_t i = 0; i < count; i++)
        builder->store_op[i] = KILN_NONE;
    for (uint32_t i = count; i-- > 0;) {
        const struct kiln_op *op = &builder->ir->ops[i];
        if (op->opcode != KILN_OP_STORE)
            continue;
        builder->next_store[i] = builder->store_op[op->operands[0]];
        builder->store_op[op->operands[0]] = i;
    }
    find_behind_products(builder);
    find_enclosed(builder);
    return true;
}

bool kiln_op_is_source(const struct kiln_op *op)
{
    return kiln_opcode_info(op->opcode)->op_class == KILN_OP_CLASS_SOURCE;
}

bool kiln_op_is_reduction(const struct kiln_op *op)
{
    return kiln_opcode_info(op->opcode)->op_class == KILN_OP_CLASS_REDUCE;
}

bool kiln_op_is_contraction(const struct kiln_op *op)
{
    return kiln_opcode_info(op->opcode)->op_class == KILN_OP_CLASS_CONTRACT;
}

bool kiln_op_has_cluster(const struct kiln_op *op)
{
    return kiln_fuse_family_of_op(op)->place != NULL;
}

bool kiln_op_is_result(const struct kiln_op *op)
{
    return op->tensor != KILN_NONE && !kiln_op_is_source(op) && op->opcode != KILN_OP_STORE;
}

enum kiln_dtype kiln_value_dtype(const struct kiln_group_builder *builder, uint32_t value)
{
    const struct kiln_op *op = &builder->ir->ops[value];
    return kiln_op_is_result(op) ? builder->graph->tensors[op->tensor].dtype
                                 : kiln_scalar_dtype(op->scalar);
}

uint32_t kiln_value_in_memory(const struct kiln_group_builder *builder, uint32_t value)
{
    return builder->reads_memory[value] ? builder->ir->ops[value].operands[0] : value;
}

bool kiln_item_is_home(const struct kiln_group_builder *builder, const struct kiln_group_item *item)
{
    return item->store == builder->store_op[item->value];
}

uint32_t kiln_register_budget(const struct kiln_target *target)
{
    return target->vgprs / 2;
}

bool kiln_may_go_on(const struct kiln_group_builder *builder)
{
    return !builder->failed && builder->steps <= builder->max_steps;
}

/* Makes room for another group; NULL when memory is out. */
static struct kiln_fusion_group *add_group(struct kiln_group_builder *builder)
{
    if (builder->group_count == builder->group_capacity) {
        uint32_t capacity = builder->group_capacity == 0 ? 16 : 2 * builder->group_capacity;
        struct kiln_fusion_group *grown =
            kiln_arena_calloc(builder->arena, capacity, sizeof *grown);
        if (grown == NULL)
            return NULL;
        if (builder->group_count != 0)
            memcpy(grown, builder->groups, builder->group_count * sizeof *grown);
        builder->groups = grown;
        builder->group_capacity = capacity;
    }
    return &builder->groups[builder->group_count++];
}

/* Appends what the last closure found. */
static bool append_closure(struct kiln_group_builder *builder,
                           const struct kiln_fusion_group *pattern, uint32_t cluster,
                           const uint32_t *items, uint32_t item_count)
{
    struct kiln_fusion_group *group = add_group(builder);
    if (group == NULL)
        return false;
    *group = *pattern;
    group->op_count = builder->op_count;
    builder->steps += (uint64_t)STEPS_OF_AN_OPERATION * builder->op_count;
    group->ops = kiln_arena_calloc(builder->ir->arena, builder->op_count, sizeof *group->ops);
    group->live_registers = builder->live_registers;
    group->cost = builder->cost;
    if (group->ops == NULL)
        return false;
    memcpy(group->ops, builder->ops, builder->op_count * sizeof *group->ops);
    const struct kiln_fuse_family *family = kiln_fuse_family(group->family);
    return (family->find_places == NULL ||
            family->find_places(builder, group, items, item_count)) &&
           kiln_group_build_accesses(builder, group, cluster, items, item_count);
}

bool kiln_group_append(struct kiln_group_builder *builder, uint32_t domain,
                       enum kiln_boundary boundary, const uint32_t *items, uint32_t item_count)
{
    kiln_group_closure(builder, KILN_NONE, items, item_count);
    const struct kiln_fusion_group pattern = {
        .family = KILN_FAMILY_POINTWISE,
        .domain = domain,
        .segment_count = 1,
        .boundary = boundary,
    };
    return append_closure(builder, &pattern, KILN_NONE, items, item_count);
}

bool kiln_group_append_cluster(struct kiln_group_builder *builder, uint32_t cluster,
                               enum kiln_boundary boundary, const uint32_t *items,
                               uint32_t item_count)
{
    const struct kiln_cluster *source = &builder->clusters[cluster];
    kiln_group_closure(builder, cluster, items, item_count);
    const struct kiln_fusion_group pattern = {
        .family = source->family,
        .role = source->role,
        .domain = source->domain,
        .reduced_axes = source->axes,
        .segment_count = source->segment_count,
        .boundary = boundary,
    };
    return append_closure(builder, &pattern, cluster, items, item_count);
}
