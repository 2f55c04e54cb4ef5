#include "compiler/ir/import.h"
#include "compiler/ir/passes.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* Programs over x[4] float (tensor 0), n[4] uint8 (1) and h[4] half (2); results go to outputs r, s
 * float (3, 4). */
enum { X, N, H, R, S, TENSORS };

static struct kiln_arena arena;
static struct kiln_ir ir;
static struct kiln_buffer text;
static struct kiln_tensor tensors[TENSORS];
static struct kiln_graph graph;
static struct kiln_error error;
static struct kiln_pass_context context;

static void setup(void)
{
    for (uint32_t i = 0; i < TENSORS; i++)
        tensors[i] = (struct kiln_tensor){.rank = 1, .dims = {4}, .producer = KILN_NONE};
    tensors[N].dtype = KILN_DTYPE_U8;
    tensors[H].dtype = KILN_DTYPE_F16;
    tensors[R].role = KILN_TENSOR_OUTPUT;
    tensors[S].role = KILN_TENSOR_OUTPUT;
    graph = (struct kiln_graph){.tensor_count = TENSORS, .tensors = tensors};
    context = (struct kiln_pass_context){.graph = &graph};
    kiln_arena_init(&arena);
    kiln_ir_init(&ir, &arena);
    kiln_buffer_init(&text);
    kiln_error_init(&error);
}

static void teardown(void)
{
    kiln_buffer_fini(&text);
    kiln_arena_fini(&arena);
}

TestSuite(passes, .init = setup, .fini = teardown);

static uint32_t real(double value)
{
    return kiln_ir_real(&ir, KILN_SCALAR_F32, value);
}

static uint32_t load(uint32_t tensor)
{
    return kiln_ir_load(&ir, &graph, tensor);
}

/* Folds and drops what is dead; the text is then the program. `value` goes to output r. */
static void expect_folded(uint32_t value, const char *expected)
{
    tensors[S].role = KILN_TENSOR_VIRTUAL;
    tensors[R].dtype = ir.ops[value].scalar == KILN_SCALAR_BOOL  ? KILN_DTYPE_BOOL
                       : ir.ops[value].scalar == KILN_SCALAR_I32 ? KILN_DTYPE_I32
                       : ir.ops[value].scalar == KILN_SCALAR_F64 ? KILN_DTYPE_F64
                                                                 : KILN_DTYPE_F32;
    kiln_ir_store(&ir, value, R);
    cr_assert(kiln_ir_validate(&ir, &graph, &text), "%s", kiln_buffer_text(&text));
    cr_assert_eq(kiln_ir_fold_constants(&ir, &context, &error), KILN_OK);
    cr_assert(kiln_ir_validate(&ir, &graph, &text), "%s", kiln_buffer_text(&text));
    cr_assert_eq(kiln_ir_drop_dead(&ir, &context, &error), KILN_OK);
    cr_assert(kiln_ir_validate(&ir, &graph, &text), "%s", kiln_buffer_text(&text));
    kiln_ir_print(&ir, NULL, &text);
    cr_expect_str_eq(kiln_buffer_text(&text), expected);
}

static const char *const only_x = "%0 = load.f32 tensor 0 : [4]\n"
                                  "store.f32 %0, tensor 3 : [4]\n";

Test(passes, exact_identities_vanish)
{
    uint32_t x = load(X);
    uint32_t value = kiln_ir_binary(&ir, KILN_OP_MUL, x, real(1));
    value = kiln_ir_binary(&ir, KILN_OP_MUL, real(1), value);
    value = kiln_ir_binary(&ir, KILN_OP_DIV, value, real(1));
    value = kiln_ir_binary(&ir, KILN_OP_SUB, value, real(0));
    value = kiln_ir_binary(&ir, KILN_OP_ADD, value, real(-0.0));
    value = kiln_ir_unary(&ir, KILN_OP_NEG, kiln_ir_unary(&ir, KILN_OP_NEG, value));
    value = kiln_ir_select(&ir, kiln_ir_integer(&ir, KILN_SCALAR_BOOL, 1), value, real(7));
    value = kiln_ir_convert(&ir, kiln_ir_convert(&ir, value, KILN_SCALAR_F64), KILN_SCALAR_F32);
    expect_folded(value, only_x);
}

/* 7.5 is the largest number of E2M3, and its ceiling 8 is none of them. In E3M2 integers stay. */
Test(passes, ceilings_of_fp6_are_rounded_again)
{
    uint32_t x = kiln_ir_round(&ir, load(X), KILN_DTYPE_F6E2M3);
    expect_folded(kiln_ir_round(&ir, kiln_ir_unary(&ir, KILN_OP_CEIL, x), KILN_DTYPE_F6E2M3),
                  "%0 = load.f32 tensor 0 : [4]\n"
                  "%1 = round.f32 %0 through fp6_e2m3 : [4]\n"
                  "%2 = ceil.f32 %1 : [4]\n"
                  "%3 = round.f32 %2 through fp6_e2m3 : [4]\n"
                  "store.f32 %3, tensor 3 : [4]\n");
}

Test(passes, adding_zero_stays)
{
    uint32_t x = load(X);
    expect_folded(kiln_ir_binary(&ir, KILN_OP_ADD, x, real(0)), "%0 = load.f32 tensor 0 : [4]\n"
                                                                "%1 = constant.f32 0 : []\n"
                                                                "%2 = add.f32 %0, %1 : [4]\n"
                                                                "store.f32 %2, tensor 3 : [4]\n");
}

Test(passes, subtracting_minus_zero_stays)
{
    uint32_t x = load(X);
    expect_folded(kiln_ir_binary(&ir, KILN_OP_SUB, x, real(-0.0)),
                  "%0 = load.f32 tensor 0 : [4]\n"
                  "%1 = constant.f32 -0 : []\n"
                  "%2 = sub.f32 %0, %1 : [4]\n"
                  "store.f32 %2, tensor 3 : [4]\n");
}

Test(passes, zero_times_x_stays_in_floating_point)
{
    uint32_t zero = real(0);
    expect_folded(kiln_ir_binary(&ir, KILN_OP_MUL, zero, load(X)),
                  "%0 = constant.f32 0 : []\n"
                  "%1 = load.f32 tensor 0 : [4]\n"
                  "%2 = mul.f32 %0, %1 : [4]\n"
                  "store.f32 %2, tensor 3 : [4]\n");
}

Test(passes, zero_times_n_goes_in_integers)
{
    uint32_t zero = kiln_ir_integer(&ir, KILN_SCALAR_I32, 0);
    expect_folded(kiln_ir_binary(&ir, KILN_OP_MUL, load(N), zero),
                  "%0 = constant.i32 0 : []\n"
                  "%1 = broadcast.i32 %0 : [4]\n"
                  "store.i32 %1, tensor 3 : [4]\n");
}

Test(passes, conversions_that_lose_stay)
{
    uint32_t value = kiln_ir_convert(&ir, load(X), KILN_SCALAR_I32);
    expect_folded(kiln_ir_convert(&ir, value, KILN_SCALAR_F32), "%0 = load.f32 tensor 0 : [4]\n"
                                                                "%1 = convert.i32 %0 : [4]\n"
                                                                "%2 = convert.f32 %1 : [4]\n"
                                                                "store.f32 %2, tensor 3 : [4]\n");
}

Test(passes, conversion_chains_shorten)
{
    uint32_t value = kiln_ir_convert(&ir, load(N), KILN_SCALAR_F64);
    expect_folded(kiln_ir_convert(&ir, value, KILN_SCALAR_F32), "%0 = load.i32 tensor 1 : [4]\n"
                                                                "%1 = convert.f32 %0 : [4]\n"
                                                                "store.f32 %1, tensor 3 : [4]\n");
}

Test(passes, rounding_what_is_rounded_vanishes)
{
    uint32_t value = kiln_ir_round(&ir, load(H), KILN_DTYPE_F16);
    value = kiln_ir_round(&ir, kiln_ir_unary(&ir, KILN_OP_NEG, value), KILN_DTYPE_F16);
    value = kiln_ir_binary(&ir, KILN_OP_MAX, value, real(0.5));
    value = kiln_ir_round(&ir, value, KILN_DTYPE_F16);
    expect_folded(value, "%0 = load.f32 tensor 2 : [4]\n"
                         "%1 = neg.f32 %0 : [4]\n"
                         "%2 = constant.f32 0.5 : []\n"
                         "%3 = max.f32 %1, %2 : [4]\n"
                         "store.f32 %3, tensor 3 : [4]\n");
}

Test(passes, rounding_to_another_type_stays)
{
    expect_folded(kiln_ir_round(&ir, load(H), KILN_DTYPE_BF16),
                  "%0 = load.f32 tensor 2 : [4]\n"
                  "%1 = round.f32 %0 through bfloat16 : [4]\n"
                  "store.f32 %1, tensor 3 : [4]\n");
}

Test(passes, fp8_that_may_hold_infinity_is_rounded_again)
{
    tensors[H].dtype = KILN_DTYPE_F8E5M2;
    expect_folded(kiln_ir_round(&ir, load(H), KILN_DTYPE_F8E5M2),
                  "%0 = load.f32 tensor 2 : [4]\n"
                  "%1 = round.f32 %0 through fp8_e5m2 : [4]\n"
                  "store.f32 %1, tensor 3 : [4]\n");
}

Test(passes, constants_are_evaluated_and_rounded)
{
    uint32_t x = load(X);
    uint32_t value = kiln_ir_unary(&ir, KILN_OP_EXP, real(1));
    value = kiln_ir_binary(&ir, KILN_OP_ADD, kiln_ir_round(&ir, value, KILN_DTYPE_BF16), real(1));
    value = kiln_ir_binary(&ir, KILN_OP_MUL, x, value);
    expect_folded(value, "%0 = load.f32 tensor 0 : [4]\n"
                         "%1 = constant.f32 3.71875 : []\n"
                         "%2 = mul.f32 %0, %1 : [4]\n"
                         "store.f32 %2, tensor 3 : [4]\n");
}

Test(passes, integer_constants_wrap_and_saturate)
{
    uint32_t n = load(N);
    uint32_t most = kiln_ir_integer(&ir, KILN_SCALAR_I32, INT32_MAX);
    uint32_t value =
        kiln_ir_binary(&ir, KILN_OP_ADD, most, kiln_ir_integer(&ir, KILN_SCALAR_I32, 2));
    value = kiln_ir_round(&ir, value, KILN_DTYPE_I8);
    value = kiln_ir_binary(&ir, KILN_OP_MIN, n, value);
    expect_folded(value, "%0 = load.i32 tensor 1 : [4]\n"
                         "%1 = constant.i32 -128 : []\n"
                         "%2 = min.i32 %0, %1 : [4]\n"
                         "store.i32 %2, tensor 3 : [4]\n");
}

Test(passes, comparisons_of_constants_know_nan)
{
    uint32_t differs = kiln_ir_binary(&ir, KILN_OP_CMP_NE, real(NAN), real(NAN));
    uint32_t value = kiln_ir_select(&ir, differs, load(X), real(3));
    expect_folded(value, only_x);
}

Test(passes, broadcasts_of_uniform_values_move_behind_the_arithmetic)
{
    tensors[N] = (struct kiln_tensor){.rank = 0, .producer = KILN_NONE};
    uint32_t x = load(X);
    uint32_t shape = ir.ops[x].domain;
    uint32_t wide = kiln_ir_broadcast(&ir, load(N), shape);
    uint32_t value = kiln_ir_unary(&ir, KILN_OP_EXP, wide);
    expect_folded(value, "%0 = load.f32 tensor 1 : []\n"
                         "%1 = exp.f32 %0 : []\n"
                         "%2 = broadcast.f32 %1 : [4]\n"
                         "store.f32 %2, tensor 3 : [4]\n");
}

Test(passes, logic_with_constants)
{
    uint32_t flag = kiln_ir_convert(&ir, load(X), KILN_SCALAR_BOOL);
    uint32_t yes = kiln_ir_integer(&ir, KILN_SCALAR_BOOL, 1);
    uint32_t no = kiln_ir_integer(&ir, KILN_SCALAR_BOOL, 0);
    uint32_t value = kiln_ir_binary(&ir, KILN_OP_AND, yes, flag);
    value = kiln_ir_binary(&ir, KILN_OP_OR, value, no);
    value = kiln_ir_unary(&ir, KILN_OP_NOT, kiln_ir_unary(&ir, KILN_OP_NOT, value));
    expect_folded(value, "%0 = load.f32 tensor 0 : [4]\n"
                         "%1 = convert.bool %0 : [4]\n"
                         "store.bool %1, tensor 3 : [4]\n");
}

Test(passes, marks_survive_when_a_value_is_replaced)
{
    tensors[S].role = KILN_TENSOR_VIRTUAL;
    uint32_t root = kiln_ir_unary(&ir, KILN_OP_SQRT, load(X));
    uint32_t same = kiln_ir_binary(&ir, KILN_OP_MUL, root, real(1));
    ir.ops[same].tensor = S;
    kiln_ir_store(&ir, same, R);
    cr_assert_eq(kiln_ir_optimize(&ir, &graph, &error), KILN_OK, "%s", error.text);
    kiln_ir_print(&ir, NULL, &text);
    cr_assert_str_eq(kiln_buffer_text(&text), "%0 = load.f32 tensor 0 : [4]\n"
                                              "%1 = sqrt.f32 %0 : [4]  ; tensor 4\n"
                                              "store.f32 %1, tensor 3 : [4]\n");
}

Test(passes, common_values_merge)
{
    uint32_t x = load(X), again = load(X), h = load(H);
    uint32_t sum = kiln_ir_binary(&ir, KILN_OP_ADD, x, h);
    uint32_t swapped = kiln_ir_binary(&ir, KILN_OP_ADD, h, again);
    ir.ops[swapped].tensor = R;
    kiln_ir_store(&ir, swapped, R);
    kiln_ir_store(&ir, sum, S);
    cr_assert_eq(kiln_ir_optimize(&ir, &graph, &error), KILN_OK, "%s", error.text);
    kiln_ir_print(&ir, NULL, &text);
    cr_assert_str_eq(kiln_buffer_text(&text), "%0 = load.f32 tensor 0 : [4]\n"
                                              "%1 = load.f32 tensor 2 : [4]\n"
                                              "%2 = add.f32 %0, %1 : [4]  ; tensor 3\n"
                                              "store.f32 %2, tensor 3 : [4]\n"
                                              "store.f32 %2, tensor 4 : [4]\n");
}

Test(passes, different_attributes_do_not_merge)
{
    uint32_t h = load(H), x = load(X);
    uint32_t pairs[][2] = {
        {kiln_ir_round(&ir, x, KILN_DTYPE_F16), kiln_ir_round(&ir, x, KILN_DTYPE_BF16)},
        {real(0.0), real(-0.0)},
        {kiln_ir_binary(&ir, KILN_OP_SUB, x, h), kiln_ir_binary(&ir, KILN_OP_SUB, h, x)},
        {kiln_ir_binary(&ir, KILN_OP_MAX, x, h), kiln_ir_binary(&ir, KILN_OP_MAX, h, x)},
    };
    (void)pairs;
    uint32_t before = ir.op_count;
    cr_assert_eq(kiln_ir_merge_common(&ir, &context, &error), KILN_OK);
    cr_assert_eq(ir.op_count, before);
}

Test(passes, equal_reductions_merge_and_keep_the_first_node)
{
    uint32_t x = load(X), scalar = kiln_ir_domain(&ir, NULL, 0);
    ir.node = 3;
    uint32_t first = kiln_ir_reduce(&ir, KILN_OP_REDUCE_SUM, x, scalar);
    ir.node = 4;
    uint32_t again = kiln_ir_reduce(&ir, KILN_OP_REDUCE_SUM, x, scalar);
    uint32_t mean = kiln_ir_reduce(&ir, KILN_OP_REDUCE_MEAN, x, scalar);
    tensors[R].dims[0] = 1;
    tensors[S].dims[0] = 1;
    kiln_ir_store(&ir, kiln_ir_binary(&ir, KILN_OP_ADD, first, again), R);
    kiln_ir_store(&ir, mean, S);
    cr_assert_eq(kiln_ir_optimize(&ir, &graph, &error), KILN_OK, "%s", error.text);
    kiln_ir_print(&ir, NULL, &text);
    cr_assert_str_eq(kiln_buffer_text(&text), "%0 = load.f32 tensor 0 : [4]\n"
                                              "%1 = reduce_sum.f32 %0 : []\n"
                                              "%2 = reduce_mean.f32 %0 : []\n"
                                              "%3 = add.f32 %1, %1 : []\n"
                                              "store.f32 %3, tensor 3 : []\n"
                                              "store.f32 %2, tensor 4 : []\n");
    cr_expect_eq(ir.ops[1].node, 3);
    cr_expect_eq(ir.ops[2].node, 4);
}

Test(passes, what_folding_makes_is_of_the_same_node)
{
    tensors[N] = (struct kiln_tensor){.rank = 0, .producer = KILN_NONE};
    ir.node = 7;
    uint32_t x = load(X);
    uint32_t wide = kiln_ir_broadcast(&ir, load(N), ir.ops[x].domain);
    kiln_ir_store(&ir, kiln_ir_unary(&ir, KILN_OP_EXP, wide), R);
    tensors[S].role = KILN_TENSOR_VIRTUAL;
    ir.node = 9;
    cr_assert_eq(kiln_ir_optimize(&ir, &graph, &error), KILN_OK, "%s", error.text);
    cr_assert_eq(ir.op_count, 4); /* load, exp, broadcast, store */
    for (uint32_t i = 0; i < ir.op_count; i++)
        cr_expect_eq(ir.ops[i].node, 7);
}

/* x[4] repeated to [3x4], reduced along both axes or one. */
static uint32_t reduce_repeated(enum kiln_opcode opcode, uint32_t axes)
{
    int64_t dims[] = {3, 4};
    uint32_t wide = kiln_ir_broadcast(&ir, load(X), kiln_ir_domain(&ir, dims, 2));
    return kiln_ir_reduce(&ir, opcode, wide, kiln_ir_reduced_domain(&ir, dims, 2, axes));
}

Test(passes, the_greatest_of_equal_elements_is_each)
{
    expect_folded(reduce_repeated(KILN_OP_REDUCE_MAX, 1), only_x);
}

Test(passes, the_sum_and_the_mean_of_equal_elements_stay)
{
    expect_folded(reduce_repeated(KILN_OP_REDUCE_MEAN, 1), "%0 = load.f32 tensor 0 : [4]\n"
                                                           "%1 = broadcast.f32 %0 : [3x4]\n"
                                                           "%2 = reduce_mean.f32 %1 : [4]\n"
                                                           "store.f32 %2, tensor 3 : [4]\n");
}

Test(passes, the_greatest_along_an_axis_that_varies_stays)
{
    tensors[R].rank = 2;
    tensors[R].dims[0] = 3;
    tensors[R].dims[1] = 1;
    expect_folded(reduce_repeated(KILN_OP_REDUCE_MAX, 2), "%0 = load.f32 tensor 0 : [4]\n"
                                                          "%1 = broadcast.f32 %0 : [3x4]\n"
                                                          "%2 = reduce_max.f32 %1 : [3x1]\n"
                                                          "store.f32 %2, tensor 3 : [3x1]\n");
}

Test(passes, rounding_the_least_half_vanishes)
{
    uint32_t least = kiln_ir_reduce(&ir, KILN_OP_REDUCE_MIN, load(H), kiln_ir_domain(&ir, NULL, 0));
    tensors[R].dims[0] = 1;
    expect_folded(kiln_ir_round(&ir, least, KILN_DTYPE_F16), "%0 = load.f32 tensor 2 : [4]\n"
                                                             "%1 = reduce_min.f32 %0 : []\n"
                                                             "store.f32 %1, tensor 3 : []\n");
}

Test(passes, dead_operations_and_domains_go)
{
    int64_t dims[] = {99};
    kiln_ir_index(&ir, KILN_SCALAR_I32, kiln_ir_domain(&ir, dims, 1), 0);
    uint32_t x = load(X);
    kiln_ir_unary(&ir, KILN_OP_TAN, x);
    kiln_ir_store(&ir, x, R);
    cr_assert_eq(kiln_ir_drop_dead(&ir, &context, &error), KILN_OK);
    cr_assert_eq(ir.op_count, 2);
    cr_assert_eq(ir.domain_count, 1);
    kiln_ir_print(&ir, NULL, &text);
    cr_assert_str_eq(kiln_buffer_text(&text), only_x);
}

Test(passes, optimize_ends_and_reports_an_invalid_program)
{
    uint32_t x = load(X);
    kiln_ir_store(&ir, x, R); /* the second output is never stored */
    enum kiln_status status = kiln_ir_optimize(&ir, &graph, &error);
#ifdef NDEBUG
    cr_assert_eq(status, KILN_OK);
#else
    cr_assert_eq(status, KILN_INTERNAL);
    cr_assert(strstr(error.text, "output tensor 4 is stored 0 times") != NULL);
#endif
}

/* 0 * infinity would be a NaN that no operand has: a slope of 0 leaves no product. */
Test(passes, a_clipped_relu_is_a_choice)
{
    struct kiln_node node = {.compute_type = KILN_DTYPE_F32,
                             .input_count = 1,
                             .output_count = 1,
                             .inputs = {X},
                             .outputs = {R},
                             .pointwise = {.mode = KILN_POINTWISE_RELU_FWD,
                                           .relu_lower_clip = 1,
                                           .relu_upper_clip = INFINITY}};
    tensors[S].role = KILN_TENSOR_VIRTUAL;
    graph.node_count = 1;
    graph.nodes = &node;
    cr_assert_eq(kiln_ir_import(&graph, &ir, &error), KILN_OK);
    cr_assert_eq(kiln_ir_optimize(&ir, &graph, &error), KILN_OK, "%s", error.text);
    kiln_ir_print(&ir, NULL, &text);
    cr_assert_null(strstr(kiln_buffer_text(&text), "= mul.f32 "));
    cr_assert_not_null(strstr(kiln_buffer_text(&text), "= le.bool "));
    cr_assert_not_null(strstr(kiln_buffer_text(&text), "= select.f32 "));
}
