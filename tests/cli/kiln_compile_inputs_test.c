/* What `kiln compile` reads and writes besides the cache: manifests, directories, reports. */
#include "compiler/graph/graph_json.h"
#include "runtime/engine/graph_capture.h"
#include "tests/cli/compile_fixture.h"
#include "tests/cli/json_check.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(kiln_compile_inputs, .init = compile_fixture_set_up, .fini = temporary_directory_remove,
          .timeout = 240);

Test(kiln_compile_inputs, a_manifest_lists_graphs)
{
    /* With the byte order mark that some editors put in front. */
    static const char list[] =
        "\xef\xbb\xbf# two graphs and a folder\n0000.json\n\n0001.json\r\nmore\n";
    compile_fixture_write_graphs("graphs", 10, 2);
    compile_fixture_write_graphs("graphs/more", 20, 3);
    const char *manifest = write_file("graphs/manifest", list, sizeof list - 1);
    struct kiln_process kiln = COMPILE("--json", "--manifest", manifest);
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert_eq(compile_fixture_summary(&kiln, "compiled"), 5);
    /* Together with operands. */
    kiln = COMPILE("--json", "-m", manifest, compile_fixture_write_graph("other.json", 99));
    cr_assert_eq(compile_fixture_summary(&kiln, "compiled"), 1);
    cr_assert_eq(compile_fixture_summary(&kiln, "disk"), 5);
}

Test(kiln_compile_inputs, a_long_line_of_a_manifest_widens_no_other)
{
    enum { LONG = 20000 };
    char list[LONG + 32];
    memset(list, 'x', LONG);
    memcpy(list + LONG, "\n0000.json\n0001.json\n", 22);
    compile_fixture_write_graphs("graphs", 10, 2);
    write_file("graphs/manifest", list, LONG + 21);
    struct kiln_process kiln = COMPILE("-m", temporary_path("graphs/manifest"));
    cr_assert_eq(kiln.exit_code, 1);
    cr_assert(strstr(kiln.out, "2 compiled"), "%s", kiln.out);
    cr_assert_lt(strlen(kiln.out), (size_t)LONG + 4096);
}

Test(kiln_compile_inputs, a_manifest_comes_on_standard_input)
{
    char list[2048];
    (void)snprintf(list, sizeof list, "%s\n", compile_fixture_write_graph("one.json", 10));
    const char *const more[] = {"--json", "-m", "-", NULL};
    struct kiln_process kiln = compile_fixture_run(more, NULL, list);
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert_eq(compile_fixture_summary(&kiln, "compiled"), 1);
}

Test(kiln_compile_inputs, bad_manifests_have_their_sentences)
{
    struct kiln_process kiln = COMPILE("-m", temporary_path("none"));
    cr_assert_eq(kiln.exit_code, 1);
    cr_assert(strstr(kiln.err, "manifest"), "%s", kiln.err);
    kiln = COMPILE("-m", write_file("empty", "#\n", 2));
    cr_assert_eq(kiln.exit_code, 1);
    cr_assert(strstr(kiln.err, "lists no graphs"), "%s", kiln.err);
    kiln = COMPILE("-m", write_file("binary", "\0\0\0\1", 4));
    cr_assert_eq(kiln.exit_code, 1);
    cr_assert(strstr(kiln.err, "is no text"), "%s", kiln.err);
    /* A graph that a manifest names has to be one. */
    kiln = COMPILE("-m", write_file("list", "binary\nmissing.bin\n", 19));
    cr_assert_eq(kiln.exit_code, 1);
    cr_assert(strstr(kiln.out, "2 unreadable"), "%s", kiln.out);
}

Test(kiln_compile_inputs, a_captured_directory_goes_straight_in)
{
    struct kiln_error error;
    struct kiln_buffer bytes;
    enum kiln_wire_era era;
    kiln_error_init(&error);
    kiln_buffer_init(&bytes);
    cr_assert_eq(setenv("KILN_CAPTURE_DIR", temporary_path("captured"), 1), 0);
    struct kiln_graph_capture *capture = kiln_graph_capture_create();
    for (int size = 10; size < 13; size++) {
        const char *text = compile_fixture_slurp(compile_fixture_write_graph("one.json", size));
        kiln_buffer_clear(&bytes);
        cr_assert_eq(kiln_graph_json_to_bytes(text, strlen(text), NULL, &bytes, &era, &error),
                     KILN_OK);
        kiln_graph_capture_write(capture, bytes.data, bytes.size);
    }
    kiln_graph_capture_destroy(capture);
    kiln_buffer_fini(&bytes);
    struct kiln_process kiln = COMPILE("--json", temporary_path("captured"));
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert_eq(compile_fixture_summary(&kiln, "compiled"), 3);
    /* Captured files are named after the hash that reports show. */
    json_t *document = parse_json(kiln.out);
    const json_t *result = json_array_get(json_object_get(document, "results"), 0);
    cr_assert(strstr(text_member(result, "graph"), text_member(result, "graph_hash")), "%s",
              kiln.out);
    json_decref(document);
}

Test(kiln_compile_inputs, captured_graphs_come_most_frequent_first)
{
    static const int sizes[] = {10, 11, 12, 13};
    static const int questions[] = {2, 5, 0, 1}; /* 0: no count is known */
    enum { GRAPHS = 4 };
    struct kiln_error error;
    struct kiln_buffer bytes;
    enum kiln_wire_era era;
    kiln_error_init(&error);
    kiln_buffer_init(&bytes);
    cr_assert_eq(setenv("KILN_CAPTURE_DIR", temporary_path("captured"), 1), 0);
    /* Two processes that ask alike, to the program. */
    for (int process = 0; process < 2; process++) {
        struct kiln_graph_capture *capture = kiln_graph_capture_create();
        for (int i = 0; i < GRAPHS; i++) {
            const char *text =
                compile_fixture_slurp(compile_fixture_write_graph("one.json", sizes[i]));
            kiln_buffer_clear(&bytes);
            cr_assert_eq(kiln_graph_json_to_bytes(text, strlen(text), NULL, &bytes, &era, &error),
                         KILN_OK);
            for (int j = 0; j < questions[i]; j++)
                kiln_graph_capture_ask(capture, bytes.data, bytes.size);
            kiln_graph_capture_write(capture, bytes.data, bytes.size);
        }
        kiln_graph_capture_destroy(capture);
    }
    kiln_buffer_fini(&bytes);
    cr_assert(write_file("captured/torn.counts", "0123", 4));
    cr_assert_eq(mkdir(temporary_path("captured/folder.counts"), 0700), 0);
    struct kiln_process kiln = COMPILE("--json", temporary_path("captured"));
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert(strstr(kiln.err, "folder.counts' does not count"), "%s", kiln.err);
    json_t *document = parse_json(kiln.out);
    const json_t *results = json_object_get(document, "results");
    cr_assert_eq(json_array_size(results), GRAPHS);
    cr_assert_eq(integer_member(json_array_get(results, 0), "asked"), 10);
    cr_assert_eq(integer_member(json_array_get(results, 1), "asked"), 4);
    cr_assert_eq(integer_member(json_array_get(results, 2), "asked"), 2);
    cr_assert(json_is_null(json_object_get(json_array_get(results, 3), "asked")));
    cr_assert_eq(integer_member(json_object_get(document, "summary"), "asked"), 16);
    json_decref(document);

    kiln = COMPILE(temporary_path("captured"));
    cr_assert(strstr(kiln.out, "asked 10 times\n"), "%s", kiln.out);
    cr_assert(strstr(kiln.out, "hosts asked 16 times for these graphs, 0 times"), "%s", kiln.out);
}

Test(kiln_compile_inputs, a_report_has_a_line_per_graph_and_target)
{
    char report[1024];
    (void)snprintf(report, sizeof report, "%s", temporary_path("report.jsonl"));
    cr_assert_eq(mkdir(temporary_path("graphs"), 0700), 0);
    cr_assert(compile_fixture_write_graph("graphs/a.json", 10));
    cr_assert(compile_fixture_write_declined("graphs/b.json"));
    struct kiln_process kiln = COMPILE("--report", report, temporary_path("graphs"));
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    const char *text = compile_fixture_slurp(report);
    json_t *done = compile_fixture_line(text, 0);
    cr_assert_str_eq(text_member(done, "outcome"), "compiled");
    cr_assert_str_eq(text_member(done, "origin"), "compiled");
    cr_assert_str_eq(text_member(done, "status"), "KILN_OK");
    cr_assert_eq(integer_member(done, "kernels"), 1);
    cr_assert_gt(integer_member(done, "code_bytes"), 0);
    cr_assert_gt(integer_member(done, "duration_ns"), 0);
    cr_assert_gt(integer_member(done, "compile_ns"), 0);
    cr_assert_eq(integer_member(done, "slowest_ns"), integer_member(done, "compile_ns"));
    cr_assert_eq(integer_member(done, "scratch_bytes"), 0);
    cr_assert_eq(strlen(text_member(done, "graph_hash")), 32);
    /* The key is the name of the entry. */
    const char *key = text_member(done, "key");
    char entry[64];
    cr_assert_eq(strlen(key), 32);
    (void)snprintf(entry, sizeof entry, "cache/%.2s", key);
    /* Its kernel's entry is there too where the keys begin alike. */
    cr_assert_geq(directory_count(temporary_path(entry)), 1, "no entry in '%s'", entry);
    json_t *declined = compile_fixture_line(text, 1);
    cr_assert_str_eq(text_member(declined, "outcome"), "declined");
    cr_assert_str_eq(text_member(declined, "reason"), "UNKNOWN_UID");
    cr_assert(text_member(declined, "message"));
    json_t *last = compile_fixture_line(text, 2);
    const json_t *summary = json_object_get(last, "summary");
    cr_assert_eq(integer_member(summary, "compiled"), 1);
    cr_assert_eq(integer_member(summary, "declined"), 1);
    const json_t *failures = json_array_get(json_object_get(summary, "failures"), 0);
    cr_assert_str_eq(text_member(failures, "reason"), "UNKNOWN_UID");
    cr_assert_eq(integer_member(failures, "count"), 1);
    const json_t *target = json_array_get(json_object_get(summary, "targets"), 0);
    cr_assert_eq(strncmp(text_member(target, "target"), "host", 4), 0);
    cr_assert_eq(integer_member(target, "compiled"), 1);
    cr_assert_eq(integer_member(target, "declined"), 1);
    json_decref(done);
    json_decref(declined);
    json_decref(last);
}

Test(kiln_compile_inputs, a_report_that_cannot_be_written_is_an_error)
{
    const char *graph = compile_fixture_write_graph("one.json", 10);
    struct kiln_process kiln = COMPILE("--report", temporary_path("no/such/folder"), graph);
    cr_assert_eq(kiln.exit_code, 3);
    cr_assert(strstr(kiln.err, "cannot write the report"), "%s", kiln.err);
    cr_assert_eq(compile_fixture_calls(), 0);
    kiln = COMPILE("--report", "/dev/full", graph);
    cr_assert_eq(kiln.exit_code, 3);
    cr_assert(strstr(kiln.err, "cannot write the report"), "%s", kiln.err);
    cr_assert(strstr(kiln.out, "1 compiled"), "the work is done: %s", kiln.out);
}

/* Two -t and two -m count as one with all of it. */
Test(kiln_compile_inputs, targets_and_manifests_add_up)
{
    char first[1100];
    char second[1100];
    const char *const pairs[] = {"KILN_COMGR_LIBRARY=/dev/null/comgr", "KILN_CLANG=/dev/null/clang",
                                 NULL};
    compile_fixture_write_graphs("graphs", 10, 2);
    (void)snprintf(first, sizeof first, "%s", write_file("graphs/first", "0000.json\n", 10));
    (void)snprintf(second, sizeof second, "%s", write_file("graphs/second", "0001.json\n", 10));
    const char *const arguments[] = {"--json", "-t", "gfx90a", "-m", first, "-m", second, NULL};
    struct kiln_process kiln = compile_fixture_run(arguments, pairs, NULL);
    cr_expect_eq(kiln.exit_code, 3, "nothing compiles for gfx90a: %s", kiln.err);
    cr_expect_eq(compile_fixture_summary(&kiln, "compiled"), 2, "%s", kiln.out);
    cr_expect_eq(compile_fixture_summary(&kiln, "failed"), 2, "%s", kiln.out);
    /* What is named twice is done once, as within one list. */
    kiln = COMPILE("--json", "-t", "host", "-m", first, "-m", first);
    cr_expect_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_expect_eq(compile_fixture_summary(&kiln, "disk"), 1, "%s", kiln.out);
    cr_expect_eq(compile_fixture_summary(&kiln, "memory"), 1, "%s", kiln.out);
    kiln = COMPILE("-t", "no_such_target", "-m", first);
    cr_expect_eq(kiln.exit_code, 2, "%s", kiln.err);
}

/* One failure, not the end of the run; permissions would not keep root out. */
Test(kiln_compile_inputs, a_directory_that_cannot_be_searched_is_one_failure)
{
    char path[512] = "graphs/deep";
    compile_fixture_write_graphs("graphs", 10, 2);
    cr_assert_eq(mkdir(temporary_path(path), 0700), 0);
    for (int i = 0; i < 40; i++) {
        strcat(path, "/d");
        cr_assert_eq(mkdir(temporary_path(path), 0700), 0);
    }
    struct kiln_process kiln = COMPILE("--json", temporary_path("graphs"));
    cr_expect_eq(kiln.exit_code, 3, "%s", kiln.err);
    cr_expect_eq(compile_fixture_summary(&kiln, "compiled"), 2, "%s", kiln.out);
    cr_expect_eq(compile_fixture_summary(&kiln, "unreadable"), 1, "%s", kiln.out);
    cr_expect(strstr(kiln.err, "is nested more than"), "%s", kiln.err);
}

/* Runs over both graphs with a report in a place that would destroy `name`. */
static void expect_no_report_over(const char *name, const char *report)
{
    char before[4096];
    char manifest[1100];
    (void)snprintf(before, sizeof before, "%s", compile_fixture_slurp(temporary_path(name)));
    (void)snprintf(manifest, sizeof manifest, "%s", temporary_path("graphs/manifest"));
    struct kiln_process kiln = COMPILE("-m", manifest, "--report", temporary_path(report));
    cr_expect_eq(kiln.exit_code, 2, "%s: %d %s", report, kiln.exit_code, kiln.err);
    cr_expect(strstr(kiln.err, "would overwrite"), "%s: %s", report, kiln.err);
    cr_expect_str_eq(compile_fixture_slurp(temporary_path(name)), before);
    cr_expect_eq(compile_fixture_calls(), 0);
}

Test(kiln_compile_inputs, a_report_overwrites_no_input)
{
    compile_fixture_write_graphs("graphs", 10, 2);
    cr_assert(write_file("graphs/manifest", "0000.json\n0001.json\n", 20));
    cr_assert_eq(link(temporary_path("graphs/0001.json"), temporary_path("other_name")), 0);
    expect_no_report_over("graphs/0000.json", "graphs/0000.json");
    expect_no_report_over("graphs/0000.json", "graphs/../graphs/0000.json");
    expect_no_report_over("graphs/0001.json", "other_name");
    expect_no_report_over("graphs/manifest", "graphs/manifest");
    /* In the directory that is searched, too. */
    struct kiln_process kiln =
        COMPILE("--report", temporary_path("graphs/0000.json"), temporary_path("graphs"));
    cr_expect_eq(kiln.exit_code, 2, "%s", kiln.err);
    cr_expect_eq(compile_fixture_calls(), 0);
}

/* A report that is found among the graphs of the next run is none of them. */
Test(kiln_compile_inputs, a_report_overwrites_the_one_of_the_last_run)
{
    compile_fixture_write_graphs("graphs", 10, 2);
    for (int i = 0; i < 2; i++) {
        struct kiln_process kiln =
            COMPILE("--report", temporary_path("graphs/report.json"), temporary_path("graphs"));
        cr_expect_eq(kiln.exit_code, 0, "%s", kiln.err);
    }
    cr_expect(strstr(compile_fixture_slurp(temporary_path("graphs/report.json")), "summary"));
}
