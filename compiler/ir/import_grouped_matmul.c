/*
 * Grouped matrix products are CONTRACTs whose rows, or whose k in a gradient, are divided into
 * groups by operands of offsets and indices.
 */
#include "compiler/ir/contraction.h"
#include "compiler/ir/import.h"
#include "compiler/ir/importer.h"

/* Axes of the operands, all of rank 3, counted from the right. */
enum { COLUMN_AXIS, ROW_AXIS, EXPERT_AXIS };

static const struct kiln_tensor *tensor_of(const struct kiln_importer *importer,
                                           const struct kiln_node *node, enum kiln_operand role)
{
    return &importer->graph->tensors[kiln_node_input(node, role)];
}

/* Loads the operands in the order of the IR; the first two in the type that the node computes in.
 */
static void load_operands(struct kiln_importer *importer, const struct kiln_node *node,
                          const enum kiln_operand *roles, uint32_t role_count,
                          uint32_t *ret_operands)
{
    enum kiln_scalar scalar = kiln_node_scalar(importer->graph, node);
    for (uint32_t i = 0; i < role_count; i++) {
        uint32_t tensor = kiln_node_input(node, roles[i]);
        if (tensor == KILN_NONE)
            continue;
        ret_operands[i] = kiln_importer_value(importer, tensor);
        if (i < KILN_CONTRACT_RESULT)
            ret_operands[i] = kiln_ir_convert(importer->ir, ret_operands[i], scalar);
    }
}

static void define_result(struct kiln_importer *importer, const struct kiln_node *node,
                          const uint32_t *operands, const struct kiln_contraction *contraction)
{
    const struct kiln_tensor *result = &importer->graph->tensors[node->outputs[0]];
    uint32_t domain = kiln_ir_tensor_domain(importer->ir, result);
    if (!importer->ir->failed)
        kiln_importer_define(importer, node->outputs[0],
                             kiln_ir_contract_groups(importer->ir, operands, contraction, domain));
}

void kiln_import_grouped_matmul(struct kiln_importer *importer, const struct kiln_node *node)
{
    static const enum kiln_operand roles[KILN_IR_MAX_OPERANDS] = {
        KILN_OPERAND_TOKEN, KILN_OPERAND_WEIGHT, KILN_OPERAND_FIRST_TOKEN_OFFSET,
        KILN_OPERAND_TOKEN_INDEX, KILN_OPERAND_TOKEN_KS};
    static const enum kiln_routing routings[KILN_GROUPED_MODE_COUNT] = {
        [KILN_GROUPED_NONE] = KILN_ROUTING_ROWS,
        [KILN_GROUPED_GATHER] = KILN_ROUTING_GATHER,
        [KILN_GROUPED_SCATTER] = KILN_ROUTING_SCATTER,
    };
    const struct kiln_tensor *weight = tensor_of(importer, node, KILN_OPERAND_WEIGHT);
    const struct kiln_tensor *output = &importer->graph->tensors[node->outputs[0]];
    const struct kiln_map_axis nowhere = kiln_map_axis_nowhere();
    const struct kiln_map_axis column = kiln_map_axis_along(COLUMN_AXIS);
    const struct kiln_map_axis row = kiln_map_axis_along(ROW_AXIS);
    struct kiln_contraction contraction = {.routing = routings[node->grouped_matmul.mode],
                                           .top_k = node->grouped_matmul.top_k};
    kiln_contraction_append(&contraction, KILN_AXIS_GROUP, weight->dims[0], nowhere,
                            kiln_map_axis_along(EXPERT_AXIS), nowhere);
    kiln_contraction_append(&contraction, KILN_AXIS_M, output->dims[1], row, nowhere, row);
    kiln_contraction_append(&contraction, KILN_AXIS_N, weight->dims[2], nowhere, column, column);
    kiln_contraction_append(&contraction, KILN_AXIS_K, weight->dims[1], column, row, nowhere);
    uint32_t operands[KILN_IR_MAX_OPERANDS];
    load_operands(importer, node, roles, sizeof roles / sizeof *roles, operands);
    define_result(importer, node, operands, &contraction);
}

void kiln_import_grouped_matmul_backward(struct kiln_importer *importer,
                                         const struct kiln_node *node)
{
    static const enum kiln_operand roles[] = {KILN_OPERAND_TOKEN, KILN_OPERAND_DOUTPUT,
                                              KILN_OPERAND_FIRST_TOKEN_OFFSET};
    const struct kiln_tensor *token = tensor_of(importer, node, KILN_OPERAND_TOKEN);
    const struct kiln_tensor *dweight = &importer->graph->tensors[node->outputs[0]];
    const struct kiln_map_axis nowhere = kiln_map_axis_nowhere();
    const struct kiln_map_axis column = kiln_map_axis_along(COLUMN_AXIS);
    const struct kiln_map_axis row = kiln_map_axis_along(ROW_AXIS);
    struct kiln_contraction contraction = {.routing = KILN_ROUTING_SUMS};
    kiln_contraction_append(&contraction, KILN_AXIS_BATCH, dweight->dims[0], nowhere, nowhere,
                            kiln_map_axis_along(EXPERT_AXIS));
    kiln_contraction_append(&contraction, KILN_AXIS_M, dweight->dims[1], column, nowhere, row);
    kiln_contraction_append(&contraction, KILN_AXIS_N, dweight->dims[2], nowhere, column, column);
    kiln_contraction_append(&contraction, KILN_AXIS_K, token->dims[1], row, row, nowhere);
    uint32_t operands[KILN_IR_MAX_OPERANDS];
    load_operands(importer, node, roles, sizeof roles / sizeof *roles, operands);
    define_result(importer, node, operands, &contraction);
}
