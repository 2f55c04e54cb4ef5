#include "tests/compiler/ir/norm_trial.h"

const struct kiln_norm_shape kiln_norm_shapes[KILN_NORM_SHAPES] = {
    {2, {3, 5}, 1},       {2, {4, 8}, 1},          {2, {3, 1}, 1},       {2, {3, 4}, 2},
    {3, {2, 3, 4}, 1},    {3, {2, 3, 4}, 2},       {4, {2, 3, 2, 3}, 3}, {4, {1, 3, 1, 1}, 3},
    {4, {1, 1, 3, 7}, 1}, {5, {2, 2, 1, 3, 2}, 2},
};

enum extent {
    NO_NORMS, /* of an operand that norms do not have */
    LIKE_X,
    AFFINE,
    ROW, /* a statistic */
    ONE, /* one element, always float */
};

/* What an operand is by its role, in whatever norm, as input or as output. */
static const struct form {
    enum extent extent;
    double offset, spread; /* of an input's elements, as in kiln_trial_input */
} forms[KILN_OPERAND_COUNT] = {
    [KILN_OPERAND_X] = {LIKE_X, 0, 1},
    [KILN_OPERAND_DY] = {LIKE_X, 0, 1},
    [KILN_OPERAND_SCALE] = {AFFINE, 1, 0.5},
    [KILN_OPERAND_BIAS] = {AFFINE, 0, 1},
    [KILN_OPERAND_EPSILON] = {ONE, 1e-3, 0},
    [KILN_OPERAND_MOMENTUM] = {ONE, 0.3, 0},
    [KILN_OPERAND_MEAN] = {ROW, 0, 0.5},
    [KILN_OPERAND_VARIANCE] = {ROW, 1, 0.5},
    [KILN_OPERAND_INV_VARIANCE] = {ROW, 1.5, 0.4},
    [KILN_OPERAND_INV_RMS] = {ROW, 1.5, 0.4},
    [KILN_OPERAND_PREV_RUNNING_MEAN] = {ROW, 0, 1},
    [KILN_OPERAND_PREV_RUNNING_VARIANCE] = {ROW, 1, 0.5},
    [KILN_OPERAND_NEXT_RUNNING_MEAN] = {ROW, 0, 0},
    [KILN_OPERAND_NEXT_RUNNING_VARIANCE] = {ROW, 0, 0},
    [KILN_OPERAND_Y] = {LIKE_X, 0, 0},
    [KILN_OPERAND_DX] = {LIKE_X, 0, 0},
    [KILN_OPERAND_DSCALE] = {AFFINE, 0, 0},
    [KILN_OPERAND_DBIAS] = {AFFINE, 0, 0},
};

const struct kiln_norm_kind kiln_norm_kind_layernorm = {
    .kind = KILN_NODE_LAYERNORM,
    .bits = 5,
    .inputs = {{KILN_OPERAND_X, 0, 0},
               {KILN_OPERAND_SCALE, 1, 0},
               {KILN_OPERAND_BIAS, 2, 0},
               {KILN_OPERAND_EPSILON, 4, 0}},
    .outputs = {{KILN_OPERAND_Y, 0, 0},
                {KILN_OPERAND_MEAN, 8, 0},
                {KILN_OPERAND_INV_VARIANCE, 16, 0}},
};

const struct kiln_norm_kind kiln_norm_kind_layernorm_backward = {
    .kind = KILN_NODE_LAYERNORM_BACKWARD,
    .bits = 6,
    .inputs = {{KILN_OPERAND_DY, 0, 0},
               {KILN_OPERAND_X, 0, 0},
               {KILN_OPERAND_SCALE, 1, 0},
               {KILN_OPERAND_MEAN, 2, 0},
               {KILN_OPERAND_INV_VARIANCE, 2, 0},
               {KILN_OPERAND_EPSILON, 4, 0}},
    .outputs = {{KILN_OPERAND_DX, 8, 0}, {KILN_OPERAND_DSCALE, 16, 0}, {KILN_OPERAND_DBIAS, 32, 0}},
};

const struct kiln_norm_kind kiln_norm_kind_rmsnorm = {
    .kind = KILN_NODE_RMSNORM,
    .bits = 4,
    .inputs = {{KILN_OPERAND_X, 0, 0},
               {KILN_OPERAND_SCALE, 1, 0},
               {KILN_OPERAND_BIAS, 2, 0},
               {KILN_OPERAND_EPSILON, 4, 0}},
    .outputs = {{KILN_OPERAND_Y, 0, 0}, {KILN_OPERAND_INV_RMS, 8, 0}},
};

const struct kiln_norm_kind kiln_norm_kind_rmsnorm_backward = {
    .kind = KILN_NODE_RMSNORM_BACKWARD,
    .bits = 6,
    .inputs = {{KILN_OPERAND_DY, 0, 0},
               {KILN_OPERAND_X, 0, 0},
               {KILN_OPERAND_SCALE, 1, 0},
               {KILN_OPERAND_INV_RMS, 2, 0},
               {KILN_OPERAND_EPSILON, 4, 0}},
    .outputs = {{KILN_OPERAND_DX, 8, 0}, {KILN_OPERAND_DSCALE, 16, 0}, {KILN_OPERAND_DBIAS, 32, 0}},
};

const struct kiln_norm_kind kiln_norm_kind_batchnorm_inference = {
    .kind = KILN_NODE_BATCHNORM_INFERENCE,
    .bits = 4,
    .inputs = {{KILN_OPERAND_X, 0, 0},
               {KILN_OPERAND_MEAN, 0, 0},
               {KILN_OPERAND_INV_VARIANCE, 0, 8},
               {KILN_OPERAND_VARIANCE, 8, 0},
               {KILN_OPERAND_SCALE, 1, 0},
               {KILN_OPERAND_BIAS, 2, 0},
               {KILN_OPERAND_EPSILON, 12, 0}},
    .outputs = {{KILN_OPERAND_Y, 0, 0}},
};

const struct kiln_norm_kind kiln_norm_kind_batchnorm_training = {
    .kind = KILN_NODE_BATCHNORM_TRAINING,
    .bits = 7,
    .inputs = {{KILN_OPERAND_X, 0, 0},
               {KILN_OPERAND_SCALE, 1, 0},
               {KILN_OPERAND_BIAS, 2, 0},
               {KILN_OPERAND_EPSILON, 4, 0},
               {KILN_OPERAND_PREV_RUNNING_MEAN, 8, 0},
               {KILN_OPERAND_PREV_RUNNING_VARIANCE, 8, 0},
               {KILN_OPERAND_MOMENTUM, 16, 0}},
    .outputs = {{KILN_OPERAND_Y, 0, 0},
                {KILN_OPERAND_MEAN, 32, 0},
                {KILN_OPERAND_INV_VARIANCE, 64, 0},
                {KILN_OPERAND_NEXT_RUNNING_MEAN, 8, 0},
                {KILN_OPERAND_NEXT_RUNNING_VARIANCE, 8, 0}},
};

const struct kiln_norm_kind kiln_norm_kind_batchnorm_backward = {
    .kind = KILN_NODE_BATCHNORM_BACKWARD,
    .bits = 6,
    .inputs = {{KILN_OPERAND_X, 0, 0},
               {KILN_OPERAND_DY, 0, 0},
               {KILN_OPERAND_SCALE, 1, 0},
               {KILN_OPERAND_MEAN, 2, 0},
               {KILN_OPERAND_INV_VARIANCE, 2, 0},
               {KILN_OPERAND_EPSILON, 4, 0}},
    .outputs = {{KILN_OPERAND_DX, 8, 0}, {KILN_OPERAND_DSCALE, 16, 0}, {KILN_OPERAND_DBIAS, 32, 0}},
};

static bool is_batchnorm(const struct kiln_norm_kind *kind)
{
    return kind->kind >= KILN_NODE_BATCHNORM_INFERENCE;
}

/* True if the list goes on here. */
static bool is_operand(const struct kiln_norm_operand *at)
{
    return forms[at->role].extent != NO_NORMS;
}

static bool is_there(const struct kiln_norm_operand *operand, uint32_t subset)
{
    return (operand->when & ~subset) == 0 && (operand->unless & subset) == 0;
}

bool kiln_norm_has_output(const struct kiln_norm_kind *kind, uint32_t subset)
{
    for (const struct kiln_norm_operand *at = kind->outputs; is_operand(at); at++) {
        if (is_there(at, subset))
            return true;
    }
    return false;
}

void kiln_norm_build(struct kiln_trial *trial, const struct kiln_norm_kind *kind,
                     const struct kiln_norm_shape *shape, const struct kiln_norm_types *types,
                     uint32_t subset, double offset)
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
    const struct {
        enum kiln_dtype dtype;
        uint32_t rank;
        const int64_t *dims;
    } extents[] = {
        [LIKE_X] = {types->x, shape->rank, shape->dims},
        [AFFINE] = {types->other, shape->rank, affine},
        [ROW] = {types->other, shape->rank, rows},
        [ONE] = {KILN_DTYPE_F32, 1, &one},
    };
    for (const struct kiln_norm_operand *at = kind->inputs; is_operand(at); at++) {
        if (!is_there(at, subset))
            continue;
        enum extent extent = forms[at->role].extent;
        bool follows = at->role == KILN_OPERAND_X || at->role == KILN_OPERAND_MEAN;
        double center = forms[at->role].offset + (follows ? offset : 0);
        if (extent == ONE && subset % 2 == 0)
            kiln_trial_constant(trial, at->role, KILN_DTYPE_F32, center);
        else
            kiln_trial_input(trial, at->role, extents[extent].dtype, extents[extent].rank,
                             extents[extent].dims, center, forms[at->role].spread);
    }
    for (const struct kiln_norm_operand *at = kind->outputs; is_operand(at); at++) {
        enum extent extent = forms[at->role].extent;
        if (is_there(at, subset))
            kiln_trial_output(trial, at->role, extents[extent].dtype, extents[extent].rank,
                              extents[extent].dims);
    }
    kiln_trial_import(trial);
}
