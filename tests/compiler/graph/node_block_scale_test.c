/* Block-scale nodes: operands, what is accepted, reasons to decline. */
#include "graph_sketch.h"

#include "compiler/graph/wire_messages.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(node_block_scale);

static const struct {
    const char *sketch;
    int64_t blocks[3]; /* of the node; 0 at the end */
} accepted[] = {
    {"BlockScaleDequantize x=5,96:FP8_E5M2 scale=5,3:FP8_E8M0 y=5,96 !block_size=[32]", {1, 32}},
    {"BlockScaleDequantize x=5,96:FP4_E2M1 scale=5,6:HALF y=5,96:BFLOAT16 !block_size=[1,16]",
     {1, 16}},
    {"BlockScaleDequantize x=12,40:INT8 scale=3,3 y=12,40:HALF !block_size=[4,16]", {4, 16}},
    /* The last block is shorter; a block beyond the axis is the axis. */
    {"BlockScaleDequantize x=2,7,9:FP6_E2M3 scale=2,3,1 y=2,7,9 !block_size=[3,64]", {1, 3, 9}},
    {"BlockScaleDequantize x=8:INT4 scale=1:BFLOAT16 y=8 !block_size=[2147483647]", {8}},
    {"BlockScaleDequantize x=4,64 scale=4,2 y=4,64 !block_size=[32] !is_negative_scale=true",
     {1, 32}},
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

Test(node_block_scale, accepted)
{
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
        struct json_graph read;
        graph_sketch_accept(&read, accepted[i].sketch, NULL);
        const struct kiln_node *node = &read.graph.nodes[0];
        cr_expect_eq(node->kind, KILN_NODE_BLOCK_SCALE_DEQUANTIZE, "%s", accepted[i].sketch);
        for (uint32_t k = 0; k < node->block_scale.block_count; k++)
            cr_expect_eq(node->block_scale.blocks[k], accepted[i].blocks[k], "%s",
                         accepted[i].sketch);
        check_written(&read, accepted[i].sketch);
        json_graph_fini(&read);
    }
}

Test(node_block_scale, attributes)
{
    struct json_graph read;
    graph_sketch_accept(&read, accepted[5].sketch, NULL);
    struct kiln_buffer text;
    kiln_buffer_init(&text);
    kiln_graph_print(&read.graph, &text);
    cr_expect_not_null(strstr(kiln_buffer_text(&text),
                              "y %2 = BLOCK_SCALE_DEQUANTIZE(x %0, scale %1) blocks [1,32] of "
                              "negative scales in float"),
                       "%s", kiln_buffer_text(&text));
    kiln_buffer_fini(&text);
    json_graph_fini(&read);
}

Test(node_block_scale, declined)
{
    static const struct {
        enum kiln_reject_reason reason;
        const char *sketch;
        const char *words;
    } rows[] = {
        {KILN_REJECT_BLOCK_SIZE, "BlockScaleDequantize x=4,64 scale=4,2 y=4,64",
         "node 'BlockScaleDequantize': block_size has 0 entries, must be 1 to 8"},
        {KILN_REJECT_BLOCK_SIZE, "BlockScaleDequantize x=4,64 scale=4,2 y=4,64 !block_size=[0]",
         "block_size 0 is 0, must be at least 1"},
        {KILN_REJECT_BLOCK_SIZE, "BlockScaleDequantize x=4,64 scale=4,2 y=4,64 !block_size=[1,-32]",
         "block_size 1 is -32, must be at least 1"},
        {KILN_REJECT_BLOCK_SIZE,
         "BlockScaleDequantize x=4,64 scale=4,2 y=4,64 !block_size=[1,1,32]",
         "tensor 'x' (uid 1): block_size has 3 entries for 2 dimensions"},
        {KILN_REJECT_SHAPE, "BlockScaleDequantize x=4,64 scale=4,3 y=4,64 !block_size=[32]",
         "tensor 'scale' (uid 2): dimension 1 is 3, must be 2"},
        {KILN_REJECT_SHAPE, "BlockScaleDequantize x=4,64 scale=1,2 y=4,64 !block_size=[32]",
         "tensor 'scale' (uid 2): dimension 0 is 1, must be 4"},
        {KILN_REJECT_SHAPE, "BlockScaleDequantize x=4,64 scale=2 y=4,64 !block_size=[32]",
         "tensor 'scale' (uid 2): rank 1, must be the rank of x, 2"},
        {KILN_REJECT_SHAPE, "BlockScaleDequantize x=4,64 scale=4,2 y=4,32 !block_size=[32]",
         "tensor 'y' (uid 3): dimension 1 is 32, must be 64"},
        {KILN_REJECT_UNSUPPORTED_TYPE,
         "BlockScaleDequantize x=4,64 scale=4,2:INT32 y=4,64 !block_size=[32]",
         "tensor 'scale' (uid 2): type int32 has no rule in block scaling"},
        {KILN_REJECT_UNSUPPORTED_TYPE,
         "BlockScaleDequantize x=4,64:BOOLEAN scale=4,2 y=4,64 !block_size=[32]",
         "type bool has no rule in block scaling"},
        {KILN_REJECT_UNKNOWN_UID, "BlockScaleDequantize x=4,64 y=4,64 !block_size=[32]",
         "operand scale has uid 0"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        graph_sketch_decline(rows[i].sketch, NULL, rows[i].reason, rows[i].words);
}
