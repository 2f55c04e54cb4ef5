/*
 * Attention that was found becomes operations of class ATTENTION: SCORE, SCORE_MAX, SCORE_EXP,
 * SCORE_SUM, ATTEND. Whatever does not vary along a row of scores and divides or multiplies the
 * exponentials goes behind the second product.
 *
 * An exponential is of the difference to the row's maximum, whatever the graph subtracts (a maximum
 * that includes a sink, or 0 of a row without any visible score): the rest is a factor of the row.
 * What the second product takes is rounded to its tensor's type before it is divided instead of
 * after that. Results change by such roundings, and by those of sums, only; what is rounded on the
 * way from the scores to the exponential, or from there to its sum, is left as it is.
 */
#include "compiler/ir/find_attention.h"
#include "compiler/ir/passes.h"
#include "compiler/ir/rewrite.h"

#include <math.h>
#include <stdio.h>

struct rewriting {
    struct kiln_rewrite base;
    struct kiln_attentions all;
    uint32_t *row_factor; /* per attention: of sums and result, in the new program; KILN_NONE: 1 */
};

/* Rows of scores are those of the left operand. */
static uint32_t rewrite_score(struct rewriting *rewriting,
                              const struct kiln_found_attention *attention)
{
    struct kiln_op op = kiln_rewrite_operands(&rewriting->base, attention->score);
    op.opcode = KILN_OP_SCORE;
    if (attention->are_scores_transposed)
        kiln_ir_swap_operands(&rewriting->base.out, &op);
    return kiln_ir_append(&rewriting->base.out, &op);
}

static uint32_t rewrite_max(struct rewriting *rewriting,
                            const struct kiln_found_attention *attention)
{
    struct kiln_op op = kiln_rewrite_operands(&rewriting->base, attention->max);
    op.opcode = KILN_OP_SCORE_MAX;
    return kiln_ir_append(&rewriting->base.out, &op);
}

/* SCORE_EXP, and the factor by which it differs from the graph's exponential. */
static uint32_t rewrite_exponential(struct rewriting *rewriting,
                                    const struct kiln_found_attention *attention,
                                    uint32_t *ret_row_factor)
{
    struct kiln_ir *out = &rewriting->base.out;
    const uint32_t *map = rewriting->base.map;
    uint32_t max = map[attention->max];
    struct kiln_op op = kiln_rewrite_operands(&rewriting->base, attention->exp);
    op.opcode = KILN_OP_SCORE_EXP;
    op.operands[0] = map[attention->x];
    op.operands[1] = max;
    op.tensor = KILN_NONE;
    uint32_t value = kiln_ir_append(out, &op);
    *ret_row_factor = KILN_NONE;
    if (attention->shift == attention->max) {
        uint32_t is_empty =
            kiln_ir_binary(out, KILN_OP_CMP_EQ, max, kiln_ir_real(out, op.scalar, -INFINITY));
        *ret_row_factor = kiln_ir_select(out, is_empty, kiln_ir_real(out, op.scalar, NAN),
                                         kiln_ir_real(out, op.scalar, 1));
    } else if (!attention->is_guarded) {
        *ret_row_factor = kiln_ir_unary(
            out, KILN_OP_EXP, kiln_ir_binary(out, KILN_OP_SUB, max, map[attention->shift]));
    }
    return value;
}

static uint32_t rewrite_sum(struct rewriting *rewriting,
                            const struct kiln_found_attention *attention, uint32_t row_factor,
                            uint32_t index)
{
    struct kiln_op op = kiln_rewrite_operands(&rewriting->base, index);
    op.opcode = KILN_OP_SCORE_SUM;
    op.operands[0] = rewriting->base.map[attention->exp];
    op.tensor = KILN_NONE;
    uint32_t sum = kiln_ir_append(&rewriting->base.out, &op);
    return row_factor == KILN_NONE
               ? sum
               : kiln_ir_binary(&rewriting->base.out, KILN_OP_MUL, sum, row_factor);
}

/* The weights without what goes behind the second product. Of several roundings, with nothing but
 * that in between, the first one is left. */
static uint32_t rewrite_weights(struct rewriting *rewriting,
                                const struct kiln_found_attention *attention)
{
    struct kiln_ir *out = &rewriting->base.out;
    uint32_t value = rewriting->base.map[attention->exp];
    bool is_rounded = false;
    for (uint32_t p = attention->path_count; p-- > 0;) {
        const struct kiln_attention_step *step = &attention->path[p];
        struct kiln_op op = kiln_rewrite_operands(&rewriting->base, step->value);
        out->node = op.node;
        if (op.opcode == KILN_OP_ROUND) {
            value = is_rounded ? value : kiln_ir_round(out, value, op.dtype);
            is_rounded = true;
        } else if (step->factor == KILN_NONE) {
            op.operands[step->side] = value;
            op.tensor = KILN_NONE;
            value = kiln_ir_append(out, &op);
        }
    }
    return value;
}

static uint32_t rewrite_attend(struct rewriting *rewriting,
                               const struct kiln_found_attention *attention, uint32_t row_factor)
{
    struct kiln_ir *out = &rewriting->base.out;
    struct kiln_op op = kiln_rewrite_operands(&rewriting->base, attention->attend);
    op.opcode = KILN_OP_ATTEND;
    if (attention->side != 0)
        kiln_ir_swap_operands(out, &op);
    if (!attention->is_online)
        return kiln_ir_append(out, &op);
    op.operands[0] = rewrite_weights(rewriting, attention);
    out->node = op.node;
    op.tensor = KILN_NONE;
    uint32_t value = kiln_ir_append(out, &op);
    /* Of a row of -infinity the sum is NaN already, and all that is divided by it. */
    bool is_in_sum = attention->shift == attention->max && attention->is_divided;
    if (row_factor != KILN_NONE && !is_in_sum)
        value =
            kiln_ir_binary(out, KILN_OP_MUL, value, kiln_ir_broadcast(out, row_factor, op.domain));
    for (uint32_t p = attention->path_count; p-- > 0;) {
        const struct kiln_attention_step *step = &attention->path[p];
        if (step->factor == KILN_NONE)
            continue;
        uint32_t factor = rewriting->base.map[step->factor];
        out->node = rewriting->base.ir->ops[step->value].node;
        if (out->failed)
            return KILN_NONE;
        if (out->domains[out->ops[factor].domain].rank != 0)
            factor = kiln_ir_broadcast(out, factor, op.domain);
        value = kiln_ir_binary(out, rewriting->base.ir->ops[step->value].opcode, value, factor);
    }
    return value;
}

/* The new value of operation `index`. */
static uint32_t rewrite(struct rewriting *rewriting, uint32_t index)
{
    const struct kiln_attentions *all = &rewriting->all;
    enum kiln_attention_part part = (enum kiln_attention_part)all->part[index];
    if (part == KILN_ATTENTION_NONE) {
        struct kiln_op op = kiln_rewrite_operands(&rewriting->base, index);
        return kiln_ir_append(&rewriting->base.out, &op);
    }
    uint32_t which = all->attention_of[index] - 1;
    const struct kiln_found_attention *attention = &all->found[which];
    uint32_t *row_factor = &rewriting->row_factor[which];
    switch (part) {
    case KILN_ATTENTION_NONE:
        break;
    case KILN_ATTENTION_SCORE:
        return rewrite_score(rewriting, attention);
    case KILN_ATTENTION_MAX:
        return rewrite_max(rewriting, attention);
    case KILN_ATTENTION_EXP:
        return rewrite_exponential(rewriting, attention, row_factor);
    case KILN_ATTENTION_SUM:
        return rewrite_sum(rewriting, attention, *row_factor, index);
    case KILN_ATTENTION_ATTEND:
        return rewrite_attend(rewriting, attention, *row_factor);
    }
    return KILN_NONE;
}

/* Leaves the explanation out if memory is short. */
static void explain_miss(const struct kiln_ir *ir, struct kiln_pass_context *context,
                         const struct kiln_missed_attention *missed)
{
    enum { TEXT_BYTES = 512 };
    char *text = NULL;
    if (missed->miss != KILN_ATTENTION_MISS_NOTHING)
        text = kiln_arena_calloc(ir->arena, TEXT_BYTES, 1);
    if (text == NULL)
        return;
    const char *why = kiln_attention_miss_text(missed->miss);
    const char *score = context->graph->nodes[missed->score_node].name;
    const char *attend = context->graph->nodes[missed->attend_node].name;
    if (missed->score_node == missed->attend_node)
        (void)snprintf(text, TEXT_BYTES, "products of node %u '%s': %s",
                       (unsigned)missed->score_node, score, why);
    else
        (void)snprintf(text, TEXT_BYTES, "nodes %u '%s' and %u '%s': %s",
                       (unsigned)missed->score_node, score, (unsigned)missed->attend_node, attend,
                       why);
    context->miss = text;
}

enum kiln_status kiln_ir_recognize_attention(struct kiln_ir *ir, struct kiln_pass_context *context,
                                             struct kiln_error *error)
{
    struct rewriting rewriting;
    enum kiln_status status =
        kiln_find_attention(ir, KILN_ATTENTION_MAX_ROW, &rewriting.all, error);
    if (status != KILN_OK)
        return status;
    context->is_found = rewriting.all.count > 0;
    explain_miss(ir, context, &rewriting.all.missed);
    if (rewriting.all.count == 0)
        return KILN_OK;
    rewriting.row_factor =
        kiln_arena_calloc(ir->arena, rewriting.all.count, sizeof *rewriting.row_factor);
    if (rewriting.row_factor == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory to rewrite attention");
    status = kiln_rewrite_begin(&rewriting.base, ir, error);
    if (status != KILN_OK)
        return status;
    for (uint32_t i = 0; i < ir->op_count && !rewriting.base.out.failed; i++) {
        rewriting.base.out.node = ir->ops[i].node;
        kiln_rewrite_set(&rewriting.base, i, rewrite(&rewriting, i));
    }
    return kiln_rewrite_finish(&rewriting.base, error);
}
