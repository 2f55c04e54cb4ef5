/*
 * Sums of products' operands: which are, and where they stand in the program.
 */
#include "compiler/ir/operand_sums.h"

#include "compiler/ir/passes.h"
#include "tests/compiler/ir/sketched_program.h"

#include <criterion/criterion.h>

static struct sketched_program ordered(const char *sketch)
{
    struct sketched_program program;
    sketched_program_init(&program, sketch);
    cr_assert_eq(kiln_ir_put_sums_behind_products(&program.ir, NULL, &program.error), KILN_OK);
    sketched_program_validate(&program);
    return program;
}

static uint32_t find(const struct kiln_ir *ir, enum kiln_opcode opcode)
{
    for (uint32_t i = 0; i < ir->op_count; i++) {
        if (ir->ops[i].opcode == opcode)
            return i;
    }
    cr_assert_fail("no such operation");
    return 0;
}

Test(operand_sums, come_behind_the_product_with_what_is_made_of_them)
{
    struct sketched_program program =
        ordered("Reduction in=70,33 out=70,1:virtual !mode='ADD' "
                "| Pointwise in_0@2 out_0=70,1 !operation='NEG' | Matmul a@1 b=33,50 c=70,50");
    const struct kiln_ir *ir = &program.ir;
    uint32_t product = find(ir, KILN_OP_CONTRACT), sum = find(ir, KILN_OP_REDUCE_SUM), side = 9;
    cr_assert_lt(product, sum);
    cr_assert_lt(sum, find(ir, KILN_OP_NEG));
    cr_expect(kiln_ir_is_operand_sum(ir, sum, product, &side));
    cr_expect_eq(side, 0);
    sketched_program_fini(&program);
}

/* One that the product itself needs stays before it. */
Test(operand_sums, that_the_product_reads_come_before_it)
{
    struct sketched_program program =
        ordered("Reduction in=33,33 out=33,1:virtual !mode='ADD' "
                "| Pointwise in_0=33,50 in_1@2 out_0=33,50:virtual !operation='MUL' "
                "| Matmul a@1 b@4 c=33,50");
    cr_expect_lt(find(&program.ir, KILN_OP_REDUCE_SUM), find(&program.ir, KILN_OP_CONTRACT));
    sketched_program_fini(&program);
}

Test(operand_sums, are_over_k_and_nothing_else)
{
    static const struct {
        const char *sketch;
        bool is_sum;
        uint32_t side;
    } rows[] = {
        {"Matmul a=4,7,9 b=4,9,5 c=4,7,5 | Reduction in@1 out=4,7,1 !mode='ADD'", true, 0},
        {"Matmul a=4,7,9 b=4,9,5 c=4,7,5 | Reduction in@2 out=4,1,5 !mode='ADD'", true, 1},
        {"Matmul a=4,7,9 b=4,9,5 c=4,7,5 | Reduction in@1 out=4,1,9 !mode='ADD'", false, 0},
        {"Matmul a=4,7,9 b=4,9,5 c=4,7,5 | Reduction in@1 out=1,7,1 !mode='ADD'", false, 0},
        {"Matmul a=1,7,9 b=4,9,5 c=4,7,5 | Reduction in@1 out=1,7,1 !mode='ADD'", false, 0},
        {"Matmul a=4,7,9 b=4,9,5 c=4,7,5 | Reduction in@3 out=4,7,1 !mode='ADD'", false, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct sketched_program program = ordered(rows[i].sketch);
        const struct kiln_ir *ir = &program.ir;
        uint32_t side = 0;
        cr_expect_eq(kiln_ir_is_operand_sum(ir, find(ir, KILN_OP_REDUCE_SUM),
                                            find(ir, KILN_OP_CONTRACT), &side),
                     rows[i].is_sum, "%zu", i);
        cr_expect(!rows[i].is_sum || side == rows[i].side, "%zu", i);
        sketched_program_fini(&program);
    }
}
