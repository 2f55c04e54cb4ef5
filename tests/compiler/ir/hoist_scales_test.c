/*
 * Which constant factors of operands go behind their product.
 */
#include "compiler/ir/exact_dtypes.h"
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

TestSuite(hoist_scales, .init = setup, .fini = teardown);

/* How many operands of the sketch's products have at most 16 bits after the pass. */
static uint32_t count_narrow_operands(const char *sketch)
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
    cr_assert_eq(kiln_ir_hoist_scales(&ir, &graph.graph, &error), KILN_OK);
    cr_assert(kiln_ir_validate(&ir, &graph.graph, &faults), "%s: %s", sketch,
              kiln_buffer_text(&faults));
    uint32_t *sets = kiln_arena_calloc(&arena, ir.op_count, sizeof *sets);
    cr_assert_not_null(sets);
    for (uint32_t i = 0; i < ir.op_count; i++) {
        sets[i] = kiln_op_exact_dtypes(&ir.ops[i], &graph.graph, sets);
        for (uint32_t k = 0; ir.ops[i].opcode == KILN_OP_CONTRACT && k < 2; k++)
            count += (sets[ir.ops[i].operands[k]] & KILN_DTYPE_BIT(KILN_DTYPE_F16)) != 0 ? 1 : 0;
    }
    kiln_buffer_fini(&faults);
    json_graph_fini(&graph);
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
