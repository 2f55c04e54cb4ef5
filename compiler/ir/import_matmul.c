/* A matrix product is one CONTRACT; batch dims of the operands that are shorter than the result's
 * repeat. */
#include "compiler/ir/contraction.h"
#include "compiler/ir/import.h"
#include "compiler/ir/importer.h"

static int64_t dim_from_right(const struct kiln_tensor *tensor, uint32_t axis)
{
    return tensor->dims[tensor->rank - 1 - axis];
}

/* A shorter batch dim of an operand repeats. */
static struct kiln_map_axis map_batch(const struct kiln_ir *ir, const struct kiln_tensor *operand,
                                      uint32_t axis, int64_t size)
{
    int64_t own = dim_from_right(operand, axis);
    if (own == 1 && (kiln_ir_kept_axes(ir, operand) >> axis & 1) == 0)
        return kiln_map_axis_nowhere();
    struct kiln_map_axis batch = kiln_map_axis_along((uint8_t)axis);
    batch.repeat.value = size / own;
    return batch;
}

static void append_batch_axis(const struct kiln_ir *ir, struct kiln_contraction *contraction,
                              const struct kiln_tensor *a, const struct kiln_tensor *b,
                              const struct kiln_tensor *c, uint32_t axis)
{
    int64_t size = dim_from_right(c, axis);
    if (size == 1 && (kiln_ir_kept_axes(ir, c) >> axis & 1) == 0)
        return;
    kiln_contraction_append(contraction, KILN_AXIS_BATCH, size, map_batch(ir, a, axis, size),
                            map_batch(ir, b, axis, size), kiln_map_axis_along((uint8_t)axis));
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
        append_batch_axis(ir, &contraction, a, b, c, axis);
    const struct kiln_map_axis last = kiln_map_axis_along(0);
    const struct kiln_map_axis last_but_one = kiln_map_axis_along(1);
    const struct kiln_map_axis nowhere = kiln_map_axis_nowhere();
    kiln_contraction_append(&contraction, KILN_AXIS_M, dim_from_right(c, 1), last_but_one, nowhere,
                            last_but_one);
    kiln_contraction_append(&contraction, KILN_AXIS_N, dim_from_right(c, 0), nowhere, last, last);
    kiln_contraction_append(&contraction, KILN_AXIS_K, dim_from_right(a, 0), last, last_but_one,
                            nowhere);
    uint32_t left = kiln_ir_convert(
        ir, kiln_importer_value(importer, kiln_node_input(node, KILN_OPERAND_A)), scalar);
    uint32_t right = kiln_ir_convert(
        ir, kiln_importer_value(importer, kiln_node_input(node, KILN_OPERAND_B)), scalar);
    uint32_t domain = kiln_ir_tensor_domain(ir, c);
    kiln_importer_define(importer, result, kiln_ir_contract(ir, left, right, &contraction, domain));
}
