#include "compiler/ir/import_attention_scores.h"

#include "compiler/ir/import.h"

#include <math.h>

/* Axes of every operand, from the right. */
enum { DEPTH_AXIS, SEQUENCE_AXIS, HEAD_AXIS, BATCH_AXIS };
/* Axes of the scores, from the right. */
enum { KEY_AXIS = DEPTH_AXIS, QUERY_AXIS = SEQUENCE_AXIS };

/* ---- operands ---- */

/* The smaller of two lengths; KILN_NONE is as long as the tensor. */
static uint32_t shorter(struct kiln_ir *ir, uint32_t a, uint32_t b)
{
    b = kiln_ir_convert(ir, b, KILN_SCALAR_I32);
    return a == KILN_NONE ? b : kiln_ir_binary(ir, KILN_OP_MIN, a, b);
}

/* The shortest length: of the operand with lengths, and of each ragged one among others. */
static uint32_t length_of(struct kiln_attention_import *attention, enum kiln_operand role,
                          const enum kiln_operand *ragged, size_t ragged_count)
{
    const struct kiln_graph *graph = attention->importer->graph;
    uint32_t tensor = kiln_node_input(attention->node, role);
    uint32_t length = KILN_NONE;
    if (tensor != KILN_NONE)
        length =
            shorter(attention->ir, KILN_NONE, kiln_importer_value(attention->importer, tensor));
    for (size_t i = 0; i < ragged_count; i++) {
        tensor = kiln_node_input(attention->node, ragged[i]);
        if (tensor == KILN_NONE)
            tensor = kiln_node_output(attention->node, ragged[i]);
        if (tensor != KILN_NONE && kiln_tensor_is_ragged(&graph->tensors[tensor]))
            length = shorter(attention->ir, length, kiln_ir_length(attention->ir, graph, tensor));
    }
    return length;
}

/* True if programs for general kernels keep an axis of an operand, counted from the right. */
static bool is_kept(const struct kiln_attention_import *attention, enum kiln_operand role,
                    uint32_t axis)
{
    uint32_t tensor = kiln_node_input(attention->node, role);
    return (kiln_ir_kept_axes(attention->ir, &attention->importer->graph->tensors[tensor]) >> axis &
            1) != 0;
}

static bool value_keeps(const struct kiln_ir *ir, uint32_t value, uint32_t axis)
{
    return !ir->failed && (ir->domains[ir->ops[value].domain].kept >> axis & 1) != 0;
}

/* A window may leave the first rows or the last ones without keys; a mask or a length any row. */
static bool may_have_empty_rows(const struct kiln_attention_import *attention)
{
    const struct kiln_attention *attributes = &attention->node->attention;
    const struct kiln_attention_sizes *sizes = &attention->sizes;
    return kiln_node_input(attention->node, KILN_OPERAND_ATTN_MASK) != KILN_NONE ||
           attention->query_length != KILN_NONE || attention->key_length != KILN_NONE ||
           (attributes->has_last_key && attributes->last_key < 0) ||
           ((attributes->has_first_key || attributes->has_last_key) && attention->ir->is_general) ||
           (attributes->has_first_key &&
            sizes->queries - 1 + attributes->first_key > sizes->keys - 1);
}

/*
 * A single key is repeated, and its repetition is hidden. Without it reductions of rows would be
 * none, and the softmax one that no kernel of attention has.
 */
static void repeat_key(struct kiln_attention_import *attention)
{
    struct kiln_attention_sizes *sizes = &attention->sizes;
    sizes->keys = 2;
    const int64_t scores[] = {sizes->batch, sizes->heads, sizes->queries, sizes->keys};
    attention->is_key_repeated = true;
    attention->scores = kiln_ir_domain(attention->ir, scores, 4);
}

uint32_t kiln_attention_keys(struct kiln_attention_import *attention, enum kiln_operand role,
                             int64_t heads, int64_t depth)
{
    struct kiln_ir *ir = attention->ir;
    const int64_t dims[] = {attention->sizes.batch, heads, attention->sizes.keys, depth};
    uint32_t value = kiln_attention_input(attention, role);
    if (ir->failed || !attention->is_key_repeated)
        return value;
    return kiln_ir_broadcast(ir, value, kiln_ir_domain(ir, dims, 4));
}

bool kiln_attention_begin(struct kiln_attention_import *attention, struct kiln_importer *importer,
                          const struct kiln_node *node)
{
    struct kiln_attention_sizes sizes = kiln_attention_sizes_of(importer->graph, node);
    int64_t scores[] = {sizes.batch, sizes.heads, sizes.queries, sizes.keys};
    int64_t rows[] = {sizes.batch, sizes.heads, sizes.queries, 1};
    *attention = (struct kiln_attention_import){
        .importer = importer,
        .ir = importer->ir,
        .node = node,
        .scalar = kiln_node_scalar(importer->graph, node),
        .sizes = sizes,
    };
    static const enum kiln_operand operands[] = {KILN_OPERAND_K, KILN_OPERAND_Q, KILN_OPERAND_Q,
                                                 KILN_OPERAND_Q};
    for (uint32_t axis = 0; axis < 4; axis++)
        attention->kept |=
            (uint32_t)is_kept(attention, operands[axis], axis == KEY_AXIS ? SEQUENCE_AXIS : axis)
            << axis;
    attention->scores = kiln_ir_domain_keeping(importer->ir, scores, attention->kept, 4);
    attention->rows =
        kiln_ir_domain_keeping(importer->ir, rows, attention->kept & ~(1u << KEY_AXIS), 4);
    static const enum kiln_operand queries[] = {KILN_OPERAND_Q, KILN_OPERAND_O, KILN_OPERAND_STATS,
                                                KILN_OPERAND_MAX, KILN_OPERAND_SUM_EXP};
    static const enum kiln_operand keys[] = {KILN_OPERAND_K, KILN_OPERAND_V};
    attention->query_length =
        length_of(attention, KILN_OPERAND_SEQ_LEN_Q, queries, sizeof queries / sizeof *queries);
    attention->key_length =
        length_of(attention, KILN_OPERAND_SEQ_LEN_KV, keys, sizeof keys / sizeof *keys);
    attention->may_have_empty_rows = may_have_empty_rows(attention);
    bool has_one_key = sizes.keys == 1 && (attention->kept >> KEY_AXIS & 1) == 0;
    if (has_one_key && node->kind == KILN_NODE_ATTENTION)
        repeat_key(attention);
    return !importer->ir->failed;
}

uint32_t kiln_attention_input(struct kiln_attention_import *attention, enum kiln_operand role)
{
    uint32_t tensor = kiln_node_input(attention->node, role);
    if (tensor == KILN_NONE)
        return KILN_NONE;
    return kiln_ir_convert(attention->ir, kiln_importer_value(attention->importer, tensor),
                           attention->scalar);
}

enum kiln_dtype kiln_attention_dtype(const struct kiln_attention_import *attention,
                                     enum kiln_operand role)
{
    return attention->importer->graph->tensors[kiln_node_input(attention->node, role)].dtype;
}

bool kiln_attention_has_additive_mask(const struct kiln_attention_import *attention)
{
    return kiln_node_input(attention->node, KILN_OPERAND_ATTN_MASK) != KILN_NONE &&
           kiln_attention_dtype(attention, KILN_OPERAND_ATTN_MASK) != KILN_DTYPE_BOOL;
}

void kiln_attention_define(struct kiln_attention_import *attention, enum kiln_operand role,
                           uint32_t value)
{
    uint32_t tensor = kiln_node_output(attention->node, role);
    if (tensor != KILN_NONE)
        kiln_importer_define(attention->importer, tensor, value);
}

uint32_t kiln_attention_spread(struct kiln_attention_import *attention, uint32_t value,
                               uint32_t domain)
{
    struct kiln_ir *ir = attention->ir;
    if (ir->failed)
        return KILN_NONE;
    bool is_uniform = ir->domains[ir->ops[value].domain].rank == 0;
    return is_uniform ? value : kiln_ir_broadcast(ir, value, domain);
}

uint32_t kiln_attention_reduce(struct kiln_attention_import *attention, enum kiln_opcode opcode,
                               uint32_t value, uint32_t domain)
{
    struct kiln_ir *ir = attention->ir;
    if (ir->failed || ir->ops[value].domain == domain)
        return value;
    return kiln_ir_reduce(ir, opcode, value, domain);
}

/* ---- visible keys ---- */

/* Condition that an index along an axis of `domain`, counted from the right, is below a length. */
static uint32_t is_within_length(struct kiln_attention_import *attention, uint32_t length,
                                 uint32_t domain, uint32_t axis)
{
    uint32_t index = kiln_import_index(attention->ir, KILN_SCALAR_I32, domain, axis);
    return kiln_ir_binary(attention->ir, KILN_OP_CMP_LT, index,
                          kiln_attention_spread(attention, length, domain));
}

uint32_t kiln_attention_within(struct kiln_attention_import *attention, uint32_t value,
                               uint32_t length, double beyond)
{
    struct kiln_ir *ir = attention->ir;
    if (ir->failed || length == KILN_NONE)
        return value;
    uint32_t is_within = is_within_length(attention, length, ir->ops[value].domain, SEQUENCE_AXIS);
    return kiln_ir_select(ir, is_within, value, kiln_ir_real(ir, attention->scalar, beyond));
}

/* A length of each batch, cut to what there is; the size itself where there is no length. */
static uint32_t cut_length(struct kiln_ir *ir, uint32_t length, int64_t size)
{
    uint32_t whole = kiln_ir_integer(ir, KILN_SCALAR_I32, size);
    if (length == KILN_NONE)
        return whole;
    length = kiln_ir_binary(ir, KILN_OP_MAX, length, kiln_ir_integer(ir, KILN_SCALAR_I32, 0));
    return kiln_ir_binary(ir, KILN_OP_MIN, length, whole);
}

/* The distance from a query's index to its first or last key. */
static uint32_t offset_of(struct kiln_attention_import *attention, int64_t offset)
{
    struct kiln_ir *ir = attention->ir;
    uint32_t number = kiln_ir_integer(ir, KILN_SCALAR_I32, offset);
    if (!attention->node->attention.is_bottom_right)
        return number;
    int64_t key_count = attention->is_key_repeated ? 1 : attention->sizes.keys;
    uint32_t keys = cut_length(ir, attention->key_length, key_count);
    uint32_t queries = cut_length(ir, attention->query_length, attention->sizes.queries);
    uint32_t corner = kiln_ir_binary(ir, KILN_OP_SUB, keys, queries);
    return kiln_attention_spread(attention, kiln_ir_binary(ir, KILN_OP_ADD, corner, number),
                                 attention->scores);
}

/* Condition on the scores' domain: key <opcode> query + offset. */
static uint32_t compare_key(struct kiln_attention_import *attention, enum kiln_opcode opcode,
                            int64_t offset)
{
    struct kiln_ir *ir = attention->ir;
    uint32_t query = kiln_import_index(ir, KILN_SCALAR_I32, attention->scores, QUERY_AXIS);
    uint32_t bound = kiln_ir_binary(ir, KILN_OP_ADD, query, offset_of(attention, offset));
    return kiln_ir_binary(
        ir, opcode, kiln_import_index(ir, KILN_SCALAR_I32, attention->scores, KEY_AXIS), bound);
}

/* `condition` and the conditions so far; KILN_NONE: there are none yet. */
static uint32_t and_also(struct kiln_ir *ir, uint32_t so_far, uint32_t condition)
{
    return so_far == KILN_NONE ? condition : kiln_ir_binary(ir, KILN_OP_AND, so_far, condition);
}

/* Condition that a query sees a key, over the scores' domain; KILN_NONE where all keys are seen. */
static uint32_t visible_keys(struct kiln_attention_import *attention)
{
    const struct kiln_attention *attributes = &attention->node->attention;
    struct kiln_ir *ir = attention->ir;
    uint32_t visible = KILN_NONE;
    if (attributes->has_last_key)
        visible =
            and_also(ir, visible, compare_key(attention, KILN_OP_CMP_LE, attributes->last_key));
    if (attributes->has_first_key)
        visible =
            and_also(ir, visible, compare_key(attention, KILN_OP_CMP_GE, attributes->first_key));
    if (attention->is_key_repeated)
        visible = and_also(ir, visible,
                           is_within_length(attention, kiln_ir_integer(ir, KILN_SCALAR_I32, 1),
                                            attention->scores, KEY_AXIS));
    if (attention->key_length != KILN_NONE)
        visible = and_also(
            ir, visible,
            is_within_length(attention, attention->key_length, attention->scores, KEY_AXIS));
    if (attention->query_length != KILN_NONE)
        visible = and_also(
            ir, visible,
            is_within_length(attention, attention->query_length, attention->scores, QUERY_AXIS));
    return visible;
}

/* The boolean mask over the scores' domain; KILN_NONE where there is none. */
static uint32_t boolean_mask(struct kiln_attention_import *attention)
{
    uint32_t tensor = kiln_node_input(attention->node, KILN_OPERAND_ATTN_MASK);
    if (tensor == KILN_NONE || kiln_attention_has_additive_mask(attention))
        return KILN_NONE;
    return kiln_attention_spread(attention, kiln_importer_value(attention->importer, tensor),
                                 attention->scores);
}

uint32_t kiln_attention_hide(struct kiln_attention_import *attention, uint32_t value, double hidden)
{
    /* The mask by a SELECT of its own: kernels skip tiles where a condition has bounds alone. */
    const uint32_t conditions[] = {boolean_mask(attention), visible_keys(attention)};
    struct kiln_ir *ir = attention->ir;
    for (size_t i = 0; i < sizeof conditions / sizeof *conditions; i++) {
        if (conditions[i] != KILN_NONE)
            value = kiln_ir_select(ir, conditions[i], value,
                                   kiln_ir_real(ir, attention->scalar, hidden));
    }
    return value;
}

/* ---- scores ---- */

static bool is_uniform(const struct kiln_ir *ir, uint32_t value)
{
    return ir->domains[ir->ops[value].domain].rank == 0;
}

/* The product of the values that are there, of one domain or uniform. */
static uint32_t times(struct kiln_ir *ir, uint32_t a, uint32_t b)
{
    if (a == KILN_NONE || b == KILN_NONE)
        return a == KILN_NONE ? b : a;
    return kiln_ir_binary(ir, KILN_OP_MUL, a, b);
}

/* The product of the descales of q and k that are uniform, or of those that are not; KILN_NONE
 * where there are none. */
static uint32_t descale(struct kiln_attention_import *attention, bool wants_uniform)
{
    static const enum kiln_operand roles[] = {KILN_OPERAND_DESCALE_Q, KILN_OPERAND_DESCALE_K};
    struct kiln_ir *ir = attention->ir;
    uint32_t product = KILN_NONE;
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        uint32_t value = kiln_attention_input(attention, roles[i]);
        if (!ir->failed && value != KILN_NONE && is_uniform(ir, value) == wants_uniform)
            product = times(ir, product, value);
    }
    return product;
}

uint32_t kiln_attention_factor(struct kiln_attention_import *attention)
{
    uint32_t scale = kiln_attention_input(attention, KILN_OPERAND_SCALE);
    if (scale == KILN_NONE)
        scale = kiln_ir_real(attention->ir, attention->scalar, attention->node->attention.scale);
    return times(attention->ir, scale, descale(attention, true));
}

/* A descale for each head of k goes to the scores where these heads are the queries' too, else to
 * the keys. */
static uint32_t scaled_products(struct kiln_attention_import *attention)
{
    const struct kiln_attention_sizes *sizes = &attention->sizes;
    struct kiln_ir *ir = attention->ir;
    uint32_t q = kiln_attention_input(attention, KILN_OPERAND_Q);
    uint32_t k = kiln_attention_keys(attention, KILN_OPERAND_K, sizes->key_heads, sizes->depth);
    uint32_t factor = kiln_attention_factor(attention);
    uint32_t head_factor = descale(attention, false);
    if (ir->failed)
        return KILN_NONE;
    bool goes_to_keys = head_factor != KILN_NONE && sizes->key_heads != sizes->heads;
    if (goes_to_keys)
        k = times(ir, k, kiln_attention_spread(attention, head_factor, ir->ops[k].domain));
    uint32_t x = kiln_attention_row_products(attention, q, k, sizes->key_heads, sizes->depth);
    x = kiln_ir_binary(ir, KILN_OP_MUL, x, factor);
    if (head_factor != KILN_NONE && !goes_to_keys)
        x = times(ir, x, kiln_attention_spread(attention, head_factor, attention->scores));
    return x;
}

uint32_t kiln_attention_scores(struct kiln_attention_import *attention)
{
    struct kiln_ir *ir = attention->ir;
    uint32_t x = scaled_products(attention);
    if (!kiln_attention_has_additive_mask(attention))
        return x;
    uint32_t mask = kiln_attention_input(attention, KILN_OPERAND_ATTN_MASK);
    return kiln_ir_binary(ir, KILN_OP_ADD, x,
                          kiln_attention_spread(attention, mask, attention->scores));
}

/* ---- products ---- */

uint32_t kiln_attention_narrow(struct kiln_attention_import *attention, uint32_t value,
                               enum kiln_dtype dtype)
{
    if (attention->scalar != KILN_SCALAR_F32)
        return value;
    switch (dtype) {
    case KILN_DTYPE_F16:
    case KILN_DTYPE_BF16:
        return kiln_ir_round(attention->ir, value, dtype);
    case KILN_DTYPE_F8E4M3:
    case KILN_DTYPE_F8E5M2:
    case KILN_DTYPE_F8E4M3FNUZ:
    case KILN_DTYPE_F8E5M2FNUZ:
        return kiln_ir_round(attention->ir, value, KILN_DTYPE_F16);
    default:
        return value;
    }
}

static void append_axis(struct kiln_contraction *contraction, enum kiln_axis_role role,
                        int64_t size, uint8_t left, uint8_t right, uint8_t result)
{
    kiln_contraction_append(contraction, role, size, kiln_map_axis_along(left),
                            kiln_map_axis_along(right), kiln_map_axis_along(result));
}

/* The part of the last axis in a map. */
static struct kiln_map_axis *last_axis(struct kiln_contraction *contraction,
                                       enum kiln_contract_operand side)
{
    return &contraction->maps[side].axes[contraction->axis_count - 1];
}

/* Batch, and heads of which so many neighbours share one of the right operand. */
static struct kiln_contraction begin_rows(const struct kiln_attention_import *attention,
                                          uint32_t right, int64_t right_heads)
{
    const struct kiln_attention_sizes *sizes = &attention->sizes;
    struct kiln_contraction contraction = {0};
    bool has_heads = right_heads > 1 || value_keeps(attention->ir, right, HEAD_AXIS);
    if (sizes->batch > 1 || (attention->kept >> BATCH_AXIS & 1) != 0)
        append_axis(&contraction, KILN_AXIS_BATCH, sizes->batch, BATCH_AXIS, BATCH_AXIS,
                    BATCH_AXIS);
    if (sizes->heads > 1 || (attention->kept >> HEAD_AXIS & 1) != 0) {
        append_axis(&contraction, KILN_AXIS_BATCH, sizes->heads, HEAD_AXIS,
                    has_heads ? HEAD_AXIS : KILN_NO_AXIS, HEAD_AXIS);
        if (has_heads)
            last_axis(&contraction, KILN_CONTRACT_RIGHT)->repeat.value = sizes->heads / right_heads;
    }
    append_axis(&contraction, KILN_AXIS_M, sizes->queries, SEQUENCE_AXIS, KILN_NO_AXIS,
                SEQUENCE_AXIS);
    return contraction;
}

uint32_t kiln_attention_row_products(struct kiln_attention_import *attention, uint32_t left,
                                     uint32_t right, int64_t right_heads, int64_t depth)
{
    const struct kiln_attention_sizes *sizes = &attention->sizes;
    struct kiln_contraction contraction = begin_rows(attention, right, right_heads);
    append_axis(&contraction, KILN_AXIS_N, sizes->keys, KILN_NO_AXIS, SEQUENCE_AXIS, KEY_AXIS);
    append_axis(&contraction, KILN_AXIS_K, depth, DEPTH_AXIS, DEPTH_AXIS, KILN_NO_AXIS);
    return kiln_ir_contract(attention->ir, left, right, &contraction, attention->scores);
}

uint32_t kiln_attention_weighted_rows(struct kiln_attention_import *attention, uint32_t weights,
                                      uint32_t right, int64_t right_heads, int64_t depth)
{
    const struct kiln_attention_sizes *sizes = &attention->sizes;
    struct kiln_contraction contraction = begin_rows(attention, right, right_heads);
    int64_t result[] = {sizes->batch, sizes->heads, sizes->queries, depth};
    append_axis(&contraction, KILN_AXIS_N, depth, KILN_NO_AXIS, DEPTH_AXIS, DEPTH_AXIS);
    append_axis(&contraction, KILN_AXIS_K, sizes->keys, KEY_AXIS, SEQUENCE_AXIS, KILN_NO_AXIS);
    uint32_t kept = (attention->kept & ~(1u << DEPTH_AXIS)) |
                    (uint32_t)value_keeps(attention->ir, right, DEPTH_AXIS) << DEPTH_AXIS;
    uint32_t domain = kiln_ir_domain_keeping(attention->ir, result, kept, 4);
    return kiln_ir_contract(attention->ir, weights, right, &contraction, domain);
}

/* In a program for general kernels: whether the graph declares several heads of queries for each
 * head of an operand. */
static bool shares_heads(const struct kiln_attention_import *attention, enum kiln_operand like)
{
    const struct kiln_tensor *tensors = attention->importer->graph->tensors;
    const struct kiln_tensor *q = &tensors[kiln_node_input(attention->node, KILN_OPERAND_Q)];
    const struct kiln_tensor *k = &tensors[kiln_node_input(attention->node, like)];
    q = q->declared != NULL ? q->declared : q;
    k = k->declared != NULL ? k->declared : k;
    return attention->ir->is_general && q->dims[1] != k->dims[1];
}

uint32_t kiln_attention_weighted_columns(struct kiln_attention_import *attention, uint32_t weights,
                                         uint32_t right, enum kiln_operand like, int64_t groups,
                                         int64_t depth)
{
    const struct kiln_attention_sizes *sizes = &attention->sizes;
    struct kiln_contraction contraction = {0};
    int64_t result[] = {sizes->batch, groups, sizes->keys, depth};
    int64_t group = sizes->heads / groups;
    bool has_groups = groups > 1 || is_kept(attention, like, HEAD_AXIS);
    if (sizes->batch > 1 || (attention->kept >> BATCH_AXIS & 1) != 0)
        append_axis(&contraction, KILN_AXIS_BATCH, sizes->batch, BATCH_AXIS, BATCH_AXIS,
                    BATCH_AXIS);
    if (has_groups) {
        append_axis(&contraction, KILN_AXIS_BATCH, groups, HEAD_AXIS, HEAD_AXIS, HEAD_AXIS);
        last_axis(&contraction, KILN_CONTRACT_LEFT)->step.value = group;
        last_axis(&contraction, KILN_CONTRACT_RIGHT)->step.value = group;
    }
    append_axis(&contraction, KILN_AXIS_M, sizes->keys, KEY_AXIS, KILN_NO_AXIS, SEQUENCE_AXIS);
    append_axis(&contraction, KILN_AXIS_N, depth, KILN_NO_AXIS, DEPTH_AXIS, DEPTH_AXIS);
    if (group > 1 || shares_heads(attention, like))
        append_axis(&contraction, KILN_AXIS_K, group, HEAD_AXIS, HEAD_AXIS, KILN_NO_AXIS);
    append_axis(&contraction, KILN_AXIS_K, sizes->queries, QUERY_AXIS, SEQUENCE_AXIS, KILN_NO_AXIS);
    uint32_t kept = (attention->kept & 1u << BATCH_AXIS) |
                    (uint32_t)is_kept(attention, like, HEAD_AXIS) << HEAD_AXIS |
                    (attention->kept >> KEY_AXIS & 1) << SEQUENCE_AXIS |
                    (uint32_t)value_keeps(attention->ir, right, DEPTH_AXIS) << DEPTH_AXIS;
    uint32_t domain = kiln_ir_domain_keeping(attention->ir, result, kept, 4);
    return kiln_ir_contract(attention->ir, weights, right, &contraction, domain);
}
