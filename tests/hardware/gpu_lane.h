/*
 * Work for one stream of a GPU: inputs copied to the device, a chain of plugin executions each of
 * which needs the one before it, and a result that is known exactly. Tests run several lanes at
 * once and synchronise as little as an application may.
 *
 * With v = x + ADDITIONS * b, of ROWS x COLUMNS small whole numbers, the result is v plus the sum
 * of its column. The additions are one execution each of the graph "out = a + b"; the last
 * execution is of a graph with a reduction, which needs a workspace.
 *
 * Every function ends the process with a sentence when something fails.
 */
#ifndef KILN_TESTS_GPU_LANE_H
#define KILN_TESTS_GPU_LANE_H

#include "runtime/support/buffer.h"
#include "tests/hardware/hip_runtime.h"
#include "tests/plugin_api/plugin_host.h"

/* Prints "FAILED: ..." and ends the process. */
_Noreturn void gpu_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What all lanes of a process share. */
struct gpu_bench {
    struct hip_runtime hip;
    struct plugin_host host;
    struct kiln_buffer addition; /* bytes of the two graphs */
    struct kiln_buffer column_sums;
};

/* Opens the HIP runtime, the plugin and the graphs. False with a sentence on standard output when
 * there is no GPU. */
bool gpu_bench_open(struct gpu_bench *bench, const char *plugin_path);
void gpu_bench_close(struct gpu_bench *bench);
/* Ends the process when a HIP function did not return success. */
void gpu_check(const struct gpu_bench *bench, int code, const char *what);

/* The plans of both graphs. Lanes may share them. */
struct gpu_plans {
    struct plugin_host_plan addition;
    struct plugin_host_plan column_sums;
};

struct gpu_lane {
    const struct gpu_bench *bench;
    struct kiln_device *device;        /* borrowed: where the memory lies */
    hipdnnEnginePluginHandle_t handle; /* borrowed */
    const struct gpu_plans *plans;     /* borrowed */
    void *stream;                      /* that of the handle; NULL: the null stream */
    void *x, *b, *steps[2], *result;   /* on the device */
    void *workspaces[2];
    float *host_x, *host_b, *host_result;
};

/* Handles and plans of the current device, which `device` must be. */
hipdnnEnginePluginHandle_t gpu_handle_make(const struct gpu_bench *bench, void *stream);
void gpu_plans_make(const struct gpu_bench *bench, struct kiln_device *device,
                    hipdnnEnginePluginHandle_t handle, struct gpu_plans *ret_plans);
void gpu_plans_drop(const struct gpu_bench *bench, struct kiln_device *device,
                    hipdnnEnginePluginHandle_t handle, struct gpu_plans *plans);

/* Allocates the lane's memory and chooses its numbers; `stream` must be the one of the handle. */
void gpu_lane_open(struct gpu_lane *lane, const struct gpu_bench *bench, struct kiln_device *device,
                   hipdnnEnginePluginHandle_t handle, const struct gpu_plans *plans, void *stream,
                   unsigned seed);
void gpu_lane_close(struct gpu_lane *lane);

/* New numbers on the host, and a result there that is surely wrong. */
void gpu_lane_choose_numbers(struct gpu_lane *lane, unsigned seed);
/* Enqueues copies of the inputs, the executions, and a copy of the result: no call waits. */
void gpu_lane_upload(struct gpu_lane *lane);
void gpu_lane_execute(struct gpu_lane *lane);
void gpu_lane_download(struct gpu_lane *lane);
/* Compares the downloaded result; the stream must have been waited for. */
void gpu_lane_check(const struct gpu_lane *lane, const char *what);

#endif
