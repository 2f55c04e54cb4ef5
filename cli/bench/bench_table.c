/* Results on a terminal: one line per graph, then the graphs that were not measured, and why. */
#include "cli/bench/bench_result.h"
#include "cli/table.h"
#include "cli/text.h"
#include "runtime/support/version.h"

#include <inttypes.h>
#include <math.h>

enum { COLUMNS = 8, TEXT_COLUMNS = 1 };

/* The argument form takes the columns of the unfused one. */
static bool has_argument_form(const struct kiln_bench_results *results)
{
    for (size_t i = 0; i < results->count; i++)
        if (results->results[i].argument.kernels != 0)
            return true;
    return false;
}

static void add_heading(struct kiln_table *table, bool has_argument)
{
    static const char *const names[COLUMNS - 2] = {"graph", "time us", "spread",
                                                   "GB/s",  "GFLOP/s", "of bound"};
    for (int i = 0; i < COLUMNS - 2; i++)
        kiln_table_add(table, "%s", names[i]);
    kiln_table_add(table, has_argument ? "argument" : "unfused");
    kiln_table_add(table, has_argument ? "its speed" : "speed-up");
}

static void add_kernel(struct kiln_table *table, const struct kiln_kernel_profile *profile,
                       uint32_t kernel)
{
    double flop = kiln_work_flop(&profile->work);
    double rate = profile->seconds > 0 ? 1e-9 / profile->seconds : 0;
    kiln_table_add(table, "  %" PRIu32 " %s", kernel, profile->work.template_name);
    kiln_profile_add_number(table, 1e6 * profile->seconds);
    kiln_table_add(table, "%s", "");
    kiln_profile_add_number(table, rate * (double)profile->work.bytes_fewest);
    kiln_profile_add_number(table, rate * flop);
    kiln_profile_add_bound(table, profile->bound, profile->share);
    kiln_table_add(table, "%s", "");
    kiln_table_add(table, "%s", "");
}

static void add_result(struct kiln_table *table, const struct kiln_bench_result *result)
{
    kiln_table_add(table, "%s", result->name);
    kiln_profile_add_number(table, 1e6 * result->fused.time.median_s);
    kiln_table_add(table, "%.1f%%", 100 * kiln_bench_spread(&result->fused.time));
    kiln_profile_add_number(table, kiln_bench_rate(result, &result->fused) / 1e9);
    kiln_profile_add_number(table, kiln_bench_flop_rate(result) / 1e9);
    kiln_profile_add_bound(table, result->bound, result->share_of_bound);
    bool is_argument = result->argument.kernels != 0;
    kiln_profile_add_number(table, 1e6 * (is_argument ? result->argument.time.median_s
                                                      : result->unfused.time.median_s));
    if (is_argument)
        kiln_table_add(table, "%.1f%%", 100 * kiln_bench_argument_speed(result));
    else if (kiln_bench_speed_up(result) > 0)
        kiln_table_add(table, "%.2fx", kiln_bench_speed_up(result));
    else
        kiln_table_add(table, "-");
    for (uint32_t i = 0;
         result->profiles != NULL && result->fused.kernels > 1 && i < result->fused.kernels; i++)
        add_kernel(table, &result->profiles[i], i);
}

/* Names come from the machine: they are escaped. */
void kiln_bench_print_origin(const struct kiln_bench_results *results)
{
    const struct kiln_bench_origin *origin = &results->origin;
    kiln_text_write(stdout, *origin->device.name ? origin->device.name : "unknown", false);
    printf(" (%s, ", results->device);
    kiln_text_write(stdout, results->target, false);
    fputs("), host ", stdout);
    kiln_text_write(stdout, *origin->host ? origin->host : "unknown", false);
    printf(", load %.1f, kiln %s\n", origin->load_average[0], kiln_version.text);
}

/* The argument form against the constant one. */
static void print_argument_speed(const struct kiln_bench_results *results)
{
    double logarithms = 0;
    double least = INFINITY;
    size_t count = 0;
    for (size_t i = 0; i < results->count; i++) {
        double speed = kiln_bench_argument_speed(&results->results[i]);
        if (!(speed > 0))
            continue;
        logarithms += log(speed);
        least = fmin(least, speed);
        count++;
    }
    if (count != 0)
        printf(
            "\nspeed with sizes as arguments: %.1f%% of that with constants in the geometric mean "
            "of %zu graphs, %.1f%% at least\n",
            100 * exp(logarithms / (double)count), count, 100 * least);
}

void kiln_bench_print_table(const struct kiln_bench_results *results)
{
    struct kiln_table table;
    size_t failures = 0;
    kiln_table_init(&table, COLUMNS, ~0U << TEXT_COLUMNS);
    add_heading(&table, has_argument_form(results));
    for (size_t i = 0; i < results->count; i++) {
        if (results->results[i].failure == NULL)
            add_result(&table, &results->results[i]);
        else
            failures++;
    }
    if (failures < results->count) {
        kiln_bench_print_origin(results);
        kiln_table_print(&table);
        if (has_argument_form(results))
            print_argument_speed(results);
    }
    kiln_table_fini(&table);
    kiln_bench_print_failures(results);
}

void kiln_bench_print_failures(const struct kiln_bench_results *results)
{
    for (size_t i = 0; i < results->count; i++) {
        const struct kiln_bench_result *result = &results->results[i];
        if (result->failure == NULL)
            continue;
        printf("not measured: ");
        kiln_text_write(stdout, result->name, false);
        if (result->elements != 0) /* of a graph that was declined they are not known */
            printf(", %" PRIu64 " %s", result->elements, KILN_NOUN(result->elements, "element"));
        printf(": ");
        kiln_text_write(stdout, result->failure, false);
        printf("\n");
    }
}
