#include "compiler/fuse/split_group.h"

#include "compiler/fuse/register_pressure.h"

#include <string.h>

/* What one element may keep in registers: half of what the target has, for addresses and vectors need the rest. */
static uint32_t register_budget(const struct kiln_target *target)
{
    return target->vgprs / 2;
}

static bool exceeds_limits(const struct kiln_group_builder *builder, const uint32_t *ops, uint32_t count,
                           uint32_t item_count, uint32_t live, enum kiln_boundary *ret_boundary)
{
    uint32_t loads = 0;
    for (uint32_t i = 0; i < count; i++)
        loads += builder->is_load[ops[i]];
    *ret_boundary = KILN_BOUNDARY_SIZE;
    if (count > KILN_GROUP_MAX_OPS || loads + item_count > KILN_GROUP_MAX_ACCESSES)
        return true;
    *ret_boundary = KILN_BOUNDARY_REGISTERS;
    return live > register_budget(builder->target);
}

/*
 * Where to cut a list of operations that is too much for one kernel: among the positions in the second half of
 * the longest prefix that fits, the one that the fewest bytes cross; a crossing value that cannot be stored is
 * computed again behind the cut and weighs heavily. Marks the crossing values in builder->cut.
 */
static uint32_t choose_cut(struct kiln_group_builder *builder, const uint32_t *ops, uint32_t count)
{
    const struct kiln_ir *ir = builder->ir;
    uint32_t *last_use = builder->scratch;
    uint32_t *new_loads = builder->stack; /* loads that operation i is the first to use */
    for (uint32_t i = 0; i < count; i++) {
        last_use[ops[i]] = KILN_NONE;
        new_loads[i] = 0;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct kiln_op *op = &ir->ops[ops[i]];
        if (builder->is_load[ops[i]])
            continue;
        for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++) {
            new_loads[i] += builder->is_load[op->operands[k]] && last_use[op->operands[k]] == KILN_NONE;
            last_use[op->operands[k]] = i;
        }
    }
    uint32_t loads = 0;
    uint32_t longest = 0;
    while (longest < count && builder->live[longest] <= register_budget(builder->target) &&
           longest < KILN_GROUP_MAX_OPS && loads + new_loads[longest] < KILN_GROUP_MAX_ACCESSES / 2)
        loads += new_loads[longest++];
    if (longest >= count)
        longest = count - 1;
    /* The window starts behind half of what the prefix computes; loads at its start are no progress. */
    uint32_t computed = 0;
    for (uint32_t i = 0; i < longest; i++)
        computed += !builder->is_load[ops[i]];
    while (computed < 2 && longest < count - 1)
        computed += !builder->is_load[ops[longest++]];
    uint32_t start = 0;
    for (uint32_t seen = 0; start < longest - 1 && seen < (computed + 1) / 2; start++)
        seen += !builder->is_load[ops[start]];
    uint32_t best = longest - 1;
    uint64_t best_weight = UINT64_MAX;
    for (uint32_t position = start; position < longest; position++) {
        uint64_t weight = 0;
        for (uint32_t i = 0; i <= position; i++) {
            uint32_t value = ops[i];
            if (builder->is_load[value] || kiln_op_is_source(&ir->ops[value]) ||
                last_use[value] == KILN_NONE || last_use[value] <= position)
                continue;
            weight += kiln_value_can_be_cut(&ir->ops[value])
                          ? kiln_dtype_info(builder->graph->tensors[ir->ops[value].tensor].dtype)->bytes
                          : 1024;
        }
        if (weight <= best_weight) {
            best_weight = weight;
            best = position;
        }
    }
    for (uint32_t i = 0; i <= best; i++) {
        uint32_t value = ops[i];
        if (!builder->is_load[value] && kiln_value_can_be_cut(&ir->ops[value]) &&
            last_use[value] != KILN_NONE && last_use[value] > best)
            builder->cut[value] = true;
    }
    return best;
}

bool kiln_group_split_append(struct kiln_group_builder *builder, uint32_t domain,
                             enum kiln_boundary boundary, const uint32_t *first_items,
                             uint32_t first_item_count)
{
    const struct kiln_ir *ir = builder->ir;
    uint32_t *ops = kiln_arena_calloc(builder->arena, ir->op_count, sizeof *ops);
    uint32_t *items = kiln_arena_calloc(builder->arena, ir->op_count + 1, sizeof *items);
    uint32_t *front = kiln_arena_calloc(builder->arena, ir->op_count + 1, sizeof *front);
    bool *cut_before = kiln_arena_calloc(builder->arena, ir->op_count, sizeof *cut_before);
    if (ops == NULL || items == NULL || front == NULL || cut_before == NULL)
        return false;
    memcpy(cut_before, builder->cut, ir->op_count * sizeof *cut_before);
    memcpy(items, first_items, first_item_count * sizeof *items);
    uint32_t item_count = first_item_count;
    bool good = true;
    uint32_t previous_computed = UINT32_MAX; /* each round must leave less to compute */
    while (good) {
        uint32_t count = kiln_group_closure(builder, items, item_count, ops);
        uint32_t live = kiln_register_pressure(ir, ops, count, builder->is_load, builder->scratch,
                                               builder->live);
        uint32_t computed = 0;
        for (uint32_t i = 0; i < count; i++)
            computed += !builder->is_load[ops[i]];
        enum kiln_boundary reason;
        if (computed < 4 || computed >= previous_computed ||
            !exceeds_limits(builder, ops, count, item_count, live, &reason)) {
            good = kiln_group_append(builder, domain, boundary, items, item_count);
            break;
        }
        previous_computed = computed;
        uint32_t position = choose_cut(builder, ops, count);
        uint32_t front_count = 0;
        uint32_t rest_count = 0;
        for (uint32_t i = 0; i < item_count; i++) {
            if (builder->items[items[i]].value <= ops[position])
                front[front_count++] = items[i];
            else
                items[rest_count++] = items[i];
        }
        for (uint32_t i = 0; i <= position; i++) {
            bool known = !builder->cut[ops[i]] || builder->is_load[ops[i]];
            for (uint32_t k = 0; k < front_count && !known; k++)
                known = builder->items[front[k]].value == ops[i];
            if (known)
                continue;
            builder->items[builder->item_count] = (struct kiln_group_item){.value = ops[i]};
            front[front_count++] = builder->item_count++;
        }
        item_count = rest_count;
        good = kiln_group_append(builder, domain, boundary, front, front_count);
        boundary = reason;
        if (item_count == 0)
            break;
    }
    memcpy(builder->cut, cut_before, ir->op_count * sizeof *cut_before);
    return good;
}
