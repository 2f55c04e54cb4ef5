/*
 * Classes of sizes, for reductions whose sizes are arguments: the layout of a class serves all
 * sizes in it, so that few kernels serve all sizes.
 */
#ifndef KILN_COMPILER_FAMILIES_REDUCTION_REDUCTION_CLASSES_H
#define KILN_COMPILER_FAMILIES_REDUCTION_REDUCTION_CLASSES_H

#include "compiler/families/reduction/schedule/reduction_problem.h"

/* Rounds kept_count and steps_per_segment up to their classes. */
void kiln_reduction_class(const struct kiln_reduction_problem *problem,
                          struct kiln_schedule *schedule);

/* True if a row is cut by vectors and longer than all classes of held rows. */
bool kiln_is_longer_than_classes(const struct kiln_reduction_problem *problem,
                                 const struct kiln_schedule *schedule);

/* On a GPU, the layout of a class in the form `columns`. Sets items_along_reduced and
 * items_along_kept. */
void kiln_lay_out_column_class(const struct kiln_reduction_problem *problem,
                               struct kiln_schedule *schedule);

#endif
