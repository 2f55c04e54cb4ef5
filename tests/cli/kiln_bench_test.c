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

TestSuite(kiln_bench, .init = (void (*)(void))temporary_directory_make,
          .fini = temporary_directory_remove, .timeout = 300);

/* The smallest rows that a case has, and as few samples as a median can have. */
#define SMALL "--device", "host", "--elements", "16384", "--samples", "3"

static void expect_error(const struct kiln_process *kiln, int exit_code, const char *sentence)
{
    cr_expect_eq(kiln->exit_code, exit_code, "%d: %s", kiln->exit_code, kiln->err);
    cr_expect_str_empty(kiln->out);
    cr_expect(strstr(kiln->err, sentence), "'%s' is not in: %s", sentence, kiln->err);
}

static double number(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    cr_assert(json_is_number(value), "no number '%s'", name);
    return json_number_value(value);
}

static void check_contestant(const json_t *contestant)
{
    cr_expect_geq(integer_member(contestant, "kernels"), 1);
    cr_expect_gt(integer_member(contestant, "bytes_moved"), 0);
    cr_expect_gt(number(contestant, "compile_cold_us"), 0);
    cr_expect_gt(number(contestant, "compile_cached_us"), 0);
    cr_expect_gt(number(contestant, "bytes_per_s"), 0);
    const json_t *time = json_object_get(contestant, "time");
    cr_expect_gt(number(time, "low_us"), 0);
    cr_expect_geq(number(time, "median_us"), number(time, "low_us"));
    cr_expect_geq(number(time, "high_us"), number(time, "median_us"));
    cr_expect_eq(integer_member(time, "samples"), 3);
}

Test(kiln_bench, measures_all_types_of_a_case)
{
    struct kiln_process kiln = KILN("bench", SMALL, "--json", "softmax");
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    json_t *document = parse_json(kiln.out);
    cr_expect_str_eq(text_member(document, "device"), "host");
    const json_t *results = json_object_get(document, "results");
    static const char *const names[] = {"softmax_fp32", "softmax_fp16", "softmax_bf16"};
    cr_assert_eq(json_array_size(results), 3);
    for (size_t i = 0; i < 3; i++) {
        const json_t *result = json_array_get(results, i);
        json_int_t element_bytes = i == 0 ? 4 : 2;
        cr_expect_str_eq(text_member(result, "name"), names[i]);
        cr_expect_eq(integer_member(result, "elements"), 16384);
        cr_expect_eq(integer_member(result, "bytes_fewest"), 2 * 16384 * element_bytes);
        cr_expect_eq(number(result, "moved_share_of_copy"), number(result, "share_of_copy"));
        const json_t *fused = json_object_get(result, "fused");
        const json_t *unfused = json_object_get(result, "unfused");
        check_contestant(fused);
        check_contestant(unfused);
        cr_expect_eq(integer_member(fused, "kernels"), 1);
        cr_expect_eq(integer_member(unfused, "kernels"), 5, "one per node");
        cr_expect_gt(integer_member(unfused, "bytes_moved"), integer_member(fused, "bytes_moved"));
        cr_expect_lt(number(fused, "compile_cached_us"), number(fused, "compile_cold_us"),
                     "reading a file against starting a compiler");
        cr_expect_gt(number(result, "share_of_copy"), 0);
        cr_expect_gt(number(result, "speed_up"), 0);
        cr_expect_gt(number(result, "promised_speed_up"), 1);
        const json_t *copy = json_object_get(result, "copy");
        cr_expect_eq(integer_member(copy, "bytes_moved"), 2 * 16384 * element_bytes);
        cr_expect_gt(number(copy, "bytes_per_s"), 0);
    }
    json_decref(document);
}

Test(kiln_bench, prints_a_table_with_every_figure)
{
    struct kiln_process kiln = KILN("bench", SMALL, "add_relu_fp32");
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    static const char *const columns[] = {"time us",  "spread",  "GB/s",    "GFLOP/s",
                                          "of bound", "unfused", "speed-up"};
    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
        cr_expect(strstr(kiln.out, columns[i]), "no column '%s' in: %s", columns[i], kiln.out);
    cr_expect(strstr(kiln.out, "add_relu_fp32"));
    cr_expect(strstr(kiln.out, "(host, host:"), "where: %s", kiln.out);
    for (const char *line = kiln.out; *line; line += strcspn(line, "\n") + 1)
        cr_expect_leq(strcspn(line, "\n"), 100, "%s", line);
}

Test(kiln_bench, shows_each_kernel_of_a_graph_of_several)
{
    struct kiln_process kiln =
        KILN("bench", SMALL, "--no-unfused", "--json", "layernorm_backward_fp32");
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    json_t *document = parse_json(kiln.out);
    const json_t *result = json_array_get(json_object_get(document, "results"), 0);
    const json_t *profile = json_object_get(result, "profile");
    cr_assert_gt(json_array_size(profile), 1);
    for (size_t i = 0; i < json_array_size(profile); i++) {
        cr_expect_gt(number(json_array_get(profile, i), "time_us"), 0);
        cr_expect_gt(number(json_array_get(profile, i), "flop_per_s"), 0);
    }
    cr_expect_gt(number(result, "flop_per_s"), 0);
    json_decref(document);
}

static size_t fields_of(const char *line, size_t length)
{
    size_t fields = 1;
    bool quoted = false;
    for (size_t i = 0; i < length; i++) {
        quoted ^= line[i] == '"';
        fields += line[i] == ',' && !quoted;
    }
    return fields;
}

Test(kiln_bench, csv_has_as_many_fields_in_every_line)
{
    const char *broken = write_file("broken, \"so\".json", "{}", 2);
    struct kiln_process kiln =
        KILN("bench", SMALL, "--csv", "--no-unfused", "row_sum_fp32", broken, "row_max_fp32");
    cr_expect_eq(kiln.exit_code, 1, "one graph failed: %s", kiln.err);
    size_t lines = 0;
    size_t expected = 0;
    for (const char *line = kiln.out; *line; lines++) {
        size_t length = strcspn(line, "\n");
        size_t fields = fields_of(line, length);
        expected = lines == 0 ? fields : expected;
        cr_expect_eq(fields, expected, "%zu fields in: %.*s", fields, (int)length, line);
        line += length + (line[length] == '\n');
    }
    cr_expect_eq(lines, 4, "%s", kiln.out);
    cr_expect_gt(expected, 10);
    cr_expect(strstr(kiln.err, "no nodes"), "%s", kiln.err);
}

Test(kiln_bench, goes_on_after_graphs_that_fail)
{
    cr_assert_eq(mkdir(temporary_path("folder"), 0700), 0);
    write_file("folder/notes.json", "no graph", 8);
    char folder[4096];
    char broken[4096];
    snprintf(folder, sizeof(folder), "%s", temporary_path("folder"));
    snprintf(broken, sizeof(broken), "%s", write_file("broken.json", "{}", 2));
    struct kiln_process kiln =
        KILN("bench", SMALL, "--json", broken, "row_sum_fp32",
             sample_path("current/runtime_scalar_axpy_fp32.json"), folder, broken);
    cr_assert_eq(kiln.exit_code, 1, "%s", kiln.err);
    json_t *document = parse_json(kiln.out);
    const json_t *results = json_object_get(document, "results");
    cr_assert_eq(json_array_size(results), 3);
    cr_expect(strstr(text_member(json_array_get(results, 0), "failure"), "no nodes"));
    cr_expect_str_eq(text_member(json_array_get(results, 1), "name"), "row_sum_fp32");
    cr_expect_str_eq(text_member(json_array_get(results, 2), "name"), "runtime_scalar_axpy_fp32");
    check_contestant(json_object_get(json_array_get(results, 2), "fused"));
    json_decref(document);
}

Test(kiln_bench, says_what_does_not_fit_into_memory)
{
    struct kiln_process kiln = KILN("bench", "--device", "host", "--elements", "1099511627776",
                                    "--samples", "3", "--json", "copy_fp32");
    cr_expect_eq(kiln.exit_code, 3, "%s", kiln.err);
    json_t *document = parse_json(kiln.out);
    const json_t *result = json_array_get(json_object_get(document, "results"), 0);
    cr_expect(strstr(text_member(result, "failure"), "8.0 TiB do not fit"), "%s", kiln.out);
    json_decref(document);
    /* A copy of as many bytes as three tensors of that size could not even be built. */
    kiln = KILN("bench", "--device", "host", "--elements", "1099511627776", "--no-unfused",
                "add_relu_fp32");
    cr_expect_eq(kiln.exit_code, 3, "%s", kiln.err);
    cr_expect(strstr(kiln.out, "12.0 TiB do not fit"), "%s", kiln.out);
}

/* What the environment says of caches changes no compile time: a layer that has the program, a
 * directory that may hold nothing. Nor is the shared tier asked. */
Test(kiln_bench, compile_times_are_those_of_a_cache_of_its_own)
{
    char graphs[3000];
    char layer[3000];
    char layers[4000];
    snprintf(graphs, sizeof(graphs), "%s", temporary_path("graphs"));
    snprintf(layer, sizeof(layer), "%s", temporary_path("layer"));
    snprintf(layers, sizeof(layers), "KILN_CACHE_LAYERS=%s", layer);
    struct kiln_process kiln =
        KILN("bench", "--elements", "16384", "--save-graphs", graphs, "row_sum_fp32");
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    kiln = KILN("compile", "--cache", layer, "--target", "host", graphs);
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    kiln = (struct kiln_process){
        .arguments = (const char *const[]){"bench", SMALL, "--json", graphs, NULL},
        .environment =
            (const char *const[]){layers, "KILN_CACHE_MAX_SIZE=1", "KILN_CACHE_REMOTE=no URL",
                                  "KILN_LOG_LEVEL=warn", NULL},
    };
    kiln_process_run(&kiln);
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_expect_null(strstr(kiln.err, "KILN_CACHE_REMOTE"), "%s", kiln.err);
    json_t *document = parse_json(kiln.out);
    const json_t *result = json_array_get(json_object_get(document, "results"), 0);
    check_contestant(json_object_get(result, "fused"));
    check_contestant(json_object_get(result, "unfused"));
    json_decref(document);
}

Test(kiln_bench, writes_a_report_beside_the_table)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s", temporary_path("report.json"));
    struct kiln_process kiln =
        KILN("bench", SMALL, "--no-unfused", "--report", path, "add_relu_fp32");
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_expect(strstr(kiln.out, "add_relu_fp32"), "no table: %s", kiln.out);
    json_t *document = json_load_file(path, 0, NULL);
    cr_assert(document, "no JSON in the report");
    const json_t *result = json_array_get(json_object_get(document, "results"), 0);
    cr_expect_str_eq(text_member(result, "name"), "add_relu_fp32");
    check_contestant(json_object_get(result, "fused"));
    json_decref(document);
}

/* Each form of naming the graph, and each file of results. */
Test(kiln_bench, results_overwrite_no_graph)
{
    static const char graph[] = "{\"graph\": 1}";
    char path[4096];
    char other[4096];
    cr_assert_eq(mkdir(temporary_path("graphs"), 0700), 0);
    (void)snprintf(path, sizeof(path), "%s", write_file("graphs/a.json", graph, strlen(graph)));
    (void)snprintf(other, sizeof(other), "%s", temporary_path("graphs/../graphs/a.json"));
    struct kiln_process kiln = KILN("bench", "--device", "host", "--report", other, path);
    expect_error(&kiln, 2, "which is one of the graphs\nhint: name another file with --report");
    kiln = KILN("bench", "--device", "host", "--plot", path, other);
    expect_error(&kiln, 2, "which is one of the graphs\nhint: name another file with --plot");
    FILE *file = fopen(path, "re");
    char text[64] = "";
    cr_assert(file);
    cr_expect(fgets(text, sizeof(text), file));
    cr_expect_str_eq(text, graph);
    (void)fclose(file);
}

Test(kiln_bench, explains_operands_that_mean_nothing)
{
    struct kiln_process kiln = KILN("bench", "--device", "host", "sofmax");
    expect_error(&kiln, 2,
                 "'sofmax' is neither a case of the suite nor a graph file\n"
                 "hint: did you mean 'softmax'?");
    kiln = KILN("bench", "--device", "host", "zzzzzzzz");
    expect_error(&kiln, 2, "'kiln bench --list' lists the cases");
    cr_assert_eq(mkdir(temporary_path("folder"), 0700), 0);
    kiln = KILN("bench", "--device", "host", temporary_path("folder"));
    expect_error(&kiln, 1, "there are no graphs to measure");
    kiln = KILN("bench", "--device", "host", "--json", temporary_path("folder"));
    cr_expect_eq(kiln.exit_code, 1);
    json_t *document = parse_json(kiln.out);
    cr_expect_eq(json_array_size(json_object_get(document, "results")), 0);
    json_decref(document);
}

Test(kiln_bench, explains_options_that_make_no_sense)
{
    struct kiln_process kiln = KILN("bench", "--elements", "0");
    expect_error(&kiln, 2, "from 1 to 1099511627776, not '0'");
    kiln = KILN("bench", "--samples", "none");
    expect_error(&kiln, 2, "option '--samples' takes a number");
    kiln = KILN("bench", "--json", "--csv");
    cr_expect_eq(kiln.exit_code, 2);
    cr_expect(strstr(kiln.err, "both want standard output"), "%s", kiln.err);
    kiln = KILN("bench", "--device", "host", "--plot", "/proc/plots.html", "row_sum_fp32");
    expect_error(&kiln, 3, "'/proc/plots.html'");
    kiln = KILN("bench", SMALL, "--save-graphs", "/proc/graphs", "row_sum_fp32");
    expect_error(&kiln, 3, "'/proc/graphs'");
    kiln = KILN("bench", "--list", "--csv");
    expect_error(&kiln, 2, "--list measures nothing to show with --csv");
    kiln = KILN("bench", "--save-graphs", "graphs", "--plot", "plots");
    expect_error(&kiln, 2, "--save-graphs measures nothing to show with --plot");
    kiln = KILN("bench", "--list", "--report", "report.json");
    expect_error(&kiln, 2, "--list measures nothing to show with --report");
    kiln = KILN("bench", "--device", "host", "--report", "/proc/report.json", "row_sum_fp32");
    expect_error(&kiln, 3, "'/proc/report.json'");
    kiln = KILN("bench", "--list", "softmax");
    expect_error(&kiln, 2, "--list shows the suite and nothing else");
    kiln = KILN("bench", "--sweep", "colours");
    expect_error(&kiln, 2, "option '--sweep' does not know 'colours'\nhint: it is sizes or shapes");
    kiln = KILN("bench", "--device", "host", "--seed", "0");
    expect_error(&kiln, 2, "--seed is the seed of a sweep over shapes\nhint: add --sweep shapes");
    kiln = KILN("bench", "--device", "host", "--sweep", "shapes", "graph.json");
    expect_error(&kiln, 2, "'graph.json' is no graph of --sweep shapes");
    kiln = KILN("bench", "--device", "abacus");
    expect_error(&kiln, 2, "device 'abacus' is not known");
}

Test(kiln_bench, lists_the_suite)
{
    struct kiln_process kiln = KILN("bench", "--list", "--json");
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    json_t *document = parse_json(kiln.out);
    const json_t *suite = json_object_get(document, "suite");
    cr_expect_geq(json_array_size(suite), 10);
    cr_expect_geq(json_array_size(json_object_get(document, "models")), 15);
    bool found = false;
    for (size_t i = 0; i < json_array_size(suite); i++) {
        const json_t *entry = json_array_get(suite, i);
        cr_expect_gt(strlen(text_member(entry, "summary")), 0);
        if (strcmp(text_member(entry, "name"), "softmax") == 0) {
            found = true;
            cr_expect_eq(json_array_size(json_object_get(entry, "cases")), 3);
            cr_expect_eq(json_array_size(json_object_get(entry, "default_cases")), 1);
        }
    }
    cr_expect(found);
    json_decref(document);
    kiln = KILN("bench", "--list");
    cr_expect(strstr(kiln.out, "softmax"));
    cr_expect(strstr(kiln.out, "fp32, fp16*, bf16"), "%s", kiln.out);
    cr_expect(strstr(kiln.out, "llama3_8b_attention_decode"), "%s", kiln.out);
    for (const char *line = kiln.out; *line; line += strcspn(line, "\n") + 1)
        cr_expect_leq(strcspn(line, "\n"), 100, "%s", line);
}

Test(kiln_bench, lists_the_shapes_of_a_sweep)
{
    struct kiln_process kiln = KILN("bench", "--list", "--sweep", "shapes");
    cr_expect_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_expect(strstr(kiln.out, "\nsoftmax_bf16_1023\n"), "%s", kiln.out);
    kiln = KILN("bench", "--list", "--sweep", "shapes", "--json");
    cr_expect_eq(kiln.exit_code, 0, "%s", kiln.err);
    json_t *document = parse_json(kiln.out);
    cr_expect_geq(json_array_size(json_object_get(document, "shapes")), 150);
    json_decref(document);
}

Test(kiln_bench, saves_graphs_that_can_be_measured)
{
    char directory[3000];
    snprintf(directory, sizeof(directory), "%s", temporary_path("graphs/saved"));
    struct kiln_process kiln = KILN("bench", "--save-graphs", directory, "--elements", "262144",
                                    "--sweep", "sizes", "row_sum_fp32");
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_expect_str_empty(kiln.out);
    /* Two rows of 8192 is the least, so 4096 and 16384 are one graph. */
    static const char *const names[] = {"row_sum_fp32_16384.json", "row_sum_fp32_65536.json",
                                        "row_sum_fp32_262144.json"};
    for (size_t i = 0; i < 3; i++) {
        char path[4096];
        snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
        cr_expect_eq(access(path, R_OK), 0, "%s", path);
    }
    kiln = KILN("bench", SMALL, "--json", "--no-unfused", directory);
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    json_t *document = parse_json(kiln.out);
    const json_t *results = json_object_get(document, "results");
    cr_assert_eq(json_array_size(results), 3, "no more files than those");
    cr_expect_eq(integer_member(json_array_get(results, 0), "elements"), 16384);
    json_decref(document);
}

static size_t count_saved(const char *directory, const char *const *options)
{
    const char *arguments[8] = {"bench", "--elements", "16384", "--save-graphs", directory};
    for (size_t i = 0; options[i]; i++)
        arguments[5 + i] = options[i];
    struct kiln_process kiln = kiln_process_of(arguments);
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    return (size_t)directory_count(directory);
}

Test(kiln_bench, takes_the_default_cases_all_or_those_of_a_pattern)
{
    char directory[3][3000];
    static const char *const names[] = {"default", "all", "some"};
    for (size_t i = 0; i < 3; i++)
        (void)snprintf(directory[i], sizeof directory[i], "%s", temporary_path(names[i]));
    size_t by_default = count_saved(directory[0], (const char *const[]){NULL});
    size_t all = count_saved(directory[1], (const char *const[]){"--all", NULL});
    cr_expect_gt(by_default, 20);
    cr_expect_gt(all, 2 * by_default);
    cr_expect_eq(count_saved(directory[2], (const char *const[]){"row_*_fp16", NULL}), 2);
}

Test(kiln_bench, measures_a_layer_of_a_model)
{
    struct kiln_process kiln = KILN("bench", "--device", "host", "--elements", "1", "--samples",
                                    "1", "--no-unfused", "--json", "resnet50_conv5_3x3");
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    json_t *document = parse_json(kiln.out);
    const json_t *result = json_array_get(json_object_get(document, "results"), 0);
    cr_expect_geq(integer_member(result, "flop"), 2LL * 512 * 512 * 9 * 7 * 7);
    const json_t *kernel = json_array_get(json_object_get(result, "profile"), 0);
    cr_expect_geq(number(kernel, "flop"), 2.0 * 512 * 512 * 9 * 7 * 7);
    json_decref(document);
}

Test(kiln_bench, sweeps_over_sizes)
{
    struct kiln_process kiln = KILN("bench", "--device", "host", "--elements", "100000",
                                    "--samples", "3", "--sweep", "sizes", "--json", "copy_fp16");
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    json_t *document = parse_json(kiln.out);
    const json_t *results = json_object_get(document, "results");
    cr_assert_geq(json_array_size(results), 2);
    json_int_t before = 0;
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *result = json_array_get(results, i);
        cr_expect_str_eq(text_member(result, "name"), "copy_fp16");
        cr_expect_gt(integer_member(result, "elements"), before);
        before = integer_member(result, "elements");
        check_contestant(json_object_get(result, "fused"));
    }
    json_decref(document);
}

Test(kiln_bench, sweeps_over_shapes)
{
    struct kiln_process kiln = KILN("bench", SMALL, "--sweep", "shapes", "row_sum_bf16");
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    static const char *const parts[] = {"seed 0, 6 graphs", "min ", "p10 ",  "p25 ",
                                        "median ",          "1023", "50257", "row_sum_bf16"};
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        cr_expect(strstr(kiln.out, parts[i]), "no '%s' in: %s", parts[i], kiln.out);
    for (const char *line = kiln.out; *line; line += strcspn(line, "\n") + 1)
        cr_expect_leq(strcspn(line, "\n"), 100, "%s", line);
    kiln = KILN("bench", SMALL, "--sweep", "shapes", "--seed", "7", "--json", "row_sum_fp32_*");
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    json_t *document = parse_json(kiln.out);
    const json_t *map = json_object_get(document, "heat_map");
    cr_expect_eq(integer_member(map, "seed"), 7);
    cr_expect_leq(number(map, "min"), number(map, "median"));
    const json_t *result = json_array_get(json_object_get(document, "results"), 0);
    cr_expect(json_is_null(json_object_get(result, "unfused")));
    json_decref(document);
}

/* Kernels do nothing on the stand-in for HIP, and every batch takes 3 ms. */
Test(kiln_bench, measures_on_a_gpu_by_its_events)
{
    struct kiln_process kiln = {
        .arguments = (const char *const[]){"bench", "--device", "hip", "--elements", "16384",
                                           "--samples", "3", "--json", "softmax_fp32", NULL},
        .environment = (const char *const[]){"KILN_HIP_LIBRARY=" KILN_STAND_IN_LIBRARY, NULL},
    };
    kiln_process_run(&kiln);
    cr_assert_eq(kiln.exit_code, 0, "%s%s", kiln.err, kiln.out);
    json_t *document = parse_json(kiln.out);
    cr_expect_str_eq(text_member(document, "device"), "hip");
    cr_expect_str_eq(text_member(document, "target"), "gfx90a");
    const json_t *result = json_array_get(json_object_get(document, "results"), 0);
    check_contestant(json_object_get(result, "fused"));
    check_contestant(json_object_get(result, "unfused"));
    const json_t *time = json_object_get(json_object_get(result, "fused"), "time");
    cr_expect_float_eq(number(time, "median_us"), 3e3 / 43, 1e-3, "43 executions are 2 ms");
    cr_expect_gt(number(result, "host_overhead_us"), 0);
    json_decref(document);
}

/* The cache that the environment names is not touched, and nothing temporary stays. */
Test(kiln_bench, leaves_nothing_behind)
{
    const char *const names[] = {"cache", "tmp"};
    for (size_t i = 0; i < 2; i++)
        cr_assert_eq(mkdir(temporary_path(names[i]), 0700), 0);
    char temporary[4200];
    snprintf(temporary, sizeof(temporary), "TMPDIR=%s", temporary_path("tmp"));
    struct kiln_process kiln = {
        .arguments = (const char *const[]){"bench", SMALL, "row_sum_fp32", NULL},
        .environment = (const char *const[]){temporary, NULL},
    };
    kiln_process_run(&kiln);
    cr_expect_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_expect_eq(directory_count(temporary_path("cache")), 0);
    cr_expect_eq(directory_count(temporary_path("tmp")), 0);
}

Test(kiln_bench, an_interruption_leaves_nothing_behind_either)
{
    cr_assert_eq(mkdir(temporary_path("tmp"), 0700), 0);
    char script[8192];
    snprintf(script, sizeof(script),
             "export TMPDIR='%s'; '%s' bench --device host --elements 65536 & kiln=$!; "
             /* It has made its directory, and is measuring for a while yet. */
             "while ! ls \"$TMPDIR\" | grep -q .; do sleep 0.05; done; "
             "kill -TERM $kiln; wait $kiln",
             temporary_path("tmp"), KILN_BINARY);
    int status = system(script);
    cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGTERM, "%d", status);
    cr_expect_eq(directory_count(temporary_path("tmp")), 0);
}

Test(kiln_bench, an_interruption_shows_what_was_measured)
{
    json_t *document = NULL;
    /* Until the first graph of the suite has been measured in that time. */
    for (int seconds = 1; seconds <= 64 && document == NULL; seconds *= 2) {
        char script[8192];
        snprintf(script, sizeof(script),
                 "'%s' bench --device host --elements 16384 --samples 1 --json >'%s' & kiln=$!; "
                 "sleep %d; kill -TERM $kiln; wait $kiln",
                 KILN_BINARY, temporary_path("results"), seconds);
        int status = system(script);
        cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGTERM, "%d", status);
        json_error_t why;
        document = json_load_file(temporary_path("results"), 0, &why);
    }
    cr_assert_not_null(document);
    const json_t *results = json_object_get(document, "results");
    cr_expect_geq(json_array_size(results), 1);
    for (size_t i = 0; i < json_array_size(results); i++) {
        const json_t *fused = json_object_get(json_array_get(results, i), "fused");
        cr_expect_gt(number(json_object_get(fused, "time"), "median_us"), 0);
    }
    json_decref(document);
}

/* A file that is called as a case is has its path for a name, whichever comes first. */
Test(kiln_bench, no_two_rows_have_one_name)
{
    struct kiln_process kiln =
        KILN("bench", SMALL, "--save-graphs", temporary_path("g"), "row_sum_fp32");
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    char file[4096];
    snprintf(file, sizeof(file), "%s", temporary_path("g/row_sum_fp32.json"));
    for (int is_case_first = 0; is_case_first < 2; is_case_first++) {
        kiln = KILN("bench", SMALL, "--json", is_case_first ? "row_sum_fp32" : file,
                    is_case_first ? file : "row_sum_fp32");
        cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
        json_t *document = parse_json(kiln.out);
        const json_t *results = json_object_get(document, "results");
        cr_assert_eq(json_array_size(results), 2);
        size_t of_case = is_case_first ? 0 : 1;
        cr_expect_str_eq(text_member(json_array_get(results, of_case), "name"), "row_sum_fp32");
        cr_expect_str_eq(text_member(json_array_get(results, 1 - of_case), "name"), file);
        json_decref(document);
    }
}

/* Directories are searched 32 deep; what is below counts as unreadable, also for root. */
Test(kiln_bench, goes_on_after_a_directory_that_cannot_be_read)
{
    char command[4000];
    (void)snprintf(command, sizeof command,
                   "cd '%s' && d=graphs/a && for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 "
                   "19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35; do d=$d/d; done && "
                   "mkdir -p $d && cp '%s' graphs/z.json",
                   temporary_path("."), sample_path("current/bias_gelu_fp16.json"));
    cr_assert_eq(system(command), 0);
    struct kiln_process kiln = KILN("bench", "--device", "host", "--samples", "3", "--no-unfused",
                                    "--json", temporary_path("graphs"));
    cr_expect_eq(kiln.exit_code, 3, "%s", kiln.err);
    json_t *document = parse_json(kiln.out);
    const json_t *results = json_object_get(document, "results");
    cr_assert_eq(json_array_size(results), 2);
    cr_expect(strstr(kiln.err, "nested more than 32 deep"), "%s", kiln.err);
    cr_expect_str_eq(text_member(json_array_get(results, 1), "name"), "z");
    check_contestant(json_object_get(json_array_get(results, 1), "fused"));
    json_decref(document);
}
