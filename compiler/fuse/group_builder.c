#include "compiler/fuse/group_builder.h"

#include "compiler/fuse/register_pressure.h"

#include <stdlib.h>
#include <string.h>

enum { TRANSCENDENTAL_COST = 8 };

bool kiln_group_builder_init(struct kiln_group_builder *builder)
{
    uint32_t count = builder->ir->op_count;
    struct kiln_arena *arena = builder->arena;
    builder->reads_memory = kiln_arena_calloc(arena, count, sizeof *builder->reads_memory);
    builder->cut = kiln_arena_calloc(arena, count, sizeof *builder->cut);
    builder->level = kiln_arena_calloc(arena, count, sizeof *builder->level);
    builder->store_op = kiln_arena_calloc(arena, count, sizeof *builder->store_op);
    builder->stamp = kiln_arena_calloc(arena, count, sizeof *builder->stamp);
    builder->stack = kiln_arena_calloc(arena, count, sizeof *builder->stack);
    builder->scratch = kiln_arena_calloc(arena, count, sizeof *builder->scratch);
    builder->live = kiln_arena_calloc(arena, count, sizeof *builder->live);
    builder->is_load = kiln_arena_calloc(arena, count, sizeof *builder->is_load);
    /* A value becomes an item at most once in collect_items and once more when its group is split. */
    builder->items = kiln_arena_calloc(arena, 2 * (size_t)count + 1, sizeof *builder->items);
    builder->group_capacity = count + 1;
    builder->groups =
        kiln_arena_calloc(arena, builder->group_capacity, sizeof *builder->groups);
    if (builder->reads_memory == NULL || builder->cut == NULL || builder->level == NULL ||
        builder->store_op == NULL || builder->stamp == NULL || builder->stack == NULL ||
        builder->scratch == NULL || builder->live == NULL || builder->is_load == NULL ||
        builder->items == NULL || builder->groups == NULL)
        return false;
    for (uint32_t i = 0; i < count; i++)
        builder->store_op[i] = KILN_NONE;
    return true;
}

bool kiln_op_is_source(const struct kiln_op *op)
{
    return kiln_opcode_info(op->opcode)->op_class == KILN_OP_CLASS_SOURCE;
}

bool kiln_value_can_be_cut(const struct kiln_op *op)
{
    return op->tensor != KILN_NONE && !kiln_op_is_source(op) && op->opcode != KILN_OP_STORE;
}

uint32_t kiln_op_cost(const struct kiln_op *op)
{
    switch (op->opcode) {
    case KILN_OP_EXP:
    case KILN_OP_EXPM1:
    case KILN_OP_LOG:
    case KILN_OP_LOG1P:
    case KILN_OP_SIN:
    case KILN_OP_COS:
    case KILN_OP_TAN:
    case KILN_OP_TANH:
    case KILN_OP_ERF:
    case KILN_OP_ERFC:
    case KILN_OP_DIV:
        return TRANSCENDENTAL_COST;
    default:
        return 1;
    }
}

/* Whether a group reads this value from memory rather than computing it. Its own items it computes. */
static bool reads_value(const struct kiln_group_builder *builder, uint32_t value, uint32_t own_mark)
{
    const struct kiln_op *op = &builder->ir->ops[value];
    return op->opcode == KILN_OP_LOAD || builder->reads_memory[value] ||
           (builder->cut[value] && builder->scratch[value] != own_mark);
}

int kiln_compare_values(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

uint32_t kiln_group_closure(struct kiln_group_builder *builder, const uint32_t *items, uint32_t item_count,
                        uint32_t *ret_ops)
{
    uint32_t mark = ++builder->stamp_now;
    uint32_t depth = 0;
    uint32_t count = 0;
    for (uint32_t i = 0; i < item_count; i++)
        builder->scratch[builder->items[items[i]].value] = mark;
    for (uint32_t i = 0; i < item_count; i++) {
        uint32_t value = builder->items[items[i]].value;
        if (builder->stamp[value] != mark) {
            builder->stamp[value] = mark;
            builder->stack[depth++] = value;
        }
    }
    while (depth > 0) {
        uint32_t value = builder->stack[--depth];
        const struct kiln_op *op = &builder->ir->ops[value];
        ret_ops[count++] = value;
        builder->is_load[value] = reads_value(builder, value, mark);
        if (builder->is_load[value])
            continue;
        for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++) {
            uint32_t operand = op->operands[k];
            if (builder->stamp[operand] != mark) {
                builder->stamp[operand] = mark;
                builder->stack[depth++] = operand;
            }
        }
    }
    qsort(ret_ops, count, sizeof *ret_ops, kiln_compare_values);
    return count;
}

/* In elements along the axes of `domain`, right-aligned; 0 where the tensor does not vary. */
static void align_strides(const struct kiln_domain *domain, const int64_t *dims,
                          const int64_t *strides, uint32_t rank, int64_t *ret_strides)
{
    memset(ret_strides, 0, KILN_MAX_RANK * sizeof *ret_strides);
    for (uint32_t i = 0; i < domain->rank && i < rank; i++) {
        uint32_t from = rank - 1 - i;
        if (dims[from] != 1)
            ret_strides[domain->rank - 1 - i] = strides[from];
    }
}

static uint32_t guard_axes(const struct kiln_domain *group, const struct kiln_domain *value)
{
    uint32_t guard = 0;
    for (uint32_t i = 0; i < group->rank; i++) {
        bool present = i < value->rank && value->dims[value->rank - 1 - i] != 1;
        if (!present && group->dims[group->rank - 1 - i] != 1)
            guard |= 1u << (group->rank - 1 - i);
    }
    return guard;
}

/* The memory of a graph tensor as seen from the group's domain. */
static struct kiln_access tensor_access(const struct kiln_group_builder *builder, uint32_t domain,
                                        uint32_t value, uint32_t tensor_ordinal)
{
    const struct kiln_tensor *tensor = &builder->graph->tensors[tensor_ordinal];
    struct kiln_access access = {
        .value = value,
        .kind = tensor->role == KILN_TENSOR_HOST_SCALAR ? KILN_ARGUMENT_HOST_SCALAR
                                                        : KILN_ARGUMENT_TENSOR,
        .tensor = tensor_ordinal,
        .dtype = tensor->dtype,
    };
    align_strides(&builder->ir->domains[domain], tensor->dims, tensor->strides, tensor->rank,
                  access.strides);
    return access;
}

/* The memory of a cut value: an output that holds it, or packed in the workspace. */
static struct kiln_access cut_access(const struct kiln_group_builder *builder, uint32_t domain, uint32_t value,
                                     uint32_t cut_value)
{
    if (builder->store_op[cut_value] != KILN_NONE)
        return tensor_access(builder, domain, value,
                             builder->ir->ops[builder->store_op[cut_value]].tensor);
    const struct kiln_op *op = &builder->ir->ops[cut_value];
    const struct kiln_domain *shape = &builder->ir->domains[op->domain];
    int64_t packed[KILN_MAX_RANK];
    int64_t stride = 1;
    for (uint32_t i = shape->rank; i-- > 0;) {
        packed[i] = stride;
        stride *= shape->dims[i];
    }
    struct kiln_access access = {
        .value = value,
        .kind = KILN_ARGUMENT_WORKSPACE,
        .tensor = op->tensor,
        .dtype = builder->graph->tensors[op->tensor].dtype,
    };
    align_strides(&builder->ir->domains[domain], shape->dims, packed, shape->rank, access.strides);
    return access;
}

static bool build_accesses(struct kiln_group_builder *builder, struct kiln_fusion_group *group,
                           const uint32_t *items, uint32_t item_count)
{
    const struct kiln_ir *ir = builder->ir;
    const struct kiln_domain *domain = &ir->domains[group->domain];
    uint32_t loads = 0;
    uint32_t stores = 0;
    for (uint32_t i = 0; i < group->op_count; i++)
        loads += builder->is_load[group->ops[i]];
    for (uint32_t i = 0; i < item_count; i++) {
        uint32_t value = builder->items[items[i]].value;
        stores += builder->store_op[value] == KILN_NONE;
        for (uint32_t k = builder->store_op[value]; k < ir->op_count; k++)
            stores += ir->ops[k].opcode == KILN_OP_STORE && ir->ops[k].operands[0] == value;
    }
    group->accesses = kiln_arena_calloc(builder->arena, loads + stores, sizeof *group->accesses);
    if (group->accesses == NULL)
        return false;
    for (uint32_t i = 0; i < group->op_count; i++) {
        uint32_t value = group->ops[i];
        const struct kiln_op *op = &ir->ops[value];
        if (!builder->is_load[value])
            continue;
        group->accesses[group->access_count++] =
            op->opcode == KILN_OP_LOAD ? tensor_access(builder, group->domain, value, op->tensor)
            : builder->reads_memory[value]
                ? cut_access(builder, group->domain, value, op->operands[0])
                : cut_access(builder, group->domain, value, value);
    }
    group->load_count = group->access_count;
    for (uint32_t i = 0; i < item_count; i++) {
        uint32_t value = builder->items[items[i]].value;
        uint32_t guard = guard_axes(domain, &ir->domains[ir->ops[value].domain]);
        uint32_t first = group->access_count;
        if (builder->store_op[value] == KILN_NONE)
            group->accesses[group->access_count++] =
                cut_access(builder, group->domain, value, value);
        for (uint32_t k = builder->store_op[value]; k < ir->op_count; k++) {
            if (ir->ops[k].opcode == KILN_OP_STORE && ir->ops[k].operands[0] == value)
                group->accesses[group->access_count++] =
                    tensor_access(builder, group->domain, value, ir->ops[k].tensor);
        }
        for (uint32_t k = first; k < group->access_count; k++) {
            group->accesses[k].is_store = true;
            group->accesses[k].guard_axes = guard;
        }
    }
    return true;
}

bool kiln_group_append(struct kiln_group_builder *builder, uint32_t domain, enum kiln_boundary boundary,
                       const uint32_t *items, uint32_t item_count)
{
    uint32_t *ops = kiln_arena_calloc(builder->arena, builder->ir->op_count, sizeof *ops);
    if (ops == NULL || builder->group_count == builder->group_capacity)
        return false;
    struct kiln_fusion_group *group = &builder->groups[builder->group_count++];
    *group = (struct kiln_fusion_group){.domain = domain, .boundary = boundary, .ops = ops};
    group->op_count = kiln_group_closure(builder, items, item_count, ops);
    group->live_registers = kiln_register_pressure(builder->ir, ops, group->op_count,
                                                   builder->is_load, builder->scratch,
                                                   builder->live);
    for (uint32_t i = 0; i < group->op_count; i++) {
        if (!builder->is_load[ops[i]])
            group->cost += kiln_op_cost(&builder->ir->ops[ops[i]]);
    }
    return build_accesses(builder, group, items, item_count);
}
