/*
 * Makes packs of the next tile between the products of this tile, while the matrix unit is busy. This requires an operand that is
 * computed or assembled, a core whose waves can do both (MFMA), and a loop that fetches a tile in each step. (The other choice:
 * make_after.h.)
 *
 * From the prelude: KILN_LEFT_WORK and KILN_RIGHT_WORK, of enum kiln_work.
 */
#ifndef KILN_DEVICE_CONTRACTION_MAKE_BETWEEN_H
#define KILN_DEVICE_CONTRACTION_MAKE_BETWEEN_H

#include "device/contraction/fragments.h"
#include "device/contraction/work.h"
#include "device/contraction/make.h"
#include "device/contraction/overlap.h"

enum {
    /* All work-items make as many packs. */
    KILN_MAKES_LEFT = KILN_LEFT_WORK != KILN_WORK_COPY && KILN_LEFT_PARTS % KILN_STAGE_ITEMS == 0,
    KILN_MAKES_RIGHT = KILN_RIGHT_WORK != KILN_WORK_COPY && KILN_RIGHT_PARTS % KILN_STAGE_ITEMS == 0,
    KILN_IS_COMPUTED = KILN_LEFT_WORK == KILN_WORK_COMPUTE || KILN_RIGHT_WORK == KILN_WORK_COMPUTE
};

/* Writes the next tile to LDS, if there is one. */
KILN_DEVICE void kiln_put_next(const kiln_arguments &arguments, const kiln_left_stage &left,
                               const kiln_right_stage &right, const kiln_packs &packs, bool is_next,
                               kiln_pack *tile)
{
    if (KILN_MAKES_LEFT)
        kiln_left_write(packs.left, tile);
    else if (is_next)
        kiln_left_store_ahead(arguments, left, KILN_WHOLE_K, tile);
    if (KILN_MAKES_RIGHT)
        kiln_right_write(packs.right, tile + KILN_TILE_M * KILN_ROW_PACKS);
    else if (is_next)
        kiln_right_store_ahead(arguments, right, KILN_WHOLE_K, tile + KILN_TILE_M * KILN_ROW_PACKS);
}

#endif
