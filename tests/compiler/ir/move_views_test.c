/* Views that move to the loads, and those that stay. */
#include "compiler/ir/passes.h"
#include "tests/compiler/ir/sketched_program.h"

#include <criterion/criterion.h>

TestSuite(move_views);

#define QUANTIZE(x, y, scale)                                                                      \
    " | BlockScaleQuantize x@" x " y=" y ":FP8_E4M3 scale=" scale " !block_size=32"
#define UNARY(mode) " !operation='" mode "' "

static uint32_t count(const struct kiln_ir *ir, enum kiln_opcode opcode)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < ir->op_count; i++)
        found += ir->ops[i].opcode == opcode;
    return found;
}

/* Runs a pass and cleans up. Returns its is_found. */
static bool run(struct sketched_program *program, const char *sketch, kiln_pass_function *pass)
{
    struct kiln_pass_context context = {.graph = &program->graph.graph};
    sketched_program_init(program, sketch);
    cr_assert_eq(pass(&program->ir, &context, &program->error), KILN_OK);
    sketched_program_validate(program);
    cr_assert_eq(kiln_ir_optimize(&program->ir, context.graph, &program->error), KILN_OK);
    sketched_program_validate(program);
    return context.is_found;
}

/* The views that are left, and the rank that each STORE has. */
static void expect_views(const char *sketch, uint32_t views, uint32_t store_rank)
{
    struct sketched_program program;
    (void)run(&program, sketch, kiln_ir_move_views);
    const struct kiln_ir *ir = &program.ir;
    cr_expect_eq(count(ir, KILN_OP_VIEW), views, "%s", sketch);
    for (uint32_t i = 0; i < ir->op_count; i++) {
        if (ir->ops[i].opcode == KILN_OP_STORE && store_rank != 0)
            cr_expect_eq(ir->domains[ir->ops[i].domain].rank, store_rank, "%s", sketch);
    }
    sketched_program_fini(&program);
}

Test(move_views, elementwise_work_on_loads)
{
    expect_views("Pointwise in_0=4,64 out_0=4,64:virtual" UNARY("EXP") QUANTIZE("2", "4,64", "4,2"),
                 0, 3);
    /* Broadcasts along either axis, and a store on the way. */
    expect_views("Pointwise in_0=4,64 in_1=64 out_0=4,64" UNARY("MUL") QUANTIZE("3", "4,64", "4,2"),
                 0, 3);
    expect_views("Pointwise in_0=4,64 in_1=4,1 out_0=4,64:virtual" UNARY("MUL")
                     QUANTIZE("3", "4,64", "4,2"),
                 0, 3);
    expect_views("Pointwise in_0=4,64 out_0=4,64:virtual !operation='GEN_INDEX' "
                 "!axis_tensor_uid=1 " QUANTIZE("2", "4,64", "4,2"),
                 0, 3);
}

Test(move_views, a_short_last_block_moves_too)
{
    expect_views("Pointwise in_0=4,70 in_1=70 out_0=4,70" UNARY("MUL") QUANTIZE("3", "4,70", "4,3"),
                 0, 3);
    expect_views("Pointwise in_0=4,70 out_0=4,70:virtual !operation='GEN_INDEX' "
                 "!axis_tensor_uid=1 " QUANTIZE("2", "4,70", "4,3"),
                 0, 3);
}

/* A store of packed elements on the way, whose bytes are those of one block, or of two. */
Test(move_views, stores_of_shared_bytes_stay)
{
#define PACK(x, y, scale)                                                                          \
    "Pointwise in_0=" x " out_0=" x ":FP4_E2M1" UNARY("IDENTITY") QUANTIZE("2", y, scale)
    expect_views(PACK("4,70", "4,70", "4,3"), 0, 3);
    expect_views(PACK("4,64", "4,64", "4,2"), 0, 3);
    expect_views(PACK("70,4", "70,4", "3,4") " !axis=0", 0, 3);
    expect_views(PACK("4,71", "4,71", "4,3"), 1, 0);
    expect_views(PACK("70,3", "70,3", "3,3") " !axis=0", 1, 0);
    expect_views("Pointwise in_0=4,64 out_0=4,64:FP4_E2M1" UNARY(
                     "IDENTITY") " | BlockScaleQuantize x@2 y=4,64:FP8_E4M3 scale=4,13 "
                                 "!block_size=5",
                 1, 0);
#undef PACK
}

Test(move_views, rows_are_read_from_memory)
{
    /* The norm's mean and deviation. */
    expect_views(
        "RMSNorm x=8,64 scale=1,64 epsilon=k y=8,64:virtual !forward_phase='INFERENCE' " QUANTIZE(
            "4", "8,64", "8,2"),
        1, 3);
}

Test(move_views, results_of_products_stay)
{
    expect_views("Matmul a=64,16 b=16,64 c=64,64:virtual " QUANTIZE("3", "64,64", "64,2"), 1, 3);
    /* The product of another node reads the value. */
    expect_views("Pointwise in_0=64,64 out_0=64,64" UNARY(
                     "EXP") "| Matmul a@2 b=64,8 c=64,8 " QUANTIZE("2", "64,64", "64,2"),
                 1, 0);
}

Test(move_views, both_axes_of_one_value)
{
    expect_views(
        "Pointwise in_0=64,64 out_0=64,64:virtual" UNARY("EXP") QUANTIZE(
            "2", "64,64",
            "64,2") " | BlockScaleQuantize x@2 y=64,64:FP8_E4M3 scale=2,64 !block_size=32 !axis=0",
        0, 3);
}

/* ---- over products ---- */

#define PRODUCT "Matmul a=64,16 b=16,64 c=64,64:virtual "
#define TWIN    "| Matmul a@1 b=16,64 c=64,64:virtual "

/* `products` are left, without views and over domains of this rank, if the views move; otherwise
 * the program stays as it is. */
static void expect_products(const char *sketch, bool are_split, uint32_t products)
{
    struct sketched_program program;
    bool is_found = run(&program, sketch, kiln_ir_move_views_over_products);
    const struct kiln_ir *ir = &program.ir;
    cr_expect_eq(is_found, are_split, "%s", sketch);
    cr_expect_eq(count(ir, KILN_OP_CONTRACT), products, "%s", sketch);
    cr_expect_eq(count(ir, KILN_OP_VIEW) == 0, are_split, "%s", sketch);
    for (uint32_t i = 0; i < ir->op_count; i++) {
        if (ir->ops[i].opcode == KILN_OP_CONTRACT)
            cr_expect_eq(ir->domains[ir->ops[i].domain].rank, are_split ? 3 : 2, "%s", sketch);
    }
    sketched_program_fini(&program);
}

Test(move_views, products_count_blocks)
{
    expect_products(PRODUCT QUANTIZE("3", "64,64", "64,2"), true, 1);
    /* Rows are counted in blocks as well. */
    expect_products(PRODUCT "| BlockScaleQuantize x@3 y=64,64:FP8_E4M3 scale=2,64 !block_size=32 "
                            "!axis=0",
                    true, 1);
    /* With work on it, which is an output too. */
    expect_products(PRODUCT "| Pointwise in_0@3 in_1=64 out_0=64,64 !operation='ADD' " QUANTIZE(
                        "5", "64,64", "64,2"),
                    true, 1);
    expect_products(PRODUCT TWIN
                    "| Pointwise in_0@3 in_1@5 out_0=64,64:virtual !operation='MUL' " QUANTIZE(
                        "6", "64,64", "64,2"),
                    true, 2);
}

Test(move_views, products_that_others_read_stay)
{
    /* Both axes have blocks. */
    expect_products(
        PRODUCT QUANTIZE(
            "3", "64,64",
            "64,2") " | BlockScaleQuantize x@3 y=64,64:FP8_E4M3 scale=2,64 !block_size=32 !axis=0",
        false, 1);
    expect_products(PRODUCT "| Reduction in@3 out=64,1 !mode='ADD' " QUANTIZE("3", "64,64", "64,2"),
                    false, 1);
    expect_products(PRODUCT
                    "| Pointwise in_0@3 out_0=64,64:virtual !operation='EXP' | "
                    "Pointwise in_0@3 out_0=64,64 !operation='NEG' " QUANTIZE("4", "64,64", "64,2"),
                    false, 1);
    /* No kernel of a product counts along blocks. */
    expect_products(PRODUCT "| Pointwise in_0@3 out_0=64,64:virtual !operation='GEN_INDEX' "
                            "!axis_tensor_uid=1 | Pointwise in_0@3 in_1@4 out_0=64,64:virtual "
                            "!operation='ADD'" QUANTIZE("5", "64,64", "64,2"),
                    false, 1);
}
