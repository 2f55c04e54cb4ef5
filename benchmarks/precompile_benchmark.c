/*
 * Precompiling offline, with one worker and with two: `kiln compile` as users start it, into an
 * empty cache each time. The two take turns.
 */
#include "benchmarks/benchmark.h"
#include "benchmarks/graph_set.h"
#include "runtime/support/file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { GRAPHS = 24, MOST_WORKERS = 2, PATH_BYTES = KILN_TEMPORARY_BYTES + 64 };

static enum kiln_status write_graphs(const char *directory, struct kiln_error *error)
{
    enum kiln_status status = KILN_OK;
    for (unsigned i = 0; i < GRAPHS && !status; i++) {
        char path[PATH_BYTES];
        struct kiln_buffer bytes;
        (void)snprintf(path, sizeof(path), "%s/graphs/%02u.bin", directory, i);
        status = kiln_graph_set_at(i, &bytes, error);
        if (!status)
            status = kiln_file_write(path, bytes.data, bytes.size, 0, error);
        kiln_buffer_fini(&bytes);
    }
    return status;
}

/* Exit code of a program; -1 when it was killed or could not be started. */
static int run(const char *const *arguments)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        execv(arguments[0], (char *const *)(const void *)arguments);
        _exit(127);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void remove_tree(const char *path)
{
    const char *const arguments[] = {"/bin/rm", "-rf", path, NULL};
    if (run(arguments) != 0)
        fprintf(stderr, "left behind: %s\n", path);
}

static enum kiln_status precompile(const char *directory, unsigned workers, double *ret_ns,
                                   struct kiln_error *error)
{
    char graphs[PATH_BYTES];
    char cache[PATH_BYTES];
    char jobs[16];
    (void)snprintf(graphs, sizeof(graphs), "%s/graphs", directory);
    (void)snprintf(cache, sizeof(cache), "%s/cache", directory);
    (void)snprintf(jobs, sizeof(jobs), "%u", workers);
    const char *const arguments[] = {
        KILN_BENCHMARK_KILN, "compile", "--quiet", "--target", "gfx90a", "--jobs", jobs,
        "--cache",           cache,     graphs,    NULL};
    uint64_t start = kiln_clock_ns();
    int code = run(arguments);
    *ret_ns = (double)(kiln_clock_ns() - start);
    remove_tree(cache);
    if (code != 0)
        return kiln_error_set(error, KILN_COMPILE_FAILED, "'kiln compile' ended with %d", code);
    return KILN_OK;
}

static enum kiln_status measure(struct kiln_report *report, const char *directory,
                                struct kiln_error *error)
{
    uint64_t count;
    double *samples[MOST_WORKERS + 1] = {NULL};
    double ignored_ns; /* the files get into the page cache */
    enum kiln_status status = precompile(directory, MOST_WORKERS, &ignored_ns, error);
    for (unsigned workers = 1; workers <= MOST_WORKERS; workers++)
        samples[workers] = kiln_samples_new(report, 9, &count);
    for (uint64_t i = 0; i < count; i++)
        for (unsigned workers = 1; workers <= MOST_WORKERS && !status; workers++)
            status = precompile(directory, workers, &samples[workers][i], error);
    for (unsigned workers = 1; workers <= MOST_WORKERS; workers++) {
        char name[KILN_ROW_TEXT_BYTES];
        (void)snprintf(name, sizeof(name), KILN_ROW_PRECOMPILE, workers);
        if (!status)
            kiln_report_samples(report, name, "", samples[workers], count);
        free(samples[workers]);
    }
    return status;
}

void kiln_benchmark_precompile(struct kiln_report *report)
{
    struct kiln_error error;
    kiln_error_init(&error);
    char directory[KILN_TEMPORARY_BYTES];
    char graphs[PATH_BYTES];
    kiln_temporary_template(directory);
    if (!mkdtemp(directory)) {
        kiln_report_note(report, "precompile", "", "no temporary directory");
        return;
    }
    setenv("KILN_COMPILE_WORKER", KILN_BENCHMARK_WORKER, 0);
    setenv("KILN_CACHE_LAYERS", "", 1);
    setenv("KILN_CACHE_REMOTE", "", 1);
    (void)snprintf(graphs, sizeof(graphs), "%s/graphs", directory);
    enum kiln_status status = kiln_directory_make(graphs, 0700, &error);
    if (!status)
        status = write_graphs(directory, &error);
    if (!status)
        status = measure(report, directory, &error);
    if (status)
        kiln_report_note(report, "precompile", "", "not measured: %s", error.text);
    remove_tree(directory);
}
