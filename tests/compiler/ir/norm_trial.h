/*
 * The kinds of norms as tables of their operands, and trials built from them.
 */
#ifndef KILN_TESTS_COMPILER_IR_NORM_TRIAL_H
#define KILN_TESTS_COMPILER_IR_NORM_TRIAL_H

#include "tests/compiler/ir/import_trial.h"

enum { KILN_NORM_SHAPES = 10, KILN_NORM_MAX_ELEMENTS = 64, KILN_NORM_MAX_OPERANDS = 8 };

struct kiln_norm_shape {
    uint32_t rank;
    int64_t dims[5];
    uint32_t normalized; /* trailing axes that layernorm and RMSNorm are over */
};

extern const struct kiln_norm_shape kiln_norm_shapes[KILN_NORM_SHAPES];

struct kiln_norm_types {
    enum kiln_dtype x;     /* of X and what has its shape */
    enum kiln_dtype other; /* of affine operands and statistics */
};

struct kiln_norm_operand {
    enum kiln_operand role;
    uint32_t when;   /* it is there when all these bits are set in the trial's subset */
    uint32_t unless; /* and none of these */
};

struct kiln_norm_kind {
    enum kiln_node_kind kind;
    uint32_t bits; /* of a subset of the optional operands */
    /* Both end where there is no norm's operand. */
    struct kiln_norm_operand inputs[KILN_NORM_MAX_OPERANDS];
    struct kiln_norm_operand outputs[KILN_NORM_MAX_OPERANDS];
};

extern const struct kiln_norm_kind kiln_norm_kind_layernorm;
extern const struct kiln_norm_kind kiln_norm_kind_layernorm_backward;
extern const struct kiln_norm_kind kiln_norm_kind_rmsnorm;
extern const struct kiln_norm_kind kiln_norm_kind_rmsnorm_backward;
extern const struct kiln_norm_kind kiln_norm_kind_batchnorm_inference;
extern const struct kiln_norm_kind kiln_norm_kind_batchnorm_training;
extern const struct kiln_norm_kind kiln_norm_kind_batchnorm_backward;

/* A node without outputs is none. */
bool kiln_norm_has_output(const struct kiln_norm_kind *kind, uint32_t subset);
/* An imported trial with the operands of the subset. X is of offset + [-1, 1), the mean near it.
 * The subset also chooses strides, and whether parameters are constants. */
void kiln_norm_build(struct kiln_trial *trial, const struct kiln_norm_kind *kind,
                     const struct kiln_norm_shape *shape, const struct kiln_norm_types *types,
                     uint32_t subset, double offset);

#endif
