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
    expect(kiln.out, "in workspace at 0");
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
