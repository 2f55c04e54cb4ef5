/*
 * A variance that is written out node by node: the mean of x over some axes, the mean subtracted
 * from x, the difference squared, the square summed over the same axes. The sum becomes
 * REDUCE_SQUARES of x and the mean REDUCE_MEAN, which share one walk over the elements, where the
 * text needs two.
 *
 * Nothing may be rounded to a narrower type between. The results differ by roundings of the sums
 * only: the deviations are taken from a mean of the same accuracy.
 */
#include "compiler/ir/passes.h"
#include "compiler/ir/rewrite.h"

/* A sum of squared deviations, taken apart. */
struct variance {
    uint32_t operand; /* whose elements deviate */
    uint32_t mean;    /* what they deviate from, before it is repeated */
};

static const struct kiln_op *op_at(const struct kiln_ir *ir, uint32_t value)
{
    return &ir->ops[value];
}

static bool is_constant(const struct kiln_ir *ir, uint32_t value, double real)
{
    const struct kiln_op *op = op_at(ir, value);
    double rounded = op->scalar == KILN_SCALAR_F32 ? (double)(float)real : real;
    return op->opcode == KILN_OP_CONSTANT && op->constant.real == rounded;
}

/* True if a value is the mean of the operand over the axes that `domain` lacks: sum / n, or
 * sum * (1/n). */
static bool is_mean_of(const struct kiln_ir *ir, uint32_t value, uint32_t operand, uint32_t domain)
{
    const struct kiln_op *op = op_at(ir, value);
    if (op->opcode == KILN_OP_REDUCE_MEAN)
        return op->operands[0] == operand && op->domain == domain;
    if (op->opcode != KILN_OP_DIV && op->opcode != KILN_OP_MUL)
        return false;
    bool is_swapped =
        op->opcode == KILN_OP_MUL && op_at(ir, op->operands[0])->opcode == KILN_OP_CONSTANT;
    const struct kiln_op *sum = op_at(ir, op->operands[is_swapped]);
    if (!kiln_op_reduces_all(sum, KILN_OP_REDUCE_SUM) || sum->operands[0] != operand ||
        sum->domain != domain)
        return false;
    double n = (double)(kiln_domain_elements(&ir->domains[op_at(ir, operand)->domain]) /
                        kiln_domain_elements(&ir->domains[domain]));
    return is_constant(ir, op->operands[!is_swapped], op->opcode == KILN_OP_DIV ? n : 1 / n);
}

/* True if `sum` adds up (x - mean)^2. */
static bool is_variance(const struct kiln_ir *ir, const struct kiln_op *sum,
                        struct variance *ret_variance)
{
    if (!kiln_op_reduces_all(sum, KILN_OP_REDUCE_SUM) ||
        (sum->scalar != KILN_SCALAR_F32 && sum->scalar != KILN_SCALAR_F64))
        return false;
    const struct kiln_op *square = op_at(ir, sum->operands[0]);
    if (square->opcode != KILN_OP_MUL || square->operands[0] != square->operands[1])
        return false;
    const struct kiln_op *deviation = op_at(ir, square->operands[0]);
    if (deviation->opcode != KILN_OP_SUB)
        return false;
    struct variance variance = {deviation->operands[0], deviation->operands[1]};
    if (op_at(ir, variance.mean)->opcode == KILN_OP_BROADCAST)
        variance.mean = op_at(ir, variance.mean)->operands[0];
    *ret_variance = variance;
    return is_mean_of(ir, variance.mean, variance.operand, sum->domain);
}

enum kiln_status kiln_ir_recognize_moments(struct kiln_ir *ir, struct kiln_pass_context *context,
                                           struct kiln_error *error)
{
    (void)context;
    struct kiln_rewrite rewrite;
    struct variance variance;
    enum kiln_status status = kiln_rewrite_begin(&rewrite, ir, error);
    /* Of the mean in a variance: what it is the mean of. */
    uint32_t *mean_of = kiln_arena_calloc(ir->arena, (size_t)ir->op_count + 1, sizeof *mean_of);
    if (status != KILN_OK)
        return status;
    if (mean_of == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory to recognize variances");
    for (uint32_t i = 0; i < ir->op_count; i++)
        mean_of[i] = KILN_NONE;
    for (uint32_t i = 0; i < ir->op_count; i++) {
        if (is_variance(ir, op_at(ir, i), &variance))
            mean_of[variance.mean] = variance.operand;
    }
    struct kiln_ir *out = &rewrite.out;
    for (uint32_t i = 0; i < ir->op_count && !out->failed; i++) {
        struct kiln_op op = kiln_rewrite_operands(&rewrite, i);
        out->node = op.node;
        uint32_t value;
        if (mean_of[i] != KILN_NONE && op.opcode != KILN_OP_REDUCE_MEAN) {
            value = kiln_ir_reduce(out, KILN_OP_REDUCE_MEAN, rewrite.map[mean_of[i]], op.domain);
        } else if (is_variance(out, &op, &variance)) {
            value = kiln_ir_reduce(out, KILN_OP_REDUCE_SQUARES, variance.operand, op.domain);
        } else {
            value = kiln_ir_append(out, &op);
        }
        kiln_rewrite_set(&rewrite, i, value);
    }
    return kiln_rewrite_finish(&rewrite, error);
}
