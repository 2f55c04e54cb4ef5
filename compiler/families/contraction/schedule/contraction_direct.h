/*
 * The direct form of a contraction: work-items compute elements of the result by themselves. For
 * convolutions of few channels in a group, of which the tile of a matrix instruction has one column
 * in sixteen, or less.
 */
#ifndef KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_DIRECT_H
#define KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_DIRECT_H

#include "compiler/families/contraction/schedule/contraction_axes.h"

/* True if the form is taken: where it is possible and either forced or, nothing being forced,
 * groups have few channels. */
bool kiln_is_contraction_direct(const struct kiln_contraction_problem *problem);

/* Chooses the pipeline of a contraction whose axes are laid out: strips or direct, their tile, the
 * result's vector, and the modes of accesses. */
void kiln_choose_direct(struct kiln_contraction_problem *problem);

#endif
