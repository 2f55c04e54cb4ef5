#include "cli/bench/bench_result.h"
#include "tests/cli/bench/fake_results.h"

#include <criterion/criterion.h>
#include <math.h>

static bool close_to(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fabs(b);
}

Test(bench_results, derived_figures_follow_from_times_and_bytes)
{
    struct kiln_bench_results results = {.device = NULL};
    struct kiln_bench_result *result = fake_results_append_named(&results, "graph");
    cr_expect(close_to(kiln_bench_rate(result, &result->fused), 8000 / 4e-6));
    cr_expect(close_to(kiln_bench_rate(result, &result->unfused), 8000 / 10e-6),
              "the fewest bytes, not those that it moves");
    cr_expect(close_to(kiln_bench_copy_rate(result), 8000 / 3.2e-6));
    cr_expect(close_to(kiln_bench_share_of_copy(result), 0.8));
    cr_expect(close_to(kiln_bench_speed_up(result), 2.5));
    cr_expect(close_to(kiln_bench_promised_speed_up(result), 3));
    cr_expect(fabs(kiln_bench_spread(&result->fused.time) - 0.03) < 1e-12);
    result->fused.bytes_moved = 10000;
    cr_expect(close_to(kiln_bench_moved_share_of_copy(result), 1), "what it reads twice counts");
    cr_expect(close_to(kiln_bench_share_of_copy(result), 0.8));
    kiln_bench_results_fini(&results);
}

Test(bench_results, what_was_not_measured_gives_no_figures)
{
    struct kiln_bench_result result = {.name = NULL};
    cr_expect_eq(kiln_bench_rate(&result, &result.fused), 0);
    cr_expect_eq(kiln_bench_copy_rate(&result), 0);
    cr_expect_eq(kiln_bench_share_of_copy(&result), 0);
    cr_expect_eq(kiln_bench_speed_up(&result), 0);
    cr_expect_eq(kiln_bench_promised_speed_up(&result), 0);
    cr_expect_eq(kiln_bench_spread(&result.fused.time), 0);
    result.bytes_fewest = 100;
    result.fused.time.median_s = 1;
    cr_expect_eq(kiln_bench_share_of_copy(&result), 0, "no copy to compare with");
}

Test(bench_results, fini_leaves_an_empty_list)
{
    struct kiln_bench_results results = {.device = NULL};
    (void)fake_results_append_named(&results, "graph");
    kiln_bench_results_fini(&results);
    cr_expect_eq(results.count, 0);
    cr_expect_null(results.results);
    kiln_bench_results_fini(&results);
}
