/*
 * Reductions of products' results in two steps, and those that have one.
 */
#include "compiler/ir/import.h"
#include "compiler/ir/passes.h"
#include "tests/compiler/graph/graph_sketch.h"

#include <criterion/criterion.h>

static struct kiln_arena arena;
static struct kiln_error error;

static void setup(void)
{
    kiln_arena_init(&arena);
    kiln_error_init(&error);
}

static void teardown(void)
{
    kiln_arena_fini(&arena);
}

TestSuite(split_reductions, .init = setup, .fini = teardown);

/* How many reductions the program has after the pass; each step's elements shrink. */
static uint32_t count_steps(const char *sketch, int64_t most)
{
    struct kiln_ir ir;
    struct json_graph graph;
    struct kiln_buffer faults;
    uint32_t count = 0;
    graph_sketch_accept(&graph, sketch, NULL);
    kiln_ir_init(&ir, &arena);
    kiln_buffer_init(&faults);
    cr_assert_eq(kiln_ir_import(&graph.graph, &ir, &error), KILN_OK);
    cr_assert_eq(kiln_ir_optimize(&ir, &graph.graph, &error), KILN_OK);
    cr_assert_eq(kiln_ir_split_reductions(&ir, most, &error), KILN_OK);
    cr_assert(kiln_ir_validate(&ir, &graph.graph, &faults), "%s: %s", sketch,
              kiln_buffer_text(&faults));
    for (uint32_t i = 0; i < ir.op_count; i++)
        count += kiln_opcode_info(ir.ops[i].opcode)->op_class == KILN_OP_CLASS_REDUCE;
    kiln_buffer_fini(&faults);
    json_graph_fini(&graph);
    return count;
}

#define PRODUCT "Matmul a=4,16,8 b=4,8,24 c=4,16,24:virtual | "

Test(split_reductions, over_n_and_other_axes)
{
    cr_expect_eq(count_steps(PRODUCT "Reduction in@3 out=1,1,1 !mode='AMAX'", 24), 2);
    cr_expect_eq(count_steps(PRODUCT "Reduction in@3 out=4,1,1 !mode='ADD'", 24), 2);
    cr_expect_eq(count_steps(PRODUCT "Pointwise in_0@3 in_1=24 out_0=4,16,24:virtual "
                                     "!operation='ADD' | Reduction in@5 out=1,1,1 !mode='MIN_OP'",
                             24),
                 2);
}

Test(split_reductions, in_one_step)
{
    cr_expect_eq(count_steps(PRODUCT "Reduction in@3 out=1,1,1 !mode='AMAX'", 23), 1);
    cr_expect_eq(count_steps(PRODUCT "Reduction in@3 out=4,16,1 !mode='ADD'", 24), 1);
    cr_expect_eq(count_steps(PRODUCT "Reduction in@3 out=1,1,24 !mode='ADD'", 24), 1);
    cr_expect_eq(count_steps("Reduction in=4,16,24 out=1,1,1 !mode='ADD'", 24), 1);
}
