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

#endif
