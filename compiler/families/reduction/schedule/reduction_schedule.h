/* Schedules of reductions. */
#ifndef KILN_COMPILER_FAMILIES_REDUCTION_REDUCTION_SCHEDULE_H
#define KILN_COMPILER_FAMILIES_REDUCTION_REDUCTION_SCHEDULE_H

#include "compiler/families/reduction/fuse/reduction_passes.h"
#include "compiler/schedule/schedule.h"

#include <assert.h>

/* How rows lie in memory: struct kiln_reduction_schedule. */
enum kiln_reduction_form {
    KILN_REDUCTION_ROWS,
    KILN_REDUCTION_COLUMNS,
    /* Columns whose steps are the segments of another kernel (kiln_value_has_segment_axis).
     * Where they are held, the first pass loads all that any pass needs: one wait instead of one
     * for each pass. */
    KILN_REDUCTION_SEGMENTS,
};

/* The elements that a work-item keeps from pass to pass. */
enum kiln_reduction_held {
    KILN_HELD_NOTHING, /* every pass loads them */
    KILN_HELD_CONVERTED,
    /* As they were loaded: each pass computes all it needs of them again, in fewer registers. */
    KILN_HELD_LOADED,
    /* In local memory, where a work-group copies its rows whole; in registers from there on
     * (reduction_local.h). A step is an element. */
    KILN_HELD_LOCAL,
};

/* The rule of reduction_layout.c that decided how many work-items share a row. */
enum kiln_items_rule {
    KILN_ITEMS_ALONE,     /* on a CPU: one */
    KILN_ITEMS_STEPS,     /* a few steps are left for each */
    KILN_ITEMS_BLOCK,     /* as many as neighbouring columns leave of a work-group */
    KILN_ITEMS_FILL,      /* more, so that the target is full */
    KILN_ITEMS_HOLD,      /* more, so that each holds less of the row */
    KILN_ITEMS_CACHE,     /* more, as no number of them can hold it: caches have fewer rows */
    KILN_ITEMS_LOCAL,     /* a few elements are left for each, in local memory */
    KILN_ITEMS_CLUSTER,   /* as few as hold their part of a row that a cluster shares */
    KILN_ITEMS_ALL_SIZES, /* the same for all sizes, or for a class of them */
};

/*
 * The layout of a reduction group's work. Each collapsed axis is either reduced or kept. At least
 * one is reduced; without a kept axis there is one row. Axis 0 of a COMBINE group counts segments,
 * has size segment_count, and is reduced. With one row it is the only axis.
 *
 * The inner axis decides the form. In `rows` it is reduced: a vector's elements belong to one row,
 * and neighbouring work-items share a row. In `columns` it is kept: a vector holds one element of
 * each of vector_elems neighbouring rows, and neighbouring work-items take neighbouring vectors.
 *
 * A work-group has items_along_reduced x items_along_kept work-items. A work-item at place r along
 * the reduced axes does the steps r, r + items_along_reduced, ... of its row (or vector of rows).
 * Then the accumulators of the row's work-items are merged, always in the same order. If segments
 * take turns, r counts the work-items of all segments, and the stride is segment_count *
 * items_along_reduced. Work-items of one segment stay neighbours.
 *
 * Steps are numbered over the reduced axes, and rows (vectors of rows) over the kept ones, the last
 * axis fastest. In both the inner axis counts as ceil(cols / vector_elems), because a vector never
 * crosses the end of a line. In the form `rows` the kernel walks separately over the elements that
 * fill no vector, shared out in the same way. If segments do not take turns, segment s begins at
 * whole vector s * ceil(vectors / segment_count). Elements outside of vectors are cut likewise.
 * Some segments may be empty.
 */
struct kiln_reduction_schedule {
    struct kiln_reduction_passes passes;
    enum kiln_reduction_form form;
    uint32_t items_along_reduced; /* a power of two */
    uint32_t items_along_kept;    /* a power of two */
    enum kiln_items_rule items_rule;
    /* Steps that a work-item loads together before it uses them: all it has, if it holds them. */
    uint32_t steps_per_item;
    /* Work-items with one access in flight each that would keep the target as busy. */
    double busy_items;
    enum kiln_reduction_held held;
    bool results_replace_operands; /* in local memory, before the last pass */
    /* Neighbouring work-items, or those that share a row, have rows so far apart in local memory: a
     * power of two. Only there. */
    uint32_t row_spacing;
    uint64_t kept_count;    /* rows; in the form `columns` vectors of rows */
    uint64_t step_count;    /* steps of a row: vectors in the form `rows`, elements in `columns` */
    uint32_t segment_count; /* work-groups that share a row: PARTIAL, and clusters; otherwise 1 */
    /* Work-groups that share a row, run together and merge what they have; otherwise 1. Clusters of
     * NVIDIA GPUs: reduction_cluster.h. */
    uint32_t groups_of_row;
    /* Set on a GPU: its work-groups advance together, so the caches finally hold the whole end of
     * the row. A CPU core prefetches, so there each segment is a contiguous stretch. */
    bool segments_take_turns;
    /* Upper bound, rounded up to whole turns: ceil(step_count / segment_count). If the group merges
     * segments: the most that the kernel supports. */
    uint64_t steps_per_segment;
};

/* True if the inner axis is kept. */
static inline bool kiln_reduction_is_columns(const struct kiln_reduction_schedule *reduction)
{
    return reduction->form != KILN_REDUCTION_ROWS;
}

/* True if every element is loaded once, and waits in registers from pass to pass. */
static inline bool kiln_reduction_is_held(const struct kiln_reduction_schedule *reduction)
{
    return reduction->held != KILN_HELD_NOTHING;
}

/* The schedule of a kernel of this family; kiln_reduction_schedule_in while it is being made. */
static inline const struct kiln_reduction_schedule *
kiln_reduction_schedule_of(const struct kiln_schedule *schedule)
{
    assert(schedule->family == KILN_FAMILY_REDUCTION);
    return schedule->details;
}

static inline struct kiln_reduction_schedule *
kiln_reduction_schedule_in(struct kiln_schedule *schedule)
{
    assert(schedule->family == KILN_FAMILY_REDUCTION);
    return schedule->details;
}

#endif
