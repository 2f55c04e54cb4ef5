#include "compiler/schedule/contraction_rows.h"

#include "compiler/schedule/contraction_tile.h"
#include "compiler/schedule/integer_math.h"

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
    uint32_t rows = contraction->tile_m + contraction->tile_n;
    for (uint32_t share = 2; share >= 1; share--) {
        for (uint32_t packs = MOST_PACKS; packs >= least_packs; packs /= 2) {
            for (uint32_t buffers = 2; buffers >= 1; buffers--) {
                contraction->buffers = buffers;
                contraction->tile_k = packs * PACK_BYTES / element_bytes;
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
    uint32_t tiles = (contraction->tile_m + contraction->tile_n) * contraction->tile_k *
                     kiln_dtype_info(contraction->staged)->bytes * contraction->buffers;
    uint32_t most = tiles > target->lds_bytes / 2 ? tiles : target->lds_bytes / 2;
    contraction->row_parts = 1;
    while (contraction->row_parts < rows &&
           rows / contraction->row_parts * contraction->tile_n * sum_bytes > most)
        contraction->row_parts *= 2;
}

void kiln_contraction_choose_row_tile(const struct kiln_target *target, enum kiln_scalar sums,
                                      const struct kiln_register_limits *limits,
                                      struct kiln_contraction_schedule *contraction)
{
    uint32_t needed = (uint32_t)contraction->n * contraction->products;
    contraction->mma = kiln_mma_find(target, contraction->staged, 32);
    uint32_t rows_m = kiln_fragment_rows_m(contraction, target);
    uint32_t rows_n = kiln_fragment_rows_n(contraction, target);
    uint32_t waves = target->wave_size == 1 ? 1 : needed > 512 ? 8 : needed > 128 ? 4 : 2;
    uint32_t unit = waves * rows_n > STRIP_LINE ? waves * rows_n : STRIP_LINE;
    contraction->waves_m = contraction->waves_k = 1;
    contraction->waves_n = waves;
    contraction->tile_n = kiln_round_up_u32(needed, unit);

    uint64_t batch = 1;
    for (uint32_t i = 0; i < contraction->batch_rank; i++)
        batch *= (uint64_t)contraction->batch_sizes[i];
    uint64_t most_sums =
        target->wave_size == 1 ? HOST_SUMS : (uint64_t)SUMS_PER_LANE * waves * target->wave_size;
    uint64_t rows = target->wave_size == 1 ? HOST_ROWS : MOST_TILE_ROWS;
    uint64_t least = rows_m > LEAST_ROWS ? rows_m : LEAST_ROWS;
    while (rows > least &&
           (rows > limits->held_elems || rows * contraction->tile_n > most_sums ||
            ((uint64_t)contraction->m + rows - 1) / rows * batch < target->compute_units))
        rows /= 2;
    contraction->tile_m = (uint32_t)(rows < least ? least : rows);

    choose_buffers(target, contraction->mma != NULL ? contraction->mma->k_groups : 1, contraction);
    choose_strip(target, kiln_dtype_info(kiln_scalar_dtype(sums))->bytes, rows_m, contraction);
    uint32_t lanes = waves * target->wave_size / (rows_m / contraction->row_parts);
    contraction->row_lanes = lanes > target->wave_size ? target->wave_size : lanes < 1 ? 1 : lanes;
}
