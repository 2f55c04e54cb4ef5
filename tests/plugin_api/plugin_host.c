#include "tests/plugin_api/plugin_host.h"

#include "compiler/graph/wire_messages.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool refuse(char *ret_text, const char *what, const char *detail)
{
    snprintf(ret_text, PLUGIN_HOST_TEXT_BYTES, "%s: %s", what, detail);
    return false;
}

static bool find_functions(struct plugin_host *host, char *ret_text)
{
    void *address;
#define PLUGIN_FUNCTION(name, required)                                                            \
    address = dlsym(host->library, #name);                                                         \
    if (!address && (required))                                                                    \
        return refuse(ret_text, "missing function", #name);                                        \
    memcpy(&host->name, &address, sizeof(address));
#include "plugin_api/plugin_functions.def"
    return true;
}

/* 64-bit FNV-1a, as hosts check it. */
static int64_t hash_of(const char *name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(0x00000100000001b3);
    return (int64_t)hash;
}

static bool ask_identity(struct plugin_host *host, hipdnnCallback_t callback, char *ret_text)
{
    hipdnnPluginType_t type = HIPDNN_PLUGIN_TYPE_UNSPECIFIED;
    const char *name = NULL;
    const char *version = NULL;
    const char *api = "1.0.0";
    if (host->hipdnnPluginGetType(&type) || type != HIPDNN_PLUGIN_TYPE_ENGINE)
        return refuse(ret_text, "type", "not an engine plugin");
    if (host->hipdnnPluginGetName(&name) || host->hipdnnPluginGetVersion(&version) || !name ||
        !version)
        return refuse(ret_text, "identity", "no name or version");
    if (callback && host->hipdnnPluginSetLoggingCallback)
        (void)host->hipdnnPluginSetLoggingCallback(callback);
    if (host->hipdnnPluginGetApiVersion &&
        (host->hipdnnPluginGetApiVersion(&api) || !api || strncmp(api, "1.", 2) != 0))
        return refuse(ret_text, "API version", api ? api : "none");
    return true;
}

static bool ask_engines(struct plugin_host *host, char *ret_text)
{
    uint32_t count = 0;
    uint32_t again = 0;
    int64_t ids[1] = {0};
    if (host->hipdnnEnginePluginGetAllEngineIds(NULL, 0, &count) || count != 1)
        return refuse(ret_text, "engine ids", "one is expected");
    if (host->hipdnnEnginePluginGetAllEngineIds(ids, count, &again) || again != count)
        return refuse(ret_text, "engine ids", "the second answer differs");
    const char *name = NULL;
    if (host->hipdnnEnginePluginGetEngineName &&
        (host->hipdnnEnginePluginGetEngineName(ids[0], &name) || !name || hash_of(name) != ids[0]))
        return refuse(ret_text, "engine name", name ? name : "none");
    host->engine_id = ids[0];
    return true;
}

bool plugin_host_load(struct plugin_host *host, const char *path, hipdnnCallback_t callback,
                      char ret_text[PLUGIN_HOST_TEXT_BYTES])
{
    *host = (struct plugin_host){0};
    ret_text[0] = '\0';
    host->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!host->library)
        return refuse(ret_text, "dlopen", dlerror());
    if (find_functions(host, ret_text) && ask_identity(host, callback, ret_text) &&
        ask_engines(host, ret_text))
        return true;
    plugin_host_unload(host);
    return false;
}

void plugin_host_unload(struct plugin_host *host)
{
    if (host->library)
        dlclose(host->library);
    host->library = NULL;
}

const char *plugin_host_error(const struct plugin_host *host)
{
    const char *text = NULL;
    host->hipdnnPluginGetLastErrorString(&text);
    return text ? text : "(the plugin gave a NULL error text, on which hosts crash)";
}

struct plugin_host_config plugin_host_config(int64_t engine_id)
{
    struct plugin_host_config config = {
        {0x0c, 0, 0, 0, 0, 0, 0x06, 0, 0x0c, 0, 0x04, 0, 0x06, 0, 0, 0}};
    memcpy(config.bytes + 16, &engine_id, sizeof(engine_id));
    return config;
}

static enum plugin_host_outcome fail(const struct plugin_host *host, const char *what,
                                     hipdnnPluginStatus_t status, char *ret_text)
{
    snprintf(ret_text, PLUGIN_HOST_TEXT_BYTES, "%s: status %d: %s", what, (int)status,
             status ? plugin_host_error(host) : "wrong answer");
    return PLUGIN_HOST_FAILED;
}

static enum plugin_host_outcome ask_applicable(const struct plugin_host *host,
                                               hipdnnEnginePluginHandle_t handle,
                                               const hipdnnPluginConstData_t *graph, char *ret_text)
{
    uint32_t counts[2] = {77, 77};
    int64_t id = 0;
    for (int i = 0; i < 2; i++) {
        hipdnnPluginStatus_t status =
            host->hipdnnEnginePluginGetApplicableEngineIds(handle, graph, &id, 1, &counts[i]);
        if (status)
            return fail(host, "GetApplicableEngineIds", status, ret_text);
    }
    if (counts[0] != counts[1] || counts[0] > 1 || (counts[0] == 1 && id != host->engine_id))
        return fail(host, "GetApplicableEngineIds", 0, ret_text);
    return counts[0] == 1 ? PLUGIN_HOST_DONE : PLUGIN_HOST_NOT_APPLICABLE;
}

/* Reads the details with FlatBuffers' verifier and compares the id, as hosts do. */
static enum plugin_host_outcome ask_details(const struct plugin_host *host,
                                            hipdnnEnginePluginHandle_t handle,
                                            const hipdnnPluginConstData_t *graph,
                                            hipdnnPluginConstData_t *ret_details, char *ret_text)
{
    /* Hosts of Nov 2025 pass garbage. */
    hipdnnPluginConstData_t details = {(const void *)(uintptr_t)0x5a5a5a5a, 12345};
    hipdnnPluginStatus_t status =
        host->hipdnnEnginePluginGetEngineDetails(handle, host->engine_id, graph, &details);
    if (status)
        return fail(host, "GetEngineDetails", status, ret_text);
    int64_t id = 0;
    char name[KILN_ENGINE_NAME_BYTES];
    uint32_t notes = 0;
    struct kiln_error error;
    kiln_error_init(&error);
    if ((uintptr_t)details.ptr % 8 != 0 ||
        kiln_engine_details_read(details.ptr, details.size, &id, name, &notes, &error) ||
        id != host->engine_id)
        return fail(host, "GetEngineDetails", 0, ret_text);
    *ret_details = details;
    return PLUGIN_HOST_DONE;
}

/* Memory full of NaN bytes. */
static void *make_memory(struct kiln_device *device, size_t bytes)
{
    void *memory = malloc(bytes);
    if (!memory)
        return NULL;
    memset(memory, 0xff, bytes);
    if (!device)
        return memory;
    struct kiln_error error;
    kiln_error_init(&error);
    void *on_device = NULL;
    if (device->ops->allocate(device, bytes, &on_device, &error) ||
        device->ops->copy_in(device, on_device, memory, bytes, &error)) {
        fprintf(stderr, "%s\n", error.text);
        device->ops->release(device, on_device);
        on_device = NULL;
    }
    free(memory);
    return on_device;
}

static void drop_memory(struct kiln_device *device, void *memory)
{
    if (device)
        device->ops->release(device, memory);
    else
        free(memory);
}

static bool make_workspace(const struct plugin_host *host, struct plugin_host_plan *plan)
{
    if (plan->workspace_bytes == 0)
        return true;
    plan->workspace_memory = make_memory(host->device, plan->workspace_bytes + 1);
    if (!plan->workspace_memory)
        return false;
    plan->workspace = (char *)plan->workspace_memory + 1;
    return true;
}

static enum plugin_host_outcome make_context(const struct plugin_host *host,
                                             hipdnnEnginePluginHandle_t handle,
                                             const hipdnnPluginConstData_t *graph,
                                             struct plugin_host_plan *plan, char *ret_text)
{
    const struct plugin_host_config config = plugin_host_config(host->engine_id);
    const hipdnnPluginConstData_t config_data = {config.bytes, sizeof(config.bytes)};
    size_t bound = 0;
    hipdnnPluginStatus_t status =
        host->hipdnnEnginePluginGetWorkspaceSize(handle, &config_data, graph, &bound);
    if (status)
        return fail(host, "GetWorkspaceSize", status, ret_text);
    status =
        host->hipdnnEnginePluginCreateExecutionContext(handle, &config_data, graph, &plan->context);
    if (status || !plan->context)
        return fail(host, "CreateExecutionContext", status, ret_text);
    status = host->hipdnnEnginePluginGetWorkspaceSizeFromExecutionContext(handle, plan->context,
                                                                          &plan->workspace_bytes);
    if (status || plan->workspace_bytes > bound || !make_workspace(host, plan))
        return fail(host, "GetWorkspaceSizeFromExecutionContext", status, ret_text);
    return PLUGIN_HOST_DONE;
}

enum plugin_host_outcome plugin_host_prepare(const struct plugin_host *host,
                                             hipdnnEnginePluginHandle_t handle,
                                             const void *graph_bytes, size_t size,
                                             struct plugin_host_plan *ret_plan,
                                             char ret_text[PLUGIN_HOST_TEXT_BYTES])
{
    const hipdnnPluginConstData_t graph = {graph_bytes, size};
    struct plugin_host_plan plan = {0};
    enum plugin_host_outcome outcome = ask_applicable(host, handle, &graph, ret_text);
    if (outcome == PLUGIN_HOST_DONE)
        outcome = ask_details(host, handle, &graph, &plan.details, ret_text);
    if (outcome == PLUGIN_HOST_DONE) {
        outcome = make_context(host, handle, &graph, &plan, ret_text);
        char ignored[PLUGIN_HOST_TEXT_BYTES];
        if (outcome != PLUGIN_HOST_DONE)
            plugin_host_release(host, handle, &plan, ignored);
    }
    if (outcome == PLUGIN_HOST_DONE)
        *ret_plan = plan;
    return outcome;
}

enum plugin_host_outcome
plugin_host_execute(const struct plugin_host *host, hipdnnEnginePluginHandle_t handle,
                    const struct plugin_host_plan *plan, const hipdnnPluginDeviceBuffer_t *buffers,
                    uint32_t buffer_count, char ret_text[PLUGIN_HOST_TEXT_BYTES])
{
    hipdnnPluginStatus_t status = host->hipdnnEnginePluginExecuteOpGraph(
        handle, plan->context, plan->workspace, buffers, buffer_count);
    return status ? fail(host, "ExecuteOpGraph", status, ret_text) : PLUGIN_HOST_DONE;
}

bool plugin_host_release(const struct plugin_host *host, hipdnnEnginePluginHandle_t handle,
                         struct plugin_host_plan *plan, char ret_text[PLUGIN_HOST_TEXT_BYTES])
{
    bool fine = true;
    if (plan->context) {
        hipdnnPluginStatus_t status =
            host->hipdnnEnginePluginDestroyExecutionContext(handle, plan->context);
        if (status) {
            fail(host, "DestroyExecutionContext", status, ret_text);
            fine = false;
        }
    }
    if (plan->details.ptr) {
        hipdnnPluginStatus_t status =
            host->hipdnnEnginePluginDestroyEngineDetails(handle, &plan->details);
        if (status || plan->details.ptr || plan->details.size) {
            fail(host, "DestroyEngineDetails", status, ret_text);
            fine = false;
        }
    }
    drop_memory(host->device, plan->workspace_memory);
    *plan = (struct plugin_host_plan){0};
    return fine;
}
