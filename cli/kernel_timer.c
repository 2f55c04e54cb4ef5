#include "cli/kernel_timer.h"

#include "cli/bench/bench_timing.h"
#include "cli/text.h"

#include <stdlib.h>

enum kiln_status kiln_kernel_timer_init(struct kiln_kernel_timer *timer, struct kiln_device *device,
                                        const struct kiln_plan *plan, uint32_t samples,
                                        struct kiln_error *error)
{
    uint32_t kernels = kiln_plan_kernel_count(plan);
    *timer = (struct kiln_kernel_timer){
        .device = device,
        .plan = plan,
        .events = kiln_cli_calloc((size_t)kernels + 1, sizeof(*timer->events)),
        .samples = kiln_cli_calloc((size_t)kernels * samples + 1, sizeof(*timer->samples)),
        .capacity = samples,
    };
    enum kiln_status status = KILN_OK;
    for (uint32_t i = 0; i <= kernels && status == KILN_OK; i++)
        status = device->ops->event_create(device, &timer->events[i], error);
    return status;
}

void kiln_kernel_timer_fini(struct kiln_kernel_timer *timer)
{
    for (uint32_t i = 0; timer->events && i <= kiln_plan_kernel_count(timer->plan); i++)
        if (timer->events[i])
            timer->device->ops->event_destroy(timer->device, timer->events[i]);
    free(timer->events);
    free(timer->samples);
    *timer = (struct kiln_kernel_timer){.device = NULL};
}

enum kiln_status kiln_kernel_timer_sample(struct kiln_kernel_timer *timer, void *workspace,
                                          const struct kiln_buffer_binding *buffers,
                                          uint32_t buffer_count, struct kiln_error *error)
{
    struct kiln_device *device = timer->device;
    enum kiln_status status = kiln_plan_execute_with_events(timer->plan, workspace, buffers,
                                                            buffer_count, timer->events, error);
    for (uint32_t i = 0; i < kiln_plan_kernel_count(timer->plan) && status == KILN_OK; i++)
        status = device->ops->event_elapsed(
            device, timer->events[i], timer->events[i + 1],
            &timer->samples[(size_t)i * timer->capacity + timer->count], error);
    timer->count += status == KILN_OK;
    return status;
}

double kiln_kernel_timer_median(const struct kiln_kernel_timer *timer, uint32_t kernel)
{
    return timer->count == 0
               ? 0
               : kiln_bench_median(timer->samples + (size_t)kernel * timer->capacity, timer->count);
}
