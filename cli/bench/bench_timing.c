#include "cli/bench/bench_timing.h"

#include "cli/interrupt.h"
#include "cli/text.h"

#include <math.h>
#include <stdlib.h>

enum {
    WARM_UP_EXECUTIONS = 3,
    LEAST_ROUNDS = 5,
    MAX_BATCH = 4096,
    TIMED_CALLS = 200,
    CALLS_IN_QUEUE = 16, /* before the device is waited for: far from filling its queue */
};

static const double warm_up_seconds = 20e-3;
static const double sample_seconds = 2e-3;
/* After one execution that takes longer, the device is warm, and nothing before it matters. */
static const double slow_seconds = 50e-3;

/* What one timing needs all the way down. */
struct timing {
    struct kiln_device *device;
    struct kiln_device_event *events[2];
    uint64_t turn;
};

double kiln_bench_percentile(const double *sorted, uint32_t count, double share)
{
    double place = share * (count - 1);
    uint32_t below = (uint32_t)place;
    uint32_t above = below + 1 < count ? below + 1 : below;
    return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
}

static int compare(const void *one, const void *other)
{
    double a = *(const double *)one;
    double b = *(const double *)other;
    return (a > b) - (a < b);
}

double kiln_bench_median(double *numbers, uint32_t count)
{
    qsort(numbers, count, sizeof(*numbers), compare);
    return kiln_bench_percentile(numbers, count, 0.5);
}

/* Seconds of `batch` executions. */
static enum kiln_status time_batch(struct timing *timing, const struct kiln_bench_runner *runner,
                                   uint32_t batch, double *ret_seconds, struct kiln_error *error)
{
    struct kiln_device *device = timing->device;
    enum kiln_status status = KILN_OK;
    if (kiln_interrupt_pending())
        return kiln_error_set(error, KILN_UNSUPPORTED, "interrupted");
    if (runner->execution_s < slow_seconds)
        status = runner->execute(runner->context, timing->turn++, error);
    if (status == KILN_OK)
        status = device->ops->event_record(device, timing->events[0], NULL, error);
    for (uint32_t i = 0; i < batch && status == KILN_OK; i++)
        status = runner->execute(runner->context, timing->turn++, error);
    if (status == KILN_OK)
        status = device->ops->event_record(device, timing->events[1], NULL, error);
    if (status == KILN_OK)
        status = device->ops->event_elapsed(device, timing->events[0], timing->events[1],
                                            ret_seconds, error);
    return status;
}

/* Batches that double, of which the last is long enough to tell how many executions a sample
 * needs. */
static enum kiln_status warm_up(struct timing *timing, struct kiln_bench_runner *runner,
                                struct kiln_error *error)
{
    uint32_t executions = 0;
    uint32_t batch = 1;
    double total = 0;
    runner->execution_s = 0;
    while (total < warm_up_seconds ||
           (executions < WARM_UP_EXECUTIONS && runner->execution_s < slow_seconds)) {
        double seconds = 0;
        enum kiln_status status = time_batch(timing, runner, batch, &seconds, error);
        if (status)
            return status;
        executions += batch;
        total += seconds;
        runner->execution_s = seconds / batch;
        if (batch < MAX_BATCH && seconds < warm_up_seconds)
            batch *= 2;
        else if (batch == MAX_BATCH && seconds <= 0)
            break; /* a clock that stands still */
    }
    const double most = MAX_BATCH;
    double wanted = runner->execution_s > 0 ? ceil(sample_seconds / runner->execution_s) : most;
    runner->batch = (uint32_t)fmin(fmax(wanted, 1), most);
    return KILN_OK;
}

static void summarize(struct kiln_bench_runner *runner, uint32_t samples)
{
    qsort(runner->samples, samples, sizeof(*runner->samples), compare);
    runner->time = (struct kiln_bench_time){
        .median_s = kiln_bench_percentile(runner->samples, samples, 0.5),
        .low_s = kiln_bench_percentile(runner->samples, samples, 0.1),
        .high_s = kiln_bench_percentile(runner->samples, samples, 0.9),
        .samples = samples,
    };
}

enum kiln_status kiln_bench_time_runners(struct kiln_device *device,
                                         struct kiln_bench_runner *runners, uint32_t count,
                                         uint32_t samples, double limit_s, struct kiln_error *error)
{
    struct timing timing = {.device = device};
    enum kiln_status status = KILN_OK;
    for (uint32_t i = 0; i < 2 && status == KILN_OK; i++)
        status = device->ops->event_create(device, &timing.events[i], error);
    for (uint32_t i = 0; i < count; i++)
        runners[i].samples = kiln_cli_calloc(samples, sizeof(*runners[i].samples));
    for (uint32_t i = 0; i < count && status == KILN_OK; i++)
        status = warm_up(&timing, &runners[i], error);
    uint64_t start_ns = kiln_clock_ns();
    uint32_t round = 0;
    for (; round < samples && status == KILN_OK; round++) {
        double seconds = 1e-9 * (double)(kiln_clock_ns() - start_ns);
        if (limit_s > 0 && round >= LEAST_ROUNDS && seconds > limit_s)
            break;
        for (uint32_t i = 0; i < count && status == KILN_OK; i++) {
            struct kiln_bench_runner *runner = &runners[(round + i) % count];
            double *sample = &runner->samples[round];
            status = time_batch(&timing, runner, runner->batch, sample, error);
            *sample /= runner->batch;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (status == KILN_OK)
            summarize(&runners[i], round);
        free(runners[i].samples);
        runners[i].samples = NULL;
    }
    for (uint32_t i = 0; i < 2; i++)
        device->ops->event_destroy(device, timing.events[i]);
    return status;
}

enum kiln_status kiln_bench_time_calls(struct kiln_device *device,
                                       const struct kiln_bench_runner *runner, double *ret_seconds,
                                       struct kiln_error *error)
{
    double calls[TIMED_CALLS];
    enum kiln_status status = device->ops->synchronize(device, NULL, error);
    for (uint32_t i = 0; i < TIMED_CALLS && status == KILN_OK; i++) {
        uint64_t start_ns = kiln_clock_ns();
        status = runner->execute(runner->context, i, error);
        calls[i] = 1e-9 * (double)(kiln_clock_ns() - start_ns);
        if (status == KILN_OK && i % CALLS_IN_QUEUE == CALLS_IN_QUEUE - 1)
            status = device->ops->synchronize(device, NULL, error);
    }
    if (status == KILN_OK)
        status = device->ops->synchronize(device, NULL, error);
    if (status)
        return status;
    *ret_seconds = kiln_bench_median(calls, TIMED_CALLS);
    return KILN_OK;
}
