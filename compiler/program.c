#include "compiler/program.h"

#include "compiler/emit/emit.h"
#include "compiler/emit/template_text.h"
#include "compiler/kernel_plan.h"

#include <inttypes.h>

const char *kiln_templates_digest(void)
{
    return kiln_generated_digest;
}

void kiln_lower_options_append_key(const struct kiln_lower_options *options,
                                   struct kiln_buffer *key)
{
    kiln_buffer_append_u32(key, options->no_fusion);
    kiln_buffer_append_u32(key, options->max_vector_elements);
    kiln_buffer_append_u32(key, options->host_wave_size);
    kiln_buffer_append_u32(key, options->max_groups);
    kiln_buffer_append_u32(key, options->skipped_forms);
    kiln_buffer_append_u32(key, options->max_part_weight);
    const struct kiln_contraction_options *contraction = &options->contraction;
    kiln_buffer_append_u32(key, contraction->form);
    kiln_buffer_append_u32(key, contraction->tile_m);
    kiln_buffer_append_u32(key, contraction->tile_n);
    kiln_buffer_append_u32(key, contraction->tile_k);
    kiln_buffer_append_u32(key, contraction->waves_m);
    kiln_buffer_append_u32(key, contraction->waves_n);
    kiln_buffer_append_u32(key, contraction->waves_k);
    kiln_buffer_append_u32(key, contraction->segments);
}

static void explain_part(const struct kiln_kernel_plan *plan, struct kiln_buffer *explanation)
{
    kiln_buffer_append_text(explanation, "fusion ir\n");
    kiln_ir_print(&plan->ir, explanation);
    if (plan->no_attention != NULL)
        kiln_buffer_printf(explanation, "no kernel of attention: %s\n", plan->no_attention);
    if (plan->partition.is_plain)
        kiln_buffer_append_text(explanation,
                                "plain partition: the graph is too large to find out what could "
                                "share a kernel, so each node has kernels of its own\n");
}

/* Kernel `index` of a part, the `number`th of the program. */
static void explain_group(const struct kiln_kernel_plan *plan, uint32_t index, uint32_t number,
                          struct kiln_buffer *explanation)
{
    const struct kiln_ir *ir = &plan->ir;
    const struct kiln_fusion_group *group = &plan->partition.groups[index];
    const struct kiln_domain *domain = &ir->domains[group->domain];
    kiln_buffer_printf(explanation, "kernel %" PRIu32 ": %" PRIu32 " values over [", number,
                       group->op_count);
    for (uint32_t i = 0; i < domain->rank; i++)
        kiln_buffer_printf(explanation, "%s%" PRId64, i == 0 ? "" : "x", domain->dims[i]);
    kiln_buffer_printf(explanation, "], %" PRIu32 " live registers an element\n",
                       group->live_registers);
    kiln_buffer_printf(explanation, "  a kernel of its own because %s\n",
                       kiln_boundary_text(group->boundary));
    kiln_print_betweens(ir, &plan->partition, group, explanation);
    kiln_schedule_print(&plan->schedules[index], group, explanation);
}

static enum kiln_status emit_kernel(const struct kiln_program *program,
                                    const struct kiln_graph *graph, uint32_t index,
                                    struct kiln_error *error)
{
    const struct kiln_planned_kernel planned = kiln_kernel_plan_find(program->plan, index);
    const struct kiln_kernel_plan *plan = planned.part;
    struct kiln_kernel *kernel = &program->kernels[index];
    const struct kiln_schedule *schedule = &plan->schedules[planned.index];
    struct kiln_emission emission = {.ir = &plan->ir,
                                     .graph = plan->graph != NULL ? plan->graph : graph,
                                     .group = &plan->partition.groups[planned.index],
                                     .schedule = schedule,
                                     .target = &plan->target,
                                     .sources = program->sources};
    enum kiln_status status = kiln_emit_kernel(&emission, kernel, error);
    if (status != KILN_OK)
        return status;
    kernel->bytes_moved = schedule->bytes_moved;
    kernel->bytes_fewest = schedule->bytes_fewest;
    kernel->form = schedule->form;
    return KILN_OK;
}

enum kiln_status kiln_lower(const struct kiln_graph *graph, const struct kiln_target *target,
                            const struct kiln_lower_options *options, struct kiln_arena *arena,
                            struct kiln_program *ret_program, struct kiln_buffer *explanation,
                            struct kiln_error *error)
{
    struct kiln_kernel_plan *plan = kiln_arena_calloc(arena, 1, sizeof *plan);
    if (plan == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while lowering the graph");
    enum kiln_status status = kiln_kernel_plan_make(graph, target, options, arena, plan, error);
    if (status != KILN_OK)
        return status;
    for (const struct kiln_kernel_plan *part = plan; explanation != NULL && part != NULL;
         part = part->next)
        explain_part(part, explanation);

    uint32_t count = kiln_kernel_plan_kernels(plan);
    struct kiln_program program = {
        .kernel_count = count,
        .workspace_bytes = plan->partition.workspace_bytes,
        .kernels = kiln_arena_calloc(arena, count, sizeof *program.kernels),
        .plan = plan,
        .sources = kiln_arena_calloc(arena, 1, sizeof *program.sources),
    };
    if (program.kernels == NULL || program.sources == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while lowering the graph");
    for (uint32_t i = 0; i < count; i++) {
        status = kiln_kernel_plan_relax_to(plan, graph, i, options->skipped_forms, error);
        if (status != KILN_OK)
            return status;
        struct kiln_planned_kernel planned = kiln_kernel_plan_find(plan, i);
        if (explanation != NULL)
            explain_group(planned.part, planned.index, i, explanation);
        status = emit_kernel(&program, graph, i, error);
        if (status != KILN_OK)
            return status;
    }
    *ret_program = program;
    return KILN_OK;
}

enum kiln_status kiln_program_relax(struct kiln_program *program, const struct kiln_graph *graph,
                                    uint32_t kernel, struct kiln_error *error)
{
    enum kiln_status status = kiln_kernel_plan_relax(program->plan, graph, kernel, error);
    if (status == KILN_OK)
        status = emit_kernel(program, graph, kernel, error);
    return status;
}
