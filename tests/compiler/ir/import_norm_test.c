/*
 * The norms through import, passes and interpreter, with every subset of their optional operands,
 * against the formulas of hipDNN's reference in double (two passes for the variance).
 */
#include "compiler/ir/import.h"
#include "compiler/reference/convert.h"
#include "tests/compiler/ir/norm_trial.h"

#include <criterion/criterion.h>
#include <math.h>

static const struct kiln_norm_types float_types[] = {
    {KILN_DTYPE_F32, KILN_DTYPE_F32},    {KILN_DTYPE_F64, KILN_DTYPE_F64},
    {KILN_DTYPE_F16, KILN_DTYPE_F32},    {KILN_DTYPE_F16, KILN_DTYPE_F16},
    {KILN_DTYPE_BF16, KILN_DTYPE_BF16},  {KILN_DTYPE_F32, KILN_DTYPE_F64},
    {KILN_DTYPE_F8E4M3, KILN_DTYPE_F32}, {KILN_DTYPE_F8E5M2, KILN_DTYPE_BF16},
};

enum { TYPES = sizeof float_types / sizeof *float_types };

/* The formulas' numbers, in double. */
struct formulas {
    const struct kiln_trial *trial;
    const struct kiln_tensor *x;
    struct kiln_tensor rows; /* the shape of a statistic */
    double count;
    double mean[KILN_NORM_MAX_ELEMENTS], variance[KILN_NORM_MAX_ELEMENTS],
        inv[KILN_NORM_MAX_ELEMENTS];
    double sum_g[KILN_NORM_MAX_ELEMENTS], sum_gx[KILN_NORM_MAX_ELEMENTS]; /* of g and of g*xhat */
};

/* The operand's element that element `n` of X meets. */
static double input(const struct formulas *f, enum kiln_operand role, int64_t n, double otherwise)
{
    uint32_t tensor = kiln_node_input(&f->trial->node, role);
    if (tensor == KILN_NONE)
        return otherwise;
    int64_t coordinates[KILN_MAX_RANK];
    kiln_trial_coordinates(f->x, n, coordinates);
    return kiln_trial_element(
               f->trial, tensor,
               kiln_trial_position(&f->trial->tensors[tensor], f->x->rank, coordinates))
        .real;
}

static int64_t row_of(const struct formulas *f, int64_t n)
{
    int64_t coordinates[KILN_MAX_RANK];
    kiln_trial_coordinates(f->x, n, coordinates);
    return kiln_trial_position(&f->rows, f->x->rank, coordinates);
}

static double x_at(const struct formulas *f, int64_t n)
{
    return input(f, KILN_OPERAND_X, n, 0);
}

static double xhat(const struct formulas *f, int64_t n)
{
    return (x_at(f, n) - f->mean[row_of(f, n)]) * f->inv[row_of(f, n)];
}

static double dy_scaled(const struct formulas *f, int64_t n)
{
    return input(f, KILN_OPERAND_DY, n, 0) * input(f, KILN_OPERAND_SCALE, n, 1);
}

static bool is_rms(const struct formulas *f)
{
    return f->trial->node.kind == KILN_NODE_RMSNORM ||
           f->trial->node.kind == KILN_NODE_RMSNORM_BACKWARD;
}

static void evaluate(const struct kiln_trial *trial, struct formulas *f)
{
    *f = (struct formulas){
        .trial = trial,
        .x = &trial->tensors[kiln_node_input(&trial->node, KILN_OPERAND_X)],
    };
    f->rows = *f->x;
    for (uint32_t i = 0; i < f->x->rank; i++) {
        if ((trial->node.normalization.axes >> i & 1) != 0)
            f->rows.dims[i] = 1;
    }
    int64_t elements = kiln_tensor_elements(f->x);
    cr_assert_leq(elements, KILN_NORM_MAX_ELEMENTS);
    f->count = (double)elements / (double)kiln_tensor_elements(&f->rows);
    for (int64_t n = 0; n < elements && !is_rms(f); n++)
        f->mean[row_of(f, n)] += x_at(f, n) / f->count;
    for (int64_t n = 0; n < elements; n++)
        f->variance[row_of(f, n)] += pow(x_at(f, n) - f->mean[row_of(f, n)], 2) / f->count;
    for (int64_t n = 0; n < elements; n++) {
        int64_t row = row_of(f, n);
        double epsilon = input(f, KILN_OPERAND_EPSILON, n, trial->node.normalization.epsilon);
        double variance = input(f, KILN_OPERAND_VARIANCE, n, f->variance[row]);
        f->inv[row] = input(f, KILN_OPERAND_INV_VARIANCE, n, 1 / sqrt(variance + epsilon));
        f->inv[row] = input(f, KILN_OPERAND_INV_RMS, n, f->inv[row]);
    }
    for (int64_t n = 0; n < elements; n++)
        f->mean[row_of(f, n)] = input(f, KILN_OPERAND_MEAN, n, f->mean[row_of(f, n)]);
    for (int64_t n = 0; n < elements; n++) {
        f->sum_g[row_of(f, n)] += dy_scaled(f, n);
        f->sum_gx[row_of(f, n)] += dy_scaled(f, n) * xhat(f, n);
    }
}

static double running(const struct formulas *f, enum kiln_operand previous, int64_t n,
                      double current)
{
    double momentum = input(f, KILN_OPERAND_MOMENTUM, n, f->trial->node.normalization.momentum);
    return (1 - momentum) * input(f, previous, n, NAN) + momentum * current;
}

/* What element `n` of X contributes to the output; sums add up, everything else is repeated. */
static double contribution(const struct formulas *f, enum kiln_operand role, int64_t n)
{
    int64_t row = row_of(f, n);
    double sum_g = is_rms(f) ? 0 : f->sum_g[row];
    switch (role) {
    case KILN_OPERAND_Y:
        return input(f, KILN_OPERAND_SCALE, n, 1) * xhat(f, n) + input(f, KILN_OPERAND_BIAS, n, 0);
    case KILN_OPERAND_MEAN:
        return f->mean[row];
    case KILN_OPERAND_INV_VARIANCE:
    case KILN_OPERAND_INV_RMS:
        return f->inv[row];
    case KILN_OPERAND_NEXT_RUNNING_MEAN:
        return running(f, KILN_OPERAND_PREV_RUNNING_MEAN, n, f->mean[row]);
    case KILN_OPERAND_NEXT_RUNNING_VARIANCE:
        return running(f, KILN_OPERAND_PREV_RUNNING_VARIANCE, n,
                       f->variance[row] * (f->count > 1 ? f->count / (f->count - 1) : 1));
    case KILN_OPERAND_DX:
        return f->inv[row] *
               (dy_scaled(f, n) - sum_g / f->count - xhat(f, n) * f->sum_gx[row] / f->count);
    case KILN_OPERAND_DSCALE:
        return input(f, KILN_OPERAND_DY, n, 0) * xhat(f, n);
    default:
        return input(f, KILN_OPERAND_DY, n, 0);
    }
}

/* Error over bound, of what is not rounded afterwards: about 0.2 to 0.7, so that the bounds bind.
 */
static double worst_ratio;

static void check_output(const struct formulas *f, uint32_t index, double condition)
{
    const struct kiln_trial *trial = f->trial;
    enum kiln_operand role = (enum kiln_operand)trial->node.output_roles[index];
    uint32_t ordinal = trial->node.outputs[index];
    const struct kiln_tensor *tensor = &trial->tensors[ordinal];
    bool sums = role == KILN_OPERAND_DSCALE || role == KILN_OPERAND_DBIAS;
    double expected[KILN_NORM_MAX_ELEMENTS] = {0}, magnitude = 1;
    for (int64_t n = 0; n < kiln_tensor_elements(f->x); n++) {
        int64_t coordinates[KILN_MAX_RANK];
        kiln_trial_coordinates(f->x, n, coordinates);
        int64_t position = kiln_trial_position(tensor, f->x->rank, coordinates);
        double value = contribution(f, role, n);
        expected[position] = sums ? expected[position] + value : value;
        magnitude = fmax(magnitude, fabs(expected[position]));
    }
    /* What a rounding in x - mean turns into: the gradient has it times inv in xhat, and times inv
     * again. */
    for (int64_t row = 0; row < kiln_tensor_elements(&f->rows); row++)
        magnitude =
            fmax(magnitude, role == KILN_OPERAND_DX ? f->inv[row] * f->inv[row] : f->inv[row]);
    bool is_double = kiln_node_scalar(&trial->graph, &trial->node) == KILN_SCALAR_F64;
    double bound = 16 * (is_double ? 0x1p-53 : 0x1p-24) * magnitude * condition;
    bool unrounded = tensor->dtype == (is_double ? KILN_DTYPE_F64 : KILN_DTYPE_F32);
    for (int64_t n = 0; n < kiln_tensor_elements(tensor); n++) {
        double got = kiln_trial_element(trial, ordinal, n).real;
        if (unrounded)
            worst_ratio = fmax(worst_ratio, fabs(got - expected[n]) / bound);
        cr_assert(got >= kiln_round_to_dtype(tensor->dtype, expected[n] - bound) &&
                      got <= kiln_round_to_dtype(tensor->dtype, expected[n] + bound),
                  "node kind %d, output '%s' of type %s, element %d: got %.9g, expected %.9g +- %g",
                  (int)trial->node.kind, kiln_operand_text(role),
                  kiln_dtype_info(tensor->dtype)->text, (int)n, got, expected[n], bound);
    }
}

static void check(const struct kiln_trial *trial, double condition)
{
    static struct formulas f;
    evaluate(trial, &f);
    for (uint32_t i = 0; i < trial->node.output_count; i++)
        check_output(&f, i, condition);
}

/* `condition`: by how much an error of X, relative to X, grows in its deviation from the mean. */
static void check_kind_at(const struct kiln_norm_kind *kind, const struct kiln_norm_types *types,
                          double offset, double condition)
{
    for (size_t shape = 0; shape < KILN_NORM_SHAPES; shape++) {
        for (uint32_t subset = 0; subset < 1u << kind->bits; subset++) {
            if (!kiln_norm_has_output(kind, subset))
                continue;
            struct kiln_trial trial;
            kiln_norm_build(&trial, kind, &kiln_norm_shapes[shape], types, subset, offset);
            kiln_trial_check_passes(&trial);
            kiln_trial_run(&trial, &trial.plain, KILN_MATH_NATIVE);
            check(&trial, condition);
            kiln_trial_run(&trial, &trial.optimized, KILN_MATH_NOISY);
            check(&trial, condition);
            kiln_trial_end(&trial);
        }
    }
}

static void check_kind(const struct kiln_norm_kind *kind)
{
    for (size_t i = 0; i < TYPES; i++)
        check_kind_at(kind, &float_types[i], 0, 1);
    /* A sum of squares instead of deviations would be off by condition^2. */
    check_kind_at(kind, &float_types[0], 1e4, 1e4);
    check_kind_at(kind, &float_types[1], 1e4, 1e4);
    cr_expect_gt(worst_ratio, 0.1, "the bounds are idle");
}

Test(import_norm, layernorm)
{
    check_kind(&kiln_norm_kind_layernorm);
}

Test(import_norm, layernorm_backward)
{
    check_kind(&kiln_norm_kind_layernorm_backward);
}

Test(import_norm, rmsnorm)
{
    check_kind(&kiln_norm_kind_rmsnorm);
}

Test(import_norm, rmsnorm_backward)
{
    check_kind(&kiln_norm_kind_rmsnorm_backward);
}

Test(import_norm, batchnorm_inference)
{
    check_kind(&kiln_norm_kind_batchnorm_inference);
}

Test(import_norm, batchnorm_training)
{
    check_kind(&kiln_norm_kind_batchnorm_training);
}

Test(import_norm, batchnorm_backward)
{
    check_kind(&kiln_norm_kind_batchnorm_backward);
}

/* RMSNorm whose SCALE has all of X's sizes: its gradient is no sum. */
Test(import_norm, a_scale_of_the_shape_of_x)
{
    static const int64_t dims[] = {3, 4}, rows[] = {3, 1};
    struct kiln_trial trial;
    kiln_trial_begin(&trial, KILN_NODE_RMSNORM_BACKWARD, 1);
    trial.node.normalization.axes = 2;
    kiln_trial_input(&trial, KILN_OPERAND_DY, KILN_DTYPE_F32, 2, dims, 0, 1);
    kiln_trial_input(&trial, KILN_OPERAND_X, KILN_DTYPE_F32, 2, dims, 0, 1);
    kiln_trial_input(&trial, KILN_OPERAND_SCALE, KILN_DTYPE_F32, 2, dims, 0, 1);
    kiln_trial_input(&trial, KILN_OPERAND_INV_RMS, KILN_DTYPE_F32, 2, rows, 1, 0.5);
    kiln_trial_output(&trial, KILN_OPERAND_DX, KILN_DTYPE_F32, 2, dims);
    kiln_trial_output(&trial, KILN_OPERAND_DSCALE, KILN_DTYPE_F32, 2, dims);
    kiln_trial_output(&trial, KILN_OPERAND_DBIAS, KILN_DTYPE_F32, 2, dims);
    kiln_trial_import(&trial);
    cr_expect_eq(kiln_trial_count(&trial, KILN_OP_REDUCE_SUM), 1); /* of dx */
    kiln_trial_check_passes(&trial);
    check(&trial, 1);
    kiln_trial_end(&trial);
}
