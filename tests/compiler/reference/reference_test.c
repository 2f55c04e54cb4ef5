#include "compiler/reference/reference.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* out[2x3] = a[2x3] (column-major memory) + b[3], then CMP_GT against a constant, as bool. */
struct sample {
    struct kiln_tensor tensors[5];
    struct kiln_node nodes[2];
    struct kiln_graph graph;
    float a[6], b[5];
    const void *memory[5];
    struct kiln_arena arena;
    struct kiln_reference_tensor reference[5];
    struct kiln_error error;
};

static void sample_init(struct sample *sample)
{
    *sample = (struct sample){
        .tensors =
            {
                {.name = "a", .rank = 2, .dims = {2, 3}, .strides = {1, 2}, .producer = KILN_NONE},
                {.name = "b", .rank = 1, .dims = {3}, .strides = {2}, .producer = KILN_NONE},
                {.name = "sum",
                 .role = KILN_TENSOR_OUTPUT,
                 .rank = 2,
                 .dims = {2, 3},
                 .strides = {4, 1},
                 .producer = 0},
                {.name = "limit",
                 .role = KILN_TENSOR_CONSTANT,
                 .constant = {.real = 13},
                 .producer = KILN_NONE},
                {.name = "above",
                 .dtype = KILN_DTYPE_BOOL,
                 .role = KILN_TENSOR_OUTPUT,
                 .rank = 2,
                 .dims = {2, 3},
                 .strides = {3, 1},
                 .producer = 1},
            },
        .nodes =
            {
                {.input_count = 2,
                 .output_count = 1,
                 .inputs = {0, 1},
                 .outputs = {2},
                 .pointwise = {.mode = KILN_POINTWISE_ADD}},
                {.input_count = 2,
                 .output_count = 1,
                 .inputs = {2, 3},
                 .outputs = {4},
                 .pointwise = {.mode = KILN_POINTWISE_CMP_GT}},
            },
        .a = {1, 2, 3, 4, 5, 6},
        .b = {10, NAN, 20, NAN, 30},
    };
    sample->graph = (struct kiln_graph){.name = "",
                                        .tensor_count = 5,
                                        .node_count = 2,
                                        .tensors = sample->tensors,
                                        .nodes = sample->nodes};
    sample->memory[0] = sample->a;
    sample->memory[1] = sample->b;
    kiln_arena_init(&sample->arena);
    kiln_error_init(&sample->error);
}

Test(reference, follows_strides_and_broadcasts)
{
    static const double sums[6] = {11, 23, 35, 12, 24, 36};
    static const int64_t above[6] = {0, 1, 1, 0, 1, 1};
    struct sample sample;
    sample_init(&sample);
    cr_assert_eq(kiln_reference_run(&sample.graph, sample.memory, &sample.arena, sample.reference,
                                    &sample.error),
                 KILN_OK);
    for (int i = 0; i < 6; i++) {
        cr_assert_eq(sample.reference[2].real[i], sums[i]);
        cr_assert_eq(sample.reference[2].bound[i], 0);
        cr_assert_eq(sample.reference[4].integer[i], above[i]);
    }
    cr_assert_null(sample.reference[2].integer);
    kiln_arena_fini(&sample.arena);
}

Test(reference, compare_counts_what_is_outside)
{
    struct sample sample;
    sample_init(&sample);
    cr_assert_eq(kiln_reference_run(&sample.graph, sample.memory, &sample.arena, sample.reference,
                                    &sample.error),
                 KILN_OK);
    float memory[7] = {11, 23, 35, NAN, 12, 24, 36}; /* the gap of the stride is not looked at */
    struct kiln_comparison comparison;
    kiln_reference_compare(&sample.graph, 2, memory, &sample.reference[2], &comparison);
    cr_assert_eq(comparison.elements, 6);
    cr_assert_eq(comparison.wrong, 0);
    cr_assert_eq(comparison.first_wrong, -1);
    memory[4] = NAN;
    memory[5] = 24.5F;
    sample.reference[2].bound[1] = INFINITY;
    kiln_reference_compare(&sample.graph, 2, memory, &sample.reference[2], &comparison);
    cr_assert_eq(comparison.wrong, 2);
    cr_assert_eq(comparison.unchecked, 1);
    cr_assert_eq(comparison.first_wrong, 3);
    cr_assert_eq(comparison.expected, 12);
    cr_assert(isnan(comparison.got));
    sample.reference[2].real[3] = NAN; /* NaN matches NaN */
    sample.reference[2].bound[4] = 1;
    kiln_reference_compare(&sample.graph, 2, memory, &sample.reference[2], &comparison);
    cr_assert_eq(comparison.wrong, 0);
    cr_assert_eq(comparison.worst_ratio, 0.5);
    kiln_arena_fini(&sample.arena);
}

Test(reference, missing_input_is_named)
{
    struct sample sample;
    sample_init(&sample);
    sample.memory[1] = NULL;
    cr_assert_eq(kiln_reference_run(&sample.graph, sample.memory, &sample.arena, sample.reference,
                                    &sample.error),
                 KILN_BAD_ARGUMENT);
    cr_assert(strstr(sample.error.text, "'b'") != NULL);
    cr_assert_null(sample.reference[0].real, "outputs stay untouched");
    kiln_arena_fini(&sample.arena);
}
