/*
 * In which order values that wait in the workspace lie there. Internal to the partitioner.
 */
#ifndef KILN_COMPILER_FUSE_LAYOUT_TENSOR_H
#define KILN_COMPILER_FUSE_LAYOUT_TENSOR_H

#include "compiler/fuse/group_builder.h"

/*
 * The tensor whose order of axes in memory a value in the workspace follows, so that the kernels on
 * both sides walk as their other operands want: the one whose content it is, else the first input
 * of as many elements that it is computed from, else the first output of as many that is computed
 * from it (the sums of a product have none before them). KILN_NONE when there is none. Nothing but
 * the program decides: all groups see the same layout.
 */
uint32_t kiln_layout_tensor(struct kiln_group_builder *builder, uint32_t value);

#endif
