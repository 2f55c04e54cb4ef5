/* Knobs and behaviour notes in engine details, and knobs in configs. The real plugin on the host
 * device lowers graphs and compiles nothing. */
#include "compiler/graph/wire_messages.h"
#include "tests/compiler/graph/graph_sketch.h"
#include "tests/plugin_api/plugin_host.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const char matmul[] = "Matmul a=64,4096:HALF b=4096,64:HALF c=64,64:HALF";
static const char addition[] = "Pointwise in_0=8,16 in_1=8,16 out_0=8,16 !operation='ADD'";
static const char attention[] = "Sdpa q=1,2,40,32:HALF k=1,2,64,32:HALF v=1,2,64,32:HALF "
                                "o=1,2,40,32:HALF !attn_scale_value=0.2";

static struct plugin_host host;
static hipdnnEnginePluginHandle_t handle;
static struct json_graph read;
static struct kiln_buffer config;
static char text[PLUGIN_HOST_TEXT_BYTES];

static void start(const char *sketch)
{
    cr_assert_eq(setenv("KILN_DEVICE", "host", 1), 0);
    cr_assert_eq(setenv("KILN_CACHE_DIR", "", 1), 0);
    cr_assert(plugin_host_load(&host, KILN_PLUGIN, NULL, text), "%s", text);
    cr_assert_eq(host.hipdnnEnginePluginCreate(&handle), 0);
    graph_sketch_accept(&read, sketch, NULL);
    kiln_buffer_init(&config);
}

static void stop(void)
{
    kiln_buffer_fini(&config);
    json_graph_fini(&read);
    cr_expect_eq(host.hipdnnEnginePluginDestroy(handle), 0);
    plugin_host_unload(&host);
}

TestSuite(plugin_knobs);

/* Details with the notes and, of these knobs, the ones that are listed, as bits. */
static void expect_details(const char *sketch, uint32_t notes, uint32_t knobs)
{
    static const char *const ids[] = {"global.workspace_size_limit", "global.deterministic",
                                      "kiln.tile_size", "kiln.split_k", "kiln.stages"};
    struct kiln_knob_description knob;
    struct kiln_error error;
    int64_t id = 0;
    char name[KILN_ENGINE_NAME_BYTES];
    uint32_t read_notes = 0, listed = 0;
    start(sketch);
    const hipdnnPluginConstData_t graph = {read.bytes.data, read.bytes.size};
    hipdnnPluginConstData_t details = {NULL, 0};
    cr_assert_eq(host.hipdnnEnginePluginGetEngineDetails(handle, host.engine_id, &graph, &details),
                 0);
    kiln_error_init(&error);
    cr_assert_eq(
        kiln_engine_details_read(details.ptr, details.size, &id, name, &read_notes, &error), 0);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        if (!kiln_engine_details_find_knob(details.ptr, details.size, ids[i], &knob))
            continue;
        listed |= 1U << i;
        cr_expect(knob.least <= knob.none && knob.none <= knob.most && knob.step > 0, "%s", ids[i]);
    }
    cr_expect_eq(read_notes, notes, "%s", sketch);
    cr_expect_eq(listed, knobs, "%s: %x", sketch, listed);
    cr_expect_eq(host.hipdnnEnginePluginDestroyEngineDetails(handle, &details), 0);
    stop();
}

Test(plugin_knobs, details_list_what_applies)
{
    expect_details(addition, 1U << 0 | 1U << 2, 0x03);
    expect_details(matmul, 1U << 0 | 1U << 2, 0x1f);
    expect_details(attention, 1U << 0 | 1U << 2, 0x0b);
}

Test(plugin_knobs, nothing_is_compiled_where_that_is_forbidden)
{
    cr_assert_eq(setenv("KILN_ENFORCE_PRECOMPILED", "1", 1), 0);
    expect_details(addition, 1U << 2, 0x03);
}

/* The status of a workspace query with these settings. */
static hipdnnPluginStatus_t ask(const struct kiln_knob_setting *settings, size_t count,
                                size_t *ret_bytes)
{
    struct kiln_error error;
    kiln_error_init(&error);
    kiln_buffer_clear(&config);
    cr_assert_eq(kiln_engine_config_write(host.engine_id, settings, count, &config, &error),
                 KILN_OK);
    const hipdnnPluginConstData_t config_data = {config.data, config.size};
    const hipdnnPluginConstData_t graph = {read.bytes.data, read.bytes.size};
    return host.hipdnnEnginePluginGetWorkspaceSize(handle, &config_data, &graph, ret_bytes);
}

static void expect_refused(const struct kiln_knob_setting *settings, size_t count,
                           const char *sentence)
{
    size_t bytes = 12345;
    hipdnnPluginStatus_t status = ask(settings, count, &bytes);
    cr_expect_eq(status, HIPDNN_PLUGIN_STATUS_BAD_PARAM, "%d: %s", (int)status, sentence);
    cr_expect_eq(bytes, 12345);
    cr_expect_not_null(strstr(plugin_host_error(&host), sentence), "'%s' lacks '%s'",
                       plugin_host_error(&host), sentence);
}

Test(plugin_knobs, wrong_settings_are_refused)
{
    static const struct kiln_knob_setting unknown = {"kiln.speed", true, 1};
    static const struct kiln_knob_setting a_float = {"kiln.split_k", false, 2};
    static const struct kiln_knob_setting many = {"kiln.split_k", true, 65};
    static const struct kiln_knob_setting negative = {"global.workspace_size_limit", true, -1};
    static const struct kiln_knob_setting uneven = {"kiln.tile_size", true, 48};
    static const struct kiln_knob_setting twice[] = {{"kiln.split_k", true, 2},
                                                     {"kiln.split_k", true, 2}};
    start(matmul);
    expect_refused(&unknown, 1, "has no knob 'kiln.speed'");
    expect_refused(&a_float, 1, "'kiln.split_k' takes an integer");
    expect_refused(&many, 1, "'kiln.split_k' cannot be 65; it takes 0 to 64");
    expect_refused(&negative, 1, "'global.workspace_size_limit' cannot be -1");
    expect_refused(&uneven, 1, "'kiln.tile_size' cannot be 48");
    expect_refused(twice, 2, "'kiln.split_k' is set twice");
    stop();
}

Test(plugin_knobs, settings_change_the_plan)
{
    static const struct kiln_knob_setting none[] = {
        {"kiln.split_k", true, 0},
        {"global.deterministic", true, 0},
        {"global.workspace_size_limit", true, INT64_MAX}};
    static const struct kiln_knob_setting whole = {"kiln.split_k", true, 1};
    static const struct kiln_knob_setting split[] = {
        {"kiln.split_k", true, 4}, {"global.workspace_size_limit", true, 1 << 20}};
    static const struct kiln_knob_setting limited[] = {{"kiln.split_k", true, 4},
                                                       {"global.workspace_size_limit", true, 1000}};
    size_t plain_bytes = 0, bytes = 0;
    start(matmul);
    cr_assert_eq(ask(NULL, 0, &plain_bytes), 0, "%s", plugin_host_error(&host));
    cr_expect_eq(ask(none, 3, &bytes), 0, "%s", plugin_host_error(&host));
    cr_expect_eq(bytes, plain_bytes);
    cr_expect_eq(ask(&whole, 1, &bytes), 0, "%s", plugin_host_error(&host));
    cr_expect_eq(bytes, 0);
    cr_expect_eq(ask(split, 2, &bytes), 0, "%s", plugin_host_error(&host));
    cr_expect_geq(bytes, 4 * 64 * 64 * sizeof(float));
    bytes = 12345;
    cr_expect_neq(ask(limited, 2, &bytes), 0);
    cr_expect_eq(bytes, 12345);
    cr_expect_not_null(strstr(plugin_host_error(&host), "'global.workspace_size_limit' allows"),
                       "%s", plugin_host_error(&host));
    stop();
}

/* No plan of this graph without segments needs any workspace. */
Test(plugin_knobs, a_limit_chooses_a_plan_without_segments)
{
    static const struct kiln_knob_setting limit = {"global.workspace_size_limit", true, 0};
    size_t bytes = 12345;
    start(matmul);
    cr_expect_eq(ask(&limit, 1, &bytes), 0, "%s", plugin_host_error(&host));
    cr_expect_eq(bytes, 0);
    stop();
}
