/* Schedules of pooling kernels. */
#ifndef KILN_COMPILER_FAMILIES_POOLING_POOLING_SCHEDULE_H
#define KILN_COMPILER_FAMILIES_POOLING_POOLING_SCHEDULE_H

#include "compiler/schedule/schedule.h"

#include <assert.h>

/*
 * One axis of the image that the window moves along. In direction 1 the taps follow each other:
 *
 *   coordinate = first + pixel * step + tap
 *
 * In direction -1, as in a gradient, step is 1. Windows begin at every divisor-th coordinate of the
 * results, and the loop leaves out those taps of `reach` that fall between two of them:
 *
 *   coordinate = (first + pixel) / divisor - tap, tap of the window = (first + pixel) % divisor +
 * tap * divisor
 *
 * It exists from 0 to below `size`.
 */
struct kiln_pooling_window {
    uint32_t over;  /* axis of the image, from the right */
    uint32_t pixel; /* collapsed axis of the results; KILN_NONE: they have one pixel along it */
    int64_t taps;   /* of the loop */
    int64_t first;
    int64_t step;
    int64_t size;
    int64_t divisor;  /* 0: direction 1 */
    int64_t reach;    /* taps of the window */
    bool has_padding; /* some coordinate does not exist */
    bool is_masked;   /* what is loaded in place of padding would change the result */
};

/*
 * The elements that a vector of results has along the first window, where it lies along the axis of
 * that window: each is loaded once for all results and taps that it belongs to. The middle ones, as
 * many as the vector has steps, are a vector in memory; `before` and `after` are loaded by
 * themselves. The loop leaves out the taps of the window.
 */
struct kiln_pooling_span {
    uint32_t before;
    uint32_t middle; /* 0: there is no span, and a vector lies along an axis without window */
    uint32_t after;
};

/* Each work-item makes a vector of results. It loads taps_together taps at once, then reduces them.
 */
struct kiln_pooling_schedule {
    uint32_t window_count;
    struct kiln_pooling_window windows[KILN_MAP_MAX_WINDOWS]; /* the fastest one first */
    struct kiln_pooling_span span;
    uint32_t taps;
    uint32_t taps_together;
};

/* The elements of a tap: one for each result, or a span. */
static inline uint32_t kiln_pooling_tap_elements(const struct kiln_schedule *schedule,
                                                 const struct kiln_pooling_schedule *pooling)
{
    const struct kiln_pooling_span *span = &pooling->span;
    return span->middle == 0 ? schedule->walk.vector_elems
                             : span->before + span->middle + span->after;
}

/* The schedule of a kernel of this family; kiln_pooling_schedule_in while it is being made. */
static inline const struct kiln_pooling_schedule *
kiln_pooling_schedule_of(const struct kiln_schedule *schedule)
{
    assert(schedule->family == KILN_FAMILY_POOLING);
    return schedule->details;
}

static inline struct kiln_pooling_schedule *kiln_pooling_schedule_in(struct kiln_schedule *schedule)
{
    assert(schedule->family == KILN_FAMILY_POOLING);
    return schedule->details;
}

#endif
