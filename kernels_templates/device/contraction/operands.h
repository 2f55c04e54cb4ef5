/*
 * Both operands: operand.h of the facts about each.
 */
#ifndef KILN_DEVICE_CONTRACTION_OPERANDS_H
#define KILN_DEVICE_CONTRACTION_OPERANDS_H

#include "device/contraction/operand.h"

KILN_OPERAND(left, LEFT, kiln_make_fnuz)
KILN_OPERAND(right, RIGHT, kiln_make_fnuz)

#endif
