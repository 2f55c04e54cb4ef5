/*
 * Loading the plugin: time of dlopen in a fresh process, whether a compiler came with it, size of
 * the file.
 */
#include "benchmarks/benchmark.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char load_row[] = "load the plugin in a fresh process";

static enum kiln_status probe(double *ret_ns, int *ret_compilers, struct kiln_error *error)
{
    FILE *output = popen("'" KILN_BENCHMARK_LOAD_PROBE "' '" KILN_BENCHMARK_PLUGIN "'", "r");
    long long ns = 0;
    int compilers = 0;
    int got = output ? fscanf(output, "%lld %d", &ns, &compilers) : 0;
    int code = output ? pclose(output) : -1;
    if (got != 2 || code != 0)
        return kiln_error_set(error, KILN_IO, "the probe does not load '%s'",
                              KILN_BENCHMARK_PLUGIN);
    *ret_ns = (double)ns;
    *ret_compilers = compilers;
    return KILN_OK;
}

/* Size of the plugin after strip, in bytes; -1 without binutils. */
static long long stripped_bytes(void)
{
    char path[KILN_TEMPORARY_BYTES];
    kiln_temporary_template(path);
    int descriptor = mkstemp(path);
    if (descriptor < 0)
        return -1;
    close(descriptor);
    char command[4096];
    snprintf(command, sizeof(command), "strip -o '%s' '%s' 2>/dev/null", path,
             KILN_BENCHMARK_PLUGIN);
    struct stat status;
    long long bytes = -1;
    if (system(command) == 0 && stat(path, &status) == 0)
        bytes = (long long)status.st_size;
    unlink(path);
    return bytes;
}

void kiln_benchmark_load(struct kiln_report *report)
{
    struct kiln_error error;
    kiln_error_init(&error);
    enum kiln_status status = KILN_OK;
    int compilers = 0;
    double ignored_ns;
    uint64_t count;
    double *samples = kiln_samples_new(report, 100, &count);
    status = probe(&ignored_ns, &compilers, &error); /* the file gets into the page cache */
    for (uint64_t i = 0; i < count && !status; i++)
        status = probe(&samples[i], &compilers, &error);
    if (status) {
        kiln_report_note(report, load_row, "", "not measured: %s", error.text);
    } else {
        kiln_report_samples(report, load_row, "below 1 ms", samples, count);
        kiln_report_note(report, "compilers mapped by it", "none", "%d", compilers);
    }
    free(samples);
    long long bytes = stripped_bytes();
    if (bytes < 0)
        kiln_report_note(report, "size of the plugin, stripped", "", "not measured: no 'strip'");
    else
        kiln_report_note(report, "size of the plugin, stripped", "below 1 MB", "%lld bytes", bytes);
}
