/*
 * A constant factor of a product's operand goes behind the product, where the operand has at most
 * 16 bits without it and more with it: q * scale in float, times k in half, is what matrix
 * instructions of half can do then. Results change by roundings only, but for sums beyond the
 * largest float.
 */
#include "compiler/ir/exact_dtypes.h"
#include "compiler/ir/passes.h"
#include "compiler/ir/rewrite.h"

#include <math.h>

static const uint32_t narrow_dtypes =
    KILN_DTYPE_BIT(KILN_DTYPE_F16) | KILN_DTYPE_BIT(KILN_DTYPE_BF16);

/* Which operand of a MUL, or of a DIV, is a factor that is moved; KILN_NONE: none is. Factors far
 * from 1 stay: what they keep in range would leave it. */
static uint32_t factor_operand(const struct kiln_ir *ir, const struct kiln_op *op)
{
    static const double most = 0x1p16;
    if (op->scalar != KILN_SCALAR_F32 || (op->opcode != KILN_OP_MUL && op->opcode != KILN_OP_DIV))
        return KILN_NONE;
    for (uint32_t k = op->opcode == KILN_OP_MUL ? 0 : 1; k < 2; k++) {
        const struct kiln_op *factor = &ir->ops[op->operands[k]];
        double magnitude = fabs(factor->constant.real);
        if (factor->opcode == KILN_OP_CONSTANT && magnitude <= most && magnitude >= 1 / most)
            return k;
    }
    return KILN_NONE;
}

/* The MUL or DIV that makes an operand of a product, if its factor is to be moved; else KILN_NONE.
 */
static uint32_t scale_of(const struct kiln_ir *ir, const uint32_t *sets, uint32_t operand)
{
    const struct kiln_op *op = &ir->ops[operand];
    uint32_t factor = factor_operand(ir, op);
    bool is_moved = factor != KILN_NONE && (sets[operand] & narrow_dtypes) == 0 &&
                    (sets[op->operands[1 - factor]] & narrow_dtypes) != 0;
    return is_moved ? operand : KILN_NONE;
}

static uint32_t factor_value(const struct kiln_rewrite *rewrite, uint32_t scale)
{
    const struct kiln_op *op = &rewrite->ir->ops[scale];
    return rewrite->map[op->operands[factor_operand(rewrite->ir, op)]];
}

/* Both factors as one: 2^16 and 2^-16, one after the other, could leave the range of float where
 * the scaled product does not. */
static uint32_t append_both_scales(struct kiln_rewrite *rewrite, uint32_t value,
                                   const uint32_t *scales)
{
    double both = 1;
    for (uint32_t k = 0; k < 2; k++) {
        const struct kiln_op *scale = &rewrite->ir->ops[scales[k]];
        uint32_t factor = scale->operands[factor_operand(rewrite->ir, scale)];
        double real = rewrite->ir->ops[factor].constant.real;
        both *= scale->opcode == KILN_OP_DIV ? 1 / real : real;
    }
    return kiln_ir_binary(&rewrite->out, KILN_OP_MUL, value,
                          kiln_ir_real(&rewrite->out, KILN_SCALAR_F32, both));
}

/* A product of what has not been scaled yet, and then scaled. */
static uint32_t rewrite_product(struct kiln_rewrite *rewrite, const uint32_t *sets, uint32_t index)
{
    const struct kiln_ir *ir = rewrite->ir;
    struct kiln_op op = kiln_rewrite_operands(rewrite, index);
    uint32_t scales[2];
    for (uint32_t k = 0; k < 2; k++) {
        scales[k] = scale_of(ir, sets, ir->ops[index].operands[k]);
        if (scales[k] == KILN_NONE)
            continue;
        const struct kiln_op *scale = &ir->ops[scales[k]];
        op.operands[k] = rewrite->map[scale->operands[1 - factor_operand(ir, scale)]];
        op.tensor = KILN_NONE;
    }
    uint32_t value = kiln_ir_append(&rewrite->out, &op);
    if (scales[0] != KILN_NONE && scales[1] != KILN_NONE)
        return append_both_scales(rewrite, value, scales);
    uint32_t moved = scales[0] != KILN_NONE ? scales[0] : scales[1];
    return moved == KILN_NONE ? value
                              : kiln_ir_binary(&rewrite->out, ir->ops[moved].opcode, value,
                                               factor_value(rewrite, moved));
}

enum kiln_status kiln_ir_hoist_scales(struct kiln_ir *ir, struct kiln_pass_context *context,
                                      struct kiln_error *error)
{
    struct kiln_rewrite rewrite;
    enum kiln_status status = kiln_rewrite_begin(&rewrite, ir, error);
    if (status != KILN_OK)
        return status;
    uint32_t *sets = kiln_arena_calloc(ir->arena, ir->op_count, sizeof *sets);
    if (sets == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory to move factors behind products");
    for (uint32_t i = 0; i < ir->op_count && !rewrite.out.failed; i++) {
        struct kiln_op op = kiln_rewrite_operands(&rewrite, i);
        bool is_product = op.opcode == KILN_OP_CONTRACT && op.scalar == KILN_SCALAR_F32;
        sets[i] = kiln_op_exact_dtypes(&ir->ops[i], context->graph, sets);
        rewrite.out.node = op.node;
        kiln_rewrite_set(&rewrite, i,
                         is_product ? rewrite_product(&rewrite, sets, i)
                                    : kiln_ir_append(&rewrite.out, &op));
    }
    return kiln_rewrite_finish(&rewrite, error);
}
