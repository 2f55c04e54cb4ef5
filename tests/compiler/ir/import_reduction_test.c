/* The nine modes through import, passes and interpreter, against their formulas in double. */
#include "compiler/ir/import.h"
#include "compiler/reference/convert.h"
#include "tests/compiler/ir/import_trial.h"

#include <criterion/criterion.h>
#include <math.h>

static const struct {
    uint32_t rank;
    int64_t dims[5];
    uint32_t axes;
} shapes[] = {
    {1, {7}, 1},           {2, {3, 8}, 2},           {2, {5, 4}, 1},          {2, {3, 4}, 0},
    {3, {2, 3, 4}, 2},     {3, {2, 3, 4}, 5},        {3, {1, 6, 1}, 2},       {4, {2, 3, 1, 4}, 13},
    {4, {2, 2, 3, 2}, 15}, {5, {2, 1, 3, 2, 2}, 20}, {5, {1, 1, 1, 1, 1}, 0},
};

enum { SHAPES = sizeof shapes / sizeof *shapes };

static void begin(struct kiln_trial *trial, enum kiln_reduction_mode mode, size_t shape,
                  enum kiln_dtype from, enum kiln_dtype to, double offset, double spread)
{
    kiln_trial_begin(trial, KILN_NODE_REDUCTION, shape + 1);
    trial->reverse_strides = shape % 2 != 0;
    trial->node.reduction = (struct kiln_reduction){.mode = mode, .axes = shapes[shape].axes};
    int64_t left[5];
    for (uint32_t i = 0; i < shapes[shape].rank; i++)
        left[i] = (shapes[shape].axes >> i & 1) != 0 ? 1 : shapes[shape].dims[i];
    kiln_trial_input(trial, KILN_OPERAND_IN, from, shapes[shape].rank, shapes[shape].dims, offset,
                     spread);
    kiln_trial_output(trial, KILN_OPERAND_OUT, to, shapes[shape].rank, left);
    kiln_trial_import(trial);
}

static double step(enum kiln_reduction_mode mode, double sum, double x)
{
    switch (mode) {
    case KILN_REDUCTION_MUL:
        return sum * x;
    case KILN_REDUCTION_MUL_NO_ZEROS:
        return x == 0 ? sum : sum * x;
    case KILN_REDUCTION_MIN:
        return isnan(x) || isnan(sum) ? NAN : fmin(sum, x);
    case KILN_REDUCTION_MAX:
        return isnan(x) || isnan(sum) ? NAN : fmax(sum, x);
    case KILN_REDUCTION_AMAX:
        return isnan(x) || isnan(sum) ? NAN : fmax(sum, fabs(x));
    case KILN_REDUCTION_NORM1:
        return sum + fabs(x);
    case KILN_REDUCTION_NORM2:
        return sum + x * x;
    default:
        return sum + x;
    }
}

/* The formula, over all elements of the input that meet element `n` of the output. */
static double expected(const struct kiln_trial *trial, int64_t n, double *ret_magnitude)
{
    enum kiln_reduction_mode mode = trial->node.reduction.mode;
    const struct kiln_tensor *in = &trial->tensors[0], *out = &trial->tensors[1];
    double sum = mode == KILN_REDUCTION_MUL || mode == KILN_REDUCTION_MUL_NO_ZEROS ? 1
                 : mode == KILN_REDUCTION_MIN                                      ? INFINITY
                 : mode == KILN_REDUCTION_MAX                                      ? -INFINITY
                                                                                   : 0;
    double count = 0;
    *ret_magnitude = 0;
    for (int64_t i = 0; i < kiln_tensor_elements(in); i++) {
        int64_t coordinates[KILN_MAX_RANK];
        kiln_trial_coordinates(in, i, coordinates);
        if (kiln_trial_position(out, in->rank, coordinates) != n)
            continue;
        double x = kiln_trial_element(trial, 0, i).real;
        sum = step(mode, sum, x);
        *ret_magnitude += fabs(x);
        count++;
    }
    return mode == KILN_REDUCTION_AVG     ? sum / count
           : mode == KILN_REDUCTION_NORM2 ? sqrt(sum)
                                          : sum;
}

static void check(const struct kiln_trial *trial)
{
    const struct kiln_tensor *out = &trial->tensors[1];
    enum kiln_scalar scalar = kiln_node_scalar(&trial->graph, &trial->node);
    double unit = scalar == KILN_SCALAR_F32 ? 0x1p-24 : scalar == KILN_SCALAR_F64 ? 0x1p-53 : 0;
    for (int64_t n = 0; n < kiln_tensor_elements(out); n++) {
        double magnitude, sum = expected(trial, n, &magnitude);
        double bound = 24 * unit * (fabs(sum) + magnitude);
        double got = kiln_trial_element(trial, 1, n).real;
        cr_assert(got >= kiln_round_to_dtype(out->dtype, sum - bound) &&
                      got <= kiln_round_to_dtype(out->dtype, sum + bound),
                  "mode %s, %s to %s, rank %u: got %.9g, expected %.9g +- %g",
                  kiln_reduction_mode_info(trial->node.reduction.mode)->name,
                  kiln_dtype_info(trial->tensors[0].dtype)->text, kiln_dtype_info(out->dtype)->text,
                  out->rank, got, sum, bound);
    }
}

static void check_types(enum kiln_dtype from, enum kiln_dtype to, double spread)
{
    for (int mode = 1; mode < KILN_REDUCTION_MODE_COUNT; mode++) {
        for (size_t shape = 0; shape < SHAPES; shape++) {
            struct kiln_trial trial;
            begin(&trial, (enum kiln_reduction_mode)mode, shape, from, to, 0, spread);
            kiln_trial_check_passes(&trial);
            kiln_trial_run(&trial, &trial.plain, KILN_MATH_NATIVE);
            check(&trial);
            kiln_trial_run(&trial, &trial.optimized, KILN_MATH_NOISY);
            check(&trial);
            kiln_trial_end(&trial);
        }
    }
}

Test(import_reduction, floats)
{
    check_types(KILN_DTYPE_F32, KILN_DTYPE_F32, 2);
    check_types(KILN_DTYPE_F64, KILN_DTYPE_F64, 2);
    check_types(KILN_DTYPE_F32, KILN_DTYPE_F64, 2);
}

Test(import_reduction, short_floats)
{
    check_types(KILN_DTYPE_F16, KILN_DTYPE_F16, 2);
    check_types(KILN_DTYPE_BF16, KILN_DTYPE_BF16, 2);
    check_types(KILN_DTYPE_F8E4M3, KILN_DTYPE_F32, 2);
    check_types(KILN_DTYPE_F8E5M2, KILN_DTYPE_F8E5M2, 2);
    check_types(KILN_DTYPE_F16, KILN_DTYPE_F32, 2);
}

Test(import_reduction, integers)
{
    check_types(KILN_DTYPE_I32, KILN_DTYPE_I32, 2);
    check_types(KILN_DTYPE_I8, KILN_DTYPE_I32, 2);
    check_types(KILN_DTYPE_U8, KILN_DTYPE_I64, 2);
    check_types(KILN_DTYPE_I64, KILN_DTYPE_I64, 2);
    check_types(KILN_DTYPE_I8, KILN_DTYPE_I8, 1.49);
    check_types(KILN_DTYPE_I32, KILN_DTYPE_F32, 50);
}

/* One row of three elements. */
static double run_row(enum kiln_reduction_mode mode, enum kiln_dtype from, enum kiln_dtype to,
                      const struct kiln_constant *elements)
{
    static const int64_t three = 3, one = 1;
    struct kiln_trial trial;
    kiln_trial_begin(&trial, KILN_NODE_REDUCTION, 1);
    trial.node.reduction = (struct kiln_reduction){.mode = mode, .axes = 1};
    kiln_trial_input(&trial, KILN_OPERAND_IN, from, 1, &three, 0, 1);
    kiln_trial_output(&trial, KILN_OPERAND_OUT, to, 1, &one);
    for (size_t i = 0; i < 3; i++)
        kiln_element_store(from, elements[i],
                           (unsigned char *)trial.memory[0] + i * kiln_dtype_info(from)->bytes);
    kiln_trial_import(&trial);
    kiln_trial_run(&trial, &trial.optimized, KILN_MATH_NATIVE);
    struct kiln_constant result = kiln_trial_element(&trial, 1, 0);
    kiln_trial_end(&trial);
    return kiln_dtype_is_integer(to) ? (double)result.integer : result.real;
}

Test(import_reduction, integers_wrap_around_and_the_result_saturates)
{
    struct kiln_constant large[] = {{.integer = INT32_MAX}, {.integer = 2}, {.integer = 0}};
    cr_expect_eq(run_row(KILN_REDUCTION_ADD, KILN_DTYPE_I32, KILN_DTYPE_I32, large),
                 (double)INT32_MIN + 1);
    cr_expect_eq(run_row(KILN_REDUCTION_ADD, KILN_DTYPE_I32, KILN_DTYPE_I64, large),
                 (double)INT32_MAX + 2);
    struct kiln_constant bytes[] = {{.integer = 100}, {.integer = 100}, {.integer = 100}};
    cr_expect_eq(run_row(KILN_REDUCTION_ADD, KILN_DTYPE_I8, KILN_DTYPE_I8, bytes), 127);
    cr_expect_eq(run_row(KILN_REDUCTION_AVG, KILN_DTYPE_I8, KILN_DTYPE_I8, bytes), 100);
}

Test(import_reduction, the_mean_of_integers_is_rounded_to_even)
{
    struct kiln_constant elements[] = {{.integer = 1}, {.integer = 2}, {.integer = 4}};
    cr_expect_eq(run_row(KILN_REDUCTION_AVG, KILN_DTYPE_I32, KILN_DTYPE_I32, elements), 2);
}

Test(import_reduction, booleans_are_counted)
{
    struct kiln_constant flags[] = {{.integer = 1}, {.integer = 0}, {.integer = 1}};
    cr_expect_eq(run_row(KILN_REDUCTION_ADD, KILN_DTYPE_BOOL, KILN_DTYPE_I32, flags), 2);
    cr_expect_eq(run_row(KILN_REDUCTION_MIN, KILN_DTYPE_BOOL, KILN_DTYPE_BOOL, flags), 0);
}

Test(import_reduction, zeros_are_left_out_of_the_product_and_nan_is_not)
{
    struct kiln_constant zeros[] = {{.real = 0}, {.real = -0.0}, {.real = 0}};
    cr_expect_eq(run_row(KILN_REDUCTION_MUL_NO_ZEROS, KILN_DTYPE_F32, KILN_DTYPE_F32, zeros), 1);
    struct kiln_constant nan[] = {{.real = 0}, {.real = NAN}, {.real = 2}};
    cr_expect(isnan(run_row(KILN_REDUCTION_MUL_NO_ZEROS, KILN_DTYPE_F32, KILN_DTYPE_F32, nan)));
    cr_expect(isnan(run_row(KILN_REDUCTION_MAX, KILN_DTYPE_F32, KILN_DTYPE_F32, nan)));
    cr_expect(isnan(run_row(KILN_REDUCTION_AMAX, KILN_DTYPE_F16, KILN_DTYPE_F16, nan)));
}

Test(import_reduction, the_greatest_half_needs_no_rounding)
{
    struct kiln_trial trial;
    begin(&trial, KILN_REDUCTION_MAX, 1, KILN_DTYPE_F16, KILN_DTYPE_F16, 0, 1);
    cr_expect_eq(kiln_trial_count(&trial, KILN_OP_ROUND), 0);
    cr_expect_eq(kiln_trial_count(&trial, KILN_OP_REDUCE_MAX), 1);
    kiln_trial_end(&trial);
    begin(&trial, KILN_REDUCTION_ADD, 1, KILN_DTYPE_F16, KILN_DTYPE_F16, 0, 1);
    cr_expect_eq(kiln_trial_count(&trial, KILN_OP_ROUND), 1);
    kiln_trial_end(&trial);
}

Test(import_reduction, the_mean_over_a_power_of_two_is_a_product)
{
    struct kiln_trial trial;
    begin(&trial, KILN_REDUCTION_AVG, 1, KILN_DTYPE_F32, KILN_DTYPE_F32, 0, 1); /* over 8 */
    cr_expect_eq(kiln_trial_count(&trial, KILN_OP_DIV), 0);
    kiln_trial_end(&trial);
    begin(&trial, KILN_REDUCTION_AVG, 0, KILN_DTYPE_F32, KILN_DTYPE_F32, 0, 1); /* over 7 */
    cr_expect_eq(kiln_trial_count(&trial, KILN_OP_DIV), 1);
    kiln_trial_end(&trial);
}

/* The rule of import.h. */
Test(import_reduction, nodes_compute_in_the_type_of_the_rule)
{
    static const struct {
        enum kiln_reduction_mode mode;
        enum kiln_dtype from, to, compute;
        enum kiln_scalar expected;
    } rows[] = {
        {KILN_REDUCTION_ADD, KILN_DTYPE_F16, KILN_DTYPE_F16, KILN_DTYPE_F16, KILN_SCALAR_F32},
        {KILN_REDUCTION_ADD, KILN_DTYPE_F32, KILN_DTYPE_F64, KILN_DTYPE_F32, KILN_SCALAR_F64},
        {KILN_REDUCTION_ADD, KILN_DTYPE_F32, KILN_DTYPE_F32, KILN_DTYPE_F64, KILN_SCALAR_F64},
        {KILN_REDUCTION_ADD, KILN_DTYPE_I8, KILN_DTYPE_U8, KILN_DTYPE_F32, KILN_SCALAR_I32},
        {KILN_REDUCTION_MIN, KILN_DTYPE_I8, KILN_DTYPE_I64, KILN_DTYPE_F32, KILN_SCALAR_I64},
        {KILN_REDUCTION_ADD, KILN_DTYPE_I8, KILN_DTYPE_I32, KILN_DTYPE_F64, KILN_SCALAR_F64},
        {KILN_REDUCTION_ADD, KILN_DTYPE_I64, KILN_DTYPE_F32, KILN_DTYPE_F32, KILN_SCALAR_F32},
        {KILN_REDUCTION_AVG, KILN_DTYPE_I32, KILN_DTYPE_I32, KILN_DTYPE_F32, KILN_SCALAR_F32},
        {KILN_REDUCTION_NORM2, KILN_DTYPE_I32, KILN_DTYPE_I64, KILN_DTYPE_F32, KILN_SCALAR_F32},
        {KILN_REDUCTION_MAX, KILN_DTYPE_BOOL, KILN_DTYPE_BOOL, KILN_DTYPE_F32, KILN_SCALAR_I32},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kiln_tensor tensors[] = {{.dtype = rows[i].from}, {.dtype = rows[i].to}};
        struct kiln_graph graph = {.tensor_count = 2, .tensors = tensors};
        struct kiln_node node = {.kind = KILN_NODE_REDUCTION,
                                 .compute_type = rows[i].compute,
                                 .input_count = 1,
                                 .output_count = 1,
                                 .input_roles = {KILN_OPERAND_IN},
                                 .output_roles = {KILN_OPERAND_OUT},
                                 .inputs = {0},
                                 .outputs = {1},
                                 .reduction = {.mode = rows[i].mode}};
        cr_expect_eq(kiln_node_scalar(&graph, &node), rows[i].expected, "row %zu", i);
    }
}
