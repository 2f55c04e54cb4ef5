#include "cli/bench/bench_result.h"
#include "cli/text.h"
#include "tests/cli/bench/fake_results.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <string.h>

/* What the table prints. */
static const char *print(const struct kiln_bench_results *results)
{
    static char text[8192];
    cr_redirect_stdout();
    kiln_bench_print_table(results);
    (void)fflush(stdout);
    FILE *out = cr_get_redirected_stdout();
    size_t size = fread(text, 1, sizeof text - 1, out);
    text[size] = '\0';
    return text;
}

static int count_lines(const char *text)
{
    int lines = 0;
    for (; *text != '\0'; text++)
        lines += *text == '\n';
    return lines;
}

Test(bench_table, a_line_per_graph_with_every_figure)
{
    struct kiln_bench_results results = {.device = NULL};
    (void)fake_results_append_named(&results, "graph");
    const char *text = print(&results);
    cr_expect_eq(count_lines(text), 2, "%s", text);
    static const char *const parts[] = {"graph", "1000",     "1/3",      "4.000 us",
                                        "3.0%",  "2.0",      "80.0%",    "2.50x",
                                        "3.00x", "25.00 ms", "300.0 us", "0.500 us"};
    const char *line = strchr(text, '\n') + 1;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        cr_expect(strstr(line, parts[i]) != NULL, "no '%s' in: %s", parts[i], line);
    kiln_bench_results_fini(&results);
}

Test(bench_table, what_was_not_measured_is_a_dash)
{
    struct kiln_bench_results results = {.device = NULL};
    struct kiln_bench_result *result = fake_results_append_named(&results, "graph");
    result->unfused = (struct kiln_bench_contestant){.kernels = 0};
    result->copy = (struct kiln_bench_time){.samples = 0};
    const char *line = strchr(print(&results), '\n') + 1;
    int dashes = 0;
    for (const char *at = line; *at != '\0'; at++)
        dashes += *at == '-';
    cr_expect_eq(dashes, 5, "shares, time, speed-up, promise: %s", line);
    cr_expect(strstr(line, "nan") == NULL && strstr(line, "inf") == NULL, "%s", line);
    kiln_bench_results_fini(&results);
}

/* Small is not unmeasured, and neither is a spread of 0. */
Test(bench_table, small_figures_are_figures)
{
    struct kiln_bench_results results = {.device = NULL};
    struct kiln_bench_result *result = fake_results_append_named(&results, "graph");
    result->fused.bytes_moved = 12;
    result->bytes_fewest = 1;
    result->fused.time.low_s = result->fused.time.high_s = result->fused.time.median_s;
    const char *line = strchr(print(&results), '\n') + 1;
    cr_expect(strstr(line, " 1.2e-05 ") != NULL, "%s", line);
    cr_expect(strstr(line, " 0.0% ") != NULL, "%s", line);
    cr_expect(strstr(line, " 0.01% ") != NULL, "with its unit: %s", line);
    kiln_bench_results_fini(&results);
}

Test(bench_table, failures_come_last_with_the_reason_and_nothing_moves_the_cursor)
{
    struct kiln_bench_results results = {.device = NULL};
    struct kiln_bench_result *result = fake_results_append_named(&results, "\033[2Jfirst");
    result->failure = kiln_cli_strdup("no memory\nfor\x1b[31m it");
    (void)fake_results_append_named(&results, "sec\tond");
    const char *text = print(&results);
    cr_expect_null(strchr(text, '\033'));
    const char *second = strstr(text, "sec\\x09ond");
    const char *first =
        strstr(text, "not measured: \\x1b[2Jfirst, 1000 elements: no memory\\x0afor");
    cr_assert_not_null(second, "%s", text);
    cr_assert_not_null(first, "%s", text);
    cr_expect_lt(second, first);
    cr_expect_eq(count_lines(text), 3, "%s", text);
    kiln_bench_results_fini(&results);
}

Test(bench_table, nothing_but_failures_needs_no_heading)
{
    struct kiln_bench_results results = {.device = NULL};
    fake_results_append_named(&results, "graph")->failure = kiln_cli_strdup("no device");
    const char *text = print(&results);
    cr_expect_str_eq(text, "not measured: graph, 1000 elements: no device\n");
    kiln_bench_results_fini(&results);
}
