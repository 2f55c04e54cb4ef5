#include "cli/compile_jobs.h"

#include "cli/command_line.h"
#include "cli/graph_input.h"
#include "cli/hash_index.h"
#include "cli/message.h"
#include "cli/spills.h"
#include "cli/text.h"
#include "compiler/graph/graph_reader.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A file and its graph, read by the first of its jobs and dropped by the last. */
struct source {
    pthread_mutex_t lock; /* held while reading: the other jobs of this file wait for it */
    bool is_read;
    bool has_hash;
    bool is_no_graph;
    bool is_elsewhere;
    size_t jobs_left;
    size_t first_equal; /* index of the first file that was read with an equal graph */
    struct kiln_hash128 hash;
    enum kiln_status status;
    struct kiln_error *error;       /* when status is not KILN_OK */
    struct kiln_graph_input *input; /* while somebody needs it */
};

struct job {
    bool ready;
    size_t first_waiting; /* index + 1 of a job with an equal graph that wants this one's result */
    size_t next_waiting;  /* index + 1: the list goes on */
    char *sentence;       /* owned; NULL when done */
    json_t *spills;       /* owned until the run ends: jobs of equal graphs show them too */
    struct kiln_compile_result result;
};

struct run {
    struct kiln_engine *engine;
    const struct kiln_graph_files *files;
    const struct kiln_target_list *targets;
    const struct kiln_shard *shard;
    struct source *sources;
    struct job *jobs;
    size_t job_count;

    pthread_mutex_t lock; /* of all below, and of the jobs that are ready or waited for */
    pthread_cond_t changed;
    struct kiln_hash_index graphs;
    size_t next;
    size_t done;
    size_t failed;
    bool cancelled; /* no job begins any more */
};

/* Nothing compares the bytes of graphs that have one hash. Should two different ones ever meet, the
 * worst that comes of it is that one of them is not precompiled. */
static struct kiln_hash128 hash_graph(const struct kiln_graph *graph)
{
    struct kiln_hash128 hash;
    struct kiln_error error;
    kiln_error_init(&error);
    if (kiln_graph_hash(graph, &hash, &error) != KILN_OK) {
        kiln_message_error("out of memory");
        exit(KILN_EXIT_ENVIRONMENT);
    }
    return hash;
}

static void drop_input(struct source *source)
{
    if (source->input)
        kiln_graph_input_fini(source->input);
    free(source->input);
    source->input = NULL;
}

static void read_source(struct run *run, size_t file_index)
{
    struct source *source = &run->sources[file_index];
    source->error = kiln_cli_calloc(1, sizeof(*source->error));
    source->input = kiln_cli_calloc(1, sizeof(*source->input));
    kiln_error_init(source->error);
    const struct kiln_graph_file *file = &run->files->files[file_index];
    if (file->trouble)
        source->status = kiln_error_set(source->error, KILN_IO, "%s", file->trouble);
    else
        source->status = kiln_graph_input_read(file->path, source->input, source->error);
    source->is_no_graph = source->status != KILN_OK && kiln_graph_input_is_no_graph(source->error);
    const struct kiln_buffer *bytes = &source->input->bytes;
    source->has_hash = source->status == KILN_OK || bytes->size;
    if (source->status == KILN_OK)
        source->hash = hash_graph(&source->input->graph);
    else if (source->has_hash)
        source->hash = kiln_hash128(bytes->data, bytes->size);
    source->is_elsewhere = !kiln_shard_has(run->shard, source->hash);
    source->first_equal = file_index;
    if (source->status == KILN_OK && !source->is_elsewhere) {
        kiln_buffer_fini(&source->input->bytes); /* the graph does not refer to it */
        pthread_mutex_lock(&run->lock);
        source->first_equal = kiln_hash_index_put(&run->graphs, source->hash, file_index);
        pthread_mutex_unlock(&run->lock);
    }
    if (source->status != KILN_OK || source->is_elsewhere || source->first_equal != file_index)
        drop_input(source);
    if (source->status == KILN_OK) {
        free(source->error); /* of thousands of files it would add up */
        source->error = NULL;
    }
    source->is_read = true;
}

static void release_source(struct source *source)
{
    pthread_mutex_lock(&source->lock);
    bool is_last = --source->jobs_left == 0;
    pthread_mutex_unlock(&source->lock);
    if (is_last) {
        drop_input(source);
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

static void compile_graph(struct run *run, const struct kiln_graph *graph, struct job *job)
{
    struct kiln_compile_result *result = &job->result;
    const struct kiln_compiled_program *program = NULL;
    struct kiln_error error;
    kiln_error_init(&error);
    enum kiln_status status =
        kiln_engine_program_key(run->engine, graph, result->target, result->key, &error);
    if (status == KILN_OK)
        status = kiln_engine_compile(run->engine, graph, result->target, &program, &result->origin,
                                     &error);
    if (status != KILN_OK) {
        set_failure(job, status == KILN_REJECTED ? KILN_COMPILE_DECLINED : KILN_COMPILE_BROKEN,
                    &error);
        return;
    }
    result->outcome = KILN_COMPILE_DONE;
    result->kernels = program->kernel_count;
    for (uint32_t i = 0; i < program->kernel_count; i++) {
        const struct kiln_code_object *object = &program->kernels[i].object;
        result->code_bytes += object->size;
        result->compile_ns += object->compile_ns;
        if (object->compile_ns > result->slowest_ns)
            result->slowest_ns = object->compile_ns;
        if (object->resources.scratch_bytes > result->scratch_bytes)
            result->scratch_bytes = object->resources.scratch_bytes;
    }
    job->spills = kiln_spills_to_json(program);
    result->spills = job->spills;
    kiln_compiled_program_unref(program);
}

/* What became of an equal graph became of this one. */
static void take_result(struct job *job, const struct job *first)
{
    struct kiln_compile_result *result = &job->result;
    const struct kiln_compile_result *other = &first->result;
    memcpy(result->key, other->key, sizeof(result->key));
    if (other->outcome == KILN_COMPILE_DONE) {
        result->outcome = KILN_COMPILE_DONE;
        result->origin = KILN_ORIGIN_MEMORY;
        result->kernels = other->kernels;
        result->code_bytes = other->code_bytes;
        result->scratch_bytes = other->scratch_bytes;
        result->spills = other->spills;
        return;
    }
    struct kiln_error error;
    kiln_error_init(&error);
    (void)kiln_error_set(&error, other->status, "graph '%s', which is equal to it, failed",
                         other->path);
    error.reject_reason = other->reject_reason;
    set_failure(job, other->outcome, &error);
}

/* True if the job waits for the job of an equal graph. Otherwise it takes the result. */
static bool wait_for_equal(struct run *run, size_t index, size_t first)
{
    struct job *job = &run->jobs[index];
    struct job *other = &run->jobs[first];
    pthread_mutex_lock(&run->lock);
    bool has_to_wait = !other->ready;
    if (has_to_wait) {
        job->next_waiting = other->first_waiting;
        other->first_waiting = index + 1;
    } else {
        take_result(job, other);
    }
    pthread_mutex_unlock(&run->lock);
    return has_to_wait;
}

/* False when the job waits for another one, whose end will be its own. */
static bool run_job(struct run *run, size_t index)
{
    size_t target_count = run->targets->count;
    size_t file_index = index / target_count;
    size_t target_index = index % target_count;
    const struct kiln_graph_file *file = &run->files->files[file_index];
    struct source *source = &run->sources[file_index];
    struct job *job = &run->jobs[index];
    uint64_t start_ns = kiln_clock_ns();
    bool is_done = true;

    job->result = (struct kiln_compile_result){.path = file->path,
                                               .asked = file->asked,
                                               .target = &run->targets->targets[target_index],
                                               .sentence = ""};
    pthread_mutex_lock(&source->lock);
    if (!source->is_read)
        read_source(run, file_index);
    pthread_mutex_unlock(&source->lock);
    job->result.has_hash = source->has_hash;
    job->result.hash = source->hash;

    if (source->status != KILN_OK || source->is_elsewhere) {
        job->result.target = NULL;
        if (target_index != 0)
            job->result.outcome = KILN_COMPILE_REPEATED;
        else if (source->is_elsewhere)
            job->result.outcome = KILN_COMPILE_ELSEWHERE;
        else
            set_failure(job, outcome_of_unread(source, file->is_found), source->error);
    } else if (source->first_equal != file_index) {
        is_done = !wait_for_equal(run, index, source->first_equal * target_count + target_index);
    } else {
        compile_graph(run, &source->input->graph, job);
    }
    if (is_done) /* else the job may be another thread's by now */
        job->result.duration_ns = kiln_clock_ns() - start_ns;
    release_source(source);
    return is_done;
}

static bool is_failure(enum kiln_compile_outcome outcome)
{
    return outcome == KILN_COMPILE_UNREADABLE || outcome == KILN_COMPILE_BROKEN;
}

/* Called with the lock held. */
static void finish_job(struct run *run, size_t index)
{
    struct job *job = &run->jobs[index];
    job->ready = true;
    run->done++;
    run->failed += is_failure(job->result.outcome);
    for (size_t waiting = job->first_waiting; waiting;) {
        struct job *other = &run->jobs[waiting - 1];
        size_t next = other->next_waiting;
        take_result(other, job);
        finish_job(run, waiting - 1); /* nobody waits for that one */
        waiting = next;
    }
    job->first_waiting = 0;
}

static void *work(void *context)
{
    struct run *run = context;
    pthread_mutex_lock(&run->lock);
    while (!run->cancelled && run->next < run->job_count) {
        size_t index = run->next++;
        pthread_mutex_unlock(&run->lock);
        bool is_done = run_job(run, index);
        pthread_mutex_lock(&run->lock);
        if (is_done)
            finish_job(run, index);
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

/* Hands out a result that is ready. Called with the lock held, gives it up meanwhile. */
static bool deliver(struct run *run, struct job *job,
                    const struct kiln_compile_callbacks *callbacks)
{
    if (job->result.outcome == KILN_COMPILE_REPEATED)
        return true;
    pthread_mutex_unlock(&run->lock);
    bool go_on = callbacks->result(callbacks->context, &job->result);
    free(job->sentence);
    job->sentence = NULL;
    pthread_mutex_lock(&run->lock);
    return go_on;
}

/* Hands out results as they become ready, in their order, until the run is over or cancelled.
 * Returns how many jobs it is done with, or SIZE_MAX when nobody wants more. */
static size_t deliver_results(struct run *run, const struct kiln_compile_callbacks *callbacks)
{
    pthread_mutex_lock(&run->lock);
    size_t delivered = 0;
    while (delivered < run->job_count && !run->cancelled) {
        struct job *job = &run->jobs[delivered];
        size_t done = run->done;
        size_t failed = run->failed;
        pthread_mutex_unlock(&run->lock);
        bool go_on = callbacks->progress(callbacks->context, done, failed);
        pthread_mutex_lock(&run->lock);
        run->cancelled = !go_on;
        if (run->cancelled)
            break;
        if (!job->ready) {
            wait_for_change(run);
            continue;
        }
        delivered++;
        if (!deliver(run, job, callbacks)) {
            run->cancelled = true;
            delivered = SIZE_MAX;
        }
    }
    pthread_mutex_unlock(&run->lock);
    return delivered;
}

/* After the threads of a cancelled run have ended: what they still finished, gaps left out. */
static void deliver_rest(struct run *run, size_t delivered,
                         const struct kiln_compile_callbacks *callbacks)
{
    pthread_mutex_lock(&run->lock);
    for (size_t i = delivered; i < run->job_count; i++)
        if (run->jobs[i].ready && !deliver(run, &run->jobs[i], callbacks))
            break;
    pthread_mutex_unlock(&run->lock);
}

enum kiln_status kiln_compile_jobs_run(struct kiln_engine *engine,
                                       const struct kiln_graph_files *files,
                                       const struct kiln_target_list *targets,
                                       const struct kiln_shard *shard, unsigned threads,
                                       const struct kiln_compile_callbacks *callbacks,
                                       struct kiln_error *error)
{
    struct run run = {.engine = engine, .files = files, .targets = targets, .shard = shard};
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
    size_t delivered = SIZE_MAX;
    if (threads && !started)
        status = kiln_error_set(error, KILN_IO, "cannot start a thread: %s", strerror(failure));
    else
        delivered = deliver_results(&run, callbacks);
    for (unsigned i = 0; i < started; i++)
        pthread_join(workers[i], NULL);
    deliver_rest(&run, delivered, callbacks);

    free(workers);
    pthread_cond_destroy(&run.changed);
    pthread_mutex_destroy(&run.lock);
    for (size_t i = 0; i < run.job_count; i++) {
        free(run.jobs[i].sentence);
        json_decref(run.jobs[i].spills);
    }
    for (size_t i = 0; i < files->count; i++) {
        pthread_mutex_destroy(&run.sources[i].lock);
        free(run.sources[i].error); /* this and the next: left over when the run ended early */
        drop_input(&run.sources[i]);
    }
    kiln_hash_index_fini(&run.graphs);
    free(run.jobs);
    free(run.sources);
    return status;
}
