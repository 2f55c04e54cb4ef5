/*
 * kiln-compile: runs compilers for the engine, which must survive their crashes and must not map
 * LLVM.
 *
 * Started by compiler/codegen/worker_process.c with a socket as standard input and output: see
 * worker_message.h for what goes over it. It ends when the socket closes, also in the middle of a
 * compilation: whoever asked is gone.
 *
 * --scratch DIR  directory for temporary files, removed at the end
 */
#include "compiler/codegen/compile_environment.h"
#include "compiler/codegen/worker_message.h"
#include "runtime/support/environment.h"
#include "runtime/support/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    MEMORY_DEFAULT_MIB = 4096,
    FILE_LIMIT_MIB = 1024, /* of one file that a compiler writes */
};

static const char *scratch; /* set before the second thread starts */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_SHADOW_MEMORY 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SHADOW_MEMORY 1
#endif
#endif
#ifndef HAS_SHADOW_MEMORY
#define HAS_SHADOW_MEMORY 0
#endif

static void set_limit(unsigned resource, rlim_t soft)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0)
        return;
    if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < soft)
        soft = limit.rlim_max;
    limit.rlim_cur = soft;
    (void)setrlimit(resource, &limit);
}

static void set_limits(void)
{
    uint64_t memory_mib = kiln_environment_number(KILN_ENVIRONMENT_KILN_COMPILE_MEMORY, 0, 1U << 24,
                                                  MEMORY_DEFAULT_MIB);
    /* Sanitizers reserve terabytes. */
    if (memory_mib != 0 && !HAS_SHADOW_MEMORY)
        set_limit(RLIMIT_AS, (rlim_t)memory_mib << 20);
    set_limit(RLIMIT_CORE, 0);
    set_limit(RLIMIT_FSIZE, (rlim_t)FILE_LIMIT_MIB << 20);
}

/* Ends this process and the programs that it has started: they are in its process group. */
_Noreturn static void leave(int code)
{
    if (scratch != NULL)
        kiln_scratch_directory_remove(scratch);
    if (code == 0 && getpgrp() == getpid())
        (void)kill(0, SIGKILL);
    _exit(code);
}

static bool read_all(int descriptor, void *bytes, size_t size)
{
    char *to = bytes;
    while (size != 0) {
        ssize_t count = read(descriptor, to, size);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return false;
        to += count;
        size -= (size_t)count;
    }
    return true;
}

static bool write_all(int descriptor, const struct kiln_buffer *message)
{
    size_t done = 0;
    while (done < message->size) {
        ssize_t count = write(descriptor, message->data + done, message->size - done);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return false;
        done += (size_t)count;
    }
    return !message->failed;
}

/* Answers one request; false when the conversation is over. */
static bool serve(int input, int output)
{
    unsigned char head[KILN_WORKER_HEAD_BYTES];
    uint64_t size;
    if (!read_all(input, head, sizeof head))
        return false;
    if (!kiln_worker_read_head(head, KILN_WORKER_REQUEST, &size)) {
        (void)fprintf(stderr, "kiln-compile: not a request\n");
        return false;
    }
    char *bytes = malloc((size_t)size + 1);
    if (bytes == NULL || !read_all(input, bytes, (size_t)size)) {
        free(bytes);
        return false;
    }
    bytes[size] = '\0';

    struct kiln_compiler compilers[KILN_COMPILER_LIMIT];
    struct kiln_compile_request request;
    struct kiln_compile_result result;
    struct kiln_buffer message;
    kiln_compile_result_init(&result);
    kiln_buffer_init(&message);
    bool is_sound = kiln_worker_read_request(bytes, (size_t)size, compilers, &request);
    if (is_sound) {
        kiln_compile_job_do(&request, &result);
        kiln_worker_append_result(&result, &message);
        (void)fflush(NULL);
    } else {
        (void)fprintf(stderr, "kiln-compile: a damaged request\n");
    }
    bool is_going_on = is_sound && write_all(output, &message);
    kiln_buffer_fini(&message);
    kiln_compile_result_fini(&result);
    free(bytes);
    return is_going_on;
}

struct conversation {
    int input;
    int output;
};

/* One thread for all jobs: LLVM gives every thread that it meets a signal stack and never takes it
 * back. */
static void *serve_all(void *context)
{
    const struct conversation *conversation = context;
    while (serve(conversation->input, conversation->output))
        continue;
    leave(0);
}

int main(int count, char **arguments)
{
    if (count == 3 && strcmp(arguments[1], "--scratch") == 0) {
        scratch = arguments[2];
    } else if (count != 1) {
        (void)fprintf(stderr, "kiln-compile: Kiln starts this program by itself\n");
        return 2;
    }
    /* The conversation has descriptors of its own: what compilers print goes to standard error. */
    int input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    int output = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (input < 0 || output < 0 || nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 ||
        dup2(STDERR_FILENO, STDOUT_FILENO) < 0)
        return 2;
    (void)signal(SIGPIPE, SIG_IGN);
    char **environment = kiln_compile_environment_create(NULL);
    if (environment == NULL)
        return 2;
    environ = environment;
    set_limits();

    struct kiln_buffer hello;
    kiln_buffer_init(&hello);
    kiln_worker_append_hello(&hello);
    struct conversation conversation = {.input = input, .output = output};
    pthread_t server;
    if (!write_all(output, &hello) ||
        kiln_thread_start(serve_all, &conversation, KILN_COMPILE_STACK_BYTES, &server) != 0)
        leave(2);
    kiln_buffer_fini(&hello);
    /* The other side may close while a job runs. */
    struct pollfd watched = {.fd = input, .events = POLLRDHUP};
    while (poll(&watched, 1, -1) <= 0 || watched.revents == 0)
        continue;
    leave(0);
}
