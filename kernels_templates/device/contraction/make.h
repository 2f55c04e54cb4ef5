/*
 * Staging in two steps: kiln_<side>_make computes a share of the packs of a whole tile of k, and kiln_<side>_write writes all of
 * them to LDS.
 */
#ifndef KILN_DEVICE_CONTRACTION_MAKE_H
#define KILN_DEVICE_CONTRACTION_MAKE_H

#include "device/contraction/stage_ahead.h"

/* Packs that a work-item makes of a tile of k, where all of them make the same number. */
#define KILN_LEFT_PACKS  (KILN_LEFT_TURNS * KILN_LEFT_RUN)
#define KILN_RIGHT_PACKS (KILN_RIGHT_TURNS * KILN_PRODUCTS * KILN_RIGHT_RUN)

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
            const unsigned turn = n / (parts * KILN_##SIDE##_RUN);                                 \
            const kiln_part_of_tile unit =                                                         \
                kiln_locate_unit_of_turn(turn, KILN_##SIDE##_RUN, KILN_##SIDE##_IS_ALONG_K, rows, KILN_##SIDE##_PIECES); \
            packs[n] = kiln_##side##_pack(                                                         \
                arguments, stage.inputs[turn], n / KILN_##SIDE##_RUN % parts,                      \
                n % KILN_##SIDE##_RUN, kiln_part_k(unit, KILN_##SIDE##_PIECES),         \
                KILN_WHOLE_K);                                                                     \
            kiln_stay_here(packs[n], KILN_##SIDE##_PIECES);                                        \
        }                                                                                          \
    }                                                                                              \
    KILN_DEVICE void kiln_##side##_write(const kiln_pack (&packs)[KILN_##SIDE##_PACKS],            \
                                         kiln_pack *tile)                                          \
    {                                                                                              \
        KILN_UNROLL                                                                                \
        for (unsigned n = 0; n < KILN_##SIDE##_PACKS; n++) {                                       \
            const kiln_part_of_tile unit =                                                         \
                kiln_locate_unit_of_turn(n / (parts * KILN_##SIDE##_RUN), KILN_##SIDE##_RUN,       \
                                 KILN_##SIDE##_IS_ALONG_K, rows, KILN_##SIDE##_PIECES);                                  \
            kiln_put_part(tile + kiln_part_place(unit, n / KILN_##SIDE##_RUN % parts, rows,        \
                                                 n % KILN_##SIDE##_RUN),                           \
                          unit, packs[n], KILN_##SIDE##_PIECES);                                   \
        }                                                                                          \
    }

KILN_MAKE(left, LEFT, KILN_TILE_M, 1)
KILN_MAKE(right, RIGHT, KILN_TILE_COLUMNS, KILN_PRODUCTS)

#endif
