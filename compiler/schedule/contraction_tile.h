/*
 * Which tile a contraction's work-groups make, by how many waves, and in which form: the cheapest
 * of a short list by a model of its time. The list is short because each entry is another kernel to
 * compile.
 */
#ifndef KILN_COMPILER_SCHEDULE_CONTRACTION_TILE_H
#define KILN_COMPILER_SCHEDULE_CONTRACTION_TILE_H

#include "compiler/schedule/contraction_statistics.h"
#include "compiler/schedule/schedule.h"

struct kiln_tile_problem {
    const struct kiln_target *target;
    const struct kiln_register_limits *limits;
    const struct kiln_contraction_options *forced;
    uint64_t batch;      /* products of m x n x k */
    uint32_t sum_bytes;  /* of an accumulator's element */
    uint32_t left_bytes; /* of an operand's element in memory */
    uint32_t right_bytes;
    uint32_t result_bytes;
    bool left_along_rows, right_along_rows; /* in memory; else along k */
    bool left_is_whole, right_is_whole;     /* loads of packs or runs of rows, else of elements */
    /* Simple operations (fuse/op_cost.h) that make a staged element of a loaded one. */
    uint32_t left_cost, right_cost;
    uint32_t left_load_cost, right_load_cost; /* that find an element; 0 where loads are whole */
    bool are_operands_loaded; /* nothing is computed of them before they are staged */
    struct kiln_statistics_tiles statistics;
    uint64_t kept_statistics; /* so many tiles share an accumulator, if possible; 0: any number */
    bool is_alone;            /* one work-group has all sums of a tile: no cluster shares its k */
};

/*
 * Chooses mma, tile_m, _n, _k, waves_m, _n, _k, groups_k, buffers, producer_waves, is_pingpong and
 * is_streamed. m, n, k and the staged type are there already. NULL, or why no tile with the forced
 * values is possible, a static sentence; never where nothing is forced.
 */
const char *kiln_choose_contraction_tile(const struct kiln_tile_problem *problem,
                                         struct kiln_contraction_schedule *contraction);

/* Work-groups but for those that share the k of a tile. */
uint64_t kiln_count_contraction_tiles(const struct kiln_tile_problem *problem,
                                      const struct kiln_contraction_schedule *contraction);

/* Rows of the left and of the right operand that one fragment has, and local memory. */
uint32_t kiln_fragment_rows_m(const struct kiln_contraction_schedule *contraction,
                              const struct kiln_target *target);
uint32_t kiln_fragment_rows_n(const struct kiln_contraction_schedule *contraction,
                              const struct kiln_target *target);
uint32_t kiln_contraction_lds_bytes(const struct kiln_contraction_schedule *contraction,
                                    const struct kiln_target *target, uint32_t sum_bytes);

/* The model's time of a chosen tile, in nanoseconds, without the launch. */
double kiln_contraction_time_ns(const struct kiln_tile_problem *problem,
                                const struct kiln_contraction_schedule *contraction);

/* gfx942 and gfx950: several chiplets, and the only targets of the ping-pong schedule. */
bool kiln_is_cdna3_or_later(const struct kiln_target *target);

/* Elements of a pack: 16 bytes of what is staged. */
uint32_t kiln_pack_elements(const struct kiln_contraction_schedule *contraction);
/* Elements along k of what a work-item loads of a row: a pack, or half of one. */
uint32_t kiln_loaded_elements(const struct kiln_contraction_schedule *contraction,
                              const struct kiln_operand_schedule *operand);

#endif
