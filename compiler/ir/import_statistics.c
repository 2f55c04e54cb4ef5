#include "compiler/ir/import_statistics.h"
#include "compiler/ir/import.h"

bool kiln_norm_init(struct kiln_norm *norm, struct kiln_importer *importer,
                    const struct kiln_node *node)
{
    struct kiln_ir *ir = importer->ir;
    uint32_t tensor = kiln_node_input(node, KILN_OPERAND_X);
    const struct kiln_tensor *x = &importer->graph->tensors[tensor];
    *norm = (struct kiln_norm){
        .importer = importer,
        .ir = ir,
        .node = node,
        .scalar = kiln_node_scalar(importer->graph, node),
        .domain = kiln_ir_tensor_domain(ir, x),
        .rows = kiln_ir_tensor_rows(ir, x, node->normalization.axes),
    };
    norm->x = kiln_norm_input(norm, KILN_OPERAND_X);
    if (ir->failed)
        return false;
    norm->count = kiln_domain_elements(&ir->domains[norm->domain]) /
                  kiln_domain_elements(&ir->domains[norm->rows]);
    return true;
}

uint32_t kiln_norm_input(struct kiln_norm *norm, enum kiln_operand role)
{
    uint32_t tensor = kiln_node_input(norm->node, role);
    if (tensor == KILN_NONE)
        return KILN_NONE;
    return kiln_ir_convert(norm->ir, kiln_importer_value(norm->importer, tensor), norm->scalar);
}

uint32_t kiln_norm_input_or(struct kiln_norm *norm, enum kiln_operand role, double otherwise)
{
    if (kiln_node_input(norm->node, role) == KILN_NONE)
        return kiln_ir_real(norm->ir, norm->scalar, otherwise);
    return kiln_norm_input(norm, role);
}

static uint32_t repeat(struct kiln_ir *ir, uint32_t value, uint32_t domain)
{
    if (ir->failed)
        return KILN_NONE;
    bool uniform = ir->domains[ir->ops[value].domain].rank == 0;
    return uniform ? value : kiln_ir_broadcast(ir, value, domain);
}

uint32_t kiln_norm_row_input_or(struct kiln_norm *norm, enum kiln_operand role, double otherwise)
{
    return repeat(norm->ir, kiln_norm_input_or(norm, role, otherwise), norm->rows);
}

void kiln_norm_define(struct kiln_norm *norm, enum kiln_operand role, uint32_t value)
{
    uint32_t tensor = kiln_node_output(norm->node, role);
    if (tensor != KILN_NONE)
        kiln_importer_define(norm->importer, tensor, value);
}

uint32_t kiln_norm_wide(struct kiln_norm *norm, uint32_t value)
{
    return repeat(norm->ir, value, norm->domain);
}

uint32_t kiln_norm_binary(struct kiln_norm *norm, enum kiln_opcode opcode, uint32_t a, uint32_t b)
{
    return kiln_ir_binary(norm->ir, opcode, a, b);
}

uint32_t kiln_norm_sum(struct kiln_norm *norm, uint32_t value, uint32_t domain)
{
    if (domain == norm->domain)
        return value;
    return kiln_ir_reduce(norm->ir, KILN_OP_REDUCE_SUM,
                          kiln_ir_broadcast(norm->ir, value, norm->domain), domain);
}

uint32_t kiln_norm_average(struct kiln_norm *norm, uint32_t value)
{
    return kiln_import_divide(norm->ir, kiln_norm_sum(norm, value, norm->rows), norm->count);
}

uint32_t kiln_norm_mean(struct kiln_norm *norm)
{
    if (norm->rows == norm->domain)
        return norm->x;
    return kiln_ir_reduce(norm->ir, KILN_OP_REDUCE_MEAN, norm->x, norm->rows);
}

uint32_t kiln_norm_squares(struct kiln_norm *norm)
{
    if (norm->rows == norm->domain) /* 0, or NaN for what is not finite, as in a longer row */
        return kiln_norm_binary(norm, KILN_OP_SUB, norm->x, norm->x);
    return kiln_ir_reduce(norm->ir, KILN_OP_REDUCE_SQUARES, norm->x, norm->rows);
}

uint32_t kiln_norm_reciprocal_root(struct kiln_norm *norm, uint32_t value)
{
    uint32_t epsilon =
        kiln_norm_input_or(norm, KILN_OPERAND_EPSILON, norm->node->normalization.epsilon);
    return kiln_ir_unary(norm->ir, KILN_OP_RSQRT,
                         kiln_norm_binary(norm, KILN_OP_ADD, value, epsilon));
}

uint32_t kiln_norm_given_mean(struct kiln_norm *norm)
{
    if (kiln_node_input(norm->node, KILN_OPERAND_MEAN) == KILN_NONE)
        return kiln_norm_mean(norm);
    return kiln_norm_row_input_or(norm, KILN_OPERAND_MEAN, 0);
}

uint32_t kiln_norm_given_inverse_deviation(struct kiln_norm *norm)
{
    if (kiln_node_input(norm->node, KILN_OPERAND_INV_VARIANCE) != KILN_NONE)
        return kiln_norm_row_input_or(norm, KILN_OPERAND_INV_VARIANCE, 1);
    return kiln_norm_reciprocal_root(
        norm, kiln_import_divide(norm->ir, kiln_norm_squares(norm), norm->count));
}
