#include "cli/bench/bench_result.h"
#include "cli/text.h"
#include "tests/cli/bench/fake_results.h"
#include "tests/cli/json_check.h"

#include <math.h>

static double real_member(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    cr_assert(json_is_real(value), "no number '%s'", name);
    return json_real_value(value);
}

static const json_t *object_member(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    cr_assert(json_is_object(value), "no object '%s'", name);
    return value;
}

static bool is_null(const json_t *object, const char *name)
{
    return json_is_null(json_object_get(object, name));
}

Test(bench_json, has_everything_with_times_in_microseconds)
{
    struct kiln_bench_results results = {.device = NULL};
    (void)fake_results_append_named(&results, "graph");
    json_t *document = kiln_bench_to_json(&results);
    cr_expect_str_eq(text_member(document, "device"), "hip");
    cr_expect_str_eq(text_member(document, "target"), "gfx942");
    const json_t *list = json_object_get(document, "results");
    cr_assert_eq(json_array_size(list), 1);
    const json_t *result = json_array_get(list, 0);
    cr_expect_str_eq(text_member(result, "name"), "graph");
    cr_expect_eq(integer_member(result, "elements"), 1000);
    cr_expect_eq(integer_member(result, "bytes_fewest"), 8000);
    cr_expect_eq(integer_member(result, "flop"), 3000);
    const json_t *fused = object_member(result, "fused");
    cr_expect_eq(integer_member(fused, "kernels"), 1);
    cr_expect_eq(integer_member(fused, "bytes_moved"), 8000);
    cr_expect_eq(real_member(fused, "compile_cold_us"), 25000);
    cr_expect_eq(real_member(fused, "compile_cached_us"), 300);
    const json_t *time = object_member(fused, "time");
    cr_expect_eq(real_member(time, "median_us"), 4);
    cr_expect_lt(real_member(time, "low_us"), 4);
    cr_expect_gt(real_member(time, "high_us"), 4);
    cr_expect_eq(integer_member(time, "samples"), 30);
    cr_expect_eq(integer_member(object_member(result, "unfused"), "kernels"), 3);
    cr_expect_eq(integer_member(object_member(result, "copy"), "bytes_moved"), 8000);
    cr_expect_eq(real_member(result, "host_overhead_us"), 0.5);
    cr_expect(fabs(real_member(result, "share_of_copy") - 0.8) < 1e-12);
    cr_expect(fabs(real_member(result, "moved_share_of_copy") - 0.8) < 1e-12);
    cr_expect(fabs(real_member(result, "speed_up") - 2.5) < 1e-12);
    cr_expect(fabs(real_member(result, "promised_speed_up") - 3) < 1e-12);
    cr_expect(fabs(real_member(result, "flop_per_s") - 0.75e9) < 1);
    cr_expect_str_eq(text_member(result, "bound"), "memory");
    cr_expect_eq(real_member(result, "share_of_bound"), 0.8);
    cr_expect_null(json_object_get(result, "failure"));
    json_decref(document);
    kiln_bench_results_fini(&results);
}

Test(bench_json, says_where_and_when)
{
    struct kiln_bench_results results = {.device = NULL};
    (void)fake_results_append_named(&results, "graph");
    results.origin = (struct kiln_bench_origin){
        .date = "2026-11-26T11:05:00Z",
        .host = "node7",
        .cpu = "EPYC",
        .device = {.name = "MI300X", .driver_version = "6.4"},
        .load_average = {0.5, 1, 2},
        .matrix_flop_per_s = 1e15,
    };
    json_t *document = kiln_bench_to_json(&results);
    cr_expect_str_eq(text_member(document, "date"), "2026-11-26T11:05:00Z");
    cr_expect_gt(strlen(text_member(document, "version")), 0);
    cr_expect_not_null(json_object_get(document, "commit"));
    cr_expect_str_eq(text_member(document, "host"), "node7");
    cr_expect_str_eq(text_member(document, "cpu"), "EPYC");
    cr_expect_str_eq(text_member(document, "device_name"), "MI300X");
    cr_expect_str_eq(text_member(document, "driver_version"), "6.4");
    cr_expect(is_null(document, "runtime_version"));
    cr_expect_eq(json_array_size(json_object_get(document, "load_average")), 3);
    cr_expect_eq(real_member(document, "peak_matrix_flop_per_s"), 1e15);
    cr_expect(is_null(document, "peak_vector_flop_per_s"));
    json_decref(document);
    kiln_bench_results_fini(&results);
}

Test(bench_json, what_was_not_measured_is_null)
{
    struct kiln_bench_results results = {.device = NULL};
    struct kiln_bench_result *result = fake_results_append_named(&results, "graph");
    result->unfused = (struct kiln_bench_contestant){.kernels = 0};
    result->copy = (struct kiln_bench_time){.samples = 0};
    json_t *document = kiln_bench_to_json(&results);
    const json_t *object = json_array_get(json_object_get(document, "results"), 0);
    cr_expect(is_null(object, "unfused"));
    cr_expect(is_null(object, "copy"));
    cr_expect(is_null(object, "speed_up"));
    cr_expect(is_null(object, "share_of_copy"));
    json_decref(document);
    kiln_bench_results_fini(&results);
}

Test(bench_json, a_failure_is_a_result_and_names_may_hold_any_bytes)
{
    struct kiln_bench_results results = {.device = NULL};
    struct kiln_bench_result *result = fake_results_append_named(&results, "a\"b\\\xff\n");
    result->failure = kiln_cli_strdup("declined: \xfe");
    json_t *document = kiln_bench_to_json(&results);
    char *text = json_dumps(document, 0);
    json_t *again = parse_json(text);
    const json_t *object = json_array_get(json_object_get(again, "results"), 0);
    cr_expect_str_eq(text_member(object, "name"), "a\"b\\\xef\xbf\xbd\n");
    cr_expect_str_eq(text_member(object, "failure"), "declined: \xef\xbf\xbd");
    cr_expect_null(json_object_get(object, "fused"));
    json_decref(again);
    free(text);
    json_decref(document);
    kiln_bench_results_fini(&results);
}
