/*
 * Why kernels are kernels of their own: a graph for each reason, and what must hold of any.
 */
#include "compiler/plan/kernel_plan.h"
#include "tests/compiler/every_graph.h"
#include "tests/compiler/sketched_plans.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* ---- what holds for every graph ---- */

/* The elements that a kernel iterates over, or its rows. */
static struct kiln_domain shape_of(const struct kiln_kernel_plan *plan, uint32_t number,
                                   bool of_rows)
{
    const struct kiln_planned_kernel kernel = kiln_kernel_plan_find(plan, number);
    const struct kiln_fusion_group *group = &kernel.part->partition.groups[kernel.index];
    const struct kiln_domain *domain = &kernel.part->ir.domains[group->domain];
    struct kiln_domain shape = {0};
    for (uint32_t i = 0; i < domain->rank; i++) {
        int64_t dim = of_rows && (group->reduced_axes >> i & 1) != 0 ? 1 : domain->dims[i];
        if (shape.rank != 0 || dim != 1)
            shape.dims[shape.rank++] = dim;
    }
    return shape;
}

/* True if a kernel iterates over the elements of another one, at least once for each row. */
static bool has_shape_of(const struct kiln_kernel_plan *plan, uint32_t number, uint32_t other)
{
    const struct kiln_domain wanted = shape_of(plan, other, false);
    for (int of_rows = 0; of_rows < 2; of_rows++) {
        const struct kiln_domain shape = shape_of(plan, number, of_rows != 0);
        if (shape.rank == wanted.rank && memcmp(shape.dims, wanted.dims, sizeof shape.dims) == 0)
            return true;
    }
    return false;
}

static uint32_t seen[KILN_BOUNDARY_COUNT]; /* kernels with each reason */

/* True if a kernel reads what an earlier one of its part has written. */
static bool needs_another(const struct kiln_planned_kernel *kernel)
{
    const struct kiln_partition *partition = &kernel->part->partition;
    const struct kiln_fusion_group *group = &partition->groups[kernel->index];
    for (uint32_t i = 0; i < group->load_count; i++) {
        const struct kiln_access *load = &group->accesses[i];
        for (uint32_t g = 0; g < kernel->index; g++) {
            const struct kiln_fusion_group *writer = &partition->groups[g];
            for (uint32_t k = writer->load_count; k < writer->access_count; k++) {
                const struct kiln_access *store = &writer->accesses[k];
                bool is_same = load->kind == KILN_ARGUMENT_WORKSPACE
                                   ? store->kind == KILN_ARGUMENT_WORKSPACE &&
                                         store->workspace_content == load->workspace_content
                                   : load->tensor != KILN_NONE && store->tensor == load->tensor;
                if (is_same)
                    return true;
            }
        }
    }
    return false;
}

static void check(const struct kiln_kernel_plan *plan, const char *name)
{
    uint32_t count = kiln_kernel_plan_kernels(plan);
    for (uint32_t i = 0; i < count; i++) {
        const struct kiln_planned_kernel kernel = kiln_kernel_plan_find(plan, i);
        const struct kiln_fusion_group *group = &kernel.part->partition.groups[kernel.index];
        bool has_equal = false;
        seen[group->boundary]++;
        bool has_later = false;
        for (uint32_t k = 0; k < count; k++) {
            has_equal |= k != i && has_shape_of(plan, k, i);
            has_later |= k > i && has_shape_of(plan, k, i);
        }
        cr_assert_eq(group->boundary == KILN_BOUNDARY_FIRST, i == 0, "%s: kernel %u", name, i);
        cr_assert(group->boundary != KILN_BOUNDARY_OF_POINTWISE || !has_equal,
                  "%s: kernel %u is not the only one of its shape", name, i);
        cr_assert(group->boundary != KILN_BOUNDARY_EARLIER || has_later,
                  "%s: no kernel of the shape of kernel %u comes later", name, i);
        cr_assert(group->boundary != KILN_BOUNDARY_NEEDS || needs_another(&kernel),
                  "%s: kernel %u needs no other", name, i);
    }
}

static void plan_and_check(const struct kiln_graph *graph, const char *target_name,
                           const struct kiln_lower_options *options, const char *name)
{
    struct kiln_arena arena;
    struct kiln_error error;
    struct kiln_target target;
    struct kiln_kernel_plan plan;
    kiln_error_init(&error);
    kiln_arena_init(&arena);
    cr_assert_eq(kiln_target_parse(target_name, &target, &error), KILN_OK, "%s", error.text);
    if (kiln_kernel_plan_make(graph, &target, options, &arena, &plan, &error) == KILN_OK)
        check(&plan, name);
    kiln_arena_fini(&arena);
}

static void check_all_ways(const struct kiln_graph *graph, const char *name)
{
    static const struct kiln_lower_options ways[] = {
        {0}, {.no_fusion = true}, {.max_part_weight = 3}};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        plan_and_check(graph, "gfx942", &ways[i], name);
    plan_and_check(graph, "host", &ways[0], name);
}

static struct sketched_plans plans;

static void set_up(void)
{
    sketched_plans_init(&plans);
}

static void tear_down(void)
{
    sketched_plans_fini(&plans);
}

TestSuite(boundaries, .init = set_up, .fini = tear_down, .timeout = 120);

Test(boundaries, of_stored_graphs_are_true)
{
    cr_assert_gt(every_stored_graph(check_all_ways), 30);
}

Test(boundaries, of_random_graphs_are_true)
{
    every_random_graph(check_all_ways);
    cr_expect_neq(seen[KILN_BOUNDARY_OTHER_PART], 0);
}

/* ---- a graph for each reason ---- */

static const struct {
    enum kiln_boundary boundary;
    uint32_t kernel;
    const char *sketch;
    struct kiln_lower_options options;
} rows[] = {
    {KILN_BOUNDARY_FIRST, 0, "Pointwise in_0=64 out_0=64 !operation='EXP'", {0}},
    {KILN_BOUNDARY_OF_POINTWISE,
     1,
     "Pointwise in_0=64 out_0=64 !operation='EXP' | Pointwise in_0=65 out_0=65 !operation='EXP'",
     {0}},
    {KILN_BOUNDARY_NO_FUSION,
     1,
     "Pointwise in_0@101=64 out_0@102=64 !operation='EXP' | "
     "Pointwise in_0@102 out_0@103=64 !operation='ABS'",
     {.no_fusion = true}},
    {KILN_BOUNDARY_PART,
     1,
     "Pointwise in_0@101=64 out_0@102=64 !operation='EXP' | "
     "Pointwise in_0@102 out_0@103=64 !operation='ABS'",
     {.max_part_weight = 1}},
    /* Its rows are reduced to one number first, which each element needs. */
    {KILN_BOUNDARY_NEEDS,
     2,
     "Reduction in@101=4096,4096 out@102=4096,1 !mode='ADD' | "
     "Reduction in@102 out@103=1,1 !mode='MAX_OP' | "
     "Pointwise in_0@101 in_1@103 out_0@104=4096,4096 !operation='MUL'",
     {0}},
    {KILN_BOUNDARY_OF_REDUCTION,
     1,
     "Reduction in@101=4096,4096 out@102=4096,1 !mode='ADD' | "
     "Reduction in@101 out@103=1,4096 !mode='ADD'",
     {0}},
    {KILN_BOUNDARY_UNRELATED,
     1,
     "Reduction in@101=4096,4096 out@102=4096,1 !mode='ADD' | "
     "Pointwise in_0@103=4096,4096 out_0@104=4096,4096 !operation='EXP'",
     {0}},
    {KILN_BOUNDARY_SEGMENTS, 1, "Reduction in=16777216 out=1 !mode='ADD'", {0}},
    {KILN_BOUNDARY_TILES,
     1,
     "Matmul a=4096,1024:HALF b=1024,2048:HALF c@103=4096,2048:HALF | "
     "Reduction in@103 out=1,2048 !mode='ADD'",
     {0}},
    {KILN_BOUNDARY_OF_CONTRACTION,
     1,
     "Matmul a=512,512:HALF b=512,512:HALF c=512,512:HALF | "
     "Matmul a=512,512:HALF b=512,512:HALF c=512,512:HALF",
     {0}},
    {KILN_BOUNDARY_NEEDS,
     1,
     "Matmul a=512,512:HALF b=512,512:HALF c@103=512,512:HALF | "
     "Matmul a@103 b=512,512:HALF c=512,512:HALF",
     {0}},
    {KILN_BOUNDARY_OF_ATTENTION,
     1,
     "Pointwise in_0=64 out_0=64 !operation='EXP' | "
     "Matmul a=1,4,64,32:HALF b=1,4,32,64:HALF c@150=1,4,64,64:virtual | "
     "Reduction in@150 out@151=1,4,64,1:virtual !mode='MAX_OP' | "
     "Pointwise in_0@150 in_1@151 out_0@152=1,4,64,64:virtual !operation='SUB' | "
     "Pointwise in_0@152 out_0@153=1,4,64,64:virtual !operation='EXP' | "
     "Reduction in@153 out@154=1,4,64,1:virtual !mode='ADD' | "
     "Pointwise in_0@153 in_1@154 out_0@155=1,4,64,64:HALF:virtual !operation='DIV' | "
     "Matmul a@155 b=1,4,64,32:HALF c=1,4,64,32:HALF",
     {0}},
    {KILN_BOUNDARY_RECOMPUTE,
     1,
     "Pointwise in_0=64 out_0=64 !operation='EXP' | "
     "Pointwise in_0=4096,1 out_0@101=4096,1:virtual !operation='ERF' | "
     "Pointwise in_0@101 out_0@102=4096,1:virtual !operation='ERF' | "
     "Pointwise in_0@102 out_0@106=4096,1:virtual !operation='ERF' | "
     "Pointwise in_0@106 out_0@107=4096,1:virtual !operation='ERF' | "
     "Pointwise in_0@107 out_0@103=4096,1:virtual !operation='ERF' | "
     "Pointwise in_0=4096,4096 in_1@103 out_0=4096,4096 !operation='MUL'",
     {0}},
    {KILN_BOUNDARY_OPERAND,
     1,
     "Pointwise in_0=64 out_0=64 !operation='EXP' | "
     "Pointwise in_0=512,512 out_0@101=512,512:virtual !operation='TAN' | "
     "Pointwise in_0@101 out_0@102=512,512:HALF:virtual !operation='TAN' | "
     "Matmul a@102 b=512,512:HALF c=512,512:HALF",
     {0}},
    /* A scalar that takes two kernels, for the second one of the shape alone. */
    {KILN_BOUNDARY_EARLIER,
     1,
     "Reduction in=4096,4096 out@102=4096,1 !mode='ADD' | "
     "Pointwise in_0=70000 out_0=70000 !operation='EXP' | "
     "Reduction in@102 out@103=1,1 !mode='MAX_OP' | "
     "Pointwise in_0=1,80,80 in_1@103 out_0@104=1,80,80 !operation='MUL' | "
     "Reduction in@104 out@105=1,1,1:virtual !mode='ADD' | "
     "Pointwise in_0=70000 in_1@105 out_0=1,1,70000 !operation='MUL'",
     {0}},
    {KILN_BOUNDARY_OWN_WORK,
     1,
     "Matmul a=512,512:HALF b=512,512:HALF c@103=512,512:HALF | "
     "Pointwise in_0@104=512,512 out_0@105=512,512 !operation='EXP'",
     {0}},
};

Test(boundaries, each_has_a_graph)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kiln_kernel_plan plan =
            sketched_plans_make(&plans, rows[i].sketch, "gfx942", &rows[i].options);
        cr_assert_lt(rows[i].kernel, kiln_kernel_plan_kernels(&plan), "%s", rows[i].sketch);
        const struct kiln_planned_kernel kernel = kiln_kernel_plan_find(&plan, rows[i].kernel);
        enum kiln_boundary boundary = kernel.part->partition.groups[kernel.index].boundary;
        cr_expect_eq(boundary, rows[i].boundary, "%s: '%s' and not '%s'", rows[i].sketch,
                     kiln_boundary_text(boundary), kiln_boundary_text(rows[i].boundary));
        check(&plan, rows[i].sketch);
    }
}

/* A sum of more tensors than one kernel may load. */
Test(boundaries, kernels_have_a_largest_size)
{
    enum { TERMS = 2 * KILN_GROUP_MAX_ACCESSES, TERM_BYTES = 80 };
    static char sketch[TERMS * TERM_BYTES];
    size_t used = 0;
    for (unsigned i = 0; i < TERMS; i++)
        used += (size_t)snprintf(sketch + used, sizeof sketch - used,
                                 "%sPointwise in_0@%u%s in_1@%u=64 out_0@%u=64%s !operation='ADD'",
                                 i == 0 ? "" : " | ", 1000 + i, i == 0 ? "=64" : "", 5000 + i,
                                 1001 + i, i + 1 < TERMS ? ":virtual" : "");
    const struct kiln_lower_options options = {0};
    struct kiln_kernel_plan plan = sketched_plans_make(&plans, sketch, "gfx942", &options);
    cr_assert_gt(plan.partition.group_count, 1);
    cr_expect_eq(plan.partition.groups[1].boundary, KILN_BOUNDARY_SIZE);
}
