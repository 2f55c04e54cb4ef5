/*
 * How many 32-bit registers a list of operations keeps live at its worst point, for one element.
 */
#ifndef KILN_COMPILER_FUSE_REGISTER_PRESSURE_H
#define KILN_COMPILER_FUSE_REGISTER_PRESSURE_H

#include "compiler/ir/ir.h"

/* Registers of one value: 2 for 64-bit types, 1 for others. */
uint32_t kiln_scalar_registers(enum kiln_scalar scalar);

/*
 * For ops[0..count) in evaluation order, ret_live[i] is what is live right after ops[i]: values
 * defined up to there and used later. Loads (values in ops that the group reads from memory) count
 * from their first use on, since the compiler can place a load where it is needed. `scratch` has
 * ir->op_count entries. Returns the maximum.
 */
uint32_t kiln_register_pressure(const struct kiln_ir *ir, const uint32_t *ops, uint32_t count,
                                const bool *is_load, uint32_t *scratch, uint32_t *ret_live);

#endif
