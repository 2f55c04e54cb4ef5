/* Block-scale nodes on the wire: reading and writing. Only the current layout has them. */
#include "compiler/graph/wire_block_scale.hpp"

#include "compiler/graph/wire_reading.hpp"

void kiln::wire::read_dequantize(const current::Node &node,
                                 struct kiln_wire_dequantize *ret_dequantize)
{
    const auto &attributes = *node.attributes_as_BlockScaleDequantizeAttributes();
    const auto *blocks = attributes.block_size();
    ret_dequantize->x = attributes.x_tensor_uid();
    ret_dequantize->scale = attributes.scale_tensor_uid();
    ret_dequantize->y = attributes.y_tensor_uid();
    ret_dequantize->is_negative_scale = attributes.is_negative_scale();
    if (blocks == nullptr)
        return;
    ret_dequantize->blocks.count = blocks->size();
    for (uint32_t i = 0; i < std::min<uint32_t>(blocks->size(), KILN_MAX_RANK); i++)
        ret_dequantize->blocks.items[i] = load<int32_t>(blocks->Data() + i * sizeof(int32_t));
}

flatbuffers::Offset<void> kiln::wire::write_dequantize(Builder &builder,
                                                       const struct kiln_graph &graph,
                                                       const struct kiln_node &node)
{
    using Out = current::BlockScaleDequantizeAttributesBuilder;
    const struct kiln_block_scale &block_scale = node.block_scale;
    int32_t items[KILN_MAX_RANK];
    for (uint32_t i = 0; i < block_scale.block_count; i++)
        items[i] = static_cast<int32_t>(std::min<int64_t>(block_scale.blocks[i], INT32_MAX));
    const auto blocks = builder.CreateVector(items, block_scale.block_count);
    OperandWriter<Out> writer(builder, graph, node);
    Out &out = writer.put(KILN_OPERAND_X, &Out::add_x_tensor_uid)
                   .put(KILN_OPERAND_SCALE, &Out::add_scale_tensor_uid)
                   .put(KILN_OPERAND_Y, &Out::add_y_tensor_uid)
                   .out();
    out.add_block_size(blocks);
    out.add_is_negative_scale(block_scale.is_negative);
    return out.Finish().Union();
}
