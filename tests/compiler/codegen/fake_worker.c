/* A compile worker that misbehaves as KILN_FAKE_WORKER says. */
#include "compiler/codegen/worker_message.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void say(const struct kiln_buffer *message)
{
    if (write(STDOUT_FILENO, message->data, message->size) != (ssize_t)message->size)
        _exit(3);
}

static void wait_for_request(void)
{
    char request[65536];
    ssize_t count = read(STDIN_FILENO, request, sizeof request);
    (void)count;
}

/* Answers that the compile has failed because of this. */
static void fail_with(const char *text)
{
    struct kiln_buffer message;
    struct kiln_compile_result result;
    kiln_buffer_init(&message);
    kiln_compile_result_init(&result);
    result.status = kiln_error_set(&result.error, KILN_UNSUPPORTED, "%s", text);
    kiln_worker_append_result(&result, &message);
    say(&message);
}

/* The descriptors that are open here, each followed by a blank. */
static void list_descriptors(char *text, size_t capacity)
{
    enum { SOME = 1024 };
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < SOME && used < capacity; i++) {
        if (fcntl(i, F_GETFD) >= 0)
            used += (size_t)snprintf(text + used, capacity - used, "%d ", i);
    }
}

static void say_other_hello(const char *mode)
{
    struct kiln_buffer message;
    kiln_buffer_init(&message);
    kiln_worker_append_hello(&message);
    if (strcmp(mode, "other protocol") == 0)
        message.data[KILN_WORKER_HEAD_BYTES] ^= 64;
    else if (strcmp(mode, "other version") == 0)
        message.data[message.size - 2] = 'x'; /* the last digit of the version */
    else if (strcmp(mode, "no hello") == 0)
        memset(message.data, '?', message.size);
    else if (strcmp(mode, "huge hello") == 0)
        memset(message.data + 4, 0xff, 8);
    else if (strcmp(mode, "half a hello") == 0)
        message.size /= 2;
    say(&message);
    if (strcmp(mode, "half a hello") == 0)
        _exit(0);
}

static void misbehave(const char *mode)
{
    struct kiln_buffer message;
    kiln_buffer_init(&message);
    if (strcmp(mode, "hangs") == 0) {
        /* With a child that must be killed too, and that a SIGTERM would not reach. */
        if (fork() == 0)
            (void)signal(SIGTERM, SIG_IGN);
        for (;;)
            (void)pause();
    } else if (strcmp(mode, "crashes") == 0) {
        (void)fprintf(stderr, "LLVM ERROR: out of patience\n");
        abort();
    } else if (strcmp(mode, "crashes with a child") == 0) {
        if (fork() == 0) {
            (void)close(STDIN_FILENO);
            (void)close(STDOUT_FILENO);
            for (;;)
                (void)pause();
        }
        (void)signal(SIGSEGV, SIG_DFL); /* sanitizers have a handler */
        (void)raise(SIGSEGV);
    } else if (strcmp(mode, "is killed") == 0) {
        (void)raise(SIGKILL);
    } else if (strcmp(mode, "runs out of memory") == 0) {
        (void)fprintf(stderr, "LLVM ERROR: out of memory\nAllocation failed\n");
        abort();
    } else if (strcmp(mode, "garbage") == 0) {
        static char bytes[65536];
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (char)(i * 131);
        (void)!write(STDOUT_FILENO, bytes, sizeof bytes);
        (void)pause();
    } else if (strcmp(mode, "lies") == 0) {
        /* A well-formed answer that is no code object. */
        struct kiln_compile_result result;
        kiln_compile_result_init(&result);
        kiln_buffer_append_text(&result.object, "this is no code object");
        kiln_worker_append_result(&result, &message);
        say(&message);
    } else if (strcmp(mode, "drips") == 0) {
        /* The head of an answer, and then nothing. */
        kiln_buffer_append_u32(&message, KILN_WORKER_RESULT);
        kiln_buffer_append_u64(&message, 1000);
        say(&message);
        (void)pause();
    } else if (strcmp(mode, "chatters") == 0) {
        /* 100 MB, and then a proper answer. */
        static char line[1000];
        memset(line, 'x', sizeof line - 1);
        line[sizeof line - 1] = '\n';
        for (int i = 0; i < 100000; i++)
            (void)!write(STDERR_FILENO, line, sizeof line);
        fail_with("that was all");
    } else if (strcmp(mode, "descriptors") == 0) {
        char text[512];
        list_descriptors(text, sizeof text);
        fail_with(text);
    }
}

int main(int count, char **arguments)
{
    const char *mode = getenv("KILN_FAKE_WORKER");
    if (mode == NULL)
        return 2;
    /* With a file to put its mark into it misbehaves once, and is the real worker from then on. */
    const char *mark = getenv("KILN_FAKE_WORKER_ONCE");
    if (mark != NULL && open(mark, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600) < 0) {
        (void)count;
        (void)execv(getenv("KILN_REAL_WORKER"), arguments);
        return 2;
    }
    if (strcmp(mode, "silent") == 0) {
        (void)pause();
    } else if (strcmp(mode, "exits") == 0) {
        (void)fprintf(stderr, "this worker has no leg to stand on\n");
        _exit(7);
    }
    say_other_hello(mode);
    wait_for_request();
    misbehave(mode);
    _exit(0);
}
