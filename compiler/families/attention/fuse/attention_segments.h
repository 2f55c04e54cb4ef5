/*
 * Attention of few rows over many columns, as when text is generated: too few work-groups to keep a
 * device busy. Its columns are cut into segments then (compiler/ir/segment_attention.c).
 */
#ifndef KILN_COMPILER_FAMILIES_ATTENTION_ATTENTION_SEGMENTS_H
#define KILN_COMPILER_FAMILIES_ATTENTION_ATTENTION_SEGMENTS_H

#include "compiler/codegen/target.h"
#include "compiler/fuse/fuse_family.h"
#include "compiler/ir/ir.h"
#include "compiler/lower_options.h"

/* How many segments the ATTEND at this value is in: 1 where it is whole. */
uint32_t kiln_attention_segments(const struct kiln_ir *ir, uint32_t attend);

/* struct kiln_fuse_family: has_segment_axis. */
bool kiln_attention_has_segment_axis(const struct kiln_ir *ir, uint32_t value);

/* How many it should be cut into; 1: it is well as it is. */
uint32_t kiln_choose_attention_segments(const struct kiln_ir *ir, uint32_t attend,
                                        const struct kiln_target *target,
                                        const struct kiln_lower_options *options);

#endif
