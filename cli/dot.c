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
        struct kiln_buffer name;
        kiln_buffer_init(&name);
        kiln_tensor_print_name(tensor, &name);
        append_label_text(dot, kiln_buffer_text(&name));
        kiln_buffer_append_text(dot, "\\n");
        kiln_buffer_fini(&name);
        append_shape(dot, tensor);
    }
    kiln_buffer_append_text(dot, "\"];\n");
}

/* State of a drawing: its graph and view, the output, and flags of the tensors. */
struct drawing {
    const struct kiln_graph *graph;
    const struct kiln_fusion_view *view;
    struct kiln_buffer *dot;
    bool *is_in_memory; /* per tensor: the workspace has it, or the caller */
    bool *is_drawn;     /* per tensor: an edge leads to it */
};

/* Nodes that no kernel computes are dashed, and outside of all kernels. */
static void append_node(const struct drawing *drawing, uint32_t index)
{
    const struct kiln_node_kernels *kernels = &drawing->view->nodes;
    const struct kiln_node *node = &drawing->graph->nodes[index];
    struct kiln_buffer *dot = drawing->dot;
    bool is_computed = kernels->homes[index].kernel != KILN_NONE;
    kiln_buffer_printf(dot, "        n%u [%slabel=\"%u ", index,
                       is_computed ? "" : "style=\"rounded,dashed\", ", index);
    kiln_buffer_append_text(dot, kiln_node_operation(node));
    if (*node->name) {
        kiln_buffer_append_text(dot, "\\n");
        append_label_text(dot, node->name);
    }
    if (!is_computed) {
        struct kiln_buffer home;
        kiln_buffer_init(&home);
        kiln_fusion_view_print_home(drawing->view, drawing->graph, index, &home);
        kiln_buffer_append_text(dot, "\\ncomputed ");
        append_label_text(dot, kiln_buffer_text(&home));
        kiln_buffer_fini(&home);
    }
    for (uint32_t i = 0; i < kernels->visit_count; i++) {
        const struct kiln_node_visit *visit = &kernels->visits[i];
        if (visit->node == index)
            kiln_buffer_printf(dot, "\\n%s kernel %u", visit->is_again ? "again in" : "partly in",
                               visit->kernel);
    }
    kiln_buffer_append_text(dot, "\"];\n");
}

/* The kernel and the nodes whose home it is. */
static void append_kernel(const struct drawing *drawing, uint32_t index)
{
    const struct kiln_planned_kernel kernel = kiln_kernel_plan_find(&drawing->view->plan, index);
    const struct kiln_fusion_group *group = &kernel.part->partition.groups[kernel.index];
    struct kiln_buffer *dot = drawing->dot;
    kiln_buffer_printf(dot, "    subgraph cluster_%u {\n        label=\"kernel %u", index, index);
    if (index > 0) {
        kiln_buffer_append_text(dot, ": ");
        append_label_text(dot, kiln_boundary_text(group->boundary));
    }
    /* A kernel without nodes of its own is seen by this one, to which workspace values lead. */
    kiln_buffer_printf(dot,
                       "\";\n        fontsize=10;\n        labeljust=l;\n"
                       "        style=rounded;\n        color=\"#888888\";\n"
                       "        k%u [shape=point, style=invis];\n",
                       index);
    for (uint32_t i = 0; i < drawing->graph->node_count; i++)
        if (drawing->view->nodes.homes[i].kernel == index)
            append_node(drawing, i);
    kiln_buffer_append_text(dot, "    }\n");
}

static void draw_tensor(const struct drawing *drawing, uint32_t ordinal)
{
    drawing->is_drawn[ordinal] = true;
}

/* From the tensors that a node reads: through memory where it is in another kernel. */
static void append_inputs(const struct drawing *drawing, uint32_t index)
{
    const struct kiln_node_home *homes = drawing->view->nodes.homes;
    const struct kiln_node *node = &drawing->graph->nodes[index];
    for (uint32_t k = 0; k < node->input_count; k++) {
        uint32_t ordinal = node->inputs[k];
        const struct kiln_tensor *tensor = &drawing->graph->tensors[ordinal];
        bool is_direct = tensor->producer != KILN_NONE &&
                         (!drawing->is_in_memory[ordinal] ||
                          homes[tensor->producer].kernel == homes[index].kernel);
        if (!is_direct) {
            kiln_buffer_printf(drawing->dot, "    t%u -> n%u;\n", ordinal, index);
            draw_tensor(drawing, ordinal);
            continue;
        }
        kiln_buffer_printf(drawing->dot, "    n%u -> n%u [label=\"", tensor->producer, index);
        append_shape(drawing->dot, tensor);
        kiln_buffer_append_text(drawing->dot, "\"];\n");
    }
}

static void append_outputs(const struct drawing *drawing, uint32_t index)
{
    const struct kiln_node *node = &drawing->graph->nodes[index];
    for (uint32_t k = 0; k < node->output_count; k++) {
        if (!drawing->is_in_memory[node->outputs[k]])
            continue;
        kiln_buffer_printf(drawing->dot, "    n%u -> t%u;\n", index, node->outputs[k]);
        draw_tensor(drawing, node->outputs[k]);
    }
}

/* Values in the workspace that are no tensor's content: from the kernel that writes one to those
 * that read it. A value has one box, whatever number of components it has. */
static void append_unnamed(const struct drawing *drawing, uint32_t index)
{
    const struct kiln_planned_kernel kernel = kiln_kernel_plan_find(&drawing->view->plan, index);
    const struct kiln_ir *ir = &kernel.part->ir;
    const struct kiln_fusion_group *group = &kernel.part->partition.groups[kernel.index];
    for (uint32_t i = 0; i < group->access_count; i++) {
        const struct kiln_access *access = &group->accesses[i];
        char name[64];
        if (access->tensor != KILN_NONE || access->component != 0)
            continue;
        (void)snprintf(name, sizeof name, "w%u_%u", (unsigned)kernel.part_number,
                       (unsigned)access->workspace_content);
        if (!access->is_store) {
            kiln_buffer_printf(drawing->dot, "    %s -> k%u;\n", name, index);
            continue;
        }
        kiln_buffer_printf(drawing->dot,
                           "    %s [shape=cylinder, style=filled, fillcolor=\"#fdebd0\", "
                           "label=\"workspace at %" PRIu64 "\\n%s",
                           name, access->workspace_offset_bytes,
                           access->is_accumulator ? "accumulator of " : "a value of ");
        struct kiln_buffer node;
        kiln_buffer_init(&node);
        kiln_node_print_name(drawing->graph, ir->ops[access->value].node, &node);
        append_label_text(drawing->dot, kiln_buffer_text(&node));
        kiln_buffer_fini(&node);
        kiln_buffer_printf(drawing->dot, "\"];\n    k%u -> %s;\n", index, name);
    }
}

/* Finds the tensors that have memory: the caller's, and virtual ones that lie in the workspace. */
static void find_memory(const struct drawing *drawing)
{
    const struct kiln_kernel_plan *plan = &drawing->view->plan;
    for (uint32_t i = 0; i < drawing->graph->tensor_count; i++)
        drawing->is_in_memory[i] = drawing->graph->tensors[i].role != KILN_TENSOR_VIRTUAL;
    for (uint32_t i = 0; i < kiln_kernel_plan_kernels(plan); i++) {
        const struct kiln_planned_kernel kernel = kiln_kernel_plan_find(plan, i);
        const struct kiln_fusion_group *group = &kernel.part->partition.groups[kernel.index];
        for (uint32_t k = group->load_count; k < group->access_count; k++) {
            const struct kiln_access *access = &group->accesses[k];
            if (access->tensor != KILN_NONE && !access->is_accumulator)
                drawing->is_in_memory[access->tensor] = true;
        }
    }
}

void kiln_dot_append(const struct kiln_graph *graph, const struct kiln_fusion_view *view,
                     const char *target, struct kiln_buffer *dot)
{
    const struct drawing drawing = {
        .graph = graph,
        .view = view,
        .dot = dot,
        .is_in_memory = kiln_cli_calloc(graph->tensor_count, sizeof(bool)),
        .is_drawn = kiln_cli_calloc(graph->tensor_count, sizeof(bool)),
    };
    uint32_t kernels = kiln_kernel_plan_kernels(&view->plan);
    find_memory(&drawing);
    kiln_buffer_append_text(dot, "digraph kiln {\n    label=\"");
    append_label_text(dot, *graph->name ? graph->name : "graph");
    kiln_buffer_append_text(dot, " for ");
    append_label_text(dot, target);
    kiln_buffer_append_text(dot, "\";\n    labelloc=t;\n    fontname=\"sans-serif\";\n"
                                 "    node [fontname=\"sans-serif\", fontsize=10, shape=box, "
                                 "style=rounded];\n"
                                 "    edge [fontname=\"sans-serif\", fontsize=8];\n");
    for (uint32_t i = 0; i < kernels; i++)
        append_kernel(&drawing, i);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        if (view->nodes.homes[i].kernel == KILN_NONE)
            append_node(&drawing, i);
        append_inputs(&drawing, i);
        append_outputs(&drawing, i);
    }
    for (uint32_t i = 0; i < kernels; i++)
        append_unnamed(&drawing, i);
    for (uint32_t i = 0; i < graph->tensor_count; i++)
        if (drawing.is_drawn[i])
            append_tensor(dot, graph, i);
    kiln_buffer_append_text(dot, "}\n");
    free(drawing.is_in_memory);
    free(drawing.is_drawn);
}
