/*
 * The axes of a contraction's kernel. What a CONTRACT iterates over becomes one index for rows, one
 * for columns and one for k, and batches: axes of a role that every operand walks as one become
 * one, what is left of several is taken apart where an operand needs it.
 *
 * A window with a divisor, that of a strided convolution's gradient, has a coordinate for one in so
 * many rows and taps only. Rows are sorted by what is left over, their phase, each with the taps
 * that fit: so many dense products in one launch, and phases are batches.
 */
#ifndef KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_AXES_H
#define KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_AXES_H

#include "compiler/families/contraction/schedule/contraction_access.h"

/* The axes of the kernel. */
struct kiln_kernel_axes {
    const struct kiln_contraction_problem *problem;
    bool is_transposed; /* rows are n of the CONTRACT */
    struct kiln_contraction_axis rows[KILN_MAX_ROLE_AXES];
    struct kiln_contraction_axis columns[KILN_MAX_ROLE_AXES];
    struct kiln_contraction_axis sums[KILN_MAX_ROLE_AXES];
    struct kiln_contraction_axis batches[KILN_MAX_BATCH_AXES];
    uint32_t row_count, column_count, sum_count, batch_count;
};

/* Fills all but problem and is_transposed, which are set, and the phases of the schedule. */
void kiln_find_kernel_axes(struct kiln_kernel_axes *kernel);

/* True if an axis counts the groups of a convolution's channels: a batch that goes along the same
 * axis of the result as columns. */
bool kiln_is_group_axis(const struct kiln_contraction *contraction, uint32_t axis);

/* True if an access walks along these axes as along one; those of one index are passed over. */
bool kiln_is_linear(const struct kiln_contraction_problem *problem,
                    const struct kiln_access *access, const struct kiln_contraction_axis *axes,
                    uint32_t count);

/* The first is true if an axis goes along a window. The second is true if an access reads the image
 * and varies along a window. */
bool kiln_goes_along_window(const struct kiln_kernel_axes *kernel,
                            const struct kiln_contraction_axis *axis);
bool kiln_walks_along_windows(const struct kiln_kernel_axes *kernel,
                              const struct kiln_access *access);

#endif
