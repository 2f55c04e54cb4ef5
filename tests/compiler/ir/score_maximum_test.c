/*
 * Which graphs show the maximum of attention's scores itself.
 */
#include "compiler/ir/score_maximum.h"

#include "compiler/ir/passes.h"
#include "tests/compiler/ir/sketched_program.h"

#include <criterion/criterion.h>

#define S "2,70,130"
#define R "2,70,1"
#define SOFTMAX_WITH(max)                                                                          \
    "Matmul a=2,70,64:HALF b=2,64,130:HALF c=" S ":virtual | "                                     \
    "Reduction in@3 out=" R max " !mode='MAX_OP' | "                                               \
    "Pointwise in_0@3 in_1@4 out_0=" S ":virtual !operation='SUB' | "                              \
    "Pointwise in_0@5 out_0=" S ":virtual !operation='EXP' | "                                     \
    "Reduction in@6 out=" R ":virtual !mode='ADD' | "                                              \
    "Pointwise in_0@6 in_1@7 out_0=" S ":HALF:virtual !operation='DIV' | "
#define ATTENDED "Matmul a@8 b=2,130,64:HALF c=2,70,64:HALF"
#define HIDDEN   SOFTMAX_WITH(":virtual")

static bool shows(const char *sketch)
{
    struct sketched_program program;
    sketched_program_init(&program, sketch);
    struct kiln_pass_context context = {.graph = &program.graph.graph};
    cr_assert_eq(kiln_ir_recognize_attention(&program.ir, &context, &program.error), KILN_OK);
    sketched_program_validate(&program);
    uint32_t max = 0;
    while (max < program.ir.op_count && program.ir.ops[max].opcode != KILN_OP_SCORE_MAX)
        max++;
    cr_assert_lt(max, program.ir.op_count, "no attention in '%s'", sketch);
    bool is_shown = kiln_ir_shows_nan_of_maximum(&program.ir, max);
    sketched_program_fini(&program);
    return is_shown;
}

Test(score_maximum, is_shown_as_an_output_and_by_what_is_made_of_it)
{
    cr_expect(shows(SOFTMAX_WITH("") ATTENDED));
    cr_expect(shows(HIDDEN "Pointwise in_0@4 out_0=" R " !operation='NEG' | " ATTENDED));
    cr_expect(shows(HIDDEN "Pointwise in_0@4 in_1=" R " out_0=" R
                           ":INT32 !operation='CMP_GT' | " ATTENDED));
    cr_expect(shows(HIDDEN "Pointwise in_0@4 in_1@7 in_2=" R ":INT32 out_0=" R
                           " !operation='BINARY_SELECT' | " ATTENDED));
}

Test(score_maximum, is_not_shown_beside_the_sum)
{
    cr_expect_not(shows(HIDDEN ATTENDED));
    cr_expect_not(shows(HIDDEN "Pointwise in_0@7 out_0=" R ":virtual !operation='LOG' | "
                               "Pointwise in_0@9 in_1@4 out_0=" R " !operation='ADD' | " ATTENDED));
    cr_expect_not(shows("Sdpa q=1,2,140,32:HALF k=1,2,50,32:HALF v=1,2,50,32:HALF "
                        "o=1,2,140,32:HALF stats=1,2,140,1 !generate_stats=true"));
}

/* What loses the sum's NaN, or takes the maxima of other rows. */
Test(score_maximum, is_shown_where_the_sum_does_not_tell)
{
    cr_expect(shows(HIDDEN "Pointwise in_0@7 out_0=" R ":INT32:virtual !operation='IDENTITY' | "
                           "Pointwise in_0@9 in_1@4 out_0=" R " !operation='ADD' | " ATTENDED));
    cr_expect(shows(HIDDEN "Reduction in@4 out=1,70,1:virtual !mode='ADD' | "
                           "Pointwise in_0@9 in_1@7 out_0=" R " !operation='ADD' | " ATTENDED));
}
