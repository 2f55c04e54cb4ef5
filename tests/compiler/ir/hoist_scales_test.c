/*
 * Which constant factors of operands go behind their product.
 */
#include "compiler/ir/exact_dtypes.h"
#include "compiler/ir/passes.h"
#include "tests/compiler/ir/sketched_program.h"

#include <criterion/criterion.h>

/* How many operands of the sketch's products have at most 16 bits after the pass. */
static uint32_t count_narrow_operands(const char *sketch)
{
    struct sketched_program program;
    uint32_t count = 0;
    sketched_program_init(&program, sketch);
    const struct kiln_graph *graph = &program.graph.graph;
    const struct kiln_ir *ir = &program.ir;
    struct kiln_pass_context context = {.graph = graph};
    cr_assert_eq(kiln_ir_hoist_scales(&program.ir, &context, &program.error), KILN_OK);
    sketched_program_validate(&program);
    uint32_t *sets = kiln_arena_calloc(&program.arena, ir->op_count, sizeof *sets);
    cr_assert_not_null(sets);
    for (uint32_t i = 0; i < ir->op_count; i++) {
        sets[i] = kiln_op_exact_dtypes(&ir->ops[i], graph, sets);
        for (uint32_t k = 0; ir->ops[i].opcode == KILN_OP_CONTRACT && k < 2; k++)
            count += (sets[ir->ops[i].operands[k]] & KILN_DTYPE_BIT(KILN_DTYPE_F16)) != 0 ? 1 : 0;
    }
    sketched_program_fini(&program);
    return count;
}

#define MATMUL "Matmul a@3 b=4,8,24:HALF c=4,16,24:HALF"

Test(hoist_scales, of_operands_that_are_narrow_without)
{
    cr_expect_eq(count_narrow_operands("Pointwise in_0=4,16,8:HALF in_1=k out_0=4,16,8:virtual "
                                       "!operation='MUL' | " MATMUL),
                 2);
    cr_expect_eq(count_narrow_operands("Pointwise in_0=4,16,8:INT8 in_1=k out_0=4,16,8:virtual "
                                       "!operation='DIV' | " MATMUL),
                 2);
}

Test(hoist_scales, not_of_others)
{
    cr_expect_eq(count_narrow_operands("Pointwise in_0=4,16,8 in_1=k out_0=4,16,8:virtual "
                                       "!operation='MUL' | " MATMUL),
                 1, "float without its factor");
    cr_expect_eq(
        count_narrow_operands("Pointwise in_0=4,16,8:HALF in_1=4,16,1 out_0=4,16,8:virtual "
                              "!operation='MUL' | " MATMUL),
        1, "a factor from memory may be infinite");
}

/* One after the other they could leave the range of float on the way. */
Test(hoist_scales, of_both_operands_as_one_factor)
{
    struct sketched_program program;
    uint32_t factors = 0;
    sketched_program_init(&program, "Pointwise in_0=4,16,8:HALF in_1=k65536 out_0=4,16,8:virtual "
                                    "!operation='MUL' | "
                                    "Pointwise in_0=4,8,24:HALF in_1=k32768 out_0=4,8,24:virtual "
                                    "!operation='DIV' | "
                                    "Matmul a@3 b@6 c=4,16,24:HALF");
    const struct kiln_ir *ir = &program.ir;
    struct kiln_pass_context context = {.graph = &program.graph.graph};
    cr_assert_eq(kiln_ir_hoist_scales(&program.ir, &context, &program.error), KILN_OK);
    sketched_program_validate(&program);
    for (uint32_t i = 0; i < ir->op_count; i++) {
        const struct kiln_op *op = &ir->ops[i];
        if (op->opcode != KILN_OP_MUL || ir->ops[op->operands[0]].opcode != KILN_OP_CONTRACT)
            continue;
        cr_expect_eq(ir->ops[op->operands[1]].constant.real, 2);
        factors++;
    }
    cr_expect_eq(factors, 1);
    sketched_program_fini(&program);
}

/* A CONSTANT holds a value of its type: the product of two floats is rounded to one. */
Test(hoist_scales, as_a_float)
{
    struct sketched_program program;
    sketched_program_init(&program, "Pointwise in_0=4,16,8:HALF in_1=k0.3 out_0=4,16,8:virtual "
                                    "!operation='MUL' | "
                                    "Pointwise in_0=4,8,24:HALF in_1=k0.7 out_0=4,8,24:virtual "
                                    "!operation='MUL' | "
                                    "Matmul a@3 b@6 c=4,16,24:HALF");
    struct kiln_pass_context context = {.graph = &program.graph.graph};
    cr_assert_eq(kiln_ir_hoist_scales(&program.ir, &context, &program.error), KILN_OK);
    sketched_program_validate(&program);
    sketched_program_fini(&program);
}
