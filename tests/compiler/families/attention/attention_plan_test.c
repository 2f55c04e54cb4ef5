/*
 * Which kernels attention becomes, however a graph writes it out: one, with nothing of the scores'
 * size in memory.
 */
#include "compiler/families/attention/schedule/attention_schedule.h"
#include "compiler/families/contraction/schedule/mma.h"
#include "tests/compiler/sketched_plans.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct sketched_plans plans;
static struct kiln_buffer text;

static void setup(void)
{
    sketched_plans_init(&plans);
    kiln_buffer_init(&text);
}

static void teardown(void)
{
    kiln_buffer_fini(&text);
    sketched_plans_fini(&plans);
}

TestSuite(attention_plan, .init = setup, .fini = teardown);

static const char *const targets[] = {"host", "gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"};
enum { TARGET_COUNT = sizeof targets / sizeof *targets };

/* Queries, keys, values 2 x 4 heads of 70 x 64 and 130 x 64; scores @3. */
#define SCORES         "2,4,70,130"
#define ROWS           "2,4,70,1"
#define PRODUCT        "Matmul a=2,4,70,64:HALF b=2,4,64,130:HALF c=" SCORES ":virtual | "
#define PRODUCT_STORED "Matmul a=2,4,70,64:HALF b=2,4,64,130:HALF c=" SCORES " | "
#define SCALED         PRODUCT "Pointwise in_0@3 in_1=s out_0=" SCORES ":virtual !operation='MUL' | "
/* From x to the exponential (e), its sum (l): three tensors more. */
#define SOFTMAX(x, m, d, e)                                                                        \
    "Reduction in@" x " out=" ROWS ":virtual !mode='MAX_OP' | "                                    \
    "Pointwise in_0@" x " in_1@" m " out_0=" SCORES ":virtual !operation='SUB' | "                 \
    "Pointwise in_0@" d " out_0=" SCORES ":virtual !operation='EXP' | "                            \
    "Reduction in@" e " out=" ROWS ":virtual !mode='ADD' | "
#define DIVIDED(e, l)                                                                              \
    "Pointwise in_0@" e " in_1@" l " out_0=" SCORES ":HALF:virtual !operation='DIV' | "
#define ATTENDED(p) "Matmul a@" p " b=2,4,130,64:HALF c=2,4,70,64:HALF"

static const char *const one_kernel[] = {
    SCALED SOFTMAX("5", "6", "7", "8") DIVIDED("8", "9") ATTENDED("10"),
    /* a bias for each head and one for each key, or a mask */
    SCALED "Pointwise in_0@5 in_1=1,4,70,130:HALF out_0=" SCORES
           ":virtual !operation='ADD' | " SOFTMAX("7", "8", "9", "10") DIVIDED("10", "11")
               ATTENDED("12"),
    SCALED "Pointwise in_0@5 in_1=2,1,1,130 out_0=" SCORES
           ":virtual !operation='ADD' | " SOFTMAX("7", "8", "9", "10") DIVIDED("10", "11")
               ATTENDED("12"),
    /* soft cap */
    SCALED "Pointwise in_0@5 out_0=" SCORES ":virtual !operation='TANH_FWD' | "
           "Pointwise in_0@6 in_1=s out_0=" SCORES
           ":virtual !operation='MUL' | " SOFTMAX("8", "9", "10", "11") DIVIDED("11", "12")
               ATTENDED("13"),
    /* ALiBi: the difference of indices, times a slope of the head */
    SCALED "Pointwise in_0=1,1,70,1 in_1=1,1,1,130 out_0=1,1,70,130:virtual !operation='SUB' | "
           "Pointwise in_0@8 in_1=1,4,1,1 out_0=1,4,70,130:virtual !operation='MUL' | "
           "Pointwise in_0@5 in_1@10 out_0=" SCORES
           ":virtual !operation='ADD' | " SOFTMAX("11", "12", "13", "14") DIVIDED("14", "15")
               ATTENDED("16"),
    /* causal, by indices */
    SCALED
    "Pointwise in_0@5 out_0=" SCORES ":INT32:virtual !operation='GEN_INDEX' !axis_tensor_uid=2 | "
    "Pointwise in_0@5 out_0=" SCORES ":INT32:virtual !operation='GEN_INDEX' !axis_tensor_uid=3 | "
    "Pointwise in_0@7 in_1@6 out_0=" SCORES ":virtual !operation='CMP_GT' | "
    "Pointwise in_0@8 in_1=k out_0=" SCORES ":virtual !operation='MUL' | "
    "Pointwise in_0@5 in_1@10 out_0=" SCORES
    ":virtual !operation='SUB' | " SOFTMAX("11", "12", "13", "14") DIVIDED("14", "15")
        ATTENDED("16"),
    /* statistics as an output */
    SCALED SOFTMAX("5", "6", "7", "8") DIVIDED("8", "9") "Pointwise in_0@9 out_0=" ROWS
                                                         ":virtual !operation='LOG' | "
                                                         "Pointwise in_0@11 in_1@6 out_0=" ROWS
                                                         " !operation='ADD' | " ATTENDED("10"),
    /* divided by the product's side already, then a gate and a residual */
    SCALED SOFTMAX(
        "5", "6", "7",
        "8") "Pointwise in_0@8 out_0=" SCORES ":HALF:virtual !operation='IDENTITY' | "
             "Matmul a@10 b=2,4,130,64:HALF c=2,4,70,64:virtual | "
             "Pointwise in_0@12 in_1@9 out_0=2,4,70,64:virtual !operation='DIV' | "
             "Pointwise in_0@13 in_1=2,4,70,64:HALF out_0=2,4,70,64:virtual !operation='MUL' | "
             "Pointwise in_0@15 in_1=2,4,70,64:HALF out_0=2,4,70,64:HALF !operation='ADD'",
    /* scores and their maximum are rounded */
    "Matmul a=2,4,70,64:HALF b=2,4,64,130:HALF c=" SCORES ":HALF:virtual | Reduction in@3 out=" ROWS
    ":HALF:virtual !mode='MAX_OP' | "
    "Pointwise in_0@3 in_1@4 out_0=" SCORES ":virtual !operation='SUB' | "
    "Pointwise in_0@5 out_0=" SCORES ":virtual !operation='EXP' | "
    "Reduction in@6 out=" ROWS ":virtual !mode='ADD' | " DIVIDED("6", "7") ATTENDED("8"),
    /* sigmoid attention */
    SCALED "Pointwise in_0@5 out_0=" SCORES
           ":HALF:virtual !operation='SIGMOID_FWD' | " ATTENDED("6"),
};
enum { ONE_KERNEL_COUNT = sizeof one_kernel / sizeof *one_kernel };

static struct kiln_kernel_plan make_plan(const char *sketch, const char *target_name)
{
    const struct kiln_lower_options options = {0};
    return sketched_plans_make(&plans, sketch, target_name, &options);
}

Test(attention_plan, what_is_written_out_is_one_kernel)
{
    for (int target = 0; target < TARGET_COUNT; target++) {
        for (int i = 0; i < ONE_KERNEL_COUNT; i++) {
            struct kiln_kernel_plan plan = make_plan(one_kernel[i], targets[target]);
            cr_expect_eq(plan.partition.group_count, 1, "%s: graph %d has %u kernels",
                         targets[target], i, plan.partition.group_count);
            cr_expect_eq(plan.partition.groups[0].family, KILN_FAMILY_ATTENTION, "%s: graph %d",
                         targets[target], i);
            cr_expect_eq(plan.partition.workspace_bytes, 0, "%s: graph %d", targets[target], i);
        }
    }
}

/* What somebody else reads of the scores, what is rounded on the way to the exponential, and heads
 * that no tile has room for. */
static const char *const others[] = {
    PRODUCT_STORED "Pointwise in_0@3 in_1=s out_0=" SCORES
                   ":virtual !operation='MUL' | " SOFTMAX("5", "6", "7", "8") DIVIDED("8", "9")
                       ATTENDED("10"),
    SCALED SOFTMAX("5", "6", "7", "8") "Pointwise in_0@8 in_1@9 out_0=" SCORES
                                       ":HALF !operation='DIV' | " ATTENDED("10"),
    SCALED SOFTMAX("5", "6", "7", "8") DIVIDED("8", "9") "Pointwise in_0@8 out_0=" SCORES
                                                         " !operation='SQRT' | " ATTENDED("10"),
    SCALED "Reduction in@5 out=" ROWS ":virtual !mode='MAX_OP' | "
           "Pointwise in_0@5 in_1@6 out_0=" SCORES ":HALF:virtual !operation='SUB' | "
           "Pointwise in_0@7 out_0=" SCORES ":virtual !operation='EXP' | "
           "Reduction in@8 out=" ROWS ":virtual !mode='ADD' | " DIVIDED("8", "9") ATTENDED("10"),
    /* values that depend on the sums */
    SCALED SOFTMAX("5", "6", "7", "8")
        DIVIDED("8", "9") "Reduction in@9 out=1,1,1,1:virtual !mode='MAX_OP' | "
                          "Pointwise in_0=2,4,130,64:HALF in_1@11 out_0=2,4,130,64:HALF:virtual "
                          "!operation='MUL' | "
                          "Matmul a@10 b@13 c=2,4,70,64:HALF",
    "Matmul a=1,4,70,264:HALF b=1,4,264,130:HALF c=1,4,70,130:virtual | "
    "Pointwise in_0@3 out_0=1,4,70,130:HALF:virtual !operation='SIGMOID_FWD' | "
    "Matmul a@4 b=1,4,130,64:HALF c=1,4,70,64:HALF",
    /* weights that multiply values, and then what comes of that: products of the same scores, one
       after the other */
    "Matmul a=1,4,70,64:HALF b=1,4,64,70:HALF c=1,4,70,70:virtual | "
    "Pointwise in_0@3 in_1=1,4,70,1 out_0=1,4,70,70:virtual !operation='SUB' | "
    "Pointwise in_0@5 out_0=1,4,70,70:HALF:virtual !operation='EXP' | "
    "Matmul a@6 b=1,4,70,64:HALF c=1,4,70,64:HALF | Matmul a@6 b@8 c=1,4,70,64:HALF",
    /* two layers: their weights are of all batches */
    "Matmul a=2,70,64:HALF b=1,64,130:HALF c=2,70,130:virtual | "
    "Pointwise in_0@3 out_0=2,70,130:HALF:virtual !operation='RELU_FWD' | "
    "Matmul a@4 b=1,130,64:HALF c=2,70,64:HALF",
};
enum { OTHER_COUNT = sizeof others / sizeof *others };

Test(attention_plan, what_is_read_elsewhere_stays_as_it_is)
{
    for (int i = 0; i < OTHER_COUNT; i++) {
        struct kiln_kernel_plan plan = make_plan(others[i], "gfx942");
        cr_expect_gt(plan.partition.group_count, 1, "graph %d", i);
        for (uint32_t g = 0; g < plan.partition.group_count; g++)
            cr_expect_neq(plan.partition.groups[g].family, KILN_FAMILY_ATTENTION, "graph %d", i);
    }
}

/* What looks like attention and is none has a reason that names both products; layers are not
 * meant. */
Test(attention_plan, the_plan_says_why_not)
{
    static const struct {
        const char *sketch, *target, *reason;
    } cases[] = {
        {PRODUCT_STORED "Pointwise in_0@3 in_1=s out_0=" SCORES
                        ":virtual !operation='MUL' | " SOFTMAX("5", "6", "7", "8") DIVIDED("8", "9")
                            ATTENDED("10"),
         "gfx942", "something else reads the scores"},
        {"Matmul a=1,4,70,264:HALF b=1,4,264,130:HALF c=1,4,70,130:virtual | "
         "Pointwise in_0@3 out_0=1,4,70,130:HALF:virtual !operation='SIGMOID_FWD' | "
         "Matmul a@4 b=1,4,130,64:HALF c=1,4,70,64:HALF",
         "gfx942", "heads have more elements"},
        {"Sdpa q=2,4,72,64:DOUBLE k=2,2,128,64:DOUBLE v=2,2,128,64:DOUBLE o=2,4,72,64:DOUBLE",
         "gfx942", "not summed up as floats"},
        {"Matmul a=1,4,70,64:FP8_E4M3 b=1,4,64,130:FP8_E4M3 c=1,4,70,130:virtual | "
         "Pointwise in_0@3 out_0=1,4,70,130:FP8_E4M3:virtual !operation='SIGMOID_FWD' | "
         "Matmul a@4 b=1,4,130,64:FP8_E4M3 c=1,4,70,64:HALF",
         "gfx942", "operands of one byte"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct kiln_kernel_plan plan = make_plan(cases[i].sketch, cases[i].target);
        cr_assert_not_null(plan.missed.why, "graph %zu", i);
        cr_expect_not_null(strstr(plan.missed.why, cases[i].reason), "graph %zu: %s", i,
                           plan.missed.why);
    }
    static const char layers[] =
        "Matmul a=2,70,64:HALF b=1,64,130:HALF c=2,70,130:virtual | "
        "Pointwise in_0@3 out_0=2,70,130:HALF:virtual !operation='RELU_FWD' | "
        "Matmul a@4 b=1,130,64:HALF c=2,70,64:HALF";
    cr_expect_null(make_plan(layers, "gfx942").missed.why);
    for (int i = 0; i < ONE_KERNEL_COUNT; i++)
        cr_expect_null(make_plan(one_kernel[i], "gfx942").missed.why, "graph %d", i);
}

/* The only kernel of a sketch; its texts live as long as the plans. */
static struct kiln_kernel lower(const char *sketch, const char *target_name)
{
    const struct kiln_program program = sketch_lower(&plans.arena, sketch, target_name, NULL);
    cr_assert_eq(program.kernel_count, 1);
    return program.kernels[0];
}

/* One matrix as keys, transposed, and as values: a tile of it that is staged for the first product
 * is the wrong way round for the second. */
Test(attention_plan, a_tile_is_shared_only_if_it_lies_the_same_way)
{
    static const char *const softmax =
        "Reduction in@3 out=4,64,1:virtual !mode='MAX_OP' | "
        "Pointwise in_0@3 in_1@4 out_0=4,64,64:virtual !operation='SUB' | "
        "Pointwise in_0@5 out_0=4,64,64:virtual !operation='EXP' | "
        "Reduction in@6 out=4,64,1:virtual !mode='ADD' | "
        "Pointwise in_0@6 in_1@7 out_0=4,64,64:HALF:virtual !operation='DIV' | "
        "Matmul a@8 b@2 c=4,64,64:HALF";
    char sketch[1024];
    (void)snprintf(sketch, sizeof sketch, "%s%s",
                   "Matmul a=4,64,64:HALF b=4,64,64:HALF c=4,64,64:virtual | ", softmax);
    struct kiln_kernel_plan plan = make_plan(sketch, "sm_90");
    cr_assert_eq(plan.partition.groups[0].family, KILN_FAMILY_ATTENTION);
    cr_expect_eq(kiln_attention_schedule_of(&plan.schedules[0])->value.shares, 0);
}

/* The symbol is made of the text. */
static const char *symbol_of(const char *sketch, const char *target_name)
{
    return lower(sketch, target_name).symbol;
}

static const char *source_of(const char *sketch, const char *target_name)
{
    return lower(sketch, target_name).source;
}

#define SIGMOID(batch, heads, m, n)                                                                \
    "Matmul a=" #batch "," #heads "," #m ",64:HALF b=" #batch "," #heads ",64," #n                 \
    ":HALF c=" #batch "," #heads "," #m "," #n ":virtual | "                                       \
    "Pointwise in_0@3 out_0=" #batch "," #heads "," #m "," #n                                      \
    ":HALF:virtual !operation='SIGMOID_FWD' | "                                                    \
    "Matmul a@4 b=" #batch "," #heads "," #n ",64:HALF c=" #batch "," #heads "," #m ",64:HALF"

Test(attention_plan, sequences_of_all_lengths_share_a_kernel)
{
    for (int target = 0; target < TARGET_COUNT; target++) {
        const char *symbol = symbol_of(SIGMOID(2, 4, 72, 128), targets[target]);
        cr_expect_str_eq(symbol_of(SIGMOID(8, 16, 2048, 4096), targets[target]), symbol);
        cr_expect_str_eq(symbol_of(SIGMOID(3, 2, 70, 1000), targets[target]), symbol);
        symbol = symbol_of(SIGMOID(64, 32, 1, 1000), targets[target]);
        cr_expect_str_eq(symbol_of(SIGMOID(128, 16, 13, 2000), targets[target]), symbol);
    }
}

Test(attention_plan, explanation_names_the_softmax)
{
    const struct kiln_dump dump = {.stages = KILN_DUMP_SCHEDULE, .text = &text};
    (void)sketch_lower(&plans.arena, one_kernel[0], "gfx942", &dump);
    cr_expect_not_null(strstr(kiln_buffer_text(&text), "template attention"));
    cr_expect_not_null(strstr(kiln_buffer_text(&text), "softmax as it goes"));
}

/* Heads of 100 halves: rows begin at multiples of 8 bytes, and the last pack of a row is not whole.
 * The template copies packs as they lie in memory. */
Test(attention_plan, packs_are_whole_and_aligned_where_the_target_needs_it)
{
    static const char heads[] = "Sdpa q=1,2,70,100:HALF k=1,2,130,100:HALF v=1,2,130,100:HALF "
                                "o=1,2,70,100:HALF";
    static const struct {
        const char *target, *words;
    } cases[] = {{"gfx942", "read along k in vectors of 8"}, {"sm_90", "read along k one by one"}};
    const struct kiln_dump dump = {.stages = KILN_DUMP_SCHEDULE, .text = &text};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kiln_buffer_clear(&text);
        (void)sketch_lower(&plans.arena, heads, cases[i].target, &dump);
        cr_expect_not_null(strstr(kiln_buffer_text(&text), cases[i].words), "%s",
                           kiln_buffer_text(&text));
    }
}

/* A factor of all that is exponentiated belongs to the exponent, and of a soft cap's tangent only
 * what the elements differ in is computed for each of them, unless the kernel stores what has more
 * than 16 bits. */
Test(attention_plan, what_scores_have_in_common_is_not_computed_for_each)
{
#define SOFT_CAP_OF(size)                                                                          \
    PRODUCT "Pointwise in_0@3 out_0=" SCORES ":virtual !operation='TANH_FWD' | "                   \
            "Pointwise in_0@4 in_1=k" size " out_0=" SCORES                                        \
            ":virtual !operation='MUL' | " SOFTMAX("6", "7", "8", "9") DIVIDED("9", "10")
    static const char part[] = "x = kiln_tanh_part_f32(";
    cr_expect_not_null(strstr(source_of(SOFT_CAP_OF("3") ATTENDED("11"), "gfx942"), part));
    cr_expect_null(strstr(source_of(SOFT_CAP_OF("100") ATTENDED("11"), "gfx942"), part));
    cr_expect_null(strstr(
        source_of(SOFT_CAP_OF("3") "Matmul a@11 b=2,4,130,64:HALF c=2,4,70,64", "gfx942"), part));
    const char *scaled =
        source_of(PRODUCT "Pointwise in_0@3 in_1=k0.25 out_0=" SCORES
                          ":virtual !operation='MUL' | " SOFTMAX("5", "6", "7", "8")
                              DIVIDED("8", "9") ATTENDED("10"),
                  "gfx942");
    cr_expect_not_null(strstr(scaled, "kiln_score_scale = 0x1p-2f,"));
    cr_expect_null(strstr(scaled, "kiln_mul_f32(0x1p-2f"));
}

/* The lowest number, times the logarithm of 2, is -infinity, and what is rounded of -1e9 times that
 * is more than an exponent of half: where scores may be such, only their difference to the maximum
 * may be multiplied. */
Test(attention_plan, scores_of_the_lowest_number_are_not_multiplied)
{
    static const char lowest[] =
        PRODUCT "Pointwise in_0@3 in_1=k-3.4028235e38 in_2=" SCORES " out_0=" SCORES
                ":virtual !operation='BINARY_SELECT' | " SOFTMAX("6", "7", "8", "9")
                    DIVIDED("9", "10") ATTENDED("11");
    static const char large_mask[] =
        PRODUCT "Pointwise in_0@3 in_1=k-1e9 in_2=" SCORES " out_0=" SCORES
                ":virtual !operation='BINARY_SELECT' | " SOFTMAX("6", "7", "8", "9")
                    DIVIDED("9", "10") ATTENDED("11");
    static const char of_difference[] = "#define KILN_TO_EXPONENT(x) ((x) * ";
    cr_expect_not_null(strstr(source_of(lowest, "gfx942"), of_difference));
    cr_expect_not_null(strstr(source_of(large_mask, "gfx942"), of_difference));
    cr_expect_null(strstr(source_of(one_kernel[0], "gfx942"), of_difference));
}

/* Beside the results of large heads there are no registers for what is loaded for scores while
 * their products are made; beside those of small ones there are. */
Test(attention_plan, what_scores_are_computed_with_is_loaded_when_registers_allow)
{
    static const char late[] = "#define KILN_SCORE_LOADS_ARE_LATE 1";
    static const char large[] = "Sdpa q=2,4,128,128:HALF k=2,4,128,128:HALF v=2,4,128,128:HALF "
                                "o=2,4,128,128:HALF attn_mask=2,1,1,128";
    static const char without_mask[] = "Sdpa q=2,4,128,128:HALF k=2,4,128,128:HALF "
                                       "v=2,4,128,128:HALF o=2,4,128,128:HALF";
    static const char small[] = "Sdpa q=2,4,128,64:HALF k=2,4,128,64:HALF v=2,4,128,64:HALF "
                                "o=2,4,128,64:HALF attn_mask=2,1,1,128";
    cr_expect_not_null(strstr(source_of(large, "gfx942"), late));
    cr_expect_null(strstr(source_of(without_mask, "gfx942"), late));
    cr_expect_null(strstr(source_of(small, "gfx942"), late));
}

#define NODE(m, n)                                                                                 \
    "Sdpa q=2,4," #m ",64:HALF k=2,2," #n ",64:HALF v=2,2," #n ",64:HALF "                         \
    "o=2,4," #m ",64:HALF "

static const char *const nodes[] = {
    NODE(72, 128),
    NODE(72, 128) "stats=2,4,72,1 !generate_stats=true !causal_mask=true",
    NODE(72, 128) "!causal_mask_bottom_right=true",
    NODE(72, 128) "attn_mask=1,1,72,128",
    NODE(72, 128) "!left_bound=16 !right_bound=3",
    NODE(1, 128) "!causal_mask_bottom_right=true",
    /* values behind a length are not read, so that they need not be made 0 by another kernel */
    NODE(72, 128) "seq_len_q=2,1,1,1:INT32 seq_len_kv=2,1,1,1:INT64 !padding_mask=true",
    NODE(1, 128) "seq_len_q=2,1,1,1:INT32 seq_len_kv=2,1,1,1:INT32 !padding_mask=true",
    /* each batch has a corner of its own */
    NODE(72, 128) "seq_len_q=2,1,1,1:INT32 seq_len_kv=2,1,1,1:INT64 !padding_mask=true "
                  "!causal_mask_bottom_right=true",
    NODE(72, 128) "seq_len_kv=2:INT32 !padding_mask=true !left_bound=9 !right_bound=2 "
                  "!diagonal_alignment='BOTTOM_RIGHT'",
    NODE(2, 128) "seq_len_kv=2:INT32 !padding_mask=true !causal_mask_bottom_right=true",
    NODE(72, 128) "attn_mask=2,1,1,128:BOOLEAN !causal_mask=true",
    NODE(1, 128) "attn_mask=2,4,1,128:BOOLEAN",
};

Test(attention_plan, nodes_are_one_kernel)
{
    for (int target = 0; target < TARGET_COUNT; target++) {
        for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
            struct kiln_kernel_plan plan = make_plan(nodes[i], targets[target]);
            cr_expect_eq(plan.partition.group_count, 1, "%s: node %zu", targets[target], i);
            cr_expect_eq(plan.partition.workspace_bytes, 0, "%s: node %zu", targets[target], i);
        }
    }
}

static uint32_t limits_of(const char *sketch)
{
    struct kiln_kernel_plan plan = make_plan(sketch, "gfx942");
    cr_assert_eq(plan.schedules[0].family, KILN_FAMILY_ATTENTION);
    return kiln_attention_schedule_of(&plan.schedules[0])->mask.count;
}

/* What comparisons of indices hide is left out, tile by tile; a mask in memory is not. */
Test(attention_plan, hidden_columns_are_known)
{
    cr_expect_eq(limits_of(nodes[0]), 0);
    cr_expect_eq(limits_of(nodes[1]), 1);
    cr_expect_eq(limits_of(nodes[2]), 1);
    cr_expect_eq(limits_of(nodes[3]), 0);
    cr_expect_eq(limits_of(nodes[4]), 2);
    cr_expect_eq(limits_of(nodes[8]), 3);
    cr_expect_eq(limits_of(nodes[9]), 3);
    cr_expect_eq(limits_of(nodes[10]), 2);
    cr_expect_eq(limits_of(nodes[11]), 1, "beside a mask in memory, too");
    cr_expect_eq(limits_of(nodes[12]), 0);
}

/* Rotary embedding of queries and keys (what is rotated is given) is computed where they are read;
 * a norm of theirs needs their rows first, and the explanation says so. */
Test(attention_plan, rotary_embedding_is_in_the_kernel_and_norms_are_before_it)
{
    static const char rotary[] =
        "Pointwise in_0=2,4,70,64:HALF in_1=1,1,70,64 out_0=2,4,70,64:virtual !operation='MUL' | "
        "Pointwise in_0=2,4,70,64:HALF in_1=1,1,70,64 out_0=2,4,70,64:virtual !operation='MUL' | "
        "Pointwise in_0@3 in_1@6 out_0=2,4,70,64:HALF:virtual !operation='ADD' | "
        "Sdpa q@7 k=2,4,130,64:HALF v=2,4,130,64:HALF o=2,4,70,64:HALF";
    static const char norm[] =
        "RMSNorm x=2,4,70,64:HALF scale=1,1,1,64 epsilon=k y=2,4,70,64:HALF:virtual "
        "!forward_phase='INFERENCE' | "
        "Sdpa q@4 k=2,4,130,64:HALF v=2,4,130,64:HALF o=2,4,70,64:HALF";
    for (int target = 0; target < TARGET_COUNT; target++) {
        struct kiln_kernel_plan plan = make_plan(rotary, targets[target]);
        cr_expect_eq(plan.partition.group_count, 1, "%s", targets[target]);
        plan = make_plan(norm, targets[target]);
        cr_assert_eq(plan.partition.group_count, 2, "%s", targets[target]);
        const struct kiln_fusion_group *attention = &plan.partition.groups[1];
        cr_expect_eq(attention->family, KILN_FAMILY_ATTENTION);
        cr_expect_not_null(strstr(kiln_boundary_text(attention->boundary), "norms of queries"));
    }
}

/* Scores of which a column is hidden that is more than `offset` behind its row. */
#define HIDDEN_BEHIND(offset)                                                                      \
    SCALED "Pointwise in_0@5 out_0=" SCORES                                                        \
           ":INT32:virtual !operation='GEN_INDEX' !axis_tensor_uid=2 | "                           \
           "Pointwise in_0@5 out_0=" SCORES                                                        \
           ":INT32:virtual !operation='GEN_INDEX' !axis_tensor_uid=3 | "                           \
           "Pointwise in_0@6 in_1=k" offset ":INT32 out_0=" SCORES                                 \
           ":INT32:virtual !operation='ADD' | "                                                    \
           "Pointwise in_0@7 in_1@9 out_0=" SCORES ":virtual !operation='CMP_LE' | "               \
           "Pointwise in_0=k0 in_1=k0 out_0=1:virtual !operation='SUB' | "                         \
           "Pointwise in_0@13 out_0=1:virtual !operation='LOG' | "                                 \
           "Pointwise in_0@5 in_1@14 in_2@10 out_0=" SCORES                                        \
           ":virtual !operation='BINARY_SELECT' | " SOFTMAX("15", "16", "17", "18")                \
               DIVIDED("18", "19") ATTENDED("20")

/* The kernel adds them to indices in 32 bits. */
Test(attention_plan, offsets_that_overflow_are_no_limits)
{
    cr_expect_eq(limits_of(HIDDEN_BEHIND("5")), 1);
    cr_expect_eq(limits_of(HIDDEN_BEHIND("1073741824")), 1);
    cr_expect_eq(limits_of(HIDDEN_BEHIND("2147483640")), 0);
}

/* Where the last rows see the last columns depends on both lengths. */
Test(attention_plan, causal_sequences_of_all_lengths_share_a_kernel)
{
    for (int target = 0; target < TARGET_COUNT; target++) {
        const char *symbol = symbol_of(nodes[2], targets[target]);
        cr_expect_str_eq(
            symbol_of(NODE(512, 1000) "!causal_mask_bottom_right=true", targets[target]), symbol);
    }
}

/* One query would keep few compute units busy. What merges the segments does the rest as well. */
Test(attention_plan, long_columns_of_few_rows_are_in_segments)
{
    static const char *const gpus[] = {"gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"};
    for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++) {
        struct kiln_kernel_plan plan = make_plan(NODE(1, 4096), gpus[i]);
        cr_assert_eq(plan.partition.group_count, 2, "%s", gpus[i]);
        cr_expect_eq(plan.schedules[0].family, KILN_FAMILY_ATTENTION);
        uint32_t segments = kiln_attention_schedule_of(&plan.schedules[0])->segments;
        cr_expect(segments > 1 && segments <= 64, "%s: %u", gpus[i], segments);
        cr_expect_eq(plan.schedules[1].family, KILN_FAMILY_REDUCTION);
        /* The two heads that share keys are rows of one tile. */
        cr_expect_eq(kiln_attention_schedule_of(&plan.schedules[0])->products.problem.m, 2);
        cr_expect_eq(plan.schedules[0].launch.grid, 4 * segments);
        /* Results of floats, and maximum and sum of each row. */
        cr_expect_leq(plan.partition.workspace_bytes, segments * 8 * (64 + 2) * 4 + 3 * 256);
    }
    cr_expect_eq(make_plan(NODE(1, 4096), "host").partition.group_count, 1);
    cr_expect_eq(make_plan(NODE(1, 128), "gfx942").partition.group_count, 1);
}

static struct kiln_kernel_plan make_with_segments(const char *sketch, uint32_t segments)
{
    const struct kiln_lower_options options = {.contraction = {.segments = segments}};
    return sketched_plans_make(&plans, sketch, "gfx942", &options);
}

Test(attention_plan, segments_can_be_forced_or_forbidden)
{
    cr_expect_eq(make_with_segments(NODE(1, 4096), 1).partition.group_count, 1);
    struct kiln_kernel_plan plan = make_with_segments(NODE(72, 128), 5);
    cr_expect_eq(plan.partition.group_count, 2);
    cr_expect_eq(kiln_attention_schedule_of(&plan.schedules[0])->segments, 5);
}

/* Lengths and segments are arguments of the kernel that reads keys. */
Test(attention_plan, segments_of_all_lengths_share_a_kernel)
{
    const struct kiln_program first = sketch_lower(&plans.arena, NODE(1, 7000), "gfx942", NULL);
    const struct kiln_program second = sketch_lower(&plans.arena, NODE(1, 4096), "gfx942", NULL);
    cr_assert_eq(first.kernel_count, 2);
    cr_assert_eq(second.kernel_count, 2);
    cr_expect_str_eq(first.kernels[0].symbol, second.kernels[0].symbol);
}

/* One wave of 32 work-items has too few registers for what it would stage. */
Test(attention_plan, few_rows_have_two_waves_on_rdna)
{
    static const char *const sketches[] = {
        "Sdpa q=2,4,1,32:HALF k=2,4,4096,32:HALF v=2,4,4096,32:HALF o=2,4,1,32:HALF",
        "Sdpa q=2,4,1,64:HALF k=2,4,4096,64:HALF v=2,4,4096,64:HALF o=2,4,1,64:HALF",
        "Sdpa q=2,4,1,96:HALF k=2,4,4096,96:HALF v=2,4,4096,96:HALF o=2,4,1,96:HALF",
        "Sdpa q=2,4,1,160:HALF k=2,4,4096,160:HALF v=2,4,4096,160:HALF o=2,4,1,160:HALF"};
    static const char *const gpus[] = {"gfx1100", "gfx1201"};
    for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++) {
        for (size_t k = 0; k < sizeof sketches / sizeof *sketches; k++) {
            struct kiln_kernel_plan plan = make_plan(sketches[k], gpus[i]);
            const struct kiln_attention_schedule *attention =
                kiln_attention_schedule_of(&plan.schedules[0]);
            cr_expect_eq(attention->products.tile.waves_m, 1, "%s %zu", gpus[i], k);
            cr_expect_eq(attention->tile.waves_d, 2, "%s %zu", gpus[i], k);
        }
    }
}

/* Of matrix instructions, or of 4 x 8 columns and 4 x 4 rows by work-items of a wave of 32. */
Test(attention_plan, tiles_are_whole_fragments)
{
    static const char *const sketches[] = {
        NODE(1, 4096), NODE(72, 128),
        "Sdpa q=2,4,1,128:HALF k=2,2,4096,128:HALF v=2,2,4096,128:HALF o=2,4,1,128:HALF",
        "Sdpa q=2,4,72,128 k=2,2,128,128 v=2,2,128,128 o=2,4,72,128",
        "Sdpa q=2,4,72,256:HALF k=2,2,128,256:HALF v=2,2,128,256:HALF o=2,4,72,256:HALF"};
    static const char *const gpus[] = {"gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"};
    for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++) {
        for (size_t k = 0; k < sizeof sketches / sizeof *sketches; k++) {
            struct kiln_kernel_plan plan = make_plan(sketches[k], gpus[i]);
            const struct kiln_contraction_schedule *products =
                &kiln_attention_schedule_of(&plan.schedules[0])->products;
            if (plan.schedules[0].family != KILN_FAMILY_ATTENTION)
                continue;
            uint32_t rows = products->tile.mma != NULL ? products->tile.mma->rows_m : 16;
            uint32_t columns = products->tile.mma != NULL ? products->tile.mma->rows_n : 32;
            cr_expect_eq(products->tile.m % (products->tile.waves_m * rows), 0, "%s %zu", gpus[i],
                         k);
            cr_expect_eq(products->tile.n % columns, 0, "%s %zu", gpus[i], k);
        }
    }
}
