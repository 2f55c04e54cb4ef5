/* Facts about an operation that hold without its program. */
#include "compiler/ir/ir.h"

static const struct kiln_opcode_info opcodes[KILN_OP_COUNT] = {
#define KILN_OP(name, text, class, arity, rule, scalars)                                           \
    [KILN_OP_##name] = {#name, text, KILN_OP_CLASS_##class, arity, KILN_OP_RULE_##rule, scalars},
#include "compiler/ir/ops.def"
};

const struct kiln_opcode_info *kiln_opcode_info(enum kiln_opcode opcode)
{
    return &opcodes[opcode];
}

bool kiln_op_is_source(const struct kiln_op *op)
{
    return kiln_opcode_info(op->opcode)->op_class == KILN_OP_CLASS_SOURCE;
}

bool kiln_op_is_load(const struct kiln_op *op)
{
    return op->opcode == KILN_OP_LOAD || op->opcode == KILN_OP_LENGTH;
}

bool kiln_op_reduces(const struct kiln_op *op)
{
    return kiln_opcode_info(op->opcode)->op_class == KILN_OP_CLASS_REDUCE;
}

bool kiln_op_is_result(const struct kiln_op *op)
{
    return op->tensor != KILN_NONE && !kiln_op_is_source(op) && op->opcode != KILN_OP_STORE;
}

bool kiln_opcode_contracts(enum kiln_opcode opcode)
{
    return kiln_opcode_info(opcode)->op_class == KILN_OP_CLASS_CONTRACT ||
           opcode == KILN_OP_SCORE || opcode == KILN_OP_ATTEND;
}

bool kiln_opcode_is_elementwise(enum kiln_opcode opcode)
{
    enum kiln_op_class op_class = kiln_opcode_info(opcode)->op_class;
    return op_class == KILN_OP_CLASS_ELEMENTWISE || op_class == KILN_OP_CLASS_BROADCAST;
}

bool kiln_op_reduces_all(const struct kiln_op *op, enum kiln_opcode opcode)
{
    return op->opcode == opcode && op->map == KILN_NONE;
}

enum kiln_opcode kiln_routing_opcode(enum kiln_routing routing)
{
    switch (routing) {
    case KILN_ROUTING_NONE:
        break;
    case KILN_ROUTING_ROWS:
    case KILN_ROUTING_SUMS:
        return KILN_OP_CONTRACT_GROUPS;
    case KILN_ROUTING_GATHER:
        return KILN_OP_CONTRACT_GATHER;
    case KILN_ROUTING_SCATTER:
        return KILN_OP_CONTRACT_SCATTER;
    }
    return KILN_OP_CONTRACT;
}
