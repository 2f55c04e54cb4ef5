/* Schedules of pointwise kernels. */
#ifndef KILN_COMPILER_FAMILIES_POINTWISE_POINTWISE_SCHEDULE_H
#define KILN_COMPILER_FAMILIES_POINTWISE_POINTWISE_SCHEDULE_H

#include "compiler/schedule/schedule.h"

#include <assert.h>

struct kiln_pointwise_schedule {
    uint32_t vectors_per_item; /* that are loaded together */
};

/* The schedule of a kernel of this family; kiln_pointwise_schedule_in while it is being made. */
static inline const struct kiln_pointwise_schedule *
kiln_pointwise_schedule_of(const struct kiln_schedule *schedule)
{
    assert(schedule->family == KILN_FAMILY_POINTWISE);
    return schedule->details;
}

static inline struct kiln_pointwise_schedule *
kiln_pointwise_schedule_in(struct kiln_schedule *schedule)
{
    assert(schedule->family == KILN_FAMILY_POINTWISE);
    return schedule->details;
}

#endif
