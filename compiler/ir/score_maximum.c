#include "compiler/ir/score_maximum.h"

/* What is known of a value. */
enum {
    FROM_MAXIMUM = 1,
    NAN_BY_SUM = 2, /* NaN in rows with a NaN, since the sum is */
    MIXES_ROWS = 4, /* made of maxima of several rows: no sum of its row tells of them all */
};

static bool is_segmented(const struct kiln_ir *ir, uint32_t max)
{
    const struct kiln_op *op = &ir->ops[max];
    return ir->domains[op->domain].rank > ir->domains[ir->ops[op->operands[0]].domain].rank;
}

/* True if rows of operand `i` meet in an element of the result. Segments of a row, which merges
 * reduce as the first axis, and the weights of an ATTEND are of one row. */
static bool mixes_rows(const struct kiln_ir *ir, uint32_t max, const struct kiln_op *op, uint32_t i)
{
    switch (kiln_opcode_info(op->opcode)->op_class) {
    case KILN_OP_CLASS_CONTRACT:
        return true;
    case KILN_OP_CLASS_REDUCE:
        return !is_segmented(ir, max) || op->map != KILN_NONE ||
               kiln_domain_reduced_axes(&ir->domains[ir->ops[op->operands[i]].domain],
                                        &ir->domains[op->domain]) != 1;
    case KILN_OP_CLASS_ATTENTION:
        return op->opcode != KILN_OP_SCORE_EXP && (op->opcode != KILN_OP_ATTEND || i != 0);
    default:
        return false;
    }
}

static bool is_float(enum kiln_scalar scalar)
{
    return scalar == KILN_SCALAR_F32 || scalar == KILN_SCALAR_F64;
}

static uint8_t kind_of(const struct kiln_ir *ir, const uint8_t *kinds, uint32_t max,
                       const struct kiln_op *op)
{
    if (op->opcode == KILN_OP_SCORE_SUM) {
        const struct kiln_op *exponential = &ir->ops[op->operands[0]];
        if (exponential->opcode == KILN_OP_SCORE_EXP && exponential->operands[1] == max)
            return NAN_BY_SUM;
    }
    uint8_t kind = 0;
    for (uint32_t i = 0; i < kiln_opcode_info(op->opcode)->arity; i++) {
        uint8_t operand = kinds[op->operands[i]];
        kind |= operand;
        if (operand == FROM_MAXIMUM && mixes_rows(ir, max, op, i))
            kind |= MIXES_ROWS;
    }
    /* Of a selection one operand is looked at, and only floats can be NaN. */
    if (op->opcode == KILN_OP_SELECT || (op->opcode != KILN_OP_STORE && !is_float(op->scalar)))
        kind &= (uint8_t)~NAN_BY_SUM;
    return kind;
}

/* True if an output of this kind may lack a NaN. */
static bool is_shown(uint8_t kind)
{
    return kind == FROM_MAXIMUM || (kind & MIXES_ROWS) != 0;
}

bool kiln_ir_shows_nan_of_maximum(const struct kiln_ir *ir, uint32_t max)
{
    uint8_t *kinds = kiln_arena_calloc(ir->arena, ir->op_count, sizeof *kinds);
    if (kinds == NULL)
        return true;
    kinds[max] = FROM_MAXIMUM;
    for (uint32_t i = max + 1; i < ir->op_count; i++) {
        kinds[i] = kind_of(ir, kinds, max, &ir->ops[i]);
        if (ir->ops[i].opcode == KILN_OP_STORE && is_shown(kinds[i]))
            return true;
    }
    return false;
}
