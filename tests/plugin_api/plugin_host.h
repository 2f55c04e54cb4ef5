/*
 * A hipDNN host for tests: loads a plugin as hosts do and drives graphs through it in the hosts'
 * order of calls.
 */
#ifndef KILN_TESTS_PLUGIN_HOST_H
#define KILN_TESTS_PLUGIN_HOST_H

#include "plugin_api/hipdnn_plugin_abi.h"
#include "runtime/device/device.h"

#include <stdbool.h>

struct plugin_host {
    void *library;
    int64_t engine_id;
    struct kiln_device *device; /* borrowed: holds the workspaces; NULL: ordinary memory does */
#define PLUGIN_FUNCTION(name, required) __typeof__(&name) name;
#include "plugin_api/plugin_functions.def"
};

enum { PLUGIN_HOST_TEXT_BYTES = 4096 };

/*
 * Loads the plugin and asks it what a host asks at load time: type, name, version, API version,
 * engine ids and names. False, with a sentence, where a host would refuse the plugin. `callback`
 * may be NULL.
 */
bool plugin_host_load(struct plugin_host *host, const char *path, hipdnnCallback_t callback,
                      char ret_text[PLUGIN_HOST_TEXT_BYTES]);
void plugin_host_unload(struct plugin_host *host);

/* The plugin's error text of this thread; never NULL. */
const char *plugin_host_error(const struct plugin_host *host);

/* The 24 bytes that hosts of Nov 2025 pass as engine config. */
struct plugin_host_config {
    _Alignas(8) unsigned char bytes[24];
};
struct plugin_host_config plugin_host_config(int64_t engine_id);

enum plugin_host_outcome {
    PLUGIN_HOST_DONE,
    PLUGIN_HOST_NOT_APPLICABLE,
    PLUGIN_HOST_FAILED, /* with a sentence */
};

/* A graph that was made ready to execute, with the memory of its workspace. */
struct plugin_host_plan {
    hipdnnEnginePluginExecutionContext_t context;
    hipdnnPluginConstData_t details;
    size_t workspace_bytes;
    void *workspace; /* at an odd address on purpose */
    void *workspace_memory;
};

/* Everything from the question whether the plugin takes the graph to the execution context. */
enum plugin_host_outcome plugin_host_prepare(const struct plugin_host *host,
                                             hipdnnEnginePluginHandle_t handle,
                                             const void *graph_bytes, size_t size,
                                             struct plugin_host_plan *ret_plan,
                                             char ret_text[PLUGIN_HOST_TEXT_BYTES]);
enum plugin_host_outcome
plugin_host_execute(const struct plugin_host *host, hipdnnEnginePluginHandle_t handle,
                    const struct plugin_host_plan *plan, const hipdnnPluginDeviceBuffer_t *buffers,
                    uint32_t buffer_count, char ret_text[PLUGIN_HOST_TEXT_BYTES]);
/* Destroys context and details; false, with a sentence, when the plugin objects. */
bool plugin_host_release(const struct plugin_host *host, hipdnnEnginePluginHandle_t handle,
                         struct plugin_host_plan *plan, char ret_text[PLUGIN_HOST_TEXT_BYTES]);

#endif
