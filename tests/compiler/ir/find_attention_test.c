/* Where a program has attention, and which parts of it are what. */
#include "compiler/ir/find_attention.h"

#include "tests/compiler/ir/sketched_program.h"

#include <criterion/criterion.h>
#include <stdio.h>

enum { MAX_ROW = 256, MAX_SKETCH = 4096 };

static struct sketched_program program;
static struct kiln_attentions found;

static void find(const char *sketch)
{
    sketched_program_init(&program, sketch);
    cr_assert_eq(kiln_find_attention(&program.ir, MAX_ROW, &found, &program.error), KILN_OK, "%s",
                 program.error.text);
}

/* Scores @3, the maximum @4, the exponential @6 and its sum @7 of 70 queries and 130 keys. */
#define S "2,70,130"
#define R "2,70,1"
#define PRODUCT                                                                                    \
    "Matmul a=2,70,64:HALF b=2,64,130:HALF c=" S ":virtual | "                                     \
    "Reduction in@3 out=" R ":virtual !mode='MAX_OP' | "
#define EXPONENTIAL(shift) "Pointwise in_0@3 in_1@" shift " out_0=" S ":virtual !operation='SUB' | "
#define SUM(d, e)                                                                                  \
    "Pointwise in_0@" d " out_0=" S ":virtual !operation='EXP' | "                                 \
    "Reduction in@" e " out=" R ":virtual !mode='ADD' | "
#define SOFTMAX       PRODUCT EXPONENTIAL("4") SUM("5", "6")
#define DIVIDED(type) "Pointwise in_0@6 in_1@7 out_0=" S type ":virtual !operation='DIV' | "
#define MUL(a, b, type)                                                                            \
    "Pointwise in_0@" a " in_1" b " out_0=" S type ":virtual !operation='MUL' | "
/* 1 in place of the sum where `of` is 0. */
#define ONE_WHERE_ZERO(of, condition)                                                              \
    "Pointwise in_0" of " in_1=k0 out_0=" R ":virtual !operation='CMP_EQ' | "                      \
    "Pointwise in_0=k1 in_1@7 in_2@" condition " out_0=" R                                         \
    ":virtual !operation='BINARY_SELECT' | "
#define DIVIDED_BY(l) "Pointwise in_0@6 in_1@" l " out_0=" S ":HALF:virtual !operation='DIV' | "
#define ATTENDED(p)   "Matmul a@" p " b=2,130,64:HALF c=2,70,64:HALF"

Test(find_attention, parts_of_a_softmax)
{
    find(SOFTMAX DIVIDED(":HALF") ATTENDED("8"));
    cr_assert_eq(found.count, 1);
    const struct kiln_found_attention *attention = &found.found[0];
    cr_expect(attention->is_online && attention->shift == attention->max && attention->is_divided);
    cr_expect(!attention->is_guarded && !attention->are_scores_transposed);
    cr_expect_eq(attention->side, 0);
    cr_expect_eq(attention->x, attention->score);
    cr_assert_eq(attention->path_count, 2);
    cr_expect_eq(program.ir.ops[attention->path[0].value].opcode, KILN_OP_ROUND);
    cr_expect_eq(attention->path[0].factor, KILN_NONE);
    cr_expect_eq(program.ir.ops[attention->path[1].value].opcode, KILN_OP_DIV);
    cr_expect_eq(program.ir.ops[attention->path[1].factor].opcode, KILN_OP_REDUCE_SUM);
    cr_expect_eq(found.part[attention->path[1].factor], KILN_ATTENTION_SUM);
    cr_expect_eq(found.part[attention->score], KILN_ATTENTION_SCORE);
    cr_expect_eq(found.part[attention->max], KILN_ATTENTION_MAX);
    cr_expect_eq(found.part[attention->exp], KILN_ATTENTION_EXP);
    cr_expect_eq(found.part[attention->attend], KILN_ATTENTION_ATTEND);
    sketched_program_fini(&program);
}

#define SHIFTED_BY(type)                                                                           \
    "Matmul a=2,70,64:HALF b=2,64,130:HALF c=" S ":virtual | "                                     \
    "Reduction in@3 out=" R type ":virtual !mode='MAX_OP' | " EXPONENTIAL("4") SUM("5", "6")       \
        DIVIDED("") ATTENDED("8")

/* The kernel multiplies rows by exp(maximum - shift), which a shift that ends at 448 lets
 * overflow. */
Test(find_attention, shifts_that_are_no_maximum)
{
    static const struct {
        const char *sketch;
        bool is_online;
    } cases[] = {
        {SHIFTED_BY(":HALF"), true},
        {SHIFTED_BY(":BFLOAT16"), true},
        {SHIFTED_BY(":FP8_E4M3"), false},
        {PRODUCT "Pointwise in_0@4 in_1=" R " out_0=" R ":virtual !operation='MUL' | " EXPONENTIAL(
             "6") SUM("7", "8") "Pointwise in_0@8 in_1@9 out_0=" S
                                ":virtual !operation='DIV' | " ATTENDED("10"),
         false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        find(cases[i].sketch);
        bool is_online = found.count == 1 && found.found[0].is_online;
        cr_expect_eq(is_online, cases[i].is_online, "%s", cases[i].sketch);
        sketched_program_fini(&program);
    }
}

Test(find_attention, without_a_softmax)
{
    find("Matmul a=2,70,64:HALF b=2,64,130:HALF c=" S ":virtual | "
         "Pointwise in_0@3 out_0=" S ":HALF:virtual !operation='SIGMOID_FWD' | " ATTENDED("4"));
    cr_assert_eq(found.count, 1);
    cr_expect(!found.found[0].is_online);
    sketched_program_fini(&program);
}

/* Weights that are rounded somewhere else than in the graph: in which they are multiples, not
 * smaller, of what the graph rounds. */
static const struct {
    const char *text;
    bool is_attention;
    const char *sketch;
} roundings[] = {
    {"divided", true, SOFTMAX DIVIDED(":HALF") ATTENDED("8")},
    {"not rounded", true, SOFTMAX DIVIDED("") ATTENDED("8")},
    {"times the reciprocal of the sum", true,
     SOFTMAX "Pointwise in_0@7 out_0=" R
             ":virtual !operation='RECIPROCAL' | " MUL("6", "@8", ":HALF") ATTENDED("9")},
    {"the sum and an epsilon", true,
     SOFTMAX "Pointwise in_0@7 in_1=k out_0=" R ":virtual !operation='ADD' | "
             "Pointwise in_0@6 in_1@9 out_0=" S ":HALF:virtual !operation='DIV' | " ATTENDED("10")},
    {"the sum, or 1 where that is 0", true,
     SOFTMAX ONE_WHERE_ZERO("@7", "9") DIVIDED_BY("11") ATTENDED("12")},
    {"the sum, or 1 where something else is 0", false,
     SOFTMAX ONE_WHERE_ZERO("=" R, "10") DIVIDED_BY("12") ATTENDED("13")},
    {"any other number", false,
     SOFTMAX "Pointwise in_0@6 in_1=" R " out_0=" S
             ":HALF:virtual !operation='DIV' | " ATTENDED("9")},
    {"any other number, in bfloat16", true,
     SOFTMAX "Pointwise in_0@6 in_1=" R " out_0=" S
             ":BFLOAT16:virtual !operation='DIV' | " ATTENDED("9")},
    {"halved", true, SOFTMAX DIVIDED("") MUL("8", "=k0.5", ":HALF") ATTENDED("10")},
    {"a thousand times", false, SOFTMAX DIVIDED("") MUL("8", "=k1000", ":HALF") ATTENDED("10")},
    {"a thousand times, in bfloat16", true,
     SOFTMAX DIVIDED("") MUL("8", "=k1000", ":BFLOAT16") ATTENDED("10")},
    {"elements multiplied, which may overflow half", false,
     SOFTMAX DIVIDED("") MUL("8", "=" S ":HALF", ":HALF") ATTENDED("10")},
    {"elements multiplied, in bfloat16", true,
     SOFTMAX DIVIDED("") MUL("8", "=" S ":HALF", ":BFLOAT16") ATTENDED("10")},
    {"elements multiplied behind the rounding", true,
     SOFTMAX DIVIDED(":HALF") MUL("8", "=" S ":HALF", "") ATTENDED("10")},
    {"rounded twice, only a factor in between", true,
     SOFTMAX DIVIDED(":HALF") MUL("8", "=k0.5", ":HALF") ATTENDED("10")},
    {"rounded twice, elements multiplied in between", false,
     SOFTMAX DIVIDED(":BFLOAT16") MUL("8", "=" S ":HALF", ":BFLOAT16") ATTENDED("10")},
    {"rounded to two types", false,
     SOFTMAX DIVIDED(":HALF") MUL("8", "=k0.5", ":BFLOAT16") ATTENDED("10")},
    {"rounded to fp8", false, SOFTMAX DIVIDED(":FP8_E4M3") ATTENDED("8")},
    {"a shift that is larger than the maximum", true,
     PRODUCT "Pointwise in_0@4 in_1=" R " out_0=" R ":virtual !operation='MAX_OP' | " EXPONENTIAL(
         "6") SUM("7", "8") "Pointwise in_0@8 in_1@9 out_0=" S
                            ":HALF:virtual !operation='DIV' | " ATTENDED("10")},
    {"a shift that may be smaller than the maximum", false,
     PRODUCT "Pointwise in_0@4 in_1=" R " out_0=" R ":virtual !operation='MUL' | " EXPONENTIAL("6")
         SUM("7", "8") "Pointwise in_0@8 in_1@9 out_0=" S
                       ":HALF:virtual !operation='DIV' | " ATTENDED("10")},
};

Test(find_attention, roundings)
{
    for (size_t i = 0; i < sizeof roundings / sizeof *roundings; i++) {
        find(roundings[i].sketch);
        cr_expect_eq(found.count, roundings[i].is_attention, "%s", roundings[i].text);
        sketched_program_fini(&program);
    }
}
