#include "runtime/engine/engine.h"

#include "compiler/graph/graph_reader.h"
#include "runtime/engine/engine_report.h"
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

/* What is compiled already needs no compiler; else the compilers are asked. */
static enum kiln_status check_program(struct kiln_engine *engine, const struct kiln_graph *graph,
                                      const struct kiln_engine_device *device,
                                      const struct kiln_cache_key *key, struct kiln_error *error)
{
    /* Until then no cache is asked for the graph again, which may take a server's time. */
    enum { MISS_MILLISECONDS = 30000 };
    struct kiln_program_cache *programs = &engine->programs;
    const struct kiln_target *target = &device->device->target;
    enum kiln_status status = kiln_program_cache_find(programs, graph, target, key, error);
    if (status == KILN_OK || kiln_status_may_pass(status))
        return status;
    kiln_error_init(error);
    if (!programs->is_precompiled)
        status = kiln_compile_ability_ask(device->ability, target, error);
    if (status == KILN_OK || kiln_status_may_pass(status))
        return status;
    struct kiln_error second;
    kiln_error_init(&second);
    enum kiln_status found = kiln_program_cache_find_kernels(programs, graph, target, &second);
    if (found == KILN_OK)
        return KILN_OK;
    if (kiln_status_may_pass(found) || programs->is_precompiled)
        *error = second;
    else
        kiln_program_cache_tell_miss(graph, error);
    if (!kiln_status_may_pass(found))
        kiln_declined_graphs_add(&engine->declined, key, error, MISS_MILLISECONDS);
    return error->status;
}

static enum kiln_status check_graph(struct kiln_engine *engine, const struct kiln_graph *graph,
                                    const struct kiln_engine_device *device,
                                    struct kiln_error *error)
{
    bool can_compile =
        !engine->programs.is_precompiled && kiln_compile_ability_is_known(device->ability);
    if (can_compile && !kiln_declined_graphs_any(&engine->declined))
        return KILN_OK;
    struct kiln_cache_key key;
    enum kiln_status status =
        kiln_program_cache_make_key(&engine->programs, graph, &device->device->target, &key, error);
    if (status == KILN_OK)
        status = kiln_declined_graphs_check(&engine->declined, &key, error);
    if (status == KILN_OK && !can_compile)
        status = check_program(engine, graph, device, &key, error);
    kiln_cache_key_fini(&key);
    return status;
}

enum kiln_status kiln_engine_check(struct kiln_engine *engine, const void *graph_bytes, size_t size,
                                   struct kiln_error *error)
{
    struct kiln_arena arena;
    kiln_arena_init(&arena);
    struct kiln_graph graph;
    enum kiln_status status = kiln_graph_read(graph_bytes, size, &arena, &graph, error);
    bool is_readable = status == KILN_OK;
    const struct kiln_engine_device *device = NULL;
    if (status == KILN_OK)
        status = kiln_engine_devices_current(&engine->devices, &device, error);
    if (status == KILN_OK)
        status = check_graph(engine, &graph, device, error);
    kiln_report_answer(&graph, is_readable, graph_bytes, size, status ? error : NULL);
    kiln_arena_fini(&arena);
    return status;
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
    struct kiln_cache_key key;
    kiln_error_init(&ignored);
    if (kiln_program_cache_make_key(&engine->programs, graph, &device->device->target, &key,
                                    &ignored) == KILN_OK) {
        if (status == KILN_OK)
            kiln_declined_graphs_remove(&engine->declined, &key);
        else
            decline(engine, graph, device, &key, reason);
    }
    kiln_cache_key_fini(&key);
}

enum kiln_status kiln_engine_workspace_bytes(struct kiln_engine *engine, const void *graph_bytes,
                                             size_t size, uint64_t *ret_bytes,
                                             struct kiln_error *error)
{
    struct kiln_arena arena;
    kiln_arena_init(&arena);
    struct kiln_graph graph;
    const struct kiln_engine_device *device = NULL;
    uint64_t exact = 0;
    enum kiln_status status = kiln_graph_read(graph_bytes, size, &arena, &graph, error);
    if (status == KILN_OK)
        status = kiln_engine_devices_current(&engine->devices, &device, error);
    if (status == KILN_OK) {
        status = kiln_program_cache_workspace_bytes(&engine->programs, &graph,
                                                    &device->device->target, &exact, error);
        if (status)
            kiln_engine_note_outcome(engine, &graph, device, status, error);
    }
    if (status == KILN_OK)
        *ret_bytes = kiln_workspace_padded_bytes(exact);
    kiln_arena_fini(&arena);
    return status;
}

enum kiln_status kiln_engine_compile(struct kiln_engine *engine, const struct kiln_graph *graph,
                                     const struct kiln_target *target,
                                     const struct kiln_compiled_program **ret_program,
                                     enum kiln_program_origin *ret_origin, struct kiln_error *error)
{
    struct kiln_shared_program *program = NULL;
    enum kiln_status status =
        kiln_program_cache_get(&engine->programs, graph, target, &program, ret_origin, error);
    if (status == KILN_OK)
        *ret_program = &program->program;
    return status;
}

enum kiln_status kiln_engine_program_key(struct kiln_engine *engine, const struct kiln_graph *graph,
                                         const struct kiln_target *target,
                                         char ret_hex[KILN_CACHE_HASH_HEX + 1],
                                         struct kiln_error *error)
{
    struct kiln_cache_key key;
    enum kiln_status status =
        kiln_program_cache_make_key(&engine->programs, graph, target, &key, error);
    if (status == KILN_OK)
        kiln_cache_key_hex(&key, ret_hex);
    kiln_cache_key_fini(&key);
    return status;
}
