#include "runtime/engine/compile_program.h"

#include "runtime/support/log.h"
#include "runtime/support/thread.h"

#include <stdlib.h>
#include <string.h>

/* More threads than this would only queue up for the workers of the pool. */
enum { MAX_COMPILE_THREADS = 8 };

/* One kernel to compile. Each is written by the one thread that took it, and read after all have
 * ended. */
struct kernel_result {
    enum kiln_status status;
    struct kiln_code_object object;
    struct kiln_error error;
};

struct compile_job {
    struct kiln_codegen *codegen;
    const struct kiln_target *target;
    const struct kiln_program *program;
    struct kernel_result *results;
    atomic_uint next_kernel;
};

static void *compile_kernels(void *context)
{
    struct compile_job *job = context;
    for (;;) {
        uint32_t i = atomic_fetch_add(&job->next_kernel, 1);
        if (i >= job->program->kernel_count)
            return NULL;
        struct kernel_result *result = &job->results[i];
        kiln_error_init(&result->error);
        result->status = kiln_codegen_compile(job->codegen, job->target, &job->program->kernels[i],
                                              &result->object, &result->error);
    }
}

/* This thread compiles too; a helper that cannot be started only makes it take longer. */
static void run_job(struct compile_job *job)
{
    pthread_t helpers[MAX_COMPILE_THREADS - 1];
    uint32_t started = 0;
    while (started < MAX_COMPILE_THREADS - 1 && started + 1 < job->program->kernel_count) {
        if (kiln_thread_start(compile_kernels, job, 0, &helpers[started]) != 0)
            break;
        started++;
    }
    compile_kernels(job);
    for (uint32_t i = 0; i < started; i++)
        pthread_join(helpers[i], NULL);
}

static enum kiln_status copy_kernel(struct kiln_shared_program *shared,
                                    const struct kiln_kernel *kernel,
                                    const struct kiln_code_object *object,
                                    struct kiln_compiled_kernel *compiled, struct kiln_error *error)
{
    size_t symbol_bytes = strlen(kernel->symbol) + 1;
    enum kiln_status status =
        kiln_shared_program_allocate(shared, symbol_bytes, 1, &compiled->symbol, error);
    if (status)
        return status;
    memcpy(compiled->symbol, kernel->symbol, symbol_bytes);
    memcpy(compiled->grid, kernel->grid, sizeof(compiled->grid));
    memcpy(compiled->block, kernel->block, sizeof(compiled->block));
    compiled->lds_bytes = kernel->lds_bytes;
    compiled->uses_barrier = kernel->uses_barrier;
    compiled->argument_count = kernel->argument_count;
    status = kiln_shared_program_allocate(
        shared, kernel->argument_count, sizeof(*compiled->arguments), &compiled->arguments, error);
    if (status)
        return status;
    if (kernel->argument_count)
        memcpy(compiled->arguments, kernel->arguments,
               kernel->argument_count * sizeof(*compiled->arguments));
    status = kiln_shared_program_allocate(shared, object->size, 1, &compiled->object.bytes, error);
    if (status)
        return status;
    memcpy(compiled->object.bytes, object->bytes, object->size);
    compiled->object.size = object->size;
    compiled->object.resources = object->resources;
    return KILN_OK;
}

/* `ret_failed`: the kernel that the error is about; left alone when it is about none. */
static enum kiln_status collect(const struct compile_job *job, struct kiln_shared_program *shared,
                                const struct kiln_kernel **ret_failed, struct kiln_error *error)
{
    const struct kiln_program *program = job->program;
    struct kiln_compiled_program *compiled = &shared->program;
    compiled->workspace_bytes = program->workspace_bytes;
    enum kiln_status status = kiln_shared_program_allocate(
        shared, program->kernel_count, sizeof(*compiled->kernels), &compiled->kernels, error);
    if (status)
        return status;
    compiled->kernel_count = program->kernel_count;
    for (uint32_t i = 0; i < program->kernel_count; i++) {
        const struct kernel_result *result = &job->results[i];
        if (result->status) {
            *error = result->error;
            *ret_failed = &program->kernels[i];
            return result->status;
        }
        status = copy_kernel(shared, &program->kernels[i], &result->object, &compiled->kernels[i],
                             error);
        if (status)
            return status;
    }
    return KILN_OK;
}

static enum kiln_status
compile_lowered(struct kiln_codegen *codegen, const struct kiln_target *target,
                const struct kiln_program *program, struct kiln_shared_program *shared,
                const struct kiln_kernel **ret_failed, struct kiln_error *error)
{
    struct compile_job job = {.codegen = codegen, .target = target, .program = program};
    atomic_init(&job.next_kernel, 0);
    job.results = calloc(program->kernel_count ? program->kernel_count : 1, sizeof(*job.results));
    if (!job.results)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory to compile '%u' kernels",
                              program->kernel_count);
    run_job(&job);
    enum kiln_status status = collect(&job, shared, ret_failed, error);
    for (uint32_t i = 0; i < program->kernel_count; i++) {
        if (job.results[i].status == KILN_OK)
            kiln_code_object_fini(&job.results[i].object);
    }
    free(job.results);
    return status;
}

/* What lowering made is Kiln's own work: a fault in it is a defect, not bad input. */
static enum kiln_status validate(const struct kiln_shared_program *shared,
                                 const struct kiln_graph *graph, struct kiln_error *error)
{
    enum kiln_status status = kiln_compiled_program_validate(&shared->program, graph, error);
    if (status == KILN_CORRUPT) {
        error->status = KILN_INTERNAL;
        return KILN_INTERNAL;
    }
    return status;
}

/* `ret_failed`: the kernel of `program` that the error is about, if any. */
static enum kiln_status
compile_and_check(struct kiln_codegen *codegen, const struct kiln_graph *graph,
                  const struct kiln_target *target, const struct kiln_program *program,
                  struct kiln_shared_program **ret_program, const struct kiln_kernel **ret_failed,
                  struct kiln_error *error)
{
    struct kiln_shared_program *shared = NULL;
    enum kiln_status status = kiln_shared_program_create(&shared, error);
    if (status == KILN_OK)
        status = compile_lowered(codegen, target, program, shared, ret_failed, error);
    if (status == KILN_OK)
        status = validate(shared, graph, error);
    if (status)
        kiln_shared_program_unref(shared);
    else
        *ret_program = shared;
    return status;
}

/* False when that fails too. */
static bool compile_without_vectors(struct kiln_codegen *codegen, const struct kiln_graph *graph,
                                    const struct kiln_target *target,
                                    const struct kiln_lower_options *options,
                                    struct kiln_shared_program **ret_program)
{
    struct kiln_lower_options without_vectors = *options;
    without_vectors.max_vector_elements = 1;
    const struct kiln_kernel *failed = NULL;
    struct kiln_error error;
    kiln_error_init(&error);
    struct kiln_arena arena;
    kiln_arena_init(&arena);
    struct kiln_program program = {0};
    enum kiln_status status =
        kiln_lower(graph, target, &without_vectors, &arena, &program, NULL, &error);
    if (status == KILN_OK)
        status = compile_and_check(codegen, graph, target, &program, ret_program, &failed, &error);
    kiln_arena_fini(&arena);
    return status == KILN_OK;
}

enum kiln_status kiln_compile_program(struct kiln_codegen *codegen, const struct kiln_graph *graph,
                                      const struct kiln_target *target,
                                      const struct kiln_lower_options *options,
                                      struct kiln_lowered_program *lowered,
                                      struct kiln_shared_program **ret_program,
                                      struct kiln_error *error)
{
    const struct kiln_kernel *failed = NULL;
    enum kiln_status status =
        compile_and_check(codegen, graph, target, &lowered->program, ret_program, &failed, error);
    if (status == KILN_COMPILE_FAILED && options->max_vector_elements != 1) {
        /* A compiler that spills, or keeps an array in memory, is refused; element by element there
         * is no array. */
        kiln_log(KILN_LOG_INFO, "compiling for '%s' again without vectors: %.*s", target->name,
                 (int)strcspn(error->text, "\n"), error->text);
        if (compile_without_vectors(codegen, graph, target, options, ret_program)) {
            kiln_error_init(error);
            status = KILN_OK;
        }
    }
    /* The first failure is the one to report. */
    if (failed && (status == KILN_COMPILE_FAILED || status == KILN_TIMEOUT))
        kiln_codegen_dump_source(failed, error);
    return status;
}
