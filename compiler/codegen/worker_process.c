#include "compiler/codegen/worker_process.h"

#include "compiler/codegen/compile_environment.h"
#include "compiler/codegen/worker_message.h"
#include "runtime/support/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Waits until the socket is ready for `events`; false when the deadline is over. */
static bool wait_for_socket(int socket, short events, uint64_t deadline)
{
    for (;;) {
        uint64_t now = kiln_monotonic_milliseconds();
        if (now >= deadline)
            return false;
        uint64_t left = deadline - now;
        struct pollfd waited = {.fd = socket, .events = events};
        if (poll(&waited, 1, left < INT_MAX ? (int)left : INT_MAX) > 0)
            return true;
    }
}

/* KILN_OK, KILN_TIMEOUT, or KILN_IO when the other side is gone. */
static enum kiln_status send_all(int socket, const char *bytes, size_t size, uint64_t deadline)
{
    while (size != 0) {
        ssize_t count = send(socket, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (count > 0) {
            bytes += count;
            size -= (size_t)count;
        } else if (errno == EAGAIN) {
            if (!wait_for_socket(socket, POLLOUT, deadline))
                return KILN_TIMEOUT;
        } else if (errno != EINTR) {
            return KILN_IO;
        }
    }
    return KILN_OK;
}

static enum kiln_status receive_all(int socket, char *bytes, size_t size, uint64_t deadline)
{
    while (size != 0) {
        ssize_t count = recv(socket, bytes, size, MSG_DONTWAIT);
        if (count > 0) {
            bytes += count;
            size -= (size_t)count;
        } else if (count < 0 && errno == EAGAIN) {
            if (!wait_for_socket(socket, POLLIN, deadline))
                return KILN_TIMEOUT;
        } else if (count == 0 || errno != EINTR) {
            return KILN_IO;
        }
    }
    return KILN_OK;
}

/* The body of a message, to be freed. KILN_CORRUPT for anything but the expected message. */
static enum kiln_status receive_message(const struct kiln_worker *worker, uint32_t tag,
                                        uint64_t deadline, char **ret_bytes, size_t *ret_size)
{
    unsigned char head[KILN_WORKER_HEAD_BYTES];
    uint64_t size;
    enum kiln_status status = receive_all(worker->socket, (char *)head, sizeof head, deadline);
    if (status != KILN_OK)
        return status;
    if (!kiln_worker_read_head(head, tag, &size))
        return KILN_CORRUPT;
    char *bytes = malloc((size_t)size + 1);
    if (bytes == NULL)
        return KILN_NO_MEMORY;
    bytes[size] = '\0';
    status = receive_all(worker->socket, bytes, (size_t)size, deadline);
    if (status != KILN_OK) {
        free(bytes);
        return status;
    }
    *ret_bytes = bytes;
    *ret_size = (size_t)size;
    return KILN_OK;
}

/* Appends what the worker has written to standard output and error, and forgets it: the place to
 * write at is one for both sides. */
static void take_noise(const struct kiln_worker *worker, struct kiln_buffer *log)
{
    char bytes[4096];
    off_t end = lseek(worker->noise, 0, SEEK_CUR);
    off_t at = 0;
    if (end > KILN_COMPILE_LOG_LIMIT_BYTES)
        end = KILN_COMPILE_LOG_LIMIT_BYTES;
    while (at < end) {
        off_t left = end - at;
        size_t wanted = left < (off_t)sizeof bytes ? (size_t)left : sizeof bytes;
        ssize_t count = pread(worker->noise, bytes, wanted, at);
        if (count <= 0)
            break;
        kiln_buffer_append(log, bytes, (size_t)count);
        at += count;
    }
    (void)lseek(worker->noise, 0, SEEK_SET);
}

/* What ended the worker, waiting for that a moment: the socket closes before the process can be
 * collected. False when it goes on without the socket. */
static bool wait_for_end(const struct kiln_worker *worker, siginfo_t *ret_end)
{
    for (int i = 0; i < 200; i++) {
        siginfo_t end = {0};
        /* Left uncollected: as long as it is, its group can be killed by its number. */
        if (waitid(P_PID, (id_t)worker->process, &end, WEXITED | WNOHANG | WNOWAIT) != 0) {
            if (errno == EINTR)
                continue;
            end.si_pid = -1;
        }
        if (end.si_pid != 0) {
            *ret_end = end;
            return true;
        }
        (void)poll(NULL, 0, 1);
    }
    return false;
}

static enum kiln_status explain_end(const struct kiln_worker *worker, struct kiln_error *error)
{
    siginfo_t end;
    if (!wait_for_end(worker, &end))
        return kiln_error_set(error, KILN_COMPILE_FAILED,
                              "the compile worker closed the connection");
    if (end.si_pid < 0) /* collected by the host, which ignores SIGCHLD or waits for all children */
        return kiln_error_set(error, KILN_COMPILE_FAILED, "the compile worker ended");
    if (end.si_code == CLD_EXITED)
        return kiln_error_set(error, KILN_COMPILE_FAILED,
                              "the compile worker ended with exit code %d", end.si_status);
    return kiln_error_set(
        error, KILN_COMPILE_FAILED, "the compile worker was ended by signal %d (%s)%s",
        end.si_status, strsignal(end.si_status),
        end.si_status == SIGKILL ? ", as happens when the machine is short of memory" : "");
}

/* What became of the worker. */
static enum kiln_status explain_failure(const struct kiln_worker *worker, enum kiln_status status,
                                        struct kiln_error *error)
{
    if (status == KILN_IO)
        return explain_end(worker, error);
    if (status == KILN_TIMEOUT)
        return kiln_error_set(error, KILN_TIMEOUT, "the compile worker did not answer in time");
    if (status == KILN_NO_MEMORY)
        return kiln_error_set(error, KILN_NO_MEMORY,
                              "the compile worker gave an answer that memory cannot hold");
    return kiln_error_set(error, KILN_COMPILE_FAILED,
                          "the compile worker gave an answer that cannot be understood");
}

static enum kiln_status create_noise_file(int *ret_descriptor, struct kiln_error *error)
{
    int descriptor = memfd_create("kiln-compile", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    /* A larger file than the process may write would end it with SIGXFSZ. */
    off_t size = KILN_COMPILE_LOG_LIMIT_BYTES;
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < (rlim_t)size)
        size = (off_t)limit.rlim_cur;
    /* It cannot grow over that: a compiler that talks without end fills no memory. */
    if (descriptor >= 0 &&
        (ftruncate(descriptor, size) != 0 || fcntl(descriptor, F_ADD_SEALS, F_SEAL_GROW) != 0)) {
        int sealing_errno = errno;
        (void)close(descriptor);
        errno = sealing_errno;
        descriptor = -1;
    }
    int moved = descriptor < 0 ? -1 : fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
    int moving_errno = errno;
    if (descriptor >= 0)
        (void)close(descriptor);
    if (moved < 0)
        return kiln_error_set(error, kiln_status_of_errno(moving_errno),
                              "cannot create a file in memory: %s", strerror(moving_errno));
    *ret_descriptor = moved;
    return KILN_OK;
}

static enum kiln_status start_process(struct kiln_worker *worker, const char *path, int peer,
                                      struct kiln_error *error)
{
    char **environment = kiln_compile_environment_create(worker->scratch);
    if (environment == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while starting '%s'", path);
    char host[24];
    (void)snprintf(host, sizeof host, "%d", (int)getpid());
    const char *const arguments[] = {path, "--scratch", worker->scratch, "--host", host, NULL};
    struct kiln_subprocess_spawn spawn = {
        .arguments = arguments,
        .environment = environment,
        .input = peer,
        .output = peer,
        .error_output = worker->noise,
        .new_group = true,
    };
    enum kiln_status status = kiln_subprocess_start(&spawn, &worker->process, error);
    free(environment);
    /* Other failures are not the path's: too many processes, say. */
    if (status != KILN_OK && access(path, X_OK) != 0)
        kiln_error_hint(error, "KILN_COMPILE_WORKER names the worker");
    if (status == KILN_NOT_FOUND)
        error->status = status = KILN_UNSUPPORTED;
    return status;
}

static enum kiln_status greet(struct kiln_worker *worker, const char *path, uint64_t deadline,
                              struct kiln_error *error)
{
    char *bytes = NULL;
    size_t size = 0;
    enum kiln_status status = receive_message(worker, KILN_WORKER_HELLO, deadline, &bytes, &size);
    if (status == KILN_OK && !kiln_worker_check_hello(bytes, size)) {
        char difference[KILN_WORKER_DIFFERENCE_BYTES];
        kiln_worker_describe_hello(bytes, size, difference);
        (void)kiln_error_set(error, KILN_UNSUPPORTED,
                             "the compile worker '%.300s' is of another version of Kiln: %s", path,
                             difference);
        kiln_error_hint(error, "KILN_COMPILE_WORKER names the worker");
        status = KILN_UNSUPPORTED;
    } else if (status != KILN_OK) {
        struct kiln_buffer noise;
        status = explain_failure(worker, status, error);
        kiln_error_prefix(error, "cannot start '%.160s'", path);
        kiln_buffer_init(&noise);
        take_noise(worker, &noise);
        if (noise.size != 0 && !noise.failed)
            kiln_error_hint(error, "it said: %.*s", (int)strcspn(noise.data, "\n"), noise.data);
        kiln_buffer_fini(&noise);
    }
    free(bytes);
    return status;
}

enum kiln_status kiln_worker_start(const char *path, uint64_t deadline,
                                   struct kiln_worker **ret_worker, struct kiln_error *error)
{
    struct kiln_worker *worker = calloc(1, sizeof *worker);
    if (worker == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while starting '%s'", path);
    worker->process = -1;
    worker->owner = getpid();
    worker->socket = -1;
    worker->noise = -1;
    int pair[2] = {-1, -1};
    enum kiln_status status = create_noise_file(&worker->noise, error);
    if (status == KILN_OK)
        status = kiln_subprocess_socket_pair(pair, error);
    if (status == KILN_OK) {
        worker->socket = pair[0];
        worker->scratch = kiln_scratch_directory_create(error);
        if (worker->scratch == NULL)
            status = error->status;
    }
    if (status == KILN_OK)
        status = start_process(worker, path, pair[1], error);
    if (pair[1] >= 0)
        (void)close(pair[1]);
    if (status == KILN_OK)
        status = greet(worker, path, deadline, error);
    if (status != KILN_OK) {
        kiln_worker_end(worker);
        return status;
    }
    *ret_worker = worker;
    return KILN_OK;
}

enum kiln_status kiln_worker_ask(struct kiln_worker *worker,
                                 const struct kiln_compile_request *request, uint64_t deadline,
                                 struct kiln_compile_result *result, struct kiln_error *error)
{
    /* Without it each compilation would fail, as long as the worker lives. */
    if (!kiln_scratch_directory_is_intact(worker->scratch)) {
        worker->is_dead = true;
        return kiln_error_set(error, KILN_COMPILE_FAILED,
                              "the compile worker's directory for temporary files '%s' is gone",
                              worker->scratch);
    }
    struct kiln_buffer message;
    kiln_buffer_init(&message);
    kiln_worker_append_request(request, &message);
    enum kiln_status status = kiln_buffer_check(&message, error);
    if (status == KILN_OK && message.size > KILN_WORKER_LIMIT_BYTES)
        status = kiln_error_set(error, KILN_BAD_ARGUMENT, "the source of kernel '%s' is too long",
                                request->source.symbol);
    if (status != KILN_OK) {
        kiln_buffer_fini(&message);
        return status;
    }

    char *bytes = NULL;
    size_t size = 0;
    status = send_all(worker->socket, message.data, message.size, deadline);
    kiln_buffer_fini(&message);
    if (status == KILN_OK)
        status = receive_message(worker, KILN_WORKER_RESULT, deadline, &bytes, &size);
    if (status == KILN_OK && !kiln_worker_read_result(bytes, size, result))
        status = KILN_CORRUPT;
    free(bytes);
    take_noise(worker, &result->log);
    if (status == KILN_OK) {
        worker->jobs++;
        return KILN_OK;
    }
    worker->is_dead = true;
    return explain_failure(worker, status, error);
}

void kiln_worker_end(struct kiln_worker *worker)
{
    if (worker == NULL)
        return;
    bool is_ours = worker->owner == getpid();
    if (is_ours && worker->process > 0) /* also when it has ended: what it started may not have */
        (void)kiln_subprocess_end(worker->process, true);
    if (worker->socket >= 0)
        (void)close(worker->socket);
    if (worker->noise >= 0)
        (void)close(worker->noise);
    if (is_ours)
        kiln_scratch_directory_destroy(worker->scratch);
    else
        free(worker->scratch);
    free(worker);
}
