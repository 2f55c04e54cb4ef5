#include "compiler/ir/import.h"
#include "compiler/ir/import_pointwise.h"

struct importer {
    struct kiln_ir *ir;
    const struct kiln_graph *graph;
    uint32_t *values; /* per tensor: the value that is its content, KILN_NONE while unread */
};

static bool compares_or_decides(enum kiln_pointwise_mode mode)
{
    switch (mode) {
    case KILN_POINTWISE_CMP_EQ:
    case KILN_POINTWISE_CMP_GE:
    case KILN_POINTWISE_CMP_GT:
    case KILN_POINTWISE_CMP_LE:
    case KILN_POINTWISE_CMP_LT:
    case KILN_POINTWISE_CMP_NEQ:
    case KILN_POINTWISE_LOGICAL_AND:
    case KILN_POINTWISE_LOGICAL_NOT:
    case KILN_POINTWISE_LOGICAL_OR:
        return true;
    default:
        return false;
    }
}

enum kiln_scalar kiln_pointwise_scalar(const struct kiln_graph *graph, const struct kiln_node *node)
{
    enum kiln_pointwise_mode mode = node->pointwise.mode;
    enum kiln_dtype result = graph->tensors[node->outputs[0]].dtype;
    bool any_double = node->compute_type == KILN_DTYPE_F64 || result == KILN_DTYPE_F64;
    bool all_integer = true, any_int64 = false;
    /* GEN_INDEX reads no values: its operand is a shape. */
    uint32_t operand_count = mode == KILN_POINTWISE_GEN_INDEX ? 0 : node->input_count;
    for (uint32_t i = 0; i < operand_count; i++) {
        enum kiln_dtype dtype = graph->tensors[node->inputs[i]].dtype;
        any_double = any_double || dtype == KILN_DTYPE_F64;
        all_integer = all_integer && kiln_dtype_is_integer(dtype);
        any_int64 = any_int64 || dtype == KILN_DTYPE_I64;
    }
    if (all_integer && compares_or_decides(mode))
        return any_int64 ? KILN_SCALAR_I64 : KILN_SCALAR_I32;
    if (any_double)
        return KILN_SCALAR_F64;
    if (all_integer && kiln_dtype_is_integer(result) && kiln_pointwise_mode_info(mode)->integer)
        return any_int64 || result == KILN_DTYPE_I64 ? KILN_SCALAR_I64 : KILN_SCALAR_I32;
    return KILN_SCALAR_F32;
}

/* Rounds a value of any type once to what a tensor of type `dtype` holds. */
static uint32_t to_storage(struct kiln_ir *ir, uint32_t value, enum kiln_dtype dtype)
{
    if (ir->failed)
        return KILN_NONE;
    enum kiln_scalar own = kiln_dtype_info(dtype)->scalar;
    enum kiln_scalar scalar = ir->ops[value].scalar;
    switch (dtype) {
    case KILN_DTYPE_U8:
    case KILN_DTYPE_I8: /* the conversion to int32 is to nearest and clamps, so that the second step
                           only clamps */
        return kiln_ir_round(ir, kiln_ir_convert(ir, value, own), dtype);
    case KILN_DTYPE_F16:
    case KILN_DTYPE_BF16:
    case KILN_DTYPE_F8E4M3:
    case KILN_DTYPE_F8E5M2:
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

static uint32_t tensor_value(struct importer *importer, uint32_t ordinal)
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

/* The index along the output's axis; the domain has lost the leading axes of size 1. */
static uint32_t gen_index(struct kiln_ir *ir, const struct kiln_tensor *output, uint32_t domain,
                          uint32_t axis)
{
    enum kiln_scalar scalar = output->dims[axis] > INT32_MAX ? KILN_SCALAR_I64 : KILN_SCALAR_I32;
    uint32_t stripped = output->rank - ir->domains[domain].rank;
    if (axis < stripped)
        return kiln_ir_integer(ir, scalar, 0);
    return kiln_ir_index(ir, scalar, domain, axis - stripped);
}

/* Says that `value` is the content of a tensor. A value that is so of two keeps the one with memory
 * of its own. */
static void mark(struct importer *importer, uint32_t value, uint32_t ordinal)
{
    struct kiln_op *op = &importer->ir->ops[value];
    if (op->opcode == KILN_OP_LOAD)
        return;
    if (op->tensor == KILN_NONE || importer->graph->tensors[op->tensor].role == KILN_TENSOR_VIRTUAL)
        op->tensor = ordinal;
}

static void import_pointwise_node(struct importer *importer, const struct kiln_node *node)
{
    struct kiln_ir *ir = importer->ir;
    const struct kiln_tensor *output = &importer->graph->tensors[node->outputs[0]];
    uint32_t domain = kiln_ir_domain(ir, output->dims, output->rank);
    uint32_t value;
    if (node->pointwise.mode == KILN_POINTWISE_GEN_INDEX) {
        if (ir->failed)
            return;
        value = gen_index(ir, output, domain, node->pointwise.axis);
    } else {
        uint32_t operands[KILN_MAX_NODE_OPERANDS];
        for (uint32_t i = 0; i < node->input_count; i++) {
            operands[i] = tensor_value(importer, node->inputs[i]);
            if (ir->failed)
                return;
            if (ir->domains[ir->ops[operands[i]].domain].rank != 0)
                operands[i] = kiln_ir_broadcast(ir, operands[i], domain);
        }
        enum kiln_scalar scalar = kiln_pointwise_scalar(importer->graph, node);
        value = kiln_pointwise_import(ir, &node->pointwise, scalar, operands);
    }
    value = kiln_ir_broadcast(ir, to_storage(ir, value, output->dtype), domain);
    if (ir->failed)
        return;
    mark(importer, value, node->outputs[0]);
    importer->values[node->outputs[0]] = value;
    if (output->role == KILN_TENSOR_OUTPUT)
        kiln_ir_store(ir, value, node->outputs[0]);
}

enum kiln_status kiln_ir_import(const struct kiln_graph *graph, struct kiln_ir *ir,
                                struct kiln_error *error)
{
    struct importer importer = {.ir = ir, .graph = graph};
    importer.values = kiln_arena_calloc(ir->arena, graph->tensor_count, sizeof *importer.values);
    if (importer.values == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory to import the graph");
    for (uint32_t i = 0; i < graph->tensor_count; i++)
        importer.values[i] = KILN_NONE;
    for (uint32_t i = 0; i < graph->node_count && !ir->failed; i++) {
        ir->node = i;
        switch (graph->nodes[i].kind) {
        case KILN_NODE_POINTWISE:
            import_pointwise_node(&importer, &graph->nodes[i]);
            break;
        default:
            break;
        }
    }
    if (ir->failed)
        return kiln_error_set(error, KILN_NO_MEMORY, "no memory to import the graph");
    return KILN_OK;
}
