/*
 * Where and when results were measured: without it nobody can compare them.
 */
#ifndef KILN_CLI_BENCH_BENCH_ORIGIN_H
#define KILN_CLI_BENCH_BENCH_ORIGIN_H

#include "runtime/device/device.h"

/* Texts are empty where nothing tells. */
struct kiln_bench_origin {
    char date[24]; /* UTC, "2026-11-26T11:05:00Z" */
    char host[256];
    char cpu[128];
    struct kiln_device_description device;
    double load_average[3]; /* runnable threads over 1, 5 and 15 minutes, before the run */
    /* Peak rates of the target's largest product; 0: not known. */
    double vector_flop_per_s;
    double matrix_flop_per_s; /* on half and bfloat16 */
};

void kiln_bench_origin_init(struct kiln_bench_origin *origin, struct kiln_device *device);

#endif
