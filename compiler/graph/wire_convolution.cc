/* Convolutions and their gradients on the wire, in either layout: reading and writing. */
#include "compiler/graph/wire_reading.hpp"
#include "compiler/graph/wire_writing.hpp"

using namespace kiln::wire;

namespace {

/* What the three directions have in common. */
template <typename Attributes>
void read_convolution_parameters(const Attributes &attributes,
                                 struct kiln_wire_convolution *ret_convolution)
{
    ret_convolution->pre_padding = list(attributes.pre_padding());
    ret_convolution->post_padding = list(attributes.post_padding());
    ret_convolution->stride = list(attributes.stride());
    ret_convolution->dilation = list(attributes.dilation());
    ret_convolution->mode = number(attributes.conv_mode());
}

template <typename Attributes>
void read_convolution_forward(const Attributes &attributes,
                              struct kiln_wire_convolution *ret_convolution)
{
    ret_convolution->operands[0] = attributes.x_tensor_uid();
    ret_convolution->operands[1] = attributes.w_tensor_uid();
    ret_convolution->operands[2] = attributes.y_tensor_uid();
    read_convolution_parameters(attributes, ret_convolution);
}

template <typename Attributes>
void read_convolution_data_gradient(const Attributes &attributes,
                                    struct kiln_wire_convolution *ret_convolution)
{
    ret_convolution->operands[0] = attributes.dy_tensor_uid();
    ret_convolution->operands[1] = attributes.w_tensor_uid();
    ret_convolution->operands[2] = attributes.dx_tensor_uid();
    read_convolution_parameters(attributes, ret_convolution);
}

template <typename Attributes>
void read_convolution_weight_gradient(const Attributes &attributes,
                                      struct kiln_wire_convolution *ret_convolution)
{
    ret_convolution->operands[0] = attributes.x_tensor_uid();
    ret_convolution->operands[1] = attributes.dy_tensor_uid();
    ret_convolution->operands[2] = attributes.dw_tensor_uid();
    read_convolution_parameters(attributes, ret_convolution);
}

template <typename Node> void read_direction(const Node &node, struct kiln_wire_node *ret_node)
{
    switch (ret_node->attributes_type) {
    case KILN_WIRE_NODE_CONVOLUTION_FORWARD:
        read_convolution_forward(*node.attributes_as_ConvolutionFwdAttributes(),
                                 &ret_node->convolution);
        break;
    case KILN_WIRE_NODE_CONVOLUTION_DATA_GRADIENT:
        read_convolution_data_gradient(*node.attributes_as_ConvolutionBwdAttributes(),
                                       &ret_node->convolution);
        break;
    default:
        read_convolution_weight_gradient(*node.attributes_as_ConvolutionWrwAttributes(),
                                         &ret_node->convolution);
        break;
    }
}

using List = flatbuffers::Offset<flatbuffers::Vector<int64_t>>;

/* Vectors of a convolution's parameters. Made before the table that names them. */
struct ConvolutionLists {
    List pre_padding, post_padding, stride, dilation;

    ConvolutionLists(Builder &builder, const struct kiln_convolution &convolution)
        : pre_padding(builder.CreateVector(convolution.pre_padding, convolution.spatial_count)),
          post_padding(builder.CreateVector(convolution.post_padding, convolution.spatial_count)),
          stride(builder.CreateVector(convolution.stride, convolution.spatial_count)),
          dilation(builder.CreateVector(convolution.dilation, convolution.spatial_count))
    {
    }
};

/* The fields behind the operands, and the end of the table. */
template <typename Era, typename Out>
flatbuffers::Offset<void> finish_convolution(Out &out, const ConvolutionLists &lists,
                                             const struct kiln_convolution &convolution)
{
    out.add_pre_padding(lists.pre_padding);
    out.add_post_padding(lists.post_padding);
    out.add_stride(lists.stride);
    out.add_dilation(lists.dilation);
    out.add_conv_mode(static_cast<typename Era::ConvMode>(
        convolution.is_flipped ? KILN_WIRE_CONVOLUTION_FLIPPED
                               : KILN_WIRE_CONVOLUTION_CROSS_CORRELATION));
    return out.Finish().Union();
}

template <typename Era>
flatbuffers::Offset<void> write_convolution_forward(Builder &builder,
                                                    const struct kiln_graph &graph,
                                                    const struct kiln_node &node)
{
    using Out = typename Era::ConvolutionForwardBuilder;
    const ConvolutionLists lists(builder, node.convolution);
    OperandWriter<Out> writer(builder, graph, node);
    writer.put(KILN_OPERAND_X, &Out::add_x_tensor_uid)
        .put(KILN_OPERAND_W, &Out::add_w_tensor_uid)
        .put(KILN_OPERAND_Y, &Out::add_y_tensor_uid);
    return finish_convolution<Era>(writer.out(), lists, node.convolution);
}

template <typename Era>
flatbuffers::Offset<void> write_convolution_data_gradient(Builder &builder,
                                                          const struct kiln_graph &graph,
                                                          const struct kiln_node &node)
{
    using Out = typename Era::ConvolutionDataGradientBuilder;
    const ConvolutionLists lists(builder, node.convolution);
    OperandWriter<Out> writer(builder, graph, node);
    writer.put(KILN_OPERAND_DY, &Out::add_dy_tensor_uid)
        .put(KILN_OPERAND_W, &Out::add_w_tensor_uid)
        .put(KILN_OPERAND_DX, &Out::add_dx_tensor_uid);
    return finish_convolution<Era>(writer.out(), lists, node.convolution);
}

template <typename Era>
flatbuffers::Offset<void> write_convolution_weight_gradient(Builder &builder,
                                                            const struct kiln_graph &graph,
                                                            const struct kiln_node &node)
{
    using Out = typename Era::ConvolutionWeightGradientBuilder;
    const ConvolutionLists lists(builder, node.convolution);
    OperandWriter<Out> writer(builder, graph, node);
    writer.put(KILN_OPERAND_X, &Out::add_x_tensor_uid)
        .put(KILN_OPERAND_DY, &Out::add_dy_tensor_uid)
        .put(KILN_OPERAND_DW, &Out::add_dw_tensor_uid);
    return finish_convolution<Era>(writer.out(), lists, node.convolution);
}

template <typename Era>
flatbuffers::Offset<void> write_direction(Builder &builder, const struct kiln_graph &graph,
                                          const struct kiln_node &node)
{
    switch (node.kind) {
    case KILN_NODE_CONVOLUTION_DATA_GRADIENT:
        return write_convolution_data_gradient<Era>(builder, graph, node);
    case KILN_NODE_CONVOLUTION_WEIGHT_GRADIENT:
        return write_convolution_weight_gradient<Era>(builder, graph, node);
    default:
        return write_convolution_forward<Era>(builder, graph, node);
    }
}

} // namespace

void kiln::wire::read_convolution(const nov2025::Node &node, struct kiln_wire_node *ret_node)
{
    read_direction(node, ret_node);
}

void kiln::wire::read_convolution(const current::Node &node, struct kiln_wire_node *ret_node)
{
    read_direction(node, ret_node);
}

flatbuffers::Offset<void> kiln::wire::write_convolution(Builder &builder, enum kiln_wire_era era,
                                                        const struct kiln_graph &graph,
                                                        const struct kiln_node &node)
{
    if (era == KILN_WIRE_ERA_NOV2025)
        return write_direction<Nov2025>(builder, graph, node);
    return write_direction<Current>(builder, graph, node);
}
