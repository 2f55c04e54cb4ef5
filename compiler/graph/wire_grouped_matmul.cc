/* Grouped matrix products on the wire: reading and writing. Only the current layout has them. */
#include "compiler/graph/wire_grouped_matmul.hpp"

#include "compiler/graph/wire_reading.hpp"

void kiln::wire::read_grouped_matmul(const current::Node &node,
                                     struct kiln_wire_grouped_matmul *ret_grouped)
{
    const auto &attributes = *node.attributes_as_MoeGroupedMatmulAttributes();
    struct kiln_wire_uid *operands = ret_grouped->operands;
    operands[KILN_OPERAND_TOKEN] = uid(attributes.token_tensor_uid());
    operands[KILN_OPERAND_WEIGHT] = uid(attributes.weight_tensor_uid());
    operands[KILN_OPERAND_FIRST_TOKEN_OFFSET] = uid(attributes.first_token_offset_tensor_uid());
    operands[KILN_OPERAND_TOKEN_INDEX] = uid(attributes.token_index_tensor_uid());
    operands[KILN_OPERAND_TOKEN_KS] = uid(attributes.token_ks_tensor_uid());
    operands[KILN_OPERAND_OUTPUT] = uid(attributes.output_tensor_uid());
    ret_grouped->mode = number(attributes.mode());
    ret_grouped->top_k = attributes.top_k();
}

void kiln::wire::read_grouped_matmul_backward(const current::Node &node,
                                              struct kiln_wire_grouped_matmul *ret_grouped)
{
    const auto &attributes = *node.attributes_as_MoeGroupedMatmulBwdAttributes();
    struct kiln_wire_uid *operands = ret_grouped->operands;
    operands[KILN_OPERAND_DOUTPUT] = uid(attributes.doutput_tensor_uid());
    operands[KILN_OPERAND_TOKEN] = uid(attributes.token_tensor_uid());
    operands[KILN_OPERAND_FIRST_TOKEN_OFFSET] = uid(attributes.first_token_offset_tensor_uid());
    operands[KILN_OPERAND_DWEIGHT] = uid(attributes.dweight_tensor_uid());
}

flatbuffers::Offset<void> kiln::wire::write_grouped_matmul(Builder &builder,
                                                           const struct kiln_graph &graph,
                                                           const struct kiln_node &node)
{
    using Out = current::MoeGroupedMatmulAttributesBuilder;
    OperandWriter<Out> writer(builder, graph, node);
    Out &out = writer.put(KILN_OPERAND_TOKEN, &Out::add_token_tensor_uid)
                   .put(KILN_OPERAND_WEIGHT, &Out::add_weight_tensor_uid)
                   .put(KILN_OPERAND_FIRST_TOKEN_OFFSET, &Out::add_first_token_offset_tensor_uid)
                   .put(KILN_OPERAND_TOKEN_INDEX, &Out::add_token_index_tensor_uid)
                   .put(KILN_OPERAND_TOKEN_KS, &Out::add_token_ks_tensor_uid)
                   .put(KILN_OPERAND_OUTPUT, &Out::add_output_tensor_uid)
                   .out();
    out.add_mode(static_cast<current::MoeMode>(node.grouped_matmul.mode));
    out.add_top_k(static_cast<int32_t>(node.grouped_matmul.top_k));
    return out.Finish().Union();
}

flatbuffers::Offset<void> kiln::wire::write_grouped_matmul_backward(Builder &builder,
                                                                    const struct kiln_graph &graph,
                                                                    const struct kiln_node &node)
{
    using Out = current::MoeGroupedMatmulBwdAttributesBuilder;
    return OperandWriter<Out>(builder, graph, node)
        .put(KILN_OPERAND_DOUTPUT, &Out::add_doutput_tensor_uid)
        .put(KILN_OPERAND_TOKEN, &Out::add_token_tensor_uid)
        .put(KILN_OPERAND_FIRST_TOKEN_OFFSET, &Out::add_first_token_offset_tensor_uid)
        .put(KILN_OPERAND_DWEIGHT, &Out::add_dweight_tensor_uid)
        .out()
        .Finish()
        .Union();
}
