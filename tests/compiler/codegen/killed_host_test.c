/* With a host that is killed end its workers and their compilers, whatever they are doing. */
#include "compiler/codegen/codegen.h"

#include "sample_kernel.h"
#include "worker_directory.h"

#include <criterion/criterion.h>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct host_job {
    struct kiln_codegen *codegen;
    const char *target;
    const char *source;
};

static void *compile_as_host(void *context)
{
    const struct host_job *job = context;
    struct kiln_error error;
    (void)sample_compile(job->codegen, job->target, job->source, &error);
    return NULL;
}

/* Waits until the only worker has computed for half a second, more than starting takes. */
static bool wait_until_busy(void)
{
    for (int i = 0; i < 1000; i++) {
        pid_t worker = -1;
        char path[64];
        unsigned long ticks = 0;
        (void)worker_directory_count_living(&worker);
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
        !worker_directory_wait_until_live(living, living) || (source != NULL && !wait_until_busy()))
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
    cr_assert_eq(chdir(worker_directory_path(".")), 0);
    pid_t host = start_host(target, source, living);
    struct stat attributes;
    for (int i = 0; i < 2000 && stat("ready", &attributes) != 0; i++) {
        cr_assert_eq(waitpid(host, NULL, WNOHANG), 0, "the host has failed");
        (void)usleep(10000);
    }
    cr_assert_eq(unlink("ready"), 0);
    cr_expect_eq(worker_directory_count_living(NULL), living);
    cr_assert_eq(kill(host, SIGKILL), 0);
    cr_assert_eq(waitpid(host, NULL, 0), host);
    cr_expect(worker_directory_wait_until_live(0, 0), "%zu workers and compilers live on",
              worker_directory_count_living(NULL));
    cr_expect_eq(kill(-host, SIGKILL), 0, "the child of the host has gone, so nothing was shown");
}

Test(killed_host, idle_worker_ends_with_a_host_that_is_killed)
{
    worker_directory_make();
    expect_end_with_host("host", NULL, 1);
    worker_directory_remove();
}

Test(killed_host, compilers_end_with_a_host_that_is_killed)
{
    worker_directory_make();
    const char *compiler =
        worker_directory_write_compiler("trap '' TERM\nwhile :; do sleep 0.1; done\n");
    expect_end_with_host("host", NULL, 2);
    cr_expect_eq(unlink(compiler), 0);
    worker_directory_remove();
}

Test(killed_host, worker_inside_llvm_ends_with_a_host_that_is_killed)
{
    struct kiln_codegen *codegen = sample_codegen(REAL_WORKER, 60);
    struct kiln_target target = sample_target("gfx90a");
    sample_require(codegen, &target);
    kiln_codegen_unref(codegen);
    worker_directory_make();
    /* Preprocessing this would take until the end of the world, in no memory. */
    char *source = sample_doubling_source("#if", "0+", 60, "0\n#endif");
    expect_end_with_host("gfx90a", source, 1);
    free(source);
    worker_directory_remove();
}
