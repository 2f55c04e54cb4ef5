#include "compiler/fuse/op_cost.h"

enum { TRANSCENDENTAL_COST = 8, LONG_POLYNOMIAL_COST = 16 };

uint32_t kiln_op_cost(const struct kiln_op *op)
{
    switch (op->opcode) {
    case KILN_OP_EXP:
    case KILN_OP_EXP2:
    case KILN_OP_EXPM1:
    case KILN_OP_LOG:
    case KILN_OP_LOG1P:
    case KILN_OP_SIN:
    case KILN_OP_COS:
    case KILN_OP_TAN:
    case KILN_OP_SIGMOID:
    case KILN_OP_TANH:
    case KILN_OP_DIV:
    case KILN_OP_DIV_UP:
        return TRANSCENDENTAL_COST;
    case KILN_OP_ERF:
    case KILN_OP_NORMAL_CDF:
        return LONG_POLYNOMIAL_COST;
    case KILN_OP_COPY:
        return 0;
    default:
        return 1;
    }
}
