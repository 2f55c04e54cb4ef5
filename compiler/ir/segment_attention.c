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

/* One attention that is cut, in values of the old program. */
struct cut {
    uint32_t attend;
    uint32_t exponential, max;   /* KILN_NONE: no softmax */
    uint32_t row_domain, domain; /* of the maximum, of the result */
    uint32_t segments;
    uint32_t row_maxima, maxima, row_shares, shares; /* new: m_s and w_s, of rows and elements */
};

/* All attention is cut in one walk over the program. */
struct segmentation {
    struct kiln_rewrite rewrite;
    struct cut *cuts; /* ascending */
    uint32_t cut_count;
    /* Per operation: */
    uint32_t *cut_of;     /* 1 + the cut that it is the ATTEND, the maximum or a sum of; or 0 */
    uint32_t *derived_of; /* 1 + the last cut that its value depends on by maximum or sums; or 0 */
    /* The ATTEND that it waits for, which comes after it: it is computed of what is merged there.
     * 0: it does not wait. */
    uint32_t *waits_for;
    uint32_t *between; /* scratch: the last ATTEND whose weights are computed of it */
    uint32_t *wide;    /* what the value is with the domain of its cut's result, new; KILN_NONE */
};

static const struct kiln_op *old_op(const struct segmentation *segmentation, uint32_t value)
{
    return &segmentation->rewrite.ir->ops[value];
}

/* The domain with segments in front, those of rows and results at the same place. */
static uint32_t cut_domain(struct segmentation *segmentation, const struct cut *cut,
                           uint32_t domain)
{
    struct kiln_ir *out = &segmentation->rewrite.out;
    uint32_t rank = out->domains[cut->domain].rank;
    const struct kiln_domain of = out->domains[domain];
    int64_t dims[KILN_MAX_RANK];
    dims[0] = cut->segments;
    for (uint32_t i = 0; i < rank; i++)
        dims[1 + i] = i < rank - of.rank ? 1 : of.dims[i - (rank - of.rank)];
    return kiln_ir_domain_keeping(out, dims, of.kept, rank + 1);
}

/* ---- finding ---- */

/* The exponential that the weights are multiples of; KILN_NONE where they are of none. */
static void find_exponential(struct segmentation *segmentation, struct cut *cut)
{
    const struct kiln_ir *ir = segmentation->rewrite.ir;
    uint32_t *between = segmentation->between;
    uint32_t lowest = ir->ops[cut->attend].operands[0];
    cut->exponential = cut->max = KILN_NONE;
    between[lowest] = cut->attend;
    for (uint32_t i = lowest + 1; i-- > lowest;) {
        const struct kiln_op *op = &ir->ops[i];
        const struct kiln_opcode_info *info = kiln_opcode_info(op->opcode);
        if (between[i] != cut->attend)
            continue;
        if (op->opcode == KILN_OP_SCORE_EXP) {
            cut->exponential = i;
            cut->max = op->operands[1];
            cut->row_domain = ir->ops[op->operands[1]].domain;
            return;
        }
        for (uint32_t k = 0; info->op_class == KILN_OP_CLASS_ELEMENTWISE && k < info->arity; k++) {
            between[op->operands[k]] = cut->attend;
            lowest = op->operands[k] < lowest ? op->operands[k] : lowest;
        }
    }
}

/* Names the parts of the cuts, except sums. */
static void name_parts(struct segmentation *segmentation)
{
    for (uint32_t c = 0; c < segmentation->cut_count; c++) {
        const struct cut *cut = &segmentation->cuts[c];
        segmentation->cut_of[cut->attend] = c + 1;
        if (cut->exponential == KILN_NONE)
            continue;
        segmentation->cut_of[cut->max] = c + 1;
        segmentation->cut_of[cut->exponential] = c + 1;
    }
}

static const struct cut *cut_at(const struct segmentation *segmentation, uint32_t value)
{
    uint32_t number = segmentation->cut_of[value];
    return number == 0 ? NULL : &segmentation->cuts[number - 1];
}

static bool is_sum(const struct segmentation *segmentation, uint32_t value)
{
    return old_op(segmentation, value)->opcode == KILN_OP_SCORE_SUM &&
           segmentation->cut_of[value] != 0;
}

/* The cut whose maximum or sums the value depends on, as 1 + its number; or 0. */
static uint32_t source_of(const struct segmentation *segmentation, uint32_t value)
{
    const struct cut *cut = cut_at(segmentation, value);
    bool is_statistic = cut != NULL && (value == cut->max || is_sum(segmentation, value));
    return is_statistic ? segmentation->cut_of[value] : segmentation->derived_of[value];
}

/* Fills what operation `index` says of itself. */
static void find_derived(struct segmentation *segmentation, uint32_t index)
{
    const struct kiln_op *op = old_op(segmentation, index);
    if (op->opcode == KILN_OP_SCORE_SUM)
        segmentation->cut_of[index] = segmentation->cut_of[op->operands[0]];
    uint32_t self = segmentation->cut_of[index];
    for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++) {
        uint32_t operand = op->operands[k];
        uint32_t source = source_of(segmentation, operand);
        if (source == 0 || (op->opcode == KILN_OP_SCORE_EXP && source == self && k == 1))
            continue;
        const struct cut *cut = &segmentation->cuts[source - 1];
        uint32_t wait = segmentation->cut_of[operand] == source ? cut->attend
                                                                : segmentation->waits_for[operand];
        if (source > segmentation->derived_of[index])
            segmentation->derived_of[index] = source;
        if (wait > index && wait > segmentation->waits_for[index])
            segmentation->waits_for[index] = wait;
    }
}

/* The number of a cut that has to be left to another walk, since a part of another one waits for
 * it; KILN_NONE: there is none. */
static uint32_t find_conflict(struct segmentation *segmentation)
{
    uint32_t count = segmentation->rewrite.ir->op_count;
    for (uint32_t i = 0; i < count; i++)
        segmentation->cut_of[i] = segmentation->derived_of[i] = segmentation->waits_for[i] = 0;
    name_parts(segmentation);
    for (uint32_t i = 0; i < count; i++) {
        find_derived(segmentation, i);
        if (segmentation->cut_of[i] != 0 && segmentation->waits_for[i] != 0)
            return segmentation->cut_of[segmentation->waits_for[i]] - 1;
    }
    return KILN_NONE;
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
static uint32_t append_cut(struct segmentation *segmentation, const struct cut *cut, uint32_t index)
{
    struct kiln_op op = kiln_rewrite_operands(&segmentation->rewrite, index);
    op.domain = cut_domain(segmentation, cut, op.domain);
    op.tensor = KILN_NONE;
    return kiln_ir_append(&segmentation->rewrite.out, &op);
}

static void merge_maximum(struct segmentation *segmentation, struct cut *cut)
{
    struct kiln_ir *out = &segmentation->rewrite.out;
    uint32_t rows = segmentation->rewrite.map[cut->max];
    uint32_t elements = kiln_ir_broadcast(out, rows, cut_domain(segmentation, cut, cut->domain));
    uint32_t max = KILN_NONE;
    cut->row_shares = append_shares(segmentation, rows, cut->row_domain, &max);
    kiln_rewrite_set(&segmentation->rewrite, cut->max, max);
    cut->shares = append_shares(segmentation, elements, cut->domain, &segmentation->wide[cut->max]);
}

static void merge_sum(struct segmentation *segmentation, const struct cut *cut, uint32_t index)
{
    struct kiln_ir *out = &segmentation->rewrite.out;
    uint32_t rows = segmentation->rewrite.map[index];
    uint32_t elements = kiln_ir_broadcast(out, rows, cut_domain(segmentation, cut, cut->domain));
    uint32_t sum = append_merged(out, rows, cut->row_shares, cut->row_domain);
    kiln_rewrite_set(&segmentation->rewrite, index, sum);
    segmentation->wide[index] = append_merged(out, elements, cut->shares, cut->domain);
}

/* The operand for each element of a cut's result; KILN_NONE if it is not known. */
static uint32_t wide_value(const struct segmentation *segmentation, const struct cut *cut,
                           uint32_t operand)
{
    const struct kiln_ir *out = &segmentation->rewrite.out;
    uint32_t wide = segmentation->wide[operand];
    return wide != KILN_NONE && out->ops[wide].domain == cut->domain ? wide : KILN_NONE;
}

/* The same of elements as of rows, where operands are. */
static uint32_t widen(struct segmentation *segmentation, const struct cut *cut, uint32_t index)
{
    struct kiln_rewrite *rewrite = &segmentation->rewrite;
    struct kiln_ir *out = &rewrite->out;
    const struct kiln_op *old = old_op(segmentation, index);
    const struct kiln_opcode_info *info = kiln_opcode_info(old->opcode);
    if (old->domain != cut->row_domain || info->op_class != KILN_OP_CLASS_ELEMENTWISE)
        return KILN_NONE;
    struct kiln_op op = *old;
    op.domain = cut->domain;
    op.tensor = KILN_NONE;
    for (uint32_t k = 0; k < info->arity; k++) {
        uint32_t operand = old->operands[k];
        op.operands[k] = wide_value(segmentation, cut, operand);
        if (op.operands[k] != KILN_NONE)
            continue;
        if (segmentation->derived_of[operand] != 0)
            return KILN_NONE;
        bool is_uniform = out->domains[old_op(segmentation, operand)->domain].rank == 0;
        op.operands[k] = is_uniform ? rewrite->map[operand]
                                    : kiln_ir_broadcast(out, rewrite->map[operand], cut->domain);
    }
    return kiln_ir_append(out, &op);
}

static void append_derived(struct segmentation *segmentation, uint32_t index)
{
    struct kiln_rewrite *rewrite = &segmentation->rewrite;
    const struct kiln_op *old = old_op(segmentation, index);
    const struct cut *cut = &segmentation->cuts[segmentation->derived_of[index] - 1];
    rewrite->out.node = old->node;
    if (old->opcode == KILN_OP_BROADCAST && old->domain == cut->domain &&
        wide_value(segmentation, cut, old->operands[0]) != KILN_NONE) {
        kiln_rewrite_set(rewrite, index, segmentation->wide[old->operands[0]]);
        return;
    }
    segmentation->wide[index] = widen(segmentation, cut, index);
    struct kiln_op op = kiln_rewrite_operands(rewrite, index);
    /* What is the same everywhere is an operand of such without being broadcast. */
    bool is_elementwise = kiln_opcode_is_elementwise(op.opcode);
    for (uint32_t k = 0; k < kiln_opcode_info(op.opcode)->arity; k++) {
        uint32_t wide = wide_value(segmentation, cut, old->operands[k]);
        if (is_elementwise && old->domain == cut->domain && wide != KILN_NONE)
            op.operands[k] = wide;
    }
    kiln_rewrite_set(rewrite, index, kiln_ir_append(&rewrite->out, &op));
}

/* Behind the second product, whose results are in segments so far, all is merged that was put off.
 */
static void merge(struct segmentation *segmentation, struct cut *cut)
{
    struct kiln_rewrite *rewrite = &segmentation->rewrite;
    struct kiln_ir *out = &rewrite->out;
    uint32_t attend = cut->attend;
    uint32_t results = rewrite->map[attend];
    if (cut->exponential == KILN_NONE) {
        kiln_rewrite_set(rewrite, attend,
                         kiln_ir_reduce(out, KILN_OP_REDUCE_SUM, results, cut->domain));
        return;
    }
    merge_maximum(segmentation, cut);
    kiln_rewrite_set(rewrite, attend, append_merged(out, results, cut->shares, cut->domain));
    for (uint32_t i = cut->max + 1; i < attend && !out->failed; i++) {
        if (is_sum(segmentation, i) && cut_at(segmentation, i) == cut)
            merge_sum(segmentation, cut, i);
        else if (segmentation->waits_for[i] == attend)
            append_derived(segmentation, i);
    }
}

static void rewrite_one(struct segmentation *segmentation, uint32_t index)
{
    struct kiln_rewrite *rewrite = &segmentation->rewrite;
    uint32_t number = segmentation->cut_of[index];
    struct cut *cut = number == 0 ? NULL : &segmentation->cuts[number - 1];
    rewrite->out.node = old_op(segmentation, index)->node;
    if (cut != NULL && index != cut->exponential) {
        rewrite->map[index] = append_cut(segmentation, cut, index);
        if (index == cut->attend)
            merge(segmentation, cut);
        else if (index > cut->attend)
            merge_sum(segmentation, cut, index);
    } else if (segmentation->derived_of[index] == 0) {
        struct kiln_op op = kiln_rewrite_operands(rewrite, index);
        kiln_rewrite_set(rewrite, index, kiln_ir_append(&rewrite->out, &op));
    } else if (segmentation->waits_for[index] == 0) {
        append_derived(segmentation, index);
    }
}

static bool init(struct segmentation *segmentation, struct kiln_ir *ir, uint32_t cut_count)
{
    size_t count = (size_t)ir->op_count + 1;
    *segmentation = (struct segmentation){
        .cuts = kiln_arena_calloc(ir->arena, cut_count, sizeof *segmentation->cuts),
        .cut_of = kiln_arena_calloc(ir->arena, count, sizeof(uint32_t)),
        .derived_of = kiln_arena_calloc(ir->arena, count, sizeof(uint32_t)),
        .waits_for = kiln_arena_calloc(ir->arena, count, sizeof(uint32_t)),
        .between = kiln_arena_calloc(ir->arena, count, sizeof(uint32_t)),
        .wide = kiln_arena_calloc(ir->arena, count, sizeof(uint32_t)),
    };
    for (uint32_t i = 0; segmentation->wide != NULL && i < ir->op_count; i++)
        segmentation->wide[i] = KILN_NONE;
    return segmentation->cuts != NULL && segmentation->cut_of != NULL &&
           segmentation->derived_of != NULL && segmentation->waits_for != NULL &&
           segmentation->between != NULL && segmentation->wide != NULL;
}

static void add_cut(struct segmentation *segmentation, uint32_t attend, uint32_t segments)
{
    struct cut *cut = &segmentation->cuts[segmentation->cut_count++];
    *cut = (struct cut){
        .attend = attend,
        .domain = segmentation->rewrite.ir->ops[attend].domain,
        .segments = segments,
    };
    find_exponential(segmentation, cut);
}

enum kiln_status kiln_ir_segment_attention(struct kiln_ir *ir, const uint32_t *segments,
                                           uint32_t *ret_cut, struct kiln_error *error)
{
    struct segmentation segmentation;
    uint32_t count = 0;
    for (uint32_t i = 0; i < ir->op_count; i++)
        count += segments[i] > 1;
    *ret_cut = 0;
    if (count == 0)
        return KILN_OK;
    if (!init(&segmentation, ir, count))
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory to cut attention into segments");
    enum kiln_status status = kiln_rewrite_begin(&segmentation.rewrite, ir, error);
    if (status != KILN_OK)
        return status;
    for (uint32_t i = 0; i < ir->op_count; i++) {
        if (segments[i] > 1)
            add_cut(&segmentation, i, segments[i]);
    }
    for (uint32_t conflict; (conflict = find_conflict(&segmentation)) != KILN_NONE;) {
        segmentation.cut_count--;
        for (uint32_t c = conflict; c < segmentation.cut_count; c++)
            segmentation.cuts[c] = segmentation.cuts[c + 1];
    }
    for (uint32_t i = 0; i < ir->op_count && !segmentation.rewrite.out.failed; i++)
        rewrite_one(&segmentation, i);
    *ret_cut = segmentation.cut_count;
    return kiln_rewrite_finish(&segmentation.rewrite, error);
}
