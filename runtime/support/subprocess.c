#include "runtime/support/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { READ_BYTES = 16384 };

uint64_t kiln_monotonic_milliseconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* In a process whose standard descriptors are closed, new descriptors get their numbers, and moving
 * those into place for a child would close them one by another. */
static bool move_above_standard(int *descriptor)
{
    if (*descriptor > 2)
        return true;
    int moved = fcntl(*descriptor, F_DUPFD_CLOEXEC, 3);
    (void)close(*descriptor);
    *descriptor = moved;
    return moved >= 0;
}

enum kiln_status kiln_subprocess_socket_pair(int ret_descriptors[2], struct kiln_error *error)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return kiln_error_set(error, kiln_status_of_errno(errno),
                              "cannot create a socket pair: %m");
    bool first = move_above_standard(&pair[0]);
    bool second = move_above_standard(&pair[1]);
    if (!first || !second) {
        int moving_errno = errno;
        if (first)
            (void)close(pair[0]);
        if (second)
            (void)close(pair[1]);
        return kiln_error_set(error, kiln_status_of_errno(moving_errno),
                              "cannot create a socket pair: %s", strerror(moving_errno));
    }
    memcpy(ret_descriptors, pair, sizeof pair);
    return KILN_OK;
}

static int set_attributes(posix_spawnattr_t *attributes, bool new_group)
{
    sigset_t none;
    sigset_t all;
    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    if (new_group)
        flags |= POSIX_SPAWN_SETPGROUP;
    int failure = posix_spawnattr_setsigmask(attributes, &none);
    if (failure == 0)
        failure = posix_spawnattr_setsigdefault(attributes, &all);
    if (failure == 0)
        failure = posix_spawnattr_setpgroup(attributes, 0);
    return failure != 0 ? failure : posix_spawnattr_setflags(attributes, flags);
}

static int set_actions(posix_spawn_file_actions_t *actions,
                       const struct kiln_subprocess_spawn *spawn)
{
    int failure = posix_spawn_file_actions_adddup2(actions, spawn->input, STDIN_FILENO);
    if (failure == 0)
        failure = posix_spawn_file_actions_adddup2(actions, spawn->output, STDOUT_FILENO);
    if (failure == 0)
        failure = posix_spawn_file_actions_adddup2(actions, spawn->error_output, STDERR_FILENO);
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    /* The host's own descriptors are not all marked close-on-exec. */
    if (failure == 0)
        failure = posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
#endif
    return failure;
}

enum kiln_status kiln_subprocess_start(const struct kiln_subprocess_spawn *spawn,
                                       pid_t *ret_process, struct kiln_error *error)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int failure = posix_spawn_file_actions_init(&actions);
    if (failure != 0)
        goto done;
    failure = posix_spawnattr_init(&attributes);
    if (failure != 0)
        goto without_attributes;
    failure = set_attributes(&attributes, spawn->new_group);
    if (failure == 0)
        failure = set_actions(&actions, spawn);
    if (failure == 0) {
        pid_t process;
        /* posix_spawn takes char *const[] and changes nothing. */
        failure = posix_spawn(&process, spawn->arguments[0], &actions, &attributes,
                              (char *const *)spawn->arguments,
                              spawn->environment != NULL ? spawn->environment : environ);
        if (failure == 0)
            *ret_process = process;
    }
    (void)posix_spawnattr_destroy(&attributes);
without_attributes:
    (void)posix_spawn_file_actions_destroy(&actions);
done:
    if (failure == 0)
        return KILN_OK;
    return kiln_error_set(error, kiln_status_of_errno(failure), "cannot start '%s': %s",
                          spawn->arguments[0], strerror(failure));
}

/* True if the number is still this child's, running or dead: until it is collected no other process
 * can get it. */
static bool is_uncollected(pid_t process)
{
    siginfo_t info;
    int result;
    do
        result = waitid(P_PID, (id_t)process, &info, WEXITED | WNOHANG | WNOWAIT);
    while (result != 0 && errno == EINTR);
    return result == 0;
}

int kiln_subprocess_end(pid_t process, bool is_group)
{
    int status = 0;
    if (!is_uncollected(process)) {
        /* The host has collected it. What it started may live on, in a group whose number nobody
         * else can have as long as no process has it. */
        if (is_group && kill(process, 0) != 0 && errno == ESRCH)
            (void)kill(-process, SIGKILL);
        return 0;
    }
    (void)kill(is_group ? -process : process, SIGKILL);
    while (waitpid(process, &status, 0) < 0) {
        if (errno != EINTR)
            return 0;
    }
    return status;
}

/* Milliseconds to give to poll; 0 when the time is over. */
static int time_left(uint64_t deadline)
{
    if (deadline == 0)
        return -1;
    uint64_t now = kiln_monotonic_milliseconds();
    if (now >= deadline)
        return 0;
    return deadline - now < INT_MAX ? (int)(deadline - now) : INT_MAX;
}

static void close_descriptor(int *descriptor)
{
    if (*descriptor >= 0)
        (void)close(*descriptor);
    *descriptor = -1;
}

/* One read; false at the end of the output. */
static bool take_output(int descriptor, const struct kiln_subprocess_run *run, size_t start,
                        struct kiln_buffer *output, uint64_t *dropped)
{
    char bytes[READ_BYTES];
    ssize_t count = recv(descriptor, bytes, sizeof bytes, MSG_DONTWAIT);
    if (count < 0)
        return errno == EINTR || errno == EAGAIN;
    size_t taken = output->size - start;
    size_t room = run->output_limit_bytes > taken ? run->output_limit_bytes - taken : 0;
    size_t kept = (size_t)count < room ? (size_t)count : room;
    kiln_buffer_append(output, bytes, kept);
    *dropped += (size_t)count - kept;
    return count != 0;
}

/* One write; false when all is written or the child reads no more. */
static bool give_input(int descriptor, const struct kiln_subprocess_run *run, size_t *given)
{
    ssize_t count = send(descriptor, (const char *)run->input + *given, run->input_bytes - *given,
                         MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0)
        return errno == EINTR || errno == EAGAIN;
    *given += (size_t)count;
    return *given < run->input_bytes;
}

/* False when the time is over. */
static bool converse(int input, int output, uint64_t deadline,
                     const struct kiln_subprocess_run *run, struct kiln_buffer *text,
                     uint64_t *dropped)
{
    size_t start = text->size;
    size_t given = 0;
    bool is_giving = run->input_bytes != 0;
    if (!is_giving)
        (void)shutdown(input, SHUT_WR);
    for (;;) {
        struct pollfd polls[] = {{.fd = output, .events = POLLIN},
                                 {.fd = is_giving ? input : -1, .events = POLLOUT}};
        int ready = poll(polls, 2, time_left(deadline));
        if (ready == 0)
            return false;
        if (ready < 0)
            continue;
        if (polls[1].revents != 0 && !give_input(input, run, &given)) {
            (void)shutdown(input, SHUT_WR);
            is_giving = false;
        }
        if (polls[0].revents != 0 && !take_output(output, run, start, text, dropped))
            return true;
    }
}

/* Waits for the exit of a child that has closed its output. There is no wait with a time limit:
 * asks, ever less often. */
static bool wait_for_exit(pid_t process, uint64_t deadline, int *ret_status)
{
    struct timespec pause = {.tv_nsec = 50000};
    for (;;) {
        int status = 0;
        pid_t waited = waitpid(process, &status, WNOHANG);
        if (waited == process || (waited < 0 && errno != EINTR)) {
            *ret_status = status;
            return true;
        }
        if (time_left(deadline) == 0)
            return false;
        (void)nanosleep(&pause, NULL);
        if (pause.tv_nsec < 10000000)
            pause.tv_nsec *= 2;
    }
}

enum kiln_status kiln_subprocess_run(const struct kiln_subprocess_run *run,
                                     struct kiln_buffer *output,
                                     struct kiln_subprocess_exit *ret_exit,
                                     struct kiln_error *error)
{
    uint64_t deadline = run->timeout_milliseconds != 0
                            ? kiln_monotonic_milliseconds() + run->timeout_milliseconds
                            : 0;
    int input[2] = {-1, -1};
    int text[2] = {-1, -1};
    enum kiln_status status = kiln_subprocess_socket_pair(input, error);
    if (status == KILN_OK)
        status = kiln_subprocess_socket_pair(text, error);
    pid_t process = -1;
    if (status == KILN_OK) {
        struct kiln_subprocess_spawn spawn = {
            .arguments = run->arguments,
            .environment = run->environment,
            .input = input[1],
            .output = text[1],
            .error_output = text[1],
            .new_group = run->new_group,
        };
        status = kiln_subprocess_start(&spawn, &process, error);
    }
    close_descriptor(&input[1]);
    close_descriptor(&text[1]);

    if (status == KILN_OK) {
        struct kiln_subprocess_exit result = {0};
        int wait_status = 0;
        if (converse(input[0], text[0], deadline, run, output, &result.dropped_bytes) &&
            wait_for_exit(process, deadline, &wait_status)) {
            result.code = WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : -1;
            result.signal = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
            *ret_exit = result;
            status = kiln_buffer_check(output, error);
        } else {
            (void)kiln_subprocess_end(process, run->new_group);
            status = kiln_error_set(error, KILN_TIMEOUT, "'%s' ran longer than %u ms",
                                    run->arguments[0], run->timeout_milliseconds);
        }
    }
    close_descriptor(&input[0]);
    close_descriptor(&text[0]);
    return status;
}
