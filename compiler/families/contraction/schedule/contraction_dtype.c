#include "compiler/families/contraction/schedule/contraction_dtype.h"

#include "compiler/families/contraction/schedule/mma.h"
#include "compiler/ir/exact_dtypes.h"

/* The types that an operand can be staged in: what is only loaded is not rounded, so that an
 * infinity which rounding never gives stays what it is. */
static uint32_t staged_exactly(const struct kiln_ir *ir, const struct kiln_graph *graph,
                               uint32_t operand, const uint32_t *sets)
{
    const struct kiln_op *op = &ir->ops[operand];
    if (op->opcode == KILN_OP_LOAD)
        return sets[operand] | KILN_DTYPE_BIT(graph->tensors[op->tensor].dtype);
    return sets[operand];
}

bool kiln_choose_staged_dtype(const struct kiln_ir *ir, const struct kiln_graph *graph,
                              const struct kiln_fusion_group *group,
                              const struct kiln_target *target, enum kiln_dtype *ret_dtype)
{
    static const enum kiln_dtype narrow[] = {KILN_DTYPE_F8E4M3,     KILN_DTYPE_F8E5M2,
                                             KILN_DTYPE_F8E4M3FNUZ, KILN_DTYPE_F8E5M2FNUZ,
                                             KILN_DTYPE_F16,        KILN_DTYPE_BF16};
    enum kiln_scalar scalar = ir->ops[group->anchors[0]].scalar;
    const uint32_t *sets = kiln_ir_exact_dtypes(ir, graph);
    if (sets == NULL)
        return false;
    uint32_t both = UINT32_MAX;
    for (uint32_t i = 0; i < group->anchor_count; i++) {
        const struct kiln_op *op = &ir->ops[group->anchors[i]];
        both &= staged_exactly(ir, graph, op->operands[0], sets) &
                staged_exactly(ir, graph, op->operands[1], sets);
    }
    *ret_dtype = kiln_scalar_dtype(scalar);
    if (scalar == KILN_SCALAR_I32 && (both & KILN_DTYPE_BIT(KILN_DTYPE_I8)) != 0)
        *ret_dtype = KILN_DTYPE_I8;
    for (size_t i = 0; scalar == KILN_SCALAR_F32 && i < sizeof narrow / sizeof *narrow; i++) {
        bool is_byte = kiln_dtype_info(narrow[i])->bytes == 1;
        if ((both & KILN_DTYPE_BIT(narrow[i])) != 0 &&
            (!is_byte || kiln_mma_find(target, narrow[i], UINT32_MAX) != NULL)) {
            *ret_dtype = narrow[i];
            break;
        }
    }
    return true;
}
