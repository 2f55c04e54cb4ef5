/*
 * The real plugin with real compilers on the HIP stand-in: what would reach an AMD GPU. No AMD GPU
 * is involved.
 *
 * usage: plugin_hip_test PLUGIN
 * Exits with 77, which CTest counts as skipped, when nothing on this machine compiles for the
 * stand-in's gfx90a.
 */
#include "tests/plugin_api/plugin_host.h"
#include "tests/runtime/engine/sample_graph.h"
#include "tests/stand_ins/stand_in.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77, EM_AMD_GPU = 224, MACH_GFX90A = 0x3f, ELEMENTS = 1000 };

static int faults;

static void expect(bool condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "FAILED: %s\n", what);
        faults++;
    }
}

static bool has_word(const struct kiln_stand_in_call *launch, const void *pointer)
{
    uint64_t wanted = (uint64_t)(uintptr_t)pointer;
    for (uint32_t i = 0; i + 8 <= launch->kernarg_bytes; i += 8) {
        uint64_t word;
        memcpy(&word, launch->kernarg + i, sizeof(word));
        if (word == wanted)
            return true;
    }
    return false;
}

static void check_code_object(const struct stand_in *hip)
{
    const struct kiln_stand_in_call *load = stand_in_find(hip, "hipModuleLoadData", 0);
    expect(load && load->result == 0, "a code object is loaded");
    if (!load)
        return;
    Elf64_Ehdr header; /* the image lives as long as the context */
    memcpy(&header, (const void *)(uintptr_t)load->arguments[1], sizeof(header));
    expect(header.e_machine == EM_AMD_GPU, "it is an AMDGPU code object");
    expect((header.e_flags & 0xff) == MACH_GFX90A, "it is one for gfx90a");
}

static void check_launch(const struct stand_in *hip, const hipdnnPluginDeviceBuffer_t *buffers)
{
    const struct kiln_stand_in_call *launch = stand_in_find(hip, "hipModuleLaunchKernel", 0);
    const struct kiln_stand_in_call *symbol = stand_in_find(hip, "hipModuleGetFunction", 0);
    expect(launch && symbol && launch->result == 0, "a kernel is launched");
    if (!launch || !symbol)
        return;
    expect(strcmp(launch->symbol, symbol->symbol) == 0, "it is the one of the code object");
    for (int i = 0; i < 3; i++)
        expect(has_word(launch, buffers[i].ptr), "its arguments hold every buffer");
    expect(launch->arguments[8] == (uint64_t)(uintptr_t)hip, "it is on the stream of the handle");
    uint64_t items = 1;
    for (int i = 1; i <= 6; i++)
        items *= launch->arguments[i];
    /* 128-bit accesses are four floats. */
    expect(items >= ELEMENTS / 4, "the grid covers the elements");
    expect(launch->arguments[4] % 64 == 0, "groups are whole wavefronts");
    expect(!stand_in_find(hip, "hipModuleLaunchKernel", 1), "one kernel");
}

static int drive(const struct stand_in *hip, const struct plugin_host *host,
                 const struct kiln_buffer *graph)
{
    static float data[3][ELEMENTS];
    const hipdnnPluginDeviceBuffer_t buffers[] = {{1, data[0]}, {2, data[1]}, {3, data[2]}};
    char text[PLUGIN_HOST_TEXT_BYTES] = "";
    hipdnnEnginePluginHandle_t handle = NULL;
    struct plugin_host_plan plan = {0};
    if (host->hipdnnEnginePluginCreate(&handle) ||
        host->hipdnnEnginePluginSetStream(handle, (void *)(uintptr_t)hip)) {
        fprintf(stderr, "%s\n", plugin_host_error(host));
        return 1;
    }
    enum plugin_host_outcome outcome =
        plugin_host_prepare(host, handle, graph->data, graph->size, &plan, text);
    if (outcome == PLUGIN_HOST_NOT_APPLICABLE) {
        printf("nothing compiles for gfx90a here: skipped\n");
        return SKIPPED;
    }
    if (outcome == PLUGIN_HOST_DONE)
        outcome = plugin_host_execute(host, handle, &plan, buffers, 3, text);
    if (outcome == PLUGIN_HOST_DONE) {
        check_code_object(hip);
        check_launch(hip, buffers);
    } else {
        fprintf(stderr, "%s\n", text);
        faults++;
    }
    expect(plugin_host_release(host, handle, &plan, text), text);
    expect(host->hipdnnEnginePluginDestroy(handle) == 0, "the handle is destroyed");
    expect(hip->live_modules() == 0, "every module is unloaded");
    return faults > 0;
}

static void print_log(hipdnnSeverity_t severity, const char *line)
{
    (void)severity;
    fprintf(stderr, "%s\n", line);
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
    setenv("KILN_LOG_LEVEL", "warn", 1);
    struct plugin_host host;
    char text[PLUGIN_HOST_TEXT_BYTES];
    if (!plugin_host_load(&host, argv[1], print_log, text)) {
        fprintf(stderr, "%s\n", text);
        return 1;
    }
    struct kiln_buffer graph;
    kiln_buffer_init(&graph);
    sample_graph_write_add(&graph);
    int result = drive(&hip, &host, &graph);
    kiln_buffer_fini(&graph);
    plugin_host_unload(&host);
    return result;
}
