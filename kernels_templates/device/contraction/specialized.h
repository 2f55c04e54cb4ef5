/*
 * The third schedule: producers stage tiles into a ring in LDS, consumers multiply them (device/mma/wgmma.h).
 */
#ifndef KILN_DEVICE_CONTRACTION_SPECIALIZED_H
#define KILN_DEVICE_CONTRACTION_SPECIALIZED_H

/*
 * An operand of which nothing is computed goes from global memory to LDS without passing registers, as it lies: its packs are
 * along k, or, where it is transposed, along its rows. Rows beyond the end are left as they are: they make rows of the result
 * that are not stored. There is no branch for them: with one, a tile with few rows took longer than a full one.
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
            kiln_##side##_copy(arguments, stage.source, part, pack.row, pack.k, rest,              \
                               pack.row <= last,                                                   \
                               tile + part * rows * KILN_ROW_PACKS + pack.place);                  \
        }                                                                                          \
    }                                                                                              \
    KILN_DEVICE void kiln_##side##_stage_tile(const kiln_arguments &arguments,                     \
                                              kiln_##side##_stage &stage, unsigned last,           \
                                              unsigned rest, kiln_pack *tile)                      \
    {                                                                                              \
        if (!KILN_##SIDE##_IS_COPIED) {                                                            \
            kiln_##side##_fetch(arguments, stage, last, rest);                                     \
            kiln_##side##_store(arguments, stage, rest, tile);                                     \
        } else {                                                                                   \
            kiln_##side##_copy_tile(arguments, stage, last, rest, tile);                           \
        }                                                                                          \
    }

KILN_STAGE_AT_ONCE(left, LEFT, KILN_TILE_M, 1)
KILN_STAGE_AT_ONCE(right, RIGHT, KILN_TILE_COLUMNS, KILN_PRODUCTS)

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

#endif
