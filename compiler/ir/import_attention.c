/*
 * Attention is two products with a softmax between them. The weights are exponentials alone: each
 * row is divided by their sum after the second product, where it is shorter, so that one kernel can
 * do all of it in one pass over the keys.
 *
 * A row without keys has the maximum -infinity and the sum 0. The maximum that is subtracted is 0
 * then, and what is divided by 1: its exponentials, and its result, are zeros and not NaN. A query
 * beyond its length does not see the sink either.
 */
#include "compiler/ir/import_attention_scores.h"

#include <math.h>

/* The softmax of all rows; values over attention.rows where nothing else is said. */
struct softmax {
    uint32_t key_maximum; /* without the sink */
    uint32_t maximum;
    uint32_t shift;        /* subtracted from the scores: the maximum, or 0 in an empty row */
    uint32_t exponentials; /* over the scores */
    uint32_t sum;
    uint32_t divisor; /* the sum, or 1 in an empty row */
};

static uint32_t number(struct kiln_attention_import *attention, double value)
{
    return kiln_ir_real(attention->ir, attention->scalar, value);
}

/* The value, with `replacement` where it equals `special`. */
static uint32_t replace(struct kiln_attention_import *attention, uint32_t value, double special,
                        double replacement)
{
    struct kiln_ir *ir = attention->ir;
    uint32_t is_special = kiln_ir_binary(ir, KILN_OP_CMP_EQ, value, number(attention, special));
    return kiln_ir_select(ir, is_special, number(attention, replacement), value);
}

static uint32_t exponential(struct kiln_ir *ir, uint32_t x, uint32_t shift)
{
    return kiln_ir_unary(ir, KILN_OP_EXP, kiln_ir_binary(ir, KILN_OP_SUB, x, shift));
}

static struct softmax import_softmax(struct kiln_attention_import *attention, uint32_t x)
{
    struct kiln_ir *ir = attention->ir;
    struct softmax softmax;
    uint32_t sink = kiln_attention_input(attention, KILN_OPERAND_SINK_TOKEN);
    if (sink != KILN_NONE)
        sink = kiln_attention_within(attention, kiln_ir_broadcast(ir, sink, attention->rows),
                                     attention->query_length, -(double)INFINITY);
    softmax.key_maximum = kiln_attention_reduce(attention, KILN_OP_REDUCE_MAX, x, attention->rows);
    softmax.maximum = softmax.key_maximum;
    if (sink != KILN_NONE)
        softmax.maximum = kiln_ir_binary(ir, KILN_OP_MAX, softmax.maximum, sink);
    softmax.shift = softmax.maximum;
    if (attention->may_have_empty_rows)
        softmax.shift = replace(attention, softmax.maximum, -(double)INFINITY, 0);
    softmax.exponentials =
        exponential(ir, x, kiln_attention_spread(attention, softmax.shift, attention->scores));
    softmax.sum =
        kiln_attention_reduce(attention, KILN_OP_REDUCE_SUM, softmax.exponentials, attention->rows);
    if (sink != KILN_NONE)
        softmax.sum =
            kiln_ir_binary(ir, KILN_OP_ADD, softmax.sum, exponential(ir, sink, softmax.shift));
    softmax.divisor = softmax.sum;
    if (attention->may_have_empty_rows)
        softmax.divisor = replace(attention, softmax.sum, 0, 1);
    return softmax;
}

static void define_statistics(struct kiln_attention_import *attention,
                              const struct softmax *softmax)
{
    struct kiln_ir *ir = attention->ir;
    uint32_t one = kiln_ir_domain(ir, NULL, 0);
    if (kiln_node_output(attention->node, KILN_OPERAND_STATS) != KILN_NONE)
        kiln_attention_define(attention, KILN_OPERAND_STATS,
                              kiln_ir_binary(ir, KILN_OP_ADD, softmax->shift,
                                             kiln_ir_unary(ir, KILN_OP_LOG, softmax->sum)));
    kiln_attention_define(attention, KILN_OPERAND_MAX, softmax->maximum);
    kiln_attention_define(attention, KILN_OPERAND_SUM_EXP, softmax->sum);
    if (kiln_node_output(attention->node, KILN_OPERAND_AMAX_S) == KILN_NONE)
        return;
    /* A row's largest probability is that of its largest score. */
    uint32_t largest = exponential(ir, softmax->key_maximum, softmax->shift);
    largest = kiln_ir_binary(ir, KILN_OP_DIV, largest, softmax->divisor);
    kiln_attention_define(attention, KILN_OPERAND_AMAX_S,
                          kiln_attention_reduce(attention, KILN_OP_REDUCE_MAX, largest, one));
}

/* A descale for each head of v multiplies v, unless each head of q has its own: then the result. */
static bool is_descale_on_values(struct kiln_attention_import *attention, uint32_t descale)
{
    struct kiln_ir *ir = attention->ir;
    return descale != KILN_NONE && !ir->failed && ir->domains[ir->ops[descale].domain].rank != 0 &&
           attention->sizes.value_heads != attention->sizes.heads;
}

/* Sums of exponentials times values, divided and scaled. */
static uint32_t import_result(struct kiln_attention_import *attention,
                              const struct softmax *softmax)
{
    static const enum kiln_operand factors[] = {KILN_OPERAND_SCALE_S, KILN_OPERAND_DESCALE_S,
                                                KILN_OPERAND_DESCALE_V};
    const struct kiln_attention_sizes *sizes = &attention->sizes;
    struct kiln_ir *ir = attention->ir;
    uint32_t v =
        kiln_attention_keys(attention, KILN_OPERAND_V, sizes->value_heads, sizes->value_depth);
    uint32_t descale = kiln_attention_input(attention, KILN_OPERAND_DESCALE_V);
    bool descales_values = is_descale_on_values(attention, descale);
    if (ir->failed)
        return KILN_NONE;
    if (descales_values)
        v = kiln_ir_binary(ir, KILN_OP_MUL, v,
                           kiln_attention_spread(attention, descale, ir->ops[v].domain));
    v = kiln_attention_within(attention, v, attention->key_length, 0);
    uint32_t weights = softmax->exponentials;
    if (!descales_values)
        weights = kiln_attention_narrow(attention, weights,
                                        kiln_attention_dtype(attention, KILN_OPERAND_V));
    uint32_t o =
        kiln_attention_weighted_rows(attention, weights, v, sizes->value_heads, sizes->value_depth);
    if (ir->failed)
        return KILN_NONE;
    uint32_t domain = ir->ops[o].domain;
    o = kiln_ir_binary(ir, KILN_OP_DIV, o,
                       kiln_attention_spread(attention, softmax->divisor, domain));
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
        uint32_t factor = kiln_attention_input(attention, factors[i]);
        if (factor == KILN_NONE || (factors[i] == KILN_OPERAND_DESCALE_V && descales_values))
            continue;
        o = kiln_ir_binary(ir, KILN_OP_MUL, o, kiln_attention_spread(attention, factor, domain));
    }
    return o;
}

void kiln_import_attention(struct kiln_importer *importer, const struct kiln_node *node)
{
    struct kiln_attention_import attention;
    if (!kiln_attention_begin(&attention, importer, node))
        return;
    struct kiln_ir *ir = importer->ir;
    uint32_t x =
        kiln_attention_hide(&attention, kiln_attention_scores(&attention), -(double)INFINITY);
    struct softmax softmax = import_softmax(&attention, x);
    uint32_t o = import_result(&attention, &softmax);
    uint32_t scale = kiln_attention_input(&attention, KILN_OPERAND_SCALE_O);
    if (ir->failed)
        return;
    if (kiln_node_output(node, KILN_OPERAND_AMAX_O) != KILN_NONE)
        kiln_attention_define(&attention, KILN_OPERAND_AMAX_O,
                              kiln_attention_reduce(&attention, KILN_OP_REDUCE_MAX,
                                                    kiln_ir_unary(ir, KILN_OP_ABS, o),
                                                    kiln_ir_domain(ir, NULL, 0)));
    if (scale != KILN_NONE)
        o = kiln_ir_binary(ir, KILN_OP_MUL, o, scale);
    kiln_attention_define(&attention, KILN_OPERAND_O, o);
    define_statistics(&attention, &softmax);
}
