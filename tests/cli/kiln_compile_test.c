#include "tests/cli/json_check.h"
#include "tests/cli/kiln_process.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

TestSuite(kiln_compile, .init = (void (*)(void))temporary_directory_make,
          .fini = temporary_directory_remove, .timeout = 120);

static const char *sample(void)
{
    return sample_path("current/bias_gelu_fp16.json");
}

static char *slurp(const char *path, size_t *ret_size)
{
    FILE *file = fopen(path, "rb");
    cr_assert(file, "%s", path);
    static char bytes[1 << 16];
    *ret_size = fread(bytes, 1, sizeof(bytes), file);
    fclose(file);
    return bytes;
}

Test(kiln_compile, compiles_once_and_finds_it_on_disk_then)
{
    struct kiln_process cold = KILN("compile", "--target", "host", sample());
    cr_assert_eq(cold.exit_code, 0, "%s", cold.err);
    cr_assert(strstr(cold.out, " compiled "), "%s", cold.out);
    cr_assert(strstr(cold.out, "\n1 compiled, 0 from disk, 0 from memory"), "%s", cold.out);
    struct kiln_process warm = KILN("compile", "--target", "host", sample());
    cr_assert_eq(warm.exit_code, 0);
    cr_assert(strstr(warm.out, "\n0 compiled, 1 from disk, 0 from memory"), "%s", warm.out);
}

Test(kiln_compile, equal_graphs_are_compiled_once)
{
    struct kiln_process kiln = KILN("compile", "--target", "host", sample(), sample());
    cr_assert_eq(kiln.exit_code, 0);
    cr_assert(strstr(kiln.out, "\n1 compiled, 0 from disk, 1 from memory"), "%s", kiln.out);
}

Test(kiln_compile, the_cache_directory_is_chosen_by_option)
{
    const char *directory = temporary_path("elsewhere");
    struct kiln_process kiln = KILN("compile", "--target", "host", "--cache", directory, sample());
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert_geq(directory_count(temporary_path("elsewhere")), 1);
    kiln = KILN("compile", "--target", "host", "--cache", "/dev/null/cache", sample());
    cr_assert_eq(kiln.exit_code, 1, "%s", kiln.err);
}

Test(kiln_compile, reads_standard_input)
{
    size_t size;
    char *bytes = slurp(sample(), &size);
    static const char *const arguments[] = {"compile", "-t", "host", "-", NULL};
    struct kiln_process kiln = {.arguments = arguments, .input = bytes, .input_bytes = size};
    kiln_process_run(&kiln);
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert_eq(strncmp(kiln.out, "host", 4), 0, "%s", kiln.out);
    cr_assert(strstr(kiln.out, "  -\n"), "%s", kiln.out);
    struct kiln_process empty = KILN("compile", "-t", "host", "-");
    cr_assert_eq(empty.exit_code, 1);
    cr_assert(strstr(empty.err, "'-'"), "%s", empty.err);
}

/* A manifest without graphs has a report of its targets, and compiles nothing. */
static size_t target_count(const char *targets)
{
    struct kiln_process kiln =
        KILN("compile", "-t", targets, "--json", "-m", write_file("manifest", "#\n", 2));
    cr_assert_eq(kiln.exit_code, 1, "%s", kiln.err);
    json_t *document = parse_json(kiln.out);
    size_t count =
        json_array_size(json_object_get(json_object_get(document, "summary"), "targets"));
    json_decref(document);
    return count;
}

Test(kiln_compile, targets_have_spaces_cases_products_and_all_of_them)
{
    static const char *const gpus[] = {
#define KILN_TARGET(name, kind, ...) #kind,
#include "compiler/codegen/targets.def"
    };
    size_t amd = 0;
    for (size_t i = 0; i < sizeof(gpus) / sizeof(*gpus); i++)
        amd += strcmp(gpus[i], "AMDGPU") == 0;
    cr_expect_eq(target_count("gfx90a, GFX1030"), 2);
    cr_expect_eq(target_count("MI210 , rx 6800 xt, gfx90a"), 2);
    cr_expect_eq(target_count("all"), amd);
    cr_expect_eq(target_count("All, host"), amd + 1);
    cr_expect_eq(KILN("explain", "-t", "all", sample()).exit_code, 2);
}

Test(kiln_compile, goes_on_after_bad_graphs)
{
    const char *broken = write_file("broken.bin", "not a graph at all", 18);
    struct kiln_process kiln =
        KILN("compile", "--target", "host", broken, temporary_path("missing.bin"), sample());
    cr_assert_eq(kiln.exit_code, 1);
    cr_assert(strstr(kiln.out, "unreadable  MALFORMED"), "%s", kiln.out);
    cr_assert(strstr(kiln.out, "unreadable  KILN_NOT_FOUND"), "%s", kiln.out);
    cr_assert(strstr(kiln.out, "\n1 compiled, 0 from disk, 0 from memory, 2 unreadable"), "%s",
              kiln.out);
    cr_assert(strstr(kiln.err, "missing.bin"), "%s", kiln.err);
}

Test(kiln_compile, declined_graphs_have_a_reason)
{
    static const char graph[] =
        "{\"tensors\": [{\"uid\": 1, \"data_type\": \"FLOAT\", \"dims\": [4], \"strides\": [1]}],"
        " \"nodes\": [{\"name\": \"lonely\", \"attributes_type\": \"PointwiseAttributes\","
        " \"attributes\": {\"operation\": \"ABS\", \"in_0_tensor_uid\": 1, \"out_0_tensor_uid\": "
        "9}}]}";
    const char *path = write_file("declined.json", graph, sizeof(graph) - 1);
    struct kiln_process kiln = KILN("compile", "--target", "host,gfx90a", "--json", path);
    cr_assert_eq(kiln.exit_code, 0, "another engine takes them");
    json_t *document = parse_json(kiln.out);
    const json_t *results = json_object_get(document, "results");
    cr_assert_eq(json_array_size(results), 1, "one result for all targets");
    const json_t *result = json_array_get(results, 0);
    cr_assert_str_eq(text_member(result, "outcome"), "declined");
    cr_assert_str_eq(text_member(result, "status"), "KILN_REJECTED");
    cr_assert_str_eq(text_member(result, "reason"), "UNKNOWN_UID");
    cr_assert(json_is_null(json_object_get(result, "target")));
    cr_assert_eq(integer_member(json_object_get(document, "summary"), "declined"), 1);
    cr_assert(strstr(kiln.err, "note: graph"), "%s", kiln.err);
    cr_assert(strstr(kiln.err, "lonely"), "the sentence names the node: %s", kiln.err);
    json_decref(document);

    struct kiln_process strict = KILN("compile", "--target", "host,gfx90a", "--strict", path);
    cr_assert_eq(strict.exit_code, 1);
    cr_assert(strstr(strict.out, "declined    UNKNOWN_UID"), "%s", strict.out);
    cr_assert(strstr(strict.err, "error: graph"), "%s", strict.err);
    /* Only failures are for --quiet. */
    struct kiln_process quiet = KILN("compile", "--target", "host", "--quiet", path);
    cr_assert_eq(quiet.exit_code, 0);
    cr_assert_str_eq(quiet.out, "");
    cr_assert_str_eq(quiet.err, "");
    strict = KILN("compile", "--target", "host", "--quiet", "--strict", path);
    cr_assert(strstr(strict.out, "UNKNOWN_UID"), "%s", strict.out);
    /* Unreadable files fail without --strict. */
    struct kiln_process missing =
        KILN("compile", "-t", "host", path, temporary_path("missing.bin"));
    cr_assert_eq(missing.exit_code, 1);
}

Test(kiln_compile, json_holds_what_the_lines_say)
{
    struct kiln_process kiln = KILN("compile", "-t", "host", "--json", sample());
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    json_t *document = parse_json(kiln.out);
    const json_t *result = json_array_get(json_object_get(document, "results"), 0);
    cr_assert_str_eq(text_member(result, "graph"), sample());
    cr_assert_str_eq(text_member(result, "outcome"), "compiled");
    cr_assert_eq(strncmp(text_member(result, "target"), "host", 4), 0);
    cr_assert_eq(integer_member(result, "kernels"), 1);
    cr_assert_gt(integer_member(result, "code_bytes"), 0);
    cr_assert_eq(integer_member(json_object_get(document, "summary"), "compiled"), 1);
    json_decref(document);
}

Test(kiln_compile, a_directory_yields_its_graphs_in_order)
{
    struct kiln_process kiln =
        KILN("compile", "-t", "host", "-j", "2", "--json", sample_path("nov2025"));
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    json_t *document = parse_json(kiln.out);
    const json_t *results = json_object_get(document, "results");
    cr_assert_geq(json_array_size(results), 2);
    for (size_t i = 1; i < json_array_size(results); i++)
        cr_assert_lt(strcmp(text_member(json_array_get(results, i - 1), "graph"),
                            text_member(json_array_get(results, i), "graph")),
                     0);
    json_decref(document);
}

Test(kiln_compile, files_in_directories_that_are_no_graphs_are_skipped)
{
    size_t size;
    char *bytes = slurp(sample(), &size);
    cr_assert_eq(mkdir(temporary_path("graphs"), 0700), 0);
    cr_assert(write_file("graphs/a.json", bytes, size));
    cr_assert(write_file("graphs/data.bin", "\1\2\3\4\5\6\7\10", 8));
    cr_assert(write_file("graphs/config.json", "{\"colour\": \"red\"}", 17));
    struct kiln_process kiln = KILN("compile", "-t", "host", temporary_path("graphs"));
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert(strstr(kiln.out, "2 files in directories are no graphs"), "%s", kiln.out);
    cr_assert_eq(mkdir(temporary_path("empty"), 0700), 0);
    kiln = KILN("compile", "-t", "host", temporary_path("empty"));
    cr_assert_eq(kiln.exit_code, 1);
    cr_assert(strstr(kiln.err, "there are no graphs in"), "%s", kiln.err);
}

Test(kiln_compile, quiet_prints_failures_only)
{
    struct kiln_process kiln = KILN("compile", "-q", "-t", "host", sample());
    cr_assert_eq(kiln.exit_code, 0);
    cr_assert_str_empty(kiln.out);
    kiln = KILN("compile", "-q", "-t", "host", sample(), "missing.bin");
    cr_assert_eq(kiln.exit_code, 1);
    cr_assert(strstr(kiln.out, "missing.bin"), "%s", kiln.out);
    cr_assert_null(strstr(kiln.out, "compiled"), "%s", kiln.out);
}

Test(kiln_compile, without_targets_it_says_which_it_took)
{
    static const char *const without_gpu[] = {"KILN_HIP_LIBRARY=/no/such/library.so", NULL};
    static const char *const as_wished[] = {"KILN_DEVICE=host", NULL};
    const char *arguments[] = {"compile", sample(), NULL};
    struct kiln_process kiln = {.arguments = arguments, .environment = without_gpu};
    kiln_process_run(&kiln);
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert(strstr(kiln.err, "--target"), "%s", kiln.err);
    kiln.environment = as_wished;
    kiln_process_run(&kiln);
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert_str_empty(kiln.err);
}

Test(kiln_compile, a_terminal_gets_failures_and_the_summary_of_many)
{
    const char *arguments[32] = {"compile", "-t", "host"};
    for (int i = 0; i < 24; i++)
        arguments[3 + i] = i == 12 ? "missing.bin" : sample_path("current/chain_of_24_fp32.json");
    struct kiln_process kiln = {.arguments = arguments, .terminal = true};
    kiln_process_run(&kiln);
    cr_assert_eq(kiln.exit_code, 1);
    cr_assert(strstr(kiln.out, "missing.bin"), "%s", kiln.out);
    cr_assert(strstr(kiln.out, "1 unreadable"), "%s", kiln.out);
    cr_assert_null(strstr(kiln.out, "chain_of_24"), "%s", kiln.out);
}

Test(kiln_compile, a_compiler_that_fails_is_reported_per_graph)
{
    static const char *const environment[] = {"KILN_HOST_CXX=/bin/false", NULL};
    const char *arguments[] = {"compile", "-t", "host", "--json", sample(), NULL};
    struct kiln_process kiln = {.arguments = arguments, .environment = environment};
    kiln_process_run(&kiln);
    cr_assert(kiln.exit_code == 1 || kiln.exit_code == 3, "%d: %s", kiln.exit_code, kiln.err);
    json_t *document = parse_json(kiln.out);
    const json_t *result = json_array_get(json_object_get(document, "results"), 0);
    cr_assert_str_eq(text_member(result, "outcome"), "failed");
    json_decref(document);
}

Test(kiln_compile, json_of_no_graphs_is_a_document)
{
    char command[1200];
    (void)snprintf(command, sizeof command, "mkdir '%s'", temporary_path("empty"));
    cr_assert_eq(system(command), 0);
    struct kiln_process kiln = KILN("compile", "--target", "host", "--cache",
                                    temporary_path("cache"), "--json", temporary_path("empty"));
    cr_expect_eq(kiln.exit_code, 1);
    cr_expect(strstr(kiln.err, "there are no graphs in"), "%s", kiln.err);
    json_t *document = parse_json(kiln.out);
    cr_expect_eq(json_array_size(json_object_get(document, "results")), 0);
    cr_expect_eq(integer_member(json_object_get(document, "summary"), "compiled"), 0);
    json_decref(document);
}
