/* Grouped products through import, passes and the IR's interpreter, against the oracle. */
#include "compiler/reference/reference.h"
#include "tests/compiler/ir/import_trial.h"

#include <criterion/criterion.h>
#include <string.h>

enum { TOKENS = 9, ROWS = 11, DEPTH = 5, COLUMNS = 4, EXPERTS = 3, MOST = 16 };

static void put(struct kiln_trial *trial, uint32_t tensor, const int *numbers, uint32_t count)
{
    memcpy(trial->memory[tensor], numbers, count * sizeof *numbers);
}

static uint32_t integers(struct kiln_trial *trial, enum kiln_operand role, int64_t a, int64_t b)
{
    return kiln_trial_input(trial, role, KILN_DTYPE_I32, 3, (int64_t[]){a, b, 1}, 0, 1);
}

static void check_against_oracle(struct kiln_trial *trial)
{
    struct kiln_reference_tensor contents[KILN_TRIAL_MAX_TENSORS];
    const void *memory[KILN_TRIAL_MAX_TENSORS];
    struct kiln_comparison comparison;
    uint32_t output = trial->node.outputs[0];
    for (uint32_t i = 0; i < trial->graph.tensor_count; i++)
        memory[i] = i == output ? NULL : trial->memory[i];
    kiln_trial_run(trial, &trial->optimized, KILN_MATH_NATIVE);
    cr_assert_eq(kiln_reference_run(&trial->graph, memory, &trial->arena, contents, &trial->error),
                 KILN_OK);
    kiln_reference_compare(&trial->graph, output, trial->memory[output], &contents[output],
                           &comparison);
    cr_expect_eq(comparison.wrong, 0, "%g instead of %g", comparison.got, comparison.expected);
    cr_expect_eq(comparison.unchecked, 0);
}

static const int offsets[][2 * EXPERTS] = {
    {0, 2, 4, 5, 7, 8},
    {3, 3, 3, 9, 9, 9},
    {0, 0, 0, 0, 0, 0},
    {-7, 40, 2, 1, 0, 6},
};

static void run_forward(enum kiln_grouped_mode mode, enum kiln_opcode opcode, const int *index,
                        const int *ks)
{
    bool gathers = mode == KILN_GROUPED_GATHER;
    int64_t rows = gathers ? ROWS : TOKENS;
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        struct kiln_trial trial;
        kiln_trial_begin(&trial, KILN_NODE_GROUPED_MATMUL, i + 1);
        trial.node.grouped_matmul.mode = mode;
        trial.node.grouped_matmul.top_k = mode == KILN_GROUPED_SCATTER ? 2 : 0;
        kiln_trial_input(&trial, KILN_OPERAND_TOKEN, KILN_DTYPE_F32, 3,
                         (int64_t[]){1, TOKENS, DEPTH}, 0, 2);
        kiln_trial_input(&trial, KILN_OPERAND_WEIGHT, KILN_DTYPE_F32, 3,
                         (int64_t[]){EXPERTS, DEPTH, COLUMNS}, 0, 2);
        put(&trial, integers(&trial, KILN_OPERAND_FIRST_TOKEN_OFFSET, 2 * EXPERTS, 1), offsets[i],
            2 * EXPERTS);
        if (index != NULL)
            put(&trial, integers(&trial, KILN_OPERAND_TOKEN_INDEX, 1, rows), index, (uint32_t)rows);
        if (ks != NULL)
            put(&trial, integers(&trial, KILN_OPERAND_TOKEN_KS, 1, rows), ks, (uint32_t)rows);
        kiln_trial_output(&trial, KILN_OPERAND_OUTPUT, KILN_DTYPE_F32, 3,
                          (int64_t[]){1, rows, COLUMNS});
        kiln_trial_import(&trial);
        cr_expect_eq(kiln_trial_count(&trial, opcode), 1);
        check_against_oracle(&trial);
        kiln_trial_check_passes(&trial);
        kiln_trial_end(&trial);
    }
}

Test(import_grouped_matmul, rows_as_they_are)
{
    run_forward(KILN_GROUPED_NONE, KILN_OP_CONTRACT_GROUPS, NULL, NULL);
}

Test(import_grouped_matmul, gathered_rows)
{
    static const int index[ROWS] = {8, 0, 0, 3, -1, 9, 7, 7, 1, 2, 2147483647};
    run_forward(KILN_GROUPED_GATHER, KILN_OP_CONTRACT_GATHER, index, NULL);
}

Test(import_grouped_matmul, scattered_rows)
{
    static const int index[TOKENS] = {4, 0, 1, 3, -1, 2, 2, 99, 1};
    static const int ks[TOKENS] = {0, 1, 0, 1, 0, 0, 1, 1, 2};
    run_forward(KILN_GROUPED_SCATTER, KILN_OP_CONTRACT_SCATTER, index, ks);
}

Test(import_grouped_matmul, gradient)
{
    for (size_t i = 0; i < sizeof offsets / sizeof *offsets; i++) {
        struct kiln_trial trial;
        kiln_trial_begin(&trial, KILN_NODE_GROUPED_MATMUL_BACKWARD, i + 1);
        kiln_trial_input(&trial, KILN_OPERAND_DOUTPUT, KILN_DTYPE_F32, 3,
                         (int64_t[]){1, TOKENS, COLUMNS}, 0, 2);
        kiln_trial_input(&trial, KILN_OPERAND_TOKEN, KILN_DTYPE_F32, 3,
                         (int64_t[]){1, TOKENS, DEPTH}, 0, 2);
        put(&trial, integers(&trial, KILN_OPERAND_FIRST_TOKEN_OFFSET, EXPERTS, 1), offsets[i],
            EXPERTS);
        kiln_trial_output(&trial, KILN_OPERAND_DWEIGHT, KILN_DTYPE_F32, 3,
                          (int64_t[]){EXPERTS, DEPTH, COLUMNS});
        kiln_trial_import(&trial);
        cr_expect_eq(kiln_trial_count(&trial, KILN_OP_CONTRACT_GROUPS), 1);
        check_against_oracle(&trial);
        kiln_trial_check_passes(&trial);
        kiln_trial_end(&trial);
    }
}
