/*
 * Plans as bytes and back: storing a plan with its kernels, and making one from that.
 */
#include "compiler/graph/graph_reader.h"
#include "runtime/engine/engine_knobs.h"
#include "runtime/engine/plan_format.h"
#include "runtime/engine/plan_shapes.h"
#include "runtime/engine/program_format.h"
#include "runtime/support/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- storing ---- */

/* Kernels without repetition. */
struct kernel_set {
    uint32_t count;
    uint32_t capacity;
    struct kiln_shared_kernel **kernels; /* owned, with a reference to each */
    bool failed;
};

static void add_kernel(struct kernel_set *set, struct kiln_shared_kernel *kernel)
{
    const struct kiln_hash128 name = kiln_shared_kernel_name(kernel);
    for (uint32_t i = 0; i < set->count; i++) {
        const struct kiln_hash128 other = kiln_shared_kernel_name(set->kernels[i]);
        if (name.high == other.high && name.low == other.low)
            return;
    }
    if (set->count == set->capacity) {
        uint32_t capacity = set->capacity ? 2 * set->capacity : 8;
        struct kiln_shared_kernel **more = realloc(set->kernels, capacity * sizeof(*set->kernels));
        if (!more) {
            set->failed = true;
            return;
        }
        set->kernels = more;
        set->capacity = capacity;
    }
    set->kernels[set->count++] = kiln_shared_kernel_ref(kernel);
}

static void add_kernels_of_plan(const struct kiln_plan *plan, void *context)
{
    const struct kiln_shared_program *program = plan->loaded->program;
    for (uint32_t i = 0; i < program->program.kernel_count; i++)
        add_kernel(context, program->kernels[i]);
    for (uint32_t i = 0; i < plan->spare_count; i++)
        add_kernel(context, plan->spares[i]);
    for (uint32_t i = 0; i < plan->general_count; i++)
        add_kernels_of_plan(plan->general[i], context);
}

enum kiln_status kiln_plan_store(const struct kiln_plan *plan, const void *config,
                                 size_t config_bytes, struct kiln_buffer *ret_bytes,
                                 struct kiln_error *error)
{
    const char *target = plan->device->device->target.name;
    struct kernel_set set = {0};
    struct kiln_buffer recipe;
    kiln_buffer_init(&recipe);
    kiln_program_format_write(&plan->loaded->program->program, &recipe);
    enum kiln_status status = kiln_buffer_check(&recipe, error);
    add_kernels_of_plan(plan, &set);
    if (plan->shapes)
        kiln_plan_shapes_visit(plan->shapes, add_kernels_of_plan, &set);
    if (status == KILN_OK && set.failed)
        status = kiln_error_set(error, KILN_NO_MEMORY, "no memory to store a plan");
    const struct kiln_plan_record record = {.config = {config, config_bytes},
                                            .target = {target, strlen(target)},
                                            .graph = {plan->graph, plan->graph_bytes},
                                            .recipe = {recipe.data, recipe.size}};
    if (status == KILN_OK)
        status = kiln_plan_encode(&record, set.kernels, set.count, ret_bytes, error);
    for (uint32_t i = 0; i < set.count; i++)
        kiln_shared_kernel_unref(set.kernels[i]);
    free(set.kernels);
    kiln_buffer_fini(&recipe);
    return status;
}

/* ---- restoring ---- */

struct restoration {
    struct kiln_engine *engine;
    const struct kiln_engine_device *device;
    const struct kiln_plan_record *record;
    const struct kiln_graph *graph;
    const struct kiln_plan_knobs *knobs; /* may be NULL */
    struct kiln_shared_kernel **kernels; /* a reference to each */
    uint32_t kernel_count;
};

static enum kiln_status read_kernels(struct restoration *restoration, struct kiln_error *error)
{
    const struct kiln_plan_record *record = restoration->record;
    struct kiln_reader reader = record->kernels;
    restoration->kernels = calloc(record->kernel_count + 1, sizeof(*restoration->kernels));
    if (!restoration->kernels)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory for %u kernels of a plan",
                              record->kernel_count);
    enum kiln_status status = KILN_OK;
    for (uint32_t i = 0; status == KILN_OK && i < record->kernel_count; i++) {
        size_t size = 0;
        const void *entry = kiln_reader_field(&reader, &size);
        status = kiln_kernel_cache_admit(&restoration->engine->programs.kernels,
                                         &restoration->device->device->target, entry, size,
                                         &restoration->kernels[i], error);
        restoration->kernel_count += status == KILN_OK;
    }
    return status;
}

static enum kiln_status attach_kernels(const struct restoration *restoration,
                                       struct kiln_shared_program *program,
                                       struct kiln_error *error)
{
    for (uint32_t i = 0; i < program->program.kernel_count; i++) {
        uint32_t k = 0;
        while (k < restoration->kernel_count &&
               !kiln_shared_program_attach(program, i, restoration->kernels[k]))
            k++;
        if (k == restoration->kernel_count)
            return kiln_error_set(error, KILN_CORRUPT, "it lacks kernel '%s'",
                                  program->program.kernels[i].symbol);
    }
    return KILN_OK;
}

/* Makes the plan from what is stored. KILN_CORRUPT: this Kiln cannot use it. */
static enum kiln_status load_stored(struct restoration *restoration, struct kiln_plan **ret_plan,
                                    struct kiln_error *error)
{
    const struct kiln_plan_field *recipe = &restoration->record->recipe;
    struct kiln_engine *engine = restoration->engine;
    struct kiln_shared_program *program = NULL;
    struct kiln_loaded_program *loaded = NULL;
    struct kiln_lower_options lower;
    kiln_engine_base_options(engine, restoration->knobs, &lower);
    enum kiln_status status =
        kiln_program_format_read(recipe->bytes, recipe->size, restoration->graph, &program, error);
    if (status == KILN_OK)
        status = read_kernels(restoration, error);
    if (status == KILN_OK)
        status = attach_kernels(restoration, program, error);
    if (status == KILN_OK)
        status = kiln_module_table_load(&engine->modules, restoration->device->device, program,
                                        &loaded, error);
    kiln_shared_program_unref(program);
    if (status == KILN_OK)
        status = kiln_plan_of_program(engine, restoration->graph, restoration->device, &lower,
                                      loaded, KILN_ORIGIN_DISK, ret_plan, error);
    return status;
}

static bool target_matches(const struct restoration *restoration)
{
    const struct kiln_plan_field *stored = &restoration->record->target;
    const char *target = restoration->device->device->target.name;
    return stored->size == strlen(target) && memcmp(stored->bytes, target, stored->size) == 0;
}

/* Makes the plan from the graph, which is as good as what is stored and may take a compiler. */
static enum kiln_status make_again(const struct restoration *restoration, const char *reason,
                                   struct kiln_plan **ret_plan, struct kiln_error *error)
{
    const struct kiln_graph *graph = restoration->graph;
    kiln_log(KILN_LOG_INFO, "a stored plan of graph '%.64s' is made again: %s", graph->name,
             reason);
    struct kiln_lower_options lower;
    enum kiln_status status = kiln_engine_lower_options(
        restoration->engine, graph, restoration->device, restoration->knobs, &lower, error);
    if (status == KILN_OK)
        status = kiln_plan_make(restoration->engine, graph, restoration->device, &lower, ret_plan,
                                error);
    if (status)
        kiln_error_prefix(error, "a stored plan cannot be used: %s", reason);
    return status;
}

static enum kiln_status restore(struct restoration *restoration, struct kiln_plan **ret_plan,
                                struct kiln_error *error)
{
    char reason[256];
    const struct kiln_plan_field *stored = &restoration->record->target;
    if (!target_matches(restoration)) {
        (void)snprintf(reason, sizeof(reason), "it is for target '%.*s', and the device is '%s'",
                       (int)(stored->size < 64 ? stored->size : 64), (const char *)stored->bytes,
                       restoration->device->device->target.name);
        return make_again(restoration, reason, ret_plan, error);
    }
    enum kiln_status status = load_stored(restoration, ret_plan, error);
    /* A kernel whose bytes are damaged is an argument of the host's; Kiln's own changes are not. */
    if (status == KILN_OK || kiln_status_may_pass(status) || status == KILN_IO ||
        status == KILN_DEVICE || status == KILN_BAD_ARGUMENT)
        return status;
    (void)snprintf(reason, sizeof(reason), "%.*s", (int)strcspn(error->text, "\n"), error->text);
    kiln_error_init(error);
    return make_again(restoration, reason, ret_plan, error);
}

enum kiln_status kiln_plan_stored_config(const void *bytes, size_t size, const void **ret_config,
                                         size_t *ret_config_bytes, struct kiln_error *error)
{
    struct kiln_plan_record record;
    enum kiln_status status = kiln_plan_decode(bytes, size, &record, error);
    if (status)
        return status;
    *ret_config = record.config.bytes;
    *ret_config_bytes = record.config.size;
    return KILN_OK;
}

enum kiln_status kiln_plan_restore(struct kiln_engine *engine, const void *bytes, size_t size,
                                   const struct kiln_plan_knobs *knobs, struct kiln_plan **ret_plan,
                                   struct kiln_error *error)
{
    struct kiln_arena arena;
    struct kiln_graph graph;
    struct kiln_plan_record record;
    struct kiln_plan *plan = NULL;
    struct restoration restoration = {
        .engine = engine, .record = &record, .graph = &graph, .knobs = knobs};
    kiln_arena_init(&arena);
    enum kiln_status status = kiln_plan_decode(bytes, size, &record, error);
    if (status == KILN_OK)
        status = kiln_graph_read(record.graph.bytes, record.graph.size, &arena, &graph, error);
    if (status == KILN_OK)
        status = kiln_engine_devices_current(&engine->devices, &restoration.device, error);
    if (status == KILN_OK)
        status = restore(&restoration, &plan, error);
    if (status == KILN_OK)
        status =
            kiln_plan_keep_graph(plan, &graph, knobs, record.graph.bytes, record.graph.size, error);
    if (status == KILN_OK) {
        plan->spares = restoration.kernels;
        plan->spare_count = restoration.kernel_count;
        *ret_plan = plan;
    } else {
        kiln_plan_unref(plan);
        for (uint32_t i = 0; i < restoration.kernel_count; i++)
            kiln_shared_kernel_unref(restoration.kernels[i]);
        free(restoration.kernels);
    }
    kiln_arena_fini(&arena);
    return status;
}
