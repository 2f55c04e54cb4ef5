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
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static size_t count_descriptors(void)
{
    size_t count = 0;
    DIR *descriptors = opendir("/proc/self/fd");
    while (readdir(descriptors) != NULL)
        count++;
    (void)closedir(descriptors);
    return count;
}

/* A directory of this test alone, for all temporary files: workers and compilers have its name in
 * their command lines. */
static char directory[32];

static void make_directory(void)
{
    (void)strcpy(directory, "/tmp/kiln-test-XXXXXX");
    cr_assert_not_null(mkdtemp(directory));
    cr_assert_eq(setenv("TMPDIR", directory, 1), 0);
    cr_assert_eq(setenv("KILN_DUMP_DIR", "/nonexistent", 1), 0);
}

/* A few calls later the memory is used again. */
static const char *path_in_directory(const char *name)
{
    enum { PATHS = 4 };
    static char paths[PATHS][64];
    static unsigned next;
    char *path = paths[next++ % PATHS];
    (void)snprintf(path, sizeof paths[0], "%s/%s", directory, name);
    return path;
}

/* How many processes with the directory in their command lines live; `ret_process` gets one. Those
 * that are dead and not collected have no command line any more. */
static size_t count_living(pid_t *ret_process)
{
    size_t count = 0;
    DIR *processes = opendir("/proc");
    for (struct dirent *item; (item = readdir(processes)) != NULL;) {
        char path[300];
        char text[4096];
        (void)snprintf(path, sizeof path, "/proc/%s/cmdline", item->d_name);
        FILE *file = *item->d_name >= '1' && *item->d_name <= '9' ? fopen(path, "r") : NULL;
        size_t size = file != NULL ? fread(text, 1, sizeof text, file) : 0;
        if (memmem(text, size, directory, strlen(directory)) != NULL) {
            count++;
            if (ret_process != NULL)
                *ret_process = (pid_t)strtol(item->d_name, NULL, 10);
        }
        if (file != NULL)
            (void)fclose(file);
    }
    (void)closedir(processes);
    return count;
}

/* Waits until so many live, for a time that is long for what is waited for; false when that is
 * over. */
static bool wait_until_live(size_t least, size_t most)
{
    for (int i = 0; i < 1000; i++) {
        size_t count = count_living(NULL);
        if (count >= least && count <= most)
            return true;
        (void)usleep(10000);
    }
    return false;
}

/* Compiles with the stand-in; expects the status and sentence within the time, and no traces. */
static void expect_failure(const char *mode, enum kiln_status expected, const char *sentence)
{
    make_directory();
    cr_assert_eq(setenv("KILN_FAKE_WORKER", mode, 1), 0);
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
    cr_expect(wait_until_live(0, 0), "%s: a process that the worker started lives on", mode);
    cr_expect_eq(rmdir(directory), 0, "temporary files are left in '%s'", directory);
}

Test(compile_service, silent)
{
    expect_failure("silent", KILN_TIMEOUT, "did not answer in time");
}

Test(compile_service, hangs)
{
    expect_failure("hangs", KILN_TIMEOUT, "KILN_COMPILE_TIMEOUT is the time");
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

/* What the worker has started ends with it, although it is no child of ours. */
Test(compile_service, crashes_with_a_child)
{
    expect_failure("crashes with a child", KILN_COMPILE_FAILED, "was ended by signal");
}

Test(compile_service, is_killed)
{
    expect_failure("is killed", KILN_COMPILE_FAILED, "was ended by signal 9");
    expect_failure("is killed", KILN_COMPILE_FAILED, "when the machine is short of memory");
}

Test(compile_service, runs_out_of_memory)
{
    expect_failure("runs out of memory", KILN_COMPILE_FAILED,
                   "the compiler ran out of memory, for kernel 'sample'");
    expect_failure("runs out of memory", KILN_COMPILE_FAILED, "hint: KILN_COMPILE_MEMORY");
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
    expect_failure("other version", KILN_UNSUPPORTED, "is of another version of Kiln: it is '");
    expect_failure("other protocol", KILN_UNSUPPORTED,
                   "is of another version of Kiln: it speaks protocol ");
    expect_failure("half a hello", KILN_COMPILE_FAILED, "ended with exit code 0");
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

Test(compile_service, killed_between_jobs_is_replaced)
{
    make_directory();
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
        pid_t worker = -1;
        cr_assert_eq(count_living(&worker), 1);
        cr_assert_eq(kill(worker, SIGKILL), 0);
        cr_assert(wait_until_live(0, 0));
    }
    struct kiln_codegen_counters counters;
    kiln_codegen_counters(codegen, &counters);
    cr_expect_eq(counters.workers_started, 3);
    kiln_codegen_unref(codegen);
    cr_expect_eq(waitpid(-1, NULL, WNOHANG), -1);
    cr_expect_eq(rmdir(directory), 0);
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
    make_directory();
    cr_assert_eq(setenv("KILN_FAKE_WORKER", "hangs", 1), 0);
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
    make_directory();
    cr_assert_eq(setenv("KILN_REAL_WORKER", REAL_WORKER, 1), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *mark = path_in_directory("mark");
        cr_assert_eq(setenv("KILN_FAKE_WORKER", cases[i].mode, 1), 0);
        cr_assert_eq(setenv("KILN_FAKE_WORKER_ONCE", mark, 1), 0);
        /* Long enough for a compiler, so one that hangs takes as long. */
        struct kiln_codegen *codegen = sample_codegen(FAKE_WORKER, 2);
        cr_expect_neq(compile_sample(codegen), (void *)(intptr_t)KILN_OK, "%s", cases[i].mode);
        if (strcmp(cases[i].mode, "descriptors") == 0 || strcmp(cases[i].mode, "chatters") == 0 ||
            strcmp(cases[i].mode, "lies") == 0) {
            /* It has answered, so it is asked again, and has ended meanwhile. */
            cr_expect(wait_until_live(0, 0), "%s", cases[i].mode);
        }
        cr_expect_eq(compile_sample(codegen), (void *)(intptr_t)KILN_OK, "after '%s'",
                     cases[i].mode);
        struct kiln_codegen_counters counters;
        kiln_codegen_counters(codegen, &counters);
        cr_expect_eq(counters.workers_started, cases[i].workers, "%s: %llu", cases[i].mode,
                     (unsigned long long)counters.workers_started);
        kiln_codegen_unref(codegen);
        cr_expect_eq(unlink(mark), 0);
    }
    cr_expect(wait_until_live(0, 0));
    cr_expect_eq(rmdir(directory), 0);
}

static enum kiln_status compile_text(struct kiln_codegen *codegen, const char *target_name,
                                     const char *source, struct kiln_error *error)
{
    struct kiln_target target = sample_target(target_name);
    struct kiln_kernel kernel =
        source != NULL ? sample_kernel_with(source) : sample_kernel(&target);
    struct kiln_code_object object;
    kiln_error_init(error);
    enum kiln_status status = kiln_codegen_compile(codegen, &target, &kernel, &object, error);
    if (status == KILN_OK)
        kiln_code_object_fini(&object);
    return status;
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
    make_directory();
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
    cr_expect_eq(rmdir(directory), 0);
}

/* What a compiler that is a program prints is in the error, cut, and not on our descriptors. */
Test(compile_service, compilers_print_nothing_here)
{
    make_directory();
    const char *compiler = path_in_directory("c++");
    FILE *file = fopen(compiler, "w");
    (void)fprintf(file,
                  "#!/bin/sh\ncat >/dev/null\necho 'x.cpp:1:1: error: no such luck' >&2\n"
                  "i=0; while [ $i -lt 20000 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done\n"
                  "exit 1\n");
    (void)fclose(file);
    cr_assert_eq(chmod(compiler, 0700), 0);
    cr_assert_eq(setenv("KILN_HOST_CXX", compiler, 1), 0);
    const char *printed = path_in_directory("printed");
    int descriptor = open(printed, O_CREAT | O_RDWR | O_APPEND, 0600);
    int saved[] = {dup(1), dup(2)};
    (void)fflush(NULL);
    (void)dup2(descriptor, 1);
    (void)dup2(descriptor, 2);
    struct kiln_codegen *codegen = sample_codegen(REAL_WORKER, 60);
    struct kiln_error error;
    enum kiln_status status = compile_text(codegen, "host", NULL, &error);
    kiln_codegen_unref(codegen);
    (void)fflush(NULL);
    (void)dup2(saved[0], 1);
    (void)dup2(saved[1], 2);
    cr_expect_eq(status, KILN_COMPILE_FAILED);
    cr_expect(strstr(error.text, "no such luck") != NULL, "%s", error.text);
    cr_expect(strstr(error.text, " more lines]") != NULL, "%s", error.text);
    struct stat attributes;
    cr_assert_eq(fstat(descriptor, &attributes), 0);
    cr_expect_eq(attributes.st_size, 0, "%lld bytes came out", (long long)attributes.st_size);
    cr_expect_eq(unlink(compiler) | unlink(printed), 0);
    cr_expect_eq(rmdir(directory), 0);
}

/* A host with a descriptor for everything, none closed on exec. */
Test(compile_service, workers_get_no_descriptor_of_ours)
{
    make_directory();
    for (int i = 0; i < 200; i++)
        cr_assert_geq(open("/dev/null", O_RDONLY), 0);
    cr_assert_eq(setenv("KILN_FAKE_WORKER", "descriptors", 1), 0);
    struct kiln_codegen *codegen = sample_codegen(FAKE_WORKER, 60);
    struct kiln_error error;
    cr_expect_eq(compile_text(codegen, "host", NULL, &error), KILN_UNSUPPORTED);
    cr_expect_str_eq(error.text, "0 1 2 ");
    kiln_codegen_unref(codegen);
    cr_expect_eq(rmdir(directory), 0);
}

/* What the host has done to itself, and what stands in its environment, does not reach a compiler.
 */
Test(compile_service, compilers_get_a_clean_state)
{
    make_directory();
    const char *compiler = path_in_directory("c++");
    FILE *file = fopen(compiler, "w");
    (void)fprintf(
        file,
        "#!/bin/sh\ncat >/dev/null\n"
        "{ ls /proc/self/fd | wc -l; pwd; umask; grep -E '^Sig(Blk|Ign)' /proc/self/status"
        "; env; } >%s/state\nexit 1\n",
        directory);
    (void)fclose(file);
    cr_assert_eq(chmod(compiler, 0700), 0);
    cr_assert_eq(setenv("KILN_HOST_CXX", compiler, 1), 0);
    static const char *const changing[] = {
        "CPATH",          "C_INCLUDE_PATH",       "CPLUS_INCLUDE_PATH", "LIBRARY_PATH",
        "COMPILER_PATH",  "GCC_EXEC_PREFIX",      "LD_PRELOAD",         "LD_AUDIT",
        "AMD_COMGR_X",    "CCC_OVERRIDE_OPTIONS", "HIP_PATH",           "ROCM_PATH",
        "LANG",           "SOURCE_DATE_EPOCH",    "NVCC_APPEND_FLAGS",  "CCACHE_COMPILER",
        "A_NEW_VARIABLE", "GLIBC_TUNABLES",       "KILN_CACHE_REMOTE",
    };
    for (size_t i = 0; i < sizeof changing / sizeof *changing; i++)
        cr_assert_eq(setenv(changing[i], "", 1), 0);
    cr_assert_eq(setenv("LD_LIBRARY_PATH", "/some/where:else::/end", 1), 0);
    (void)signal(SIGCHLD, SIG_IGN);
    (void)signal(SIGTERM, SIG_IGN);
    sigset_t all;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_BLOCK, &all, NULL);
    for (int i = 0; i < 50; i++)
        cr_assert_geq(open("/dev/null", O_RDONLY), 0);
    cr_assert_eq(chdir("/tmp"), 0);
    (void)umask(0277);
    struct kiln_codegen *codegen = sample_codegen(REAL_WORKER, 60);
    struct kiln_error error;
    cr_expect_eq(compile_text(codegen, "host", NULL, &error), KILN_COMPILE_FAILED, "%s",
                 error.text);
    kiln_codegen_unref(codegen);

    const char *state = path_in_directory("state");
    char text[8192];
    file = fopen(state, "r");
    cr_assert_not_null(file, "%s", error.text);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    int descriptors = 0;
    int at = 0;
    unsigned long long is_blocked = 1;
    unsigned long long is_ignored = 1;
    (void)sscanf(text, "%d / 0077 SigBlk: %llx SigIgn: %llx%n", &descriptors, &is_blocked,
                 &is_ignored, &at);
    cr_expect_gt(at, 0, "%s", text);
    cr_expect_eq(descriptors, 4, "%s", text); /* ls has one of its own */
    cr_expect_eq(is_blocked, 0, "%s", text);
    /* Signals 32 and 33 are the C library's own. */
    cr_expect_eq(is_ignored & 0x7fffffff, 0, "%s", text);
    for (size_t i = 0; i < sizeof changing / sizeof *changing; i++) {
        char line[64];
        (void)snprintf(line, sizeof line, "\n%s=", changing[i]);
        cr_expect(strstr(text, line) == NULL, "'%s' is left: %s", changing[i], text);
    }
    cr_expect(strstr(text, "\nLC_ALL=C\n") != NULL, "%s", text);
    cr_expect(strstr(text, "\nLD_LIBRARY_PATH=/some/where:/tmp/else:/tmp:/end\n") != NULL, "%s",
              text);
    cr_expect_eq(unlink(compiler) | unlink(state), 0);
    cr_expect_eq(rmdir(directory), 0);
}

static void collect_all(int signal_number)
{
    int host_errno = errno;
    (void)signal_number;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        continue;
    errno = host_errno;
}

/* Hosts that take our children's ends away. */
static void expect_failures_without_children(void)
{
    static const struct {
        const char *mode;
        enum kiln_status status;
    } cases[] = {
        {"crashes", KILN_COMPILE_FAILED}, {"crashes with a child", KILN_COMPILE_FAILED},
        {"exits", KILN_COMPILE_FAILED},   {"hangs", KILN_TIMEOUT},
        {"garbage", KILN_COMPILE_FAILED},
    };
    make_directory();
    cr_assert_eq(setenv("KILN_REAL_WORKER", REAL_WORKER, 1), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *mark = path_in_directory("mark");
        cr_assert_eq(setenv("KILN_FAKE_WORKER", cases[i].mode, 1), 0);
        cr_assert_eq(setenv("KILN_FAKE_WORKER_ONCE", mark, 1), 0);
        struct kiln_codegen *codegen = sample_codegen(FAKE_WORKER, 2);
        struct kiln_error error;
        enum kiln_status status = compile_text(codegen, "host", NULL, &error);
        cr_expect_eq(status, cases[i].status, "%s: %s", cases[i].mode, error.text);
        status = compile_text(codegen, "host", NULL, &error);
        cr_expect_eq(status, KILN_OK, "after '%s': %s", cases[i].mode, error.text);
        kiln_codegen_unref(codegen);
        cr_expect(wait_until_live(0, 0), "%s: a process lives on", cases[i].mode);
        cr_expect_eq(unlink(mark), 0);
    }
    cr_expect_eq(waitpid(-1, NULL, WNOHANG), -1, "a zombie is left");
    cr_expect_eq(rmdir(directory), 0);
}

Test(compile_service, host_ignores_the_end_of_children)
{
    (void)signal(SIGCHLD, SIG_IGN);
    expect_failures_without_children();
}

Test(compile_service, host_collects_all_children)
{
    struct sigaction action = {.sa_handler = collect_all, .sa_flags = SA_RESTART};
    cr_assert_eq(sigaction(SIGCHLD, &action, NULL), 0);
    expect_failures_without_children();
}

struct host_job {
    struct kiln_codegen *codegen;
    const char *target;
    const char *source;
};

static void *compile_as_host(void *context)
{
    const struct host_job *job = context;
    struct kiln_error error;
    (void)compile_text(job->codegen, job->target, job->source, &error);
    return NULL;
}

/* Waits until the only worker has computed for half a second, more than starting takes. */
static bool wait_until_busy(void)
{
    for (int i = 0; i < 1000; i++) {
        pid_t worker = -1;
        char path[64];
        unsigned long ticks = 0;
        (void)count_living(&worker);
        (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)worker);
        FILE *file = fopen(path, "r");
        if (file != NULL) {
            (void)fscanf(file, "%*d %*s %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu", &ticks);
            (void)fclose(file);
        }
        if (ticks * 2 > (unsigned long)sysconf(_SC_CLK_TCK))
            return true;
        (void)usleep(10000);
    }
    return false;
}

/*
 * A process that compiles this, and has, once so many workers and compilers live, a child that does
 * nothing but hold what it got: the ends of all sockets among it. With it ends everything.
 */
static pid_t start_host(const char *target, const char *source, size_t living)
{
    pid_t host = fork();
    cr_assert_geq(host, 0);
    if (host != 0)
        return host;
    (void)setpgid(0, 0);
    struct host_job job = {sample_codegen(REAL_WORKER, 60), target, source};
    pthread_t thread;
    if (pthread_create(&thread, NULL, compile_as_host, &job) != 0 ||
        !wait_until_live(living, living) || (source != NULL && !wait_until_busy()))
        _exit(1);
    if (living == 1 && source == NULL) {
        /* The worker outlives the thread that has started it. */
        (void)pthread_join(thread, NULL);
        struct kiln_codegen_counters counters;
        compile_as_host(&job);
        kiln_codegen_counters(job.codegen, &counters);
        if (counters.workers_started != 1 || counters.kernels_compiled != 2)
            _exit(2);
    }
    if (fork() != 0) {
        int ready = open("ready", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        (void)close(ready);
    }
    for (;;)
        (void)pause();
}

/* Kills the host when it is ready; expects that nothing of it stays but the child with the sockets.
 */
static void expect_end_with_host(const char *target, const char *source, size_t living)
{
    cr_assert_eq(chdir(directory), 0);
    pid_t host = start_host(target, source, living);
    struct stat attributes;
    for (int i = 0; i < 2000 && stat("ready", &attributes) != 0; i++) {
        cr_assert_eq(waitpid(host, NULL, WNOHANG), 0, "the host has failed");
        (void)usleep(10000);
    }
    cr_assert_eq(unlink("ready"), 0);
    cr_expect_eq(count_living(NULL), living);
    cr_assert_eq(kill(host, SIGKILL), 0);
    cr_assert_eq(waitpid(host, NULL, 0), host);
    cr_expect(wait_until_live(0, 0), "%zu workers and compilers live on", count_living(NULL));
    cr_expect_eq(kill(-host, SIGKILL), 0, "the child of the host has gone, so nothing was shown");
}

Test(compile_service, idle_worker_ends_with_a_host_that_is_killed)
{
    make_directory();
    expect_end_with_host("host", NULL, 1);
    cr_expect_eq(rmdir(directory), 0, "temporary files are left in '%s'", directory);
}

Test(compile_service, compilers_end_with_a_host_that_is_killed)
{
    make_directory();
    const char *compiler = path_in_directory("c++");
    FILE *file = fopen(compiler, "w");
    (void)fprintf(file, "#!/bin/sh\ntrap '' TERM\nwhile :; do sleep 0.1; done\n");
    (void)fclose(file);
    cr_assert_eq(chmod(compiler, 0700), 0);
    cr_assert_eq(setenv("KILN_HOST_CXX", compiler, 1), 0);
    expect_end_with_host("host", NULL, 2);
    cr_expect_eq(unlink(compiler), 0);
    cr_expect_eq(rmdir(directory), 0, "temporary files are left in '%s'", directory);
}

/* Text around the last of macros each of which is the one before it, twice. */
static char *doubling_source(const char *before, const char *element, int doublings,
                             const char *after)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    (void)fprintf(file, "#define A0 %s\n", element);
    for (int i = 1; i <= doublings; i++)
        (void)fprintf(file, "#define A%d A%d A%d\n", i, i - 1, i - 1);
    (void)fprintf(file, "%s A%d %s\n", before, doublings, after);
    (void)fclose(file);
    return text;
}

Test(compile_service, worker_inside_llvm_ends_with_a_host_that_is_killed)
{
    make_directory();
    struct kiln_codegen *codegen = sample_codegen(REAL_WORKER, 60);
    struct kiln_target target = sample_target("gfx90a");
    sample_require(codegen, &target);
    kiln_codegen_unref(codegen);
    /* Preprocessing this would take until the end of the world, in no memory. */
    char *source = doubling_source("#if", "0+", 60, "0\n#endif");
    expect_end_with_host("gfx90a", source, 1);
    free(source);
    cr_expect_eq(rmdir(directory), 0, "temporary files are left in '%s'", directory);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_MEMORY_LIMIT 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_MEMORY_LIMIT 0
#endif
#endif
#ifndef HAS_MEMORY_LIMIT
#define HAS_MEMORY_LIMIT 1
#endif

/* Sanitizers reserve terabytes, so workers of their builds have no limit. */
static void require_memory_limit(void)
{
    if (!HAS_MEMORY_LIMIT)
        cr_skip_test("workers have no memory limit in this build");
}

/* The real compilers, in less memory than they need, and then a job that fits. */
static void expect_out_of_memory(const char *target_name)
{
    require_memory_limit();
    make_directory();
    cr_assert_eq(setenv("KILN_COMPILE_MEMORY", "600", 1), 0);
    struct kiln_codegen *codegen = sample_codegen(REAL_WORKER, 60);
    struct kiln_target target = sample_target(target_name);
    sample_require(codegen, &target);
    char *source = doubling_source("extern const int big[]; const int big[] = {", "1,", 25, "};");
    struct kiln_error error;
    enum kiln_status status = compile_text(codegen, target_name, source, &error);
    cr_expect_eq(status, KILN_COMPILE_FAILED, "%d", status);
    cr_expect(strstr(error.text, "the compiler ran out of memory") != NULL, "%s", error.text);
    cr_expect_eq(compile_text(codegen, target_name, NULL, &error), KILN_OK, "%s", error.text);
    kiln_codegen_unref(codegen);
    cr_expect_eq(rmdir(directory), 0, "temporary files are left in '%s'", directory);
    free(source);
}

Test(compile_service, memory_limit_holds_for_comgr)
{
    expect_out_of_memory("gfx90a");
}

Test(compile_service, memory_limit_holds_for_programs)
{
    expect_out_of_memory("host");
}

/* Too little for comgr to be mapped: not a reason to let clang compile under the same key. */
Test(compile_service, memory_limit_does_not_choose_the_compiler)
{
    require_memory_limit();
    make_directory();
    struct kiln_codegen *codegen = sample_codegen(REAL_WORKER, 60);
    struct kiln_target target = sample_target("gfx90a");
    char name[KILN_COMPILER_NAME_BYTES];
    struct kiln_error error;
    kiln_error_init(&error);
    if (kiln_codegen_compiler(codegen, &target, name, &error) != KILN_OK ||
        strcmp(name, "comgr") != 0) {
        (void)rmdir(directory);
        cr_skip_test("comgr does not serve here");
    }
    kiln_codegen_unref(codegen);
    cr_assert_eq(setenv("KILN_COMPILE_MEMORY", "300", 1), 0);
    codegen = sample_codegen(REAL_WORKER, 60);
    cr_expect_eq(compile_text(codegen, "gfx90a", NULL, &error), KILN_NO_MEMORY, "%s", error.text);
    cr_expect(strstr(error.text, "cannot open comgr") != NULL, "%s", error.text);
    cr_expect(strstr(error.text, "hint: KILN_COMPILE_MEMORY") != NULL, "%s", error.text);
    kiln_codegen_unref(codegen);
    cr_expect_eq(rmdir(directory), 0, "temporary files are left in '%s'", directory);
}

Test(compile_service, a_memory_limit_may_be_too_low_for_anything)
{
    require_memory_limit();
    make_directory();
    cr_assert_eq(setenv("KILN_COMPILE_MEMORY", "100", 1), 0);
    struct kiln_codegen *codegen = sample_codegen(REAL_WORKER, 60);
    struct kiln_error error;
    cr_expect_eq(compile_text(codegen, "host", NULL, &error), KILN_COMPILE_FAILED);
    cr_expect(strstr(error.text, "KILN_COMPILE_MEMORY leaves 100 MiB") != NULL, "%s", error.text);
    kiln_codegen_unref(codegen);
    cr_expect_eq(rmdir(directory), 0, "temporary files are left in '%s'", directory);
}
