#include "cli/explanation.h"

#include "cli/program_origin.h"
#include "cli/table.h"
#include "cli/text.h"
#include "compiler/graph/graph_reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_graph(const struct kiln_graph *graph)
{
    struct kiln_buffer text;
    kiln_buffer_init(&text);
    kiln_graph_print(graph, &text);
    kiln_text_write_wrapped(stdout, kiln_buffer_text(&text));
    kiln_buffer_fini(&text);
}

static void print_ir(const char *heading, const struct kiln_ir *ir)
{
    struct kiln_buffer text;
    kiln_buffer_init(&text);
    kiln_ir_print(ir, &text);
    printf("\n%s\n", heading);
    kiln_text_write(stdout, kiln_buffer_text(&text), true);
    kiln_buffer_fini(&text);
}

static void print_access(const struct kiln_graph *graph, const struct kiln_access *access)
{
    if (access->is_accumulator) {
        printf(" component %u of the accumulators of value %u", (unsigned)access->component,
               (unsigned)access->value);
    } else if (access->tensor == KILN_NONE) {
        printf(" value %u", (unsigned)access->value);
    } else {
        const struct kiln_tensor *tensor = &graph->tensors[access->tensor];
        printf(" %lld", (long long)tensor->uid);
        if (*tensor->name) {
            fputs(" '", stdout);
            kiln_text_write(stdout, tensor->name, false);
            putchar('\'');
        }
    }
    if (access->kind == KILN_ARGUMENT_WORKSPACE)
        printf(" in workspace at %" PRIu64, access->workspace_offset_bytes);
}

static void print_accesses(const struct kiln_graph *graph, const char *verb,
                           const struct kiln_access *accesses, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        fputs(i ? "," : verb, stdout);
        print_access(graph, &accesses[i]);
    }
    if (count)
        putchar('\n');
}

static void print_members(const struct kiln_graph *graph, const bool *member)
{
    bool first = true;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        if (member[i]) {
            printf("%s%u %s", first ? "  evaluates " : ", ", (unsigned)i,
                   kiln_node_operation(&graph->nodes[i]));
            first = false;
        }
    }
    if (!first)
        putchar('\n');
}

static void print_traffic(const char *verb, uint64_t moved, uint64_t fewest)
{
    printf("%s %" PRIu64 " bytes, the fewest possible are %" PRIu64, verb, moved, fewest);
    if (fewest != 0)
        printf(" (%.2f times)", (double)moved / (double)fewest);
    putchar('\n');
}

static void print_group(const struct kiln_explanation *explanation, uint32_t index, bool *member)
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
    kiln_text_write_wrapped(stdout, kiln_buffer_text(&text));
    kiln_buffer_fini(&text);
    kiln_fusion_view_members(explanation->graph, &plan->ir, group, member);
    print_members(explanation->graph, member);
    printf("  %u %s over [", (unsigned)group->op_count, KILN_NOUN(group->op_count, "value"));
    for (uint32_t i = 0; i < domain->rank; i++)
        printf("%s%" PRId64, i ? "x" : "", domain->dims[i]);
    printf("], %u live %s per element\n", (unsigned)group->live_registers,
           KILN_NOUN(group->live_registers, "register"));
    print_accesses(explanation->graph, "  reads", group->accesses, group->load_count);
    print_accesses(explanation->graph, "  writes", group->accesses + group->load_count,
                   group->access_count - group->load_count);
    kiln_buffer_init(&text);
    kiln_print_betweens(&plan->ir, &plan->partition, group, &text);
    kiln_schedule_print(schedule, group, &text);
    kiln_text_write_wrapped(stdout, kiln_buffer_text(&text));
    kiln_buffer_fini(&text);
    print_traffic("  moves", schedule->bytes_moved, schedule->bytes_fewest);
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

void kiln_explanation_print(const struct kiln_explanation *explanation)
{
    bool *member = kiln_cli_calloc(explanation->graph->node_count, sizeof(*member));
    const struct kiln_kernel_plan *plan = &explanation->view->plan;
    uint32_t groups = kiln_kernel_plan_kernels(plan);
    print_graph(explanation->graph);
    if (explanation->with_ir) {
        print_ir("fusion IR as imported", &explanation->view->imported);
        for (const struct kiln_kernel_plan *part = plan; part != NULL; part = part->next)
            print_ir("fusion IR as optimised", &part->ir);
    }
    printf("\n%u %s for %s", (unsigned)groups, KILN_NOUN(groups, "kernel"),
           explanation->target->name);
    if (explanation->program->workspace_bytes) {
        char bytes[KILN_TEXT_AMOUNT_BYTES];
        printf(", workspace %s", kiln_text_bytes(bytes, explanation->program->workspace_bytes));
    }
    putchar('\n');
    print_traffic("together they move", kiln_kernel_plan_bytes(plan),
                  kiln_graph_fewest_bytes(explanation->graph));
    for (const struct kiln_kernel_plan *part = plan; part != NULL; part = part->next) {
        if (part->no_attention == NULL)
            continue;
        printf("no kernel of attention: ");
        kiln_text_write(stdout, part->no_attention, true);
        putchar('\n');
    }
    for (uint32_t i = 0; i < groups; i++)
        print_group(explanation, i, member);
    print_resources(explanation);
    for (uint32_t i = 0; explanation->with_source && i < groups; i++) {
        if (!kiln_explanation_shows(explanation, i))
            continue;
        printf("\nsource of kernel %u\n", (unsigned)i);
        kiln_text_write(stdout, explanation->program->kernels[i].source, true);
    }
    for (uint32_t i = 0; explanation->isa && i < groups; i++) {
        if (!kiln_explanation_shows(explanation, i))
            continue;
        printf("\ninstructions of kernel %u\n", (unsigned)i);
        kiln_text_write(stdout, explanation->isa[i], true);
    }
    free(member);
}
