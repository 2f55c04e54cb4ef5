/*
 * Sums of products of two operands, with what is computed of the operands before and of the result
 * after it. A work-group makes a tile of KILN_TILE_M x KILN_TILE_N of the result, in four parts:
 *
 *   place    which tile, so that neighbours in time share operands in a cache
 *   stage    KILN_TILE_K of both operands from global memory, through what is computed of them, into LDS
 *   core     from LDS into matrix instructions (device/mma/)
 *   finish   sums through LDS into rows, through what is computed of them, to global memory
 *
 * Sizes and strides are arguments. Rows beyond the end are read again from the last one and not stored; what is
 * beyond the end of k is staged as zero.
 *
 * Where one operand has few rows, an element of the other one is wanted by a single wave: there is nothing to share in LDS.
 * Then the kernel is streamed (KILN_IS_STREAMED): each lane loads its part of the fragments itself, several steps
 * ahead, and stage and core are one. KILN_WAVES_K waves take turns along k and finish adds up their sums, in order.
 *
 * The prelude defines KILN_SYMBOL, KILN_BLOCK, KILN_TILE_M, _N, _K, KILN_WAVES_M, _N (of the tile), KILN_BUFFERS (tiles in LDS, 1
 * or 2), KILN_K_END (whether k ends within a tile: enum kiln_k_end), KILN_CHIPLETS and KILN_CHIPLET_RUN (neighbouring tiles for one chiplet),
 * KILN_IS_PINGPONG (the second schedule, of 8 waves: see the kernel), or KILN_CONSUMERS and KILN_PRODUCERS (the third one: work-items
 * that multiply and work-items that stage, with a ring of KILN_BUFFERS tiles between them; device/mma/wgmma.h),
 * KILN_WAVES_K (waves that share the k of a tile), KILN_IS_STREAMED,
 * KILN_HAS_SEGMENTS (whether work-groups do segments of k and store sums for another kernel that adds them up),
 * KILN_PRODUCTS (1, or 2 that have the left operand in common and share the columns of a tile), KILN_ROW_PARTS (in how many
 * parts rows of sums are finished),
 * KILN_SUPER_ROWS (tiles that are walked down before the next column), kiln_element (as staged), kiln_sum, KILN_RESULT_VECTOR, a
 * header of device/mma/, kiln_arguments, kiln_batch and kiln_locate_batch, and for both operands, `left` standing for
 * either,
 *   KILN_LEFT_RUN             rows that are loaded at once, where memory runs along them; 1 where it runs along k, or neither
 *   KILN_LEFT_IS_ALONG_K      which of these
 *   kiln_left_source          where the operand's tile is; start(), advance()
 *   kiln_left_inputs          loads of one pack of KILN_LEFT_RUN rows, of all parts; kiln_left_load
 *   kiln_left_pack            the pack of one of the rows of a part
 * and kiln_result_source and kiln_finish. Where values are reduced along rows, whole rows are in a tile, KILN_ROW_LANES
 * neighbouring lanes share one (else that is 0), and there are kiln_row (values of a row), kiln_row_start, KILN_ROW_PASSES(run),
 * run(0) run(1) ..., and for each pass kiln_row_pass_<n>, a structure of functions, in place of kiln_finish:
 *   totals, start             what a lane accumulates
 *   update                    evaluates a vector of the row's elements, accumulates and stores
 *   exchange                  merges totals of two lanes
 *   finish                    what is known of the row now
 */
#ifndef KILN_SYMBOL
#include "default/contraction_prelude.h"
#endif

/* Of the result: each product has as many. */
#define KILN_TILE_COLUMNS (KILN_TILE_N / KILN_PRODUCTS)

#define KILN_WAVE_M      (KILN_TILE_M / KILN_WAVES_M)
#define KILN_WAVE_N      (KILN_TILE_N / KILN_WAVES_N)
#define KILN_FRAGMENTS_M (KILN_WAVE_M / KILN_MMA_M)
#define KILN_FRAGMENTS_N (KILN_WAVE_N / KILN_MMA_N)
#define KILN_STEPS       (KILN_ROW_PACKS / KILN_MMA_GROUPS)

#define KILN_TILE_PACKS  ((KILN_TILE_M + KILN_TILE_N) * KILN_ROW_PACKS)
/* Rows of an instruction's sums that are in the strip together. */
#define KILN_PART_ROWS   (KILN_MMA_M / KILN_ROW_PARTS)
#define KILN_STRIP_ROWS  (KILN_WAVES_M * KILN_PART_ROWS)
#define KILN_STRIP_SUMS  (KILN_STRIP_ROWS * KILN_TILE_N) /* of the waves that share a slice of k */
#define KILN_STRIP_PACKS (KILN_WAVES_K * KILN_STRIP_SUMS * (int)sizeof(kiln_sum) / 16)
#define KILN_LDS_PACKS                                                                             \
    (KILN_BUFFERS * KILN_TILE_PACKS > KILN_STRIP_PACKS ? KILN_BUFFERS * KILN_TILE_PACKS            \
                                                       : KILN_STRIP_PACKS)

/* Streamed, rows that are loaded at once belong to as many fragments: neighbouring rows of a
 * fragment are so many apart. */
#if KILN_IS_STREAMED
#define KILN_LEFT_SPREAD  KILN_LEFT_RUN
#define KILN_RIGHT_SPREAD KILN_RIGHT_RUN
#else
#define KILN_LEFT_SPREAD  1
#define KILN_RIGHT_SPREAD 1
#endif

/* The work-items that stage: all of them, or the producers, which are the last. */
#ifdef KILN_CONSUMERS
#define KILN_STAGE_ITEM  ((kiln_work_item() - KILN_CONSUMERS) % KILN_STAGE_ITEMS)
#define KILN_STAGE_ITEMS (KILN_PRODUCERS / KILN_STAGE_GROUPS)
#else
#define KILN_STAGE_ITEM  kiln_work_item()
#define KILN_STAGE_ITEMS KILN_BLOCK
#endif

#define KILN_LEFT_UNITS  (KILN_TILE_M / KILN_LEFT_RUN * KILN_ROW_PACKS)
#define KILN_RIGHT_UNITS (KILN_TILE_COLUMNS / KILN_RIGHT_RUN * KILN_ROW_PACKS)
#define KILN_LEFT_TURNS  ((KILN_LEFT_UNITS + KILN_STAGE_ITEMS - 1) / KILN_STAGE_ITEMS)
#define KILN_RIGHT_TURNS ((KILN_RIGHT_UNITS + KILN_STAGE_ITEMS - 1) / KILN_STAGE_ITEMS)

/* Barriers of the ring, behind its tiles. */
#ifdef KILN_CONSUMERS
#define KILN_RING_PACKS KILN_BUFFERS
#else
#define KILN_RING_PACKS 0
#endif

/* ---- place ---- */

struct kiln_place {
    unsigned batch;
    unsigned row; /* of the tile's first element */
    unsigned column;
};

/*
 * Work-groups go to chiplets in turn, each with a cache of its own: so each gets runs of
 * neighbours. Neighbours go down KILN_SUPER_ROWS tiles before the next column.
 */
KILN_DEVICE kiln_place kiln_place_group(unsigned id, unsigned rows, unsigned columns)
{
    const unsigned tiles = rows * columns;
    kiln_place place;
    place.batch = id / tiles;
    unsigned tile = id % tiles;
#if KILN_CHIPLETS > 1
    const unsigned turn = KILN_CHIPLETS * KILN_CHIPLET_RUN;
    if (tile < tiles / turn * turn) {
        const unsigned nth = tile / KILN_CHIPLETS;
        tile = nth / KILN_CHIPLET_RUN * turn + tile % KILN_CHIPLETS * KILN_CHIPLET_RUN +
               nth % KILN_CHIPLET_RUN;
    }
#endif
    const unsigned super = tile / (KILN_SUPER_ROWS * columns);
    const unsigned first = super * KILN_SUPER_ROWS;
    const unsigned height = rows - first < KILN_SUPER_ROWS ? rows - first : KILN_SUPER_ROWS;
    const unsigned within = tile - first * columns;
    place.row = (first + within % height) * KILN_TILE_M;
    place.column = within / height * KILN_TILE_COLUMNS;
    return place;
}

/* What a work-group does of k. */
struct kiln_k_range {
    unsigned first;
    unsigned size;
    bool is_empty; /* something is computed nevertheless, and then zero is stored */
};

#if KILN_HAS_SEGMENTS
/* Tiles are shared out as evenly as possible. What whole tiles leave over of k is the first one. */
KILN_DEVICE kiln_k_range kiln_range_of_segment(unsigned k, unsigned segments, unsigned segment)
{
    const unsigned tiles = (k + KILN_TILE_K - 1) / KILN_TILE_K, end = (k - 1) % KILN_TILE_K + 1;
    const unsigned each = tiles / segments, more = tiles % segments;
    const unsigned count = each + (segment < more ? 1 : 0);
    const unsigned before = segment * each + (segment < more ? segment : more);
    kiln_k_range range;
    range.is_empty = count == 0;
    const bool has_end = before == 0 || range.is_empty;
    range.first = has_end ? 0 : end + (before - 1) * KILN_TILE_K;
    range.size = has_end ? end + (range.is_empty ? 0 : (count - 1) * KILN_TILE_K)
                         : count * KILN_TILE_K;
    return range;
}
#endif

/* ---- stage ---- */

#if !KILN_IS_STREAMED
/* What a work-item stages of an operand in a turn: a pack of neighbouring rows. */
struct kiln_unit {
    unsigned row;
    unsigned pack;
};

KILN_DEVICE kiln_unit kiln_locate_unit(unsigned index, unsigned run, bool is_along_k, unsigned rows)
{
    kiln_unit unit;
    if (is_along_k) {
        unit.row = index / KILN_ROW_PACKS;
        unit.pack = index % KILN_ROW_PACKS;
    } else {
        unit.row = index % (rows / run) * run;
        unit.pack = index / (rows / run);
    }
    return unit;
}

/* Rows are counted from the tile's first; the last that may be read is `last`. A tile is so many
 * parts of as many rows, one for each product: a unit has the same rows of all. */
#define KILN_STAGE(side, SIDE, rows, parts)                                                        \
    struct kiln_##side##_stage {                                                                   \
        kiln_##side##_source source;                                                               \
        kiln_##side##_inputs inputs[KILN_##SIDE##_TURNS];                                          \
    };                                                                                             \
    KILN_DEVICE void kiln_##side##_fetch(const kiln_arguments &arguments,                          \
                                         kiln_##side##_stage &stage, unsigned last, unsigned rest) \
    {                                                                                              \
        KILN_UNROLL                                                                                \
        for (unsigned turn = 0; turn < KILN_##SIDE##_TURNS; turn++) {                              \
            const unsigned index = KILN_STAGE_ITEM + turn * KILN_STAGE_ITEMS;                      \
            if (KILN_##SIDE##_UNITS % KILN_STAGE_ITEMS != 0 && index >= KILN_##SIDE##_UNITS)             \
                break;                                                                             \
            const kiln_unit unit =                                                                 \
                kiln_locate_unit(index, KILN_##SIDE##_RUN, KILN_##SIDE##_IS_ALONG_K, rows);        \
            kiln_##side##_load(arguments, stage.source, unit.row < last ? unit.row : last,         \
                               unit.pack * KILN_PACK_ELEMENTS, rest, stage.inputs[turn]);          \
        }                                                                                          \
    }                                                                                              \
    KILN_DEVICE void kiln_##side##_store(const kiln_arguments &arguments,                          \
                                         const kiln_##side##_stage &stage, unsigned rest,          \
                                         kiln_pack *tile)                                          \
    {                                                                                              \
        KILN_UNROLL                                                                                \
        for (unsigned turn = 0; turn < KILN_##SIDE##_TURNS; turn++) {                              \
            const unsigned index = KILN_STAGE_ITEM + turn * KILN_STAGE_ITEMS;                      \
            if (KILN_##SIDE##_UNITS % KILN_STAGE_ITEMS != 0 && index >= KILN_##SIDE##_UNITS)             \
                break;                                                                             \
            const kiln_unit unit =                                                                 \
                kiln_locate_unit(index, KILN_##SIDE##_RUN, KILN_##SIDE##_IS_ALONG_K, rows);        \
            KILN_UNROLL                                                                            \
            for (unsigned part = 0; part < parts; part++)                                          \
                KILN_UNROLL                                                                        \
            for (unsigned r = 0; r < KILN_##SIDE##_RUN; r++)                                       \
                tile[kiln_pack_place(part * rows + unit.row + r, unit.pack)] =                     \
                    kiln_##side##_pack(arguments, stage.inputs[turn], part, r,                     \
                                       unit.pack * KILN_PACK_ELEMENTS, rest);                      \
        }                                                                                          \
    }

KILN_STAGE(left, LEFT, KILN_TILE_M, 1)
KILN_STAGE(right, RIGHT, KILN_TILE_COLUMNS, KILN_PRODUCTS)
#endif

#ifdef KILN_CONSUMERS
/*
 * An operand of which nothing is computed goes from global memory to LDS without passing registers, as it lies: its packs are
 * along k, or, where it is transposed, along its rows. Rows beyond the end are left as they are: they make rows of the result
 * that are not stored.
 */
#define KILN_STAGE_AT_ONCE(side, SIDE, rows, parts)                                                \
    KILN_DEVICE void kiln_##side##_copy_tile(const kiln_arguments &arguments,                      \
                                             const kiln_##side##_stage &stage, unsigned last,      \
                                             unsigned rest, kiln_pack *tile)                       \
    {                                                                                              \
        KILN_UNROLL                                                                                \
        for (unsigned part = 0; part < parts; part++)                                              \
            KILN_UNROLL                                                                            \
        for (unsigned turn = 0; turn < rows * KILN_ROW_PACKS / KILN_STAGE_ITEMS; turn++) {         \
            const kiln_copied_pack pack = kiln_locate_copy(                                        \
                KILN_STAGE_ITEM + turn * KILN_STAGE_ITEMS, KILN_##SIDE##_IS_TRANSPOSED, rows);     \
            if (pack.row <= last)                                                                  \
                kiln_##side##_copy(arguments, stage.source, part, pack.row, pack.k, rest,          \
                                   tile + part * rows * KILN_ROW_PACKS + pack.place);              \
        }                                                                                          \
    }                                                                                              \
    KILN_DEVICE void kiln_##side##_stage_tile(const kiln_arguments &arguments,                     \
                                              kiln_##side##_stage &stage, unsigned last,           \
                                              unsigned rest, kiln_pack *tile)                      \
    {                                                                                              \
        if (!KILN_##SIDE##_IS_COPIED) {                                                            \
            kiln_##side##_fetch(arguments, stage, last, rest);                                     \
            kiln_##side##_store(arguments, stage, rest, tile);                                     \
        } else if (last >= rows - 1) {                                                             \
            kiln_##side##_copy_tile(arguments, stage, rows, rest, tile);                           \
        } else {                                                                                   \
            kiln_##side##_copy_tile(arguments, stage, last, rest, tile);                           \
        }                                                                                          \
    }

KILN_STAGE_AT_ONCE(left, LEFT, KILN_TILE_M, 1)
KILN_STAGE_AT_ONCE(right, RIGHT, KILN_TILE_COLUMNS, KILN_PRODUCTS)
#endif

/* The last row of the tile that may be read, a whole run of rows before the end. */
KILN_DEVICE unsigned kiln_last_row(unsigned size, unsigned first, unsigned run)
{
    return size - first - run;
}

/* ---- core ---- */

#ifdef KILN_CONSUMERS
/* What the producers do: they are as many tiles ahead as the ring has. KILN_STAGE_GROUPS of them take turns at tiles. */
KILN_DEVICE void kiln_produce(const kiln_arguments &arguments, kiln_left_stage &left,
                              kiln_right_stage &right, unsigned last_left, unsigned last_right,
                              unsigned size, const kiln_ring &ring, kiln_pack *tiles)
{
    const unsigned steps = (size + KILN_TILE_K - 1) / KILN_TILE_K;
    const unsigned group = (kiln_work_item() - KILN_CONSUMERS) / KILN_STAGE_ITEMS;
    /* The first tile is what whole ones leave over. */
    const unsigned first = (size - 1) % KILN_TILE_K + 1;
    unsigned rest = KILN_K_END == 0 || group > 0 ? KILN_WHOLE_K : first;
    unsigned ahead = group > 0 ? KILN_TILE_K : first; /* to the next tile of all */
    if (group > 0) {
        kiln_left_advance(arguments, first + (group - 1) * KILN_TILE_K, left.source);
        kiln_right_advance(arguments, first + (group - 1) * KILN_TILE_K, right.source);
    }
    KILN_NO_UNROLL
    for (unsigned step = group; step < steps; step += KILN_STAGE_GROUPS) {
        kiln_pack *tile = tiles + kiln_ring_slot(step) * KILN_TILE_PACKS;
        kiln_ring_await_free(ring, step);
        kiln_left_stage_tile(arguments, left, last_left, rest, tile);
        kiln_right_stage_tile(arguments, right, last_right, rest,
                              tile + KILN_TILE_M * KILN_ROW_PACKS);
        kiln_ring_publish(ring, step);
        ahead += (KILN_STAGE_GROUPS - 1) * KILN_TILE_K;
        kiln_left_advance(arguments, ahead, left.source);
        kiln_right_advance(arguments, ahead, right.source);
        ahead = KILN_TILE_K;
        rest = KILN_WHOLE_K;
    }
}

/* What the consumers do, each KILN_WAVES_K-th tile: it is free again when the next one is being multiplied and it is not any
 * more. */
KILN_DEVICE void kiln_consume(unsigned size, const kiln_ring &ring, const kiln_pack *tiles,
                              unsigned wave_row, unsigned wave_k, kiln_mma_sums &sums)
{
    const unsigned steps = (size + KILN_TILE_K - 1) / KILN_TILE_K;
    if (wave_k >= steps) {
        KILN_UNROLL
        for (int slot = 0; slot < KILN_MMA_SLOTS; slot++)
            sums[slot] = 0;
    }
    KILN_NO_UNROLL
    for (unsigned step = wave_k; step < steps; step += KILN_WAVES_K) {
        kiln_ring_await_full(ring, step);
        kiln_begin_products(tiles + kiln_ring_slot(step) * KILN_TILE_PACKS, wave_row,
                            step == wave_k, sums);
        kiln_await_products(1);
        if (step != wave_k)
            kiln_ring_release(ring, step - KILN_WAVES_K);
    }
    kiln_await_products(0);
}
#elif KILN_IS_STREAMED
#define KILN_STEP_K  (KILN_LANE_GROUPS * KILN_PACK_ELEMENTS)
#define KILN_SLOTS   (KILN_TILE_K / KILN_STEP_K) /* steps that are loaded ahead */
/* Of the right operand of each product: of two, a wave has all columns of the tile. */
#define KILN_FRAGMENTS_COLUMNS (KILN_FRAGMENTS_N / KILN_PRODUCTS)

/* What a lane has loaded for one step along k. */
struct kiln_slot {
    kiln_left_inputs left[KILN_FRAGMENTS_M / KILN_LEFT_RUN][KILN_LANE_PACKS];
    kiln_right_inputs right[KILN_FRAGMENTS_COLUMNS / KILN_RIGHT_RUN][KILN_LANE_PACKS];
};

/* Where a wave's tile is: both operands, at the k that its next tile starts with. */
struct kiln_stream {
    kiln_left_source left;
    kiln_right_source right;
    unsigned wave_row, wave_column;
    unsigned last_left, last_right;
};

KILN_DEVICE void kiln_advance(const kiln_arguments &arguments, kiln_stream &stream, unsigned k)
{
    kiln_left_advance(arguments, k, stream.left);
    kiln_right_advance(arguments, k, stream.right);
}

KILN_DEVICE void kiln_fetch_slot(const kiln_arguments &arguments, const kiln_stream &stream,
                                 unsigned step, unsigned rest, kiln_slot &slot)
{
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_LANE_PACKS; i++) {
        const unsigned k = (step * KILN_LANE_GROUPS + kiln_lane_pack(i)) * KILN_PACK_ELEMENTS;
        KILN_UNROLL
        for (unsigned u = 0; u < KILN_FRAGMENTS_M / KILN_LEFT_RUN; u++) {
            const unsigned row =
                stream.wave_row + (u * KILN_MMA_M + kiln_lane_row_of_left(i)) * KILN_LEFT_RUN;
            kiln_left_load(arguments, stream.left, row < stream.last_left ? row : stream.last_left,
                           k, rest, slot.left[u][i]);
        }
        KILN_UNROLL
        for (unsigned u = 0; u < KILN_FRAGMENTS_COLUMNS / KILN_RIGHT_RUN; u++) {
            const unsigned row =
                stream.wave_column + (u * KILN_MMA_N + kiln_lane_row_of_right(i)) * KILN_RIGHT_RUN;
            kiln_right_load(arguments, stream.right,
                            row < stream.last_right ? row : stream.last_right, k, rest,
                            slot.right[u][i]);
        }
    }
}

KILN_DEVICE void kiln_multiply_slot(const kiln_arguments &arguments, const kiln_slot &slot,
                                    unsigned step, unsigned rest,
                                    kiln_mma_sums (&sums)[KILN_FRAGMENTS_M][KILN_FRAGMENTS_N])
{
    kiln_lane_fragment left[KILN_FRAGMENTS_M], right[KILN_FRAGMENTS_N];
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_LANE_PACKS; i++) {
        const unsigned k = (step * KILN_LANE_GROUPS + kiln_lane_pack(i)) * KILN_PACK_ELEMENTS;
        KILN_UNROLL
        for (unsigned f = 0; f < KILN_FRAGMENTS_M; f++)
            kiln_set_pack(left[f], i,
                          kiln_left_pack(arguments, slot.left[f / KILN_LEFT_RUN][i], 0,
                                         f % KILN_LEFT_RUN, k, rest));
        KILN_UNROLL
        for (unsigned f = 0; f < KILN_FRAGMENTS_N; f++)
            kiln_set_pack(right[f], i,
                          kiln_right_pack(
                              arguments,
                              slot.right[f % KILN_FRAGMENTS_COLUMNS / KILN_RIGHT_RUN][i],
                              f / KILN_FRAGMENTS_COLUMNS, f % KILN_RIGHT_RUN, k, rest));
    }
    KILN_UNROLL
    for (unsigned f = 0; f < KILN_FRAGMENTS_M; f++)
        KILN_UNROLL
    for (unsigned j = 0; j < KILN_FRAGMENTS_N; j++)
        kiln_multiply_add(sums[f][j], left[f], right[j]);
}

/*
 * Tiles of k go to the waves in turn. A slot is loaded again as soon as it is used, so that there are
 * always almost KILN_SLOTS steps on their way. The end of k, less than a tile, goes to the waves
 * step by step.
 */
KILN_DEVICE void kiln_stream_k(const kiln_arguments &arguments, kiln_stream &stream, unsigned size,
                               unsigned wave_k,
                               kiln_mma_sums (&sums)[KILN_FRAGMENTS_M][KILN_FRAGMENTS_N])
{
    const unsigned tiles = size / KILN_TILE_K;
    kiln_stream end = stream;
    kiln_advance(arguments, end, tiles * KILN_TILE_K);
    if (wave_k < tiles) {
        kiln_slot slots[KILN_SLOTS];
        kiln_advance(arguments, stream, wave_k * KILN_TILE_K);
        KILN_UNROLL
        for (unsigned s = 0; s < KILN_SLOTS; s++)
            kiln_fetch_slot(arguments, stream, s, KILN_WHOLE_K, slots[s]);
        KILN_NO_UNROLL
        for (unsigned tile = wave_k + KILN_WAVES_K; tile < tiles; tile += KILN_WAVES_K) {
            kiln_advance(arguments, stream, KILN_WAVES_K * KILN_TILE_K);
            KILN_UNROLL
            for (unsigned s = 0; s < KILN_SLOTS; s++) {
                kiln_multiply_slot(arguments, slots[s], s, KILN_WHOLE_K, sums);
                kiln_schedule_fence();
                kiln_fetch_slot(arguments, stream, s, KILN_WHOLE_K, slots[s]);
                kiln_schedule_fence();
            }
        }
        KILN_UNROLL
        for (unsigned s = 0; s < KILN_SLOTS; s++)
            kiln_multiply_slot(arguments, slots[s], s, KILN_WHOLE_K, sums);
    }
    const unsigned rest = size - tiles * KILN_TILE_K;
    KILN_NO_UNROLL
    for (unsigned step = wave_k; step * KILN_STEP_K < rest; step += KILN_WAVES_K) {
        kiln_slot slot;
        kiln_fetch_slot(arguments, end, step, rest, slot);
        kiln_multiply_slot(arguments, slot, step, rest, sums);
    }
}
#else
KILN_DEVICE void kiln_load_fragments(const kiln_pack *tile, unsigned wave_row, unsigned wave_column,
                                     unsigned step, kiln_fragment (&left)[KILN_FRAGMENTS_M],
                                     kiln_fragment (&right)[KILN_FRAGMENTS_N])
{
    const kiln_pack *right_tile = tile + KILN_TILE_M * KILN_ROW_PACKS;
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
        kiln_load_left(left[i], tile, wave_row + i * KILN_MMA_M, step);
    KILN_UNROLL
    for (unsigned j = 0; j < KILN_FRAGMENTS_N; j++)
        kiln_load_right(right[j], right_tile, wave_column + j * KILN_MMA_N, step);
}

KILN_DEVICE void kiln_multiply_fragments(const kiln_fragment (&left)[KILN_FRAGMENTS_M],
                                         const kiln_fragment (&right)[KILN_FRAGMENTS_N],
                                         kiln_mma_sums (&sums)[KILN_FRAGMENTS_M][KILN_FRAGMENTS_N])
{
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
        KILN_UNROLL
    for (unsigned j = 0; j < KILN_FRAGMENTS_N; j++)
        kiln_multiply_add(sums[i][j], left[i], right[j]);
}

#if !KILN_IS_PINGPONG
KILN_DEVICE void kiln_core(const kiln_pack *tile, unsigned wave_row, unsigned wave_column,
                           unsigned wave_k,
                           kiln_mma_sums (&sums)[KILN_FRAGMENTS_M][KILN_FRAGMENTS_N])
{
#if KILN_MMA_READS_AHEAD
    kiln_fragment left[2][KILN_FRAGMENTS_M], right[2][KILN_FRAGMENTS_N];
    kiln_load_fragments(tile, wave_row, wave_column, wave_k, left[0], right[0]);
    KILN_UNROLL
    for (unsigned turn = 0; turn < KILN_STEPS / KILN_WAVES_K; turn++) {
        if (turn + 1 < KILN_STEPS / KILN_WAVES_K)
            kiln_load_fragments(tile, wave_row, wave_column, (turn + 1) * KILN_WAVES_K + wave_k,
                                left[(turn + 1) % 2], right[(turn + 1) % 2]);
        kiln_schedule_fence();
        kiln_multiply_fragments(left[turn % 2], right[turn % 2], sums);
        kiln_schedule_fence();
    }
#else
    KILN_MMA_STEPS
    for (unsigned step = 0; step < KILN_STEPS; step += KILN_WAVES_K) {
        kiln_fragment left[KILN_FRAGMENTS_M], right[KILN_FRAGMENTS_N];
        kiln_load_fragments(tile, wave_row, wave_column, step + wave_k, left, right);
        kiln_multiply_fragments(left, right, sums);
    }
#endif
}
#endif
#endif

/* ---- finish ---- */

/*
 * Where a sum lies in the strip. 16 bytes of neighbours are permuted like the packs of a tile; the
 * first 16 bytes of all vectors of a row lie side by side, then the second ones, so that
 * neighbouring work-items read neighbours.
 */
#define KILN_STRIP_TOGETHER (16 / (int)sizeof(kiln_sum))
#define KILN_STRIP_PARTS                                                                           \
    (KILN_RESULT_VECTOR > KILN_STRIP_TOGETHER ? KILN_RESULT_VECTOR / KILN_STRIP_TOGETHER : 1)
KILN_DEVICE unsigned kiln_strip_place(unsigned row, unsigned column)
{
    const unsigned part = column / KILN_STRIP_TOGETHER;
    const unsigned place =
        part / KILN_STRIP_PARTS +
        part % KILN_STRIP_PARTS * (KILN_TILE_N / KILN_STRIP_TOGETHER / KILN_STRIP_PARTS);
    const unsigned packs = KILN_TILE_N / KILN_STRIP_TOGETHER;
    const unsigned mask = packs < 8 ? packs - 1 : 7;
    return row * KILN_TILE_N + (place ^ (row & mask)) * KILN_STRIP_TOGETHER +
           column % KILN_STRIP_TOGETHER;
}

/* What a work-item finishes at once. */
KILN_DEVICE void kiln_read_strip(const kiln_sum *strip, unsigned row, unsigned column,
                                 kiln_sum (&values)[KILN_RESULT_VECTOR])
{
    if (KILN_RESULT_VECTOR % KILN_STRIP_TOGETHER == 0) {
        KILN_UNROLL
        for (unsigned e = 0; e < KILN_RESULT_VECTOR; e += KILN_STRIP_TOGETHER) {
            kiln_sum part[KILN_STRIP_TOGETHER];
            KILN_LOAD_LOCAL(16, part, strip + kiln_strip_place(row, column + e))
            KILN_UNROLL
            for (unsigned i = 0; i < KILN_STRIP_TOGETHER; i++)
                values[(e + i) % KILN_RESULT_VECTOR] = part[i];
        }
    } else {
        KILN_UNROLL
        for (unsigned e = 0; e < KILN_RESULT_VECTOR; e++)
            values[e] = strip[kiln_strip_place(row, column + e)];
    }
}

/* What a sum stands for: KILN_MMA_IS_FNUZ. */
#ifndef KILN_MMA_SUM
#define KILN_MMA_SUM(sum) (sum)
#endif

/* Slots that are neighbours in a row, of 32 bits. */
#if KILN_MMA_RUN >= 4 && KILN_RIGHT_SPREAD == 1
#define KILN_SUMS_TOGETHER 4
#else
#define KILN_SUMS_TOGETHER 1
#endif

/* A part of the sums of one row of fragments of every wave, side by side. */
KILN_DEVICE void kiln_write_strip(kiln_sum *strip, unsigned strip_row, unsigned wave_column,
                                  unsigned part, kiln_mma_sums (&sums)[KILN_FRAGMENTS_N])
{
    KILN_UNROLL
    for (unsigned j = 0; j < KILN_FRAGMENTS_N; j++)
        KILN_UNROLL
    for (unsigned slot = 0; slot < KILN_MMA_SLOTS; slot += KILN_SUMS_TOGETHER) {
        const unsigned row = kiln_sum_row(slot);
        if (KILN_ROW_PARTS > 1 && row / KILN_PART_ROWS != part)
            continue;
        kiln_sum together[KILN_SUMS_TOGETHER];
        kiln_sum *to =
            strip +
            kiln_strip_place(strip_row + row % KILN_PART_ROWS,
                             wave_column +
                                 (j / KILN_RIGHT_SPREAD * KILN_MMA_N + kiln_sum_column(slot)) *
                                     KILN_RIGHT_SPREAD +
                                 j % KILN_RIGHT_SPREAD);
        KILN_UNROLL
        for (unsigned i = 0; i < KILN_SUMS_TOGETHER; i++)
            together[i] = KILN_MMA_SUM(sums[j][(int)(slot + i)]);
#if KILN_SUMS_TOGETHER == 4
        KILN_STORE_LOCAL(16, to, together)
#else
        *to = together[0];
#endif
    }
}

/* Row of the tile that a row of the strip is, of fragment row `i`. */
KILN_DEVICE unsigned kiln_row_of_strip(unsigned strip_row, unsigned i, unsigned part)
{
    const unsigned row = part * KILN_PART_ROWS + strip_row % KILN_PART_ROWS;
    return strip_row / KILN_PART_ROWS * KILN_WAVE_M +
           (i / KILN_LEFT_SPREAD * KILN_MMA_M + row) * KILN_LEFT_SPREAD + i % KILN_LEFT_SPREAD;
}

/* The same of all products, the sums over slices of k added up. */
KILN_DEVICE void kiln_read_products(const kiln_sum *strip, unsigned strip_row, unsigned column,
                                    kiln_sum (&values)[KILN_PRODUCTS][KILN_RESULT_VECTOR])
{
    KILN_UNROLL
    for (unsigned p = 0; p < KILN_PRODUCTS; p++)
        kiln_read_strip(strip, strip_row, p * KILN_TILE_COLUMNS + column, values[p]);
    KILN_UNROLL
    for (unsigned w = 1; w < KILN_WAVES_K; w++) {
        KILN_UNROLL
        for (unsigned p = 0; p < KILN_PRODUCTS; p++) {
            kiln_sum more[KILN_RESULT_VECTOR];
            kiln_read_strip(strip + w * KILN_STRIP_SUMS, strip_row, p * KILN_TILE_COLUMNS + column,
                            more);
            KILN_UNROLL
            for (unsigned e = 0; e < KILN_RESULT_VECTOR; e++)
                values[p][e] += more[e];
        }
    }
}

#if KILN_ROW_LANES == 0

KILN_DEVICE void kiln_finish_strip(const kiln_arguments &arguments,
                                   const kiln_result_source &result, const kiln_sum *strip,
                                   unsigned i, unsigned part, unsigned rows, unsigned columns)
{
    KILN_NO_UNROLL
    for (unsigned vector = kiln_work_item();
         vector < KILN_STRIP_ROWS * (KILN_TILE_COLUMNS / KILN_RESULT_VECTOR);
         vector += KILN_BLOCK) {
        const unsigned strip_row = vector / (KILN_TILE_COLUMNS / KILN_RESULT_VECTOR);
        const unsigned column =
            vector % (KILN_TILE_COLUMNS / KILN_RESULT_VECTOR) * KILN_RESULT_VECTOR;
        const unsigned row = kiln_row_of_strip(strip_row, i, part);
        if (row >= rows || column >= columns)
            continue;
        kiln_sum values[KILN_PRODUCTS][KILN_RESULT_VECTOR];
        kiln_read_products(strip, strip_row, column, values);
        kiln_finish(arguments, result, row, column, values);
    }
}

#else

/* A row that a lane shares with its neighbours. */
struct kiln_strip_share {
    unsigned strip_row;
    unsigned row;
    unsigned columns;
    bool is_inside;
};

template <class Pass>
KILN_DEVICE void kiln_walk_row(const kiln_arguments &arguments, const kiln_result_source &result,
                               const kiln_sum *strip, const kiln_strip_share &share, kiln_row &row)
{
    const unsigned lane = kiln_work_item() % KILN_ROW_LANES;
    typename Pass::totals totals;
    Pass::start(totals);
    KILN_NO_UNROLL
    for (unsigned column = lane * KILN_RESULT_VECTOR; column < share.columns;
         column += KILN_ROW_LANES * KILN_RESULT_VECTOR) {
        kiln_sum values[KILN_PRODUCTS][KILN_RESULT_VECTOR];
        kiln_read_products(strip, share.strip_row, column, values);
        Pass::update(arguments, result, share.row, column, share.is_inside, row, values, totals);
    }
    KILN_UNROLL
    for (unsigned mask = 1; mask < KILN_ROW_LANES; mask *= 2)
        Pass::exchange(mask, totals);
    Pass::finish(arguments, result, share.row, lane == 0 && share.is_inside, totals, row);
}

/* Lanes of rows beyond the end walk over the last one and store nothing: all take part in
 * exchanges. */
KILN_DEVICE void kiln_finish_strip(const kiln_arguments &arguments,
                                   const kiln_result_source &result, const kiln_sum *strip,
                                   unsigned i, unsigned part, unsigned rows, unsigned columns)
{
    KILN_NO_UNROLL
    for (unsigned strip_row = kiln_work_item() / KILN_ROW_LANES; strip_row < KILN_STRIP_ROWS;
         strip_row += KILN_BLOCK / KILN_ROW_LANES) {
        kiln_strip_share share;
        kiln_row row;
        share.strip_row = strip_row;
        share.row = kiln_row_of_strip(strip_row, i, part);
        share.columns = columns;
        share.is_inside = share.row < rows;
        if (!share.is_inside)
            share.row = rows - 1;
        kiln_row_start(arguments, result, share.row,
                       kiln_work_item() % KILN_ROW_LANES == 0 && share.is_inside, row);
#define KILN_WALK_ROW(pass) kiln_walk_row<kiln_row_pass_##pass>(arguments, result, strip, share, row);
        KILN_ROW_PASSES(KILN_WALK_ROW)
#undef KILN_WALK_ROW
    }
}

#endif

KILN_KERNEL(KILN_SYMBOL, KILN_BLOCK, kiln_arguments)
{
    KILN_LDS(kiln_pack, shared, KILN_LDS_PACKS + KILN_RING_PACKS);
    const unsigned rows = (unsigned)arguments.m, columns = (unsigned)arguments.n;
    const unsigned wave_of_group = kiln_uniform(kiln_work_item() / KILN_WAVE_SIZE);
    const unsigned wave_k = wave_of_group / (KILN_WAVES_M * KILN_WAVES_N);
    const unsigned wave = wave_of_group % (KILN_WAVES_M * KILN_WAVES_N);
    const unsigned wave_row = wave / KILN_WAVES_N * KILN_WAVE_M;
    const unsigned wave_column = wave % KILN_WAVES_N * KILN_WAVE_N;
    kiln_batch batch;
    kiln_k_range range;
    range.first = 0;
    range.size = (unsigned)arguments.k;
    range.is_empty = false;
    unsigned group = kiln_work_group_x();
#if KILN_HAS_SEGMENTS
    batch.segment = group % (unsigned)arguments.segments;
    group /= (unsigned)arguments.segments;
    range = kiln_range_of_segment(range.size, (unsigned)arguments.segments, batch.segment);
#endif
    const kiln_place place =
        kiln_place_group(group, (rows + KILN_TILE_M - 1) / KILN_TILE_M,
                         (columns + KILN_TILE_COLUMNS - 1) / KILN_TILE_COLUMNS);
    kiln_locate_batch(arguments, place.batch, batch);
    const unsigned size = range.size;

    const unsigned last_left = kiln_last_row(rows, place.row, KILN_LEFT_RUN);
    const unsigned last_right = kiln_last_row(columns, place.column, KILN_RIGHT_RUN);
    kiln_mma_sums sums[KILN_FRAGMENTS_M][KILN_FRAGMENTS_N];
#if !KILN_IS_STREAMED
    kiln_left_stage left;
    kiln_right_stage right;
    kiln_left_start(arguments, batch, place.row, left.source);
    kiln_right_start(arguments, batch, place.column, right.source);
#if KILN_HAS_SEGMENTS
    kiln_left_advance(arguments, range.first, left.source);
    kiln_right_advance(arguments, range.first, right.source);
#endif
#endif
#ifdef KILN_CONSUMERS
    const kiln_ring ring = kiln_ring_init(shared + KILN_LDS_PACKS);
    const bool is_consumer = wave_of_group < KILN_CONSUMERS / KILN_WAVE_SIZE;
    if (is_consumer)
        kiln_consume(size, ring, shared, wave_row, wave_k, sums[0][0]);
    else
        kiln_produce(arguments, left, right, last_left, last_right, size, ring, shared);
    kiln_barrier();
#else
    const bool is_consumer = true;
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
        KILN_UNROLL
    for (unsigned j = 0; j < KILN_FRAGMENTS_N; j++)
        KILN_UNROLL
    for (int slot = 0; slot < KILN_MMA_SLOTS; slot++)
        sums[i][j][slot] = 0;

#if KILN_IS_STREAMED
    kiln_stream stream;
    kiln_left_start(arguments, batch, place.row, stream.left);
    kiln_right_start(arguments, batch, place.column, stream.right);
    stream.wave_row = wave_row;
    stream.wave_column = wave_column;
    stream.last_left = last_left;
    stream.last_right = last_right;
#if KILN_HAS_SEGMENTS
    kiln_advance(arguments, stream, range.first);
#endif
    kiln_stream_k(arguments, stream, size, wave_k, sums);
#else
    /* The first tile is what whole ones leave over. */
    const unsigned first = KILN_K_END == 0 ? KILN_TILE_K : (size - 1) % KILN_TILE_K + 1;
    const unsigned end = KILN_K_END == 0 ? KILN_WHOLE_K : first;
    kiln_left_fetch(arguments, left, last_left, end);
    kiln_right_fetch(arguments, right, last_right, end);
    kiln_left_store(arguments, left, end, shared);
    kiln_right_store(arguments, right, end, shared + KILN_TILE_M * KILN_ROW_PACKS);
    kiln_barrier();
    const unsigned steps = KILN_K_END == 2 ? 1 : (size + KILN_TILE_K - 1) / KILN_TILE_K;
    unsigned ahead = steps > 1 ? first : 0; /* to the tile that is fetched next */
#if KILN_IS_PINGPONG
    /*
     * Eight phases that end with a barrier each: in the even ones a wave uses memory, in the odd
     * ones it multiplies. The upper half of the waves is a phase behind, so that on each SIMD one
     * of two waves multiplies while the other one reads. There is one tile in LDS:
     *   - The last reads of it are complete at the end of phase 4. The lower half writes the next
     * tile in its phase 6, when the upper half is in phase 5; the upper half writes while the lower
     * one is in phase 7.
     *   - Writes are complete at the end of phase 6. The first reads are of the lower half, in its
     *     phase 0, when the upper half is in phase 7 already.
     */
    const bool is_behind = wave >= KILN_WAVES_M * KILN_WAVES_N / 2;
    if (is_behind)
        kiln_phase_end();
    KILN_NO_UNROLL
    for (unsigned step = 0; step < steps; step++) {
        kiln_fragment left_now[KILN_FRAGMENTS_M], right_now[KILN_FRAGMENTS_N];
        kiln_fragment left_last[KILN_FRAGMENTS_M], right_last[KILN_FRAGMENTS_N];
        kiln_left_advance(arguments, ahead, left.source);
        kiln_right_advance(arguments, ahead, right.source);
        ahead = step + 2 < steps ? KILN_TILE_K : 0;

        kiln_load_fragments(shared, wave_row, wave_column, 0, left_now, right_now);
        kiln_left_fetch(arguments, left, last_left, KILN_WHOLE_K);
        kiln_phase_end();
        kiln_await_local();
        kiln_multiply_fragments(left_now, right_now, sums);
        kiln_phase_end();

        kiln_load_fragments(shared, wave_row, wave_column, 1, left_now, right_now);
        kiln_right_fetch(arguments, right, last_right, KILN_WHOLE_K);
        kiln_phase_end();
        kiln_await_local();
        kiln_multiply_fragments(left_now, right_now, sums);
        kiln_phase_end();

        kiln_load_fragments(shared, wave_row, wave_column, 2, left_now, right_now);
        kiln_load_fragments(shared, wave_row, wave_column, 3, left_last, right_last);
        kiln_await_local();
        kiln_phase_end();
        kiln_multiply_fragments(left_now, right_now, sums);
        kiln_phase_end();

        kiln_left_store(arguments, left, KILN_WHOLE_K, shared);
        kiln_right_store(arguments, right, KILN_WHOLE_K, shared + KILN_TILE_M * KILN_ROW_PACKS);
        kiln_await_local();
        kiln_phase_end();
        kiln_multiply_fragments(left_last, right_last, sums);
        kiln_phase_end();
    }
    if (!is_behind)
        kiln_phase_end();
    kiln_barrier();
#else
    unsigned offset = 0; /* of the tile that is computed with */
    KILN_NO_UNROLL
    for (unsigned step = 0; step < steps; step++) {
        /* After the last tile it is fetched once more, so that there is no other form of the loop.
         */
        if (KILN_K_END != 2) {
            kiln_left_advance(arguments, ahead, left.source);
            kiln_right_advance(arguments, ahead, right.source);
            ahead = step + 2 < steps ? KILN_TILE_K : 0;
            kiln_left_fetch(arguments, left, last_left, KILN_WHOLE_K);
            kiln_right_fetch(arguments, right, last_right, KILN_WHOLE_K);
        }
        kiln_schedule_fence();
        kiln_core(shared + offset, wave_row, wave_column, wave_k, sums);
        kiln_schedule_fence();
        if (KILN_BUFFERS == 1)
            kiln_barrier();
        else
            offset = KILN_TILE_PACKS - offset;
        if (KILN_K_END != 2) {
            kiln_left_store(arguments, left, KILN_WHOLE_K, shared + offset);
            kiln_right_store(arguments, right, KILN_WHOLE_K,
                             shared + offset + KILN_TILE_M * KILN_ROW_PACKS);
        }
        kiln_barrier();
    }
#endif
#endif
#endif

#if KILN_HAS_SEGMENTS
    if (range.is_empty) {
        KILN_UNROLL
        for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
            KILN_UNROLL
        for (unsigned j = 0; j < KILN_FRAGMENTS_N; j++)
            KILN_UNROLL
        for (int slot = 0; slot < KILN_MMA_SLOTS; slot++)
            sums[i][j][slot] = 0;
    }
#endif

    kiln_sum *strip = (kiln_sum *)shared;
    kiln_result_source result;
    kiln_result_start(arguments, batch, place.row, place.column, result);
    const unsigned rows_left = rows - place.row, columns_left = columns - place.column;
    /* Rolled, as is the loop over rows: what is computed of the result is in the text once. */
    KILN_NO_UNROLL
    for (unsigned pass = 0; pass < KILN_FRAGMENTS_M * KILN_ROW_PARTS; pass++) {
        const unsigned fragment = pass / KILN_ROW_PARTS, part = pass % KILN_ROW_PARTS;
        KILN_UNROLL
        for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
            if (i == fragment && is_consumer)
                kiln_write_strip(strip + wave_k * KILN_STRIP_SUMS,
                                 wave / KILN_WAVES_N * KILN_PART_ROWS, wave_column, part, sums[i]);
        kiln_barrier();
        kiln_finish_strip(arguments, result, strip, fragment, part, rows_left, columns_left);
        kiln_barrier();
    }
}
