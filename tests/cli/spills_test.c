#include "cli/compile_report.h"
#include "cli/spills.h"
#include "tests/cli/json_check.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

TestSuite(spills, .init = (void (*)(void))temporary_directory_make,
          .fini = temporary_directory_remove, .timeout = 60);

static struct kiln_compiled_kernel kernels[] = {
    {.symbol = "fine"},
    {.symbol = "narrow",
     .object.resources = {.scratch_bytes = 96, .vgpr_spills = 20, .sgpr_spills = 4}},
    {.symbol = "lanes", .object.resources = {.sgpr_spills = 7}}, /* in lanes, not in memory */
};

static json_t *spills_of(uint32_t kernel_count)
{
    const struct kiln_compiled_program program = {.kernel_count = kernel_count, .kernels = kernels};
    return kiln_spills_to_json(&program);
}

Test(spills, a_kernel_with_scratch_is_named)
{
    cr_expect_null(spills_of(1));
    json_t *spills = spills_of(3);
    cr_assert_eq(json_array_size(spills), 1);
    const json_t *spill = json_array_get(spills, 0);
    cr_expect_eq(integer_member(spill, "kernel"), 1);
    cr_expect_str_eq(text_member(spill, "symbol"), "narrow");
    cr_expect_eq(integer_member(spill, "scratch_bytes"), 96);
    cr_expect_eq(integer_member(spill, "vgpr_spills"), 20);
    json_decref(spills);
}

/* Reports two graphs; the second one spills. Returns the last line of the report. */
static json_t *report(bool json, char report_path[4096])
{
    struct kiln_target target;
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_target_parse("gfx942", &target, &error), KILN_OK);
    const struct kiln_target_list targets = {.targets = &target, .count = 1};
    const struct kiln_graph_files files = {.count = 0};
    const struct kiln_shard shard = {.count = 0};
    const struct kiln_codegen_counters counters = {.kernels_compiled = 2};
    (void)snprintf(report_path, 4096, "%s", temporary_path("report"));
    const struct kiln_compile_report_options options = {.json = json, .report_path = report_path};
    struct kiln_compile_report report;
    cr_assert_eq(kiln_compile_report_init(&report, &options, &files, &targets, &shard, &error),
                 KILN_OK);
    json_t *spills = spills_of(3);
    const struct kiln_compile_result results[] = {
        {.path = "good.json", .target = &target, .sentence = "", .kernels = 1},
        {.path = "bad.json", .target = &target, .sentence = "", .kernels = 3, .spills = spills},
    };
    for (size_t i = 0; i < 2; i++)
        cr_assert(kiln_compile_report_result(&report, &results[i]));
    kiln_compile_report_summary(&report, 1, &counters);
    cr_expect_eq(report.exit_code, 0, "a spill is no failure");
    kiln_compile_report_fini(&report);
    json_decref(spills);
    FILE *file = fopen(report_path, "r");
    char line[8192];
    json_t *last = NULL;
    while (fgets(line, sizeof line, file)) {
        json_decref(last);
        last = parse_json(line);
    }
    fclose(file);
    return last;
}

Test(spills, compile_names_graph_and_kernel)
{
    char path[4096], text[8192] = "";
    cr_assert(freopen(temporary_path("out"), "w", stdout));
    json_decref(report(false, path));
    fflush(stdout);
    FILE *out = fopen(temporary_path("out"), "r");
    text[fread(text, 1, sizeof text - 1, out)] = '\0';
    fclose(out);
    const char *table = strstr(text, "kernels that spill");
    cr_assert(table, "%s", text);
    const char *row = strstr(table, "bad.json");
    cr_assert(row && strstr(row, "narrow") && strstr(row, "96"), "%s", text);
    cr_expect_null(strstr(table, "good.json"), "%s", text);
    cr_expect_null(strstr(table, "lanes"), "%s", text);
}

Test(spills, json_of_compile_names_graph_and_kernel)
{
    char path[4096];
    cr_assert(freopen(temporary_path("out"), "w", stdout));
    json_t *last = report(true, path);
    const json_t *spills = json_object_get(json_object_get(last, "summary"), "spills");
    cr_assert_eq(json_array_size(spills), 1);
    const json_t *spill = json_array_get(spills, 0);
    cr_expect_str_eq(text_member(spill, "graph"), "bad.json");
    cr_expect_str_eq(text_member(spill, "target"), "gfx942");
    cr_expect_eq(integer_member(spill, "kernel"), 1);
    cr_expect_eq(integer_member(spill, "scratch_bytes"), 96);
    json_decref(last);
}
