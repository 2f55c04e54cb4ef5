/* Block-scale quantisation on the wire: reading and writing. Only the current layout has it. */
#include "compiler/graph/wire_block_quantize.hpp"

#include "compiler/graph/wire_reading.hpp"

void kiln::wire::read_block_quantize(const current::Node &node,
                                     struct kiln_wire_block_quantize *ret_quantize)
{
    const auto &attributes = *node.attributes_as_BlockScaleQuantizeAttributes();
    ret_quantize->x = attributes.x_tensor_uid();
    ret_quantize->y = attributes.y_tensor_uid();
    ret_quantize->scale = attributes.scale_tensor_uid();
    ret_quantize->block_size = attributes.block_size();
    ret_quantize->axis = uid(attributes.axis());
    ret_quantize->transposes = attributes.transpose();
}

flatbuffers::Offset<void> kiln::wire::write_block_quantize(Builder &builder,
                                                           const struct kiln_graph &graph,
                                                           const struct kiln_node &node)
{
    using Out = current::BlockScaleQuantizeAttributesBuilder;
    OperandWriter<Out> writer(builder, graph, node);
    Out &out = writer.put(KILN_OPERAND_X, &Out::add_x_tensor_uid)
                   .put(KILN_OPERAND_Y, &Out::add_y_tensor_uid)
                   .put(KILN_OPERAND_SCALE, &Out::add_scale_tensor_uid)
                   .out();
    out.add_block_size(static_cast<int32_t>(node.block_quantize.block_size));
    out.add_axis(node.block_quantize.axis);
    return out.Finish().Union();
}
