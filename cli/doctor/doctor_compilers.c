/* The compile worker, the compilers, and which of them serves what. */
#include "cli/doctor/doctor.h"
#include "cli/text.h"
#include "compiler/codegen/codegen.h"
#include "compiler/codegen/compiler.h"
#include "compiler/codegen/worker_process.h"
#include "runtime/support/environment.h"
#include "runtime/support/subprocess.h"

#include <stdlib.h>
#include <string.h>

enum { WORKER_START_MS = 15000 };

void kiln_doctor_check_worker(struct kiln_doctor *doctor)
{
    static const char check[] = "worker";
    static const char remedy[] = "install Kiln again, or name its kiln-compile in "
                                 "KILN_COMPILE_WORKER";
    struct kiln_worker *worker = NULL;
    struct kiln_error error;
    char *path = NULL;
    char duration[KILN_TEXT_AMOUNT_BYTES];
    kiln_error_init(&error);
    if (kiln_environment_flag(KILN_ENVIRONMENT_KILN_COMPILE_IN_PROCESS)) {
        kiln_doctor_set_fact(doctor, KILN_DOCTOR_WORKER, "none");
        kiln_doctor_add(doctor, KILN_DOCTOR_SKIPPED, check, NULL,
                        "KILN_COMPILE_IN_PROCESS: compilers run in the program itself");
        return;
    }
    if (kiln_environment_flag(KILN_ENVIRONMENT_KILN_ENFORCE_PRECOMPILED)) {
        kiln_doctor_add(doctor, KILN_DOCTOR_SKIPPED, check, NULL,
                        "KILN_ENFORCE_PRECOMPILED: nothing is compiled");
        return;
    }
    uint64_t start_ns = kiln_clock_ns();
    enum kiln_status status = kiln_worker_find(NULL, &path, &error);
    if (status == KILN_OK)
        status = kiln_worker_start(path, kiln_monotonic_milliseconds() + WORKER_START_MS, &worker,
                                   &error);
    if (status != KILN_OK) {
        kiln_doctor_add_sentence(doctor, KILN_DOCTOR_WRONG, check, remedy, error.text);
    } else {
        kiln_doctor_set_fact(doctor, KILN_DOCTOR_WORKER, path);
        kiln_doctor_add(doctor, KILN_DOCTOR_OK, check, NULL, "%s, which starts in %s", path,
                        kiln_text_duration(duration, kiln_clock_ns() - start_ns));
    }
    kiln_worker_end(worker);
    free(path);
}

/* ---- compilers ---- */

/* The sentence of an error without its hints. */
static int sentence_length(const struct kiln_error *error)
{
    return (int)strcspn(error->text, "\n");
}

/* Number of targets that each compiler serves, and the names of the others. */
struct served {
    unsigned counts[KILN_COMPILER_LIMIT];
    struct kiln_buffer missing;
    unsigned missing_count;
    struct kiln_error error; /* of the device's target */
    char compiler[KILN_COMPILER_NAME_BYTES];
};

static void count_served(struct kiln_codegen *codegen, struct served *served)
{
    for (size_t i = 0; i < kiln_target_count(); i++) {
        struct kiln_target target;
        struct kiln_error error;
        char name[KILN_COMPILER_NAME_BYTES];
        kiln_error_init(&error);
        kiln_target_at(i, &target);
        if (kiln_codegen_compiler(codegen, &target, name, &error) != KILN_OK) {
            kiln_buffer_printf(&served->missing, "%s%s", served->missing_count++ ? ", " : "",
                               target.processor);
            continue;
        }
        for (size_t j = 0; j < kiln_compiler_count(); j++)
            served->counts[j] += strcmp(kiln_compiler_at(j)->name, name) == 0;
    }
}

/* True if another compiler of its kind is asked first, so that it may have nothing left to do. */
static bool has_forerunner(size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (kiln_compiler_at(i)->kind == kiln_compiler_at(index)->kind)
            return true;
    return false;
}

static void report_compiler(struct kiln_doctor *doctor, size_t index, unsigned targets)
{
    const struct kiln_compiler_ops *ops = kiln_compiler_at(index);
    bool are_counted = kiln_doctor_fact(doctor, KILN_DOCTOR_WORKER) != NULL;
    struct kiln_compiler compiler = {0};
    struct kiln_error error;
    kiln_error_init(&error);
    if (ops->find(&compiler, &error) != KILN_OK)
        kiln_doctor_add(doctor, KILN_DOCTOR_SKIPPED, ops->name, NULL, "%.*s; to have it, %s",
                        sentence_length(&error), error.text, ops->hint);
    else if (!are_counted)
        kiln_doctor_add(doctor, KILN_DOCTOR_OK, ops->name, NULL, "%s", compiler.path);
    else if (!targets && !has_forerunner(index))
        kiln_doctor_add(doctor, KILN_DOCTOR_WARNING, ops->name, ops->hint,
                        "%s serves no target: it may be something else, or does not load",
                        compiler.path);
    else
        kiln_doctor_add(doctor, KILN_DOCTOR_OK, ops->name, NULL, "%s, for %u %s", compiler.path,
                        targets, targets == 1 ? "target" : "targets");
    kiln_compiler_fini(&compiler);
}

static void report_compilers(struct kiln_doctor *doctor, const struct served *served)
{
    for (size_t i = 0; i < kiln_compiler_count(); i++)
        report_compiler(doctor, i, served->counts[i]);
    if (served->missing_count == kiln_target_count())
        kiln_doctor_add(doctor, KILN_DOCTOR_SKIPPED, "no compiler", NULL, "for any target");
    else if (served->missing_count)
        kiln_doctor_add(doctor, KILN_DOCTOR_SKIPPED, "no compiler", NULL, "for %s",
                        kiln_buffer_text(&served->missing));
}

/* A shared tier may have kernels that nobody has counted. */
static bool may_have_kernels(const struct kiln_doctor *doctor)
{
    const char *remote = kiln_environment_text(KILN_ENVIRONMENT_KILN_CACHE_REMOTE);
    return kiln_doctor_fact(doctor, KILN_DOCTOR_KERNELS) || (remote && *remote);
}

static void report_precompiled(struct kiln_doctor *doctor, const char *target)
{
    if (may_have_kernels(doctor))
        kiln_doctor_add(doctor, KILN_DOCTOR_OK, "target", NULL,
                        "KILN_ENFORCE_PRECOMPILED: kernels for %s come from caches only", target);
    else
        kiln_doctor_add(doctor, KILN_DOCTOR_WRONG, "target",
                        "name a pack in KILN_CACHE_LAYERS, or unset KILN_ENFORCE_PRECOMPILED",
                        "KILN_ENFORCE_PRECOMPILED is on, and no cache here has kernels for %s",
                        target);
}

static void report_target(struct kiln_doctor *doctor, struct kiln_codegen *codegen,
                          const char *name)
{
    struct kiln_target target;
    struct kiln_error error;
    char compiler[KILN_COMPILER_NAME_BYTES];
    kiln_error_init(&error);
    if (kiln_environment_flag(KILN_ENVIRONMENT_KILN_ENFORCE_PRECOMPILED)) {
        report_precompiled(doctor, name);
        return;
    }
    enum kiln_status status = kiln_target_parse(name, &target, &error);
    if (status == KILN_OK)
        status = kiln_codegen_compiler(codegen, &target, compiler, &error);
    if (status == KILN_OK) {
        kiln_doctor_set_fact(doctor, KILN_DOCTOR_COMPILER, compiler);
        kiln_doctor_add(doctor, KILN_DOCTOR_OK, "target", NULL, "%s is compiled by %s", name,
                        compiler);
    } else {
        bool may_run = may_have_kernels(doctor);
        kiln_doctor_add_sentence(
            doctor, may_run ? KILN_DOCTOR_WARNING : KILN_DOCTOR_WRONG, "target",
            may_run ? "only graphs with kernels in a cache run"
                    : "install a compiler, or name a pack in KILN_CACHE_LAYERS",
            error.text);
    }
}

void kiln_doctor_check_compilers(struct kiln_doctor *doctor)
{
    const char *target = kiln_doctor_fact(doctor, KILN_DOCTOR_TARGET);
    struct kiln_codegen *codegen = NULL;
    struct served served = {.missing_count = 0};
    struct kiln_error error;
    kiln_error_init(&error);
    if (kiln_codegen_create(NULL, &codegen, &error) != KILN_OK) {
        kiln_doctor_add_sentence(doctor, KILN_DOCTOR_WRONG, "compilers", NULL, error.text);
        return;
    }
    kiln_buffer_init(&served.missing);
    if (kiln_doctor_fact(doctor, KILN_DOCTOR_WORKER))
        count_served(codegen, &served);
    report_compilers(doctor, &served);
    if (target)
        report_target(doctor, codegen, target);
    kiln_buffer_fini(&served.missing);
    kiln_codegen_unref(codegen);
}
