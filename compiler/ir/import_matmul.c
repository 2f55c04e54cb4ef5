/* A matrix product is one CONTRACT; batch dims of the operands that are shorter than the result's
 * repeat. */
#include "compiler/ir/contraction.h"
#include "compiler/ir/import.h"
#include "compiler/ir/importer.h"

static int64_t dim_from_right(const struct kiln_tensor *tensor, uint32_t axis)
{
    return tensor->dims[tensor->rank - 1 - axis];
}

static void append_batch_axis(struct kiln_contraction *contraction, const struct kiln_tensor *a,
                              const struct kiln_tensor *b, const struct kiln_tensor *c,
                              uint32_t axis)
{
    int64_t size = dim_from_right(c, axis);
    int64_t left = dim_from_right(a, axis);
    int64_t right = dim_from_right(b, axis);
    if (size == 1)
        return;
    contraction->axes[contraction->axis_count++] = (struct kiln_contraction_axis){
        .role = KILN_AXIS_BATCH,
        .size = size,
        .left = left == 1 ? KILN_NO_AXIS : (uint8_t)axis,
        .right = right == 1 ? KILN_NO_AXIS : (uint8_t)axis,
        .result = (uint8_t)axis,
        .left_repeat = left == 1 ? 1 : size / left,
        .right_repeat = right == 1 ? 1 : size / right,
        .left_step = 1,
        .right_step = 1,
        .result_step = 1,
    };
}

void kiln_import_matmul(struct kiln_importer *importer, const struct kiln_node *node)
{
    struct kiln_ir *ir = importer->ir;
    const struct kiln_tensor *a = &importer->graph->tensors[kiln_node_input(node, KILN_OPERAND_A)];
    const struct kiln_tensor *b = &importer->graph->tensors[kiln_node_input(node, KILN_OPERAND_B)];
    uint32_t result = kiln_node_output(node, KILN_OPERAND_C);
    const struct kiln_tensor *c = &importer->graph->tensors[result];
    enum kiln_scalar scalar = kiln_node_scalar(importer->graph, node);
    struct kiln_contraction contraction = {0};
    for (uint32_t axis = c->rank - 1; axis >= 2; axis--)
        append_batch_axis(&contraction, a, b, c, axis);
    contraction.axes[contraction.axis_count++] =
        (struct kiln_contraction_axis){.role = KILN_AXIS_M,
                                       .size = dim_from_right(c, 1),
                                       .left = 1,
                                       .right = KILN_NO_AXIS,
                                       .result = 1,
                                       .left_repeat = 1,
                                       .right_repeat = 1,
                                       .left_step = 1,
                                       .right_step = 1,
                                       .result_step = 1};
    contraction.axes[contraction.axis_count++] =
        (struct kiln_contraction_axis){.role = KILN_AXIS_N,
                                       .size = dim_from_right(c, 0),
                                       .left = KILN_NO_AXIS,
                                       .right = 0,
                                       .result = 0,
                                       .left_repeat = 1,
                                       .right_repeat = 1,
                                       .left_step = 1,
                                       .right_step = 1,
                                       .result_step = 1};
    contraction.axes[contraction.axis_count++] =
        (struct kiln_contraction_axis){.role = KILN_AXIS_K,
                                       .size = dim_from_right(a, 0),
                                       .left = 0,
                                       .right = 1,
                                       .result = KILN_NO_AXIS,
                                       .left_repeat = 1,
                                       .right_repeat = 1,
                                       .left_step = 1,
                                       .right_step = 1,
                                       .result_step = 1};
    uint32_t left = kiln_ir_convert(
        ir, kiln_importer_value(importer, kiln_node_input(node, KILN_OPERAND_A)), scalar);
    uint32_t right = kiln_ir_convert(
        ir, kiln_importer_value(importer, kiln_node_input(node, KILN_OPERAND_B)), scalar);
    uint32_t domain = kiln_ir_domain(ir, c->dims, c->rank);
    kiln_importer_define(importer, result, kiln_ir_contract(ir, left, right, &contraction, domain));
}
