/* The question that every host asks first: does the plugin take this graph. */
#include "cli/doctor/doctor.h"
#include "cli/doctor/doctor_graph.h"
#include "cli/doctor/doctor_plugin.h"

#include <stdio.h>
#include <string.h>

static const char check[] = "plugin";

/* The last line that the plugin logged. */
static char last_line[KILN_ERROR_TEXT_BYTES];

/* The message of a line in hipDNN's format, "[time] [tid 1] [warn] [kiln] message; hint: ...", with
 * each hint on a line of its own. Changes the line. */
static const char *message_of(char *line)
{
    static const char mark[] = "; hint: ";
    for (char *hint = strstr(line, mark); hint; hint = strstr(hint, mark)) {
        *hint = '\n';
        memmove(hint + 1, hint + 2, strlen(hint + 2) + 1);
    }
    while (*line == '[') {
        char *end = strstr(line, "] ");
        if (!end)
            break;
        line = end + 2;
    }
    return line;
}

static void hear(hipdnnSeverity_t severity, const char *text)
{
    (void)severity;
    (void)snprintf(last_line, sizeof last_line, "%s", text ? text : "");
}

static const char *error_text(const struct kiln_doctor_plugin *plugin)
{
    const char *text = NULL;
    plugin->hipdnnPluginGetLastErrorString(&text);
    return text && *text ? text : "no reason";
}

static void listen(const struct kiln_doctor_plugin *plugin)
{
    if (plugin->hipdnnPluginSetLoggingCallback)
        (void)plugin->hipdnnPluginSetLoggingCallback(hear);
    if (plugin->hipdnnPluginSetLogLevel)
        (void)plugin->hipdnnPluginSetLogLevel(HIPDNN_SEV_INFO);
}

/* KILN_REJECTED when the answer is no; its reason is in the log. */
static enum kiln_status ask(const struct kiln_doctor_plugin *plugin,
                            const struct kiln_buffer *bytes, struct kiln_error *error)
{
    const hipdnnPluginConstData_t graph = {bytes->data, bytes->size};
    hipdnnEnginePluginHandle_t handle = NULL;
    int64_t id = 0;
    uint32_t count = 0;
    enum kiln_status status = KILN_OK;
    if (plugin->hipdnnEnginePluginCreate(&handle) != HIPDNN_PLUGIN_STATUS_SUCCESS)
        return kiln_error_set(error, KILN_INTERNAL, "the plugin gives no handle: %s",
                              error_text(plugin));
    if (plugin->hipdnnEnginePluginGetApplicableEngineIds(handle, &graph, &id, 1, &count) !=
        HIPDNN_PLUGIN_STATUS_SUCCESS)
        status = kiln_error_set(error, KILN_INTERNAL, "the plugin does not answer: %s",
                                error_text(plugin));
    else if (count == 0)
        status = kiln_error_set(error, KILN_REJECTED, "the plugin declines a simple graph: %s",
                                *last_line ? message_of(last_line) : "it does not say why");
    (void)plugin->hipdnnEnginePluginDestroy(handle);
    return status;
}

static void report(struct kiln_doctor *doctor, enum kiln_status status,
                   const struct kiln_error *error)
{
    const char *device = kiln_doctor_fact(doctor, KILN_DOCTOR_DEVICE);
    bool has_gpu = device && strcmp(device, "hip") == 0;
    bool has_compiler = kiln_doctor_fact(doctor, KILN_DOCTOR_COMPILER) != NULL;
    /* Without a GPU, and without a compiler for this graph, no is the right answer. */
    bool is_expected = status == KILN_REJECTED && !(has_gpu && has_compiler);
    static const char forbidden[] = "KILN_ENFORCE_PRECOMPILED";
    if (status == KILN_OK)
        kiln_doctor_add(doctor, KILN_DOCTOR_OK, check, NULL, "takes a simple graph");
    else if (status == KILN_REJECTED && strstr(error->text, forbidden))
        kiln_doctor_add(doctor, KILN_DOCTOR_OK, check, NULL,
                        "declines a graph that no cache has, because of %s", forbidden);
    else
        kiln_doctor_add_sentence(doctor, is_expected ? KILN_DOCTOR_WARNING : KILN_DOCTOR_WRONG,
                                 check,
                                 !has_gpu        ? "it needs a GPU, or KILN_DEVICE=host"
                                 : !has_compiler ? "without a compiler only graphs with kernels in "
                                                   "a cache run"
                                                 : "correct what is reported above",
                                 error->text);
}

void kiln_doctor_check_answer(struct kiln_doctor *doctor)
{
    const char *path = kiln_doctor_fact(doctor, KILN_DOCTOR_PLUGIN);
    struct kiln_doctor_plugin plugin = {0};
    struct kiln_arena arena;
    struct kiln_buffer bytes;
    struct kiln_graph graph;
    struct kiln_error error;
    kiln_error_init(&error);
    const char *silent = kiln_doctor_fact(doctor, KILN_DOCTOR_SILENT);
    bool is_device_silent = silent && strcmp(silent, "device") == 0; /* the plugin would be, too */
    if (!path || is_device_silent) {
        kiln_doctor_add(doctor, KILN_DOCTOR_SKIPPED, check, NULL, "%s",
                        path ? "the device gives no answer" : "there is none to ask");
        return;
    }
    kiln_arena_init(&arena);
    kiln_buffer_init(&bytes);
    enum kiln_status status = kiln_doctor_graph(&arena, &graph, &bytes, &error);
    if (status == KILN_OK && !kiln_doctor_plugin_load(&plugin, path, &error))
        status = KILN_UNSUPPORTED;
    if (status == KILN_OK) {
        listen(&plugin);
        status = ask(&plugin, &bytes, &error);
    }
    report(doctor, status, &error);
    kiln_buffer_fini(&bytes);
    kiln_arena_fini(&arena);
}
