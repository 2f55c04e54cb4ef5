/* Hosts of every kind: what one has done to itself reaches no worker and no compiler, and what
 * those do does not reach the host. */
#include "compiler/codegen/codegen.h"
#include "compiler/codegen/compile_environment.h"

#include "sample_kernel.h"
#include "worker_directory.h"

#include <criterion/criterion.h>

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void *compile_sample(void *codegen)
{
    struct kiln_error error;
    return (void *)(intptr_t)sample_compile(codegen, "host", NULL, &error);
}

/* All workers are busy for threads that a forked child does not have: it must not wait for them. */
Test(compile_isolation, forked_child_has_workers_of_its_own)
{
    enum { BUSY_MILLISECONDS = 300, CHILD_SECONDS = 10 };
    worker_directory_make();
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
    worker_directory_remove();
}

/* What a compiler that is a program prints is in the error, cut, and not on our descriptors. */
Test(compile_isolation, compilers_print_nothing_here)
{
    worker_directory_make();
    const char *compiler = worker_directory_write_compiler(
        "cat >/dev/null\necho 'x.cpp:1:1: error: no such luck' >&2\n"
        "i=0; while [ $i -lt 20000 ]; do echo out $i; echo err $i >&2; i=$((i+1)); done\n"
        "exit 1\n");
    const char *printed = worker_directory_path("printed");
    int descriptor = open(printed, O_CREAT | O_RDWR | O_APPEND, 0600);
    int saved[] = {dup(1), dup(2)};
    (void)fflush(NULL);
    (void)dup2(descriptor, 1);
    (void)dup2(descriptor, 2);
    struct kiln_codegen *codegen = sample_codegen(REAL_WORKER, 60);
    struct kiln_error error;
    enum kiln_status status = sample_compile(codegen, "host", NULL, &error);
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
    worker_directory_remove();
}

Test(compile_isolation, compiler_that_makes_nothing)
{
    worker_directory_make();
    const char *compiler = worker_directory_write_compiler("cat >/dev/null\n");
    struct kiln_codegen *codegen = sample_codegen(REAL_WORKER, 60);
    struct kiln_error error;
    cr_expect_eq(sample_compile(codegen, "host", NULL, &error), KILN_COMPILE_FAILED);
    cr_expect(strstr(error.text, "ended without an error and made no code object") != NULL, "%s",
              error.text);
    kiln_codegen_unref(codegen);
    cr_expect_eq(unlink(compiler), 0);
    worker_directory_remove();
}

/* A host with a descriptor for everything, none closed on exec. */
Test(compile_isolation, workers_get_no_descriptor_of_ours)
{
    worker_directory_make();
    for (int i = 0; i < 200; i++)
        cr_assert_geq(open("/dev/null", O_RDONLY), 0);
    cr_assert_eq(setenv("KILN_FAKE_WORKER", "descriptors", 1), 0);
    struct kiln_codegen *codegen = sample_codegen(FAKE_WORKER, 60);
    struct kiln_error error;
    cr_expect_eq(sample_compile(codegen, "host", NULL, &error), KILN_UNSUPPORTED);
    cr_expect_str_eq(error.text, "0 1 2 ");
    kiln_codegen_unref(codegen);
    worker_directory_remove();
}

/* What the host has done to itself, and what stands in its environment, does not reach a compiler.
 */
Test(compile_isolation, compilers_get_a_clean_state)
{
    worker_directory_make();
    const char *compiler = worker_directory_write_compiler(
        "cat >/dev/null\n"
        "{ ls /proc/self/fd | wc -l; pwd; umask; grep -E '^Sig(Blk|Ign)' /proc/self/status"
        "; env; } >${0%/*}/state\nexit 1\n");
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
    cr_expect_eq(sample_compile(codegen, "host", NULL, &error), KILN_COMPILE_FAILED, "%s",
                 error.text);
    kiln_codegen_unref(codegen);

    const char *state = worker_directory_path("state");
    char text[8192];
    FILE *file = fopen(state, "r");
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
    worker_directory_remove();
}

/* What cleans temporary directories takes that of a worker too, which lives for long. */
Test(compile_isolation, worker_without_its_directory_is_replaced)
{
    worker_directory_make();
    struct kiln_codegen *codegen = sample_codegen(REAL_WORKER, 60);
    struct kiln_error error;
    cr_assert_eq(sample_compile(codegen, "host", NULL, &error), KILN_OK, "%s", error.text);
    glob_t found;
    cr_assert_eq(glob(worker_directory_path("kiln-compile-*"), 0, NULL, &found), 0);
    cr_assert_eq(found.gl_pathc, 1);
    kiln_scratch_directory_remove(found.gl_pathv[0]);
    globfree(&found);
    for (int i = 0; i < 2; i++)
        cr_expect_eq(sample_compile(codegen, "host", NULL, &error), KILN_OK, "%s", error.text);
    struct kiln_codegen_counters counters;
    kiln_codegen_counters(codegen, &counters);
    cr_expect_eq(counters.workers_started, 2);
    kiln_codegen_unref(codegen);
    worker_directory_remove();
}

/* Whatever is larger raises SIGXFSZ. The worker sets a limit of its own. */
Test(compile_isolation, host_may_write_small_files_only)
{
    worker_directory_make();
    const struct rlimit small = {.rlim_cur = 8192, .rlim_max = RLIM_INFINITY};
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    struct kiln_codegen *codegen = sample_codegen(REAL_WORKER, 60);
    struct kiln_error error;
    cr_expect_eq(sample_compile(codegen, "host", NULL, &error), KILN_OK, "%s", error.text);
    kiln_codegen_unref(codegen);
    worker_directory_remove();
}

/* Without a host it would only remove the directory. */
Test(compile_isolation, worker_does_nothing_by_hand)
{
    worker_directory_make();
    const char *scratch = worker_directory_path("kiln-compile-mine");
    cr_assert_eq(mkdir(scratch, 0700), 0);
    char command[512];
    (void)snprintf(command, sizeof command, "%s --scratch %s </dev/null >/dev/null 2>&1",
                   REAL_WORKER, scratch);
    int status = system(command); /* NOLINT: a path of this test's own */
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 2, "wait status %d", status);
    cr_expect_eq(rmdir(scratch), 0);
    worker_directory_remove();
}

#if !defined(__SANITIZE_ADDRESS__) /* whose own locks a child may find taken */
static void *find_compilers(void *codegen)
{
    const struct kiln_target target = sample_target("host");
    struct kiln_error error;
    const char *identity;
    kiln_error_init(&error);
    return (void *)(intptr_t)kiln_codegen_identity(codegen, &target, &identity, &error);
}

/* Compilers are looked for without a lock, which a child that is forked meanwhile would keep. */
Test(compile_isolation, forked_while_compilers_are_looked_for)
{
    enum { ROUNDS = 40, CHILD_SECONDS = 5 };
    for (int i = 0; i < ROUNDS; i++) {
        struct kiln_codegen *codegen = sample_codegen(REAL_WORKER, 60);
        pthread_t thread;
        cr_assert_eq(pthread_create(&thread, NULL, find_compilers, codegen), 0);
        (void)usleep((useconds_t)i * 50);
        pid_t child = fork();
        cr_assert_geq(child, 0);
        if (child == 0) {
            (void)alarm(CHILD_SECONDS);
            _exit(find_compilers(codegen) == (void *)(intptr_t)KILN_OK ? 0 : 1);
        }
        int status = 0;
        cr_assert_eq(waitpid(child, &status, 0), child);
        cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "round %d: wait status %d", i,
                  status);
        cr_assert_eq(pthread_join(thread, NULL), 0);
        kiln_codegen_unref(codegen);
    }
}
#endif

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
    worker_directory_make();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *mark = worker_directory_misbehave_once(cases[i].mode);
        struct kiln_codegen *codegen = sample_codegen(FAKE_WORKER, 2);
        struct kiln_error error;
        enum kiln_status status = sample_compile(codegen, "host", NULL, &error);
        cr_expect_eq(status, cases[i].status, "%s: %s", cases[i].mode, error.text);
        status = sample_compile(codegen, "host", NULL, &error);
        cr_expect_eq(status, KILN_OK, "after '%s': %s", cases[i].mode, error.text);
        kiln_codegen_unref(codegen);
        cr_expect(worker_directory_wait_until_live(0, 0), "%s: a process lives on", cases[i].mode);
        cr_expect_eq(unlink(mark), 0);
    }
    cr_expect_eq(waitpid(-1, NULL, WNOHANG), -1, "a zombie is left");
    worker_directory_remove();
}

Test(compile_isolation, host_ignores_the_end_of_children)
{
    (void)signal(SIGCHLD, SIG_IGN);
    expect_failures_without_children();
}

Test(compile_isolation, host_collects_all_children)
{
    struct sigaction action = {.sa_handler = collect_all, .sa_flags = SA_RESTART};
    cr_assert_eq(sigaction(SIGCHLD, &action, NULL), 0);
    expect_failures_without_children();
}
