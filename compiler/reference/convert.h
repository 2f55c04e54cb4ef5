/*
 * Conversions between storage types and double, bit-exact models of what kernels do: round to
 * nearest even (rules in compiler/ir/import.h). Used by the interpreter, constant folding, tests
 * and the CLI.
 */
#ifndef KILN_COMPILER_REFERENCE_CONVERT_H
#define KILN_COMPILER_REFERENCE_CONVERT_H

#include "compiler/dtype.h"
#include "compiler/graph/graph.h"

/* Reads one element: `real` always, `integer` too for integer types and bool. A packed type's is
 * the low bits of a byte, whose other bits are ignored. */
struct kiln_constant kiln_element_load(enum kiln_dtype dtype, const void *memory);
/* Rounds and writes one element. Integer types take `integer`, others `real`. A packed type's is
 * the low bits of a byte, whose other bits become 0. */
void kiln_element_store(enum kiln_dtype dtype, struct kiln_constant value, void *memory);
/* Both functions access element `index` of a tensor's memory, which may be packed. Storing a packed
 * element leaves its neighbours. */
struct kiln_constant kiln_element_load_at(enum kiln_dtype dtype, const void *memory, int64_t index);
void kiln_element_store_at(enum kiln_dtype dtype, struct kiln_constant value, void *memory,
                           int64_t index);
/* Rounds a double to what storing and loading it would give. For integer types the result is
 * integral. */
double kiln_round_to_dtype(enum kiln_dtype dtype, double value);
/* Nearest even, clamped to [low, high], NaN to 0. */
int64_t kiln_round_to_integer(double value, int64_t low, int64_t high);

#endif
