#include "cli/config_rows.h"

#include "cache/cache_directory.h"
#include "cache/cache_settings.h"
#include "cache/cache_store.h"
#include "cache/remote_url.h"
#include "cli/text.h"
#include "compiler/codegen/codegen.h"
#include "compiler/codegen/compiler.h"
#include "compiler/codegen/worker_process.h"
#include "runtime/device/device.h"
#include "runtime/engine/settings_check.h"
#include "runtime/support/environment.h"
#include "runtime/support/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FROM_ENVIRONMENT "environment"
#define FROM_DEFAULT     "default"

static struct kiln_config_row *add_row(struct kiln_config_rows *rows, const char *name,
                                       const char *value, const char *source)
{
    if (rows->count == rows->capacity) {
        size_t capacity = rows->capacity ? rows->capacity * 2 : 32;
        struct kiln_config_row *grown = kiln_cli_calloc(capacity, sizeof(*grown));
        if (rows->count)
            memcpy(grown, rows->rows, rows->count * sizeof(*grown));
        free(rows->rows);
        rows->rows = grown;
        rows->capacity = capacity;
    }
    struct kiln_config_row *row = &rows->rows[rows->count++];
    *row = (struct kiln_config_row){.name = kiln_cli_strdup(name),
                                    .value = value ? kiln_cli_strdup(value) : NULL,
                                    .source = source};
    return row;
}

void kiln_config_rows_fini(struct kiln_config_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        free(rows->rows[i].name);
        free(rows->rows[i].value);
        free(rows->rows[i].problem);
    }
    free(rows->rows);
    *rows = (struct kiln_config_rows){0};
}

static void add_problem(struct kiln_config_row *row, const char *sentence)
{
    size_t before = row->problem ? strlen(row->problem) + 1 : 0;
    char *problem = kiln_cli_calloc(before + strlen(sentence) + 1, 1);
    if (row->problem)
        sprintf(problem, "%s\n", row->problem);
    strcat(problem, sentence);
    free(row->problem);
    row->problem = problem;
}

static void add_error(struct kiln_config_row *row, enum kiln_status status,
                      const struct kiln_error *error)
{
    if (status != KILN_OK)
        add_problem(row, error->text);
}

/* ---- what the readers of settings say of them ---- */

/* The row of a variable; a new one for those that are no settings of Kiln. */
static struct kiln_config_row *row_of(struct kiln_config_rows *rows, const char *variable)
{
    for (size_t i = 0; i < rows->count; i++)
        if (strcmp(rows->rows[i].name, variable) == 0)
            return &rows->rows[i];
    return add_row(rows, variable, getenv(variable), FROM_ENVIRONMENT);
}

/* A warning goes to the variable that it names, otherwise to the one that is being looked at. */
static struct {
    struct kiln_config_rows *rows;
    enum kiln_environment_variable variable;
} listening;

static void hear(enum kiln_log_level level, const char *message)
{
    char name[64];
    if (level < KILN_LOG_WARN)
        return;
    if (sscanf(message, "environment variable '%63[A-Z0-9_]'", name) != 1)
        (void)snprintf(name, sizeof(name), "%s", kiln_environment_info(listening.variable)->name);
    struct kiln_config_row *row = row_of(listening.rows, name);
    if (!row->problem || !strstr(row->problem, message))
        add_problem(row, message);
}

static void look_at_store(enum kiln_environment_variable variable,
                          const struct kiln_cache_options *options)
{
    struct kiln_error error;
    struct kiln_cache_store *store = NULL;
    kiln_error_init(&error);
    listening.variable = variable;
    if (kiln_cache_store_open(options, &store, &error) == KILN_OK)
        kiln_cache_store_close(store);
    else
        add_problem(&listening.rows->rows[variable], error.text);
}

/* An empty KILN_CACHE_DIR, so that no directory is made; then what it was. */
static char *hide_directory(void)
{
    const char *name = kiln_environment_info(KILN_ENVIRONMENT_KILN_CACHE_DIR)->name;
    const char *value = getenv(name);
    char *copy = value ? kiln_cli_strdup(value) : NULL;
    (void)setenv(name, "", 1);
    return copy;
}

static void show_directory(char *value)
{
    const char *name = kiln_environment_info(KILN_ENVIRONMENT_KILN_CACHE_DIR)->name;
    if (value)
        (void)setenv(name, value, 1);
    else
        (void)unsetenv(name);
    free(value);
}

static void look_at_values(void)
{
    for (unsigned i = 0; i < KILN_ENVIRONMENT_COUNT; i++)
        if (strcmp(kiln_environment_info(i)->default_text, "0") == 0) /* a switch */
            (void)kiln_environment_flag(i);
    struct kiln_codegen *codegen = NULL;
    struct kiln_error error;
    kiln_error_init(&error);
    /* Its own reader of the number of workers and the time limit. */
    if (kiln_codegen_create(NULL, &codegen, &error) == KILN_OK)
        kiln_codegen_unref(codegen);
    (void)kiln_cache_max_bytes_setting();
    /* Read by the worker. */
    (void)kiln_environment_number(KILN_ENVIRONMENT_KILN_COMPILE_MEMORY, 0, 1U << 24, 4096);
    struct kiln_device *host = NULL; /* reads the number of threads */
    if (kiln_device_open("host", &host, &error) == KILN_OK)
        kiln_device_close(host);
}

/* Adds the finding to the row of its variable. */
static void take_finding(void *context, const char *variable, const char *sentence)
{
    struct kiln_config_row *row = row_of(context, variable);
    size_t length = strlen(variable);
    /* The row says which variable it is. */
    if (strncmp(sentence, variable, length) == 0 && strncmp(sentence + length, ": ", 2) == 0)
        sentence += length + 2;
    add_problem(row, sentence);
}

static void listen_to_readers(struct kiln_config_rows *settings)
{
    static const struct kiln_cache_options layers = {.system_layer = "", .remote = ""};
    static const struct kiln_cache_options remote = {.layers = "", .system_layer = ""};
    enum kiln_log_level level = kiln_log_level();
    listening.rows = settings;
    listening.variable = KILN_ENVIRONMENT_KILN_CACHE_MAX_SIZE;
    kiln_log_set_level(KILN_LOG_WARN);
    kiln_log_set_sink(hear);
    look_at_values();
    char *directory = hide_directory();
    look_at_store(KILN_ENVIRONMENT_KILN_CACHE_LAYERS, &layers);
    look_at_store(KILN_ENVIRONMENT_KILN_CACHE_REMOTE, &remote);
    show_directory(directory);
    kiln_log_set_sink(NULL);
    kiln_log_set_level(level);
}

/* Without the password; nothing at all of what is no URL, because there is no telling where in it
 * the password is. */
static void show_url(struct kiln_config_row *row, const char *text)
{
    struct kiln_remote_url url;
    struct kiln_error error;
    char shown[KILN_ERROR_TEXT_BYTES];
    kiln_error_init(&error);
    if (kiln_remote_url_parse(text, &url, &error) != KILN_OK) {
        (void)snprintf(shown, sizeof(shown), "***");
    } else {
        bool has_brackets = strchr(url.host, ':') != NULL;
        (void)snprintf(shown, sizeof(shown), "redis://%s%s%s%s%s:%u/%" PRIu32, url.user,
                       *url.password ? ":***@" : "", has_brackets ? "[" : "", url.host,
                       has_brackets ? "]" : "", url.port, url.database);
    }
    free(row->value);
    row->value = kiln_cli_strdup(shown);
}

void kiln_config_list_settings(struct kiln_config_rows *ret_settings)
{
    struct kiln_config_rows rows = {0};
    for (unsigned i = 0; i < KILN_ENVIRONMENT_COUNT; i++) {
        const struct kiln_environment_info *info = kiln_environment_info(i);
        const char *value = kiln_environment_text(i);
        /* An empty text counts as unset, but of the directory, where it says that there is none. */
        bool counts = value && (*value || i == KILN_ENVIRONMENT_KILN_CACHE_DIR);
        struct kiln_config_row *row =
            add_row(&rows, info->name, counts ? value : info->default_text,
                    counts ? FROM_ENVIRONMENT : FROM_DEFAULT);
        row->text = info->text;
        if (counts && i == KILN_ENVIRONMENT_KILN_CACHE_REMOTE)
            show_url(row, value);
    }
    const char *level = getenv("HIPDNN_LOG_LEVEL");
    struct kiln_config_row *row = &rows.rows[KILN_ENVIRONMENT_KILN_LOG_LEVEL];
    if (strcmp(row->source, FROM_DEFAULT) == 0 && level && *level) {
        free(row->value);
        row->value = kiln_cli_strdup(level);
        row->source = "HIPDNN_LOG_LEVEL";
        enum kiln_log_level ignored;
        if (!kiln_log_level_parse(level, &ignored))
            add_problem(row, "this is no log level\nhint: off, info, warn, error or fatal");
    }
    listen_to_readers(&rows);
    kiln_settings_check(take_finding, &rows);
    *ret_settings = rows;
}

/* ---- what follows ---- */

static bool is_set(enum kiln_environment_variable variable)
{
    const char *value = kiln_environment_text(variable);
    return value && *value;
}

/* The rule is that of kiln_cache_directory_choose, which does not say which variable it took. */
static const char *source_of_directory(void)
{
    static const char *const variables[] = {"HIPDNN_CACHE_DIR", "XDG_CACHE_HOME", "HOME"};
    if (kiln_cache_is_disabled())
        return "HIPDNN_DISABLE_CACHE";
    if (kiln_environment_text(KILN_ENVIRONMENT_KILN_CACHE_DIR))
        return "KILN_CACHE_DIR";
    for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
        const char *value = secure_getenv(variables[i]);
        bool counts = value && *value && (i == 0 || *value == '/');
        if (counts)
            return variables[i];
    }
    return "no variable";
}

static void list_directory(struct kiln_config_rows *rows)
{
    char *path = NULL;
    struct kiln_error error;
    struct stat attributes;
    kiln_error_init(&error);
    enum kiln_status status = kiln_cache_directory_choose(NULL, &path, &error);
    struct kiln_config_row *row =
        add_row(rows, "cache directory", path ? path : "none: memory only", source_of_directory());
    add_error(row, status, &error);
    if (path && lstat(path, &attributes) == 0) {
        const char *reason = NULL;
        if (S_ISLNK(attributes.st_mode))
            reason = "it is a symbolic link";
        else if (!S_ISDIR(attributes.st_mode))
            reason = "it is no directory";
        else
            reason = kiln_cache_directory_distrust(&attributes, false);
        if (!reason && access(path, W_OK | X_OK) != 0)
            reason = strerror(errno);
        if (reason) {
            (void)kiln_error_set(&error, KILN_IO, "cannot use the directory '%s': %s", path,
                                 reason);
            kiln_cache_directory_distrust_hint(reason, path, &error);
            add_problem(row, error.text);
        }
    }
    free(path);
}

static void list_store(struct kiln_config_rows *rows)
{
    struct kiln_error error;
    struct kiln_cache_store *store = NULL;
    char bytes[KILN_TEXT_AMOUNT_BYTES];
    kiln_error_init(&error);
    char *directory = hide_directory();
    enum kiln_status status = kiln_cache_store_open(NULL, &store, &error);
    show_directory(directory);
    if (status != KILN_OK) {
        add_problem(add_row(rows, "cache", NULL, "search"), error.text);
        return;
    }
    uint64_t limit = kiln_cache_store_max_bytes(store);
    const char *max_size = kiln_environment_text(KILN_ENVIRONMENT_KILN_CACHE_MAX_SIZE);
    uint64_t parsed;
    bool is_size = max_size && kiln_cache_bytes_parse(max_size, &parsed);
    add_row(rows, "cache limit", limit ? kiln_text_bytes(bytes, limit) : "none",
            is_size ? "KILN_CACHE_MAX_SIZE" : FROM_DEFAULT);
    for (size_t i = 0; i < kiln_cache_store_layer_count(store); i++) {
        struct kiln_cache_layer_info layer = kiln_cache_store_layer(store, i);
        add_row(rows, layer.is_pack ? "cache layer (pack)" : "cache layer", layer.path,
                layer.is_system ? "installation" : "KILN_CACHE_LAYERS");
    }
    if (kiln_cache_store_remote(store))
        add_row(rows, "shared cache", kiln_cache_store_remote(store), "KILN_CACHE_REMOTE");
    kiln_cache_store_close(store);
}

static const char *source_of(enum kiln_environment_variable variable)
{
    return is_set(variable) ? kiln_environment_info(variable)->name : "search";
}

static void list_worker(struct kiln_config_rows *rows)
{
    struct kiln_error error;
    char *path = NULL;
    kiln_error_init(&error);
    if (kiln_environment_flag(KILN_ENVIRONMENT_KILN_COMPILE_IN_PROCESS)) {
        add_row(rows, "compile worker", "none: in this process", "KILN_COMPILE_IN_PROCESS");
        return;
    }
    enum kiln_status status = kiln_worker_find(NULL, &path, &error);
    add_error(
        add_row(rows, "compile worker", path, source_of(KILN_ENVIRONMENT_KILN_COMPILE_WORKER)),
        status, &error);
    free(path);
}

/* That a compiler is not here is no problem: few machines have all. */
static void list_compilers(struct kiln_config_rows *rows)
{
    static const struct {
        const char *name;
        const char *compiler;
        enum kiln_environment_variable variable;
    } compilers[] = {{"comgr", "comgr", KILN_ENVIRONMENT_KILN_COMGR_LIBRARY},
                     {"clang", "clang", KILN_ENVIRONMENT_KILN_CLANG},
                     {"nvrtc", "nvrtc", KILN_ENVIRONMENT_KILN_NVRTC_LIBRARY},
                     {"host compiler", "host", KILN_ENVIRONMENT_KILN_HOST_CXX}};
    for (size_t i = 0; i < sizeof(compilers) / sizeof(*compilers); i++) {
        struct kiln_compiler compiler = {0};
        struct kiln_error error;
        kiln_error_init(&error);
        (void)kiln_compiler_by_name(compilers[i].compiler)->find(&compiler, &error);
        add_row(rows, compilers[i].name, compiler.path, source_of(compilers[i].variable));
        kiln_compiler_fini(&compiler);
    }
}

static void list_device(struct kiln_config_rows *rows)
{
    struct kiln_error error;
    struct kiln_device *device = NULL;
    char shown[KILN_TARGET_NAME_BYTES + 32];
    kiln_error_init(&error);
    enum kiln_status status = kiln_device_open(kiln_device_default_names(), &device, &error);
    if (status == KILN_OK)
        (void)snprintf(shown, sizeof(shown), "%s, %s", device->ops->name, device->target.name);
    add_error(add_row(rows, "device", status == KILN_OK ? shown : NULL,
                      source_of(KILN_ENVIRONMENT_KILN_DEVICE)),
              status, &error);
    kiln_device_close(device);
}

void kiln_config_list_derived(struct kiln_config_rows *ret_derived)
{
    struct kiln_config_rows rows = {0};
    enum kiln_log_level level = kiln_log_level();
    kiln_log_set_level(KILN_LOG_OFF); /* the settings have it */
    list_directory(&rows);
    list_store(&rows);
    list_worker(&rows);
    list_compilers(&rows);
    list_device(&rows);
    kiln_log_set_level(level);
    *ret_derived = rows;
}
