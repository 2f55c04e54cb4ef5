#include "compiler/fuse/layout_tensor.h"

/* Of values of so many elements without a load of as many behind them: the tensor that the first
 * user, or its first user and so on, is stored in. */
static void find_stores(struct kiln_group_builder *builder, int64_t elements)
{
    const struct kiln_ir *ir = builder->ir;
    uint32_t *stored = builder->scratch;
    for (uint32_t i = 0; i < ir->op_count; i++)
        stored[i] = KILN_NONE;
    for (uint32_t i = ir->op_count; i-- > 0;) {
        const struct kiln_op *op = &ir->ops[i];
        if (kiln_domain_elements(&ir->domains[op->domain]) != elements)
            continue;
        if (op->tensor != KILN_NONE)
            stored[i] = op->tensor;
        if (builder->layout[i] == KILN_NONE)
            builder->layout[i] = stored[i];
        for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++) {
            if (stored[i] != KILN_NONE)
                stored[op->operands[k]] = stored[i];
        }
    }
}

/* Finds the first load of that many elements behind every value, and keeps the answers for values
 * of as many elements: the next questions are about those. */
static void find_layouts(struct kiln_group_builder *builder, int64_t elements)
{
    const struct kiln_ir *ir = builder->ir;
    uint32_t *first_load = builder->scratch;
    builder->steps += 2 * ir->op_count;
    for (uint32_t i = 0; i < ir->op_count; i++) {
        const struct kiln_op *op = &ir->ops[i];
        bool is_as_large = kiln_domain_elements(&ir->domains[op->domain]) == elements;
        first_load[i] = op->opcode == KILN_OP_LOAD && is_as_large ? i : KILN_NONE;
        for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++) {
            uint32_t behind = first_load[op->operands[k]];
            first_load[i] = behind < first_load[i] ? behind : first_load[i];
        }
        if (!is_as_large)
            continue;
        builder->knows_layout[i] = true;
        builder->layout[i] = first_load[i] == KILN_NONE ? KILN_NONE : ir->ops[first_load[i]].tensor;
    }
    find_stores(builder, elements);
}

uint32_t kiln_layout_tensor(struct kiln_group_builder *builder, uint32_t value)
{
    const struct kiln_ir *ir = builder->ir;
    if (ir->ops[value].tensor != KILN_NONE)
        return ir->ops[value].tensor;
    if (!builder->knows_layout[value])
        find_layouts(builder, kiln_domain_elements(&ir->domains[ir->ops[value].domain]));
    return builder->layout[value];
}
