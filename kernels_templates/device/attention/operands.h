/*
 * Loads of all operands. Lists of products name them:
 *   KILN_FIRST_PRODUCTS(use)    use(nth, left, LEFT, right, RIGHT, c): left and right operand, and the size of their k
 *   KILN_SECOND_PRODUCTS(use)   use(nth, value, VALUE, d): the value and its number of rows
 */
#ifndef KILN_DEVICE_ATTENTION_OPERANDS_H
#define KILN_DEVICE_ATTENTION_OPERANDS_H

#include "device/attention/tile.h"
#include "device/contraction/operand.h"
#include "device/contraction/operand_copy.h"

#define KILN_FIRST_OPERANDS(nth, left, LEFT, right, RIGHT, size)                                   \
    KILN_OPERAND(left, LEFT, kiln_make_fnuz)                                                       \
    KILN_OPERAND(right, RIGHT, kiln_make_fnuz)
#define KILN_SECOND_OPERAND(nth, side, SIDE, size) KILN_OPERAND(side, SIDE, kiln_make_fnuz)
KILN_FIRST_PRODUCTS(KILN_FIRST_OPERANDS)
KILN_SECOND_PRODUCTS(KILN_SECOND_OPERAND)

#define KILN_STAGE_ITEM  kiln_work_item()
#define KILN_STAGE_ITEMS KILN_BLOCK
#include "device/contraction/stage.h"
#ifdef KILN_MMA_LOADS_OF_LANE
#define KILN_HAS_FEW_REGISTERS 1
#else
#define KILN_HAS_FEW_REGISTERS 0
#endif

#endif
