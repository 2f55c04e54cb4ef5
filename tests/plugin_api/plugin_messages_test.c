/*
 * What users of a plugin get to see: notices, declines and the summary. The plugin is that of
 * plugin_abi_test.c.
 */
#include "tests/plugin_api/plugin_host.h"
#include "tests/runtime/engine/sample_graph.h"
#include "tests/runtime/support/captured_stderr.h"
#include "tests/stand_ins/stand_in.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct stand_in hip;
static struct plugin_host host;
static struct kiln_buffer graph_bytes;
static char text[PLUGIN_HOST_TEXT_BYTES];
static char log_text[16384];

static void log_line(hipdnnSeverity_t severity, const char *line)
{
    (void)severity;
    size_t used = strlen(log_text);
    (void)snprintf(log_text + used, sizeof log_text - used, "%s\n", line);
}

static void set_up(void)
{
    hip = stand_in_open();
    unsetenv("KILN_LOG_LEVEL");
    unsetenv("HIPDNN_LOG_LEVEL");
    unsetenv("KILN_CAPTURE_DIR");
    unsetenv("KILN_DEVICE");
    setenv("KILN_CACHE_DIR", "", 1);
    kiln_buffer_init(&graph_bytes);
    sample_graph_write_add(&graph_bytes);
    captured_stderr_start();
}

static void tear_down(void)
{
    kiln_buffer_fini(&graph_bytes);
}

TestSuite(plugin_messages, .init = set_up, .fini = tear_down);

static hipdnnEnginePluginHandle_t open_plugin(hipdnnCallback_t callback)
{
    hipdnnEnginePluginHandle_t handle = NULL;
    cr_assert(plugin_host_load(&host, KILN_FAKE_PLUGIN, callback, text), "%s", text);
    cr_assert_eq(host.hipdnnEnginePluginCreate(&handle), 0);
    return handle;
}

static void close_plugin(hipdnnEnginePluginHandle_t handle)
{
    cr_expect_eq(host.hipdnnEnginePluginDestroy(handle), 0);
    plugin_host_unload(&host);
}

static bool takes_graph(hipdnnEnginePluginHandle_t handle)
{
    hipdnnPluginConstData_t graph = {graph_bytes.data, graph_bytes.size};
    int64_t id = 0;
    uint32_t count = 9;
    cr_expect_eq(host.hipdnnEnginePluginGetApplicableEngineIds(handle, &graph, &id, 1, &count), 0);
    return count == 1;
}

Test(plugin_messages, a_wrong_setting_is_told_once_however_often_the_plugin_is_loaded)
{
    setenv("KILN_DEVICE", "abacus", 1);
    setenv("KILN_CACHE_DRI", "/tmp", 1);
    for (int i = 0; i < 3; i++) {
        hipdnnEnginePluginHandle_t handle = open_plugin(NULL);
        cr_expect_not(takes_graph(handle));
        close_plugin(handle);
    }
    cr_expect_str_eq(
        captured_stderr_text(),
        "kiln: KILN_CACHE_DRI is not a variable of Kiln; did you mean 'KILN_CACHE_DIR'?\n"
        "kiln: KILN_DEVICE: device 'abacus' is not known; hint: known devices are hip "
        "host cuda\n");
}

Test(plugin_messages, a_log_that_takes_warnings_has_the_notice_instead)
{
    setenv("HIPDNN_LOG_LEVEL", "warn", 1);
    setenv("KILN_CACHE_DRI", "/tmp", 1);
    close_plugin(open_plugin(log_line));
    cr_expect_str_eq(captured_stderr_text(), "");
    cr_expect_not_null(strstr(log_text, "[warn] [kiln] KILN_CACHE_DRI is not a variable"), "%s",
                       log_text);
}

Test(plugin_messages, right_settings_are_told_of_nowhere)
{
    setenv("KILN_DEVICE", "hip", 1);
    hipdnnEnginePluginHandle_t handle = open_plugin(NULL);
    cr_expect(takes_graph(handle));
    close_plugin(handle);
    cr_expect_str_eq(captured_stderr_text(), "");
}

/* A host's buffers are in device memory. */
Test(plugin_messages, without_a_gpu_graphs_are_declined_unless_the_host_is_asked_for)
{
    setenv("HIPDNN_LOG_LEVEL", "info", 1);
    hip.set_device_count(0);
    hipdnnEnginePluginHandle_t handle = open_plugin(log_line);
    cr_expect_not(takes_graph(handle));
    cr_expect_not_null(strstr(log_text, "HIP finds no 'AMD GPU' on this machine; hint: "
                                        "KILN_DEVICE=host runs graphs on the CPU"),
                       "%s", log_text);
    close_plugin(handle);
    setenv("KILN_DEVICE", "host", 1);
    handle = open_plugin(log_line);
    cr_expect(takes_graph(handle));
    close_plugin(handle);
}
