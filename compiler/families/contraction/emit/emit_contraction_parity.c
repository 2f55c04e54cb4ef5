/* Operands that are odd functions of the elements of an access: tables have magnitudes alone. */
#include "compiler/families/contraction/emit/emit_contraction_parts.h"
#include "compiler/families/contraction/fuse/contraction_group.h"

enum parity { PARITY_NONE, PARITY_CONSTANT, PARITY_ODD };

/* How a value depends on the elements of one access: not at all, as an odd function, or otherwise.
 */
static enum parity parity_of(const struct kiln_op *op, const enum parity *parities)
{
    uint32_t arity = kiln_opcode_info(op->opcode)->arity;
    bool is_constant = true;
    for (uint32_t k = 0; k < arity; k++)
        is_constant &= parities[op->operands[k]] == PARITY_CONSTANT;
    if (is_constant)
        return PARITY_CONSTANT;
    enum parity first = parities[op->operands[0]];
    switch (op->opcode) {
    case KILN_OP_COPY:
    case KILN_OP_NEG:
    case KILN_OP_BROADCAST:
        return first;
    case KILN_OP_ROUND: /* to nearest even */
        return op->dtype == KILN_DTYPE_F16 || op->dtype == KILN_DTYPE_BF16 ? first : PARITY_NONE;
    case KILN_OP_MUL: {
        enum parity second = parities[op->operands[1]];
        return (first == PARITY_ODD && second == PARITY_CONSTANT) ||
                       (first == PARITY_CONSTANT && second == PARITY_ODD)
                   ? PARITY_ODD
                   : PARITY_NONE;
    }
    case KILN_OP_DIV:
        return first == PARITY_ODD && parities[op->operands[1]] == PARITY_CONSTANT ? PARITY_ODD
                                                                                   : PARITY_NONE;
    default:
        return PARITY_NONE;
    }
}

bool kiln_is_operand_odd(const struct kiln_emission *emission, enum kiln_place place,
                         uint32_t access)
{
    const struct kiln_fusion_group *group = emission->group;
    const struct kiln_ir *ir = emission->ir;
    enum parity *parities = kiln_arena_calloc(ir->arena, ir->op_count, sizeof *parities);
    if (parities == NULL)
        return false;
    bool *is_loaded = kiln_arena_calloc(ir->arena, ir->op_count, sizeof *is_loaded);
    if (is_loaded == NULL)
        return false;
    for (uint32_t i = 0; i < group->load_count; i++) {
        uint32_t value = group->accesses[i].value;
        if (!kiln_is_loaded_in(emission, i, place))
            continue;
        is_loaded[value] = true;
        parities[value] = i == access ? PARITY_ODD : PARITY_CONSTANT;
    }
    for (uint32_t i = 0; i < group->op_count; i++) {
        const struct kiln_op *op = &ir->ops[group->ops[i]];
        if ((group->places[i] >> place & 1) == 0 || is_loaded[group->ops[i]])
            continue;
        parities[group->ops[i]] = op->opcode == KILN_OP_CONSTANT           ? PARITY_CONSTANT
                                  : kiln_opcode_is_elementwise(op->opcode) ? parity_of(op, parities)
                                                                           : PARITY_NONE;
    }
    return parities[kiln_group_operand(group, place)] == PARITY_ODD;
}
