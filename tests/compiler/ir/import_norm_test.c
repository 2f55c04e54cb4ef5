/*
 * The norms through import, passes and interpreter, with every subset of their optional operands,
 * against the formulas of hipDNN's reference in double (two passes for the variance).
 */
#include "compiler/ir/import.h"
#include "compiler/reference/convert.h"
#include "tests/compiler/ir/import_trial.h"

#include <criterion/criterion.h>
#include <math.h>

static const struct shape {
    uint32_t rank;
    int64_t dims[5];
    uint32_t normalized; /* trailing axes that layernorm and RMSNorm are over */
} shapes[] = {
    {2, {3, 5}, 1},       {2, {4, 8}, 1},          {2, {3, 1}, 1},       {2, {3, 4}, 2},
    {3, {2, 3, 4}, 1},    {3, {2, 3, 4}, 2},       {4, {2, 3, 2, 3}, 3}, {4, {1, 3, 1, 1}, 3},
    {4, {1, 1, 3, 7}, 1}, {5, {2, 2, 1, 3, 2}, 2},
};

enum { SHAPES = sizeof shapes / sizeof *shapes, MAX_ELEMENTS = 64 };

/* Of X and what has its shape; of affine operands and statistics. */
static const struct types {
    enum kiln_dtype x, other;
} float_types[] = {
    {KILN_DTYPE_F32, KILN_DTYPE_F32},    {KILN_DTYPE_F64, KILN_DTYPE_F64},
    {KILN_DTYPE_F16, KILN_DTYPE_F32},    {KILN_DTYPE_F16, KILN_DTYPE_F16},
    {KILN_DTYPE_BF16, KILN_DTYPE_BF16},  {KILN_DTYPE_F32, KILN_DTYPE_F64},
    {KILN_DTYPE_F8E4M3, KILN_DTYPE_F32}, {KILN_DTYPE_F8E5M2, KILN_DTYPE_BF16},
};

enum { TYPES = sizeof float_types / sizeof *float_types };

enum extent { END, LIKE_X, AFFINE, ROW, ONE };

/* An operand is there when all bits of `when` are set in the trial's subset and none of `unless`.
 */
struct row {
    enum extent extent;
    enum kiln_operand role;
    bool is_output;
    uint32_t when, unless;
    double offset, spread;
};

struct kind {
    enum kiln_node_kind kind;
    uint32_t bits;
    struct row rows[16];
};

static const struct kind layernorm = {KILN_NODE_LAYERNORM,
                                      5,
                                      {{LIKE_X, KILN_OPERAND_X, false, 0, 0, 0, 1},
                                       {AFFINE, KILN_OPERAND_SCALE, false, 1, 0, 1, 0.5},
                                       {AFFINE, KILN_OPERAND_BIAS, false, 2, 0, 0, 1},
                                       {ONE, KILN_OPERAND_EPSILON, false, 4, 0, 1e-3, 0},
                                       {LIKE_X, KILN_OPERAND_Y, true, 0, 0, 0, 0},
                                       {ROW, KILN_OPERAND_MEAN, true, 8, 0, 0, 0},
                                       {ROW, KILN_OPERAND_INV_VARIANCE, true, 16, 0, 0, 0}}};

static const struct kind layernorm_backward = {
    KILN_NODE_LAYERNORM_BACKWARD,
    6,
    {{LIKE_X, KILN_OPERAND_DY, false, 0, 0, 0, 1},
     {LIKE_X, KILN_OPERAND_X, false, 0, 0, 0, 1},
     {AFFINE, KILN_OPERAND_SCALE, false, 1, 0, 1, 0.5},
     {ROW, KILN_OPERAND_MEAN, false, 2, 0, 0, 0.5},
     {ROW, KILN_OPERAND_INV_VARIANCE, false, 2, 0, 1.5, 0.4},
     {ONE, KILN_OPERAND_EPSILON, false, 4, 0, 1e-3, 0},
     {LIKE_X, KILN_OPERAND_DX, true, 8, 0, 0, 0},
     {AFFINE, KILN_OPERAND_DSCALE, true, 16, 0, 0, 0},
     {AFFINE, KILN_OPERAND_DBIAS, true, 32, 0, 0, 0}}};

static const struct kind rmsnorm = {KILN_NODE_RMSNORM,
                                    4,
                                    {{LIKE_X, KILN_OPERAND_X, false, 0, 0, 0, 1},
                                     {AFFINE, KILN_OPERAND_SCALE, false, 1, 0, 1, 0.5},
                                     {AFFINE, KILN_OPERAND_BIAS, false, 2, 0, 0, 1},
                                     {ONE, KILN_OPERAND_EPSILON, false, 4, 0, 1e-3, 0},
                                     {LIKE_X, KILN_OPERAND_Y, true, 0, 0, 0, 0},
                                     {ROW, KILN_OPERAND_INV_RMS, true, 8, 0, 0, 0}}};

static const struct kind rmsnorm_backward = {KILN_NODE_RMSNORM_BACKWARD,
                                             6,
                                             {{LIKE_X, KILN_OPERAND_DY, false, 0, 0, 0, 1},
                                              {LIKE_X, KILN_OPERAND_X, false, 0, 0, 0, 1},
                                              {AFFINE, KILN_OPERAND_SCALE, false, 1, 0, 1, 0.5},
                                              {ROW, KILN_OPERAND_INV_RMS, false, 2, 0, 1.5, 0.4},
                                              {ONE, KILN_OPERAND_EPSILON, false, 4, 0, 1e-3, 0},
                                              {LIKE_X, KILN_OPERAND_DX, true, 8, 0, 0, 0},
                                              {AFFINE, KILN_OPERAND_DSCALE, true, 16, 0, 0, 0},
                                              {AFFINE, KILN_OPERAND_DBIAS, true, 32, 0, 0, 0}}};

static const struct kind batchnorm_inference = {
    KILN_NODE_BATCHNORM_INFERENCE,
    4,
    {{LIKE_X, KILN_OPERAND_X, false, 0, 0, 0, 1},
     {ROW, KILN_OPERAND_MEAN, false, 0, 0, 0, 0.5},
     {ROW, KILN_OPERAND_INV_VARIANCE, false, 0, 8, 1.5, 0.4},
     {ROW, KILN_OPERAND_VARIANCE, false, 8, 0, 1, 0.5},
     {AFFINE, KILN_OPERAND_SCALE, false, 1, 0, 1, 0.5},
     {AFFINE, KILN_OPERAND_BIAS, false, 2, 0, 0, 1},
     {ONE, KILN_OPERAND_EPSILON, false, 12, 0, 1e-3, 0},
     {LIKE_X, KILN_OPERAND_Y, true, 0, 0, 0, 0}}};

static const struct kind batchnorm_training = {
    KILN_NODE_BATCHNORM_TRAINING,
    7,
    {{LIKE_X, KILN_OPERAND_X, false, 0, 0, 0, 1},
     {AFFINE, KILN_OPERAND_SCALE, false, 1, 0, 1, 0.5},
     {AFFINE, KILN_OPERAND_BIAS, false, 2, 0, 0, 1},
     {ONE, KILN_OPERAND_EPSILON, false, 4, 0, 1e-3, 0},
     {ROW, KILN_OPERAND_PREV_RUNNING_MEAN, false, 8, 0, 0, 1},
     {ROW, KILN_OPERAND_PREV_RUNNING_VARIANCE, false, 8, 0, 1, 0.5},
     {ONE, KILN_OPERAND_MOMENTUM, false, 16, 0, 0.3, 0},
     {LIKE_X, KILN_OPERAND_Y, true, 0, 0, 0, 0},
     {ROW, KILN_OPERAND_MEAN, true, 32, 0, 0, 0},
     {ROW, KILN_OPERAND_INV_VARIANCE, true, 64, 0, 0, 0},
     {ROW, KILN_OPERAND_NEXT_RUNNING_MEAN, true, 8, 0, 0, 0},
     {ROW, KILN_OPERAND_NEXT_RUNNING_VARIANCE, true, 8, 0, 0, 0}}};

static const struct kind batchnorm_backward = {
    KILN_NODE_BATCHNORM_BACKWARD,
    6,
    {{LIKE_X, KILN_OPERAND_X, false, 0, 0, 0, 1},
     {LIKE_X, KILN_OPERAND_DY, false, 0, 0, 0, 1},
     {AFFINE, KILN_OPERAND_SCALE, false, 1, 0, 1, 0.5},
     {ROW, KILN_OPERAND_MEAN, false, 2, 0, 0, 0.5},
     {ROW, KILN_OPERAND_INV_VARIANCE, false, 2, 0, 1.5, 0.4},
     {ONE, KILN_OPERAND_EPSILON, false, 4, 0, 1e-3, 0},
     {LIKE_X, KILN_OPERAND_DX, true, 8, 0, 0, 0},
     {AFFINE, KILN_OPERAND_DSCALE, true, 16, 0, 0, 0},
     {AFFINE, KILN_OPERAND_DBIAS, true, 32, 0, 0, 0}}};

static bool is_batchnorm(const struct kind *kind)
{
    return kind->kind >= KILN_NODE_BATCHNORM_INFERENCE;
}

static bool has_output(const struct kind *kind, uint32_t subset)
{
    for (const struct row *row = kind->rows; row->extent != END; row++) {
        if (row->is_output && (row->when & ~subset) == 0)
            return true;
    }
    return false;
}

/* X is of `offset` + [-1, 1); so are means, near it. */
static void build(struct kiln_trial *trial, const struct kind *kind, const struct shape *shape,
                  const struct types *types, uint32_t subset, double offset)
{
    kiln_trial_begin(trial, kind->kind, subset + 1);
    trial->reverse_strides = subset % 3 == 1;
    uint32_t all = (1u << shape->rank) - 1;
    uint32_t axes = is_batchnorm(kind) ? all & ~2u : all & ~(all >> shape->normalized);
    trial->node.normalization =
        (struct kiln_normalization){.axes = axes, .epsilon = 1e-5, .momentum = 0.1};
    int64_t rows[5], affine[5];
    static const int64_t one = 1;
    for (uint32_t i = 0; i < shape->rank; i++) {
        bool reduced = (axes >> i & 1) != 0;
        rows[i] = reduced ? 1 : shape->dims[i];
        affine[i] = reduced == is_batchnorm(kind) ? 1 : shape->dims[i];
    }
    for (const struct row *row = kind->rows; row->extent != END; row++) {
        if ((row->when & ~subset) != 0 || (row->unless & subset) != 0)
            continue;
        const int64_t *dims = row->extent == LIKE_X   ? shape->dims
                              : row->extent == AFFINE ? affine
                              : row->extent == ROW    ? rows
                                                      : &one;
        uint32_t rank = row->extent == ONE ? 1 : shape->rank;
        enum kiln_dtype dtype = row->extent == LIKE_X ? types->x
                                : row->extent == ONE  ? KILN_DTYPE_F32
                                                      : types->other;
        bool follows = row->role == KILN_OPERAND_X || row->role == KILN_OPERAND_MEAN;
        double center = row->offset + (follows ? offset : 0);
        if (row->is_output)
            kiln_trial_output(trial, row->role, dtype, rank, dims);
        else if (row->extent == ONE && subset % 2 == 0)
            kiln_trial_constant(trial, row->role, dtype, center);
        else
            kiln_trial_input(trial, row->role, dtype, rank, dims, center, row->spread);
    }
    kiln_trial_import(trial);
}

/* The formulas' numbers, in double. */
struct formulas {
    const struct kiln_trial *trial;
    const struct kiln_tensor *x;
    struct kiln_tensor rows; /* the shape of a statistic */
    double count;
    double mean[MAX_ELEMENTS], variance[MAX_ELEMENTS], inv[MAX_ELEMENTS];
    double sum_g[MAX_ELEMENTS], sum_gx[MAX_ELEMENTS]; /* of g and of g*xhat */
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
    cr_assert_leq(elements, MAX_ELEMENTS);
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
    double expected[MAX_ELEMENTS] = {0}, magnitude = 1;
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
static void check_kind_at(const struct kind *kind, const struct types *types, double offset,
                          double condition)
{
    for (size_t shape = 0; shape < SHAPES; shape++) {
        for (uint32_t subset = 0; subset < 1u << kind->bits; subset++) {
            if (!has_output(kind, subset))
                continue;
            struct kiln_trial trial;
            build(&trial, kind, &shapes[shape], types, subset, offset);
            kiln_trial_check_passes(&trial);
            kiln_trial_run(&trial, &trial.plain, KILN_MATH_NATIVE);
            check(&trial, condition);
            kiln_trial_run(&trial, &trial.optimized, KILN_MATH_NOISY);
            check(&trial, condition);
            kiln_trial_end(&trial);
        }
    }
}

static void check_kind(const struct kind *kind)
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
    check_kind(&layernorm);
}

Test(import_norm, layernorm_backward)
{
    check_kind(&layernorm_backward);
}

Test(import_norm, rmsnorm)
{
    check_kind(&rmsnorm);
}

Test(import_norm, rmsnorm_backward)
{
    check_kind(&rmsnorm_backward);
}

Test(import_norm, batchnorm_inference)
{
    check_kind(&batchnorm_inference);
}

Test(import_norm, batchnorm_training)
{
    check_kind(&batchnorm_training);
}

Test(import_norm, batchnorm_backward)
{
    check_kind(&batchnorm_backward);
}

static const struct types all_float = {KILN_DTYPE_F32, KILN_DTYPE_F32};

static uint32_t reduction_count(const struct kiln_trial *trial)
{
    uint32_t count = 0;
    for (int opcode = 0; opcode < KILN_OP_COUNT; opcode++) {
        if (kiln_opcode_info((enum kiln_opcode)opcode)->op_class == KILN_OP_CLASS_REDUCE)
            count += kiln_trial_count(trial, (enum kiln_opcode)opcode);
    }
    return count;
}

/* Elementwise operations over X's domain: what a kernel does per element, apart from reductions. */
static uint32_t wide_count(const struct kiln_trial *trial)
{
    const struct kiln_ir *ir = &trial->optimized;
    uint32_t x = kiln_node_input(&trial->node, KILN_OPERAND_X), domain = KILN_NONE, count = 0;
    for (uint32_t i = 0; i < ir->op_count; i++) {
        if (ir->ops[i].opcode == KILN_OP_LOAD && ir->ops[i].tensor == x)
            domain = ir->ops[i].domain;
    }
    for (uint32_t i = 0; i < ir->op_count; i++)
        count += ir->ops[i].domain == domain &&
                 kiln_opcode_info(ir->ops[i].opcode)->op_class == KILN_OP_CLASS_ELEMENTWISE;
    return count;
}

Test(import_norm, work_per_element)
{
    static const struct {
        const struct kind *kind;
        uint32_t subset, reductions, wide;
    } rows[] = {
        {&layernorm, 31, 2, 4},           /* x - mean, *r, *scale, +bias */
        {&layernorm, 4, 2, 2},            /* neither scale nor bias */
        {&layernorm_backward, 15, 2, 7},  /* dx alone: c, g, g*c; g - a, c*b, -, *r */
        {&layernorm_backward, 63, 4, 9},  /* c*r and dy*c*r */
        {&layernorm_backward, 61, 6, 9},  /* with the statistics */
        {&rmsnorm, 15, 1, 4},             /* x*x, *r, *scale, +bias */
        {&rmsnorm_backward, 15, 1, 5},    /* g, g*x; x*b, -, *r */
        {&batchnorm_inference, 7, 0, 3},  /* x - mean, *(scale*inv), +bias */
        {&batchnorm_training, 127, 2, 3}, /* the same */
        {&batchnorm_backward, 63, 2, 6},  /* c, dy*c; dy - a, c*b, -, *(scale*inv) */
        {&batchnorm_backward, 61, 4, 6},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kiln_trial trial;
        build(&trial, rows[i].kind, &shapes[5], &all_float, rows[i].subset, 0);
        cr_expect_eq(reduction_count(&trial), rows[i].reductions, "row %zu: %u reductions", i,
                     reduction_count(&trial));
        cr_expect_eq(wide_count(&trial), rows[i].wide, "row %zu: %u operations", i,
                     wide_count(&trial));
        kiln_trial_end(&trial);
    }
}

Test(import_norm, mean_and_squares_are_of_one_operand)
{
    struct kiln_trial trial;
    build(&trial, &layernorm, &shapes[5], &all_float, 31, 0);
    uint32_t operands[2] = {0}, count = 0;
    for (uint32_t i = 0; i < trial.optimized.op_count; i++) {
        const struct kiln_op *op = &trial.optimized.ops[i];
        if (op->opcode == KILN_OP_REDUCE_MEAN || op->opcode == KILN_OP_REDUCE_SQUARES)
            operands[count++ % 2] = op->operands[0];
    }
    cr_assert_eq(count, 2);
    cr_assert_eq(operands[0], operands[1]);
    kiln_trial_end(&trial);
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
    cr_expect_eq(reduction_count(&trial), 1);
    kiln_trial_check_passes(&trial);
    check(&trial, 1);
    kiln_trial_end(&trial);
}

/* Only what a tensor holds is rounded: y is not made of the half-precision mean. */
Test(import_norm, a_saved_statistic_is_rounded_and_y_is_not_made_of_it)
{
    static const int64_t dims[] = {1, 4}, rows[] = {1, 1};
    struct kiln_trial trial;
    kiln_trial_begin(&trial, KILN_NODE_LAYERNORM, 1);
    trial.node.normalization = (struct kiln_normalization){.axes = 2, .epsilon = 1e-5};
    kiln_trial_input(&trial, KILN_OPERAND_X, KILN_DTYPE_F32, 2, dims, 0, 1);
    uint32_t y = kiln_trial_output(&trial, KILN_OPERAND_Y, KILN_DTYPE_F32, 2, dims);
    uint32_t mean = kiln_trial_output(&trial, KILN_OPERAND_MEAN, KILN_DTYPE_F16, 2, rows);
    static const float x[] = {2049.5f, 2050.5f, 2052.5f, 2053.5f}; /* half has even numbers here */
    for (size_t i = 0; i < 4; i++)
        ((float *)trial.memory[0])[i] = x[i];
    kiln_trial_import(&trial);
    kiln_trial_run(&trial, &trial.optimized, KILN_MATH_ROUNDED);
    cr_expect_eq(kiln_trial_element(&trial, mean, 0).real, 2052); /* 2051.5 */
    cr_expect_float_eq(kiln_trial_element(&trial, y, 0).real, -2 / sqrt(2.5 + 1e-5), 1e-3);
    cr_expect_float_eq(kiln_trial_element(&trial, y, 3).real, 2 / sqrt(2.5 + 1e-5), 1e-3);
    kiln_trial_end(&trial);
}

Test(import_norm, what_is_not_finite_spoils_its_row_alone)
{
    for (size_t shape = 0; shape < 3; shape += 2) { /* rows of 5, and of a single element */
        struct kiln_trial trial;
        build(&trial, &layernorm, &shapes[shape], &all_float, 0, 0);
        ((float *)trial.memory[0])[0] = INFINITY;
        kiln_trial_run(&trial, &trial.optimized, KILN_MATH_NATIVE);
        int64_t length = shapes[shape].dims[1];
        for (int64_t n = 0; n < kiln_tensor_elements(&trial.tensors[1]); n++)
            cr_expect_eq(isnan(kiln_trial_element(&trial, 1, n).real) != 0, n < length);
        kiln_trial_end(&trial);
    }
}

/* The rule of import.h: parameters do not count. */
Test(import_norm, nodes_compute_in_the_type_of_the_rule)
{
    static const struct {
        enum kiln_dtype x, scale, epsilon, y, compute;
        enum kiln_scalar expected;
    } rows[] = {
        {KILN_DTYPE_F16, KILN_DTYPE_F32, KILN_DTYPE_F32, KILN_DTYPE_F16, KILN_DTYPE_F16,
         KILN_SCALAR_F32},
        {KILN_DTYPE_F32, KILN_DTYPE_F32, KILN_DTYPE_F64, KILN_DTYPE_F32, KILN_DTYPE_F32,
         KILN_SCALAR_F32},
        {KILN_DTYPE_F32, KILN_DTYPE_F64, KILN_DTYPE_F32, KILN_DTYPE_F32, KILN_DTYPE_F32,
         KILN_SCALAR_F64},
        {KILN_DTYPE_F32, KILN_DTYPE_F32, KILN_DTYPE_F32, KILN_DTYPE_F64, KILN_DTYPE_F32,
         KILN_SCALAR_F64},
        {KILN_DTYPE_F32, KILN_DTYPE_F32, KILN_DTYPE_F32, KILN_DTYPE_F32, KILN_DTYPE_F64,
         KILN_SCALAR_F64},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kiln_tensor tensors[] = {{.dtype = rows[i].x},
                                        {.dtype = rows[i].scale},
                                        {.dtype = rows[i].epsilon},
                                        {.dtype = rows[i].y}};
        struct kiln_graph graph = {.tensor_count = 4, .tensors = tensors};
        struct kiln_node node = {
            .kind = KILN_NODE_LAYERNORM,
            .compute_type = rows[i].compute,
            .input_count = 3,
            .output_count = 1,
            .inputs = {0, 1, 2},
            .input_roles = {KILN_OPERAND_X, KILN_OPERAND_SCALE, KILN_OPERAND_EPSILON},
            .outputs = {3},
            .output_roles = {KILN_OPERAND_Y},
        };
        cr_expect_eq(kiln_node_scalar(&graph, &node), rows[i].expected, "row %zu", i);
    }
}

/* y of a layernorm, virtual and half, through a pointwise node. */
Test(import_norm, a_virtual_result_is_rounded_for_the_next_node)
{
    static const int64_t dims[] = {2, 8};
    struct kiln_trial trial;
    kiln_trial_begin(&trial, KILN_NODE_LAYERNORM, 1);
    trial.node.normalization = (struct kiln_normalization){.axes = 2, .epsilon = 1e-5};
    kiln_trial_input(&trial, KILN_OPERAND_X, KILN_DTYPE_F32, 2, dims, 0, 1);
    uint32_t y = kiln_trial_output(&trial, KILN_OPERAND_Y, KILN_DTYPE_F16, 2, dims);
    uint32_t z = kiln_trial_output(&trial, KILN_OPERAND_MEAN, KILN_DTYPE_F32, 2, dims);
    trial.tensors[y].role = KILN_TENSOR_VIRTUAL;
    trial.node.output_count = 1;
    struct kiln_node nodes[] = {trial.node,
                                {.kind = KILN_NODE_POINTWISE,
                                 .compute_type = KILN_DTYPE_F32,
                                 .input_count = 1,
                                 .output_count = 1,
                                 .inputs = {y},
                                 .outputs = {z},
                                 .pointwise = {.mode = KILN_POINTWISE_ABS}}};
    trial.graph.nodes = nodes;
    trial.graph.node_count = 2;
    kiln_trial_import(&trial);
    cr_expect_eq(kiln_trial_count(&trial, KILN_OP_ROUND), 1);
    cr_expect_eq(kiln_trial_count(&trial, KILN_OP_STORE), 1);
    for (uint32_t i = 0; i < trial.optimized.op_count; i++) {
        const struct kiln_op *op = &trial.optimized.ops[i];
        cr_expect_eq(op->node, op->opcode == KILN_OP_ABS || op->opcode == KILN_OP_STORE);
    }
    kiln_trial_end(&trial);
}
