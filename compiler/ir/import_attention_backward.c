/*
 * The gradients of attention: the probabilities are computed again from the scores and the
 * statistics of the forward node, no score is kept.
 *
 *   p = exp(x - stats), ds = p * (do . v - sum do * o)
 *   dq = factor * ds . k, dk = factor * ds^T . q, dv = p^T . do, dbias = ds summed
 *
 * p and ds are 0 where a query does not see a key, whatever the statistics are. A row without keys
 * has -infinity, and a query beyond its length may have NaN. Where an additive mask
 * is -infinity at all keys of a row, infinity is subtracted instead of -infinity. Operands at or
 * beyond a length may be NaN, too; they become 0 before they are multiplied or summed.
 */
#include "compiler/ir/import_attention_scores.h"

#include <math.h>

/* The statistics of each row, over the scores' domain: p = exp(x - shift). */
static uint32_t import_shift(struct kiln_attention_import *attention)
{
    struct kiln_ir *ir = attention->ir;
    uint32_t stats = kiln_attention_input(attention, KILN_OPERAND_STATS);
    if (kiln_attention_has_additive_mask(attention)) {
        uint32_t infinity = kiln_ir_real(ir, attention->scalar, (double)INFINITY);
        uint32_t lowest = kiln_ir_real(ir, attention->scalar, -(double)INFINITY);
        uint32_t is_empty = kiln_ir_binary(ir, KILN_OP_CMP_EQ, stats, lowest);
        stats = kiln_ir_select(ir, is_empty, infinity, stats);
    }
    return kiln_attention_spread(attention, stats, attention->scores);
}

static uint32_t import_probabilities(struct kiln_attention_import *attention)
{
    struct kiln_ir *ir = attention->ir;
    uint32_t x = kiln_attention_scores(attention);
    uint32_t shift = import_shift(attention);
    uint32_t p = kiln_ir_unary(ir, KILN_OP_EXP, kiln_ir_binary(ir, KILN_OP_SUB, x, shift));
    return kiln_attention_hide(attention, p, 0);
}

/* The gradient of the scores with their factor and mask. */
static uint32_t import_score_gradient(struct kiln_attention_import *attention, uint32_t p)
{
    const struct kiln_attention_sizes *sizes = &attention->sizes;
    struct kiln_ir *ir = attention->ir;
    uint32_t dO = kiln_attention_input(attention, KILN_OPERAND_DO);
    uint32_t o = kiln_attention_input(attention, KILN_OPERAND_O);
    uint32_t v = kiln_attention_input(attention, KILN_OPERAND_V);
    uint32_t delta = kiln_attention_reduce(attention, KILN_OP_REDUCE_SUM,
                                           kiln_ir_binary(ir, KILN_OP_MUL, dO, o), attention->rows);
    uint32_t dp =
        kiln_attention_row_products(attention, dO, v, sizes->value_heads, sizes->value_depth);
    delta = kiln_attention_spread(attention, delta, attention->scores);
    uint32_t ds = kiln_ir_binary(ir, KILN_OP_MUL, p, kiln_ir_binary(ir, KILN_OP_SUB, dp, delta));
    return kiln_attention_hide(attention, ds, 0);
}

/* Weights and the operand that they multiply, which is 0 from a length on. */
struct factors {
    uint32_t weights, right;
};

static struct factors factors_of(struct kiln_attention_import *attention, uint32_t weights,
                                 enum kiln_operand role, uint32_t length)
{
    enum kiln_dtype dtype = kiln_attention_dtype(attention, role);
    return (struct factors){
        .weights = kiln_attention_narrow(attention, weights, dtype),
        .right = kiln_attention_within(attention, kiln_attention_input(attention, role), length, 0),
    };
}

void kiln_import_attention_backward(struct kiln_importer *importer, const struct kiln_node *node)
{
    struct kiln_attention_import attention;
    if (!kiln_attention_begin(&attention, importer, node))
        return;
    struct kiln_ir *ir = importer->ir;
    const struct kiln_attention_sizes *sizes = &attention.sizes;
    uint32_t p = import_probabilities(&attention);
    uint32_t ds = import_score_gradient(&attention, p);
    uint32_t factor = kiln_attention_factor(&attention);

    struct factors f = factors_of(&attention, ds, KILN_OPERAND_K, attention.key_length);
    uint32_t dq = kiln_attention_weighted_rows(&attention, f.weights, f.right, sizes->key_heads,
                                               sizes->depth);
    f = factors_of(&attention, ds, KILN_OPERAND_Q, attention.query_length);
    uint32_t dk = kiln_attention_weighted_columns(&attention, f.weights, f.right, KILN_OPERAND_K,
                                                  sizes->key_heads, sizes->depth);
    f = factors_of(&attention, p, KILN_OPERAND_DO, attention.query_length);
    uint32_t dv = kiln_attention_weighted_columns(&attention, f.weights, f.right, KILN_OPERAND_V,
                                                  sizes->value_heads, sizes->value_depth);
    kiln_attention_define(&attention, KILN_OPERAND_DQ, kiln_ir_binary(ir, KILN_OP_MUL, dq, factor));
    kiln_attention_define(&attention, KILN_OPERAND_DK, kiln_ir_binary(ir, KILN_OP_MUL, dk, factor));
    kiln_attention_define(&attention, KILN_OPERAND_DV, dv);
    uint32_t tensor = kiln_node_output(node, KILN_OPERAND_DBIAS);
    if (tensor != KILN_NONE) {
        const struct kiln_tensor *dbias = &importer->graph->tensors[tensor];
        uint32_t domain = kiln_ir_tensor_domain(ir, dbias);
        kiln_attention_define(&attention, KILN_OPERAND_DBIAS,
                              kiln_attention_reduce(&attention, KILN_OP_REDUCE_SUM, ds, domain));
    }
}
