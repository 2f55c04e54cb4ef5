/* A compile worker that misbehaves as FAKE_WORKER says. */
#include "compiler/codegen/worker_message.h"

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

int main(void)
{
    const char *mode = getenv("FAKE_WORKER");
    if (mode == NULL)
        return 2;
    struct kiln_buffer message;
    kiln_buffer_init(&message);
    kiln_worker_append_hello(&message);
    if (strcmp(mode, "silent") == 0) {
        (void)pause();
    } else if (strcmp(mode, "exits") == 0) {
        (void)fprintf(stderr, "this worker has no leg to stand on\n");
        _exit(7);
    } else if (strcmp(mode, "other version") == 0) {
        message.data[KILN_WORKER_HEAD_BYTES] ^= 1;
    } else if (strcmp(mode, "no hello") == 0) {
        memset(message.data, '?', message.size);
    } else if (strcmp(mode, "huge hello") == 0) {
        memset(message.data + 4, 0xff, 8);
    }
    say(&message);

    char request[65536];
    ssize_t count = read(STDIN_FILENO, request, sizeof request);
    (void)count;
    if (strcmp(mode, "hangs") == 0) {
        /* With a child that must be killed too, and that a SIGTERM would not reach. */
        if (fork() == 0)
            (void)signal(SIGTERM, SIG_IGN);
        for (;;)
            (void)pause();
    } else if (strcmp(mode, "crashes") == 0) {
        (void)fprintf(stderr, "LLVM ERROR: out of patience\n");
        abort();
    } else if (strcmp(mode, "garbage") == 0) {
        for (size_t i = 0; i < sizeof request; i++)
            request[i] = (char)(i * 131);
        (void)!write(STDOUT_FILENO, request, sizeof request);
        (void)pause();
    } else if (strcmp(mode, "lies") == 0) {
        /* A well-formed answer that is no code object. */
        struct kiln_compile_result result;
        kiln_compile_result_init(&result);
        kiln_buffer_append_text(&result.object, "this is no code object");
        kiln_buffer_clear(&message);
        kiln_worker_append_result(&result, &message);
        say(&message);
    } else if (strcmp(mode, "drips") == 0) {
        /* The head of an answer, and then nothing. */
        kiln_buffer_clear(&message);
        kiln_buffer_append_u32(&message, KILN_WORKER_RESULT);
        kiln_buffer_append_u64(&message, 1000);
        say(&message);
        (void)pause();
    }
    _exit(0);
}
