/*
 * The weights of attention that is written out are of the type of the scores, float as a rule.
 * Where the values have 16 bits and the result is rounded to 16 bits before anything but
 * elementwise operations sees it, the weights are rounded to the values' type, as those of an
 * attention node are (docs/decisions/0030): matrix instructions take both then.
 */
#include "compiler/ir/exact_dtypes.h"
#include "compiler/ir/passes.h"
#include "compiler/ir/rewrite.h"

static const uint32_t narrow_dtypes =
    KILN_DTYPE_BIT(KILN_DTYPE_F16) | KILN_DTYPE_BIT(KILN_DTYPE_BF16);

static bool is_narrow_round(const struct kiln_op *op)
{
    return op->opcode == KILN_OP_ROUND && (KILN_DTYPE_BIT(op->dtype) & narrow_dtypes) != 0;
}

/* Facts about each operation. */
struct knowledge {
    uint32_t *sets;        /* exact storage types */
    uint32_t *last_reader; /* 0: none */
    bool *reached;         /* of ends_narrow: false between its uses */
};

/* True if all that is computed of a value is rounded to 16 bits before it is stored, summed up or
 * multiplied. */
static bool ends_narrow(const struct kiln_ir *ir, uint32_t value, const struct knowledge *knowledge)
{
    bool *reached = knowledge->reached;
    uint32_t last = knowledge->last_reader[value];
    uint32_t i = value + 1;
    bool is_narrow = true;
    reached[value] = true;
    for (; i <= last && is_narrow; i++) {
        const struct kiln_op *op = &ir->ops[i];
        bool reads = false;
        for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++)
            reads = reads || reached[op->operands[k]];
        reached[i] = reads && !is_narrow_round(op);
        if (reached[i] && knowledge->last_reader[i] > last)
            last = knowledge->last_reader[i];
        is_narrow = !reached[i] || kiln_opcode_is_elementwise(op->opcode);
    }
    while (i-- > value)
        reached[i] = false;
    return is_narrow;
}

/* True if weights are exponentials of a softmax, perhaps with zeros among them. Half holds these:
 * none is above its range, and in each row one is near 1, beside which those below its range do not
 * count. Of sigmoids all may be below it. */
static bool are_exponentials(const struct kiln_ir *ir, uint32_t weights)
{
    const struct kiln_op *op = &ir->ops[weights];
    while (op->opcode == KILN_OP_SELECT) {
        const struct kiln_op *other = &ir->ops[op->operands[2]];
        bool is_last_zero = other->opcode == KILN_OP_CONSTANT && other->constant.real == 0;
        const struct kiln_op *kept = &ir->ops[op->operands[is_last_zero ? 1 : 2]];
        const struct kiln_op *dropped = &ir->ops[op->operands[is_last_zero ? 2 : 1]];
        if (dropped->opcode != KILN_OP_CONSTANT || dropped->constant.real != 0)
            return false;
        op = kept;
    }
    return op->opcode == KILN_OP_SCORE_EXP;
}

/* The type that the weights of an ATTEND are to be rounded to; false where they stay as they are,
 * as those that the graph rounds to the other type of 16 bits. */
static bool choose_dtype(const struct kiln_ir *ir, const struct knowledge *knowledge,
                         uint32_t attend, enum kiln_dtype *ret_dtype)
{
    const uint32_t *sets = knowledge->sets;
    uint32_t weights = ir->ops[attend].operands[0];
    uint32_t values = sets[ir->ops[attend].operands[1]] & narrow_dtypes;
    if (values == 0 || (sets[weights] & narrow_dtypes) != 0 || !ends_narrow(ir, attend, knowledge))
        return false;
    bool is_half = (values & KILN_DTYPE_BIT(KILN_DTYPE_F16)) != 0;
    *ret_dtype = is_half ? KILN_DTYPE_F16 : KILN_DTYPE_BF16;
    return !is_half || are_exponentials(ir, weights);
}

enum kiln_status kiln_ir_round_weights(struct kiln_ir *ir, struct kiln_pass_context *context,
                                       struct kiln_error *error)
{
    struct kiln_rewrite rewrite;
    enum kiln_status status = kiln_rewrite_begin(&rewrite, ir, error);
    if (status != KILN_OK)
        return status;
    struct kiln_arena *arena = ir->arena;
    const struct knowledge knowledge = {
        .sets = kiln_arena_calloc(arena, ir->op_count, sizeof *knowledge.sets),
        .last_reader = kiln_arena_calloc(arena, ir->op_count, sizeof *knowledge.last_reader),
        .reached = kiln_arena_calloc(arena, ir->op_count, sizeof *knowledge.reached),
    };
    if (knowledge.sets == NULL || knowledge.last_reader == NULL || knowledge.reached == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory to round the weights of attention");
    for (uint32_t i = 0; i < ir->op_count; i++) {
        for (uint32_t k = 0; k < kiln_opcode_info(ir->ops[i].opcode)->arity; k++)
            knowledge.last_reader[ir->ops[i].operands[k]] = i;
    }
    for (uint32_t i = 0; i < ir->op_count; i++) {
        struct kiln_op op = kiln_rewrite_operands(&rewrite, i);
        enum kiln_dtype dtype;
        knowledge.sets[i] = kiln_op_exact_dtypes(&ir->ops[i], context->graph, knowledge.sets);
        rewrite.out.node = op.node;
        if (op.opcode == KILN_OP_ATTEND && choose_dtype(ir, &knowledge, i, &dtype))
            op.operands[0] = kiln_ir_round(&rewrite.out, op.operands[0], dtype);
        kiln_rewrite_set(&rewrite, i, kiln_ir_append(&rewrite.out, &op));
    }
    return kiln_rewrite_finish(&rewrite, error);
}
