/*
 * Reading graphs with FlatBuffers: era, verification, and the C form of wire_graph.h.
 *
 * All memory comes from the arena; nothing here allocates or throws as C++ does.
 */
#include "compiler/graph/wire_reading.hpp"

#include "compiler/graph/graph_reader.h"
#include "compiler/graph/wire_block_quantize.hpp"
#include "compiler/graph/wire_block_scale.hpp"
#include "compiler/graph/wire_resample.hpp"

#include "compiler/graph/wire_grouped_matmul.hpp"

#include <algorithm>

using namespace kiln::wire;

namespace {

enum kiln_status reject(struct kiln_error *error, enum kiln_reject_reason reason, const char *text)
{
    kiln_error_set(error, KILN_REJECTED, "%s", text);
    error->reject_reason = reason;
    return KILN_REJECTED;
}

/*
 * What has to be known before verification, read with bounds checks of its own: the counts, so that
 * verification costs no more than the limits allow, and the first node's vtable, which tells the
 * era.
 */
struct Outline {
    uint32_t tensor_count = 0;
    uint32_t node_count = 0;
    uint32_t node_vtable_bytes = 0;
};

class RawBytes {
  public:
    RawBytes(const uint8_t *bytes, size_t size) : bytes_(bytes), size_(size)
    {
    }

    bool read_u16(uint64_t position, uint16_t *ret_value) const
    {
        return read(position, ret_value);
    }

    bool read_u32(uint64_t position, uint32_t *ret_value) const
    {
        return read(position, ret_value);
    }

    /* Where the vtable of the table at `table` is. */
    bool find_vtable(uint64_t table, uint64_t *ret_vtable) const
    {
        int32_t distance;
        if (!read(table, &distance))
            return false;
        int64_t vtable = static_cast<int64_t>(table) - distance;
        if (vtable < 0)
            return false;
        *ret_vtable = static_cast<uint64_t>(vtable);
        return true;
    }

    /* Where the vector in a field of a table is; 0 when the field is absent. */
    bool find_vector(uint64_t table, uint64_t vtable, uint16_t field, uint64_t *ret_vector) const
    {
        uint16_t vtable_bytes;
        uint16_t offset = 0;
        uint32_t distance;
        if (!read_u16(vtable, &vtable_bytes))
            return false;
        if (field + sizeof offset <= vtable_bytes && !read_u16(vtable + field, &offset))
            return false;
        if (offset == 0) {
            *ret_vector = 0;
            return true;
        }
        if (!read_u32(table + offset, &distance))
            return false;
        *ret_vector = table + offset + distance;
        return true;
    }

  private:
    template <typename T> bool read(uint64_t position, T *ret_value) const
    {
        if (position > size_ || size_ - position < sizeof(T))
            return false;
        *ret_value = load<T>(bytes_ + position);
        return true;
    }

    const uint8_t *bytes_;
    size_t size_;
};

bool read_outline(const uint8_t *bytes, size_t size, Outline *ret_outline)
{
    static_assert(+current::Graph::VT_NODES == +nov2025::Graph::VT_NODES &&
                  +current::Graph::VT_TENSORS == +nov2025::Graph::VT_TENSORS);
    const RawBytes raw(bytes, size);
    Outline outline;
    uint32_t root;
    uint64_t vtable, tensors, nodes;
    if (!raw.read_u32(0, &root) || !raw.find_vtable(root, &vtable) ||
        !raw.find_vector(root, vtable, current::Graph::VT_TENSORS, &tensors) ||
        !raw.find_vector(root, vtable, current::Graph::VT_NODES, &nodes) ||
        (tensors != 0 && !raw.read_u32(tensors, &outline.tensor_count)) ||
        (nodes != 0 && !raw.read_u32(nodes, &outline.node_count)))
        return false;
    if (outline.node_count != 0) {
        uint64_t first = nodes + sizeof(uint32_t);
        uint32_t distance;
        uint16_t vtable_bytes;
        if (!raw.read_u32(first, &distance) || !raw.find_vtable(first + distance, &vtable) ||
            !raw.read_u16(vtable, &vtable_bytes))
            return false;
        outline.node_vtable_bytes = vtable_bytes;
    }
    *ret_outline = outline;
    return true;
}

uint32_t count(const flatbuffers::Vector<int64_t> *list)
{
    return list != nullptr ? list->size() : 0;
}

/* The kinds that both eras have; their structs have the same layout in both. */
bool read_common_value(uint8_t kind, const void *value, struct kiln_wire_tensor *ret_tensor)
{
    switch (kind) {
    case KILN_WIRE_VALUE_FLOAT32:
    case KILN_WIRE_VALUE_FLOAT16:
    case KILN_WIRE_VALUE_BFLOAT16:
        ret_tensor->real =
            static_cast<double>(static_cast<const current::Float32Value *>(value)->value());
        return true;
    case KILN_WIRE_VALUE_FLOAT8:
        ret_tensor->integer = static_cast<const current::Float8Value *>(value)->value();
        return true;
    case KILN_WIRE_VALUE_INT32:
        ret_tensor->integer = static_cast<const current::Int32Value *>(value)->value();
        return true;
    case KILN_WIRE_VALUE_FLOAT64:
        ret_tensor->real = static_cast<const current::Float64Value *>(value)->value();
        return true;
    default:
        return false;
    }
}

bool read_value(const nov2025::TensorAttributes &tensor, struct kiln_wire_tensor *ret_tensor)
{
    return read_common_value(number(tensor.value_type()), tensor.value(), ret_tensor);
}

bool read_value(const current::TensorAttributes &tensor, struct kiln_wire_tensor *ret_tensor)
{
    const void *value = tensor.value();
    switch (number(tensor.value_type())) {
    case KILN_WIRE_VALUE_INT64:
        ret_tensor->integer = static_cast<const current::Int64Value *>(value)->value();
        return true;
    case KILN_WIRE_VALUE_BOOL:
        ret_tensor->integer = static_cast<const current::BoolValue *>(value)->value();
        return true;
    default:
        return read_common_value(number(tensor.value_type()), value, ret_tensor);
    }
}

void read_newer_fields(const nov2025::TensorAttributes &, struct kiln_wire_tensor *ret_tensor)
{
    ret_tensor->alignment_bytes = default_alignment_bytes;
    ret_tensor->ragged_multiplier = 1;
}

void read_newer_fields(const current::TensorAttributes &tensor, struct kiln_wire_tensor *ret_tensor)
{
    ret_tensor->is_runtime_scalar = tensor.is_runtime_pass_by_value();
    ret_tensor->ragged_offsets.present = tensor.ragged_offset_tensor_uid().has_value();
    ret_tensor->ragged_offsets.uid = tensor.ragged_offset_tensor_uid().value_or(0);
    ret_tensor->ragged_multiplier = tensor.ragged_offset_multiplier();
    ret_tensor->alignment_bytes = tensor.alignment();
}

/* A value of a kind that the era does not know was not verified and is not touched. */
template <typename Tensor>
void read_tensor(const Tensor &tensor, struct kiln_wire_tensor *ret_tensor)
{
    ret_tensor->uid = tensor.uid();
    ret_tensor->name = text(tensor.name());
    ret_tensor->data_type = number(tensor.data_type());
    ret_tensor->is_virtual = tensor.virtual_();
    ret_tensor->has_dims = tensor.dims() != nullptr;
    ret_tensor->dim_count = read_list(tensor.dims(), ret_tensor->dims);
    ret_tensor->stride_count = read_list(tensor.strides(), ret_tensor->strides);
    read_newer_fields(tensor, ret_tensor);
    ret_tensor->value_kind = number(tensor.value_type());
    ret_tensor->is_value_known = tensor.value() != nullptr && read_value(tensor, ret_tensor);
}

template <typename Pointwise>
void read_pointwise(const Pointwise &pointwise, struct kiln_wire_pointwise *ret_pointwise)
{
    ret_pointwise->mode = number(pointwise.operation());
    ret_pointwise->in_0 = pointwise.in_0_tensor_uid();
    ret_pointwise->in_1 = uid(pointwise.in_1_tensor_uid());
    ret_pointwise->in_2 = uid(pointwise.in_2_tensor_uid());
    ret_pointwise->out_0 = pointwise.out_0_tensor_uid();
    ret_pointwise->axis = uid(pointwise.axis_tensor_uid());
    ret_pointwise->relu_lower_clip = real(pointwise.relu_lower_clip());
    ret_pointwise->relu_upper_clip = real(pointwise.relu_upper_clip());
    ret_pointwise->relu_lower_clip_slope = real(pointwise.relu_lower_clip_slope());
    ret_pointwise->swish_beta = real(pointwise.swish_beta());
    ret_pointwise->elu_alpha = real(pointwise.elu_alpha());
    ret_pointwise->softplus_beta = real(pointwise.softplus_beta());
}

template <typename Attributes>
void read_batchnorm_inference(const Attributes &attributes,
                              struct kiln_wire_normalization *ret_batchnorm)
{
    struct kiln_wire_uid *operands = ret_batchnorm->operands;
    operands[KILN_OPERAND_X] = uid(attributes.x_tensor_uid());
    operands[KILN_OPERAND_MEAN] = uid(attributes.mean_tensor_uid());
    operands[KILN_OPERAND_INV_VARIANCE] = uid(attributes.inv_variance_tensor_uid());
    operands[KILN_OPERAND_SCALE] = uid(attributes.scale_tensor_uid());
    operands[KILN_OPERAND_BIAS] = uid(attributes.bias_tensor_uid());
    operands[KILN_OPERAND_Y] = uid(attributes.y_tensor_uid());
}

template <typename Attributes>
void read_batchnorm_backward(const Attributes &attributes,
                             struct kiln_wire_normalization *ret_batchnorm)
{
    struct kiln_wire_uid *operands = ret_batchnorm->operands;
    operands[KILN_OPERAND_DY] = uid(attributes.dy_tensor_uid());
    operands[KILN_OPERAND_X] = uid(attributes.x_tensor_uid());
    operands[KILN_OPERAND_MEAN] = uid(attributes.mean_tensor_uid());
    operands[KILN_OPERAND_INV_VARIANCE] = uid(attributes.inv_variance_tensor_uid());
    operands[KILN_OPERAND_SCALE] = uid(attributes.scale_tensor_uid());
    operands[KILN_OPERAND_DX] = uid(attributes.dx_tensor_uid());
    operands[KILN_OPERAND_DSCALE] = uid(attributes.dscale_tensor_uid());
    operands[KILN_OPERAND_DBIAS] = uid(attributes.dbias_tensor_uid());
    ret_batchnorm->peer_count = count(attributes.peer_stats_tensor_uid());
}

template <typename Attributes>
void read_batchnorm_training(const Attributes &attributes,
                             struct kiln_wire_normalization *ret_batchnorm)
{
    struct kiln_wire_uid *operands = ret_batchnorm->operands;
    operands[KILN_OPERAND_X] = uid(attributes.x_tensor_uid());
    operands[KILN_OPERAND_SCALE] = uid(attributes.scale_tensor_uid());
    operands[KILN_OPERAND_BIAS] = uid(attributes.bias_tensor_uid());
    operands[KILN_OPERAND_EPSILON] = uid(attributes.epsilon_tensor_uid());
    operands[KILN_OPERAND_PREV_RUNNING_MEAN] = uid(attributes.prev_running_mean_tensor_uid());
    operands[KILN_OPERAND_PREV_RUNNING_VARIANCE] =
        uid(attributes.prev_running_variance_tensor_uid());
    operands[KILN_OPERAND_MOMENTUM] = uid(attributes.momentum_tensor_uid());
    operands[KILN_OPERAND_Y] = uid(attributes.y_tensor_uid());
    operands[KILN_OPERAND_MEAN] = uid(attributes.mean_tensor_uid());
    operands[KILN_OPERAND_INV_VARIANCE] = uid(attributes.inv_variance_tensor_uid());
    operands[KILN_OPERAND_NEXT_RUNNING_MEAN] = uid(attributes.next_running_mean_tensor_uid());
    operands[KILN_OPERAND_NEXT_RUNNING_VARIANCE] =
        uid(attributes.next_running_variance_tensor_uid());
    ret_batchnorm->peer_count = count(attributes.peer_stats_tensor_uid());
}

void read_batchnorm_inference_variance(
    const current::BatchnormInferenceAttributesVarianceExt &attributes,
    struct kiln_wire_normalization *ret_batchnorm)
{
    struct kiln_wire_uid *operands = ret_batchnorm->operands;
    operands[KILN_OPERAND_X] = uid(attributes.x_tensor_uid());
    operands[KILN_OPERAND_MEAN] = uid(attributes.mean_tensor_uid());
    operands[KILN_OPERAND_VARIANCE] = uid(attributes.variance_tensor_uid());
    operands[KILN_OPERAND_SCALE] = uid(attributes.scale_tensor_uid());
    operands[KILN_OPERAND_BIAS] = uid(attributes.bias_tensor_uid());
    operands[KILN_OPERAND_Y] = uid(attributes.y_tensor_uid());
    operands[KILN_OPERAND_EPSILON] = uid(attributes.epsilon_tensor_uid());
}

void read_rmsnorm(const current::RMSNormAttributes &attributes,
                  struct kiln_wire_normalization *ret_norm)
{
    struct kiln_wire_uid *operands = ret_norm->operands;
    operands[KILN_OPERAND_X] = uid(attributes.x_tensor_uid());
    operands[KILN_OPERAND_SCALE] = uid(attributes.scale_tensor_uid());
    operands[KILN_OPERAND_EPSILON] = uid(attributes.epsilon_tensor_uid());
    operands[KILN_OPERAND_Y] = uid(attributes.y_tensor_uid());
    operands[KILN_OPERAND_BIAS] = uid(attributes.bias_tensor_uid());
    operands[KILN_OPERAND_INV_RMS] = uid(attributes.inv_rms_tensor_uid());
    ret_norm->forward_phase = number(attributes.forward_phase());
}

void read_rmsnorm_backward(const current::RMSNormBackwardAttributes &attributes,
                           struct kiln_wire_normalization *ret_norm)
{
    struct kiln_wire_uid *operands = ret_norm->operands;
    operands[KILN_OPERAND_DY] = uid(attributes.dy_tensor_uid());
    operands[KILN_OPERAND_X] = uid(attributes.x_tensor_uid());
    operands[KILN_OPERAND_SCALE] = uid(attributes.scale_tensor_uid());
    operands[KILN_OPERAND_INV_RMS] = uid(attributes.inv_rms_tensor_uid());
    operands[KILN_OPERAND_DX] = uid(attributes.dx_tensor_uid());
    operands[KILN_OPERAND_DSCALE] = uid(attributes.dscale_tensor_uid());
    operands[KILN_OPERAND_DBIAS] = uid(attributes.dbias_tensor_uid());
}

void read_layernorm(const current::LayernormAttributes &attributes,
                    struct kiln_wire_normalization *ret_norm)
{
    struct kiln_wire_uid *operands = ret_norm->operands;
    operands[KILN_OPERAND_X] = uid(attributes.x_tensor_uid());
    operands[KILN_OPERAND_SCALE] = uid(attributes.scale_tensor_uid());
    operands[KILN_OPERAND_BIAS] = uid(attributes.bias_tensor_uid());
    operands[KILN_OPERAND_EPSILON] = uid(attributes.epsilon_tensor_uid());
    operands[KILN_OPERAND_Y] = uid(attributes.y_tensor_uid());
    operands[KILN_OPERAND_MEAN] = uid(attributes.mean_tensor_uid());
    operands[KILN_OPERAND_INV_VARIANCE] = uid(attributes.inv_variance_tensor_uid());
    ret_norm->normalized_dim_count = attributes.normalized_dim_count();
    ret_norm->forward_phase = number(attributes.forward_phase());
}

void read_layernorm_backward(const current::LayernormBackwardAttributes &attributes,
                             struct kiln_wire_normalization *ret_norm)
{
    struct kiln_wire_uid *operands = ret_norm->operands;
    operands[KILN_OPERAND_DY] = uid(attributes.dy_tensor_uid());
    operands[KILN_OPERAND_X] = uid(attributes.x_tensor_uid());
    operands[KILN_OPERAND_SCALE] = uid(attributes.scale_tensor_uid());
    operands[KILN_OPERAND_MEAN] = uid(attributes.mean_tensor_uid());
    operands[KILN_OPERAND_INV_VARIANCE] = uid(attributes.inv_variance_tensor_uid());
    operands[KILN_OPERAND_EPSILON] = uid(attributes.epsilon_tensor_uid());
    operands[KILN_OPERAND_DX] = uid(attributes.dx_tensor_uid());
    operands[KILN_OPERAND_DSCALE] = uid(attributes.dscale_tensor_uid());
    operands[KILN_OPERAND_DBIAS] = uid(attributes.dbias_tensor_uid());
    ret_norm->normalized_dim_count = attributes.normalized_dim_count();
}

/* Kinds that the November 2025 layout does not have. */
void read_newer_attributes(const nov2025::Node &, struct kiln_wire_node *)
{
}

void read_newer_attributes(const current::Node &node, struct kiln_wire_node *ret_node)
{
    switch (ret_node->attributes_type) {
    case KILN_WIRE_NODE_BATCHNORM_INFERENCE_VARIANCE:
        read_batchnorm_inference_variance(
            *node.attributes_as_BatchnormInferenceAttributesVarianceExt(),
            &ret_node->normalization);
        break;
    case KILN_WIRE_NODE_GROUPED_MATMUL:
        read_grouped_matmul(node, &ret_node->grouped_matmul);
        break;
    case KILN_WIRE_NODE_GROUPED_MATMUL_BACKWARD:
        read_grouped_matmul_backward(node, &ret_node->grouped_matmul);
        break;
    case KILN_WIRE_NODE_MATMUL: {
        const auto &attributes = *node.attributes_as_MatmulAttributes();
        ret_node->matmul = {attributes.a_tensor_uid(), attributes.b_tensor_uid(),
                            attributes.c_tensor_uid()};
        break;
    }
    case KILN_WIRE_NODE_RMSNORM:
        read_rmsnorm(*node.attributes_as_RMSNormAttributes(), &ret_node->normalization);
        break;
    case KILN_WIRE_NODE_LAYERNORM:
        read_layernorm(*node.attributes_as_LayernormAttributes(), &ret_node->normalization);
        break;
    case KILN_WIRE_NODE_ATTENTION:
    case KILN_WIRE_NODE_ATTENTION_BACKWARD:
        read_attention(node, ret_node);
        break;
    case KILN_WIRE_NODE_RMSNORM_BACKWARD:
        read_rmsnorm_backward(*node.attributes_as_RMSNormBackwardAttributes(),
                              &ret_node->normalization);
        break;
    case KILN_WIRE_NODE_REDUCTION: {
        const auto &attributes = *node.attributes_as_ReductionAttributes();
        ret_node->reduction = {number(attributes.mode()), attributes.in_tensor_uid(),
                               attributes.out_tensor_uid()};
        break;
    }
    case KILN_WIRE_NODE_BLOCK_SCALE_QUANTIZE:
        read_block_quantize(node, &ret_node->block_quantize);
        break;
    case KILN_WIRE_NODE_BLOCK_SCALE_DEQUANTIZE:
        read_dequantize(node, &ret_node->dequantize);
        break;
    case KILN_WIRE_NODE_RESAMPLE_FORWARD:
        read_resample_forward(node, &ret_node->resample);
        break;
    case KILN_WIRE_NODE_RESAMPLE_BACKWARD:
        read_resample_backward(node, &ret_node->resample);
        break;
    case KILN_WIRE_NODE_LAYERNORM_BACKWARD:
        read_layernorm_backward(*node.attributes_as_LayernormBackwardAttributes(),
                                &ret_node->normalization);
        break;
    default:
        break;
    }
}

template <typename Node> void read_attributes(const Node &node, struct kiln_wire_node *ret_node)
{
    switch (ret_node->attributes_type) {
    case KILN_WIRE_NODE_BATCHNORM_INFERENCE:
        read_batchnorm_inference(*node.attributes_as_BatchnormInferenceAttributes(),
                                 &ret_node->normalization);
        break;
    case KILN_WIRE_NODE_POINTWISE:
        read_pointwise(*node.attributes_as_PointwiseAttributes(), &ret_node->pointwise);
        break;
    case KILN_WIRE_NODE_BATCHNORM_BACKWARD:
        read_batchnorm_backward(*node.attributes_as_BatchnormBackwardAttributes(),
                                &ret_node->normalization);
        break;
    case KILN_WIRE_NODE_BATCHNORM_TRAINING:
        read_batchnorm_training(*node.attributes_as_BatchnormAttributes(),
                                &ret_node->normalization);
        break;
    case KILN_WIRE_NODE_CONVOLUTION_FORWARD:
    case KILN_WIRE_NODE_CONVOLUTION_DATA_GRADIENT:
    case KILN_WIRE_NODE_CONVOLUTION_WEIGHT_GRADIENT:
        read_convolution(node, ret_node);
        break;
    default:
        read_newer_attributes(node, ret_node);
        break;
    }
}

uint8_t node_compute_type(const nov2025::Node &)
{
    return 0;
}

uint8_t node_compute_type(const current::Node &node)
{
    return number(node.compute_data_type());
}

/* The fields of a node kind are read once the kind has a reader in node_kinds.c. */
template <typename Node> void read_node(const Node &node, struct kiln_wire_node *ret_node)
{
    ret_node->name = text(node.name());
    ret_node->compute_type = node_compute_type(node);
    ret_node->attributes_type = number(node.attributes_type());
    ret_node->has_attributes = ret_node->attributes_type != 0 && node.attributes() != nullptr;
    if (ret_node->has_attributes)
        read_attributes(node, ret_node);
}

void read_graph_fields(const nov2025::Graph &graph, struct kiln_wire_graph *ret_graph)
{
    ret_graph->compute_type = number(graph.compute_type());
}

void read_graph_fields(const current::Graph &graph, struct kiln_wire_graph *ret_graph)
{
    ret_graph->compute_type = number(graph.compute_data_type());
    ret_graph->has_override_shapes = graph.is_override_shape_enabled();
    const current::EngineApiVersion *version = graph.min_required_engine_api_version();
    if (version != nullptr)
        ret_graph->min_api_version = {true, version->major(), version->minor(), version->patch()};
}

template <typename Era>
enum kiln_status read_graph(const uint8_t *bytes, struct kiln_arena *arena,
                            struct kiln_wire_graph *ret_graph, struct kiln_error *error)
{
    const auto &graph = *flatbuffers::GetRoot<typename Era::Graph>(bytes);
    struct kiln_wire_graph wire = {};
    wire.era = Era::era;
    wire.name = text(graph.name());
    wire.tensor_count = graph.tensors() != nullptr ? graph.tensors()->size() : 0;
    wire.node_count = graph.nodes() != nullptr ? graph.nodes()->size() : 0;
    read_graph_fields(graph, &wire);
    wire.tensors = static_cast<struct kiln_wire_tensor *>(
        kiln_arena_calloc(arena, wire.tensor_count, sizeof *wire.tensors));
    wire.nodes = static_cast<struct kiln_wire_node *>(
        kiln_arena_calloc(arena, wire.node_count, sizeof *wire.nodes));
    if (wire.tensors == nullptr || wire.nodes == nullptr)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while reading a graph");
    for (uint32_t i = 0; i < wire.tensor_count; i++)
        read_tensor(*graph.tensors()->Get(i), &wire.tensors[i]);
    for (uint32_t i = 0; i < wire.node_count; i++)
        read_node(*graph.nodes()->Get(i), &wire.nodes[i]);
    *ret_graph = wire;
    return KILN_OK;
}

} // namespace

extern "C" enum kiln_status kiln_wire_graph_verify(const void *bytes, size_t size,
                                                   enum kiln_wire_era *ret_era,
                                                   struct kiln_error *error)
{
    const auto *data = static_cast<const uint8_t *>(bytes);
    Outline outline;
    if (size > KILN_MAX_GRAPH_BYTES)
        return reject(error, KILN_REJECT_TOO_LARGE, "the graph has more than 64 MiB");
    if (!read_outline(data, size, &outline))
        return reject(error, KILN_REJECT_MALFORMED, "the bytes are no hipDNN graph");
    if (outline.node_count > KILN_MAX_GRAPH_NODES)
        return reject(error, KILN_REJECT_TOO_MANY_NODES, "the graph has more than 4096 nodes");
    if (outline.tensor_count > KILN_MAX_GRAPH_TENSORS)
        return reject(error, KILN_REJECT_TOO_MANY_TENSORS, "the graph has more than 16384 tensors");

    /* hipdnn-graph-wire.md section 2. Without nodes the layouts agree as far as they are read. */
    constexpr uint32_t smallest_current_vtable = 12;
    const bool is_old =
        outline.node_count != 0 && outline.node_vtable_bytes < smallest_current_vtable;
    if (is_old ? verify<nov2025::Graph>(data, size) : verify<current::Graph>(data, size)) {
        *ret_era = is_old ? KILN_WIRE_ERA_NOV2025 : KILN_WIRE_ERA_CURRENT;
        return KILN_OK;
    }
    /* A node of the current layout whose attributes are missing has a short vtable, too. Reading it
     * as what it is leads to that reason instead of this one. */
    if (is_old && verify<current::Graph>(data, size)) {
        *ret_era = KILN_WIRE_ERA_CURRENT;
        return KILN_OK;
    }
    return reject(error, KILN_REJECT_MALFORMED,
                  is_old ? "the bytes are no valid graph of the November 2025 layout"
                         : "the bytes are no valid graph of the current layout");
}

extern "C" enum kiln_status kiln_wire_graph_parse(const void *bytes, size_t size,
                                                  struct kiln_arena *arena,
                                                  struct kiln_wire_graph *ret_graph,
                                                  struct kiln_error *error)
{
    if (size > KILN_MAX_GRAPH_BYTES)
        return reject(error, KILN_REJECT_TOO_LARGE, "the graph has more than 64 MiB");
    const uint8_t *data = align(bytes, size, arena);
    if (data == nullptr && size != 0)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while reading a graph");
    enum kiln_wire_era era;
    enum kiln_status status = kiln_wire_graph_verify(data, size, &era, error);
    if (status != KILN_OK)
        return status;
    if (era == KILN_WIRE_ERA_NOV2025)
        return read_graph<Nov2025>(data, arena, ret_graph, error);
    return read_graph<Current>(data, arena, ret_graph, error);
}
