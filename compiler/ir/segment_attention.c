/*
 * Attention in segments of its columns, each a work-group's: what the kernel has of a segment, its
 * results o_s, maximum m_s and sum l_s, are merged as
 *
 *   M = max m_s    w_s = exp(m_s - M)    l = sum w_s l_s    o = sum w_s o_s
 *
 * (FlashDecoding: Dao, Haziza, Massa, Sizov 2023). A segment without columns, or none of which is
 * seen, has m_s = -infinity and the rest 0. The merge is ordinary reductions along the segments,
 * the leading axis, so whatever followed the attention goes on in their kernel. What is the same in
 * all of a row is computed for each of its elements there: another kernel would cost more.
 */
#include "compiler/ir/passes.h"
#include "compiler/ir/rewrite.h"

#include <math.h>

struct segmentation {
    struct kiln_rewrite rewrite;
    uint32_t attend;             /* in values of the old program, as: */
    uint32_t exponential, max;   /* KILN_NONE: no softmax */
    uint32_t row_domain, domain; /* of the maximum, of the result */
    uint32_t segments;
    bool *is_sum;     /* of the exponential */
    bool *is_derived; /* computed of maximum or sums: waits for the merge */
    uint32_t *wide;   /* what the value is with the result's domain, new; KILN_NONE */
    uint32_t row_maxima, maxima, row_shares, shares; /* new: m_s and w_s, of rows and elements */
};

static const struct kiln_op *old_op(const struct segmentation *segmentation, uint32_t value)
{
    return &segmentation->rewrite.ir->ops[value];
}

/* The domain with segments in front, those of rows and results at the same place. */
static uint32_t cut_domain(struct segmentation *segmentation, uint32_t domain)
{
    struct kiln_ir *out = &segmentation->rewrite.out;
    uint32_t rank = out->domains[segmentation->domain].rank;
    const struct kiln_domain of = out->domains[domain];
    int64_t dims[KILN_MAX_RANK];
    dims[0] = segmentation->segments;
    for (uint32_t i = 0; i < rank; i++)
        dims[1 + i] = i < rank - of.rank ? 1 : of.dims[i - (rank - of.rank)];
    return kiln_ir_domain(out, dims, rank + 1);
}

/* ---- finding ---- */

/* The exponential that the weights are multiples of; KILN_NONE where they are of none. */
static void find_exponential(struct segmentation *segmentation, bool *is_between)
{
    const struct kiln_ir *ir = segmentation->rewrite.ir;
    segmentation->exponential = segmentation->max = KILN_NONE;
    is_between[ir->ops[segmentation->attend].operands[0]] = true;
    for (uint32_t i = segmentation->attend; i-- > 0;) {
        const struct kiln_op *op = &ir->ops[i];
        const struct kiln_opcode_info *info = kiln_opcode_info(op->opcode);
        if (is_between[i] && op->opcode == KILN_OP_SCORE_EXP) {
            segmentation->exponential = i;
            segmentation->max = op->operands[1];
            segmentation->row_domain = ir->ops[op->operands[1]].domain;
            return;
        }
        for (uint32_t k = 0; info->op_class == KILN_OP_CLASS_ELEMENTWISE && k < info->arity; k++)
            is_between[op->operands[k]] |= is_between[i];
    }
}

static void find_derived(struct segmentation *segmentation)
{
    const struct kiln_ir *ir = segmentation->rewrite.ir;
    for (uint32_t i = 0; i < ir->op_count && segmentation->exponential != KILN_NONE; i++) {
        const struct kiln_op *op = &ir->ops[i];
        segmentation->is_sum[i] =
            op->opcode == KILN_OP_SCORE_SUM && op->operands[0] == segmentation->exponential;
        for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++) {
            uint32_t operand = op->operands[k];
            bool is_merged = operand == segmentation->max || segmentation->is_sum[operand] ||
                             segmentation->is_derived[operand];
            segmentation->is_derived[i] |= is_merged && i != segmentation->exponential;
        }
    }
}

/* ---- rewriting ---- */

/* w_s of what m_s has: of rows or of elements. */
static uint32_t append_shares(struct segmentation *segmentation, uint32_t maxima, uint32_t domain,
                              uint32_t *ret_max)
{
    struct kiln_ir *out = &segmentation->rewrite.out;
    uint32_t max = kiln_ir_reduce(out, KILN_OP_REDUCE_MAX, maxima, domain);
    if (out->failed)
        return KILN_NONE;
    enum kiln_scalar scalar = out->ops[max].scalar;
    uint32_t is_empty =
        kiln_ir_binary(out, KILN_OP_CMP_EQ, max, kiln_ir_real(out, scalar, -INFINITY));
    uint32_t base = kiln_ir_select(out, is_empty, kiln_ir_real(out, scalar, 0), max);
    if (out->failed)
        return KILN_NONE;
    uint32_t difference = kiln_ir_binary(out, KILN_OP_SUB, maxima,
                                         kiln_ir_broadcast(out, base, out->ops[maxima].domain));
    *ret_max = max;
    return kiln_ir_unary(out, KILN_OP_EXP, difference);
}

static uint32_t append_merged(struct kiln_ir *out, uint32_t values, uint32_t shares,
                              uint32_t domain)
{
    return kiln_ir_reduce(out, KILN_OP_REDUCE_SUM, kiln_ir_binary(out, KILN_OP_MUL, values, shares),
                          domain);
}

/* What the attention's kernel itself computes: as it was, of segments. */
static uint32_t append_cut(struct segmentation *segmentation, uint32_t index)
{
    struct kiln_op op = kiln_rewrite_operands(&segmentation->rewrite, index);
    op.domain = cut_domain(segmentation, op.domain);
    op.tensor = KILN_NONE;
    return kiln_ir_append(&segmentation->rewrite.out, &op);
}

static void merge_maximum(struct segmentation *segmentation)
{
    struct kiln_ir *out = &segmentation->rewrite.out;
    uint32_t rows = segmentation->rewrite.map[segmentation->max];
    uint32_t elements =
        kiln_ir_broadcast(out, rows, cut_domain(segmentation, segmentation->domain));
    uint32_t max = KILN_NONE;
    segmentation->row_shares = append_shares(segmentation, rows, segmentation->row_domain, &max);
    kiln_rewrite_set(&segmentation->rewrite, segmentation->max, max);
    segmentation->shares = append_shares(segmentation, elements, segmentation->domain,
                                         &segmentation->wide[segmentation->max]);
}

static void merge_sum(struct segmentation *segmentation, uint32_t index)
{
    struct kiln_ir *out = &segmentation->rewrite.out;
    uint32_t rows = segmentation->rewrite.map[index];
    uint32_t elements =
        kiln_ir_broadcast(out, rows, cut_domain(segmentation, segmentation->domain));
    uint32_t sum = append_merged(out, rows, segmentation->row_shares, segmentation->row_domain);
    kiln_rewrite_set(&segmentation->rewrite, index, sum);
    segmentation->wide[index] =
        append_merged(out, elements, segmentation->shares, segmentation->domain);
}

/* The same of elements as of rows, where operands are. */
static uint32_t widen(struct segmentation *segmentation, uint32_t index)
{
    struct kiln_rewrite *rewrite = &segmentation->rewrite;
    struct kiln_ir *out = &rewrite->out;
    const struct kiln_op *old = old_op(segmentation, index);
    const struct kiln_opcode_info *info = kiln_opcode_info(old->opcode);
    if (old->domain != segmentation->row_domain || info->op_class != KILN_OP_CLASS_ELEMENTWISE)
        return KILN_NONE;
    struct kiln_op op = *old;
    op.domain = segmentation->domain;
    op.tensor = KILN_NONE;
    for (uint32_t k = 0; k < info->arity; k++) {
        uint32_t operand = old->operands[k];
        op.operands[k] = segmentation->wide[operand];
        if (op.operands[k] != KILN_NONE)
            continue;
        if (segmentation->is_derived[operand])
            return KILN_NONE;
        bool is_uniform = out->domains[old_op(segmentation, operand)->domain].rank == 0;
        op.operands[k] = is_uniform
                             ? rewrite->map[operand]
                             : kiln_ir_broadcast(out, rewrite->map[operand], segmentation->domain);
    }
    return kiln_ir_append(out, &op);
}

static void append_derived(struct segmentation *segmentation, uint32_t index)
{
    struct kiln_rewrite *rewrite = &segmentation->rewrite;
    const struct kiln_op *old = old_op(segmentation, index);
    rewrite->out.node = old->node;
    if (old->opcode == KILN_OP_BROADCAST && old->domain == segmentation->domain &&
        segmentation->wide[old->operands[0]] != KILN_NONE) {
        kiln_rewrite_set(rewrite, index, segmentation->wide[old->operands[0]]);
        return;
    }
    segmentation->wide[index] = widen(segmentation, index);
    struct kiln_op op = kiln_rewrite_operands(rewrite, index);
    /* What is the same everywhere is an operand of such without being broadcast. */
    bool is_elementwise = kiln_opcode_is_elementwise(op.opcode);
    for (uint32_t k = 0; k < kiln_opcode_info(op.opcode)->arity; k++) {
        uint32_t operand = old->operands[k];
        if (is_elementwise && old->domain == segmentation->domain &&
            segmentation->wide[operand] != KILN_NONE)
            op.operands[k] = segmentation->wide[operand];
    }
    kiln_rewrite_set(rewrite, index, kiln_ir_append(&rewrite->out, &op));
}

/* Behind the second product, whose results are in segments so far, all is merged that was put off.
 */
static void merge(struct segmentation *segmentation)
{
    struct kiln_rewrite *rewrite = &segmentation->rewrite;
    struct kiln_ir *out = &rewrite->out;
    uint32_t attend = segmentation->attend;
    uint32_t results = rewrite->map[attend];
    if (segmentation->exponential == KILN_NONE) {
        kiln_rewrite_set(rewrite, attend,
                         kiln_ir_reduce(out, KILN_OP_REDUCE_SUM, results, segmentation->domain));
        return;
    }
    merge_maximum(segmentation);
    kiln_rewrite_set(rewrite, attend,
                     append_merged(out, results, segmentation->shares, segmentation->domain));
    for (uint32_t i = 0; i < attend && !out->failed; i++) {
        if (segmentation->is_sum[i])
            merge_sum(segmentation, i);
        else if (segmentation->is_derived[i])
            append_derived(segmentation, i);
    }
}

static void rewrite_one(struct segmentation *segmentation, uint32_t index)
{
    struct kiln_rewrite *rewrite = &segmentation->rewrite;
    struct kiln_ir *out = &rewrite->out;
    bool is_merged = index > segmentation->attend;
    out->node = old_op(segmentation, index)->node;
    if (index == segmentation->attend) {
        rewrite->map[index] = append_cut(segmentation, index);
        merge(segmentation);
    } else if (index == segmentation->max) {
        rewrite->map[index] = append_cut(segmentation, index);
    } else if (segmentation->is_sum[index]) {
        rewrite->map[index] = append_cut(segmentation, index);
        if (is_merged)
            merge_sum(segmentation, index);
    } else if (!segmentation->is_derived[index]) {
        struct kiln_op op = kiln_rewrite_operands(rewrite, index);
        kiln_rewrite_set(rewrite, index, kiln_ir_append(out, &op));
    } else if (is_merged) {
        append_derived(segmentation, index);
    }
}

enum kiln_status kiln_ir_segment_attention(struct kiln_ir *ir, uint32_t attend, uint32_t segments,
                                           struct kiln_error *error)
{
    size_t count = (size_t)ir->op_count + 1;
    struct segmentation segmentation = {
        .attend = attend,
        .domain = ir->ops[attend].domain,
        .segments = segments,
        .is_sum = kiln_arena_calloc(ir->arena, count, sizeof(bool)),
        .is_derived = kiln_arena_calloc(ir->arena, count, sizeof(bool)),
        .wide = kiln_arena_calloc(ir->arena, count, sizeof(uint32_t)),
    };
    bool *is_between = kiln_arena_calloc(ir->arena, count, sizeof(bool));
    enum kiln_status status = kiln_rewrite_begin(&segmentation.rewrite, ir, error);
    if (status != KILN_OK)
        return status;
    if (segmentation.is_sum == NULL || segmentation.is_derived == NULL ||
        segmentation.wide == NULL || is_between == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory to cut attention into segments");
    for (uint32_t i = 0; i < ir->op_count; i++)
        segmentation.wide[i] = KILN_NONE;
    find_exponential(&segmentation, is_between);
    find_derived(&segmentation);
    for (uint32_t i = 0; i < ir->op_count && !segmentation.rewrite.out.failed; i++)
        rewrite_one(&segmentation, i);
    return kiln_rewrite_finish(&segmentation.rewrite, error);
}
