/*
 * The tile of a work-group: sizes that follow from the prelude's, and the place of its waves.
 *
 * A work-group makes KILN_TILE_M rows and KILN_TILE_COLUMNS columns of the result, of each of KILN_PRODUCTS products, which lie side
 * by side in KILN_TILE_N columns. KILN_WAVES_M x KILN_WAVES_N waves share the tile, and KILN_WAVES_K such sets share each tile of k.
 * A wave has KILN_FRAGMENTS_M x KILN_FRAGMENTS_N sums of a matrix instruction.
 */
#ifndef KILN_DEVICE_CONTRACTION_TILE_H
#define KILN_DEVICE_CONTRACTION_TILE_H

#define KILN_TILE_COLUMNS (KILN_TILE_N / KILN_PRODUCTS)

#include "device/contraction/place.h"
#include "device/contraction/k_range.h"
#include "device/contraction/k_end.h"
#include "device/contraction/last_row.h"

#define KILN_WAVE_M       (KILN_TILE_M / KILN_WAVES_M)
#define KILN_WAVE_N       (KILN_TILE_N / KILN_WAVES_N)
#define KILN_FRAGMENTS_M  (KILN_WAVE_M / KILN_MMA_M)
#define KILN_FRAGMENTS_N  (KILN_WAVE_N / KILN_MMA_N)
#define KILN_STEPS        (KILN_ROW_PACKS / KILN_MMA_GROUPS) /* of the core, in a tile of k */
#define KILN_TILE_PACKS   ((KILN_TILE_M + KILN_TILE_N) * KILN_ROW_PACKS) /* of both operands, one tile of k */

/* The strip: rows of sums that are in LDS together before they are finished (strip.h). KILN_ROW_PARTS of it are as many rows as
 * a matrix instruction has. */
#define KILN_STRIP_COLUMNS   KILN_TILE_N
#define KILN_STRIP_FRAGMENTS KILN_FRAGMENTS_N
#define KILN_PART_ROWS       (KILN_MMA_M / KILN_ROW_PARTS)
#define KILN_STRIP_ROWS      (KILN_WAVES_M * KILN_PART_ROWS)
#define KILN_STRIP_SUMS      (KILN_STRIP_ROWS * KILN_TILE_N) /* of the waves that share a slice of k */
#define KILN_STRIP_PACKS     (KILN_WAVES_K * KILN_STRIP_SUMS * (int)sizeof(kiln_sum) / 16)

/* device/contraction/inside_table.h has some. */
#ifndef KILN_TABLES_PACKS
#define KILN_TABLES_PACKS 0
#endif

/* LDS, in packs: tiles of operands and tables, then the strip in the same place, or what ends the kernel. */
#define KILN_LARGER_OF(a, b) ((a) > (b) ? (a) : (b))
#define KILN_LDS_PACKS                                                                             \
    KILN_LARGER_OF(                                                                                \
        KILN_LARGER_OF(KILN_BUFFERS * KILN_TILE_PACKS + KILN_TABLES_PACKS, KILN_STRIP_PACKS),      \
        KILN_LARGER_OF(KILN_ENTRY_PACKS, KILN_STATISTICS_PACKS))

/* The wave of a work-item. */
struct kiln_wave {
    unsigned number; /* in the work-group */
    unsigned of_tile; /* among those that share a slice of k */
    unsigned row, column; /* of its first element in the tile */
    unsigned k; /* its slice */
};

KILN_DEVICE kiln_wave kiln_find_wave()
{
    kiln_wave wave;
    wave.number = kiln_uniform(kiln_work_item() / KILN_WAVE_SIZE);
    wave.k = wave.number / (KILN_WAVES_M * KILN_WAVES_N);
    wave.of_tile = wave.number % (KILN_WAVES_M * KILN_WAVES_N);
    wave.row = wave.of_tile / KILN_WAVES_N * KILN_WAVE_M;
    wave.column = wave.of_tile % KILN_WAVES_N * KILN_WAVE_N;
    return wave;
}

/* The task of a work-group: a tile of the result, and a part of k. */
struct kiln_task {
    kiln_batch batch;
    kiln_place place;
    kiln_k_range range;
    unsigned last_left, last_right; /* rows of the operands that may be read, from the tile's first on */
};

KILN_DEVICE void kiln_clear_sums(kiln_mma_sums (&sums)[KILN_FRAGMENTS_M][KILN_FRAGMENTS_N])
{
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_FRAGMENTS_M; i++)
        KILN_UNROLL
    for (unsigned j = 0; j < KILN_FRAGMENTS_N; j++)
        KILN_UNROLL
    for (int slot = 0; slot < KILN_MMA_SLOTS; slot++)
        sums[i][j][slot] = 0;
}

#endif
