/*
 * The ending of a contraction: what becomes of a tile's sums after the last step along k.
 */
#ifndef KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_ENDING_H
#define KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_ENDING_H

#include "compiler/families/reduction/fuse/reduction_passes.h"

enum kiln_ending_kind {
    KILN_ENDING_STORE,      /* elementwise work, then stores */
    KILN_ENDING_SEGMENTS,   /* the sums of a segment of k go to the workspace */
    KILN_ENDING_ROWS,       /* a tile has whole rows of the result, or whole blocks of them, which
                               are reduced in the kernel */
    KILN_ENDING_STATISTICS, /* a tile reduces its elements, and another kernel merges the tiles */
};

/* The part of a tile that shares an accumulator, in a kernel with statistics. */
enum kiln_statistics {
    KILN_STATISTICS_NONE,
    KILN_STATISTICS_ROWS,    /* each of its rows: n is reduced, and m is not */
    KILN_STATISTICS_COLUMNS, /* each of its columns: m is, and n is not */
    KILN_STATISTICS_TILE,    /* all of it */
};

struct kiln_rows_ending {
    uint32_t parts; /* an instruction's rows are finished in so many, to fit in local memory */
    uint32_t lanes; /* neighbours that share a row, or a block of it */
    struct kiln_reduction_passes passes;
};

struct kiln_statistics_ending {
    enum kiln_statistics of; /* never NONE */
    uint32_t row_lanes;      /* ROWS: neighbouring lanes that share a row's columns */
    uint32_t batches;        /* bit per batch axis: statistics are over it too */
    uint32_t bytes;          /* local memory where work-items merge accumulators */
    struct kiln_reduction_passes passes;
};

struct kiln_ending {
    enum kiln_ending_kind kind;
    union {
        /* Number of segments of k. Each is whole tiles; the first has the end of k too. Their
         * lengths are as equal as that allows. Neighbouring work-groups compute the same tile
         * of neighbouring segments. */
        uint32_t segments;
        struct kiln_rows_ending rows;
        struct kiln_statistics_ending statistics;
    };
};

static inline uint32_t kiln_ending_segments(const struct kiln_ending *ending)
{
    return ending->kind == KILN_ENDING_SEGMENTS ? ending->segments : 1;
}

static inline enum kiln_statistics kiln_ending_statistics(const struct kiln_ending *ending)
{
    return ending->kind == KILN_ENDING_STATISTICS ? ending->statistics.of : KILN_STATISTICS_NONE;
}

static inline uint32_t kiln_ending_statistics_bytes(const struct kiln_ending *ending)
{
    return ending->kind == KILN_ENDING_STATISTICS ? ending->statistics.bytes : 0;
}

static inline uint32_t kiln_ending_row_parts(const struct kiln_ending *ending)
{
    return ending->kind == KILN_ENDING_ROWS ? ending->rows.parts : 1;
}

/* Lanes that share a row where values are reduced along n; 0 where none are. */
static inline uint32_t kiln_ending_row_lanes(const struct kiln_ending *ending)
{
    switch (ending->kind) {
    case KILN_ENDING_ROWS:
        return ending->rows.lanes;
    case KILN_ENDING_STATISTICS:
        return ending->statistics.row_lanes;
    default:
        return 0;
    }
}

/* The passes over the elements of a row, or of a tile; NULL if the kernel has no reductions. */
static inline const struct kiln_reduction_passes *
kiln_ending_passes(const struct kiln_ending *ending)
{
    switch (ending->kind) {
    case KILN_ENDING_ROWS:
        return &ending->rows.passes;
    case KILN_ENDING_STATISTICS:
        return &ending->statistics.passes;
    default:
        return NULL;
    }
}

#endif
