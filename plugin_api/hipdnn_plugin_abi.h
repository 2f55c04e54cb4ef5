/*
 * hipDNN's engine-plugin ABI, level 1.4.0, as far as Kiln exports it: types, values and signatures
 * that hosts of Nov 2025 and later rely on. The numbers are the interface; nothing here may change.
 * Kiln needs no hipDNN header.
 *
 * Every function is found with dlsym, has C linkage and default visibility, and returns
 * hipdnnPluginStatus_t unless it says otherwise.
 */
#ifndef KILN_PLUGIN_API_HIPDNN_PLUGIN_ABI_H
#define KILN_PLUGIN_API_HIPDNN_PLUGIN_ABI_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HIPDNN_PLUGIN_EXPORT __attribute__((visibility("default")))

/* Recommended size of the error text of a thread, NUL included. */
#define HIPDNN_PLUGIN_ERROR_STRING_MAX_LENGTH 2048

typedef enum {
    HIPDNN_PLUGIN_STATUS_SUCCESS = 0,
    HIPDNN_PLUGIN_STATUS_BAD_PARAM = 1,
    HIPDNN_PLUGIN_STATUS_INVALID_VALUE = 2,
    HIPDNN_PLUGIN_STATUS_INTERNAL_ERROR = 3,
    HIPDNN_PLUGIN_STATUS_ALLOC_FAILED = 4,
    /* Unknown to hosts of Nov 2025: not returned to them. */
    HIPDNN_PLUGIN_STATUS_NOT_APPLICABLE = 5,
    HIPDNN_PLUGIN_STATUS_NOT_INITIALIZED = 6
} hipdnnPluginStatus_t;

typedef enum {
    HIPDNN_PLUGIN_TYPE_UNSPECIFIED = 0,
    HIPDNN_PLUGIN_TYPE_ENGINE = 1,
    HIPDNN_PLUGIN_TYPE_HEURISTIC = 2
} hipdnnPluginType_t;

typedef enum {
    HIPDNN_SEV_INFO = 0,
    HIPDNN_SEV_WARN = 1,
    HIPDNN_SEV_ERROR = 2,
    HIPDNN_SEV_FATAL = 3,
    HIPDNN_SEV_OFF = 4 /* a threshold, never the level of a message */
} hipdnnSeverity_t;

typedef struct HipdnnEnginePluginHandle *hipdnnEnginePluginHandle_t;
typedef struct HipdnnEnginePluginExecutionContext *hipdnnEnginePluginExecutionContext_t;
typedef void (*hipdnnCallback_t)(hipdnnSeverity_t severity, const char *text);

/* HIP's stream: a pointer to an incomplete type there; NULL is the default stream. */
typedef void *hipdnnPluginStream_t;

/* Bytes of a FlatBuffer. */
typedef struct {
    const void *ptr;
    size_t size;
} hipdnnPluginConstData_t;

typedef struct {
    int64_t uid; /* of the tensor in the graph */
    void *ptr;
} hipdnnPluginDeviceBuffer_t;

static_assert(sizeof(hipdnnPluginStatus_t) == 4, "an enum of the ABI has 4 bytes");
static_assert(sizeof(hipdnnPluginType_t) == 4, "an enum of the ABI has 4 bytes");
static_assert(sizeof(hipdnnSeverity_t) == 4, "an enum of the ABI has 4 bytes");
static_assert(sizeof(hipdnnPluginConstData_t) == 16, "layout of the ABI");
static_assert(sizeof(hipdnnPluginDeviceBuffer_t) == 16, "layout of the ABI");

/* Base functions of every plugin. */
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnPluginGetName(const char **name);
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnPluginGetVersion(const char **version);
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnPluginGetType(hipdnnPluginType_t *type);
HIPDNN_PLUGIN_EXPORT void hipdnnPluginGetLastErrorString(const char **error_str);
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnPluginSetLoggingCallback(hipdnnCallback_t callback);
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnPluginGetApiVersion(const char **version);
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnPluginSetLogLevel(hipdnnSeverity_t level);

/* Engine functions. */
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginGetAllEngineIds(int64_t *engine_ids,
                                                                            uint32_t max_engines,
                                                                            uint32_t *num_engines);
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t
hipdnnEnginePluginCreate(hipdnnEnginePluginHandle_t *handle);
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t
hipdnnEnginePluginDestroy(hipdnnEnginePluginHandle_t handle);
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t
hipdnnEnginePluginSetStream(hipdnnEnginePluginHandle_t handle, hipdnnPluginStream_t stream);
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginGetApplicableEngineIds(
    hipdnnEnginePluginHandle_t handle, const hipdnnPluginConstData_t *op_graph, int64_t *engine_ids,
    uint32_t max_engines, uint32_t *num_engines);
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginGetEngineDetails(
    hipdnnEnginePluginHandle_t handle, int64_t engine_id, const hipdnnPluginConstData_t *op_graph,
    hipdnnPluginConstData_t *engine_details);
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginDestroyEngineDetails(
    hipdnnEnginePluginHandle_t handle, hipdnnPluginConstData_t *engine_details);
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginGetWorkspaceSize(
    hipdnnEnginePluginHandle_t handle, const hipdnnPluginConstData_t *engine_config,
    const hipdnnPluginConstData_t *op_graph, size_t *workspace_size);
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginCreateExecutionContext(
    hipdnnEnginePluginHandle_t handle, const hipdnnPluginConstData_t *engine_config,
    const hipdnnPluginConstData_t *op_graph,
    hipdnnEnginePluginExecutionContext_t *execution_context);
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginDestroyExecutionContext(
    hipdnnEnginePluginHandle_t handle, hipdnnEnginePluginExecutionContext_t execution_context);
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginGetWorkspaceSizeFromExecutionContext(
    hipdnnEnginePluginHandle_t handle, hipdnnEnginePluginExecutionContext_t execution_context,
    size_t *workspace_size);
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginExecuteOpGraph(
    hipdnnEnginePluginHandle_t handle, hipdnnEnginePluginExecutionContext_t execution_context,
    void *workspace, const hipdnnPluginDeviceBuffer_t *device_buffers, uint32_t num_device_buffers);
/* Shape i is that of tensor override_unique_ids[i]. */
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginExecuteOpGraphWithOverrides(
    hipdnnEnginePluginHandle_t handle, hipdnnEnginePluginExecutionContext_t execution_context,
    void *workspace, const hipdnnPluginDeviceBuffer_t *device_buffers, uint32_t num_device_buffers,
    uint32_t num_overrides, const int64_t *override_unique_ids, const uint32_t *override_lengths,
    const int64_t *const *override_shapes, const int64_t *const *override_strides);
/* A plugin that exports one of these exports all three. The plugin owns the bytes of the first. */
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginSerializeExecutionContext(
    hipdnnEnginePluginHandle_t handle, hipdnnEnginePluginExecutionContext_t execution_context,
    hipdnnPluginConstData_t *serialized_context);
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginDestroySerializedExecutionContext(
    hipdnnEnginePluginHandle_t handle, hipdnnPluginConstData_t *serialized_context);
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginCreateExecutionContextFromSerialized(
    hipdnnEnginePluginHandle_t handle, const hipdnnPluginConstData_t *serialized_context,
    hipdnnEnginePluginExecutionContext_t *execution_context);
HIPDNN_PLUGIN_EXPORT hipdnnPluginStatus_t hipdnnEnginePluginGetEngineName(int64_t engine_id,
                                                                          const char **engine_name);

#ifdef __cplusplus
}
#endif
#endif
