/* Workers that hang, crash, talk nonsense, disappear: each gives a clear error, in time, and leaves
 * nothing behind. */
#include "compiler/codegen/compile_service.h"

#include "compiler/codegen/codegen.h"
#include "compiler/codegen/worker_message.h"
#include "runtime/support/subprocess.h"
#include "sample_kernel.h"

#include <criterion/criterion.h>

#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static size_t count_descriptors(void)
{
    size_t count = 0;
    DIR *directory = opendir("/proc/self/fd");
    while (readdir(directory) != NULL)
        count++;
    (void)closedir(directory);
    return count;
}

/* Compiles with the stand-in; expects the status and sentence within the time, and no traces. */
static void expect_failure(const char *mode, enum kiln_status expected, const char *sentence)
{
    char directory[] = "/tmp/kiln-test-XXXXXX";
    cr_assert_not_null(mkdtemp(directory));
    cr_assert_eq(setenv("TMPDIR", directory, 1), 0);
    cr_assert_eq(setenv("KILN_DUMP_DIR", "/nonexistent", 1), 0);
    cr_assert_eq(setenv("FAKE_WORKER", mode, 1), 0);
    size_t descriptors = count_descriptors();
    struct kiln_codegen *codegen = sample_codegen(FAKE_WORKER, 1);
    struct kiln_target target = sample_target("host");
    struct kiln_kernel kernel = sample_kernel(&target);
    struct kiln_code_object object;
    for (int round = 0; round < 2; round++) {
        struct kiln_error error;
        kiln_error_init(&error);
        uint64_t start = kiln_monotonic_milliseconds();
        enum kiln_status status = kiln_codegen_compile(codegen, &target, &kernel, &object, &error);
        cr_expect_eq(status, expected, "%s: status %d, %s", mode, status, error.text);
        cr_expect(strstr(error.text, sentence) != NULL, "'%s' expected: %s", sentence, error.text);
        cr_expect_lt(kiln_monotonic_milliseconds() - start, 5000);
    }
    kiln_codegen_unref(codegen);
    cr_expect_eq(count_descriptors(), descriptors);
    cr_expect_eq(waitpid(-1, NULL, WNOHANG), -1);
    cr_expect_eq(errno, ECHILD);
    cr_expect_eq(rmdir(directory), 0, "temporary files are left in '%s'", directory);
}

Test(compile_service, silent)
{
    expect_failure("silent", KILN_TIMEOUT, "did not answer in time");
}

Test(compile_service, hangs)
{
    expect_failure("hangs", KILN_TIMEOUT, "did not answer in time");
}

Test(compile_service, drips)
{
    expect_failure("drips", KILN_TIMEOUT, "did not answer in time");
}

Test(compile_service, exits_at_once)
{
    expect_failure("exits", KILN_COMPILE_FAILED, "ended with exit code 7");
    expect_failure("exits", KILN_COMPILE_FAILED, "no leg to stand on");
}

Test(compile_service, crashes)
{
    expect_failure("crashes", KILN_COMPILE_FAILED, "was ended by signal");
    expect_failure("crashes", KILN_COMPILE_FAILED, "LLVM ERROR: out of patience");
}

Test(compile_service, talks_garbage)
{
    expect_failure("garbage", KILN_COMPILE_FAILED, "cannot be understood");
    expect_failure("no hello", KILN_COMPILE_FAILED, "cannot be understood");
    expect_failure("huge hello", KILN_COMPILE_FAILED, "cannot be understood");
}

Test(compile_service, lies)
{
    expect_failure("lies", KILN_CORRUPT, "no sound ELF file");
}

Test(compile_service, is_of_another_version)
{
    expect_failure("other version", KILN_UNSUPPORTED, "of another version");
}

Test(compile_service, is_not_there)
{
    struct kiln_codegen *codegen = sample_codegen("/nonexistent/kiln-compile", 5);
    struct kiln_target target = sample_target("host");
    struct kiln_kernel kernel = sample_kernel(&target);
    struct kiln_code_object object;
    struct kiln_error error;
    kiln_error_init(&error);
    cr_expect_eq(kiln_codegen_compile(codegen, &target, &kernel, &object, &error),
                 KILN_UNSUPPORTED);
    cr_expect(strstr(error.text, "/nonexistent/kiln-compile") != NULL, "%s", error.text);
    cr_expect(strstr(error.text, "hint: KILN_COMPILE_WORKER") != NULL, "%s", error.text);
    kiln_codegen_unref(codegen);
}

/* The process id of our only child. */
static pid_t find_child(void)
{
    char path[64];
    char text[64] = "";
    (void)snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return 0;
    size_t size = fread(text, 1, sizeof text - 1, file);
    text[size] = '\0';
    (void)fclose(file);
    return (pid_t)strtol(text, NULL, 10);
}

Test(compile_service, killed_between_jobs_is_replaced)
{
    struct kiln_codegen *codegen = sample_codegen(REAL_WORKER, 60);
    struct kiln_target target = sample_target("host");
    struct kiln_kernel kernel = sample_kernel(&target);
    for (int round = 0; round < 3; round++) {
        struct kiln_code_object object;
        struct kiln_error error;
        kiln_error_init(&error);
        cr_assert_eq(kiln_codegen_compile(codegen, &target, &kernel, &object, &error), KILN_OK,
                     "round %d: %s", round, error.text);
        kiln_code_object_fini(&object);
        pid_t child = find_child();
        if (child <= 0)
            cr_skip_test("the kernel does not list children");
        cr_assert_eq(kill(child, SIGKILL), 0);
    }
    struct kiln_codegen_counters counters;
    kiln_codegen_counters(codegen, &counters);
    cr_expect_eq(counters.workers_started, 3);
    kiln_codegen_unref(codegen);
    cr_expect_eq(waitpid(-1, NULL, WNOHANG), -1);
}

/* The real worker ends when the engine is gone, also in the middle of a job. */
Test(compile_service, worker_ends_with_its_engine)
{
    int pair[2];
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_subprocess_socket_pair(pair, &error), KILN_OK);
    static const char *const arguments[] = {REAL_WORKER, NULL};
    struct kiln_subprocess_spawn spawn = {
        .arguments = arguments,
        .input = pair[1],
        .output = pair[1],
        .error_output = STDERR_FILENO,
        .new_group = true,
    };
    pid_t process;
    cr_assert_eq(kiln_subprocess_start(&spawn, &process, &error), KILN_OK, "%s", error.text);
    (void)close(pair[1]);
    char hello[256];
    cr_assert_gt(read(pair[0], hello, sizeof hello), KILN_WORKER_HEAD_BYTES);
    (void)close(pair[0]);
    int status = 0;
    pid_t ended = 0;
    for (int i = 0; i < 500 && ended == 0; i++) {
        ended = waitpid(process, &status, WNOHANG);
        (void)usleep(10000);
    }
    cr_expect_eq(ended, process);
}

/* Requests come from the engine alone, yet a damaged one only ends the worker. */
Test(compile_service, damaged_requests_end_the_worker)
{
    struct kiln_target target = sample_target("host");
    struct kiln_kernel kernel = sample_kernel(&target);
    struct kiln_compiler none[1] = {0};
    struct kiln_compile_request request = {
        .task = KILN_COMPILE_TASK_COMPILE,
        .target = target,
        .compilers = none,
        .source = {.symbol = kernel.symbol,
                   .text = kernel.source,
                   .size_bytes = kernel.source_bytes},
    };
    struct kiln_buffer message;
    kiln_buffer_init(&message);
    kiln_worker_append_request(&request, &message);
    cr_assert_not(message.failed);
    const char *body = message.data + KILN_WORKER_HEAD_BYTES;
    size_t size = message.size - KILN_WORKER_HEAD_BYTES;
    struct kiln_compiler compilers[KILN_COMPILER_LIMIT];
    struct kiln_compile_request read_back;
    cr_expect(kiln_worker_read_request(body, size, compilers, &read_back));
    cr_expect_str_eq(read_back.target.name, target.name);
    cr_expect_str_eq(read_back.source.symbol, "sample");
    for (size_t cut = 0; cut < size; cut++) {
        char *copy = malloc(cut + 1);
        memcpy(copy, body, cut);
        copy[cut] = '\0';
        cr_expect_not(kiln_worker_read_request(copy, cut, compilers, &read_back), "cut to %zu",
                      cut);
        free(copy);
    }
    char *copy = malloc(size + 1);
    uint32_t state = 1;
    for (int round = 0; round < 20000; round++) {
        memcpy(copy, body, size);
        copy[size] = '\0';
        for (int i = 0; i < 3; i++) {
            state = state * 1664525 + 1013904223;
            copy[(state >> 8) % size] = (char)(state >> 24);
        }
        (void)kiln_worker_read_request(copy, size, compilers, &read_back);
        struct kiln_compile_result result;
        kiln_compile_result_init(&result);
        (void)kiln_worker_read_result(copy, size, &result);
        kiln_compile_result_fini(&result);
    }
    free(copy);
    kiln_buffer_fini(&message);
}

static void *compile_sample(void *context)
{
    struct kiln_target target = sample_target("host");
    struct kiln_kernel kernel = sample_kernel(&target);
    struct kiln_code_object object;
    struct kiln_error error;
    kiln_error_init(&error);
    enum kiln_status status = kiln_codegen_compile(context, &target, &kernel, &object, &error);
    if (status == KILN_OK)
        kiln_code_object_fini(&object);
    return (void *)(intptr_t)status;
}

/* All workers are busy for threads that a forked child does not have: it must not wait for them. */
Test(compile_service, forked_child_has_workers_of_its_own)
{
    enum { BUSY_MILLISECONDS = 300, CHILD_SECONDS = 10 };
    cr_assert_eq(setenv("FAKE_WORKER", "hangs", 1), 0);
    cr_assert_eq(setenv("KILN_DUMP_DIR", "/nonexistent", 1), 0);
    struct kiln_codegen *codegen = sample_codegen(FAKE_WORKER, 1);
    pthread_t threads[2]; /* as many as workers */
    for (int i = 0; i < 2; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, compile_sample, codegen), 0);
    (void)usleep(BUSY_MILLISECONDS * 1000);
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        (void)alarm(CHILD_SECONDS);
        _exit(compile_sample(codegen) == (void *)(intptr_t)KILN_TIMEOUT ? 0 : 1);
    }
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "wait status %d", status);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(pthread_join(threads[i], NULL), 0);
    kiln_codegen_unref(codegen);
}
