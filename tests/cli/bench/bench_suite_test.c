#include "cli/bench/bench_suite.h"

#include "compiler/graph/graph_reader.h"
#include "compiler/graph/wire_messages.h"
#include "compiler/plan/kernel_plan.h"
#include "compiler/schedule/schedule_group.h"

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

TestSuite(bench_suite, .init = setup, .fini = teardown);

static struct kiln_graph make(unsigned index, int64_t elements)
{
    struct kiln_graph graph;
    cr_assert_eq(kiln_bench_case_make(&kiln_bench_suite[index], elements, &arena, &graph, &error),
                 KILN_OK, "%s: %s", kiln_bench_suite[index].name, error.text);
    return graph;
}

static struct kiln_graph make_named(const char *wanted, int64_t elements)
{
    unsigned found = 0;
    for (; found < kiln_bench_suite_count; found++) {
        char name[KILN_BENCH_NAME_BYTES];
        kiln_bench_case_name(&kiln_bench_suite[found], name);
        if (strcmp(name, wanted) == 0)
            break;
    }
    cr_assert_lt(found, kiln_bench_suite_count, "no case '%s'", wanted);
    return make(found, elements);
}

static const struct kiln_tensor *tensor_named(const struct kiln_graph *graph, const char *name)
{
    uint32_t found = 0;
    while (found < graph->tensor_count && strcmp(graph->tensors[found].name, name) != 0)
        found++;
    cr_assert_lt(found, graph->tensor_count, "no tensor '%s' in '%s'", name, graph->name);
    return &graph->tensors[found];
}

static int64_t largest(const struct kiln_graph *graph)
{
    int64_t elements = 0;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        int64_t count = kiln_tensor_elements(&graph->tensors[i]);
        elements = count > elements ? count : elements;
    }
    return elements;
}

static const int64_t default_elements = (int64_t)8192 * 8192;

Test(bench_suite, every_graph_is_written_and_read_at_any_size)
{
    static const int64_t sizes[] = {1, 100, 65536, 1000000, (int64_t)8192 * 8192, (int64_t)1 << 33};
    for (unsigned i = 0; i < kiln_bench_suite_count; i++) {
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            struct kiln_graph graph = make(i, sizes[s]);
            struct kiln_buffer bytes;
            kiln_buffer_init(&bytes);
            struct kiln_graph again;
            cr_assert_eq(kiln_graph_write(&graph, KILN_WIRE_ERA_CURRENT, &bytes, &error), KILN_OK);
            cr_assert_eq(kiln_graph_read(bytes.data, bytes.size, &arena, &again, &error), KILN_OK,
                         "%s: %s", graph.name, error.text);
            cr_assert_eq(again.node_count, graph.node_count);
            kiln_buffer_fini(&bytes);
        }
    }
}

Test(bench_suite, large_tensors_have_about_as_many_elements_as_asked_for)
{
    for (unsigned i = 0; i < kiln_bench_suite_count; i++) {
        for (int64_t elements = 65536; elements <= (int64_t)1 << 30; elements *= 4) {
            struct kiln_graph graph = make(i, elements);
            cr_expect_leq(largest(&graph), elements, "%s", graph.name);
            /* Images come in powers of two. */
            cr_expect_gt(largest(&graph), elements / 2, "%s", graph.name);
        }
    }
}

Test(bench_suite, shapes_at_the_default_size_are_those_that_peers_are_measured_with)
{
    struct kiln_graph graph = make_named("softmax_fp16", default_elements);
    const struct kiln_tensor *x = tensor_named(&graph, "x");
    cr_expect_eq(x->dtype, KILN_DTYPE_F16);
    cr_expect_eq(x->dims[0], 8192);
    cr_expect_eq(x->dims[1], 8192);
    cr_expect_eq(x->strides[1], 1);

    graph = make_named("batchnorm_training_fp32", default_elements);
    x = tensor_named(&graph, "x");
    cr_expect_eq(x->dims[0], 64);
    cr_expect_eq(x->dims[1], 256);
    cr_expect_eq(x->dims[2], 56);
    cr_expect_eq(x->dims[3], 56);
    cr_expect_eq(x->strides[1], 1, "channels last");
    graph = make_named("batchnorm_training_nchw_fp32", default_elements);
    x = tensor_named(&graph, "x");
    cr_expect_eq(x->strides[3], 1);
    cr_expect_eq(x->strides[1], 56 * 56);

    graph = make_named("transpose_add_fp32", default_elements);
    cr_expect_eq(tensor_named(&graph, "a")->strides[1], 1);
    cr_expect_eq(tensor_named(&graph, "b")->strides[0], 1);
    cr_expect_eq(tensor_named(&graph, "b")->strides[1], 8192);
}

/* The layer of a model with so many elements, of which the tensor is checked. */
static const struct model_check {
    const char *name;
    int64_t elements;
    const char *tensor;
    int64_t dims[4];
} model_checks[] = {
    {"bert_large_ffn_up", 1 << 20, "a", {1024, 1024}},
    {"bert_large_ffn_up", 1 << 20, "b", {1024, 4096}},
    {"bert_large_ffn_up", 1500000, "y", {1024, 4096}},
    {"llama3_8b_down_decode16", 1 << 30, "a", {16, 14336}},
    {"resnet50_stem", 1 << 26, "x", {64, 3, 224, 224}},
    {"resnet50_stem", 1 << 26, "y", {64, 64, 112, 112}},
    {"resnet50_conv3_3x3_s2", 1, "y", {1, 128, 28, 28}},
    {"resnet50_conv5_3x3", 1 << 26, "w", {512, 512, 3, 3}},
    {"llama3_8b_attention_prefill", 1 << 23, "q", {4, 32, 2048, 128}},
    {"llama3_8b_attention_decode", 1 << 23, "k", {2, 8, 4096, 128}},
    {"llama3_8b_attention_decode", 1 << 23, "o", {2, 32, 1, 128}},
};

Test(bench_suite, models_have_their_own_sizes)
{
    for (size_t i = 0; i < sizeof model_checks / sizeof *model_checks; i++) {
        const struct model_check *check = &model_checks[i];
        unsigned found = 0;
        while (found < kiln_bench_model_count &&
               strcmp(kiln_bench_models[found].name, check->name) != 0)
            found++;
        cr_assert_lt(found, kiln_bench_model_count, "no model '%s'", check->name);
        struct kiln_graph graph;
        cr_assert_eq(kiln_bench_case_make(&kiln_bench_models[found], check->elements, &arena,
                                          &graph, &error),
                     KILN_OK, "%s: %s", check->name, error.text);
        const struct kiln_tensor *tensor = tensor_named(&graph, check->tensor);
        for (uint32_t axis = 0; axis < tensor->rank; axis++)
            cr_expect_eq(tensor->dims[axis], check->dims[axis], "%s: %s", check->name,
                         check->tensor);
    }
}

/* Fused, a layer of a model is one kernel, and a decoded token over a long cache two. */
Test(bench_suite, every_model_is_planned_for_a_gpu)
{
    struct kiln_target target;
    cr_assert_eq(kiln_target_parse("gfx942", &target, &error), KILN_OK);
    for (unsigned i = 0; i < kiln_bench_model_count; i++) {
        struct kiln_graph graph;
        struct kiln_kernel_plan plan;
        cr_assert_eq(kiln_bench_case_make(&kiln_bench_models[i], 1 << 22, &arena, &graph, &error),
                     KILN_OK, "%s: %s", kiln_bench_models[i].name, error.text);
        cr_assert_eq(kiln_kernel_plan_make(&graph, &target, &(struct kiln_lower_options){0}, &arena,
                                           &plan, &error),
                     KILN_OK, "%s: %s", kiln_bench_models[i].name, error.text);
        cr_expect_leq(kiln_kernel_plan_kernels(&plan), 2, "%s", kiln_bench_models[i].name);
        double products = 0;
        for (uint32_t k = 0; k < plan.partition.group_count; k++)
            products += kiln_schedule_work(&plan.schedules[k]).product_operations;
        cr_expect_gt(products, 1e6, "%s", kiln_bench_models[i].name);
    }
}

Test(bench_suite, types_are_the_case_s_in_memory_and_float_between_nodes)
{
    struct kiln_graph graph = make_named("residual_rmsnorm_sum_fp16", default_elements);
    cr_expect_eq(tensor_named(&graph, "sum")->dtype, KILN_DTYPE_F16);
    cr_expect_eq(tensor_named(&graph, "sum")->role, KILN_TENSOR_OUTPUT);
    cr_expect_eq(tensor_named(&graph, "scale")->dtype, KILN_DTYPE_F16);
    graph = make_named("bias_gelu_tanh_bf16", default_elements);
    cr_expect_eq(tensor_named(&graph, "bias")->dtype, KILN_DTYPE_BF16);
    graph = make_named("softmax_fp16", default_elements);
    for (uint32_t i = 0; i < graph.tensor_count; i++)
        cr_expect(graph.tensors[i].role != KILN_TENSOR_VIRTUAL ||
                  graph.tensors[i].dtype == KILN_DTYPE_F32);
}

Test(bench_suite, names_are_unique_and_neighbours_belong_together)
{
    char names[128][KILN_BENCH_NAME_BYTES];
    cr_assert_leq(kiln_bench_case_count(), 128);
    for (unsigned i = 0; i < kiln_bench_case_count(); i++) {
        const struct kiln_bench_case *which = kiln_bench_case_at(i);
        kiln_bench_case_name(which, names[i]);
        cr_expect_leq(strlen(names[i]), 34, "the table is wide enough: %s", names[i]);
        for (unsigned k = 0; k < i; k++)
            cr_expect_str_neq(names[i], names[k]);
        /* fp32 is a case's first row, so a row that is not belongs to the one before it. */
        cr_expect(which->layer != NULL || which->dtype == KILN_DTYPE_F32 ||
                      (i > 0 && strcmp(which->name, kiln_bench_case_at(i - 1)->name) == 0),
                  "%s", names[i]);
    }
}

Test(bench_suite, a_copy_is_one_node_on_exactly_the_bytes)
{
    struct kiln_graph graph;
    cr_assert_eq(kiln_bench_copy_make(4 * 1000003, &arena, &graph, &error), KILN_OK);
    cr_expect_eq(graph.node_count, 1);
    cr_expect_eq(largest(&graph), 1000003);
}

Test(bench_suite, sizes_that_make_no_graph_are_refused)
{
    struct kiln_graph graph;
    static const int64_t sizes[] = {0, -1, INT64_MIN, INT64_MAX, KILN_BENCH_MAX_ELEMENTS + 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        cr_expect_eq(kiln_bench_case_make(&kiln_bench_suite[0], sizes[i], &arena, &graph, &error),
                     KILN_BAD_ARGUMENT);
    cr_expect_eq(kiln_bench_copy_make(INT64_MAX, &arena, &graph, &error), KILN_BAD_ARGUMENT);
}
