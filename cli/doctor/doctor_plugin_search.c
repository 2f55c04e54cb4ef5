/*
 * Finds hipDNN, and checks that Kiln's plugin is where hipDNN looks. That is the place which
 * HIPDNN_PLUGIN_DIR names, otherwise hipdnn_plugins/engines next to hipDNN's library. hipDNN
 * resolves links first, and takes files whose real name ends in .so.
 */
#include "cli/doctor/doctor.h"
#include "cli/text.h"
#include "runtime/support/buffer.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char engines_directory[] = "hipdnn_plugins/engines";
static const char plugin_file[] = "kiln_plugin.so";

/* ---- Kiln's own plugin ---- */

/* Relative to the directory of this program: of an installation, and of a build. */
static const char *const own_places[] = {KILN_PLUGIN_FROM_PROGRAM, "../plugin_api"};

/* The plugin that was installed or built with this program, to be freed; NULL if it is not there.
 */
static char *find_own_plugin(void)
{
    char *program = realpath("/proc/self/exe", NULL);
    char *found = NULL;
    for (size_t i = 0; program && !found && i < sizeof own_places / sizeof *own_places; i++) {
        char path[PATH_MAX * 2];
        (void)snprintf(path, sizeof path, "%.*s/%s/%s", (int)(strrchr(program, '/') - program),
                       program, own_places[i], plugin_file);
        found = realpath(path, NULL);
    }
    free(program);
    return found;
}

/* ---- hipDNN's library ---- */

static const char *const backend_files[] = {"libhipdnn_backend.so", "libhipdnn_backend.so.1",
                                            "libhipdnn_backend.so.0"};
enum { BACKEND_FILES = sizeof backend_files / sizeof *backend_files };

/* The library's path, links resolved, to be freed. A library that is there and cannot be loaded
 * gives its reason. */
static char *open_backend(const char *directory, char ret_reason[1024])
{
    for (size_t i = 0; i < BACKEND_FILES; i++) {
        char path[PATH_MAX];
        struct link_map *map = NULL;
        (void)snprintf(path, sizeof path, "%s%s%s", directory, *directory ? "/" : "",
                       backend_files[i]);
        if (*directory && access(path, F_OK) != 0)
            continue;
        void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
        if (library && dlinfo(library, RTLD_DI_LINKMAP, &map) == 0)
            return realpath(map->l_name, NULL);
        const char *reason = library ? NULL : dlerror();
        /* Otherwise the linker names the library that is missing. */
        bool is_absent =
            reason && strncmp(reason, path, strlen(path)) == 0 && strstr(reason, strerror(ENOENT));
        if (reason && !is_absent && !*ret_reason)
            (void)snprintf(ret_reason, 1024, "%s", reason);
    }
    return NULL;
}

/* The directory of libraries that this program was installed into, or "". */
static void find_own_libraries(char ret_directory[PATH_MAX])
{
    char *own = find_own_plugin();
    char *end = own ? strstr(own, engines_directory) : NULL;
    (void)snprintf(ret_directory, PATH_MAX, "%.*s", end ? (int)(end - own - 1) : 0, own ? own : "");
    free(own);
}

static char *open_backend_of(const char *prefix, char ret_reason[1024])
{
    static const char *const names[] = {"lib", "lib64"};
    char *path = NULL;
    for (size_t i = 0; !path && i < sizeof names / sizeof *names; i++) {
        char directory[PATH_MAX];
        if ((size_t)snprintf(directory, sizeof directory, "%s/%s", prefix, names[i]) <
            sizeof directory)
            path = open_backend(directory, ret_reason);
    }
    return path;
}

static int is_rocm_version(const struct dirent *entry)
{
    return strncmp(entry->d_name, "rocm-", 5) == 0;
}

static int compare_newest_first(const struct dirent **one, const struct dirent **other)
{
    return versionsort(other, one);
}

char *kiln_doctor_find_in_rocm_versions(const char *parent, char ret_reason[1024])
{
    struct dirent **versions = NULL;
    int count = scandir(parent, &versions, is_rocm_version, compare_newest_first);
    char *path = NULL;
    for (int i = 0; i < count; i++) {
        char prefix[PATH_MAX];
        (void)snprintf(prefix, sizeof prefix, "%s/%s", parent, versions[i]->d_name);
        path = path ? path : open_backend_of(prefix, ret_reason);
        free(versions[i]);
    }
    free(versions);
    return path;
}

static char *search_backend(bool *ret_is_on_path, char ret_reason[1024])
{
    const char *rocm = getenv("ROCM_PATH");
    char own[PATH_MAX];
    find_own_libraries(own);
    char *path = open_backend("", ret_reason);
    *ret_is_on_path = path != NULL;
    if (!path)
        path = open_backend_of(rocm && *rocm ? rocm : "/opt/rocm", ret_reason);
    if (!path && *own)
        path = open_backend(own, ret_reason);
    return path ? path : kiln_doctor_find_in_rocm_versions("/opt", ret_reason);
}

void kiln_doctor_check_hipdnn(struct kiln_doctor *doctor)
{
    static const char check[] = "hipDNN";
    char reason[1024] = "";
    bool is_on_path;
    char *path = search_backend(&is_on_path, reason);
    if (!path && *reason) {
        kiln_doctor_add(doctor, KILN_DOCTOR_WRONG, check,
                        "install what it needs: 'ldd' on the library lists what is missing",
                        "hipDNN's library cannot be loaded: %s", reason);
        return;
    }
    if (!path) {
        kiln_doctor_add(doctor, KILN_DOCTOR_WARNING, check,
                        "install hipDNN, or put its directory into LD_LIBRARY_PATH; where graphs "
                        "are only compiled, it is not needed",
                        "'libhipdnn_backend.so' is not found on this machine");
        return;
    }
    if (is_on_path)
        kiln_doctor_add(doctor, KILN_DOCTOR_OK, check, NULL, "%s", path);
    else
        kiln_doctor_add(doctor, KILN_DOCTOR_OK, check, NULL,
                        "%s, which programs find only by a path of their own", path);
    kiln_doctor_set_fact(doctor, KILN_DOCTOR_BACKEND, path);
    *strrchr(path, '/') = '\0';
    kiln_doctor_set_fact(doctor, KILN_DOCTOR_BACKEND_DIRECTORY, *path ? path : "/");
    free(path);
}

/* ---- what is in a directory ---- */

struct plugin_search {
    char *plugin; /* owned; the first of Kiln's that hipDNN takes, links resolved */
    unsigned kiln_plugins;
    unsigned other_plugins;
    char refusal[PATH_MAX + 256]; /* why hipDNN does not take one of Kiln's */
};

static bool ends_in_so(const char *path)
{
    size_t length = strlen(path);
    return length > 3 && strcmp(path + length - 3, ".so") == 0;
}

static void refuse(struct plugin_search *search, const char *path, const char *real)
{
    struct stat attributes;
    bool is_file = real && stat(real, &attributes) == 0 && S_ISREG(attributes.st_mode);
    if (!real)
        (void)snprintf(search->refusal, sizeof search->refusal, "'%s' leads nowhere", path);
    else if (!is_file)
        (void)snprintf(search->refusal, sizeof search->refusal, "'%s' is no file", path);
    else
        (void)snprintf(search->refusal, sizeof search->refusal,
                       "the real name of '%s' is '%s', and hipDNN takes only names that end in .so",
                       path, strrchr(real, '/') + 1);
}

/* The real path of a file that hipDNN tries to load, to be freed; NULL for others. */
static char *resolve_plugin(const char *path)
{
    struct stat attributes;
    char *real = realpath(path, NULL);
    if (real && stat(real, &attributes) == 0 && S_ISREG(attributes.st_mode) && ends_in_so(real))
        return real;
    free(real);
    return NULL;
}

static void look_below(const char *path, struct plugin_search *search)
{
    char below[PATH_MAX + 32];
    (void)snprintf(below, sizeof below, "%s/%s", path, plugin_file);
    if (access(below, F_OK) == 0)
        (void)snprintf(search->refusal, sizeof search->refusal,
                       "'%s' is in a directory below, where hipDNN does not look", below);
}

static void look_at_entry(const char *directory, const char *name, struct plugin_search *search)
{
    char path[PATH_MAX];
    struct stat attributes;
    bool is_kiln = strcasestr(name, "kiln") != NULL;
    (void)snprintf(path, sizeof path, "%s/%s", directory, name);
    if (stat(path, &attributes) == 0 && S_ISDIR(attributes.st_mode)) {
        if (*name != '.')
            look_below(path, search);
        return;
    }
    if (!ends_in_so(name))
        return;
    char *plugin = resolve_plugin(path);
    if (is_kiln && !plugin) {
        char *real = realpath(path, NULL);
        refuse(search, path, real);
        free(real);
    }
    search->kiln_plugins += is_kiln && plugin;
    search->other_plugins += !is_kiln && plugin;
    if (is_kiln && plugin && !search->plugin)
        search->plugin = plugin;
    else
        free(plugin);
}

/* False, with errno, when the directory cannot be read. */
static bool search_directory(const char *directory, struct plugin_search *search)
{
    DIR *stream = opendir(directory);
    if (!stream)
        return false;
    for (struct dirent *entry; (entry = readdir(stream));)
        look_at_entry(directory, entry->d_name, search);
    (void)closedir(stream);
    return true;
}

/* ---- the checks ---- */

static const char check[] = "location";

/* The place that HIPDNN_PLUGIN_DIR names, to be freed; NULL where it is relative to a library that
 * was not found. */
static char *resolve_named(const char *named, const char *backend)
{
    char path[PATH_MAX];
    struct stat attributes;
    if (*named != '/' && !backend)
        return NULL;
    (void)snprintf(path, sizeof path, "%s%s%s", *named == '/' ? "" : backend,
                   *named == '/' ? "" : "/", named);
    const char *last = strrchr(path, '/') + 1;
    if (stat(path, &attributes) != 0 && *last && !strchr(last, '.')) {
        char file[PATH_MAX + 16];
        (void)snprintf(file, sizeof file, "%.*slib%s.so", (int)(last - path), path, last);
        if (access(file, F_OK) == 0)
            return kiln_cli_strdup(file);
    }
    return kiln_cli_strdup(path);
}

static char *remedy_for_absence(const char *place, bool is_named)
{
    char *own = find_own_plugin();
    char *remedy = NULL;
    const char *other_way = is_named ? "\nor unset HIPDNN_PLUGIN_DIR" : "";
    int length = own ? asprintf(&remedy, "install -D -t '%s' '%s'%s", place, own, other_way)
                     : asprintf(&remedy, "install Kiln, and copy its %s to '%s'%s", plugin_file,
                                place, other_way);
    free(own);
    return length < 0 ? NULL : remedy;
}

static void report_absence(struct kiln_doctor *doctor, const char *place, bool is_named,
                           const char *reason)
{
    char *remedy = remedy_for_absence(place, is_named);
    kiln_doctor_add(doctor, KILN_DOCTOR_WRONG, check, remedy, "%s'%s', where hipDNN looks%s: %s",
                    "no plugin of Kiln in ", place, is_named ? " because of HIPDNN_PLUGIN_DIR" : "",
                    reason);
    free(remedy);
}

/* The default set has plugins that HIPDNN_PLUGIN_DIR takes away. */
static void warn_of_replacement(struct kiln_doctor *doctor, const char *backend)
{
    struct plugin_search search = {0};
    char directory[PATH_MAX];
    if (!backend)
        return;
    (void)snprintf(directory, sizeof directory, "%s/%s", backend, engines_directory);
    (void)search_directory(directory, &search);
    if (search.other_plugins)
        kiln_doctor_add(doctor, KILN_DOCTOR_WARNING, check,
                        "copy Kiln's plugin to the default set and unset HIPDNN_PLUGIN_DIR, if "
                        "graphs that Kiln declines shall run",
                        "HIPDNN_PLUGIN_DIR replaces the default set: %u %s in '%s' %s not loaded",
                        search.other_plugins, search.other_plugins == 1 ? "plugin" : "plugins",
                        directory, search.other_plugins == 1 ? "is" : "are");
    free(search.plugin);
}

static void report_found(struct kiln_doctor *doctor, const struct plugin_search *search,
                         const char *place, bool is_named, const char *backend)
{
    kiln_doctor_set_fact(doctor, KILN_DOCTOR_PLUGIN, search->plugin);
    if (search->kiln_plugins > 1)
        kiln_doctor_add(doctor, KILN_DOCTOR_WARNING, check, "leave one of them there",
                        "%u plugins of Kiln in '%s': hipDNN uses the first by name",
                        search->kiln_plugins, place);
    else
        kiln_doctor_add(doctor, KILN_DOCTOR_OK, check, NULL, "%s, %s", search->plugin,
                        is_named ? "which HIPDNN_PLUGIN_DIR names" : "in hipDNN's default set");
    if (is_named && !search->other_plugins)
        warn_of_replacement(doctor, backend);
}

static void look_at_place(struct kiln_doctor *doctor, const char *place, bool is_named,
                          const char *backend)
{
    struct plugin_search search = {0};
    struct stat attributes;
    const char *reason = NULL;
    if (stat(place, &attributes) != 0) {
        reason = strerror(errno);
    } else if (!S_ISDIR(attributes.st_mode)) {
        search.plugin = resolve_plugin(place);
        search.kiln_plugins = search.plugin != NULL;
        if (!search.plugin) {
            char *real = realpath(place, NULL);
            refuse(&search, place, real);
            free(real);
            reason = search.refusal;
        }
    } else if (!search_directory(place, &search)) {
        reason = strerror(errno);
    } else if (!search.plugin) {
        reason = *search.refusal        ? search.refusal
                 : search.other_plugins ? "the plugins there are others"
                                        : "there is no plugin at all";
    }
    if (reason)
        report_absence(doctor, place, is_named, reason);
    else
        report_found(doctor, &search, place, is_named, backend);
    free(search.plugin);
}

static void report_own_plugin(struct kiln_doctor *doctor)
{
    char *own = find_own_plugin();
    if (own) {
        kiln_doctor_set_fact(doctor, KILN_DOCTOR_PLUGIN, own);
        kiln_doctor_add(doctor, KILN_DOCTOR_SKIPPED, check, NULL,
                        "without hipDNN there is no place to look at; this program's own plugin is "
                        "'%s'",
                        own);
    } else {
        kiln_doctor_add(doctor, KILN_DOCTOR_WARNING, check, "install Kiln again, as a whole",
                        "there is no '%s' with this program", plugin_file);
    }
    free(own);
}

void kiln_doctor_check_plugin_directory(struct kiln_doctor *doctor)
{
    const char *backend = kiln_doctor_fact(doctor, KILN_DOCTOR_BACKEND_DIRECTORY);
    const char *named = secure_getenv("HIPDNN_PLUGIN_DIR");
    if (named && *named) {
        char *place = resolve_named(named, backend);
        if (place)
            look_at_place(doctor, place, true, backend);
        else
            kiln_doctor_add(doctor, KILN_DOCTOR_WARNING, check,
                            "give HIPDNN_PLUGIN_DIR an absolute path",
                            "HIPDNN_PLUGIN_DIR is '%s', relative to hipDNN's library, which is "
                            "not found",
                            named);
        free(place);
    } else if (backend) {
        char place[PATH_MAX];
        (void)snprintf(place, sizeof place, "%s/%s", backend, engines_directory);
        look_at_place(doctor, place, false, backend);
    } else {
        report_own_plugin(doctor);
    }
}
