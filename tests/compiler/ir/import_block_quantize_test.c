/* Block-scale quantisation through import, passes and the IR's interpreter, against the oracle. */
#include "compiler/reference/reference.h"
#include "tests/compiler/ir/import_trial.h"

#include <criterion/criterion.h>
#include <math.h>

static const struct {
    uint32_t rank;
    int64_t x[KILN_MAX_RANK];
    uint32_t axis;
    int64_t block_size;
    enum kiln_dtype x_type, y_type, scale_type;
} cases[] = {
    {2, {3, 64}, 1, 32, KILN_DTYPE_F32, KILN_DTYPE_F8E4M3, KILN_DTYPE_F32},
    {2, {3, 64}, 1, 16, KILN_DTYPE_F16, KILN_DTYPE_I8, KILN_DTYPE_F16},
    {2, {12, 5}, 0, 4, KILN_DTYPE_BF16, KILN_DTYPE_F8E5M2, KILN_DTYPE_BF16},
    {3, {2, 6, 3}, 1, 2, KILN_DTYPE_F32, KILN_DTYPE_U8, KILN_DTYPE_F32},
    {1, {9}, 0, 9, KILN_DTYPE_F32, KILN_DTYPE_F8E4M3FNUZ, KILN_DTYPE_BF16},
    {1, {9}, 0, 1, KILN_DTYPE_F32, KILN_DTYPE_F8E5M2FNUZ, KILN_DTYPE_F32},
    {3, {1, 1, 8}, 2, 4, KILN_DTYPE_F32, KILN_DTYPE_I32, KILN_DTYPE_F32},
    {4, {1, 8, 1, 3}, 1, 4, KILN_DTYPE_I32, KILN_DTYPE_I32, KILN_DTYPE_F16},
    {2, {2, 8}, 1, 4, KILN_DTYPE_F32, KILN_DTYPE_F16, KILN_DTYPE_F16},
    {2, {2, 8}, 1, 4, KILN_DTYPE_F32, KILN_DTYPE_F32, KILN_DTYPE_F32},
    /* Short last blocks. */
    {2, {3, 70}, 1, 32, KILN_DTYPE_F32, KILN_DTYPE_F8E4M3, KILN_DTYPE_E8M0},
    {2, {7, 5}, 0, 4, KILN_DTYPE_F16, KILN_DTYPE_I8, KILN_DTYPE_F32},
    {3, {1, 3, 2}, 1, 2, KILN_DTYPE_I32, KILN_DTYPE_I32, KILN_DTYPE_F32},
    {2, {3, 64}, 1, 32, KILN_DTYPE_F32, KILN_DTYPE_F8E4M3, KILN_DTYPE_E8M0},
    {2, {3, 64}, 1, 32, KILN_DTYPE_BF16, KILN_DTYPE_F4E2M1, KILN_DTYPE_E8M0},
    {2, {8, 4}, 0, 4, KILN_DTYPE_F16, KILN_DTYPE_F6E2M3, KILN_DTYPE_F32},
    /* Blocks of one element in a tensor that has no room for another axis. */
    {8, {3, 1, 1, 5, 1, 1, 1, 1}, 3, 1, KILN_DTYPE_F32, KILN_DTYPE_F8E4M3, KILN_DTYPE_F32},
    {8, {3, 1, 1, 5, 1, 1, 1, 1}, 4, 1, KILN_DTYPE_F32, KILN_DTYPE_I8, KILN_DTYPE_F16},
    {2, {8, 4}, 0, 4, KILN_DTYPE_F4E2M1, KILN_DTYPE_F6E3M2, KILN_DTYPE_F16},
};

static void begin(struct kiln_trial *trial, size_t number)
{
    kiln_trial_begin(trial, KILN_NODE_BLOCK_SCALE_QUANTIZE, number + 1);
    trial->reverse_strides = number % 2 != 0;
    trial->node.block_quantize = (struct kiln_block_quantize){
        .axis = cases[number].axis, .block_size = cases[number].block_size};
    int64_t scale[KILN_MAX_RANK];
    for (uint32_t i = 0; i < cases[number].rank; i++)
        scale[i] = cases[number].x[i];
    int64_t *blocks = &scale[cases[number].axis];
    *blocks = (*blocks - 1) / cases[number].block_size + 1;
    kiln_trial_input(trial, KILN_OPERAND_X, cases[number].x_type, cases[number].rank,
                     cases[number].x, -1, 30);
    kiln_trial_output(trial, KILN_OPERAND_Y, cases[number].y_type, cases[number].rank,
                      cases[number].x);
    kiln_trial_output(trial, KILN_OPERAND_SCALE, cases[number].scale_type, cases[number].rank,
                      scale);
    kiln_trial_import(trial);
}

static void check_against_oracle(struct kiln_trial *trial, size_t number)
{
    struct kiln_reference_tensor contents[KILN_TRIAL_MAX_TENSORS];
    const void *memory[KILN_TRIAL_MAX_TENSORS] = {trial->memory[0]};
    struct kiln_comparison comparison;
    kiln_trial_run(trial, &trial->optimized, KILN_MATH_NATIVE);
    cr_assert_eq(kiln_reference_run(&trial->graph, memory, &trial->arena, contents, &trial->error),
                 KILN_OK);
    for (uint32_t tensor = 1; tensor <= 2; tensor++) {
        kiln_reference_compare(&trial->graph, tensor, trial->memory[tensor], &contents[tensor],
                               &comparison);
        cr_expect_eq(comparison.wrong, 0, "case %zu tensor %u: %g instead of %g", number, tensor,
                     comparison.got, comparison.expected);
        cr_expect_eq(comparison.unchecked, 0, "case %zu", number);
    }
}

Test(import_block_quantize, all_shapes)
{
    for (size_t number = 0; number < sizeof cases / sizeof *cases; number++) {
        struct kiln_trial trial;
        begin(&trial, number);
        bool is_reduced = cases[number].block_size != 1;
        cr_expect_eq(kiln_trial_count(&trial, KILN_OP_REDUCE_MAX), is_reduced, "case %zu", number);
        cr_expect_eq(kiln_trial_count(&trial, KILN_OP_VIEW), 0, "case %zu", number);
        check_against_oracle(&trial, number);
        kiln_trial_check_passes(&trial);
        kiln_trial_end(&trial);
    }
}

Test(import_block_quantize, zeros_and_extremes)
{
    struct kiln_trial trial;
    begin(&trial, 0);
    float *x = trial.memory[0];
    for (int i = 0; i < 32; i++)
        x[i] = i % 2 == 0 ? 0.0F : -0.0F;
    x[32] = 0x1.fffffep127F;
    x[64] = 0x1p-149F;
    for (int i = 65; i < 96; i++)
        x[i] = 0;
    check_against_oracle(&trial, 0);
    const float *scale = trial.memory[2];
    cr_expect_eq(scale[0], 0);
    cr_expect(scale[1] >= 0x1.fffffep127F / 448);
    cr_expect_eq(scale[2], 0x1p-149F, "rounded up");
    kiln_trial_end(&trial);
}
