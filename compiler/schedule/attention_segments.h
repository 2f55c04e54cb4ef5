/*
 * Attention of few rows over many columns, as when text is generated: too few work-groups to keep a
 * device busy. Its columns are cut into segments then (compiler/ir/segment_attention.c).
 */
#ifndef KILN_COMPILER_SCHEDULE_ATTENTION_SEGMENTS_H
#define KILN_COMPILER_SCHEDULE_ATTENTION_SEGMENTS_H

#include "compiler/codegen/target.h"
#include "compiler/fuse/partition.h"
#include "compiler/ir/ir.h"
#include "compiler/program.h"

/* How many segments the ATTEND at this value is in: 1 where it is whole. */
uint32_t kiln_attention_segments(const struct kiln_ir *ir, uint32_t attend);

enum { KILN_MAX_ATTENTION_SEGMENTS = 64 };

/* Whether a group merges what attention has of its segments, and reduces nothing else. */
bool kiln_merges_attention_segments(const struct kiln_ir *ir,
                                    const struct kiln_fusion_group *group);

/* How many it should be cut into; 1: it is well as it is. */
uint32_t kiln_choose_attention_segments(const struct kiln_ir *ir, uint32_t attend,
                                        const struct kiln_target *target,
                                        const struct kiln_lower_options *options);

#endif
