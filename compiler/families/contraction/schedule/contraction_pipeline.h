/*
 * The pipeline of a contraction: how elements of the operands reach the multiplications. Each kind
 * has its own numbers and no others.
 */
#ifndef KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_PIPELINE_H
#define KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_PIPELINE_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

enum kiln_pipeline_kind {
    KILN_PIPELINE_STAGED,      /* tiles of both operands in local memory */
    KILN_PIPELINE_PINGPONG,    /* one tile; two halves of 8 waves take turns at it */
    KILN_PIPELINE_SPECIALIZED, /* a ring of tiles: producer waves fill it, the others multiply */
    KILN_PIPELINE_STREAMED,    /* lanes load their own fragments, a tile of k ahead */
    /* Work-items compute elements of the result by themselves. The weights, which the operands
     * share groups with, are in local memory, a tile of k at a time. */
    KILN_PIPELINE_DIRECT,
    KILN_PIPELINE_GRADIENT, /* the same for depthwise weights: rows are taps, and k pixels */
    KILN_PIPELINE_STRIPS,   /* the same with rows that are neighbours of one line of pixels */
    KILN_PIPELINE_SMALL,    /* several products for each work-group, all sizes in the text */
};

struct kiln_staged_pipeline {
    uint32_t buffers;     /* tiles of both operands */
    uint32_t table_bytes; /* where elements of k are; 0: each lane finds its own */
};

struct kiln_specialized_pipeline {
    uint32_t buffers;
    uint32_t producer_waves;
    uint32_t groups; /* work-groups of a cluster, which share the k of a tile */
};

struct kiln_streamed_pipeline {
    /* Neighbouring packs along k that a lane loads together, so that elements of few bits are 16
     * bytes, and blocks load their scale once. */
    uint32_t lane_run;
};

struct kiln_direct_pipeline {
    uint32_t item_rows;      /* of a work-item, a vector each, `slots` apart */
    uint32_t slots, vectors; /* of a work-group, which has slots x vectors work-items */
    uint32_t shared_rows;    /* of the shared operand, at most, in local memory */
    bool are_rows_fast;      /* neighbouring work-items have neighbouring rows, not columns */
};

/* The item_rows of a work-item lie along the last axis of rows, and the last axis of k is `taps`
 * neighbours along the same axis of the image. */
struct kiln_strips_pipeline {
    struct kiln_direct_pipeline direct;
    uint32_t taps, step; /* neighbours of the result are `step` apart in the image */
    uint32_t line_slots; /* strips of a line; a work-group has slots / line_slots lines */
    uint32_t lines;      /* of a window, whose pixels are loaded together */
    uint32_t steps;      /* tiles of a work-group, each below the one before */
};

struct kiln_small_pipeline {
    uint32_t item_rows, item_columns; /* neighbours of one product that a work-item computes */
    uint32_t row_items, column_items; /* work-items of a product */
};

struct kiln_pipeline {
    enum kiln_pipeline_kind kind;
    union {
        struct kiln_staged_pipeline staged;
        struct kiln_specialized_pipeline specialized;
        struct kiln_streamed_pipeline streamed;
        struct kiln_direct_pipeline direct; /* DIRECT, GRADIENT: kiln_direct_pipeline */
        struct kiln_strips_pipeline strips;
        struct kiln_small_pipeline small;
    };
};

/* True if work-items compute elements by themselves and share an operand. */
static inline bool kiln_pipeline_is_direct(const struct kiln_pipeline *pipeline)
{
    return pipeline->kind == KILN_PIPELINE_DIRECT || pipeline->kind == KILN_PIPELINE_GRADIENT ||
           pipeline->kind == KILN_PIPELINE_STRIPS;
}

/* The part that all direct pipelines have. */
static inline const struct kiln_direct_pipeline *
kiln_direct_pipeline(const struct kiln_pipeline *pipeline)
{
    assert(kiln_pipeline_is_direct(pipeline));
    return pipeline->kind == KILN_PIPELINE_STRIPS ? &pipeline->strips.direct : &pipeline->direct;
}

/* Tiles of both operands in local memory. */
static inline uint32_t kiln_pipeline_buffers(const struct kiln_pipeline *pipeline)
{
    switch (pipeline->kind) {
    case KILN_PIPELINE_STAGED:
        return pipeline->staged.buffers;
    case KILN_PIPELINE_PINGPONG:
        return 1;
    case KILN_PIPELINE_SPECIALIZED:
        return pipeline->specialized.buffers;
    default:
        return 0;
    }
}

static inline uint32_t kiln_pipeline_producer_waves(const struct kiln_pipeline *pipeline)
{
    return pipeline->kind == KILN_PIPELINE_SPECIALIZED ? pipeline->specialized.producer_waves : 0;
}

static inline uint32_t kiln_pipeline_table_bytes(const struct kiln_pipeline *pipeline)
{
    return pipeline->kind == KILN_PIPELINE_STAGED ? pipeline->staged.table_bytes : 0;
}

/* Local memory behind tiles and sums: what producers and consumers tell each other by. */
static inline uint32_t kiln_pipeline_ring_bytes(const struct kiln_pipeline *pipeline)
{
    enum { SLOT_BYTES = 16 };
    return pipeline->kind == KILN_PIPELINE_SPECIALIZED ? pipeline->specialized.buffers * SLOT_BYTES
                                                       : 0;
}

/* Work-groups that share the k of a tile. */
static inline uint32_t kiln_pipeline_groups(const struct kiln_pipeline *pipeline)
{
    return pipeline->kind == KILN_PIPELINE_SPECIALIZED ? pipeline->specialized.groups : 1;
}

/* Neighbouring packs along k that a lane loads together. */
static inline uint32_t kiln_pipeline_lane_run(const struct kiln_pipeline *pipeline)
{
    return pipeline->kind == KILN_PIPELINE_STREAMED ? pipeline->streamed.lane_run : 1;
}

/* Rows of the result that a work-item computes by itself. */
static inline uint32_t kiln_pipeline_item_rows(const struct kiln_pipeline *pipeline)
{
    switch (pipeline->kind) {
    case KILN_PIPELINE_DIRECT:
    case KILN_PIPELINE_GRADIENT:
        return pipeline->direct.item_rows;
    case KILN_PIPELINE_STRIPS:
        return pipeline->strips.direct.item_rows;
    case KILN_PIPELINE_SMALL:
        return pipeline->small.item_rows;
    default:
        return 0;
    }
}

#endif
