#include "tests/runtime/engine/sample_graph.h"

#include "compiler/graph/wire_messages.h"

#include <stdio.h>
#include <stdlib.h>

enum { FIRST_VIRTUAL_UID = 1000000 };

static struct kiln_tensor make_tensor(const struct sample_graph *sample, int64_t uid,
                                      enum kiln_tensor_role role)
{
    return (struct kiln_tensor){
        .uid = uid,
        .name = "",
        .dtype = sample->dtype,
        .role = role,
        .rank = 1,
        .dims = {sample->elements},
        .strides = {1},
        .alignment_bytes = 16,
        .producer = KILN_NONE,
    };
}

static uint32_t add_tensor(struct kiln_graph *graph, struct kiln_tensor tensor)
{
    graph->tensors[graph->tensor_count] = tensor;
    return graph->tensor_count++;
}

static uint32_t add_input(struct kiln_graph *graph, const struct sample_graph *sample,
                          uint32_t index)
{
    int64_t uid = sample->input_uids ? sample->input_uids[index] : (int64_t)index + 1;
    bool scalar = sample->last_is_host_scalar && index + 1 == sample->input_count;
    struct kiln_tensor tensor =
        make_tensor(sample, uid, scalar ? KILN_TENSOR_HOST_SCALAR : KILN_TENSOR_INPUT);
    if (scalar)
        tensor.dims[0] = 1;
    return add_tensor(graph, tensor);
}

static void add_node(struct kiln_graph *graph, const struct sample_graph *sample, uint32_t left,
                     uint32_t right)
{
    uint32_t index = graph->node_count++;
    bool last = index + 2 == sample->input_count;
    int64_t uid = last ? sample->output_uid : FIRST_VIRTUAL_UID + (int64_t)index;
    struct kiln_tensor output =
        make_tensor(sample, uid, last ? KILN_TENSOR_OUTPUT : KILN_TENSOR_VIRTUAL);
    output.producer = index;
    graph->nodes[index] = (struct kiln_node){
        .kind = KILN_NODE_POINTWISE,
        .name = "",
        .compute_type = KILN_DTYPE_F32,
        .input_count = 2,
        .output_count = 1,
        .inputs = {left, right},
        .outputs = {add_tensor(graph, output)},
        .pointwise = {.mode = KILN_POINTWISE_ADD,
                      .relu_upper_clip = __builtin_inf(),
                      .swish_beta = 1,
                      .elu_alpha = 1,
                      .softplus_beta = 1},
    };
}

void sample_graph_write(const struct sample_graph *sample, struct kiln_buffer *ret_bytes)
{
    struct kiln_graph graph = {.era = sample->era, .name = "sample"};
    graph.tensors = calloc(2 * sample->input_count, sizeof(*graph.tensors));
    graph.nodes = calloc(sample->input_count, sizeof(*graph.nodes));
    if (!graph.tensors || !graph.nodes)
        abort();
    uint32_t left = add_input(&graph, sample, 0);
    for (uint32_t i = 1; i < sample->input_count; i++) {
        uint32_t right = add_input(&graph, sample, i);
        add_node(&graph, sample, left, right);
        left = graph.tensor_count - 1;
    }
    struct kiln_error error;
    kiln_error_init(&error);
    if (kiln_graph_write(&graph, sample->era, ret_bytes, &error)) {
        fprintf(stderr, "sample graph: %s\n", error.text);
        abort();
    }
    free(graph.tensors);
    free(graph.nodes);
}

void sample_graph_write_add(struct kiln_buffer *ret_bytes)
{
    const struct sample_graph sample = {.era = KILN_WIRE_ERA_CURRENT,
                                        .dtype = KILN_DTYPE_F32,
                                        .elements = 1000,
                                        .input_count = 2,
                                        .output_uid = 3};
    sample_graph_write(&sample, ret_bytes);
}
