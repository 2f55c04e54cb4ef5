/*
 * Reductions of products' results in two steps, and those that have one.
 */
#include "compiler/ir/passes.h"
#include "tests/compiler/ir/sketched_program.h"

#include <criterion/criterion.h>

/* How many reductions the program has after the pass; each step's elements shrink. */
static uint32_t count_steps(const char *sketch)
{
    struct sketched_program program;
    uint32_t count = 0;
    sketched_program_init(&program, sketch);
    cr_assert_eq(kiln_ir_split_reductions(&program.ir, NULL, &program.error), KILN_OK);
    sketched_program_validate(&program);
    for (uint32_t i = 0; i < program.ir.op_count; i++)
        count +=
            kiln_opcode_info(program.ir.ops[i].opcode)->op_class == KILN_OP_CLASS_REDUCE ? 1 : 0;
    sketched_program_fini(&program);
    return count;
}

/* Rows of a product's result, the longest that its kernel reduces, and longer ones. */
#define PRODUCT(n) "Matmul a=4,16,8 b=4,8," n " c=4,16," n ":virtual | "
#define LONGEST    "1024"
#define TOO_LONG   "1025"

Test(split_reductions, over_n_and_other_axes)
{
    cr_expect_eq(count_steps(PRODUCT(LONGEST) "Reduction in@3 out=1,1,1 !mode='AMAX'"), 2);
    cr_expect_eq(count_steps(PRODUCT(LONGEST) "Reduction in@3 out=4,1,1 !mode='ADD'"), 2);
    cr_expect_eq(count_steps(PRODUCT(LONGEST) "Pointwise in_0@3 in_1=" LONGEST
                                              " out_0=4,16," LONGEST ":virtual !operation='ADD' | "
                                              "Reduction in@5 out=1,1,1 !mode='MIN_OP'"),
                 2);
}

Test(split_reductions, in_one_step)
{
    cr_expect_eq(count_steps(PRODUCT(TOO_LONG) "Reduction in@3 out=1,1,1 !mode='AMAX'"), 1);
    cr_expect_eq(count_steps(PRODUCT(LONGEST) "Reduction in@3 out=4,16,1 !mode='ADD'"), 1);
    cr_expect_eq(count_steps(PRODUCT(LONGEST) "Reduction in@3 out=1,1," LONGEST " !mode='ADD'"), 1);
    cr_expect_eq(count_steps("Reduction in=4,16,24 out=1,1,1 !mode='ADD'"), 1);
}
