/*
 * Damaged graphs through the plugin, as a host passes them: every truncation and random byte flips
 * of sample graphs go to all functions that take one. Any status will do where a status is allowed;
 * a crash, a sanitizer's report, a NULL or empty error text, an output written by a call that
 * failed, or an answer of GetApplicableEngineIds that a host could not bear fails.
 *
 * usage: plugin_damage_stress PLUGIN [FLIPS [EVERY [SEED]]]
 *
 * FLIPS of all graphs together. One in EVERY damaged graphs that the plugin takes is compiled into
 * an execution context: 1 for a plugin with tests/runtime/engine/fake_pipeline.c inside, a large
 * number for the real one, 0 for none.
 */
#include "tests/plugin_api/plugin_host.h"
#include "tests/support/damaged_graphs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct trial {
    struct plugin_host host;
    hipdnnEnginePluginHandle_t handle;
    struct plugin_host_config config;
    unsigned long every;
    unsigned long asked;
    unsigned long taken;
    unsigned long contexts;
    unsigned long contexts_refused;
};

/* True when the status is success, or a failure that a host could tell its user. */
static bool is_sound(const struct trial *trial, const struct damaged_graph *graph,
                     const char *function, hipdnnPluginStatus_t status)
{
    if (status == HIPDNN_PLUGIN_STATUS_SUCCESS)
        return true;
    const char *text = NULL;
    trial->host.hipdnnPluginGetLastErrorString(&text);
    /* The other statuses are unknown to hosts of Nov 2025. */
    if (text && *text && status <= HIPDNN_PLUGIN_STATUS_ALLOC_FAILED)
        return true;
    fprintf(stderr, "%s: %s: status %d with %s error text\n", graph->label, function, (int)status,
            text ? "an empty" : "a NULL");
    return false;
}

static bool refuse(const struct damaged_graph *graph, const char *what)
{
    fprintf(stderr, "%s: %s\n", graph->label, what);
    return false;
}

static bool try_context(struct trial *trial, const struct damaged_graph *graph,
                        const hipdnnPluginConstData_t *config, const hipdnnPluginConstData_t *data)
{
    const struct plugin_host *host = &trial->host;
    hipdnnEnginePluginExecutionContext_t context = NULL;
    trial->contexts++;
    hipdnnPluginStatus_t status =
        host->hipdnnEnginePluginCreateExecutionContext(trial->handle, config, data, &context);
    if (!is_sound(trial, graph, "CreateExecutionContext", status))
        return false;
    if ((status == HIPDNN_PLUGIN_STATUS_SUCCESS) != (context != NULL))
        return refuse(graph, "CreateExecutionContext: status and context disagree");
    if (!context) {
        trial->contexts_refused++;
        return true;
    }
    size_t bytes = 0;
    if (host->hipdnnEnginePluginGetWorkspaceSizeFromExecutionContext(trial->handle, context,
                                                                     &bytes))
        return refuse(graph, "GetWorkspaceSizeFromExecutionContext failed");
    /* Nothing is bound: there is no graph without a tensor. */
    status = host->hipdnnEnginePluginExecuteOpGraph(trial->handle, context, NULL, NULL, 0);
    if (status == HIPDNN_PLUGIN_STATUS_SUCCESS)
        return refuse(graph, "ExecuteOpGraph ran without buffers");
    if (!is_sound(trial, graph, "ExecuteOpGraph", status))
        return false;
    if (host->hipdnnEnginePluginDestroyExecutionContext(trial->handle, context))
        return refuse(graph, "DestroyExecutionContext failed");
    return true;
}

static bool try_details(struct trial *trial, const struct damaged_graph *graph,
                        const hipdnnPluginConstData_t *data)
{
    const struct plugin_host *host = &trial->host;
    hipdnnPluginConstData_t details = {NULL, 12345};
    hipdnnPluginStatus_t status =
        host->hipdnnEnginePluginGetEngineDetails(trial->handle, host->engine_id, data, &details);
    if (!is_sound(trial, graph, "GetEngineDetails", status))
        return false;
    if (status == HIPDNN_PLUGIN_STATUS_SUCCESS &&
        (!details.ptr || details.size == 0 ||
         host->hipdnnEnginePluginDestroyEngineDetails(trial->handle, &details) || details.ptr ||
         details.size))
        return refuse(graph, "engine details without bytes, or that cannot be destroyed");
    return true;
}

static bool try_graph(void *context, const struct damaged_graph *graph)
{
    struct trial *trial = context;
    const struct plugin_host *host = &trial->host;
    const hipdnnPluginConstData_t data = {graph->bytes, graph->size};
    const hipdnnPluginConstData_t config = {trial->config.bytes, sizeof(trial->config.bytes)};
    uint32_t count = 77;
    int64_t id = 0;
    trial->asked++;
    if (host->hipdnnEnginePluginGetApplicableEngineIds(trial->handle, &data, &id, 1, &count))
        return refuse(graph, "GetApplicableEngineIds failed, which ends the query of all plugins");
    if (count > 1 || (count == 1 && id != host->engine_id))
        return refuse(graph, "GetApplicableEngineIds gives no sound list");
    if (graph->is_whole && count != 1)
        return refuse(graph, "the whole graph is not applicable");
    trial->taken += count;

    size_t workspace_bytes = 12345;
    hipdnnPluginStatus_t status =
        host->hipdnnEnginePluginGetWorkspaceSize(trial->handle, &config, &data, &workspace_bytes);
    if (!is_sound(trial, graph, "GetWorkspaceSize", status))
        return false;
    if (status != HIPDNN_PLUGIN_STATUS_SUCCESS && workspace_bytes != 12345)
        return refuse(graph, "GetWorkspaceSize failed and gave a size");
    if (count == 1 && status != HIPDNN_PLUGIN_STATUS_SUCCESS)
        return refuse(graph, "applicable, but without a workspace size");
    if (!try_details(trial, graph, &data))
        return false;
    /* A graph that was declined costs nothing: it must be declined here too. */
    bool is_tried = count == 0 || (trial->every != 0 && trial->taken % trial->every == 0);
    return !is_tried || try_context(trial, graph, &config, &data);
}

static unsigned long number(int count, char **arguments, int index, unsigned long fallback)
{
    return index < count ? strtoul(arguments[index], NULL, 10) : fallback;
}

int main(int count, char **arguments)
{
    if (count < 2) {
        fprintf(stderr, "usage: %s PLUGIN [FLIPS [EVERY [SEED]]]\n", arguments[0]);
        return 2;
    }
    setenv("KILN_DEVICE", "host", 0);
    setenv("KILN_CACHE_DIR", "", 0);
    static struct trial trial;
    char text[PLUGIN_HOST_TEXT_BYTES];
    if (!plugin_host_load(&trial.host, arguments[1], NULL, text) ||
        trial.host.hipdnnEnginePluginCreate(&trial.handle)) {
        fprintf(stderr, "%s\n", text);
        return 1;
    }
    trial.config = plugin_host_config(trial.host.engine_id);
    trial.every = number(count, arguments, 3, 0);
    bool is_fine = damaged_graphs_visit(number(count, arguments, 2, 2000),
                                        number(count, arguments, 4, 1), try_graph, &trial);
    printf("%lu graphs, %lu taken; %lu execution contexts asked for, %lu refused\n", trial.asked,
           trial.taken, trial.contexts, trial.contexts_refused);
    if (trial.host.hipdnnEnginePluginDestroy(trial.handle))
        is_fine = false;
    plugin_host_unload(&trial.host);
    return is_fine ? 0 : 1;
}
