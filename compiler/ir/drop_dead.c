#include "compiler/ir/passes.h"
#include "compiler/ir/rewrite.h"

/* Keeps the domains that operations use, in their order, and renames them. */
static bool drop_domains(struct kiln_ir *ir)
{
    uint32_t *names = kiln_arena_calloc(ir->arena, ir->domain_count, sizeof *names);
    if (names == NULL)
        return false;
    for (uint32_t i = 0; i < ir->op_count; i++) {
        names[ir->ops[i].domain] = 1;
        if (ir->ops[i].map != KILN_NONE)
            names[ir->ops[i].iteration] = 1;
    }
    uint32_t count = 0;
    for (uint32_t i = 0; i < ir->domain_count; i++) {
        if (names[i] == 0)
            continue;
        ir->domains[count] = ir->domains[i];
        names[i] = count++;
    }
    if (count == ir->domain_count)
        return true;
    ir->domain_count = count;
    ir->domain_slot_count = 0; /* names change: the table is void */
    for (uint32_t i = 0; i < ir->op_count; i++) {
        struct kiln_op *op = &ir->ops[i];
        op->domain = names[op->domain];
        op->iteration = op->map != KILN_NONE ? names[op->iteration] : KILN_NONE;
    }
    return true;
}

enum kiln_status kiln_ir_drop_dead(struct kiln_ir *ir, struct kiln_pass_context *context,
                                   struct kiln_error *error)
{
    (void)context;
    struct kiln_rewrite rewrite;
    enum kiln_status status = kiln_rewrite_begin(&rewrite, ir, error);
    if (status != KILN_OK)
        return status;
    bool *needed = kiln_arena_calloc(ir->arena, ir->op_count, sizeof *needed);
    if (needed == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory to drop dead operations");
    for (uint32_t i = ir->op_count; i-- > 0;) {
        const struct kiln_op *op = &ir->ops[i];
        const struct kiln_opcode_info *info = kiln_opcode_info(op->opcode);
        needed[i] = needed[i] || info->op_class == KILN_OP_CLASS_SINK;
        for (uint32_t j = 0; needed[i] && j < info->arity; j++)
            needed[op->operands[j]] = true;
    }
    for (uint32_t i = 0; i < ir->op_count; i++) {
        if (!needed[i])
            continue;
        struct kiln_op op = kiln_rewrite_operands(&rewrite, i);
        kiln_rewrite_set(&rewrite, i, kiln_ir_append(&rewrite.out, &op));
    }
    status = kiln_rewrite_finish(&rewrite, error);
    if (status == KILN_OK && !drop_domains(ir))
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory to drop unused domains");
    return status;
}
