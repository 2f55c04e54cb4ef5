/*
 * kiln-compile: runs compilers for the engine, which must survive their crashes and must not map
 * LLVM.
 *
 * Started by compiler/codegen/worker_process.c with a socket as standard input and output: see
 * worker_message.h for what goes over it. It ends when the socket closes, also in the middle of a
 * compilation: whoever asked is gone. A host that forks leaves copies of its end of the socket in
 * its children, so the host itself is watched too. (Not by PR_SET_PDEATHSIG, which means the thread
 * that has started us.)
 *
 * --scratch DIR  directory for temporary files, removed at the end
 * --host PID     end with this process
 */
#include "compiler/codegen/compile_environment.h"
#include "compiler/codegen/worker_message.h"
#include "runtime/support/environment.h"
#include "runtime/support/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    MEMORY_DEFAULT_MIB = 4096,
    FILE_LIMIT_MIB = 1024, /* of one file that a compiler writes */
};

/* Set before the second thread starts. */
static const char *scratch;
static pid_t host;

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

static uint64_t memory_mib(void)
{
    return kiln_environment_number(KILN_ENVIRONMENT_KILN_COMPILE_MEMORY, 0, 1U << 24,
                                   MEMORY_DEFAULT_MIB);
}

static void set_limits(void)
{
    /* Sanitizers reserve terabytes. */
    if (memory_mib() != 0 && !HAS_SHADOW_MEMORY)
        set_limit(RLIMIT_AS, (rlim_t)memory_mib() << 20);
    set_limit(RLIMIT_CORE, 0);
    set_limit(RLIMIT_FSIZE, (rlim_t)FILE_LIMIT_MIB << 20);
}

/* Ends this process and the programs that it has started: they are in its process group, and end
 * before their files are removed. */
_Noreturn static void leave(int code)
{
    enum { PATIENCE_MILLISECONDS = 100 };
    bool is_leader = getpgrp() == getpid();
    if (is_leader) {
        (void)signal(SIGTERM, SIG_IGN);
        (void)kill(0, SIGTERM);
        for (int i = 0; i < PATIENCE_MILLISECONDS && waitpid(-1, NULL, WNOHANG) == 0; i++)
            (void)poll(NULL, 0, 1);
    }
    if (scratch != NULL)
        kiln_scratch_directory_remove(scratch);
    if (code == 0 && is_leader)
        (void)kill(0, SIGKILL);
    _exit(code);
}

/* What a host may have done to itself must not change or hinder compilers. */
static void settle(void)
{
    /* Some directory that is there, cannot be unmounted and is the same for all: it may get into
     * code objects. */
    (void)!chdir("/");
    (void)umask(077);
    const struct sched_param none = {.sched_priority = 0};
    int policy = sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
    if (policy == SCHED_FIFO || policy == SCHED_RR)
        (void)sched_setscheduler(0, SCHED_OTHER, &none);
    /* When memory runs out, a kernel can be compiled again; the host's work cannot. */
    int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (score >= 0) {
        (void)!write(score, "1000", 4);
        (void)close(score);
    }
#if !(defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)) && defined(SYS_close_range)
    /* kiln_subprocess_start could not do it. */
    (void)syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
#endif
}

/* Returns when the other side has gone, or has closed the conversation. */
static void watch(int input)
{
    enum { LOOK_MILLISECONDS = 1000 };
    int process = -1;
    errno = ENOSYS;
#ifdef SYS_pidfd_open
    if (host > 0)
        process = (int)syscall(SYS_pidfd_open, host, 0);
#endif
    /* Kernels before 5.3 do not tell: there our parent is asked for, while it is the host. */
    bool is_asking = host > 0 && process < 0 && (errno == ESRCH || getppid() == host);
    struct pollfd watched[] = {{.fd = input, .events = POLLRDHUP},
                               {.fd = process, .events = POLLIN}};
    for (;;) {
        if (is_asking && getppid() != host)
            return;
        if (poll(watched, 2, is_asking ? LOOK_MILLISECONDS : -1) > 0)
            return;
    }
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
    if (bytes == NULL)
        (void)fprintf(stderr, "kiln-compile: out of memory for a request\n");
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
    struct kiln_buffer hello;
    kiln_buffer_init(&hello);
    kiln_worker_append_hello(&hello);
    if (!write_all(conversation->output, &hello))
        leave(2);
    kiln_buffer_fini(&hello);
    while (serve(conversation->input, conversation->output))
        continue;
    leave(0);
}

static bool read_arguments(int count, char **arguments)
{
    for (int i = 1; i < count; i += 2) {
        bool has_value = i + 1 < count;
        if (has_value && strcmp(arguments[i], "--scratch") == 0 &&
            kiln_scratch_directory_is_one(arguments[i + 1]))
            scratch = arguments[i + 1];
        else if (has_value && strcmp(arguments[i], "--host") == 0)
            host = (pid_t)strtol(arguments[i + 1], NULL, 10);
        else
            return false;
    }
    return true;
}

/* Started by hand it has nobody to talk to, and would only remove the directory. */
static bool has_peer(void)
{
    struct stat attributes;
    return fstat(STDIN_FILENO, &attributes) == 0 && S_ISSOCK(attributes.st_mode);
}

int main(int count, char **arguments)
{
    if (!has_peer() || !read_arguments(count, arguments)) {
        (void)fprintf(stderr, "kiln-compile: Kiln starts this program by itself\n");
        return 2;
    }
    settle();
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

    struct conversation conversation = {.input = input, .output = output};
    pthread_t server;
    int failure = kiln_thread_start(serve_all, &conversation, KILN_COMPILE_STACK_BYTES, &server);
    if (failure != 0) {
        (void)fprintf(stderr,
                      "kiln-compile: cannot start a thread: %s (KILN_COMPILE_MEMORY leaves %llu "
                      "MiB)\n",
                      strerror(failure), (unsigned long long)memory_mib());
        leave(2);
    }
    if (scratch != NULL)
        kiln_scratch_directory_sweep(scratch);
    /* The other side may go while a job runs. */
    watch(input);
    leave(0);
}
