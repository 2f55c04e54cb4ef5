/*
 * A host of the plugin, as small as measuring needs: dlopen, the functions, an engine config.
 */
#ifndef KILN_BENCHMARKS_PLUGIN_HOST_H
#define KILN_BENCHMARKS_PLUGIN_HOST_H

#include "plugin_api/hipdnn_plugin_abi.h"
#include "runtime/support/buffer.h"
#include "runtime/support/error.h"

#define KILN_PLUGIN_FUNCTIONS(X)                                                                   \
    X(hipdnnPluginGetLastErrorString)                                                              \
    X(hipdnnEnginePluginGetAllEngineIds)                                                           \
    X(hipdnnEnginePluginCreate)                                                                    \
    X(hipdnnEnginePluginDestroy)                                                                   \
    X(hipdnnEnginePluginGetApplicableEngineIds)                                                    \
    X(hipdnnEnginePluginCreateExecutionContext)                                                    \
    X(hipdnnEnginePluginDestroyExecutionContext)                                                   \
    X(hipdnnEnginePluginGetWorkspaceSizeFromExecutionContext)                                      \
    X(hipdnnEnginePluginExecuteOpGraph)                                                            \
    X(hipdnnEnginePluginExecuteOpGraphWithOverrides)

struct kiln_plugin_host {
#define KILN_PLUGIN_MEMBER(name) __typeof__(&name) name;
    KILN_PLUGIN_FUNCTIONS(KILN_PLUGIN_MEMBER)
#undef KILN_PLUGIN_MEMBER
    hipdnnEnginePluginHandle_t handle;
    struct kiln_buffer config_bytes;
    struct kiln_buffer graph_bytes;
    hipdnnPluginConstData_t config;
    hipdnnPluginConstData_t graph;
};

/* Loads the plugin that was built, makes a handle and reads a JSON graph. The process keeps all of
 * it. */
enum kiln_status kiln_plugin_host_open(struct kiln_plugin_host *host, const char *graph_path,
                                       struct kiln_error *error) KILN_NODISCARD;

/* Turns a plugin's status into ours, with its error string. */
enum kiln_status kiln_plugin_host_check(const struct kiln_plugin_host *host,
                                        hipdnnPluginStatus_t code, const char *action,
                                        struct kiln_error *error) KILN_NODISCARD;

#endif
