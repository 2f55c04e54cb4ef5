/*
 * Runs the work-groups of host kernels on all cores.
 *
 * Any number of threads may execute at once: they and the executor's own threads take groups of
 * whatever launches are going on, and each returns when its own is done.
 */
#ifndef KILN_RUNTIME_DEVICE_HOST_EXECUTOR_H
#define KILN_RUNTIME_DEVICE_HOST_EXECUTOR_H

#include "kernels_templates/device/host_abi.h"
#include "runtime/support/error.h"

#include <stdbool.h>
#include <stdint.h>

struct kiln_host_executor;

struct kiln_host_work {
    const struct kiln_host_kernel *kernel;
    const void *arguments; /* kernel->argument_bytes bytes, any alignment */
    uint32_t grid[3];
    uint32_t lds_bytes;
    bool uses_barrier; /* work-items wait for one another: by a barrier or a cross-lane exchange */
};

/* `thread_count` threads share the work, the caller of kiln_host_execute among them. */
enum kiln_status kiln_host_executor_create(uint32_t thread_count,
                                           struct kiln_host_executor **ret_executor,
                                           struct kiln_error *error) KILN_NODISCARD;
/* Nothing may be executing. */
void kiln_host_executor_destroy(struct kiln_host_executor *executor);

/* Returns when every group has run. Work-groups run in any order, with the processor's default
 * rounding and denormals. */
enum kiln_status kiln_host_execute(struct kiln_host_executor *executor,
                                   const struct kiln_host_work *work,
                                   struct kiln_error *error) KILN_NODISCARD;

#endif
