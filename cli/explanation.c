#include "cli/explanation.h"

#include "cli/kernel_outline.h"
#include "cli/program_origin.h"
#include "cli/table.h"
#include "cli/text.h"
#include "compiler/fuse/fuse_family.h"
#include "compiler/graph/graph_reader.h"
#include "compiler/schedule/kernel_model.h"
#include "compiler/schedule/schedule_group.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_graph(const struct kiln_graph *graph)
{
    struct kiln_buffer text;
    kiln_buffer_init(&text);
    kiln_graph_print_for_user(graph, &text);
    kiln_text_write_wrapped(stdout, kiln_buffer_text(&text));
    kiln_buffer_fini(&text);
}

static void print_ir(const char *heading, const struct kiln_ir *ir, const struct kiln_graph *graph)
{
    struct kiln_buffer text;
    kiln_buffer_init(&text);
    kiln_ir_print(ir, graph, &text);
    printf("\n%s\n", heading);
    kiln_text_write(stdout, kiln_buffer_text(&text), true);
    kiln_buffer_fini(&text);
}

/* "0 MATMUL 'scores'" */
static void append_node(const struct kiln_graph *graph, uint32_t number, bool is_first,
                        struct kiln_buffer *text)
{
    const struct kiln_node *node = &graph->nodes[number];
    kiln_buffer_printf(text, "%s%u %s", is_first ? " " : ", ", (unsigned)number,
                       kiln_node_operation(node));
    kiln_name_append(node->name, text);
}

/* A line of the nodes whose home a kernel is. */
static void append_homes(const struct kiln_explanation *explanation, uint32_t kernel,
                         struct kiln_buffer *text)
{
    bool is_first = true;
    for (uint32_t i = 0; i < explanation->graph->node_count; i++) {
        if (explanation->view->nodes.homes[i].kernel != kernel)
            continue;
        if (is_first)
            kiln_buffer_append_text(text, "  computes");
        append_node(explanation->graph, i, is_first, text);
        is_first = false;
    }
    kiln_buffer_append_text(text, is_first ? "" : "\n");
}

/* A line of the nodes that a kernel does a part of, or computes again. */
static void append_visits(const struct kiln_explanation *explanation, uint32_t kernel,
                          bool is_again, struct kiln_buffer *text)
{
    const struct kiln_node_kernels *nodes = &explanation->view->nodes;
    bool is_first = true;
    for (uint32_t i = 0; i < nodes->visit_count; i++) {
        const struct kiln_node_visit *visit = &nodes->visits[i];
        if (visit->kernel != kernel || visit->is_again != is_again)
            continue;
        if (is_first)
            kiln_buffer_append_text(text, is_again ? "  computes again" : "  computes a part of");
        append_node(explanation->graph, visit->node, is_first, text);
        kiln_buffer_printf(text, " (kernel %u)", (unsigned)nodes->homes[visit->node].kernel);
        is_first = false;
    }
    kiln_buffer_append_text(text, is_first ? "" : "\n");
}

/* The nodes that no kernel computes. */
static void print_homeless(const struct kiln_explanation *explanation)
{
    struct kiln_buffer text;
    kiln_buffer_init(&text);
    for (uint32_t i = 0; i < explanation->graph->node_count; i++) {
        if (explanation->view->nodes.homes[i].kernel != KILN_NONE)
            continue;
        kiln_buffer_append_text(&text, "node");
        append_node(explanation->graph, i, true, &text);
        kiln_buffer_append_text(&text, " is computed ");
        kiln_fusion_view_print_home(explanation->view, explanation->graph, i, &text);
        kiln_buffer_append_text(&text, "\n");
    }
    kiln_text_write_wrapped(stdout, kiln_buffer_text(&text));
    kiln_buffer_fini(&text);
}

static void print_traffic(const char *verb, uint64_t moved, uint64_t fewest)
{
    printf("%s %" PRIu64 " bytes, the fewest possible are %" PRIu64, verb, moved, fewest);
    if (fewest != 0)
        printf(" (%.2f times)", (double)moved / (double)fewest);
    putchar('\n');
}

/* Parts of kernels are often less than a microsecond. */
static const char *model_time_text(char text[KILN_TEXT_AMOUNT_BYTES], double ns)
{
    if (ns >= 100000)
        return kiln_text_duration(text, (uint64_t)ns);
    (void)snprintf(text, KILN_TEXT_AMOUNT_BYTES, "%.2f us", ns / 1000);
    return text;
}

/* The schedule, and the best others: the launch takes as long for each. */
static void append_alternatives(const struct kiln_alternatives *alternatives,
                                const struct kiln_target *target, struct kiln_buffer *text)
{
    if (alternatives->count == 0)
        return;
    kiln_buffer_printf(text, "  schedules by the model, without the launch (not measured%s)\n",
                       target->kind == KILN_TARGET_HOST ? "; of tiles on a CPU only for comparison"
                                                        : "");
    for (uint32_t i = 0; i < alternatives->count; i++) {
        const struct kiln_alternative *item = &alternatives->items[i];
        char time[KILN_TEXT_AMOUNT_BYTES];
        kiln_buffer_printf(text, "    %s%s%s: %s\n",
                           item->time_ns > 0 ? model_time_text(time, item->time_ns) : "",
                           item->time_ns > 0 ? ", " : "",
                           item->why_not == NULL ? "chosen" : item->why_not, item->what);
    }
}

static void append_model(const struct kiln_schedule *schedule, const struct kiln_target *target,
                         struct kiln_buffer *text)
{
    struct kiln_kernel_model model;
    char time[KILN_TEXT_AMOUNT_BYTES];
    if (!kiln_model_kernel(schedule, target, &model))
        return;
    kiln_buffer_printf(text, "  takes %s by the model (not measured), bound by %s:",
                       model_time_text(time, model.time_ns), kiln_kernel_bound_text(model.bound));
    for (enum kiln_kernel_bound part = 0; part < KILN_BOUND_COUNT; part++)
        kiln_buffer_printf(text, "%s %s %s", part == 0 ? "" : ",", kiln_kernel_bound_text(part),
                           model_time_text(time, model.part_ns[part]));
    kiln_buffer_append_text(text, "\n");
}

/* "as imported; tiles of a product reduce nothing" */
static void append_plan_name(const struct kiln_tried_plan *tried, struct kiln_buffer *text)
{
    kiln_buffer_append_text(text, tried->program);
    for (uint32_t i = 0; i < KILN_CHOICE_COUNT; i++)
        if (tried->choices >> i & 1)
            kiln_buffer_printf(text, "; %s", kiln_choice_text((enum kiln_choice_number)i));
}

/* The next plan by the model's time; KILN_NONE if there is none. */
static uint32_t next_plan(const struct kiln_search_record *record, uint32_t after)
{
    uint32_t found = KILN_NONE;
    for (uint32_t i = 0; i < record->count; i++) {
        const struct kiln_tried_plan *tried = &record->tried[i];
        bool is_later = after == KILN_NONE || tried->time > record->tried[after].time ||
                        (tried->time == record->tried[after].time && i > after);
        if (tried->refusal == NULL && i != record->chosen && i != after && is_later &&
            (found == KILN_NONE || tried->time < record->tried[found].time))
            found = i;
    }
    return found;
}

static void append_plan(const struct kiln_kernel_plan *part, uint32_t index, const char *verb,
                        struct kiln_buffer *text)
{
    const struct kiln_tried_plan *tried = &part->record.tried[index];
    char time[KILN_TEXT_AMOUNT_BYTES];
    if (part->target.bandwidth_gbs == 0)
        return;
    kiln_buffer_printf(text, "  %u %s in %s%s: ", (unsigned)tried->kernel_count,
                       KILN_NOUN(tried->kernel_count, "kernel"),
                       model_time_text(time, tried->time / (double)part->target.bandwidth_gbs),
                       verb);
    append_plan_name(tried, text);
    kiln_buffer_append_text(text, "\n");
}

/* The plan of each part, and the two best others that the search has looked at. */
static void print_plans(const struct kiln_explanation *explanation)
{
    enum { SHOWN = 2 };
    struct kiln_buffer text;
    kiln_buffer_init(&text);
    for (const struct kiln_kernel_plan *part = &explanation->view->plan; part != NULL;
         part = part->next) {
        uint32_t other = KILN_NONE;
        if (part->record.count < 2)
            continue;
        kiln_buffer_append_text(&text, "plans by the model (not measured)\n");
        append_plan(part, part->record.chosen, ", chosen", &text);
        for (uint32_t i = 0; i < SHOWN; i++) {
            other = next_plan(&part->record, other);
            if (other == KILN_NONE)
                break;
            append_plan(part, other, "", &text);
        }
    }
    kiln_text_write_wrapped(stdout, kiln_buffer_text(&text));
    kiln_buffer_fini(&text);
}

static void print_group(const struct kiln_explanation *explanation, uint32_t index)
{
    const struct kiln_planned_kernel kernel =
        kiln_kernel_plan_find(&explanation->view->plan, index);
    const struct kiln_kernel_plan *plan = kernel.part;
    const struct kiln_fusion_group *group = &plan->partition.groups[kernel.index];
    const struct kiln_schedule *schedule = &plan->schedules[kernel.index];
    const struct kiln_domain *domain = &plan->ir.domains[group->domain];
    printf("\nkernel %u: %s\n", (unsigned)index, explanation->program->kernels[index].symbol);
    struct kiln_buffer text;
    kiln_buffer_init(&text);
    kiln_buffer_printf(&text, "  a kernel of its own because %s\n",
                       kiln_boundary_text(group->boundary));
    append_homes(explanation, index, &text);
    append_visits(explanation, index, false, &text);
    append_visits(explanation, index, true, &text);
    kiln_buffer_printf(&text, "  %u %s over [", (unsigned)group->op_count,
                       KILN_NOUN(group->op_count, "value"));
    for (uint32_t i = 0; i < domain->rank; i++)
        kiln_buffer_printf(&text, "%s%" PRId64, i ? "x" : "", domain->dims[i]);
    kiln_buffer_printf(&text, "], %u live %s per element\n", (unsigned)group->live_registers,
                       KILN_NOUN(group->live_registers, "register"));
    kiln_group_explain(&plan->ir, explanation->graph, group, &text);
    kiln_schedule_print(schedule, group, &text);
    kiln_schedule_print_accesses(schedule, &plan->ir, explanation->graph, group, &text);
    kiln_text_write_wrapped(stdout, kiln_buffer_text(&text));
    kiln_buffer_fini(&text);
    print_traffic("  moves", schedule->traffic.bytes_moved, schedule->traffic.bytes_fewest);
    const struct kiln_alternatives alternatives =
        kiln_fusion_view_alternatives(explanation->view, explanation->graph, index);
    kiln_buffer_init(&text);
    append_model(schedule, &plan->target, &text);
    kiln_schedule_explain(schedule, &plan->target, &text);
    append_alternatives(&alternatives, &plan->target, &text);
    kiln_text_write_wrapped(stdout, kiln_buffer_text(&text));
    kiln_buffer_fini(&text);
}

static void add_triple(struct kiln_table *table, const uint32_t triple[3])
{
    if (triple[2] > 1)
        kiln_table_add(table, "%ux%ux%u", triple[0], triple[1], triple[2]);
    else if (triple[1] > 1)
        kiln_table_add(table, "%ux%u", triple[0], triple[1]);
    else
        kiln_table_add(table, "%u", triple[0]);
}

static void print_resources(const struct kiln_explanation *explanation)
{
    static const char *const headings[] = {"kernel", "work-groups", "work-items", "VGPRs", "SGPRs",
                                           "LDS",    "scratch",     "spills",     "code"};
    enum { COLUMNS = sizeof(headings) / sizeof(*headings) };
    const struct kiln_compiled_program *compiled = explanation->compiled;
    if (!compiled) {
        printf("\nresources are not known: ");
        kiln_text_write(stdout, explanation->why_not_compiled, true);
        putchar('\n');
        return;
    }
    bool is_gpu = explanation->target->kind != KILN_TARGET_HOST;
    bool has_sgprs = explanation->target->kind == KILN_TARGET_AMDGPU;
    struct kiln_table table;
    kiln_table_init(&table, COLUMNS, (1u << COLUMNS) - 1);
    for (unsigned i = 0; i < COLUMNS; i++)
        kiln_table_add(&table, "%s", headings[i]);
    for (uint32_t i = 0; i < compiled->kernel_count; i++) {
        const struct kiln_compiled_kernel *kernel = &compiled->kernels[i];
        const struct kiln_kernel_resources *resources = &kernel->object.resources;
        kiln_table_add(&table, "%u", (unsigned)i);
        add_triple(&table, kernel->grid);
        add_triple(&table, kernel->block);
        if (is_gpu) {
            kiln_table_add(&table, "%u", resources->vgprs);
        } else {
            kiln_table_add(&table, "-");
        }
        if (has_sgprs)
            kiln_table_add(&table, "%u", resources->sgprs);
        else
            kiln_table_add(&table, "-");
        kiln_table_add(&table, "%u", is_gpu ? resources->lds_bytes : kernel->lds_bytes);
        if (is_gpu) {
            kiln_table_add(&table, "%u", resources->scratch_bytes);
            kiln_table_add(&table, "%u", resources->vgpr_spills + resources->sgpr_spills);
        } else {
            kiln_table_add(&table, "-");
            kiln_table_add(&table, "-");
        }
        kiln_table_add(&table, "%zu", kernel->object.size);
    }
    printf("\nresources (code from %s; LDS, scratch and code in bytes)\n",
           explanation->origin == KILN_ORIGIN_COMPILED
               ? "the compiler"
               : kiln_program_origin_text(explanation->origin));
    kiln_table_print(&table);
    kiln_table_fini(&table);
    for (uint32_t i = 0; i < compiled->kernel_count; i++) {
        const struct kiln_kernel_resources *resources = &compiled->kernels[i].object.resources;
        if (resources->scratch_bytes == 0)
            continue;
        printf("kernel %u of graph '", (unsigned)i);
        kiln_text_write(stdout, explanation->graph->name, false);
        printf("' spills: '%s' keeps %u bytes per work-item in scratch memory\n",
               compiled->kernels[i].symbol, (unsigned)resources->scratch_bytes);
    }
}

bool kiln_explanation_shows(const struct kiln_explanation *explanation, uint32_t index)
{
    return explanation->kernel == KILN_EVERY_KERNEL || explanation->kernel == index;
}

static enum kiln_status print_outlines(const struct kiln_explanation *explanation,
                                       struct kiln_error *error)
{
    struct kiln_buffer text;
    enum kiln_status status = KILN_OK;
    kiln_buffer_init(&text);
    for (uint32_t i = 0; i < explanation->program->kernel_count && status == KILN_OK; i++) {
        if (!kiln_explanation_shows(explanation, i))
            continue;
        kiln_buffer_printf(&text, "\nsource of kernel %" PRIu32 "\n", i);
        status = kiln_kernel_outline_append(explanation, i, &text, error);
    }
    if (status == KILN_OK)
        kiln_text_write(stdout, kiln_buffer_text(&text), true);
    kiln_buffer_fini(&text);
    return status;
}

enum kiln_status kiln_explanation_print(const struct kiln_explanation *explanation,
                                        struct kiln_error *error)
{
    enum kiln_status status = KILN_OK;
    const struct kiln_kernel_plan *plan = &explanation->view->plan;
    uint32_t groups = kiln_kernel_plan_kernels(plan);
    print_graph(explanation->graph);
    if (explanation->with_ir) {
        print_ir("fusion IR as imported", &explanation->view->imported, explanation->graph);
        for (const struct kiln_kernel_plan *part = plan; part != NULL; part = part->next)
            print_ir("fusion IR as optimised", &part->ir, explanation->graph);
    }
    printf("\n%u %s for %s", (unsigned)groups, KILN_NOUN(groups, "kernel"),
           explanation->target->name);
    if (explanation->program->workspace_bytes) {
        char bytes[KILN_TEXT_AMOUNT_BYTES];
        printf(", workspace %s", kiln_text_bytes(bytes, explanation->program->workspace_bytes));
    }
    printf("\nsizes %s: %s\n",
           explanation->shapes == KILN_SHAPES_ARGUMENT ? "are arguments" : "are constants",
           explanation->shapes_reason);
    print_traffic("together they move", kiln_kernel_plan_bytes(plan),
                  kiln_graph_fewest_bytes(explanation->graph));
    for (const struct kiln_kernel_plan *part = plan; part != NULL; part = part->next) {
        if (part->missed.why == NULL)
            continue;
        printf("no kernel of %s: ", kiln_family_name(part->missed.family));
        kiln_text_write(stdout, part->missed.why, true);
        putchar('\n');
    }
    print_plans(explanation);
    print_homeless(explanation);
    for (uint32_t i = 0; i < groups; i++)
        print_group(explanation, i);
    print_resources(explanation);
    if (explanation->with_source)
        status = print_outlines(explanation, error);
    for (uint32_t i = 0; status == KILN_OK && explanation->isa && i < groups; i++) {
        if (!kiln_explanation_shows(explanation, i))
            continue;
        printf("\ninstructions of kernel %u\n", (unsigned)i);
        kiln_text_write(stdout, explanation->isa[i], true);
    }
    return status;
}
