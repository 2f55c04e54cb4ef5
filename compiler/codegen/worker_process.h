/*
 * One kiln-compile process, seen from the engine: start it, ask it one thing at a time, end it.
 *
 * A worker that crashes, hangs, answers nonsense or is killed gives an error with what it wrote to
 * standard error, and is of no use any more (`is_dead`): end it. Workers are not shared between
 * threads; the pool hands each to one thread.
 */
#ifndef KILN_COMPILER_CODEGEN_WORKER_PROCESS_H
#define KILN_COMPILER_CODEGEN_WORKER_PROCESS_H

#include "compiler/codegen/compile_job.h"

#include <sys/types.h>

struct kiln_worker {
    pid_t process;
    pid_t owner;   /* the process that started it: a forked child of that must not talk to it */
    int socket;    /* requests and results */
    int noise;     /* a file in memory of bounded size: its standard output and standard error */
    char *scratch; /* directory for its temporary files, removed with it */
    bool is_dead;
    uint64_t jobs;            /* answered so far */
    struct kiln_worker *next; /* in the pool */
};

/* Starts the program at `path` and waits for its hello until the deadline
 * (kiln_monotonic_milliseconds). KILN_UNSUPPORTED when there is no such program or it is of another
 * version, KILN_TIMEOUT. */
enum kiln_status kiln_worker_start(const char *path, uint64_t deadline,
                                   struct kiln_worker **ret_worker,
                                   struct kiln_error *error) KILN_NODISCARD;

/*
 * Sends a request and waits for the result. KILN_OK: the worker has answered, and the result says
 * how the job went. KILN_TIMEOUT and KILN_COMPILE_FAILED (the worker died, is mad or has lost its
 * directory): the worker is dead, and result->log holds what it wrote to standard error.
 */
enum kiln_status kiln_worker_ask(struct kiln_worker *worker,
                                 const struct kiln_compile_request *request, uint64_t deadline,
                                 struct kiln_compile_result *result,
                                 struct kiln_error *error) KILN_NODISCARD;

/* Kills the process with all it has started, collects it, removes its temporary files. NULL is
 * fine. */
void kiln_worker_end(struct kiln_worker *worker);

/* A new path of the worker program: `configured`, KILN_COMPILE_WORKER, else where it lies relative
 * to the library or program that this code is part of, installed or in the build tree.
 * KILN_UNSUPPORTED when there is none. */
enum kiln_status kiln_worker_find(const char *configured, char **ret_path,
                                  struct kiln_error *error) KILN_NODISCARD;

#endif
