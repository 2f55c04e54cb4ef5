#include "compiler/ir/score_maximum.h"

/* What is known of a value. */
enum {
    FROM_MAXIMUM = 1,
    NAN_BY_SUM = 2, /* NaN in rows with a NaN, since the sum is */
};

static uint8_t kind_of(const struct kiln_ir *ir, const uint8_t *kinds, uint32_t max,
                       const struct kiln_op *op)
{
    if (op->opcode == KILN_OP_SCORE_SUM) {
        const struct kiln_op *exponential = &ir->ops[op->operands[0]];
        if (exponential->opcode == KILN_OP_SCORE_EXP && exponential->operands[1] == max)
            return NAN_BY_SUM;
    }
    uint8_t kind = 0;
    for (uint32_t i = 0; i < kiln_opcode_info(op->opcode)->arity; i++)
        kind |= kinds[op->operands[i]];
    /* Of a selection one operand is looked at, and what a comparison makes is no NaN. */
    enum kiln_op_rule rule = kiln_opcode_info(op->opcode)->rule;
    if (rule == KILN_OP_RULE_SELECT || rule == KILN_OP_RULE_COMPARE)
        kind &= FROM_MAXIMUM;
    return kind;
}

bool kiln_ir_shows_nan_of_maximum(const struct kiln_ir *ir, uint32_t max)
{
    uint8_t *kinds = kiln_arena_calloc(ir->arena, ir->op_count, sizeof *kinds);
    if (kinds == NULL)
        return true;
    kinds[max] = FROM_MAXIMUM;
    for (uint32_t i = max + 1; i < ir->op_count; i++) {
        kinds[i] = kind_of(ir, kinds, max, &ir->ops[i]);
        if (ir->ops[i].opcode == KILN_OP_STORE && kinds[i] == FROM_MAXIMUM)
            return true;
    }
    return false;
}
