/*
 * How operands of a contraction, or of attention, can be loaded: which way they run in memory, and
 * in which vectors.
 */
#ifndef KILN_COMPILER_SCHEDULE_CONTRACTION_LOADS_H
#define KILN_COMPILER_SCHEDULE_CONTRACTION_LOADS_H

#include "compiler/schedule/contraction_access.h"

/* Rows that a work-item loads at once, at most. */
enum { KILN_WIDEST_RUN = 8 };

/* Whether a pointer and all strides but the dense one keep a vector's alignment where the target
 * needs it. */
bool kiln_is_access_aligned(const struct kiln_contraction_problem *problem, uint32_t access,
                            uint32_t dense, uint32_t vector);
/* Whether every access of the place can take `vector` neighbours along a dense stride at once, to
 * the end of the axis, which is `size` long. */
bool kiln_are_accesses_whole(const struct kiln_contraction_problem *problem, enum kiln_place place,
                             uint32_t dense, int64_t size, uint32_t vector);
/* Whether indices of some of an operand's accesses are taken apart. */
bool kiln_is_operand_split(const struct kiln_contraction_problem *problem,
                           const struct kiln_operand_schedule *operand);
/* Whether an operand's memory runs along its rows. */
bool kiln_runs_along_rows(const struct kiln_contraction_problem *problem,
                          const struct kiln_operand_schedule *operand);
/* Whether an operand is loaded in runs of KILN_WIDEST_RUN rows, or in packs along k, wherever whole
 * tiles are; else element by element. */
bool kiln_has_whole_loads(const struct kiln_contraction_problem *problem,
                          const struct kiln_operand_schedule *operand);
/* Chooses how a tile's operand is loaded: direction, vector, run and pieces. In a streamed kernel a
 * wave has so many fragments of each product's operand. */
void kiln_choose_operand_loads(const struct kiln_contraction_problem *problem,
                               struct kiln_operand_schedule *operand, uint32_t tile_rows,
                               uint32_t fragments);

#endif
