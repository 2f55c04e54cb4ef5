#include "compiler/fuse/recompute.h"

#include "compiler/fuse/cluster.h"
#include "compiler/fuse/op_cost.h"

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

static bool is_full_load(const struct kiln_group_builder *builder, uint32_t value,
                         uint32_t elements_of)
{
    const struct kiln_ir *ir = builder->ir;
    const struct kiln_op *op = &ir->ops[value];
    return (op->opcode == KILN_OP_LOAD || builder->cut[value]) &&
           kiln_domain_elements(&ir->domains[op->domain]) ==
               kiln_domain_elements(&ir->domains[ir->ops[elements_of].domain]);
}

/* `state` of the walks over loads: where it began, then what it found or marks with. */
static bool count_load(struct kiln_group_builder *builder, uint32_t value, uint32_t *state)
{
    if (value == state[0])
        return true;
    state[1] += is_full_load(builder, value, state[0]);
    return true;
}

uint32_t kiln_full_load_count(struct kiln_group_builder *builder, uint32_t value)
{
    uint32_t state[2] = {value, 0};
    walk(builder, value, count_load, state);
    return state[1];
}

static bool mark_load(struct kiln_group_builder *builder, uint32_t value, uint32_t *state)
{
    if (is_full_load(builder, value, state[0]))
        builder->leaf[value] = state[1];
    return true;
}

void kiln_mark_full_loads(struct kiln_group_builder *builder, uint32_t value)
{
    uint32_t state[2] = {value, ++builder->leaf_now};
    walk(builder, value, mark_load, state);
}

static bool find_marked(struct kiln_group_builder *builder, uint32_t value, uint32_t *state)
{
    state[0] = state[0] || builder->leaf[value] == builder->leaf_now;
    return state[0] == 0;
}

bool kiln_reaches_marked_load(struct kiln_group_builder *builder, uint32_t value)
{
    uint32_t found = 0;
    walk(builder, value, find_marked, &found);
    return found != 0;
}
