/*
 * Which storage types hold every value that an operation can make: rounding to one of them changes
 * nothing, and a tensor of that type can carry the value.
 */
#ifndef KILN_COMPILER_IR_EXACT_DTYPES_H
#define KILN_COMPILER_IR_EXACT_DTYPES_H

#include "compiler/ir/ir.h"

/* A set of storage types: bit (1 << enum kiln_dtype). */
#define KILN_DTYPE_BIT(dtype) (UINT32_C(1) << (dtype))

/* The set for operation `op`, given the sets of all values with smaller indices; empty for sinks.
 * `op` must be well-formed apart from its types: operands below its index, LOAD of a tensor of the
 * graph. */
uint32_t kiln_op_exact_dtypes(const struct kiln_op *op, const struct kiln_graph *graph,
                              const uint32_t *sets);

/* The sets of all operations, one per operation, in the program's arena; NULL when memory is out.
 */
const uint32_t *kiln_ir_exact_dtypes(const struct kiln_ir *ir, const struct kiln_graph *graph);

#endif
