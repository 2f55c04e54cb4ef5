/*
 * How operands of a contraction, or of attention, can be loaded: which way they run in memory, and
 * in which vectors.
 */
#ifndef KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_LOADS_H
#define KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_LOADS_H

#include "compiler/families/contraction/schedule/contraction_access.h"

/* Rows that a work-item loads at once, at most. */
enum { KILN_WIDEST_RUN = 8 };

/* True if a pointer and all strides but the dense one keep a vector's alignment where the target
 * needs it. */
bool kiln_is_access_aligned(const struct kiln_contraction_problem *problem, uint32_t access,
                            uint32_t dense, uint32_t vector);
/* True if each pack of an access along k begins at a multiple of its length, or at a multiple of
 * what the target needs. Always true for packed elements, whose vectors are no others. */
bool kiln_are_packs_aligned(const struct kiln_contraction_problem *problem, uint32_t access,
                            uint32_t pack);
/* True if packs of the operand along k are joined from aligned words (device/unaligned.h). */
bool kiln_joins_packs(const struct kiln_contraction_problem *problem,
                      const struct kiln_operand_schedule *operand);
/* True if every access of the place can take `vector` neighbours along a dense stride at once, to
 * the end of the axis, which is `size` long. */
bool kiln_are_accesses_whole(const struct kiln_contraction_problem *problem, enum kiln_place place,
                             uint32_t dense, int64_t size, uint32_t vector);
/* True if indices of some of an operand's accesses are taken apart. */
bool kiln_is_operand_split(const struct kiln_contraction_problem *problem,
                           const struct kiln_operand_schedule *operand);
/* True if an operand's memory runs along its rows. */
bool kiln_runs_along_rows(const struct kiln_contraction_problem *problem,
                          const struct kiln_operand_schedule *operand);
/* True if an operand is loaded in runs of KILN_WIDEST_RUN rows, or in packs along k, wherever whole
 * tiles are; else element by element. */
bool kiln_has_whole_loads(const struct kiln_contraction_problem *problem,
                          const struct kiln_operand_schedule *operand);
/* Neighbouring packs along k that a lane of a streamed kernel loads together,
 * kiln_streamed_pipeline.lane_run: more than 1 if an operand has packed elements or blocks. */
uint32_t kiln_choose_lane_run(const struct kiln_contraction_problem *problem);
/* Loads of a lane's packs of an operand along k, relative to loads of 16 bytes of its elements: 2
 * where packs of halves are loaded from bytes. */
double kiln_find_load_excess(const struct kiln_contraction_problem *problem,
                             const struct kiln_operand_schedule *operand, uint32_t lane_run);
/* True if a lane that loads so many elements together has one element of the access for all. */
bool kiln_shares_block(const struct kiln_contraction_problem *problem, uint32_t access,
                       uint32_t elements);
/* Neighbours along the result's columns that a work-item finishes at once: a vector of 16 bytes, at
 * most `limit` and 8 elements. It is 1 where accesses cannot be such vectors. The result has `size`
 * columns. */
uint32_t kiln_result_vector(const struct kiln_contraction_problem *problem, int64_t size,
                            uint32_t limit);
/* Chooses how an operand is loaded where all work-items stage a tile of tile_rows x tile_k: its
 * direction, vector and run. The run leaves each work-item some of the tile. */
void kiln_choose_staged_loads(const struct kiln_contraction_problem *problem,
                              struct kiln_operand_schedule *operand, uint32_t tile_rows,
                              uint32_t tile_k);
/* Like kiln_choose_staged_loads, for any pipeline of a contraction; also chooses the pieces. In a
 * streamed kernel a wave has `fragments` fragments of each product's operand. */
void kiln_choose_operand_loads(const struct kiln_contraction_problem *problem,
                               struct kiln_operand_schedule *operand, uint32_t tile_rows,
                               uint32_t fragments);

#endif
