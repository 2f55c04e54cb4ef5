/*
 * Time by device events: several ways to do a thing take turns, so that whatever else the machine
 * does hits all of them alike.
 */
#ifndef KILN_CLI_BENCH_BENCH_TIMING_H
#define KILN_CLI_BENCH_BENCH_TIMING_H

#include "cli/bench/bench_result.h"
#include "runtime/device/device.h"

/* One way to do it. */
struct kiln_bench_runner {
    /* Enqueues it once on the default stream. `turn` grows by one with every execution of any
     * runner: what rotates, rotates by it. */
    enum kiln_status (*execute)(void *context, uint64_t turn, struct kiln_error *error);
    void *context;
    struct kiln_bench_time time; /* the result */
    uint32_t batch;              /* executions of a sample, chosen while warming up */
    double execution_s;          /* of one execution, about */
    double *samples;             /* owned, in seconds; NULL before and after the timing */
};

/*
 * Times all runners. Each is warmed up: three executions and 20 ms at least, or one that takes 50
 * ms. Then `samples` rounds follow in which each gives one sample, fewer if they take more than
 * `limit_s` seconds, but five at least (0: no limit). Every round begins with another runner. A
 * sample is a batch of executions between two events, as many as last a millisecond or two. Unless
 * executions take 50 ms, one more goes before the first event, so that it does not matter who ran
 * before: a GPU has work while the batch is being enqueued, the threads of the host are awake.
 * KILN_UNSUPPORTED when the command was interrupted.
 */
enum kiln_status kiln_bench_time_runners(struct kiln_device *device,
                                         struct kiln_bench_runner *runners, uint32_t count,
                                         uint32_t samples, double limit_s,
                                         struct kiln_error *error) KILN_NODISCARD;

/* Median time that one execution keeps the calling thread, with room in the device's queue, in
 * seconds. */
enum kiln_status kiln_bench_time_calls(struct kiln_device *device,
                                       const struct kiln_bench_runner *runner, double *ret_seconds,
                                       struct kiln_error *error) KILN_NODISCARD;

/* Median of numbers, which it sorts. */
double kiln_bench_median(double *numbers, uint32_t count);

/* Value of rank `share` (0 to 1) of sorted numbers, between neighbours in proportion. */
double kiln_bench_percentile(const double *sorted, uint32_t count, double share);

#endif
