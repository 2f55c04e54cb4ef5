/* Resample nodes: operands, what is accepted, reasons to decline. */
#include "graph_sketch.h"

#include "compiler/graph/wire_messages.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(node_resample);

#define PARAMETERS(pre, post, stride, window)                                                      \
    " !pre_padding=[" pre "] !post_padding=[" post "] !stride=[" stride "] !window=[" window "]"
#define MAX(pre, post, stride, window)                                                             \
    PARAMETERS(pre, post, stride, window)                                                          \
    " !resample_mode='MAXPOOL' !padding_mode='NEG_INF_PAD'"

static const char *const accepted[] = {
    "ResampleFwd x=2,3,8,9 y=2,3,4,3" MAX("0,0", "0,0", "2,3", "2,2"),
    "ResampleFwd x=2,4,7 y=2,4,7" MAX("1", "1", "1", "3"),
    "ResampleFwd x=1,2,5,6,7 y=1,2,2,3,3" MAX("0,1,0", "0,0,0", "2,2,2", "3,3,3"),
    /* The stride leaves elements over at the end, which no window reads. */
    "ResampleFwd x=1,1,8 y=1,1,2" MAX("0", "0", "4", "3"),
    /* Some windows contain only padding. */
    "ResampleFwd x=1,1,1 y=1,1,8" MAX("4", "4", "1", "2"),
    "ResampleFwd x=1,1,3:INT8 y=1,1,1:HALF" MAX("0", "0", "1", "3"),
    "ResampleFwd x=1,1,4 y=1,1,2" MAX("0", "0", "2", "2") " !generate_index=false",
    "ResampleFwd x=2,3,8,16 y=2,3,4,8 index=2,3,4,8:INT8" MAX("0,0", "0,0", "2,2", "2,2"),
    "ResampleFwd x=1,1,4 y=1,1,2 index=1,1,2:INT32" MAX("0", "0", "2", "2") " !generate_index=true",
    "ResampleFwd x=1,1,999 y=1,1,997 index=1,1,997:INT8" PARAMETERS(
        "0", "0", "1", "3") " !resample_mode='AVGPOOL_INCLUDE_PADDING' !generate_index=true",
    "ResampleFwd x=1,1,4 y=1,1,2" PARAMETERS(
        "0", "0", "2", "2") " !resample_mode='AVGPOOL_EXCLUDE_PADDING' !generate_index=true",
};

static const char *const accepted_gradients[] = {
    "ResampleBwd dy=2,3,4,3 dx=2,3,8,9" PARAMETERS(
        "0,0", "0,0", "2,3", "2,2") " !resample_mode='AVGPOOL_EXCLUDE_PADDING'",
    "ResampleBwd dy=1,1,6:HALF index=1,1,6:INT8 dx=1,1,999" MAX("1", "7", "1", "3"),
    /* Any image will do. */
    "ResampleBwd dy=1,1,6 index=1,1,6:INT32 dx=1,1,1" MAX("0", "0", "5", "3"),
    "ResampleBwd dy=1,1,6 index=1,1,6:INT32 dx=1,1,1" PARAMETERS(
        "0", "0", "5", "3") " !resample_mode='AVGPOOL_INCLUDE_PADDING'",
};

/* Writes a graph, reads it back, and expects the same canonical form. */
static void check_written(const struct json_graph *read, const char *sketch)
{
    struct kiln_buffer bytes, form, form_again;
    struct kiln_error error;
    struct json_graph again;
    kiln_buffer_init(&bytes);
    kiln_buffer_init(&form);
    kiln_buffer_init(&form_again);
    kiln_error_init(&error);
    cr_assert_eq(kiln_graph_write(&read->graph, KILN_WIRE_ERA_CURRENT, &bytes, &error), KILN_OK,
                 "%s: %s", sketch, error.text);
    json_graph_init_bytes(&again, bytes.data, bytes.size);
    cr_assert_eq(again.status, KILN_OK, "%s: %s", sketch, again.error.text);
    kiln_graph_append_canonical(&read->graph, &form);
    kiln_graph_append_canonical(&again.graph, &form_again);
    cr_assert(form.size == form_again.size && memcmp(form.data, form_again.data, form.size) == 0,
              "%s", sketch);
    json_graph_fini(&again);
    kiln_buffer_fini(&bytes);
    kiln_buffer_fini(&form);
    kiln_buffer_fini(&form_again);
}

Test(node_resample, accepted)
{
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
        struct json_graph read;
        graph_sketch_accept(&read, accepted[i], NULL);
        const struct kiln_node *node = &read.graph.nodes[0];
        cr_expect_eq(node->kind, KILN_NODE_RESAMPLE_FORWARD, "%s", accepted[i]);
        cr_expect_eq(kiln_node_input(node, KILN_OPERAND_X), 0);
        cr_expect_eq(kiln_node_output(node, KILN_OPERAND_Y), 1);
        cr_expect_not(node->resample.pads_zeros);
        check_written(&read, accepted[i]);
        json_graph_fini(&read);
    }
}

Test(node_resample, accepted_gradients)
{
    for (size_t i = 0; i < sizeof accepted_gradients / sizeof *accepted_gradients; i++) {
        struct json_graph read;
        graph_sketch_accept(&read, accepted_gradients[i], NULL);
        const struct kiln_node *node = &read.graph.nodes[0];
        cr_expect_eq(node->kind, KILN_NODE_RESAMPLE_BACKWARD, "%s", accepted_gradients[i]);
        cr_expect_neq(kiln_node_input(node, KILN_OPERAND_DY), KILN_NONE);
        cr_expect_neq(kiln_node_output(node, KILN_OPERAND_DX), KILN_NONE);
        cr_expect_eq(kiln_node_input(node, KILN_OPERAND_INDEX) != KILN_NONE,
                     node->resample.mode == KILN_POOLING_MAX, "%s", accepted_gradients[i]);
        check_written(&read, accepted_gradients[i]);
        json_graph_fini(&read);
    }
}

Test(node_resample, attributes)
{
    struct json_graph read;
    graph_sketch_accept(&read,
                        "ResampleFwd x=1,2,8,9 y=1,2,4,12" PARAMETERS(
                            "1,2", "0,3", "2,1", "3,3") " !resample_mode='MAXPOOL'",
                        NULL);
    struct kiln_buffer text;
    kiln_buffer_init(&text);
    kiln_graph_print(&read.graph, &text);
    cr_expect_not_null(strstr(kiln_buffer_text(&text),
                              "y %1 = RESAMPLE_FORWARD(x %0) MAXPOOL window [3,3] stride [2,1] "
                              "pre_padding [1,2] post_padding [0,3] of zeros in float"),
                       "%s", kiln_buffer_text(&text));
    check_written(&read, "with padding of zeros, which unset means too");
    kiln_buffer_fini(&text);
    json_graph_fini(&read);
}

#define LINE(parameters) "ResampleFwd x=1,1,8 y=1,1,6" parameters
#define PLAIN            PARAMETERS("0", "0", "1", "3")

Test(node_resample, declined)
{
    static const struct {
        enum kiln_reject_reason reason;
        const char *sketch;
        const char *words;
    } rows[] = {
        {KILN_REJECT_UNKNOWN_MODE, LINE(PLAIN), "node 'ResampleFwd': resample mode 0 is unknown"},
        {KILN_REJECT_UNKNOWN_MODE, LINE(PLAIN " !resample_mode=4"), "resample mode 4 is unknown"},
        {KILN_REJECT_UNKNOWN_MODE, LINE(PLAIN " !resample_mode='MAXPOOL' !padding_mode=3"),
         "padding mode 3 is unknown"},
        {KILN_REJECT_MISSING_OPERAND, LINE(PLAIN " !resample_mode='MAXPOOL' !generate_index=true"),
         "node 'ResampleFwd': generate_index is set, and there is no operand index"},
        {KILN_REJECT_UNSUPPORTED_TYPE,
         "ResampleFwd x=1,1,8 y=1,1,6 index=1,1,6:INT64" MAX("0", "0", "1", "3"),
         "tensor 'index' (uid 3): type int64, must be int8 or int32"},
        {KILN_REJECT_SHAPE, "ResampleFwd x=1,1,8 y=1,1,6 index=1,1,8:INT32" MAX("0", "0", "1", "3"),
         "tensor 'index' (uid 3): dimension 2 is 8, must be 6 as y has"},
        {KILN_REJECT_SHAPE, "ResampleFwd x=1,1,8 y=1,1,6 index=1,6:INT32" MAX("0", "0", "1", "3"),
         "tensor 'index' (uid 3): rank 2, must be 3"},
        {KILN_REJECT_TOO_LARGE,
         "ResampleFwd x=1,1,129 y=1,1,127 index=1,1,127:INT8" MAX("0", "0", "1", "3"),
         "tensor 'index' (uid 3): positions up to 128 do not fit in type int8"},
        {KILN_REJECT_UNKNOWN_UID, "ResampleFwd y=1,1,6" MAX("0", "0", "1", "3"),
         "operand x has uid 0"},
        {KILN_REJECT_SHAPE, LINE(MAX("0", "0", "1", "")),
         "window has 0 entries, must be one for each of 1 to 3 spatial axes"},
        {KILN_REJECT_SHAPE, LINE(MAX("0", "0", "1", "1,1,1,1")), "window has 4 entries"},
        {KILN_REJECT_SHAPE, LINE(MAX("0", "0", "1,1", "3")), "stride has 2 entries and window 1"},
        {KILN_REJECT_SHAPE, LINE(MAX("0", "0", "1", "0")),
         "window 0 is 0, must be from 1 to 2147483647"},
        {KILN_REJECT_SHAPE, LINE(MAX("0", "0", "0", "3")), "stride 0 is 0, must be from 1"},
        {KILN_REJECT_SHAPE, LINE(MAX("-1", "0", "1", "3")), "pre_padding 0 is -1, must be from 0"},
        {KILN_REJECT_SHAPE, LINE(MAX("0", "2147483648", "1", "3")), "post_padding 0 is 2147483648"},
        {KILN_REJECT_SHAPE, "ResampleFwd x=1,1,8,8 y=1,1,6" MAX("0", "0", "1", "3"),
         "tensor 'x' (uid 1): rank 4, must be 3 for the 1 entry of window"},
        {KILN_REJECT_SHAPE, "ResampleFwd x=1,1,8 y=1,2,6" MAX("0", "0", "1", "3"),
         "tensor 'y' (uid 2): dimension 1 is 2, must be the image's 1"},
        {KILN_REJECT_SHAPE, LINE(MAX("0", "0", "1", "9")),
         "tensor 'x' (uid 1): dimension 2 is 8: the window of 9 is larger than the padded image "
         "of 8"},
        {KILN_REJECT_SHAPE, LINE(MAX("0", "1", "1", "3")),
         "tensor 'y' (uid 2): dimension 2 is 6, must be the 7 that image, window and parameters "
         "give"},
        {KILN_REJECT_SHAPE, LINE(MAX("0", "0", "2147483647", "3")),
         "tensor 'y' (uid 2): dimension 2 is 6, must be the 1"},
        {KILN_REJECT_TOO_LARGE, LINE(MAX("2147483647", "0", "1", "3")),
         "tensor 'x' (uid 1): dimension 2 is 8 and the paddings 2147483647, together at most"},
        {KILN_REJECT_TOO_LARGE,
         "ResampleFwd x=1,1,8,8 y=1,1,1,1" MAX("99999,99999", "0,0", "9,9", "100007,100007"),
         "tensor 'y' (uid 2): a window has 10001400049 elements, at most"},
        {KILN_REJECT_UNSUPPORTED_TYPE, "ResampleFwd x=1,1,8:INT32 y=1,1,6" MAX("0", "0", "1", "3"),
         "tensor 'x' (uid 1): type int32 has no rule in pooling"},
        {KILN_REJECT_MISSING_OPERAND, "ResampleBwd dy=1,1,6 dx=1,1,8" MAX("0", "0", "1", "3"),
         "node 'ResampleBwd': the gradient of MAXPOOL needs the operand index"},
        {KILN_REJECT_UNKNOWN_MODE, "ResampleBwd dy=1,1,6 dx=1,1,8" PLAIN, "resample mode 0"},
        {KILN_REJECT_SHAPE,
         "ResampleBwd dy=1,1,6 index=1,1,5:INT8 dx=1,1,8" MAX("0", "0", "1", "3"),
         "tensor 'index' (uid 2): dimension 2 is 5, must be 6 as dy has"},
        {KILN_REJECT_TOO_LARGE,
         "ResampleBwd dy=1,1,6 index=1,1,6:INT8 dx=1,1,8" MAX("2147483647", "0", "1", "3"),
         "tensor 'dx' (uid 3): dimension 2 is 8 and the padding 2147483647, together at most"},
        {KILN_REJECT_TOO_LARGE,
         "ResampleBwd dy=1,1,6 index=1,1,6:INT8 dx=1,1,8" MAX("0", "0", "2147483647", "3"),
         "tensor 'dy' (uid 1): dimension 2 is 6: its windows of 3 with stride 2147483647 reach "
         "beyond"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        graph_sketch_decline(rows[i].sketch, NULL, rows[i].reason, rows[i].words);
}
