#include "benchmarks/benchmark.h"
#include "compiler/graph/graph_json.h"
#include "runtime/support/file.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

uint64_t kiln_clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000U + (uint64_t)now.tv_nsec;
}

void kiln_temporary_template(char ret_path[KILN_TEMPORARY_BYTES])
{
    const char *directory = getenv("TMPDIR");
    snprintf(ret_path, KILN_TEMPORARY_BYTES, "%s/kiln-benchmark-XXXXXX",
             directory && *directory ? directory : P_tmpdir);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value below which `percent` of the sorted samples lie (nearest rank). */
static double percentile(const double *sorted, uint64_t count, uint64_t percent)
{
    uint64_t rank = (count * percent + 99) / 100;
    return sorted[rank ? rank - 1 : 0];
}

/* A row is shorter than PIPE_BUF, so it arrives whole. */
static void send_row(struct kiln_report *report, const struct kiln_row *row)
{
    _Static_assert(sizeof(*row) <= 4096, "a row is written to a pipe in one piece");
    if (write(report->pipe, row, sizeof(*row)) != (ssize_t)sizeof(*row)) {
        perror("writing a row");
        _exit(1);
    }
}

void kiln_report_samples(struct kiln_report *report, const char *name, const char *budget,
                         double *samples_ns, uint64_t count)
{
    qsort(samples_ns, count, sizeof(*samples_ns), compare_doubles);
    struct kiln_row row = {.samples = count,
                           .median_ns = percentile(samples_ns, count, 50),
                           .low_ns = percentile(samples_ns, count, 10),
                           .high_ns = percentile(samples_ns, count, 90),
                           .p99_ns = percentile(samples_ns, count, 99)};
    snprintf(row.name, sizeof(row.name), "%s", name);
    snprintf(row.budget, sizeof(row.budget), "%s", budget);
    send_row(report, &row);
}

void kiln_report_note(struct kiln_report *report, const char *name, const char *budget,
                      const char *format, ...)
{
    struct kiln_row row = {0};
    snprintf(row.name, sizeof(row.name), "%s", name);
    snprintf(row.budget, sizeof(row.budget), "%s", budget);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(row.note, sizeof(row.note), format, arguments);
    va_end(arguments);
    for (char *end; (end = strchr(row.note, '\n')) != NULL;)
        *end = ';';
    send_row(report, &row);
}

double *kiln_samples_new(const struct kiln_report *report, uint64_t wanted, uint64_t *ret_count)
{
    uint64_t count = wanted / report->divider;
    count = count < 5 ? 5 : count;
    double *samples = calloc(count, sizeof(*samples));
    if (!samples) {
        perror("memory for samples");
        _exit(1);
    }
    *ret_count = count;
    return samples;
}

enum kiln_status kiln_benchmark_graph(const char *path, struct kiln_buffer *ret_bytes,
                                      struct kiln_error *error)
{
    char full[4096];
    snprintf(full, sizeof(full), "%s/%s", KILN_BENCHMARK_ROOT, path);
    kiln_buffer_init(ret_bytes);
    struct kiln_buffer text;
    kiln_buffer_init(&text);
    enum kiln_status status = kiln_file_read(full, 1 << 20, &text, error);
    enum kiln_wire_era era;
    if (!status)
        status = kiln_graph_json_to_bytes((const char *)text.data, text.size, NULL, ret_bytes, &era,
                                          error);
    kiln_buffer_fini(&text);
    return status;
}
