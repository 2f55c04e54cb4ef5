/*
 * Modes of a contraction's accesses (splat, vector or gather), and the width of their offsets.
 */
#ifndef KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_MODES_H
#define KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_MODES_H

#include "compiler/families/contraction/schedule/contraction_access.h"

/* Sets the mode of each access, and what its pointer is checked for: what loads and stores of whole
 * vectors need. Operands' vectors and runs and the result's vector are chosen already. */
void kiln_set_access_modes(struct kiln_contraction_problem *problem);

/* Sets the mode and the alignment of one access from the stride along its dense axis. Stride 0 is a
 * splat. Stride 1 is a vector if `vector` is above 1. Everything else is a gather. */
void kiln_set_access_mode(const struct kiln_contraction_problem *problem, uint32_t access,
                          int64_t stride, uint32_t vector);

/* Like kiln_set_access_modes, for the direct form. One operand has the result's groups. It is
 * loaded in vectors of the result's columns where these are the groups and nothing else. */
void kiln_set_direct_modes(struct kiln_contraction_problem *problem);

/* True if neighbours along k may lie along any of its axes: from one to the next there are carries,
 * and device/contraction/inside_walk.h or inside_table.h loads packs. */
bool kiln_walks_along_k(const struct kiln_contraction_schedule *contraction);

/* True if an access of the operand is loaded so. Its mode is set. The contraction is the schedule's
 * own, or one of attention's. */
bool kiln_is_access_walked(const struct kiln_contraction_schedule *contraction,
                           const struct kiln_operand_schedule *operand,
                           const struct kiln_schedule *schedule,
                           const struct kiln_fusion_group *group, uint32_t access);

/* Bytes of local memory for the tables of device/contraction/inside_table.h; 0 where packs are
 * found otherwise. The caller knows whether there is room. The modes of accesses are set, the width
 * of offsets follows from them. */
uint32_t kiln_table_bytes(const struct kiln_contraction_problem *problem);

/* True if an index, or an offset in bytes within a tile, does not fit in 31 bits. */
bool kiln_offsets_need_64_bits(const struct kiln_contraction_problem *problem);

#endif
