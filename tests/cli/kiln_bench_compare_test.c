#include "tests/cli/json_check.h"
#include "tests/cli/kiln_process.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

TestSuite(kiln_bench_compare, .init = (void (*)(void))temporary_directory_make,
          .fini = temporary_directory_remove, .timeout = 60);

#define RESULT(name, us, half)                                                                     \
    "{\"name\": \"" name "\", \"elements\": 10, \"fused\": {\"time\": {\"median_us\": " #us        \
    ", \"low_us\": " #us ".0, \"high_us\": " half ", \"samples\": 30}}}"
#define FILE_OF(device, results)                                                                   \
    "{\"schema_version\": 1, \"device\": \"" device "\", \"results\": [" results "]}"

static const char *path_of(const char *name, const char *text)
{
    static char paths[16][4096];
    static unsigned count;
    char *path = paths[count++ % 16];
    (void)snprintf(path, sizeof paths[0], "%s", write_file(name, text, strlen(text)));
    return path;
}

/* The noise of `even` is 10 %, of the others 1 %. */
static const char first[] =
    FILE_OF("hip", RESULT("even", 100, "120") "," RESULT("fast", 100, "102") "," RESULT(
                       "slow", 100, "102") "," RESULT("gone", 100, "102"));
static const char second[] =
    FILE_OF("hip", RESULT("slow", 110, "112.2") "," RESULT("even", 109, "110") "," RESULT(
                       "fast", 80, "81.6") "," RESULT("new", 100, "102"));

static const json_t *case_named(const json_t *document, const char *name)
{
    size_t i;
    json_t *entry;
    json_array_foreach(json_object_get(document, "cases"), i, entry)
    {
        if (strcmp(text_member(entry, "name"), name) == 0)
            return entry;
    }
    cr_assert(false, "no case '%s'", name);
    return NULL;
}

Test(kiln_bench_compare, says_what_is_noise)
{
    struct kiln_process kiln =
        KILN("bench", "--compare", "--json", path_of("a.json", first), path_of("b.json", second));
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_expect_str_empty(kiln.err);
    json_t *document = parse_json(kiln.out);
    cr_expect_eq(integer_member(document, "schema_version"), 1);
    cr_assert_eq(json_array_size(json_object_get(document, "cases")), 3);
    static const char *const verdicts[][2] = {
        {"even", "within noise"}, {"fast", "faster"}, {"slow", "slower"}};
    for (size_t i = 0; i < 3; i++)
        cr_expect_str_eq(text_member(case_named(document, verdicts[i][0]), "verdict"),
                         verdicts[i][1]);
    cr_expect_float_eq(json_real_value(json_object_get(case_named(document, "fast"), "ratio")), 0.8,
                       1e-9);
    cr_expect_float_eq(json_real_value(json_object_get(case_named(document, "fast"), "noise")),
                       0.01414, 1e-4);
    cr_expect(json_is_true(json_object_get(document, "is_same_machine")));
    cr_expect_str_eq(
        json_string_value(json_array_get(json_object_get(document, "only_in_first"), 0)), "gone");
    cr_expect_str_eq(
        json_string_value(json_array_get(json_object_get(document, "only_in_second"), 0)), "new");
    json_decref(document);
}

Test(kiln_bench_compare, prints_a_table_and_warns_of_another_device)
{
    static const char elsewhere[] = FILE_OF("cuda", RESULT("even", 100, "101"));
    struct kiln_process kiln =
        KILN("bench", "--compare", path_of("a.json", first), path_of("b.json", elsewhere));
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_expect(strstr(kiln.err, "different machines: device 'hip' and 'cuda'"), "%s", kiln.err);
    cr_expect(strstr(kiln.out, "within noise"), "%s", kiln.out);
    cr_expect(strstr(kiln.out, "1 compared: 0 faster, 0 slower, 1 within noise"), "%s", kiln.out);
    cr_expect(strstr(kiln.out, "fast, slow, gone"), "%s", kiln.out);
    cr_expect(strstr(kiln.out, "\nmeasured only in '"), "%s", kiln.out);
}

Test(kiln_bench_compare, too_few_samples_prove_nothing)
{
    static const char text[] =
        "{\"schema_version\": 1, \"device\": \"host\", \"results\": [{\"name\": \"x\", "
        "\"elements\": 1, \"fused\": {\"time\": {\"median_us\": 5, \"low_us\": 5, \"high_us\": 5, "
        "\"samples\": 1}}}, {\"name\": \"failed\", \"failure\": \"no\"}]}";
    const char *path = path_of("a.json", text);
    struct kiln_process kiln = KILN("bench", "--compare", path, path);
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_expect(strstr(kiln.out, "too few samples"), "%s", kiln.out);
    cr_expect(strstr(kiln.out, "1 compared"), "%s", kiln.out);
}

Test(kiln_bench_compare, files_that_hold_no_results_are_refused)
{
    static const struct {
        const char *text, *sentence;
    } wrong[] = {
        {"", "is no result of 'kiln bench': it is no JSON"},
        {"[1]", "it has no 'device' and no 'results'"},
        {"{\"schema_version\": 1, \"results\": []}", "it has no 'device' and no 'results'"},
        {"{\"device\": \"host\", \"results\": []}", "it has no 'schema_version'"},
        {"{\"schema_version\": 1, \"device\": \"host\", \"results\": [3]}",
         "a result has no 'name'"},
        {"{\"schema_version\": 7, \"device\": \"host\", \"results\": []}",
         "has schema version 7, and this kiln reads 1"},
    };
    const char *good = path_of("good.json", first);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct kiln_process kiln =
            KILN("bench", "--compare", good, path_of("wrong.json", wrong[i].text));
        cr_expect_eq(kiln.exit_code, 1, "%s: %d", wrong[i].sentence, kiln.exit_code);
        cr_expect(strstr(kiln.err, "wrong.json'"), "%s", kiln.err);
        cr_expect(strstr(kiln.err, wrong[i].sentence), "%s", kiln.err);
        cr_expect_str_empty(kiln.out);
    }
    struct kiln_process kiln = KILN("bench", "--compare", good, temporary_path("none.json"));
    cr_expect_neq(kiln.exit_code, 0);
    cr_expect(strstr(kiln.err, "none.json'"), "%s", kiln.err);
}

/* Numbers and names that no measurement gives. */
Test(kiln_bench_compare, odd_members_do_no_harm)
{
    static const char odd[] =
        "{\"schema_version\": 1, \"device\": \"a\\u001b[2J\", \"results\": ["
        "{\"name\": \"a\\u001b[2J\", \"elements\": \"many\", \"fused\": 7},"
        "{\"name\": \"b\", \"elements\": -1, \"fused\": {\"time\": {\"median_us\": -5}}},"
        "{\"name\": \"c\", \"elements\": 1, \"fused\": {\"time\": {\"median_us\": 1e308, "
        "\"low_us\": 1e308, \"high_us\": 1e308, \"samples\": 30}}}]}";
    struct kiln_process kiln =
        KILN("bench", "--compare", path_of("odd.json", odd), path_of("a.json", first));
    cr_expect_eq(kiln.exit_code, 1, "%s", kiln.err);
    cr_expect_null(strchr(kiln.err, '\033'), "%s", kiln.err);
    cr_expect(strstr(kiln.err, "have no case in common"), "%s", kiln.err);
    cr_expect_str_empty(kiln.out);
    kiln = KILN("bench", "--compare", path_of("odd.json", odd), path_of("odd.json", odd));
    cr_expect_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_expect(strstr(kiln.out, "1 compared"), "%s", kiln.out);
    cr_expect_null(strchr(kiln.out, '\033'), "%s", kiln.out);
}

Test(kiln_bench_compare, absurd_ratios_are_short)
{
    static const char huge[] = FILE_OF(
        "hip",
        "{\"name\": \"even\", \"elements\": 10, \"fused\": {\"time\": {\"median_us\": 1e300, "
        "\"low_us\": 1e300, \"high_us\": 1e305, \"samples\": 30}}}");
    struct kiln_process kiln =
        KILN("bench", "--compare", path_of("a.json", first), path_of("huge.json", huge));
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_expect(strstr(kiln.out, " 1e+298 "), "%s", kiln.out);
    cr_expect(strstr(kiln.out, "geometric mean of the ratios 1e+298\n"), "%s", kiln.out);
    cr_expect_null(strstr(kiln.out, "0000000"), "%s", kiln.out);
}

Test(kiln_bench_compare, files_without_a_common_case_are_no_comparison)
{
    static const char other[] = FILE_OF("hip", RESULT("other", 100, "101"));
    struct kiln_process kiln =
        KILN("bench", "--compare", path_of("a.json", first), path_of("b.json", other));
    cr_expect_eq(kiln.exit_code, 1);
    cr_expect(strstr(kiln.err, "have no case in common\nhint: "), "%s", kiln.err);
    cr_expect_str_empty(kiln.out);
    kiln = KILN("bench", "--compare", "--json", path_of("a.json", first), path_of("b.json", other));
    cr_expect_eq(kiln.exit_code, 1);
    json_t *document = parse_json(kiln.out);
    cr_expect_eq(integer_member(json_object_get(document, "error"), "exit_code"), 1);
    json_decref(document);
}

Test(kiln_bench_compare, takes_two_files_and_nothing_else)
{
    const char *good = path_of("a.json", first);
    static const char *const sentence = "--compare takes two files of results and nothing else";
    struct kiln_process kiln = KILN("bench", "--compare", good);
    cr_expect_eq(kiln.exit_code, 2);
    cr_expect(strstr(kiln.err, sentence), "%s", kiln.err);
    kiln = KILN("bench", "--compare", "--list", good, good);
    cr_expect_eq(kiln.exit_code, 2);
    cr_expect(strstr(kiln.err, sentence), "%s", kiln.err);
    kiln = KILN("bench", "--compare", good, good, "--csv");
    cr_expect_eq(kiln.exit_code, 2);
    cr_expect(strstr(kiln.err, "measures nothing to show with --csv"), "%s", kiln.err);
}

/* What --report writes is what --compare reads. */
Test(kiln_bench_compare, reads_what_bench_writes)
{
    char report[4096];
    (void)snprintf(report, sizeof report, "%s", temporary_path("report.json"));
    struct kiln_process kiln = KILN("bench", "--device", "host", "--elements", "16384", "--samples",
                                    "3", "--no-unfused", "--report", report, "row_sum_fp32");
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    kiln = KILN("bench", "--compare", report, report);
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_expect(strstr(kiln.out, "1 compared: 0 faster, 0 slower, 1 within noise"), "%s", kiln.out);
}
