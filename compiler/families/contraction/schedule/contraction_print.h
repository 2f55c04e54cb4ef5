/*
 * What `kiln explain` says of a contraction's schedule.
 */
#ifndef KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_PRINT_H
#define KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_PRINT_H

#include "compiler/families/contraction/schedule/contraction_schedule.h"

/* Appends ", m 64, n 96, k 32, tile ...": sizes, tile, waves, instruction, loads and stores. */
void kiln_contraction_print(const struct kiln_schedule *schedule,
                            const struct kiln_fusion_group *group, struct kiln_buffer *buffer);

/* "streamed 16x16x256, waves 1x1x8": form, tile and waves, as --schedule, --tile and --waves name
 * them. */
void kiln_describe_contraction(const struct kiln_contraction_schedule *contraction,
                               struct kiln_buffer *buffer);

/* kiln_schedule_explain: the rules of forms that no search has chosen. */
void kiln_contraction_explain(const struct kiln_schedule *schedule,
                              const struct kiln_target *target, struct kiln_buffer *buffer);

/* ", left operand read along k in vectors of 8": how an operand gets into LDS. */
void kiln_print_operand_loads(const char *name, const struct kiln_operand_schedule *operand,
                              const struct kiln_schedule *schedule,
                              const struct kiln_fusion_group *group, struct kiln_buffer *buffer);

#endif
