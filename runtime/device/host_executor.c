#include "runtime/device/host_executor.h"

#include "runtime/device/host_group.h"
#include "runtime/support/log.h"
#include "runtime/support/thread.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

/* One launch; lives on the stack of the thread that launches. */
struct job {
    const struct kiln_host_work *work;
    uint64_t group_count;
    uint64_t grain; /* groups taken at once */
    _Atomic uint64_t next_group;
    /* Under the executor's lock: */
    uint32_t helpers; /* executor's threads that are at it */
    bool is_listed;
    struct job *next;
};

struct kiln_host_executor {
    uint32_t thread_limit; /* of its own threads */
    _Atomic pid_t process; /* whose threads these are; negative: that is being made this process */
    pthread_mutex_t lock;
    pthread_cond_t job_listed;
    pthread_cond_t helper_left;
    /* Under the lock: */
    uint32_t thread_count;
    pthread_t *threads;
    bool is_ending;
    struct job *jobs; /* that have groups to take, newest first */
    struct kiln_host_bench *idle_benches;
};

/* Rounding, denormals and exception masks as a program starts with, whatever the caller has set. */
static unsigned enter_default_arithmetic(void)
{
#if defined(__SSE2__)
    unsigned saved = _mm_getcsr();
    _mm_setcsr(0x1f80);
    return saved;
#else
    return 0;
#endif
}

static void leave_default_arithmetic(unsigned saved)
{
#if defined(__SSE2__)
    _mm_setcsr(saved);
#else
    (void)saved;
#endif
}

static enum kiln_status take_bench(struct kiln_host_executor *executor,
                                   const struct kiln_host_work *work,
                                   struct kiln_host_bench **ret_bench, struct kiln_error *error)
{
    pthread_mutex_lock(&executor->lock);
    struct kiln_host_bench *bench = executor->idle_benches;
    if (bench != NULL)
        executor->idle_benches = *kiln_host_bench_next(bench);
    pthread_mutex_unlock(&executor->lock);
    enum kiln_status status = KILN_OK;
    if (bench == NULL)
        status = kiln_host_bench_create(&bench, error);
    if (status == KILN_OK)
        status = kiln_host_bench_prepare(bench, work, error);
    if (status) {
        kiln_host_bench_destroy(bench);
        return status;
    }
    *ret_bench = bench;
    return KILN_OK;
}

static void give_bench(struct kiln_host_executor *executor, struct kiln_host_bench *bench)
{
    pthread_mutex_lock(&executor->lock);
    *kiln_host_bench_next(bench) = executor->idle_benches;
    executor->idle_benches = bench;
    pthread_mutex_unlock(&executor->lock);
}

static void run_groups(struct kiln_host_bench *bench, struct job *job)
{
    unsigned saved = enter_default_arithmetic();
    for (;;) {
        uint64_t first =
            atomic_fetch_add_explicit(&job->next_group, job->grain, memory_order_relaxed);
        if (first >= job->group_count)
            break;
        uint64_t left = job->group_count - first;
        uint64_t end = first + (left < job->grain ? left : job->grain);
        for (uint64_t group = first; group < end; group++)
            kiln_host_bench_run(bench, group);
    }
    leave_default_arithmetic(saved);
}

static void unlist(struct kiln_host_executor *executor, struct job *job)
{
    if (!job->is_listed)
        return;
    struct job **link = &executor->jobs;
    while (*link != job)
        link = &(*link)->next;
    *link = job->next;
    job->is_listed = false;
}

/* One of the executor's threads takes part in a job, if memory allows; its launcher does the rest.
 */
static void help(struct kiln_host_executor *executor, struct job *job)
{
    struct kiln_error error;
    kiln_error_init(&error);
    struct kiln_host_bench *bench = NULL;
    if (take_bench(executor, job->work, &bench, &error)) {
        kiln_log(KILN_LOG_WARN, "a thread of the host device stays idle: %s", error.text);
        return;
    }
    run_groups(bench, job);
    give_bench(executor, bench);
}

static void *thread_main(void *context)
{
    struct kiln_host_executor *executor = context;
    pthread_mutex_lock(&executor->lock);
    while (!executor->is_ending) {
        struct job *job = executor->jobs;
        if (job == NULL) {
            pthread_cond_wait(&executor->job_listed, &executor->lock);
            continue;
        }
        job->helpers++;
        pthread_mutex_unlock(&executor->lock);
        help(executor, job);
        pthread_mutex_lock(&executor->lock);
        unlist(executor, job); /* nothing is left to take, or no memory to help with */
        if (--job->helpers == 0)
            pthread_cond_broadcast(&executor->helper_left);
    }
    pthread_mutex_unlock(&executor->lock);
    return NULL;
}

/*
 * To be called before anything else. In a forked child the threads, and the jobs that they were at,
 * are the parent's. The lock may be held by one of them, which came late to a job that was done;
 * the conditions still count waiting threads that do not exist here, for which a broadcast would
 * wait. The first thread of the child makes them anew.
 */
static void leave_parent_behind(struct kiln_host_executor *executor)
{
    pid_t here = getpid();
    pid_t process = atomic_load(&executor->process);
    while (process != here) {
        if (process == -here) {
            (void)sched_yield();
            process = atomic_load(&executor->process);
        } else if (atomic_compare_exchange_strong(&executor->process, &process, -here)) {
            executor->thread_count = 0;
            executor->jobs = NULL;
            (void)pthread_mutex_init(&executor->lock, NULL);
            (void)pthread_cond_init(&executor->job_listed, NULL);
            (void)pthread_cond_init(&executor->helper_left, NULL);
            atomic_store(&executor->process, here);
            process = here;
        }
    }
}

/* Under the lock. Fewer threads than wanted will do. */
static void start_threads(struct kiln_host_executor *executor)
{
    if (executor->thread_count == executor->thread_limit)
        return;
    while (executor->thread_count < executor->thread_limit &&
           kiln_thread_start(thread_main, executor, 0,
                             &executor->threads[executor->thread_count]) == 0)
        executor->thread_count++;
    if (executor->thread_count < executor->thread_limit) {
        kiln_log(KILN_LOG_WARN, "the host device has %u threads instead of %u",
                 executor->thread_count + 1, executor->thread_limit + 1);
        executor->thread_limit = executor->thread_count;
    }
}

static void run_job(struct kiln_host_executor *executor, struct kiln_host_bench *bench,
                    struct job *job)
{
    pthread_mutex_lock(&executor->lock);
    start_threads(executor);
    job->next = executor->jobs;
    job->is_listed = true;
    executor->jobs = job;
    pthread_cond_broadcast(&executor->job_listed);
    pthread_mutex_unlock(&executor->lock);

    run_groups(bench, job);

    pthread_mutex_lock(&executor->lock);
    unlist(executor, job);
    while (job->helpers != 0)
        pthread_cond_wait(&executor->helper_left, &executor->lock);
    pthread_mutex_unlock(&executor->lock);
}

enum kiln_status kiln_host_execute(struct kiln_host_executor *executor,
                                   const struct kiln_host_work *work, struct kiln_error *error)
{
    uint64_t group_count;
    if (__builtin_mul_overflow((uint64_t)work->grid[0] * work->grid[1], (uint64_t)work->grid[2],
                               &group_count) ||
        group_count == 0)
        return kiln_error_set(error, KILN_BAD_ARGUMENT,
                              "a grid of %u x %u x %u work-groups cannot be launched",
                              work->grid[0], work->grid[1], work->grid[2]);
    leave_parent_behind(executor);
    struct kiln_host_bench *bench = NULL;
    enum kiln_status status = take_bench(executor, work, &bench, error);
    if (status)
        return status;
    /* Some eight turns per thread even out groups that take longer. */
    uint64_t turns = ((uint64_t)executor->thread_limit + 1) * 8;
    struct job job = {
        .work = work,
        .group_count = group_count,
        .grain = group_count / turns + 1,
    };
    if (group_count == 1 || executor->thread_limit == 0)
        run_groups(bench, &job);
    else
        run_job(executor, bench, &job);
    give_bench(executor, bench);
    return KILN_OK;
}

enum kiln_status kiln_host_executor_create(uint32_t thread_count,
                                           struct kiln_host_executor **ret_executor,
                                           struct kiln_error *error)
{
    struct kiln_host_executor *executor = calloc(1, sizeof *executor);
    pthread_t *threads = calloc(thread_count, sizeof *threads);
    if (executor == NULL || threads == NULL) {
        free(threads);
        free(executor);
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory for the host device");
    }
    atomic_init(&executor->process, getpid());
    executor->threads = threads;
    executor->thread_limit = thread_count - 1;
    pthread_mutex_init(&executor->lock, NULL);
    pthread_cond_init(&executor->job_listed, NULL);
    pthread_cond_init(&executor->helper_left, NULL);
    *ret_executor = executor;
    return KILN_OK;
}

void kiln_host_executor_destroy(struct kiln_host_executor *executor)
{
    if (executor == NULL)
        return;
    leave_parent_behind(executor);
    pthread_mutex_lock(&executor->lock);
    executor->is_ending = true;
    pthread_cond_broadcast(&executor->job_listed);
    pthread_mutex_unlock(&executor->lock);
    for (uint32_t i = 0; i < executor->thread_count; i++)
        pthread_join(executor->threads[i], NULL);
    while (executor->idle_benches != NULL) {
        struct kiln_host_bench *bench = executor->idle_benches;
        executor->idle_benches = *kiln_host_bench_next(bench);
        kiln_host_bench_destroy(bench);
    }
    pthread_cond_destroy(&executor->helper_left);
    pthread_cond_destroy(&executor->job_listed);
    pthread_mutex_destroy(&executor->lock);
    free(executor->threads);
    free(executor);
}
