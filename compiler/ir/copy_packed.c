/*
 * Kernels cut values that operations make, not LOADs. Families that cannot load packed elements
 * read them from the workspace, so a COPY in front of their operands is the value that is cut.
 */
#include "compiler/ir/passes.h"
#include "compiler/ir/rewrite.h"

static bool is_packed_load(const struct kiln_ir *ir, const struct kiln_graph *graph, uint32_t value)
{
    const struct kiln_op *op = &ir->ops[value];
    return op->opcode == KILN_OP_LOAD && kiln_dtype_is_packed(graph->tensors[op->tensor].dtype);
}

/* The packed LOAD that an operand is, or is converted from; or KILN_NONE. */
static uint32_t packed_load(const struct kiln_ir *ir, const struct kiln_graph *graph,
                            uint32_t operand)
{
    if (ir->ops[operand].opcode == KILN_OP_CONVERT)
        operand = ir->ops[operand].operands[0];
    return is_packed_load(ir, graph, operand) ? operand : KILN_NONE;
}

static uint32_t append_copy(struct kiln_rewrite *rewrite, uint32_t load, enum kiln_scalar scalar)
{
    struct kiln_op copy = rewrite->ir->ops[load];
    copy.opcode = KILN_OP_COPY;
    copy.operands[0] = rewrite->map[load];
    copy.node = rewrite->out.node;
    return kiln_ir_convert(&rewrite->out, kiln_ir_append(&rewrite->out, &copy), scalar);
}

enum kiln_status kiln_ir_copy_packed_operands(struct kiln_ir *ir, struct kiln_pass_context *context,
                                              struct kiln_error *error)
{
    struct kiln_rewrite rewrite;
    enum kiln_status status = kiln_rewrite_begin(&rewrite, ir, error);
    if (status != KILN_OK)
        return status;
    for (uint32_t i = 0; i < ir->op_count && !rewrite.out.failed; i++) {
        struct kiln_op op = kiln_rewrite_operands(&rewrite, i);
        bool reads_elements =
            kiln_opcode_contracts(op.opcode) || (kiln_op_reduces(&op) && op.map != KILN_NONE);
        uint32_t arity = reads_elements ? kiln_opcode_info(op.opcode)->arity : 0;
        rewrite.out.node = op.node;
        for (uint32_t k = 0; k < arity; k++) {
            uint32_t load = packed_load(ir, context->graph, ir->ops[i].operands[k]);
            if (load != KILN_NONE)
                op.operands[k] =
                    append_copy(&rewrite, load, ir->ops[ir->ops[i].operands[k]].scalar);
        }
        kiln_rewrite_set(&rewrite, i, kiln_ir_append(&rewrite.out, &op));
    }
    return kiln_rewrite_finish(&rewrite, error);
}
