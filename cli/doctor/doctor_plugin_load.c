/* Loading Kiln's plugin as hipDNN does, and asking it what hipDNN asks. */
#include "cli/doctor/doctor.h"
#include "cli/doctor/doctor_plugin.h"
#include "plugin_api/engine_identity.h"
#include "runtime/support/version.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char check[] = "plugin";
static const char remedy[] = "install Kiln again";

bool kiln_doctor_plugin_load(struct kiln_doctor_plugin *plugin, const char *path,
                             struct kiln_error *error)
{
    plugin->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!plugin->library) {
        const char *reason = dlerror();
        (void)kiln_error_set(error, KILN_UNSUPPORTED, "'%s' cannot be loaded: %s", path,
                             reason ? reason : "no reason");
        return false;
    }
#define PLUGIN_FUNCTION(name, required)                                                            \
    do {                                                                                           \
        void *address = dlsym(plugin->library, #name);                                             \
        memcpy(&plugin->name, &address, sizeof address);                                           \
        if (!address && (required)) {                                                              \
            (void)kiln_error_set(error, KILN_UNSUPPORTED,                                          \
                                 "'%s' has no function '%s', so hipDNN refuses it", path, #name);  \
            return false;                                                                          \
        }                                                                                          \
    } while (0);
#include "plugin_api/plugin_functions.def"
    return true;
}

/* A function of the plugin that gives a text; "" when it fails. */
static const char *ask_text(hipdnnPluginStatus_t (*function)(const char **text))
{
    const char *text = NULL;
    if (!function || function(&text) != HIPDNN_PLUGIN_STATUS_SUCCESS || !text)
        return "";
    return text;
}

/* NULL, or why hipDNN refuses the plugin. */
static const char *refusal(const struct kiln_doctor_plugin *plugin, int64_t *ret_id)
{
    hipdnnPluginType_t type = HIPDNN_PLUGIN_TYPE_UNSPECIFIED;
    uint32_t total = 0;
    uint32_t given = 0;
    int major = -1;
    if (plugin->hipdnnPluginGetType(&type) != HIPDNN_PLUGIN_STATUS_SUCCESS ||
        type != HIPDNN_PLUGIN_TYPE_ENGINE)
        return "it is no engine plugin";
    if (!*ask_text(plugin->hipdnnPluginGetName) || !*ask_text(plugin->hipdnnPluginGetVersion))
        return "it has no name or no version";
    const char *version = ask_text(plugin->hipdnnPluginGetApiVersion);
    if (plugin->hipdnnPluginGetApiVersion &&
        (sscanf(version, "%d.%*d.%*d", &major) != 1 || (major != 1 && major != 0)))
        return "its API version is not 1.x.y";
    if (plugin->hipdnnEnginePluginGetAllEngineIds(NULL, 0, &total) !=
            HIPDNN_PLUGIN_STATUS_SUCCESS ||
        total != 1 ||
        plugin->hipdnnEnginePluginGetAllEngineIds(ret_id, 1, &given) !=
            HIPDNN_PLUGIN_STATUS_SUCCESS ||
        given != total)
        return "it does not offer one engine";
    return NULL;
}

static void report_engine(struct kiln_doctor *doctor, const struct kiln_doctor_plugin *plugin,
                          int64_t id)
{
    const char *name = NULL;
    if (!plugin->hipdnnEnginePluginGetEngineName ||
        plugin->hipdnnEnginePluginGetEngineName(id, &name) != HIPDNN_PLUGIN_STATUS_SUCCESS ||
        !name || !*name)
        kiln_doctor_add(doctor, KILN_DOCTOR_WARNING, "engine", remedy,
                        "the engine with id %" PRId64 " has no name", id);
    else if (kiln_engine_id_of_name(name) != id)
        kiln_doctor_add(doctor, KILN_DOCTOR_WRONG, "engine", remedy,
                        "the id %" PRId64 " is not that of the name '%s', so hipDNN drops it", id,
                        name);
    else
        kiln_doctor_add(doctor, KILN_DOCTOR_OK, "engine", NULL,
                        "%s, id %" PRId64 " (0x%" PRIx64 ")", name, id, (uint64_t)id);
}

void kiln_doctor_check_plugin_abi(struct kiln_doctor *doctor)
{
    const char *path = kiln_doctor_fact(doctor, KILN_DOCTOR_PLUGIN);
    struct kiln_doctor_plugin plugin = {0};
    struct kiln_error error;
    int64_t id = 0;
    kiln_error_init(&error);
    if (!path) {
        kiln_doctor_add(doctor, KILN_DOCTOR_SKIPPED, check, NULL, "there is none to load");
        return;
    }
    if (!kiln_doctor_plugin_load(&plugin, path, &error)) {
        kiln_doctor_add_sentence(doctor, KILN_DOCTOR_WRONG, check, remedy, error.text);
        return;
    }
    const char *reason = refusal(&plugin, &id);
    if (reason) {
        kiln_doctor_add(doctor, KILN_DOCTOR_WRONG, check, remedy, "hipDNN refuses '%s': %s", path,
                        reason);
        return;
    }
    const char *version = ask_text(plugin.hipdnnPluginGetVersion);
    if (strcmp(version, kiln_version.text) == 0)
        kiln_doctor_add(doctor, KILN_DOCTOR_OK, check, NULL,
                        "loads; version %s, API %s, every function of the ABI", version,
                        ask_text(plugin.hipdnnPluginGetApiVersion));
    else
        kiln_doctor_add(doctor, KILN_DOCTOR_WARNING, check,
                        "install both from one build; kernels of two builds may differ",
                        "loads; its version is %s, and this program's %s", version,
                        kiln_version.text);
    report_engine(doctor, &plugin, id);
}
