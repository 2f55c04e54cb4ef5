/*
 * The ending that reduces all of a tile: each work-item accumulates while it finishes strips, and accumulators are merged and stored
 * at the end, always in the same order. Another kernel merges tiles. (Other choices: store.h, rows.h, column_statistics.h.)
 *
 * From the prelude: KILN_STATISTICS_PACKS of LDS, for KILN_STATISTICS_ENTRIES accumulators each; row_passes.h, one pass.
 */
#ifndef KILN_DEVICE_CONTRACTION_TILE_STATISTICS_H
#define KILN_DEVICE_CONTRACTION_TILE_STATISTICS_H

#include "device/contraction/strip.h"

struct kiln_tile_totals {
    kiln_row_pass_0::totals of;
};

KILN_DEVICE void kiln_tile_totals_start(kiln_tile_totals &totals)
{
    kiln_row_pass_0::start(totals.of);
}

KILN_DEVICE void kiln_finish_strip(const kiln_arguments &arguments,
                                   const kiln_result_source &result, const kiln_sum *strip,
                                   unsigned i, unsigned part, unsigned rows, unsigned columns,
                                   kiln_tile_totals &totals)
{
    const kiln_row none = {};
    KILN_NO_UNROLL
    for (unsigned vector = kiln_work_item();
         vector < KILN_STRIP_ROWS * (KILN_TILE_COLUMNS / KILN_RESULT_VECTOR);
         vector += KILN_BLOCK) {
        const unsigned strip_row = vector / (KILN_TILE_COLUMNS / KILN_RESULT_VECTOR);
        const unsigned column =
            vector % (KILN_TILE_COLUMNS / KILN_RESULT_VECTOR) * KILN_RESULT_VECTOR;
        const unsigned row = kiln_row_of_strip(strip_row, i, part);
        if (!kiln_has_row(arguments, result, row, rows) || column >= columns)
            continue;
        kiln_sum values[KILN_PRODUCTS][KILN_RESULT_VECTOR];
        kiln_read_products(strip, strip_row, column, values);
        kiln_take_padding_out(arguments, result, row, column, values);
        kiln_row_pass_0::update(arguments, result, row, column, true, none, values, totals.of);
    }
}

/* Totals of waves go to LDS, one accumulator after the other, and those from `first` to `end` are merged. */
#define KILN_MEET_WAVE(i, operation, scalar, type, form, neutral)                                  \
    {                                                                                              \
        auto &entries = *(kiln_##operation##_entries_##scalar<1, KILN_STATISTICS_ENTRIES> *)shared; \
        kiln_##operation##_lanes_##scalar<1> second;                                               \
        if (puts)                                                                                  \
            kiln_put(merged.a##i, entry, entries);                                                 \
        kiln_barrier();                                                                            \
        KILN_NO_UNROLL                                                                             \
        for (unsigned other = first; other < end; other++) {                                       \
            kiln_get(entries, other, second);                                                      \
            kiln_merge<false>(second, merged.a##i);                                                \
        }                                                                                          \
        kiln_barrier();                                                                            \
    }
KILN_DEVICE void kiln_meet_waves(kiln_pack *shared, unsigned entry, bool puts, unsigned first,
                                 unsigned end, kiln_row_pass_0::totals &merged)
{
    KILN_PASS_0_ACCUMULATORS(KILN_MEET_WAVE)
}

/* Lanes of a wave merge first, then the first work-item what the waves have. */
KILN_DEVICE void kiln_tile_totals_end(const kiln_arguments &arguments,
                                     const kiln_result_source &result, unsigned,
                                     kiln_pack *shared, kiln_tile_totals &totals)
{
    const unsigned item = kiln_work_item(), waves = KILN_BLOCK / KILN_WAVE_SIZE;
    KILN_UNROLL
    for (unsigned mask = 1; mask < KILN_WAVE_SIZE; mask *= 2)
        kiln_row_pass_0::exchange(mask, totals.of);
    if constexpr (KILN_BLOCK > KILN_WAVE_SIZE)
        kiln_meet_waves(shared, item / KILN_WAVE_SIZE, item % KILN_WAVE_SIZE == 0,
                        item == 0 ? 1 : waves, waves, totals.of);
    if (item == 0)
        kiln_store_statistics(arguments, result, 0, 0, 1, totals.of);
}

#endif
