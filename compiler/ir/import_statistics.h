/*
 * What the formulas of the norms share. Used by import_normalization.c and import_batchnorm.c
 * alone.
 *
 * Statistics are values over the domain of rows: X's with size 1 on the normalised axes. All values
 * are of the type that the node computes in (kiln_node_scalar).
 */
#ifndef KILN_COMPILER_IR_IMPORT_STATISTICS_H
#define KILN_COMPILER_IR_IMPORT_STATISTICS_H

#include "compiler/ir/importer.h"

/* A norm under import. */
struct kiln_norm {
    struct kiln_importer *importer;
    struct kiln_ir *ir;
    const struct kiln_node *node;
    enum kiln_scalar scalar;
    uint32_t domain; /* X's */
    uint32_t rows;   /* the domain of its statistics */
    int64_t count;   /* elements that one statistic is taken over */
    uint32_t x;
};

/* False when memory is out. */
bool kiln_norm_init(struct kiln_norm *norm, struct kiln_importer *importer,
                    const struct kiln_node *node);

/* The operand's value in the norm's type, over the tensor's own domain; KILN_NONE when the node has
 * no such operand. */
uint32_t kiln_norm_input(struct kiln_norm *norm, enum kiln_operand role);
/* The operand's value, or the number where it is absent. */
uint32_t kiln_norm_input_or(struct kiln_norm *norm, enum kiln_operand role, double otherwise);
/* The operand's value repeated over the rows. */
uint32_t kiln_norm_row_input_or(struct kiln_norm *norm, enum kiln_operand role, double otherwise);
/* Defines an output if the node has it. */
void kiln_norm_define(struct kiln_norm *norm, enum kiln_operand role, uint32_t value);

/* The value repeated over X's domain; uniform values stay as they are. */
uint32_t kiln_norm_wide(struct kiln_norm *norm, uint32_t value);
uint32_t kiln_norm_binary(struct kiln_norm *norm, enum kiln_opcode opcode, uint32_t a, uint32_t b);

/* A value over X's domain reduced to the domain, or itself when that is X's. */
uint32_t kiln_norm_sum(struct kiln_norm *norm, uint32_t value, uint32_t domain);
/* Over each row: (sum of value) / count. */
uint32_t kiln_norm_average(struct kiln_norm *norm, uint32_t value);
/* X's mean and its sum of squared deviations from the mean, of each row. */
uint32_t kiln_norm_mean(struct kiln_norm *norm);
uint32_t kiln_norm_squares(struct kiln_norm *norm);
/* 1/sqrt(value + epsilon) */
uint32_t kiln_norm_reciprocal_root(struct kiln_norm *norm, uint32_t value);

/* The operands MEAN and INV_VARIANCE, or where they are absent what they are of X. */
uint32_t kiln_norm_given_mean(struct kiln_norm *norm);
uint32_t kiln_norm_given_inverse_deviation(struct kiln_norm *norm);

#endif
