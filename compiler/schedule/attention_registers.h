/*
 * Vector registers that a lane of attention's kernels needs where most are live at once, counted
 * from the tile: kernels_templates/attention.hip, device/attention/.
 */
#ifndef KILN_COMPILER_SCHEDULE_ATTENTION_REGISTERS_H
#define KILN_COMPILER_SCHEDULE_ATTENTION_REGISTERS_H

#include "compiler/schedule/schedule.h"

/* Of 32 bits. 0 where the target has no matrix instructions that are counted: CUDA, the host,
 * scalar multiply-adds. */
uint32_t kiln_attention_registers(const struct kiln_attention_schedule *attention,
                                  const struct kiln_target *target);

/* How many a lane has, so that as many waves as are wanted fit a SIMD; 0 as above. */
uint32_t kiln_attention_register_budget(const struct kiln_attention_schedule *attention,
                                        const struct kiln_target *target);

#endif
