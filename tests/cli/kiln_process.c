#include "tests/cli/kiln_process.h"

#include "tests/runtime/support/temporary_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void set_environment(const char *const *pairs)
{
    static const char *const foreign[] = {
        "KILN_DEVICE",         "KILN_CAPTURE_DIR",     "KILN_LOG_LEVEL",
        "HIPDNN_LOG_LEVEL",    "KILN_COMPILE_TIMEOUT", "KILN_COMPILE_WORKERS",
        "KILN_COMPILE_MEMORY", "KILN_HOST_SANITIZE",   "NO_COLOR"};
    for (size_t i = 0; i < sizeof(foreign) / sizeof(*foreign); i++)
        unsetenv(foreign[i]);
    /* Memory only, for a test without a directory of its own. */
    bool has_directory = strcmp(temporary_path(""), "/") != 0;
    setenv("KILN_CACHE_DIR", has_directory ? temporary_path("cache") : "", 1);
    setenv("TERM", "xterm", 1);
    for (; pairs && *pairs; pairs++) {
        char *pair = strdup(*pairs);
        char *value = strchr(pair, '=');
        *value = '\0';
        setenv(pair, value + 1, 1);
    }
}

static _Noreturn void execute(const struct kiln_process *process)
{
    const char *arguments[64] = {"kiln"};
    for (size_t i = 0; process->arguments[i] && i < 62; i++)
        arguments[i + 1] = process->arguments[i];
    set_environment(process->environment);
    signal(SIGPIPE, SIG_DFL);
    execv(KILN_BINARY, (char *const *)(const void *)arguments);
    _exit(126);
}

static int temporary_stream(const void *bytes, size_t size)
{
    FILE *stream = tmpfile();
    if (!stream || fwrite(bytes, 1, size, stream) != size || fflush(stream) != 0)
        return -1;
    int descriptor = dup(fileno(stream));
    fclose(stream);
    lseek(descriptor, 0, SEEK_SET);
    return descriptor;
}

/* Texts stay reachable until the process ends: no leak for a sanitizer to report. */
static char *keep(char *text)
{
    static char *kept[1024];
    static size_t count;
    if (count == sizeof(kept) / sizeof(*kept))
        abort();
    return kept[count++] = text;
}

static char *read_all(int descriptor)
{
    size_t size = 0;
    size_t capacity = 1 << 16;
    char *text = malloc(capacity + 1);
    for (;;) {
        ssize_t got = read(descriptor, text + size, capacity - size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) /* a terminal ends with EIO */
            break;
        size += (size_t)got;
        if (size == capacity)
            text = realloc(text, (capacity *= 2) + 1);
    }
    text[size] = '\0';
    return keep(text);
}

static int wait_for(pid_t child)
{
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void run_on_terminal(struct kiln_process *process)
{
    int terminal;
    pid_t child = forkpty(&terminal, NULL, NULL, NULL);
    if (child == 0)
        execute(process);
    process->out = read_all(terminal);
    process->err = keep(strdup(""));
    process->exit_code = wait_for(child);
    close(terminal);
}

void kiln_process_run(struct kiln_process *process)
{
    if (process->terminal) {
        run_on_terminal(process);
        return;
    }
    int in = process->input ? temporary_stream(process->input, process->input_bytes)
                            : open("/dev/null", O_RDONLY);
    int out = process->full_stdout ? open("/dev/full", O_WRONLY) : temporary_stream("", 0);
    int err = temporary_stream("", 0);
    if (process->broken_stdout) {
        int ends[2];
        if (pipe(ends) == 0) {
            close(ends[0]);
            dup2(ends[1], out);
            close(ends[1]);
        }
    }
    pid_t child = fork();
    if (child == 0) {
        dup2(in, 0);
        dup2(out, 1);
        dup2(err, 2);
        if (process->close_stdout)
            close(1);
        execute(process);
    }
    process->exit_code = wait_for(child);
    bool readable = !process->full_stdout && !process->broken_stdout;
    lseek(out, 0, SEEK_SET);
    lseek(err, 0, SEEK_SET);
    process->out = readable ? read_all(out) : keep(strdup(""));
    process->err = read_all(err);
    close(in);
    close(out);
    close(err);
}

struct kiln_process kiln_process_of(const char *const *arguments)
{
    struct kiln_process process = {.arguments = arguments};
    kiln_process_run(&process);
    process.arguments = NULL;
    return process;
}

const char *sample_path(const char *name)
{
    static char paths[8][1024];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof(paths[0]), "%s/%s", KILN_SAMPLES, name);
    return path;
}

const char *write_file(const char *name, const void *bytes, size_t size)
{
    static char paths[8][1024];
    static unsigned next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof(paths[0]), "%s", temporary_path(name));
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(bytes, 1, size, file) != size || fclose(file) != 0)
        return NULL;
    return path;
}
