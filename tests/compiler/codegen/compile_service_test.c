/* Workers that hang, crash, talk nonsense, disappear: each gives a clear error, in time, and leaves
 * nothing behind. */
#include "compiler/codegen/compile_service.h"

#include "compiler/codegen/codegen.h"
#include "compiler/codegen/worker_message.h"
#include "runtime/support/subprocess.h"
#include "sample_kernel.h"
#include "tests/runtime/support/temporary_directory.h"
#include "worker_directory.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Compiles with the stand-in; expects the status and all sentences, of which NULL is the last,
 * within the time, and no traces. */
static void check_failure(const char *mode, enum kiln_status expected, const char *const *sentences)
{
    worker_directory_make();
    cr_assert_eq(setenv("KILN_FAKE_WORKER", mode, 1), 0);
    int descriptors = directory_count("/proc/self/fd");
    struct kiln_codegen *codegen = sample_codegen(FAKE_WORKER, 1);
    for (int round = 0; round < 2; round++) {
        struct kiln_error error;
        uint64_t start = kiln_monotonic_milliseconds();
        enum kiln_status status = sample_compile(codegen, "host", NULL, &error);
        cr_expect_eq(status, expected, "%s: status %d, %s", mode, status, error.text);
        for (const char *const *at = sentences; *at != NULL; at++)
            cr_expect(strstr(error.text, *at) != NULL, "'%s' expected: %s", *at, error.text);
        cr_expect_lt(kiln_monotonic_milliseconds() - start, 5000);
    }
    kiln_codegen_unref(codegen);
    cr_expect_eq(directory_count("/proc/self/fd"), descriptors);
    cr_expect_eq(waitpid(-1, NULL, WNOHANG), -1);
    cr_expect_eq(errno, ECHILD);
    cr_expect(worker_directory_wait_until_live(0, 0),
              "%s: a process that the worker started lives on", mode);
    worker_directory_remove();
}

#define EXPECT_FAILURE(mode, expected, ...)                                                        \
    check_failure(mode, expected, (const char *const[]){__VA_ARGS__, NULL})

Test(compile_service, silent)
{
    EXPECT_FAILURE("silent", KILN_TIMEOUT, "did not answer in time");
}

Test(compile_service, hangs)
{
    EXPECT_FAILURE("hangs", KILN_TIMEOUT, "KILN_COMPILE_TIMEOUT is the time");
}

Test(compile_service, drips)
{
    EXPECT_FAILURE("drips", KILN_TIMEOUT, "did not answer in time");
}

Test(compile_service, exits_at_once)
{
    EXPECT_FAILURE("exits", KILN_COMPILE_FAILED, "ended with exit code 7", "no leg to stand on");
}

Test(compile_service, crashes)
{
    EXPECT_FAILURE("crashes", KILN_COMPILE_FAILED, "was ended by signal",
                   "LLVM ERROR: out of patience");
}

/* What the worker has started ends with it, although it is no child of ours. */
Test(compile_service, crashes_with_a_child)
{
    EXPECT_FAILURE("crashes with a child", KILN_COMPILE_FAILED, "was ended by signal");
}

Test(compile_service, is_killed)
{
    EXPECT_FAILURE("is killed", KILN_COMPILE_FAILED, "was ended by signal 9",
                   "when the machine is short of memory");
}

Test(compile_service, runs_out_of_memory)
{
    EXPECT_FAILURE("runs out of memory", KILN_COMPILE_FAILED,
                   "the compiler ran out of memory, for kernel 'sample'",
                   "hint: KILN_COMPILE_MEMORY");
}

Test(compile_service, talks_garbage)
{
    EXPECT_FAILURE("garbage", KILN_COMPILE_FAILED, "cannot be understood");
    EXPECT_FAILURE("no hello", KILN_COMPILE_FAILED, "cannot be understood");
    EXPECT_FAILURE("huge hello", KILN_COMPILE_FAILED, "cannot be understood");
}

Test(compile_service, lies)
{
    EXPECT_FAILURE("lies", KILN_CORRUPT, "no sound ELF file");
}

Test(compile_service, is_of_another_version)
{
    EXPECT_FAILURE("other version", KILN_UNSUPPORTED, "is of another version of Kiln: it is '");
    EXPECT_FAILURE("other protocol", KILN_UNSUPPORTED,
                   "is of another version of Kiln: it speaks protocol ");
    EXPECT_FAILURE("half a hello", KILN_COMPILE_FAILED, "ended with exit code 0");
}

Test(compile_service, is_not_there)
{
    struct kiln_codegen *codegen = sample_codegen("/nonexistent/kiln-compile", 5);
    struct kiln_error error;
    cr_expect_eq(sample_compile(codegen, "host", NULL, &error), KILN_UNSUPPORTED);
    cr_expect(strstr(error.text, "/nonexistent/kiln-compile") != NULL, "%s", error.text);
    cr_expect(strstr(error.text, "hint: KILN_COMPILE_WORKER") != NULL, "%s", error.text);
    kiln_codegen_unref(codegen);
}

Test(compile_service, killed_between_jobs_is_replaced)
{
    worker_directory_make();
    struct kiln_codegen *codegen = sample_codegen(REAL_WORKER, 60);
    for (int round = 0; round < 3; round++) {
        struct kiln_error error;
        cr_assert_eq(sample_compile(codegen, "host", NULL, &error), KILN_OK, "round %d: %s", round,
                     error.text);
        pid_t worker = -1;
        cr_assert_eq(worker_directory_count_living(&worker), 1);
        cr_assert_eq(kill(worker, SIGKILL), 0);
        cr_assert(worker_directory_wait_until_live(0, 0));
    }
    struct kiln_codegen_counters counters;
    kiln_codegen_counters(codegen, &counters);
    cr_expect_eq(counters.workers_started, 3);
    kiln_codegen_unref(codegen);
    cr_expect_eq(waitpid(-1, NULL, WNOHANG), -1);
    worker_directory_remove();
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

/* One that misbehaves costs one kernel: the next is compiled by a new one. */
Test(compile_service, recovers_from_every_failure)
{
    static const struct {
        const char *mode;
        uint32_t workers;
    } cases[] = {
        {"silent", 1},      {"exits", 1},    {"other version", 1}, {"no hello", 1},
        {"hangs", 2},       {"crashes", 2},  {"is killed", 2},     {"garbage", 2},
        {"drips", 2},       {"lies", 2},     {"half a hello", 1},  {"crashes with a child", 2},
        {"descriptors", 2}, {"chatters", 2},
    };
    worker_directory_make();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *mark = worker_directory_misbehave_once(cases[i].mode);
        /* Long enough for a compiler, so one that hangs takes as long. */
        struct kiln_codegen *codegen = sample_codegen(FAKE_WORKER, 2);
        struct kiln_error error;
        cr_expect_neq(sample_compile(codegen, "host", NULL, &error), KILN_OK, "%s", cases[i].mode);
        if (strcmp(cases[i].mode, "descriptors") == 0 || strcmp(cases[i].mode, "chatters") == 0 ||
            strcmp(cases[i].mode, "lies") == 0) {
            /* It has answered, so it is asked again, and has ended meanwhile. */
            cr_expect(worker_directory_wait_until_live(0, 0), "%s", cases[i].mode);
        }
        cr_expect_eq(sample_compile(codegen, "host", NULL, &error), KILN_OK, "after '%s'",
                     cases[i].mode);
        struct kiln_codegen_counters counters;
        kiln_codegen_counters(codegen, &counters);
        cr_expect_eq(counters.workers_started, cases[i].workers, "%s: %llu", cases[i].mode,
                     (unsigned long long)counters.workers_started);
        kiln_codegen_unref(codegen);
        cr_expect_eq(unlink(mark), 0);
    }
    cr_expect(worker_directory_wait_until_live(0, 0));
    worker_directory_remove();
}

/* Of the file in memory that a worker of this process writes to; fails the test when there is none.
 */
static off_t size_of_noise(void)
{
    enum { SOME = 100 };
    for (int i = 3; i < SOME; i++) {
        char path[32];
        char name[64] = "";
        struct stat attributes;
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", i);
        if (readlink(path, name, sizeof name - 1) > 0 &&
            strncmp(name, "/memfd:kiln-compile", 19) == 0 && fstat(i, &attributes) == 0)
            return attributes.st_size;
    }
    cr_assert_fail("there is no such file");
    return 0;
}

/* 100 MB on standard error: what is kept is little, the job goes on, and nothing comes out here. */
Test(compile_service, noise_is_bounded)
{
    worker_directory_make();
    cr_assert_eq(setenv("KILN_FAKE_WORKER", "chatters", 1), 0);
    struct kiln_compile_service *service;
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_compile_service_create(FAKE_WORKER, 1, 60, false, &service, &error), KILN_OK);
    struct kiln_compile_request request = {
        .task = KILN_COMPILE_TASK_COMPILE,
        .target = sample_target("host"),
        .source = {.symbol = "sample", .text = "", .size_bytes = 0},
    };
    struct kiln_compile_result result;
    kiln_compile_result_init(&result);
    cr_assert_eq(kiln_compile_service_run(service, &request, &result, &error), KILN_OK, "%s",
                 error.text);
    cr_expect_str_eq(result.error.text, "that was all");
    cr_expect_gt(result.log.size, KILN_COMPILE_LOG_LIMIT_BYTES / 2);
    cr_expect_leq(result.log.size, (size_t)KILN_COMPILE_LOG_LIMIT_BYTES);
    cr_expect_leq(size_of_noise(), (off_t)KILN_COMPILE_LOG_LIMIT_BYTES);
    kiln_compile_result_fini(&result);
    kiln_compile_service_destroy(service);
    worker_directory_remove();
}
