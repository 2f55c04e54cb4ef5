/*
 * One pointwise mode as primitive operations. Used by import.c alone.
 */
#ifndef KILN_COMPILER_IR_IMPORT_POINTWISE_H
#define KILN_COMPILER_IR_IMPORT_POINTWISE_H

#include "compiler/ir/ir.h"

/*
 * Appends what the node computes. `operands` are its inputs in their tensors' own types, each with
 * domain `domain` or uniform; arithmetic is done in `scalar`. The result's type is whatever falls
 * out (bool for comparisons), its domain `domain` or uniform; rounding it to the output's type is
 * the caller's part. GEN_INDEX is the caller's too.
 */
uint32_t kiln_pointwise_import(struct kiln_ir *ir, const struct kiln_pointwise *attributes,
                               enum kiln_scalar scalar, const uint32_t *operands);

#endif
