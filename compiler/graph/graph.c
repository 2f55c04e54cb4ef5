#include "compiler/graph/graph.h"

#include "runtime/support/buffer.h"

#include <inttypes.h>

static const struct kiln_pointwise_mode_info modes[KILN_POINTWISE_MODE_COUNT] = {
#define KILN_POINTWISE_MODE(name, number, arity, gradient, integer, formula)                       \
    [number] = {#name, arity, gradient, integer, formula},
#include "compiler/graph/pointwise_mode.def"
};

const struct kiln_pointwise_mode_info *kiln_pointwise_mode_info(enum kiln_pointwise_mode mode)
{
    return &modes[mode];
}

const struct kiln_reduction_mode_info *kiln_reduction_mode_info(enum kiln_reduction_mode mode)
{
    static const struct kiln_reduction_mode_info rows[KILN_REDUCTION_MODE_COUNT] = {
#define KILN_REDUCTION_MODE(name, number, integer, formula) [number] = {#name, integer, formula},
#include "compiler/graph/reduction_mode.def"
    };
    return &rows[mode];
}

const char *kiln_operand_text(enum kiln_operand operand)
{
    static const char *const texts[] = {
#define KILN_OPERAND(name, text) text,
#include "compiler/graph/operand.def"
    };
    return texts[operand];
}

const char *kiln_node_operation(const struct kiln_node *node)
{
    static const char *const reductions[KILN_REDUCTION_MODE_COUNT] = {
#define KILN_REDUCTION_MODE(name, number, integer, formula) [number] = "REDUCE_" #name,
#include "compiler/graph/reduction_mode.def"
    };
    static const char *const texts[KILN_NODE_KIND_COUNT] = {
#define KILN_NODE_KIND(name, text, attributes, importer, evaluator, scalar, weight) text,
#include "compiler/graph/node_kind.def"
    };
    if (node->kind == KILN_NODE_POINTWISE)
        return kiln_pointwise_mode_info(node->pointwise.mode)->name;
    if (node->kind == KILN_NODE_REDUCTION)
        return reductions[node->reduction.mode];
    return texts[node->kind];
}

static uint32_t find_role(const uint8_t *roles, const uint32_t *tensors, uint32_t count,
                          enum kiln_operand operand)
{
    for (uint32_t i = 0; i < count; i++) {
        if (roles[i] == operand)
            return tensors[i];
    }
    return KILN_NONE;
}

uint32_t kiln_node_input(const struct kiln_node *node, enum kiln_operand operand)
{
    return find_role(node->input_roles, node->inputs, node->input_count, operand);
}

uint32_t kiln_node_output(const struct kiln_node *node, enum kiln_operand operand)
{
    return find_role(node->output_roles, node->outputs, node->output_count, operand);
}

bool kiln_node_is_convolution(const struct kiln_node *node)
{
    return node->kind == KILN_NODE_CONVOLUTION_FORWARD ||
           node->kind == KILN_NODE_CONVOLUTION_DATA_GRADIENT ||
           node->kind == KILN_NODE_CONVOLUTION_WEIGHT_GRADIENT;
}

bool kiln_node_is_grouped(const struct kiln_node *node)
{
    return node->kind == KILN_NODE_GROUPED_MATMUL ||
           node->kind == KILN_NODE_GROUPED_MATMUL_BACKWARD;
}

bool kiln_node_is_attention(const struct kiln_node *node)
{
    return node->kind == KILN_NODE_ATTENTION || node->kind == KILN_NODE_ATTENTION_BACKWARD;
}

struct kiln_attention_sizes kiln_attention_sizes_of(const struct kiln_graph *graph,
                                                    const struct kiln_node *node)
{
    const struct kiln_tensor *q = &graph->tensors[kiln_node_input(node, KILN_OPERAND_Q)];
    const struct kiln_tensor *k = &graph->tensors[kiln_node_input(node, KILN_OPERAND_K)];
    const struct kiln_tensor *v = &graph->tensors[kiln_node_input(node, KILN_OPERAND_V)];
    return (struct kiln_attention_sizes){
        .batch = q->dims[0],
        .heads = q->dims[1],
        .key_heads = k->dims[1],
        .value_heads = v->dims[1],
        .queries = q->dims[2],
        .keys = k->dims[2],
        .depth = q->dims[3],
        .value_depth = v->dims[3],
    };
}

struct kiln_convolution_tensors kiln_convolution_tensors_of(const struct kiln_node *node)
{
    const uint32_t *in = node->inputs;
    switch (node->kind) {
    case KILN_NODE_CONVOLUTION_DATA_GRADIENT:
        return (struct kiln_convolution_tensors){node->outputs[0], in[1], in[0]};
    case KILN_NODE_CONVOLUTION_WEIGHT_GRADIENT:
        return (struct kiln_convolution_tensors){in[0], node->outputs[0], in[1]};
    default:
        return (struct kiln_convolution_tensors){in[0], in[1], node->outputs[0]};
    }
}

int64_t kiln_tensor_elements(const struct kiln_tensor *tensor)
{
    int64_t elements = 1;
    for (uint32_t i = 0; i < tensor->rank; i++)
        elements *= tensor->dims[i];
    return elements;
}

int64_t kiln_tensor_footprint_elements(const struct kiln_tensor *tensor)
{
    int64_t footprint = 1;
    if (kiln_tensor_is_ragged(tensor)) {
        int64_t most = tensor->dims[0] * tensor->ragged.longest * tensor->ragged.token;
        return most > 0 ? most : 1;
    }
    for (uint32_t i = 0; i < tensor->rank; i++)
        footprint += (tensor->dims[i] - 1) * tensor->strides[i];
    return footprint;
}

int64_t kiln_tensor_footprint_bytes(const struct kiln_tensor *tensor)
{
    return kiln_dtype_memory_bytes(tensor->dtype, kiln_tensor_footprint_elements(tensor));
}

void kiln_name_append(const char *name, struct kiln_buffer *buffer)
{
    if (*name == '\0')
        return;
    kiln_buffer_append_text(buffer, " '");
    for (; *name != '\0'; name++) {
        unsigned char byte = (unsigned char)*name;
        kiln_buffer_printf(buffer, byte < 0x20 ? "\\x%02x" : "%c", byte);
    }
    kiln_buffer_append_text(buffer, "'");
}

void kiln_tensor_print_name(const struct kiln_tensor *tensor, struct kiln_buffer *buffer)
{
    kiln_buffer_printf(buffer, "uid %" PRId64, tensor->uid);
    kiln_name_append(tensor->name, buffer);
}

void kiln_node_print_name(const struct kiln_graph *graph, uint32_t node, struct kiln_buffer *buffer)
{
    kiln_buffer_printf(buffer, "node %" PRIu32, node);
    kiln_name_append(graph->nodes[node].name, buffer);
}
