/*
 * Runs the groups, each in a child process so that none sees what another loaded, and prints the
 * table.
 *
 * usage: kiln-benchmark [--quick] [GROUP...]
 */
#include "benchmarks/benchmark.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct kiln_benchmark_group groups[] = {
    {"load", kiln_benchmark_load},       {"compile", kiln_benchmark_compile},
    {"cache", kiln_benchmark_cache},     {"plugin", kiln_benchmark_plugin},
    {"execute", kiln_benchmark_execute}, {"precompile", kiln_benchmark_precompile},
    {"warm", kiln_benchmark_warm},
};
enum { GROUP_COUNT = sizeof(groups) / sizeof(groups[0]), MAX_ROWS = 64 };

struct table {
    struct kiln_row rows[MAX_ROWS];
    size_t count;
    int failures;
};

static void read_rows(int pipe, struct table *table)
{
    struct kiln_row row;
    for (;;) {
        ssize_t got = read(pipe, &row, sizeof(row));
        if (got < 0 && errno == EINTR)
            continue;
        if (got != (ssize_t)sizeof(row))
            return;
        if (table->count < MAX_ROWS)
            table->rows[table->count++] = row;
    }
}

/* Runs a group in a child; a group that dies is a row too. */
static void run_group(const struct kiln_benchmark_group *group, const struct kiln_report *settings,
                      struct table *table)
{
    fprintf(stderr, "measuring: %s\n", group->name);
    int ends[2];
    if (pipe(ends) != 0) {
        perror("pipe");
        exit(1);
    }
    pid_t child = fork();
    if (child < 0) {
        perror("fork");
        exit(1);
    }
    if (child == 0) {
        close(ends[0]);
        struct kiln_report report = *settings;
        report.pipe = ends[1];
        group->run(&report);
        _exit(0);
    }
    close(ends[1]);
    read_rows(ends[0], table);
    close(ends[0]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return;
    table->failures++;
    if (table->count < MAX_ROWS) {
        struct kiln_row *row = &table->rows[table->count++];
        *row = (struct kiln_row){0};
        snprintf(row->name, sizeof(row->name), "%s", group->name);
        snprintf(row->note, sizeof(row->note), "the group ended early (wait status %d)", status);
    }
}

static const char *duration(double ns, char text[16])
{
    if (ns < 1e3)
        snprintf(text, 16, "%.1f ns", ns);
    else if (ns < 1e6)
        snprintf(text, 16, "%.2f us", ns / 1e3);
    else
        snprintf(text, 16, "%.2f ms", ns / 1e6);
    return text;
}

static void print_row(const struct kiln_row *row)
{
    if (!row->samples) {
        printf("%-52s %s%s%s\n", row->name, row->note, *row->budget ? "; wanted: " : "",
               row->budget);
        return;
    }
    char median[16];
    char low[16];
    char high[16];
    char p99[16];
    printf("%-52s %10s %10s %10s %10s %7llu  %s\n", row->name, duration(row->median_ns, median),
           duration(row->low_ns, low), duration(row->high_ns, high), duration(row->p99_ns, p99),
           (unsigned long long)row->samples, row->budget);
}

static const struct kiln_row *find_row(const struct table *table, const char *name)
{
    for (size_t i = 0; i < table->count; i++) {
        if (table->rows[i].samples && strcmp(table->rows[i].name, name) == 0)
            return &table->rows[i];
    }
    return NULL;
}

static void print_ratio(const char *name, double ratio, const char *budget)
{
    printf("%-52s %9.1fx %42s %s\n", name, ratio, "", budget);
}

static void print_ratio_of(const struct table *table, const char *numerator,
                           const char *denominator, const char *name, const char *budget)
{
    const struct kiln_row *above = find_row(table, numerator);
    const struct kiln_row *below = find_row(table, denominator);
    if (above && below)
        print_ratio(name, above->median_ns / below->median_ns, budget);
}

static void print_cache_ratios(const struct table *table)
{
    char one[KILN_ROW_TEXT_BYTES];
    char two[KILN_ROW_TEXT_BYTES];
    char name[KILN_ROW_TEXT_BYTES];
    (void)snprintf(one, sizeof(one), KILN_ROW_PRECOMPILE, 1U);
    (void)snprintf(two, sizeof(two), KILN_ROW_PRECOMPILE, 2U);
    print_ratio_of(table, one, two, "precompile: one worker / two", "at least 1.7x");
    for (unsigned i = 0; i < kiln_benchmark_device_count; i++) {
        (void)snprintf(one, sizeof(one), KILN_ROW_COLD, kiln_benchmark_devices[i]);
        (void)snprintf(two, sizeof(two), KILN_ROW_WARM, kiln_benchmark_devices[i]);
        (void)snprintf(name, sizeof(name), "100 plans on %s: empty cache / all on disk",
                       kiln_benchmark_devices[i]);
        print_ratio_of(table, one, two, name, "at least 50x");
    }
}

/* Prints how much longer the second row takes than the first. */
static void print_difference(const struct table *table, const char *first, const char *second,
                             const char *name, const char *wanted)
{
    const struct kiln_row *less = find_row(table, first);
    const struct kiln_row *more = find_row(table, second);
    char text[16];
    if (less && more)
        printf("%-52s %10s %42s %s\n", name, duration(more->median_ns - less->median_ns, text), "",
               wanted);
}

/* What two rows of the same run say together. */
static void print_ratios(const struct table *table)
{
    for (unsigned i = 0; i < kiln_compile_graph_count; i++) {
        char name[KILN_ROW_TEXT_BYTES];
        snprintf(name, sizeof(name), KILN_ROW_COMPILE_WORKER, kiln_compile_graphs[i].name);
        const struct kiln_row *worker = find_row(table, name);
        snprintf(name, sizeof(name), KILN_ROW_COMPILE_HIPRTC, kiln_compile_graphs[i].name);
        const struct kiln_row *hiprtc = find_row(table, name);
        snprintf(name, sizeof(name), "compile %s: hipRTC / Kiln", kiln_compile_graphs[i].name);
        if (worker && hiprtc)
            print_ratio(name, hiprtc->median_ns / worker->median_ns, kiln_compile_graphs[i].budget);
    }
    print_difference(table, KILN_ROW_LAUNCH, KILN_ROW_EXECUTE, "ExecuteOpGraph adds to a launch",
                     "below 1 us");
    print_difference(table, KILN_ROW_DECLARED, KILN_ROW_OVERRIDES,
                     "override shapes of 10 tensors add to ExecuteOpGraph", "below 2 us");
    print_cache_ratios(table);
}

static bool wanted(const struct kiln_benchmark_group *group, int count, char **names)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(names[i], group->name) == 0)
            return true;
    }
    return count == 0;
}

int main(int argc, char **argv)
{
    struct kiln_report settings = {.divider = 1};
    char **names = argv + 1;
    int count = argc - 1;
    for (; count && names[0][0] == '-'; names++, count--) {
        if (strcmp(names[0], "--quick") != 0) {
            fprintf(stderr, "error: unknown option '%s'\nhint: --quick is the only one\n",
                    names[0]);
            return 2;
        }
        settings.divider = 10;
    }
    for (int i = 0; i < count; i++) {
        bool known = false;
        for (size_t g = 0; g < GROUP_COUNT; g++)
            known |= strcmp(names[i], groups[g].name) == 0;
        if (!known) {
            fprintf(stderr,
                    "error: unknown group '%s'\nhint: load, compile, cache, plugin, execute, "
                    "precompile, warm\n",
                    names[i]);
            return 2;
        }
    }

    static struct table table;
    for (size_t i = 0; i < GROUP_COUNT; i++) {
        if (wanted(&groups[i], count, names))
            run_group(&groups[i], &settings, &table);
    }
    printf("%-52s %10s %10s %10s %10s %7s  %s\n", "", "median", "10%", "90%", "99%", "n", "wanted");
    for (size_t i = 0; i < table.count; i++)
        print_row(&table.rows[i]);
    print_ratios(&table);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "error: cannot write the results: %s\n", strerror(errno));
        return 1;
    }
    return table.failures ? 1 : 0;
}
