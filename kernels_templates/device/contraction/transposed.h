/*
 * An operand that lies along its rows, staged as it lies and transposed when it is read: device/mma/transposed_reads.h. A
 * pack of the tile is 16 bytes of neighbouring rows of one k, and the packs of one k lie side by side.
 *
 * From the prelude: KILN_<SIDE>_IS_TRANSPOSED, for operands whose run is a pack. From operands.h: what is loaded.
 */
#ifndef KILN_DEVICE_CONTRACTION_TRANSPOSED_H
#define KILN_DEVICE_CONTRACTION_TRANSPOSED_H

#include "device/contraction/operand.h"
#include "device/contraction/rows_of_run.h"
#include "device/mma/transposed_reads.h"

/*
 * Bits that permute the packs of a k. 256 bytes go through all 64 banks. So do 32 lanes: they read 32 rows of KILN_READ_K, or 16
 * rows of twice as many, whose second half is a pack further along k.
 */
KILN_DEVICE unsigned kiln_transposed_order(unsigned k, unsigned row_packs)
{
    const unsigned line = 16, abreast = 32 / KILN_PACK_ELEMENTS;
    const unsigned power = row_packs & (0u - row_packs), permuted = power < line ? power : line;
    const unsigned order = k % KILN_READ_K / (line / permuted) * abreast +
                           k / KILN_PACK_ELEMENTS % 2 * (abreast / 2);
    return order & (permuted - 1);
}

/* The place of the pack that has this row of this k, in a tile of so many rows. */
KILN_DEVICE unsigned kiln_transposed_place(unsigned row, unsigned k, unsigned rows)
{
    const unsigned row_packs = rows / KILN_PACK_ELEMENTS;
    return k * row_packs + (row / KILN_PACK_ELEMENTS ^ kiln_transposed_order(k, row_packs));
}

/* Where a lane's fragments from `row` on start, in 8 bytes. */
KILN_DEVICE unsigned kiln_start_transposed(unsigned row, unsigned rows)
{
    row += kiln_read_row();
    unsigned start = 2 * kiln_transposed_place(row, kiln_read_k(), rows) + row / KILN_READ_K % 2;
    kiln_keep_offset(start);
    return start;
}

/* The order of packs depends on no bit of k that steps, packs of a fragment or halves of a pack add. */
KILN_DEVICE void kiln_load_transposed(kiln_fragment &fragment, const kiln_pack *tile, unsigned start,
                                      unsigned step, unsigned rows)
{
    KILN_UNROLL
    for (unsigned i = 0; i < 2 * KILN_MMA_PACKS; i++)
        kiln_read_transposed((const char *)tile + 8 * start +
                                 kiln_k_of_read(step, i) * rows * sizeof(kiln_element),
                             fragment.words[i / 2].words + i % 2 * 2);
}

/* Writes what is loaded of a run of rows, from k on, to the tile. */
#define KILN_PUT_ROWS(side, SIDE, rows, parts)                                                     \
    KILN_DEVICE void kiln_##side##_put_rows(const kiln_##side##_inputs &inputs, unsigned row,      \
                                            unsigned k, unsigned rest, kiln_pack *tile)            \
    {                                                                                              \
        (void)inputs;                                                                              \
        KILN_UNROLL                                                                                \
        for (unsigned part = 0; part < (parts); part++)                                            \
            KILN_UNROLL                                                                            \
        for (unsigned e = 0; e < kiln_##side##_elements; e++) {                                    \
            kiln_pack pack = {};                                                                   \
            KILN_##SIDE##_PACKING(KILN_ROWS_PART)                                                  \
            if (rest != KILN_WHOLE_K && k + e >= rest)                                             \
                pack = kiln_pack{};                                                                \
            tile[kiln_transposed_place(part * (rows) + row, k + e, (parts) * (rows))] = pack;      \
        }                                                                                          \
    }

#endif
