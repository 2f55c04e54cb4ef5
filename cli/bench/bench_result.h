/*
 * What `kiln bench` measured of one graph, and the figures that follow from it. Table, JSON, CSV
 * and plots print the same struct.
 */
#ifndef KILN_CLI_BENCH_BENCH_RESULT_H
#define KILN_CLI_BENCH_BENCH_RESULT_H

#include "cli/bench/bench_origin.h"
#include "cli/bench/bench_shapes.h"
#include "cli/kernel_profile.h"

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
    /* 0: not had, since an equal graph came before in the same run. */
    double compile_cold_s;   /* graph bytes to loaded plan, nothing cached, worker warm */
    double compile_cached_s; /* the same with the program in the disk cache */
};

struct kiln_bench_result {
    char *name;                    /* of the case, "softmax_fp16", or of the file; owned */
    struct kiln_bench_shape shape; /* row_elems 0: of no sweep over shapes */
    uint64_t elements;             /* of the largest tensor */
    uint64_t bytes_fewest;         /* every input and output once */
    uint64_t flop; /* arithmetic asked for: kiln_kernel_plan_operations of the fused plan;
                      0: none, or not known */
    struct kiln_bench_contestant fused;
    struct kiln_kernel_profile *profiles; /* of the fused kernels; NULL: not measured; owned */
    enum kiln_bound bound;                /* that the fused plan is closest to */
    double share_of_bound;                /* 0: not known */
    struct kiln_bench_contestant unfused; /* one kernel per node, same templates; all 0: left out */
    struct kiln_bench_contestant argument; /* fused, with sizes as arguments; all 0: left out */
    /* The ceiling: a copy that moves bytes_fewest in all, by the faster of Kiln's own kernel and
     * the device's copy function, measured in turns with the contestants. */
    uint64_t copy_bytes;
    struct kiln_bench_time copy;
    /* Median time that one execute of the fused plan keeps the calling thread, with room in the
     * device's queue; 0 on the host, where executing is synchronous. */
    double host_overhead_s;
    char *failure; /* why it was not measured; NULL: it was; owned */
};

struct kiln_bench_results {
    char *device; /* "cuda"; owned */
    char *target; /* "sm_90"; owned */
    struct kiln_bench_origin origin;
    bool has_shapes; /* of a sweep over shapes */
    uint64_t seed;   /* of that */
    struct kiln_bench_result *results;
    size_t count;
};

void kiln_bench_result_fini(struct kiln_bench_result *result);
void kiln_bench_results_fini(struct kiln_bench_results *results);

/* Derived figures; 0 where what they follow from was not measured. */

/* bytes_fewest over time, in bytes per second; the copy's. */
double kiln_bench_rate(const struct kiln_bench_result *result,
                       const struct kiln_bench_contestant *contestant);
double kiln_bench_copy_rate(const struct kiln_bench_result *result);
/* flop over the fused time, per second. */
double kiln_bench_flop_rate(const struct kiln_bench_result *result);
/* The fused rate as a share of the copy's; 1: as fast as a copy of as many bytes. */
double kiln_bench_share_of_copy(const struct kiln_bench_result *result);
/* Rate of all bytes that the fused kernels move, as a share of the copy's rate. It shows what is
 * left to gain if a graph must read data twice, such as a batch norm too large for the chip. */
double kiln_bench_moved_share_of_copy(const struct kiln_bench_result *result);
/* Fused time over the argument form's time. */
double kiln_bench_argument_speed(const struct kiln_bench_result *result);
/* Unfused time over fused time; promised: the ratio predicted from the bytes moved. */
double kiln_bench_speed_up(const struct kiln_bench_result *result);
double kiln_bench_promised_speed_up(const struct kiln_bench_result *result);
/* From the 10th to the 90th percentile, as a share of the median. */
double kiln_bench_spread(const struct kiln_bench_time *time);

/*
 * All of these show names and failures escaped: they may come from a file. What was not measured is
 * a dash, null, or empty.
 */

/* To standard output: where it was measured, and on which devices. */
void kiln_bench_print_origin(const struct kiln_bench_results *results);
/* To standard output: a line for each graph that was not measured, with the reason. */
void kiln_bench_print_failures(const struct kiln_bench_results *results);
/* To standard output: where it was measured; a line per graph, with lines below it for the kernels
 * of a graph that has several; then those that failed, with the reason. */
void kiln_bench_print_table(const struct kiln_bench_results *results);
/* {where and when, "results": [...]}: times are in microseconds, rates per second; the caller owns
 * it. A result that failed has name, elements and failure. */
json_t *kiln_bench_to_json(const struct kiln_bench_results *results);
/* A heading and a line per result; columns have the JSON's names, joined with underscores. */
void kiln_bench_print_csv(const struct kiln_bench_results *results, FILE *stream);

#endif
