/* What becomes of a run of `kiln compile` whose cache does not take what is compiled. */
#include "tests/cli/compile_fixture.h"
#include "tests/cli/json_check.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(kiln_compile_cache, .init = compile_fixture_set_up, .fini = temporary_directory_remove,
          .timeout = 240);

enum { FEW = 5 };

/* Every entry of the cache would be in a directory that is a file. */
static void block_directory(void)
{
    char name[16];
    cr_assert_eq(mkdir(temporary_path("cache"), 0700), 0);
    for (int i = 0; i < 256; i++) {
        (void)snprintf(name, sizeof name, "cache/%02x", (unsigned)i);
        cr_assert(write_file(name, "", 0));
    }
}

static void unblock_directory(void)
{
    char name[16];
    for (int i = 0; i < 256; i++) {
        (void)snprintf(name, sizeof name, "cache/%02x", (unsigned)i);
        cr_assert_eq(unlink(temporary_path(name)), 0);
    }
}

Test(kiln_compile_cache, a_directory_that_takes_nothing_is_a_failure)
{
    char report[1100];
    (void)snprintf(report, sizeof report, "%s", temporary_path("report.jsonl"));
    block_directory();
    compile_fixture_write_graphs("graphs", 10, FEW);
    struct kiln_process kiln = COMPILE("--report", report, temporary_path("graphs"));
    cr_expect_eq(kiln.exit_code, 3, "%d: %s", kiln.exit_code, kiln.err);
    cr_expect(strstr(kiln.out, "5 compiled, 0 from disk, 0 from memory, 10 not stored;"), "%s",
              kiln.out);
    cr_expect(strstr(kiln.err, "10 entries could not be stored"), "%s", kiln.err);
    json_t *last = compile_fixture_line(compile_fixture_slurp(report), FEW);
    const json_t *summary = json_object_get(last, "summary");
    cr_expect_eq(integer_member(summary, "not_stored"), 2 * FEW, "programs and kernels");
    cr_expect_eq(integer_member(summary, "not_shared"), 0);
    json_decref(last);
    kiln = COMPILE("-q", "--json", temporary_path("graphs"));
    cr_expect_eq(kiln.exit_code, 3, "%s", kiln.err);
    cr_expect_eq(compile_fixture_summary(&kiln, "not_stored"), 2 * FEW);
    /* The same command goes on where there is room again. */
    unblock_directory();
    kiln = COMPILE("--json", temporary_path("graphs"));
    cr_expect_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_expect_eq(compile_fixture_summary(&kiln, "compiled"), FEW);
    cr_expect_eq(compile_fixture_summary(&kiln, "not_stored"), 0);
    kiln = COMPILE("--json", temporary_path("graphs"));
    cr_expect_eq(compile_fixture_summary(&kiln, "disk"), FEW);
}

Test(kiln_compile_cache, what_exceeds_its_limit_is_a_failure)
{
    compile_fixture_write_graphs("graphs", 10, 2);
    struct kiln_process kiln =
        COMPILE_WITH("KILN_CACHE_MAX_SIZE=1K", "--json", temporary_path("graphs"));
    cr_expect_eq(kiln.exit_code, 3, "%s", kiln.err);
    cr_expect_eq(compile_fixture_summary(&kiln, "not_stored"), 2);
    cr_expect(strstr(kiln.err, "KILN_CACHE_MAX_SIZE"), "%s", kiln.err);
}

/* Each of the programs fits, all of them do not; how large they are is up to the linker. */
Test(kiln_compile_cache, what_it_does_not_keep_is_said)
{
    enum { REST_OF_ENTRY = 8192 };
    struct stat object;
    char pair[64];
    cr_assert_eq(stat(temporary_path("object.so"), &object), 0);
    off_t limit = object.st_size + REST_OF_ENTRY;
    (void)snprintf(pair, sizeof pair, "KILN_CACHE_MAX_SIZE=%lld", (long long)limit);
    compile_fixture_write_graphs("graphs", 10, (int)(limit / object.st_size) + 1);
    struct kiln_process kiln = COMPILE_WITH(pair, temporary_path("graphs"));
    cr_expect_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_expect(strstr(kiln.err, "KILN_CACHE_MAX_SIZE"), "%s", kiln.err);
}

static unsigned count_errors(const char *text)
{
    unsigned count = 0;
    for (const char *at = text; (at = strstr(at, "error: ")) != NULL; at++)
        count++;
    return count;
}

Test(kiln_compile_cache, without_one_nothing_is_compiled_unless_it_is_wished)
{
    const char *graph = compile_fixture_write_graph("one.json", 10);
    struct kiln_process kiln = COMPILE_WITH("KILN_CACHE_DIR=/proc/none", graph);
    cr_expect_eq(kiln.exit_code, 3, "%d: %s", kiln.exit_code, kiln.err);
    cr_expect(strstr(kiln.err, "there is no cache directory"), "%s", kiln.err);
    cr_expect(strstr(kiln.err, "--cache"), "%s", kiln.err);
    cr_expect_eq(compile_fixture_calls(), 0);
    /* Wished for, to see whether graphs compile. */
    kiln = COMPILE_WITH("KILN_CACHE_DIR=", "--json", graph);
    cr_expect_eq(kiln.exit_code, 0, "%d: %s", kiln.exit_code, kiln.err);
    cr_expect(strstr(kiln.err, "there is no cache directory"), "%s", kiln.err);
    cr_expect_eq(compile_fixture_summary(&kiln, "compiled"), 1);
    cr_expect_eq(compile_fixture_summary(&kiln, "not_stored"), 0);
    kiln = COMPILE_WITH("HIPDNN_DISABLE_CACHE=1", graph);
    cr_expect_eq(kiln.exit_code, 0, "%d: %s", kiln.exit_code, kiln.err);
    cr_expect(strstr(kiln.err, "HIPDNN_DISABLE_CACHE is set"), "%s", kiln.err);
    kiln = COMPILE_WITH("KILN_CACHE_DIR=", "--cache", temporary_path("elsewhere"), graph);
    cr_expect_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_expect_eq(count_errors(kiln.err), 0, "%s", kiln.err);
}

Test(kiln_compile_cache, that_cannot_be_used_is_said_once)
{
    static const char *const directories[] = {"/proc/none", "/dev/null/cache"};
    compile_fixture_write_graphs("graphs", 10, FEW);
    for (size_t i = 0; i < 2; i++) {
        struct kiln_process kiln = COMPILE("--cache", directories[i], "--report",
                                           temporary_path("report"), temporary_path("graphs"));
        cr_expect_eq(kiln.exit_code, i == 0 ? 3 : 1, "%d: %s", kiln.exit_code, kiln.err);
        cr_expect_eq(count_errors(kiln.err), 1, "%s", kiln.err);
        cr_expect_str_empty(kiln.out);
        cr_expect_neq(access(temporary_path("report"), F_OK), 0, "it has begun");
    }
    cr_expect_eq(compile_fixture_calls(), 0);
}

/* ---- without a compiler, or the leave to use it ---- */

Test(kiln_compile_cache, what_is_there_needs_no_compiler)
{
    compile_fixture_write_graphs("graphs", 10, FEW);
    struct kiln_process kiln = COMPILE("--json", temporary_path("graphs"));
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    int calls = compile_fixture_calls();
    kiln = COMPILE_WITH("KILN_HOST_CXX=/none", "--json", temporary_path("graphs"));
    cr_expect_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_expect_eq(compile_fixture_summary(&kiln, "disk"), FEW);
    /* Another compiler makes its own. */
    cr_assert_eq(symlink("compiler", temporary_path("another")), 0);
    char pair[1100];
    (void)snprintf(pair, sizeof pair, "KILN_HOST_CXX=%s", temporary_path("another"));
    kiln = COMPILE_WITH(pair, "--json", temporary_path("graphs"));
    cr_expect_eq(compile_fixture_summary(&kiln, "compiled"), FEW, "%s", kiln.err);
    cr_expect_eq(compile_fixture_calls(), calls + FEW);
    kiln = COMPILE("--json", temporary_path("graphs"));
    cr_expect_eq(compile_fixture_summary(&kiln, "disk"), FEW, "neither replaces the other's");
}

Test(kiln_compile_cache, enforced_what_is_missing_is_named_and_not_compiled)
{
    const char *graph = compile_fixture_write_graph("one.json", 10);
    struct kiln_process kiln = COMPILE_WITH("KILN_ENFORCE_PRECOMPILED=1", graph);
    cr_expect_eq(kiln.exit_code, 3, "%d", kiln.exit_code);
    cr_expect(strstr(kiln.err, "no cache has all kernels of graph '"), "%s", kiln.err);
    cr_expect(strstr(kiln.err, "KILN_ENFORCE_PRECOMPILED"), "%s", kiln.err);
    cr_expect_eq(compile_fixture_calls(), 0);
    kiln = COMPILE(graph);
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    kiln = COMPILE_WITH("KILN_ENFORCE_PRECOMPILED=1", "--json", graph);
    cr_expect_eq(compile_fixture_summary(&kiln, "disk"), 1);
    cr_expect_eq(compile_fixture_calls(), 1);
}

/* Rows and columns of one class, and another number of rows. */
Test(kiln_compile_cache, kernels_with_sizes_as_arguments_serve_other_shapes)
{
    static const char *const elements[] = {"65536", "131072"};
    static const char *const expected[] = {"2 compiled, 0 from disk,", "0 compiled, 2 from disk,"};
    for (int i = 0; i < 2; i++) {
        char folder[1100];
        (void)snprintf(folder, sizeof folder, "%s", temporary_path(elements[i]));
        struct kiln_process kiln = KILN("bench", "--save-graphs", folder, "-n", elements[i],
                                        "bias_gelu_tanh_fp16", "softmax_fp16");
        cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
        kiln = COMPILE("--shapes", "argument", folder);
        cr_expect_eq(kiln.exit_code, 0, "%s", kiln.err);
        cr_expect(strstr(kiln.out, expected[i]), "%s", kiln.out);
    }
}
