#include "cli/kernel_outline.h"

#include "compiler/graph/graph_reader.h"
#include "compiler/graph/node_attributes.h"
#include "compiler/schedule/schedule_group.h"

#include <inttypes.h>
#include <string.h>

static void append_node(const struct kiln_graph *graph, const char *verb, uint32_t node,
                        struct kiln_buffer *text)
{
    kiln_buffer_printf(text, "// %s ", verb);
    kiln_graph_print_node_for_user(graph, node, text);
}

static void append_nodes(const struct kiln_explanation *explanation, uint32_t kernel,
                         struct kiln_buffer *text)
{
    const struct kiln_node_kernels *nodes = &explanation->view->nodes;
    for (uint32_t i = 0; i < explanation->graph->node_count; i++) {
        if (nodes->homes[i].kernel == kernel)
            append_node(explanation->graph, "computes", i, text);
    }
    for (uint32_t i = 0; i < nodes->visit_count; i++) {
        const struct kiln_node_visit *visit = &nodes->visits[i];
        if (visit->kernel == kernel)
            append_node(explanation->graph,
                        visit->is_again ? "computes again" : "computes a part of", visit->node,
                        text);
    }
}

/* "// a0 reads uid 3 'bias': half [1,160] strides [0,1]"; a0 is its name in the kernel. */
static void append_access(const struct kiln_explanation *explanation, const struct kiln_ir *ir,
                          const struct kiln_access *access, uint32_t number,
                          struct kiln_buffer *text)
{
    kiln_buffer_printf(text, "// a%" PRIu32 " %s ", number, access->is_store ? "writes" : "reads");
    kiln_access_print_name(ir, explanation->graph, access, text);
    kiln_buffer_printf(text, ": %s", kiln_dtype_info(access->dtype)->text);
    if (access->tensor != KILN_NONE && !access->is_accumulator) {
        const struct kiln_tensor *tensor = &explanation->graph->tensors[access->tensor];
        kiln_buffer_append_text(text, " ");
        kiln_print_list(text, tensor->dims, tensor->rank);
        if (access->kind != KILN_ARGUMENT_WORKSPACE) {
            kiln_buffer_append_text(text, " strides ");
            kiln_print_list(text, tensor->strides, tensor->rank);
        }
    }
    kiln_buffer_append_text(text, "\n");
}

static void append_schedule(const struct kiln_schedule *schedule,
                            const struct kiln_fusion_group *group, struct kiln_buffer *text)
{
    struct kiln_buffer lines;
    kiln_buffer_init(&lines);
    kiln_schedule_print(schedule, group, &lines);
    const char *line = kiln_buffer_text(&lines);
    while (*line != '\0') {
        line += strspn(line, " ");
        size_t length = strcspn(line, "\n");
        kiln_buffer_printf(text, "// %.*s\n", (int)length, line);
        line += length + (line[length] == '\n');
    }
    kiln_buffer_fini(&lines);
}

enum kiln_status kiln_kernel_outline_append(const struct kiln_explanation *explanation,
                                            uint32_t kernel, struct kiln_buffer *text,
                                            struct kiln_error *error)
{
    const struct kiln_planned_kernel planned =
        kiln_kernel_plan_find(&explanation->view->plan, kernel);
    const struct kiln_kernel_plan *plan = planned.part;
    const struct kiln_fusion_group *group = &plan->partition.groups[planned.index];
    kiln_buffer_printf(text, "// %s: its generated part; --dump source prints the whole text\n",
                       explanation->program->kernels[kernel].symbol);
    append_nodes(explanation, kernel, text);
    for (uint32_t i = 0; i < group->access_count; i++)
        append_access(explanation, &plan->ir, &group->accesses[i], i, text);
    append_schedule(&plan->schedules[planned.index], group, text);
    return kiln_program_outline(explanation->program, explanation->graph, kernel, text, error);
}
