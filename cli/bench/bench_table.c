/* Results on a terminal: one line per graph, then the graphs that were not measured, and why. */
#include "cli/bench/bench_result.h"
#include "cli/table.h"
#include "cli/text.h"

#include <inttypes.h>
#include <stdlib.h>

enum { COLUMNS = 16, TEXT_COLUMNS = 1 };

/* A figure, or a dash where it was not measured. */
static void add_figure(struct kiln_table *table, int decimals, const char *unit, double figure)
{
    char text[64];
    (void)snprintf(text, sizeof text, "%.*f", decimals, figure);
    if (figure <= 0)
        kiln_table_add(table, "-");
    else if (strtod(text, NULL) == 0) /* rounded away */
        kiln_table_add(table, "%.2g%s", figure, unit);
    else
        kiln_table_add(table, "%s%s", text, unit);
}

/* Four digits, so that a difference within the spread shows. */
static void add_duration(struct kiln_table *table, double seconds)
{
    static const struct {
        double least_s;
        double unit_s;
        const char *unit;
    } units[] = {{1, 1, "s"}, {1e-3, 1e-3, "ms"}, {0, 1e-6, "us"}};
    size_t i = 0;
    while (seconds < units[i].least_s)
        i++;
    double amount = seconds / units[i].unit_s;
    int decimals = amount < 9.9995 ? 3 : amount < 99.995 ? 2 : 1;
    if (seconds > 0)
        kiln_table_add(table, "%.*f %s", decimals, amount, units[i].unit);
    else
        kiln_table_add(table, "-");
}

static void add_heading(struct kiln_table *table)
{
    static const char *const names[COLUMNS] = {
        "graph",   "elements",      "kernels", "MB moved", "fewest",   "time", "spread", "GB/s",
        "of copy", "moved of copy", "unfused", "speed-up", "promised", "cold", "cached", "host"};
    for (int i = 0; i < COLUMNS; i++)
        kiln_table_add(table, "%s", names[i]);
}

static void add_result(struct kiln_table *table, const struct kiln_bench_result *result)
{
    kiln_table_add(table, "%s", result->name);
    kiln_table_add(table, "%" PRIu64, result->elements);
    if (result->unfused.kernels != 0)
        kiln_table_add(table, "%" PRIu32 "/%" PRIu32, result->fused.kernels,
                       result->unfused.kernels);
    else
        kiln_table_add(table, "%" PRIu32, result->fused.kernels);
    add_figure(table, 1, "", (double)result->fused.bytes_moved / 1e6);
    add_figure(table, 1, "", (double)result->bytes_fewest / 1e6);
    add_duration(table, result->fused.time.median_s);
    kiln_table_add(table, "%.1f%%", 100 * kiln_bench_spread(&result->fused.time));
    add_figure(table, 1, "", kiln_bench_rate(result, &result->fused) / 1e9);
    add_figure(table, 1, "%", 100 * kiln_bench_share_of_copy(result));
    add_figure(table, 1, "%", 100 * kiln_bench_moved_share_of_copy(result));
    add_duration(table, result->unfused.time.median_s);
    add_figure(table, 2, "x", kiln_bench_speed_up(result));
    add_figure(table, 2, "x", kiln_bench_promised_speed_up(result));
    add_duration(table, result->fused.compile_cold_s);
    add_duration(table, result->fused.compile_cached_s);
    add_duration(table, result->host_overhead_s);
}

void kiln_bench_print_table(const struct kiln_bench_results *results)
{
    struct kiln_table table;
    size_t failures = 0;
    kiln_table_init(&table, COLUMNS, ~0U << TEXT_COLUMNS);
    add_heading(&table);
    for (size_t i = 0; i < results->count; i++) {
        if (results->results[i].failure == NULL)
            add_result(&table, &results->results[i]);
        else
            failures++;
    }
    if (failures < results->count)
        kiln_table_print(&table);
    kiln_table_fini(&table);
    for (size_t i = 0; i < results->count; i++) {
        const struct kiln_bench_result *result = &results->results[i];
        if (result->failure == NULL)
            continue;
        printf("not measured: ");
        kiln_text_write(stdout, result->name, false);
        printf(", %" PRIu64 " elements: ", result->elements);
        kiln_text_write(stdout, result->failure, false);
        printf("\n");
    }
}
