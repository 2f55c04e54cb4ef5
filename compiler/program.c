#include "compiler/program.h"

#include "compiler/emit/emit.h"
#include "compiler/emit/template_text.h"
#include "compiler/fuse/partition.h"
#include "compiler/ir/import.h"
#include "compiler/ir/passes.h"
#include "compiler/schedule/schedule.h"

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
}

static void explain_ir(const struct kiln_ir *ir, struct kiln_buffer *explanation)
{
    kiln_buffer_append_text(explanation, "fusion ir\n");
    kiln_ir_print(ir, explanation);
}

static void explain_group(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                          const struct kiln_schedule *schedule, uint32_t index,
                          struct kiln_buffer *explanation)
{
    const struct kiln_domain *domain = &ir->domains[group->domain];
    kiln_buffer_printf(explanation, "kernel %" PRIu32 ": %" PRIu32 " values over [", index,
                       group->op_count);
    for (uint32_t i = 0; i < domain->rank; i++)
        kiln_buffer_printf(explanation, "%s%" PRId64, i == 0 ? "" : "x", domain->dims[i]);
    kiln_buffer_printf(explanation, "], %" PRIu32 " live registers an element\n",
                       group->live_registers);
    kiln_buffer_printf(explanation, "  a kernel of its own because %s\n",
                       kiln_boundary_text(group->boundary));
    kiln_schedule_print(schedule, group, explanation);
}

enum kiln_status kiln_lower(const struct kiln_graph *graph, const struct kiln_target *target,
                            const struct kiln_lower_options *options, struct kiln_arena *arena,
                            struct kiln_program *ret_program, struct kiln_buffer *explanation,
                            struct kiln_error *error)
{
    struct kiln_ir ir;
    struct kiln_partition partition;
    kiln_ir_init(&ir, arena);
    enum kiln_status status = kiln_ir_import(graph, &ir, error);
    if (status == KILN_OK)
        status = kiln_ir_optimize(&ir, graph, error);
    if (status == KILN_OK && explanation != NULL)
        explain_ir(&ir, explanation);
    if (status == KILN_OK)
        status = kiln_partition(&ir, graph, target, options, &partition, error);
    if (status != KILN_OK)
        return status;

    struct kiln_program program = {
        .kernel_count = partition.group_count,
        .workspace_bytes = partition.workspace_bytes,
        .kernels = kiln_arena_calloc(arena, partition.group_count, sizeof *program.kernels),
    };
    if (program.kernels == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while lowering the graph");
    for (uint32_t i = 0; i < partition.group_count; i++) {
        const struct kiln_fusion_group *group = &partition.groups[i];
        struct kiln_schedule schedule;
        status = kiln_schedule_group(&ir, graph, group, target, options, &schedule, error);
        if (status != KILN_OK)
            return status;
        if (explanation != NULL)
            explain_group(&ir, group, &schedule, i, explanation);
        struct kiln_emission emission = {.ir = &ir,
                                         .graph = graph,
                                         .group = group,
                                         .schedule = &schedule,
                                         .target = target,
                                         .index = i};
        status = kiln_emit_kernel(&emission, &program.kernels[i], error);
        if (status != KILN_OK)
            return status;
    }
    *ret_program = program;
    return KILN_OK;
}
