#include "tests/cli/json_check.h"
#include "tests/cli/kiln_process.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(kiln_explain, .init = (void (*)(void))temporary_directory_make,
          .fini = temporary_directory_remove, .timeout = 120);

static const char *sample(void)
{
    return sample_path("current/bias_gelu_fp16.json");
}

static void expect(const char *text, const char *part)
{
    cr_assert(strstr(text, part), "no '%s' in:\n%s", part, text);
}

Test(kiln_explain, shows_graph_groups_schedule_and_resources)
{
    struct kiln_process kiln = KILN("explain", "--target", "host", sample());
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    expect(kiln.out, "GELU_FWD");
    expect(kiln.out, "1 kernel for host");
    expect(kiln.out, "a kernel of its own because it is the first");
    expect(kiln.out, "\nresources (");
    cr_assert_null(strstr(kiln.out, "source of kernel"));
    cr_assert_null(strstr(kiln.out, "fusion IR"));
}

Test(kiln_explain, shapes_are_arguments_if_asked_for)
{
    struct kiln_process constant = KILN("explain", "--target", "gfx942", "--source", sample());
    struct kiln_process argument =
        KILN("explain", "--target", "gfx942", "--source", "--shapes", "argument", sample());
    cr_assert_eq(argument.exit_code, 0, "%s", argument.err);
    cr_assert_null(strstr(constant.out, "(arguments)"));
    expect(argument.out, "axes 64 1024 (arguments)");
    expect(argument.out, "#define KILN_VECTORS ((kiln_index)arguments.vectors)");
    cr_assert_eq(setenv("KILN_SHAPES", "argument", 1), 0);
    struct kiln_process by_variable = KILN("explain", "--target", "gfx942", sample());
    expect(by_variable.out, "axes 64 1024 (arguments)");
    cr_assert_eq(setenv("KILN_SHAPES", "arguments", 1), 0);
    struct kiln_process mistyped = KILN("explain", "--target", "gfx942", sample());
    expect(mistyped.err, "'KILN_SHAPES' is 'arguments', not 'constant', 'argument' or 'auto'");
    cr_assert_eq(unsetenv("KILN_SHAPES"), 0);
    struct kiln_process wrong = KILN("explain", "--shapes", "square", sample());
    cr_assert_eq(wrong.exit_code, 2);
    expect(wrong.err, "option '--shapes' does not know 'square'");
}

Test(kiln_explain, dumps_the_stages_that_are_asked_for)
{
    struct kiln_process all =
        KILN("explain", "--target", "gfx942", "--dump", "source,ir,groups", sample());
    cr_assert_eq(all.exit_code, 0, "%s", all.err);
    expect(all.out, "ir of the graph after import\n");
    expect(all.out, "ir of the graph after fold_constants: the same\n");
    expect(all.out, "ir of the graph after put_sums_behind_products: the same\n");
    expect(all.out, "\nchosen: the graph as it is: 1 kernel, time of ");
    expect(all.out, "\ngroup of kernel 0: pointwise, ");
    expect(all.out, "\nsource of kernel 0\n");
    cr_expect_null(strstr(all.out, "schedule of kernel"));
    struct kiln_process one = KILN("explain", "--target", "gfx942", "--dump=schedule", sample());
    cr_assert_eq(one.exit_code, 0, "%s", one.err);
    cr_expect_eq(strncmp(one.out, "schedule of kernel 0: form 0, ", 30), 0, "%s", one.out);
    cr_expect_null(strstr(one.out, "ir of "));
    cr_expect_null(strstr(one.out, "source of kernel"));
}

Test(kiln_explain, dump_of_attention_names_passes_and_alternatives)
{
    struct kiln_process kiln = KILN("explain", "--target", "gfx942", "--dump", "ir,groups",
                                    sample_path("current/pytorch_attention_causal_fp16.json"));
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    expect(kiln.out, "ir of attention after recognize_attention\n");
    expect(kiln.out, "\nchosen: attention: 1 kernel, time of ");
    expect(kiln.out, " us by the model\n");
}

Test(kiln_explain, unknown_stages_are_named_with_the_valid_ones)
{
    static const char *const values[] = {"irr", "ir,", "", "ir,groups;source"};
    static const char *const stages[] = {"irr", "", "", "groups;source"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char sentence[80];
        (void)snprintf(sentence, sizeof sentence, "option '--dump' knows no stage '%s'", stages[i]);
        struct kiln_process kiln = KILN("explain", "--dump", values[i], sample());
        cr_assert_eq(kiln.exit_code, 2, "%s", values[i]);
        expect(kiln.err, sentence);
        expect(kiln.err, "stages are ir, groups, schedule, source");
    }
    struct kiln_process both = KILN("explain", "--dump", "ir", "--json", sample());
    cr_assert_eq(both.exit_code, 2);
    expect(both.err, "option '--dump' prints its stages and nothing else");
}

/* PyTorch's graphs are fused as they are sent. */
Test(kiln_explain, graphs_of_pytorch_have_the_fewest_kernels)
{
    static const struct {
        const char *name;
        const char *kernels;
    } samples[] = {
        {"current/pytorch_attention_causal_fp16.json", "\n1 kernel for gfx942\n"},
        {"current/pytorch_attention_boolean_mask_bf16.json", "\n1 kernel for gfx942\n"},
        {"current/pytorch_attention_backward_boolean_mask_fp16.json", "\n3 kernels for gfx942"},
        {"current/pytorch_conv_bias_nhwc_fp16.json", "\n1 kernel for gfx942\n"},
        {"current/transposed_conv_bias_bf16.json", "\n1 kernel for gfx942\n"},
        {"current/prelu_boolean_bf16.json", "\n1 kernel for gfx942\n"},
    };
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        struct kiln_process kiln =
            KILN("explain", "--target", "gfx942", sample_path(samples[i].name));
        cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
        expect(kiln.out, samples[i].kernels);
    }
}

Test(kiln_explain, adds_what_is_asked_for)
{
    struct kiln_process kiln = KILN("explain", "--target", "host", "--ir", "--source", sample());
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    expect(kiln.out, "fusion IR as imported");
    expect(kiln.out, "fusion IR as optimised");
    expect(kiln.out, "%0 = ");
    expect(kiln.out, "source of kernel 0");
    expect(kiln.out, "kiln_compute");
}

/* The whole text begins with the device's headers, and has the product's loop among others. */
Test(kiln_explain, source_is_what_is_particular_to_a_kernel)
{
    const char *path = sample_path("current/matmul_bias_gelu_fp16.json");
    struct kiln_process kiln = KILN("explain", "-t", "gfx942", "--source", path);
    expect(kiln.out, "\nsource of kernel 0\n// kiln_contraction_");
    expect(kiln.out, "\n// computes node 0 'matmul': c uid 4 'product' = MATMUL(a uid 1 'x', b uid "
                     "2 'w') in float\n");
    expect(kiln.out, "\n// a1 reads uid 1 'x': half [192,256] strides [256,1]\n");
    expect(kiln.out, "\n// a3 writes uid 6 'y': half [192,160] strides [160,1]\n");
    expect(kiln.out, "\n// template contraction, m 192, n 160, k 256, tile ");
    expect(kiln.out, "\n#include \"device/amdgcn.h\"\n");
    expect(kiln.out, "kiln_normal_cdf_f32(");
    cr_expect_null(strstr(kiln.out, "#line"), "%s", kiln.out);
    struct kiln_process whole = KILN("explain", "-t", "gfx942", "--dump", "source", path);
    expect(whole.out, "#line 1 \"device/amdgcn.h\"");
    kiln = KILN("explain", "-t", "gfx942", "--source", "--json", path);
    json_t *document = parse_json(kiln.out);
    const json_t *kernel = json_array_get(json_object_get(document, "kernels"), 0);
    expect(whole.out, text_member(kernel, "source"));
    json_decref(document);
}

Test(kiln_explain, matrix_products_are_done_as_is_asked_for)
{
    static const char graph[] =
        "{\"compute_data_type\": \"FLOAT\", \"io_data_type\": \"FLOAT\", \"tensors\": ["
        "{\"uid\": 1, \"data_type\": \"FLOAT\", \"dims\": [33, 17], \"strides\": [17, 1]},"
        "{\"uid\": 2, \"data_type\": \"FLOAT\", \"dims\": [17, 65], \"strides\": [65, 1]},"
        "{\"uid\": 3, \"data_type\": \"FLOAT\", \"dims\": [33, 65], \"strides\": [65, 1]}],"
        "\"nodes\": [{\"attributes_type\": \"MatmulAttributes\", \"compute_data_type\": \"FLOAT\","
        "\"attributes\": {\"a_tensor_uid\": 1, \"b_tensor_uid\": 2, \"c_tensor_uid\": 3}}]}";
    const char *product = write_file("product.json", graph, sizeof graph - 1);
    struct kiln_process kiln =
        KILN("explain", "-t", "host", "--schedule", "streamed", "--tile", "8x16", product);
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    expect(kiln.out, "tile 8x16x");
    expect(kiln.out, ", streamed");
    kiln = KILN("explain", "-t", "host", "--schedule", "pingpong", product);
    cr_assert_neq(kiln.exit_code, 0);
    expect(kiln.err, "no matrix product with this schedule on 'host");
}

Test(kiln_explain, json_holds_all_of_it)
{
    struct kiln_process kiln =
        KILN("explain", "-t", "host", "--json", "--ir", "--source", sample());
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    json_t *document = parse_json(kiln.out);
    const json_t *graph = json_object_get(document, "graph");
    cr_assert_str_eq(text_member(graph, "layout"), "current");
    cr_assert_geq(json_array_size(json_object_get(graph, "tensors")), 3);
    cr_assert_str_eq(text_member(json_array_get(json_object_get(graph, "nodes"), 0), "operation"),
                     "ADD");
    const json_t *kernels = json_object_get(document, "kernels");
    cr_assert_eq(json_array_size(kernels), 1);
    const json_t *kernel = json_array_get(kernels, 0);
    cr_assert_geq(json_array_size(json_object_get(kernel, "reads")), 2);
    cr_assert_eq(json_array_size(json_object_get(kernel, "writes")), 1);
    cr_assert_gt(integer_member(json_object_get(kernel, "resources"), "code_bytes"), 0);
    expect(text_member(kernel, "source"), "kiln_compute");
    expect(text_member(document, "ir_optimized"), "%0 = ");
    cr_assert(json_is_null(json_object_get(document, "not_compiled_because")));
    json_decref(document);
}

Test(kiln_explain, one_kernel_may_be_chosen)
{
    struct kiln_process kiln = KILN("explain", "-t", "host", "--no-fusion", "--source", "--isa",
                                    "--kernel", "1", sample());
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    expect(kiln.out, "source of kernel 1\n");
    expect(kiln.out, "instructions of kernel 1\n");
    expect(kiln.out, "\nkernel 0: ");
    cr_assert_null(strstr(kiln.out, "source of kernel 0"));
    cr_assert_null(strstr(kiln.out, "instructions of kernel 0"));
    kiln = KILN("explain", "-t", "host", "--no-fusion", "--source", "--json", "-k", "1", sample());
    json_t *document = parse_json(kiln.out);
    const json_t *kernels = json_object_get(document, "kernels");
    cr_assert_null(json_object_get(json_array_get(kernels, 0), "source"));
    expect(text_member(json_array_get(kernels, 1), "source"), "kiln_compute");
    json_decref(document);
    kiln = KILN("explain", "-t", "host", "--no-fusion", "--source", "-k", "2", sample());
    cr_assert_eq(kiln.exit_code, 2);
    expect(kiln.err, "there is no kernel 2");
    expect(kiln.err, "0 to 1");
}

/* A clang that is a script, as in some installations, and first on PATH an objdump of no use. */
Test(kiln_explain, a_disassembler_is_as_new_as_its_clang)
{
    static const char clang[] = "#!/bin/sh\nexec clang-19 \"$@\"\n";
    static const char objdump[] = "#!/bin/sh\necho too old\nexit 1\n";
    if (access("/usr/bin/clang-19", X_OK) != 0 || access("/usr/bin/llvm-objdump-19", X_OK) != 0)
        cr_skip_test("clang 19 is not here");
    const char *program = write_file("clang", clang, sizeof(clang) - 1);
    cr_assert_eq(chmod(program, 0700), 0);
    char use[1100];
    snprintf(use, sizeof(use), "KILN_CLANG=%s", program);
    cr_assert_eq(mkdir(temporary_path("bin"), 0700), 0);
    cr_assert_eq(chmod(write_file("bin/llvm-objdump", objdump, sizeof(objdump) - 1), 0700), 0);
    char path[1100];
    snprintf(path, sizeof(path), "PATH=%s:/usr/bin:/bin", temporary_path("bin"));
    const char *const environment[] = {use, path, "KILN_COMGR_LIBRARY=/no/such/library.so", NULL};
    const char *arguments[] = {"explain", "-t", "gfx942", "--isa", sample(), NULL};
    struct kiln_process kiln = {.arguments = arguments, .environment = environment};
    kiln_process_run(&kiln);
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    expect(kiln.out, "s_endpgm");
}

Test(kiln_explain, without_a_compiler_the_rest_is_shown)
{
    static const char *const environment[] = {"KILN_COMGR_LIBRARY=/no/such/library.so",
                                              "KILN_CLANG=/no/such/clang", NULL};
    const char *arguments[] = {"explain", "-t", "gfx90a", sample(), NULL};
    struct kiln_process kiln = {.arguments = arguments, .environment = environment};
    kiln_process_run(&kiln);
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    expect(kiln.out, "1 kernel for gfx90a");
    expect(kiln.out, "resources are not known");
    const char *as_json[] = {"explain", "-t", "gfx90a", "--json", sample(), NULL};
    struct kiln_process json = {.arguments = as_json, .environment = environment};
    kiln_process_run(&json);
    cr_assert_eq(json.exit_code, 0, "%s", json.err);
    cr_assert_str_eq(json.err, "");
    json_t *document = parse_json(json.out);
    expect(text_member(document, "not_compiled_because"), "gfx90a");
    json_decref(document);
    const char *with_isa[] = {"explain", "-t", "gfx90a", "--isa", sample(), NULL};
    struct kiln_process isa = {.arguments = with_isa, .environment = environment};
    kiln_process_run(&isa);
    cr_assert_eq(isa.exit_code, 3, "%s", isa.err);
}

Test(kiln_explain, unfused_graphs_say_why_kernels_end)
{
    struct kiln_process kiln = KILN("explain", "-t", "host", "--no-fusion", sample());
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    expect(kiln.out, "a kernel of its own because fusion is switched off");
    expect(kiln.out, "writes workspace at 0: uid 3 'biased'");
}

static bool has_compiler_for(const char *name)
{
    struct kiln_process targets = KILN("targets", "--json");
    json_t *document = parse_json(targets.out);
    bool served = false;
    for (size_t i = 0; i < json_array_size(json_object_get(document, "targets")); i++) {
        const json_t *target = json_array_get(json_object_get(document, "targets"), i);
        served |= strcmp(text_member(target, "name"), name) == 0 &&
                  json_is_string(json_object_get(target, "compiler"));
    }
    json_decref(document);
    return served;
}

/* One wave has too few registers for such a tile. */
Test(kiln_explain, names_the_kernel_that_spills)
{
    if (!has_compiler_for("gfx1100"))
        cr_skip("nothing here compiles for gfx1100");
    const char *sample = sample_path("current/matmul_bias_gelu_fp16.json");
    struct kiln_process kiln = KILN("explain", "-t", "gfx1100", "--schedule", "plain", "--tile",
                                    "64x64x64", "--waves", "1x1", sample);
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    expect(kiln.out, "kernel 0 of graph 'matmul_bias_gelu_fp16' spills: 'kiln_contraction_");
    kiln = KILN("explain", "-t", "gfx1100", "--schedule", "plain", "--tile", "64x64x64", "--waves",
                "1x1", "--json", sample);
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    json_t *document = parse_json(kiln.out);
    const json_t *spill = json_array_get(json_object_get(document, "spills"), 0);
    cr_expect_eq(integer_member(spill, "kernel"), 0);
    cr_expect_gt(integer_member(spill, "scratch_bytes"), 0);
    json_decref(document);
}

Test(kiln_explain, shows_instructions_and_registers_of_a_gpu)
{
    if (!has_compiler_for("gfx90a"))
        cr_skip("nothing here compiles for gfx90a");
    struct kiln_process kiln = KILN("explain", "-t", "gfx90a", "--isa", sample());
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    expect(kiln.out, "global_load_dwordx4");
    expect(kiln.out, "s_endpgm");
    kiln = KILN("explain", "-t", "gfx90a", "--json", sample());
    json_t *document = parse_json(kiln.out);
    const json_t *kernel = json_array_get(json_object_get(document, "kernels"), 0);
    const json_t *resources = json_object_get(kernel, "resources");
    cr_assert_gt(integer_member(resources, "vgprs"), 0);
    cr_assert_eq(integer_member(resources, "scratch_bytes"), 0);
    cr_assert_eq(integer_member(resources, "wave_size"), 64);
    json_decref(document);
}

Test(kiln_explain, dot_has_a_cluster_per_kernel)
{
    struct kiln_process kiln = KILN("explain", "-t", "host", "--dot", "--no-fusion", sample());
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert_eq(strncmp(kiln.out, "digraph kiln {", 14), 0);
    expect(kiln.out, "subgraph cluster_0");
    expect(kiln.out, "subgraph cluster_1");
    expect(kiln.out, "shape=cylinder");
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part))
        count++;
    return count;
}

/* Nodes are numbered in all three forms: each stands once. */
Test(kiln_explain, every_node_stands_once)
{
    static const struct {
        const char *name;
        unsigned nodes;
    } samples[] = {
        {"current/attention_soft_cap_bias_fp16.json", 12},
        {"current/causal_mask_fp32.json", 4},
        {"current/matmul_column_statistics_bf16.json", 7},
    };
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        const char *path = sample_path(samples[i].name);
        struct kiln_process dot = KILN("explain", "-t", "gfx942", "--dot", path);
        struct kiln_process kiln = KILN("explain", "-t", "gfx942", "--json", path);
        json_t *document = parse_json(kiln.out);
        unsigned listed[16] = {0};
        size_t index, place;
        json_t *kernel, *node;
        json_array_foreach(json_object_get(document, "kernels"), index, kernel)
            json_array_foreach(json_object_get(kernel, "nodes"), place, node)
                listed[json_integer_value(node)]++;
        for (unsigned n = 0; n < samples[i].nodes; n++) {
            char line[32];
            (void)snprintf(line, sizeof line, "\n        n%u [", n);
            cr_expect_eq(count_of(dot.out, line), 1, "%s: node %u in\n%s", path, n, dot.out);
            cr_expect_eq(listed[n], 1, "%s: node %u", path, n);
        }
        json_decref(document);
    }
}

/* Scores of attention are nowhere in memory; the accumulators of tiles are. */
Test(kiln_explain, memory_is_what_kernels_read_and_write)
{
    struct kiln_process kiln = KILN("explain", "-t", "gfx942", "--dot",
                                    sample_path("current/attention_soft_cap_bias_fp16.json"));
    cr_assert_null(strstr(kiln.out, "cylinder"), "%s", kiln.out);
    kiln = KILN("explain", "-t", "gfx942", "--dot",
                sample_path("current/matmul_column_statistics_bf16.json"));
    expect(kiln.out, "workspace at 0\\naccumulator of node 2 'average'");
    cr_assert_null(strstr(kiln.out, "'centred'"), "%s", kiln.out);
}

Test(kiln_explain, tensors_are_named_by_uid)
{
    struct kiln_process kiln =
        KILN("explain", "-t", "host", "--ir", sample_path("current/layernorm_training_fp16.json"));
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert_null(strstr(kiln.out, "tensor 0"), "%s", kiln.out);
    cr_assert_null(strstr(kiln.out, "; tensor"), "%s", kiln.out);
    expect(kiln.out, "load.f32 uid 1 'x'");
    expect(kiln.out, "reads uid 1 'x' (half)");
}

Test(kiln_explain, counts_nouns)
{
    struct kiln_process kiln =
        KILN("explain", "-t", "gfx942", "--json",
             sample_path("current/conv_weight_and_bias_gradient_nhwc_fp16.json"));
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    expect(kiln.out, ", 1 more work-group adds up 32 rows of the left operand, ");
}

Test(kiln_explain, shows_the_plans_that_lost)
{
    struct kiln_process kiln =
        KILN("explain", "-t", "gfx942", sample_path("current/matmul_column_statistics_bf16.json"));
    expect(kiln.out, "plans by the model (not measured)\n  2 kernels in ");
    cr_expect_eq(count_of(kiln.out, " us, chosen: the graph as it is\n"), 1, "%s", kiln.out);
    cr_expect_eq(count_of(kiln.out, "tile by tile"), 1, "%s", kiln.out);
}

/* kiln explain names the rules where no search chooses, and shows the forms that come next. */
Test(kiln_explain, names_the_rules_that_chose)
{
    static const struct {
        const char *name, *target, *words[3];
    } rows[] = {
        {"current/softmax_fp32.json",
         "gfx942",
         {"\n  rows by a rule: the last axis is reduced; 128 work-items share a row, as fewer",
          "\n  a row is read once: a work-item holds 4 elements in registers for 3 passes\n",
          "    next if compilers lack registers: rows, 256x1 work-items, 1 step at once, "}},
        {"current/softmax_fp32.json",
         "host",
         {"; 1 work-item has a row, as on a CPU a core does it alone",
          "\n  a row is read in each of 3 passes: a core's cache has what is read again\n",
          " us, chosen: rows, 1x"}},
        {"current/layernorm_backward_bf16.json",
         "gfx942",
         {"\n  columns by a rule: the last axis is kept; ", " us, chosen: rows, ",
          " us, chosen: columns, "}},
        {"current/attention_causal_gqa_bf16.json",
         "gfx942",
         {"\n  tile by a rule: a table by the size of heads (k 64, values 64)",
          " us, chosen: 128x64 scores, 4 waves, about ",
          "    next if compilers lack registers: 128x32 scores, "}},
        {"current/depthwise_conv_bias_relu6_nhwc_fp16.json",
         "gfx942",
         {"\n  direct by a rule: groups have so few channels",
          "\n  strips by a rule: ", " us, a rule prefers the chosen one: plain "}},
        {"current/matmul_residual_rmsnorm_bf16.json",
         "gfx942",
         {"\n  tile by a rule: whole rows of 320 columns", " us, chosen: plain 32x384x32", ""}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kiln_process kiln = KILN("explain", "-t", rows[i].target, sample_path(rows[i].name));
        for (size_t k = 0; k < 3; k++)
            expect(kiln.out, rows[i].words[k]);
    }
}

/* The chosen tile comes first, and no other is faster by the model. */
Test(kiln_explain, shows_the_models_times_and_the_tiles_that_lost)
{
    const char *path = sample_path("current/transposed_conv_bias_bf16.json");
    struct kiln_process kiln = KILN("explain", "-t", "gfx942", path);
    expect(kiln.out, "by the model (not measured), bound by ");
    expect(kiln.out, "schedules by the model, without the launch (not measured)\n");
    cr_expect_eq(count_of(kiln.out, " us, chosen: "), 1, "%s", kiln.out);
    expect(kiln.out, " us, chosen: streamed 64x16x64, waves 1x1x8\n");
    cr_expect_eq(count_of(kiln.out, " us, no faster by the model: plain "), 2, "%s", kiln.out);
    kiln = KILN("explain", "-t", "gfx942", "--json", path);
    json_t *document = parse_json(kiln.out);
    const json_t *kernel = json_array_get(json_object_get(document, "kernels"), 0);
    const json_t *model = json_object_get(kernel, "model");
    const json_t *tiles = json_object_get(kernel, "schedules");
    double whole = json_number_value(json_object_get(model, "time_us"));
    cr_expect_gt(json_number_value(json_object_get(model, "bytes_us")), 0);
    cr_expect_gt(json_number_value(json_object_get(model, "matrix_us")), 0);
    double bytes = json_number_value(json_object_get(model, "bytes_us"));
    double launch = json_number_value(json_object_get(model, "launch_us"));
    double waiting = json_number_value(json_object_get(model, "waiting_us"));
    cr_expect_gt(waiting, 0, "8 work-groups on 304 compute units");
    cr_expect_float_eq(whole, bytes + launch + waiting, 1e-6,
                       "its bytes take longer than its sums");
    cr_assert_eq(json_array_size(tiles), 3);
    double chosen = json_number_value(json_object_get(json_array_get(tiles, 0), "time_us"));
    for (size_t i = 0; i < 3; i++) {
        const json_t *tile = json_array_get(tiles, i);
        cr_expect_eq(json_is_true(json_object_get(tile, "chosen")), i == 0);
        cr_expect_eq(json_is_null(json_object_get(tile, "why_not")), i == 0);
        cr_expect_neq(*text_member(tile, "what"), '\0');
        cr_expect_geq(json_number_value(json_object_get(tile, "time_us")), chosen);
    }
    json_decref(document);
}

/* A name in a line, whatever is in it: another line would be text of its own. */
Test(kiln_explain, names_do_not_break_lines)
{
    static const char graph[] =
        "{\"compute_type\": \"FLOAT\", \"intermediate_type\": \"FLOAT\", \"io_type\": \"FLOAT\","
        " \"tensors\": ["
        "{\"uid\": 1, \"name\": \"a\\nb\", \"data_type\": \"FLOAT\", \"dims\": [4],"
        " \"strides\": [1]},"
        "{\"uid\": 2, \"name\": \"\u00fc\", \"data_type\": \"FLOAT\", \"dims\": [4],"
        " \"strides\": [1]}],"
        "\"nodes\": [{\"name\": \"n\\nm\", \"attributes_type\": \"PointwiseAttributes\","
        " \"attributes\": {\"operation\": \"ABS\", \"in_0_tensor_uid\": 1,"
        " \"out_0_tensor_uid\": 2}}]}";
    const char *path = write_file("lines.json", graph, sizeof graph - 1);
    struct kiln_process kiln = KILN("explain", "-t", "host", "--ir", "--source", path);
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    expect(kiln.out, "\n  computes 0 ABS 'n\\x0am'\n");
    expect(kiln.out, "\n// a0 reads uid 1 'a\\x0ab': float [4] strides [1]\n");
    expect(kiln.out, "uid 2 '\u00fc'");
    cr_expect_null(strstr(kiln.out, "\nb'"), "%s", kiln.out);
    cr_expect_null(strstr(kiln.out, "\nm'"), "%s", kiln.out);
}

/* Names with everything that Graphviz gives a meaning to. */
static const char hostile_names[] =
    "{\"name\": \"a\\\"b\\\\c<d>&amp;{|}\\n\\u001b\", \"compute_type\": \"FLOAT\", "
    "\"intermediate_type\": \"FLOAT\","
    " \"io_type\": \"FLOAT\", \"tensors\": ["
    "  {\"uid\": 1, \"name\": \"\\\"];}\", \"data_type\": \"FLOAT\", \"dims\": [4], \"strides\": "
    "[1]},"
    "  {\"uid\": 2, \"name\": \"\\\\\", \"data_type\": \"FLOAT\", \"dims\": [4], \"strides\": "
    "[1]}],"
    " \"nodes\": [{\"name\": \"n\\\\\\\"\", \"attributes_type\": \"PointwiseAttributes\", "
    "\"attributes\":"
    "  {\"operation\": \"ABS\", \"in_0_tensor_uid\": 1, \"out_0_tensor_uid\": 2}}]}";

Test(kiln_explain, graphviz_accepts_the_dot_text)
{
#ifdef KILN_DOT
    const char *hostile = write_file("hostile.json", hostile_names, sizeof(hostile_names) - 1);
    const char *graphs[] = {sample(), hostile, sample_path("current/diamond_two_outputs_fp32.json"),
                            sample_path("current/runtime_scalar_axpy_fp32.json"),
                            sample_path("nov2025/hard_swish_nhwc_fp16.json")};
    for (size_t i = 0; i < sizeof(graphs) / sizeof(*graphs); i++) {
        struct kiln_process kiln = KILN("explain", "-t", "host", "--dot", graphs[i]);
        cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
        char command[4096];
        snprintf(command, sizeof(command), "%s -Tsvg -o %s %s 2>&1", KILN_DOT,
                 temporary_path("svg"), write_file("dot", kiln.out, strlen(kiln.out)));
        FILE *dot = popen(command, "r");
        char complaint[256] = "";
        cr_assert_null(fgets(complaint, sizeof(complaint), dot), "%s: %s", graphs[i], complaint);
        cr_assert_eq(pclose(dot), 0);
    }
#else
    (void)hostile_names;
    cr_skip("Graphviz is not installed");
#endif
}
