#include "cli/bench/bench_builder.h"

#include "compiler/graph/graph_reader.h"
#include "compiler/graph/wire_messages.h"
#include "compiler/reference/convert.h"

#include <assert.h>
#include <math.h>

enum { ROW_ELEMENTS = 8192, CHANNELS = 256, IMAGE_SIDE = 56, SIDE_MULTIPLE = 64 };

enum kiln_status kiln_bench_builder_init(struct kiln_bench_builder *builder, const char *name,
                                         enum kiln_dtype dtype, struct kiln_arena *arena,
                                         struct kiln_error *error)
{
    *builder = (struct kiln_bench_builder){
        .graph = {.era = KILN_WIRE_ERA_CURRENT, .name = name},
        .dtype = dtype,
    };
    builder->graph.nodes = kiln_arena_calloc(arena, KILN_BENCH_MAX_NODES, sizeof(struct kiln_node));
    builder->graph.tensors =
        kiln_arena_calloc(arena, KILN_BENCH_MAX_TENSORS, sizeof(struct kiln_tensor));
    if (builder->graph.nodes == NULL || builder->graph.tensors == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory for the graph '%s'", name);
    return KILN_OK;
}

enum kiln_status kiln_bench_builder_finish(const struct kiln_bench_builder *builder,
                                           struct kiln_arena *arena, struct kiln_graph *ret_graph,
                                           struct kiln_error *error)
{
    struct kiln_buffer bytes;
    kiln_buffer_init(&bytes);
    enum kiln_status status =
        kiln_graph_write(&builder->graph, KILN_WIRE_ERA_CURRENT, &bytes, error);
    if (status == KILN_OK)
        status = kiln_graph_read(bytes.data, bytes.size, arena, ret_graph, error);
    kiln_buffer_fini(&bytes);
    return status;
}

/* ---- shapes ---- */

static int64_t at_least(int64_t number, int64_t least)
{
    return number > least ? number : least;
}

void kiln_bench_set_line(struct kiln_bench_builder *builder, int64_t elements)
{
    builder->rank = 1;
    builder->dims[0] = at_least(elements, 2);
}

static bool takes_sizes(struct kiln_bench_builder *builder, uint32_t rank)
{
    if (builder->sizes != NULL)
        kiln_bench_set_shape(builder, rank, builder->sizes);
    return builder->sizes != NULL;
}

void kiln_bench_set_rows(struct kiln_bench_builder *builder, int64_t elements)
{
    if (takes_sizes(builder, 2))
        return;
    builder->rank = 2;
    builder->dims[0] = at_least(elements / ROW_ELEMENTS, 2);
    builder->dims[1] = ROW_ELEMENTS;
}

void kiln_bench_set_square(struct kiln_bench_builder *builder, int64_t elements)
{
    if (takes_sizes(builder, 2))
        return;
    int64_t side = at_least((int64_t)sqrt((double)elements), 2);
    if (side > SIDE_MULTIPLE)
        side -= side % SIDE_MULTIPLE;
    builder->rank = 2;
    builder->dims[0] = builder->dims[1] = side;
}

void kiln_bench_set_images(struct kiln_bench_builder *builder, bool is_channels_last,
                           int64_t elements)
{
    builder->is_channels_last = is_channels_last;
    if (takes_sizes(builder, 4))
        return;
    int64_t side = IMAGE_SIDE;
    int64_t images = 1;
    while (images * 2 * CHANNELS * side * side <= elements)
        images *= 2;
    if (images == 1) {
        images = 2;
        side = at_least((int64_t)sqrt((double)elements / (2 * CHANNELS)), 2);
    }
    builder->rank = 4;
    builder->dims[0] = images;
    builder->dims[1] = CHANNELS;
    builder->dims[2] = builder->dims[3] = side;
}

void kiln_bench_set_shape(struct kiln_bench_builder *builder, uint32_t rank, const int64_t *dims)
{
    builder->rank = rank;
    for (uint32_t i = 0; i < rank; i++)
        builder->dims[i] = dims[i];
}

/* ---- tensors ---- */

/* The axis that is in this place from the fastest one on. */
static uint32_t axis_in_place(const struct kiln_bench_builder *builder, uint32_t place)
{
    if (!builder->is_channels_last)
        return builder->rank - 1 - place;
    return place == 0 ? 1 : place == builder->rank - 1 ? 0 : builder->rank - place;
}

static uint32_t add_tensor(struct kiln_bench_builder *builder, const char *name,
                           enum kiln_tensor_role role, enum kiln_dtype dtype, uint32_t axes)
{
    assert(builder->graph.tensor_count < KILN_BENCH_MAX_TENSORS);
    uint32_t ordinal = builder->graph.tensor_count++;
    struct kiln_tensor *tensor = &builder->graph.tensors[ordinal];
    *tensor = (struct kiln_tensor){.uid = ordinal + 1,
                                   .name = name,
                                   .dtype = dtype,
                                   .role = role,
                                   .rank = builder->rank,
                                   .alignment_bytes = 16,
                                   .producer = KILN_NONE};
    int64_t stride = 1;
    for (uint32_t i = 0; i < builder->rank; i++) {
        uint32_t axis = axis_in_place(builder, i);
        tensor->dims[axis] = (axes >> axis & 1) != 0 ? builder->dims[axis] : 1;
        tensor->strides[axis] = tensor->dims[axis] == 1 ? 0 : stride;
        stride *= tensor->dims[axis];
    }
    return ordinal;
}

uint32_t kiln_bench_input(struct kiln_bench_builder *builder, const char *name)
{
    return kiln_bench_vector(builder, name, KILN_BENCH_ALL_AXES);
}

uint32_t kiln_bench_input_transposed(struct kiln_bench_builder *builder, const char *name)
{
    uint32_t ordinal = kiln_bench_input(builder, name);
    struct kiln_tensor *tensor = &builder->graph.tensors[ordinal];
    tensor->strides[0] = tensor->strides[1];
    tensor->strides[1] *= tensor->dims[0];
    return ordinal;
}

uint32_t kiln_bench_vector(struct kiln_bench_builder *builder, const char *name, uint32_t axes)
{
    return add_tensor(builder, name, KILN_TENSOR_INPUT, builder->dtype, axes);
}

uint32_t kiln_bench_parameter(struct kiln_bench_builder *builder, const char *name, uint32_t axes)
{
    return add_tensor(builder, name, KILN_TENSOR_INPUT, KILN_DTYPE_F32, axes);
}

uint32_t kiln_bench_constant(struct kiln_bench_builder *builder, double value)
{
    uint32_t tensor = add_tensor(builder, "", KILN_TENSOR_CONSTANT, KILN_DTYPE_F32, 0);
    builder->graph.tensors[tensor].constant.real = kiln_round_to_dtype(KILN_DTYPE_F32, value);
    return tensor;
}

/* Axes on which a tensor is as long as the large ones. */
static uint32_t axes_of(const struct kiln_bench_builder *builder, uint32_t tensor)
{
    uint32_t axes = 0;
    for (uint32_t i = 0; i < builder->rank; i++)
        axes |= (uint32_t)(builder->graph.tensors[tensor].dims[i] > 1) << i;
    return axes;
}

void kiln_bench_output_as(struct kiln_bench_builder *builder, const char *name, uint32_t tensor,
                          enum kiln_dtype dtype)
{
    struct kiln_tensor *output = &builder->graph.tensors[tensor];
    assert(output->role == KILN_TENSOR_VIRTUAL);
    output->role = KILN_TENSOR_OUTPUT;
    output->name = name;
    output->dtype = dtype;
}

void kiln_bench_output(struct kiln_bench_builder *builder, const char *name, uint32_t tensor)
{
    kiln_bench_output_as(builder, name, tensor, builder->dtype);
}

/* ---- nodes ---- */

struct kiln_node *kiln_bench_node(struct kiln_bench_builder *builder, enum kiln_node_kind kind)
{
    assert(builder->graph.node_count < KILN_BENCH_MAX_NODES);
    struct kiln_node *node = &builder->graph.nodes[builder->graph.node_count++];
    *node = (struct kiln_node){.kind = kind, .name = "", .compute_type = KILN_DTYPE_F32};
    return node;
}

void kiln_bench_connect(struct kiln_node *node, enum kiln_operand role, uint32_t tensor)
{
    node->input_roles[node->input_count] = (uint8_t)role;
    node->inputs[node->input_count++] = tensor;
}

uint32_t kiln_bench_result(struct kiln_bench_builder *builder, struct kiln_node *node,
                           enum kiln_operand role, uint32_t axes)
{
    uint32_t tensor = add_tensor(builder, "", KILN_TENSOR_VIRTUAL, KILN_DTYPE_F32, axes);
    builder->graph.tensors[tensor].producer = (uint32_t)(node - builder->graph.nodes);
    node->output_roles[node->output_count] = (uint8_t)role;
    node->outputs[node->output_count++] = tensor;
    return tensor;
}

uint32_t kiln_bench_pointwise(struct kiln_bench_builder *builder, enum kiln_pointwise_mode mode,
                              uint32_t a, uint32_t b)
{
    struct kiln_node *node = kiln_bench_node(builder, KILN_NODE_POINTWISE);
    node->pointwise = (struct kiln_pointwise){.mode = mode,
                                              .relu_upper_clip = (double)INFINITY,
                                              .swish_beta = 1,
                                              .elu_alpha = 1,
                                              .softplus_beta = 1};
    kiln_bench_connect(node, KILN_OPERAND_IN_0, a);
    if (b != KILN_NONE)
        kiln_bench_connect(node, KILN_OPERAND_IN_1, b);
    uint32_t axes = axes_of(builder, a) | (b != KILN_NONE ? axes_of(builder, b) : 0);
    return kiln_bench_result(builder, node, KILN_OPERAND_OUT_0, axes);
}

uint32_t kiln_bench_unary(struct kiln_bench_builder *builder, enum kiln_pointwise_mode mode,
                          uint32_t a)
{
    return kiln_bench_pointwise(builder, mode, a, KILN_NONE);
}

uint32_t kiln_bench_reduce(struct kiln_bench_builder *builder, enum kiln_reduction_mode mode,
                           uint32_t a, uint32_t axes)
{
    struct kiln_node *node = kiln_bench_node(builder, KILN_NODE_REDUCTION);
    node->reduction = (struct kiln_reduction){.mode = mode, .axes = axes};
    kiln_bench_connect(node, KILN_OPERAND_IN, a);
    return kiln_bench_result(builder, node, KILN_OPERAND_OUT, axes_of(builder, a) & ~axes);
}

struct kiln_node *kiln_bench_norm(struct kiln_bench_builder *builder, enum kiln_node_kind kind,
                                  uint32_t axes)
{
    struct kiln_node *node = kiln_bench_node(builder, kind);
    node->normalization =
        (struct kiln_normalization){.axes = axes, .epsilon = 1e-5, .momentum = 0.1};
    return node;
}
