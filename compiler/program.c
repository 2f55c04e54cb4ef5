#include "compiler/program.h"

#include "compiler/emit/emit.h"
#include "compiler/emit/template_text.h"
#include "compiler/plan/kernel_plan.h"
#include "compiler/plan/plan_print.h"

#include <inttypes.h>

const char *kiln_templates_digest(void)
{
    return kiln_generated_digest;
}

static struct kiln_emission emission_of(const struct kiln_program *program,
                                        const struct kiln_graph *graph, uint32_t index)
{
    const struct kiln_planned_kernel planned = kiln_kernel_plan_find(program->plan, index);
    const struct kiln_kernel_plan *plan = planned.part;
    return (struct kiln_emission){.ir = &plan->ir,
                                  .graph = plan->graph != NULL ? plan->graph : graph,
                                  .group = &plan->partition.groups[planned.index],
                                  .schedule = &plan->schedules[planned.index],
                                  .target = &plan->target,
                                  .sources = program->sources};
}

static enum kiln_status emit_kernel(const struct kiln_program *program,
                                    const struct kiln_graph *graph, uint32_t index,
                                    struct kiln_error *error)
{
    struct kiln_kernel *kernel = &program->kernels[index];
    const struct kiln_emission emission = emission_of(program, graph, index);
    const struct kiln_schedule *schedule = emission.schedule;
    enum kiln_status status = kiln_emit_kernel(&emission, kernel, error);
    if (status != KILN_OK)
        return status;
    kernel->bytes_moved = schedule->traffic.bytes_moved;
    kernel->bytes_fewest = schedule->traffic.bytes_fewest;
    kernel->form = schedule->form;
    return KILN_OK;
}

/* ---- the pipeline ---- */

/* graph -> ir -> passes -> groups -> schedules: kiln_part_plan_make, in plan_pipeline.c. */
static enum kiln_status make_plan(const struct kiln_graph *graph, const struct kiln_target *target,
                                  const struct kiln_lower_options *options,
                                  struct kiln_arena *arena, const struct kiln_dump *dump,
                                  struct kiln_program *program, struct kiln_error *error)
{
    program->plan = kiln_arena_calloc(arena, 1, sizeof *program->plan);
    program->sources = kiln_arena_calloc(arena, 1, sizeof *program->sources);
    if (program->plan == NULL || program->sources == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while lowering the graph");
    struct kiln_buffer *ir = dump != NULL && (dump->stages & KILN_DUMP_IR) ? dump->text : NULL;
    return kiln_kernel_plan_make_dumped(graph, target, options, ir, arena, program->plan, error);
}

/* schedules -> the forms that the options ask for. */
static enum kiln_status skip_forms(struct kiln_program *program, const struct kiln_graph *graph,
                                   const struct kiln_lower_options *options,
                                   struct kiln_error *error)
{
    enum kiln_status status = KILN_OK;
    program->kernel_count = kiln_kernel_plan_kernels(program->plan);
    program->workspace_bytes = program->plan->partition.workspace_bytes;
    for (uint32_t i = 0; i < program->kernel_count && status == KILN_OK; i++)
        status = kiln_kernel_plan_relax_to(program->plan, graph, i, options->skipped_forms, error);
    return status;
}

/* schedules -> source. */
static enum kiln_status emit_kernels(struct kiln_program *program, const struct kiln_graph *graph,
                                     struct kiln_arena *arena, struct kiln_error *error)
{
    enum kiln_status status = KILN_OK;
    program->kernels = kiln_arena_calloc(arena, program->kernel_count, sizeof *program->kernels);
    if (program->kernels == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while lowering the graph");
    for (uint32_t i = 0; i < program->kernel_count && status == KILN_OK; i++)
        status = emit_kernel(program, graph, i, error);
    return status;
}

static void dump_program(const struct kiln_program *program, const struct kiln_graph *graph,
                         const struct kiln_dump *dump)
{
    if (dump == NULL)
        return;
    if (dump->stages & KILN_DUMP_GROUPS)
        kiln_plan_print_groups(program->plan, graph, dump->text);
    if (dump->stages & KILN_DUMP_SCHEDULE)
        kiln_plan_print_schedules(program->plan, graph, dump->text);
    for (uint32_t i = 0; (dump->stages & KILN_DUMP_SOURCE) && i < program->kernel_count; i++) {
        kiln_buffer_printf(dump->text, "source of kernel %" PRIu32 "\n", i);
        kiln_buffer_append_text(dump->text, program->kernels[i].source);
    }
}

enum kiln_status kiln_lower(const struct kiln_graph *graph, const struct kiln_target *target,
                            const struct kiln_lower_options *options, struct kiln_arena *arena,
                            struct kiln_program *ret_program, const struct kiln_dump *dump,
                            struct kiln_error *error)
{
    struct kiln_program program = {0};
    enum kiln_status status = make_plan(graph, target, options, arena, dump, &program, error);
    if (status == KILN_OK)
        status = skip_forms(&program, graph, options, error);
    if (status == KILN_OK)
        status = emit_kernels(&program, graph, arena, error);
    if (status != KILN_OK)
        return status;
    dump_program(&program, graph, dump);
    *ret_program = program;
    return KILN_OK;
}

enum kiln_status kiln_program_outline(const struct kiln_program *program,
                                      const struct kiln_graph *graph, uint32_t kernel,
                                      struct kiln_buffer *text, struct kiln_error *error)
{
    const struct kiln_emission emission = emission_of(program, graph, kernel);
    return kiln_emit_outline(&emission, text, error);
}

enum kiln_status kiln_program_relax(struct kiln_program *program, const struct kiln_graph *graph,
                                    uint32_t kernel, struct kiln_error *error)
{
    enum kiln_status status = kiln_kernel_plan_relax(program->plan, graph, kernel, error);
    if (status == KILN_OK)
        status = emit_kernel(program, graph, kernel, error);
    return status;
}
