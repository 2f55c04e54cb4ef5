/*
 * Conversions between storage types and double, bit-exact models of what kernels do: round to
 * nearest even (rules in compiler/ir/import.h). Used by the interpreter, constant folding, tests
 * and the CLI.
 */
#ifndef KILN_COMPILER_REFERENCE_CONVERT_H
#define KILN_COMPILER_REFERENCE_CONVERT_H

#include "compiler/dtype.h"
#include "compiler/graph/graph.h"

/* Reads one element: `real` always, `integer` too for integer types and bool. */
struct kiln_constant kiln_element_load(enum kiln_dtype dtype, const void *memory);
/* Rounds and writes one element. Integer types take `integer`, others `real`. */
void kiln_element_store(enum kiln_dtype dtype, struct kiln_constant value, void *memory);
/* Rounds a double to what storing and loading it would give. For integer types the result is
 * integral. */
double kiln_round_to_dtype(enum kiln_dtype dtype, double value);
/* Nearest even, clamped to [low, high], NaN to 0. */
int64_t kiln_round_to_integer(double value, int64_t low, int64_t high);

#endif
