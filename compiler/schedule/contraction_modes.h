/*
 * Which accesses of a contraction are vectors, and how wide their offsets are.
 */
#ifndef KILN_COMPILER_SCHEDULE_CONTRACTION_MODES_H
#define KILN_COMPILER_SCHEDULE_CONTRACTION_MODES_H

#include "compiler/schedule/contraction_access.h"

/* Sets the mode of each access, and what its pointer is checked for: what loads and stores of whole
 * vectors need. Operands' vectors and runs and the result's vector are chosen already. */
void kiln_set_access_modes(struct kiln_contraction_problem *problem);

/* The same of the direct form. Of the operand that has the result's groups, a vector of the
 * result's columns is one in memory where they are those groups and nothing else. */
void kiln_set_direct_modes(struct kiln_contraction_problem *problem);

/* Whether some index, or an offset within a tile, in bytes, is beyond 31 bits. */
bool kiln_offsets_need_64_bits(const struct kiln_contraction_problem *problem);

#endif
