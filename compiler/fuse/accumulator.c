#include "compiler/fuse/accumulator.h"

const struct kiln_accumulator_info *kiln_accumulator_info(enum kiln_accumulator_kind kind)
{
    static const struct kiln_accumulator_info rows[] = {
#define KILN_ACCUMULATOR(name, components, operation, identity, order, cost)                       \
    {components, operation, KILN_IDENTITY_##identity, KILN_ORDER_##order, cost},
#include "compiler/fuse/accumulator.def"
    };
    return &rows[kind];
}

enum kiln_accumulator_kind kiln_accumulator_of(enum kiln_opcode opcode)
{
    switch (opcode) {
    case KILN_OP_REDUCE_PRODUCT:
        return KILN_ACCUMULATOR_PRODUCT;
    case KILN_OP_REDUCE_MIN:
        return KILN_ACCUMULATOR_MIN;
    case KILN_OP_REDUCE_MAX:
        return KILN_ACCUMULATOR_MAX;
    case KILN_OP_REDUCE_MEAN:
    case KILN_OP_REDUCE_SQUARES:
        return KILN_ACCUMULATOR_MOMENTS;
    default:
        return KILN_ACCUMULATOR_SUM;
    }
}
