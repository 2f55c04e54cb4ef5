#include "plugin_api/plugin_state.h"

#include "runtime/engine/engine_statistics.h"
#include "runtime/engine/settings_check.h"
#include "runtime/engine/shapes_setting.h"

static struct kiln_slot_table handles =
    KILN_SLOT_TABLE_INITIALIZER(struct HipdnnEnginePluginHandle);
static struct kiln_slot_table contexts =
    KILN_SLOT_TABLE_INITIALIZER(struct HipdnnEnginePluginExecutionContext);

/* Shared by all handles; made for the first, dropped with the last. `users` alone tells whether
 * there is an engine, so a child needs to make nothing anew. The capture stays: it writes a file
 * per process, and some hosts make a handle per graph. */
static struct {
    struct kiln_process_mutex lock;
    uint32_t users;
    struct kiln_engine *engine;
    struct kiln_graph_capture *capture;
} shared = {.lock = KILN_PROCESS_MUTEX_INITIALIZER};

static enum kiln_status acquire_shared(hipdnnEnginePluginHandle_t handle, struct kiln_error *error)
{
    enum kiln_status status = KILN_OK;
    (void)kiln_process_mutex_lock(&shared.lock);
    if (shared.users == 0) {
        const struct kiln_engine_options options = {.lower.shapes = kiln_shapes_setting()};
        kiln_settings_check_once();
        kiln_statistics_start();
        status = kiln_engine_create(&options, &shared.engine, error);
        if (status == KILN_OK && !shared.capture)
            shared.capture = kiln_graph_capture_create();
    }
    if (status == KILN_OK) {
        shared.users++;
        handle->engine = shared.engine;
        handle->capture = shared.capture;
    }
    kiln_process_mutex_unlock(&shared.lock);
    return status;
}

/* The context is retracted already. */
static void drop_context(hipdnnEnginePluginExecutionContext_t context)
{
    kiln_plan_unref(context->plan);
    kiln_buffer_fini(&context->config);
    kiln_slot_table_give_back(&contexts, context);
}

/* Those that no host has destroyed: their plans hold the engine. */
static void drop_all_contexts(void)
{
    struct kiln_slot_cursor cursor = {0};
    hipdnnEnginePluginExecutionContext_t context;
    while ((context = kiln_slot_table_retract_next(&contexts, &cursor)) != NULL)
        drop_context(context);
}

static void release_shared(void)
{
    (void)kiln_process_mutex_lock(&shared.lock);
    if (--shared.users == 0) {
        /* Under the lock: everything has stopped when a host unloads the library next. */
        drop_all_contexts();
        kiln_engine_unref(shared.engine);
        shared.engine = NULL;
    }
    kiln_process_mutex_unlock(&shared.lock);
}

/* With handles left, threads of a process that ends may still ask. */
__attribute__((destructor)) static void drop_capture(void)
{
    if (shared.users == 0)
        kiln_graph_capture_destroy(shared.capture);
}

enum kiln_status kiln_plugin_handle_create(hipdnnEnginePluginHandle_t *ret_handle,
                                           struct kiln_error *error)
{
    hipdnnEnginePluginHandle_t handle = kiln_slot_table_take(&handles);
    if (!handle)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory for a 'handle'");
    atomic_init(&handle->stream_ordinal, -1);
    enum kiln_status status = acquire_shared(handle, error);
    if (status) {
        kiln_slot_table_give_back(&handles, handle);
        return status;
    }
    kiln_slot_publish(handle);
    *ret_handle = handle;
    return KILN_OK;
}

bool kiln_plugin_handle_destroy(hipdnnEnginePluginHandle_t handle)
{
    if (!kiln_slot_retract(handle))
        return false;
    kiln_slot_table_give_back(&handles, handle);
    release_shared();
    return true;
}

bool kiln_plugin_handle_is_valid(hipdnnEnginePluginHandle_t handle)
{
    return kiln_slot_table_contains(&handles, handle);
}

enum kiln_status kiln_plugin_context_create(struct kiln_plan *plan, const void *config,
                                            size_t config_bytes,
                                            hipdnnEnginePluginExecutionContext_t *ret_context,
                                            struct kiln_error *error)
{
    hipdnnEnginePluginExecutionContext_t context = kiln_slot_table_take(&contexts);
    if (!context) {
        kiln_plan_unref(plan);
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory for an execution context");
    }
    context->plan = plan;
    kiln_buffer_init(&context->config);
    kiln_buffer_append(&context->config, config, config_bytes);
    enum kiln_status status = kiln_buffer_check(&context->config, error);
    if (status) {
        drop_context(context);
        return status;
    }
    kiln_slot_publish(context);
    *ret_context = context;
    return KILN_OK;
}

bool kiln_plugin_context_destroy(hipdnnEnginePluginExecutionContext_t context)
{
    if (!kiln_slot_retract(context))
        return false;
    drop_context(context);
    return true;
}

bool kiln_plugin_context_is_valid(hipdnnEnginePluginExecutionContext_t context)
{
    return kiln_slot_table_contains(&contexts, context);
}

/* Hosts of Nov 2025 unload the library after the last handle and load it again later. */
__attribute__((destructor)) static void free_tables(void)
{
    kiln_slot_table_fini(&contexts);
    kiln_slot_table_fini(&handles);
}
