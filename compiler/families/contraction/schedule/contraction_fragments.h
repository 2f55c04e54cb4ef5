/*
 * The packs and fragments of a contraction's tile. A pack is 16 bytes along k. An instruction
 * multiplies two fragments. Both follow from the staged type, the instruction and the pipeline.
 */
#ifndef KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_FRAGMENTS_H
#define KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_FRAGMENTS_H

#include "compiler/families/contraction/schedule/contraction_schedule.h"

/* Elements of a pack: 16 bytes of what is staged. */
uint32_t kiln_pack_elements(const struct kiln_contraction_schedule *contraction);

/* Rows of the left and of the right operand that one fragment has. */
uint32_t kiln_fragment_rows_m(const struct kiln_contraction_schedule *contraction,
                              const struct kiln_target *target);
uint32_t kiln_fragment_rows_n(const struct kiln_contraction_schedule *contraction,
                              const struct kiln_target *target);

/* Packs of a fragment that a lane loads by itself: KILN_LANE_PACKS of device/mma/. */
uint32_t kiln_lane_packs(const struct kiln_contraction_schedule *contraction);
/* Elements along k of a step of all lanes that load their own fragments. */
uint32_t kiln_lane_step(const struct kiln_contraction_schedule *contraction);

/* Local memory of tiles, sums and ring. */
uint32_t kiln_contraction_lds_bytes(const struct kiln_contraction_schedule *contraction,
                                    const struct kiln_target *target, uint32_t sum_bytes);

#endif
