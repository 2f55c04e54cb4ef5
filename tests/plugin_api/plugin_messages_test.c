/*
 * What users of a plugin get to see: notices, declines and the summary. The plugin is that of
 * plugin_abi_test.c.
 */
#include "tests/plugin_api/plugin_host.h"
#include "tests/runtime/engine/sample_graph.h"
#include "tests/runtime/support/captured_stderr.h"
#include "tests/stand_ins/stand_in.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
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
        "kiln: KILN_DEVICE: device 'abacus' is not known; hint: known devices are hip, "
        "host, cuda\n");
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
    cr_expect_not_null(strstr(log_text, "HIP finds no AMD GPU on this machine; hint: "
                                        "KILN_DEVICE=host runs graphs on the CPU"),
                       "%s", log_text);
    close_plugin(handle);
    setenv("KILN_DEVICE", "host", 1);
    handle = open_plugin(log_line);
    cr_expect(takes_graph(handle));
    close_plugin(handle);
}

static void make_plan(hipdnnEnginePluginHandle_t handle)
{
    struct plugin_host_plan plan;
    cr_assert_eq(
        plugin_host_prepare(&host, handle, graph_bytes.data, graph_bytes.size, &plan, text),
        PLUGIN_HOST_DONE, "%s", text);
    cr_expect(plugin_host_release(&host, handle, &plan, text), "%s", text);
}

static void rewrite_graph(uint32_t input_count, enum kiln_dtype dtype)
{
    const struct sample_graph sample = {.era = KILN_WIRE_ERA_CURRENT,
                                        .dtype = dtype,
                                        .elements = 8,
                                        .input_count = input_count,
                                        .output_uid = 99};
    kiln_buffer_clear(&graph_bytes);
    sample_graph_write(&sample, &graph_bytes);
}

/* Graphs that are asked for again and again must not fill the log. */
Test(plugin_messages, a_plan_and_a_decline_are_a_line_each)
{
    setenv("HIPDNN_LOG_LEVEL", "info", 1);
    hipdnnEnginePluginHandle_t handle = open_plugin(log_line);
    make_plan(handle);
    cr_expect_not_null(strstr(log_text, "] graph 'sample' "), "%s", log_text);
    cr_expect_not_null(strstr(log_text, " has a plan of 1 kernel, made in "), "%s", log_text);
    cr_expect_not_null(strstr(log_text, " ms: kernel_1 compiled\n"), "%s", log_text);
    make_plan(handle);
    cr_expect_not_null(strstr(log_text, " ms: kernel_1 in memory\n"), "%s", log_text);
    for (int i = 0; i < 3; i++) {
        kiln_buffer_clear(&graph_bytes);
        kiln_buffer_append_text(&graph_bytes, "no graph at all");
        cr_expect_not(takes_graph(handle));
    }
    const char *line = strstr(log_text, "] graph '' ");
    cr_assert_not_null(line, "%s", log_text);
    cr_expect_not_null(strstr(line, " is declined: "), "%s", line);
    cr_expect_null(strstr(line + 1, "] graph '' "), "%s", line);
    close_plugin(handle);
}

Test(plugin_messages, a_cache_and_its_layers_are_named)
{
    char cache[] = "/tmp/kiln_messages_XXXXXX";
    char expected[128];
    cr_assert_not_null(mkdtemp(cache));
    setenv("KILN_CACHE_DIR", cache, 1);
    hipdnnEnginePluginHandle_t first = open_plugin(NULL);
    make_plan(first);
    close_plugin(first);
    setenv("HIPDNN_LOG_LEVEL", "info", 1);
    hipdnnEnginePluginHandle_t handle = open_plugin(log_line);
    make_plan(handle);
    close_plugin(handle);
    (void)snprintf(expected, sizeof expected, " ms: kernel_1 from '%s'\n", cache);
    cr_expect_not_null(strstr(log_text, expected), "'%s' lacks '%s'", log_text, expected);
    setenv("KILN_CACHE_DIR", "", 1);
    setenv("KILN_CACHE_LAYERS", cache, 1);
    log_text[0] = '\0';
    handle = open_plugin(log_line);
    make_plan(handle);
    close_plugin(handle);
    cr_expect_not_null(strstr(log_text, expected), "'%s' lacks '%s'", log_text, expected);
    (void)snprintf(expected, sizeof expected, "rm -r '%s'", cache);
    cr_expect_eq(system(expected), 0);
}

/* In a child, which exits as hosts do, with or without having closed the plugin. Leak checkers have
 * lines of their own in a child. */
static const char *summary_of_child(bool closes)
{
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        for (int i = 0; i < 2; i++) {
            hipdnnEnginePluginHandle_t handle = open_plugin(NULL);
            make_plan(handle);
            rewrite_graph(2, KILN_DTYPE_F16);
            make_plan(handle);
            kiln_buffer_clear(&graph_bytes);
            kiln_buffer_append_text(&graph_bytes, "no graph at all");
            (void)takes_graph(handle);
            (void)takes_graph(handle);
            rewrite_graph(3, KILN_DTYPE_F32);
            if (closes || i == 0)
                close_plugin(handle);
        }
        exit(0);
    }
    int outcome = 0;
    cr_assert_eq(waitpid(child, &outcome, 0), child);
    cr_expect(WIFEXITED(outcome) && WEXITSTATUS(outcome) == 0);
    return captured_stderr_text();
}

Test(plugin_messages, a_summary_ends_the_process)
{
    setenv("KILN_STATS", "1", 1);
    for (int closes = 0; closes < 2; closes++) {
        captured_stderr_start();
        const char *summary = summary_of_child(closes);
        cr_expect_not_null(
            strstr(summary, "kiln: graphs: 4, declined: 1 (MALFORMED 1); plans: 4 in "), "%s",
            summary);
        cr_expect_not_null(strstr(summary, "; kernels from memory: 0, directory: 0, layers: 0, "
                                           "shared tier: 0, compiled: 4 in "),
                           "%s", summary);
        cr_expect_eq(captured_stderr_count("kiln: "), 1, "%s", summary);
    }
}

Test(plugin_messages, a_forked_child_sums_up_only_its_own)
{
    setenv("KILN_STATS", "1", 1);
    hipdnnEnginePluginHandle_t handle = open_plugin(NULL);
    make_plan(handle);
    for (int works = 0; works < 2; works++) {
        captured_stderr_start();
        pid_t child = fork();
        if (child == 0) {
            if (works)
                make_plan(handle);
            exit(0);
        }
        cr_assert_eq(waitpid(child, NULL, 0), child);
        cr_expect_eq(captured_stderr_count("plans: 1 in "), (unsigned)works, "%s",
                     captured_stderr_text());
        cr_expect_eq(captured_stderr_count("kiln: "), (unsigned)works, "%s",
                     captured_stderr_text());
    }
    close_plugin(handle);
}

static atomic_bool is_over;

static void *ask_for_time_zones(void *unused)
{
    while (!atomic_load(&is_over))
        tzset();
    return unused;
}

/* The C library's lock of time zones is one that no fork gives back. */
Test(plugin_messages, a_forked_child_logs_the_local_time)
{
    pthread_t thread;
    time_t now = time(NULL);
    char date[16];
    setenv("TZ", "XYZ-13", 1);
    setenv("HIPDNN_LOG_LEVEL", "info", 1);
    hipdnnEnginePluginHandle_t handle = open_plugin(log_line);
    rewrite_graph(2, KILN_DTYPE_F32);
    (void)strftime(date, sizeof date, "[%Y-%m-%d %H:", localtime(&now));
    cr_assert_eq(pthread_create(&thread, NULL, ask_for_time_zones, NULL), 0);
    for (int i = 0; i < 40; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(10);
            log_text[0] = '\0';
            make_plan(handle);
            time_t end = time(NULL);
            _exit(end / 3600 == now / 3600 && strncmp(log_text, date, strlen(date)) != 0);
        }
        int outcome = 0;
        cr_assert_eq(waitpid(child, &outcome, 0), child);
        cr_assert_eq(outcome, 0);
    }
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
    close_plugin(handle);
}

Test(plugin_messages, without_a_wish_there_is_no_summary)
{
    cr_expect_null(strstr(summary_of_child(true), "kiln: "));
}

#define LONG_DIRECTORY                                                                             \
    "/srv/somewhere/with/many/levels/of/directories/that/people/really/have/in/containers/and/"    \
    "on/clusters/where/every/project/has/its/own/tree/of/installations/and/versions/of/them"

struct message_case {
    char variable[32];
    char value[256];
    char cause[96];
    char remedy[96];
};

static const struct message_case message_cases[] = {
    {"KILN_DEVICE", "abacus", "device 'abacus' is not known", "known devices are hip, host, cuda"},
    {"KILN_HIP_LIBRARY", LONG_DIRECTORY "/libamdhip64.so", "of KILN_HIP_LIBRARY cannot be loaded",
     "'kiln doctor'"},
    {"KILN_STAND_IN_DEVICES", "0", "HIP finds no AMD GPU on this machine",
     "KILN_DEVICE=host runs graphs on the CPU"},
};

/* hipDNN shows 255 bytes, some of them its own. */
Test(plugin_messages, errors_begin_with_what_failed_and_what_to_do)
{
    for (size_t i = 0; i < sizeof message_cases / sizeof *message_cases; i++) {
        const struct message_case *message = &message_cases[i];
        hipdnnEnginePluginExecutionContext_t context = NULL;
        (void)stand_in_open();
        setenv("KILN_DEVICE", "hip", 1);
        setenv(message->variable, message->value, 1);
        if (strcmp(message->variable, "KILN_STAND_IN_DEVICES") == 0) {
            hip.set_device_count(0);
            unsetenv("KILN_DEVICE");
        }
        hipdnnEnginePluginHandle_t handle = open_plugin(NULL);
        struct plugin_host_config config = plugin_host_config(host.engine_id);
        const hipdnnPluginConstData_t settings = {config.bytes, sizeof config.bytes};
        const hipdnnPluginConstData_t graph = {graph_bytes.data, graph_bytes.size};
        cr_expect_not(takes_graph(handle));
        cr_expect_neq(
            host.hipdnnEnginePluginCreateExecutionContext(handle, &settings, &graph, &context), 0);
        char seen[256];
        (void)snprintf(seen, sizeof seen, "%s", plugin_host_error(&host));
        cr_expect_not_null(strstr(seen, message->cause), "%s", seen);
        cr_expect_not_null(strstr(seen, message->remedy), "%s", seen);
        close_plugin(handle);
        unsetenv(message->variable);
    }
}

Test(plugin_messages, host_memory_is_told_of_with_what_to_do)
{
    setenv("KILN_DEVICE", "hip", 1);
    hipdnnEnginePluginHandle_t handle = open_plugin(NULL);
    struct plugin_host_plan plan;
    static float a[1000], b[1000], y[1000];
    const hipdnnPluginDeviceBuffer_t buffers[] = {{1, a}, {2, b}, {3, y}};
    cr_assert_eq(
        plugin_host_prepare(&host, handle, graph_bytes.data, graph_bytes.size, &plan, text),
        PLUGIN_HOST_DONE, "%s", text);
    hip.set_unknown_pointer(b);
    cr_expect_eq(plugin_host_execute(&host, handle, &plan, buffers, 3, text), PLUGIN_HOST_FAILED);
    cr_expect_str_eq(plugin_host_error(&host),
                     "the buffer of tensor uid 2 is host memory, which device 'hip' cannot reach; "
                     "allocate it with hipMalloc");
    cr_expect(plugin_host_release(&host, handle, &plan, text), "%s", text);
    close_plugin(handle);
}
