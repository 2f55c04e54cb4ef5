/*
 * The pipeline of one part of a graph, or of all of it, and the choice between the two.
 */
#include "compiler/ir/import.h"
#include "compiler/ir/pass.h"
#include "compiler/plan/graph_parts.h"
#include "compiler/plan/kernel_plan_parts.h"
#include "compiler/plan/plan_search.h"
#include "compiler/plan/walk_directions.h"
#include "runtime/support/log.h"

#include <inttypes.h>
#include <string.h>

static enum kiln_status import(const struct kiln_plan_task *task,
                               const struct kiln_part_nodes *nodes, struct kiln_ir *ret_ir,
                               struct kiln_error *error)
{
    kiln_ir_init(ret_ir, task->arena);
    ret_ir->is_general = task->options->is_general;
    if (nodes == NULL)
        return kiln_ir_import(task->graph, ret_ir, error);
    return kiln_ir_import_nodes(task->graph, nodes->nodes, nodes->count, ret_ir, error);
}

/* A general program keeps axes of size 1, and these do not broadcast. So there are no general
 * kernels if a tensor broadcasts in this shape and does not in the declared one. */
static enum kiln_status check_general(const struct kiln_plan_task *task, const struct kiln_ir *ir,
                                      struct kiln_error *error)
{
    if (!ir->is_general)
        return KILN_OK;
    struct kiln_buffer faults;
    kiln_buffer_init(&faults);
    enum kiln_status status = KILN_OK;
    if (!kiln_ir_validate(ir, task->graph, &faults))
        status =
            kiln_error_set(error, KILN_UNSUPPORTED, "general kernels do not serve this shape: %s",
                           kiln_buffer_text(&faults));
    kiln_buffer_fini(&faults);
    return status;
}

static enum kiln_status run_passes(const struct kiln_plan_task *task, struct kiln_ir *ir,
                                   struct kiln_error *error)
{
    struct kiln_pass_context context = {.graph = task->graph,
                                        .target = task->target,
                                        .options = task->options,
                                        .dump = task->dump,
                                        .program = "the graph"};
    enum kiln_status status = kiln_pass_check("import", ir, &context, error);
    return status == KILN_OK ? kiln_pass_run(&kiln_pass_prepare, ir, &context, error) : status;
}

/* One part, or the whole graph: graph -> ir -> passes -> groups and schedules. */
enum kiln_status kiln_part_plan_make(const struct kiln_plan_task *task,
                                     const struct kiln_part_nodes *nodes,
                                     struct kiln_kernel_plan *ret_plan, struct kiln_error *error)
{
    struct kiln_kernel_plan plan;
    struct kiln_ir ir;
    enum kiln_status status = import(task, nodes, &ir, error);
    if (status == KILN_OK)
        status = check_general(task, &ir, error);
    if (status == KILN_OK)
        status = run_passes(task, &ir, error);
    if (status == KILN_OK)
        status = kiln_search_plan(task, &ir, &plan, error);
    if (status == KILN_OK)
        status = kiln_choose_walk_directions(&plan, task->graph, error);
    if (status != KILN_OK)
        return status;
    if (plan.partition.is_plain)
        kiln_log(
            KILN_LOG_INFO,
            "the graph is too large to find out what could share a kernel: each of its %" PRIu32
            " nodes gets kernels of its own",
            nodes == NULL ? task->graph->node_count : nodes->count);
    *ret_plan = plan;
    return KILN_OK;
}

/* Copies what a plan says about the search; false when memory is out. */
static bool copy_record(const struct kiln_kernel_plan *plan, struct kiln_arena *arena,
                        struct kiln_kernel_plan *copy)
{
    const struct kiln_search_record *record = &plan->record;
    const char *why = plan->missed.why;
    if (why != NULL)
        copy->missed.why = kiln_arena_strndup(arena, why, strlen(why));
    copy->record.tried = kiln_arena_calloc(arena, record->count, sizeof *record->tried);
    if (copy->record.tried == NULL || (why != NULL && copy->missed.why == NULL))
        return false;
    for (uint32_t i = 0; i < record->count; i++) {
        struct kiln_tried_plan *tried = &copy->record.tried[i];
        *tried = record->tried[i];
        if (tried->refusal == NULL)
            continue;
        tried->refusal = kiln_arena_strndup(arena, tried->refusal, strlen(tried->refusal));
        if (tried->refusal == NULL)
            return false;
    }
    return true;
}

enum kiln_status kiln_part_plan_repeat(const struct kiln_plan_task *task,
                                       const struct kiln_kernel_plan *plan,
                                       struct kiln_kernel_plan *ret_plan, struct kiln_error *error)
{
    struct kiln_kernel_plan again = *plan;
    if (!kiln_ir_copy(&plan->ir, task->arena, &again.ir) || !copy_record(plan, task->arena, &again))
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while planning the graph");
    enum kiln_status status = kiln_plan_alternative(task, &plan->strategy, &again, error);
    if (status == KILN_OK)
        status = kiln_choose_walk_directions(&again, task->graph, error);
    if (status == KILN_OK)
        *ret_plan = again;
    return status;
}

enum kiln_status kiln_kernel_plan_make_dumped(const struct kiln_graph *graph,
                                              const struct kiln_target *target,
                                              const struct kiln_lower_options *options,
                                              struct kiln_buffer *dump, struct kiln_arena *arena,
                                              struct kiln_kernel_plan *ret_plan,
                                              struct kiln_error *error)
{
    struct kiln_target changed = *target;
    if (target->kind == KILN_TARGET_HOST && options->host_wave_size != 0)
        changed.wave_size = options->host_wave_size;
    const struct kiln_lower_options settled = kiln_lower_options_settled(options);
    const struct kiln_plan_task task = {.graph = graph,
                                        .target = &changed,
                                        .options = &settled,
                                        .arena = arena,
                                        .max_steps = KILN_PARTITION_MAX_STEPS,
                                        .dump = dump};
    uint32_t most = options->max_part_weight != 0 ? options->max_part_weight : KILN_PART_MAX_WEIGHT;
    if (kiln_graph_weight(graph) > most)
        return kiln_kernel_plan_make_in_parts(&task, most, ret_plan, error);
    if (graph->node_count > KILN_PART_LEAST_WEIGHT)
        return kiln_kernel_plan_make_either(&task, ret_plan, error);
    return kiln_part_plan_make(&task, NULL, ret_plan, error);
}

enum kiln_status kiln_kernel_plan_make(const struct kiln_graph *graph,
                                       const struct kiln_target *target,
                                       const struct kiln_lower_options *options,
                                       struct kiln_arena *arena, struct kiln_kernel_plan *ret_plan,
                                       struct kiln_error *error)
{
    return kiln_kernel_plan_make_dumped(graph, target, options, NULL, arena, ret_plan, error);
}
