/*
 * The problem that a contraction's tile is chosen for, and the candidates that kiln explain shows.
 */
#ifndef KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_TILE_PROBLEM_H
#define KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_TILE_PROBLEM_H

#include "compiler/families/contraction/schedule/contraction_statistics.h"
#include "compiler/schedule/alternatives.h"

/* An operand in memory, and what a staged element of it takes. */
struct kiln_tile_operand {
    uint32_t bytes;      /* of a loaded element */
    double memory_bytes; /* of an element in memory */
    /* Loads of a lane's packs along k, to those of 16 bytes that would bring as much. */
    double load_excess;
    bool is_along_rows; /* memory runs along its rows, not along k */
    bool is_whole;      /* it is loaded in packs or in runs of rows, not element by element */
    bool is_joined;     /* packs are joined from aligned words */
    /* Simple operations (fuse/op_cost.h) that make a staged element of a loaded one, and that find
     * an element: 0 where loads are whole. */
    uint32_t cost, load_cost;
};

struct kiln_tile_problem {
    const struct kiln_target *target;
    const struct kiln_register_limits *limits;
    const struct kiln_contraction_options *forced;
    uint64_t batch;     /* products of m x n x k */
    uint32_t sum_bytes; /* of an accumulator's element */
    uint32_t result_bytes;
    struct kiln_tile_operand left, right;
    uint32_t lane_run;        /* kiln_streamed_pipeline.lane_run of a streamed kernel; 0 is 1 */
    bool are_operands_loaded; /* they are staged as they were loaded */
    struct kiln_statistics_tiles statistics;
    uint64_t kept_statistics; /* so many tiles share an accumulator, if possible; 0: any number */
    bool is_alone;            /* one work-group has all sums of a tile: no cluster shares its k */
    struct kiln_alternatives *alternatives; /* NULL: not collected */
};

/* Work-groups; those that share the k of a tile count as one. */
uint64_t kiln_count_contraction_tiles(const struct kiln_tile_problem *problem,
                                      const struct kiln_contraction_schedule *contraction);

/* Enters a tile for kiln explain, if anybody asks for alternatives. */
void kiln_note_tile(const struct kiln_tile_problem *problem,
                    const struct kiln_contraction_schedule *contraction, double time_ns);

#endif
