#include "benchmarks/plugin_host.h"

#include "benchmarks/benchmark.h"
#include "compiler/graph/wire_messages.h"

#include <dlfcn.h>
#include <string.h>

static enum kiln_status find_functions(struct kiln_plugin_host *host, void *library,
                                       struct kiln_error *error)
{
    void *address;
#define KILN_PLUGIN_FIND(name)                                                                     \
    address = dlsym(library, #name);                                                               \
    if (!address)                                                                                  \
        return kiln_error_set(error, KILN_NOT_FOUND, "the plugin has no function '%s'", #name);    \
    memcpy(&host->name, &address, sizeof(address));
    KILN_PLUGIN_FUNCTIONS(KILN_PLUGIN_FIND)
#undef KILN_PLUGIN_FIND
    return KILN_OK;
}

enum kiln_status kiln_plugin_host_check(const struct kiln_plugin_host *host,
                                        hipdnnPluginStatus_t code, const char *action,
                                        struct kiln_error *error)
{
    if (code == HIPDNN_PLUGIN_STATUS_SUCCESS)
        return KILN_OK;
    const char *text = NULL;
    host->hipdnnPluginGetLastErrorString(&text);
    return kiln_error_set(error, KILN_INTERNAL, "%s gave status %d: %s", action, (int)code,
                          text ? text : "no text");
}

enum kiln_status kiln_plugin_host_open(struct kiln_plugin_host *host, const char *graph_path,
                                       struct kiln_error *error)
{
    void *library = dlopen(KILN_BENCHMARK_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return kiln_error_set(error, KILN_NOT_FOUND, "the plugin cannot be loaded: %s", dlerror());
    enum kiln_status status = find_functions(host, library, error);
    int64_t id = 0;
    uint32_t count = 0;
    if (!status)
        status =
            kiln_plugin_host_check(host, host->hipdnnEnginePluginGetAllEngineIds(&id, 1, &count),
                                   "GetAllEngineIds", error);
    kiln_buffer_init(&host->config_bytes);
    if (!status)
        status = kiln_engine_config_write(id, NULL, 0, &host->config_bytes, error);
    if (!status)
        status = kiln_benchmark_graph(graph_path, &host->graph_bytes, error);
    if (!status)
        status = kiln_plugin_host_check(host, host->hipdnnEnginePluginCreate(&host->handle),
                                        "Create", error);
    if (status)
        return status;
    host->config = (hipdnnPluginConstData_t){host->config_bytes.data, host->config_bytes.size};
    host->graph = (hipdnnPluginConstData_t){host->graph_bytes.data, host->graph_bytes.size};
    return KILN_OK;
}
