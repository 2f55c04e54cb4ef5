/*
 * Which columns of scores the rows of attention see: what the graph says by comparing indices
 * (causal, windows, lengths). The kernel leaves out the tiles that none of its rows sees, tests
 * only those that some rows do not see all of, and has what it compares with as arguments.
 */
#ifndef KILN_COMPILER_FAMILIES_ATTENTION_ATTENTION_LIMITS_H
#define KILN_COMPILER_FAMILIES_ATTENTION_ATTENTION_LIMITS_H

#include "compiler/families/attention/schedule/attention_schedule.h"

/* Fills attention->limits; none where something else decides too what is seen. m, n must be set. */
void kiln_find_attention_limits(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                                struct kiln_attention_schedule *attention);

/* Where a length hides columns, their values are 0 in the program, since there may be anything in
 * memory: NaN times 0 would be NaN. The kernel does not read them, so that this is left out.
 * Changes ATTENDs only; what they do not need any more is for kiln_ir_optimize to drop. */
void kiln_drop_hidden_values(struct kiln_ir *ir, const struct kiln_graph *graph);

#endif
