/* Pooling and its gradients through import, passes and the IR's interpreter, against the oracle. */
#include "compiler/reference/reference.h"
#include "tests/compiler/ir/import_trial.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>

static const struct {
    uint32_t rank;
    int64_t x[5];
    int64_t y[5];
    struct kiln_resample resample;
    uint32_t reduces; /* REDUCEs through a map; others are an ordinary one */
} cases[] = {
    {4, {2, 3, 7, 6}, {2, 3, 3, 3}, {.window = {2, 2}, .stride = {2, 2}}, 1},
    {4,
     {1, 2, 5, 5},
     {1, 2, 5, 5},
     {.window = {3, 3}, .stride = {1, 1}, .pre_padding = {1, 1}, .post_padding = {1, 1}},
     1},
    {3, {1, 1, 9}, {1, 1, 3}, {.window = {1}, .stride = {4}}, 1},
    {3,
     {2, 1, 2},
     {2, 1, 7},
     {.window = {2}, .stride = {1}, .pre_padding = {4}, .post_padding = {2}},
     1},
    {5, {1, 2, 3, 4, 3}, {1, 2, 2, 1, 2}, {.window = {2, 4, 2}, .stride = {1, 3, 1}}, 1},
    /* One window that holds the image. */
    {4, {2, 3, 4, 5}, {2, 3, 1, 1}, {.window = {4, 5}, .stride = {1, 1}}, 0},
    {4,
     {2, 3, 2, 2},
     {2, 3, 1, 1},
     {.window = {4, 3}, .stride = {1, 1}, .pre_padding = {1, 1}, .post_padding = {1, 0}},
     0},
    {4, {2, 3, 1, 1}, {2, 3, 1, 1}, {.window = {1, 1}, .stride = {1, 1}}, 0},
};

enum { LARGEST_AXES = 5 };

static void begin(struct kiln_trial *trial, size_t number, enum kiln_pooling_mode mode,
                  bool pads_zeros, enum kiln_dtype index)
{
    kiln_trial_begin(trial, KILN_NODE_RESAMPLE_FORWARD, number + 1);
    trial->reverse_strides = number % 2 != 0;
    trial->node.resample = cases[number].resample;
    trial->node.resample.mode = mode;
    trial->node.resample.spatial_count = cases[number].rank - 2;
    trial->node.resample.pads_zeros = pads_zeros;
    kiln_trial_input(trial, KILN_OPERAND_X, KILN_DTYPE_F32, cases[number].rank, cases[number].x, -1,
                     3);
    kiln_trial_output(trial, KILN_OPERAND_Y, KILN_DTYPE_F32, cases[number].rank, cases[number].y);
    if (index != KILN_DTYPE_COUNT)
        kiln_trial_output(trial, KILN_OPERAND_INDEX, index, cases[number].rank, cases[number].y);
    kiln_trial_import(trial);
}

static void check_against_oracle(struct kiln_trial *trial, size_t number)
{
    struct kiln_reference_tensor contents[KILN_TRIAL_MAX_TENSORS];
    const void *memory[KILN_TRIAL_MAX_TENSORS];
    struct kiln_comparison comparison;
    for (uint32_t i = 0; i < KILN_TRIAL_MAX_TENSORS; i++)
        memory[i] = trial->memory[i];
    kiln_trial_run(trial, &trial->optimized, KILN_MATH_NATIVE);
    cr_assert_eq(kiln_reference_run(&trial->graph, memory, &trial->arena, contents, &trial->error),
                 KILN_OK);
    for (uint32_t i = 0; i < trial->node.output_count; i++) {
        uint32_t output = trial->node.outputs[i];
        kiln_reference_compare(&trial->graph, output, trial->memory[output], &contents[output],
                               &comparison);
        cr_expect_eq(comparison.wrong, 0, "case %zu, output %u: %g instead of %g", number, i,
                     comparison.got, comparison.expected);
        cr_expect_eq(comparison.unchecked, 0);
    }
}

static void check_forward(size_t number, enum kiln_pooling_mode mode, bool pads_zeros,
                          enum kiln_dtype index)
{
    struct kiln_trial trial;
    begin(&trial, number, mode, pads_zeros, index);
    if (index == KILN_DTYPE_COUNT)
        cr_expect_eq(kiln_trial_count(&trial, KILN_OP_REDUCE_MAX_NUMBER),
                     mode == KILN_POOLING_MAX ? cases[number].reduces : 0, "case %zu", number);
    check_against_oracle(&trial, number);
    float *x = trial.memory[0];
    x[0] = NAN;
    x[1] = -INFINITY;
    check_against_oracle(&trial, number);
    for (uint32_t i = 0; i < kiln_tensor_elements(&trial.tensors[0]); i++)
        x[i] = (float)((i * 7 + number) % 4) - 2; /* many are equal */
    check_against_oracle(&trial, number);
    kiln_trial_check_passes(&trial);
    kiln_trial_end(&trial);
}

Test(import_resample, all_shapes_with_both_paddings)
{
    for (size_t number = 0; number < sizeof cases / sizeof *cases; number++) {
        for (int pads_zeros = 0; pads_zeros < 2; pads_zeros++) {
            check_forward(number, KILN_POOLING_MAX, pads_zeros != 0, KILN_DTYPE_COUNT);
            check_forward(number, KILN_POOLING_MAX, pads_zeros != 0, KILN_DTYPE_I32);
            check_forward(number, KILN_POOLING_MAX, pads_zeros != 0, KILN_DTYPE_I8);
        }
    }
}

Test(import_resample, means)
{
    for (size_t number = 0; number < sizeof cases / sizeof *cases; number++) {
        check_forward(number, KILN_POOLING_MEAN_OF_IMAGE, false, KILN_DTYPE_COUNT);
        check_forward(number, KILN_POOLING_MEAN_OF_WINDOW, false, KILN_DTYPE_I32);
    }
}

Test(import_resample, zeros_cost_nothing)
{
    struct kiln_trial trial;
    begin(&trial, 1, KILN_POOLING_MAX, true, KILN_DTYPE_COUNT);
    cr_expect_eq(kiln_trial_count(&trial, KILN_OP_INDEX), 0);
    kiln_trial_end(&trial);
}

Test(import_resample, only_windows_with_padding_count_their_elements)
{
    struct kiln_trial trial;
    begin(&trial, 0, KILN_POOLING_MEAN_OF_IMAGE, false, KILN_DTYPE_COUNT);
    cr_expect_eq(kiln_trial_count(&trial, KILN_OP_INDEX), 0);
    kiln_trial_end(&trial);
    begin(&trial, 1, KILN_POOLING_MEAN_OF_IMAGE, false, KILN_DTYPE_COUNT);
    cr_expect_eq(kiln_trial_count(&trial, KILN_OP_INDEX), 2);
    kiln_trial_end(&trial);
}

/* ---- gradients ---- */

/* The image of a case gets the gradients of its results. */
static void check_backward(size_t number, enum kiln_pooling_mode mode, const int64_t *image)
{
    struct kiln_trial trial;
    kiln_trial_begin(&trial, KILN_NODE_RESAMPLE_BACKWARD, number + 1);
    trial.reverse_strides = number % 2 != 0;
    trial.node.resample = cases[number].resample;
    trial.node.resample.mode = mode;
    trial.node.resample.spatial_count = cases[number].rank - 2;
    kiln_trial_input(&trial, KILN_OPERAND_DY, KILN_DTYPE_F32, cases[number].rank, cases[number].y,
                     -1, 3);
    if (mode == KILN_POOLING_MAX)
        kiln_trial_input(&trial, KILN_OPERAND_INDEX, KILN_DTYPE_I32, cases[number].rank,
                         cases[number].y, 12, 20);
    kiln_trial_output(&trial, KILN_OPERAND_DX, KILN_DTYPE_F32, cases[number].rank, image);
    kiln_trial_import(&trial);
    cr_expect_eq(kiln_trial_count(&trial, KILN_OP_REDUCE_SUM) +
                     kiln_trial_count(&trial, KILN_OP_REDUCE_SUM_AT),
                 cases[number].reduces, "case %zu", number);
    check_against_oracle(&trial, number);
    kiln_trial_check_passes(&trial);
    kiln_trial_end(&trial);
}

Test(import_resample, gradients)
{
    for (size_t number = 0; number < sizeof cases / sizeof *cases; number++) {
        for (int mode = 0; mode < KILN_POOLING_MODE_COUNT; mode++)
            check_backward(number, (enum kiln_pooling_mode)mode, cases[number].x);
    }
}

/* Windows beyond the image, and parts of it that no window reaches. */
Test(import_resample, gradients_of_any_image)
{
    static const int64_t images[][LARGEST_AXES] = {{2, 3, 2, 9}, {2, 3, 11, 5}};
    for (size_t i = 0; i < sizeof images / sizeof *images; i++) {
        for (int mode = 0; mode < KILN_POOLING_MODE_COUNT; mode++)
            check_backward(0, (enum kiln_pooling_mode)mode, images[i]);
    }
}
