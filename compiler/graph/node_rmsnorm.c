/* RMSNorm nodes, forward and backward: the axes follow from the shape of the scale. */
#include "compiler/graph/node_normalization.h"

static enum kiln_status read_rmsnorm(struct kiln_graph_builder *builder,
                                     const struct kiln_wire_node *wire, struct kiln_node *node)
{
    static const struct kiln_operand_slot slots[] = {
        {.operand = KILN_OPERAND_X},
        {.operand = KILN_OPERAND_SCALE},
        {.operand = KILN_OPERAND_EPSILON},
        {.operand = KILN_OPERAND_Y, .is_output = true},
        {.operand = KILN_OPERAND_BIAS, .is_optional = true},
        {.operand = KILN_OPERAND_INV_RMS, .is_output = true, .is_optional = true},
    };
    enum kiln_status status = kiln_normalization_check_phase(builder, wire, node);
    if (status != KILN_OK)
        return status;
    return kiln_normalization_read(builder, wire->normalization.operands, slots,
                                   sizeof slots / sizeof *slots, KILN_NODE_RMSNORM, node);
}

/*
 * inv_rms is nullable for some hosts and plain for others, and the bytes of "absent" and "uid 0"
 * are the same (hipdnn-graph-wire.md 6.15).
 */
static enum kiln_status read_rmsnorm_backward(struct kiln_graph_builder *builder,
                                              const struct kiln_wire_node *wire,
                                              struct kiln_node *node)
{
    static const struct kiln_operand_slot slots[] = {
        {.operand = KILN_OPERAND_DY},
        {.operand = KILN_OPERAND_X},
        {.operand = KILN_OPERAND_SCALE},
        {.operand = KILN_OPERAND_INV_RMS, .is_optional = true},
        {.operand = KILN_OPERAND_DX, .is_output = true},
        {.operand = KILN_OPERAND_DSCALE, .is_output = true},
        {.operand = KILN_OPERAND_DBIAS, .is_output = true, .is_optional = true},
    };
    struct kiln_wire_normalization norm = wire->normalization;
    struct kiln_wire_uid *inv_rms = &norm.operands[KILN_OPERAND_INV_RMS];
    if (!inv_rms->present)
        *inv_rms = (struct kiln_wire_uid){
            .present = kiln_normalization_is_uid_zero(builder, wire->normalization.operands,
                                                      KILN_OPERAND_INV_RMS)};
    return kiln_normalization_read(builder, norm.operands, slots, sizeof slots / sizeof *slots,
                                   KILN_NODE_RMSNORM_BACKWARD, node);
}

/*
 * The trailing axes where the scale has x's size; axis 0 is the batch when all match, each of whose
 * entries has a scale of its own then. That all other axes of the scale are 1 is for the check.
 */
static enum kiln_status complete_rmsnorm(const struct kiln_graph *graph, struct kiln_node *node,
                                         struct kiln_error *error)
{
    const struct kiln_tensor *x = &graph->tensors[kiln_node_input(node, KILN_OPERAND_X)];
    const struct kiln_tensor *scale = &graph->tensors[kiln_node_input(node, KILN_OPERAND_SCALE)];
    uint32_t run = kiln_normalization_matching_axes(x, scale);
    if (run != 0 && run == x->rank)
        run--;
    if (run == 0)
        return kiln_reject_tensor(error, KILN_REJECT_AXIS, graph, node, scale,
                                  "the shape of scale leaves no axis of x to normalise over");
    node->normalization.axes = ((1U << run) - 1) << (x->rank - run);
    return KILN_OK;
}

const struct kiln_node_reader kiln_rmsnorm_reader = {
    .read = read_rmsnorm,
    .complete = complete_rmsnorm,
    .infer = kiln_infer_normalization,
    .check = kiln_normalization_check,
};

const struct kiln_node_reader kiln_rmsnorm_backward_reader = {
    .read = read_rmsnorm_backward,
    .complete = complete_rmsnorm,
    .infer = kiln_infer_normalization,
    .check = kiln_normalization_check,
};
