#include "compiler/ir/import.h"
#include "compiler/ir/ir.h"

#include <criterion/criterion.h>
#include <math.h>

static struct kiln_arena arena;
static struct kiln_ir ir;
static struct kiln_buffer text;

static void setup(void)
{
    kiln_arena_init(&arena);
    kiln_ir_init(&ir, &arena);
    kiln_buffer_init(&text);
}

static void teardown(void)
{
    kiln_buffer_fini(&text);
    kiln_arena_fini(&arena);
}

TestSuite(ir, .init = setup, .fini = teardown);

static uint32_t domain(uint32_t rank, int64_t a, int64_t b, int64_t c)
{
    int64_t dims[3] = {a, b, c};
    return kiln_ir_domain(&ir, dims, rank);
}

Test(ir, domains_drop_leading_ones_and_are_shared)
{
    uint32_t first = domain(3, 1, 4, 1);
    cr_assert_eq(first, domain(2, 4, 1, 0));
    cr_assert_neq(first, domain(3, 4, 1, 1));
    cr_assert_eq(ir.domains[first].rank, 2);
    cr_assert_eq(domain(3, 1, 1, 1), kiln_ir_domain(&ir, NULL, 0));
    cr_assert_eq(kiln_domain_elements(&ir.domains[domain(3, 1, 1, 1)]), 1);
}

Test(ir, broadcasting_aligns_at_the_right)
{
    const struct kiln_domain full = {.rank = 3, .dims = {2, 3, 4}}, last = {.rank = 1, .dims = {4}},
                             middle = {.rank = 2, .dims = {3, 1}}, other = {.rank = 1, .dims = {3}},
                             longer = {.rank = 4, .dims = {5, 2, 3, 4}};
    cr_assert(kiln_domain_broadcasts_to(&last, &full));
    cr_assert(kiln_domain_broadcasts_to(&middle, &full));
    cr_assert(!kiln_domain_broadcasts_to(&other, &full));
    cr_assert(!kiln_domain_broadcasts_to(&longer, &full));
}

Test(ir, reduced_axes_are_those_that_shrink)
{
    int64_t dims[] = {1, 3, 4, 5};
    uint32_t full = kiln_ir_domain(&ir, dims, 4);
    uint32_t last = kiln_ir_reduced_domain(&ir, dims, 4, 8);
    uint32_t first = kiln_ir_reduced_domain(&ir, dims, 4, 2);
    cr_assert_eq(last, domain(3, 3, 4, 1));
    cr_assert_eq(first, domain(2, 4, 5, 0));
    /* Counted in the domain, which has no leading 1. */
    cr_assert_eq(kiln_domain_reduced_axes(&ir.domains[full], &ir.domains[last]), 4);
    cr_assert_eq(kiln_domain_reduced_axes(&ir.domains[full], &ir.domains[first]), 1);
    cr_assert_eq(kiln_domain_reduced_axes(&ir.domains[full], &ir.domains[full]), 0);
    uint32_t all = kiln_ir_reduced_domain(&ir, dims, 4, 15);
    cr_assert_eq(kiln_domain_reduced_axes(&ir.domains[full], &ir.domains[all]), 7);
}

/* In a program for general kernels an axis that the graph declares longer is one of any size. */
Test(ir, declared_axes_are_kept)
{
    const struct kiln_tensor declared = {.rank = 3, .dims = {8, 1, 5}};
    const struct kiln_tensor now = {.rank = 3, .dims = {1, 1, 1}, .declared = &declared};
    cr_assert_eq(kiln_ir_tensor_domain(&ir, &now), kiln_ir_domain(&ir, NULL, 0));
    ir.is_general = true;
    uint32_t full = kiln_ir_tensor_domain(&ir, &now);
    cr_assert_eq(ir.domains[full].rank, 3);
    cr_assert_not(kiln_domain_is_one(&ir.domains[full], 0));
    cr_assert(kiln_domain_is_one(&ir.domains[full], 1));
    uint32_t rows = kiln_ir_tensor_rows(&ir, &now, 4);
    cr_assert_neq(rows, full);
    cr_assert_eq(kiln_domain_reduced_axes(&ir.domains[full], &ir.domains[rows]), 4);
    cr_assert(kiln_domain_broadcasts_to(&ir.domains[rows], &ir.domains[full]));
    cr_assert_eq(kiln_ir_domain_without(&ir, &ir.domains[full], 7), kiln_ir_domain(&ir, NULL, 0));
}

Test(ir, conversions_and_broadcasts_to_the_same_are_no_operations)
{
    uint32_t one = kiln_ir_real(&ir, KILN_SCALAR_F32, 1);
    cr_assert_eq(kiln_ir_convert(&ir, one, KILN_SCALAR_F32), one);
    cr_assert_eq(kiln_ir_broadcast(&ir, one, kiln_ir_domain(&ir, NULL, 0)), one);
    cr_assert_neq(kiln_ir_convert(&ir, one, KILN_SCALAR_F64), one);
}

Test(ir, results_take_the_domain_of_the_operand_that_has_one)
{
    uint32_t shape = domain(2, 8, 30, 0);
    uint32_t index = kiln_ir_index(&ir, KILN_SCALAR_I32, shape, 1);
    uint32_t uniform = kiln_ir_integer(&ir, KILN_SCALAR_I32, 3);
    uint32_t sum = kiln_ir_binary(&ir, KILN_OP_ADD, uniform, index);
    cr_assert_eq(ir.ops[sum].domain, shape);
    uint32_t less = kiln_ir_binary(&ir, KILN_OP_CMP_LT, index, uniform);
    cr_assert_eq(ir.ops[less].scalar, KILN_SCALAR_BOOL);
    uint32_t flag = kiln_ir_integer(&ir, KILN_SCALAR_BOOL, 1);
    cr_assert_eq(ir.ops[kiln_ir_select(&ir, flag, uniform, sum)].domain, shape);
}

Test(ir, a_failed_allocation_is_remembered)
{
    ir.failed = true;
    cr_assert_eq(kiln_ir_real(&ir, KILN_SCALAR_F32, 1), KILN_NONE);
    cr_assert_eq(kiln_ir_binary(&ir, KILN_OP_ADD, KILN_NONE, KILN_NONE), KILN_NONE);
    cr_assert_eq(kiln_ir_store(&ir, KILN_NONE, 0), KILN_NONE);
    cr_assert_eq(ir.op_count, 0);
}

Test(ir, many_operations_and_domains_fit)
{
    for (int64_t i = 0; i < 1000; i++) {
        cr_assert_eq(kiln_ir_integer(&ir, KILN_SCALAR_I64, i), i);
        domain(1, i + 2, 0, 0);
    }
    cr_assert_eq(ir.ops[777].constant.integer, 777);
    cr_assert_eq(ir.domain_count, 1001);
}

/* Each appends to its own arrays, so domains of one index differ between versions. */
Test(ir, versions_of_a_program_are_independent)
{
    struct kiln_ir copy, other;
    uint32_t shared = domain(1, 4, 0, 0);
    kiln_ir_index(&ir, KILN_SCALAR_I32, shared, 0);
    cr_assert(kiln_ir_copy(&ir, &arena, &copy));
    cr_assert(kiln_ir_copy(&ir, &arena, &other));
    int64_t dims[][2] = {{2, 5}, {2, 6}, {2, 7}};
    uint32_t added = kiln_ir_domain(&ir, dims[0], 2);
    cr_expect_eq(kiln_ir_domain(&copy, dims[1], 2), added);
    cr_expect_eq(kiln_ir_domain(&other, dims[2], 2), added);
    kiln_ir_index(&copy, KILN_SCALAR_I64, added, 1);
    cr_expect_eq(ir.op_count, 1);
    cr_expect_eq(copy.op_count, 2);
    cr_expect_eq(ir.domains[added].dims[1], 5);
    cr_expect_eq(copy.domains[added].dims[1], 6);
    cr_expect_eq(other.domains[added].dims[1], 7);
    cr_expect_eq(kiln_ir_domain(&copy, dims[0], 2), added + 1);
    cr_expect_eq(kiln_ir_domain(&ir, dims[0], 2), added);
}

Test(ir, prints_one_line_per_operation)
{
    struct kiln_tensor tensors[] = {
        {.rank = 2, .dims = {2, 3}, .strides = {3, 1}, .producer = KILN_NONE},
        {.dtype = KILN_DTYPE_F16,
         .role = KILN_TENSOR_OUTPUT,
         .rank = 2,
         .dims = {2, 3},
         .strides = {3, 1}},
    };
    struct kiln_graph graph = {.tensor_count = 2, .tensors = tensors};
    uint32_t x = kiln_ir_load(&ir, &graph, 0);
    uint32_t half = kiln_ir_real(&ir, KILN_SCALAR_F32, 0.5);
    uint32_t product = kiln_ir_binary(&ir, KILN_OP_MUL, x, half);
    uint32_t rounded = kiln_ir_round(&ir, product, KILN_DTYPE_F16);
    ir.ops[rounded].tensor = 1;
    kiln_ir_store(&ir, rounded, 1);
    kiln_ir_index(&ir, KILN_SCALAR_I32, ir.ops[x].domain, 1);
    kiln_ir_real(&ir, KILN_SCALAR_F64, -NAN);
    kiln_ir_integer(&ir, KILN_SCALAR_BOOL, 1);
    kiln_ir_print(&ir, NULL, &text);
    cr_assert_str_eq(kiln_buffer_text(&text), "%0 = load.f32 tensor 0 : [2x3]\n"
                                              "%1 = constant.f32 0.5 : []\n"
                                              "%2 = mul.f32 %0, %1 : [2x3]\n"
                                              "%3 = round.f32 %2 through half : [2x3]  ; tensor 1\n"
                                              "store.f32 %3, tensor 1 : [2x3]\n"
                                              "%5 = index.i32 axis 1 : [2x3]\n"
                                              "%6 = constant.f64 nan : []\n"
                                              "%7 = constant.bool 1 : []\n");
}

/* The rule of import.h. */
Test(ir, nodes_compute_in_the_type_of_the_rule)
{
    static const struct {
        enum kiln_pointwise_mode mode;
        enum kiln_dtype a, b, result, compute;
        enum kiln_scalar expected;
    } rows[] = {
        {KILN_POINTWISE_ADD, KILN_DTYPE_F32, KILN_DTYPE_F16, KILN_DTYPE_F32, KILN_DTYPE_F32,
         KILN_SCALAR_F32},
        {KILN_POINTWISE_ADD, KILN_DTYPE_F16, KILN_DTYPE_F16, KILN_DTYPE_F16, KILN_DTYPE_F16,
         KILN_SCALAR_F32},
        {KILN_POINTWISE_ADD, KILN_DTYPE_F32, KILN_DTYPE_F64, KILN_DTYPE_F32, KILN_DTYPE_F32,
         KILN_SCALAR_F64},
        {KILN_POINTWISE_ADD, KILN_DTYPE_F32, KILN_DTYPE_F32, KILN_DTYPE_F32, KILN_DTYPE_F64,
         KILN_SCALAR_F64},
        {KILN_POINTWISE_ADD, KILN_DTYPE_I8, KILN_DTYPE_U8, KILN_DTYPE_I32, KILN_DTYPE_F32,
         KILN_SCALAR_I32},
        {KILN_POINTWISE_ADD, KILN_DTYPE_I8, KILN_DTYPE_I64, KILN_DTYPE_BOOL, KILN_DTYPE_F32,
         KILN_SCALAR_I64},
        {KILN_POINTWISE_ADD, KILN_DTYPE_I32, KILN_DTYPE_I32, KILN_DTYPE_F32, KILN_DTYPE_F32,
         KILN_SCALAR_F32},
        {KILN_POINTWISE_DIV, KILN_DTYPE_I32, KILN_DTYPE_I32, KILN_DTYPE_I32, KILN_DTYPE_F32,
         KILN_SCALAR_F32},
        {KILN_POINTWISE_CMP_LT, KILN_DTYPE_I64, KILN_DTYPE_I32, KILN_DTYPE_F32, KILN_DTYPE_F32,
         KILN_SCALAR_I64},
        {KILN_POINTWISE_CMP_LT, KILN_DTYPE_I32, KILN_DTYPE_F32, KILN_DTYPE_BOOL, KILN_DTYPE_F32,
         KILN_SCALAR_F32},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kiln_tensor tensors[] = {
            {.dtype = rows[i].a}, {.dtype = rows[i].b}, {.dtype = rows[i].result}};
        struct kiln_graph graph = {.tensor_count = 3, .tensors = tensors};
        struct kiln_node node = {.compute_type = rows[i].compute,
                                 .input_count = 2,
                                 .output_count = 1,
                                 .inputs = {0, 1},
                                 .outputs = {2},
                                 .pointwise = {.mode = rows[i].mode}};
        cr_expect_eq(kiln_pointwise_scalar(&graph, &node), rows[i].expected, "row %zu", i);
    }
}
