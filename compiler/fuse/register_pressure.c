#include "compiler/fuse/register_pressure.h"

uint32_t kiln_scalar_registers(enum kiln_scalar scalar)
{
    return scalar == KILN_SCALAR_I64 || scalar == KILN_SCALAR_F64 ? 2 : 1;
}

uint32_t kiln_register_pressure(const struct kiln_ir *ir, const uint32_t *ops, uint32_t count,
                                const bool *is_load, uint32_t *scratch, uint32_t *ret_live)
{
    /* Backwards: a value becomes live at its last use and dies at its definition; a load dies at
     * its first use instead, which going backwards is the last one seen: found by counting uses
     * first. */
    uint32_t *uses = scratch;
    for (uint32_t i = 0; i < count; i++)
        uses[ops[i]] = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct kiln_op *op = &ir->ops[ops[i]];
        if (is_load[ops[i]])
            continue;
        for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++)
            uses[op->operands[k]]++;
    }
    uint32_t live = 0;
    uint32_t worst = 0;
    for (uint32_t i = count; i-- > 0;) {
        const struct kiln_op *op = &ir->ops[ops[i]];
        ret_live[i] = live;
        if (live > worst)
            worst = live;
        if (is_load[ops[i]] || op->opcode == KILN_OP_CONSTANT)
            continue;
        /* The high bit marks a value that is live here. */
        if (uses[ops[i]] & 0x80000000u)
            live -= kiln_scalar_registers(op->scalar);
        for (uint32_t k = 0; k < kiln_opcode_info(op->opcode)->arity; k++) {
            uint32_t operand = op->operands[k];
            const struct kiln_op *producer = &ir->ops[operand];
            if (producer->opcode == KILN_OP_CONSTANT)
                continue;
            if (!(uses[operand] & 0x80000000u)) {
                uses[operand] |= 0x80000000u;
                live += kiln_scalar_registers(producer->scalar);
            }
            uses[operand]--;
            if (is_load[operand] && (uses[operand] & 0x7fffffffu) == 0)
                live -= kiln_scalar_registers(producer->scalar);
        }
    }
    return worst;
}
