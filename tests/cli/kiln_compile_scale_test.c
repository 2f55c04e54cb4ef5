/*
 * `kiln compile` over many graphs: manifests, shards, reports, equal graphs, interruption. The host
 * compiler is a script that copies one shared object, so that hundreds of graphs take seconds.
 */
#include "compiler/graph/graph_json.h"
#include "runtime/engine/graph_capture.h"
#include "tests/cli/json_check.h"
#include "tests/cli/kiln_process.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MANY = 200, FEW = 24, MAX_ARGUMENTS = 24 };

static char host_compiler[1100];

/* The script counts its calls in "calls", one file each. `extra` is shell to run before it
 * copies; $call is the number of the call. */
static void write_compiler(const char *extra)
{
    char script[4096];
    char command[4096];
    char object[1024];
    char calls[1024];
    (void)snprintf(object, sizeof object, "%s", temporary_path("object.so"));
    (void)snprintf(calls, sizeof calls, "%s", temporary_path("calls"));
    (void)mkdir(calls, 0700);
    (void)snprintf(command, sizeof command,
                   "echo 'extern \"C\" __attribute__((visibility(\"default\"))) void "
                   "kiln_pointwise_0() {}' | c++ -shared -fPIC -nostdlib -x c++ - -o '%s'",
                   object);
    if (access(object, F_OK) != 0)
        cr_assert_eq(system(command), 0);
    int size = snprintf(script, sizeof script,
                        "#!/bin/sh\n"
                        "cat >/dev/null\n"
                        "while [ $# -gt 1 ]; do [ \"$1\" = -o ] && out=$2; shift; done\n"
                        ": >'%s/'$$\n"
                        "set -- '%s/'*\n"
                        "call=$#\n"
                        "%s\n"
                        "cp '%s' \"$out\"\n",
                        calls, calls, extra, object);
    const char *path = write_file("compiler", script, (size_t)size);
    cr_assert_eq(chmod(path, 0700), 0);
    (void)snprintf(host_compiler, sizeof host_compiler, "KILN_HOST_CXX=%s", path);
}

static void set_up(void)
{
    cr_assert(temporary_directory_make());
    write_compiler("");
}

TestSuite(kiln_compile_scale, .init = set_up, .fini = temporary_directory_remove, .timeout = 240);

static int calls(void)
{
    return directory_count(temporary_path("calls"));
}

/* `size` makes it another graph. */
static const char *write_graph(const char *name, int size)
{
    char text[1024];
    int length = snprintf(
        text, sizeof text,
        "{\"tensors\": [{\"uid\": 1, \"data_type\": \"FLOAT\", \"dims\": [%d], \"strides\": [1]},"
        " {\"uid\": 2, \"data_type\": \"FLOAT\", \"dims\": [%d], \"strides\": [1]}],"
        " \"nodes\": [{\"name\": \"%s\", \"attributes_type\": \"PointwiseAttributes\","
        " \"attributes\": {\"operation\": \"ABS\", \"in_0_tensor_uid\": 1, \"out_0_tensor_uid\": "
        "2}}]}",
        size, size, name);
    return write_file(name, text, (size_t)length);
}

/* It names a tensor that is not there: UNKNOWN_UID. */
static const char *write_declined(const char *name)
{
    char text[1024];
    int length = snprintf(
        text, sizeof text,
        "{\"tensors\": [{\"uid\": 1, \"data_type\": \"FLOAT\", \"dims\": [4], \"strides\": [1]}],"
        " \"nodes\": [{\"name\": \"%s\", \"attributes_type\": \"PointwiseAttributes\","
        " \"attributes\": {\"operation\": \"ABS\", \"in_0_tensor_uid\": 1, \"out_0_tensor_uid\": "
        "9}}]}",
        name);
    return write_file(name, text, (size_t)length);
}

static void write_graphs(const char *folder, int first_size, int count)
{
    char name[64];
    cr_assert_eq(mkdir(temporary_path(folder), 0700), 0);
    for (int i = 0; i < count; i++) {
        (void)snprintf(name, sizeof name, "%s/%04d.json", folder, i);
        cr_assert(write_graph(name, first_size + i));
    }
}

static struct kiln_process compile_with(const char *const *more, const void *input)
{
    const char *arguments[MAX_ARGUMENTS] = {"compile", "-t", "host"};
    const char *const environment[] = {host_compiler, NULL};
    size_t count = 3;
    while (*more)
        arguments[count++] = *more++;
    struct kiln_process kiln = {.arguments = arguments,
                                .environment = environment,
                                .input = input,
                                .input_bytes = input ? strlen(input) : 0};
    kiln_process_run(&kiln);
    kiln.arguments = NULL;
    kiln.environment = NULL;
    return kiln;
}

static char *slurp(const char *path)
{
    static char bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    cr_assert(file, "%s", path);
    bytes[fread(bytes, 1, sizeof(bytes) - 1, file)] = '\0';
    (void)fclose(file);
    return bytes;
}

#define COMPILE(...) compile_with((const char *const[]){__VA_ARGS__, NULL}, NULL)

static json_int_t summary_of(const struct kiln_process *kiln, const char *member)
{
    json_t *document = parse_json(kiln->out);
    json_int_t number = integer_member(json_object_get(document, "summary"), member);
    json_decref(document);
    return number;
}

Test(kiln_compile_scale, hundreds_are_compiled_once_each_and_then_never_again)
{
    write_graphs("graphs", 10, MANY);
    struct kiln_process kiln = COMPILE("-q", "--json", temporary_path("graphs"));
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert_eq(summary_of(&kiln, "compiled"), MANY);
    cr_assert_eq(calls(), MANY);
    kiln = COMPILE("--json", temporary_path("graphs"));
    cr_assert_eq(summary_of(&kiln, "disk"), MANY);
    cr_assert_eq(summary_of(&kiln, "compile_workers_started"), 0);
    cr_assert_eq(calls(), MANY);
}

Test(kiln_compile_scale, jobs_are_so_many_workers)
{
    /* Each call waits for the two others: fewer workers than three never get there. */
    write_compiler("for i in $(seq 600); do\n"
                   "    set -- $(ls \"$(dirname \"$0\")/calls\")\n"
                   "    [ $# = 3 ] && break\n"
                   "    [ $i = 600 ] && exit 1\n"
                   "    sleep 0.05\n"
                   "done");
    write_graphs("graphs", 10, 3);
    struct kiln_process kiln = COMPILE("-j", "3", "--json", temporary_path("graphs"));
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert_eq(summary_of(&kiln, "compile_workers_started"), 3);
    cr_assert_eq(calls(), 3);
}

Test(kiln_compile_scale, one_job_is_one_worker)
{
    write_graphs("graphs", 10, FEW);
    struct kiln_process kiln = COMPILE("-j", "1", "--json", temporary_path("graphs"));
    cr_assert_eq(summary_of(&kiln, "compile_workers_started"), 1);
}

Test(kiln_compile_scale, equal_graphs_are_compiled_once_by_any_number_of_jobs)
{
    char name[32];
    write_graphs("graphs", 10, 2);
    for (int i = 2; i < FEW; i++) {
        (void)snprintf(name, sizeof name, "graphs/%04d.json", i);
        cr_assert(write_graph(name, 10 + i % 2));
    }
    struct kiln_process kiln = COMPILE("-j", "4", "--json", temporary_path("graphs"));
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert_eq(summary_of(&kiln, "compiled"), 2);
    cr_assert_eq(summary_of(&kiln, "memory"), FEW - 2);
    cr_assert_eq(summary_of(&kiln, "kernels"), FEW);
    cr_assert_eq(calls(), 2);
}

Test(kiln_compile_scale, equal_graphs_fail_once)
{
    write_compiler("exit 1");
    cr_assert_eq(mkdir(temporary_path("graphs"), 0700), 0);
    cr_assert(write_graph("graphs/a.json", 10));
    struct kiln_process kiln = COMPILE("-j", "4", temporary_path("graphs"));
    int calls_of_one = calls();
    cr_assert_gt(calls_of_one, 0);
    for (char name[] = "graphs/b.json"; name[7] < 'k'; name[7]++)
        cr_assert(write_graph(name, 10));
    kiln = COMPILE("-j", "4", "--json", temporary_path("graphs"));
    cr_assert_eq(kiln.exit_code, 1, "%s", kiln.err);
    cr_assert_eq(summary_of(&kiln, "failed"), 10);
    cr_assert_eq(calls(), 2 * calls_of_one);
    cr_assert(strstr(kiln.out, "which is equal to it, failed"), "%s", kiln.out);
}

Test(kiln_compile_scale, a_manifest_lists_graphs)
{
    /* With the byte order mark that some editors put in front. */
    static const char list[] =
        "\xef\xbb\xbf# two graphs and a folder\n0000.json\n\n0001.json\r\nmore\n";
    write_graphs("graphs", 10, 2);
    write_graphs("graphs/more", 20, 3);
    const char *manifest = write_file("graphs/manifest", list, sizeof list - 1);
    struct kiln_process kiln = COMPILE("--json", "--manifest", manifest);
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert_eq(summary_of(&kiln, "compiled"), 5);
    /* Together with operands. */
    kiln = COMPILE("--json", "-m", manifest, write_graph("other.json", 99));
    cr_assert_eq(summary_of(&kiln, "compiled"), 1);
    cr_assert_eq(summary_of(&kiln, "disk"), 5);
}

Test(kiln_compile_scale, a_long_line_of_a_manifest_widens_no_other)
{
    enum { LONG = 20000 };
    char list[LONG + 32];
    memset(list, 'x', LONG);
    memcpy(list + LONG, "\n0000.json\n0001.json\n", 22);
    write_graphs("graphs", 10, 2);
    write_file("graphs/manifest", list, LONG + 21);
    struct kiln_process kiln = COMPILE("-m", temporary_path("graphs/manifest"));
    cr_assert_eq(kiln.exit_code, 1);
    cr_assert(strstr(kiln.out, "2 compiled"), "%s", kiln.out);
    cr_assert_lt(strlen(kiln.out), (size_t)LONG + 4096);
}

Test(kiln_compile_scale, a_manifest_comes_on_standard_input)
{
    char list[2048];
    (void)snprintf(list, sizeof list, "%s\n", write_graph("one.json", 10));
    const char *const more[] = {"--json", "-m", "-", NULL};
    struct kiln_process kiln = compile_with(more, list);
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert_eq(summary_of(&kiln, "compiled"), 1);
}

Test(kiln_compile_scale, bad_manifests_have_their_sentences)
{
    struct kiln_process kiln = COMPILE("-m", temporary_path("none"));
    cr_assert_eq(kiln.exit_code, 3);
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

Test(kiln_compile_scale, a_captured_directory_goes_straight_in)
{
    struct kiln_error error;
    struct kiln_buffer bytes;
    enum kiln_wire_era era;
    kiln_error_init(&error);
    kiln_buffer_init(&bytes);
    cr_assert_eq(setenv("KILN_CAPTURE_DIR", temporary_path("captured"), 1), 0);
    struct kiln_graph_capture *capture = kiln_graph_capture_create();
    for (int size = 10; size < 13; size++) {
        const char *text = slurp(write_graph("one.json", size));
        kiln_buffer_clear(&bytes);
        cr_assert_eq(kiln_graph_json_to_bytes(text, strlen(text), NULL, &bytes, &era, &error),
                     KILN_OK);
        kiln_graph_capture_write(capture, bytes.data, bytes.size);
    }
    kiln_graph_capture_destroy(capture);
    kiln_buffer_fini(&bytes);
    struct kiln_process kiln = COMPILE("--json", temporary_path("captured"));
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert_eq(summary_of(&kiln, "compiled"), 3);
    /* Captured files are named after the hash that reports show. */
    json_t *document = parse_json(kiln.out);
    const json_t *result = json_array_get(json_object_get(document, "results"), 0);
    cr_assert(strstr(text_member(result, "graph"), text_member(result, "graph_hash")), "%s",
              kiln.out);
    json_decref(document);
}

Test(kiln_compile_scale, shards_are_disjoint_complete_and_stable)
{
    static const char *const shards[] = {"1/3", "2/3", "3/3"};
    json_t *before[3];
    size_t total = 0;
    json_t *together = json_object();
    write_graphs("graphs", 10, MANY / 2);
    cr_assert(write_declined("graphs/declined.json"));
    for (int i = 0; i < 3; i++) {
        before[i] = hashes_of_shard(shards[i], "graphs");
        cr_assert_gt(json_object_size(before[i]), 10, "no shard does all the work");
        total += json_object_size(before[i]);
        json_object_update(together, before[i]);
    }
    cr_assert_eq(total, json_object_size(together), "no graph is in two shards");
    cr_assert_geq(total, MANY / 2);
    cr_assert_eq(calls(), MANY / 2);
    /* The same graphs under other names, among others: who was in a shard still is. */
    write_graphs("renamed", 5, MANY);
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
    const char *graph = write_graph("one.json", 10);
    int told = 0;
    for (int i = 1; i <= 3; i++) {
        char shard[8];
        (void)snprintf(shard, sizeof shard, "%d/3", i);
        struct kiln_process kiln = COMPILE("--shard", shard, graph, temporary_path("missing.bin"));
        told += strstr(kiln.err, "missing.bin") != NULL;
        cr_assert_eq(kiln.exit_code, strstr(kiln.err, "missing.bin") ? 1 : 0, "%s", kiln.err);
    }
    cr_assert_eq(told, 1);
    cr_assert_eq(calls(), 1);
}

static json_t *line_of(const char *text, size_t number)
{
    const char *at = text;
    for (size_t i = 0; i < number; i++) {
        at = strchr(at, '\n');
        cr_assert(at);
        at++;
    }
    char *line = strndup(at, strcspn(at, "\n"));
    json_t *object = parse_json(line);
    free(line);
    return object;
}

Test(kiln_compile_scale, a_report_has_a_line_per_graph_and_target)
{
    char report[1024];
    (void)snprintf(report, sizeof report, "%s", temporary_path("report.jsonl"));
    cr_assert_eq(mkdir(temporary_path("graphs"), 0700), 0);
    cr_assert(write_graph("graphs/a.json", 10));
    cr_assert(write_declined("graphs/b.json"));
    struct kiln_process kiln = COMPILE("--report", report, temporary_path("graphs"));
    cr_assert_eq(kiln.exit_code, 1, "%s", kiln.err);
    const char *text = slurp(report);
    json_t *done = line_of(text, 0);
    cr_assert_str_eq(text_member(done, "outcome"), "compiled");
    cr_assert_str_eq(text_member(done, "origin"), "compiled");
    cr_assert_str_eq(text_member(done, "status"), "KILN_OK");
    cr_assert_eq(integer_member(done, "kernels"), 1);
    cr_assert_gt(integer_member(done, "code_bytes"), 0);
    cr_assert_gt(integer_member(done, "duration_ns"), 0);
    cr_assert_eq(strlen(text_member(done, "graph_hash")), 32);
    /* The key is the name of the entry. */
    const char *key = text_member(done, "key");
    char entry[64];
    cr_assert_eq(strlen(key), 32);
    (void)snprintf(entry, sizeof entry, "cache/%.2s", key);
    cr_assert_eq(directory_count(temporary_path(entry)), 1, "no entry in '%s'", entry);
    json_t *declined = line_of(text, 1);
    cr_assert_str_eq(text_member(declined, "outcome"), "declined");
    cr_assert_str_eq(text_member(declined, "reason"), "UNKNOWN_UID");
    cr_assert(text_member(declined, "message"));
    json_t *last = line_of(text, 2);
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

Test(kiln_compile_scale, a_report_that_cannot_be_written_is_an_error)
{
    const char *graph = write_graph("one.json", 10);
    struct kiln_process kiln = COMPILE("--report", temporary_path("no/such/folder"), graph);
    cr_assert_eq(kiln.exit_code, 3);
    cr_assert(strstr(kiln.err, "cannot write the report"), "%s", kiln.err);
    cr_assert_eq(calls(), 0);
    kiln = COMPILE("--report", "/dev/full", graph);
    cr_assert_eq(kiln.exit_code, 3);
    cr_assert(strstr(kiln.err, "cannot write the report"), "%s", kiln.err);
    cr_assert(strstr(kiln.out, "1 compiled"), "the work is done: %s", kiln.out);
}

Test(kiln_compile_scale, failures_are_grouped_and_told_a_few_times)
{
    char name[32];
    cr_assert_eq(mkdir(temporary_path("graphs"), 0700), 0);
    for (int i = 0; i < 15; i++) {
        (void)snprintf(name, sizeof name, "graphs/%02d.json", i);
        cr_assert(write_declined(name));
    }
    struct kiln_process kiln = COMPILE(temporary_path("graphs"));
    cr_assert_eq(kiln.exit_code, 1);
    size_t sentences = 0;
    for (const char *at = kiln.err; (at = strstr(at, "error:")) != NULL; at++)
        sentences++;
    cr_assert_eq(sentences, 10, "%s", kiln.err);
    cr_assert(strstr(kiln.err, "'5' more failures"), "%s", kiln.err);
    const char *table = strstr(kiln.out, "first of them");
    cr_assert(table, "%s", kiln.out);
    cr_assert(strstr(table, "15  declined  UNKNOWN_UID"), "%s", table);
    cr_assert(strstr(table, "00.json"), "%s", table);
}

Test(kiln_compile_scale, a_table_tells_the_targets_apart)
{
    static const char *const arguments[] = {"compile", "--json", "-t", "host,gfx90a", NULL, NULL};
    const char *const environment[] = {host_compiler, "KILN_COMGR_LIBRARY=/dev/null/comgr",
                                       "KILN_CLANG=/dev/null/clang", NULL};
    const char *with_graph[MAX_ARGUMENTS];
    memcpy(with_graph, arguments, sizeof arguments);
    with_graph[4] = write_graph("one.json", 10);
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
    write_compiler("kiln=$(cut -d' ' -f4 /proc/$PPID/stat)\n"
                   "[ $call = 5 ] && kill -INT $kiln && kill -INT $kiln");
    write_graphs("graphs", 10, FEW);
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
    json_t *last = line_of(slurp(report), (size_t)done);
    cr_assert(json_is_true(json_object_get(json_object_get(last, "summary"), "interrupted")));
    json_decref(last);
    kiln = COMPILE("-j", "2", "--json", temporary_path("graphs"));
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert_eq(summary_of(&kiln, "disk"), done);
    cr_assert_eq(summary_of(&kiln, "compiled"), FEW - done);
    cr_assert_eq(calls(), FEW);
}

Test(kiln_compile_scale, what_the_cache_cannot_keep_is_said)
{
    write_graphs("graphs", 10, 2);
    const char *arguments[] = {"compile", "-t", "host", temporary_path("graphs"), NULL};
    const char *const environment[] = {host_compiler, "KILN_CACHE_MAX_SIZE=10K", NULL};
    struct kiln_process kiln = {.arguments = arguments, .environment = environment};
    kiln_process_run(&kiln);
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert(strstr(kiln.err, "KILN_CACHE_MAX_SIZE"), "%s", kiln.err);
}

Test(kiln_compile_scale, a_cache_that_keeps_nothing_is_said)
{
    const char *arguments[] = {"compile", "-t", "host", write_graph("one.json", 10),
                               NULL,      NULL, NULL};
    const char *const environment[] = {host_compiler, "KILN_CACHE_DIR=", NULL};
    struct kiln_process kiln = {.arguments = arguments, .environment = environment};
    kiln_process_run(&kiln);
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert(strstr(kiln.err, "there is no cache directory"), "%s", kiln.err);
    arguments[4] = "--cache";
    arguments[5] = temporary_path("elsewhere");
    kiln_process_run(&kiln);
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert_null(strstr(kiln.err, "there is no cache directory"), "%s", kiln.err);
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
