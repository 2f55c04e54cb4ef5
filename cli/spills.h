/*
 * Kernels that spill: they keep registers in scratch memory, which costs traffic.
 */
#ifndef KILN_CLI_SPILLS_H
#define KILN_CLI_SPILLS_H

#include "runtime/engine/engine.h"

#include <jansson.h>

/* One object per kernel of the program that spills: its number, symbol, bytes of scratch per
 * work-item and spilled registers. NULL where none does. The caller owns it. */
json_t *kiln_spills_to_json(const struct kiln_compiled_program *program);

#endif
