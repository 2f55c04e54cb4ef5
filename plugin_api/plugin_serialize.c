/*
 * Execution contexts as bytes: the trio of functions that hosts store plans with.
 *
 * The bytes belong to the plugin until the host destroys them. A pointer that a host passes is
 * looked up among the live ones, never trusted.
 */
#include "compiler/graph/wire_messages.h"
#include "plugin_api/engine_identity.h"
#include "plugin_api/hipdnn_plugin_abi.h"
#include "plugin_api/last_error.h"
#include "plugin_api/plugin_state.h"
#include "runtime/engine/plan_knobs.h"

#include <stdlib.h>

/* Bytes that a host has not destroyed yet: few, since hosts copy them at once. */
struct payload {
    struct payload *next;
    struct kiln_buffer bytes;
};

static struct {
    struct kiln_process_mutex lock;
    struct payload *first;
} payloads = {.lock = KILN_PROCESS_MUTEX_INITIALIZER};

static void destroy_payload(struct payload *payload)
{
    kiln_buffer_fini(&payload->bytes);
    free(payload);
}

/* Hosts of some versions unload the library with bytes left. */
__attribute__((destructor)) static void free_payloads(void)
{
    while (payloads.first) {
        struct payload *next = payloads.first->next;
        destroy_payload(payloads.first);
        payloads.first = next;
    }
}

static void add_payload(struct payload *payload)
{
    if (!kiln_process_mutex_lock(&payloads.lock))
        payloads.first = NULL; /* a child of a fork: the list may be half changed */
    payload->next = payloads.first;
    payloads.first = payload;
    kiln_process_mutex_unlock(&payloads.lock);
}

/* The payload with these bytes, which is in the list no more; NULL: there is none. */
static struct payload *take_payload(const void *bytes)
{
    if (!kiln_process_mutex_lock(&payloads.lock))
        payloads.first = NULL;
    struct payload **link = &payloads.first;
    while (*link && (*link)->bytes.data != bytes)
        link = &(*link)->next;
    struct payload *payload = *link;
    if (payload)
        *link = payload->next;
    kiln_process_mutex_unlock(&payloads.lock);
    return payload;
}

static hipdnnPluginStatus_t bad_handle(hipdnnEnginePluginHandle_t handle)
{
    return kiln_last_error_bad_param("the handle '%p' is not a live one of this plugin",
                                     (void *)handle);
}

static hipdnnPluginStatus_t missing(const char *name)
{
    return kiln_last_error_bad_param("the argument '%s' is NULL", name);
}

hipdnnPluginStatus_t
hipdnnEnginePluginSerializeExecutionContext(hipdnnEnginePluginHandle_t handle,
                                            hipdnnEnginePluginExecutionContext_t execution_context,
                                            hipdnnPluginConstData_t *serialized_context)
{
    if (!kiln_plugin_handle_is_valid(handle))
        return bad_handle(handle);
    if (!kiln_plugin_context_is_valid(execution_context))
        return kiln_last_error_bad_param(
            "the execution context '%p' is not a live one of this plugin",
            (void *)execution_context);
    if (!serialized_context)
        return missing("serialized_context");
    struct kiln_error error;
    kiln_error_init(&error);
    struct payload *payload = calloc(1, sizeof(*payload));
    if (!payload) {
        (void)kiln_error_set(&error, KILN_NO_MEMORY, "no memory to serialize a plan");
        return kiln_last_error_set(&error);
    }
    kiln_buffer_init(&payload->bytes);
    const struct kiln_buffer *config = &execution_context->config;
    if (kiln_plan_store(execution_context->plan, config->data, config->size, &payload->bytes,
                        &error)) {
        destroy_payload(payload);
        return kiln_last_error_set(&error);
    }
    add_payload(payload);
    serialized_context->ptr = payload->bytes.data;
    serialized_context->size = payload->bytes.size;
    return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

hipdnnPluginStatus_t
hipdnnEnginePluginDestroySerializedExecutionContext(hipdnnEnginePluginHandle_t handle,
                                                    hipdnnPluginConstData_t *serialized_context)
{
    if (!kiln_plugin_handle_is_valid(handle))
        return bad_handle(handle);
    if (!serialized_context)
        return missing("serialized_context");
    struct payload *payload =
        serialized_context->ptr ? take_payload(serialized_context->ptr) : NULL;
    if (!payload)
        return kiln_last_error_bad_param("the serialized context '%p' is not of this plugin",
                                         serialized_context->ptr);
    destroy_payload(payload);
    serialized_context->ptr = NULL;
    serialized_context->size = 0;
    return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

/* Checks that a stored plan belongs to this plugin's engine, and reads its knobs. */
static enum kiln_status read_config(const void *bytes, size_t size,
                                    struct kiln_plan_knobs *ret_knobs, struct kiln_error *error)
{
    struct kiln_engine_config config;
    enum kiln_status status = kiln_engine_config_read(bytes, size, &config, error);
    if (status)
        return status;
    if (config.engine_id != kiln_engine_id())
        return kiln_error_set(error, KILN_BAD_ARGUMENT,
                              "engine id %lld of the serialized context is not of this plugin",
                              (long long)config.engine_id);
    kiln_plan_knobs_init(ret_knobs);
    return kiln_plan_knobs_set(config.settings, config.setting_count, ret_knobs, error);
}

hipdnnPluginStatus_t hipdnnEnginePluginCreateExecutionContextFromSerialized(
    hipdnnEnginePluginHandle_t handle, const hipdnnPluginConstData_t *serialized_context,
    hipdnnEnginePluginExecutionContext_t *execution_context)
{
    if (!kiln_plugin_handle_is_valid(handle))
        return bad_handle(handle);
    if (!serialized_context)
        return missing("serialized_context");
    if (!serialized_context->ptr || serialized_context->size == 0)
        return kiln_last_error_bad_param("the argument 'serialized_context' holds no bytes");
    if (!execution_context)
        return missing("execution_context");
    const void *bytes = serialized_context->ptr;
    size_t size = serialized_context->size;
    struct kiln_error error;
    kiln_error_init(&error);
    struct kiln_plan *plan = NULL;
    struct kiln_plan_knobs knobs;
    const void *config = NULL;
    size_t config_bytes = 0;
    enum kiln_status status = kiln_plan_stored_config(bytes, size, &config, &config_bytes, &error);
    if (status == KILN_OK)
        status = read_config(config, config_bytes, &knobs, &error);
    if (status == KILN_OK)
        status = kiln_plan_restore(handle->engine, bytes, size, &knobs, &plan, &error);
    if (status == KILN_OK)
        status = kiln_plugin_context_create(plan, config, config_bytes, execution_context, &error);
    return status ? kiln_last_error_set(&error) : HIPDNN_PLUGIN_STATUS_SUCCESS;
}
