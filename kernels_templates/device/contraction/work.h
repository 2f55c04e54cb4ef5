/*
 * The work on an operand before its packs are in LDS: values of KILN_LEFT_WORK and KILN_RIGHT_WORK.
 */
#ifndef KILN_DEVICE_CONTRACTION_WORK_H
#define KILN_DEVICE_CONTRACTION_WORK_H

enum kiln_work {
    KILN_WORK_COPY,     /* packs are as they were loaded; of runs (inside_runs.h), some are masked */
    KILN_WORK_ASSEMBLE, /* packs are put together from several loads */
    KILN_WORK_COMPUTE   /* packs are computed */
};

#endif
