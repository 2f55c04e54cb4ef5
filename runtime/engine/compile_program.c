#include "runtime/engine/compile_program.h"

#include "runtime/support/log.h"
#include "runtime/support/thread.h"

#include <inttypes.h>
#include <string.h>

/* More threads than this would only queue up for the workers of the pool. */
enum { MAX_COMPILE_THREADS = 8 };

/*
 * One kernel on its way down the forms of its schedule (kiln_program_relax). A form is written by
 * the one thread that compiles it, and read after all have ended.
 */
struct candidate {
    bool is_pending; /* program->kernels[i] is to be found or compiled */
    bool is_judged;  /* one form of it at least */
    bool is_settled; /* in the form that a recipe has found to be the best */
    enum kiln_status status;
    struct kiln_shared_kernel *made; /* with KILN_OK; may be known without its code */
    enum kiln_program_origin origin; /* with KILN_OK */
    struct kiln_error error;
    /* The best form so far, with its kernel. */
    bool has_best;
    uint32_t spilled_bytes; /* by the last form that compiled */
    struct kiln_shared_kernel *best;
    struct kiln_kernel best_kernel;
    bool was_compiled;   /* some form of it, for this program */
    bool was_read;       /* some form of it from a cache */
    uint64_t compile_ns; /* of all its forms that were compiled for this program */
    /* The first form, for what is said when none compiles. */
    struct kiln_kernel first_kernel;
    struct kiln_error first_error;
};

struct compile_job {
    const struct kiln_compilation *compilation;
    struct kiln_program *program;
    struct candidate *candidates; /* one per kernel */
    atomic_uint next_kernel;
};

static const struct kiln_target *target_of(const struct compile_job *job)
{
    return job->compilation->scope->target;
}

static bool is_refused(const struct compile_job *job, uint32_t index)
{
    const struct kiln_compilation *compilation = job->compilation;
    return compilation->refused && compilation->recipe->kernels[index] == compilation->refused;
}

static void make_kernel(struct compile_job *job, uint32_t index)
{
    const struct kiln_compilation *compilation = job->compilation;
    const struct kiln_kernel *kernel = &job->program->kernels[index];
    struct candidate *candidate = &job->candidates[index];
    kiln_error_init(&candidate->error);
    candidate->made = NULL;
    candidate->origin = KILN_ORIGIN_COMPILED;
    if (is_refused(job, index))
        candidate->status =
            kiln_kernel_cache_replace(compilation->kernels, compilation->scope, kernel,
                                      compilation->refused, &candidate->made, &candidate->error);
    else
        candidate->status = kiln_kernel_cache_get(compilation->kernels, compilation->scope, kernel,
                                                  candidate->is_settled, &candidate->made,
                                                  &candidate->origin, &candidate->error);
}

static void *compile_kernels(void *context)
{
    struct compile_job *job = context;
    for (;;) {
        uint32_t i = atomic_fetch_add(&job->next_kernel, 1);
        if (i >= job->program->kernel_count)
            return NULL;
        if (job->candidates[i].is_pending)
            make_kernel(job, i);
    }
}

/* Compiles `count` pending kernels. This thread compiles too; a helper that cannot be started only
 * makes it take longer. */
static void compile_pending(struct compile_job *job, uint32_t count)
{
    pthread_t helpers[MAX_COMPILE_THREADS - 1];
    uint32_t started = 0;
    atomic_store(&job->next_kernel, 0);
    while (started < MAX_COMPILE_THREADS - 1 && started + 1 < count) {
        if (kiln_thread_start(compile_kernels, job, 0, &helpers[started]) != 0)
            break;
        started++;
    }
    compile_kernels(job);
    for (uint32_t i = 0; i < started; i++)
        pthread_join(helpers[i], NULL);
}

/* Takes what was made, if it is better than what there was. */
static void keep_best(struct candidate *candidate, const struct kiln_kernel *kernel)
{
    candidate->was_compiled |= candidate->origin == KILN_ORIGIN_COMPILED;
    candidate->was_read |= candidate->origin == KILN_ORIGIN_DISK;
    if (candidate->origin == KILN_ORIGIN_COMPILED)
        candidate->compile_ns += candidate->made->object.compile_ns;
    if (candidate->has_best && candidate->best->object.resources.scratch_bytes <=
                                   candidate->made->object.resources.scratch_bytes) {
        kiln_shared_kernel_unref(candidate->made);
    } else {
        kiln_shared_kernel_unref(candidate->best);
        candidate->best = candidate->made;
        candidate->best_kernel = *kernel;
        candidate->has_best = true;
    }
    candidate->made = NULL;
}

/* The next form of a kernel that spills; the last of one that does not compile, which is the
 * plainest: without arrays, that a compiler could stumble over. */
static enum kiln_status relax(struct compile_job *job, uint32_t index, bool to_the_last,
                              struct kiln_error *error)
{
    enum kiln_status status =
        kiln_program_relax(job->program, job->compilation->graph, index, error);
    bool is_relaxed = status == KILN_OK;
    while (status == KILN_OK && to_the_last)
        status = kiln_program_relax(job->program, job->compilation->graph, index, error);
    return status == KILN_NOT_FOUND && is_relaxed ? KILN_OK : status;
}

/* `kernel` has just been relaxed. */
static void tell_of_retry(const struct compile_job *job, const struct candidate *candidate,
                          const struct kiln_kernel *kernel)
{
    if (candidate->status == KILN_OK)
        kiln_log(KILN_LOG_INFO,
                 "form %" PRIu32 " of kernel '%s' spills %" PRIu32
                 " bytes per work-item on '%s': trying form %" PRIu32,
                 kernel->form, kernel->symbol, candidate->spilled_bytes, target_of(job)->name,
                 kernel->form + 1);
    else
        kiln_log(candidate->has_best ? KILN_LOG_INFO : KILN_LOG_WARN,
                 "kernel '%s' is tried in its plainest form on '%s', which may be slower, since a "
                 "faster one does not compile: %.*s",
                 kernel->symbol, target_of(job)->name, (int)strcspn(candidate->error.text, "\n"),
                 candidate->error.text);
}

/* Every form spills, or those that might not do not compile. */
static void warn_of_spills(const struct compile_job *job, const struct candidate *candidate)
{
    kiln_log(KILN_LOG_WARN,
             "kernel '%s' is slower on '%s' than it should be: for lack of registers it keeps "
             "%" PRIu32 " bytes per work-item in memory",
             candidate->best_kernel.symbol, target_of(job)->name,
             candidate->best->object.resources.scratch_bytes);
}

/* There is no better form: its code is wanted, and stored. */
static enum kiln_status keep_spilling(struct compile_job *job, struct candidate *candidate,
                                      struct kiln_error *error)
{
    const struct kiln_compilation *compilation = job->compilation;
    if (kiln_shared_kernel_has_code(candidate->best)) {
        if (candidate->best->was_compiled_here)
            kiln_kernel_cache_keep(compilation->scope, candidate->best);
        return KILN_OK;
    }
    struct kiln_shared_kernel *whole = NULL;
    enum kiln_program_origin origin;
    enum kiln_status status =
        kiln_kernel_cache_get(compilation->kernels, compilation->scope, &candidate->best_kernel,
                              true, &whole, &origin, error);
    if (status)
        return status;
    kiln_shared_kernel_unref(candidate->best);
    candidate->best = whole;
    candidate->was_compiled |= origin == KILN_ORIGIN_COMPILED;
    return KILN_OK;
}

/* Looks at what a pending kernel has become and decides how it goes on: compiled again in another
 * form (still pending), taken, or failed with the kernel's error. */
static enum kiln_status judge(struct compile_job *job, uint32_t index, struct kiln_error *error)
{
    struct candidate *candidate = &job->candidates[index];
    const struct kiln_kernel *kernel = &job->program->kernels[index];
    candidate->is_pending = false;
    if (!candidate->is_judged)
        candidate->first_error = candidate->error;
    candidate->is_judged = true;
    if (candidate->status == KILN_OK) {
        candidate->spilled_bytes = candidate->made->object.resources.scratch_bytes;
        keep_best(candidate, kernel);
        if (candidate->is_settled ||
            !kiln_kernel_spills(target_of(job), &candidate->best->object.resources))
            return KILN_OK;
    } else if (candidate->status != KILN_COMPILE_FAILED && candidate->status != KILN_TIMEOUT) {
        *error = candidate->error;
        return candidate->status;
    }
    if (candidate->status != KILN_TIMEOUT) {
        enum kiln_status status = relax(job, index, candidate->status != KILN_OK, error);
        candidate->is_pending = status == KILN_OK;
        if (status == KILN_OK)
            tell_of_retry(job, candidate, kernel);
        if (status != KILN_NOT_FOUND)
            return status;
    }
    if (!candidate->has_best) {
        *error = candidate->first_error;
        return error->status;
    }
    warn_of_spills(job, candidate);
    return keep_spilling(job, candidate, error);
}

/* Goes to the forms that the recipe has taken. */
static enum kiln_status settle(struct compile_job *job, struct kiln_error *error)
{
    const struct kiln_compiled_program *recipe = &job->compilation->recipe->program;
    enum kiln_status status = KILN_OK;
    if (recipe->kernel_count != job->program->kernel_count)
        status = KILN_NOT_FOUND;
    for (uint32_t i = 0; i < recipe->kernel_count && status == KILN_OK; i++) {
        const struct kiln_kernel *kernel = &job->program->kernels[i];
        while (status == KILN_OK && kernel->form < recipe->kernels[i].form)
            status = relax(job, i, false, error);
        if (status == KILN_OK && strcmp(kernel->symbol, recipe->kernels[i].symbol) != 0)
            status = KILN_NOT_FOUND;
        job->candidates[i].is_settled = true;
    }
    if (status == KILN_NOT_FOUND)
        return kiln_error_set(error, status, "the recipe of a program is not that of its graph");
    return status;
}

/* Compiles every kernel, in as many forms as it takes. `ret_failed`: the kernel that the error is
 * about; left alone when it is about none. */
static enum kiln_status run_job(struct compile_job *job, const struct kiln_kernel **ret_failed,
                                struct kiln_error *error)
{
    uint32_t count = job->program->kernel_count;
    uint32_t pending = count;
    if (job->compilation->recipe) {
        enum kiln_status status = settle(job, error);
        if (status)
            return status;
    }
    for (uint32_t i = 0; i < count; i++) {
        job->candidates[i].is_pending = true;
        job->candidates[i].first_kernel = job->program->kernels[i];
    }
    while (pending != 0) {
        compile_pending(job, pending);
        pending = 0;
        enum kiln_status result = KILN_OK;
        for (uint32_t i = 0; i < count; i++) {
            struct candidate *candidate = &job->candidates[i];
            if (!candidate->is_pending)
                continue;
            struct kiln_error kernel_error;
            kiln_error_init(&kernel_error);
            enum kiln_status status = judge(job, i, &kernel_error);
            pending += candidate->is_pending;
            if (status != KILN_OK && result == KILN_OK) {
                result = status;
                *error = kernel_error;
                *ret_failed = &candidate->first_kernel;
            }
        }
        if (result != KILN_OK)
            return result;
    }
    return KILN_OK;
}

static enum kiln_status copy_kernel(struct kiln_shared_program *shared, uint32_t index,
                                    const struct kiln_kernel *kernel,
                                    struct kiln_shared_kernel *made, struct kiln_error *error)
{
    struct kiln_compiled_kernel *compiled = &shared->program.kernels[index];
    size_t symbol_bytes = strlen(kernel->symbol) + 1;
    enum kiln_status status =
        kiln_shared_program_allocate(shared, symbol_bytes, 1, &compiled->symbol, error);
    if (status)
        return status;
    memcpy(compiled->symbol, kernel->symbol, symbol_bytes);
    compiled->name = kiln_shared_kernel_name(made);
    memcpy(compiled->grid, kernel->grid, sizeof(compiled->grid));
    memcpy(compiled->block, kernel->block, sizeof(compiled->block));
    compiled->form = kernel->form;
    compiled->argument_count = kernel->argument_count;
    status = kiln_shared_program_allocate(
        shared, kernel->argument_count, sizeof(*compiled->arguments), &compiled->arguments, error);
    if (status)
        return status;
    if (kernel->argument_count)
        memcpy(compiled->arguments, kernel->arguments,
               kernel->argument_count * sizeof(*compiled->arguments));
    if (!kiln_shared_program_attach(shared, index, made))
        return kiln_error_set(error, KILN_INTERNAL, "kernel '%s' is not what was asked for",
                              kernel->symbol);
    return KILN_OK;
}

static enum kiln_status collect(const struct compile_job *job, struct kiln_shared_program *shared,
                                enum kiln_program_origin *ret_origin, struct kiln_error *error)
{
    const struct kiln_program *program = job->program;
    bool was_compiled = false;
    bool was_read = false;
    shared->program.workspace_bytes = program->workspace_bytes;
    enum kiln_status status = kiln_shared_program_set_count(shared, program->kernel_count, error);
    for (uint32_t i = 0; i < program->kernel_count && status == KILN_OK; i++) {
        const struct candidate *candidate = &job->candidates[i];
        was_compiled |= candidate->was_compiled;
        was_read |= candidate->was_read;
        status = copy_kernel(shared, i, &candidate->best_kernel, candidate->best, error);
        shared->program.kernels[i].object.compile_ns = candidate->compile_ns;
    }
    *ret_origin = was_compiled ? KILN_ORIGIN_COMPILED
                  : was_read   ? KILN_ORIGIN_DISK
                               : KILN_ORIGIN_MEMORY;
    return status;
}

static enum kiln_status compile_lowered(const struct kiln_compilation *compilation,
                                        struct kiln_shared_program *shared,
                                        enum kiln_program_origin *ret_origin,
                                        const struct kiln_kernel **ret_failed,
                                        struct kiln_error *error)
{
    struct kiln_lowered_program *lowered = compilation->lowered;
    uint32_t count = lowered->program.kernel_count;
    struct compile_job job = {.compilation = compilation, .program = &lowered->program};
    atomic_init(&job.next_kernel, 0);
    job.candidates = kiln_arena_calloc(&lowered->arena, count, sizeof(*job.candidates));
    if (!job.candidates)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory to compile %u kernels", count);
    enum kiln_status status = run_job(&job, ret_failed, error);
    if (status == KILN_OK)
        status = collect(&job, shared, ret_origin, error);
    for (uint32_t i = 0; i < count; i++) {
        kiln_shared_kernel_unref(job.candidates[i].made);
        kiln_shared_kernel_unref(job.candidates[i].best);
    }
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

enum kiln_status kiln_compile_program(const struct kiln_compilation *compilation,
                                      struct kiln_shared_program **ret_program,
                                      enum kiln_program_origin *ret_origin,
                                      struct kiln_error *error)
{
    const struct kiln_kernel *failed = NULL;
    struct kiln_shared_program *shared = NULL;
    enum kiln_status status = kiln_shared_program_create(&shared, error);
    if (status == KILN_OK)
        status = compile_lowered(compilation, shared, ret_origin, &failed, error);
    if (status == KILN_OK)
        status = validate(shared, compilation->graph, error);
    if (status == KILN_OK)
        *ret_program = shared;
    else
        kiln_shared_program_unref(shared);
    if (failed && (status == KILN_COMPILE_FAILED || status == KILN_TIMEOUT))
        kiln_codegen_dump_source(failed, error);
    return status;
}
