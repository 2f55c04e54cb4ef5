#include "compiler/reference/node_evaluators.h"

#include <criterion/criterion.h>
#include <math.h>

/* c[2, 2, 2] = a[1, 2, 3] * b[2, 3, 2]: one A for both batches. */
enum { A_ELEMENTS = 6, B_ELEMENTS = 12, C_ELEMENTS = 8 };

static struct kiln_tensor tensors[3];
static struct kiln_graph graph;
static struct kiln_node node;
static double reals[3][B_ELEMENTS], bounds[3][B_ELEMENTS];
static int64_t integers[3][B_ELEMENTS];
static struct kiln_reference_tensor contents[3];

static void set_up(void)
{
    tensors[0] = (struct kiln_tensor){.rank = 3, .dims = {1, 2, 3}};
    tensors[1] = (struct kiln_tensor){.rank = 3, .dims = {2, 3, 2}};
    tensors[2] = (struct kiln_tensor){.rank = 3, .dims = {2, 2, 2}};
    graph = (struct kiln_graph){.tensor_count = 3, .tensors = tensors};
    node = (struct kiln_node){.kind = KILN_NODE_MATMUL,
                              .input_count = 2,
                              .output_count = 1,
                              .inputs = {0, 1},
                              .outputs = {2}};
    for (int64_t i = 0; i < A_ELEMENTS; i++)
        reals[0][i] = (double)(integers[0][i] = i + 1);
    for (int64_t i = 0; i < B_ELEMENTS; i++)
        reals[1][i] = (double)(integers[1][i] = i - 5);
    for (int i = 0; i < 3; i++)
        contents[i] = (struct kiln_reference_tensor){
            .real = reals[i], .bound = bounds[i], .integer = integers[i]};
}

TestSuite(matmul_reference, .init = set_up);

static void evaluate(enum kiln_scalar scalar)
{
    cr_assert_eq(kiln_matmul_evaluate(&graph, &node, scalar, contents, NULL, NULL), KILN_OK);
}

static void set_types(enum kiln_dtype a, enum kiln_dtype b, enum kiln_dtype c)
{
    tensors[0].dtype = a;
    tensors[1].dtype = b;
    tensors[2].dtype = c;
}

/* Row by row: (1 2 3; 4 5 6) times (-5 -4; -3 -2; -1 0) and (1 2; 3 4; 5 6). */
static const double expected[C_ELEMENTS] = {-14, -8, -41, -26, 22, 28, 49, 64};

Test(matmul_reference, sums_of_products_and_shared_batches)
{
    set_types(KILN_DTYPE_F32, KILN_DTYPE_F32, KILN_DTYPE_F32);
    evaluate(KILN_SCALAR_F32);
    for (int i = 0; i < C_ELEMENTS; i++) {
        cr_expect_eq(reals[2][i], expected[i], "element %d: %g", i, reals[2][i]);
        cr_expect(bounds[2][i] >= 0 && bounds[2][i] < 1e-4, "element %d: %g", i, bounds[2][i]);
    }
}

Test(matmul_reference, bounds_grow_with_those_of_the_operands)
{
    set_types(KILN_DTYPE_F32, KILN_DTYPE_F32, KILN_DTYPE_F32);
    bounds[0][0] = 0.5; /* the first row of A meets -5 and -4, then 1 and 2 */
    evaluate(KILN_SCALAR_F32);
    cr_expect_geq(bounds[2][0], 2.5);
    cr_expect_geq(bounds[2][5], 1);
    cr_expect_lt(bounds[2][2], 0.1, "the second row has nothing to do with it");
}

Test(matmul_reference, integers_are_exact_and_wrap)
{
    set_types(KILN_DTYPE_I8, KILN_DTYPE_I8, KILN_DTYPE_I32);
    evaluate(KILN_SCALAR_I32);
    for (int i = 0; i < C_ELEMENTS; i++) {
        cr_expect_eq(integers[2][i], (int64_t)expected[i]);
        cr_expect_eq(bounds[2][i], 0);
    }
    integers[0][0] = INT32_MAX;
    integers[1][6] = 2;
    evaluate(KILN_SCALAR_I32);
    cr_expect_eq(integers[2][4], -2 + 2 * 3 + 3 * 5);
}

Test(matmul_reference, of_inexact_integers_nothing_is_known)
{
    set_types(KILN_DTYPE_I8, KILN_DTYPE_I8, KILN_DTYPE_I32);
    bounds[1][0] = 1;
    evaluate(KILN_SCALAR_I32);
    cr_expect(isinf(bounds[2][0]), "%g", bounds[2][0]);
    cr_expect_eq(bounds[2][1], 0);
}

Test(matmul_reference, nan_and_infinity_reach_their_row)
{
    set_types(KILN_DTYPE_F32, KILN_DTYPE_F32, KILN_DTYPE_F16);
    reals[0][0] = NAN;
    reals[0][3] = INFINITY;
    evaluate(KILN_SCALAR_F32);
    cr_expect(isnan(reals[2][0]) && isnan(reals[2][1]));
    cr_expect(reals[2][2] == -INFINITY && reals[2][6] == INFINITY);
}
