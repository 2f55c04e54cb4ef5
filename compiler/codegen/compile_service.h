/*
 * The pool of workers: any number of threads ask, each has a worker to itself for one job. Workers
 * start when there is work and none is idle, up to a limit, and stay until the pool goes; a dead
 * one is replaced at the next job.
 */
#ifndef KILN_COMPILER_CODEGEN_COMPILE_SERVICE_H
#define KILN_COMPILER_CODEGEN_COMPILE_SERVICE_H

#include "compiler/codegen/compile_job.h"

struct kiln_compile_service;

/* `worker_path` may be NULL: kiln_worker_find looks at the first job. With `in_process`, jobs run
 * here and no worker is ever started. */
enum kiln_status kiln_compile_service_create(const char *worker_path, uint32_t max_workers,
                                             uint32_t timeout_seconds, bool in_process,
                                             struct kiln_compile_service **ret_service,
                                             struct kiln_error *error) KILN_NODISCARD;
/* No job may be running. */
void kiln_compile_service_destroy(struct kiln_compile_service *service);

/* Does a job, waiting for a free worker first. The result is initialised by the caller; KILN_OK
 * only says that there is one, result->status how the job went. Otherwise no compiler came to an
 * answer: no worker, it died, or time is over. */
enum kiln_status kiln_compile_service_run(struct kiln_compile_service *service,
                                          const struct kiln_compile_request *request,
                                          struct kiln_compile_result *result,
                                          struct kiln_error *error) KILN_NODISCARD;

uint64_t kiln_compile_service_workers_started(const struct kiln_compile_service *service);

#endif
