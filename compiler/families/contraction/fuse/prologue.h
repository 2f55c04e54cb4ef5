/*
 * Prologues of contractions: the operations that a kernel applies to an operand while staging it.
 * Other values are computed by another kernel and read from memory. Internal to the partitioner.
 *
 * A prologue has few loads and little arithmetic. Every work-group that needs the operand repeats
 * it. A value between two products can be computed in either kernel. The first product's kernel
 * computes it once; the second one's repeats it in each tile. The second one does it only if that
 * moves fewer bytes, and the time saved is longer than the repeated arithmetic takes.
 */
#ifndef KILN_COMPILER_FAMILIES_CONTRACTION_PROLOGUE_H
#define KILN_COMPILER_FAMILIES_CONTRACTION_PROLOGUE_H

#include "compiler/fuse/group_builder.h"

/* True if the kernel of the product `index` computes its operand number `side` itself. If the
 * operand depends on another product, marks the values that this kernel computes
 * (builder->is_deferred) and records the choice (contraction_grouping.h). */
bool kiln_prologue_may_evaluate(struct kiln_group_builder *builder, uint32_t index, uint32_t side);

/* Copies a group's betweens to its data, once its anchors are known; false if out of memory. */
struct kiln_product_group;
bool kiln_keep_betweens(const struct kiln_group_builder *builder,
                        const struct kiln_fusion_group *group, struct kiln_product_group *data);

/* Prints a line for each between: the kernel that computes it, and why. */
void kiln_explain_betweens(const struct kiln_ir *ir, const struct kiln_graph *graph,
                           const struct kiln_fusion_group *group, struct kiln_buffer *buffer);

#endif
