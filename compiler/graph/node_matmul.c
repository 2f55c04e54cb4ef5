/* Matrix products: no attributes; shapes and strides say which. */
#include "compiler/graph/graph_builder.h"
#include "compiler/graph/node_attributes.h"

static enum kiln_status read_matmul(struct kiln_graph_builder *builder,
                                    const struct kiln_wire_node *wire_node, struct kiln_node *node)
{
    const struct kiln_wire_matmul *wire = &wire_node->matmul;
    node->kind = KILN_NODE_MATMUL;
    node->input_count = 2;
    node->output_count = 1;
    node->input_roles[0] = KILN_OPERAND_A;
    node->input_roles[1] = KILN_OPERAND_B;
    node->output_roles[0] = KILN_OPERAND_C;
    enum kiln_status status = kiln_uid_resolve(builder, node, "a", wire->a, &node->inputs[0]);
    if (status == KILN_OK)
        status = kiln_uid_resolve(builder, node, "b", wire->b, &node->inputs[1]);
    if (status == KILN_OK)
        status = kiln_uid_resolve(builder, node, "c", wire->c, &node->outputs[0]);
    return status;
}

bool kiln_dtype_is_factor(enum kiln_dtype dtype)
{
    return !kiln_dtype_is_integer(dtype) || dtype == KILN_DTYPE_I4 || dtype == KILN_DTYPE_I8 ||
           dtype == KILN_DTYPE_U8;
}

static enum kiln_status check_factor(const struct kiln_graph *graph, const struct kiln_node *node,
                                     uint32_t input, struct kiln_error *error)
{
    const struct kiln_tensor *factor = &graph->tensors[node->inputs[input]];
    const struct kiln_tensor *c = &graph->tensors[node->outputs[0]];
    if (!kiln_dtype_is_factor(factor->dtype))
        return kiln_reject_tensor(error, KILN_REJECT_UNSUPPORTED_TYPE, graph, node, factor,
                                  "type %s has no rule in a matrix product",
                                  kiln_dtype_info(factor->dtype)->text);
    if (factor->rank != c->rank)
        return kiln_reject_tensor(error, KILN_REJECT_SHAPE, graph, node, factor,
                                  "rank %u, must be the result's rank %u", factor->rank, c->rank);
    for (uint32_t i = 0; i + 2 < c->rank; i++) {
        if (c->dims[i] % factor->dims[i] != 0)
            return kiln_reject_tensor(error, KILN_REJECT_BROADCAST, graph, node, factor,
                                      "batch dimension %u is %lld, must divide the result's %lld",
                                      i, (long long)factor->dims[i], (long long)c->dims[i]);
    }
    return KILN_OK;
}

static enum kiln_status check_dimension(const struct kiln_graph *graph,
                                        const struct kiln_node *node,
                                        const struct kiln_tensor *tensor, uint32_t axis,
                                        int64_t wanted, const char *whose, struct kiln_error *error)
{
    if (tensor->dims[axis] == wanted)
        return KILN_OK;
    return kiln_reject_tensor(error, KILN_REJECT_SHAPE, graph, node, tensor,
                              "dimension %u is %lld, must be %s %lld", axis,
                              (long long)tensor->dims[axis], whose, (long long)wanted);
}

/* Kernels count rows, columns and matrices in 32 bits. */
static enum kiln_status check_sizes(const struct kiln_graph *graph, const struct kiln_node *node,
                                    struct kiln_error *error)
{
    const struct kiln_tensor *a = &graph->tensors[node->inputs[0]];
    const struct kiln_tensor *c = &graph->tensors[node->outputs[0]];
    const struct {
        const struct kiln_tensor *tensor;
        uint32_t axis;
    } sizes[] = {{c, c->rank - 2}, {c, c->rank - 1}, {a, c->rank - 1}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int64_t size = sizes[i].tensor->dims[sizes[i].axis];
        if (size > INT32_MAX)
            return kiln_reject_tensor(error, KILN_REJECT_TOO_LARGE, graph, node, sizes[i].tensor,
                                      "dimension %u is %lld, at most %d in a matrix product",
                                      sizes[i].axis, (long long)size, INT32_MAX);
    }
    if (kiln_tensor_elements(c) / c->dims[c->rank - 1] / c->dims[c->rank - 2] > INT32_MAX)
        return kiln_reject_tensor(error, KILN_REJECT_TOO_LARGE, graph, node, c,
                                  "a batch of more than %d matrices", INT32_MAX);
    return KILN_OK;
}

static enum kiln_status check_matmul(const struct kiln_graph *graph, const struct kiln_node *node,
                                     struct kiln_error *error)
{
    const struct kiln_tensor *a = &graph->tensors[node->inputs[0]];
    const struct kiln_tensor *b = &graph->tensors[node->inputs[1]];
    const struct kiln_tensor *c = &graph->tensors[node->outputs[0]];
    if (c->rank < 2)
        return kiln_reject_tensor(error, KILN_REJECT_SHAPE, graph, node, c,
                                  "rank %u, a matrix product has at least 2", c->rank);
    uint32_t row = c->rank - 2;
    uint32_t column = c->rank - 1;
    enum kiln_status status = check_factor(graph, node, 0, error);
    if (status == KILN_OK)
        status = check_factor(graph, node, 1, error);
    if (status == KILN_OK)
        status =
            check_dimension(graph, node, b, row, a->dims[column], "the inner size of A,", error);
    if (status == KILN_OK)
        status = check_dimension(graph, node, c, row, a->dims[row], "the rows of A,", error);
    if (status == KILN_OK)
        status =
            check_dimension(graph, node, c, column, b->dims[column], "the columns of B,", error);
    if (status == KILN_OK)
        status = check_sizes(graph, node, error);
    /* What a product iterates over, M times N times K in all batches, is counted in 63 bits. */
    int64_t points;
    if (status == KILN_OK &&
        __builtin_mul_overflow(kiln_tensor_elements(c), a->dims[column], &points))
        status = kiln_reject_node(error, KILN_REJECT_TOO_LARGE, graph, node,
                                  "the product has more than 2^63 terms");
    return status;
}

const struct kiln_node_reader kiln_matmul_reader = {
    .read = read_matmul,
    .infer = kiln_infer_matmul,
    .check = check_matmul,
};

/* Shapes say everything. */
const struct kiln_node_attributes kiln_matmul_attributes = {NULL, NULL};
