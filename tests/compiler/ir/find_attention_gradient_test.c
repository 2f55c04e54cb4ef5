/* Which products are gradients of attention, and which kernels make them. */
#include "compiler/ir/find_attention_gradient.h"

#include "compiler/ir/passes.h"
#include "tests/compiler/ir/sketched_program.h"

#include <criterion/criterion.h>

enum { MAX_ROW = 256 };

static struct sketched_program program;
static struct kiln_attention_gradients found;

static void find(const char *sketch)
{
    sketched_program_init(&program, sketch);
    cr_assert_eq(kiln_find_attention_gradients(&program.ir, MAX_ROW, &found, &program.error),
                 KILN_OK, "%s", program.error.text);
}

/* 70 queries, 130 keys. Scores @3, the exponentials @6, the gradient of the scores @12. */
#define S "2,70,130"
#define SCORES                                                                                     \
    "Matmul a=2,70,64:HALF b=2,64,130:HALF c=" S ":virtual | "                                     \
    "Pointwise in_0@3 in_1=2,70,1 out_0=" S ":virtual !operation='SUB' | "                         \
    "Pointwise in_0@5 out_0=" S ":virtual !operation='EXP' | "                                     \
    "Matmul a=2,70,64:HALF b=2,64,130:HALF c=" S ":virtual | "                                     \
    "Pointwise in_0@9 in_1=2,70,1 out_0=" S ":virtual !operation='SUB' | "                         \
    "Pointwise in_0@11 in_1@6 out_0=" S ":virtual !operation='MUL'"
#define OF_QUERIES " | Matmul a@12 b=2,130,64:HALF c=2,70,64:HALF"

Test(find_attention_gradient, products_of_two_scores)
{
    find(SCORES OF_QUERIES " | Matmul a@6 b=2,130,64:HALF c=2,70,64:HALF");
    cr_assert_eq(found.count, 1);
    cr_expect_eq(found.found[0].score_count, 2);
    cr_expect_eq(found.found[0].attend_count, 2);
    cr_expect_eq(found.found[0].kernel_count, 1, "both sum along rows");
    for (uint32_t a = 0; a < 2; a++)
        cr_expect(!found.found[0].attends[a].is_transposed);
    sketched_program_fini(&program);
}

/* Of one score alone. */
Test(find_attention_gradient, not_where_exponentials_are_wanted)
{
    find(SCORES " | Pointwise in_0@6 out_0=" S " !operation='NEG'" OF_QUERIES);
    cr_expect_eq(found.count, 0);
    sketched_program_fini(&program);
}

Test(find_attention_gradient, gradients_of_scores_that_are_wanted_are_a_fold)
{
    find(SCORES " | Pointwise in_0@12 out_0=" S " !operation='NEG'" OF_QUERIES);
    cr_assert_eq(found.count, 1);
    cr_assert_eq(found.found[0].fold_count, 1);
    cr_expect_eq(found.found[0].folds[0].reader, KILN_NONE);
    cr_expect_eq(found.found[0].folds[0].kernel, 1);
    cr_expect_eq(found.found[0].kernel_count, 2);
    sketched_program_fini(&program);
}

Test(find_attention_gradient, a_sum_of_gradients_begins_in_the_fold)
{
    find(SCORES " | Reduction in@12 out=1,70,130 !mode='ADD'" OF_QUERIES);
    cr_assert_eq(found.count, 1);
    cr_assert_eq(found.found[0].fold_count, 1);
    cr_expect_neq(found.found[0].folds[0].reader, KILN_NONE);
    sketched_program_fini(&program);
}

/* Of two readers each takes what the fold stores. */
Test(find_attention_gradient, two_sums_read_what_is_stored)
{
    find(SCORES " | Reduction in@12 out=1,70,130 !mode='ADD' | Reduction in@12 out=2,70,1 "
                "!mode='ADD'" OF_QUERIES);
    cr_assert_eq(found.count, 1);
    cr_assert_eq(found.found[0].fold_count, 1);
    cr_expect_eq(found.found[0].folds[0].reader, KILN_NONE);
    sketched_program_fini(&program);
}

Test(find_attention_gradient, not_where_their_product_is_wanted)
{
    find(SCORES " | Reduction in@12 out=1,70,130 !mode='MUL'" OF_QUERIES);
    cr_expect_eq(found.count, 0);
    sketched_program_fini(&program);
}

/* Of one gradient only, though functions of other scores are its other operand. */
Test(find_attention_gradient, a_product_of_two_gradients_is_of_one)
{
    find("Matmul a=2,70,64:HALF b=2,64,70:HALF c=2,70,70:virtual | "
         "Pointwise in_0@3 in_1=2,70,1 out_0=2,70,70:virtual !operation='SUB' | "
         "Pointwise in_0@5 out_0=2,70,70:virtual !operation='EXP' | "
         "Matmul a=2,70,64:HALF b=2,64,70:HALF c=2,70,70:virtual | "
         "Pointwise in_0@9 in_1=2,70,1 out_0=2,70,70:virtual !operation='SUB' | "
         "Pointwise in_0@11 out_0=2,70,70:virtual !operation='EXP' | "
         "Matmul a@6 b@12 c=2,70,70:HALF | "
         "Matmul a@6 b=2,70,64:HALF c=2,70,64:HALF | "
         "Matmul a@12 b=2,70,64:HALF c=2,70,64:HALF");
    uint32_t attends = 0;
    for (uint32_t g = 0; g < found.count; g++) {
        for (uint32_t a = 0; a < found.found[g].attend_count; a++)
            attends += program.ir.ops[found.found[g].attends[a].value].opcode == KILN_OP_CONTRACT;
        for (uint32_t other = 0; other < g; other++)
            cr_expect_neq(found.found[g].attends[0].value, found.found[other].attends[0].value);
    }
    cr_expect_leq(attends, 3);
    sketched_program_fini(&program);
}

/* Scores of one query in one batch have one axis, and no batch that a fold could sum over. */
Test(find_attention_gradient, one_query_folds_nothing)
{
    sketched_program_init(&program,
                          "Matmul a=1,1,64:HALF b=1,64,130:HALF c=1,1,130:virtual | "
                          "Pointwise in_0@3 in_1=1,1,1 out_0=1,1,130:virtual !operation='SUB' | "
                          "Pointwise in_0@5 out_0=1,1,130:virtual !operation='EXP' | "
                          "Matmul a=1,1,64:HALF b=1,64,130:HALF c=1,1,130:virtual | "
                          "Pointwise in_0@9 in_1=1,1,1 out_0=1,1,130:virtual !operation='SUB' | "
                          "Pointwise in_0@11 in_1@6 out_0=1,1,130:virtual !operation='MUL' | "
                          "Reduction in@12 out=1,1,1 !mode='ADD' | "
                          "Matmul a@12 b=1,130,64:HALF c=1,1,64:HALF");
    struct kiln_pass_context context = {.graph = &program.graph.graph};
    cr_assert_eq(kiln_ir_recognize_attention_gradient(&program.ir, &context, &program.error),
                 KILN_OK, "%s", program.error.text);
    cr_expect(context.is_found);
    sketched_program_validate(&program);
    sketched_program_fini(&program);
}
