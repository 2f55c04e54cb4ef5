#include "compiler/ir/rewrite.h"

enum kiln_status kiln_rewrite_begin(struct kiln_rewrite *rewrite, struct kiln_ir *ir,
                                    struct kiln_error *error)
{
    *rewrite = (struct kiln_rewrite){.ir = ir, .out = *ir};
    rewrite->out.ops = NULL;
    rewrite->out.op_count = 0;
    rewrite->out.op_capacity = 0;
    rewrite->out.exact_dtypes = NULL;
    rewrite->map = kiln_arena_calloc(ir->arena, ir->op_count, sizeof *rewrite->map);
    if (rewrite->map == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory to rewrite the program");
    return KILN_OK;
}

struct kiln_op kiln_rewrite_operands(const struct kiln_rewrite *rewrite, uint32_t index)
{
    struct kiln_op op = rewrite->ir->ops[index];
    uint32_t arity = kiln_opcode_info(op.opcode)->arity;
    for (uint32_t i = 0; i < arity; i++)
        op.operands[i] = rewrite->map[op.operands[i]];
    return op;
}

void kiln_rewrite_set(struct kiln_rewrite *rewrite, uint32_t index, uint32_t value)
{
    rewrite->map[index] = value;
    const struct kiln_op *old = &rewrite->ir->ops[index];
    if (value == KILN_NONE || old->opcode == KILN_OP_LOAD || old->opcode == KILN_OP_STORE)
        return;
    struct kiln_op *op = &rewrite->out.ops[value];
    if (op->tensor == KILN_NONE)
        op->tensor = old->tensor;
}

enum kiln_status kiln_rewrite_finish(struct kiln_rewrite *rewrite, struct kiln_error *error)
{
    if (rewrite->out.failed)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory to rewrite the program");
    *rewrite->ir = rewrite->out;
    return KILN_OK;
}
