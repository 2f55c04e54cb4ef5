/* Matrix products through import, passes and interpreter, against their formula in double. */
#include "compiler/ir/import.h"
#include "compiler/reference/convert.h"
#include "tests/compiler/ir/import_trial.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static const struct {
    uint32_t rank;
    int64_t a[5], b[5], c[5];
} shapes[] = {
    {2, {3, 4}, {4, 5}, {3, 5}},
    {2, {1, 7}, {7, 1}, {1, 1}},
    {2, {6, 1}, {1, 2}, {6, 2}},
    {2, {1, 1}, {1, 1}, {1, 1}},
    {3, {4, 2, 3}, {4, 3, 2}, {4, 2, 2}},
    {3, {1, 2, 3}, {4, 3, 2}, {4, 2, 2}},
    {3, {4, 1, 3}, {1, 3, 5}, {4, 1, 5}},
    {3, {1, 2, 3}, {1, 3, 2}, {4, 2, 2}},
    {3, {2, 2, 3}, {6, 3, 2}, {6, 2, 2}}, /* three neighbours share a matrix of A */
    {4, {2, 4, 2, 3}, {2, 2, 3, 2}, {2, 4, 2, 2}},
    {5, {2, 1, 3, 2, 2}, {1, 4, 1, 2, 3}, {2, 4, 3, 2, 3}},
};

enum { SHAPES = sizeof shapes / sizeof *shapes };

static void begin(struct kiln_trial *trial, size_t shape, enum kiln_dtype a, enum kiln_dtype b,
                  enum kiln_dtype c, double spread)
{
    uint32_t rank = shapes[shape].rank;
    kiln_trial_begin(trial, KILN_NODE_MATMUL, shape + 1);
    trial->reverse_strides = shape % 2 != 0;
    kiln_trial_input(trial, KILN_OPERAND_A, a, rank, shapes[shape].a, 0, spread);
    kiln_trial_input(trial, KILN_OPERAND_B, b, rank, shapes[shape].b, 0, spread);
    kiln_trial_output(trial, KILN_OPERAND_C, c, rank, shapes[shape].c);
    kiln_trial_import(trial);
}

/* Element of an operand by the result's coordinates, with `row` and `column` for the last two. */
static double factor(const struct kiln_trial *trial, uint32_t operand, const int64_t *coordinates,
                     int64_t row, int64_t column)
{
    const struct kiln_tensor *tensor = &trial->tensors[operand];
    const struct kiln_tensor *c = &trial->tensors[2];
    int64_t n = 0;
    for (uint32_t i = 0; i + 2 < tensor->rank; i++)
        n = n * tensor->dims[i] + coordinates[i] / (c->dims[i] / tensor->dims[i]);
    n = (n * tensor->dims[tensor->rank - 2] + row) * tensor->dims[tensor->rank - 1] + column;
    return kiln_trial_element(trial, operand, n).real;
}

static void check(const struct kiln_trial *trial)
{
    const struct kiln_tensor *a = &trial->tensors[0], *c = &trial->tensors[2];
    enum kiln_scalar scalar = kiln_node_scalar(&trial->graph, &trial->node);
    double unit = scalar == KILN_SCALAR_F32 ? 0x1p-24 : scalar == KILN_SCALAR_F64 ? 0x1p-53 : 0;
    for (int64_t n = 0; n < kiln_tensor_elements(c); n++) {
        int64_t coordinates[KILN_MAX_RANK];
        double sum = 0, magnitude = 0;
        kiln_trial_coordinates(c, n, coordinates);
        for (int64_t k = 0; k < a->dims[a->rank - 1]; k++) {
            double product = factor(trial, 0, coordinates, coordinates[c->rank - 2], k) *
                             factor(trial, 1, coordinates, k, coordinates[c->rank - 1]);
            sum += product;
            magnitude += fabs(product);
        }
        double bound = 16 * unit * magnitude;
        double got = kiln_trial_element(trial, 2, n).real;
        cr_assert(got >= kiln_round_to_dtype(c->dtype, sum - bound) &&
                      got <= kiln_round_to_dtype(c->dtype, sum + bound),
                  "%s x %s to %s, rank %u: got %.9g, expected %.9g +- %g",
                  kiln_dtype_info(a->dtype)->text, kiln_dtype_info(trial->tensors[1].dtype)->text,
                  kiln_dtype_info(c->dtype)->text, c->rank, got, sum, bound);
    }
}

static void check_types(enum kiln_dtype a, enum kiln_dtype b, enum kiln_dtype c, double spread)
{
    for (size_t shape = 0; shape < SHAPES; shape++) {
        struct kiln_trial trial;
        begin(&trial, shape, a, b, c, spread);
        kiln_trial_check_passes(&trial);
        kiln_trial_run(&trial, &trial.plain, KILN_MATH_NATIVE);
        check(&trial);
        kiln_trial_run(&trial, &trial.optimized, KILN_MATH_NOISY);
        check(&trial);
        kiln_trial_end(&trial);
    }
}

Test(import_matmul, floats)
{
    check_types(KILN_DTYPE_F32, KILN_DTYPE_F32, KILN_DTYPE_F32, 2);
    check_types(KILN_DTYPE_F64, KILN_DTYPE_F32, KILN_DTYPE_F64, 2);
    check_types(KILN_DTYPE_F16, KILN_DTYPE_BF16, KILN_DTYPE_F32, 2);
    check_types(KILN_DTYPE_F8E4M3, KILN_DTYPE_F8E5M2, KILN_DTYPE_F16, 2);
    check_types(KILN_DTYPE_F16, KILN_DTYPE_I8, KILN_DTYPE_BF16, 2);
}

Test(import_matmul, integers)
{
    check_types(KILN_DTYPE_I8, KILN_DTYPE_I8, KILN_DTYPE_I32, 100);
    check_types(KILN_DTYPE_U8, KILN_DTYPE_I8, KILN_DTYPE_I32, 2);
    check_types(KILN_DTYPE_I8, KILN_DTYPE_I8, KILN_DTYPE_F32, 50);
}

/* What the validator does not know: the axes that the node's shapes ask for, and no others. */
Test(import_matmul, axes_and_repeats)
{
    struct kiln_trial trial;
    begin(&trial, 9, KILN_DTYPE_F16, KILN_DTYPE_F16, KILN_DTYPE_F16, 1);
    cr_assert_eq(trial.plain.contraction_count, 1);
    const struct kiln_contraction *contraction = &trial.plain.contractions[0];
    cr_assert_eq(contraction->axis_count, 5);
    cr_expect_eq(kiln_contraction_size(contraction, KILN_AXIS_BATCH), 8);
    cr_expect_eq(kiln_contraction_size(contraction, KILN_AXIS_M), 2);
    cr_expect_eq(kiln_contraction_size(contraction, KILN_AXIS_N), 2);
    cr_expect_eq(kiln_contraction_size(contraction, KILN_AXIS_K), 3);
    cr_expect_eq(contraction->maps[KILN_CONTRACT_LEFT].axes[1].repeat.value, 1);
    cr_expect_eq(contraction->maps[KILN_CONTRACT_RIGHT].axes[1].repeat.value, 2);
    struct kiln_buffer text;
    kiln_buffer_init(&text);
    kiln_ir_print(&trial.plain, NULL, &text);
    cr_expect_not_null(strstr(kiln_buffer_text(&text),
                              "contract.f32 %0, %1 over b2 b4 m2 n2 k3 left [3, 2, 1, -, 0] "
                              "right [3, 2/2, -, 0, 1] result [3, 2, 1, 0, -] : "),
                       "%s", kiln_buffer_text(&text));
    kiln_buffer_fini(&text);
    kiln_trial_end(&trial);
}
