/* RMSNorm nodes: axes from the scale, absent operands, reasons to decline. */
#include "graph_sketch.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

TestSuite(node_rmsnorm);

Test(node_rmsnorm, axes_are_the_trailing_ones_of_the_scale)
{
    static const struct {
        const char *x;
        const char *scale;
        uint32_t axes;
    } rows[] = {
        {"3,5,40", "1,1,40", 0x4},
        {"3,5,40", "40", 0x4},
        {"3,5,40", "1,5,40", 0x6},
        {"3,5,40", "5,40", 0x6},
        /* All match: axis 0 is the batch. */
        {"1,4,24", "1,4,24", 0x6},
        {"1,24", "1,24", 0x2},
        {"3,4,24", "3,4,24", 0x6},
        {"3,24", "3,24", 0x2},
        {"3,24", "24", 0x2},
        /* A match of ones is one. */
        {"3,1,40", "1,1,40", 0x6},
        {"3,5,1", "1,1,1", 0x4},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char sketch[256];
        struct json_graph read;
        snprintf(sketch, sizeof sketch, "RMSNorm x=%s scale=%s epsilon=k y=%s", rows[i].x,
                 rows[i].scale, rows[i].x);
        graph_sketch_accept(&read, sketch, NULL);
        cr_assert_eq(read.graph.nodes[0].kind, KILN_NODE_RMSNORM);
        cr_assert_eq(read.graph.nodes[0].normalization.axes, rows[i].axes, "%s: %#x", sketch,
                     read.graph.nodes[0].normalization.axes);
        json_graph_fini(&read);
    }
}

Test(node_rmsnorm, operands_in_the_order_of_the_wire)
{
    struct json_graph read;
    graph_sketch_accept(&read,
                        "RMSNorm inv_rms=3,1 y=3,40 bias=40 epsilon=1,1 scale=1,40 x=3,40 "
                        "!forward_phase='TRAINING'",
                        NULL);
    const struct kiln_node *node = &read.graph.nodes[0];
    static const uint8_t inputs[] = {KILN_OPERAND_X, KILN_OPERAND_SCALE, KILN_OPERAND_EPSILON,
                                     KILN_OPERAND_BIAS};
    static const uint8_t outputs[] = {KILN_OPERAND_Y, KILN_OPERAND_INV_RMS};
    cr_assert(node->input_count == sizeof inputs && node->output_count == sizeof outputs);
    cr_assert_eq(memcmp(node->input_roles, inputs, sizeof inputs), 0);
    cr_assert_eq(memcmp(node->output_roles, outputs, sizeof outputs), 0);
    json_graph_fini(&read);
}

/* The bytes of "absent" and of "uid 0" are the same. */
Test(node_rmsnorm, backward_with_and_without_inv_rms)
{
    static const struct {
        const char *sketch;
        uint32_t inv_rms;
        uint32_t outputs;
    } rows[] = {
        {"RMSNormBackward dy=3,40 x=3,40 scale=1,40 inv_rms=3,1 dx=3,40 dscale=1,40 dbias=1,40", 3,
         3},
        {"RMSNormBackward dy=3,40 x=3,40 scale=1,40 dx=3,40 dscale=1,40", KILN_NONE, 2},
        {"RMSNormBackward dy@0=3,40 x=3,40 scale=1,40 dx=3,40 dscale=1,40", KILN_NONE, 2},
        /* The forward pass writes uid 0, and the backward one does not say what it reads. */
        {"RMSNorm x@1=3,40 scale@2=1,40 epsilon=k y=3,40 inv_rms@0=3,1 | "
         "RMSNormBackward dy=3,40 x@1 scale@2 dx=3,40 dscale=1,40",
         4, 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct json_graph read;
        graph_sketch_accept(&read, rows[i].sketch, NULL);
        const struct kiln_node *node = &read.graph.nodes[read.graph.node_count - 1];
        cr_assert_eq(node->kind, KILN_NODE_RMSNORM_BACKWARD);
        cr_assert_eq(kiln_node_input(node, KILN_OPERAND_INV_RMS), rows[i].inv_rms, "%s",
                     rows[i].sketch);
        cr_assert_eq(node->output_count, rows[i].outputs);
        cr_assert_eq(node->normalization.epsilon, 1e-5);
        json_graph_fini(&read);
    }
}

/* A scale per element: its gradient is no sum, and a bias may be per element or not. */
Test(node_rmsnorm, scale_in_the_shape_of_x)
{
    static const char *const sketches[] = {
        "RMSNorm x=4,24 scale=4,24 epsilon=k y=4,24 bias=4,24 inv_rms=4,1",
        "RMSNorm x=4,24 scale=4,24 epsilon=k y=4,24 bias=24",
        "RMSNormBackward dy=4,24 x=4,24 scale=4,24 dx=4,24 dscale=4,24 dbias=4,24",
        "RMSNormBackward dy=4,24 x=4,24 scale=4,24 inv_rms=4,1 dx=4,24 dscale=4,24",
    };
    for (size_t i = 0; i < sizeof sketches / sizeof *sketches; i++) {
        struct json_graph read;
        graph_sketch_accept(&read, sketches[i], NULL);
        cr_assert_eq(read.graph.nodes[0].normalization.axes, 0x2, "%s", sketches[i]);
        json_graph_fini(&read);
    }
}

Test(node_rmsnorm, declined)
{
    static const struct {
        enum kiln_reject_reason reason;
        const char *sketch;
        const char *words;
    } rows[] = {
        {KILN_REJECT_AXIS, "RMSNorm x=3,40 scale=3,1 epsilon=k y=3,40",
         "tensor 'scale' (uid 2): the shape of scale leaves no axis of x to normalise over"},
        {KILN_REJECT_AXIS, "RMSNorm x=40 scale=40 epsilon=k y=40", "leaves no axis"},
        {KILN_REJECT_AXIS, "RMSNorm x= scale= epsilon=k y=", "leaves no axis"},
        {KILN_REJECT_SHAPE, "RMSNorm x=3,5,40 scale=3,1,40 epsilon=k y=3,5,40",
         "scale has 3 along axis 0 of x, must have 1"},
        {KILN_REJECT_SHAPE, "RMSNorm x=5,40 scale=1,5,40 epsilon=k y=5,40",
         "scale has rank 3, above x's rank 2"},
        {KILN_REJECT_SHAPE, "RMSNorm x=4,24 scale=4,24 epsilon=k y=4,24 bias=3,24",
         "bias has 3 along axis 0 of x, must have 4"},
        {KILN_REJECT_SHAPE, "RMSNorm x=4,24 scale=4,24 epsilon=k y=4,24 inv_rms=1,1",
         "inv_rms has 1 along axis 0 of x, must have 4"},
        {KILN_REJECT_SHAPE, "RMSNormBackward dy=4,24 x=4,24 scale=4,24 dx=4,24 dscale=1,24",
         "dscale has 1 along axis 0 of x, must have 4"},
        {KILN_REJECT_SHAPE, "RMSNormBackward dy=4,24 x=4,24 scale=24 dx=4,24 dscale=4,24",
         "dscale has 4 along axis 0 of x, must have 1"},
        {KILN_REJECT_SHAPE, "RMSNorm x=3,40 scale=40 epsilon=k y=3,40 inv_rms=3",
         "inv_rms has 1 along axis 0 of x, must have 3"},
        {KILN_REJECT_SHAPE, "RMSNorm x=3,40 scale=40 epsilon=k y=3,40 bias=3,1",
         "bias has 3 along axis 0 of x, must have 1"},
        {KILN_REJECT_SHAPE, "RMSNormBackward dy=3,40 x=3,40 scale=40 dx=3,40 dscale=40 dbias=1",
         "dbias has 1 along axis 1 of x, must have 40"},
        {KILN_REJECT_UNKNOWN_MODE, "RMSNorm x=3,40 scale=40 epsilon=k y=3,40 !forward_phase=200",
         "node 'RMSNorm': forward phase 200 is unknown"},
        {KILN_REJECT_UNKNOWN_UID, "RMSNorm x=3,40 scale=40 y=3,40", "operand epsilon has uid 0"},
        {KILN_REJECT_UNKNOWN_UID, "RMSNorm x=3,40 scale=40 epsilon=k y=3,40 bias@77",
         "operand bias has uid 77"},
        {KILN_REJECT_UNSUPPORTED_TYPE, "RMSNorm x=3,40:INT64 scale=40 epsilon=k y=3,40",
         "x of data type int64 is not supported"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        graph_sketch_decline(rows[i].sketch, NULL, rows[i].reason, rows[i].words);
}
