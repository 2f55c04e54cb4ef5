#include "runtime/engine/settings_check.h"

#include "compiler/codegen/compiler.h"
#include "compiler/codegen/compiler_search.h"
#include "compiler/codegen/worker_process.h"
#include "runtime/device/device.h"
#include "runtime/support/environment.h"
#include "runtime/support/error.h"
#include "runtime/support/log.h"
#include "runtime/support/notice.h"
#include "runtime/support/suggest.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bits for the parts that compile: compilers by the kind of their targets, and the worker. */
#define COMPILES(kind) (1U << (kind))
#define IS_WORKER      COMPILES(31)

struct setting {
    enum kiln_environment_variable variable;
    /* Looks at a value that is not empty; KILN_OK or a sentence. */
    enum kiln_status (*check)(const char *name, const char *value, struct kiln_error *error);
    unsigned parts; /* COMPILES of its compiler's kind, or IS_WORKER */
};

static enum kiln_status check_device(const char *name, const char *value, struct kiln_error *error)
{
    enum kiln_status status = kiln_device_check_names(value, error);
    if (status)
        kiln_error_prefix(error, "%s", name);
    return status;
}

static enum kiln_status check_level(const char *name, const char *value, struct kiln_error *error)
{
    enum kiln_log_level level;
    if (kiln_log_level_parse(value, &level))
        return KILN_OK;
    (void)kiln_error_set(error, KILN_BAD_ARGUMENT, "%s: '%.64s' is no log level", name, value);
    kiln_error_hint(error, "off, info, warn, error or fatal");
    return KILN_BAD_ARGUMENT;
}

static enum kiln_status check_library(const char *name, const char *value, struct kiln_error *error)
{
    char *path = kiln_library_find(value);
    free(path);
    if (path || kiln_status_may_pass(kiln_status_of_errno(errno)))
        return KILN_OK;
    (void)kiln_error_set(error, KILN_NOT_FOUND, "%s: there is no library '%s'", name, value);
    kiln_error_hint(error, "correct or unset %s", name);
    return KILN_NOT_FOUND;
}

static enum kiln_status check_compiler(const char *name, const char *value,
                                       struct kiln_error *error)
{
    static const struct {
        enum kiln_environment_variable variable;
        const char *compiler;
    } named[] = {{KILN_ENVIRONMENT_KILN_COMGR_LIBRARY, "comgr"},
                 {KILN_ENVIRONMENT_KILN_NVRTC_LIBRARY, "nvrtc"},
                 {KILN_ENVIRONMENT_KILN_CLANG, "clang"},
                 {KILN_ENVIRONMENT_KILN_HOST_CXX, "host"}};
    enum kiln_status status = KILN_OK;
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        struct kiln_compiler compiler = {.ops = kiln_compiler_by_name(named[i].compiler)};
        if (strcmp(kiln_environment_info(named[i].variable)->name, name) != 0)
            continue;
        status = compiler.ops->find(&compiler, error);
        if (status == KILN_OK)
            kiln_compiler_fini(&compiler);
    }
    if (status == KILN_OK || kiln_status_may_pass(status))
        return KILN_OK;
    kiln_error_prefix(error, "%s is '%.160s'", name, value);
    kiln_error_hint(error, "correct or unset %s", name);
    return status;
}

static enum kiln_status check_worker(const char *name, const char *value, struct kiln_error *error)
{
    char *path = NULL;
    if (kiln_environment_flag(KILN_ENVIRONMENT_KILN_COMPILE_IN_PROCESS) ||
        kiln_worker_find(value, &path, error) == KILN_OK) {
        free(path);
        return KILN_OK;
    }
    kiln_error_prefix(error, "%s", name);
    return error->status;
}

/* A directory is made when it is needed, so the nearest one above it that exists has to be
 * writable. */
static enum kiln_status check_output_directory(const char *name, const char *value,
                                               struct kiln_error *error)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s", value) >= sizeof path)
        return kiln_error_set(error, KILN_BAD_ARGUMENT, "%s: the path is too long", name);
    struct stat attributes;
    int found;
    /* The working directory may be gone. */
    while ((found = stat(path, &attributes)) != 0 && errno == ENOENT && strcmp(path, ".") != 0) {
        char *slash = strrchr(path, '/');
        if (slash == NULL)
            (void)strcpy(path, ".");
        else
            slash[slash == path] = '\0';
    }
    int problem = 0;
    if (found != 0)
        problem = errno;
    else if (!S_ISDIR(attributes.st_mode))
        problem = ENOTDIR;
    else if (access(path, W_OK | X_OK) != 0)
        problem = errno;
    if (problem == 0)
        return KILN_OK;
    (void)kiln_error_set(error, kiln_status_of_errno(problem), "%s: cannot write to '%s': %s", name,
                         value, strerror(problem));
    kiln_error_hint(error, "name a directory that this user may write to");
    return error->status;
}

static const struct setting settings[] = {
    {KILN_ENVIRONMENT_KILN_DEVICE, check_device, 0},
    {KILN_ENVIRONMENT_KILN_HIP_LIBRARY, check_library, 0},
    {KILN_ENVIRONMENT_KILN_CUDA_LIBRARY, check_library, 0},
    {KILN_ENVIRONMENT_KILN_CAPTURE_DIR, check_output_directory, 0},
    {KILN_ENVIRONMENT_KILN_COMPILE_WORKER, check_worker, IS_WORKER},
    {KILN_ENVIRONMENT_KILN_COMGR_LIBRARY, check_compiler, COMPILES(KILN_TARGET_AMDGPU)},
    {KILN_ENVIRONMENT_KILN_NVRTC_LIBRARY, check_compiler, COMPILES(KILN_TARGET_CUDA)},
    {KILN_ENVIRONMENT_KILN_CLANG, check_compiler, COMPILES(KILN_TARGET_AMDGPU)},
    {KILN_ENVIRONMENT_KILN_HOST_CXX, check_compiler, COMPILES(KILN_TARGET_HOST)},
    {KILN_ENVIRONMENT_KILN_DUMP_DIR, check_output_directory, 0},
    {KILN_ENVIRONMENT_KILN_LOG_LEVEL, check_level, 0},
};

/* Names without "KILN_", which all share: it would make everything near. */
static const char prefix[] = "KILN_";
enum { PREFIX_LENGTH = sizeof prefix - 1 };

static void check_name(const char *name, kiln_settings_report report, void *context)
{
    const char *known[KILN_ENVIRONMENT_COUNT];
    for (unsigned i = 0; i < KILN_ENVIRONMENT_COUNT; i++) {
        known[i] = kiln_environment_info((enum kiln_environment_variable)i)->name + PREFIX_LENGTH;
        if (strcmp(known[i], name + PREFIX_LENGTH) == 0)
            return;
    }
    char hint[KILN_WORD_HINT_BYTES];
    /* Other programs have variables of this prefix too. */
    if (!kiln_word_hint(hint, name + PREFIX_LENGTH, prefix, known, KILN_ENVIRONMENT_COUNT))
        return;
    char sentence[KILN_WORD_HINT_BYTES + 256];
    (void)snprintf(sentence, sizeof sentence, "%s is not a variable of Kiln; %s", name, hint);
    report(context, name, sentence);
}

void kiln_settings_check_names(kiln_settings_report report, void *context)
{
    for (size_t i = 0; environ != NULL && environ[i] != NULL; i++) {
        char name[64]; /* longer ones are near nothing */
        size_t length = strcspn(environ[i], "=");
        if (strncmp(environ[i], prefix, PREFIX_LENGTH) != 0 || length >= sizeof name)
            continue;
        memcpy(name, environ[i], length);
        name[length] = '\0';
        check_name(name, report, context);
    }
}

void kiln_settings_check(kiln_settings_report report, void *context)
{
    kiln_settings_check_names(report, context);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const char *name = kiln_environment_info(settings[i].variable)->name;
        const char *value = kiln_environment_text(settings[i].variable);
        struct kiln_error error;
        kiln_error_init(&error);
        if (value != NULL && *value != '\0' && settings[i].check(name, value, &error))
            report(context, name, error.text);
    }
}

static void give_notice(void *context, const char *variable, const char *sentence)
{
    (void)context;
    (void)variable;
    kiln_notice("%s", sentence);
}

void kiln_settings_check_once(void)
{
    static atomic_bool was_checked;
    if (atomic_exchange(&was_checked, true))
        return;
    kiln_settings_check(give_notice, NULL);
    /* Its reader is the worker, which cannot tell anyone. */
    (void)kiln_environment_number(KILN_ENVIRONMENT_KILN_COMPILE_MEMORY, 0, 1U << 24, 4096);
}

void kiln_settings_blame(const struct kiln_target *target, bool has_worker,
                         const struct kiln_error *reason)
{
    unsigned parts = has_worker ? COMPILES(target->kind) : IS_WORKER;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const char *name = kiln_environment_info(settings[i].variable)->name;
        const char *value = kiln_environment_text(settings[i].variable);
        struct kiln_error error;
        kiln_error_init(&error);
        /* kiln_settings_check_once has told of files that are not there. */
        if ((settings[i].parts & parts) == 0 || value == NULL || *value == '\0' ||
            settings[i].check(name, value, &error))
            continue;
        kiln_notice("graphs are declined, because nothing compiles for target '%s': %.*s\n"
                    "hint: correct or unset %s, which is '%.160s'; 'kiln doctor' tests it",
                    target->name, (int)strcspn(reason->text, "\n"), reason->text, name, value);
        return;
    }
}
