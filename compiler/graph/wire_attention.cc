/* Attention and its gradients on the wire: reading and writing. */
#include "compiler/graph/wire_reading.hpp"
#include "compiler/graph/wire_writing.hpp"

using namespace kiln::wire;

namespace {

template <typename T> struct kiln_wire_integer integer(const flatbuffers::Optional<T> &value)
{
    return {value.has_value(), value.has_value() ? *value : 0};
}

/* What forward and backward have in common. */
template <typename Attributes>
void read_common(const Attributes &attributes, struct kiln_wire_attention *ret_attention)
{
    struct kiln_wire_uid *operands = ret_attention->operands;
    operands[KILN_OPERAND_Q] = uid(attributes.q_tensor_uid());
    operands[KILN_OPERAND_K] = uid(attributes.k_tensor_uid());
    operands[KILN_OPERAND_V] = uid(attributes.v_tensor_uid());
    operands[KILN_OPERAND_O] = uid(attributes.o_tensor_uid());
    operands[KILN_OPERAND_STATS] = uid(attributes.stats_tensor_uid());
    operands[KILN_OPERAND_ATTN_MASK] = uid(attributes.attn_mask_tensor_uid());
    operands[KILN_OPERAND_SCALE] = uid(attributes.scale_tensor_uid());
    operands[KILN_OPERAND_SEQ_LEN_Q] = uid(attributes.seq_len_q_tensor_uid());
    operands[KILN_OPERAND_SEQ_LEN_KV] = uid(attributes.seq_len_kv_tensor_uid());
    ret_attention->dropout_mask = uid(attributes.dropout_mask_tensor_uid());
    ret_attention->dropout_scale = uid(attributes.dropout_scale_tensor_uid());
    ret_attention->has_alibi_mask = attributes.alibi_mask();
    ret_attention->has_padding_mask = attributes.padding_mask();
    ret_attention->is_causal = attributes.causal_mask();
    ret_attention->is_causal_bottom_right = attributes.causal_mask_bottom_right();
    ret_attention->dropout_probability = real(attributes.dropout_probability());
    ret_attention->scale = real(attributes.attn_scale_value());
    ret_attention->left_bound = integer(attributes.left_bound());
    ret_attention->right_bound = integer(attributes.right_bound());
    ret_attention->diagonal_alignment = number(attributes.diagonal_alignment());
}

void read_forward(const current::SdpaAttributes &attributes,
                  struct kiln_wire_attention *ret_attention)
{
    read_common(attributes, ret_attention);
    struct kiln_wire_uid *operands = ret_attention->operands;
    operands[KILN_OPERAND_SINK_TOKEN] = uid(attributes.sink_token_tensor_uid());
    operands[KILN_OPERAND_DESCALE_Q] = uid(attributes.descale_q_tensor_uid());
    operands[KILN_OPERAND_DESCALE_K] = uid(attributes.descale_k_tensor_uid());
    operands[KILN_OPERAND_DESCALE_V] = uid(attributes.descale_v_tensor_uid());
    operands[KILN_OPERAND_DESCALE_S] = uid(attributes.descale_s_tensor_uid());
    operands[KILN_OPERAND_SCALE_S] = uid(attributes.scale_s_tensor_uid());
    operands[KILN_OPERAND_SCALE_O] = uid(attributes.scale_o_tensor_uid());
    operands[KILN_OPERAND_MAX] = uid(attributes.max_tensor_uid());
    operands[KILN_OPERAND_SUM_EXP] = uid(attributes.sum_exp_tensor_uid());
    operands[KILN_OPERAND_AMAX_S] = uid(attributes.amax_s_tensor_uid());
    operands[KILN_OPERAND_AMAX_O] = uid(attributes.amax_o_tensor_uid());
    ret_attention->page_table_k = uid(attributes.page_table_k_tensor_uid());
    ret_attention->page_table_v = uid(attributes.page_table_v_tensor_uid());
    ret_attention->block_mask = uid(attributes.block_mask_tensor_uid());
    ret_attention->rng_dump = uid(attributes.rng_dump_tensor_uid());
    ret_attention->wants_statistics =
        attributes.generate_stats().has_value() && *attributes.generate_stats();
    ret_attention->core_type = number(attributes.mma_core_mode());
    ret_attention->implementation = number(attributes.implementation());
}

void read_backward(const current::SdpaBackwardAttributes &attributes,
                   struct kiln_wire_attention *ret_attention)
{
    read_common(attributes, ret_attention);
    struct kiln_wire_uid *operands = ret_attention->operands;
    operands[KILN_OPERAND_DO] = uid(attributes.do_tensor_uid());
    operands[KILN_OPERAND_DQ] = uid(attributes.dq_tensor_uid());
    operands[KILN_OPERAND_DK] = uid(attributes.dk_tensor_uid());
    operands[KILN_OPERAND_DV] = uid(attributes.dv_tensor_uid());
    operands[KILN_OPERAND_DBIAS] = uid(attributes.dbias_tensor_uid());
    ret_attention->dropout_scale_inverse = uid(attributes.dropout_scale_inv_tensor_uid());
}

/* Bounds as the wire has them: distances from a diagonal, none of them negative. */
struct Bounds {
    bool is_bottom_right = false;
    int64_t left = 0;
    int64_t right = 0;
};

Bounds find_bounds(const struct kiln_graph &graph, const struct kiln_node &node)
{
    const struct kiln_attention &attention = node.attention;
    const struct kiln_attention_sizes sizes = kiln_attention_sizes_of(&graph, &node);
    Bounds bounds;
    /* A key before the first diagonal, or behind it, is told from the second one. */
    const bool is_shifted = (attention.has_first_key && attention.first_key > 0) ||
                            (attention.has_last_key && attention.last_key < 0);
    const int64_t diagonal = is_shifted ? sizes.keys - sizes.queries : 0;
    bounds.is_bottom_right = is_shifted || attention.is_bottom_right;
    bounds.left = diagonal - attention.first_key;
    bounds.right = attention.last_key - diagonal;
    return bounds;
}

/* What forward and backward have in common, but for operands. */
template <typename Out>
void write_common(Out &out, const struct kiln_graph &graph, const struct kiln_node &node)
{
    const struct kiln_attention &attention = node.attention;
    const Bounds bounds = find_bounds(graph, node);
    out.add_padding_mask(has_operand(node, KILN_OPERAND_SEQ_LEN_Q) ||
                         has_operand(node, KILN_OPERAND_SEQ_LEN_KV));
    if (!has_operand(node, KILN_OPERAND_SCALE))
        out.add_attn_scale_value(static_cast<float>(attention.scale));
    if (attention.has_first_key)
        out.add_left_bound(bounds.left);
    if (attention.has_last_key)
        out.add_right_bound(bounds.right);
    if (bounds.is_bottom_right)
        out.add_diagonal_alignment(current::DiagonalAlignment_BOTTOM_RIGHT);
}

} // namespace

void kiln::wire::read_attention(const current::Node &node, struct kiln_wire_node *ret_node)
{
    if (ret_node->attributes_type == KILN_WIRE_NODE_ATTENTION)
        read_forward(*node.attributes_as_SdpaAttributes(), &ret_node->attention);
    else
        read_backward(*node.attributes_as_SdpaBackwardAttributes(), &ret_node->attention);
}

flatbuffers::Offset<void> kiln::wire::write_attention(Builder &builder,
                                                      const struct kiln_graph &graph,
                                                      const struct kiln_node &node)
{
    using Out = current::SdpaAttributesBuilder;
    OperandWriter<Out> writer(builder, graph, node);
    writer.put(KILN_OPERAND_Q, &Out::add_q_tensor_uid)
        .put(KILN_OPERAND_K, &Out::add_k_tensor_uid)
        .put(KILN_OPERAND_V, &Out::add_v_tensor_uid)
        .put(KILN_OPERAND_O, &Out::add_o_tensor_uid)
        .put(KILN_OPERAND_ATTN_MASK, &Out::add_attn_mask_tensor_uid)
        .put(KILN_OPERAND_SCALE, &Out::add_scale_tensor_uid)
        .put(KILN_OPERAND_SEQ_LEN_Q, &Out::add_seq_len_q_tensor_uid)
        .put(KILN_OPERAND_SEQ_LEN_KV, &Out::add_seq_len_kv_tensor_uid)
        .put(KILN_OPERAND_SINK_TOKEN, &Out::add_sink_token_tensor_uid)
        .put(KILN_OPERAND_DESCALE_Q, &Out::add_descale_q_tensor_uid)
        .put(KILN_OPERAND_DESCALE_K, &Out::add_descale_k_tensor_uid)
        .put(KILN_OPERAND_DESCALE_V, &Out::add_descale_v_tensor_uid)
        .put(KILN_OPERAND_DESCALE_S, &Out::add_descale_s_tensor_uid)
        .put(KILN_OPERAND_SCALE_S, &Out::add_scale_s_tensor_uid)
        .put(KILN_OPERAND_SCALE_O, &Out::add_scale_o_tensor_uid)
        .put(KILN_OPERAND_STATS, &Out::add_stats_tensor_uid)
        .put(KILN_OPERAND_MAX, &Out::add_max_tensor_uid)
        .put(KILN_OPERAND_SUM_EXP, &Out::add_sum_exp_tensor_uid)
        .put(KILN_OPERAND_AMAX_S, &Out::add_amax_s_tensor_uid)
        .put(KILN_OPERAND_AMAX_O, &Out::add_amax_o_tensor_uid);
    if (has_operand(node, KILN_OPERAND_STATS))
        writer.out().add_generate_stats(true);
    write_common(writer.out(), graph, node);
    return writer.out().Finish().Union();
}

flatbuffers::Offset<void> kiln::wire::write_attention_backward(Builder &builder,
                                                               const struct kiln_graph &graph,
                                                               const struct kiln_node &node)
{
    using Out = current::SdpaBackwardAttributesBuilder;
    OperandWriter<Out> writer(builder, graph, node);
    writer.put(KILN_OPERAND_Q, &Out::add_q_tensor_uid)
        .put(KILN_OPERAND_K, &Out::add_k_tensor_uid)
        .put(KILN_OPERAND_V, &Out::add_v_tensor_uid)
        .put(KILN_OPERAND_O, &Out::add_o_tensor_uid)
        .put(KILN_OPERAND_DO, &Out::add_do_tensor_uid)
        .put(KILN_OPERAND_STATS, &Out::add_stats_tensor_uid)
        .put(KILN_OPERAND_DQ, &Out::add_dq_tensor_uid)
        .put(KILN_OPERAND_DK, &Out::add_dk_tensor_uid)
        .put(KILN_OPERAND_DV, &Out::add_dv_tensor_uid)
        .put(KILN_OPERAND_SCALE, &Out::add_scale_tensor_uid)
        .put(KILN_OPERAND_ATTN_MASK, &Out::add_attn_mask_tensor_uid)
        .put(KILN_OPERAND_SEQ_LEN_Q, &Out::add_seq_len_q_tensor_uid)
        .put(KILN_OPERAND_SEQ_LEN_KV, &Out::add_seq_len_kv_tensor_uid)
        .put(KILN_OPERAND_DBIAS, &Out::add_dbias_tensor_uid);
    write_common(writer.out(), graph, node);
    return writer.out().Finish().Union();
}
