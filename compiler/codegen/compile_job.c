#include "compiler/codegen/compile_job.h"

#include "runtime/support/thread.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

void kiln_compile_result_init(struct kiln_compile_result *result)
{
    result->status = KILN_OK;
    kiln_error_init(&result->error);
    kiln_buffer_init(&result->object);
    kiln_buffer_init(&result->log);
    result->compiler[0] = '\0';
    result->cpu_ns = 0;
}

void kiln_compile_result_fini(struct kiln_compile_result *result)
{
    kiln_buffer_fini(&result->object);
    kiln_buffer_fini(&result->log);
}

static enum kiln_status do_task(const struct kiln_compile_request *request,
                                const struct kiln_compiler *compiler,
                                struct kiln_compile_result *result)
{
    switch (request->task) {
    case KILN_COMPILE_TASK_QUERY:
        return compiler->ops->try_out == NULL
                   ? KILN_OK
                   : compiler->ops->try_out(compiler, &request->target,
                                            request->source.is_in_process, &result->error);
    case KILN_COMPILE_TASK_COMPILE:
        return compiler->ops->compile(compiler, &request->target, &request->source, &result->object,
                                      &result->log, &result->error);
    case KILN_COMPILE_TASK_DISASSEMBLE:
        return compiler->ops->disassemble(compiler, &request->target, &request->source,
                                          &result->object, &result->error);
    }
    return kiln_error_set(&result->error, KILN_BAD_ARGUMENT, "unknown task %d", request->task);
}

static enum kiln_status run_job(const struct kiln_compile_request *request,
                                struct kiln_compile_result *result)
{
    /* A compiler that is of no use here stands back for the next; its reason is told when none is
     * left. What may pass (no memory) or has changed must not decide who compiles: which compiler
     * does is a function of what is installed. */
    enum kiln_status status = KILN_OK;
    for (size_t i = 0; i < request->compiler_count; i++) {
        const struct kiln_compiler *compiler = &request->compilers[i];
        bool is_serving = false;
        if (compiler->ops->kind != request->target.kind)
            continue;
        enum kiln_status asked =
            compiler->ops->serves(compiler, &request->target, &is_serving, &result->error);
        if (asked == KILN_UNSUPPORTED) {
            status = asked;
            continue;
        }
        if (asked != KILN_OK)
            return asked;
        if (!is_serving)
            continue;
        (void)snprintf(result->compiler, sizeof result->compiler, "%s", compiler->ops->name);
        status = do_task(request, compiler, result);
        if (status == KILN_OK)
            status = kiln_buffer_check(&result->object, &result->error);
        return status;
    }
    return status != KILN_OK ? status
                             : kiln_toolchain_unsupported(&request->target, &result->error);
}

static uint64_t nanoseconds(struct timeval time)
{
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_usec * 1000;
}

/* CPU time until now. A worker does one job at a time, with whatever threads a compiler starts;
 * in a host only this thread is known to work for the job. */
static uint64_t cpu_time_ns(bool is_in_process)
{
    const int sources[] = {is_in_process ? RUSAGE_THREAD : RUSAGE_SELF, RUSAGE_CHILDREN};
    uint64_t sum = 0;
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        struct rusage usage;
        if (getrusage(sources[i], &usage) == 0)
            sum += nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime);
    }
    return sum;
}

void kiln_compile_job_do(const struct kiln_compile_request *request,
                         struct kiln_compile_result *result)
{
    uint64_t start_ns = cpu_time_ns(request->source.is_in_process);
    result->status = run_job(request, result);
    result->cpu_ns = cpu_time_ns(request->source.is_in_process) - start_ns;
}

struct job {
    const struct kiln_compile_request *request;
    struct kiln_compile_result *result;
};

static void *do_job(void *context)
{
    const struct job *job = context;
    kiln_compile_job_do(job->request, job->result);
    return NULL;
}

void kiln_compile_job_run(const struct kiln_compile_request *request,
                          struct kiln_compile_result *result)
{
    struct job job = {.request = request, .result = result};
    pthread_t thread;
    int failure = kiln_thread_start(do_job, &job, KILN_COMPILE_STACK_BYTES, &thread);
    if (failure == 0)
        failure = pthread_join(thread, NULL);
    if (failure != 0)
        result->status =
            kiln_error_set(&result->error, KILN_NO_MEMORY,
                           "cannot start a thread for the compiler: %s", strerror(failure));
}
