/* Convolutions and their gradients: operands, what is accepted, reasons to decline. */
#include "graph_sketch.h"

#include "compiler/graph/wire_messages.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

TestSuite(node_convolution);

#define PARAMETERS(pre, post, stride, dilation)                                                    \
    " !pre_padding=[" pre "] !post_padding=[" post "] !stride=[" stride "] !dilation=[" dilation   \
    "] !conv_mode='CROSS_CORRELATION'"
#define PLAIN PARAMETERS("0,0", "0,0", "1,1", "1,1")

static const enum kiln_wire_era eras[] = {KILN_WIRE_ERA_NOV2025, KILN_WIRE_ERA_CURRENT};

static const struct {
    const char *sketch;
    int64_t groups;
    bool is_newer; /* has types that the older layout lacks */
} accepted[] = {
    {"ConvolutionFwd x=2,3,8,9 w=5,3,3,2 y=2,5,6,8" PLAIN, 1, false},
    {"ConvolutionFwd x=2,4,7 w=6,2,3 y=2,6,7" PARAMETERS("1", "1", "1", "1"), 2, false},
    {"ConvolutionFwd x=1,2,5,6,7 w=4,1,3,3,3 y=1,4,3,3,3" PARAMETERS("1,1,1", "1,1,1", "2,2,2",
                                                                     "1,1,2"),
     2, false},
    /* What the stride leaves over at the end is not read. */
    {"ConvolutionFwd x=1,1,8 w=1,1,3 y=1,1,2" PARAMETERS("0", "0", "4", "1"), 1, false},
    {"ConvolutionFwd x=1,1,1 w=1,1,3 y=1,1,1" PARAMETERS("0", "2", "1", "1"), 1, false},
    /* A window that only meets padding, and padding wider than the window. */
    {"ConvolutionFwd x=1,1,1 w=1,1,1 y=1,1,9" PARAMETERS("4", "4", "1", "1"), 1, false},
    {"ConvolutionFwd x=3,6,4,4 w=12,1,1,1 y=3,12,4,4" PLAIN, 6, false}, /* depthwise */
    {"ConvolutionFwd x=1,1,5,5 w@1 y=1,1,1,1" PLAIN, 1, false},         /* with itself */
    {"ConvolutionFwd x=1,2,4:HALF w=2,2,1:BFLOAT16 y=1,2,4:FLOAT" PARAMETERS("0", "0", "1", "1"), 1,
     false},
    {"ConvolutionFwd x=1,2,4:INT8 w=2,2,1:UINT8 y=1,2,4:INT32" PARAMETERS("0", "0", "1", "1"), 1,
     true},
    {"ConvolutionFwd x=1,2,4:FP8_E4M3 w=2,2,1:FP8_E5M2 y=1,2,4:HALF" PARAMETERS("0", "0", "1", "1"),
     1, true},
    {"ConvolutionFwd x=1,2,4:DOUBLE w=2,2,1 y=1,2,4" PARAMETERS("0", "0", "1", "1"), 1, false},
    {"ConvolutionBwd dy=2,5,6,8 w=5,3,3,2 dx=2,3,8,9" PLAIN, 1, false},
    /* Both sizes of dx lead to this dy. */
    {"ConvolutionBwd dy=1,4,4 w=4,1,3 dx=1,2,9" PARAMETERS("0", "0", "2", "1"), 2, false},
    {"ConvolutionBwd dy=1,4,4 w=4,1,3 dx=1,2,10" PARAMETERS("0", "0", "2", "1"), 2, false},
    {"ConvolutionWrw x=2,3,8,9 dy=2,5,6,8 dw=5,3,3,2" PLAIN, 1, false},
    {"ConvolutionWrw x=2,8,9 dy=2,16,5 dw=16,1,3" PARAMETERS("1", "1", "2", "1"), 8, false},
    /* The largest parameters. */
    {"ConvolutionFwd x=1,1,1 w=1,1,1 y=1,1,1" PARAMETERS("2147483646", "0", "2147483647",
                                                         "2147483647"),
     1, false},
};

static void check_roles(const struct kiln_node *node, const char *sketch)
{
    static const enum kiln_operand roles[][3] = {
        {KILN_OPERAND_X, KILN_OPERAND_W, KILN_OPERAND_Y},
        {KILN_OPERAND_DY, KILN_OPERAND_W, KILN_OPERAND_DX},
        {KILN_OPERAND_X, KILN_OPERAND_DY, KILN_OPERAND_DW},
    };
    uint32_t direction = (uint32_t)node->kind - KILN_NODE_CONVOLUTION_FORWARD;
    cr_assert_lt(direction, 3, "%s", sketch);
    cr_expect_eq(node->input_roles[0], roles[direction][0], "%s", sketch);
    cr_expect_eq(node->input_roles[1], roles[direction][1], "%s", sketch);
    cr_expect_eq(node->output_roles[0], roles[direction][2], "%s", sketch);
}

/* What was read, written and read again. */
static void check_written(const struct json_graph *read, enum kiln_wire_era era, const char *sketch)
{
    struct kiln_buffer bytes, form, form_again;
    struct kiln_error error;
    struct json_graph again;
    kiln_buffer_init(&bytes);
    kiln_buffer_init(&form);
    kiln_buffer_init(&form_again);
    kiln_error_init(&error);
    cr_assert_eq(kiln_graph_write(&read->graph, era, &bytes, &error), KILN_OK, "%s: %s", sketch,
                 error.text);
    json_graph_init_bytes(&again, bytes.data, bytes.size);
    cr_assert_eq(again.status, KILN_OK, "%s: %s", sketch, again.error.text);
    cr_assert_eq(again.graph.era, era, "%s", sketch);
    kiln_graph_append_canonical(&read->graph, &form);
    kiln_graph_append_canonical(&again.graph, &form_again);
    cr_assert(form.size == form_again.size && memcmp(form.data, form_again.data, form.size) == 0,
              "%s", sketch);
    json_graph_fini(&again);
    kiln_buffer_fini(&bytes);
    kiln_buffer_fini(&form);
    kiln_buffer_fini(&form_again);
}

Test(node_convolution, accepted_in_both_layouts)
{
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
        for (size_t k = accepted[i].is_newer ? 1 : 0; k < 2; k++) {
            struct json_graph read;
            graph_sketch_accept(&read, accepted[i].sketch, &eras[k]);
            const struct kiln_node *node = &read.graph.nodes[0];
            check_roles(node, accepted[i].sketch);
            cr_expect_eq(node->convolution.groups, accepted[i].groups, "%s", accepted[i].sketch);
            cr_expect_not(node->convolution.is_flipped);
            check_written(&read, eras[k], accepted[i].sketch);
            json_graph_fini(&read);
        }
    }
}

Test(node_convolution, attributes)
{
    static const char sketch[] =
        "ConvolutionFwd x=1,2,8,9 w=4,2,3,2 y=1,4,4,11 !pre_padding=[1,2] !post_padding=[0,3] "
        "!stride=[2,1] !dilation=[1,3] !conv_mode='CONVOLUTION'";
    for (size_t k = 0; k < 2; k++) {
        struct json_graph read;
        graph_sketch_accept(&read, sketch, &eras[k]);
        const struct kiln_convolution *convolution = &read.graph.nodes[0].convolution;
        cr_expect_eq(convolution->spatial_count, 2);
        cr_expect(convolution->pre_padding[0] == 1 && convolution->pre_padding[1] == 2);
        cr_expect(convolution->post_padding[0] == 0 && convolution->post_padding[1] == 3);
        cr_expect(convolution->stride[0] == 2 && convolution->stride[1] == 1);
        cr_expect(convolution->dilation[0] == 1 && convolution->dilation[1] == 3);
        cr_expect(convolution->is_flipped);
        check_written(&read, eras[k], sketch);
        struct kiln_buffer text;
        kiln_buffer_init(&text);
        kiln_graph_print(&read.graph, &text);
        cr_expect_not_null(strstr(kiln_buffer_text(&text),
                                  "y %2 = CONVOLUTION_FORWARD(x %0, w %1) pre_padding [1,2] "
                                  "post_padding [0,3] stride [2,1] dilation [1,3] groups 1 flipped "
                                  "in float"),
                           "%s", kiln_buffer_text(&text));
        kiln_buffer_fini(&text);
        json_graph_fini(&read);
    }
}

#define LINE(parameters) "ConvolutionFwd x=1,1,8 w=1,1,3 y=1,1,6" parameters
#define MODE(mode)       LINE(" !pre_padding=[0] !post_padding=[0] !stride=[1] !dilation=[1]") mode

static const struct {
    enum kiln_reject_reason reason;
    const char *sketch;
    const char *words;
} declined[] = {
    /* Modes. */
    {KILN_REJECT_CONVOLUTION, MODE(""),
     "node 'ConvolutionFwd': its conv_mode is unset, must be CROSS_CORRELATION or CONVOLUTION"},
    {KILN_REJECT_CONVOLUTION, MODE(" !conv_mode=3"),
     "node 'ConvolutionFwd': its conv_mode 3 is unknown"},
    /* Vectors of wrong lengths. */
    {KILN_REJECT_CONVOLUTION, "ConvolutionFwd x=1,1,8 w=1,1,3 y=1,1,6 !conv_mode=2",
     "node 'ConvolutionFwd': pre_padding has 0 entries, must be one for each of 1 to 3 spatial "
     "axes"},
    {KILN_REJECT_CONVOLUTION, LINE(PARAMETERS("0,0,0,0", "0", "1", "1")),
     "pre_padding has 4 entries, must be"},
    {KILN_REJECT_CONVOLUTION, LINE(PARAMETERS("0,0,0,0,0,0,0,0,0,0", "0", "1", "1")),
     "pre_padding has 10 entries, must be"},
    {KILN_REJECT_CONVOLUTION, LINE(PARAMETERS("0", "0,0", "1", "1")),
     "post_padding has 2 entries and pre_padding 1, must be one for each spatial axis"},
    {KILN_REJECT_CONVOLUTION, LINE(PARAMETERS("0", "0", "", "1")),
     "stride has 0 entries and pre_padding 1"},
    {KILN_REJECT_CONVOLUTION, LINE(PARAMETERS("0", "0", "1", "1,1")),
     "dilation has 2 entries and pre_padding 1"},
    {KILN_REJECT_SHAPE, LINE(PARAMETERS("0,0", "0,0", "1,1", "1,1")),
     "node 'ConvolutionFwd': tensor 'x' (uid 1): rank 3, must be 4 for the 2 entries of "
     "pre_padding"},
    {KILN_REJECT_SHAPE, "ConvolutionFwd x=1,1,8 w=1,1,3,1 y=1,1,6" PARAMETERS("0", "0", "1", "1"),
     "node 'ConvolutionFwd': tensor 'w' (uid 2): rank 4, must be 3 for the 1 entry"},
    {KILN_REJECT_SHAPE, "ConvolutionFwd x=1,1,8 w=1,1,3 y=1,6" PARAMETERS("0", "0", "1", "1"),
     "node 'ConvolutionFwd': tensor 'y' (uid 3): rank 2, must be 3"},
    /* Parameters out of range. */
    {KILN_REJECT_CONVOLUTION, LINE(PARAMETERS("-1", "1", "1", "1")),
     "node 'ConvolutionFwd': pre_padding 0 is -1, must be from 0 to 2147483647"},
    {KILN_REJECT_CONVOLUTION, LINE(PARAMETERS("0", "-9223372036854775808", "1", "1")),
     "post_padding 0 is -9223372036854775808, must be from 0"},
    {KILN_REJECT_CONVOLUTION, LINE(PARAMETERS("9223372036854775807", "0", "1", "1")),
     "pre_padding 0 is 9223372036854775807, must be from 0"},
    {KILN_REJECT_CONVOLUTION, LINE(PARAMETERS("0", "0", "0", "1")),
     "stride 0 is 0, must be from 1 to 2147483647"},
    {KILN_REJECT_CONVOLUTION, LINE(PARAMETERS("0", "0", "9223372036854775807", "1")),
     "stride 0 is 9223372036854775807, must be from 1"},
    {KILN_REJECT_CONVOLUTION, LINE(PARAMETERS("0", "0", "1", "-9223372036854775808")),
     "dilation 0 is -9223372036854775808, must be from 1"},
    {KILN_REJECT_CONVOLUTION,
     "ConvolutionWrw x=1,1,8,8 dy=1,1,6,6 dw=1,1,3,3" PARAMETERS("0,0", "0,0", "1,0", "1,1"),
     "node 'ConvolutionWrw': stride 1 is 0, must be"},
    {KILN_REJECT_TOO_LARGE, LINE(PARAMETERS("2147483647", "2147483647", "1", "1")),
     "node 'ConvolutionFwd': tensor 'x' (uid 1): dimension 2 is 8 and the paddings 4294967294, "
     "together at most 2147483647"},
    {KILN_REJECT_TOO_LARGE, LINE(PARAMETERS("2147483640", "0", "1", "1")),
     "node 'ConvolutionFwd': tensor 'x' (uid 1): dimension 2 is 8 and the paddings 2147483640"},
    /* Windows larger than the padded image. */
    {KILN_REJECT_SHAPE, "ConvolutionFwd x=1,1,8 w=1,1,9 y=1,1,1" PARAMETERS("0", "0", "1", "1"),
     "node 'ConvolutionFwd': tensor 'w' (uid 2): dimension 2 is 9: with dilation 1 the window is "
     "larger than the padded image of 8"},
    {KILN_REJECT_SHAPE, "ConvolutionFwd x=1,1,8 w=1,1,3 y=1,1,1" PARAMETERS("1", "1", "1", "5"),
     "dimension 2 is 3: with dilation 5 the window is larger than the padded image of 10"},
    {KILN_REJECT_SHAPE,
     "ConvolutionFwd x=1,1,8 w=1,1,2305843009213693952:HALF y=1,1,1" PARAMETERS("1", "1", "1",
                                                                                "2147483647"),
     "node 'ConvolutionFwd': tensor 'w' (uid 2): dimension 2 is 2305843009213693952"},
    {KILN_REJECT_SHAPE, "ConvolutionBwd dy=1,1,1 w=1,1,3 dx=1,1,2" PARAMETERS("0", "0", "1", "1"),
     "node 'ConvolutionBwd': tensor 'w' (uid 2): dimension 2 is 3"},
    {KILN_REJECT_SHAPE, "ConvolutionWrw x=1,1,2 dy=1,1,1 dw=1,1,3" PARAMETERS("0", "0", "1", "1"),
     "node 'ConvolutionWrw': tensor 'dw' (uid 3): dimension 2 is 3"},
    /* Results of another size. */
    {KILN_REJECT_SHAPE, "ConvolutionFwd x=1,1,8,9 w=1,1,3,3 y=1,1,6,8" PLAIN,
     "node 'ConvolutionFwd': tensor 'y' (uid 3): dimension 3 is 8, must be the 7 that image, "
     "window "
     "and parameters give"},
    {KILN_REJECT_SHAPE, "ConvolutionBwd dy=1,1,6,8 w=1,1,3,3 dx=1,1,8,9" PLAIN,
     "node 'ConvolutionBwd': tensor 'dx' (uid 3): dimension 3 is 9: image, window and parameters "
     "would give 7, but dy has 8"},
    {KILN_REJECT_SHAPE, "ConvolutionWrw x=1,1,8,9 dy=1,1,6,8 dw=1,1,3,3" PLAIN,
     "node 'ConvolutionWrw': tensor 'dw' (uid 3): dimension 3 is 3: image, window and parameters "
     "would give 7, but dy has 8"},
    {KILN_REJECT_SHAPE, "ConvolutionFwd x=2,1,8 w=1,1,3 y=1,1,6" PARAMETERS("0", "0", "1", "1"),
     "node 'ConvolutionFwd': tensor 'y' (uid 3): dimension 0 is 1, must be the image's batch size, "
     "2"},
    {KILN_REJECT_SHAPE, "ConvolutionBwd dy=2,1,6 w=1,1,3 dx=1,1,8" PARAMETERS("0", "0", "1", "1"),
     "node 'ConvolutionBwd': tensor 'dx' (uid 3): dimension 0 is 1, must be dimension 0 of dy, 2"},
    {KILN_REJECT_SHAPE, "ConvolutionWrw x=2,1,8 dy=1,1,6 dw=1,1,3" PARAMETERS("0", "0", "1", "1"),
     "node 'ConvolutionWrw': tensor 'dy' (uid 2): dimension 0 is 1, must be the image's batch"},
    {KILN_REJECT_SHAPE, "ConvolutionFwd x=1,1,8 w=4,1,3 y=1,5,6" PARAMETERS("0", "0", "1", "1"),
     "node 'ConvolutionFwd': tensor 'y' (uid 3): dimension 1 is 5, must be the number of filters, "
     "4"},
    {KILN_REJECT_SHAPE, "ConvolutionWrw x=1,1,8 dy=1,5,6 dw=4,1,3" PARAMETERS("0", "0", "1", "1"),
     "node 'ConvolutionWrw': tensor 'dw' (uid 3): dimension 0 is 4, must be dimension 1 of dy, 5"},
    /* Groups. */
    {KILN_REJECT_SHAPE, "ConvolutionFwd x=1,8,8 w=4,3,3 y=1,4,6" PARAMETERS("0", "0", "1", "1"),
     "node 'ConvolutionFwd': tensor 'w' (uid 2): dimension 1 is 3, must divide the image's 8 "
     "channels"},
    {KILN_REJECT_SHAPE, "ConvolutionFwd x=1,4,8 w=4,8,3 y=1,4,6" PARAMETERS("0", "0", "1", "1"),
     "dimension 1 is 8, must divide the image's 4 channels"},
    {KILN_REJECT_SHAPE, "ConvolutionBwd dy=1,6,6 w=6,2,3 dx=1,8,8" PARAMETERS("0", "0", "1", "1"),
     "node 'ConvolutionBwd': tensor 'w' (uid 2): dimension 0 is 6, must be a multiple of the 4 "
     "groups"},
    /* Types. */
    {KILN_REJECT_UNSUPPORTED_TYPE,
     "ConvolutionFwd x=1,1,8:INT32 w=1,1,3 y=1,1,6" PARAMETERS("0", "0", "1", "1"),
     "node 'ConvolutionFwd': tensor 'x' (uid 1): type int32 has no rule in a convolution"},
    {KILN_REJECT_UNSUPPORTED_TYPE,
     "ConvolutionBwd dy=1,1,6 w=1,1,3:INT64 dx=1,1,8" PARAMETERS("0", "0", "1", "1"),
     "node 'ConvolutionBwd': tensor 'w' (uid 2): type int64 has no rule in a convolution"},
    /* Operands. */
    {KILN_REJECT_UNKNOWN_UID, "ConvolutionFwd x=1,1,8 y=1,1,6" PARAMETERS("0", "0", "1", "1"),
     "node 'ConvolutionFwd': operand w has uid 0, and no tensor has this uid"},
    {KILN_REJECT_UNKNOWN_UID, "ConvolutionWrw x=1,1,8 dy=1,1,6 dw@7" PARAMETERS("0", "0", "1", "1"),
     "node 'ConvolutionWrw': operand dw has uid 7"},
    {KILN_REJECT_CYCLE, "ConvolutionFwd x=1,1,8 w@2 y@2=1,1,6" PARAMETERS("0", "0", "1", "1"),
     "reads its own output"},
    /* What cannot be counted. */
    {KILN_REJECT_TOO_LARGE,
     "ConvolutionFwd x=1,2147483648,1 w=1,2147483648,1 y=1,1,1" PARAMETERS("0", "0", "1", "1"),
     "node 'ConvolutionFwd': tensor 'x' (uid 1): 2147483648 channels, at most 2147483647 in a "
     "convolution"},
    {KILN_REJECT_TOO_LARGE,
     "ConvolutionBwd dy=1,2147483648,1 w=2147483648,1,1 dx=1,1,1" PARAMETERS("0", "0", "1", "1"),
     "node 'ConvolutionBwd': tensor 'w' (uid 2): 2147483648 filters, at most"},
    {KILN_REJECT_TOO_LARGE,
     "ConvolutionFwd x=65536,1,32768 w=1,1,1 y=65536,1,32768" PARAMETERS("0", "0", "1", "1"),
     "node 'ConvolutionFwd': tensor 'x' (uid 1): 2147483648 pixels in the batch, at most"},
    {KILN_REJECT_TOO_LARGE,
     "ConvolutionFwd x=65536,1,1 w=1,1,1 y=65536,1,32768" PARAMETERS("0", "32767", "1", "1"),
     "node 'ConvolutionFwd': tensor 'y' (uid 3): 2147483648 pixels in the batch, at most"},
    {KILN_REJECT_TOO_LARGE,
     "ConvolutionWrw x=1,65536,32768 dy=1,1,1 dw=1,65536,32768" PARAMETERS("0", "0", "1", "1"),
     "node 'ConvolutionWrw': tensor 'dw' (uid 3): 2147483648 elements in a filter, at most"},
    {KILN_REJECT_TOO_LARGE,
     "ConvolutionFwd x=1,1,32768 w=65536,1,32768 y=1,65536,1" PARAMETERS("0", "0", "1", "1"),
     "node 'ConvolutionFwd': tensor 'w' (uid 2): 2147483648 elements of a group's filters meet one "
     "channel"},
};

Test(node_convolution, declined)
{
    for (size_t i = 0; i < sizeof declined / sizeof *declined; i++) {
        if (declined[i].reason != KILN_REJECT_UNSUPPORTED_TYPE)
            graph_sketch_decline(declined[i].sketch, &eras[0], declined[i].reason,
                                 declined[i].words);
        graph_sketch_decline(declined[i].sketch, &eras[1], declined[i].reason, declined[i].words);
    }
}

/* About 2^31 pixels, 2^31 filters, 2^31 channels: each can be counted, their product cannot. */
Test(node_convolution, more_terms_than_can_be_counted)
{
    graph_sketch_decline("ConvolutionFwd x=1,2000000000,1 w=2000000000,2000000000,1:INT8 "
                         "y=1,2000000000,2000000000:HALF" PARAMETERS("0", "1999999999", "1", "1"),
                         NULL, KILN_REJECT_TOO_LARGE,
                         "node 'ConvolutionFwd': the convolution has more than 2^63 terms");
}

static void read_strided_image(struct json_graph *read, const char *stride)
{
    char text[1024];
    (void)snprintf(
        text, sizeof text,
        "{'name':'g','compute_data_type':'FLOAT','intermediate_data_type':'FLOAT','io_data_type':"
        "'FLOAT','tensors':["
        "{'uid':1,'name':'x','data_type':'FLOAT','dims':[1,1,5],'strides':[1,1,%s]},"
        "{'uid':2,'name':'w','data_type':'FLOAT','dims':[1,1,3],'strides':[3,3,1]},"
        "{'uid':3,'name':'y','data_type':'FLOAT','dims':[1,1,5],'strides':[5,5,1]}],"
        "'nodes':[{'name':'c','compute_data_type':'FLOAT','attributes_type':"
        "'ConvolutionFwdAttributes','attributes':{'x_tensor_uid':1,'w_tensor_uid':2,"
        "'y_tensor_uid':3,'pre_padding':[1048576],'post_padding':[1048576],'stride':[1],"
        "'dilation':[1048576],'conv_mode':2}}]}",
        stride);
    json_graph_init(read, text, NULL);
}

/* 5 elements fit into memory's 2^63 bytes, the 2^21 of the padded image do not. */
Test(node_convolution, further_than_can_be_counted)
{
    struct json_graph read;
    read_strided_image(&read, "288230376151711744");
    cr_expect_neq(read.status, KILN_OK);
    cr_expect_eq(read.error.reject_reason, KILN_REJECT_TOO_LARGE);
    cr_expect_not_null(strstr(read.error.text, "stride 2 is 288230376151711744: 2097157 of them, "
                                               "the padded image, are more than 2^61 bytes"),
                       "%s", read.error.text);
    json_graph_fini(&read);
    read_strided_image(&read, "274000000000");
    cr_expect_eq(read.status, KILN_OK, "%s", read.error.text);
    json_graph_fini(&read);
}

/* Each differs from all others, though their tensors are the same. */
Test(node_convolution, canonical_form_tells_parameters_apart)
{
    static const char *const variants[] = {
        "ConvolutionFwd x=1,1,9 w=1,1,1 y=1,1,9" PARAMETERS("0", "0", "1", "1"),
        "ConvolutionFwd x=1,1,9 w=1,1,1 y=1,1,9" PARAMETERS("8", "9", "3", "1"),
        "ConvolutionFwd x=1,1,9 w=1,1,1 y=1,1,9" PARAMETERS("9", "8", "3", "1"),
        "ConvolutionFwd x=1,1,9 w=1,1,1 y=1,1,9" PARAMETERS("0", "8", "2", "1"),
        "ConvolutionFwd x=1,1,9 w=1,1,1 y=1,1,9" PARAMETERS("0", "0", "1", "2"),
        "ConvolutionFwd x=1,1,9 w=1,1,1 y=1,1,9 !pre_padding=[0] !post_padding=[0] !stride=[1] "
        "!dilation=[1] !conv_mode='CONVOLUTION'",
        "ConvolutionBwd dy=1,1,9 w=1,1,1 dx=1,1,9" PARAMETERS("0", "0", "1", "1"),
        "ConvolutionFwd x=1,1,9:HALF w=1,1,1 y=1,1,9" PARAMETERS("0", "0", "1", "1"),
    };
    enum { VARIANTS = sizeof variants / sizeof *variants };
    struct kiln_buffer forms[2][VARIANTS];
    for (size_t i = 0; i < VARIANTS; i++) {
        for (size_t k = 0; k < 2; k++) {
            struct json_graph read;
            graph_sketch_accept(&read, variants[i], &eras[k]);
            kiln_buffer_init(&forms[k][i]);
            kiln_graph_append_canonical(&read.graph, &forms[k][i]);
            json_graph_fini(&read);
        }
        cr_assert(forms[0][i].size == forms[1][i].size &&
                      memcmp(forms[0][i].data, forms[1][i].data, forms[0][i].size) == 0,
                  "'%s' in the two layouts", variants[i]);
        for (size_t k = 0; k < i; k++)
            cr_assert(forms[0][i].size != forms[0][k].size ||
                          memcmp(forms[0][i].data, forms[0][k].data, forms[0][i].size) != 0,
                      "'%s' and '%s'", variants[k], variants[i]);
    }
    for (size_t i = 0; i < VARIANTS; i++) {
        kiln_buffer_fini(&forms[0][i]);
        kiln_buffer_fini(&forms[1][i]);
    }
}
