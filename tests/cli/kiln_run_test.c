#include "tests/cli/json_check.h"
#include "tests/cli/kiln_process.h"
#include "tests/runtime/support/temporary_directory.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

TestSuite(kiln_run, .init = (void (*)(void))temporary_directory_make,
          .fini = temporary_directory_remove, .timeout = 120);

/* y = x * s + x over 2x3 floats, rows 4 apart in y; s is 1x3. */
static const char graph_text[] =
    "{\"name\": \"axpx\", \"compute_type\": \"FLOAT\", \"intermediate_type\": \"FLOAT\", "
    "\"io_type\": \"FLOAT\","
    " \"tensors\": ["
    "  {\"uid\": 1, \"name\": \"x\", \"data_type\": \"FLOAT\", \"dims\": [2, 3], \"strides\": [3, "
    "1]},"
    "  {\"uid\": 2, \"name\": \"s\", \"data_type\": \"FLOAT\", \"dims\": [1, 3], \"strides\": [3, "
    "1]},"
    "  {\"uid\": 3, \"name\": \"p\", \"data_type\": \"FLOAT\", \"dims\": [2, 3], \"strides\": [3, "
    "1], \"virtual\": true},"
    "  {\"uid\": 4, \"name\": \"y\", \"data_type\": \"FLOAT\", \"dims\": [2, 3], \"strides\": [4, "
    "1]}],"
    " \"nodes\": ["
    "  {\"name\": \"scale\", \"attributes_type\": \"PointwiseAttributes\","
    "   \"attributes\": {\"operation\": \"MUL\", \"in_0_tensor_uid\": 1, \"in_1_tensor_uid\": 2, "
    "\"out_0_tensor_uid\": 3}},"
    "  {\"name\": \"add\", \"attributes_type\": \"PointwiseAttributes\","
    "   \"attributes\": {\"operation\": \"ADD\", \"in_0_tensor_uid\": 3, \"in_1_tensor_uid\": 1, "
    "\"out_0_tensor_uid\": 4}}]}";

static const char *graph(void)
{
    return write_file("graph.json", graph_text, sizeof(graph_text) - 1);
}

Test(kiln_run, computes_from_files_into_a_file)
{
    static const float x[6] = {1, 2, 3, 4, 5, 6};
    static const float s[3] = {10, 100, 1000};
    char input_x[1100];
    char input_s[1100];
    char output[1100];
    snprintf(input_x, sizeof(input_x), "1=%s", write_file("x", x, sizeof(x)));
    snprintf(input_s, sizeof(input_s), "2=%s", write_file("s", s, sizeof(s)));
    snprintf(output, sizeof(output), "4=%s", temporary_path("y"));
    struct kiln_process kiln = KILN("run", "--device", "host", "--verify", "--input", input_x,
                                    "--input", input_s, "--output", output, graph());
    cr_assert_eq(kiln.exit_code, 0, "%s%s", kiln.out, kiln.err);
    FILE *file = fopen(temporary_path("y"), "rb");
    cr_assert(file);
    float y[8];
    cr_assert_eq(fread(y, 1, sizeof(y), file), 7 * sizeof(float), "1 + 1*4 + 2*1 elements");
    fclose(file);
    cr_assert_eq(y[0], 11);
    cr_assert_eq(y[1], 202);
    cr_assert_eq(y[2], 3003);
    cr_assert_eq(y[4], 44);
    cr_assert_eq(y[6], 6006);
}

Test(kiln_run, verifies_every_sample_kind_in_json)
{
    static const char *const samples[] = {
        "current/padded_rows_rank6_fp32.json",        "current/runtime_scalar_axpy_fp32.json",
        "current/exact_int64_arithmetic.json",        "current/quantize_to_fp8_e4m3.json",
        "current/add_nchw_and_nhwc_fp32.json",        "current/diamond_two_outputs_fp32.json",
        "nov2025/sigmoid_backward_chain_fp32.json",   "current/softmax_fp32.json",
        "current/layernorm_training_fp16.json",       "current/layernorm_backward_bf16.json",
        "current/residual_rmsnorm_swish_bf16.json",   "current/batchnorm_training_nhwc_fp32.json",
        "current/global_average_pool_nhwc_fp16.json", "nov2025/batchnorm_relu_nchw_fp16.json"};
    for (size_t i = 0; i < sizeof(samples) / sizeof(*samples); i++) {
        struct kiln_process kiln = KILN("run", "-d", "host", "--verify", "--workspace-poison",
                                        "--json", sample_path(samples[i]));
        cr_assert_eq(kiln.exit_code, 0, "%s: %s%s", samples[i], kiln.out, kiln.err);
        json_t *document = parse_json(kiln.out);
        cr_assert(json_is_true(json_object_get(document, "verified")));
        cr_assert(json_is_true(json_object_get(document, "passed")));
        cr_assert_str_eq(text_member(document, "device"), "host");
        const json_t *outputs = json_object_get(document, "outputs");
        cr_assert_geq(json_array_size(outputs), 1);
        for (size_t j = 0; j < json_array_size(outputs); j++) {
            const json_t *output = json_array_get(outputs, j);
            cr_assert_gt(integer_member(output, "elements"), 0);
            cr_assert_eq(integer_member(output, "wrong"), 0);
            cr_assert_eq(integer_member(output, "stray_bytes"), 0);
        }
        json_decref(document);
    }
}

Test(kiln_run, the_table_is_for_people)
{
    struct kiln_process kiln = KILN("run", "-d", "host", "--verify", graph());
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert(strstr(kiln.out, "worst error/bound"), "%s", kiln.out);
    cr_assert(strstr(kiln.out, "all outputs agree with the reference"), "%s", kiln.out);
    kiln = KILN("run", "-d", "host", graph());
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert(strstr(kiln.out, "smallest"), "%s", kiln.out);
    cr_assert_null(strstr(kiln.out, "agree"), "nothing was compared: %s", kiln.out);
}

/* The kernel of the copy to compare with is in no cache. */
Test(kiln_run, a_profile_needs_no_compiler)
{
    const char *sample = sample_path("current/bias_gelu_fp16.json");
    struct kiln_process kiln = KILN("run", "-d", "host", sample);
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    static const char *const environment[] = {"KILN_ENFORCE_PRECOMPILED=1", NULL};
    const char *arguments[] = {"run", "-d", "host", "--profile", sample, NULL};
    kiln = (struct kiln_process){.arguments = arguments, .environment = environment};
    kiln_process_run(&kiln);
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_expect(strstr(kiln.out, "of bound"), "%s", kiln.out);
}

Test(kiln_run, a_profile_has_every_kernel)
{
    const char *sample = sample_path("current/layernorm_backward_bf16.json");
    struct kiln_process kiln = KILN("run", "-d", "host", "--profile", "--verify", "--json", sample);
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    json_t *document = parse_json(kiln.out);
    const json_t *profile = json_object_get(document, "profile");
    cr_assert_eq((json_int_t)json_array_size(profile), integer_member(document, "kernels"));
    for (size_t i = 0; i < json_array_size(profile); i++) {
        const json_t *kernel = json_array_get(profile, i);
        cr_expect_eq(integer_member(kernel, "kernel"), (json_int_t)i);
        cr_expect_gt(json_real_value(json_object_get(kernel, "time_us")), 0);
        cr_expect_gt(integer_member(kernel, "bytes_fewest"), 0);
        cr_expect_geq(integer_member(kernel, "bytes_moved"),
                      integer_member(kernel, "bytes_fewest"));
        cr_expect_gt(json_real_value(json_object_get(kernel, "flop")), 0);
        cr_expect_gt(strlen(text_member(kernel, "bound")), 0);
        cr_expect_str_eq(text_member(kernel, "template"), "reduction");
    }
    json_decref(document);
    kiln = KILN("run", "-d", "host", "--profile", graph());
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    cr_assert(strstr(kiln.out, "of bound"), "%s", kiln.out);
}

/* 1/x where rounding may have made x zero: x = a - b of equal numbers that were rounded before. */
Test(kiln_run, elements_that_cannot_be_judged_are_not_called_right)
{
    static const char text[] =
        "{\"compute_type\": \"FLOAT\", \"tensors\": ["
        "{\"uid\": 1, \"data_type\": \"FLOAT\", \"dims\": [4], \"strides\": [1]},"
        "{\"uid\": 2, \"data_type\": \"FLOAT\", \"dims\": [4], \"strides\": [1], \"virtual\": "
        "true},"
        "{\"uid\": 3, \"data_type\": \"FLOAT\", \"dims\": [4], \"strides\": [1], \"virtual\": "
        "true},"
        "{\"uid\": 4, \"data_type\": \"FLOAT\", \"dims\": [4], \"strides\": [1]}],"
        "\"nodes\": [{\"attributes_type\": \"PointwiseAttributes\", \"attributes\": {"
        "\"operation\": \"EXP\", \"in_0_tensor_uid\": 1, \"out_0_tensor_uid\": 2}},"
        "{\"attributes_type\": \"PointwiseAttributes\", \"attributes\": {\"operation\": \"SUB\","
        "\"in_0_tensor_uid\": 2, \"in_1_tensor_uid\": 2, \"out_0_tensor_uid\": 3}},"
        "{\"attributes_type\": \"PointwiseAttributes\", \"attributes\": {"
        "\"operation\": \"RECIPROCAL\", \"in_0_tensor_uid\": 3, \"out_0_tensor_uid\": 4}}]}";
    const char *path = write_file("reciprocal.json", text, sizeof text - 1);
    struct kiln_process kiln = KILN("run", "-d", "host", "--verify", path);
    cr_assert_eq(kiln.exit_code, 4, "%d: %s%s", kiln.exit_code, kiln.out, kiln.err);
    cr_assert(strstr(kiln.out, "4 of 4 elements could not be judged"), "%s", kiln.out);
    cr_assert_null(strstr(kiln.out, "agree"), "%s", kiln.out);
    kiln = KILN("run", "-d", "host", "--verify", "--json", path);
    cr_assert_eq(kiln.exit_code, 4);
    json_t *document = parse_json(kiln.out);
    cr_assert(json_is_false(json_object_get(document, "passed")));
    cr_assert_eq(integer_member(document, "unjudged"), 4);
    json_decref(document);
}

static double mean_with_seed(const char *seed)
{
    struct kiln_process kiln = KILN("run", "-d", "host", "--seed", seed, "--json", graph());
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    json_t *document = parse_json(kiln.out);
    const json_t *output = json_array_get(json_object_get(document, "outputs"), 0);
    double mean = json_real_value(json_object_get(output, "mean"));
    json_decref(document);
    return mean;
}

Test(kiln_run, the_seed_decides_the_inputs)
{
    cr_assert_eq(mean_with_seed("7"), mean_with_seed("7"));
    cr_assert_neq(mean_with_seed("7"), mean_with_seed("8"));
}

Test(kiln_run, unfused_gives_the_same)
{
    struct kiln_process kiln =
        KILN("run", "-d", "host", "--no-fusion", "--verify", "--json", graph());
    cr_assert_eq(kiln.exit_code, 0, "%s%s", kiln.out, kiln.err);
    json_t *document = parse_json(kiln.out);
    cr_assert_eq(integer_member(document, "kernels"), 2);
    cr_assert_gt(integer_member(document, "workspace_bytes"), 0);
    json_decref(document);
}

Test(kiln_run, uids_must_be_the_graphs)
{
    char choice[1100];
    snprintf(choice, sizeof(choice), "5=%s", write_file("x", "", 0));
    struct kiln_process kiln = KILN("run", "-d", "host", "--input", choice, graph());
    cr_assert_eq(kiln.exit_code, 2);
    cr_assert(strstr(kiln.err, "no input with uid 5"), "%s", kiln.err);
    cr_assert(strstr(kiln.err, "its inputs are 1 'x', 2 's'"), "%s", kiln.err);
    kiln = KILN("run", "-d", "host", "--output", "1=x", graph());
    cr_assert_eq(kiln.exit_code, 2);
    cr_assert(strstr(kiln.err, "no output with uid 1"), "%s", kiln.err);
    cr_assert(strstr(kiln.err, "it is an input: --input"), "%s", kiln.err);
}

Test(kiln_run, an_output_does_not_replace_the_graph)
{
    char choice[1100];
    const char *path = graph();
    struct stat before;
    struct stat after;
    snprintf(choice, sizeof(choice), "4=%s", path);
    cr_assert_eq(stat(path, &before), 0);
    struct kiln_process kiln = KILN("run", "-d", "host", "--output", choice, path);
    cr_expect_eq(kiln.exit_code, 2, "%s", kiln.err);
    cr_expect(strstr(kiln.err, "which is the graph"), "%s", kiln.err);
    cr_assert_eq(stat(path, &after), 0);
    cr_expect_eq(after.st_size, before.st_size);
}

Test(kiln_run, tensors_have_names_too)
{
    const char *sample = sample_path("current/bias_gelu_fp16.json");
    char output[1100];
    snprintf(output, sizeof(output), "y=%s", temporary_path("y"));
    struct kiln_process kiln = KILN("run", "-d", "host", "--output", output, sample);
    cr_assert_eq(kiln.exit_code, 0, "%s", kiln.err);
    struct stat attributes;
    cr_assert_eq(stat(temporary_path("y"), &attributes), 0);
    cr_assert_eq(attributes.st_size, 64 * 1024 * 2);
    static const char *const wrong[][3] = {
        {"--input", "biass=x", "did you mean 'bias'?"},
        {"--input", "nothing=x", "its inputs are 1 'x', 2 'bias'"},
        {"--input", "y=x", "it is an output: --output"},
        {"--input", "biased=x", "did you mean 'bias'?"}, /* virtual */
    };
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        kiln = KILN("run", "-d", "host", wrong[i][0], wrong[i][1], sample);
        cr_expect_eq(kiln.exit_code, 2);
        cr_expect(strstr(kiln.err, wrong[i][2]), "%s: %s", wrong[i][1], kiln.err);
    }
    kiln = KILN("run", "-d", "host", "-i", "bias=x", "-i", "2=x", sample);
    cr_expect_eq(kiln.exit_code, 2);
    cr_expect(strstr(kiln.err, "'bias' and '2' are the same tensor"), "%s", kiln.err);
}

Test(kiln_run, input_files_have_the_right_size)
{
    char choice[1100];
    snprintf(choice, sizeof(choice), "1=%s", write_file("x", "1234", 4));
    struct kiln_process kiln = KILN("run", "-d", "host", "--input", choice, graph());
    cr_assert_eq(kiln.exit_code, 1);
    cr_assert(strstr(kiln.err, "has 4 bytes"), "%s", kiln.err);
    cr_assert(strstr(kiln.err, "has 24"), "%s", kiln.err);
    /* Not read to an end that it does not have. */
    kiln = KILN("run", "-d", "host", "--input", "1=/dev/zero", graph());
    cr_assert_eq(kiln.exit_code, 1);
    cr_assert(strstr(kiln.err, "cannot read '/dev/zero': it is a device"), "%s", kiln.err);
}

Test(kiln_run, says_where_kernels_come_from)
{
    struct kiln_process first = KILN("run", "--device", "host", graph());
    struct kiln_process second = KILN("run", "--device", "host", graph());
    cr_expect(strstr(first.out, "(compiled)"), "%s%s", first.out, first.err);
    cr_expect(strstr(second.out, "(disk)"), "%s%s", second.out, second.err);
}

Test(kiln_run, more_memory_than_there_is_is_asked_for_first)
{
    static const char text[] =
        "{\"tensors\": ["
        " {\"uid\": 1, \"data_type\": \"FLOAT\", \"dims\": [1099511627776], \"strides\": [1]},"
        " {\"uid\": 2, \"data_type\": \"FLOAT\", \"dims\": [1099511627776], \"strides\": [1]}],"
        " \"compute_type\": \"FLOAT\", \"intermediate_type\": \"FLOAT\", \"io_type\": \"FLOAT\","
        " \"nodes\": [{\"attributes_type\": \"PointwiseAttributes\", \"attributes\":"
        " {\"operation\": \"ABS\", \"in_0_tensor_uid\": 1, \"out_0_tensor_uid\": 2}}]}";
    const char *path = write_file("large.json", text, sizeof(text) - 1);
    struct kiln_process kiln = KILN("run", "-d", "host", path);
    cr_assert_eq(kiln.exit_code, 3);
    cr_assert(strstr(kiln.err, "GiB"), "%s", kiln.err);
}

Test(kiln_run, without_a_gpu_hip_says_why)
{
    static const char *const environment[] = {"KILN_HIP_LIBRARY=/no/such/library.so", NULL};
    const char *arguments[] = {"run", "--device", "hip", graph(), NULL};
    struct kiln_process kiln = {.arguments = arguments, .environment = environment};
    kiln_process_run(&kiln);
    cr_assert_eq(kiln.exit_code, 3);
    cr_assert(strstr(kiln.err, "library"), "%s", kiln.err);
}
