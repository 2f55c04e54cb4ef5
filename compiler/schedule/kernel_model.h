/*
 * The modelled time of a scheduled kernel for kiln explain, and its parts. All times are the
 * model's and not measured.
 */
#ifndef KILN_COMPILER_SCHEDULE_KERNEL_MODEL_H
#define KILN_COMPILER_SCHEDULE_KERNEL_MODEL_H

#include "compiler/schedule/schedule.h"

enum kiln_kernel_bound {
    KILN_BOUND_BYTES,      /* memory traffic */
    KILN_BOUND_MATRIX,     /* matrix instructions */
    KILN_BOUND_ARITHMETIC, /* the vector unit */
    KILN_BOUND_LAUNCH,
    KILN_BOUND_WAITING, /* few work-groups leave units idle, or loads wait for each other */
    KILN_BOUND_COUNT,
};

/* Static. */
const char *kiln_kernel_bound_text(enum kiln_kernel_bound bound);

/* In nanoseconds. WAITING is the rest beyond the launch and the largest other part. */
struct kiln_kernel_model {
    double time_ns; /* with the launch */
    double part_ns[KILN_BOUND_COUNT];
    enum kiln_kernel_bound bound; /* the largest part */
};

/* Returns false and sets nothing if the rates of the target are unknown. */
bool kiln_model_kernel(const struct kiln_schedule *schedule, const struct kiln_target *target,
                       struct kiln_kernel_model *ret_model);

#endif
