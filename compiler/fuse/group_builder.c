#include "compiler/fuse/group_builder.h"

#include "compiler/fuse/register_pressure.h"

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
    builder->next_store = kiln_arena_calloc(arena, count, sizeof *builder->next_store);
    builder->stamp = kiln_arena_calloc(arena, count, sizeof *builder->stamp);
    builder->own = kiln_arena_calloc(arena, count, sizeof *builder->own);
    builder->is_load = kiln_arena_calloc(arena, count, sizeof *builder->is_load);
    builder->ops = kiln_arena_calloc(arena, count, sizeof *builder->ops);
    builder->live = kiln_arena_calloc(arena, count, sizeof *builder->live);
    builder->stack = kiln_arena_calloc(arena, count, sizeof *builder->stack);
    builder->scratch = kiln_arena_calloc(arena, count, sizeof *builder->scratch);
    /* An item per STORE and per value in the workspace, and while a group is split another one per
     * value. */
    builder->items = kiln_arena_calloc(arena, 2 * (size_t)count + 1, sizeof *builder->items);
    if (builder->reads_memory == NULL || builder->cut == NULL || builder->level == NULL ||
        builder->store_op == NULL || builder->next_store == NULL || builder->stamp == NULL ||
        builder->own == NULL || builder->is_load == NULL || builder->ops == NULL ||
        builder->live == NULL || builder->stack == NULL || builder->scratch == NULL ||
        builder->items == NULL)
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
    return true;
}

bool kiln_op_is_source(const struct kiln_op *op)
{
    return kiln_opcode_info(op->opcode)->op_class == KILN_OP_CLASS_SOURCE;
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

void kiln_group_closure(struct kiln_group_builder *builder, const uint32_t *items,
                        uint32_t item_count)
{
    const struct kiln_ir *ir = builder->ir;
    uint32_t mark = ++builder->stamp_now;
    uint32_t last = 0;
    builder->op_count = 0;
    builder->cost = 0;
    for (uint32_t i = 0; i < item_count; i++) {
        const struct kiln_group_item *item = &builder->items[items[i]];
        builder->stamp[item->value] = mark;
        if (kiln_item_is_home(builder, item))
            builder->own[item->value] = mark;
        last = item->value > last ? item->value : last;
    }
    /* Operands have smaller indices than their users: one walk down sees every user before its
     * operands. */
    uint32_t first = last;
    for (uint32_t value = last + 1; item_count != 0 && value-- > 0;) {
        if (builder->stamp[value] != mark)
            continue;
        const struct kiln_op *op = &ir->ops[value];
        first = value;
        builder->is_load[value] = op->opcode == KILN_OP_LOAD || builder->reads_memory[value] ||
                                  (builder->cut[value] && builder->own[value] != mark);
        for (uint32_t k = 0; !builder->is_load[value] && k < kiln_opcode_info(op->opcode)->arity;
             k++)
            builder->stamp[op->operands[k]] = mark;
    }
    for (uint32_t value = first; item_count != 0 && value <= last; value++) {
        if (builder->stamp[value] != mark)
            continue;
        builder->ops[builder->op_count++] = value;
        if (!builder->is_load[value])
            builder->cost += kiln_op_cost(&ir->ops[value]);
    }
    builder->live_registers = kiln_register_pressure(
        ir, builder->ops, builder->op_count, builder->is_load, builder->scratch, builder->live);
}

bool kiln_group_computes(const struct kiln_group_builder *builder, uint32_t value)
{
    return builder->stamp[value] == builder->stamp_now && !builder->is_load[value];
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

/* The memory of a value that waits for another group: its home. */
static struct kiln_access home_access(const struct kiln_group_builder *builder, uint32_t domain,
                                      uint32_t value)
{
    uint32_t in_memory = kiln_value_in_memory(builder, value);
    if (builder->store_op[in_memory] != KILN_NONE)
        return tensor_access(builder, domain, value,
                             builder->ir->ops[builder->store_op[in_memory]].tensor);
    const struct kiln_op *op = &builder->ir->ops[in_memory];
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
        .dtype = kiln_value_dtype(builder, in_memory),
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
    for (uint32_t i = 0; i < group->op_count; i++)
        loads += builder->is_load[group->ops[i]];
    group->accesses =
        kiln_arena_calloc(builder->arena, loads + item_count, sizeof *group->accesses);
    if (group->accesses == NULL)
        return false;
    for (uint32_t i = 0; i < group->op_count; i++) {
        uint32_t value = group->ops[i];
        const struct kiln_op *op = &ir->ops[value];
        if (builder->is_load[value])
            group->accesses[group->access_count++] =
                op->opcode == KILN_OP_LOAD
                    ? tensor_access(builder, group->domain, value, op->tensor)
                    : home_access(builder, group->domain, value);
    }
    group->load_count = group->access_count;
    for (uint32_t i = 0; i < item_count; i++) {
        const struct kiln_group_item *item = &builder->items[items[i]];
        struct kiln_access *access = &group->accesses[group->access_count++];
        *access = item->store != KILN_NONE ? tensor_access(builder, group->domain, item->value,
                                                           ir->ops[item->store].tensor)
                                           : home_access(builder, group->domain, item->value);
        access->is_store = true;
        access->guard_axes = guard_axes(domain, &ir->domains[ir->ops[item->value].domain]);
    }
    return true;
}

bool kiln_group_append(struct kiln_group_builder *builder, uint32_t domain,
                       enum kiln_boundary boundary, const uint32_t *items, uint32_t item_count)
{
    if (builder->group_count == builder->group_capacity) {
        uint32_t capacity = builder->group_capacity == 0 ? 16 : 2 * builder->group_capacity;
        struct kiln_fusion_group *grown =
            kiln_arena_calloc(builder->arena, capacity, sizeof *grown);
        if (grown == NULL)
            return false;
        if (builder->group_count != 0)
            memcpy(grown, builder->groups, builder->group_count * sizeof *grown);
        builder->groups = grown;
        builder->group_capacity = capacity;
    }
    kiln_group_closure(builder, items, item_count);
    struct kiln_fusion_group *group = &builder->groups[builder->group_count++];
    *group = (struct kiln_fusion_group){
        .domain = domain,
        .boundary = boundary,
        .op_count = builder->op_count,
        .ops = kiln_arena_calloc(builder->arena, builder->op_count, sizeof *group->ops),
        .live_registers = builder->live_registers,
        .cost = builder->cost,
    };
    if (group->ops == NULL)
        return false;
    memcpy(group->ops, builder->ops, builder->op_count * sizeof *group->ops);
    return build_accesses(builder, group, items, item_count);
}
