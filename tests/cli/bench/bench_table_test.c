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

/* Behind the line that says where, and the heading. */
static const char *first_row(const char *text)
{
    return strchr(strchr(text, '\n') + 1, '\n') + 1;
}

Test(bench_table, a_line_per_graph_with_every_figure)
{
    struct kiln_bench_results results = {.device = NULL};
    (void)fake_results_append_named(&results, "graph");
    const char *text = print(&results);
    cr_expect_eq(count_lines(text), 3, "%s", text);
    static const char *const parts[] = {"graph", "4.000",      "3.0%",  "2.000",
                                        "0.750", "memory 80%", "10.00", "2.50x"};
    const char *line = first_row(text);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        cr_expect(strstr(line, parts[i]) != NULL, "no '%s' in: %s", parts[i], line);
    kiln_bench_results_fini(&results);
}

Test(bench_table, a_line_per_kernel_where_there_are_several)
{
    struct kiln_bench_results results = {.device = NULL};
    struct kiln_bench_result *result = fake_results_append_named(&results, "graph");
    result->fused.kernels = 2;
    result->profiles = kiln_cli_calloc(2, sizeof *result->profiles);
    result->profiles[0] = (struct kiln_kernel_profile){
        .work = {.template_name = "reduction", .bytes_fewest = 4000, .simple_operations = 1000},
        .seconds = 1e-6,
    };
    result->profiles[1] = (struct kiln_kernel_profile){
        .work = {.template_name = "contraction", .product_operations = 6e6},
        .seconds = 3e-6,
        .bound = KILN_BOUND_MATRIX,
        .share = 0.25,
    };
    const char *text = print(&results);
    cr_expect_eq(count_lines(text), 5, "%s", text);
    const char *kernel = strstr(text, "  0 reduction");
    cr_assert(kernel && strstr(kernel, "1.000") && strstr(kernel, "4.000"), "%s", text);
    kernel = strstr(text, "  1 contraction");
    cr_assert(kernel && strstr(kernel, "2000.0") && strstr(kernel, "matrix 25%"), "%s", text);
    kiln_bench_results_fini(&results);
}

Test(bench_table, what_was_not_measured_is_a_dash)
{
    struct kiln_bench_results results = {.device = NULL};
    struct kiln_bench_result *result = fake_results_append_named(&results, "graph");
    result->unfused = (struct kiln_bench_contestant){.kernels = 0};
    result->flop = 0;
    const char *line = first_row(print(&results));
    int dashes = 0;
    for (const char *at = line; *at != '\0'; at++)
        dashes += *at == '-';
    cr_expect_eq(dashes, 3, "FLOP/s, unfused, speed-up: %s", line);
    cr_expect(strstr(line, "nan") == NULL && strstr(line, "inf") == NULL, "%s", line);
    kiln_bench_results_fini(&results);
}

/* Small is not unmeasured, and neither is a spread of 0. */
Test(bench_table, small_figures_are_figures)
{
    struct kiln_bench_results results = {.device = NULL};
    struct kiln_bench_result *result = fake_results_append_named(&results, "graph");
    result->bytes_fewest = 1;
    result->share_of_bound = 0.0001;
    result->fused.time.low_s = result->fused.time.high_s = result->fused.time.median_s;
    const char *line = first_row(print(&results));
    cr_expect(strstr(line, " 0.00025 ") != NULL, "%s", line);
    cr_expect(strstr(line, " 0.0% ") != NULL, "%s", line);
    cr_expect(strstr(line, "memory 0.01%") != NULL, "%s", line);
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
    cr_expect_eq(count_lines(text), 4, "%s", text);
    kiln_bench_results_fini(&results);
}

Test(bench_table, nothing_but_failures_needs_no_heading)
{
    struct kiln_bench_results results = {.device = NULL};
    fake_results_append_named(&results, "graph")->failure = kiln_cli_strdup("no device");
    struct kiln_bench_result *declined = fake_results_append_named(&results, "other");
    declined->elements = 0;
    declined->failure = kiln_cli_strdup("it is declined");
    const char *text = print(&results);
    cr_expect_str_eq(text, "not measured: graph, 1000 elements: no device\n"
                           "not measured: other: it is declined\n");
    kiln_bench_results_fini(&results);
}
