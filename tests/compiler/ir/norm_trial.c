#include "tests/compiler/ir/norm_trial.h"

const struct kiln_norm_shape kiln_norm_shapes[KILN_NORM_SHAPES] = {
    {2, {3, 5}, 1},       {2, {4, 8}, 1},          {2, {3, 1}, 1},       {2, {3, 4}, 2},
    {3, {2, 3, 4}, 1},    {3, {2, 3, 4}, 2},       {4, {2, 3, 2, 3}, 3}, {4, {1, 3, 1, 1}, 3},
    {4, {1, 1, 3, 7}, 1}, {5, {2, 2, 1, 3, 2}, 2},
};

const struct kiln_norm_kind kiln_norm_kind_layernorm = {
    KILN_NODE_LAYERNORM,
    5,
    {{KILN_NORM_LIKE_X, KILN_OPERAND_X, false, 0, 0, 0, 1},
     {KILN_NORM_AFFINE, KILN_OPERAND_SCALE, false, 1, 0, 1, 0.5},
     {KILN_NORM_AFFINE, KILN_OPERAND_BIAS, false, 2, 0, 0, 1},
     {KILN_NORM_ONE, KILN_OPERAND_EPSILON, false, 4, 0, 1e-3, 0},
     {KILN_NORM_LIKE_X, KILN_OPERAND_Y, true, 0, 0, 0, 0},
     {KILN_NORM_ROW, KILN_OPERAND_MEAN, true, 8, 0, 0, 0},
     {KILN_NORM_ROW, KILN_OPERAND_INV_VARIANCE, true, 16, 0, 0, 0}}};

const struct kiln_norm_kind kiln_norm_kind_layernorm_backward = {
    KILN_NODE_LAYERNORM_BACKWARD,
    6,
    {{KILN_NORM_LIKE_X, KILN_OPERAND_DY, false, 0, 0, 0, 1},
     {KILN_NORM_LIKE_X, KILN_OPERAND_X, false, 0, 0, 0, 1},
     {KILN_NORM_AFFINE, KILN_OPERAND_SCALE, false, 1, 0, 1, 0.5},
     {KILN_NORM_ROW, KILN_OPERAND_MEAN, false, 2, 0, 0, 0.5},
     {KILN_NORM_ROW, KILN_OPERAND_INV_VARIANCE, false, 2, 0, 1.5, 0.4},
     {KILN_NORM_ONE, KILN_OPERAND_EPSILON, false, 4, 0, 1e-3, 0},
     {KILN_NORM_LIKE_X, KILN_OPERAND_DX, true, 8, 0, 0, 0},
     {KILN_NORM_AFFINE, KILN_OPERAND_DSCALE, true, 16, 0, 0, 0},
     {KILN_NORM_AFFINE, KILN_OPERAND_DBIAS, true, 32, 0, 0, 0}}};

const struct kiln_norm_kind kiln_norm_kind_rmsnorm = {
    KILN_NODE_RMSNORM,
    4,
    {{KILN_NORM_LIKE_X, KILN_OPERAND_X, false, 0, 0, 0, 1},
     {KILN_NORM_AFFINE, KILN_OPERAND_SCALE, false, 1, 0, 1, 0.5},
     {KILN_NORM_AFFINE, KILN_OPERAND_BIAS, false, 2, 0, 0, 1},
     {KILN_NORM_ONE, KILN_OPERAND_EPSILON, false, 4, 0, 1e-3, 0},
     {KILN_NORM_LIKE_X, KILN_OPERAND_Y, true, 0, 0, 0, 0},
     {KILN_NORM_ROW, KILN_OPERAND_INV_RMS, true, 8, 0, 0, 0}}};

const struct kiln_norm_kind kiln_norm_kind_rmsnorm_backward = {
    KILN_NODE_RMSNORM_BACKWARD,
    6,
    {{KILN_NORM_LIKE_X, KILN_OPERAND_DY, false, 0, 0, 0, 1},
     {KILN_NORM_LIKE_X, KILN_OPERAND_X, false, 0, 0, 0, 1},
     {KILN_NORM_AFFINE, KILN_OPERAND_SCALE, false, 1, 0, 1, 0.5},
     {KILN_NORM_ROW, KILN_OPERAND_INV_RMS, false, 2, 0, 1.5, 0.4},
     {KILN_NORM_ONE, KILN_OPERAND_EPSILON, false, 4, 0, 1e-3, 0},
     {KILN_NORM_LIKE_X, KILN_OPERAND_DX, true, 8, 0, 0, 0},
     {KILN_NORM_AFFINE, KILN_OPERAND_DSCALE, true, 16, 0, 0, 0},
     {KILN_NORM_AFFINE, KILN_OPERAND_DBIAS, true, 32, 0, 0, 0}}};

const struct kiln_norm_kind kiln_norm_kind_batchnorm_inference = {
    KILN_NODE_BATCHNORM_INFERENCE,
    4,
    {{KILN_NORM_LIKE_X, KILN_OPERAND_X, false, 0, 0, 0, 1},
     {KILN_NORM_ROW, KILN_OPERAND_MEAN, false, 0, 0, 0, 0.5},
     {KILN_NORM_ROW, KILN_OPERAND_INV_VARIANCE, false, 0, 8, 1.5, 0.4},
     {KILN_NORM_ROW, KILN_OPERAND_VARIANCE, false, 8, 0, 1, 0.5},
     {KILN_NORM_AFFINE, KILN_OPERAND_SCALE, false, 1, 0, 1, 0.5},
     {KILN_NORM_AFFINE, KILN_OPERAND_BIAS, false, 2, 0, 0, 1},
     {KILN_NORM_ONE, KILN_OPERAND_EPSILON, false, 12, 0, 1e-3, 0},
     {KILN_NORM_LIKE_X, KILN_OPERAND_Y, true, 0, 0, 0, 0}}};

const struct kiln_norm_kind kiln_norm_kind_batchnorm_training = {
    KILN_NODE_BATCHNORM_TRAINING,
    7,
    {{KILN_NORM_LIKE_X, KILN_OPERAND_X, false, 0, 0, 0, 1},
     {KILN_NORM_AFFINE, KILN_OPERAND_SCALE, false, 1, 0, 1, 0.5},
     {KILN_NORM_AFFINE, KILN_OPERAND_BIAS, false, 2, 0, 0, 1},
     {KILN_NORM_ONE, KILN_OPERAND_EPSILON, false, 4, 0, 1e-3, 0},
     {KILN_NORM_ROW, KILN_OPERAND_PREV_RUNNING_MEAN, false, 8, 0, 0, 1},
     {KILN_NORM_ROW, KILN_OPERAND_PREV_RUNNING_VARIANCE, false, 8, 0, 1, 0.5},
     {KILN_NORM_ONE, KILN_OPERAND_MOMENTUM, false, 16, 0, 0.3, 0},
     {KILN_NORM_LIKE_X, KILN_OPERAND_Y, true, 0, 0, 0, 0},
     {KILN_NORM_ROW, KILN_OPERAND_MEAN, true, 32, 0, 0, 0},
     {KILN_NORM_ROW, KILN_OPERAND_INV_VARIANCE, true, 64, 0, 0, 0},
     {KILN_NORM_ROW, KILN_OPERAND_NEXT_RUNNING_MEAN, true, 8, 0, 0, 0},
     {KILN_NORM_ROW, KILN_OPERAND_NEXT_RUNNING_VARIANCE, true, 8, 0, 0, 0}}};

const struct kiln_norm_kind kiln_norm_kind_batchnorm_backward = {
    KILN_NODE_BATCHNORM_BACKWARD,
    6,
    {{KILN_NORM_LIKE_X, KILN_OPERAND_X, false, 0, 0, 0, 1},
     {KILN_NORM_LIKE_X, KILN_OPERAND_DY, false, 0, 0, 0, 1},
     {KILN_NORM_AFFINE, KILN_OPERAND_SCALE, false, 1, 0, 1, 0.5},
     {KILN_NORM_ROW, KILN_OPERAND_MEAN, false, 2, 0, 0, 0.5},
     {KILN_NORM_ROW, KILN_OPERAND_INV_VARIANCE, false, 2, 0, 1.5, 0.4},
     {KILN_NORM_ONE, KILN_OPERAND_EPSILON, false, 4, 0, 1e-3, 0},
     {KILN_NORM_LIKE_X, KILN_OPERAND_DX, true, 8, 0, 0, 0},
     {KILN_NORM_AFFINE, KILN_OPERAND_DSCALE, true, 16, 0, 0, 0},
     {KILN_NORM_AFFINE, KILN_OPERAND_DBIAS, true, 32, 0, 0, 0}}};

static bool is_batchnorm(const struct kiln_norm_kind *kind)
{
    return kind->kind >= KILN_NODE_BATCHNORM_INFERENCE;
}

bool kiln_norm_has_output(const struct kiln_norm_kind *kind, uint32_t subset)
{
    for (const struct kiln_norm_operand *row = kind->rows; row->extent != KILN_NORM_END; row++) {
        if (row->is_output && (row->when & ~subset) == 0)
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
    for (const struct kiln_norm_operand *row = kind->rows; row->extent != KILN_NORM_END; row++) {
        if ((row->when & ~subset) != 0 || (row->unless & subset) != 0)
            continue;
        const int64_t *dims = row->extent == KILN_NORM_LIKE_X   ? shape->dims
                              : row->extent == KILN_NORM_AFFINE ? affine
                              : row->extent == KILN_NORM_ROW    ? rows
                                                                : &one;
        uint32_t rank = row->extent == KILN_NORM_ONE ? 1 : shape->rank;
        enum kiln_dtype dtype = row->extent == KILN_NORM_LIKE_X ? types->x
                                : row->extent == KILN_NORM_ONE  ? KILN_DTYPE_F32
                                                                : types->other;
        bool follows = row->role == KILN_OPERAND_X || row->role == KILN_OPERAND_MEAN;
        double center = row->offset + (follows ? offset : 0);
        if (row->is_output)
            kiln_trial_output(trial, row->role, dtype, rank, dims);
        else if (row->extent == KILN_NORM_ONE && subset % 2 == 0)
            kiln_trial_constant(trial, row->role, dtype, center);
        else
            kiln_trial_input(trial, row->role, dtype, rank, dims, center, row->spread);
    }
    kiln_trial_import(trial);
}
