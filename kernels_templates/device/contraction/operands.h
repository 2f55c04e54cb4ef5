/*
 * Both operands: operand.h of the facts about each.
 */
#ifndef KILN_DEVICE_CONTRACTION_OPERANDS_H
#define KILN_DEVICE_CONTRACTION_OPERANDS_H

#include "device/contraction/operand.h"

/* Neighbouring packs along k that a lane loads together. More than one only where packs are along k. */
#ifndef KILN_LEFT_LANE_RUN
#define KILN_LEFT_LANE_RUN 1
#endif
#ifndef KILN_RIGHT_LANE_RUN
#define KILN_RIGHT_LANE_RUN 1
#endif

KILN_OPERAND_IN_RUNS(left, LEFT, KILN_LEFT_LANE_RUN, kiln_make_fnuz)
KILN_OPERAND_IN_RUNS(right, RIGHT, KILN_RIGHT_LANE_RUN, kiln_make_fnuz)

#endif
