#include "compiler/fuse/recompute.h"

#include "compiler/fuse/cluster.h"
#include "compiler/fuse/op_cost.h"

#include <string.h>

enum {
    /* A broadcast value is computed again unless its expression costs more than this many simple
     * operations and is repeated that often over a domain that large: below, a kernel launch costs
     * more. */
    RECOMPUTE_MAX_COST = 64,
    RECOMPUTE_MIN_REPEATS = 8,
    RECOMPUTE_MIN_ELEMENTS = 65536,
};

/* Where a walk towards the loads ends: memory, and reductions, which are never done again. */
static bool is_leaf(const struct kiln_group_builder *builder, uint32_t value)
{
    const struct kiln_op *op = &builder->ir->ops[value];
    return kiln_op_is_source(op) || kiln_op_is_reduction(op) || builder->cut[value] ||
           builder->reads_memory[value];
}

/* What happens at a value that a walk visits; false ends the walk. */
typedef bool visit(struct kiln_group_builder *builder, uint32_t value, uint32_t *state);

static void walk(struct kiln_group_builder *builder, uint32_t value, visit *visit_value,
                 uint32_t *state)
{
    uint32_t depth = 0;
    uint32_t mark = ++builder->stamp_now;
    builder->stack[depth++] = value;
    builder->stamp[value] = mark;
    while (depth > 0) {
        uint32_t current = builder->stack[--depth];
        const struct kiln_op *op = &builder->ir->ops[current];
        if (!visit_value(builder, current, state))
            return;
        if (is_leaf(builder, current))
            continue;
        for (uint32_t i = 0; i < kiln_opcode_info(op->opcode)->arity; i++) {
            uint32_t operand = op->operands[i];
            if (builder->stamp[operand] != mark) {
                builder->stamp[operand] = mark;
                builder->stack[depth++] = operand;
            }
        }
    }
}

static bool add_cost(struct kiln_group_builder *builder, uint32_t value, uint32_t *cost)
{
    if (!is_leaf(builder, value))
        *cost += kiln_op_cost(&builder->ir->ops[value]);
    return *cost <= RECOMPUTE_MAX_COST;
}

bool kiln_broadcast_reads_memory(struct kiln_group_builder *builder, uint32_t index)
{
    const struct kiln_ir *ir = builder->ir;
    const struct kiln_op *op = &ir->ops[index];
    if (op->opcode != KILN_OP_BROADCAST || builder->options->no_fusion)
        return false;
    const struct kiln_op *operand = &ir->ops[op->operands[0]];
    if (!kiln_op_is_result(operand) || builder->cluster[op->operands[0]] != KILN_NONE)
        return false;
    int64_t elements = kiln_domain_elements(&ir->domains[op->domain]);
    int64_t repeats = elements / kiln_domain_elements(&ir->domains[operand->domain]);
    if (elements < RECOMPUTE_MIN_ELEMENTS || repeats < RECOMPUTE_MIN_REPEATS)
        return false;
    uint32_t cost = 0;
    walk(builder, op->operands[0], add_cost, &cost);
    return cost > RECOMPUTE_MAX_COST;
}

/* Whether the value is loaded, and has as many elements as the domain. */
static bool is_full_load(const struct kiln_group_builder *builder, uint32_t value, uint32_t domain)
{
    const struct kiln_ir *ir = builder->ir;
    const struct kiln_op *op = &ir->ops[value];
    return (op->opcode == KILN_OP_LOAD || builder->cut[value]) &&
           kiln_domain_elements(&ir->domains[op->domain]) ==
               kiln_domain_elements(&ir->domains[domain]);
}

/* `state`: the value that the walk began at, and how many loads it found. */
static bool count_load(struct kiln_group_builder *builder, uint32_t value, uint32_t *state)
{
    if (value != state[0])
        state[1] += is_full_load(builder, value, builder->ir->ops[state[0]].domain);
    return true;
}

uint32_t kiln_full_load_count(struct kiln_group_builder *builder, uint32_t value)
{
    uint32_t state[2] = {value, 0};
    walk(builder, value, count_load, state);
    return state[1];
}

/* `state`: the value that the walk began at. */
static bool mark_load(struct kiln_group_builder *builder, uint32_t value, uint32_t *state)
{
    builder->shares_load[value] = is_full_load(builder, value, builder->ir->ops[*state].domain);
    return true;
}

/* From the loads that are marked in shares_load to all values that are computed from them. */
static void find_sharers(struct kiln_group_builder *builder)
{
    const struct kiln_ir *ir = builder->ir;
    for (uint32_t value = 0; value < ir->op_count; value++) {
        const struct kiln_op *op = &ir->ops[value];
        bool found = builder->shares_load[value];
        for (uint32_t k = 0; !found && k < kiln_opcode_info(op->opcode)->arity; k++)
            found = builder->shares_load[op->operands[k]] && !is_leaf(builder, value);
        builder->shares_load[value] = found;
    }
}

void kiln_find_sharers_of_loads(struct kiln_group_builder *builder, uint32_t value)
{
    memset(builder->shares_load, 0, builder->ir->op_count * sizeof *builder->shares_load);
    walk(builder, value, mark_load, &value);
    find_sharers(builder);
}

void kiln_find_sharers_with_closure(struct kiln_group_builder *builder, uint32_t domain)
{
    memset(builder->shares_load, 0, builder->ir->op_count * sizeof *builder->shares_load);
    for (uint32_t i = 0; i < builder->op_count; i++) {
        uint32_t value = builder->ops[i];
        builder->shares_load[value] =
            builder->is_load[value] && is_full_load(builder, value, domain);
    }
    find_sharers(builder);
}
