/*
 * The pass puts COPYs in front of packed operands, and of no other values.
 */
#include "compiler/ir/passes.h"
#include "tests/compiler/ir/sketched_program.h"

#include <criterion/criterion.h>

/* Counts the COPYs that the pass appends. Each names the tensor of its LOAD. */
static uint32_t count_copies(const char *sketch)
{
    struct sketched_program program;
    uint32_t count = 0;
    sketched_program_init(&program, sketch);
    const struct kiln_ir *ir = &program.ir;
    struct kiln_pass_context context = {.graph = &program.graph.graph};
    cr_assert_eq(kiln_ir_copy_packed_operands(&program.ir, &context, &program.error), KILN_OK);
    sketched_program_validate(&program);
    for (uint32_t i = 0; i < ir->op_count; i++) {
        if (ir->ops[i].opcode != KILN_OP_COPY)
            continue;
        count++;
        cr_expect_eq(ir->ops[i].tensor, ir->ops[ir->ops[i].operands[0]].tensor);
    }
    sketched_program_fini(&program);
    return count;
}

Test(copy_packed, in_front_of_products_and_windows)
{
    cr_expect_eq(count_copies("Matmul a=4,16:FP4_E2M1 b=16,8:FP6_E2M3 c=4,8"), 2);
    cr_expect_eq(count_copies("Matmul a=4,16:HALF b=16,8:INT4 c=4,8"), 1);
    cr_expect_eq(count_copies("ResampleFwd x=2,6,8,8:FP4_E2M1 y=2,6,4,4 !resample_mode='MAXPOOL' "
                              "!padding_mode='NEG_INF_PAD' !pre_padding=[0,0] !post_padding=[0,0] "
                              "!stride=[2,2] !window=[2,2]"),
                 1);
}

Test(copy_packed, of_no_other_tensors)
{
    cr_expect_eq(count_copies("Matmul a=4,16:FP8_E4M3 b=16,8:INT8 c=4,8"), 0);
    cr_expect_eq(count_copies("Pointwise in_0=4,16:FP4_E2M1 out_0=4,16 !operation='NEG'"), 0);
    cr_expect_eq(count_copies("Reduction in=4,16:FP4_E2M1 out=4,1 !mode='ADD'"), 0,
                 "reductions of rows load them");
    cr_expect_eq(count_copies("Pointwise in_0=4,16:FP4_E2M1 out_0=4,16:virtual !operation='ABS' "
                              "| Matmul a@2 b=16,8 c=4,8"),
                 0, "a value is there already");
}
