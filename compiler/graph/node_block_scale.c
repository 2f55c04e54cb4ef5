/* Block-scale nodes: values that share a scale in blocks. */
#include "compiler/graph/graph_builder.h"
#include "compiler/graph/node_attributes.h"

/* ---- reading ---- */

static enum kiln_status read_dequantize(struct kiln_graph_builder *builder,
                                        const struct kiln_wire_node *wire_node,
                                        struct kiln_node *node)
{
    const struct kiln_wire_dequantize *wire = &wire_node->dequantize;
    node->kind = KILN_NODE_BLOCK_SCALE_DEQUANTIZE;
    node->input_count = 2;
    node->output_count = 1;
    node->input_roles[0] = KILN_OPERAND_X;
    node->input_roles[1] = KILN_OPERAND_SCALE;
    node->output_roles[0] = KILN_OPERAND_Y;
    if (wire->blocks.count < 1 || wire->blocks.count > KILN_MAX_RANK)
        return kiln_reject_node(builder->error, KILN_REJECT_BLOCK_SIZE, &builder->graph, node,
                                "block_size has %u entries, must be 1 to %d", wire->blocks.count,
                                KILN_MAX_RANK);
    node->block_scale.block_count = wire->blocks.count;
    node->block_scale.is_negative = wire->is_negative_scale;
    for (uint32_t i = 0; i < wire->blocks.count; i++) {
        if (wire->blocks.items[i] < 1)
            return kiln_reject_node(builder->error, KILN_REJECT_BLOCK_SIZE, &builder->graph, node,
                                    "block_size %u is %lld, must be at least 1", i,
                                    (long long)wire->blocks.items[i]);
        node->block_scale.blocks[i] = wire->blocks.items[i];
    }
    enum kiln_status status = kiln_uid_resolve(builder, node, "x", wire->x, &node->inputs[0]);
    if (status == KILN_OK)
        status = kiln_uid_resolve(builder, node, "scale", wire->scale, &node->inputs[1]);
    if (status == KILN_OK)
        status = kiln_uid_resolve(builder, node, "y", wire->y, &node->outputs[0]);
    return status;
}

/* Sizes on the wire belong to the last dims. Equal blocks get equal sizes: one for each dim, none
 * longer than the dim. */
static enum kiln_status complete_dequantize(const struct kiln_graph *graph, struct kiln_node *node,
                                            struct kiln_error *error)
{
    const struct kiln_tensor *x = &graph->tensors[node->inputs[0]];
    struct kiln_block_scale *block_scale = &node->block_scale;
    if (block_scale->block_count > x->rank)
        return kiln_reject_tensor(error, KILN_REJECT_BLOCK_SIZE, graph, node, x,
                                  "block_size has %u entries for %u %s", block_scale->block_count,
                                  x->rank, x->rank == 1 ? "dimension" : "dimensions");
    uint32_t missing = x->rank - block_scale->block_count;
    for (uint32_t i = x->rank; i-- > 0;) {
        int64_t block = i < missing ? 1 : block_scale->blocks[i - missing];
        block_scale->blocks[i] = block < x->dims[i] ? block : x->dims[i];
    }
    block_scale->block_count = x->rank;
    return KILN_OK;
}

/* ---- shapes and types ---- */

static enum kiln_status check_type(const struct kiln_graph *graph, const struct kiln_node *node,
                                   const struct kiln_tensor *tensor, bool is_scale,
                                   struct kiln_error *error)
{
    bool is_bool = tensor->dtype == KILN_DTYPE_BOOL;
    if (!is_bool && !(is_scale && kiln_dtype_is_integer(tensor->dtype)))
        return KILN_OK;
    return kiln_reject_tensor(error, KILN_REJECT_UNSUPPORTED_TYPE, graph, node, tensor,
                              "type %s has no rule in block scaling",
                              kiln_dtype_info(tensor->dtype)->text);
}

/* `tensor` has one element for each block of x; blocks of one element are those of y. */
static enum kiln_status check_shape(const struct kiln_graph *graph, const struct kiln_node *node,
                                    const struct kiln_tensor *tensor, const int64_t *blocks,
                                    struct kiln_error *error)
{
    const struct kiln_tensor *x = &graph->tensors[node->inputs[0]];
    if (tensor->rank != x->rank)
        return kiln_reject_tensor(error, KILN_REJECT_SHAPE, graph, node, tensor,
                                  "rank %u, must be the rank of x, %u", tensor->rank, x->rank);
    for (uint32_t i = 0; i < x->rank; i++) {
        int64_t wanted = blocks == NULL ? x->dims[i] : (x->dims[i] - 1) / blocks[i] + 1;
        if (tensor->dims[i] != wanted)
            return kiln_reject_tensor(error, KILN_REJECT_SHAPE, graph, node, tensor,
                                      "dimension %u is %lld, must be %lld", i,
                                      (long long)tensor->dims[i], (long long)wanted);
    }
    return KILN_OK;
}

static enum kiln_status check_dequantize(const struct kiln_graph *graph,
                                         const struct kiln_node *node, struct kiln_error *error)
{
    const struct kiln_tensor *x = &graph->tensors[node->inputs[0]];
    const struct kiln_tensor *scale = &graph->tensors[node->inputs[1]];
    const struct kiln_tensor *y = &graph->tensors[node->outputs[0]];
    enum kiln_status status = check_shape(graph, node, scale, node->block_scale.blocks, error);
    if (status == KILN_OK)
        status = check_shape(graph, node, y, NULL, error);
    if (status == KILN_OK)
        status = check_type(graph, node, x, false, error);
    if (status == KILN_OK)
        status = check_type(graph, node, scale, true, error);
    if (status == KILN_OK)
        status = check_type(graph, node, y, false, error);
    return status;
}

const struct kiln_node_reader kiln_dequantize_reader = {
    .read = read_dequantize,
    .complete = complete_dequantize,
    .check = check_dequantize,
    .infer = kiln_infer_block_scale,
};

/* ---- attributes ---- */

static void visit_block_scale(struct kiln_fields *fields, struct kiln_node *node)
{
    struct kiln_block_scale *block_scale = &node->block_scale;
    kiln_field_u8(fields, &block_scale->block_count, 0, KILN_MAX_RANK + 1);
    kiln_field_list(fields, block_scale->blocks, block_scale->block_count);
    kiln_field_bool(fields, &block_scale->is_negative);
}

static void print_block_scale(const struct kiln_node *node, struct kiln_buffer *buffer)
{
    kiln_buffer_append_text(buffer, " blocks ");
    kiln_print_list(buffer, node->block_scale.blocks, node->block_scale.block_count);
    if (node->block_scale.is_negative)
        kiln_buffer_append_text(buffer, " of negative scales");
}

const struct kiln_node_attributes kiln_block_scale_attributes = {visit_block_scale,
                                                                 print_block_scale};
