/*
 * Which weights of written-out attention are rounded to the type of the values, and which stay
 * float.
 */
#include "compiler/ir/passes.h"
#include "tests/compiler/ir/sketched_program.h"

#include <criterion/criterion.h>

/* The type that the weights of the sketch's ATTEND are rounded to; FLOAT: they are not. */
static enum kiln_dtype weights_dtype(const char *sketch)
{
    struct sketched_program program;
    enum kiln_dtype dtype = KILN_DTYPE_F32;
    sketched_program_init(&program, sketch);
    struct kiln_ir *ir = &program.ir;
    struct kiln_pass_context context = {.graph = &program.graph.graph};
    cr_assert_eq(kiln_ir_recognize_attention(ir, &context, &program.error), KILN_OK);
    cr_assert(context.is_found, "%s", sketch);
    cr_assert_eq(kiln_ir_round_weights(ir, &context, &program.error), KILN_OK);
    sketched_program_validate(&program);
    for (uint32_t i = 0; i < ir->op_count; i++) {
        if (ir->ops[i].opcode == KILN_OP_ATTEND &&
            ir->ops[ir->ops[i].operands[0]].opcode == KILN_OP_ROUND)
            dtype = ir->ops[ir->ops[i].operands[0]].dtype;
    }
    sketched_program_fini(&program);
    return dtype;
}

/* Scores @3 of 2 x 70 x 130, the exponentials @6, the weights @8. */
#define SCORES "2,70,130:virtual"
#define SOFTMAX(type)                                                                              \
    "Matmul a=2,70,64:" type " b=2,64,130:" type " c=" SCORES " | "                                \
    "Reduction in@3 out=2,70,1:virtual !mode='MAX_OP' | "                                          \
    "Pointwise in_0@3 in_1@4 out_0=" SCORES " !operation='SUB' | "                                 \
    "Pointwise in_0@5 out_0=" SCORES " !operation='EXP' | "                                        \
    "Reduction in@6 out=2,70,1:virtual !mode='ADD' | "                                             \
    "Pointwise in_0@6 in_1@7 out_0=" SCORES " !operation='DIV' | "

Test(round_weights, of_values_and_results_of_16_bits)
{
    cr_expect_eq(weights_dtype(SOFTMAX("HALF") "Matmul a@8 b=2,130,64:HALF c=2,70,64:HALF"),
                 KILN_DTYPE_F16);
    cr_expect_eq(
        weights_dtype(SOFTMAX("BFLOAT16") "Matmul a@8 b=2,130,64:BFLOAT16 c=2,70,64:BFLOAT16"),
        KILN_DTYPE_BF16);
    /* a gate before the result is rounded */
    cr_expect_eq(
        weights_dtype(SOFTMAX("HALF") "Matmul a@8 b=2,130,64:HALF c=2,70,64:virtual | "
                                      "Pointwise in_0@10 in_1=2,70,64:HALF out_0=2,70,64:HALF "
                                      "!operation='MUL'"),
        KILN_DTYPE_F16);
}

Test(round_weights, not_of_what_stays_precise)
{
    cr_expect_eq(weights_dtype(SOFTMAX("HALF") "Matmul a@8 b=2,130,64:HALF c=2,70,64"),
                 KILN_DTYPE_F32, "the result is float");
    cr_expect_eq(weights_dtype(SOFTMAX("FLOAT") "Matmul a@8 b=2,130,64 c=2,70,64:HALF"),
                 KILN_DTYPE_F32, "values are float");
    cr_expect_eq(weights_dtype(SOFTMAX("HALF") "Matmul a@8 b=2,130,64:HALF c=2,70,64:virtual | "
                                               "Pointwise in_0@10 out_0=2,70,64:HALF "
                                               "!operation='NEG' | "
                                               "Reduction in@10 out=2,1,1 !mode='ADD'"),
                 KILN_DTYPE_F32, "the result is summed up in float");
    cr_expect_eq(weights_dtype("Matmul a=2,70,64:HALF b=2,64,130:HALF c=" SCORES " | "
                               "Pointwise in_0@3 out_0=2,70,130:HALF:virtual "
                               "!operation='SIGMOID_FWD' | "
                               "Matmul a@4 b=2,130,64:BFLOAT16 c=2,70,64:HALF"),
                 KILN_DTYPE_F16, "the graph rounds them to another type of 16 bits");
}

/* What is no exponential may be larger than the largest half. */
Test(round_weights, not_where_half_could_overflow)
{
#define SQUARED(type)                                                                              \
    "Matmul a=2,70,64:" type " b=2,64,130:" type " c=" SCORES " | "                                \
    "Pointwise in_0@3 in_1@3 out_0=" SCORES " !operation='MUL' | "                                 \
    "Matmul a@4 b=2,130,64:" type " c=2,70,64:" type
    cr_expect_eq(weights_dtype(SQUARED("HALF")), KILN_DTYPE_F32);
    cr_expect_eq(weights_dtype("Matmul a=2,70,64:HALF b=2,64,130:HALF c=" SCORES " | "
                               "Pointwise in_0@3 out_0=" SCORES " !operation='SIGMOID_FWD' | "
                               "Matmul a@4 b=2,130,64:HALF c=2,70,64:HALF"),
                 KILN_DTYPE_F32, "all sigmoids of a row may be too small");
    cr_expect_eq(weights_dtype(SQUARED("BFLOAT16")), KILN_DTYPE_BF16);
}
