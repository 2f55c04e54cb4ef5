/* Schedules of contractions: matrix products and convolutions. */
#ifndef KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_SCHEDULE_H
#define KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_SCHEDULE_H

#include "compiler/families/contraction/fuse/contraction_group.h"
#include "compiler/families/contraction/schedule/contraction_ending.h"
#include "compiler/families/contraction/schedule/contraction_pipeline.h"
#include "compiler/families/contraction/schedule/mma.h"
#include "compiler/schedule/integer_math.h"
#include "compiler/schedule/schedule.h"

#include <assert.h>

enum {
    KILN_MAX_BATCH_AXES = KILN_CONTRACTION_MAX_BATCH_AXES,
    KILN_MAX_ROLE_AXES = KILN_CONTRACTION_MAX_ROLE_AXES, /* of rows, of columns, or of k */
};

/* The strides that a contraction's access has: kiln_access_schedule.strides by these. */
enum kiln_contraction_stride {
    KILN_STRIDE_ROW,    /* of an operand: along m or n; of the result: along m. The last axis */
    KILN_STRIDE_COLUMN, /* of an operand: along k; of the result: along n. The last axis */
    KILN_STRIDE_BATCH,  /* the first of the batch axes; the others follow */
    /* Where the access splits rows, or columns: all axes but the last, first to last. */
    KILN_STRIDE_OUTER_ROW = KILN_STRIDE_BATCH + KILN_MAX_BATCH_AXES,
    KILN_STRIDE_OUTER_COLUMN = KILN_STRIDE_OUTER_ROW + KILN_MAX_ROLE_AXES - 1,
    /* Operands with windows: the offset from the first element to coordinate 0 of rows and k. */
    KILN_STRIDE_ORIGIN = KILN_STRIDE_OUTER_COLUMN + KILN_MAX_ROLE_AXES - 1,
    /* One for each phase: along its window's coordinate, or along taps in the other operand. */
    KILN_STRIDE_PHASE,
    /* Direct form, the CONTRACT's left operand: along the axes that are the other operand's rows,
     * first to last. It has the groups among them. */
    KILN_STRIDE_ACROSS = KILN_STRIDE_PHASE + KILN_MAX_SPATIAL_AXES,
    KILN_STRIDE_COUNT = KILN_STRIDE_ACROSS + KILN_MAX_ROLE_AXES,
};
_Static_assert((int)KILN_STRIDE_COUNT <= (int)KILN_MAX_ACCESS_STRIDES,
               "an access has too few strides");

/* The part of an access that only contractions have. */
struct kiln_contraction_access {
    /* The access does not walk along all axes of rows, or of columns, as one, so that the index is
     * taken apart for it. */
    bool splits_rows, splits_columns;
    bool is_windowed; /* it walks along an axis that its operand has a window over */
    /* Neighbours along rows, and along k, that share an element of an operand; 0: none do. */
    int64_t row_repeat, k_repeat;
};

/* The tile that has the end of k, where k is not whole tiles. It comes first, so that the loop over
 * the other tiles needs no checks. */
enum kiln_k_end {
    KILN_K_END_NONE,  /* k is whole tiles */
    KILN_K_END_FIRST, /* the first tile has the remainder */
    KILN_K_END_ALONE, /* there is no other tile */
    KILN_K_END_ANY,   /* FIRST or ALONE, decided when the kernel runs */
};

/* How an operand's tile gets into LDS. */
struct kiln_operand_schedule {
    /* The places that it stages, each in a part of the tile. There are two if it is the operand
     * that two products do not share. */
    uint32_t part_count;
    enum kiln_place places[KILN_GROUP_MAX_PRODUCTS];
    int64_t row_size, k_size; /* its elements along its rows, and along k */
    bool is_along_k; /* neighbouring work-items load neighbours along k, not along the rows */
    uint32_t run;    /* rows that a work-item loads at once; 1 if is_along_k */
    uint32_t vector; /* elements of a load along k */
    /* Neighbouring packs along k that a work-item loads together: blocks load their scale once, and
     * elements of few bits are wide loads. 1 unless is_along_k. */
    uint32_t lane_run;
    /* 2 or 4: a work-item loads a half or a quarter of each row's pack, for 2 or 4 times as many
     * rows. This makes loads wider. Otherwise 1. */
    uint32_t pieces;
};

enum { KILN_SCALAR_BLOCK = 4 };

/*
 * Sums of an operand's rows over k. Work-groups of their own compute them, after those that compute
 * the products.
 */
struct kiln_operand_sum {
    struct kiln_operand_schedule operand; /* its loads; places[0] is left's or right's */
    bool is_right;                        /* of the kernel's operands, it is the right one */
    uint32_t rows;                        /* that a work-group sums, all of one batch */
    uint32_t groups;                      /* work-groups for the sums; 0: no sums */
    uint32_t segments;                    /* of k: as many as the ending has, or 1 */
    uint64_t bytes;                       /* that the sums read again */
    uint32_t batches;                     /* bit per batch axis: the operand varies along it */
};

/* Order of the tiles among work-groups. Each chiplet gets chiplet_run consecutive tiles at a time.
 * Consecutive tiles go down super_rows tiles before the next column. */
struct kiln_tile_order {
    uint32_t chiplets, chiplet_run, super_rows;
};

/* Axes that one index of a kernel counts over, the last one fastest. */
struct kiln_role_axes {
    uint32_t count; /* at least 1 */
    int64_t sizes[KILN_MAX_ROLE_AXES];
    /* For INDEX: the axis of the group's domain that each goes along, counted from the right, and
     * the step along it. KILN_NO_AXIS: there is none, or several are merged into one here. */
    uint8_t domain_axes[KILN_MAX_ROLE_AXES];
    int64_t domain_steps[KILN_MAX_ROLE_AXES];
};

/* A coordinate that may lie outside of the operand: offset and steps of all axes added up. */
struct kiln_window_schedule {
    int64_t size;
    int64_t offset;
    int64_t row_steps[KILN_MAX_ROLE_AXES];
    int64_t k_steps[KILN_MAX_ROLE_AXES];
    int64_t batch_steps[KILN_MAX_BATCH_AXES];
    uint32_t phase; /* index into phases, which has the offset; or KILN_NONE */
};

/*
 * Rows r of the result, taps t of k, have a coordinate where divisor divides offset + r + step * t.
 * Row r is divisor * i + p, p being the phase, which a batch axis counts; its taps are the first
 * that fits, and every spread-th from there.
 */
struct kiln_phase {
    uint32_t batch;    /* the batch axis */
    uint32_t row_axis; /* of rows: i */
    uint32_t k_axis;   /* of sums: which of its phase's taps */
    int64_t offset;
    int64_t step;
    int64_t divisor; /* and number of phases, if there are so many rows */
    int64_t taps;
    int64_t spread;
    int64_t row_count; /* of r: i and p may go beyond */
};

/* Axes that several products, or results, of the same m, n and k are counted by. */
struct kiln_batches {
    uint32_t rank;
    int64_t sizes[KILN_MAX_BATCH_AXES];
    int64_t left_repeats[KILN_MAX_BATCH_AXES]; /* so many indices read one of the operand */
    int64_t right_repeats[KILN_MAX_BATCH_AXES];
    uint8_t axes[KILN_MAX_BATCH_AXES]; /* as kiln_role_axes.domain_axes */
    int64_t domain_steps[KILN_MAX_BATCH_AXES];
    /* Attention: a work-group does `outer` neighbours along batch axis outer_axis of the scores,
     * one after the other, and adds them up: batch.outer counts them. `sizes` has the results of
     * that axis. outer_axis is KILN_NONE elsewhere. */
    uint32_t outer_axis;
    int64_t outer;
};

/* Products in all. */
static inline uint64_t kiln_batch_count(const struct kiln_batches *batches)
{
    uint64_t count = 1;
    for (uint32_t b = 0; b < batches->rank; b++)
        count *= (uint64_t)batches->sizes[b];
    return count;
}

struct kiln_windows {
    uint32_t count;
    struct kiln_window_schedule windows[KILN_MAX_SPATIAL_AXES];
    bool is_right; /* they are over the kernel's right operand, not its left one */
    uint32_t phase_count;
    struct kiln_phase phases[KILN_MAX_SPATIAL_AXES];
};

/*
 * The problem that the kernel computes. `left` is the operand whose rows are m. It is the
 * CONTRACT's right operand if the kernel computes the transposed product, to make n run along the
 * result's memory.
 *
 * Two products share their left operand. One half of the tile's columns belongs to the first
 * product. The other half has the same columns of the second.
 */
struct kiln_product_problem {
    int64_t m, n, k; /* the products of the sizes of: */
    struct kiln_role_axes rows, columns, sums;
    /* The length of the last axis of k, where its size is rounded up to whole packs
     * (contraction_runs.h); 0 elsewhere. */
    int64_t k_run;
    uint32_t products; /* that share the columns of a tile: 1 or 2 */
    uint32_t block;    /* neighbouring columns that are reduced; 0 if none are, or whole rows */
    /* Groups of rows or of k. Rows of a group have an index along batch axis 0, and tiles of their
     * own. */
    enum kiln_routing routing;
    int64_t groups; /* 0 without a routing */
    struct kiln_batches batches;
    struct kiln_windows windows;
};

/* The part of the result that a work-group computes, and the waves that share it. */
struct kiln_tile {
    const struct kiln_mma *mma; /* NULL: device/mma/scalar.h */
    uint32_t lane_rows;         /* KILN_MMA_BLOCK there; 0 for KILN_SCALAR_BLOCK */
    uint32_t m, n, k;           /* elements */
    uint32_t waves_m, waves_n;
    uint32_t waves_k; /* share the steps of a tile along k, or its tiles: their sums are added up */
};

struct kiln_contraction_schedule {
    struct kiln_product_problem problem;
    struct kiln_contraction_access *accesses; /* one per group access */
    enum kiln_dtype staged;                   /* of both operands in LDS */
    struct kiln_operand_schedule left;
    struct kiln_operand_schedule right;
    enum kiln_k_end k_end;
    /* tile.k, the elements of a pack, or 1. Within an aligned block of k_granule elements of k,
     * only the index of the last axis changes. Above 1, that axis has no window unless k_run is
     * set. */
    uint32_t k_granule;
    struct kiln_tile tile;
    struct kiln_pipeline pipeline;
    uint32_t result_vector; /* neighbours along n that a work-item finishes at once */
    struct kiln_ending ending;
    struct kiln_operand_sum operand_sum;
    struct kiln_tile_order order;
    /* By the model that the tile was chosen with; 0 where there is none. */
    double time_ns;
};

/* Columns of the result, of each of its products, that a tile has. */
static inline uint32_t kiln_tile_columns(const struct kiln_contraction_schedule *contraction)
{
    return contraction->tile.n / contraction->problem.products;
}

/* True if the tile has less than a whole block of columns: both are powers of two. */
static inline bool kiln_has_part_of_block(const struct kiln_contraction_schedule *contraction)
{
    return kiln_tile_columns(contraction) < contraction->problem.block;
}

/* Groups of rows: the most tiles that groups, and the rows before the first one, have. */
static inline uint64_t kiln_group_tiles(const struct kiln_contraction_schedule *contraction)
{
    uint64_t rows = (uint64_t)contraction->problem.m;
    uint64_t parts = kiln_min_u64(rows, (uint64_t)contraction->problem.groups + 1);
    return (rows - parts) / contraction->tile.m + parts;
}

/* Tiles along the result's rows, and along its columns. Scattered results have
 * further tiles, which fill rows without a source. */
static inline uint64_t kiln_row_tiles(const struct kiln_contraction_schedule *contraction)
{
    uint64_t tiles = kiln_ceil_div((uint64_t)contraction->problem.m, contraction->tile.m);
    switch (contraction->problem.routing) {
    case KILN_ROUTING_ROWS:
    case KILN_ROUTING_GATHER:
        return kiln_group_tiles(contraction);
    case KILN_ROUTING_SCATTER:
        return kiln_group_tiles(contraction) + tiles;
    case KILN_ROUTING_NONE:
    case KILN_ROUTING_SUMS:
        break;
    }
    return tiles;
}

static inline uint64_t kiln_column_tiles(const struct kiln_contraction_schedule *contraction)
{
    return kiln_ceil_div((uint64_t)contraction->problem.n, kiln_tile_columns(contraction));
}

/* The schedule of a kernel of this family; kiln_contraction_schedule_in while it is being made. */
static inline const struct kiln_contraction_schedule *
kiln_contraction_schedule_of(const struct kiln_schedule *schedule)
{
    assert(schedule->family == KILN_FAMILY_CONTRACTION);
    return schedule->details;
}

static inline struct kiln_contraction_schedule *
kiln_contraction_schedule_in(struct kiln_schedule *schedule)
{
    assert(schedule->family == KILN_FAMILY_CONTRACTION);
    return schedule->details;
}

#endif
