/*
 * A place to run work-groups, one at a time: local memory and, for kernels whose work-items wait
 * for one another, fibers.
 */
#ifndef KILN_RUNTIME_DEVICE_HOST_GROUP_H
#define KILN_RUNTIME_DEVICE_HOST_GROUP_H

#include "runtime/device/host_executor.h"

struct kiln_host_bench;

enum kiln_status kiln_host_bench_create(struct kiln_host_bench **ret_bench,
                                        struct kiln_error *error) KILN_NODISCARD;
void kiln_host_bench_destroy(struct kiln_host_bench *bench);

/* Makes room for the groups of a launch. The work must stay as it is until its last group has run.
 */
enum kiln_status kiln_host_bench_prepare(struct kiln_host_bench *bench,
                                         const struct kiln_host_work *work,
                                         struct kiln_error *error) KILN_NODISCARD;
/* Runs group `index` of the prepared work; x varies fastest. */
void kiln_host_bench_run(struct kiln_host_bench *bench, uint64_t index);

/* Benches that wait for work are chained by their owner. */
struct kiln_host_bench **kiln_host_bench_next(struct kiln_host_bench *bench);

#endif
