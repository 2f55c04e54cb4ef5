/*
 * What lies between two products is computed on the side that moves fewer bytes, and `kiln explain`
 * says why.
 */
#include "compiler/families/contraction/fuse/contraction_group.h"
#include "compiler/families/contraction/fuse/contraction_grouping.h"
#include "compiler/fuse/fuse_family.h"
#include "tests/compiler/sketched_plans.h"

#include <criterion/criterion.h>
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

TestSuite(contraction_between, .init = setup, .fini = teardown);

static struct kiln_kernel_plan make_plan(const char *sketch, bool no_fusion)
{
    const struct kiln_lower_options options = {.no_fusion = no_fusion};
    return sketched_plans_make(&plans, sketch, "gfx942", &options);
}

#define FIRST(type) "Matmul a=512,64:HALF b=64,512:HALF c=512,512:" type " | "

/* Bytes of the 512 x 512 elements between. */
enum { HALVES = 512 * 512 * 2, FLOATS = 512 * 512 * 4 };

static const struct {
    const char *sketch;
    bool is_second;
    uint64_t bytes_first, bytes_second, workspace;
} rows[] = {
    /* written and read in half, instead of in float */
    {FIRST("virtual") "Pointwise in_0@3 in_1=1,512 out_0=512,512:HALF:virtual !operation='ADD' | "
                      "Matmul a@5 b=512,256:HALF c=512,256:HALF",
     false, 2 * HALVES, 2 * FLOATS, HALVES},
    {FIRST("HALF:virtual") "Pointwise in_0@3 in_1=1,512 out_0=512,512:virtual !operation='MUL' | "
                           "Matmul a@5 b=512,256:HALF c=512,256:HALF",
     true, 2 * FLOATS, 2 * HALVES, HALVES},
    /* dequantised: the right operand of the second product */
    {FIRST("INT8:virtual") "Pointwise in_0@3 in_1=512,1 out_0=512,512:HALF:virtual "
                           "!operation='MUL' | Matmul a=256,512:HALF b@5 c=256,512:HALF",
     true, 2 * HALVES, HALVES, HALVES / 2},
    /* what is before it is an output: it is in memory anyway */
    {FIRST("HALF") "Pointwise in_0@3 out_0=512,512:HALF:virtual !operation='RELU_FWD' | "
                   "Matmul a@4 b=512,256:HALF c=512,256:HALF",
     true, 2 * HALVES, HALVES, 0},
    /* both are: it need not be computed twice */
    {FIRST("HALF") "Pointwise in_0@3 out_0=512,512:HALF !operation='RELU_FWD' | "
                   "Matmul a@4 b=512,256:HALF c=512,256:HALF",
     false, HALVES, HALVES, 0},
    /* 512 tiles would compute it again */
    {FIRST("HALF") "Pointwise in_0@3 out_0=512,512:HALF:virtual !operation='SIGMOID_FWD' | "
                   "Matmul a@4 b=512,65536:HALF c=512,65536:HALF",
     false, 2 * HALVES, HALVES, HALVES},
};
enum { ROW_COUNT = sizeof rows / sizeof *rows };

/* The group's betweens: of a kernel without any, 0. */
static uint32_t count_betweens(const struct kiln_kernel_plan *plan)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->partition.group_count; i++) {
        const struct kiln_fusion_group *group = &plan->partition.groups[i];
        if (group->family == KILN_FAMILY_CONTRACTION)
            count += ((const struct kiln_product_group *)group->family_data)->between_count;
    }
    return count;
}

static const struct kiln_between *betweens_of(const struct kiln_kernel_plan *plan, uint32_t group)
{
    const struct kiln_product_group *data = plan->partition.groups[group].family_data;
    return data->betweens;
}

static bool evaluates(const struct kiln_kernel_plan *plan, uint32_t group, uint32_t value)
{
    const struct kiln_fusion_group *found = &plan->partition.groups[group];
    for (uint32_t i = 0; i < found->load_count; i++) {
        if (found->accesses[i].value == value)
            return false;
    }
    return kiln_group_position(found, value) != KILN_NONE;
}

Test(contraction_between, is_computed_where_fewer_bytes_are_moved)
{
    struct kiln_buffer text;
    kiln_buffer_init(&text);
    for (size_t i = 0; i < ROW_COUNT; i++) {
        struct kiln_kernel_plan plan = make_plan(rows[i].sketch, false);
        cr_assert_eq(plan.partition.group_count, 2, "%s", rows[i].sketch);
        cr_assert_eq(count_betweens(&plan), 1, "%s", rows[i].sketch);
        const struct kiln_between *between = betweens_of(&plan, 1);
        cr_expect_eq(between->is_second, rows[i].is_second, "%s", rows[i].sketch);
        cr_expect_eq(between->bytes_first, rows[i].bytes_first, "%s", rows[i].sketch);
        cr_expect_eq(between->bytes_second, rows[i].bytes_second, "%s", rows[i].sketch);
        cr_expect_eq(plan.partition.workspace_bytes, rows[i].workspace, "%s", rows[i].sketch);
        cr_expect_eq(evaluates(&plan, 0, between->operand), !rows[i].is_second, "%s",
                     rows[i].sketch);
        cr_expect_eq(evaluates(&plan, 1, between->operand), rows[i].is_second, "%s",
                     rows[i].sketch);
        kiln_buffer_clear(&text);
        const struct kiln_graph *graph = &plans.graphs[plans.count - 1].graph;
        kiln_group_explain(&plan.ir, graph, &plan.partition.groups[0], &text);
        cr_expect_str_empty(kiln_buffer_text(&text), "%s", rows[i].sketch);
        kiln_group_explain(&plan.ir, graph, &plan.partition.groups[1], &text);
        cr_expect_not_null(strstr(kiln_buffer_text(&text), rows[i].is_second
                                                               ? " is computed here"
                                                               : " is computed after the product"),
                           "%s", kiln_buffer_text(&text));
        cr_expect_eq(strstr(kiln_buffer_text(&text), "each tile") != NULL,
                     !rows[i].is_second && rows[i].bytes_second < rows[i].bytes_first, "%s",
                     kiln_buffer_text(&text));
    }
    kiln_buffer_fini(&text);
}

/* The stored value has more elements than the first product, and is too costly for a prologue. */
Test(contraction_between, is_stored_by_another_kernel_where_the_first_product_cannot)
{
    const char *sketch = "Matmul a=1,64,64 b=1,64,64 c=1,64,64:virtual | "
                         "Pointwise in_0@3 in_1=4,64,64 out_0=4,64,64:virtual !operation='MUL' | "
                         "Pointwise in_0@5 out_0=4,64,64:virtual !operation='ERF' | "
                         "Pointwise in_0@6 out_0=4,64,64:virtual !operation='ERF' | "
                         "Pointwise in_0@7 out_0=4,64,64:BFLOAT16:virtual !operation='TANH_FWD' | "
                         "Pointwise in_0@8 in_1=4,64,64 out_0=4,64,64:virtual !operation='ADD' | "
                         "Matmul a=4,64,64 b@10 c=4,64,64";
    struct kiln_kernel_plan plan = make_plan(sketch, false);
    cr_assert_eq(plan.partition.group_count, 3);
    cr_assert_eq(count_betweens(&plan), 1);
    cr_expect(betweens_of(&plan, 2)->is_second);
    const struct kiln_fusion_group *second = &plan.partition.groups[2];
    cr_expect_eq(second->anchors[0], betweens_of(&plan, 2)->product);
    cr_expect_eq(second->load_count, 3, "its left operand, the stored value, what is added");
}

Test(contraction_between, is_no_question_where_one_side_cannot_compute_it)
{
    static const char *const sketches[] = {
        /* of two products that share nothing */
        "Matmul a=64,64 b=64,64 c=64,64:virtual | Matmul a=64,64 b=64,64 c=64,64:virtual | "
        "Pointwise in_0@3 in_1@6 out_0=64,64:virtual !operation='MUL' | "
        "Matmul a@7 b=64,64 c=64,64",
        /* a softmax */
        "Matmul a=64,64 b=64,64 c=64,64:virtual | "
        "Reduction in@3 out=64,1:virtual !mode='MAX_OP' | "
        "Pointwise in_0@3 in_1@4 out_0=64,64:virtual !operation='SUB' | "
        "Matmul a@5 b=64,64 c=64,64",
        /* nothing is between */
        "Matmul a=64,64 b=64,64 c=64,64:virtual | Matmul a@3 b=64,64 c=64,64",
    };
    for (size_t i = 0; i < sizeof sketches / sizeof *sketches; i++) {
        struct kiln_kernel_plan plan = make_plan(sketches[i], false);
        cr_expect_eq(count_betweens(&plan), 0, "%s", sketches[i]);
    }
    struct kiln_kernel_plan plan = make_plan(rows[1].sketch, true);
    cr_expect_eq(count_betweens(&plan), 0);
    cr_expect_eq(plan.partition.group_count, 3);
}
