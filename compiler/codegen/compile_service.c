#include "compiler/codegen/compile_service.h"

#include "compiler/codegen/worker_process.h"
#include "runtime/support/log.h"
#include "runtime/support/process_mutex.h"
#include "runtime/support/subprocess.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { QUERY_SECONDS = 10 };

struct kiln_compile_service {
    /* Of all below but the counter; never held while something runs. */
    struct kiln_process_mutex lock;
    pthread_cond_t freed;
    char *worker_path;        /* NULL until found */
    pid_t owner;              /* the process whose workers these are */
    struct kiln_worker *idle; /* list */
    uint32_t worker_count;    /* idle, busy and starting */
    uint32_t max_workers;
    uint32_t timeout_seconds;
    bool in_process;
    _Atomic uint64_t workers_started;
};

enum kiln_status kiln_compile_service_create(const char *worker_path, uint32_t max_workers,
                                             uint32_t timeout_seconds, bool in_process,
                                             struct kiln_compile_service **ret_service,
                                             struct kiln_error *error)
{
    struct kiln_compile_service *service = calloc(1, sizeof *service);
    char *path = worker_path != NULL ? strdup(worker_path) : NULL;
    if (service == NULL || (worker_path != NULL && path == NULL) ||
        pthread_cond_init(&service->freed, NULL) != 0) {
        free(service);
        free(path);
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory for the compile service");
    }
    kiln_process_mutex_init(&service->lock);
    service->worker_path = path;
    service->owner = getpid();
    service->max_workers = max_workers;
    service->timeout_seconds = timeout_seconds;
    service->in_process = in_process;
    *ret_service = service;
    return KILN_OK;
}

void kiln_compile_service_destroy(struct kiln_compile_service *service)
{
    if (service == NULL)
        return;
    while (service->idle != NULL) {
        struct kiln_worker *worker = service->idle;
        service->idle = worker->next;
        kiln_worker_end(worker);
    }
    (void)pthread_cond_destroy(&service->freed);
    kiln_process_mutex_fini(&service->lock);
    free(service->worker_path);
    free(service);
}

uint64_t kiln_compile_service_workers_started(const struct kiln_compile_service *service)
{
    return atomic_load_explicit(&service->workers_started, memory_order_relaxed);
}

static void lock(struct kiln_compile_service *service)
{
    if (!kiln_process_mutex_lock(&service->lock))
        service->idle = NULL; /* the parent's */
}

/* An idle worker, or NULL and the right to start one: waits for either. */
static struct kiln_worker *acquire(struct kiln_compile_service *service)
{
    struct kiln_worker *worker = NULL;
    struct kiln_worker *inherited = NULL;
    lock(service);
    /* After a fork the workers are still the parent's, also those that are busy there, and so are
     * the threads that the condition counts as waiting. */
    if (service->owner != getpid()) {
        service->owner = getpid();
        (void)pthread_cond_init(&service->freed, NULL);
        inherited = service->idle;
        service->idle = NULL;
        service->worker_count = 0;
    }
    while (service->idle == NULL && service->worker_count >= service->max_workers)
        (void)pthread_cond_wait(&service->freed, &service->lock.mutex);
    worker = service->idle;
    if (worker != NULL)
        service->idle = worker->next;
    else
        service->worker_count++;
    kiln_process_mutex_unlock(&service->lock);
    while (inherited != NULL) {
        struct kiln_worker *next = inherited->next;
        kiln_worker_end(inherited);
        inherited = next;
    }
    return worker;
}

/* Gives back what acquire gave: the worker, or with NULL the place of one. */
static void release(struct kiln_compile_service *service, struct kiln_worker *worker)
{
    bool is_usable = worker != NULL && !worker->is_dead;
    if (!is_usable)
        kiln_worker_end(worker);
    lock(service);
    if (is_usable) {
        worker->next = service->idle;
        service->idle = worker;
    } else if (service->worker_count != 0) {
        service->worker_count--;
    }
    (void)pthread_cond_signal(&service->freed);
    kiln_process_mutex_unlock(&service->lock);
}

/* The worker program, looked for once. The path lives as long as the service. */
static enum kiln_status find_worker(struct kiln_compile_service *service, const char **ret_path,
                                    struct kiln_error *error)
{
    lock(service);
    *ret_path = service->worker_path;
    kiln_process_mutex_unlock(&service->lock);
    if (*ret_path != NULL)
        return KILN_OK;
    /* Without the lock: a forked child would lose what it guards. */
    char *found = NULL;
    enum kiln_status status = kiln_worker_find(NULL, &found, error);
    if (status != KILN_OK)
        return status;
    lock(service);
    if (service->worker_path == NULL) {
        service->worker_path = found;
        found = NULL;
    }
    *ret_path = service->worker_path;
    kiln_process_mutex_unlock(&service->lock);
    free(found);
    return KILN_OK;
}

static enum kiln_status start_worker(struct kiln_compile_service *service, uint64_t deadline,
                                     struct kiln_worker **ret_worker, struct kiln_error *error)
{
    const char *path = NULL;
    enum kiln_status status = find_worker(service, &path, error);
    if (status == KILN_OK)
        status = kiln_worker_start(path, deadline, ret_worker, error);
    if (status == KILN_OK) {
        (void)atomic_fetch_add_explicit(&service->workers_started, 1, memory_order_relaxed);
        kiln_log(KILN_LOG_INFO, "started compile worker '%s' as process %d", path,
                 (int)(*ret_worker)->process);
    }
    return status;
}

enum kiln_status kiln_compile_service_run(struct kiln_compile_service *service,
                                          const struct kiln_compile_request *request,
                                          struct kiln_compile_result *result,
                                          struct kiln_error *error)
{
    if (service->in_process) {
        struct kiln_compile_request here = *request;
        here.source.is_in_process = true;
        here.source.timeout_milliseconds = service->timeout_seconds * 1000;
        kiln_compile_job_run(&here, result);
        return KILN_OK;
    }

    struct kiln_worker *worker = acquire(service);
    /* Who asks which compiler there is waits with a graph in its hands that others could take. */
    uint64_t seconds = service->timeout_seconds;
    if (request->task == KILN_COMPILE_TASK_QUERY && seconds > QUERY_SECONDS)
        seconds = QUERY_SECONDS;
    uint64_t deadline = kiln_monotonic_milliseconds() + seconds * 1000;
    bool was_idle = worker != NULL && worker->jobs != 0;
    enum kiln_status status =
        worker != NULL ? KILN_OK : start_worker(service, deadline, &worker, error);
    if (status == KILN_OK)
        status = kiln_worker_ask(worker, request, deadline, result, error);
    if (status == KILN_COMPILE_FAILED && was_idle && worker->is_dead) {
        /* It may have been killed while it had nothing to do. A source that kills compilers kills
         * the next one too, and is told then. */
        kiln_log(KILN_LOG_WARN, "%s; asking a new one", error->text);
        kiln_worker_end(worker);
        worker = NULL;
        kiln_buffer_clear(&result->log);
        status = start_worker(service, deadline, &worker, error);
        if (status == KILN_OK)
            status = kiln_worker_ask(worker, request, deadline, result, error);
    }
    release(service, worker);
    return status;
}
