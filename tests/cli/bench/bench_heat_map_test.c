#include "cli/bench/bench_heat_map.h"
#include "cli/text.h"
#include "tests/cli/bench/fake_results.h"
#include "tests/cli/json_check.h"

#include <criterion/criterion.h>
#include <criterion/redirect.h>
#include <string.h>

static const struct kiln_bench_shape first = {.row = 1, .column = 0, .row_elems = 17};
static const struct kiln_bench_shape second = {.row = 3, .column = 2, .row_elems = 127};

static void fill(struct kiln_bench_results *results)
{
    results->has_shapes = true;
    results->seed = 9;
    fake_results_append_named(results, "first")->shape = first; /* at 80 % of its copy */
    struct kiln_bench_result *result = fake_results_append_named(results, "second");
    result->shape = second;
    result->fused.time.median_s *= 2;
    fake_results_append_named(results, "a file");
}

Test(bench_heat_map, shares_stand_in_their_cells)
{
    struct kiln_bench_results results = {.device = NULL};
    fill(&results);
    json_t *map = kiln_bench_heat_map_to_json(&results);
    cr_expect_eq(integer_member(map, "seed"), 9);
    cr_expect_float_eq(json_real_value(json_object_get(map, "min")), 0.4, 1e-9);
    cr_expect_float_eq(json_real_value(json_object_get(map, "p25")), 0.5, 1e-9);
    cr_expect_float_eq(json_real_value(json_object_get(map, "median")), 0.6, 1e-9);
    const json_t *rows = json_object_get(map, "rows");
    cr_assert_eq(json_array_size(rows), 2, "empty rows are left out");
    const json_t *shares = json_object_get(json_array_get(rows, 1), "shares");
    cr_assert_eq(json_array_size(shares), kiln_bench_shape_column_count());
    cr_expect(json_is_null(json_array_get(shares, 0)));
    cr_expect_float_eq(json_real_value(json_array_get(shares, 2)), 0.4, 1e-9);
    json_decref(map);
    kiln_bench_results_fini(&results);
}

Test(bench_heat_map, nothing_measured_is_null)
{
    struct kiln_bench_results results = {.has_shapes = true};
    struct kiln_bench_result *result = fake_results_append_named(&results, "first");
    result->shape = first;
    result->fused.time.median_s = 0;
    json_t *map = kiln_bench_heat_map_to_json(&results);
    cr_expect(json_is_null(map));
    json_decref(map);
    kiln_bench_results_fini(&results);
}

Test(bench_heat_map, prints_percentiles_cells_and_failures)
{
    struct kiln_bench_results results = {.device = NULL};
    fill(&results);
    fake_results_append_named(&results, "declined")->failure = kiln_cli_strdup("no memory");
    cr_redirect_stdout();
    kiln_bench_print_heat_map(&results);
    (void)fflush(stdout);
    char text[8192];
    text[fread(text, 1, sizeof text - 1, cr_get_redirected_stdout())] = '\0';
    static const char *const parts[] = {
        "seed 9, 2 graphs",
        "min 40%, p10 44%, p25 50%, median 60%",
        " 80",
        "not measured: declined",
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        cr_expect(strstr(text, parts[i]) != NULL, "no '%s' in: %s", parts[i], text);
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        cr_expect_leq(strcspn(line, "\n"), 100, "%s", line);
    kiln_bench_results_fini(&results);
}

Test(bench_heat_map, prints_only_failures_where_nothing_was_measured)
{
    struct kiln_bench_results results = {.has_shapes = true};
    struct kiln_bench_result *result = fake_results_append_named(&results, "declined");
    result->shape = first;
    result->fused.time.median_s = 0;
    result->failure = kiln_cli_strdup("no memory");
    cr_redirect_stdout();
    kiln_bench_print_heat_map(&results);
    (void)fflush(stdout);
    char text[1024];
    text[fread(text, 1, sizeof text - 1, cr_get_redirected_stdout())] = '\0';
    cr_expect(strstr(text, "not measured: declined") != NULL, "%s", text);
    cr_expect(strstr(text, "seed") == NULL, "%s", text);
    kiln_bench_results_fini(&results);
}
