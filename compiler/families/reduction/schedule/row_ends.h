/* Ends of rows that vectors do not divide: moved vectors, skewed vectors or tails. */
#ifndef KILN_COMPILER_FAMILIES_REDUCTION_ROW_ENDS_H
#define KILN_COMPILER_FAMILIES_REDUCTION_ROW_ENDS_H

#include "compiler/families/reduction/schedule/reduction_problem.h"

/* True if the last vector of a row may be moved back to where it is whole. */
bool kiln_may_move_back(const struct kiln_reduction_problem *problem,
                        const struct kiln_schedule *schedule);

/* Sets kiln_walk.moved_elems and skew_elems. The schedule has its layout. */
void kiln_choose_row_ends(const struct kiln_graph *graph,
                          const struct kiln_reduction_problem *problem, const bool *is_dense,
                          struct kiln_schedule *schedule);

#endif
