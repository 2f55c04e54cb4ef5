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
    for (uint32_t i = 0; i < ir->op_count; i++)
        rewrite->map[i] = KILN_NONE;
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
    if (value == KILN_NONE || kiln_op_is_load(old) || old->opcode == KILN_OP_STORE)
        return;
    struct kiln_op *op = &rewrite->out.ops[value];
    if (op->tensor == KILN_NONE)
        op->tensor = old->tensor;
}

static void rename_results(const struct kiln_rewrite *rewrite)
{
    const struct kiln_ir *ir = rewrite->ir;
    for (uint32_t i = 0; i < ir->result_count; i++) {
        struct kiln_result *result = &ir->results[i];
        if (result->fate != KILN_RESULT_VALUE)
            continue;
        uint32_t value = rewrite->map[result->value];
        if (value == KILN_NONE)
            result->fate = kiln_ir_is_constant(ir, result->value) ? KILN_RESULT_CONSTANT
                                                                  : KILN_RESULT_ABSORBED;
        result->value = value;
    }
}

enum kiln_status kiln_rewrite_finish(struct kiln_rewrite *rewrite, struct kiln_error *error)
{
    if (rewrite->out.failed)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory to rewrite the program");
    rename_results(rewrite);
    *rewrite->ir = rewrite->out;
    return KILN_OK;
}
