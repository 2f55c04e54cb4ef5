/* Where the batches of ragged operands lie. */
#ifndef KILN_COMPILER_FAMILIES_ATTENTION_ATTENTION_SPANS_H
#define KILN_COMPILER_FAMILIES_ATTENTION_ATTENTION_SPANS_H

#include "compiler/families/attention/schedule/attention_schedule.h"
#include "compiler/families/contraction/schedule/contraction_layout.h"

/* Fills attention->spans, and the spans of accesses. The axes are laid out. False where the kernel
 * has an access of a ragged tensor and does not load its lengths. */
bool kiln_find_attention_spans(struct kiln_contraction_problem *problem,
                               struct kiln_attention_schedule *attention);

#endif
