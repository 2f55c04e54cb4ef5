/* Dequantising in blocks: a product with the scale, which a REPEAT gives to all elements of its
 * block. */
#include "compiler/ir/import.h"
#include "compiler/ir/importer.h"

/* The scale of each element, in the scale's own type. */
static uint32_t repeat_scale(struct kiln_importer *importer, const struct kiln_node *node)
{
    const struct kiln_tensor *x = &importer->graph->tensors[node->inputs[0]];
    const int64_t *blocks = node->block_scale.blocks;
    struct kiln_ir *ir = importer->ir;
    uint32_t domain = kiln_ir_tensor_domain(ir, x);
    uint32_t scale = kiln_importer_value(importer, node->inputs[1]);
    if (ir->failed)
        return KILN_NONE;
    struct kiln_map map = {.axis_count = ir->domains[domain].rank};
    bool has_blocks = false;
    for (uint32_t i = 0; i < map.axis_count; i++) {
        uint32_t axis = x->rank - 1 - i;
        map.axes[i] = kiln_map_axis_along((uint8_t)i);
        map.axes[i].repeat = kiln_constant_number(blocks[axis]);
        has_blocks |= blocks[axis] != 1 && blocks[axis] != x->dims[axis];
    }
    /* Shapes say it of blocks of one element or of a whole axis. */
    return has_blocks ? kiln_ir_repeat(ir, scale, &map, domain)
                      : kiln_ir_broadcast(ir, scale, domain);
}

void kiln_import_dequantize(struct kiln_importer *importer, const struct kiln_node *node)
{
    struct kiln_ir *ir = importer->ir;
    enum kiln_scalar scalar = kiln_node_scalar(importer->graph, node);
    uint32_t x = kiln_ir_convert(ir, kiln_importer_value(importer, node->inputs[0]), scalar);
    uint32_t scale = kiln_ir_convert(ir, repeat_scale(importer, node), scalar);
    if (node->block_scale.is_negative)
        scale = kiln_ir_unary(ir, KILN_OP_EXP2, kiln_ir_unary(ir, KILN_OP_NEG, scale));
    if (ir->failed)
        return;
    kiln_importer_define(importer, node->outputs[0], kiln_ir_binary(ir, KILN_OP_MUL, x, scale));
}
