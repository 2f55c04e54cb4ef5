#include "compiler/families/contraction/schedule/contraction_rows.h"

#include "compiler/families/contraction/schedule/contraction_fragments.h"

enum {
    PACK_BYTES = 16,
    MOST_PACKS = 4,       /* of a row of a tile: as tiles have that are not of whole rows */
    MOST_TILE_ROWS = 128, /* more would have no use of the right operand that 64 have not */
    SUMS_PER_LANE = 64,
    HOST_SUMS = 8192, /* 32 KiB, in a CPU's nearest cache */
    HOST_ROWS = 32,
    LEAST_ROWS = 8,  /* an operand whose memory runs along its rows is loaded in runs of so many */
    STRIP_LINE = 64, /* columns: sums of 16 bytes are permuted among eight places of a row */
};

/* Tiles that fill half of the local memory or less, with two buffers and long rows before one and
 * short ones; else what fits. */
static void choose_buffers(const struct kiln_target *target, uint32_t least_packs,
                           struct kiln_contraction_schedule *contraction)
{
    uint32_t element_bytes = kiln_dtype_info(contraction->staged)->bytes;
    uint32_t rows = contraction->tile.m + contraction->tile.n;
    for (uint32_t share = 2; share >= 1; share--) {
        for (uint32_t packs = MOST_PACKS; packs >= least_packs; packs /= 2) {
            for (uint32_t buffers = 2; buffers >= 1; buffers--) {
                contraction->pipeline.staged.buffers = buffers;
                contraction->tile.k = packs * PACK_BYTES / element_bytes;
                if (rows * packs * PACK_BYTES * buffers * share <= target->lds_bytes)
                    return;
            }
        }
    }
}

/* The strip is no larger than the tiles or half of the local memory, or has one row. */
static void choose_strip(const struct kiln_target *target, uint32_t sum_bytes, uint32_t rows,
                         struct kiln_contraction_schedule *contraction)
{
    uint32_t tiles = (contraction->tile.m + contraction->tile.n) * contraction->tile.k *
                     kiln_dtype_info(contraction->staged)->bytes *
                     kiln_pipeline_buffers(&contraction->pipeline);
    uint32_t most = tiles > target->lds_bytes / 2 ? tiles : target->lds_bytes / 2;
    uint32_t parts = 1;
    while (parts < rows && rows / parts * contraction->tile.n * sum_bytes > most)
        parts *= 2;
    contraction->ending = (struct kiln_ending){.kind = KILN_ENDING_ROWS, .rows.parts = parts};
}

void kiln_contraction_choose_row_tile(const struct kiln_target *target, enum kiln_scalar sums,
                                      const struct kiln_register_limits *limits,
                                      struct kiln_contraction_schedule *contraction)
{
    uint32_t needed = (uint32_t)contraction->problem.n * contraction->problem.products;
    contraction->tile.mma = kiln_mma_find(target, contraction->staged, 32);
    uint32_t rows_m = kiln_fragment_rows_m(contraction, target);
    uint32_t rows_n = kiln_fragment_rows_n(contraction, target);
    uint32_t waves = target->wave_size == 1 ? 1 : needed > 512 ? 8 : needed > 128 ? 4 : 2;
    uint32_t unit = waves * rows_n > STRIP_LINE ? waves * rows_n : STRIP_LINE;
    contraction->tile.waves_m = contraction->tile.waves_k = 1;
    contraction->tile.waves_n = waves;
    contraction->tile.n = kiln_round_up_u32(needed, unit);

    uint64_t batch = kiln_batch_count(&contraction->problem.batches);
    uint64_t most_sums =
        target->wave_size == 1 ? HOST_SUMS : (uint64_t)SUMS_PER_LANE * waves * target->wave_size;
    uint64_t rows = target->wave_size == 1 ? HOST_ROWS : MOST_TILE_ROWS;
    uint64_t least = rows_m > LEAST_ROWS ? rows_m : LEAST_ROWS;
    while (rows > least &&
           (rows > limits->held_elems || rows * contraction->tile.n > most_sums ||
            kiln_ceil_div((uint64_t)contraction->problem.m, rows) * batch < target->compute_units))
        rows /= 2;
    contraction->tile.m = (uint32_t)(rows < least ? least : rows);

    choose_buffers(target, contraction->tile.mma != NULL ? contraction->tile.mma->k_groups : 1,
                   contraction);
    choose_strip(target, kiln_dtype_info(kiln_scalar_dtype(sums))->bytes, rows_m, contraction);
    uint32_t lanes = waves * target->wave_size / (rows_m / contraction->ending.rows.parts);
    contraction->ending.rows.lanes = lanes > target->wave_size ? target->wave_size
                                     : lanes < 1               ? 1
                                                               : lanes;
}
