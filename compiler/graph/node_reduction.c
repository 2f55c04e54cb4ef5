/* Reduction nodes: the axes follow from the shapes. */
#include "compiler/graph/graph_builder.h"
#include "compiler/graph/node_attributes.h"

static enum kiln_status read_reduction(struct kiln_graph_builder *builder,
                                       const struct kiln_wire_node *wire_node,
                                       struct kiln_node *node)
{
    const struct kiln_wire_reduction *wire = &wire_node->reduction;
    if (wire->mode == KILN_REDUCTION_UNSET || wire->mode >= KILN_REDUCTION_MODE_COUNT)
        return kiln_reject_node(builder->error, KILN_REJECT_UNKNOWN_MODE, &builder->graph, node,
                                "reduction mode %u is unknown", wire->mode);
    node->kind = KILN_NODE_REDUCTION;
    node->reduction = (struct kiln_reduction){.mode = (enum kiln_reduction_mode)wire->mode};
    node->input_count = 1;
    node->output_count = 1;
    node->input_roles[0] = KILN_OPERAND_IN;
    node->output_roles[0] = KILN_OPERAND_OUT;
    enum kiln_status status = kiln_uid_resolve(builder, node, "in", wire->in, &node->inputs[0]);
    if (status != KILN_OK)
        return status;
    return kiln_uid_resolve(builder, node, "out", wire->out, &node->outputs[0]);
}

/* Those where the output has 1 and the input more; there may be none. */
static enum kiln_status complete_reduction(const struct kiln_graph *graph, struct kiln_node *node,
                                           struct kiln_error *error)
{
    const struct kiln_tensor *in = &graph->tensors[node->inputs[0]];
    const struct kiln_tensor *out = &graph->tensors[node->outputs[0]];
    if (in->rank != out->rank)
        return kiln_reject_tensor(error, KILN_REJECT_SHAPE, graph, node, out,
                                  "rank %u, must be the input's rank %u", out->rank, in->rank);
    for (uint32_t i = 0; i < in->rank; i++) {
        if (out->dims[i] == in->dims[i])
            continue;
        if (out->dims[i] != 1)
            return kiln_reject_tensor(error, KILN_REJECT_SHAPE, graph, node, out,
                                      "dimension %u is %lld, must be 1 or the input's %lld", i,
                                      (long long)out->dims[i], (long long)in->dims[i]);
        node->reduction.axes |= 1U << i;
    }
    return KILN_OK;
}

static enum kiln_status check_reduction(const struct kiln_graph *graph,
                                        const struct kiln_node *node, struct kiln_error *error)
{
    (void)graph, (void)node, (void)error;
    return KILN_OK; /* the axes say it all */
}

const struct kiln_node_reader kiln_reduction_reader = {
    .read = read_reduction,
    .complete = complete_reduction,
    .infer = kiln_infer_reduction,
    .check = check_reduction,
};

static void visit_reduction(struct kiln_fields *fields, struct kiln_node *node)
{
    uint32_t mode = node->reduction.mode;
    kiln_field_u8(fields, &mode, 1, KILN_REDUCTION_MODE_COUNT);
    node->reduction.mode = (enum kiln_reduction_mode)mode;
    kiln_field_u32(fields, &node->reduction.axes);
}

static void print_reduction(const struct kiln_node *node, struct kiln_buffer *buffer)
{
    kiln_print_axes(buffer, node->reduction.axes);
}

const struct kiln_node_attributes kiln_reduction_attributes = {visit_reduction, print_reduction};
