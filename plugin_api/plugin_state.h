/*
 * What lives behind the ABI: handles, execution contexts, and the engine that all handles of the
 * process share. It exists as long as there is a handle, so that nothing of Kiln runs any more when
 * a host unloads the library after the last hipdnnEnginePluginDestroy.
 */
#ifndef KILN_PLUGIN_API_PLUGIN_STATE_H
#define KILN_PLUGIN_API_PLUGIN_STATE_H

#include "plugin_api/hipdnn_plugin_abi.h"
#include "plugin_api/slot_table.h"
#include "runtime/engine/engine.h"
#include "runtime/engine/graph_capture.h"

struct HipdnnEnginePluginHandle {
    struct kiln_slot slot;
    _Atomic(kiln_stream) stream;
    atomic_int stream_ordinal;          /* of its device, as far as it was asked; else -1 */
    struct kiln_engine *engine;         /* of the process, alive while this handle is */
    struct kiln_graph_capture *capture; /* the same; NULL when off */
};

/* Belongs to no handle: threads with a handle each may share it. */
struct HipdnnEnginePluginExecutionContext {
    struct kiln_slot slot;
    struct kiln_plan *plan;    /* one reference */
    struct kiln_buffer config; /* the EngineConfig that it was made with */
};

/* Makes a handle; the first one makes the engine. */
enum kiln_status kiln_plugin_handle_create(hipdnnEnginePluginHandle_t *ret_handle,
                                           struct kiln_error *error) KILN_NODISCARD;
/* Destroys a handle. Contexts stay, whichever handle they were made with; the last handle takes
 * those that are left with it and stops the engine: compile workers and host threads have ended
 * when this returns. False when somebody else destroyed it already. */
bool kiln_plugin_handle_destroy(hipdnnEnginePluginHandle_t handle);
/* `handle` may be any value. */
bool kiln_plugin_handle_is_valid(hipdnnEnginePluginHandle_t handle);

/* Takes over the reference of `plan`, also when it fails. Copies the EngineConfig. */
enum kiln_status kiln_plugin_context_create(struct kiln_plan *plan, const void *config,
                                            size_t config_bytes,
                                            hipdnnEnginePluginExecutionContext_t *ret_context,
                                            struct kiln_error *error) KILN_NODISCARD;
bool kiln_plugin_context_destroy(hipdnnEnginePluginExecutionContext_t context);
/* True for a live context; `context` may be any value. */
bool kiln_plugin_context_is_valid(hipdnnEnginePluginExecutionContext_t context);

#endif
