/* Resample nodes on the wire: reading and writing. Only the current layout has them. */
#include "compiler/graph/wire_resample.hpp"

#include "compiler/graph/wire_reading.hpp"

namespace {

using namespace kiln::wire;

/* Attributes that both directions have. */
template <typename Attributes>
void read_window(const Attributes &attributes, struct kiln_wire_resample *ret_resample)
{
    ret_resample->index = uid(attributes.index_tensor_uid());
    ret_resample->pre_padding = list(attributes.pre_padding());
    ret_resample->post_padding = list(attributes.post_padding());
    ret_resample->stride = list(attributes.stride());
    ret_resample->window = list(attributes.window());
    ret_resample->mode = number(attributes.resample_mode());
    ret_resample->padding_mode = number(attributes.padding_mode());
}

current::ResampleMode mode_of(const struct kiln_resample &resample)
{
    switch (resample.mode) {
    case KILN_POOLING_MEAN_OF_IMAGE:
        return current::ResampleMode_AVGPOOL_EXCLUDE_PADDING;
    case KILN_POOLING_MEAN_OF_WINDOW:
        return current::ResampleMode_AVGPOOL_INCLUDE_PADDING;
    default:
        return current::ResampleMode_MAXPOOL;
    }
}

/* The offsets of the vectors, which come before the table that names them. */
struct Window {
    using List = flatbuffers::Offset<flatbuffers::Vector<int64_t>>;
    List pre_padding, post_padding, stride, window;

    Window(Builder &builder, const struct kiln_resample &resample)
        : pre_padding(builder.CreateVector(resample.pre_padding, resample.spatial_count)),
          post_padding(builder.CreateVector(resample.post_padding, resample.spatial_count)),
          stride(builder.CreateVector(resample.stride, resample.spatial_count)),
          window(builder.CreateVector(resample.window, resample.spatial_count))
    {
    }

    template <typename Out> void add_to(Out &out, const struct kiln_resample &resample) const
    {
        out.add_pre_padding(pre_padding);
        out.add_post_padding(post_padding);
        out.add_stride(stride);
        out.add_window(window);
        out.add_resample_mode(mode_of(resample));
        out.add_padding_mode(resample.pads_zeros ? current::PaddingMode_ZERO_PAD
                                                 : current::PaddingMode_NEG_INF_PAD);
    }
};

} // namespace

void kiln::wire::read_resample_forward(const current::Node &node,
                                       struct kiln_wire_resample *ret_resample)
{
    const auto &attributes = *node.attributes_as_ResampleFwdAttributes();
    ret_resample->input = attributes.x_tensor_uid();
    ret_resample->output = attributes.y_tensor_uid();
    ret_resample->wants_index = attributes.generate_index().value_or(false);
    read_window(attributes, ret_resample);
}

void kiln::wire::read_resample_backward(const current::Node &node,
                                        struct kiln_wire_resample *ret_resample)
{
    const auto &attributes = *node.attributes_as_ResampleBwdAttributes();
    ret_resample->input = attributes.dy_tensor_uid();
    ret_resample->output = attributes.dx_tensor_uid();
    read_window(attributes, ret_resample);
}

flatbuffers::Offset<void> kiln::wire::write_resample_forward(Builder &builder,
                                                             const struct kiln_graph &graph,
                                                             const struct kiln_node &node)
{
    using Out = current::ResampleFwdAttributesBuilder;
    const Window window(builder, node.resample);
    OperandWriter<Out> writer(builder, graph, node);
    Out &out = writer.put(KILN_OPERAND_X, &Out::add_x_tensor_uid)
                   .put(KILN_OPERAND_Y, &Out::add_y_tensor_uid)
                   .put(KILN_OPERAND_INDEX, &Out::add_index_tensor_uid)
                   .out();
    window.add_to(out, node.resample);
    if (kiln_node_output(&node, KILN_OPERAND_INDEX) != KILN_NONE)
        out.add_generate_index(true);
    return out.Finish().Union();
}

flatbuffers::Offset<void> kiln::wire::write_resample_backward(Builder &builder,
                                                              const struct kiln_graph &graph,
                                                              const struct kiln_node &node)
{
    using Out = current::ResampleBwdAttributesBuilder;
    const Window window(builder, node.resample);
    OperandWriter<Out> writer(builder, graph, node);
    Out &out = writer.put(KILN_OPERAND_DY, &Out::add_dy_tensor_uid)
                   .put(KILN_OPERAND_DX, &Out::add_dx_tensor_uid)
                   .put(KILN_OPERAND_INDEX, &Out::add_index_tensor_uid)
                   .out();
    window.add_to(out, node.resample);
    return out.Finish().Union();
}
