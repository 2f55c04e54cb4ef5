/*
 * What `kiln bench` measured of one graph, and the figures that follow from it. Table, JSON, CSV
 * and plots print the same struct.
 */
#ifndef KILN_CLI_BENCH_BENCH_RESULT_H
#define KILN_CLI_BENCH_BENCH_RESULT_H

#include "cli/bench/bench_suite.h"

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

/* Seconds of one execution on the device; median, 10th and 90th percentile over samples. */
struct kiln_bench_time {
    double median_s;
    double low_s;
    double high_s;
    uint32_t samples;
};

/* One way to run the graph. */
struct kiln_bench_contestant {
    uint32_t kernels;
    uint64_t bytes_moved; /* by all its kernels, as scheduled */
    struct kiln_bench_time time;
    double compile_cold_s;   /* graph bytes to loaded plan, nothing cached, worker warm */
    double compile_cached_s; /* the same with the program in the disk cache */
};

struct kiln_bench_result {
    char *name;            /* of the case, "softmax_fp16", or of the file; owned */
    uint64_t elements;     /* of the largest tensor */
    uint64_t bytes_fewest; /* every input and output once */
    uint64_t bytes_floor;  /* bytes_fewest, and where no kernel could hold what it must read twice,
                              that too: the least that the plan's number of passes moves */
    uint64_t operations;   /* arithmetic asked for: kiln_kernel_plan_operations of the fused plan;
                              0: not known, the roofline leaves it out */
    struct kiln_bench_contestant fused;
    struct kiln_bench_contestant unfused; /* one kernel per node, same templates */
    /* The ceiling: a copy that moves bytes_fewest in all, by the faster of Kiln's own kernel and
     * the device's copy function, measured in turns with the contestants. */
    uint64_t copy_bytes;
    struct kiln_bench_time copy;
    double host_overhead_s; /* median time that one execute keeps the calling thread */
    char *failure;          /* why it was not measured; NULL: it was; owned */
};

struct kiln_bench_results {
    char *device; /* "cuda"; owned */
    char *target; /* "sm_90"; owned */
    struct kiln_bench_result *results;
    size_t count;
};

void kiln_bench_results_fini(struct kiln_bench_results *results);

/* bytes_fewest over time, in bytes per second. */
double kiln_bench_rate(const struct kiln_bench_result *result,
                       const struct kiln_bench_contestant *contestant);
/* That rate as a share of the copy's; 1: as fast as a copy of as many bytes. */
double kiln_bench_share_of_copy(const struct kiln_bench_result *result);
/* Unfused over fused time; and what the bytes moved promise. */
double kiln_bench_speed_up(const struct kiln_bench_result *result);
double kiln_bench_promised_speed_up(const struct kiln_bench_result *result);

void kiln_bench_print_table(const struct kiln_bench_results *results);
json_t *kiln_bench_to_json(const struct kiln_bench_results *results);
void kiln_bench_print_csv(const struct kiln_bench_results *results, FILE *stream);

/*
 * Writes speed_up.{svg,png} (bars), roofline.{svg,png} (share of the copy's rate over bytes per
 * element of arithmetic) and, when the results hold one graph at several sizes, sweep.{svg,png}
 * into the directory, which is created, next to the gnuplot scripts and data that they were made
 * from. KILN_UNSUPPORTED with a hint when there is no gnuplot; scripts and data are written even
 * then.
 */
enum kiln_status kiln_bench_plot(const struct kiln_bench_results *results, const char *directory,
                                 struct kiln_error *error) KILN_NODISCARD;

#endif
