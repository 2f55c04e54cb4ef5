/*
 * Reductions of products' results in two steps, and those that have one.
 */
#include "compiler/ir/passes.h"
#include "tests/compiler/ir/sketched_program.h"

#include <criterion/criterion.h>

/* How many reductions the program has after the pass; each step's elements shrink. */
static uint32_t count_steps(const char *sketch, int64_t most)
{
    struct sketched_program program;
    uint32_t count = 0;
    sketched_program_init(&program, sketch);
    cr_assert_eq(kiln_ir_split_reductions(&program.ir, most, &program.error), KILN_OK);
    sketched_program_validate(&program);
    for (uint32_t i = 0; i < program.ir.op_count; i++)
        count +=
            kiln_opcode_info(program.ir.ops[i].opcode)->op_class == KILN_OP_CLASS_REDUCE ? 1 : 0;
    sketched_program_fini(&program);
    return count;
}

#define PRODUCT "Matmul a=4,16,8 b=4,8,24 c=4,16,24:virtual | "

Test(split_reductions, over_n_and_other_axes)
{
    cr_expect_eq(count_steps(PRODUCT "Reduction in@3 out=1,1,1 !mode='AMAX'", 24), 2);
    cr_expect_eq(count_steps(PRODUCT "Reduction in@3 out=4,1,1 !mode='ADD'", 24), 2);
    cr_expect_eq(count_steps(PRODUCT "Pointwise in_0@3 in_1=24 out_0=4,16,24:virtual "
                                     "!operation='ADD' | Reduction in@5 out=1,1,1 !mode='MIN_OP'",
                             24),
                 2);
}

Test(split_reductions, in_one_step)
{
    cr_expect_eq(count_steps(PRODUCT "Reduction in@3 out=1,1,1 !mode='AMAX'", 23), 1);
    cr_expect_eq(count_steps(PRODUCT "Reduction in@3 out=4,16,1 !mode='ADD'", 24), 1);
    cr_expect_eq(count_steps(PRODUCT "Reduction in@3 out=1,1,24 !mode='ADD'", 24), 1);
    cr_expect_eq(count_steps("Reduction in=4,16,24 out=1,1,1 !mode='ADD'", 24), 1);
}
