/*
 * The nine modes: each is a reduction of f(x), and something done to its result. Along axes of size
 * 1 only, f and the end are all that is left.
 */
#include "compiler/ir/import.h"
#include "compiler/ir/importer.h"

/* The number 1 or 0 of the type. */
static uint32_t small_number(struct kiln_ir *ir, enum kiln_scalar scalar, int value)
{
    if (scalar == KILN_SCALAR_F32 || scalar == KILN_SCALAR_F64)
        return kiln_ir_real(ir, scalar, value);
    return kiln_ir_integer(ir, scalar, value);
}

/* f(x): what is reduced. */
static uint32_t element(struct kiln_ir *ir, enum kiln_reduction_mode mode, enum kiln_scalar scalar,
                        uint32_t x)
{
    switch (mode) {
    case KILN_REDUCTION_AMAX:
    case KILN_REDUCTION_NORM1:
        return kiln_ir_unary(ir, KILN_OP_ABS, x);
    case KILN_REDUCTION_NORM2:
        return kiln_ir_binary(ir, KILN_OP_MUL, x, x);
    case KILN_REDUCTION_MUL_NO_ZEROS: {
        uint32_t is_zero = kiln_ir_binary(ir, KILN_OP_CMP_EQ, x, small_number(ir, scalar, 0));
        return kiln_ir_select(ir, is_zero, small_number(ir, scalar, 1), x);
    }
    default:
        return x;
    }
}

static enum kiln_opcode opcode_of(enum kiln_reduction_mode mode)
{
    switch (mode) {
    case KILN_REDUCTION_MUL:
    case KILN_REDUCTION_MUL_NO_ZEROS:
        return KILN_OP_REDUCE_PRODUCT;
    case KILN_REDUCTION_MIN:
        return KILN_OP_REDUCE_MIN;
    case KILN_REDUCTION_MAX:
    case KILN_REDUCTION_AMAX:
        return KILN_OP_REDUCE_MAX;
    default:
        return KILN_OP_REDUCE_SUM;
    }
}

void kiln_import_reduction(struct kiln_importer *importer, const struct kiln_node *node)
{
    struct kiln_ir *ir = importer->ir;
    enum kiln_reduction_mode mode = node->reduction.mode;
    enum kiln_scalar scalar = kiln_node_scalar(importer->graph, node);
    const struct kiln_tensor *in = &importer->graph->tensors[node->inputs[0]];
    const struct kiln_tensor *out = &importer->graph->tensors[node->outputs[0]];
    uint32_t x = kiln_ir_convert(ir, kiln_importer_value(importer, node->inputs[0]), scalar);
    uint32_t value = element(ir, mode, scalar, x);
    uint32_t domain = kiln_ir_tensor_rows(ir, in, node->reduction.axes);
    if (ir->failed)
        return;
    if (ir->ops[value].domain != domain)
        value = kiln_ir_reduce(ir, opcode_of(mode), value, domain);
    if (mode == KILN_REDUCTION_AVG)
        value = kiln_import_divide(ir, value, kiln_tensor_elements(in) / kiln_tensor_elements(out));
    if (mode == KILN_REDUCTION_NORM2)
        value = kiln_ir_unary(ir, KILN_OP_SQRT, value);
    kiln_importer_define(importer, node->outputs[0], value);
}
