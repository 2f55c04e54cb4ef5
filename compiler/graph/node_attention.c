/* Attention and its gradients: operands, parameters, masks. Sizes: attention_shapes.c. */
#include "compiler/graph/graph_builder.h"
#include "compiler/graph/node_attributes.h"
#include "compiler/graph/ragged.h"

#include <inttypes.h>

/* An operand in the order of the wire's slots. */
struct slot {
    enum kiln_operand role;
    bool is_output;
};

/* ---- what nobody has specified, or Kiln does not do ---- */

/* Declines for an operand, or for its being there at all. Its tensor is not imported yet. */
static enum kiln_status reject_operand(struct kiln_graph_builder *builder,
                                       const struct kiln_node *node, const char *operand,
                                       int64_t uid, const char *why)
{
    uint32_t index;
    enum kiln_status status = kiln_uid_resolve(builder, node, operand, uid, &index);
    if (status != KILN_OK)
        return status;
    struct kiln_tensor tensor = {
        .uid = uid, .name = kiln_name_copy(builder->scratch, builder->wire->tensors[index].name)};
    if (tensor.name == NULL)
        return kiln_graph_no_memory(builder->error);
    return kiln_reject_tensor(builder->error, KILN_REJECT_ATTENTION, &builder->graph, node, &tensor,
                              "it is %s, and %s", operand, why);
}

static enum kiln_status check_unsupported_operands(struct kiln_graph_builder *builder,
                                                   const struct kiln_wire_attention *wire,
                                                   const struct kiln_node *node)
{
    static const char no_dropout[] = "dropout is not supported";
    static const char no_pages[] = "pages of keys and values are not supported";
    const struct {
        const char *name;
        struct kiln_wire_uid uid;
        const char *why;
    } operands[] = {
        {"dropout_mask", wire->dropout_mask, no_dropout},
        {"dropout_scale", wire->dropout_scale, no_dropout},
        {"dropout_scale_inv", wire->dropout_scale_inverse, no_dropout},
        {"rng_dump", wire->rng_dump, no_dropout},
        {"page_table_k", wire->page_table_k, no_pages},
        {"page_table_v", wire->page_table_v, no_pages},
        {"block_mask", wire->block_mask, "masks of blocks are not supported"},
    };
    for (size_t i = 0; i < sizeof operands / sizeof *operands; i++) {
        if (operands[i].uid.present)
            return reject_operand(builder, node, operands[i].name, operands[i].uid.uid,
                                  operands[i].why);
    }
    return KILN_OK;
}

static enum kiln_status check_unsupported(struct kiln_graph_builder *builder,
                                          const struct kiln_wire_attention *wire,
                                          const struct kiln_node *node)
{
    enum kiln_dtype core_type;
    enum kiln_status status = check_unsupported_operands(builder, wire, node);
    if (status != KILN_OK)
        return status;
    /* Seed and offset without a probability are not read. */
    if (wire->dropout_probability.present && wire->dropout_probability.value != 0)
        return kiln_reject_node(builder->error, KILN_REJECT_ATTENTION, &builder->graph, node,
                                "dropout_probability is %g: dropout is not supported",
                                (double)wire->dropout_probability.value);
    if (wire->has_alibi_mask)
        return kiln_reject_node(builder->error, KILN_REJECT_ATTENTION, &builder->graph, node,
                                "alibi_mask is set: which slopes it means is not specified");
    enum kiln_wire_era era = builder->wire->era;
    if (wire->core_type != 0 && !kiln_dtype_read(era, wire->core_type, &core_type))
        return kiln_reject_node(builder->error, kiln_dtype_reject_reason(era, wire->core_type),
                                &builder->graph, node, "mma_core_mode %u is not supported",
                                wire->core_type);
    if (wire->implementation > KILN_WIRE_IMPLEMENTATION_LAST)
        return kiln_reject_node(builder->error, KILN_REJECT_ATTENTION, &builder->graph, node,
                                "implementation %u is unknown", wire->implementation);
    if (wire->diagonal_alignment > KILN_WIRE_ALIGNMENT_BOTTOM_RIGHT)
        return kiln_reject_node(builder->error, KILN_REJECT_ATTENTION, &builder->graph, node,
                                "diagonal_alignment %u is unknown", wire->diagonal_alignment);
    return KILN_OK;
}

/* ---- masks ---- */

static bool has_ragged(const struct kiln_node *node)
{
    return kiln_node_input(node, KILN_OPERAND_Q_OFFSETS) != KILN_NONE ||
           kiln_node_input(node, KILN_OPERAND_K_OFFSETS) != KILN_NONE;
}

/* A deprecated causal flag acts as if its setter had run before the stored bounds and alignment:
 * a right bound of 0 unless one is stored, and for the second flag the bottom right. */
static enum kiln_status read_causal(struct kiln_graph_builder *builder,
                                    const struct kiln_wire_attention *wire,
                                    const struct kiln_node *node, struct kiln_attention *attention)
{
    if (wire->is_causal && wire->is_causal_bottom_right)
        return kiln_reject_node(builder->error, KILN_REJECT_ATTENTION, &builder->graph, node,
                                "causal_mask and causal_mask_bottom_right are both set");
    if (wire->is_causal || wire->is_causal_bottom_right)
        attention->has_last_key = true; /* last_key is 0, or the stored bound */
    attention->is_bottom_right = attention->is_bottom_right || wire->is_causal_bottom_right;
    return KILN_OK;
}

/* Lengths are read where padding_mask is set, and given there alone. Ragged operands have lengths
 * without it; others may come with them, set or not. */
static enum kiln_status check_padding(struct kiln_graph_builder *builder,
                                      const struct kiln_wire_attention *wire,
                                      const struct kiln_node *node)
{
    static const enum kiln_operand roles[] = {KILN_OPERAND_SEQ_LEN_Q, KILN_OPERAND_SEQ_LEN_KV};
    if (has_ragged(node))
        return KILN_OK;
    for (size_t i = 0; !wire->has_padding_mask && i < sizeof roles / sizeof *roles; i++) {
        if (wire->operands[roles[i]].present)
            return reject_operand(builder, node, kiln_operand_text(roles[i]),
                                  wire->operands[roles[i]].uid, "padding_mask is not set");
    }
    bool has_length = wire->operands[KILN_OPERAND_SEQ_LEN_Q].present ||
                      wire->operands[KILN_OPERAND_SEQ_LEN_KV].present;
    if (wire->has_padding_mask && !has_length)
        return kiln_reject_node(builder->error, KILN_REJECT_MISSING_OPERAND, &builder->graph, node,
                                "padding_mask is set, and seq_len_q and seq_len_kv are missing");
    return KILN_OK;
}

static enum kiln_status read_masks(struct kiln_graph_builder *builder,
                                   const struct kiln_wire_attention *wire, struct kiln_node *node)
{
    struct kiln_attention *attention = &node->attention;
    attention->is_bottom_right = wire->diagonal_alignment == KILN_WIRE_ALIGNMENT_BOTTOM_RIGHT;
    /* A negative bound is none. */
    if (wire->left_bound.present && wire->left_bound.value >= 0) {
        attention->has_first_key = true;
        attention->first_key = -wire->left_bound.value;
    }
    if (wire->right_bound.present && wire->right_bound.value >= 0) {
        attention->has_last_key = true;
        attention->last_key = wire->right_bound.value;
    }
    enum kiln_status status = read_causal(builder, wire, node, attention);
    if (status == KILN_OK)
        status = check_padding(builder, wire, node);
    return status;
}

/* ---- reading ---- */

static void append_operand(struct kiln_node *node, struct slot slot, uint32_t tensor)
{
    if (slot.is_output) {
        node->output_roles[node->output_count] = (uint8_t)slot.role;
        node->outputs[node->output_count++] = tensor;
    } else {
        node->input_roles[node->input_count] = (uint8_t)slot.role;
        node->inputs[node->input_count++] = tensor;
    }
}

/* Offsets of ragged operands are inputs too: they are read before the others. */
static enum kiln_status append_offsets(struct kiln_graph_builder *builder, const struct slot *slots,
                                       size_t slot_count, const struct kiln_wire_attention *wire,
                                       struct kiln_node *node)
{
    for (size_t i = 0; i < slot_count; i++) {
        const struct kiln_wire_uid *uid = &wire->operands[slots[i].role];
        enum kiln_operand role = kiln_ragged_offsets_role(slots[i].role);
        uint32_t tensor;
        if (!uid->present || role == KILN_OPERAND_COUNT)
            continue;
        enum kiln_status status =
            kiln_uid_resolve(builder, node, kiln_operand_text(slots[i].role), uid->uid, &tensor);
        const struct kiln_wire_uid *offsets = &builder->wire->tensors[tensor].ragged_offsets;
        if (status == KILN_OK && offsets->present) {
            status =
                kiln_uid_resolve(builder, node, kiln_operand_text(role), offsets->uid, &tensor);
            append_operand(node, (struct slot){role, false}, tensor);
        }
        if (status != KILN_OK)
            return status;
    }
    return KILN_OK;
}

static enum kiln_status read_attention(struct kiln_graph_builder *builder,
                                       const struct kiln_wire_attention *wire,
                                       const struct slot *slots, size_t slot_count,
                                       struct kiln_node *node)
{
    for (size_t i = 0; i < slot_count; i++) {
        const struct kiln_wire_uid *uid = &wire->operands[slots[i].role];
        uint32_t tensor;
        if (!uid->present)
            continue;
        enum kiln_status status =
            kiln_uid_resolve(builder, node, kiln_operand_text(slots[i].role), uid->uid, &tensor);
        if (status != KILN_OK)
            return status;
        append_operand(node, slots[i], tensor);
    }
    node->attention.scale = wire->scale.present ? (double)wire->scale.value : 1;
    enum kiln_status status = KILN_OK;
    if (node->kind == KILN_NODE_ATTENTION)
        status = append_offsets(builder, slots, slot_count, wire, node);
    if (status == KILN_OK)
        status = check_unsupported(builder, wire, node);
    if (status == KILN_OK)
        status = read_masks(builder, wire, node);
    return status;
}

static enum kiln_status read_forward(struct kiln_graph_builder *builder,
                                     const struct kiln_wire_node *wire, struct kiln_node *node)
{
    static const struct slot slots[] = {
        {KILN_OPERAND_Q, false},          {KILN_OPERAND_K, false},
        {KILN_OPERAND_V, false},          {KILN_OPERAND_O, true},
        {KILN_OPERAND_ATTN_MASK, false},  {KILN_OPERAND_SCALE, false},
        {KILN_OPERAND_SEQ_LEN_Q, false},  {KILN_OPERAND_SEQ_LEN_KV, false},
        {KILN_OPERAND_SINK_TOKEN, false}, {KILN_OPERAND_DESCALE_Q, false},
        {KILN_OPERAND_DESCALE_K, false},  {KILN_OPERAND_DESCALE_V, false},
        {KILN_OPERAND_DESCALE_S, false},  {KILN_OPERAND_SCALE_S, false},
        {KILN_OPERAND_SCALE_O, false},    {KILN_OPERAND_STATS, true},
        {KILN_OPERAND_MAX, true},         {KILN_OPERAND_SUM_EXP, true},
        {KILN_OPERAND_AMAX_S, true},      {KILN_OPERAND_AMAX_O, true},
    };
    node->kind = KILN_NODE_ATTENTION;
    if (wire->attention.wants_statistics && !wire->attention.operands[KILN_OPERAND_STATS].present)
        return kiln_reject_node(builder->error, KILN_REJECT_MISSING_OPERAND, &builder->graph, node,
                                "generate_stats is set, and stats is missing");
    return read_attention(builder, &wire->attention, slots, sizeof slots / sizeof *slots, node);
}

static enum kiln_status read_backward(struct kiln_graph_builder *builder,
                                      const struct kiln_wire_node *wire, struct kiln_node *node)
{
    static const struct slot slots[] = {
        {KILN_OPERAND_Q, false},          {KILN_OPERAND_K, false},
        {KILN_OPERAND_V, false},          {KILN_OPERAND_O, false},
        {KILN_OPERAND_DO, false},         {KILN_OPERAND_STATS, false},
        {KILN_OPERAND_DQ, true},          {KILN_OPERAND_DK, true},
        {KILN_OPERAND_DV, true},          {KILN_OPERAND_SCALE, false},
        {KILN_OPERAND_ATTN_MASK, false},  {KILN_OPERAND_SEQ_LEN_Q, false},
        {KILN_OPERAND_SEQ_LEN_KV, false}, {KILN_OPERAND_DBIAS, true},
    };
    node->kind = KILN_NODE_ATTENTION_BACKWARD;
    if (wire->attention.operands[KILN_OPERAND_DBIAS].present &&
        !wire->attention.operands[KILN_OPERAND_ATTN_MASK].present)
        return reject_operand(builder, node, "dbias",
                              wire->attention.operands[KILN_OPERAND_DBIAS].uid,
                              "attn_mask, whose gradient it would be, is missing");
    return read_attention(builder, &wire->attention, slots, sizeof slots / sizeof *slots, node);
}

/* ---- completing ---- */

/*
 * Bounds from the diagonal become offsets from a query to its first and last key; those that hide
 * no key are none. Where batches have lengths, each has a corner of its own, which stays to be
 * added: a bound hides no key of any corner where it is as long as the other sequence.
 */
static void complete_bounds(const struct kiln_attention_sizes *sizes, bool has_length,
                            struct kiln_attention *attention)
{
    bool has_corners = attention->is_bottom_right && has_length;
    int64_t diagonal = attention->is_bottom_right && !has_length ? sizes->keys - sizes->queries : 0;
    int64_t least_first = has_corners ? -(sizes->keys - 1) : -(sizes->queries - 1) - diagonal;
    int64_t most_last = has_corners ? sizes->queries - 1 : sizes->keys - 1 - diagonal;
    /* Compared before they are added: a bound may be any number. */
    if (attention->has_first_key && attention->first_key <= least_first)
        attention->has_first_key = false;
    if (attention->has_last_key && attention->last_key >= most_last)
        attention->has_last_key = false;
    attention->first_key = attention->has_first_key ? attention->first_key + diagonal : 0;
    attention->last_key = attention->has_last_key ? attention->last_key + diagonal : 0;
    attention->is_bottom_right =
        has_corners && (attention->has_first_key || attention->has_last_key);
}

static enum kiln_status complete_attention(const struct kiln_graph *graph, struct kiln_node *node,
                                           struct kiln_error *error)
{
    struct kiln_attention *attention = &node->attention;
    enum kiln_status status = kiln_attention_check_sizes(graph, node, error);
    if (status != KILN_OK)
        return status;
    struct kiln_attention_sizes sizes = kiln_attention_sizes_of(graph, node);
    bool has_length = kiln_node_input(node, KILN_OPERAND_SEQ_LEN_Q) != KILN_NONE ||
                      kiln_node_input(node, KILN_OPERAND_SEQ_LEN_KV) != KILN_NONE ||
                      has_ragged(node);
    complete_bounds(&sizes, has_length, attention);
    /* Kernels count in 32 bits from a query, by the bound and the corner, to a key. */
    if (attention->is_bottom_right && attention->last_key > INT32_MAX - sizes.queries - sizes.keys)
        return kiln_reject_node(error, KILN_REJECT_TOO_LARGE, graph, node,
                                "right_bound %lld is too large for %lld queries and %lld keys",
                                (long long)attention->last_key, (long long)sizes.queries,
                                (long long)sizes.keys);
    return KILN_OK;
}

const struct kiln_node_reader kiln_attention_reader = {
    .read = read_forward,
    .complete = complete_attention,
    .infer = kiln_infer_attention,
    .check = kiln_attention_check,
};

const struct kiln_node_reader kiln_attention_backward_reader = {
    .read = read_backward,
    .complete = complete_attention,
    .infer = kiln_infer_attention,
    .check = kiln_attention_check,
};

/* The scale is stored where no operand has it. */
static void visit_attention(struct kiln_fields *fields, struct kiln_node *node)
{
    struct kiln_attention *attention = &node->attention;
    kiln_field_bool(fields, &attention->has_first_key);
    if (attention->has_first_key)
        kiln_field_i64(fields, &attention->first_key);
    kiln_field_bool(fields, &attention->has_last_key);
    if (attention->has_last_key)
        kiln_field_i64(fields, &attention->last_key);
    kiln_field_bool(fields, &attention->is_bottom_right);
    if (kiln_node_input(node, KILN_OPERAND_SCALE) == KILN_NONE)
        kiln_field_real(fields, &attention->scale);
}

static void print_attention(const struct kiln_node *node, struct kiln_buffer *buffer)
{
    const struct kiln_attention *attention = &node->attention;
    if (kiln_node_input(node, KILN_OPERAND_SCALE) == KILN_NONE)
        kiln_buffer_printf(buffer, " scale %.9g", attention->scale);
    if (attention->has_first_key)
        kiln_buffer_printf(buffer, " first_key i%+" PRId64, attention->first_key);
    if (attention->has_last_key)
        kiln_buffer_printf(buffer, " last_key i%+" PRId64, attention->last_key);
    if (attention->is_bottom_right)
        kiln_buffer_append_text(buffer, " from each batch's corner");
}

const struct kiln_node_attributes kiln_attention_attributes = {visit_attention, print_attention};
