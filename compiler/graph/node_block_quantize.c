/* Block-scale quantisation: one scale for the elements of a block, and the elements over it. */
#include "compiler/graph/graph_builder.h"
#include "compiler/graph/node_attributes.h"

#include <inttypes.h>
#include <string.h>

enum { OF_Y, OF_SCALE }; /* outputs */

/* ---- reading ---- */

static enum kiln_status read_quantize(struct kiln_graph_builder *builder,
                                      const struct kiln_wire_node *wire_node,
                                      struct kiln_node *node)
{
    const struct kiln_wire_block_quantize *wire = &wire_node->block_quantize;
    node->kind = KILN_NODE_BLOCK_SCALE_QUANTIZE;
    node->input_count = 1;
    node->output_count = 2;
    node->input_roles[0] = KILN_OPERAND_X;
    node->output_roles[OF_Y] = KILN_OPERAND_Y;
    node->output_roles[OF_SCALE] = KILN_OPERAND_SCALE;
    if (wire->block_size < 1)
        return kiln_reject_node(builder->error, KILN_REJECT_BLOCK_SIZE, &builder->graph, node,
                                "the block size is %" PRId64 ", must be at least 1",
                                wire->block_size);
    if (wire->transposes)
        return kiln_reject_node(builder->error, KILN_REJECT_UNSUPPORTED_NODE, &builder->graph, node,
                                "quantising with a transposition is not supported: hipDNN does not "
                                "say what it means");
    if (wire->axis.present && (wire->axis.uid < 0 || wire->axis.uid >= KILN_MAX_RANK))
        return kiln_reject_node(builder->error, KILN_REJECT_AXIS, &builder->graph, node,
                                "axis %" PRId64 " is no axis of a tensor", wire->axis.uid);
    /* Without an axis it is the last one, whose number is known once the tensors are. */
    node->block_quantize.axis = wire->axis.present ? (uint32_t)wire->axis.uid : KILN_NONE;
    node->block_quantize.block_size = wire->block_size;
    enum kiln_status status = kiln_uid_resolve(builder, node, "x", wire->x, &node->inputs[0]);
    if (status == KILN_OK)
        status = kiln_uid_resolve(builder, node, "y", wire->y, &node->outputs[OF_Y]);
    if (status == KILN_OK)
        status = kiln_uid_resolve(builder, node, "scale", wire->scale, &node->outputs[OF_SCALE]);
    return status;
}

/* Equal computations get equal attributes: the axis by its number, a block no longer than it. */
static enum kiln_status complete_quantize(const struct kiln_graph *graph, struct kiln_node *node,
                                          struct kiln_error *error)
{
    const struct kiln_tensor *x = &graph->tensors[node->inputs[0]];
    struct kiln_block_quantize *quantize = &node->block_quantize;
    if (quantize->axis == KILN_NONE && x->rank != 0)
        quantize->axis = x->rank - 1;
    if (quantize->axis >= x->rank)
        return kiln_reject_tensor(error, KILN_REJECT_AXIS, graph, node, x,
                                  "rank %" PRIu32 ": there is no axis of blocks", x->rank);
    if (quantize->block_size > x->dims[quantize->axis])
        quantize->block_size = x->dims[quantize->axis];
    return KILN_OK;
}

/* ---- checks ---- */

static bool is_element_type(enum kiln_dtype dtype)
{
    switch (dtype) {
    case KILN_DTYPE_F64:
    case KILN_DTYPE_I64:
    case KILN_DTYPE_BOOL:
    case KILN_DTYPE_E8M0:
    case KILN_DTYPE_I4:
        return false;
    default:
        return true;
    }
}

static bool is_scale_type(enum kiln_dtype dtype)
{
    switch (dtype) {
    case KILN_DTYPE_F32:
    case KILN_DTYPE_F16:
    case KILN_DTYPE_BF16:
    case KILN_DTYPE_E8M0:
        return true;
    default:
        return false;
    }
}

static enum kiln_status check_type(const struct kiln_graph *graph, const struct kiln_node *node,
                                   const struct kiln_tensor *tensor, bool is_supported,
                                   struct kiln_error *error)
{
    if (is_supported)
        return KILN_OK;
    return kiln_reject_tensor(error, KILN_REJECT_UNSUPPORTED_TYPE, graph, node, tensor,
                              "type %s has no rule in block-scale quantisation",
                              kiln_dtype_info(tensor->dtype)->text);
}

static enum kiln_status check_shape(const struct kiln_graph *graph, const struct kiln_node *node,
                                    const struct kiln_tensor *tensor, const int64_t *dims,
                                    struct kiln_error *error)
{
    const struct kiln_tensor *x = &graph->tensors[node->inputs[0]];
    if (tensor->rank != x->rank)
        return kiln_reject_tensor(error, KILN_REJECT_SHAPE, graph, node, tensor,
                                  "rank %" PRIu32 ", must be the input's rank %" PRIu32,
                                  tensor->rank, x->rank);
    for (uint32_t i = 0; i < x->rank; i++) {
        if (tensor->dims[i] != dims[i])
            return kiln_reject_tensor(error, KILN_REJECT_SHAPE, graph, node, tensor,
                                      "dimension %" PRIu32 " is %" PRId64 ", must be %" PRId64, i,
                                      tensor->dims[i], dims[i]);
    }
    return KILN_OK;
}

/* Kernels give the axis of blocks two axes. */
static enum kiln_status check_blocks(const struct kiln_graph *graph, const struct kiln_node *node,
                                     struct kiln_error *error)
{
    const struct kiln_tensor *x = &graph->tensors[node->inputs[0]];
    int64_t size = x->dims[node->block_quantize.axis];
    int64_t block_size = node->block_quantize.block_size;
    int64_t count = (size - 1) / block_size + 1;
    bool is_short = size % block_size != 0; /* the last block */
    if (x->rank == KILN_MAX_RANK && (x->dims[0] != 1 || is_short) && block_size != 1 && count != 1)
        return kiln_reject_tensor(error, KILN_REJECT_RANK, graph, node, x,
                                  "rank %" PRIu32 ": blocks along an axis need one axis more",
                                  x->rank);
    if (is_short && count > INT32_MAX / block_size)
        return kiln_reject_tensor(error, KILN_REJECT_TOO_LARGE, graph, node, x,
                                  "dimension %" PRIu32 " is %" PRId64
                                  ": whole blocks are longer than %d",
                                  node->block_quantize.axis, size, INT32_MAX);
    return KILN_OK;
}

static enum kiln_status check_quantize(const struct kiln_graph *graph, const struct kiln_node *node,
                                       struct kiln_error *error)
{
    const struct kiln_block_quantize *quantize = &node->block_quantize;
    const struct kiln_tensor *x = &graph->tensors[node->inputs[0]];
    const struct kiln_tensor *y = &graph->tensors[node->outputs[OF_Y]];
    const struct kiln_tensor *scale = &graph->tensors[node->outputs[OF_SCALE]];
    int64_t dims[KILN_MAX_RANK];
    memcpy(dims, x->dims, sizeof dims);
    dims[quantize->axis] = (x->dims[quantize->axis] - 1) / quantize->block_size + 1;
    enum kiln_status status = check_blocks(graph, node, error);
    if (status == KILN_OK)
        status = check_type(graph, node, x, is_element_type(x->dtype), error);
    if (status == KILN_OK)
        status = check_type(graph, node, y, is_element_type(y->dtype), error);
    if (status == KILN_OK)
        status = check_type(graph, node, scale, is_scale_type(scale->dtype), error);
    if (status == KILN_OK)
        status = check_shape(graph, node, y, x->dims, error);
    if (status == KILN_OK)
        status = check_shape(graph, node, scale, dims, error);
    return status;
}

const struct kiln_node_reader kiln_block_quantize_reader = {
    .read = read_quantize,
    .complete = complete_quantize,
    .check = check_quantize,
    .infer = kiln_infer_block_quantize,
};

/* ---- attributes ---- */

static void visit_quantize(struct kiln_fields *fields, struct kiln_node *node)
{
    kiln_field_u8(fields, &node->block_quantize.axis, 0, KILN_MAX_RANK);
    kiln_field_i64(fields, &node->block_quantize.block_size);
}

static void print_quantize(const struct kiln_node *node, struct kiln_buffer *buffer)
{
    kiln_buffer_printf(buffer, " blocks of %" PRId64 " along axis %" PRIu32,
                       node->block_quantize.block_size, node->block_quantize.axis);
}

const struct kiln_node_attributes kiln_block_quantize_attributes = {visit_quantize, print_quantize};
