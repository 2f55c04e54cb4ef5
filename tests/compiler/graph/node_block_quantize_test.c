/* Block-scale quantisation: operands, what is accepted, reasons to decline. */
#include "graph_sketch.h"

#include "compiler/graph/wire_messages.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(node_block_quantize);

static const struct {
    const char *sketch;
    uint32_t axis;
    int64_t block_size;
} accepted[] = {
    {"BlockScaleQuantize x=4,64 y=4,64:FP8_E4M3 scale=4,2 !block_size=32", 1, 32},
    {"BlockScaleQuantize x=4,64:HALF y=4,64:INT8 scale=4,2:BFLOAT16 !block_size=32 !axis=1", 1, 32},
    {"BlockScaleQuantize x=64,7:INT32 y=64,7:UINT8 scale=4,7:HALF !block_size=16 !axis=0", 0, 16},
    {"BlockScaleQuantize x=2,3,8 y=2,3,8:FP8_E5M2 scale=2,1,8 !block_size=3 !axis=1", 1, 3},
    {"BlockScaleQuantize x=8 y=8:FP8_E5M2 scale=8 !block_size=1", 0, 1},
    {"BlockScaleQuantize x=4,64 y=4,64:FP4_E2M1 scale=4,2:FP8_E8M0 !block_size=32", 1, 32},
    {"BlockScaleQuantize x=4,65 y=4,65:FP8_E4M3 scale=4,3 !block_size=32", 1, 32},
    /* A block is no longer than its axis. */
    {"BlockScaleQuantize x=4,20 y=4,20:FP8_E4M3 scale=4,1 !block_size=32", 1, 20},
    {"BlockScaleQuantize x=4,20 y=4,20:FP8_E4M3 scale=4,1 !block_size=2147483647", 1, 20},
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

Test(node_block_quantize, accepted)
{
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
        struct json_graph read;
        graph_sketch_accept(&read, accepted[i].sketch, NULL);
        const struct kiln_node *node = &read.graph.nodes[0];
        cr_expect_eq(node->kind, KILN_NODE_BLOCK_SCALE_QUANTIZE, "%s", accepted[i].sketch);
        cr_expect_eq(kiln_node_input(node, KILN_OPERAND_X), 0);
        cr_expect_eq(kiln_node_output(node, KILN_OPERAND_Y), 1);
        cr_expect_eq(kiln_node_output(node, KILN_OPERAND_SCALE), 2);
        cr_expect_eq(node->block_quantize.axis, accepted[i].axis, "%s", accepted[i].sketch);
        cr_expect_eq(node->block_quantize.block_size, accepted[i].block_size, "%s",
                     accepted[i].sketch);
        check_written(&read, accepted[i].sketch);
        json_graph_fini(&read);
    }
}

Test(node_block_quantize, printed)
{
    struct json_graph read;
    graph_sketch_accept(&read, accepted[2].sketch, NULL);
    struct kiln_buffer text;
    kiln_buffer_init(&text);
    kiln_graph_print(&read.graph, &text);
    cr_expect_not_null(strstr(kiln_buffer_text(&text),
                              "y %1, scale %2 = QUANTIZE(x %0) blocks of 16 along axis 0 in float"),
                       "%s", kiln_buffer_text(&text));
    kiln_buffer_fini(&text);
    json_graph_fini(&read);
}

#define PLAIN "BlockScaleQuantize x=4,64 y=4,64:FP8_E4M3 scale=4,2"

Test(node_block_quantize, declined)
{
    static const struct {
        enum kiln_reject_reason reason;
        const char *sketch;
        const char *words;
    } rows[] = {
        {KILN_REJECT_BLOCK_SIZE, PLAIN,
         "node 'BlockScaleQuantize': the block size is 0, must be at least 1"},
        {KILN_REJECT_BLOCK_SIZE, PLAIN " !block_size=-32", "the block size is -32"},
        {KILN_REJECT_UNSUPPORTED_NODE, PLAIN " !block_size=32 !transpose=true",
         "quantising with a transposition is not supported"},
        {KILN_REJECT_AXIS, PLAIN " !block_size=32 !axis=-1", "axis -1 is no axis of a tensor"},
        {KILN_REJECT_AXIS, PLAIN " !block_size=32 !axis=8", "axis 8 is no axis of a tensor"},
        {KILN_REJECT_AXIS, PLAIN " !block_size=32 !axis=4294967296", "axis 4294967296 is no axis"},
        {KILN_REJECT_AXIS, PLAIN " !block_size=32 !axis=2",
         "tensor 'x' (uid 1): rank 2: there is no axis of blocks"},
        {KILN_REJECT_UNKNOWN_UID, "BlockScaleQuantize y=4,64:FP8_E4M3 scale=4,2 !block_size=32",
         "operand x has uid 0"},
        {KILN_REJECT_UNKNOWN_UID, "BlockScaleQuantize x=4,64 y=4,64:FP8_E4M3 !block_size=32",
         "operand scale has uid 0"},
        {KILN_REJECT_SHAPE, PLAIN " !block_size=16",
         "tensor 'scale' (uid 3): dimension 1 is 2, must be 4"},
        {KILN_REJECT_SHAPE, PLAIN " !block_size=32 !axis=0",
         "tensor 'scale' (uid 3): dimension 0 is 4, must be 1"},
        {KILN_REJECT_SHAPE, "BlockScaleQuantize x=4,64 y=4,64:FP8_E4M3 scale=4,2,1 !block_size=32",
         "tensor 'scale' (uid 3): rank 3, must be the input's rank 2"},
        {KILN_REJECT_SHAPE, "BlockScaleQuantize x=4,64 y=4,32:FP8_E4M3 scale=4,2 !block_size=32",
         "tensor 'y' (uid 2): dimension 1 is 32, must be 64"},
        {KILN_REJECT_UNSUPPORTED_TYPE,
         "BlockScaleQuantize x=4,64:DOUBLE y=4,64:FP8_E4M3 scale=4,2 !block_size=32",
         "tensor 'x' (uid 1): type double has no rule in block-scale quantisation"},
        {KILN_REJECT_UNSUPPORTED_TYPE,
         "BlockScaleQuantize x=4,64 y=4,64:INT64 scale=4,2 !block_size=32",
         "tensor 'y' (uid 2): type int64 has no rule"},
        {KILN_REJECT_UNSUPPORTED_TYPE,
         "BlockScaleQuantize x=4,64 y=4,64:FP8_E4M3 scale=4,2:INT8 !block_size=32",
         "tensor 'scale' (uid 3): type int8 has no rule"},
        {KILN_REJECT_UNSUPPORTED_TYPE,
         "BlockScaleQuantize x=4,64 y=4,64:FP8_E8M0 scale=4,2 !block_size=32",
         "tensor 'y' (uid 2): type fp8_e8m0 has no rule"},
        {KILN_REJECT_RANK,
         "BlockScaleQuantize x=1,1,1,1,1,1,1,65 y=1,1,1,1,1,1,1,65:FP8_E4M3 scale=1,1,1,1,1,1,1,3 "
         "!block_size=32",
         "tensor 'x' (uid 1): rank 8: blocks along an axis need one axis more"},
        {KILN_REJECT_TOO_LARGE,
         "BlockScaleQuantize x=2147483647 y=2147483647:FP8_E4M3 scale=67108864 !block_size=32",
         "dimension 0 is 2147483647: whole blocks are longer than 2147483647"},
        {KILN_REJECT_RANK,
         "BlockScaleQuantize x=2,1,1,1,1,1,1,64 y=2,1,1,1,1,1,1,64:FP8_E4M3 scale=2,1,1,1,1,1,1,2 "
         "!block_size=32",
         "tensor 'x' (uid 1): rank 8: blocks along an axis need one axis more"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        graph_sketch_decline(rows[i].sketch, NULL, rows[i].reason, rows[i].words);
}
