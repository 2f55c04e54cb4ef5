/*
 * Sums through LDS into rows, through what is computed of them, to global memory.
 */
#ifndef KILN_DEVICE_CONTRACTION_FINISH_H
#define KILN_DEVICE_CONTRACTION_FINISH_H

#include "device/contraction/padding.h"

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
        part % KILN_STRIP_PARTS * (KILN_STRIP_COLUMNS / KILN_STRIP_TOGETHER / KILN_STRIP_PARTS);
    const unsigned packs = KILN_STRIP_COLUMNS / KILN_STRIP_TOGETHER;
    const unsigned mask = packs < 8 ? packs - 1 : 7;
    return row * KILN_STRIP_COLUMNS + (place ^ (row & mask)) * KILN_STRIP_TOGETHER +
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
#elif KILN_MMA_RUN == 2 && KILN_RIGHT_SPREAD == 1
#define KILN_SUMS_TOGETHER 2
#else
#define KILN_SUMS_TOGETHER 1
#endif

/* Where the columns of a wave's fragment `j` begin. */
#ifndef KILN_STRIP_COLUMN
#define KILN_STRIP_COLUMN(j) ((j) / KILN_RIGHT_SPREAD * KILN_MMA_N)
#endif

/* A part of the sums of one row of fragments of every wave, side by side. */
KILN_DEVICE void kiln_write_strip(kiln_sum *strip, unsigned strip_row, unsigned wave_column,
                                  unsigned part, kiln_mma_sums (&sums)[KILN_STRIP_FRAGMENTS])
{
    KILN_UNROLL
    for (unsigned j = 0; j < KILN_STRIP_FRAGMENTS; j++)
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
                                 (KILN_STRIP_COLUMN(j) + kiln_sum_column(slot)) *
                                     KILN_RIGHT_SPREAD +
                                 j % KILN_RIGHT_SPREAD);
        KILN_UNROLL
        for (unsigned i = 0; i < KILN_SUMS_TOGETHER; i++)
            together[i] = KILN_MMA_SUM(sums[j][(int)(slot + i)]);
#if KILN_SUMS_TOGETHER == 4
        KILN_STORE_LOCAL(16, to, together)
#elif KILN_SUMS_TOGETHER == 2
        KILN_STORE_LOCAL(8, to, together)
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

/* The same of all products, the sums over slices of k added up, in the order of the work-groups and of their waves. */
KILN_DEVICE void kiln_read_products(const kiln_sum *strip, unsigned strip_row, unsigned column,
                                    kiln_sum (&values)[KILN_PRODUCTS][KILN_RESULT_VECTOR])
{
    KILN_UNROLL
    for (unsigned p = 0; p < KILN_PRODUCTS; p++)
        kiln_read_strip(kiln_strip_of_group(strip, 0), strip_row, p * KILN_TILE_COLUMNS + column,
                        values[p]);
    KILN_UNROLL
    for (unsigned w = 1; w < KILN_GROUPS_K * KILN_WAVES_K; w++) {
        const kiln_sum *slice = kiln_strip_of_group(strip, w / KILN_WAVES_K) + w % KILN_WAVES_K * KILN_STRIP_SUMS;
        KILN_UNROLL
        for (unsigned p = 0; p < KILN_PRODUCTS; p++) {
            kiln_sum more[KILN_RESULT_VECTOR];
            kiln_read_strip(slice, strip_row, p * KILN_TILE_COLUMNS + column, more);
            KILN_UNROLL
            for (unsigned e = 0; e < KILN_RESULT_VECTOR; e++)
                values[p][e] += more[e];
        }
    }
}

/* Whether the result has this row of the tile, of which so many are within m. */
KILN_DEVICE bool kiln_has_row(const kiln_arguments &arguments, const kiln_result_source &result,
                              unsigned row, unsigned rows)
{
#ifdef KILN_HAS_PHASES
    return row < rows && kiln_phase_has_row(arguments, result.batch, result.row + row);
#else
    (void)arguments, (void)result;
    return row < rows;
#endif
}

#if KILN_STATISTICS >= 2
/* statistics.h */
#elif KILN_ROW_LANES == 0

/* More that is known of a row, with a comma behind it. */
#ifndef KILN_ROW_TOTALS
#define KILN_ROW_TOTALS(strip, row)
#endif

/* A vector of the strip. */
struct kiln_strip_vector {
    unsigned strip_row;
    unsigned row;
    unsigned column;
    bool is_inside;
};

/* All that is loaded from global memory for KILN_FINISHED_TOGETHER vectors is on its way before the first of them is finished. */
KILN_DEVICE void kiln_finish_strip(const kiln_arguments &arguments,
                                   const kiln_result_source &result, const kiln_sum *strip,
                                   unsigned i, unsigned part, unsigned rows, unsigned columns)
{
    const unsigned abreast = KILN_TILE_COLUMNS / KILN_RESULT_VECTOR;
    const unsigned step = KILN_GROUPS_K * KILN_BLOCK;
    KILN_NO_UNROLL
    for (unsigned first = kiln_work_item() + kiln_cluster_rank() * KILN_BLOCK;
         first < KILN_STRIP_ROWS * abreast; first += KILN_FINISHED_TOGETHER * step) {
        kiln_strip_vector vectors[KILN_FINISHED_TOGETHER];
        kiln_result_inputs inputs[KILN_FINISHED_TOGETHER];
        KILN_UNROLL
        for (unsigned v = 0; v < KILN_FINISHED_TOGETHER; v++) {
            const unsigned vector = first + v * step;
            vectors[v].strip_row = vector / abreast;
            vectors[v].column = vector % abreast * KILN_RESULT_VECTOR;
            vectors[v].row = kiln_row_of_strip(vectors[v].strip_row, i, part);
            const bool is_of_strip = v == 0 || vector < KILN_STRIP_ROWS * abreast;
            vectors[v].is_inside = is_of_strip && vectors[v].column < columns &&
                                   kiln_has_row(arguments, result, vectors[v].row, rows);
            if (vectors[v].is_inside)
                kiln_result_load(arguments, result, vectors[v].row, vectors[v].column, inputs[v]);
        }
        KILN_UNROLL
        for (unsigned v = 0; v < KILN_FINISHED_TOGETHER; v++) {
            if (!vectors[v].is_inside)
                continue;
            kiln_sum values[KILN_PRODUCTS][KILN_RESULT_VECTOR];
            kiln_read_products(strip, vectors[v].strip_row, vectors[v].column, values);
            kiln_take_padding_out(arguments, result, vectors[v].row, vectors[v].column, values);
            kiln_finish(arguments, result, vectors[v].row, vectors[v].column, inputs[v],
                        KILN_ROW_TOTALS(strip, vectors[v].row) values);
        }
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
        kiln_take_padding_out(arguments, result, share.row, column, values);
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
        share.columns = columns < KILN_TILE_COLUMNS ? columns : KILN_TILE_COLUMNS;
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

#endif
