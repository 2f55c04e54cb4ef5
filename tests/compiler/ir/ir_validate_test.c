#include "compiler/ir/ir.h"

#include <criterion/criterion.h>
#include <string.h>

/* y[2x3] half = round(x[2x3] float * 0.5): sound; each test breaks one thing. */
enum { X, HALF, PRODUCT, ROUNDED, STORE };

static struct kiln_arena arena;
static struct kiln_ir ir;
static struct kiln_buffer faults;
static struct kiln_tensor tensors[3];
static struct kiln_graph graph;

static void setup(void)
{
    tensors[0] = (struct kiln_tensor){.rank = 2, .dims = {2, 3}, .producer = KILN_NONE};
    tensors[1] = (struct kiln_tensor){
        .dtype = KILN_DTYPE_F16, .role = KILN_TENSOR_OUTPUT, .rank = 3, .dims = {1, 2, 3}};
    tensors[2] = (struct kiln_tensor){.role = KILN_TENSOR_VIRTUAL, .rank = 1, .dims = {3}};
    graph = (struct kiln_graph){.tensor_count = 3, .tensors = tensors};
    kiln_arena_init(&arena);
    kiln_ir_init(&ir, &arena);
    kiln_buffer_init(&faults);
    uint32_t x = kiln_ir_load(&ir, &graph, 0);
    uint32_t half = kiln_ir_real(&ir, KILN_SCALAR_F32, 0.5);
    uint32_t product = kiln_ir_binary(&ir, KILN_OP_MUL, x, half);
    uint32_t rounded = kiln_ir_round(&ir, product, KILN_DTYPE_F16);
    ir.ops[rounded].tensor = 1;
    kiln_ir_store(&ir, rounded, 1);
}

static void teardown(void)
{
    kiln_buffer_fini(&faults);
    kiln_arena_fini(&arena);
}

TestSuite(ir_validate, .init = setup, .fini = teardown);

static void expect_fault(const char *sentence)
{
    cr_expect_not(kiln_ir_validate(&ir, &graph, &faults));
    cr_expect_not_null(strstr(kiln_buffer_text(&faults), sentence), "'%s' is not in:\n%s", sentence,
                       kiln_buffer_text(&faults));
}

Test(ir_validate, a_sound_program_has_no_faults)
{
    cr_assert(kiln_ir_validate(&ir, &graph, &faults), "%s", kiln_buffer_text(&faults));
    cr_assert_str_empty(kiln_buffer_text(&faults));
}

Test(ir_validate, opcode)
{
    ir.ops[PRODUCT].opcode = (enum kiln_opcode)999;
    expect_fault("%2 ?: opcode 999 does not exist");
}

Test(ir_validate, scalar)
{
    ir.ops[PRODUCT].scalar = (enum kiln_scalar)17;
    expect_fault("%2 mul: scalar type 17 does not exist");
}

Test(ir_validate, domain_index)
{
    ir.ops[PRODUCT].domain = 77;
    expect_fault("%2 mul: domain 77 does not exist");
}

Test(ir_validate, operand_order)
{
    ir.ops[PRODUCT].operands[1] = ROUNDED;
    expect_fault("%2 mul: operand 1 is not an earlier value");
}

Test(ir_validate, operand_beyond_the_arity)
{
    ir.ops[PRODUCT].operands[2] = X;
    expect_fault("%2 mul: operand 2 is beyond the arity");
}

Test(ir_validate, operand_that_is_a_store)
{
    kiln_ir_unary(&ir, KILN_OP_NEG, STORE);
    expect_fault("%5 neg: operand 0 is not a value");
}

Test(ir_validate, operand_types)
{
    ir.ops[HALF].scalar = KILN_SCALAR_F64;
    expect_fault("%2 mul: operands 0 and 1 differ in type");
}

Test(ir_validate, result_type)
{
    ir.ops[PRODUCT].scalar = KILN_SCALAR_F64;
    expect_fault("%2 mul: the result's type is not that of its operands");
}

Test(ir_validate, comparison_is_bool)
{
    ir.ops[PRODUCT].opcode = KILN_OP_CMP_LT;
    expect_fault("%2 lt: the result of a comparison is not bool");
}

Test(ir_validate, type_that_the_operation_lacks)
{
    uint32_t flag = kiln_ir_integer(&ir, KILN_SCALAR_BOOL, 1);
    kiln_ir_unary(&ir, KILN_OP_NEG, flag);
    expect_fault("neg: type bool is not allowed");
}

Test(ir_validate, condition_is_bool)
{
    kiln_ir_select(&ir, X, X, HALF);
    expect_fault("select: the condition is not bool");
}

Test(ir_validate, elementwise_domains)
{
    int64_t dims[] = {7};
    uint32_t other = kiln_ir_index(&ir, KILN_SCALAR_I32, kiln_ir_domain(&ir, dims, 1), 0);
    uint32_t real = kiln_ir_convert(&ir, other, KILN_SCALAR_F32);
    kiln_ir_binary(&ir, KILN_OP_ADD, X, real);
    expect_fault("add: operand 1 has another domain");
}

Test(ir_validate, elementwise_domain_of_no_operand)
{
    uint32_t sum = kiln_ir_binary(&ir, KILN_OP_ADD, HALF, HALF);
    ir.ops[sum].domain = ir.ops[X].domain;
    expect_fault("add: the domain is that of no operand");
}

Test(ir_validate, broadcast)
{
    int64_t dims[] = {7};
    kiln_ir_broadcast(&ir, X, kiln_ir_domain(&ir, dims, 1));
    expect_fault("broadcast: the operand can't be broadcast");
}

Test(ir_validate, reductions)
{
    uint32_t shape = ir.ops[X].domain;
    int64_t dims[] = {2, 3}, other[] = {2, 1, 1};
    kiln_ir_reduce(&ir, KILN_OP_REDUCE_SUM, X, kiln_ir_reduced_domain(&ir, dims, 2, 2));
    kiln_ir_reduce(&ir, KILN_OP_REDUCE_MEAN, X, kiln_ir_reduced_domain(&ir, dims, 2, 3));
    cr_assert(kiln_ir_validate(&ir, &graph, &faults), "%s", kiln_buffer_text(&faults));
    kiln_ir_reduce(&ir, KILN_OP_REDUCE_SUM, X, shape);
    kiln_ir_reduce(&ir, KILN_OP_REDUCE_MAX, X, kiln_ir_domain(&ir, other, 3));
    expect_fault("%7 reduce_sum: the operand's domain can't be reduced to the result's");
    expect_fault("%8 reduce_max: the operand's domain can't be reduced to the result's");
}

Test(ir_validate, type_that_a_reduction_lacks)
{
    uint32_t shape = ir.ops[X].domain, scalar = kiln_ir_domain(&ir, NULL, 0);
    kiln_ir_reduce(&ir, KILN_OP_REDUCE_MEAN, kiln_ir_index(&ir, KILN_SCALAR_I32, shape, 0), scalar);
    kiln_ir_reduce(&ir, KILN_OP_REDUCE_SUM, kiln_ir_convert(&ir, X, KILN_SCALAR_BOOL), scalar);
    expect_fault("reduce_mean: type i32 is not allowed");
    expect_fault("reduce_sum: type bool is not allowed");
}

Test(ir_validate, constants)
{
    ir.ops[kiln_ir_real(&ir, KILN_SCALAR_F32, 0.5)].constant.real = 0.1;
    kiln_ir_integer(&ir, KILN_SCALAR_BOOL, 2);
    kiln_ir_integer(&ir, KILN_SCALAR_I32, INT64_C(1) << 40);
    expect_fault("is not an f32");
    expect_fault("a bool is 2");
    expect_fault("an i32 is 1099511627776");
}

Test(ir_validate, index_axis)
{
    kiln_ir_index(&ir, KILN_SCALAR_I32, ir.ops[X].domain, 2);
    expect_fault("index: axis 2 is out of range");
}

Test(ir_validate, round_through_integers)
{
    kiln_ir_round(&ir, X, KILN_DTYPE_I8);
    expect_fault("round: can't round f32 through int8");
}

Test(ir_validate, load_of_an_output)
{
    ir.ops[X].tensor = 1;
    expect_fault("%0 load: tensor 1 is not an input");
}

Test(ir_validate, tensor_of_another_type)
{
    tensors[0].dtype = KILN_DTYPE_I32;
    expect_fault("%0 load: tensor 0 is int32");
}

Test(ir_validate, tensor_of_another_shape)
{
    tensors[0].dims[0] = 5;
    expect_fault("%0 load: tensor 0 has another shape");
}

Test(ir_validate, tensor_out_of_range)
{
    ir.ops[X].tensor = 3;
    expect_fault("%0 load: tensor 3 does not exist");
}

Test(ir_validate, mark_of_an_input)
{
    ir.ops[PRODUCT].tensor = 0;
    expect_fault("%2 mul: tensor 0 is not made by the graph");
}

Test(ir_validate, value_that_is_not_rounded)
{
    ir.ops[STORE].operands[0] = PRODUCT;
    expect_fault("%4 store: the value is not rounded to half");
}

Test(ir_validate, output_stored_twice_or_never)
{
    kiln_ir_store(&ir, ROUNDED, 1);
    expect_fault("output tensor 1 is stored 2 times");
    kiln_buffer_clear(&faults);
    ir.op_count = STORE;
    expect_fault("output tensor 1 is stored 0 times");
}

Test(ir_validate, domain_table)
{
    ir.domains[ir.ops[X].domain].dims[0] = 1;
    expect_fault("is not canonical");
}

Test(ir_validate, end_of_a_domain)
{
    static const struct kiln_domain unsound[] = {
        {.rank = 2, .dims = {3, 32}, .end = 96},                  /* no short block */
        {.rank = 2, .dims = {3, 32}, .end = 64},                  /* a block too many */
        {.rank = 2, .dims = {3, 32}, .end = 97},                  /* one too few */
        {.rank = 2, .dims = {3, 32}, .end = 70, .block_axis = 1}, /* no axis of blocks */
        {.rank = 2, .dims = {3, 32}, .block_axis = 1},
        {.rank = 1, .dims = {32}, .end = 20},
    };
    for (size_t i = 0; i < sizeof unsound / sizeof *unsound; i++) {
        kiln_buffer_clear(&faults);
        ir.domains[ir.ops[X].domain] = unsound[i];
        expect_fault("is not canonical");
    }
}

Test(ir_validate, all_faults_are_reported_and_one_defect_once)
{
    ir.ops[X].tensor = 3;
    kiln_ir_index(&ir, KILN_SCALAR_I32, ir.ops[HALF].domain, 4);
    cr_assert_not(kiln_ir_validate(&ir, &graph, &faults));
    cr_assert_str_eq(kiln_buffer_text(&faults), "%0 load: tensor 3 does not exist\n"
                                                "%5 index: axis 4 is out of range\n"
                                                "output tensor 1 is stored 0 times\n");
}

/* ---- contractions: y[2x3] = x[2x4] * w[4x3], then one thing broken ---- */

static struct kiln_contraction matrix_product(void)
{
    struct kiln_contraction contraction = {0};
    const struct kiln_map_axis last = kiln_map_axis_along(0);
    const struct kiln_map_axis first = kiln_map_axis_along(1);
    const struct kiln_map_axis nowhere = kiln_map_axis_nowhere();
    kiln_contraction_append(&contraction, KILN_AXIS_M, 2, first, nowhere, first);
    kiln_contraction_append(&contraction, KILN_AXIS_N, 3, nowhere, last, last);
    kiln_contraction_append(&contraction, KILN_AXIS_K, 4, last, first, nowhere);
    return contraction;
}

static void append_product(const struct kiln_contraction *contraction)
{
    static const int64_t left[] = {2, 4}, right[] = {4, 3}, result[] = {2, 3};
    uint32_t a = kiln_ir_index(&ir, KILN_SCALAR_I32, kiln_ir_domain(&ir, left, 2), 0);
    uint32_t b = kiln_ir_index(&ir, KILN_SCALAR_I32, kiln_ir_domain(&ir, right, 2), 0);
    kiln_ir_contract(&ir, a, b, contraction, kiln_ir_domain(&ir, result, 2));
}

Test(ir_validate, a_sound_contraction)
{
    struct kiln_contraction contraction = matrix_product();
    append_product(&contraction);
    cr_assert(kiln_ir_validate(&ir, &graph, &faults), "%s", kiln_buffer_text(&faults));
}

Test(ir_validate, contraction_index)
{
    struct kiln_contraction contraction = matrix_product();
    append_product(&contraction);
    ir.ops[ir.op_count - 1].contraction = 5;
    expect_fault("contract: contraction 5 does not exist");
}

/* Sentences name the operand; tests of each member are in contraction_test.c. */
Test(ir_validate, contraction_faults_name_the_operand)
{
    struct kiln_contraction contraction = matrix_product();
    contraction.sizes[2] = 5;
    append_product(&contraction);
    expect_fault("%7 contract: operand 0: coordinates along axis 0 reach 4, but its size is 4\n"
                 "%7 contract: operand 1: coordinates along axis 1 reach 4, but its size is 4\n");
    ir.contractions[0] = matrix_product();
    ir.contractions[0].maps[KILN_CONTRACT_RESULT].axes[1].along = 1;
    expect_fault("%7 contract: the result: ");
}

Test(ir_validate, contraction_operand_types)
{
    struct kiln_contraction contraction = matrix_product();
    append_product(&contraction);
    ir.ops[ir.op_count - 2].scalar = KILN_SCALAR_I64;
    expect_fault("contract: operands 0 and 1 differ in type");
}
