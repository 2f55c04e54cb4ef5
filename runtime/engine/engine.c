#include "runtime/engine/engine.h"

#include "compiler/graph/graph_reader.h"
#include "runtime/engine/engine_knobs.h"
#include "runtime/engine/engine_state.h"
#include "runtime/engine/plan.h"
#include "runtime/support/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void destroy(struct kiln_engine *engine)
{
    /* Modules before their devices, all users of the compilers before those. */
    kiln_module_table_fini(&engine->modules);
    kiln_program_cache_fini(&engine->programs);
    kiln_engine_devices_fini(&engine->devices);
    kiln_declined_graphs_fini(&engine->declined);
    kiln_seen_graphs_fini(&engine->seen);
    kiln_tuned_choices_fini(&engine->tuned);
    kiln_codegen_unref(engine->codegen);
    free(engine->cache_directory);
    free(engine->device_name);
    free(engine);
}

static enum kiln_status copy_text(const char *text, char **ret_copy, struct kiln_error *error)
{
    if (!text)
        return KILN_OK;
    char *copy = strdup(text);
    if (!copy)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory for an 'engine'");
    *ret_copy = copy;
    return KILN_OK;
}

static struct kiln_cache_options store_options_of(const struct kiln_engine *engine,
                                                  const struct kiln_engine_options *options)
{
    static const uint64_t no_limit = 0;
    if (!options->is_cache_isolated)
        return (struct kiln_cache_options){.directory = engine->cache_directory};
    return (struct kiln_cache_options){.directory = engine->cache_directory,
                                       .max_bytes = &no_limit,
                                       .layers = "",
                                       .system_layer = "",
                                       .remote = ""};
}

static enum kiln_status init(struct kiln_engine *engine, const struct kiln_engine_options *options,
                             struct kiln_error *error)
{
    enum kiln_status status = copy_text(options->cache_directory, &engine->cache_directory, error);
    if (status == KILN_OK)
        status = copy_text(options->device, &engine->device_name, error);
    if (status == KILN_OK)
        status = kiln_codegen_create(&options->codegen, &engine->codegen, error);
    kiln_declined_graphs_init(&engine->declined);
    kiln_tuned_choices_init(&engine->tuned);
    kiln_engine_devices_init(&engine->devices, engine->device_name, engine->codegen);
    const struct kiln_cache_options store = store_options_of(engine, options);
    if (status == KILN_OK)
        status = kiln_program_cache_init(&engine->programs, &store, engine->codegen,
                                         &options->lower, error);
    if (status == KILN_OK)
        status = kiln_module_table_init(&engine->modules, &engine->programs, error);
    return status;
}

enum kiln_status kiln_engine_create(const struct kiln_engine_options *options,
                                    struct kiln_engine **ret_engine, struct kiln_error *error)
{
    struct kiln_engine *engine = calloc(1, sizeof(*engine));
    if (!engine)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory for an 'engine'");
    atomic_init(&engine->references, 1);
    enum kiln_status status = init(engine, options, error);
    if (status) {
        destroy(engine);
        return status;
    }
    *ret_engine = engine;
    return KILN_OK;
}

struct kiln_engine *kiln_engine_ref(struct kiln_engine *engine)
{
    atomic_fetch_add_explicit(&engine->references, 1, memory_order_relaxed);
    return engine;
}

void kiln_engine_unref(struct kiln_engine *engine)
{
    if (engine && atomic_fetch_sub_explicit(&engine->references, 1, memory_order_acq_rel) == 1)
        destroy(engine);
}

enum kiln_status kiln_engine_cache(struct kiln_engine *engine, struct kiln_cache_store **ret_store,
                                   struct kiln_error *error)
{
    return kiln_program_cache_store(&engine->programs, ret_store, error);
}

void kiln_engine_codegen_counters(const struct kiln_engine *engine,
                                  struct kiln_codegen_counters *ret_counters)
{
    kiln_codegen_counters(engine->codegen, ret_counters);
}

/* A device in trouble and a full disk say nothing about the next attempt. */
static bool would_fail_again(enum kiln_status status)
{
    return status != KILN_OK && !kiln_status_may_pass(status) && status != KILN_IO &&
           status != KILN_DEVICE;
}

static uint64_t decline_milliseconds(enum kiln_status status)
{
    /* The compiler was killed for lack of memory, say, or had no time: that may be over soon. */
    enum { MACHINE_MILLISECONDS = 60000 };
    switch (status) {
    case KILN_REJECTED:
    case KILN_REFUSED:
    case KILN_CORRUPT:
    case KILN_INTERNAL:
        return UINT64_MAX;
    default:
        return MACHINE_MILLISECONDS;
    }
}

static void decline(struct kiln_engine *engine, const struct kiln_graph *graph,
                    const struct kiln_engine_device *device, const struct kiln_cache_key *key,
                    const struct kiln_error *reason)
{
    uint64_t milliseconds = decline_milliseconds(reason->status);
    char period[32] = "until the process ends";
    if (milliseconds != UINT64_MAX) {
        (void)snprintf(period, sizeof period, "for %u s", (unsigned)(milliseconds / 1000));
        /* Other graphs would fail like this one where the worker is gone, say. */
        kiln_compile_ability_forget(device->ability);
    }
    kiln_declined_graphs_add(&engine->declined, key, reason, milliseconds);
    kiln_log(KILN_LOG_WARN, "graph '%.64s' is declined %s: %.*s", graph->name, period,
             (int)strcspn(reason->text, "\n"), reason->text);
}

void kiln_engine_note_outcome(struct kiln_engine *engine, const struct kiln_graph *graph,
                              const struct kiln_engine_device *device, enum kiln_status status,
                              const struct kiln_error *reason)
{
    if (!would_fail_again(status) &&
        !(status == KILN_OK && kiln_declined_graphs_any(&engine->declined)))
        return;
    struct kiln_error ignored;
    struct kiln_program_request request;
    kiln_error_init(&ignored);
    if (kiln_program_request_init(&engine->programs, graph, &device->device->target, NULL, &request,
                                  &ignored) != KILN_OK)
        return;
    if (status == KILN_OK)
        kiln_declined_graphs_remove(&engine->declined, &request.key);
    else
        decline(engine, graph, device, &request.key, reason);
    kiln_program_request_fini(&request);
}

enum kiln_status kiln_engine_workspace_bytes(struct kiln_engine *engine, const void *graph_bytes,
                                             size_t size, const struct kiln_plan_knobs *knobs,
                                             uint64_t *ret_bytes, struct kiln_error *error)
{
    struct kiln_arena arena;
    kiln_arena_init(&arena);
    struct kiln_graph graph;
    struct kiln_lower_options lower;
    const struct kiln_engine_device *device = NULL;
    uint64_t exact = 0;
    enum kiln_status status = kiln_graph_read(graph_bytes, size, &arena, &graph, error);
    if (status == KILN_OK)
        status = kiln_engine_devices_current(&engine->devices, &device, error);
    if (status == KILN_OK) {
        status = kiln_engine_lower_options(engine, &graph, device, knobs, &lower, error);
        if (status == KILN_OK)
            status = kiln_engine_program_workspace(engine, &graph, &device->device->target, &lower,
                                                   &exact, error);
        if (status &&
            kiln_engine_drop_tuned_choice(engine, &graph, device, knobs, &lower, &status, error))
            status = kiln_engine_program_workspace(engine, &graph, &device->device->target, &lower,
                                                   &exact, error);
        if (status && (!knobs || kiln_plan_knobs_are_default(knobs)))
            kiln_engine_note_outcome(engine, &graph, device, status, error);
    }
    if (status == KILN_OK)
        *ret_bytes = kiln_workspace_padded_bytes(kiln_workspace_with_room(&graph, knobs, exact));
    kiln_arena_fini(&arena);
    return status;
}

bool kiln_engine_may_compile(const struct kiln_engine *engine)
{
    return !engine->programs.is_precompiled;
}

enum kiln_status kiln_engine_compile(struct kiln_engine *engine, const struct kiln_graph *graph,
                                     const struct kiln_target *target,
                                     const struct kiln_compiled_program **ret_program,
                                     enum kiln_program_origin *ret_origin, struct kiln_error *error)
{
    struct kiln_program_request request;
    struct kiln_shared_program *program = NULL;
    enum kiln_status status =
        kiln_program_request_init(&engine->programs, graph, target, NULL, &request, error);
    if (status)
        return status;
    status = kiln_program_cache_get(&request, &program, error);
    kiln_program_request_fini(&request);
    if (status)
        return status;
    *ret_program = &program->program;
    *ret_origin = request.origin;
    return KILN_OK;
}

enum kiln_status kiln_engine_program_key(struct kiln_engine *engine, const struct kiln_graph *graph,
                                         const struct kiln_target *target,
                                         char ret_hex[KILN_CACHE_HASH_HEX + 1],
                                         struct kiln_error *error)
{
    struct kiln_program_request request;
    enum kiln_status status =
        kiln_program_request_init(&engine->programs, graph, target, NULL, &request, error);
    if (status)
        return status;
    kiln_cache_key_hex(&request.key, ret_hex);
    kiln_program_request_fini(&request);
    return KILN_OK;
}

enum kiln_status kiln_engine_shapes(struct kiln_engine *engine, const struct kiln_graph *graph,
                                    const struct kiln_target *target, enum kiln_shapes *ret_shapes,
                                    const char **ret_reason, struct kiln_error *error)
{
    struct kiln_program_request request;
    enum kiln_status status =
        kiln_program_request_init(&engine->programs, graph, target, NULL, &request, error);
    if (status)
        return status;
    *ret_shapes = request.lower.shapes;
    *ret_reason = kiln_shape_reason_text(request.reason);
    kiln_program_request_fini(&request);
    return KILN_OK;
}
