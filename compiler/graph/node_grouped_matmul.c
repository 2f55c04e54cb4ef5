/* Grouped matrix products of mixtures of experts, and their weight gradient. */
#include "compiler/graph/graph_builder.h"
#include "compiler/graph/node_attributes.h"

enum { MAX_GROUPS = 1 << 16 };

/* ---- reading ---- */

struct slot {
    enum kiln_operand role;
    bool is_needed;
};

static enum kiln_status read_operand(struct kiln_graph_builder *builder,
                                     const struct kiln_wire_grouped_matmul *wire,
                                     const struct slot *slot, struct kiln_node *node)
{
    const struct kiln_wire_uid *uid = &wire->operands[slot->role];
    const char *text = kiln_operand_text(slot->role);
    if (!uid->present && !slot->is_needed)
        return KILN_OK;
    if (!uid->present)
        return kiln_reject_node(builder->error, KILN_REJECT_MISSING_OPERAND, &builder->graph, node,
                                "the operand %s is missing", text);
    if (!slot->is_needed)
        return kiln_reject_node(builder->error, KILN_REJECT_SHAPE, &builder->graph, node,
                                "the operand %s is given, but the mode has none", text);
    node->input_roles[node->input_count] = (uint8_t)slot->role;
    return kiln_uid_resolve(builder, node, text, uid->uid, &node->inputs[node->input_count++]);
}

static enum kiln_status read_output(struct kiln_graph_builder *builder,
                                    const struct kiln_wire_grouped_matmul *wire,
                                    enum kiln_operand role, struct kiln_node *node)
{
    node->output_count = 1;
    node->output_roles[0] = (uint8_t)role;
    return kiln_uid_resolve(builder, node, kiln_operand_text(role), wire->operands[role].uid,
                            &node->outputs[0]);
}

static enum kiln_status read_grouped_matmul(struct kiln_graph_builder *builder,
                                            const struct kiln_wire_node *wire_node,
                                            struct kiln_node *node)
{
    const struct kiln_wire_grouped_matmul *wire = &wire_node->grouped_matmul;
    node->kind = KILN_NODE_GROUPED_MATMUL;
    if (wire->mode > KILN_WIRE_GROUPED_SCATTER)
        return kiln_reject_node(builder->error, KILN_REJECT_UNKNOWN_MODE, &builder->graph, node,
                                "mode %u is unknown", wire->mode);
    bool scatters = wire->mode == KILN_WIRE_GROUPED_SCATTER;
    const struct slot slots[] = {
        {KILN_OPERAND_TOKEN, true},
        {KILN_OPERAND_WEIGHT, true},
        {KILN_OPERAND_FIRST_TOKEN_OFFSET, true},
        {KILN_OPERAND_TOKEN_INDEX, wire->mode != KILN_WIRE_GROUPED_NONE},
        {KILN_OPERAND_TOKEN_KS, scatters},
    };
    node->grouped_matmul.mode = (enum kiln_grouped_mode)wire->mode;
    if (scatters ? wire->top_k < 1 : wire->top_k != 0)
        return kiln_reject_node(builder->error, KILN_REJECT_SHAPE, &builder->graph, node,
                                "top_k is %d, must be %s", (int)wire->top_k,
                                scatters ? "at least 1" : "0 where nothing is scattered");
    node->grouped_matmul.top_k = (uint32_t)wire->top_k;
    enum kiln_status status = KILN_OK;
    for (size_t i = 0; status == KILN_OK && i < sizeof slots / sizeof *slots; i++)
        status = read_operand(builder, wire, &slots[i], node);
    return status == KILN_OK ? read_output(builder, wire, KILN_OPERAND_OUTPUT, node) : status;
}

static enum kiln_status read_gradient(struct kiln_graph_builder *builder,
                                      const struct kiln_wire_node *wire_node,
                                      struct kiln_node *node)
{
    static const struct slot slots[] = {
        {KILN_OPERAND_DOUTPUT, true},
        {KILN_OPERAND_TOKEN, true},
        {KILN_OPERAND_FIRST_TOKEN_OFFSET, true},
    };
    const struct kiln_wire_grouped_matmul *wire = &wire_node->grouped_matmul;
    node->kind = KILN_NODE_GROUPED_MATMUL_BACKWARD;
    enum kiln_status status = KILN_OK;
    for (size_t i = 0; status == KILN_OK && i < sizeof slots / sizeof *slots; i++)
        status = read_operand(builder, wire, &slots[i], node);
    return status == KILN_OK ? read_output(builder, wire, KILN_OPERAND_DWEIGHT, node) : status;
}

/* ---- shapes ---- */

struct view {
    const struct kiln_graph *graph;
    const struct kiln_node *node;
    struct kiln_error *error;
};

/* The tensor of a role; NULL if it is absent. */
static const struct kiln_tensor *tensor_of(const struct view *view, enum kiln_operand role)
{
    uint32_t ordinal = kiln_node_input(view->node, role);
    if (ordinal == KILN_NONE)
        ordinal = kiln_node_output(view->node, role);
    return ordinal == KILN_NONE ? NULL : &view->graph->tensors[ordinal];
}

/* A size that a tensor must have, and whose it is. -1: any. */
struct wanted {
    int64_t size;
    const char *whose;
};

static enum kiln_status check_shape(const struct view *view, const struct kiln_tensor *tensor,
                                    const struct wanted wanted[3])
{
    if (tensor->rank != 3)
        return kiln_reject_tensor(view->error, KILN_REJECT_SHAPE, view->graph, view->node, tensor,
                                  "rank %u, must be 3 in a grouped product", tensor->rank);
    for (uint32_t axis = 0; axis < 3; axis++) {
        if (wanted[axis].size >= 0 && tensor->dims[axis] != wanted[axis].size)
            return kiln_reject_tensor(view->error, KILN_REJECT_SHAPE, view->graph, view->node,
                                      tensor, "dimension %u is %lld, must be %lld%s", axis,
                                      (long long)tensor->dims[axis], (long long)wanted[axis].size,
                                      wanted[axis].whose);
        if (tensor->dims[axis] > INT32_MAX)
            return kiln_reject_tensor(view->error, KILN_REJECT_TOO_LARGE, view->graph, view->node,
                                      tensor,
                                      "dimension %u is %lld, at most %d in a grouped "
                                      "product",
                                      axis, (long long)tensor->dims[axis], INT32_MAX);
    }
    return KILN_OK;
}

static enum kiln_status check_factor(const struct view *view, const struct kiln_tensor *factor,
                                     const struct wanted wanted[3])
{
    if (!kiln_dtype_is_factor(factor->dtype))
        return kiln_reject_tensor(view->error, KILN_REJECT_UNSUPPORTED_TYPE, view->graph,
                                  view->node, factor, "type %s has no rule in a matrix product",
                                  kiln_dtype_info(factor->dtype)->text);
    return check_shape(view, factor, wanted);
}

/* Offsets and indices: kernels read them wherever they need them. */
static enum kiln_status check_integers(const struct view *view, const struct kiln_tensor *tensor,
                                       const struct wanted wanted[3])
{
    if (tensor->dtype != KILN_DTYPE_I32)
        return kiln_reject_tensor(view->error, KILN_REJECT_UNSUPPORTED_TYPE, view->graph,
                                  view->node, tensor, "type %s, offsets and indices must be int32",
                                  kiln_dtype_info(tensor->dtype)->text);
    if (tensor->role != KILN_TENSOR_INPUT)
        return kiln_reject_tensor(view->error, KILN_REJECT_UNSUPPORTED_NODE, view->graph,
                                  view->node, tensor,
                                  "offsets and indices must be inputs of the graph in memory");
    return check_shape(view, tensor, wanted);
}

static enum kiln_status check_groups(const struct view *view, int64_t experts)
{
    const struct kiln_tensor *offsets = tensor_of(view, KILN_OPERAND_FIRST_TOKEN_OFFSET);
    const struct wanted wanted[] = {{-1, ""}, {1, ""}, {1, ""}};
    enum kiln_status status = check_integers(view, offsets, wanted);
    if (status != KILN_OK)
        return status;
    bool is_gradient = view->node->kind == KILN_NODE_GROUPED_MATMUL_BACKWARD;
    int64_t groups = offsets->dims[0];
    if (is_gradient ? groups != experts : groups % experts != 0)
        return kiln_reject_tensor(view->error, KILN_REJECT_SHAPE, view->graph, view->node, offsets,
                                  "dimension 0 is %lld, must be %s the %lld experts",
                                  (long long)groups, is_gradient ? "that of" : "a multiple of",
                                  (long long)experts);
    if (groups > MAX_GROUPS)
        return kiln_reject_tensor(view->error, KILN_REJECT_TOO_LARGE, view->graph, view->node,
                                  offsets, "%lld groups, at most %d are supported",
                                  (long long)groups, MAX_GROUPS);
    return KILN_OK;
}

/* Kernels and plans count the terms in 63 bits. */
static enum kiln_status check_terms(const struct view *view, int64_t rows, int64_t k, int64_t n)
{
    int64_t terms;
    if (__builtin_mul_overflow(rows, k, &terms) || __builtin_mul_overflow(terms, n, &terms))
        return kiln_reject_node(view->error, KILN_REJECT_TOO_LARGE, view->graph, view->node,
                                "the product has more than 2^63 terms");
    return KILN_OK;
}

static enum kiln_status check_indices(const struct view *view, int64_t rows)
{
    const enum kiln_operand roles[] = {KILN_OPERAND_TOKEN_INDEX, KILN_OPERAND_TOKEN_KS};
    const struct wanted wanted[] = {{1, ""}, {rows, ", a row of the output each"}, {1, ""}};
    enum kiln_status status = KILN_OK;
    for (size_t i = 0; status == KILN_OK && i < sizeof roles / sizeof *roles; i++) {
        const struct kiln_tensor *tensor = tensor_of(view, roles[i]);
        if (tensor != NULL)
            status = check_integers(view, tensor, wanted);
    }
    return status;
}

static enum kiln_status check_grouped_matmul(const struct kiln_graph *graph,
                                             const struct kiln_node *node, struct kiln_error *error)
{
    const struct view view = {graph, node, error};
    const struct kiln_tensor *token = tensor_of(&view, KILN_OPERAND_TOKEN);
    const struct kiln_tensor *weight = tensor_of(&view, KILN_OPERAND_WEIGHT);
    const struct kiln_tensor *output = tensor_of(&view, KILN_OPERAND_OUTPUT);
    const struct wanted of_token[] = {{1, ""}, {-1, ""}, {-1, ""}};
    enum kiln_status status = check_factor(&view, token, of_token);
    if (status != KILN_OK)
        return status;
    const struct wanted of_weight[] = {
        {-1, ""}, {token->dims[2], ", that of the tokens"}, {-1, ""}};
    status = check_factor(&view, weight, of_weight);
    if (status != KILN_OK)
        return status;
    bool gathers = node->grouped_matmul.mode == KILN_GROUPED_GATHER;
    const struct wanted of_output[] = {{1, ""},
                                       {gathers ? -1 : token->dims[1], ", that of the tokens"},
                                       {weight->dims[2], ", that of the weights"}};
    status = check_shape(&view, output, of_output);
    if (status == KILN_OK)
        status = check_groups(&view, weight->dims[0]);
    if (status == KILN_OK)
        status = check_indices(&view, output->dims[1]);
    if (status == KILN_OK && node->grouped_matmul.top_k > weight->dims[0])
        status = kiln_reject_node(error, KILN_REJECT_SHAPE, graph, node,
                                  "top_k is %u, at most the %lld experts",
                                  (unsigned)node->grouped_matmul.top_k, (long long)weight->dims[0]);
    return status == KILN_OK ? check_terms(&view, output->dims[1], weight->dims[1], weight->dims[2])
                             : status;
}

static enum kiln_status check_gradient(const struct kiln_graph *graph, const struct kiln_node *node,
                                       struct kiln_error *error)
{
    const struct view view = {graph, node, error};
    const struct kiln_tensor *token = tensor_of(&view, KILN_OPERAND_TOKEN);
    const struct kiln_tensor *doutput = tensor_of(&view, KILN_OPERAND_DOUTPUT);
    const struct kiln_tensor *dweight = tensor_of(&view, KILN_OPERAND_DWEIGHT);
    const struct wanted of_token[] = {{1, ""}, {-1, ""}, {-1, ""}};
    enum kiln_status status = check_factor(&view, token, of_token);
    if (status != KILN_OK)
        return status;
    const struct wanted of_doutput[] = {
        {1, ""}, {token->dims[1], ", that of the tokens"}, {-1, ""}};
    status = check_factor(&view, doutput, of_doutput);
    if (status != KILN_OK)
        return status;
    const struct wanted of_dweight[] = {{-1, ""},
                                        {token->dims[2], ", that of the tokens"},
                                        {doutput->dims[2], ", that of the gradient"}};
    status = check_shape(&view, dweight, of_dweight);
    if (status == KILN_OK)
        status = check_groups(&view, dweight->dims[0]);
    return status == KILN_OK ? check_terms(&view, token->dims[1], kiln_tensor_elements(dweight), 1)
                             : status;
}

const struct kiln_node_reader kiln_grouped_matmul_reader = {
    .read = read_grouped_matmul,
    .check = check_grouped_matmul,
    .infer = kiln_infer_grouped_matmul,
};

const struct kiln_node_reader kiln_grouped_matmul_backward_reader = {
    .read = read_gradient,
    .check = check_gradient,
    .infer = kiln_infer_grouped_matmul,
};

/* ---- attributes ---- */

static void visit_grouped_matmul(struct kiln_fields *fields, struct kiln_node *node)
{
    struct kiln_grouped_matmul *grouped = &node->grouped_matmul;
    uint32_t mode = grouped->mode;
    kiln_field_u8(fields, &mode, 0, KILN_GROUPED_MODE_COUNT);
    grouped->mode = (enum kiln_grouped_mode)mode;
    if (grouped->mode == KILN_GROUPED_SCATTER)
        kiln_field_u32(fields, &grouped->top_k);
}

static void print_grouped_matmul(const struct kiln_node *node, struct kiln_buffer *buffer)
{
    static const char *const modes[] = {
        [KILN_GROUPED_NONE] = "", [KILN_GROUPED_GATHER] = " GATHER", [KILN_GROUPED_SCATTER] = ""};
    kiln_buffer_append_text(buffer, modes[node->grouped_matmul.mode]);
    if (node->grouped_matmul.mode == KILN_GROUPED_SCATTER)
        kiln_buffer_printf(buffer, " SCATTER top_k %u", (unsigned)node->grouped_matmul.top_k);
}

const struct kiln_node_attributes kiln_grouped_matmul_attributes = {visit_grouped_matmul,
                                                                    print_grouped_matmul};
