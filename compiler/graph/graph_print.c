/* The human-readable dump: one line for the graph, one per tensor, one per node. Tensors are named
 * by ordinal, as in the canonical form, or as the user knows them. */
#include "compiler/graph/graph_builder.h"
#include "compiler/graph/node_attributes.h"

#include <inttypes.h>

static const char *const role_texts[] = {
    [KILN_TENSOR_INPUT] = "input",
    [KILN_TENSOR_OUTPUT] = "output",
    [KILN_TENSOR_VIRTUAL] = "virtual",
    [KILN_TENSOR_CONSTANT] = "constant",
    [KILN_TENSOR_HOST_SCALAR] = "host scalar",
};

struct printing {
    const struct kiln_graph *graph;
    struct kiln_buffer *buffer;
    bool by_ordinal;
};

static void print_name(const struct printing *printing, uint32_t ordinal)
{
    if (printing->by_ordinal)
        kiln_buffer_printf(printing->buffer, "%%%u", ordinal);
    else
        kiln_tensor_print_name(&printing->graph->tensors[ordinal], printing->buffer);
}

static void print_tensor(const struct printing *printing, uint32_t ordinal)
{
    const struct kiln_tensor *tensor = &printing->graph->tensors[ordinal];
    struct kiln_buffer *buffer = printing->buffer;
    kiln_buffer_append_text(buffer, "  ");
    print_name(printing, ordinal);
    kiln_buffer_printf(buffer, "%s %s %s ", printing->by_ordinal ? " =" : ":",
                       role_texts[tensor->role], kiln_dtype_info(tensor->dtype)->text);
    kiln_print_list(buffer, tensor->dims, tensor->rank);
    kiln_buffer_append_text(buffer, " strides ");
    kiln_print_list(buffer, tensor->strides, tensor->rank);
    if (tensor->role == KILN_TENSOR_CONSTANT) {
        if (kiln_dtype_is_integer(tensor->dtype))
            kiln_buffer_printf(buffer, " value %" PRId64, tensor->constant.integer);
        else
            kiln_buffer_printf(buffer, " value %.17g", tensor->constant.real);
    } else if (tensor->role == KILN_TENSOR_INPUT || tensor->role == KILN_TENSOR_OUTPUT) {
        kiln_buffer_printf(buffer, " align %" PRIu32, tensor->alignment_bytes);
    }
    if (kiln_tensor_is_ragged(tensor)) {
        kiln_buffer_append_text(buffer, " ragged: begins at ");
        print_name(printing, tensor->ragged.offsets);
        kiln_buffer_printf(buffer, " * %" PRId64 ", at most %" PRId64 " tokens of %" PRId64,
                           tensor->ragged.multiplier, tensor->ragged.longest, tensor->ragged.token);
    }
    if (printing->by_ordinal)
        kiln_buffer_printf(buffer, " uid %" PRId64 " %s", tensor->uid,
                           kiln_name_quote(tensor->name).text);
    kiln_buffer_append_text(buffer, "\n");
}

/* Operands of a pointwise node are named by their position. */
static void print_operands(const struct printing *printing, const struct kiln_node *node,
                           const uint32_t *operands, const uint8_t *roles, uint32_t count)
{
    struct kiln_buffer *buffer = printing->buffer;
    for (uint32_t i = 0; i < count; i++) {
        kiln_buffer_append_text(buffer, i != 0 ? ", " : "");
        if (node->kind != KILN_NODE_POINTWISE)
            kiln_buffer_printf(buffer, "%s ", kiln_operand_text((enum kiln_operand)roles[i]));
        print_name(printing, operands[i]);
    }
}

static void print_node(const struct printing *printing, uint32_t number)
{
    const struct kiln_node *node = &printing->graph->nodes[number];
    struct kiln_buffer *buffer = printing->buffer;
    if (!printing->by_ordinal) {
        kiln_node_print_name(printing->graph, number, buffer);
        kiln_buffer_append_text(buffer, ": ");
    }
    print_operands(printing, node, node->outputs, node->output_roles, node->output_count);
    kiln_buffer_printf(buffer, " = %s(", kiln_node_operation(node));
    print_operands(printing, node, node->inputs, node->input_roles, node->input_count);
    kiln_buffer_append_text(buffer, ")");
    const struct kiln_node_attributes *attributes = kiln_node_attributes(node->kind);
    if (attributes->print != NULL)
        attributes->print(node, buffer);
    kiln_buffer_printf(buffer, " in %s", kiln_dtype_info(node->compute_type)->text);
    if (printing->by_ordinal)
        kiln_buffer_printf(buffer, " %s", kiln_name_quote(node->name).text);
    kiln_buffer_append_text(buffer, "\n");
}

static void print_graph(const struct printing *printing)
{
    const struct kiln_graph *graph = printing->graph;
    struct kiln_buffer *buffer = printing->buffer;
    kiln_buffer_printf(buffer, "graph %s (%s layout): %u %s, %u %s\n",
                       kiln_name_quote(graph->name).text,
                       graph->era == KILN_WIRE_ERA_NOV2025 ? "nov2025" : "current",
                       graph->tensor_count, KILN_NOUN(graph->tensor_count, "tensor"),
                       graph->node_count, KILN_NOUN(graph->node_count, "node"));
    for (uint32_t i = 0; i < graph->tensor_count; i++)
        print_tensor(printing, i);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        kiln_buffer_append_text(buffer, "  ");
        print_node(printing, i);
    }
}

void kiln_graph_print(const struct kiln_graph *graph, struct kiln_buffer *buffer)
{
    print_graph(&(struct printing){graph, buffer, .by_ordinal = true});
}

void kiln_graph_print_for_user(const struct kiln_graph *graph, struct kiln_buffer *buffer)
{
    print_graph(&(struct printing){graph, buffer, .by_ordinal = false});
}

void kiln_graph_print_node_for_user(const struct kiln_graph *graph, uint32_t node,
                                    struct kiln_buffer *buffer)
{
    print_node(&(struct printing){graph, buffer, .by_ordinal = false}, node);
}
