/*
 * Tiles of k staged by all work-items, one or more ahead of the products: what the pipelines of staged.h and pingpong.h have in common.
 */
#ifndef KILN_DEVICE_CONTRACTION_STAGED_TILES_H
#define KILN_DEVICE_CONTRACTION_STAGED_TILES_H

#include "device/contraction/fragments.h"

/* After the last tile it is fetched once more, so that the loop needs no condition. Where the first tile may be the last one, and
 * ragged, it is not. */
enum {
    KILN_FETCHES_ALWAYS = KILN_K_END == KILN_K_END_NONE || KILN_K_END == KILN_K_END_FIRST,
    KILN_FETCHES_EVER = KILN_K_END != KILN_K_END_ALONE
};

KILN_DEVICE bool kiln_fetches_next(unsigned step, unsigned steps)
{
    return KILN_FETCHES_ALWAYS || (KILN_FETCHES_EVER && step + 1 < steps);
}

/* Both operands on their way to LDS; sources are at the tile that is fetched next. */
struct kiln_staging {
    kiln_left_stage left;
    kiln_right_stage right;
    kiln_left_lanes left_lanes;
    kiln_right_lanes right_lanes;
    unsigned last_left, last_right;
    unsigned steps;  /* tiles of k */
    unsigned tile_k; /* KILN_TILE_K, unknown to the compiler */
#if KILN_TABLES_PACKS > 0
    kiln_point_of_k *tables;
    unsigned table; /* where the one begins that is filled next */
#endif
};

#if KILN_TABLES_PACKS > 0
/* Fills the table of the tile that is fetched next and ends at `rest`. Without such a tile, indices might lie beyond k. The other table
 * may still be read. */
KILN_DEVICE void kiln_fill_table(const kiln_arguments &arguments, kiln_staging &staging,
                                 unsigned rest)
{
    kiln_point_of_k *points = staging.tables + staging.table;
    staging.table = KILN_TILE_K - staging.table;
    KILN_LEFT_WALKED(KILN_POINTS_FILL)
    KILN_RIGHT_WALKED(KILN_POINTS_FILL)
}
#else
#define kiln_fill_table(arguments, staging, rest) ((void)0)
#endif

KILN_DEVICE void kiln_fetch_left(const kiln_arguments &arguments, kiln_staging &staging, unsigned rest)
{
    kiln_left_fetch_ahead(arguments, staging.left, staging.left_lanes, staging.last_left, rest);
}

KILN_DEVICE void kiln_fetch_right(const kiln_arguments &arguments, kiln_staging &staging, unsigned rest)
{
    kiln_right_fetch_ahead(arguments, staging.right, staging.right_lanes, staging.last_right, rest);
}

/* The first tile, the ragged one, to LDS. */
KILN_DEVICE void kiln_stage_first(const kiln_arguments &arguments, const kiln_task &task,
                                  kiln_staging &staging, kiln_pack *shared)
{
    const unsigned size = task.range.size;
    staging.last_left = task.last_left;
    staging.last_right = task.last_right;
    kiln_left_start(arguments, task.batch, task.place.row, staging.left.source);
    kiln_right_start(arguments, task.batch, task.place.column, staging.right.source);
    kiln_left_advance(arguments, task.range.first, staging.left.source);
    kiln_right_advance(arguments, task.range.first, staging.right.source);
    kiln_left_begin(arguments, staging.left.source, staging.last_left, staging.left_lanes);
    kiln_right_begin(arguments, staging.right.source, staging.last_right, staging.right_lanes);
    const unsigned first =
        KILN_K_END == KILN_K_END_NONE ? KILN_TILE_K : (size - 1) % KILN_TILE_K + 1;
    const unsigned end = KILN_K_END == KILN_K_END_NONE ? KILN_WHOLE_K : first;
#if KILN_TABLES_PACKS > 0
    staging.tables = (kiln_point_of_k *)(shared + KILN_BUFFERS * KILN_TILE_PACKS);
    staging.table = 0;
    kiln_fill_table(arguments, staging, end);
    kiln_barrier();
#endif
    kiln_fetch_left(arguments, staging, end);
    kiln_fetch_right(arguments, staging, end);
    kiln_left_store_ahead(arguments, staging.left, end, shared);
    kiln_right_store_ahead(arguments, staging.right, end, shared + KILN_TILE_M * KILN_ROW_PACKS);
    staging.steps = KILN_FETCHES_EVER ? (size + KILN_TILE_K - 1) / KILN_TILE_K : 1;
    staging.tile_k = KILN_TILE_K;
    kiln_keep_uniform(staging.tile_k);
    if (staging.steps > 1) {
        kiln_left_advance(arguments, first, staging.left.source);
        kiln_right_advance(arguments, first, staging.right.source);
    }
    if (kiln_fetches_next(0, staging.steps))
        kiln_fill_table(arguments, staging, KILN_WHOLE_K);
    kiln_tile_barrier();
}

/* After a tile was fetched: to the next one, unless that was the last. */
KILN_DEVICE void kiln_advance_both(const kiln_arguments &arguments, kiln_staging &staging, unsigned step)
{
    const unsigned k = step + 2 < staging.steps ? staging.tile_k : 0;
    kiln_left_advance(arguments, k, staging.left.source);
    kiln_right_advance(arguments, k, staging.right.source);
}

/* Fetches the tile after `step`, if there is one. */
KILN_DEVICE void kiln_fetch_ahead(const kiln_arguments &arguments, kiln_staging &staging,
                                  unsigned step, kiln_left_stage &left, kiln_right_stage &right)
{
    if (!kiln_fetches_next(step, staging.steps))
        return;
    kiln_fetch_left(arguments, staging, KILN_WHOLE_K);
    kiln_fetch_right(arguments, staging, KILN_WHOLE_K);
    kiln_advance_both(arguments, staging, step);
    if (kiln_fetches_next(step + 1, staging.steps))
        kiln_fill_table(arguments, staging, KILN_WHOLE_K);
    left = staging.left;
    right = staging.right;
}

#endif
