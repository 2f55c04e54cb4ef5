/*
 * What norms and batch norms have in common: operands by role, and their shapes. Every operand is
 * X's shape on some of X's axes and 1 on the others, or one element.
 */
#include "compiler/graph/node_normalization.h"
#include "compiler/graph/node_attributes.h"

enum { ALL_AXES = (1 << KILN_MAX_RANK) - 1 };

enum kiln_status kiln_normalization_read(struct kiln_graph_builder *builder,
                                         const struct kiln_wire_uid operands[KILN_OPERAND_COUNT],
                                         const struct kiln_operand_slot *slots, size_t slot_count,
                                         enum kiln_node_kind kind, struct kiln_node *node)
{
    node->kind = kind;
    node->normalization = (struct kiln_normalization){.epsilon = 1e-5, .momentum = 0.1};
    for (size_t i = 0; i < slot_count; i++) {
        const struct kiln_operand_slot *slot = &slots[i];
        const struct kiln_wire_uid *wire = &operands[slot->operand];
        const char *name = kiln_operand_text((enum kiln_operand)slot->operand);
        if (!wire->present && slot->is_optional)
            continue;
        if (!wire->present)
            return kiln_reject_node(builder->error, KILN_REJECT_MISSING_OPERAND, &builder->graph,
                                    node, "operand %s is missing", name);
        uint32_t tensor;
        enum kiln_status status = kiln_uid_resolve(builder, node, name, wire->uid, &tensor);
        if (status != KILN_OK)
            return status;
        if (slot->is_output) {
            node->output_roles[node->output_count] = slot->operand;
            node->outputs[node->output_count++] = tensor;
        } else {
            node->input_roles[node->input_count] = slot->operand;
            node->inputs[node->input_count++] = tensor;
        }
    }
    return KILN_OK;
}

bool kiln_normalization_is_uid_zero(const struct kiln_graph_builder *builder,
                                    const struct kiln_wire_uid operands[KILN_OPERAND_COUNT],
                                    enum kiln_operand operand)
{
    for (uint32_t i = 0; i < KILN_OPERAND_COUNT; i++) {
        if (i != operand && operands[i].present && operands[i].uid == 0)
            return false;
    }
    return kiln_uid_find(builder, 0) != KILN_NONE;
}

enum kiln_status kiln_normalization_check_phase(struct kiln_graph_builder *builder,
                                                const struct kiln_wire_node *wire,
                                                const struct kiln_node *node)
{
    if (wire->normalization.forward_phase <= KILN_WIRE_PHASE_TRAINING)
        return KILN_OK;
    return kiln_reject_node(builder->error, KILN_REJECT_UNKNOWN_MODE, &builder->graph, node,
                            "forward phase %u is unknown", wire->normalization.forward_phase);
}

enum kiln_status kiln_normalization_check_pair(
    struct kiln_graph_builder *builder, const struct kiln_wire_uid operands[KILN_OPERAND_COUNT],
    const struct kiln_node *node, enum kiln_operand left, enum kiln_operand right)
{
    if (operands[left].present == operands[right].present)
        return KILN_OK;
    enum kiln_operand given = operands[left].present ? left : right;
    return kiln_reject_node(builder->error, KILN_REJECT_MISSING_OPERAND, &builder->graph, node,
                            "operand %s without operand %s", kiln_operand_text(given),
                            kiln_operand_text(given == left ? right : left));
}

uint32_t kiln_normalization_matching_axes(const struct kiln_tensor *x,
                                          const struct kiln_tensor *tensor)
{
    uint32_t limit = x->rank < tensor->rank ? x->rank : tensor->rank;
    uint32_t count = 0;
    while (count < limit && x->dims[x->rank - 1 - count] == tensor->dims[tensor->rank - 1 - count])
        count++;
    return count;
}

static bool is_batchnorm(const struct kiln_node *node)
{
    return node->kind == KILN_NODE_BATCHNORM_INFERENCE ||
           node->kind == KILN_NODE_BATCHNORM_TRAINING || node->kind == KILN_NODE_BATCHNORM_BACKWARD;
}

/* One operand of a node, for the checks and their sentences. */
struct operand {
    const struct kiln_graph *graph;
    const struct kiln_node *node;
    struct kiln_error *error;
    const struct kiln_tensor *x;
    const struct kiln_tensor *tensor;
    const char *name;
};

static enum kiln_status check_same_shape(const struct operand *operand)
{
    const struct kiln_tensor *x = operand->x;
    const struct kiln_tensor *tensor = operand->tensor;
    if (tensor->rank != x->rank)
        return kiln_reject_tensor(operand->error, KILN_REJECT_SHAPE, operand->graph, operand->node,
                                  tensor, "%s has rank %u, must have x's rank %u", operand->name,
                                  tensor->rank, x->rank);
    for (uint32_t i = 0; i < x->rank; i++) {
        if (tensor->dims[i] != x->dims[i])
            return kiln_reject_tensor(
                operand->error, KILN_REJECT_SHAPE, operand->graph, operand->node, tensor,
                "dimension %u of %s is %lld, must be x's %lld", i, operand->name,
                (long long)tensor->dims[i], (long long)x->dims[i]);
    }
    return KILN_OK;
}

static enum kiln_status check_one_element(const struct operand *operand)
{
    if (kiln_tensor_elements(operand->tensor) == 1)
        return KILN_OK;
    return kiln_reject_tensor(operand->error, KILN_REJECT_SHAPE, operand->graph, operand->node,
                              operand->tensor, "%s must have one element", operand->name);
}

/*
 * Right-aligned against x: x's size on `axes`, 1 on the others. Axes that the operand does not have
 * count as 1. An operand that may broadcast may have 1 everywhere.
 */
static enum kiln_status check_shape_on_axes(const struct operand *operand, uint32_t axes,
                                            bool may_broadcast)
{
    const struct kiln_tensor *x = operand->x;
    const struct kiln_tensor *tensor = operand->tensor;
    if (tensor->rank > x->rank)
        return kiln_reject_tensor(operand->error, KILN_REJECT_SHAPE, operand->graph, operand->node,
                                  tensor, "%s has rank %u, above x's rank %u", operand->name,
                                  tensor->rank, x->rank);
    uint32_t missing = x->rank - tensor->rank;
    for (uint32_t i = 0; i < x->rank; i++) {
        int64_t wanted = (axes >> i & 1) != 0 ? x->dims[i] : 1;
        int64_t dim = i < missing ? 1 : tensor->dims[i - missing];
        if (dim == wanted || (dim == 1 && may_broadcast))
            continue;
        return kiln_reject_tensor(operand->error, KILN_REJECT_SHAPE, operand->graph, operand->node,
                                  tensor, "%s has %lld along axis %u of x, must have %lld",
                                  operand->name, (long long)dim, i, (long long)wanted);
    }
    return KILN_OK;
}

/* The axes of x along which scale, bias and their gradients have x's size. */
static uint32_t affine_axes(const struct operand *operand)
{
    const struct kiln_node *node = operand->node;
    uint32_t reduced = node->normalization.axes;
    if (is_batchnorm(node))
        return ALL_AXES & ~reduced;
    if (node->kind != KILN_NODE_RMSNORM && node->kind != KILN_NODE_RMSNORM_BACKWARD)
        return reduced;
    /* The scale of an RMSNorm may have all of x's sizes, the batch's too. */
    const struct kiln_tensor *scale =
        &operand->graph->tensors[kiln_node_input(node, KILN_OPERAND_SCALE)];
    uint32_t matching = kiln_normalization_matching_axes(operand->x, scale);
    return matching == operand->x->rank ? ALL_AXES : reduced;
}

static enum kiln_status check_shape(const struct operand *operand, enum kiln_operand role)
{
    const struct kiln_node *node = operand->node;
    uint32_t kept = ALL_AXES & ~node->normalization.axes;
    uint32_t affine = affine_axes(operand);
    /* Gradients are summed to exactly the shape of what they are gradients of. */
    bool is_forward = kiln_node_output(node, KILN_OPERAND_DSCALE) == KILN_NONE;
    switch (role) {
    case KILN_OPERAND_DY:
    case KILN_OPERAND_Y:
    case KILN_OPERAND_DX:
        return check_same_shape(operand);
    case KILN_OPERAND_SCALE:
    case KILN_OPERAND_BIAS:
        return check_shape_on_axes(operand, affine, is_forward);
    case KILN_OPERAND_DSCALE:
    case KILN_OPERAND_DBIAS:
        return check_shape_on_axes(operand, affine, false);
    case KILN_OPERAND_PREV_RUNNING_MEAN:
    case KILN_OPERAND_PREV_RUNNING_VARIANCE:
    case KILN_OPERAND_MEAN:
    case KILN_OPERAND_VARIANCE:
    case KILN_OPERAND_INV_VARIANCE:
    case KILN_OPERAND_INV_RMS:
    case KILN_OPERAND_NEXT_RUNNING_MEAN:
    case KILN_OPERAND_NEXT_RUNNING_VARIANCE:
        return check_shape_on_axes(operand, kept, false);
    case KILN_OPERAND_EPSILON:
    case KILN_OPERAND_MOMENTUM:
        return check_one_element(operand);
    default:
        return KILN_OK; /* x */
    }
}

static enum kiln_status check_operand(const struct kiln_graph *graph, const struct kiln_node *node,
                                      uint32_t tensor, uint8_t role, struct kiln_error *error)
{
    const struct operand operand = {
        .graph = graph,
        .node = node,
        .error = error,
        .x = &graph->tensors[kiln_node_input(node, KILN_OPERAND_X)],
        .tensor = &graph->tensors[tensor],
        .name = kiln_operand_text((enum kiln_operand)role),
    };
    enum kiln_dtype dtype = operand.tensor->dtype;
    if (kiln_dtype_is_integer(dtype))
        return kiln_reject_tensor(error, KILN_REJECT_UNSUPPORTED_TYPE, graph, node, operand.tensor,
                                  "%s of data type %s is not supported", operand.name,
                                  kiln_dtype_info(dtype)->text);
    return check_shape(&operand, (enum kiln_operand)role);
}

enum kiln_status kiln_normalization_check(const struct kiln_graph *graph,
                                          const struct kiln_node *node, struct kiln_error *error)
{
    enum kiln_status status = KILN_OK;
    for (uint32_t i = 0; status == KILN_OK && i < node->input_count; i++)
        status = check_operand(graph, node, node->inputs[i], node->input_roles[i], error);
    for (uint32_t i = 0; status == KILN_OK && i < node->output_count; i++)
        status = check_operand(graph, node, node->outputs[i], node->output_roles[i], error);
    return status;
}

/* Epsilon and momentum are stored where no operand has them. */
static void visit_normalization(struct kiln_fields *fields, struct kiln_node *node)
{
    kiln_field_u32(fields, &node->normalization.axes);
    if (kiln_node_input(node, KILN_OPERAND_EPSILON) == KILN_NONE)
        kiln_field_real(fields, &node->normalization.epsilon);
    if (kiln_node_input(node, KILN_OPERAND_MOMENTUM) == KILN_NONE)
        kiln_field_real(fields, &node->normalization.momentum);
}

/* Epsilon and momentum where they are no operands and are read. */
static void print_normalization(const struct kiln_node *node, struct kiln_buffer *buffer)
{
    bool has_statistics = kiln_node_input(node, KILN_OPERAND_INV_VARIANCE) != KILN_NONE ||
                          kiln_node_input(node, KILN_OPERAND_INV_RMS) != KILN_NONE;
    bool has_running = kiln_node_output(node, KILN_OPERAND_NEXT_RUNNING_MEAN) != KILN_NONE;
    kiln_print_axes(buffer, node->normalization.axes);
    if (!has_statistics && kiln_node_input(node, KILN_OPERAND_EPSILON) == KILN_NONE)
        kiln_buffer_printf(buffer, " epsilon %.9g", node->normalization.epsilon);
    if (has_running && kiln_node_input(node, KILN_OPERAND_MOMENTUM) == KILN_NONE)
        kiln_buffer_printf(buffer, " momentum %.9g", node->normalization.momentum);
}

const struct kiln_node_attributes kiln_normalization_attributes = {visit_normalization,
                                                                   print_normalization};
