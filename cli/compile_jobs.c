#include "cli/compile_jobs.h"

#include "cli/graph_input.h"
#include "cli/text.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A file and its graph, read by the first of its jobs and dropped by the last. */
struct source {
    pthread_mutex_t lock; /* held while reading: the other jobs of this file wait for it */
    bool is_read;
    size_t jobs_left;
    enum kiln_status status;
    struct kiln_error *error; /* when status is not KILN_OK */
    bool is_no_graph;
    struct kiln_graph_input input;
};

struct job {
    bool ready;
    char *sentence; /* owned; NULL when done */
    struct kiln_compile_result result;
};

struct run {
    struct kiln_engine *engine;
    const struct kiln_graph_files *files;
    const struct kiln_target_list *targets;
    struct source *sources;
    struct job *jobs;
    size_t job_count;

    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    size_t next;
    size_t done;
    size_t failed;
    bool cancelled;
};

static void read_source(struct source *source, const char *path)
{
    source->error = kiln_cli_calloc(1, sizeof(*source->error));
    kiln_error_init(source->error);
    source->status = kiln_graph_input_read(path, &source->input, source->error);
    source->is_no_graph = source->status != KILN_OK && kiln_graph_input_is_no_graph(source->error);
    if (source->status == KILN_OK)
        kiln_buffer_fini(&source->input.bytes); /* the graph does not refer to it */
    source->is_read = true;
}

static void release_source(struct source *source)
{
    pthread_mutex_lock(&source->lock);
    bool is_last = --source->jobs_left == 0;
    pthread_mutex_unlock(&source->lock);
    if (is_last) {
        kiln_graph_input_fini(&source->input);
        free(source->error);
        source->error = NULL;
    }
}

static void set_failure(struct job *job, enum kiln_compile_outcome outcome,
                        const struct kiln_error *error)
{
    job->result.outcome = outcome;
    job->result.status = error->status;
    job->result.reject_reason = error->reject_reason;
    job->sentence = kiln_cli_strdup(error->text);
    job->result.sentence = job->sentence;
}

static enum kiln_compile_outcome outcome_of_unread(const struct source *source, bool is_found)
{
    if (source->is_no_graph)
        return is_found ? KILN_COMPILE_SKIPPED : KILN_COMPILE_UNREADABLE;
    return source->status == KILN_REJECTED ? KILN_COMPILE_DECLINED : KILN_COMPILE_UNREADABLE;
}

static void run_job(struct run *run, size_t index)
{
    size_t file_index = index / run->targets->count;
    size_t target_index = index % run->targets->count;
    const struct kiln_graph_file *file = &run->files->files[file_index];
    struct source *source = &run->sources[file_index];
    struct job *job = &run->jobs[index];
    uint64_t start_ns = kiln_clock_ns();

    job->result = (struct kiln_compile_result){
        .path = file->path, .target = &run->targets->targets[target_index], .sentence = ""};
    pthread_mutex_lock(&source->lock);
    if (!source->is_read)
        read_source(source, file->path);
    pthread_mutex_unlock(&source->lock);

    if (source->status != KILN_OK) {
        job->result.target = NULL;
        if (target_index == 0)
            set_failure(job, outcome_of_unread(source, file->is_found), source->error);
        else
            job->result.outcome = KILN_COMPILE_REPEATED;
    } else {
        const struct kiln_compiled_program *program = NULL;
        struct kiln_error error;
        kiln_error_init(&error);
        enum kiln_status status =
            kiln_engine_compile(run->engine, &source->input.graph, job->result.target, &program,
                                &job->result.origin, &error);
        if (status == KILN_OK) {
            job->result.outcome = KILN_COMPILE_DONE;
            job->result.kernels = program->kernel_count;
            for (uint32_t i = 0; i < program->kernel_count; i++)
                job->result.code_bytes += program->kernels[i].object.size;
            kiln_compiled_program_unref(program);
        } else {
            set_failure(job, status == KILN_REJECTED ? KILN_COMPILE_DECLINED : KILN_COMPILE_BROKEN,
                        &error);
        }
    }
    job->result.duration_ns = kiln_clock_ns() - start_ns;
    release_source(source);
}

static void *work(void *context)
{
    struct run *run = context;
    pthread_mutex_lock(&run->lock);
    while (!run->cancelled && run->next < run->job_count) {
        size_t index = run->next++;
        pthread_mutex_unlock(&run->lock);
        run_job(run, index);
        pthread_mutex_lock(&run->lock);
        enum kiln_compile_outcome outcome = run->jobs[index].result.outcome;
        run->jobs[index].ready = true;
        run->done++;
        run->failed += outcome != KILN_COMPILE_DONE && outcome != KILN_COMPILE_SKIPPED &&
                       outcome != KILN_COMPILE_REPEATED;
        pthread_cond_signal(&run->changed);
    }
    pthread_mutex_unlock(&run->lock);
    return NULL;
}

static void wait_for_change(struct run *run)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += 100000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_cond_timedwait(&run->changed, &run->lock, &until);
}

static void deliver_results(struct run *run, const struct kiln_compile_callbacks *callbacks)
{
    pthread_mutex_lock(&run->lock);
    size_t delivered = 0;
    while (delivered < run->job_count && !run->cancelled) {
        struct job *job = &run->jobs[delivered];
        if (!job->ready) {
            size_t done = run->done;
            size_t failed = run->failed;
            if (callbacks->progress) {
                pthread_mutex_unlock(&run->lock);
                callbacks->progress(callbacks->context, done, failed);
                pthread_mutex_lock(&run->lock);
            }
            if (!job->ready)
                wait_for_change(run);
            continue;
        }
        delivered++;
        if (job->result.outcome == KILN_COMPILE_REPEATED)
            continue;
        pthread_mutex_unlock(&run->lock);
        bool go_on = callbacks->result(callbacks->context, &job->result);
        free(job->sentence);
        job->sentence = NULL;
        pthread_mutex_lock(&run->lock);
        run->cancelled = !go_on;
    }
    pthread_mutex_unlock(&run->lock);
}

enum kiln_status kiln_compile_jobs_run(struct kiln_engine *engine,
                                       const struct kiln_graph_files *files,
                                       const struct kiln_target_list *targets, unsigned threads,
                                       const struct kiln_compile_callbacks *callbacks,
                                       struct kiln_error *error)
{
    struct run run = {.engine = engine, .files = files, .targets = targets};
    run.job_count = files->count * targets->count;
    run.sources = kiln_cli_calloc(files->count, sizeof(*run.sources));
    run.jobs = kiln_cli_calloc(run.job_count, sizeof(*run.jobs));
    for (size_t i = 0; i < files->count; i++) {
        pthread_mutex_init(&run.sources[i].lock, NULL);
        run.sources[i].jobs_left = targets->count;
    }
    pthread_mutex_init(&run.lock, NULL);
    pthread_condattr_t clock;
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&run.changed, &clock);
    pthread_condattr_destroy(&clock);

    if (threads > run.job_count)
        threads = (unsigned)run.job_count;
    pthread_t *workers = kiln_cli_calloc(threads, sizeof(*workers));
    unsigned started = 0;
    int failure = 0;
    while (started < threads &&
           (failure = pthread_create(&workers[started], NULL, work, &run)) == 0) {
        started++;
    }
    enum kiln_status status = KILN_OK;
    if (threads && !started)
        status = kiln_error_set(error, KILN_IO, "cannot start a thread: %s", strerror(failure));
    else
        deliver_results(&run, callbacks);
    for (unsigned i = 0; i < started; i++)
        pthread_join(workers[i], NULL);

    free(workers);
    pthread_cond_destroy(&run.changed);
    pthread_mutex_destroy(&run.lock);
    for (size_t i = 0; i < run.job_count; i++)
        free(run.jobs[i].sentence);
    for (size_t i = 0; i < files->count; i++) {
        pthread_mutex_destroy(&run.sources[i].lock);
        free(run.sources[i].error);
        /* Left over only when the run ended early. */
        if (run.sources[i].jobs_left && run.sources[i].is_read)
            kiln_graph_input_fini(&run.sources[i].input);
    }
    free(run.jobs);
    free(run.sources);
    return status;
}
