#include "runtime/engine/engine_knobs.h"

#include "runtime/engine/plan.h"
#include "runtime/engine/tuning.h"
#include "runtime/support/environment.h"
#include "runtime/support/log.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum kiln_status kiln_engine_program_workspace(struct kiln_engine *engine,
                                               const struct kiln_graph *graph,
                                               const struct kiln_target *target,
                                               const struct kiln_lower_options *lower,
                                               uint64_t *ret_bytes, struct kiln_error *error)
{
    struct kiln_program_request request;
    enum kiln_status status =
        kiln_program_request_init(&engine->programs, graph, target, lower, &request, error);
    if (status)
        return status;
    status = kiln_program_cache_workspace_bytes(&request, ret_bytes, error);
    kiln_program_request_fini(&request);
    return status;
}

/* The most that a plan may need so that a buffer of so many bytes, at any address, is enough. */
static uint64_t exact_limit(uint64_t padded)
{
    const uint64_t room = 2 * (KILN_WORKSPACE_ALIGNMENT - 1);
    return padded > room ? padded - room : 1;
}

enum kiln_status kiln_engine_limit_workspace(struct kiln_engine *engine,
                                             const struct kiln_graph *graph,
                                             const struct kiln_engine_device *device,
                                             uint64_t limit, struct kiln_lower_options *lower,
                                             struct kiln_error *error)
{
    struct kiln_lower_options tried = *lower;
    for (bool is_limited = false;; is_limited = true) {
        uint64_t bytes = 0;
        enum kiln_status status = kiln_engine_program_workspace(
            engine, graph, &device->device->target, &tried, &bytes, error);
        if (status)
            return status;
        bytes = kiln_workspace_padded_bytes(bytes);
        if (bytes <= limit)
            break;
        if (is_limited || tried.contraction.segments != 0)
            return kiln_error_set(error, KILN_UNSUPPORTED,
                                  "the plan needs %" PRIu64
                                  " bytes of workspace, more than the %" PRIu64
                                  " that the knob 'global.workspace_size_limit' allows",
                                  bytes, limit);
        tried.workspace_limit = exact_limit(limit);
    }
    *lower = tried;
    return KILN_OK;
}

uint64_t kiln_workspace_with_room(const struct kiln_graph *graph,
                                  const struct kiln_plan_knobs *knobs, uint64_t exact)
{
    enum { LEAST_ROOM = 64 * 1024 };
    if (!graph->takes_overrides ||
        (knobs && knobs->values[KILN_KNOB_WORKSPACE_SIZE_LIMIT] != INT64_MAX))
        return exact;
    return exact + exact / 4 + LEAST_ROOM;
}

/* HIPDNN_FORCE_BENCHMARKING goes before the knob. */
static bool is_benchmarking(const struct kiln_plan_knobs *knobs)
{
    static const char variable[] = "HIPDNN_FORCE_BENCHMARKING";
    const char *text = secure_getenv(variable);
    if (text && *text)
        return kiln_environment_is_on(variable);
    return knobs && knobs->values[KILN_KNOB_BENCHMARKING] == 1;
}

/* True if a plan with these options can be made: nothing may have to be compiled. */
static bool is_available(struct kiln_engine *engine, const struct kiln_graph *graph,
                         const struct kiln_engine_device *device,
                         const struct kiln_lower_options *lower)
{
    struct kiln_program_request request;
    struct kiln_error ignored;
    kiln_error_init(&ignored);
    if (!engine->programs.is_precompiled)
        return true;
    if (kiln_program_request_peek(&engine->programs, graph, &device->device->target, lower,
                                  &request, &ignored))
        return false;
    bool is_found =
        kiln_program_request_find(&request, kiln_program_cache_find, &ignored) == KILN_OK;
    kiln_program_request_fini(&request);
    return is_found;
}

/* Enters the tuned choice, if there is one or the host asks for one now. */
static void take_tuned_choice(struct kiln_engine *engine, const struct kiln_graph *graph,
                              const struct kiln_engine_device *device,
                              const struct kiln_plan_knobs *knobs, struct kiln_lower_options *lower)
{
    const struct kiln_tuned_subject subject = {&engine->programs, graph, device->device, lower};
    struct kiln_tuned_choice choice;
    struct kiln_error error;
    kiln_error_init(&error);
    if (!kiln_tuning_applies(graph, lower))
        return;
    bool has_choice = kiln_tuned_choices_find(&engine->tuned, &subject, &choice);
    if (!has_choice && !engine->programs.is_precompiled && is_benchmarking(knobs)) {
        has_choice = kiln_tune(engine, graph, device, lower, &choice, &error) == KILN_OK;
        if (!has_choice)
            kiln_log(KILN_LOG_WARN, "graph '%.64s' is not tuned: %s", graph->name, error.text);
    }
    struct kiln_lower_options tuned = *lower;
    if (has_choice)
        tuned.contraction = choice.contraction;
    if (has_choice && is_available(engine, graph, device, &tuned))
        *lower = tuned;
}

void kiln_engine_base_options(const struct kiln_engine *engine, const struct kiln_plan_knobs *knobs,
                              struct kiln_lower_options *ret_lower)
{
    *ret_lower = engine->programs.lower;
    if (knobs)
        kiln_plan_knobs_apply(knobs, ret_lower);
}

/* The host's limit of the workspace, if there is one. */
static enum kiln_status apply_limit(struct kiln_engine *engine, const struct kiln_graph *graph,
                                    const struct kiln_engine_device *device,
                                    const struct kiln_plan_knobs *knobs,
                                    struct kiln_lower_options *lower, struct kiln_error *error)
{
    int64_t limit = knobs ? knobs->values[KILN_KNOB_WORKSPACE_SIZE_LIMIT] : INT64_MAX;
    return limit == INT64_MAX
               ? KILN_OK
               : kiln_engine_limit_workspace(engine, graph, device, (uint64_t)limit, lower, error);
}

static bool has_same_contraction(const struct kiln_lower_options *a,
                                 const struct kiln_lower_options *b)
{
    return memcmp(&a->contraction, &b->contraction, sizeof a->contraction) == 0;
}

bool kiln_engine_drop_tuned_choice(struct kiln_engine *engine, const struct kiln_graph *graph,
                                   const struct kiln_engine_device *device,
                                   const struct kiln_plan_knobs *knobs,
                                   struct kiln_lower_options *lower, enum kiln_status *status,
                                   struct kiln_error *error)
{
    struct kiln_lower_options base;
    kiln_engine_base_options(engine, knobs, &base);
    if (kiln_status_may_pass(*status) || has_same_contraction(&base, lower))
        return false;
    const struct kiln_tuned_subject subject = {&engine->programs, graph, device->device, &base};
    kiln_tuned_choices_forget(&engine->tuned, &subject);
    kiln_log(KILN_LOG_WARN, "graph '%.64s': its tuned choice is dropped: %s", graph->name,
             error->text);
    kiln_error_init(error);
    *lower = base;
    *status = apply_limit(engine, graph, device, knobs, lower, error);
    return *status == KILN_OK;
}

enum kiln_status kiln_engine_lower_options(struct kiln_engine *engine,
                                           const struct kiln_graph *graph,
                                           const struct kiln_engine_device *device,
                                           const struct kiln_plan_knobs *knobs,
                                           struct kiln_lower_options *ret_lower,
                                           struct kiln_error *error)
{
    struct kiln_lower_options base;
    kiln_engine_base_options(engine, knobs, &base);
    *ret_lower = base;
    take_tuned_choice(engine, graph, device, knobs, ret_lower);
    enum kiln_status status = apply_limit(engine, graph, device, knobs, ret_lower, error);
    if (status != KILN_UNSUPPORTED || has_same_contraction(&base, ret_lower))
        return status;
    kiln_error_init(error);
    *ret_lower = base;
    return apply_limit(engine, graph, device, knobs, ret_lower, error);
}
