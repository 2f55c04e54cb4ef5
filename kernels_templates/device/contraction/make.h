/*
 * Staging in two steps: kiln_<side>_make computes a share of the packs of a whole tile of k, and kiln_<side>_write writes all of
 * them to LDS.
 */
#ifndef KILN_DEVICE_CONTRACTION_MAKE_H
#define KILN_DEVICE_CONTRACTION_MAKE_H

#include "device/contraction/stage_ahead.h"

/* Packs that a work-item makes of a tile of k, where all of them make the same number. */
#define KILN_LEFT_PACKS  (KILN_LEFT_TURNS * KILN_LEFT_RUN * kiln_left_lane_run)
#define KILN_RIGHT_PACKS (KILN_RIGHT_TURNS * KILN_PRODUCTS * KILN_RIGHT_RUN * kiln_right_lane_run)

/* Pack n of a work-item: of a turn and a part, row r of a run, or pack p of a row. */
struct kiln_made_pack {
    unsigned turn, part, r, p;
};

KILN_DEVICE kiln_made_pack kiln_find_made_pack(unsigned n, unsigned parts, unsigned run, unsigned lane_run)
{
    return {n / (parts * run * lane_run), n / (run * lane_run) % parts, n / lane_run % run, n % lane_run};
}

/* Keeps the compiler from moving a pack's arithmetic past the code that follows. */
KILN_DEVICE void kiln_stay_here(kiln_pack &pack, unsigned pieces)
{
    KILN_UNROLL
    for (unsigned i = 0; i < 4 / pieces; i++)
        kiln_compute_here(pack.words[i]);
}

#define KILN_MAKE(side, SIDE, rows, parts)                                                         \
    template <unsigned SHARE, unsigned SHARES>                                                     \
    KILN_DEVICE void kiln_##side##_make(const kiln_arguments &arguments,                           \
                                        const kiln_##side##_stage &stage,                          \
                                        kiln_pack (&packs)[KILN_##SIDE##_PACKS])                   \
    {                                                                                              \
        enum {                                                                                     \
            FIRST = SHARE * KILN_##SIDE##_PACKS / SHARES,                                          \
            END = (SHARE + 1) * KILN_##SIDE##_PACKS / SHARES                                       \
        };                                                                                         \
        KILN_UNROLL                                                                                \
        for (unsigned n = FIRST; n < END; n++) {                                                   \
            const kiln_made_pack pack =                                                            \
                kiln_find_made_pack(n, parts, KILN_##SIDE##_RUN, kiln_##side##_lane_run);          \
            const kiln_part_of_tile unit = kiln_locate_unit_of_turn(                               \
                pack.turn, KILN_##SIDE##_RUN, KILN_##SIDE##_IS_ALONG_K, rows,                      \
                KILN_##SIDE##_PIECES, kiln_##side##_lane_run);                                     \
            packs[n] = kiln_##side##_pack_from(                                                    \
                arguments, stage.inputs[pack.turn], pack.p * KILN_PACK_ELEMENTS, pack.part,        \
                pack.r,                                                                            \
                kiln_part_k(unit, KILN_##SIDE##_PIECES) + pack.p * KILN_PACK_ELEMENTS,             \
                KILN_WHOLE_K);                                                                     \
            kiln_stay_here(packs[n], KILN_##SIDE##_PIECES);                                        \
        }                                                                                          \
    }                                                                                              \
    KILN_DEVICE void kiln_##side##_write(const kiln_pack (&packs)[KILN_##SIDE##_PACKS],            \
                                         kiln_pack *tile)                                          \
    {                                                                                              \
        KILN_UNROLL                                                                                \
        for (unsigned n = 0; n < KILN_##SIDE##_PACKS; n++) {                                       \
            const kiln_made_pack pack =                                                            \
                kiln_find_made_pack(n, parts, KILN_##SIDE##_RUN, kiln_##side##_lane_run);          \
            const kiln_part_of_tile unit = kiln_locate_unit_of_turn(                               \
                pack.turn, KILN_##SIDE##_RUN, KILN_##SIDE##_IS_ALONG_K, rows,                      \
                KILN_##SIDE##_PIECES, kiln_##side##_lane_run);                                     \
            kiln_put_part(tile + kiln_part_place(unit, pack.part, rows, pack.r, pack.p), unit,     \
                          packs[n], KILN_##SIDE##_PIECES);                                         \
        }                                                                                          \
    }

KILN_MAKE(left, LEFT, KILN_TILE_M, 1)
KILN_MAKE(right, RIGHT, KILN_TILE_COLUMNS, KILN_PRODUCTS)

#endif
