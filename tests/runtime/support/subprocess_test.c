#include "runtime/support/subprocess.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static enum kiln_status run_shell(const char *script, struct kiln_subprocess_run *run,
                                  struct kiln_buffer *output, struct kiln_subprocess_exit *ret_exit,
                                  struct kiln_error *error)
{
    const char *const arguments[] = {"/bin/sh", "-c", script, NULL};
    run->arguments = arguments;
    if (run->output_limit_bytes == 0)
        run->output_limit_bytes = 1 << 20;
    kiln_error_init(error);
    kiln_buffer_init(output);
    enum kiln_status status = kiln_subprocess_run(run, output, ret_exit, error);
    cr_expect_eq(waitpid(-1, NULL, WNOHANG), -1, "a child is left");
    return status;
}

Test(subprocess, output_and_exit_code)
{
    struct kiln_subprocess_run run = {0};
    struct kiln_subprocess_exit exit;
    struct kiln_buffer output;
    struct kiln_error error;
    cr_assert_eq(run_shell("echo out; echo err >&2; exit 3", &run, &output, &exit, &error), KILN_OK,
                 "%s", error.text);
    cr_expect_str_eq(kiln_buffer_text(&output), "out\nerr\n");
    cr_expect_eq(exit.code, 3);
    cr_expect_eq(exit.signal, 0);
    kiln_buffer_fini(&output);
}

Test(subprocess, signals_are_told)
{
    struct kiln_subprocess_run run = {0};
    struct kiln_subprocess_exit exit;
    struct kiln_buffer output;
    struct kiln_error error;
    cr_assert_eq(run_shell("kill -ABRT $$", &run, &output, &exit, &error), KILN_OK);
    cr_expect_eq(exit.code, -1);
    cr_expect_eq(exit.signal, SIGABRT);
    kiln_buffer_fini(&output);
}

/* More than any pipe holds, in both directions at once. */
Test(subprocess, big_input_comes_back)
{
    enum { SIZE = 3 << 20 };
    char *input = malloc(SIZE);
    memset(input, 'x', SIZE);
    struct kiln_subprocess_run run = {
        .input = input, .input_bytes = SIZE, .output_limit_bytes = 1 << 20};
    struct kiln_subprocess_exit exit;
    struct kiln_buffer output;
    struct kiln_error error;
    cr_assert_eq(run_shell("cat", &run, &output, &exit, &error), KILN_OK, "%s", error.text);
    cr_expect_eq(output.size, 1 << 20);
    cr_expect_eq(exit.dropped_bytes, SIZE - (1 << 20));
    kiln_buffer_fini(&output);
    free(input);
}

/* Writing to a child that has gone must not raise SIGPIPE. */
Test(subprocess, unread_input)
{
    enum { SIZE = 3 << 20 };
    char *input = calloc(1, SIZE);
    struct kiln_subprocess_run run = {.input = input, .input_bytes = SIZE};
    struct kiln_subprocess_exit exit;
    struct kiln_buffer output;
    struct kiln_error error;
    cr_assert_eq(run_shell("exec 0<&-; exit 0", &run, &output, &exit, &error), KILN_OK, "%s",
                 error.text);
    cr_expect_eq(exit.code, 0);
    kiln_buffer_fini(&output);
    free(input);
}

Test(subprocess, time_limit_reaches_grandchildren)
{
    static const char *const scripts[] = {"sleep 100", "sleep 100 & wait",
                                          "exec >&- 2>&-; sleep 100"};
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        struct kiln_subprocess_run run = {.timeout_milliseconds = 200, .new_group = true};
        struct kiln_subprocess_exit exit;
        struct kiln_buffer output;
        struct kiln_error error;
        uint64_t start = kiln_monotonic_milliseconds();
        cr_expect_eq(run_shell(scripts[i], &run, &output, &exit, &error), KILN_TIMEOUT);
        cr_expect(strstr(error.text, "'/bin/sh' ran longer than 200 ms") != NULL, "%s", error.text);
        cr_expect_lt(kiln_monotonic_milliseconds() - start, 3000);
        kiln_buffer_fini(&output);
    }
}

Test(subprocess, missing_program)
{
    static const char *const arguments[] = {"/nonexistent/program", NULL};
    struct kiln_subprocess_run run = {.arguments = arguments};
    struct kiln_subprocess_exit exit;
    struct kiln_buffer output;
    struct kiln_error error;
    kiln_error_init(&error);
    kiln_buffer_init(&output);
    cr_expect_eq(kiln_subprocess_run(&run, &output, &exit, &error), KILN_NOT_FOUND);
    cr_expect(strstr(error.text, "cannot start '/nonexistent/program'") != NULL, "%s", error.text);
}

Test(subprocess, children_get_three_descriptors_and_default_signals)
{
    int leaky = open("/dev/null", O_RDONLY); /* not closed on exec */
    cr_assert_geq(leaky, 3);
    (void)signal(SIGUSR1, SIG_IGN);
    sigset_t blocked;
    (void)sigemptyset(&blocked);
    (void)sigaddset(&blocked, SIGUSR2);
    (void)sigprocmask(SIG_BLOCK, &blocked, NULL);
    struct kiln_subprocess_run run = {0};
    struct kiln_subprocess_exit exit;
    struct kiln_buffer output;
    struct kiln_error error;
    /* ls has a descriptor of its own for the directory: 0, 1, 2, 3. */
    cr_assert_eq(run_shell("ls /proc/self/fd | wc -l; grep -E '^Sig(Blk|Ign)' /proc/self/status",
                           &run, &output, &exit, &error),
                 KILN_OK);
    int descriptors = 0;
    unsigned long long is_blocked = 1;
    unsigned long long is_ignored = 1;
    cr_assert_eq(sscanf(kiln_buffer_text(&output), "%d SigBlk: %llx SigIgn: %llx", &descriptors,
                        &is_blocked, &is_ignored),
                 3, "%s", kiln_buffer_text(&output));
    cr_expect_eq(descriptors, 4);
    cr_expect_eq(is_blocked, 0);
    /* Signals 32 and 33 are the C library's own. */
    cr_expect_eq(is_ignored & 0x7fffffff, 0, "%s", kiln_buffer_text(&output));
    kiln_buffer_fini(&output);
    (void)close(leaky);
}

/* A daemon has closed its standard descriptors: the numbers 0 to 2 are given to sockets then. */
Test(subprocess, closed_standard_descriptors)
{
    int saved[3];
    for (int i = 0; i < 3; i++) {
        saved[i] = fcntl(i, F_DUPFD_CLOEXEC, 10);
        (void)close(i);
    }
    const char *const arguments[] = {"/bin/cat", NULL};
    struct kiln_subprocess_run run = {
        .arguments = arguments, .input = "hello", .input_bytes = 5, .output_limit_bytes = 100};
    struct kiln_subprocess_exit exit;
    struct kiln_buffer output;
    struct kiln_error error;
    kiln_error_init(&error);
    kiln_buffer_init(&output);
    enum kiln_status status = kiln_subprocess_run(&run, &output, &exit, &error);
    for (int i = 0; i < 3; i++)
        (void)dup2(saved[i], i);
    cr_expect_eq(status, KILN_OK, "%s", error.text);
    cr_expect_str_eq(kiln_buffer_text(&output), "hello");
    kiln_buffer_fini(&output);
}
