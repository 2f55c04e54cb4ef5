/*
 * The time of each kernel of a plan, by events around it.
 */
#ifndef KILN_CLI_KERNEL_TIMER_H
#define KILN_CLI_KERNEL_TIMER_H

#include "runtime/engine/engine.h"

struct kiln_kernel_timer {
    struct kiln_device *device; /* borrowed; the plan's */
    const struct kiln_plan *plan;
    struct kiln_device_event **events; /* one more than kernels */
    double *samples;                   /* seconds: those of kernel 0, then of kernel 1 */
    uint32_t capacity;
    uint32_t count;
};

/* Room for so many samples, at least 1. The timer is initialised in any case: fini it, before the
 * device is closed. */
enum kiln_status kiln_kernel_timer_init(struct kiln_kernel_timer *timer, struct kiln_device *device,
                                        const struct kiln_plan *plan, uint32_t samples,
                                        struct kiln_error *error) KILN_NODISCARD;
void kiln_kernel_timer_fini(struct kiln_kernel_timer *timer);

/* Executes the plan once, and waits for it; arguments as in kiln_plan_execute. There must be room
 * for another sample. */
enum kiln_status kiln_kernel_timer_sample(struct kiln_kernel_timer *timer, void *workspace,
                                          const struct kiln_buffer_binding *buffers,
                                          uint32_t buffer_count,
                                          struct kiln_error *error) KILN_NODISCARD;

/* Median seconds of a kernel over the samples; 0 without any. */
double kiln_kernel_timer_median(const struct kiln_kernel_timer *timer, uint32_t kernel);

#endif
