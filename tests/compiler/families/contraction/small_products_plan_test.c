/*
 * Batches of products that are far smaller than a tile: when work-items compute them by themselves,
 * and what they share a kernel with.
 */
#include "compiler/families/contraction/schedule/contraction_schedule.h"
#include "compiler/families/contraction/schedule/contraction_small.h"
#include "tests/compiler/sketched_plans.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct sketched_plans *plans;

static void setup(void)
{
    plans = calloc(1, sizeof *plans);
    cr_assert_not_null(plans);
    sketched_plans_init(plans);
}

static void teardown(void)
{
    sketched_plans_fini(plans);
    free(plans);
}

TestSuite(small_products, .init = setup, .fini = teardown, .timeout = 60);

static const char *const gpus[] = {"gfx90a", "gfx942", "gfx1030", "gfx1100", "gfx1201"};
enum { GPUS = sizeof gpus / sizeof *gpus };

static const struct kiln_lower_options none;
static const struct kiln_lower_options forced = {.contraction = {.form = KILN_CONTRACTION_SMALL}};

/* "Matmul" of half numbers. */
static const char *product(char text[160], long batch, int m, int n, int k)
{
    (void)snprintf(text, 160, "Matmul a=%ld,%d,%d:HALF b=%ld,%d,%d:HALF c=%ld,%d,%d:HALF", batch, m,
                   k, batch, k, n, batch, m, n);
    return text;
}

static const struct kiln_schedule *schedule(const char *sketch, const char *target,
                                            const struct kiln_lower_options *options)
{
    const struct kiln_kernel_plan plan = sketched_plans_make(plans, sketch, target, options);
    cr_assert_eq(plan.partition.group_count, 1, "%s for %s", sketch, target);
    return &plan.schedules[0];
}

static bool is_small(const char *sketch, const char *target)
{
    return kiln_is_contraction_small(kiln_contraction_schedule_of(schedule(sketch, target, &none)));
}

Test(small_products, many_of_them_share_a_work_group)
{
    static const int sizes[][3] = {{3, 3, 3}, {4, 4, 4}, {8, 8, 8}, {16, 16, 16}, {17, 5, 9}};
    char text[160];
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (size_t t = 0; t < GPUS; t++) {
            const long batch = 200000;
            const struct kiln_schedule *made = schedule(
                product(text, batch, sizes[i][0], sizes[i][1], sizes[i][2]), gpus[t], &none);
            cr_expect(kiln_is_contraction_small(kiln_contraction_schedule_of(made)), "%s for %s",
                      text, gpus[t]);
            cr_expect_leq(made->launch.grid * 2, batch, "%s for %s: %u", text, gpus[t],
                          made->launch.grid);
            cr_expect_eq(made->launch.lds_bytes, 0);
        }
    }
}

/* One kernel for products of all sizes is worth more than the time of a few of them; and what fills
 * a tile is no small product. */
Test(small_products, few_or_large_ones_are_tiles)
{
    char text[160];
    for (size_t t = 0; t < GPUS; t++) {
        cr_expect_not(is_small(product(text, 1, 16, 16, 16), gpus[t]), "%s", gpus[t]);
        cr_expect_not(is_small(product(text, 4, 32, 32, 32), gpus[t]), "%s", gpus[t]);
        cr_expect_not(is_small(product(text, 100000, 64, 64, 64), gpus[t]), "%s", gpus[t]);
        cr_expect_not(is_small(product(text, 100000, 16, 16, 512), gpus[t]), "%s", gpus[t]);
    }
}

/* Each element of each product belongs to one work-item, whatever the sizes. */
Test(small_products, items_cover_a_product)
{
    char text[160];
    for (int m = 1; m <= 32; m += 3) {
        for (int n = 1; n <= 32; n += 5) {
            const struct kiln_contraction_schedule *made = kiln_contraction_schedule_of(
                schedule(product(text, 7, m, n, m + n), gpus[m % GPUS], &forced));
            cr_assert(kiln_is_contraction_small(made), "%s", text);
            cr_expect_eq((int64_t)(made->pipeline.small.row_items * made->pipeline.small.item_rows),
                         made->problem.m, "%s", text);
            cr_expect_eq(
                (int64_t)(made->pipeline.small.column_items * made->pipeline.small.item_columns),
                made->problem.n, "%s", text);
            cr_expect_eq(made->pipeline.small.item_columns % made->result_vector, 0, "%s", text);
            cr_expect(made->tile.k >= 1 && (int64_t)made->tile.k <= made->problem.k, "%s", text);
        }
    }
}

/* Dense batches are one axis, and what an operand does not have is no axis of the product. */
Test(small_products, batches_are_few_axes)
{
    const struct {
        const char *sketch;
        uint32_t batches;
        int64_t m;
    } cases[] = {
        {"Matmul a=5,40,3,3:HALF b=5,40,3,3:HALF c=5,40,3,3:HALF", 1, 3},
        {"Matmul a=5,1,7,3,3 b=5,1,7,3,3 c=5,1,7,3,3", 1, 3},
        {"Matmul a=50,4,3 b=1,3,4 c=50,4,4", 1, 4},
        {"Matmul a=1,4,3 b=50,3,4 c=50,4,4", 1, 4},
        {"Matmul a=5,1,4,3 b=1,6,3,4 c=5,6,4,4", 2, 4},
        {"Matmul a=6,4,3 b=3,3,4 c=6,4,4", 1, 4}, /* two share one of b */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct kiln_contraction_schedule *made =
            kiln_contraction_schedule_of(schedule(cases[i].sketch, "gfx942", &forced));
        cr_assert(kiln_is_contraction_small(made), "%s", cases[i].sketch);
        cr_expect_eq(made->problem.batches.rank, cases[i].batches, "%s", cases[i].sketch);
        cr_expect_eq(made->problem.m, cases[i].m, "%s", cases[i].sketch);
    }
}

/* Bias, activation, scales, gates and norms of rows. */
Test(small_products, are_fused_as_others_are)
{
#define SMALL "Matmul a=100000,8,8:HALF b=100000,8,8:HALF c=100000,8,8:virtual "
    static const char *const sketches[] = {
        SMALL "| Pointwise in_0@3 in_1=1,1,8 out_0=100000,8,8:virtual !operation='ADD' "
              "| Pointwise in_0@5 out_0=100000,8,8:HALF !operation='RELU_FWD'",
        "Pointwise in_0=100000,8,8:INT8 in_1=100000,1,1 out_0=100000,8,8:virtual !operation='MUL' "
        "| Matmul a@3 b=100000,8,8:HALF c=100000,8,8:HALF",
        SMALL "| Matmul a@1 b=100000,8,8:HALF c=100000,8,8:virtual "
              "| Pointwise in_0@3 out_0=100000,8,8:virtual !operation='SIGMOID_FWD' "
              "| Pointwise in_0@6 in_1@5 out_0=100000,8,8:HALF !operation='MUL'",
        SMALL "| Reduction in@3 out=100000,8,1 !mode='MAX_OP'",
        "Matmul a=100000,8,8 b=100000,8,8 c=100000,8,8:virtual "
        "| Layernorm x@3 scale=1,1,8 bias=1,1,8 epsilon=k y=100000,8,8 !normalized_dim_count=1",
    };
    for (size_t i = 0; i < sizeof sketches / sizeof *sketches; i++) {
        for (size_t t = 0; t < GPUS; t++)
            cr_expect(is_small(sketches[i], gpus[t]), "%s for %s", sketches[i], gpus[t]);
    }
}

/* Batches are arguments. */
Test(small_products, one_kernel_serves_any_number)
{
    struct kiln_arena arena;
    char text[160];
    kiln_arena_init(&arena);
    const struct kiln_program first =
        sketch_lower(&arena, product(text, 1000000, 3, 3, 3), "gfx942", NULL);
    const struct kiln_program second =
        sketch_lower(&arena, product(text, 16777216, 3, 3, 3), "gfx942", NULL);
    cr_expect_str_eq(first.kernels[0].symbol, second.kernels[0].symbol);
    cr_expect_leq(second.kernels[0].grid[0] * 200, 16777216);
    kiln_arena_fini(&arena);
}

/* Each form needs fewer registers, and the last one has one element. */
Test(small_products, forms_have_smaller_blocks)
{
    char text[160];
    const struct kiln_kernel_plan made =
        sketched_plans_make(plans, product(text, 100000, 16, 16, 16), "gfx942", &none);
    struct kiln_kernel_plan plan = made;
    struct kiln_error error;
    kiln_error_init(&error);
    uint32_t elements = UINT32_MAX;
    const struct kiln_graph *graph = &plans->graphs[0].graph;
    enum kiln_status status = KILN_OK;
    while (status == KILN_OK) {
        const struct kiln_contraction_schedule *contraction =
            kiln_contraction_schedule_of(&plan.schedules[0]);
        cr_assert(kiln_is_contraction_small(contraction));
        cr_expect_lt(contraction->pipeline.small.item_rows *
                         contraction->pipeline.small.item_columns,
                     elements);
        elements = contraction->pipeline.small.item_rows * contraction->pipeline.small.item_columns;
        status = kiln_kernel_plan_relax(&plan, graph, 0, &error);
    }
    cr_expect_eq(status, KILN_NOT_FOUND);
    cr_expect_eq(elements, 1);
}
