/*
 * The small form of a contraction: batches of products that are far smaller than a tile. A
 * work-item computes a block of a product's elements by itself, and a work-group has several
 * products.
 */
#ifndef KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_SMALL_H
#define KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_SMALL_H

#include "compiler/families/contraction/schedule/contraction_access.h"
#include "compiler/families/contraction/schedule/contraction_tile_problem.h"

/* Rows, or columns, of a small product at most: beyond, a tile has use for its own. */
enum { KILN_SMALL_ROWS = 32 };

static inline bool kiln_is_contraction_small(const struct kiln_contraction_schedule *contraction)
{
    return contraction->pipeline.kind == KILN_PIPELINE_SMALL;
}

/* True unless the group, apart from its sizes, or a forced choice rules the form out. */
bool kiln_may_contraction_be_small(const struct kiln_contraction_problem *problem);

/*
 * Chooses the work-items' block, row_items and column_items, when the axes are laid out, and
 * time_ns by a model. False if the products are too large, or are not single axes in memory.
 */
bool kiln_choose_small_items(const struct kiln_contraction_problem *problem,
                             const struct kiln_tile_problem *tile);

/* Work-items of all products. */
int64_t kiln_count_small_items(const struct kiln_contraction_schedule *contraction);

/* Work-items of a work-group. */
uint32_t kiln_small_block(const struct kiln_target *target);

#endif
