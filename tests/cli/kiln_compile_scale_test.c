/* `kiln compile` over many graphs: jobs, shards, equal graphs, failures, interruption. */
#include "tests/cli/compile_fixture.h"
#include "tests/cli/json_check.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MANY = 200, FEW = 24 };

TestSuite(kiln_compile_scale, .init = compile_fixture_set_up, .fini = temporary_directory_remove,
          .timeout = 240);

Test(kiln_compile_scale, hundreds_are_compiled_once_each_and_then_never_again)
{
    compile_fixture_write_graphs("graphs", 10, MANY);
    struct kiln_process kiln = COMPILE("-q", "--json", temporary_path("graphs"));
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert_eq(compile_fixture_summary(&kiln, "compiled"), MANY);
    cr_assert_eq(compile_fixture_calls(), MANY);
    kiln = COMPILE("--json", temporary_path("graphs"));
    cr_assert_eq(compile_fixture_summary(&kiln, "disk"), MANY);
    cr_assert_eq(compile_fixture_summary(&kiln, "compile_workers_started"), 0);
    cr_assert_eq(compile_fixture_calls(), MANY);
}

Test(kiln_compile_scale, jobs_are_so_many_workers)
{
    /* Each call waits for the two others: fewer workers than three never get there. */
    compile_fixture_write_compiler("for i in $(seq 600); do\n"
                                   "    set -- $(ls \"$(dirname \"$0\")/calls\")\n"
                                   "    [ $# = 3 ] && break\n"
                                   "    [ $i = 600 ] && exit 1\n"
                                   "    sleep 0.05\n"
                                   "done");
    compile_fixture_write_graphs("graphs", 10, 3);
    struct kiln_process kiln = COMPILE("-j", "3", "--json", temporary_path("graphs"));
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert_eq(compile_fixture_summary(&kiln, "compile_workers_started"), 3);
    cr_assert_eq(compile_fixture_calls(), 3);
}

Test(kiln_compile_scale, one_job_is_one_worker)
{
    compile_fixture_write_graphs("graphs", 10, FEW);
    struct kiln_process kiln = COMPILE("-j", "1", "--json", temporary_path("graphs"));
    cr_assert_eq(compile_fixture_summary(&kiln, "compile_workers_started"), 1);
}

/* Where taskset or a batch system leaves one core, there is one job. */
Test(kiln_compile_scale, without_a_number_jobs_are_the_cores_that_it_may_use)
{
    cpu_set_t all;
    cpu_set_t one;
    size_t core = 0;
    cr_assert_eq(sched_getaffinity(0, sizeof all, &all), 0);
    while (!CPU_ISSET(core, &all))
        core++;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    compile_fixture_write_graphs("graphs", 10, FEW);
    cr_assert_eq(sched_setaffinity(0, sizeof one, &one), 0);
    struct kiln_process kiln = COMPILE("--json", temporary_path("graphs"));
    cr_assert_eq(compile_fixture_summary(&kiln, "compile_workers_started"), 1);
}

Test(kiln_compile_scale, equal_graphs_are_compiled_once_by_any_number_of_jobs)
{
    char name[32];
    compile_fixture_write_graphs("graphs", 10, 2);
    for (int i = 2; i < FEW; i++) {
        (void)snprintf(name, sizeof name, "graphs/%04d.json", i);
        cr_assert(compile_fixture_write_graph(name, 10 + i % 2));
    }
    struct kiln_process kiln = COMPILE("-j", "4", "--json", temporary_path("graphs"));
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert_eq(compile_fixture_summary(&kiln, "compiled"), 2);
    cr_assert_eq(compile_fixture_summary(&kiln, "memory"), FEW - 2);
    cr_assert_eq(compile_fixture_summary(&kiln, "kernels"), FEW);
    cr_assert_eq(compile_fixture_calls(), 2);
}

Test(kiln_compile_scale, equal_graphs_fail_once)
{
    compile_fixture_write_compiler("exit 1");
    cr_assert_eq(mkdir(temporary_path("graphs"), 0700), 0);
    cr_assert(compile_fixture_write_graph("graphs/a.json", 10));
    struct kiln_process kiln = COMPILE("-j", "4", temporary_path("graphs"));
    int calls_of_one = compile_fixture_calls();
    cr_assert_gt(calls_of_one, 0);
    for (char name[] = "graphs/b.json"; name[7] < 'k'; name[7]++)
        cr_assert(compile_fixture_write_graph(name, 10));
    kiln = COMPILE("-j", "4", "--json", temporary_path("graphs"));
    cr_assert_eq(kiln.exit_code, 1, "%s", kiln.err);
    cr_assert_eq(compile_fixture_summary(&kiln, "failed"), 10);
    cr_assert_eq(compile_fixture_calls(), 2 * calls_of_one);
    cr_assert(strstr(kiln.out, "which is equal to it, failed"), "%s", kiln.out);
}

/* Hashes of the graphs that a shard has compiled, sorted, one per line. */
static json_t *hashes_of_shard(const char *shard, const char *folder)
{
    struct kiln_process kiln = COMPILE("--json", "--shard", shard, temporary_path(folder));
    json_t *document = parse_json(kiln.out);
    json_t *hashes = json_object();
    size_t index;
    const json_t *result;
    json_array_foreach(json_object_get(document, "results"), index, result)
        json_object_set_new(hashes, text_member(result, "graph_hash"), json_true());
    cr_assert_str_eq(text_member(json_object_get(document, "summary"), "shard"), shard);
    json_decref(document);
    return hashes;
}

Test(kiln_compile_scale, shards_are_disjoint_complete_and_stable)
{
    static const char *const shards[] = {"1/3", "2/3", "3/3"};
    json_t *before[3];
    size_t total = 0;
    json_t *together = json_object();
    compile_fixture_write_graphs("graphs", 10, MANY / 2);
    cr_assert(compile_fixture_write_declined("graphs/declined.json"));
    for (int i = 0; i < 3; i++) {
        before[i] = hashes_of_shard(shards[i], "graphs");
        cr_assert_gt(json_object_size(before[i]), 10, "no shard does all the work");
        total += json_object_size(before[i]);
        json_object_update(together, before[i]);
    }
    cr_assert_eq(total, json_object_size(together), "no graph is in two shards");
    cr_assert_geq(total, MANY / 2);
    cr_assert_eq(compile_fixture_calls(), MANY / 2);
    /* The same graphs under other names, among others: who was in a shard still is. */
    compile_fixture_write_graphs("renamed", 5, MANY);
    for (int i = 0; i < 3; i++) {
        json_t *after = hashes_of_shard(shards[i], "renamed");
        const char *hash;
        json_t *value;
        size_t found = 0;
        json_object_foreach(before[i], hash, value) found += json_object_get(after, hash) != NULL;
        cr_assert_geq(found + 1, json_object_size(before[i])); /* all but the one that is none */
        json_decref(after);
        json_decref(before[i]);
    }
    json_decref(together);
}

Test(kiln_compile_scale, a_missing_file_is_told_of_by_one_shard)
{
    const char *graph = compile_fixture_write_graph("one.json", 10);
    int told = 0;
    for (int i = 1; i <= 3; i++) {
        char shard[8];
        (void)snprintf(shard, sizeof shard, "%d/3", i);
        struct kiln_process kiln = COMPILE("--shard", shard, graph, temporary_path("missing.bin"));
        told += strstr(kiln.err, "missing.bin") != NULL;
        cr_assert_eq(kiln.exit_code, strstr(kiln.err, "missing.bin") ? 1 : 0, "%s", kiln.err);
    }
    cr_assert_eq(told, 1);
    cr_assert_eq(compile_fixture_calls(), 1);
}

Test(kiln_compile_scale, failures_are_grouped_and_told_a_few_times)
{
    char name[32];
    cr_assert_eq(mkdir(temporary_path("graphs"), 0700), 0);
    for (int i = 0; i < 15; i++) {
        (void)snprintf(name, sizeof name, "graphs/%02d.json", i);
        cr_assert(compile_fixture_write_declined(name));
    }
    struct kiln_process kiln = COMPILE("--strict", temporary_path("graphs"));
    cr_assert_eq(kiln.exit_code, 1);
    size_t sentences = 0;
    for (const char *at = kiln.err; (at = strstr(at, "error:")) != NULL; at++)
        sentences++;
    cr_assert_eq(sentences, 10, "%s", kiln.err);
    cr_assert(strstr(kiln.err, "5 more graphs"), "%s", kiln.err);
    const char *table = strstr(kiln.out, "first of them");
    cr_assert(table, "%s", kiln.out);
    cr_assert(strstr(table, "15  declined  UNKNOWN_UID"), "%s", table);
    cr_assert(strstr(table, "00.json"), "%s", table);
}

Test(kiln_compile_scale, a_table_tells_the_targets_apart)
{
    static const char *const arguments[] = {"compile", "--json", "-t", "host,gfx90a", NULL, NULL};
    const char *const environment[] = {compile_fixture_compiler(),
                                       "KILN_COMGR_LIBRARY=/dev/null/comgr",
                                       "KILN_CLANG=/dev/null/clang", NULL};
    const char *with_graph[8];
    memcpy(with_graph, arguments, sizeof arguments);
    with_graph[4] = compile_fixture_write_graph("one.json", 10);
    struct kiln_process kiln = {.arguments = with_graph, .environment = environment};
    kiln_process_run(&kiln);
    cr_assert_eq(kiln.exit_code, 3, "%s", kiln.err);
    json_t *document = parse_json(kiln.out);
    const json_t *summary = json_object_get(document, "summary");
    const json_t *targets = json_object_get(summary, "targets");
    cr_assert_eq(integer_member(json_array_get(targets, 0), "compiled"), 1);
    cr_assert_eq(integer_member(json_array_get(targets, 0), "failed"), 0);
    cr_assert_eq(integer_member(json_array_get(targets, 1), "compiled"), 0);
    cr_assert_eq(integer_member(json_array_get(targets, 1), "failed"), 1);
    const json_t *failures = json_array_get(json_object_get(summary, "failures"), 0);
    cr_assert_str_eq(text_member(failures, "target"), "gfx90a");
    cr_assert_str_eq(text_member(failures, "status"), "KILN_UNSUPPORTED");
    json_decref(document);
    with_graph[1] = "-v";
    kiln.arguments = with_graph;
    kiln_process_run(&kiln);
    cr_assert(strstr(kiln.out, "\ntarget "), "%s", kiln.out);
    cr_assert(strstr(kiln.out, "\ngfx90a "), "%s", kiln.out);
}

Test(kiln_compile_scale, an_interrupted_run_keeps_what_is_done_and_goes_on)
{
    /* Sent by the fifth compilation to the kiln that started its worker; twice, as timeout(1) does
     * it: to the process and to its group. */
    compile_fixture_write_compiler("kiln=$(cut -d' ' -f4 /proc/$PPID/stat)\n"
                                   "[ $call = 5 ] && kill -INT $kiln && kill -INT $kiln");
    compile_fixture_write_graphs("graphs", 10, FEW);
    char report[1024];
    (void)snprintf(report, sizeof report, "%s", temporary_path("report.jsonl"));
    struct kiln_process kiln = COMPILE("-j", "1", "--report", report, temporary_path("graphs"));
    cr_assert_eq(kiln.exit_code, 128 + 2, "%d: %s", kiln.exit_code, kiln.err);
    const char *note = strstr(kiln.err, "interrupted: ");
    cr_assert(strstr(kiln.err, "interrupt again to end at once"), "%s", kiln.err);
    int done = note ? atoi(note + strlen("interrupted: ")) : -1;
    cr_assert_geq(done, 5, "%s", kiln.err);
    cr_assert_lt(done, FEW, "%s", kiln.err);
    char counted[32];
    (void)snprintf(counted, sizeof counted, "%d compiled", done);
    cr_assert(strstr(kiln.out, counted), "%s", kiln.out);
    json_t *last = compile_fixture_line(compile_fixture_slurp(report), (size_t)done);
    cr_assert(json_is_true(json_object_get(json_object_get(last, "summary"), "interrupted")));
    json_decref(last);
    kiln = COMPILE("-j", "2", "--json", temporary_path("graphs"));
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert_eq(compile_fixture_summary(&kiln, "disk"), done);
    cr_assert_eq(compile_fixture_summary(&kiln, "compiled"), FEW - done);
    cr_assert_eq(compile_fixture_calls(), FEW);
}

/* A pipe that nobody writes to never ends: reading it must not outlive the signal. */
Test(kiln_compile_scale, an_interruption_ends_the_wait_for_a_pipe)
{
    char script[8192];
    (void)snprintf(script, sizeof script,
                   "cd '%s' && mkfifo pipe && timeout --foreground --preserve-status -k 20 1 "
                   "'%s' compile -t host --cache cache pipe",
                   temporary_path("."), KILN_BINARY);
    int status = system(script);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGTERM, "%d", status);
}
