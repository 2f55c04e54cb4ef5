/*
 * Writing graphs with FlatBuffers, in either layout.
 *
 * The library allocates as C++ does; its bad_alloc becomes KILN_NO_MEMORY here, so that no
 * exception crosses the C header.
 */
#include "compiler/graph/wire_writing.hpp"

#include "compiler/graph/ragged.h"
#include "compiler/graph/wire_block_quantize.hpp"
#include "compiler/graph/wire_block_scale.hpp"
#include "compiler/graph/wire_messages.h"
#include "compiler/graph/wire_resample.hpp"

#include <cmath>
#include <vector>

#include "compiler/graph/wire_grouped_matmul.hpp"

using namespace kiln::wire;

namespace {

enum kiln_status cannot_say(struct kiln_error *error, const char *what)
{
    return kiln_error_set(error, KILN_UNSUPPORTED, "%s cannot be written in this wire layout",
                          what);
}

/* hipDNN's number of a type, 0 when the era has none. */
uint8_t wire_type(enum kiln_dtype dtype, enum kiln_wire_era era)
{
    constexpr int last_nov2025_type = nov2025::DataType_INT32;
    int wire = kiln_dtype_info(dtype)->wire;
    if (era == KILN_WIRE_ERA_NOV2025 && wire > last_nov2025_type)
        return 0;
    return static_cast<uint8_t>(wire);
}

struct WireValue {
    uint8_t kind = KILN_WIRE_VALUE_NONE;
    flatbuffers::Offset<void> offset;
};

template <typename Struct, typename Value>
WireValue write_struct(Builder &builder, uint8_t kind, Value value)
{
    return {kind, builder.CreateStruct(Struct(value)).Union()};
}

/* In the kind that hipDNN's front end takes for the data type. */
WireValue write_value(Builder &builder, const struct kiln_tensor &tensor)
{
    const struct kiln_constant &constant = tensor.constant;
    const auto narrow = static_cast<float>(constant.real);
    uint8_t raw;
    switch (tensor.dtype) {
    case KILN_DTYPE_F32:
        return write_struct<current::Float32Value>(builder, KILN_WIRE_VALUE_FLOAT32, narrow);
    case KILN_DTYPE_F16:
        return write_struct<current::Float16Value>(builder, KILN_WIRE_VALUE_FLOAT16, narrow);
    case KILN_DTYPE_BF16:
        return write_struct<current::BFloat16Value>(builder, KILN_WIRE_VALUE_BFLOAT16, narrow);
    case KILN_DTYPE_F64:
        return write_struct<current::Float64Value>(builder, KILN_WIRE_VALUE_FLOAT64, constant.real);
    case KILN_DTYPE_U8:
    case KILN_DTYPE_F8E4M3:
    case KILN_DTYPE_F8E5M2:
    case KILN_DTYPE_F8E4M3FNUZ:
    case KILN_DTYPE_F8E5M2FNUZ:
    case KILN_DTYPE_E8M0:
        kiln_element_store(tensor.dtype, constant, &raw);
        return write_struct<current::Float8Value>(builder, KILN_WIRE_VALUE_FLOAT8, raw);
    case KILN_DTYPE_I8:
    case KILN_DTYPE_I32:
        return write_struct<current::Int32Value>(builder, KILN_WIRE_VALUE_INT32,
                                                 static_cast<int32_t>(constant.integer));
    case KILN_DTYPE_I64:
        return write_struct<current::Int64Value>(builder, KILN_WIRE_VALUE_INT64, constant.integer);
    case KILN_DTYPE_BOOL:
        return write_struct<current::BoolValue>(builder, KILN_WIRE_VALUE_BOOL,
                                                constant.integer != 0);
    default:
        return {};
    }
}

/* The largest length, and not what a ragged tensor is lowered with where that is 0. */
flatbuffers::Offset<flatbuffers::Vector<int64_t>> write_dims(Builder &builder,
                                                             const struct kiln_tensor &tensor)
{
    int64_t dims[KILN_MAX_RANK];
    for (uint32_t i = 0; i < tensor.rank; i++)
        dims[i] = tensor.dims[i];
    if (kiln_tensor_is_ragged(&tensor))
        dims[KILN_RAGGED_SEQUENCE] = tensor.ragged.longest;
    return builder.CreateVector(dims, tensor.rank);
}

/* Reading ignores the stride of a dim of size 1; 1 is what a dense tensor would have there. */
flatbuffers::Offset<flatbuffers::Vector<int64_t>> write_strides(Builder &builder,
                                                                const struct kiln_tensor &tensor)
{
    int64_t strides[KILN_MAX_RANK];
    for (uint32_t i = 0; i < tensor.rank; i++)
        strides[i] = tensor.dims[i] == 1 ? 1 : tensor.strides[i];
    if (kiln_tensor_is_ragged(&tensor))
        strides[KILN_RAGGED_SEQUENCE] = tensor.ragged.token;
    return builder.CreateVector(strides, tensor.rank);
}

void write_newer_fields(nov2025::TensorAttributesBuilder &, const struct kiln_graph &,
                        const struct kiln_tensor &)
{
}

void write_newer_fields(current::TensorAttributesBuilder &out, const struct kiln_graph &graph,
                        const struct kiln_tensor &tensor)
{
    if (kiln_tensor_is_ragged(&tensor)) {
        out.add_ragged_offset_tensor_uid(graph.tensors[tensor.ragged.offsets].uid);
        out.add_ragged_offset_multiplier(tensor.ragged.multiplier);
    }
    out.add_is_runtime_pass_by_value(tensor.role == KILN_TENSOR_HOST_SCALAR);
    out.add_alignment(tensor.alignment_bytes);
}

template <typename Era>
flatbuffers::Offset<typename Era::Tensor>
write_tensor(Builder &builder, const struct kiln_graph &graph, const struct kiln_tensor &tensor)
{
    WireValue value;
    if (tensor.role == KILN_TENSOR_CONSTANT)
        value = write_value(builder, tensor);
    auto name = builder.CreateString(tensor.name);
    auto dims = write_dims(builder, tensor);
    auto strides = write_strides(builder, tensor);
    typename Era::TensorBuilder out(builder);
    out.add_uid(tensor.uid);
    out.add_name(name);
    out.add_data_type(static_cast<typename Era::DataType>(wire_type(tensor.dtype, Era::era)));
    out.add_strides(strides);
    out.add_dims(dims);
    out.add_virtual_(tensor.role == KILN_TENSOR_VIRTUAL);
    if (value.kind != KILN_WIRE_VALUE_NONE) {
        out.add_value_type(static_cast<typename Era::TensorValue>(value.kind));
        out.add_value(value.offset);
    }
    write_newer_fields(out, graph, tensor);
    return out.Finish();
}

template <typename Out> void write_parameters(Out &out, const struct kiln_pointwise &pointwise)
{
    if (pointwise.has_relu_parameter) {
        out.add_relu_lower_clip(static_cast<float>(pointwise.relu_lower_clip));
        out.add_relu_lower_clip_slope(static_cast<float>(pointwise.relu_lower_clip_slope));
        if (!std::isinf(pointwise.relu_upper_clip))
            out.add_relu_upper_clip(static_cast<float>(pointwise.relu_upper_clip));
    }
    if (pointwise.mode == KILN_POINTWISE_GEN_INDEX)
        out.add_axis_tensor_uid(pointwise.axis);
    out.add_swish_beta(static_cast<float>(pointwise.swish_beta));
    out.add_elu_alpha(static_cast<float>(pointwise.elu_alpha));
    out.add_softplus_beta(static_cast<float>(pointwise.softplus_beta));
}

template <typename Era>
flatbuffers::Offset<typename Era::Pointwise>
write_pointwise(Builder &builder, const struct kiln_graph &graph, const struct kiln_node &node)
{
    typename Era::PointwiseBuilder out(builder);
    out.add_operation(static_cast<typename Era::PointwiseMode>(node.pointwise.mode));
    const bool swaps = kiln_pointwise_mode_info(node.pointwise.mode)->gradient &&
                       Era::era == KILN_WIRE_ERA_NOV2025;
    out.add_in_0_tensor_uid(graph.tensors[node.inputs[swaps ? 1 : 0]].uid);
    if (node.input_count > 1)
        out.add_in_1_tensor_uid(graph.tensors[node.inputs[swaps ? 0 : 1]].uid);
    if (node.input_count > 2)
        out.add_in_2_tensor_uid(graph.tensors[node.inputs[2]].uid);
    out.add_out_0_tensor_uid(graph.tensors[node.outputs[0]].uid);
    write_parameters(out, node.pointwise);
    return out.Finish();
}

template <typename Era>
flatbuffers::Offset<typename Era::BatchnormInference>
write_batchnorm_inference(Builder &builder, const struct kiln_graph &graph,
                          const struct kiln_node &node)
{
    using Out = typename Era::BatchnormInferenceBuilder;
    return OperandWriter<Out>(builder, graph, node)
        .put(KILN_OPERAND_X, &Out::add_x_tensor_uid)
        .put(KILN_OPERAND_MEAN, &Out::add_mean_tensor_uid)
        .put(KILN_OPERAND_VARIANCE, &Out::add_inv_variance_tensor_uid)
        .put(KILN_OPERAND_INV_VARIANCE, &Out::add_inv_variance_tensor_uid)
        .put(KILN_OPERAND_SCALE, &Out::add_scale_tensor_uid)
        .put(KILN_OPERAND_BIAS, &Out::add_bias_tensor_uid)
        .put(KILN_OPERAND_Y, &Out::add_y_tensor_uid)
        .out()
        .Finish();
}

flatbuffers::Offset<current::BatchnormInferenceAttributesVarianceExt>
write_batchnorm_inference_variance(Builder &builder, const struct kiln_graph &graph,
                                   const struct kiln_node &node)
{
    using Out = current::BatchnormInferenceAttributesVarianceExtBuilder;
    return OperandWriter<Out>(builder, graph, node)
        .put(KILN_OPERAND_X, &Out::add_x_tensor_uid)
        .put(KILN_OPERAND_MEAN, &Out::add_mean_tensor_uid)
        .put(KILN_OPERAND_VARIANCE, &Out::add_variance_tensor_uid)
        .put(KILN_OPERAND_SCALE, &Out::add_scale_tensor_uid)
        .put(KILN_OPERAND_BIAS, &Out::add_bias_tensor_uid)
        .put(KILN_OPERAND_Y, &Out::add_y_tensor_uid)
        .put(KILN_OPERAND_EPSILON, &Out::add_epsilon_tensor_uid)
        .out()
        .Finish();
}

template <typename Era>
flatbuffers::Offset<typename Era::BatchnormTraining>
write_batchnorm_training(Builder &builder, const struct kiln_graph &graph,
                         const struct kiln_node &node)
{
    using Out = typename Era::BatchnormTrainingBuilder;
    return OperandWriter<Out>(builder, graph, node)
        .put(KILN_OPERAND_X, &Out::add_x_tensor_uid)
        .put(KILN_OPERAND_SCALE, &Out::add_scale_tensor_uid)
        .put(KILN_OPERAND_BIAS, &Out::add_bias_tensor_uid)
        .put(KILN_OPERAND_EPSILON, &Out::add_epsilon_tensor_uid)
        .put(KILN_OPERAND_PREV_RUNNING_MEAN, &Out::add_prev_running_mean_tensor_uid)
        .put(KILN_OPERAND_PREV_RUNNING_VARIANCE, &Out::add_prev_running_variance_tensor_uid)
        .put(KILN_OPERAND_MOMENTUM, &Out::add_momentum_tensor_uid)
        .put(KILN_OPERAND_Y, &Out::add_y_tensor_uid)
        .put(KILN_OPERAND_MEAN, &Out::add_mean_tensor_uid)
        .put(KILN_OPERAND_INV_VARIANCE, &Out::add_inv_variance_tensor_uid)
        .put(KILN_OPERAND_NEXT_RUNNING_MEAN, &Out::add_next_running_mean_tensor_uid)
        .put(KILN_OPERAND_NEXT_RUNNING_VARIANCE, &Out::add_next_running_variance_tensor_uid)
        .out()
        .Finish();
}

template <typename Era>
flatbuffers::Offset<typename Era::BatchnormBackward>
write_batchnorm_backward(Builder &builder, const struct kiln_graph &graph,
                         const struct kiln_node &node)
{
    using Out = typename Era::BatchnormBackwardBuilder;
    return OperandWriter<Out>(builder, graph, node)
        .put(KILN_OPERAND_DY, &Out::add_dy_tensor_uid)
        .put(KILN_OPERAND_X, &Out::add_x_tensor_uid)
        .put(KILN_OPERAND_MEAN, &Out::add_mean_tensor_uid)
        .put(KILN_OPERAND_INV_VARIANCE, &Out::add_inv_variance_tensor_uid)
        .put(KILN_OPERAND_SCALE, &Out::add_scale_tensor_uid)
        .put(KILN_OPERAND_DX, &Out::add_dx_tensor_uid)
        .put(KILN_OPERAND_DSCALE, &Out::add_dscale_tensor_uid)
        .put(KILN_OPERAND_DBIAS, &Out::add_dbias_tensor_uid)
        .out()
        .Finish();
}

flatbuffers::Offset<current::ReductionAttributes>
write_reduction(Builder &builder, const struct kiln_graph &graph, const struct kiln_node &node)
{
    using Out = current::ReductionAttributesBuilder;
    OperandWriter<Out> writer(builder, graph, node);
    writer.put(KILN_OPERAND_IN, &Out::add_in_tensor_uid)
        .put(KILN_OPERAND_OUT, &Out::add_out_tensor_uid)
        .out()
        .add_mode(static_cast<current::ReductionMode>(node.reduction.mode));
    return writer.out().Finish();
}

flatbuffers::Offset<current::MatmulAttributes>
write_matmul(Builder &builder, const struct kiln_graph &graph, const struct kiln_node &node)
{
    using Out = current::MatmulAttributesBuilder;
    return OperandWriter<Out>(builder, graph, node)
        .put(KILN_OPERAND_A, &Out::add_a_tensor_uid)
        .put(KILN_OPERAND_B, &Out::add_b_tensor_uid)
        .put(KILN_OPERAND_C, &Out::add_c_tensor_uid)
        .out()
        .Finish();
}

/* Inference and training differ in their outputs only. */
current::NormFwdPhase forward_phase(const struct kiln_node &node, enum kiln_operand statistic)
{
    return static_cast<current::NormFwdPhase>(
        has_operand(node, statistic) ? KILN_WIRE_PHASE_TRAINING : KILN_WIRE_PHASE_INFERENCE);
}

flatbuffers::Offset<current::LayernormAttributes>
write_layernorm(Builder &builder, const struct kiln_graph &graph, const struct kiln_node &node)
{
    using Out = current::LayernormAttributesBuilder;
    OperandWriter<Out> writer(builder, graph, node);
    Out &out = writer.put(KILN_OPERAND_X, &Out::add_x_tensor_uid)
                   .put(KILN_OPERAND_SCALE, &Out::add_scale_tensor_uid)
                   .put(KILN_OPERAND_BIAS, &Out::add_bias_tensor_uid)
                   .put(KILN_OPERAND_EPSILON, &Out::add_epsilon_tensor_uid)
                   .put(KILN_OPERAND_Y, &Out::add_y_tensor_uid)
                   .put(KILN_OPERAND_MEAN, &Out::add_mean_tensor_uid)
                   .put(KILN_OPERAND_INV_VARIANCE, &Out::add_inv_variance_tensor_uid)
                   .out();
    out.add_normalized_dim_count(__builtin_popcount(node.normalization.axes));
    out.add_forward_phase(forward_phase(node, KILN_OPERAND_INV_VARIANCE));
    return out.Finish();
}

flatbuffers::Offset<current::LayernormBackwardAttributes>
write_layernorm_backward(Builder &builder, const struct kiln_graph &graph,
                         const struct kiln_node &node)
{
    using Out = current::LayernormBackwardAttributesBuilder;
    OperandWriter<Out> writer(builder, graph, node);
    Out &out = writer.put(KILN_OPERAND_DY, &Out::add_dy_tensor_uid)
                   .put(KILN_OPERAND_X, &Out::add_x_tensor_uid)
                   .put(KILN_OPERAND_SCALE, &Out::add_scale_tensor_uid)
                   .put(KILN_OPERAND_MEAN, &Out::add_mean_tensor_uid)
                   .put(KILN_OPERAND_INV_VARIANCE, &Out::add_inv_variance_tensor_uid)
                   .put(KILN_OPERAND_EPSILON, &Out::add_epsilon_tensor_uid)
                   .put(KILN_OPERAND_DX, &Out::add_dx_tensor_uid)
                   .put(KILN_OPERAND_DSCALE, &Out::add_dscale_tensor_uid)
                   .put(KILN_OPERAND_DBIAS, &Out::add_dbias_tensor_uid)
                   .out();
    out.add_normalized_dim_count(__builtin_popcount(node.normalization.axes));
    return out.Finish();
}

flatbuffers::Offset<current::RMSNormAttributes>
write_rmsnorm(Builder &builder, const struct kiln_graph &graph, const struct kiln_node &node)
{
    using Out = current::RMSNormAttributesBuilder;
    OperandWriter<Out> writer(builder, graph, node);
    Out &out = writer.put(KILN_OPERAND_X, &Out::add_x_tensor_uid)
                   .put(KILN_OPERAND_SCALE, &Out::add_scale_tensor_uid)
                   .put(KILN_OPERAND_EPSILON, &Out::add_epsilon_tensor_uid)
                   .put(KILN_OPERAND_Y, &Out::add_y_tensor_uid)
                   .put(KILN_OPERAND_BIAS, &Out::add_bias_tensor_uid)
                   .put(KILN_OPERAND_INV_RMS, &Out::add_inv_rms_tensor_uid)
                   .out();
    out.add_forward_phase(forward_phase(node, KILN_OPERAND_INV_RMS));
    return out.Finish();
}

flatbuffers::Offset<current::RMSNormBackwardAttributes>
write_rmsnorm_backward(Builder &builder, const struct kiln_graph &graph,
                       const struct kiln_node &node)
{
    using Out = current::RMSNormBackwardAttributesBuilder;
    return OperandWriter<Out>(builder, graph, node)
        .put(KILN_OPERAND_DY, &Out::add_dy_tensor_uid)
        .put(KILN_OPERAND_X, &Out::add_x_tensor_uid)
        .put(KILN_OPERAND_SCALE, &Out::add_scale_tensor_uid)
        .put(KILN_OPERAND_INV_RMS, &Out::add_inv_rms_tensor_uid)
        .put(KILN_OPERAND_DX, &Out::add_dx_tensor_uid)
        .put(KILN_OPERAND_DSCALE, &Out::add_dscale_tensor_uid)
        .put(KILN_OPERAND_DBIAS, &Out::add_dbias_tensor_uid)
        .out()
        .Finish();
}

void write_compute_type(nov2025::NodeBuilder &, enum kiln_dtype)
{
}

void write_compute_type(current::NodeBuilder &out, enum kiln_dtype dtype)
{
    out.add_compute_data_type(
        static_cast<current::DataType>(wire_type(dtype, KILN_WIRE_ERA_CURRENT)));
}

template <typename Era>
flatbuffers::Offset<typename Era::Node> write_node(Builder &builder, const struct kiln_graph &graph,
                                                   const struct kiln_node &node)
{
    flatbuffers::Offset<void> attributes;
    uint8_t type = kiln_node_wire_type(node.kind);
    switch (node.kind) {
    case KILN_NODE_POINTWISE:
        attributes = write_pointwise<Era>(builder, graph, node).Union();
        break;
    case KILN_NODE_BATCHNORM_INFERENCE:
        if (has_operand(node, KILN_OPERAND_EPSILON)) {
            type = KILN_WIRE_NODE_BATCHNORM_INFERENCE_VARIANCE;
            attributes = write_batchnorm_inference_variance(builder, graph, node).Union();
        } else {
            attributes = write_batchnorm_inference<Era>(builder, graph, node).Union();
        }
        break;
    case KILN_NODE_BATCHNORM_TRAINING:
        attributes = write_batchnorm_training<Era>(builder, graph, node).Union();
        break;
    case KILN_NODE_BATCHNORM_BACKWARD:
        attributes = write_batchnorm_backward<Era>(builder, graph, node).Union();
        break;
    case KILN_NODE_REDUCTION:
        attributes = write_reduction(builder, graph, node).Union();
        break;
    case KILN_NODE_LAYERNORM:
        attributes = write_layernorm(builder, graph, node).Union();
        break;
    case KILN_NODE_LAYERNORM_BACKWARD:
        attributes = write_layernorm_backward(builder, graph, node).Union();
        break;
    case KILN_NODE_RMSNORM:
        attributes = write_rmsnorm(builder, graph, node).Union();
        break;
    case KILN_NODE_RMSNORM_BACKWARD:
        attributes = write_rmsnorm_backward(builder, graph, node).Union();
        break;
    case KILN_NODE_GROUPED_MATMUL:
        attributes = write_grouped_matmul(builder, graph, node);
        break;
    case KILN_NODE_GROUPED_MATMUL_BACKWARD:
        attributes = write_grouped_matmul_backward(builder, graph, node);
        break;
    case KILN_NODE_MATMUL:
        attributes = write_matmul(builder, graph, node).Union();
        break;
    case KILN_NODE_CONVOLUTION_FORWARD:
    case KILN_NODE_CONVOLUTION_DATA_GRADIENT:
    case KILN_NODE_CONVOLUTION_WEIGHT_GRADIENT:
        attributes = write_convolution(builder, Era::era, graph, node);
        break;
    case KILN_NODE_ATTENTION:
        attributes = write_attention(builder, graph, node);
        break;
    case KILN_NODE_ATTENTION_BACKWARD:
        attributes = write_attention_backward(builder, graph, node);
        break;
    case KILN_NODE_RESAMPLE_FORWARD:
        attributes = write_resample_forward(builder, graph, node);
        break;
    case KILN_NODE_BLOCK_SCALE_QUANTIZE:
        attributes = write_block_quantize(builder, graph, node);
        break;
    case KILN_NODE_BLOCK_SCALE_DEQUANTIZE:
        attributes = write_dequantize(builder, graph, node);
        break;
    case KILN_NODE_RESAMPLE_BACKWARD:
        attributes = write_resample_backward(builder, graph, node);
        break;
    case KILN_NODE_KIND_COUNT:
        break;
    }
    auto name = builder.CreateString(node.name);
    typename Era::NodeBuilder out(builder);
    out.add_name(name);
    write_compute_type(out, node.compute_type);
    out.add_attributes_type(static_cast<typename Era::NodeAttributes>(type));
    out.add_attributes(attributes);
    return out.Finish();
}

void write_graph_type(nov2025::GraphBuilder &out, uint8_t compute_type)
{
    out.add_compute_type(static_cast<nov2025::DataType>(compute_type));
}

void write_graph_type(current::GraphBuilder &out, uint8_t compute_type)
{
    out.add_compute_data_type(static_cast<current::DataType>(compute_type));
}

void write_overrides(nov2025::GraphBuilder &, bool)
{
}

void write_overrides(current::GraphBuilder &out, bool takes_overrides)
{
    out.add_is_override_shape_enabled(takes_overrides);
}

/* Batchnorm inference's third input has one meaning in each layout; the current one has another
 * kind of node for a variance, whose epsilon is an operand. */
bool is_node_expressible(const struct kiln_node &node, enum kiln_wire_era era)
{
    const bool has_variance = has_operand(node, KILN_OPERAND_VARIANCE);
    const bool has_epsilon = has_operand(node, KILN_OPERAND_EPSILON);
    if (node.kind != KILN_NODE_BATCHNORM_INFERENCE)
        return kiln_wire_node_text(kiln_node_wire_type(node.kind), era) != nullptr;
    return era == KILN_WIRE_ERA_NOV2025 ? has_variance && !has_epsilon
                                        : has_variance == has_epsilon;
}

enum kiln_status check_expressible(const struct kiln_graph &graph, enum kiln_wire_era era,
                                   struct kiln_error *error)
{
    const bool is_old = era == KILN_WIRE_ERA_NOV2025;
    if (is_old && graph.takes_overrides)
        return cannot_say(error, "override shapes");
    for (uint32_t i = 0; i < graph.tensor_count; i++) {
        const struct kiln_tensor &tensor = graph.tensors[i];
        const bool has_memory =
            tensor.role == KILN_TENSOR_INPUT || tensor.role == KILN_TENSOR_OUTPUT;
        if (wire_type(tensor.dtype, era) == 0)
            return cannot_say(error, kiln_dtype_info(tensor.dtype)->text);
        if (is_old && tensor.role == KILN_TENSOR_HOST_SCALAR)
            return cannot_say(error, "a host scalar");
        if (is_old && kiln_tensor_is_ragged(&tensor))
            return cannot_say(error, "a ragged tensor");
        if (is_old && has_memory && tensor.alignment_bytes != default_alignment_bytes)
            return cannot_say(error, "an alignment");
    }
    for (uint32_t i = 0; i < graph.node_count; i++) {
        if (wire_type(graph.nodes[i].compute_type, era) == 0)
            return cannot_say(error, kiln_dtype_info(graph.nodes[i].compute_type)->text);
        if (is_old && graph.nodes[i].compute_type != graph.nodes[0].compute_type)
            return cannot_say(error, "a compute type per node");
        if (!is_node_expressible(graph.nodes[i], era))
            return cannot_say(error, kiln_node_operation(&graph.nodes[i]));
    }
    return KILN_OK;
}

template <typename Era> void write_graph(Builder &builder, const struct kiln_graph &graph)
{
    std::vector<flatbuffers::Offset<typename Era::Tensor>> tensors;
    std::vector<flatbuffers::Offset<typename Era::Node>> nodes;
    for (uint32_t i = 0; i < graph.tensor_count; i++)
        tensors.push_back(write_tensor<Era>(builder, graph, graph.tensors[i]));
    for (uint32_t i = 0; i < graph.node_count; i++)
        nodes.push_back(write_node<Era>(builder, graph, graph.nodes[i]));
    auto name = builder.CreateString(graph.name);
    auto tensor_list = builder.CreateVector(tensors);
    auto node_list = builder.CreateVector(nodes);
    typename Era::GraphBuilder out(builder);
    out.add_name(name);
    if (graph.node_count != 0)
        write_graph_type(out, wire_type(graph.nodes[0].compute_type, Era::era));
    out.add_tensors(tensor_list);
    out.add_nodes(node_list);
    write_overrides(out, graph.takes_overrides);
    builder.Finish(out.Finish());
}

} // namespace

extern "C" enum kiln_status kiln_graph_write(const struct kiln_graph *graph, enum kiln_wire_era era,
                                             struct kiln_buffer *buffer, struct kiln_error *error)
{
    enum kiln_status status = check_expressible(*graph, era, error);
    if (status != KILN_OK)
        return status;
    return guard(error, [&] {
        Builder builder;
        if (era == KILN_WIRE_ERA_NOV2025)
            write_graph<Nov2025>(builder, *graph);
        else
            write_graph<Current>(builder, *graph);
        return finish(builder, buffer, error);
    });
}
