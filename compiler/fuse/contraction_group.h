/*
 * What the schedule and the emitter ask about the places of a contraction's group.
 */
#ifndef KILN_COMPILER_FUSE_CONTRACTION_GROUP_H
#define KILN_COMPILER_FUSE_CONTRACTION_GROUP_H

#include "compiler/fuse/partition.h"

/* Of two CONTRACTs: LEFT or RIGHT, whichever operand both have. Of one: KILN_PLACE_COUNT. */
enum kiln_place kiln_group_shared_place(const struct kiln_ir *ir,
                                        const struct kiln_fusion_group *group);

/* The operand that a place stages; KILN_NONE where it stages none. */
uint32_t kiln_group_operand(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                            enum kiln_place place);

/* Of attention: the SCORE_FOLD, or KILN_NONE; and what the nth ATTEND multiplies or the SCORE_FOLD
 * sums. */
uint32_t kiln_group_fold(const struct kiln_ir *ir, const struct kiln_fusion_group *group);
uint32_t kiln_group_weights(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                            uint32_t nth);

/* The REDUCE that sums one of the CONTRACT's operands over k, and which operand, LEFT or RIGHT;
 * KILN_NONE and KILN_PLACE_COUNT where there is none. */
uint32_t kiln_group_operand_sum(const struct kiln_ir *ir, const struct kiln_fusion_group *group);
enum kiln_place kiln_group_summed_place(const struct kiln_ir *ir,
                                        const struct kiln_fusion_group *group);

/*
 * In what a group's kernel differs from one that yields its result's elements only; at most one is
 * true, and none of a group without a CONTRACT.
 *
 *   statistics  it reduces the elements of each tile along some axes and stores the accumulators
 *   whole rows  it reduces them along an axis that a tile has all of
 *   cuts k      it does each segment of k by itself and stores the sums
 */
bool kiln_group_has_statistics(const struct kiln_fusion_group *group);
bool kiln_group_has_whole_rows(const struct kiln_fusion_group *group);
bool kiln_group_cuts_k(const struct kiln_fusion_group *group);

#endif
