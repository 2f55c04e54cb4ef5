/*
 * The strip: a tile's sums pass through LDS, which turns fragments into rows for an ending. It holds a part of the tile's rows at
 * a time.
 *
 * From the prelude: kiln_sum, KILN_RESULT_VECTOR, KILN_PRODUCTS, KILN_WAVES_K and a core of device/mma/. From tile.h or the
 * template: KILN_STRIP_COLUMNS, _FRAGMENTS, _ROWS and _SUMS, KILN_PART_ROWS, KILN_ROW_PARTS. From the pipeline: KILN_LEFT_SPREAD and
 * KILN_RIGHT_SPREAD.
 */
#ifndef KILN_DEVICE_CONTRACTION_STRIP_H
#define KILN_DEVICE_CONTRACTION_STRIP_H

/*
 * The place of a sum in the strip. Neighbours of 16 bytes are permuted like the packs of a tile.
 * In a row, the first 16 bytes of all vectors come first, then their second 16 bytes, and so on.
 * Neighbouring work-items therefore read neighbouring addresses.
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

/* Reads the vector of sums that a work-item finishes at once. */
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

/* The value of a sum. With FNUZ operands (device/mma/fnuz.h) the emitter defines it to scale the sum. */
#ifndef KILN_MMA_SUM
#define KILN_MMA_SUM(sum) (sum)
#endif

/* Number of 32-bit slots that are neighbours in a row. */
#define KILN_SUMS_TOGETHER                                                                         \
    (KILN_RIGHT_SPREAD != 1 ? 1 : KILN_MMA_RUN >= 4 ? 4 : KILN_MMA_RUN == 2 ? 2 : 1)

template <unsigned Count>
KILN_DEVICE void kiln_store_sums(kiln_sum *to, const kiln_sum (&sums)[Count])
{
    if constexpr (Count == 4) {
        KILN_STORE_LOCAL(16, to, sums)
    } else if constexpr (Count == 2) {
        KILN_STORE_LOCAL(8, to, sums)
    } else {
        *to = sums[0];
    }
}

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
        kiln_store_sums(to, together);
    }
}

/* The tile's row that a row of the strip holds, for fragment row `i`. */
KILN_DEVICE unsigned kiln_row_of_strip(unsigned strip_row, unsigned i, unsigned part)
{
    const unsigned row = part * KILN_PART_ROWS + strip_row % KILN_PART_ROWS;
    return strip_row / KILN_PART_ROWS * KILN_WAVE_M +
           (i / KILN_LEFT_SPREAD * KILN_MMA_M + row) * KILN_LEFT_SPREAD + i % KILN_LEFT_SPREAD;
}

/* Reads a vector of each product, and adds up the slices of k in the order of work-groups and their waves. */
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

/* True if the result has this row of the tile. Only the tile's first `rows` rows are within m. */
KILN_DEVICE bool kiln_has_row(const kiln_arguments &arguments, const kiln_result_source &result,
                              unsigned row, unsigned rows)
{
    (void)arguments, (void)result;
    return row < rows && kiln_is_row_of_phase(arguments, result.batch, result.row + row);
}

#endif
