#include "compiler/graph/canonical_form.h"

/* Offsets are an input of each node that reads or writes the tensor, and tensors come first: the
 * reader of the form checks the ordinal. */
static void visit_ragged(struct kiln_fields *fields, struct kiln_ragged *ragged)
{
    bool is_ragged = ragged->multiplier != 0;
    kiln_field_bool(fields, &is_ragged);
    if (!is_ragged)
        return;
    kiln_field_u32(fields, &ragged->offsets);
    kiln_field_i64(fields, &ragged->multiplier);
    kiln_field_i64(fields, &ragged->token);
    kiln_field_i64(fields, &ragged->longest);
}

void kiln_visit_tensor(struct kiln_fields *fields, struct kiln_tensor *tensor)
{
    uint32_t role = tensor->role;
    kiln_field_dtype(fields, &tensor->dtype);
    kiln_field_u8(fields, &role, 0, KILN_TENSOR_HOST_SCALAR + 1);
    tensor->role = (enum kiln_tensor_role)role;
    kiln_field_u8(fields, &tensor->rank, 0, KILN_MAX_RANK + 1);
    kiln_field_list(fields, tensor->dims, tensor->rank);
    kiln_field_list(fields, tensor->strides, tensor->rank);
    visit_ragged(fields, &tensor->ragged);
    switch (tensor->role) {
    case KILN_TENSOR_INPUT:
    case KILN_TENSOR_OUTPUT:
        kiln_field_u32(fields, &tensor->alignment_bytes);
        break;
    case KILN_TENSOR_CONSTANT:
        if (kiln_dtype_is_integer(tensor->dtype))
            kiln_field_i64(fields, &tensor->constant.integer);
        else
            kiln_field_real(fields, &tensor->constant.real);
        break;
    case KILN_TENSOR_VIRTUAL:
    case KILN_TENSOR_HOST_SCALAR:
        break;
    }
}

static void visit_operands(struct kiln_fields *fields, uint32_t tensor_count, uint32_t count,
                           uint8_t *roles, uint32_t *operands)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t role = roles[i];
        kiln_field_u8(fields, &role, 0, KILN_OPERAND_COUNT);
        roles[i] = (uint8_t)role;
        kiln_field_u32(fields, &operands[i]);
        if (fields->reader != NULL && operands[i] >= tensor_count) {
            fields->reader->failed = true;
            operands[i] = 0;
        }
    }
}

void kiln_visit_node(struct kiln_fields *fields, uint32_t tensor_count, struct kiln_node *node)
{
    uint32_t kind = node->kind;
    kiln_field_u8(fields, &kind, 0, KILN_NODE_KIND_COUNT);
    node->kind = (enum kiln_node_kind)kind;
    kiln_field_dtype(fields, &node->compute_type);
    kiln_field_u8(fields, &node->input_count, 0, KILN_MAX_NODE_OPERANDS + 1);
    kiln_field_u8(fields, &node->output_count, 0, KILN_MAX_NODE_OPERANDS + 1);
    visit_operands(fields, tensor_count, node->input_count, node->input_roles, node->inputs);
    visit_operands(fields, tensor_count, node->output_count, node->output_roles, node->outputs);
    const struct kiln_node_attributes *attributes = kiln_node_attributes(node->kind);
    if (attributes->visit != NULL)
        attributes->visit(fields, node);
}
