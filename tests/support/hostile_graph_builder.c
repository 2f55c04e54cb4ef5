#include "tests/support/hostile_graph_builder.h"

#include <math.h>

bool kiln_hostile_is_full(const struct kiln_hostile_builder *builder)
{
    return builder->graph.node_count == builder->node_count;
}

static uint32_t add_tensor(struct kiln_hostile_builder *builder, enum kiln_tensor_role role,
                           uint32_t producer, const struct kiln_hostile_dims *dims)
{
    uint32_t ordinal = builder->graph.tensor_count++;
    struct kiln_tensor *tensor = &builder->graph.tensors[ordinal];
    *tensor = (struct kiln_tensor){
        .uid = 1 + (int64_t)ordinal,
        .name = "",
        .dtype = builder->dtype,
        .role = role,
        .rank = dims->rank,
        .alignment_bytes = 16,
        .producer = producer,
    };
    int64_t stride = 1;
    for (uint32_t axis = dims->rank; axis-- > 0;) {
        tensor->dims[axis] = dims->sizes[axis];
        tensor->strides[axis] = dims->sizes[axis] == 1 ? 0 : stride;
        stride *= dims->sizes[axis];
    }
    return ordinal;
}

struct kiln_hostile_dims kiln_hostile_dims_of(const struct kiln_hostile_builder *builder,
                                              uint32_t tensor)
{
    const struct kiln_tensor *of = &builder->graph.tensors[tensor];
    struct kiln_hostile_dims dims = {.rank = of->rank};
    for (uint32_t axis = 0; axis < of->rank; axis++)
        dims.sizes[axis] = of->dims[axis];
    return dims;
}

uint32_t kiln_hostile_input(struct kiln_hostile_builder *builder,
                            const struct kiln_hostile_dims *dims)
{
    return add_tensor(builder, KILN_TENSOR_INPUT, KILN_NONE, dims);
}

struct kiln_node *kiln_hostile_node(struct kiln_hostile_builder *builder, enum kiln_node_kind kind)
{
    struct kiln_node *node = &builder->graph.nodes[builder->graph.node_count++];
    *node = (struct kiln_node){.kind = kind, .name = "", .compute_type = KILN_DTYPE_F32};
    return node;
}

void kiln_hostile_read(struct kiln_hostile_builder *builder, struct kiln_node *node,
                       enum kiln_operand role, uint32_t tensor)
{
    builder->read[tensor] = true;
    node->input_roles[node->input_count] = (uint8_t)role;
    node->inputs[node->input_count++] = tensor;
}

uint32_t kiln_hostile_write(struct kiln_hostile_builder *builder, struct kiln_node *node,
                            enum kiln_operand role, const struct kiln_hostile_dims *dims)
{
    uint32_t tensor =
        add_tensor(builder, KILN_TENSOR_VIRTUAL, (uint32_t)(node - builder->graph.nodes), dims);
    node->output_roles[node->output_count] = (uint8_t)role;
    node->outputs[node->output_count++] = tensor;
    return tensor;
}

uint32_t kiln_hostile_pointwise(struct kiln_hostile_builder *builder, enum kiln_pointwise_mode mode,
                                uint32_t a, uint32_t b)
{
    if (kiln_hostile_is_full(builder))
        return a;
    struct kiln_node *node = kiln_hostile_node(builder, KILN_NODE_POINTWISE);
    node->pointwise = (struct kiln_pointwise){.mode = mode,
                                              .relu_upper_clip = INFINITY,
                                              .swish_beta = 1,
                                              .elu_alpha = 1,
                                              .softplus_beta = 1};
    kiln_hostile_read(builder, node, KILN_OPERAND_IN_0, a);
    struct kiln_hostile_dims dims = kiln_hostile_dims_of(builder, a);
    if (b != KILN_NONE) {
        struct kiln_hostile_dims other = kiln_hostile_dims_of(builder, b);
        kiln_hostile_read(builder, node, KILN_OPERAND_IN_1, b);
        for (uint32_t axis = 0; axis < dims.rank; axis++)
            dims.sizes[axis] = dims.sizes[axis] == 1 ? other.sizes[axis] : dims.sizes[axis];
    }
    return kiln_hostile_write(builder, node, KILN_OPERAND_OUT_0, &dims);
}

uint32_t kiln_hostile_reduce(struct kiln_hostile_builder *builder, enum kiln_reduction_mode mode,
                             uint32_t a, uint32_t axis)
{
    if (kiln_hostile_is_full(builder))
        return a;
    struct kiln_node *node = kiln_hostile_node(builder, KILN_NODE_REDUCTION);
    struct kiln_hostile_dims dims = kiln_hostile_dims_of(builder, a);
    node->reduction = (struct kiln_reduction){
        .mode = mode, .axes = dims.sizes[axis] > 1 ? UINT32_C(1) << axis : 0};
    dims.sizes[axis] = 1;
    kiln_hostile_read(builder, node, KILN_OPERAND_IN, a);
    return kiln_hostile_write(builder, node, KILN_OPERAND_OUT, &dims);
}

/* The sizes along the axes in the set, 1 along the others. */
static struct kiln_hostile_dims along(struct kiln_hostile_dims dims, uint32_t axes)
{
    for (uint32_t axis = 0; axis < dims.rank; axis++)
        dims.sizes[axis] = (axes >> axis & 1) != 0 ? dims.sizes[axis] : 1;
    return dims;
}

uint32_t kiln_hostile_norm(struct kiln_hostile_builder *builder, enum kiln_node_kind kind,
                           uint32_t dy, uint32_t x)
{
    if (kiln_hostile_is_full(builder))
        return dy != KILN_NONE ? dy : x;
    const struct kiln_hostile_dims dims = kiln_hostile_dims_of(builder, x);
    bool is_batch = kind == KILN_NODE_BATCHNORM_TRAINING || kind == KILN_NODE_BATCHNORM_BACKWARD;
    uint32_t all = (UINT32_C(1) << dims.rank) - 1;
    uint32_t normed = is_batch ? all & ~UINT32_C(2) : UINT32_C(1) << (dims.rank - 1);
    const struct kiln_hostile_dims parameters = along(dims, is_batch ? 2 : normed);
    const struct kiln_hostile_dims statistics = along(dims, all & ~normed);
    uint32_t scale = kiln_hostile_input(builder, &parameters);
    uint32_t bias = dy == KILN_NONE ? kiln_hostile_input(builder, &parameters) : KILN_NONE;
    struct kiln_node *node = kiln_hostile_node(builder, kind);
    node->normalization =
        (struct kiln_normalization){.axes = normed, .epsilon = 1e-5, .momentum = 0.1};
    if (dy != KILN_NONE) {
        kiln_hostile_read(builder, node, KILN_OPERAND_DY, dy);
        kiln_hostile_read(builder, node, KILN_OPERAND_X, x);
        kiln_hostile_read(builder, node, KILN_OPERAND_SCALE, scale);
        uint32_t dx = kiln_hostile_write(builder, node, KILN_OPERAND_DX, &dims);
        kiln_hostile_write(builder, node, KILN_OPERAND_DSCALE, &parameters);
        kiln_hostile_write(builder, node, KILN_OPERAND_DBIAS, &parameters);
        return dx;
    }
    kiln_hostile_read(builder, node, KILN_OPERAND_X, x);
    kiln_hostile_read(builder, node, KILN_OPERAND_SCALE, scale);
    kiln_hostile_read(builder, node, KILN_OPERAND_BIAS, bias);
    uint32_t y = kiln_hostile_write(builder, node, KILN_OPERAND_Y, &dims);
    kiln_hostile_write(builder, node, KILN_OPERAND_MEAN, &statistics);
    kiln_hostile_write(builder, node, KILN_OPERAND_INV_VARIANCE, &statistics);
    return y;
}
