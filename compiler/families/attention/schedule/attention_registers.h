/*
 * Vector registers that a lane of attention's kernels needs where most are live at once, counted
 * from the tile: kernels_templates/attention.hip, device/attention/.
 */
#ifndef KILN_COMPILER_FAMILIES_ATTENTION_ATTENTION_REGISTERS_H
#define KILN_COMPILER_FAMILIES_ATTENTION_ATTENTION_REGISTERS_H

#include "compiler/families/attention/schedule/attention_schedule.h"

/* Registers of 32 bits. On CUDA and the host the count is only good to compare tiles. */
uint32_t kiln_attention_registers(const struct kiln_attention_schedule *attention,
                                  const struct kiln_target *target);

/* Registers that a lane may take, so that as many waves as are wanted fit a SIMD. UINT32_MAX on
 * CUDA and the host, where tiles are not chosen by the count. */
uint32_t kiln_attention_register_budget(const struct kiln_attention_schedule *attention,
                                        const struct kiln_target *target);

/* True if two work-groups of a kernel are to be resident at once: a limit of its registers. */
bool kiln_attention_has_residents(const struct kiln_attention_schedule *attention,
                                  const struct kiln_target *target);

#endif
