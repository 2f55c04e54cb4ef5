/*
 * Which kernels the gradients of attention become: what a row has of the result and its gradient,
 * what is summed along rows of scores, and what is summed along columns. Nothing of the scores'
 * size is in memory.
 */
#include "compiler/families/attention/schedule/attention_schedule.h"
#include "tests/compiler/sketched_plans.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct sketched_plans plans;

static void setup(void)
{
    sketched_plans_init(&plans);
}

static void teardown(void)
{
    sketched_plans_fini(&plans);
}

TestSuite(attention_gradient_plan, .init = setup, .fini = teardown);

static const char *const targets[] = {"host",    "gfx90a",  "gfx942", "gfx1030",
                                      "gfx1100", "gfx1201", "sm_90"};
enum { TARGET_COUNT = sizeof targets / sizeof *targets };

/* Gradients of `heads` heads of m queries, `groups` heads of n keys and values. */
#define GRADIENTS(heads, groups, m, n, k, d, type)                                                 \
    "SdpaBackward q=2," heads "," #m "," #k type " k=2," groups "," #n "," #k type " v=2," groups  \
    "," #n "," #d type " o=2," heads "," #m "," #d type " do=2," heads "," #m "," #d type          \
    " stats=2," heads "," #m ",1 dq=2," heads "," #m "," #k type " dk=2," groups "," #n            \
    "," #k type " dv=2," groups "," #n "," #d type " "
#define PLAIN(m, n) GRADIENTS("4", "2", m, n, 64, 64, ":HALF")

static const char *const three_kernels[] = {
    PLAIN(72, 128),
    PLAIN(72, 128) "!causal_mask=true",
    PLAIN(72, 128) "!causal_mask_bottom_right=true",
    PLAIN(72, 128) "!left_bound=16 !right_bound=3",
    PLAIN(72, 128) "attn_mask=1,1,72,128",
    PLAIN(72, 128) "scale=s",
    PLAIN(1, 128),
    GRADIENTS("4", "1", 72, 128, 64, 64, ":BFLOAT16"),
    GRADIENTS("4", "4", 70, 130, 32, 32, ""),
    GRADIENTS("8", "2", 72, 128, 128, 128, ":BFLOAT16") "!causal_mask=true",
    PLAIN(72, 128) "attn_mask=2,1,1,128:BOOLEAN",
};
enum { THREE_KERNELS_COUNT = sizeof three_kernels / sizeof *three_kernels };

static struct kiln_kernel_plan make_plan(const char *sketch, const char *target_name)
{
    const struct kiln_lower_options options = {0};
    return sketched_plans_make(&plans, sketch, target_name, &options);
}

static uint32_t attention_count(const struct kiln_kernel_plan *plan)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->partition.group_count; i++)
        count += plan->partition.groups[i].family == KILN_FAMILY_ATTENTION;
    return count;
}

Test(attention_gradient_plan, a_node_is_three_kernels)
{
    for (int target = 0; target < TARGET_COUNT; target++) {
        for (int i = 0; i < THREE_KERNELS_COUNT; i++) {
            struct kiln_kernel_plan plan = make_plan(three_kernels[i], targets[target]);
            cr_expect_eq(plan.partition.group_count, 3, "%s: node %d has %u kernels",
                         targets[target], i, plan.partition.group_count);
            cr_expect_eq(attention_count(&plan), 2, "%s: node %d", targets[target], i);
            /* A number for each row of scores. */
            cr_expect_leq(plan.partition.workspace_bytes, 2 * 8 * 72 * 4 + 256, "%s: node %d",
                          targets[target], i);
        }
    }
}

/* Gradients of keys and values that have other heads are results of two kernels. */
Test(attention_gradient_plan, results_of_other_shapes_have_kernels_of_their_own)
{
    struct kiln_kernel_plan plan =
        make_plan(GRADIENTS("4", "2", 72, 128, 64, 32, ":HALF"), "gfx942");
    cr_expect_eq(plan.partition.group_count, 4);
    cr_expect_eq(attention_count(&plan), 3);
}

/* A mask's gradient: its shape, over how many batches it is summed, and whether the kernel that
 * sums them leaves something for another one. */
static const struct mask {
    const char *shape;
    int64_t batches;
    bool has_more;
    uint64_t most_bytes; /* of the workspace, beside numbers of rows */
} masks[] = {
    {"2,4,72,128", 1, false, 0},
    {"2,4,72,128:HALF", 1, false, 0},
    {"1,4,72,128", 2, false, 0},
    {"2,1,72,128", 4, false, 0},
    {"1,1,72,128", 8, false, 0},
    {"4,72,128", 2, false, 0},
    {"72,128", 8, false, 0},
    {"2,1,1,128", 4, true, 2 * 72 * 128 * 4},
    /* Sums along columns are a reduction of their own before there is attention. */
    {"1,1,72,1", 1, true, 8 * 72 * 128 * 4},
};
enum { MASK_COUNT = sizeof masks / sizeof *masks };

/* The kernel that has no second product. */
static const struct kiln_schedule *fold_of(const struct kiln_kernel_plan *plan)
{
    const struct kiln_schedule *found = NULL;
    for (uint32_t i = 0; i < plan->partition.group_count; i++) {
        const struct kiln_schedule *schedule = &plan->schedules[i];
        if (schedule->family == KILN_FAMILY_ATTENTION &&
            kiln_attention_schedule_of(schedule)->value_count == 0)
            found = schedule;
    }
    return found;
}

Test(attention_gradient_plan, the_gradient_of_a_mask_is_one_kernel_more)
{
    for (int target = 0; target < TARGET_COUNT; target++) {
        for (int i = 0; i < MASK_COUNT; i++) {
            const struct mask *mask = &masks[i];
            char sketch[512];
            (void)snprintf(sketch, sizeof sketch,
                           PLAIN(72, 128) "attn_mask=%s dbias=%s !causal_mask=true", mask->shape,
                           mask->shape);
            struct kiln_kernel_plan plan = make_plan(sketch, targets[target]);
            const struct kiln_schedule *fold = fold_of(&plan);
            cr_expect_eq(attention_count(&plan), 3, "%s: %s", targets[target], mask->shape);
            if (mask->has_more)
                cr_expect_gt(plan.partition.group_count, 4, "%s: %s", targets[target], mask->shape);
            else
                cr_expect_eq(plan.partition.group_count, 4, "%s: %s", targets[target], mask->shape);
            cr_expect_leq(plan.partition.workspace_bytes, 2 * 8 * 72 * 4 + 512 + mask->most_bytes,
                          "%s: %s", targets[target], mask->shape);
            cr_assert_not_null(fold, "%s: %s", targets[target], mask->shape);
            cr_expect_eq(kiln_attention_schedule_of(fold)->products.problem.batches.outer,
                         mask->batches, "%s: %s", targets[target], mask->shape);
            cr_expect_eq(kiln_attention_schedule_of(fold)->mask.count, 1,
                         "tiles without keys are not computed");
        }
    }
}

/* Twice as many keys need no more memory, nor do more heads than rows of them. */
Test(attention_gradient_plan, memory_grows_with_rows_alone)
{
    struct kiln_kernel_plan few =
        make_plan(PLAIN(512, 512) "attn_mask=1,4,512,512 dbias=1,4,512,512", "gfx942");
    struct kiln_kernel_plan many =
        make_plan(PLAIN(512, 4096) "attn_mask=1,4,512,4096 dbias=1,4,512,4096", "gfx942");
    cr_expect_eq(few.partition.workspace_bytes, many.partition.workspace_bytes);
    cr_expect_leq(many.partition.workspace_bytes, 2 * 8 * 512 * 4 + 512);
}

/* A mask of few tiles and many batches, as windows of an image have: too few work-groups. */
Test(attention_gradient_plan, long_walks_are_products)
{
    struct kiln_kernel_plan plan =
        make_plan("SdpaBackward q=256,4,49,32:HALF k=256,4,49,32:HALF v=256,4,49,32:HALF "
                  "o=256,4,49,32:HALF do=256,4,49,32:HALF stats=256,4,49,1 dq=256,4,49,32:HALF "
                  "dk=256,4,49,32:HALF dv=256,4,49,32:HALF attn_mask=1,4,49,49 dbias=1,4,49,49",
                  "gfx942");
    cr_expect_eq(attention_count(&plan), 0);
    plan = make_plan(PLAIN(512, 512) "attn_mask=512,512 dbias=512,512", "gfx942");
    cr_expect_eq(attention_count(&plan), 3);
}

/* Heads that no tile has room for. */
Test(attention_gradient_plan, others_are_products)
{
    static const char *const others[] = {
        GRADIENTS("4", "2", 72, 128, 264, 64, ":HALF"),
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        struct kiln_kernel_plan plan = make_plan(others[i], "gfx942");
        cr_expect_eq(attention_count(&plan), 0, "graph %zu", i);
    }
}

/* The kernels of rows and of columns: how many limits they have, and which is first. */
Test(attention_gradient_plan, hidden_scores_are_known)
{
    for (int i = 1; i <= 3; i++) {
        struct kiln_kernel_plan plan = make_plan(three_kernels[i], "gfx942");
        uint32_t found = 0;
        for (uint32_t g = 0; g < plan.partition.group_count; g++) {
            const struct kiln_schedule *schedule = &plan.schedules[g];
            if (schedule->family != KILN_FAMILY_ATTENTION)
                continue;
            found++;
            cr_expect_eq(kiln_attention_schedule_of(schedule)->mask.count, i == 3 ? 2 : 1,
                         "node %d", i);
            if (i < 3)
                cr_expect_eq(kiln_attention_schedule_of(schedule)->mask.limits[0].kind,
                             kiln_attention_schedule_of(schedule)->rows ==
                                     KILN_SCORE_ROWS_TRANSPOSED
                                 ? KILN_LIMIT_FIRST
                                 : KILN_LIMIT_LAST,
                             "node %d", i);
        }
        cr_expect_eq(found, 2, "node %d", i);
    }
}

#define CORNERS                                                                                    \
    "seq_len_q=2:INT32 seq_len_kv=2:INT32 !padding_mask=true !causal_mask_bottom_right=true"

/* In the kernel of columns a batch's corner is subtracted. */
Test(attention_gradient_plan, corners_are_known)
{
    struct kiln_kernel_plan plan = make_plan(PLAIN(72, 128) CORNERS, "gfx942");
    uint32_t found = 0;
    for (uint32_t g = 0; g < plan.partition.group_count; g++) {
        if (plan.schedules[g].family != KILN_FAMILY_ATTENTION)
            continue;
        const struct kiln_attention_schedule *attention =
            kiln_attention_schedule_of(&plan.schedules[g]);
        found++;
        cr_expect_eq(attention->mask.count, 3);
        cr_expect_eq(attention->mask.limits[0].kind, attention->rows == KILN_SCORE_ROWS_TRANSPOSED
                                                         ? KILN_LIMIT_FIRST
                                                         : KILN_LIMIT_LAST);
        cr_expect_neq(attention->mask.limits[0].value, KILN_NONE);
        cr_expect_eq(attention->mask.limits[0].is_subtracted,
                     attention->rows == KILN_SCORE_ROWS_TRANSPOSED);
    }
    cr_expect_eq(found, 2);
}

/* Symbols are made of texts. */
static void expect_same_kernels(const char *sketch, const char *other, const char *target_name)
{
    const struct kiln_program programs[] = {
        sketch_lower(&plans.arena, sketch, target_name, NULL),
        sketch_lower(&plans.arena, other, target_name, NULL),
    };
    cr_assert_eq(programs[0].kernel_count, programs[1].kernel_count);
    for (uint32_t k = 0; k < programs[0].kernel_count; k++) {
        if (strstr(programs[0].kernels[k].symbol, "attention") != NULL)
            cr_expect_str_eq(programs[0].kernels[k].symbol, programs[1].kernels[k].symbol, "%s",
                             target_name);
    }
}

Test(attention_gradient_plan, sequences_of_all_lengths_share_kernels)
{
    for (int target = 0; target < TARGET_COUNT; target++)
        expect_same_kernels(PLAIN(72, 128) "!causal_mask=true",
                            GRADIENTS("32", "8", 1000, 2048, 64, 64, ":HALF") "!causal_mask=true",
                            targets[target]);
    expect_same_kernels(PLAIN(72, 128) CORNERS,
                        GRADIENTS("32", "8", 1000, 2048, 64, 64, ":HALF") CORNERS, "gfx942");
}
