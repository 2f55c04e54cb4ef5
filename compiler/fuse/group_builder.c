#include "compiler/fuse/group_builder.h"

static void find_viewed(struct kiln_group_builder *builder)
{
    for (uint32_t i = 0; i < builder->ir->op_count; i++) {
        const struct kiln_op *op = &builder->ir->ops[i];
        if (op->opcode == KILN_OP_VIEW)
            builder->is_viewed[op->operands[0]] =
                builder->ir->ops[op->operands[0]].tensor == KILN_NONE;
    }
}

static void find_load_kinds(struct kiln_group_builder *builder)
{
    for (uint32_t i = 0; i < builder->ir->op_count; i++) {
        const struct kiln_op *op = &builder->ir->ops[i];
        bool is_packed = op->opcode == KILN_OP_LOAD &&
                         kiln_dtype_is_packed(builder->graph->tensors[op->tensor].dtype);
        uint32_t kinds = is_packed                      ? KILN_LOAD_PACKED
                         : op->opcode == KILN_OP_REPEAT ? KILN_LOAD_REPEATED
                                                        : 0;
        bool is_load = op->opcode == KILN_OP_VIEW ||
                       (op->opcode == KILN_OP_REPEAT &&
                        builder->ir->ops[op->operands[0]].opcode != KILN_OP_LOAD);
        uint32_t arity = kiln_op_is_core(op) || is_load ? 0 : kiln_opcode_info(op->opcode)->arity;
        for (uint32_t k = 0; k < arity; k++)
            kinds |= builder->load_kinds[op->operands[k]];
        builder->load_kinds[i] = (uint8_t)kinds;
    }
}

bool kiln_group_builder_init(struct kiln_group_builder *builder)
{
    uint32_t count = builder->ir->op_count;
    struct kiln_arena *arena = builder->arena;
    bool **const flags[] = {&builder->reads_memory, &builder->cut,          &builder->always_cut,
                            &builder->needed,       &builder->bare,         &builder->is_load,
                            &builder->is_required,  &builder->wanted.is_in, &builder->knows_layout,
                            &builder->is_deferred,  &builder->is_viewed};
    uint32_t **const numbers[] = {
        &builder->why_cut,      &builder->why_bare,   &builder->level,
        &builder->first_reader, &builder->cluster,    &builder->accumulated_in,
        &builder->store_op,     &builder->next_store, &builder->stamp,
        &builder->own,          &builder->ops,        &builder->live,
        &builder->stack,        &builder->scratch,    &builder->wanted.heap,
        &builder->layout,       &builder->next_core,  &builder->enclosed_in,
        &builder->packed_store};
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
    uint32_t core_count = 0;
    for (uint32_t i = 0; i < count; i++)
        core_count += kiln_op_is_core(&builder->ir->ops[i]);
    /* A PARTIAL and a COMBINE cluster for each. */
    builder->clusters =
        kiln_arena_calloc(arena, 2 * (size_t)core_count + 1, sizeof *builder->clusters);
    /* An item per STORE and per value in the workspace, and while a group is split another one per
     * value. */
    builder->items = kiln_arena_calloc(arena, 2 * (size_t)count + 1, sizeof *builder->items);
    builder->load_sets = (struct kiln_load_sets){.ir = builder->ir,
                                                 .arena = arena,
                                                 .cut = builder->cut,
                                                 .reads_memory = builder->reads_memory,
                                                 .steps = &builder->steps};
    if (builder->clusters == NULL || builder->items == NULL ||
        !kiln_load_sets_init(&builder->load_sets))
        return false;
    for (uint32_t i = 0; i < count; i++)
        builder->store_op[i] = builder->packed_store[i] = builder->enclosed_in[i] = KILN_NONE;
    for (uint32_t i = count; i-- > 0;) {
        const struct kiln_op *op = &builder->ir->ops[i];
        if (op->opcode != KILN_OP_STORE)
            continue;
        uint32_t *first = kiln_dtype_is_packed(builder->graph->tensors[op->tensor].dtype)
                              ? &builder->packed_store[op->operands[0]]
                              : &builder->store_op[op->operands[0]];
        builder->next_store[i] = *first;
        *first = i;
    }
    builder->load_kinds = kiln_arena_calloc(arena, count, sizeof *builder->load_kinds);
    if (builder->load_kinds == NULL)
        return false;
    find_load_kinds(builder);
    find_viewed(builder);
    return true;
}

enum kiln_dtype kiln_value_dtype(const struct kiln_group_builder *builder, uint32_t value)
{
    const struct kiln_op *op = &builder->ir->ops[value];
    return kiln_op_is_result(op) ? kiln_dtype_unpacked(builder->graph->tensors[op->tensor].dtype)
                                 : kiln_scalar_dtype(op->scalar);
}

uint32_t kiln_value_in_memory(const struct kiln_group_builder *builder, uint32_t value)
{
    while (builder->reads_memory[value])
        value = builder->ir->ops[value].operands[0];
    return value;
}

bool kiln_item_is_home(const struct kiln_group_builder *builder, const struct kiln_group_item *item)
{
    return item->store == builder->store_op[item->value];
}

bool kiln_item_is_packed(const struct kiln_group_builder *builder,
                         const struct kiln_group_item *item)
{
    return item->store != KILN_NONE &&
           kiln_dtype_is_packed(
               builder->graph->tensors[builder->ir->ops[item->store].tensor].dtype);
}

uint32_t kiln_register_budget(const struct kiln_target *target)
{
    return target->vgprs / 2;
}

bool kiln_may_go_on(const struct kiln_group_builder *builder)
{
    return !builder->failed && builder->steps <= builder->max_steps;
}
