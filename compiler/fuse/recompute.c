#include "compiler/fuse/recompute.h"

#include "compiler/fuse/op_cost.h"

enum {
    /* A broadcast value is computed again unless its expression costs more than this many simple
     * operations and is repeated that often over a domain that large: below, a kernel launch costs
     * more. */
    RECOMPUTE_MAX_COST = 64,
    RECOMPUTE_MIN_REPEATS = 8,
    RECOMPUTE_MIN_ELEMENTS = 65536,
};

/* Where a walk towards the loads ends: memory, and core operations, which are never done again. */
static bool is_leaf(const struct kiln_group_builder *builder, uint32_t value)
{
    const struct kiln_op *op = &builder->ir->ops[value];
    return kiln_op_is_source(op) || kiln_op_is_core(op) || builder->cut[value] ||
           builder->reads_memory[value];
}

/* True if computing a value again, from its loads on, takes more than RECOMPUTE_MAX_COST. */
static bool is_costly(struct kiln_group_builder *builder, uint32_t value)
{
    uint32_t cost = 0;
    uint32_t depth = 0;
    uint32_t mark = ++builder->stamp_now;
    builder->stack[depth++] = value;
    builder->stamp[value] = mark;
    while (depth > 0 && cost <= RECOMPUTE_MAX_COST) {
        uint32_t current = builder->stack[--depth];
        const struct kiln_op *op = &builder->ir->ops[current];
        builder->steps++;
        if (is_leaf(builder, current))
            continue;
        cost += kiln_op_cost(op);
        for (uint32_t i = 0; i < kiln_opcode_info(op->opcode)->arity; i++) {
            uint32_t operand = op->operands[i];
            if (builder->stamp[operand] != mark) {
                builder->stamp[operand] = mark;
                builder->stack[depth++] = operand;
            }
        }
    }
    return cost > RECOMPUTE_MAX_COST;
}

bool kiln_broadcast_reads_memory(struct kiln_group_builder *builder, uint32_t index)
{
    const struct kiln_ir *ir = builder->ir;
    const struct kiln_op *op = &ir->ops[index];
    if (op->opcode == KILN_OP_VIEW || op->opcode == KILN_OP_REPEAT)
        return true;
    if (op->opcode != KILN_OP_BROADCAST || builder->options->no_fusion || ir->is_general)
        return false;
    const struct kiln_op *operand = &ir->ops[op->operands[0]];
    if (!kiln_op_is_result(operand) || builder->cluster[op->operands[0]] != KILN_NONE)
        return false;
    int64_t elements = kiln_domain_elements(&ir->domains[op->domain]);
    int64_t repeats = elements / kiln_domain_elements(&ir->domains[operand->domain]);
    if (elements < RECOMPUTE_MIN_ELEMENTS || repeats < RECOMPUTE_MIN_REPEATS)
        return false;
    return is_costly(builder, op->operands[0]);
}
