/*
 * Batch norms: inference in both forms, training, backward. Statistics are per channel, over all
 * other axes.
 */
#include "compiler/graph/node_normalization.h"

enum { CHANNEL_AXIS = 1 };

static enum kiln_status complete_batchnorm(const struct kiln_graph *graph, struct kiln_node *node,
                                           struct kiln_error *error)
{
    const struct kiln_tensor *x = &graph->tensors[kiln_node_input(node, KILN_OPERAND_X)];
    if (x->rank <= CHANNEL_AXIS)
        return kiln_reject_tensor(error, KILN_REJECT_SHAPE, graph, node, x,
                                  "x has rank %u and no axis of channels", x->rank);
    node->normalization.axes = ((1U << x->rank) - 1) & ~(1U << CHANNEL_AXIS);
    return KILN_OK;
}

/*
 * The third input is one slot with two meanings: November 2025 takes it as a variance, to which it
 * adds 1e-5, although the slot is called inv_variance (hipdnn-op-semantics.md 2.1).
 */
static enum kiln_status read_inference(struct kiln_graph_builder *builder,
                                       const struct kiln_wire_node *wire, struct kiln_node *node)
{
    enum kiln_operand statistic = builder->wire->era == KILN_WIRE_ERA_NOV2025
                                      ? KILN_OPERAND_VARIANCE
                                      : KILN_OPERAND_INV_VARIANCE;
    const struct kiln_operand_slot slots[] = {
        {.operand = KILN_OPERAND_X},     {.operand = KILN_OPERAND_MEAN},
        {.operand = (uint8_t)statistic}, {.operand = KILN_OPERAND_SCALE},
        {.operand = KILN_OPERAND_BIAS},  {.operand = KILN_OPERAND_Y, .is_output = true},
    };
    struct kiln_wire_normalization batchnorm = wire->normalization;
    batchnorm.operands[statistic] = wire->normalization.operands[KILN_OPERAND_INV_VARIANCE];
    return kiln_normalization_read(builder, batchnorm.operands, slots, sizeof slots / sizeof *slots,
                                   KILN_NODE_BATCHNORM_INFERENCE, node);
}

static enum kiln_status read_inference_variance(struct kiln_graph_builder *builder,
                                                const struct kiln_wire_node *wire,
                                                struct kiln_node *node)
{
    static const struct kiln_operand_slot slots[] = {
        {.operand = KILN_OPERAND_X},        {.operand = KILN_OPERAND_MEAN},
        {.operand = KILN_OPERAND_VARIANCE}, {.operand = KILN_OPERAND_SCALE},
        {.operand = KILN_OPERAND_BIAS},     {.operand = KILN_OPERAND_Y, .is_output = true},
        {.operand = KILN_OPERAND_EPSILON},
    };
    return kiln_normalization_read(builder, wire->normalization.operands, slots,
                                   sizeof slots / sizeof *slots, KILN_NODE_BATCHNORM_INFERENCE,
                                   node);
}

static enum kiln_status check_peers(struct kiln_graph_builder *builder,
                                    const struct kiln_wire_node *wire, const struct kiln_node *node)
{
    if (wire->normalization.peer_count == 0)
        return KILN_OK;
    return kiln_reject_node(builder->error, KILN_REJECT_PEER_STATISTICS, &builder->graph, node,
                            "statistics of %u peer devices are not supported",
                            wire->normalization.peer_count);
}

/*
 * Running statistics are updated only when all four of them are there. Previous ones without next
 * ones are not read, and momentum neither; a next one that could not be written is declined, since
 * its reader would find garbage.
 */
static enum kiln_status read_running_statistics(struct kiln_graph_builder *builder,
                                                struct kiln_wire_uid operands[KILN_OPERAND_COUNT],
                                                const struct kiln_node *node)
{
    static const enum kiln_operand running[] = {
        KILN_OPERAND_PREV_RUNNING_MEAN,
        KILN_OPERAND_PREV_RUNNING_VARIANCE,
        KILN_OPERAND_NEXT_RUNNING_MEAN,
        KILN_OPERAND_NEXT_RUNNING_VARIANCE,
    };
    enum { RUNNING = sizeof running / sizeof *running };
    const struct kiln_wire_uid *next_mean = &operands[KILN_OPERAND_NEXT_RUNNING_MEAN];
    const struct kiln_wire_uid *next_variance = &operands[KILN_OPERAND_NEXT_RUNNING_VARIANCE];
    if (!next_mean->present && !next_variance->present) {
        for (size_t i = 0; i < RUNNING; i++)
            operands[running[i]].present = false;
        operands[KILN_OPERAND_MOMENTUM].present = false;
        return KILN_OK;
    }
    for (size_t i = 0; i < RUNNING; i++) {
        if (!operands[running[i]].present)
            return kiln_reject_node(
                builder->error, KILN_REJECT_MISSING_OPERAND, &builder->graph, node,
                "operand %s without operand %s: running statistics need all four",
                next_mean->present ? "next_running_mean" : "next_running_variance",
                kiln_operand_text(running[i]));
    }
    return KILN_OK;
}

static enum kiln_status read_training(struct kiln_graph_builder *builder,
                                      const struct kiln_wire_node *wire, struct kiln_node *node)
{
    static const struct kiln_operand_slot slots[] = {
        {.operand = KILN_OPERAND_X},
        {.operand = KILN_OPERAND_SCALE},
        {.operand = KILN_OPERAND_BIAS},
        {.operand = KILN_OPERAND_EPSILON},
        {.operand = KILN_OPERAND_PREV_RUNNING_MEAN, .is_optional = true},
        {.operand = KILN_OPERAND_PREV_RUNNING_VARIANCE, .is_optional = true},
        {.operand = KILN_OPERAND_MOMENTUM, .is_optional = true},
        {.operand = KILN_OPERAND_Y, .is_output = true},
        {.operand = KILN_OPERAND_MEAN, .is_output = true, .is_optional = true},
        {.operand = KILN_OPERAND_INV_VARIANCE, .is_output = true, .is_optional = true},
        {.operand = KILN_OPERAND_NEXT_RUNNING_MEAN, .is_output = true, .is_optional = true},
        {.operand = KILN_OPERAND_NEXT_RUNNING_VARIANCE, .is_output = true, .is_optional = true},
    };
    struct kiln_wire_normalization batchnorm = wire->normalization;
    enum kiln_status status = check_peers(builder, wire, node);
    if (status == KILN_OK)
        status = read_running_statistics(builder, batchnorm.operands, node);
    if (status != KILN_OK)
        return status;
    return kiln_normalization_read(builder, batchnorm.operands, slots, sizeof slots / sizeof *slots,
                                   KILN_NODE_BATCHNORM_TRAINING, node);
}

static enum kiln_status read_backward(struct kiln_graph_builder *builder,
                                      const struct kiln_wire_node *wire, struct kiln_node *node)
{
    static const struct kiln_operand_slot slots[] = {
        {.operand = KILN_OPERAND_DY},
        {.operand = KILN_OPERAND_X},
        {.operand = KILN_OPERAND_MEAN, .is_optional = true},
        {.operand = KILN_OPERAND_INV_VARIANCE, .is_optional = true},
        {.operand = KILN_OPERAND_SCALE},
        {.operand = KILN_OPERAND_DX, .is_output = true},
        {.operand = KILN_OPERAND_DSCALE, .is_output = true},
        {.operand = KILN_OPERAND_DBIAS, .is_output = true},
    };
    const struct kiln_wire_uid *operands = wire->normalization.operands;
    enum kiln_status status = check_peers(builder, wire, node);
    if (status == KILN_OK)
        status = kiln_normalization_check_pair(builder, operands, node, KILN_OPERAND_MEAN,
                                               KILN_OPERAND_INV_VARIANCE);
    if (status != KILN_OK)
        return status;
    return kiln_normalization_read(builder, operands, slots, sizeof slots / sizeof *slots,
                                   KILN_NODE_BATCHNORM_BACKWARD, node);
}

const struct kiln_node_reader kiln_batchnorm_inference_reader = {
    .read = read_inference,
    .complete = complete_batchnorm,
    .infer = kiln_infer_normalization,
    .check = kiln_normalization_check,
};

const struct kiln_node_reader kiln_batchnorm_inference_variance_reader = {
    .read = read_inference_variance,
    .complete = complete_batchnorm,
    .infer = kiln_infer_normalization,
    .check = kiln_normalization_check,
};

const struct kiln_node_reader kiln_batchnorm_training_reader = {
    .read = read_training,
    .complete = complete_batchnorm,
    .infer = kiln_infer_normalization,
    .check = kiln_normalization_check,
};

const struct kiln_node_reader kiln_batchnorm_backward_reader = {
    .read = read_backward,
    .complete = complete_batchnorm,
    .infer = kiln_infer_normalization,
    .check = kiln_normalization_check,
};
