#include "compiler/codegen/codegen.h"

#include "compiler/codegen/code_object.h"
#include "compiler/codegen/compile_error.h"
#include "compiler/codegen/compile_service.h"
#include "compiler/codegen/isa_text.h"
#include "compiler/codegen/toolchain.h"
#include "runtime/support/environment.h"
#include "runtime/support/log.h"
#include "runtime/support/process_mutex.h"
#include "runtime/support/subprocess.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEFAULT_WORKERS = 2,
    WORKERS_LIMIT = 256,
    DEFAULT_TIMEOUT_SECONDS = 60,
    TIMEOUT_LIMIT_SECONDS = 86400,
};

struct kiln_codegen {
    atomic_uint references;
    struct kiln_compile_service *service;
    _Atomic uint64_t kernels_compiled;
    /* Of the next two until the toolchain is found; it does not change after. */
    struct kiln_process_mutex lock;
    bool has_toolchain;
    struct kiln_toolchain toolchain;
};

enum kiln_status kiln_codegen_create(const struct kiln_codegen_options *options,
                                     struct kiln_codegen **ret_codegen, struct kiln_error *error)
{
    static const struct kiln_codegen_options defaults = {.max_workers = 0};
    if (options == NULL)
        options = &defaults;
    uint64_t workers = options->max_workers;
    uint64_t timeout = options->timeout_seconds;
    if (workers == 0)
        workers = kiln_environment_number(KILN_ENVIRONMENT_KILN_COMPILE_WORKERS, 1, WORKERS_LIMIT,
                                          DEFAULT_WORKERS);
    if (timeout == 0)
        timeout = kiln_environment_number(KILN_ENVIRONMENT_KILN_COMPILE_TIMEOUT, 1,
                                          TIMEOUT_LIMIT_SECONDS, DEFAULT_TIMEOUT_SECONDS);
    if (workers > WORKERS_LIMIT)
        workers = WORKERS_LIMIT;
    if (timeout > TIMEOUT_LIMIT_SECONDS)
        timeout = TIMEOUT_LIMIT_SECONDS;

    struct kiln_codegen *codegen = calloc(1, sizeof *codegen);
    if (codegen == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory for the code generator");
    kiln_process_mutex_init(&codegen->lock);
    atomic_init(&codegen->references, 1);
    enum kiln_status status = kiln_compile_service_create(
        options->worker_path, (uint32_t)workers, (uint32_t)timeout,
        kiln_environment_flag(KILN_ENVIRONMENT_KILN_COMPILE_IN_PROCESS), &codegen->service, error);
    if (status != KILN_OK) {
        kiln_codegen_unref(codegen);
        return status;
    }
    *ret_codegen = codegen;
    return KILN_OK;
}

struct kiln_codegen *kiln_codegen_ref(struct kiln_codegen *codegen)
{
    (void)atomic_fetch_add_explicit(&codegen->references, 1, memory_order_relaxed);
    return codegen;
}

void kiln_codegen_unref(struct kiln_codegen *codegen)
{
    if (codegen == NULL ||
        atomic_fetch_sub_explicit(&codegen->references, 1, memory_order_acq_rel) != 1)
        return;
    kiln_compile_service_destroy(codegen->service);
    kiln_toolchain_fini(&codegen->toolchain);
    kiln_process_mutex_fini(&codegen->lock);
    free(codegen);
}

static void lock(struct kiln_codegen *codegen)
{
    if (!kiln_process_mutex_lock(&codegen->lock))
        codegen->has_toolchain = false; /* it is found again */
}

static enum kiln_status get_toolchain(struct kiln_codegen *codegen,
                                      const struct kiln_toolchain **ret_toolchain,
                                      struct kiln_error *error)
{
    lock(codegen);
    bool has_toolchain = codegen->has_toolchain;
    kiln_process_mutex_unlock(&codegen->lock);
    if (!has_toolchain) {
        /* Without the lock: a forked child would lose what it guards. Of two threads that look, the
         * first's is taken. */
        struct kiln_toolchain found;
        enum kiln_status status = kiln_toolchain_find(&found, error);
        if (status != KILN_OK)
            return status;
        lock(codegen);
        bool is_late = codegen->has_toolchain;
        if (!is_late)
            codegen->toolchain = found;
        codegen->has_toolchain = true;
        kiln_process_mutex_unlock(&codegen->lock);
        if (is_late)
            kiln_toolchain_fini(&found);
    }
    *ret_toolchain = &codegen->toolchain;
    return KILN_OK;
}

void kiln_codegen_append_options(const struct kiln_target *target, struct kiln_buffer *buffer)
{
    const char *separator = "";
    for (size_t i = 0; i < kiln_compiler_count(); i++) {
        const struct kiln_compiler_ops *ops = kiln_compiler_at(i);
        if (ops->kind != target->kind)
            continue;
        kiln_buffer_printf(buffer, "%s%s %s", separator, ops->name, ops->options());
        separator = "; ";
    }
}

enum kiln_status kiln_codegen_identity(struct kiln_codegen *codegen,
                                       const struct kiln_target *target, const char **ret_identity,
                                       struct kiln_error *error)
{
    const struct kiln_toolchain *toolchain;
    enum kiln_status status = get_toolchain(codegen, &toolchain, error);
    if (status != KILN_OK)
        return status;
    if (toolchain->identities[target->kind] == NULL)
        return kiln_toolchain_unsupported(target, error);
    *ret_identity = toolchain->identities[target->kind];
    return KILN_OK;
}

/* Runs a job; on KILN_OK the result holds a success. The caller inits and finis the result. */
static enum kiln_status run(struct kiln_codegen *codegen, enum kiln_compile_task task,
                            const struct kiln_target *target,
                            const struct kiln_compile_source *source,
                            struct kiln_compile_result *result, struct kiln_error *error)
{
    const struct kiln_toolchain *toolchain;
    enum kiln_status status = get_toolchain(codegen, &toolchain, error);
    if (status != KILN_OK)
        return status;
    if (toolchain->identities[target->kind] == NULL)
        return kiln_toolchain_unsupported(target, error);
    struct kiln_compile_request request = {
        .task = task,
        .target = *target,
        .compilers = toolchain->compilers,
        .compiler_count = toolchain->count,
        .source = *source,
    };
    status = kiln_compile_service_run(codegen->service, &request, result, error);
    if (status == KILN_OK && result->status != KILN_OK) {
        *error = result->error;
        status = result->status;
    }
    /* What has to do with the source, and not with missing compilers, is told with it. */
    if (task == KILN_COMPILE_TASK_COMPILE &&
        (status == KILN_COMPILE_FAILED || status == KILN_TIMEOUT))
        kiln_compile_error_complete(&request, result->compiler, &result->log, error);
    return status;
}

enum kiln_status kiln_codegen_compiler(struct kiln_codegen *codegen,
                                       const struct kiln_target *target,
                                       char ret_name[KILN_COMPILER_NAME_BYTES],
                                       struct kiln_error *error)
{
    struct kiln_compile_result result;
    struct kiln_compile_source source = {.symbol = "", .text = ""};
    kiln_compile_result_init(&result);
    enum kiln_status status =
        run(codegen, KILN_COMPILE_TASK_QUERY, target, &source, &result, error);
    if (status == KILN_OK)
        (void)snprintf(ret_name, KILN_COMPILER_NAME_BYTES, "%s", result.compiler);
    kiln_compile_result_fini(&result);
    return status;
}

enum kiln_status kiln_codegen_compile(struct kiln_codegen *codegen,
                                      const struct kiln_target *target,
                                      const struct kiln_kernel *kernel,
                                      struct kiln_code_object *ret_object, struct kiln_error *error)
{
    struct kiln_compile_result result;
    struct kiln_kernel_resources resources;
    struct kiln_compile_source source = {
        .symbol = kernel->symbol,
        .text = kernel->source,
        .size_bytes = kernel->source_bytes,
    };
    kiln_compile_result_init(&result);
    enum kiln_status status =
        run(codegen, KILN_COMPILE_TASK_COMPILE, target, &source, &result, error);
    if (status == KILN_OK) {
        status = kiln_code_object_check(result.object.data, result.object.size, target, kernel,
                                        &resources, error);
        if (status != KILN_OK) {
            struct kiln_compile_request request = {.target = *target, .source = source};
            kiln_compile_error_complete(&request, result.compiler, &result.log, error);
        }
    }
    if (status == KILN_OK) {
        kiln_log(KILN_LOG_INFO, "kernel '%s' for '%s' was compiled in %llu ms of CPU time by %s",
                 kernel->symbol, target->name, (unsigned long long)(result.cpu_ns / 1000000),
                 result.compiler);
        (void)atomic_fetch_add_explicit(&codegen->kernels_compiled, 1, memory_order_relaxed);
        *ret_object = (struct kiln_code_object){
            .bytes = (unsigned char *)result.object.data,
            .size = result.object.size,
            .resources = resources,
            .compile_ns = result.cpu_ns,
        };
        (void)snprintf(ret_object->compiler, sizeof ret_object->compiler, "%s", result.compiler);
        kiln_buffer_init(&result.object); /* the caller has it now */
    }
    kiln_compile_result_fini(&result);
    return status;
}

void kiln_code_object_fini(struct kiln_code_object *object)
{
    free(object->bytes);
    *object = (struct kiln_code_object){.bytes = NULL};
}

void kiln_codegen_counters(const struct kiln_codegen *codegen,
                           struct kiln_codegen_counters *ret_counters)
{
    *ret_counters = (struct kiln_codegen_counters){
        .workers_started = kiln_compile_service_workers_started(codegen->service),
        .kernels_compiled = atomic_load_explicit(&codegen->kernels_compiled, memory_order_relaxed),
    };
}

enum kiln_status kiln_code_object_disassemble(struct kiln_codegen *codegen,
                                              const struct kiln_target *target, const char *symbol,
                                              const void *bytes, size_t size,
                                              struct kiln_buffer *text, struct kiln_error *error)
{
    struct kiln_compile_result result;
    struct kiln_compile_source object = {.symbol = symbol, .text = bytes, .size_bytes = size};
    kiln_compile_result_init(&result);
    enum kiln_status status =
        run(codegen, KILN_COMPILE_TASK_DISASSEMBLE, target, &object, &result, error);
    if (status == KILN_OK)
        kiln_buffer_append(text, result.object.data, result.object.size);
    kiln_compile_result_fini(&result);
    return status != KILN_OK ? status : kiln_buffer_check(text, error);
}
