/* The rule of import.h: in which type a node computes. */
#include "compiler/ir/import.h"

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

/* EPSILON and MOMENTUM set the arithmetic's parameters, not its precision. */
static bool counts(uint8_t role)
{
    return role != KILN_OPERAND_EPSILON && role != KILN_OPERAND_MOMENTUM;
}

static bool any_double(const struct kiln_graph *graph, const struct kiln_node *node)
{
    bool any = node->compute_type == KILN_DTYPE_F64;
    for (uint32_t i = 0; i < node->input_count; i++)
        any = any || (counts(node->input_roles[i]) &&
                      graph->tensors[node->inputs[i]].dtype == KILN_DTYPE_F64);
    for (uint32_t i = 0; i < node->output_count; i++)
        any = any || graph->tensors[node->outputs[i]].dtype == KILN_DTYPE_F64;
    return any;
}

static enum kiln_scalar reduction_scalar(const struct kiln_graph *graph,
                                         const struct kiln_node *node)
{
    if (any_double(graph, node))
        return KILN_SCALAR_F64;
    enum kiln_dtype in = graph->tensors[node->inputs[0]].dtype;
    enum kiln_dtype out = graph->tensors[node->outputs[0]].dtype;
    if (!kiln_reduction_mode_info(node->reduction.mode)->integer || !kiln_dtype_is_integer(in) ||
        !kiln_dtype_is_integer(out))
        return KILN_SCALAR_F32;
    return in == KILN_DTYPE_I64 || out == KILN_DTYPE_I64 ? KILN_SCALAR_I64 : KILN_SCALAR_I32;
}

/* Of matrix products and convolutions: int8 and uint8 are added up in int32, everything else that
 * is not double in float. */
static enum kiln_scalar product_scalar(const struct kiln_graph *graph, const struct kiln_node *node)
{
    if (any_double(graph, node))
        return KILN_SCALAR_F64;
    bool all_integer = kiln_dtype_is_integer(graph->tensors[node->inputs[0]].dtype) &&
                       kiln_dtype_is_integer(graph->tensors[node->inputs[1]].dtype);
    return all_integer ? KILN_SCALAR_I32 : KILN_SCALAR_F32;
}

static enum kiln_scalar real_scalar(const struct kiln_graph *graph, const struct kiln_node *node)
{
    return any_double(graph, node) ? KILN_SCALAR_F64 : KILN_SCALAR_F32;
}

enum kiln_scalar kiln_node_scalar(const struct kiln_graph *graph, const struct kiln_node *node)
{
    static enum kiln_scalar (*const rules[KILN_NODE_KIND_COUNT])(const struct kiln_graph *,
                                                                 const struct kiln_node *) = {
#define RULE_POINTWISE                                                              kiln_pointwise_scalar
#define RULE_REDUCTION                                                              reduction_scalar
#define RULE_PRODUCT                                                                product_scalar
#define RULE_REAL                                                                   real_scalar
#define KILN_NODE_KIND(name, text, attributes, importer, evaluator, scalar, weight) RULE_##scalar,
#include "compiler/graph/node_kind.def"
    };
    return rules[node->kind](graph, node);
}
