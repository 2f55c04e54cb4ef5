/*
 * The runner of passes: conditions, rounds, dumps, and the check after each.
 */
#include "compiler/ir/pass.h"
#include "compiler/lower_options.h"

#include <criterion/criterion.h>
#include <string.h>

static struct kiln_arena arena;
static struct kiln_ir ir;
static struct kiln_buffer text;
static struct kiln_tensor tensors[2];
static struct kiln_graph graph;
static struct kiln_error error;
static struct kiln_pass_context context;

/* out = exp(in), and a dead operation. */
static void setup(void)
{
    for (uint32_t i = 0; i < 2; i++)
        tensors[i] =
            (struct kiln_tensor){.rank = 1, .dims = {4}, .producer = KILN_NONE, .name = ""};
    tensors[1].role = KILN_TENSOR_OUTPUT;
    graph = (struct kiln_graph){.tensor_count = 2, .tensors = tensors};
    kiln_arena_init(&arena);
    kiln_ir_init(&ir, &arena);
    kiln_buffer_init(&text);
    kiln_error_init(&error);
    context = (struct kiln_pass_context){.graph = &graph, .program = "the test"};
    uint32_t in = kiln_ir_load(&ir, &graph, 0);
    kiln_ir_unary(&ir, KILN_OP_TAN, in);
    kiln_ir_store(&ir, kiln_ir_unary(&ir, KILN_OP_EXP, in), 1);
}

static void teardown(void)
{
    kiln_buffer_fini(&text);
    kiln_arena_fini(&arena);
}

TestSuite(pass, .init = setup, .fini = teardown);

static uint32_t runs;

static enum kiln_status count_runs(struct kiln_ir *program, struct kiln_pass_context *surroundings,
                                   struct kiln_error *fault)
{
    (void)program, (void)surroundings, (void)fault;
    runs++;
    return KILN_OK;
}

Test(pass, prints_the_program_after_each_pass_that_was_asked_for)
{
    context.dump = &text;
    cr_assert_eq(kiln_pass_run(&kiln_pass_optimize, &ir, &context, &error), KILN_OK);
    const char *dump = kiln_buffer_text(&text);
    const char *folded = strstr(dump, "ir of the test after fold_constants\n%0 = load");
    const char *merged = strstr(dump, "ir of the test after merge_common: the same\n");
    const char *dropped = strstr(dump, "ir of the test after drop_dead\n");
    cr_assert(folded == dump && folded < merged && merged < dropped, "%s", dump);
    const char *tan = strstr(folded, "= tan.f32");
    cr_expect(tan != NULL && tan < dropped, "%s", dump);
    cr_expect_null(strstr(dropped, "= tan.f32"), "%s", dump);
}

Test(pass, a_pipeline_is_repeated_while_operations_get_fewer)
{
    const struct kiln_pass counter = {.name = "counter", .run = count_runs};
    const struct kiln_pass *steps[] = {&counter, &kiln_pass_drop_dead};
    struct kiln_pass pipeline = {.name = "both", .pass_count = 2, .passes = steps, .max_rounds = 9};
    runs = 0;
    cr_assert_eq(kiln_pass_run(&pipeline, &ir, &context, &error), KILN_OK);
    cr_expect_eq(runs, 2); /* drops one operation, then none */
    pipeline.max_rounds = 1;
    cr_assert_eq(kiln_pass_run(&pipeline, &ir, &context, &error), KILN_OK);
    cr_expect_eq(runs, 3);
}

Test(pass, passes_for_fused_kernels_are_left_out_without_fusion)
{
    const struct kiln_pass counter = {
        .name = "counter", .condition = KILN_PASS_FUSED, .run = count_runs};
    struct kiln_lower_options options = {.no_fusion = true};
    runs = 0;
    context.options = &options;
    cr_assert_eq(kiln_pass_run(&counter, &ir, &context, &error), KILN_OK);
    cr_expect_eq(runs, 0);
    options.no_fusion = false;
    cr_assert_eq(kiln_pass_run(&counter, &ir, &context, &error), KILN_OK);
    cr_expect_eq(runs, 1);
}

#ifndef NDEBUG
/* Two faults: an operand that comes later, and an output that is never stored. */
static enum kiln_status break_program(struct kiln_ir *program,
                                      struct kiln_pass_context *surroundings,
                                      struct kiln_error *fault)
{
    (void)surroundings, (void)fault;
    program->ops[1].operands[0] = 2;
    program->op_count--;
    return KILN_OK;
}

Test(pass, the_pass_that_left_faults_is_named_with_all_of_them)
{
    const struct kiln_pass breaker = {.name = "breaker", .run = break_program};
    const struct kiln_pass *steps[] = {&kiln_pass_merge_common, &breaker, &kiln_pass_drop_dead};
    const struct kiln_pass pipeline = {
        .name = "all", .pass_count = 3, .passes = steps, .max_rounds = 1};
    cr_assert_eq(kiln_pass_run(&pipeline, &ir, &context, &error), KILN_INTERNAL);
    cr_expect_not_null(strstr(error.text, "not valid after 'breaker'"), "%s", error.text);
    cr_expect_not_null(strstr(error.text, "%1"), "%s", error.text);
    cr_expect_not_null(strstr(error.text, "output tensor 1 is stored 0 times"), "%s", error.text);
}
#endif
