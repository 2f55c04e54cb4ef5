/*
 * Starting other programs from inside a process that is not ours: any number of threads, any signal
 * handlers, any open descriptors. A child gets the three descriptors that it is given and no other,
 * an empty signal mask and default signal actions; nothing here raises SIGPIPE, and no child stays
 * behind as a zombie once it is ended here.
 */
#ifndef KILN_RUNTIME_SUPPORT_SUBPROCESS_H
#define KILN_RUNTIME_SUPPORT_SUBPROCESS_H

#include "runtime/support/buffer.h"
#include "runtime/support/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct kiln_subprocess_spawn {
    const char *const *arguments; /* ends with NULL; the first is a path */
    char *const *environment;     /* ends with NULL; NULL: that of this process */
    int input; /* descriptors of the child; the caller keeps and closes its own */
    int output;
    int error_output;
    bool new_group; /* the child leads a process group: kiln_subprocess_end reaches its children too
                     */
};

/* Starts a program. KILN_NOT_FOUND when there is none at the path, else KILN_IO. */
enum kiln_status kiln_subprocess_start(const struct kiln_subprocess_spawn *spawn,
                                       pid_t *ret_process, struct kiln_error *error) KILN_NODISCARD;

/* Kills the child (with `is_group` all of its process group, also when the child itself has ended)
 * and collects it; returns its wait status, 0 when somebody else has collected it. A process that
 * got the child's number since then is left alone. */
int kiln_subprocess_end(pid_t process, bool is_group);

/* A connected pair of stream sockets, closed on exec, both numbers above 2. */
enum kiln_status kiln_subprocess_socket_pair(int ret_descriptors[2],
                                             struct kiln_error *error) KILN_NODISCARD;

/* Milliseconds of a clock that only goes forward. */
uint64_t kiln_monotonic_milliseconds(void);

struct kiln_subprocess_run {
    const char *const *arguments; /* as above */
    char *const *environment;
    const void *input; /* fed to the child's standard input; it may leave some of it unread */
    size_t input_bytes;
    size_t output_limit_bytes;     /* the rest is read, counted and dropped */
    uint32_t timeout_milliseconds; /* 0: none */
    bool new_group;
};

struct kiln_subprocess_exit {
    int code;   /* exit code; -1 when a signal ended it; 0 when the host collected the child (it
                   ignores SIGCHLD, say), so look at what the program made too */
    int signal; /* 0 when it exited */
    uint64_t dropped_bytes;
};

/*
 * Runs a program to its end and appends what it writes to standard output and standard error, in
 * order, to `output`. The end is when the program has exited and everybody has closed the output.
 * KILN_TIMEOUT when that takes too long: the child is killed then. A program that runs and fails is
 * success here: see `ret_exit`.
 */
enum kiln_status kiln_subprocess_run(const struct kiln_subprocess_run *run,
                                     struct kiln_buffer *output,
                                     struct kiln_subprocess_exit *ret_exit,
                                     struct kiln_error *error) KILN_NODISCARD;

#endif
