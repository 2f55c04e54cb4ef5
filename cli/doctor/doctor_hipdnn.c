/* hipDNN itself, asked which plugins it has loaded. */
#include "cli/doctor/doctor.h"
#include "cli/text.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static const char check[] = "loading";
static const char look_at_log[] = "HIPDNN_LOG_LEVEL=info makes hipDNN say why";

/* More than any installation has. */
enum { MOST_PLUGINS = 1024, MOST_PATH_BYTES = 1 << 16 };

/* Functions of hipDNN's backend. Statuses are 0 for success. */
struct backend {
    int (*create)(void **handle);
    int (*get_paths)(void *handle, size_t *count, char **paths, size_t *max_bytes);
    const char *(*version)(void); /* NULL in releases that lack it */
};

static bool find_functions(const char *path, struct backend *ret_backend)
{
    static const char *const names[] = {"hipdnnCreate", "hipdnnGetLoadedEnginePluginPaths_ext",
                                        "hipdnnVersionString_ext"};
    void *addresses[] = {NULL, NULL, NULL};
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; library && i < sizeof names / sizeof *names; i++)
        addresses[i] = dlsym(library, names[i]);
    memcpy(&ret_backend->create, &addresses[0], sizeof(void *));
    memcpy(&ret_backend->get_paths, &addresses[1], sizeof(void *));
    memcpy(&ret_backend->version, &addresses[2], sizeof(void *));
    return addresses[0] && addresses[1];
}

/* hipDNN resolves links before it loads. */
static bool is_same_file(const char *path, const char *plugin)
{
    char *real = realpath(path, NULL);
    bool is_same = real && strcmp(real, plugin) == 0;
    free(real);
    return is_same;
}

/* Number of loaded plugins; `ret_has_kiln` tells if `plugin` is one. -1 if hipDNN does not tell. */
static int count_loaded(const struct backend *backend, void *handle, const char *plugin,
                        bool *ret_has_kiln)
{
    char *paths[MOST_PLUGINS];
    size_t count = 0;
    size_t bytes = 0;
    *ret_has_kiln = false;
    if (backend->get_paths(handle, &count, NULL, &bytes) != 0 || count > MOST_PLUGINS ||
        bytes > MOST_PATH_BYTES)
        return -1;
    size_t allocated = count;
    for (size_t i = 0; i < count; i++)
        paths[i] = kiln_cli_calloc(bytes + 1, 1);
    int status = count ? backend->get_paths(handle, &count, paths, &bytes) : 0;
    for (size_t i = 0; i < allocated; i++) {
        *ret_has_kiln |= status == 0 && is_same_file(paths[i], plugin);
        free(paths[i]);
    }
    return status == 0 ? (int)allocated : -1;
}

static void ask(struct kiln_doctor *doctor, const struct backend *backend, const char *plugin)
{
    const char *version = backend->version ? backend->version() : NULL;
    void *handle = NULL;
    bool has_kiln = false;
    int status = backend->create(&handle);
    if (status != 0) {
        kiln_doctor_add(doctor, KILN_DOCTOR_WARNING, check, look_at_log,
                        "hipDNN gives no handle (status %d), so it loads nothing", status);
        return;
    }
    int count = count_loaded(backend, handle, plugin, &has_kiln);
    if (count < 0)
        kiln_doctor_add(doctor, KILN_DOCTOR_SKIPPED, check, NULL,
                        "hipDNN does not tell which plugins it has loaded");
    else if (has_kiln)
        kiln_doctor_add(doctor, KILN_DOCTOR_OK, check, NULL, "hipDNN%s%s loads it, and %d other %s",
                        version ? " " : "", version ? version : "", count - 1,
                        count == 2 ? "plugin" : "plugins");
    else
        kiln_doctor_add(doctor, KILN_DOCTOR_WRONG, check, look_at_log,
                        "hipDNN has loaded %d %s, and Kiln's is not among them", count,
                        count == 1 ? "plugin" : "plugins");
}

void kiln_doctor_check_loading(struct kiln_doctor *doctor)
{
    const char *path = kiln_doctor_fact(doctor, KILN_DOCTOR_BACKEND);
    const char *plugin = kiln_doctor_fact(doctor, KILN_DOCTOR_PLUGIN);
    struct backend backend = {0};
    if (!path || !plugin)
        kiln_doctor_add(doctor, KILN_DOCTOR_SKIPPED, check, NULL, "there is no %s",
                        path ? "plugin to load" : "hipDNN to ask");
    else if (!find_functions(path, &backend))
        kiln_doctor_add(doctor, KILN_DOCTOR_SKIPPED, check, NULL,
                        "this hipDNN does not tell which plugins it has loaded");
    else
        ask(doctor, &backend, plugin);
}
