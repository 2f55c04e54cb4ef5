/*
 * Several handles on several threads: one engine, one compile, nothing left behind. A plain
 * program, because Criterion and the thread sanitizer exclude each other.
 *
 * usage: plugin_threads_test PLUGIN   (one with tests/runtime/engine/fake_pipeline.c inside)
 */
#include "tests/plugin_api/plugin_host.h"
#include "tests/runtime/engine/fake_pipeline.h"
#include "tests/runtime/engine/sample_graph.h"
#include "tests/stand_ins/stand_in.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, ROUNDS = 20, TENSORS = 3 };

struct worker {
    const struct plugin_host *host;
    const struct kiln_buffer *graph;
    pthread_t thread;
    int failures;
    char text[PLUGIN_HOST_TEXT_BYTES];
};

static int faults;

static void expect(bool condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "FAILED: %s\n", what);
        faults++;
    }
}

static void use_handle(struct worker *worker, hipdnnEnginePluginHandle_t handle)
{
    const struct plugin_host *host = worker->host;
    struct plugin_host_plan plan;
    float data[TENSORS][4];
    hipdnnPluginDeviceBuffer_t buffers[TENSORS];
    for (int i = 0; i < TENSORS; i++)
        buffers[i] = (hipdnnPluginDeviceBuffer_t){i + 1, data[i]};
    if (plugin_host_prepare(host, handle, worker->graph->data, worker->graph->size, &plan,
                            worker->text) != PLUGIN_HOST_DONE) {
        worker->failures++;
        return;
    }
    if (plugin_host_execute(host, handle, &plan, buffers, TENSORS, worker->text))
        worker->failures++;
    if (!plugin_host_release(host, handle, &plan, worker->text))
        worker->failures++;
}

static void *work(void *context)
{
    struct worker *worker = context;
    for (int i = 0; i < ROUNDS; i++) {
        hipdnnEnginePluginHandle_t handle = NULL;
        if (worker->host->hipdnnEnginePluginCreate(&handle)) {
            worker->failures++;
            continue;
        }
        use_handle(worker, handle);
        if (worker->host->hipdnnEnginePluginDestroy(handle))
            worker->failures++;
    }
    return NULL;
}

static void run_workers(const struct plugin_host *host, const struct kiln_buffer *graph)
{
    static struct worker workers[THREADS];
    memset(workers, 0, sizeof(workers));
    for (int i = 0; i < THREADS; i++) {
        workers[i].host = host;
        workers[i].graph = graph;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            abort();
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        expect(workers[i].failures == 0, workers[i].text);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s PLUGIN\n", argv[0]);
        return 2;
    }
    struct stand_in hip = stand_in_open();
    setenv("KILN_DEVICE", "hip", 1);
    setenv("KILN_CACHE_DIR", "", 1);
    struct plugin_host host;
    char text[PLUGIN_HOST_TEXT_BYTES];
    hipdnnEnginePluginHandle_t handle = NULL;
    if (!plugin_host_load(&host, argv[1], NULL, text) || host.hipdnnEnginePluginCreate(&handle)) {
        fprintf(stderr, "%s\n", text);
        return 1;
    }
    struct fake_pipeline *pipeline = dlsym(host.library, "fake_pipeline");
    if (!pipeline)
        abort();
    pipeline->compile_microseconds = 5000;
    struct kiln_buffer graph;
    kiln_buffer_init(&graph);
    sample_graph_write_add(&graph);

    /* One handle keeps the engine alive. */
    run_workers(&host, &graph);
    expect(atomic_load(&pipeline->compiled) == 1, "one engine compiles once");
    expect(hip.live_modules() == 1, "one module for all");
    expect(host.hipdnnEnginePluginDestroy(handle) == 0, "the last handle is destroyed");
    expect(hip.live_modules() == 0, "the last handle takes the module with it");
    /* Every handle may be the first or the last one. */
    run_workers(&host, &graph);
    expect(hip.live_modules() == 0, "no module is left");

    kiln_buffer_fini(&graph);
    plugin_host_unload(&host);
    return faults > 0;
}
