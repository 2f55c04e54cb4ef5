/*
 * How many kernels graphs become, and how many bytes these move.
 */
#include "cli/bench/bench_builder.h"
#include "cli/bench/bench_suite.h"
#include "compiler/plan/kernel_plan.h"

#include <criterion/criterion.h>
#include <string.h>

static struct kiln_arena arena;
static struct kiln_error error;

static void setup(void)
{
    kiln_arena_init(&arena);
    kiln_error_init(&error);
}

static void teardown(void)
{
    kiln_arena_fini(&arena);
}

TestSuite(kernel_plan, .init = setup, .fini = teardown);

static const char *const targets[] = {"gfx90a", "gfx1030", "gfx942", "gfx1100", "gfx1201", "host"};
enum { TARGET_COUNT = sizeof targets / sizeof *targets };

struct planned {
    struct kiln_graph graph;
    struct kiln_kernel_plan plan;
    double share; /* bytes moved / the fewest */
};

/* ---- norms node by node, as a framework without these nodes sends them ---- */

static uint32_t write_rms(struct kiln_bench_builder *builder, uint32_t x, uint32_t axes,
                          uint32_t parameter_axes)
{
    uint32_t square = kiln_bench_pointwise(builder, KILN_POINTWISE_MUL, x, x);
    uint32_t mean = kiln_bench_reduce(builder, KILN_REDUCTION_AVG, square, axes);
    uint32_t epsilon = kiln_bench_constant(builder, 1e-5);
    uint32_t shifted = kiln_bench_pointwise(builder, KILN_POINTWISE_ADD, mean, epsilon);
    uint32_t inverse = kiln_bench_unary(builder, KILN_POINTWISE_RSQRT, shifted);
    uint32_t normalized = kiln_bench_pointwise(builder, KILN_POINTWISE_MUL, x, inverse);
    uint32_t scale = kiln_bench_parameter(builder, "scale", parameter_axes);
    return kiln_bench_pointwise(builder, KILN_POINTWISE_MUL, normalized, scale);
}

static uint32_t write_normalization(struct kiln_bench_builder *builder, uint32_t axes,
                                    uint32_t parameter_axes)
{
    uint32_t x = kiln_bench_input(builder, "x");
    uint32_t mean = kiln_bench_reduce(builder, KILN_REDUCTION_AVG, x, axes);
    uint32_t centred = kiln_bench_pointwise(builder, KILN_POINTWISE_SUB, x, mean);
    uint32_t scaled = write_rms(builder, centred, axes, parameter_axes);
    uint32_t bias = kiln_bench_parameter(builder, "bias", parameter_axes);
    return kiln_bench_pointwise(builder, KILN_POINTWISE_ADD, scaled, bias);
}

static void build_layernorm_written_out(struct kiln_bench_builder *builder, int64_t elements)
{
    kiln_bench_set_rows(builder, elements);
    uint32_t y = write_normalization(builder, KILN_BENCH_COLUMN_AXIS, KILN_BENCH_COLUMN_AXIS);
    kiln_bench_output(builder, "y", kiln_bench_unary(builder, KILN_POINTWISE_SWISH_FWD, y));
}

static void build_rmsnorm_written_out(struct kiln_bench_builder *builder, int64_t elements)
{
    kiln_bench_set_rows(builder, elements);
    uint32_t x = kiln_bench_input(builder, "x");
    uint32_t residual = kiln_bench_input(builder, "residual");
    uint32_t sum = kiln_bench_pointwise(builder, KILN_POINTWISE_ADD, x, residual);
    uint32_t y = write_rms(builder, sum, KILN_BENCH_COLUMN_AXIS, KILN_BENCH_COLUMN_AXIS);
    kiln_bench_output(builder, "sum", sum);
    kiln_bench_output(builder, "y", kiln_bench_unary(builder, KILN_POINTWISE_RELU_FWD, y));
}

static void batchnorm_written_out(struct kiln_bench_builder *builder, bool is_channels_last,
                                  int64_t elements)
{
    kiln_bench_set_images(builder, is_channels_last, elements);
    uint32_t y = write_normalization(builder, KILN_BENCH_BATCH_AXES, KILN_BENCH_CHANNEL_AXIS);
    kiln_bench_output(builder, "y", kiln_bench_unary(builder, KILN_POINTWISE_RELU_FWD, y));
}

static void build_batchnorm_written_out(struct kiln_bench_builder *builder, int64_t elements)
{
    batchnorm_written_out(builder, true, elements);
}

static void build_batchnorm_nchw_written_out(struct kiln_bench_builder *builder, int64_t elements)
{
    batchnorm_written_out(builder, false, elements);
}

#define WRITTEN_OUT(name_, build_) {.name = name_, .dtype = KILN_DTYPE_F32, .build = build_}
static const struct kiln_bench_case written_out[] = {
    WRITTEN_OUT("layernorm_swish_written_out", build_layernorm_written_out),
    WRITTEN_OUT("residual_rmsnorm_relu_written_out", build_rmsnorm_written_out),
    WRITTEN_OUT("batchnorm_training_relu_written_out", build_batchnorm_written_out),
    WRITTEN_OUT("batchnorm_training_relu_nchw_written_out", build_batchnorm_nchw_written_out),
};
enum { WRITTEN_OUT_COUNT = sizeof written_out / sizeof *written_out };

/* ---- plans ---- */

static struct planned make_plan(const struct kiln_bench_case *which, int64_t elements,
                                const char *target_name, bool no_fusion)
{
    struct planned planned = {0};
    struct kiln_target target;
    const struct kiln_lower_options options = {.no_fusion = no_fusion};
    cr_assert_eq(kiln_target_parse(target_name, &target, &error), KILN_OK);
    cr_assert_eq(kiln_bench_case_make(which, elements, &arena, &planned.graph, &error), KILN_OK,
                 "%s: %s", which->name, error.text);
    cr_assert_eq(
        kiln_kernel_plan_make(&planned.graph, &target, &options, &arena, &planned.plan, &error),
        KILN_OK, "%s", error.text);
    planned.share = (double)kiln_kernel_plan_bytes(&planned.plan) /
                    (double)kiln_graph_fewest_bytes(&planned.graph);
    return planned;
}

/* Calls a check for every case in every type, of the suite or written out, whose name is in a list,
 * or for all with a list of NULL. Every name must be found. */
typedef void check_function(const struct kiln_bench_case *which);

static bool check_cases(const struct kiln_bench_case *cases, unsigned count, const char *name,
                        check_function *check)
{
    bool found = false;
    for (unsigned i = 0; i < count; i++) {
        if (name != NULL && strcmp(cases[i].name, name) != 0)
            continue;
        check(&cases[i]);
        found = true;
    }
    return found;
}

static void check_named(const char *name, check_function *check)
{
    bool found = check_cases(kiln_bench_suite, kiln_bench_suite_count, name, check);
    found |= check_cases(written_out, WRITTEN_OUT_COUNT, name, check);
    cr_assert(found, "no case '%s'", name);
}

/* Elements of a large tensor: 256 KiB to 256 MiB as floats. */
static const int64_t sizes[] = {1 << 16, 1 << 20, 1 << 26};
enum { SIZE_COUNT = sizeof sizes / sizeof *sizes };

static void check_one_kernel(const struct kiln_bench_case *which)
{
    for (int t = 0; t < TARGET_COUNT; t++) {
        for (int s = 0; s < SIZE_COUNT; s++) {
            struct planned planned = make_plan(which, sizes[s], targets[t], false);
            cr_expect_eq(planned.plan.partition.group_count, 1, "%s of %lld elements for %s",
                         planned.graph.name, (long long)sizes[s], targets[t]);
            cr_expect_eq(planned.plan.partition.workspace_bytes, 0);
            cr_expect_leq(planned.share, 1.05,
                          "%s of %lld elements for %s moves %.2f times the fewest bytes",
                          planned.graph.name, (long long)sizes[s], targets[t], planned.share);
        }
    }
}

/* Graphs that are one kernel which moves the fewest bytes, on every target and at every size. */
Test(kernel_plan, what_fits_on_chip_is_one_kernel)
{
    static const char *const names[] = {
        "copy",
        "add_relu",
        "bias_gelu_tanh",
        "bias_gelu_erf",
        "chain8",
        "swiglu",
        "layernorm",
        "layernorm_swish",
        "residual_rmsnorm",
        "residual_rmsnorm_sum",
        "softmax",
        "softmax_backward",
        "row_sum",
        "row_max",
        "transpose_add",
        "batchnorm_inference_relu",
        "batchnorm_inference_relu_nchw",
        "layernorm_swish_written_out",
        "residual_rmsnorm_relu_written_out",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        check_named(names[i], check_one_kernel);
}

static uint32_t count_role(const struct kiln_kernel_plan *plan, enum kiln_group_role role)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->partition.group_count; i++)
        count += plan->partition.groups[i].role == role;
    return count;
}

static void check_two_walks(const struct kiln_bench_case *which)
{
    for (int t = 0; t < TARGET_COUNT; t++) {
        for (int s = 0; s < SIZE_COUNT; s++) {
            struct planned planned = make_plan(which, sizes[s], targets[t], false);
            uint32_t combines = count_role(&planned.plan, KILN_ROLE_COMBINE);
            cr_expect_leq(planned.plan.partition.group_count - combines, 2,
                          "%s of %lld elements for %s", planned.graph.name, (long long)sizes[s],
                          targets[t]);
            cr_expect_leq(combines, 1);
            cr_expect_leq(planned.share, 1.9, "%s of %lld elements for %s: %.2f",
                          planned.graph.name, (long long)sizes[s], targets[t], planned.share);
        }
    }
}

static void check_one_walk(const struct kiln_bench_case *which)
{
    for (int t = 0; t < TARGET_COUNT; t++) {
        for (int s = 0; s < SIZE_COUNT; s++) {
            struct planned planned = make_plan(which, sizes[s], targets[t], false);
            cr_expect_leq(planned.plan.partition.group_count, 2, "%s of %lld elements for %s",
                          planned.graph.name, (long long)sizes[s], targets[t]);
            cr_expect_leq(planned.share, 1.05,
                          "%s of %lld elements for %s moves %.2f times the fewest bytes",
                          planned.graph.name, (long long)sizes[s], targets[t], planned.share);
        }
    }
}

/* Segments of the columns, and a combine where there are several. */
Test(kernel_plan, columns_are_reduced_in_one_walk)
{
    check_named("column_sum", check_one_walk);
    check_named("column_max", check_one_walk);
}

/* Kernels of a case whose tensors have so many rows and columns of halves, and the work-groups of
 * the first one. */
static uint32_t count_kernels(const char *name, int64_t rows, int64_t columns,
                              const char *target_name, uint32_t *ret_groups)
{
    const int64_t shape[4] = {rows, columns, 1, 1};
    const struct kiln_lower_options options = {.shapes = KILN_SHAPES_CONSTANT};
    struct kiln_bench_case which = {.name = name, .dtype = KILN_DTYPE_F16};
    struct kiln_graph graph;
    struct kiln_kernel_plan plan;
    struct kiln_target target;
    for (unsigned i = 0; i < kiln_bench_suite_count; i++) {
        if (strcmp(kiln_bench_suite[i].name, name) == 0)
            which.build = kiln_bench_suite[i].build;
    }
    cr_assert_eq(kiln_target_parse(target_name, &target, &error), KILN_OK);
    cr_assert_eq(kiln_bench_case_make_shape(&which, shape, &arena, &graph, &error), KILN_OK);
    cr_assert_eq(kiln_kernel_plan_make(&graph, &target, &options, &arena, &plan, &error), KILN_OK);
    *ret_groups = plan.schedules[0].launch.grid;
    return plan.partition.group_count;
}

/* Whole columns save the combine, if they keep the target busy. */
Test(kernel_plan, many_columns_are_one_kernel)
{
    static const char *const gpus[] = {"gfx90a", "gfx942", "gfx1100", "sm_90"};
    uint32_t groups;
    for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++) {
        cr_expect_eq(count_kernels("column_sum", 4096, 4096, gpus[i], &groups), 1, "%s", gpus[i]);
        cr_expect_eq(count_kernels("column_sum", 16384, 1024, gpus[i], &groups), 2, "%s", gpus[i]);
    }
}

/* Work-groups are larger instead: the combine would read every further segment. */
Test(kernel_plan, a_narrow_matrix_has_a_segment_for_each_compute_unit)
{
    uint32_t groups;
    cr_expect_eq(count_kernels("column_sum", 1 << 20, 16, "gfx942", &groups), 2);
    cr_expect_eq(groups, 304);
    cr_expect_eq(count_kernels("column_sum", 1 << 20, 16, "sm_90", &groups), 2);
    cr_expect_eq(groups, 132);
}

/* Two kernels that walk over the elements, a combine between them where there are segments. */
Test(kernel_plan, batch_norms_walk_over_the_elements_twice)
{
    static const char *const names[] = {
        "batchnorm_training", "batchnorm_training_nchw", "batchnorm_training_relu_written_out",
        "batchnorm_training_relu_nchw_written_out", "batchnorm_backward"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        check_named(names[i], check_two_walks);
}

/* The end of x is what the caches hold when its statistics are known. */
Test(kernel_plan, a_kernel_walks_back_over_what_the_one_before_has_read)
{
    unsigned found = 0;
    while (strcmp(kiln_bench_suite[found].name, "batchnorm_training") != 0)
        found++;
    struct planned planned = make_plan(&kiln_bench_suite[found], 1 << 26, "gfx942", false);
    uint32_t count = planned.plan.partition.group_count;
    cr_assert_gt(count, 1);
    cr_expect_not(planned.plan.schedules[0].walk.is_backward);
    cr_expect(planned.plan.schedules[count - 1].walk.is_backward);
}

static void check_first_kernel_walks_on(const struct kiln_bench_case *which)
{
    struct planned planned = make_plan(which, 1 << 22, "gfx942", false);
    cr_expect_not(planned.plan.schedules[0].walk.is_backward, "%s", planned.graph.name);
}

Test(kernel_plan, the_first_kernel_walks_on)
{
    (void)check_cases(kiln_bench_suite, kiln_bench_suite_count, NULL, check_first_kernel_walks_on);
}

static void check_is_one_kernel_for_gfx942(const struct kiln_bench_case *which)
{
    struct planned planned = make_plan(which, 1 << 16, "gfx942", false);
    cr_expect_eq(planned.plan.partition.group_count, 1, "%s", planned.graph.name);
}

Test(kernel_plan, a_batch_norm_of_enough_rows_is_one_kernel)
{
    check_named("batchnorm_training_nchw", check_is_one_kernel_for_gfx942);
}

static void check_fusion(const struct kiln_bench_case *which)
{
    for (int t = 0; t < TARGET_COUNT; t++) {
        struct planned fused = make_plan(which, 1 << 24, targets[t], false);
        struct planned unfused = make_plan(which, 1 << 24, targets[t], true);
        cr_expect_geq(unfused.plan.partition.group_count, unfused.graph.node_count);
        if (fused.graph.node_count == 1)
            continue;
        cr_expect_lt(fused.share, unfused.share, "%s for %s", fused.graph.name, targets[t]);
        cr_expect_lt(fused.plan.partition.group_count, unfused.plan.partition.group_count);
    }
}

Test(kernel_plan, fusion_moves_fewer_bytes_with_fewer_kernels)
{
    (void)check_cases(kiln_bench_suite, kiln_bench_suite_count, NULL, check_fusion);
    (void)check_cases(written_out, WRITTEN_OUT_COUNT, NULL, check_fusion);
}

static uint64_t operations_per_element(const char *name, bool no_fusion)
{
    unsigned found = 0;
    while (found < kiln_bench_suite_count && strcmp(kiln_bench_suite[found].name, name) != 0)
        found++;
    cr_assert_lt(found, kiln_bench_suite_count, "no case '%s'", name);
    struct planned planned = make_plan(&kiln_bench_suite[found], 1 << 20, "gfx942", no_fusion);
    return kiln_kernel_plan_operations(&planned.plan) >> 20;
}

/* An exponential or a quotient is 8 simple operations; what is done once per row vanishes. */
Test(kernel_plan, operations_are_those_that_the_graph_asks_for)
{
    cr_expect_eq(operations_per_element("copy", false), 0);
    cr_expect_eq(operations_per_element("add_relu", false),
                 operations_per_element("add_relu", true));
    cr_expect_eq(operations_per_element("row_sum", false), 1);
    cr_expect_eq(operations_per_element("softmax", false), 1 + 1 + 8 + 1 + 8);
    cr_expect_eq(operations_per_element("softmax", true), 1 + 1 + 8 + 1 + 8,
                 "kernels that compute a value again do not count it again");
    cr_expect_eq(operations_per_element("softmax_backward", false), 1 + 1 + 1 + 1);
}

/* Strides of 0 and windows that overlap make more elements than memory; huge ones no small sum. */
Test(kernel_plan, fewest_bytes_are_those_of_the_memory)
{
    static const struct {
        int64_t dims[2], strides[2];
        uint64_t bytes; /* of two such tensors */
    } cases[] = {
        {{1000, 1000}, {1000, 1}, 8000000},
        {{1000, 1000}, {0, 1}, 8000},
        {{1000, 1000}, {1, 1}, 2 * 4 * 1999},
        {{1000, 10}, {16, 1}, 2 * 4 * 10000},
        {{(int64_t)1 << 40, (int64_t)1 << 40}, {1, 1}, 2 * 4 * (((uint64_t)1 << 41) - 1)},
        {{(int64_t)1 << 30, (int64_t)1 << 30}, {(int64_t)1 << 30, 1}, INT64_MAX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kiln_tensor tensors[2] = {0};
        struct kiln_graph of_two = {.tensors = tensors, .tensor_count = 2};
        for (size_t k = 0; k < 2; k++) {
            tensors[k].role = k == 0 ? KILN_TENSOR_INPUT : KILN_TENSOR_OUTPUT;
            tensors[k].dtype = KILN_DTYPE_F32;
            tensors[k].rank = 2;
            memcpy(tensors[k].dims, cases[i].dims, sizeof cases[i].dims);
            memcpy(tensors[k].strides, cases[i].strides, sizeof cases[i].strides);
        }
        cr_expect_eq(kiln_graph_fewest_bytes(&of_two), cases[i].bytes, "case %zu: %llu", i,
                     (unsigned long long)kiln_graph_fewest_bytes(&of_two));
    }
}
