#include "cli/dot.h"

#include "cli/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Text inside a quoted label: Graphviz reads backslashes, quotes and HTML entities. */
static void append_label_text(struct kiln_buffer *dot, const char *text)
{
    char *escaped = kiln_text_escape(text);
    for (const char *at = escaped; *at; at++) {
        if (*at == '"' || *at == '\\')
            kiln_buffer_append(dot, "\\", 1);
        if (*at == '&')
            kiln_buffer_append_text(dot, "&amp;");
        else
            kiln_buffer_append(dot, at, 1);
    }
    free(escaped);
}

static void append_shape(struct kiln_buffer *dot, const struct kiln_tensor *tensor)
{
    kiln_buffer_append_text(dot, kiln_dtype_info(tensor->dtype)->text);
    for (uint32_t i = 0; i < tensor->rank; i++)
        kiln_buffer_printf(dot, "%s%" PRId64, i ? "x" : " ", tensor->dims[i]);
}

static void append_tensor(struct kiln_buffer *dot, const struct kiln_graph *graph, uint32_t ordinal)
{
    const struct kiln_tensor *tensor = &graph->tensors[ordinal];
    static const char *const looks[] = {
        [KILN_TENSOR_INPUT] = "shape=box, style=filled, fillcolor=\"#dbe9f6\"",
        [KILN_TENSOR_OUTPUT] = "shape=box, style=filled, fillcolor=\"#e2f0d9\"",
        [KILN_TENSOR_VIRTUAL] = "shape=cylinder, style=filled, fillcolor=\"#fdebd0\"",
        [KILN_TENSOR_CONSTANT] = "shape=plaintext",
        [KILN_TENSOR_HOST_SCALAR] = "shape=box, style=\"filled,dashed\", fillcolor=\"#dbe9f6\"",
    };
    kiln_buffer_printf(dot, "    t%u [%s, label=\"", ordinal, looks[tensor->role]);
    if (tensor->role == KILN_TENSOR_CONSTANT) {
        if (kiln_dtype_is_integer(tensor->dtype))
            kiln_buffer_printf(dot, "%" PRId64, tensor->constant.integer);
        else
            kiln_buffer_printf(dot, "%.6g", tensor->constant.real);
    } else {
        append_label_text(dot, tensor->name);
        kiln_buffer_printf(dot, "%suid %" PRId64 "\\n", *tensor->name ? " " : "", tensor->uid);
        append_shape(dot, tensor);
    }
    kiln_buffer_append_text(dot, "\"];\n");
}

static void append_node(struct kiln_buffer *dot, const struct kiln_graph *graph, uint32_t group,
                        uint32_t index)
{
    const struct kiln_node *node = &graph->nodes[index];
    kiln_buffer_printf(dot, "        g%u_n%u [label=\"", group, index);
    kiln_buffer_append_text(dot, kiln_node_operation(node));
    if (*node->name) {
        kiln_buffer_append_text(dot, "\\n");
        append_label_text(dot, node->name);
    }
    kiln_buffer_append_text(dot, "\"];\n");
}

/* Edges into the members of a group, and from them to what the group stores. Marks the tensors
 * drawn. */
static void append_edges(struct kiln_buffer *dot, const struct kiln_graph *graph,
                         const struct kiln_fusion_group *group, uint32_t number, const bool *member,
                         bool *drawn)
{
    for (uint32_t i = 0; i < graph->node_count; i++) {
        for (uint32_t j = 0; member[i] && j < graph->nodes[i].input_count; j++) {
            uint32_t ordinal = graph->nodes[i].inputs[j];
            const struct kiln_tensor *tensor = &graph->tensors[ordinal];
            if (tensor->producer != KILN_NONE && member[tensor->producer]) {
                kiln_buffer_printf(dot, "    g%u_n%u -> g%u_n%u [label=\"", number,
                                   tensor->producer, number, i);
                append_shape(dot, tensor);
                kiln_buffer_append_text(dot, "\"];\n");
            } else {
                kiln_buffer_printf(dot, "    t%u -> g%u_n%u;\n", ordinal, number, i);
                drawn[ordinal] = true;
            }
        }
    }
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        uint32_t ordinal = group->accesses[i].tensor;
        if (ordinal == KILN_NONE)
            continue;
        drawn[ordinal] = true;
        if (graph->tensors[ordinal].producer != KILN_NONE) {
            kiln_buffer_printf(dot, "    g%u_n%u -> t%u;\n", number,
                               graph->tensors[ordinal].producer, ordinal);
        }
    }
}

/* Values in the workspace that are no tensor's content, with their writers and readers. Parts of a
 * graph number their values by themselves. */
static void append_unnamed(struct kiln_buffer *dot, const struct kiln_planned_kernel *kernel,
                           uint32_t number)
{
    const struct kiln_ir *ir = &kernel->part->ir;
    const struct kiln_fusion_group *group = &kernel->part->partition.groups[kernel->index];
    char part[16] = "";
    if (kernel->part_number != 0)
        (void)snprintf(part, sizeof part, "p%u_", (unsigned)kernel->part_number);
    for (uint32_t i = 0; i < group->access_count; i++) {
        const struct kiln_access *access = &group->accesses[i];
        if (access->tensor != KILN_NONE || access->component != 0)
            continue;
        const char *suffix = access->is_accumulator ? "_partial" : "";
        if (access->is_store)
            kiln_buffer_printf(dot,
                               "    %sv%u%s [shape=cylinder, label=\"%svalue %u\"];\n"
                               "    g%u_n%u -> %sv%u%s;\n",
                               part, access->value, suffix,
                               access->is_accumulator ? "accumulators of " : "", access->value,
                               number, ir->ops[access->value].node, part, access->value, suffix);
        for (uint32_t k = 0; !access->is_store && k < group->op_count; k++) {
            const struct kiln_op *user = &ir->ops[group->ops[k]];
            bool uses = access->is_accumulator && group->ops[k] == access->value;
            for (uint32_t o = 0; o < kiln_opcode_info(user->opcode)->arity; o++)
                uses = uses || (!access->is_accumulator && user->operands[o] == access->value);
            if (uses)
                kiln_buffer_printf(dot, "    %sv%u%s -> g%u_n%u;\n", part, access->value, suffix,
                                   number, user->node);
        }
    }
}

void kiln_dot_append(const struct kiln_graph *graph, const struct kiln_fusion_view *view,
                     const char *target, struct kiln_buffer *dot)
{
    bool *member = kiln_cli_calloc(graph->node_count, sizeof(*member));
    bool *drawn = kiln_cli_calloc(graph->tensor_count, sizeof(*drawn));
    kiln_buffer_append_text(dot, "digraph kiln {\n    label=\"");
    append_label_text(dot, *graph->name ? graph->name : "graph");
    kiln_buffer_append_text(dot, " for ");
    append_label_text(dot, target);
    kiln_buffer_append_text(dot, "\";\n    labelloc=t;\n    fontname=\"sans-serif\";\n"
                                 "    node [fontname=\"sans-serif\", fontsize=10, shape=box, "
                                 "style=rounded];\n"
                                 "    edge [fontname=\"sans-serif\", fontsize=8];\n");
    for (uint32_t i = 0; i < kiln_kernel_plan_kernels(&view->plan); i++) {
        const struct kiln_planned_kernel kernel = kiln_kernel_plan_find(&view->plan, i);
        const struct kiln_fusion_group *group = &kernel.part->partition.groups[kernel.index];
        kiln_fusion_view_members(graph, &kernel.part->ir, group, member);
        kiln_buffer_printf(dot, "    subgraph cluster_%u {\n        label=\"kernel %u", i, i);
        if (i > 0) {
            kiln_buffer_append_text(dot, ": ");
            append_label_text(dot, kiln_boundary_text(group->boundary));
        }
        kiln_buffer_append_text(dot, "\";\n        fontsize=10;\n        labeljust=l;\n"
                                     "        style=rounded;\n        color=\"#888888\";\n");
        for (uint32_t j = 0; j < graph->node_count; j++)
            if (member[j])
                append_node(dot, graph, i, j);
        kiln_buffer_append_text(dot, "    }\n");
        append_edges(dot, graph, group, i, member, drawn);
        append_unnamed(dot, &kernel, i);
    }
    for (uint32_t i = 0; i < graph->tensor_count; i++)
        if (drawn[i])
            append_tensor(dot, graph, i);
    kiln_buffer_append_text(dot, "}\n");
    free(member);
    free(drawn);
}
