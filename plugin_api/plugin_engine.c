/*
 * The engine functions of the ABI.
 *
 * Each checks its arguments in the order in which they are declared; what a host got wrong is
 * BAD_PARAM with a sentence, and outputs are written only on success (*num_engines, which is 0
 * first, excepted).
 */
#include "compiler/graph/wire_messages.h"
#include "plugin_api/engine_details.h"
#include "plugin_api/engine_identity.h"
#include "plugin_api/hipdnn_plugin_abi.h"
#include "plugin_api/last_error.h"
#include "plugin_api/log_bridge.h"
#include "plugin_api/plugin_state.h"
#include "runtime/device/device.h"
#include "runtime/engine/plan_knobs.h"
#include "runtime/support/log.h"

#include <string.h>

_Static_assert(sizeof(struct kiln_buffer_binding) == sizeof(hipdnnPluginDeviceBuffer_t) &&
                   offsetof(struct kiln_buffer_binding, uid) ==
                       offsetof(hipdnnPluginDeviceBuffer_t, uid) &&
                   offsetof(struct kiln_buffer_binding, pointer) ==
                       offsetof(hipdnnPluginDeviceBuffer_t, ptr),
               "buffers are passed on as they come");

static hipdnnPluginStatus_t bad_handle(hipdnnEnginePluginHandle_t handle)
{
    return kiln_last_error_bad_param("the handle '%p' is not a live one of this plugin",
                                     (void *)handle);
}

/* What fails after the arguments were checked is this machine's doing, or Kiln's, not the host's:
 * KILN_BAD_ARGUMENT is of an environment variable then, which 'kiln config' tells of too. */
static hipdnnPluginStatus_t fail_here(struct kiln_error *error)
{
    if (error->status == KILN_BAD_ARGUMENT)
        error->status = KILN_UNSUPPORTED;
    return kiln_last_error_set(error);
}

static hipdnnPluginStatus_t missing(const char *what)
{
    return kiln_last_error_bad_param("the argument '%s' is NULL", what);
}

static hipdnnPluginStatus_t bad_context(hipdnnEnginePluginExecutionContext_t context)
{
    return kiln_last_error_bad_param("the execution context '%p' is not a live one of this plugin",
                                     (void *)context);
}

/* Status of one function for the lists of engines: the plugin has one. */
static void give_engine(int64_t *engine_ids, uint32_t max_engines, uint32_t *num_engines)
{
    if (max_engines > 0)
        engine_ids[0] = kiln_engine_id();
    *num_engines = 1;
}

hipdnnPluginStatus_t hipdnnEnginePluginGetAllEngineIds(int64_t *engine_ids, uint32_t max_engines,
                                                       uint32_t *num_engines)
{
    if (!engine_ids && max_engines > 0)
        return missing("engine_ids");
    if (!num_engines)
        return missing("num_engines");
    give_engine(engine_ids, max_engines, num_engines);
    return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

hipdnnPluginStatus_t hipdnnEnginePluginGetEngineName(int64_t engine_id, const char **engine_name)
{
    if (!engine_name)
        return missing("engine_name");
    if (engine_id != kiln_engine_id()) {
        /* The only answer that costs an engine nothing (hipdnn-november-2026.md 1.1). */
        (void)!kiln_last_error_bad_param("engine id %lld is not of this plugin",
                                         (long long)engine_id);
        return HIPDNN_PLUGIN_STATUS_NOT_APPLICABLE;
    }
    *engine_name = KILN_ENGINE_NAME;
    return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

hipdnnPluginStatus_t hipdnnEnginePluginCreate(hipdnnEnginePluginHandle_t *handle)
{
    if (!handle)
        return missing("handle");
    kiln_log_bridge_start();
    struct kiln_error error;
    kiln_error_init(&error);
    if (kiln_plugin_handle_create(handle, &error))
        return fail_here(&error);
    return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

hipdnnPluginStatus_t hipdnnEnginePluginDestroy(hipdnnEnginePluginHandle_t handle)
{
    if (!kiln_plugin_handle_is_valid(handle) || !kiln_plugin_handle_destroy(handle))
        return bad_handle(handle);
    return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

hipdnnPluginStatus_t hipdnnEnginePluginSetStream(hipdnnEnginePluginHandle_t handle,
                                                 hipdnnPluginStream_t stream)
{
    if (!kiln_plugin_handle_is_valid(handle))
        return bad_handle(handle);
    atomic_store_explicit(&handle->stream, stream, memory_order_relaxed);
    atomic_store_explicit(&handle->stream_ordinal, -1, memory_order_relaxed);
    return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

hipdnnPluginStatus_t hipdnnEnginePluginGetApplicableEngineIds(
    hipdnnEnginePluginHandle_t handle, const hipdnnPluginConstData_t *op_graph, int64_t *engine_ids,
    uint32_t max_engines, uint32_t *num_engines)
{
    if (num_engines)
        *num_engines = 0;
    if (!kiln_plugin_handle_is_valid(handle))
        return bad_handle(handle);
    if (!op_graph)
        return missing("op_graph");
    if (!engine_ids && max_engines > 0)
        return missing("engine_ids");
    if (!num_engines)
        return missing("num_engines");
    /* A failure here would end the host's query of every plugin, so whatever is wrong with the
     * graph, or with this machine, only means "not applicable". */
    if (!op_graph->ptr || op_graph->size == 0)
        return HIPDNN_PLUGIN_STATUS_SUCCESS;
    kiln_graph_capture_ask(handle->capture, op_graph->ptr, op_graph->size);
    struct kiln_error error;
    kiln_error_init(&error);
    if (kiln_engine_check(handle->engine, op_graph->ptr, op_graph->size, &error) == KILN_OK)
        give_engine(engine_ids, max_engines, num_engines);
    return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

hipdnnPluginStatus_t hipdnnEnginePluginGetEngineDetails(hipdnnEnginePluginHandle_t handle,
                                                        int64_t engine_id,
                                                        const hipdnnPluginConstData_t *op_graph,
                                                        hipdnnPluginConstData_t *engine_details)
{
    if (!kiln_plugin_handle_is_valid(handle))
        return bad_handle(handle);
    if (engine_id != kiln_engine_id())
        return kiln_last_error_bad_param("engine id %lld is not of this plugin",
                                         (long long)engine_id);
    if (!op_graph)
        return missing("op_graph");
    if (!engine_details)
        return missing("engine_details");
    struct kiln_error error;
    kiln_error_init(&error);
    const struct kiln_buffer *details = NULL;
    if (kiln_engine_details_of(handle->engine, op_graph->ptr, op_graph->size, &details, &error))
        return kiln_last_error_set(&error);
    engine_details->ptr = details->data;
    engine_details->size = details->size;
    return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

hipdnnPluginStatus_t hipdnnEnginePluginDestroyEngineDetails(hipdnnEnginePluginHandle_t handle,
                                                            hipdnnPluginConstData_t *engine_details)
{
    if (!kiln_plugin_handle_is_valid(handle))
        return bad_handle(handle);
    if (!engine_details)
        return missing("engine_details");
    if (!kiln_engine_details_are_ours(engine_details->ptr))
        return kiln_last_error_bad_param("the engine details '%p' are not of this plugin",
                                         engine_details->ptr);
    engine_details->ptr = NULL;
    engine_details->size = 0;
    return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

static hipdnnPluginStatus_t check_bytes(const hipdnnPluginConstData_t *data, const char *what)
{
    if (!data)
        return missing(what);
    if (!data->ptr || data->size == 0)
        return kiln_last_error_bad_param("the argument '%s' holds no bytes", what);
    return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

/* Checks the arguments of GetWorkspaceSize and CreateExecutionContext: handle, config for our
 * engine, graph. Reads the knobs of the config. */
static hipdnnPluginStatus_t check_request(hipdnnEnginePluginHandle_t handle,
                                          const hipdnnPluginConstData_t *engine_config,
                                          const hipdnnPluginConstData_t *op_graph,
                                          struct kiln_plan_knobs *ret_knobs)
{
    if (!kiln_plugin_handle_is_valid(handle))
        return bad_handle(handle);
    hipdnnPluginStatus_t status = check_bytes(engine_config, "engine_config");
    if (status == HIPDNN_PLUGIN_STATUS_SUCCESS)
        status = check_bytes(op_graph, "op_graph");
    if (status != HIPDNN_PLUGIN_STATUS_SUCCESS)
        return status;
    struct kiln_error error;
    kiln_error_init(&error);
    struct kiln_engine_config config;
    if (kiln_engine_config_read(engine_config->ptr, engine_config->size, &config, &error))
        return kiln_last_error_set(&error);
    if (config.engine_id != kiln_engine_id())
        return kiln_last_error_bad_param("engine id %lld of the config is not of this plugin",
                                         (long long)config.engine_id);
    kiln_plan_knobs_init(ret_knobs);
    if (kiln_plan_knobs_set(config.settings, config.setting_count, ret_knobs, &error))
        return kiln_last_error_set(&error);
    return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

hipdnnPluginStatus_t
hipdnnEnginePluginGetWorkspaceSize(hipdnnEnginePluginHandle_t handle,
                                   const hipdnnPluginConstData_t *engine_config,
                                   const hipdnnPluginConstData_t *op_graph, size_t *workspace_size)
{
    struct kiln_plan_knobs knobs;
    hipdnnPluginStatus_t status = check_request(handle, engine_config, op_graph, &knobs);
    if (status != HIPDNN_PLUGIN_STATUS_SUCCESS)
        return status;
    if (!workspace_size)
        return missing("workspace_size");
    struct kiln_error error;
    kiln_error_init(&error);
    uint64_t bytes = 0;
    if (kiln_engine_workspace_bytes(handle->engine, op_graph->ptr, op_graph->size, &knobs, &bytes,
                                    &error))
        return fail_here(&error);
    *workspace_size = bytes;
    return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

hipdnnPluginStatus_t
hipdnnEnginePluginCreateExecutionContext(hipdnnEnginePluginHandle_t handle,
                                         const hipdnnPluginConstData_t *engine_config,
                                         const hipdnnPluginConstData_t *op_graph,
                                         hipdnnEnginePluginExecutionContext_t *execution_context)
{
    struct kiln_plan_knobs knobs;
    hipdnnPluginStatus_t status = check_request(handle, engine_config, op_graph, &knobs);
    if (status != HIPDNN_PLUGIN_STATUS_SUCCESS)
        return status;
    if (!execution_context)
        return missing("execution_context");
    kiln_graph_capture_write(handle->capture, op_graph->ptr, op_graph->size);
    struct kiln_error error;
    kiln_error_init(&error);
    struct kiln_plan *plan = NULL;
    if (kiln_plan_create_with_knobs(handle->engine, op_graph->ptr, op_graph->size, &knobs, &plan,
                                    &error) ||
        kiln_plugin_context_create(plan, engine_config->ptr, engine_config->size, execution_context,
                                   &error))
        return fail_here(&error);
    return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

hipdnnPluginStatus_t
hipdnnEnginePluginDestroyExecutionContext(hipdnnEnginePluginHandle_t handle,
                                          hipdnnEnginePluginExecutionContext_t execution_context)
{
    if (!kiln_plugin_handle_is_valid(handle))
        return bad_handle(handle);
    if (!kiln_plugin_context_is_valid(execution_context) ||
        !kiln_plugin_context_destroy(execution_context))
        return bad_context(execution_context);
    return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

hipdnnPluginStatus_t hipdnnEnginePluginGetWorkspaceSizeFromExecutionContext(
    hipdnnEnginePluginHandle_t handle, hipdnnEnginePluginExecutionContext_t execution_context,
    size_t *workspace_size)
{
    if (!kiln_plugin_handle_is_valid(handle))
        return bad_handle(handle);
    if (!kiln_plugin_context_is_valid(execution_context))
        return bad_context(execution_context);
    if (!workspace_size)
        return missing("workspace_size");
    *workspace_size = kiln_plan_workspace_bytes(execution_context->plan);
    return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

/*
 * A plan runs on the device that it was made for, and so on streams of that one only; HIP runtimes
 * do not all check. The answer is kept in the handle, where it may be of a stream that was set
 * meanwhile: so nothing is refused without asking again.
 */
static hipdnnPluginStatus_t check_stream(hipdnnEnginePluginHandle_t handle, kiln_stream stream,
                                         const struct kiln_plan *plan)
{
    const struct kiln_device *device = kiln_plan_device(plan);
    if (!device->ops->stream_ordinal ||
        atomic_load_explicit(&handle->stream_ordinal, memory_order_relaxed) == device->ordinal)
        return HIPDNN_PLUGIN_STATUS_SUCCESS;
    int ordinal = device->ops->stream_ordinal((struct kiln_device *)(uintptr_t)device, stream);
    if (ordinal != -1 && ordinal != device->ordinal)
        return kiln_last_error_bad_param("the stream of the handle belongs to device %d, and the "
                                         "execution context was made for device %d",
                                         ordinal, device->ordinal);
    atomic_store_explicit(&handle->stream_ordinal, device->ordinal, memory_order_relaxed);
    return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

/* The checks of both forms of execution. Gives the stream. */
static hipdnnPluginStatus_t check_execution(hipdnnEnginePluginHandle_t handle,
                                            hipdnnEnginePluginExecutionContext_t context,
                                            const hipdnnPluginDeviceBuffer_t *device_buffers,
                                            uint32_t num_device_buffers, kiln_stream *ret_stream)
{
    if (!kiln_plugin_handle_is_valid(handle))
        return bad_handle(handle);
    if (!kiln_plugin_context_is_valid(context))
        return bad_context(context);
    if (!device_buffers && num_device_buffers > 0)
        return missing("device_buffers");
    *ret_stream = atomic_load_explicit(&handle->stream, memory_order_relaxed);
    return *ret_stream ? check_stream(handle, *ret_stream, context->plan)
                       : HIPDNN_PLUGIN_STATUS_SUCCESS;
}

static const struct kiln_buffer_binding *
bindings_of(const hipdnnPluginDeviceBuffer_t *device_buffers)
{
    return (const struct kiln_buffer_binding *)(const void *)device_buffers;
}

hipdnnPluginStatus_t hipdnnEnginePluginExecuteOpGraph(
    hipdnnEnginePluginHandle_t handle, hipdnnEnginePluginExecutionContext_t execution_context,
    void *workspace, const hipdnnPluginDeviceBuffer_t *device_buffers, uint32_t num_device_buffers)
{
    kiln_stream stream = NULL;
    hipdnnPluginStatus_t status =
        check_execution(handle, execution_context, device_buffers, num_device_buffers, &stream);
    if (status != HIPDNN_PLUGIN_STATUS_SUCCESS)
        return status;
    struct kiln_error error;
    kiln_error_init(&error);
    if (kiln_plan_execute(execution_context->plan, stream, workspace, bindings_of(device_buffers),
                          num_device_buffers, &error))
        return kiln_last_error_set(&error);
    return HIPDNN_PLUGIN_STATUS_SUCCESS;
}

hipdnnPluginStatus_t hipdnnEnginePluginExecuteOpGraphWithOverrides(
    hipdnnEnginePluginHandle_t handle, hipdnnEnginePluginExecutionContext_t execution_context,
    void *workspace, const hipdnnPluginDeviceBuffer_t *device_buffers, uint32_t num_device_buffers,
    uint32_t num_overrides, const int64_t *override_unique_ids, const uint32_t *override_lengths,
    const int64_t *const *override_shapes, const int64_t *const *override_strides)
{
    const struct kiln_shape_overrides overrides = {.count = num_overrides,
                                                   .uids = override_unique_ids,
                                                   .ranks = override_lengths,
                                                   .dims = override_shapes,
                                                   .strides = override_strides};
    kiln_stream stream = NULL;
    hipdnnPluginStatus_t status =
        check_execution(handle, execution_context, device_buffers, num_device_buffers, &stream);
    if (status != HIPDNN_PLUGIN_STATUS_SUCCESS)
        return status;
    struct kiln_error error;
    kiln_error_init(&error);
    if (kiln_plan_execute_with_overrides(execution_context->plan, stream, workspace,
                                         bindings_of(device_buffers), num_device_buffers,
                                         &overrides, &error))
        return kiln_last_error_set(&error);
    return HIPDNN_PLUGIN_STATUS_SUCCESS;
}
