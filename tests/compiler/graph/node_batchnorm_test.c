/* Batchnorm nodes of both layouts: operands, axes, what is left out, reasons to decline. */
#include "graph_sketch.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

TestSuite(node_batchnorm);

static const enum kiln_wire_era old_era = KILN_WIRE_ERA_NOV2025;
static const enum kiln_wire_era new_era = KILN_WIRE_ERA_CURRENT;

#define INFERENCE                                                                                  \
    "BatchnormInference x=2,8,6,5 mean=1,8,1,1 inv_variance=1,8,1,1 scale=1,8,1,1 "                \
    "bias=1,8,1,1 y=2,8,6,5"
#define TRAINING                                                                                   \
    "Batchnorm x=2,8,6,5 scale=1,8,1,1 bias=1,8,1,1 epsilon=k y=2,8,6,5 mean=1,8,1,1 "             \
    "inv_variance=1,8,1,1"
#define PREVIOUS " prev_running_mean=1,8,1,1 prev_running_variance=1,8,1,1"
#define NEXT     " next_running_mean=1,8,1,1 next_running_variance=1,8,1,1"
#define BACKWARD                                                                                   \
    "BatchnormBackward dy=2,8,6,5 x=2,8,6,5 scale=1,8,1,1 dx=2,8,6,5 dscale=1,8,1,1 dbias=1,8,1,1"
#define STATISTICS " mean=1,8,1,1 inv_variance=1,8,1,1"

/* One slot, two meanings. */
Test(node_batchnorm, the_third_input_of_inference_is_a_variance_in_the_older_layout)
{
    struct json_graph read;
    graph_sketch_accept(&read, INFERENCE, &old_era);
    const struct kiln_node *node = &read.graph.nodes[0];
    cr_assert_eq(node->kind, KILN_NODE_BATCHNORM_INFERENCE);
    cr_assert_eq(kiln_node_input(node, KILN_OPERAND_VARIANCE), 2);
    cr_assert_eq(kiln_node_input(node, KILN_OPERAND_INV_VARIANCE), KILN_NONE);
    cr_assert_eq(kiln_node_input(node, KILN_OPERAND_EPSILON), KILN_NONE);
    cr_assert_eq(node->normalization.epsilon, 1e-5);
    cr_assert_eq(node->normalization.axes, 0xd);
    json_graph_fini(&read);

    graph_sketch_accept(&read, INFERENCE, &new_era);
    node = &read.graph.nodes[0];
    cr_assert_eq(node->kind, KILN_NODE_BATCHNORM_INFERENCE);
    cr_assert_eq(kiln_node_input(node, KILN_OPERAND_INV_VARIANCE), 2);
    cr_assert_eq(kiln_node_input(node, KILN_OPERAND_VARIANCE), KILN_NONE);
    json_graph_fini(&read);
}

Test(node_batchnorm, inference_with_variance)
{
    struct json_graph read;
    graph_sketch_accept(&read,
                        "BatchnormInferenceAttributesVarianceExt x=9,8:HALF mean=8 variance=1,8 "
                        "scale=1,1 bias=8 y=9,8:HALF epsilon=s",
                        NULL);
    const struct kiln_node *node = &read.graph.nodes[0];
    static const uint8_t roles[] = {KILN_OPERAND_X,     KILN_OPERAND_MEAN, KILN_OPERAND_VARIANCE,
                                    KILN_OPERAND_SCALE, KILN_OPERAND_BIAS, KILN_OPERAND_EPSILON};
    cr_assert_eq(node->kind, KILN_NODE_BATCHNORM_INFERENCE);
    cr_assert_eq(node->input_count, sizeof roles);
    cr_assert_eq(memcmp(node->input_roles, roles, sizeof roles), 0);
    cr_assert_eq(node->normalization.axes, 0x1);
    json_graph_fini(&read);
}

Test(node_batchnorm, training_with_and_without_running_statistics)
{
    static const struct {
        const char *sketch;
        uint32_t inputs;
        uint32_t outputs;
    } rows[] = {
        {TRAINING, 4, 3},
        {TRAINING " momentum=k", 4, 3},
        {TRAINING PREVIOUS " momentum=k", 4, 3},
        {TRAINING " prev_running_mean=5,5", 4, 3},
        {TRAINING PREVIOUS NEXT, 6, 5},
        {TRAINING PREVIOUS NEXT " momentum=1,1,1,1", 7, 5},
        {"Batchnorm x=2,8,6,5 scale=8,1,1 bias=8,1,1 epsilon=1,1,1,1 y=2,8,6,5", 4, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int era = 0; era < 2; era++) {
            struct json_graph read;
            graph_sketch_accept(&read, rows[i].sketch, era == 0 ? &old_era : &new_era);
            const struct kiln_node *node = &read.graph.nodes[0];
            cr_assert_eq(node->kind, KILN_NODE_BATCHNORM_TRAINING);
            cr_assert_eq(node->input_count, rows[i].inputs, "%s", rows[i].sketch);
            cr_assert_eq(node->output_count, rows[i].outputs, "%s", rows[i].sketch);
            cr_assert_eq(node->normalization.axes, 0xd);
            cr_assert_eq(node->normalization.momentum, 0.1);
            json_graph_fini(&read);
        }
    }
}

Test(node_batchnorm, backward_with_and_without_statistics)
{
    struct json_graph read;
    graph_sketch_accept(&read, BACKWARD, &old_era);
    cr_assert_eq(read.graph.nodes[0].kind, KILN_NODE_BATCHNORM_BACKWARD);
    cr_assert_eq(read.graph.nodes[0].input_count, 3);
    cr_assert_eq(read.graph.nodes[0].normalization.epsilon, 1e-5);
    json_graph_fini(&read);
    graph_sketch_accept(&read, BACKWARD STATISTICS, NULL);
    cr_assert_eq(read.graph.nodes[0].input_count, 5);
    cr_assert_eq(read.graph.nodes[0].output_count, 3);
    json_graph_fini(&read);
}

Test(node_batchnorm, declined)
{
    static const struct {
        enum kiln_reject_reason reason;
        const char *sketch;
        const char *words;
    } rows[] = {
        {KILN_REJECT_PEER_STATISTICS, TRAINING " !peer_stats_tensor_uid=[3,4]",
         "node 'Batchnorm': statistics of 2 peer devices are not supported"},
        {KILN_REJECT_PEER_STATISTICS, BACKWARD " !peer_stats_tensor_uid=[3]",
         "statistics of 1 peer devices"},
        {KILN_REJECT_MISSING_OPERAND, TRAINING NEXT,
         "operand next_running_mean without operand prev_running_mean: running statistics need "
         "all four"},
        {KILN_REJECT_MISSING_OPERAND, TRAINING PREVIOUS " next_running_variance=1,8,1,1",
         "operand next_running_variance without operand next_running_mean"},
        {KILN_REJECT_MISSING_OPERAND, TRAINING " prev_running_mean=1,8,1,1" NEXT,
         "operand next_running_mean without operand prev_running_variance"},
        {KILN_REJECT_MISSING_OPERAND, BACKWARD " mean=1,8,1,1",
         "operand mean without operand inv_variance"},
        {KILN_REJECT_MISSING_OPERAND, BACKWARD " inv_variance=1,8,1,1",
         "operand inv_variance without operand mean"},
        {KILN_REJECT_UNKNOWN_UID, "Batchnorm x=2,8 scale=8 bias=8 y=2,8",
         "operand epsilon has uid 0, and no tensor has this uid"},
        {KILN_REJECT_WRITTEN_TWICE,
         "Batchnorm x=2,8 scale=8 bias=8 epsilon=k y=2,8 mean@20=1,8 inv_variance@20",
         "writes the tensor with uid 20, which node 0 ('Batchnorm') writes too"},
        {KILN_REJECT_SHAPE, "Batchnorm x=8 scale=8 bias=8 epsilon=k y=8",
         "tensor 'x' (uid 1): x has rank 1 and no axis of channels"},
        {KILN_REJECT_SHAPE, "Batchnorm x=2,8 scale=8 bias=7 epsilon=k y=2,8",
         "tensor 'bias' (uid 3): bias has 7 along axis 1 of x, must have 8"},
        {KILN_REJECT_SHAPE, "Batchnorm x=2,8,5 scale=8 bias=8,1 epsilon=k y=2,8,5",
         "tensor 'scale' (uid 2): scale has 8 along axis 2 of x, must have 1"},
        {KILN_REJECT_SHAPE, "Batchnorm x=2,8 scale=1,1,8 bias=8 epsilon=k y=2,8",
         "scale has rank 3, above x's rank 2"},
        {KILN_REJECT_SHAPE, "Batchnorm x=2,8 scale=8 bias=8 epsilon=2 y=2,8",
         "tensor 'epsilon' (uid 4): epsilon must have one element"},
        {KILN_REJECT_SHAPE, "Batchnorm x=2,8 scale=8 bias=8 epsilon=k y=2,8,1",
         "tensor 'y' (uid 5): y has rank 3, must have x's rank 2"},
        {KILN_REJECT_SHAPE, "Batchnorm x=2,8 scale=8 bias=8 epsilon=k y=1,8",
         "tensor 'y' (uid 5): dimension 0 of y is 1, must be x's 2"},
        {KILN_REJECT_SHAPE, "Batchnorm x=2,8 scale=8 bias=8 epsilon=k y=2,8 mean=1,1",
         "mean has 1 along axis 1 of x, must have 8"},
        {KILN_REJECT_SHAPE, "Batchnorm x=2,8 scale=8 bias=8 epsilon=k y=2,8 mean=2,8",
         "mean has 2 along axis 0 of x, must have 1"},
        {KILN_REJECT_SHAPE, "BatchnormBackward dy=2,8 x=2,8 scale=1 dx=2,8 dscale=8 dbias=8",
         "scale has 1 along axis 1 of x, must have 8"},
        {KILN_REJECT_SHAPE, "BatchnormBackward dy=8 x=2,8 scale=8 dx=2,8 dscale=8 dbias=8",
         "dy has rank 1, must have x's rank 2"},
        {KILN_REJECT_UNSUPPORTED_TYPE, "Batchnorm x=2,8:INT32 scale=8 bias=8 epsilon=k y=2,8",
         "tensor 'x' (uid 1): x of data type int32 is not supported"},
        {KILN_REJECT_UNSUPPORTED_TYPE, "Batchnorm x=2,8 scale=8 bias=8 epsilon=1:UINT8 y=2,8",
         "epsilon of data type uint8 is not supported"},
        {KILN_REJECT_UNSUPPORTED_TYPE, "Batchnorm x=2,8 scale=8 bias=8 epsilon=k y=2,8:INT8",
         "y of data type int8 is not supported"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        graph_sketch_decline(rows[i].sketch, &new_era, rows[i].reason, rows[i].words);
}
