#include "compiler/ir/import.h"
#include "compiler/ir/import_pointwise.h"
#include "compiler/ir/importer.h"
#include "compiler/ir/view.h"

/* Rounds a value of any type once to what a tensor of type `dtype` holds. */
static uint32_t to_storage(struct kiln_ir *ir, uint32_t value, enum kiln_dtype dtype)
{
    if (ir->failed)
        return KILN_NONE;
    enum kiln_scalar own = kiln_dtype_info(dtype)->scalar;
    enum kiln_scalar scalar = ir->ops[value].scalar;
    switch (dtype) {
    case KILN_DTYPE_U8:
    case KILN_DTYPE_I4:
    case KILN_DTYPE_I8: /* the conversion to int32 is to nearest and clamps, so that the second step
                           only clamps */
        return kiln_ir_round(ir, kiln_ir_convert(ir, value, own), dtype);
    case KILN_DTYPE_F16:
    case KILN_DTYPE_BF16:
    case KILN_DTYPE_F8E4M3:
    case KILN_DTYPE_F8E5M2:
    case KILN_DTYPE_F8E4M3FNUZ:
    case KILN_DTYPE_F8E5M2FNUZ:
    case KILN_DTYPE_E8M0:
    case KILN_DTYPE_F4E2M1:
    case KILN_DTYPE_F6E2M3:
    case KILN_DTYPE_F6E3M2:
        /* Integers would round twice on the way through float. */
        if (scalar == KILN_SCALAR_I32 || scalar == KILN_SCALAR_I64)
            value = kiln_ir_convert(ir, value, KILN_SCALAR_F64);
        else if (scalar == KILN_SCALAR_BOOL)
            value = kiln_ir_convert(ir, value, own);
        return kiln_ir_convert(ir, kiln_ir_round(ir, value, dtype), own);
    default:
        return kiln_ir_convert(ir, value, own);
    }
}

uint32_t kiln_importer_value(struct kiln_importer *importer, uint32_t ordinal)
{
    if (importer->values[ordinal] != KILN_NONE)
        return importer->values[ordinal];
    const struct kiln_tensor *tensor = &importer->graph->tensors[ordinal];
    enum kiln_scalar scalar = kiln_dtype_info(tensor->dtype)->scalar;
    uint32_t value;
    if (tensor->role != KILN_TENSOR_CONSTANT)
        value = kiln_ir_load(importer->ir, importer->graph, ordinal);
    else if (kiln_dtype_is_integer(tensor->dtype))
        value = kiln_ir_integer(importer->ir, scalar, tensor->constant.integer);
    else
        value = kiln_ir_real(importer->ir, scalar, tensor->constant.real);
    importer->values[ordinal] = value;
    return value;
}

uint32_t kiln_import_index(struct kiln_ir *ir, enum kiln_scalar scalar, uint32_t domain,
                           uint32_t axis_from_right)
{
    if (ir->failed)
        return KILN_NONE;
    uint32_t rank = ir->domains[domain].rank;
    if (axis_from_right >= rank)
        return kiln_ir_integer(ir, scalar, 0);
    return kiln_ir_index(ir, scalar, domain, rank - 1 - axis_from_right);
}

/* Says that `value` is the content of a tensor. A value that is so of two keeps the one with memory
 * of its own. */
static void mark(struct kiln_importer *importer, uint32_t value, uint32_t ordinal)
{
    struct kiln_op *op = &importer->ir->ops[value];
    if (op->opcode == KILN_OP_LOAD)
        return;
    if (op->tensor == KILN_NONE || importer->graph->tensors[op->tensor].role == KILN_TENSOR_VIRTUAL)
        op->tensor = ordinal;
}

void kiln_importer_define(struct kiln_importer *importer, uint32_t ordinal, uint32_t value)
{
    struct kiln_ir *ir = importer->ir;
    const struct kiln_tensor *tensor = &importer->graph->tensors[ordinal];
    uint32_t domain = kiln_ir_tensor_domain(ir, tensor);
    value = to_storage(ir, value, tensor->dtype);
    if (ir->failed)
        return;
    /* Such a value has as many elements as the tensor, so there is nothing to repeat. */
    bool is_split =
        kiln_domain_splits(&ir->domains[ir->ops[value].domain], tensor->dims, tensor->rank);
    if (!is_split)
        value = kiln_ir_broadcast(ir, value, domain);
    if (ir->failed)
        return;
    mark(importer, value, ordinal);
    importer->values[ordinal] = kiln_ir_view(ir, value, domain);
    if (tensor->role == KILN_TENSOR_OUTPUT)
        kiln_ir_store(ir, value, ordinal);
}

uint32_t kiln_import_divide(struct kiln_ir *ir, uint32_t value, int64_t count)
{
    if (ir->failed)
        return KILN_NONE;
    enum kiln_scalar scalar = ir->ops[value].scalar;
    bool power_of_two = !ir->is_general && (count & (count - 1)) == 0; /* its reciprocal is exact */
    double number = power_of_two ? 1 / (double)count : (double)count;
    return kiln_ir_binary(ir, power_of_two ? KILN_OP_MUL : KILN_OP_DIV, value,
                          kiln_ir_real(ir, scalar, number));
}

void kiln_import_pointwise_node(struct kiln_importer *importer, const struct kiln_node *node)
{
    struct kiln_ir *ir = importer->ir;
    const struct kiln_tensor *output = &importer->graph->tensors[node->outputs[0]];
    uint32_t domain = kiln_ir_tensor_domain(ir, output);
    uint32_t value;
    if (node->pointwise.mode == KILN_POINTWISE_GEN_INDEX) {
        uint32_t axis = node->pointwise.axis;
        bool is_long = output->dims[axis] > INT32_MAX;
        /* Broadcast, an axis of size 1 is a longer one, along which kernels would count. */
        if (output->dims[axis] == 1 &&
            (kiln_ir_kept_axes(ir, output) >> (output->rank - 1 - axis) & 1) == 0)
            value = kiln_ir_integer(ir, KILN_SCALAR_I32, 0);
        else
            value = kiln_import_index(ir, is_long ? KILN_SCALAR_I64 : KILN_SCALAR_I32, domain,
                                      output->rank - 1 - axis);
    } else {
        uint32_t operands[KILN_MAX_NODE_OPERANDS];
        for (uint32_t i = 0; i < node->input_count; i++) {
            operands[i] = kiln_importer_value(importer, node->inputs[i]);
            if (ir->failed)
                return;
            if (ir->domains[ir->ops[operands[i]].domain].rank != 0)
                operands[i] = kiln_ir_broadcast(ir, operands[i], domain);
        }
        enum kiln_scalar scalar = kiln_pointwise_scalar(importer->graph, node);
        value = kiln_pointwise_import(ir, &node->pointwise, scalar, operands);
    }
    kiln_importer_define(importer, node->outputs[0], value);
}

static void import_node(struct kiln_importer *importer, const struct kiln_node *node)
{
    static void (*const importers[KILN_NODE_KIND_COUNT])(struct kiln_importer *,
                                                         const struct kiln_node *) = {
#define KILN_NODE_KIND(name, text, attributes, importer, evaluator, scalar, weight)                \
    kiln_import_##importer,
#include "compiler/graph/node_kind.def"
    };
    importers[node->kind](importer, node);
}

/* Lists what the nodes make; false when memory is out. */
static bool list_results(const struct kiln_importer *importer, const uint32_t *nodes,
                         uint32_t count)
{
    const struct kiln_graph *graph = importer->graph;
    uint32_t result_count = 0;
    for (uint32_t i = 0; i < count; i++)
        result_count += graph->nodes[nodes == NULL ? i : nodes[i]].output_count;
    struct kiln_result *results =
        kiln_arena_calloc(importer->ir->arena, result_count, sizeof *results);
    if (results == NULL)
        return false;
    importer->ir->results = results;
    for (uint32_t i = 0; i < count; i++) {
        const struct kiln_node *node = &graph->nodes[nodes == NULL ? i : nodes[i]];
        for (uint32_t k = 0; k < node->output_count; k++) {
            uint32_t tensor = node->outputs[k];
            uint32_t value = importer->values[tensor];
            if (importer->ir->ops[value].opcode == KILN_OP_VIEW)
                value = importer->ir->ops[value].operands[0];
            results[importer->ir->result_count++] =
                (struct kiln_result){.tensor = tensor, .value = value};
        }
    }
    return true;
}

/* All nodes if `nodes` is NULL. */
static enum kiln_status import_nodes(const struct kiln_graph *graph, const uint32_t *nodes,
                                     uint32_t count, struct kiln_ir *ir, struct kiln_error *error)
{
    struct kiln_importer importer = {.ir = ir, .graph = graph};
    importer.values = kiln_arena_calloc(ir->arena, graph->tensor_count, sizeof *importer.values);
    if (importer.values == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory to import the graph");
    for (uint32_t i = 0; i < graph->tensor_count; i++)
        importer.values[i] = KILN_NONE;
    for (uint32_t i = 0; i < count && !ir->failed; i++) {
        ir->node = nodes == NULL ? i : nodes[i];
        import_node(&importer, &graph->nodes[ir->node]);
    }
    if (ir->failed || !list_results(&importer, nodes, count))
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory to import the graph");
    return KILN_OK;
}

enum kiln_status kiln_ir_import(const struct kiln_graph *graph, struct kiln_ir *ir,
                                struct kiln_error *error)
{
    return import_nodes(graph, NULL, graph->node_count, ir, error);
}

enum kiln_status kiln_ir_import_nodes(const struct kiln_graph *graph, const uint32_t *nodes,
                                      uint32_t count, struct kiln_ir *ir, struct kiln_error *error)
{
    return import_nodes(graph, nodes, count, ir, error);
}
