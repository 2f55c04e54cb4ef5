#include "compiler/plan/plan_print.h"
#include "compiler/fuse/fuse_family.h"
#include "compiler/schedule/schedule_group.h"

#include <inttypes.h>

static void print_choices(uint32_t choices, struct kiln_buffer *buffer)
{
    for (uint32_t i = 0; i < KILN_CHOICE_COUNT; i++) {
        if ((choices >> i) & 1u)
            kiln_buffer_printf(buffer, "; %s", kiln_choice_text((enum kiln_choice_number)i));
    }
}

static void print_search(const struct kiln_kernel_plan *plan, struct kiln_buffer *buffer)
{
    const struct kiln_search_record *record = &plan->record;
    for (uint32_t i = 0; i < record->count; i++) {
        const struct kiln_tried_plan *tried = &record->tried[i];
        kiln_buffer_printf(buffer, "%s %s",
                           i == record->chosen ? "chosen:" : "tried:", tried->program);
        print_choices(tried->choices, buffer);
        if (tried->refusal != NULL)
            kiln_buffer_printf(buffer, ": refused, %s\n", tried->refusal);
        else if (plan->target.bandwidth_gbs != 0)
            kiln_buffer_printf(buffer, ": %" PRIu32 " %s, time of %.2f us by the model\n",
                               tried->kernel_count, KILN_NOUN(tried->kernel_count, "kernel"),
                               tried->time / (double)plan->target.bandwidth_gbs / 1000);
        else
            kiln_buffer_printf(buffer, ": %" PRIu32 " %s\n", tried->kernel_count,
                               KILN_NOUN(tried->kernel_count, "kernel"));
    }
    if (plan->missed.why != NULL)
        kiln_buffer_printf(buffer, "no kernel of %s: %s\n", kiln_family_name(plan->missed.family),
                           plan->missed.why);
    if (plan->partition.is_plain)
        kiln_buffer_append_text(buffer,
                                "plain partition: the graph is too large to find out what could "
                                "share a kernel, so each node has kernels of its own\n");
}

static void print_accesses(const struct kiln_kernel_plan *plan, const struct kiln_graph *graph,
                           const struct kiln_fusion_group *group, struct kiln_buffer *buffer)
{
    for (uint32_t i = 0; i < group->access_count; i++) {
        const struct kiln_access *access = &group->accesses[i];
        kiln_buffer_printf(buffer, "  %s %%%" PRIu32 " as %s, ",
                           access->is_store ? "store" : "load", access->value,
                           kiln_dtype_info(access->dtype)->text);
        kiln_access_print_name(&plan->ir, graph, access, buffer);
        kiln_buffer_append_text(buffer, "\n");
    }
}

static void print_group(const struct kiln_kernel_plan *plan, const struct kiln_graph *graph,
                        uint32_t index, struct kiln_buffer *buffer)
{
    const struct kiln_fusion_group *group = &plan->partition.groups[index];
    const struct kiln_domain *domain = &plan->ir.domains[group->domain];
    kiln_buffer_printf(buffer, "%s, %" PRIu32 " %s over [", kiln_family_name(group->family),
                       group->op_count, KILN_NOUN(group->op_count, "value"));
    for (uint32_t i = 0; i < domain->rank; i++)
        kiln_buffer_printf(buffer, "%s%" PRId64, i == 0 ? "" : "x", domain->dims[i]);
    kiln_buffer_printf(buffer, "], %" PRIu32 " live registers per element\n  because %s\n  values",
                       group->live_registers, kiln_boundary_text(group->boundary));
    for (uint32_t i = 0; i < group->op_count; i++)
        kiln_buffer_printf(buffer, " %%%" PRIu32, group->ops[i]);
    kiln_buffer_append_text(buffer, "\n");
    print_accesses(plan, graph, group, buffer);
    kiln_group_explain(&plan->ir, graph, group, buffer);
}

void kiln_plan_print_groups(const struct kiln_kernel_plan *plan, const struct kiln_graph *graph,
                            struct kiln_buffer *buffer)
{
    uint32_t number = 0;
    for (const struct kiln_kernel_plan *part = plan; part != NULL; part = part->next) {
        print_search(part, buffer);
        for (uint32_t i = 0; i < part->partition.group_count; i++) {
            kiln_buffer_printf(buffer, "group of kernel %" PRIu32 ": ", number++);
            print_group(part, graph, i, buffer);
        }
    }
}

void kiln_plan_print_schedules(const struct kiln_kernel_plan *plan, const struct kiln_graph *graph,
                               struct kiln_buffer *buffer)
{
    uint32_t number = 0;
    for (const struct kiln_kernel_plan *part = plan; part != NULL; part = part->next) {
        for (uint32_t i = 0; i < part->partition.group_count; i++) {
            const struct kiln_schedule *schedule = &part->schedules[i];
            kiln_buffer_printf(
                buffer, "schedule of kernel %" PRIu32 ": form %" PRIu32 ", time of %.0f bytes\n",
                number++, schedule->form, kiln_schedule_time(schedule, &part->target));
            kiln_schedule_print(schedule, &part->partition.groups[i], buffer);
            kiln_schedule_print_accesses(schedule, &part->ir, graph, &part->partition.groups[i],
                                         buffer);
        }
    }
}
