/* Attention and its gradients: operands, what is accepted, reasons to decline. */
#include "graph_sketch.h"

#include "compiler/graph/wire_messages.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

TestSuite(node_attention);

/* Two batches, four heads over two, 5 queries, 7 keys, depths 8 and 6. */
#define QKV     "q=2,4,5,8 k=2,2,7,8 v=2,2,7,6"
#define FORWARD "Sdpa " QKV " o=2,4,5,6"
#define BACKWARD                                                                                   \
    "SdpaBackward " QKV " o=2,4,5,6 do=2,4,5,6 stats=2,4,5,1 dq=2,4,5,8 dk=2,2,7,8 dv=2,2,7,6"
#define LENGTH "2,1,1,1:INT32"

static const char *const accepted[] = {
    FORWARD,
    "Sdpa q=1,1,1,1 k=1,1,1,1 v=1,1,1,1 o=1,1,1,1",
    "Sdpa q=2,6,5,8 k=2,2,7,8 v=2,3,7,6 o=2,6,5,6", /* heads of k and of v differ */
    "Sdpa q=1,2,3,4 k@1 v@1 o=1,2,3,4",             /* of itself */
    FORWARD " !attn_scale_value=0.25",
    FORWARD " scale=1 !attn_scale_value=0.25",
    FORWARD " scale=k",
    FORWARD " scale=s",
    FORWARD " scale=1,1,1,1:HALF",
    FORWARD " attn_mask=7",
    FORWARD " attn_mask=5,1",
    FORWARD " attn_mask=4,5,7",
    FORWARD " attn_mask=2,1,5,7:HALF",
    FORWARD " attn_mask=2,1,1,7:BOOLEAN",
    FORWARD " sink_token=1,4,1,1",
    FORWARD " stats=2,4,5,1 max=2,4,5,1 sum_exp=2,4,5,1 !generate_stats=true",
    FORWARD " stats=2,4,5,1",
    FORWARD " amax_s=1,1,1,1 amax_o=1",
    FORWARD " seq_len_q=" LENGTH " seq_len_kv=2,1,1,1:INT64 !padding_mask=true",
    FORWARD " seq_len_q=2:INT32 seq_len_kv=2,1:INT64 !padding_mask=true",
    FORWARD " stats=2,4,5 max=2,4,5 sum_exp=2,4,5",
    "Sdpa q=1,4,5,8 k=1,2,7,8 v=1,2,7,6 o=1,4,5,6 seq_len_q=1:INT32 !padding_mask=true",
    FORWARD " seq_len_kv=" LENGTH " !padding_mask=true !causal_mask=true",
    FORWARD " seq_len_kv=" LENGTH " !padding_mask=true !diagonal_alignment='BOTTOM_RIGHT'",
    FORWARD " seq_len_kv=" LENGTH " !padding_mask=true !diagonal_alignment='BOTTOM_RIGHT' "
            "!left_bound=6 !right_bound=4", /* both hide nothing */
    FORWARD " seq_len_kv=" LENGTH " !padding_mask=true !causal_mask_bottom_right=true",
    FORWARD " seq_len_q=" LENGTH " seq_len_kv=2:INT64 !padding_mask=true !left_bound=3 "
            "!right_bound=1 !diagonal_alignment='BOTTOM_RIGHT'",
    FORWARD " !causal_mask=true",
    FORWARD " !causal_mask=true !diagonal_alignment='BOTTOM_RIGHT'",
    FORWARD " !causal_mask=true !right_bound=3",
    FORWARD " !causal_mask=true !right_bound=0 !left_bound=2",
    FORWARD " !causal_mask_bottom_right=true",
    FORWARD " !left_bound=1 !right_bound=2 !diagonal_alignment='BOTTOM_RIGHT'",
    FORWARD " !left_bound=9223372036854775807 !right_bound=9223372036854775807",
    FORWARD " !left_bound=-9223372036854775808 !right_bound=-1",
    FORWARD " !dropout_probability=0 seed=1 offset=1",
    FORWARD " !mma_core_mode='HALF' !implementation='UNIFIED'",
    "Sdpa q=2,4,5,8:FP8_E4M3 k=2,2,7,8:FP8_E4M3 v=2,2,7,6:FP8_E5M2 o=2,4,5,6:FP8_E4M3 "
    "descale_q=2,2,1,1 descale_k=1,1,1,1 descale_v=2,2,1,1 descale_s=1 scale_s=1 scale_o=1 "
    "amax_s=1 "
    "amax_o=1",
    "Sdpa q=1,1,2,3:DOUBLE k=1,1,2,3:BFLOAT16 v=1,1,2,3:HALF o=1,1,2,3",
    BACKWARD,
    BACKWARD " attn_mask=1,4,5,7 dbias=1,4,5,7 !causal_mask=true",
    BACKWARD " attn_mask=5,7:BOOLEAN",
    BACKWARD " scale=1 seq_len_q=" LENGTH " seq_len_kv=" LENGTH " !padding_mask=true",
    BACKWARD " seq_len_q=" LENGTH " !padding_mask=true !causal_mask_bottom_right=true",
    BACKWARD " !causal_mask_bottom_right=true !attn_scale_value=2",
};

/* What was read, written and read again. */
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
    cr_expect_eq(kiln_graph_write(&read->graph, KILN_WIRE_ERA_NOV2025, &bytes, &error),
                 KILN_UNSUPPORTED, "%s: the older layout has no attention", sketch);
    json_graph_fini(&again);
    kiln_buffer_fini(&bytes);
    kiln_buffer_fini(&form);
    kiln_buffer_fini(&form_again);
}

Test(node_attention, accepted)
{
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
        struct json_graph read;
        graph_sketch_accept(&read, accepted[i], NULL);
        check_invariants(&read.graph);
        cr_expect(kiln_node_is_attention(&read.graph.nodes[0]), "%s", accepted[i]);
        check_written(&read, accepted[i]);
        json_graph_fini(&read);
    }
}

/* Whatever way the wire says it, which keys a query sees. */
Test(node_attention, bounds)
{
    static const struct {
        const char *attributes;
        bool has_first, has_last;
        int64_t first, last;
    } rows[] = {
        {"", false, false, 0, 0},
        {" !causal_mask=true", false, true, 0, 0},
        {" !right_bound=0", false, true, 0, 0},
        {" !causal_mask=true !right_bound=3", false, true, 0, 3},
        {" !causal_mask=true !right_bound=-1", false, true, 0, 0},
        {" !causal_mask=true !diagonal_alignment='BOTTOM_RIGHT'", false, true, 0, 2},
        {" !causal_mask_bottom_right=true !right_bound=1", false, true, 0, 3},
        {" !causal_mask_bottom_right=true", false, true, 0, 2},
        {" !right_bound=0 !diagonal_alignment='BOTTOM_RIGHT'", false, true, 0, 2},
        {" !right_bound=5", false, true, 0, 5},
        {" !right_bound=6", false, false, 0, 0}, /* the first query sees the last key */
        {" !right_bound=4 !diagonal_alignment='BOTTOM_RIGHT'", false, false, 0, 0},
        {" !left_bound=3", true, false, -3, 0},
        {" !left_bound=4", false, false, 0, 0}, /* the last query sees the first key */
        {" !left_bound=5 !diagonal_alignment='BOTTOM_RIGHT'", true, false, -3, 0},
        {" !left_bound=6 !diagonal_alignment='BOTTOM_RIGHT'", false, false, 0, 0},
        {" !left_bound=0 !right_bound=1 !diagonal_alignment='BOTTOM_RIGHT'", true, true, 2, 3},
        {" !left_bound=-1 !right_bound=-5", false, false, 0, 0},
        {" !left_bound=9223372036854775807 !right_bound=1", false, true, 0, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char sketch[256];
        struct json_graph read;
        (void)snprintf(sketch, sizeof sketch, FORWARD "%s", rows[i].attributes);
        graph_sketch_accept(&read, sketch, NULL);
        const struct kiln_attention *attention = &read.graph.nodes[0].attention;
        cr_expect(attention->has_first_key == rows[i].has_first &&
                      attention->has_last_key == rows[i].has_last,
                  "%s", sketch);
        cr_expect_eq(attention->first_key, rows[i].first, "%s", sketch);
        cr_expect_eq(attention->last_key, rows[i].last, "%s", sketch);
        check_written(&read, sketch);
        json_graph_fini(&read);
    }
}

/* Where batches have lengths, bounds at the bottom right count from each batch's corner. */
Test(node_attention, bounds_of_each_batch)
{
    static const struct {
        const char *attributes;
        bool has_first, has_last;
        int64_t first, last;
    } rows[] = {
        {" !causal_mask_bottom_right=true", false, true, 0, 0},
        {" !right_bound=3 !diagonal_alignment='BOTTOM_RIGHT'", false, true, 0, 3},
        {" !right_bound=4 !diagonal_alignment='BOTTOM_RIGHT'", false, false, 0, 0},
        {" !left_bound=5 !diagonal_alignment='BOTTOM_RIGHT'", true, false, -5, 0},
        {" !left_bound=6 !diagonal_alignment='BOTTOM_RIGHT'", false, false, 0, 0},
        {" !left_bound=0 !right_bound=1 !diagonal_alignment='BOTTOM_RIGHT'", true, true, 0, 1},
    };
    static const char *const lengths[] = {" seq_len_q=" LENGTH, " seq_len_kv=" LENGTH};
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        const char *attributes = rows[i / 2].attributes;
        char sketch[256];
        struct json_graph read;
        (void)snprintf(sketch, sizeof sketch, FORWARD "%s !padding_mask=true%s", lengths[i % 2],
                       attributes);
        graph_sketch_accept(&read, sketch, NULL);
        const struct kiln_attention *attention = &read.graph.nodes[0].attention;
        bool has_bound = rows[i / 2].has_first || rows[i / 2].has_last;
        cr_expect(attention->has_first_key == rows[i / 2].has_first &&
                      attention->has_last_key == rows[i / 2].has_last &&
                      attention->is_bottom_right == has_bound,
                  "%s", sketch);
        cr_expect_eq(attention->first_key, rows[i / 2].first, "%s", sketch);
        cr_expect_eq(attention->last_key, rows[i / 2].last, "%s", sketch);
        check_written(&read, sketch);
        json_graph_fini(&read);
    }
}

/* More queries than keys: the corner at the bottom right leaves the first rows empty. */
Test(node_attention, bounds_of_more_queries_than_keys)
{
    struct json_graph read;
    graph_sketch_accept(
        &read, "Sdpa q=1,1,7,4 k=1,1,3,4 v=1,1,3,4 o=1,1,7,4 !causal_mask_bottom_right=true", NULL);
    cr_expect_eq(read.graph.nodes[0].attention.last_key, -4);
    check_written(&read, "more queries than keys");
    json_graph_fini(&read);
}

Test(node_attention, attributes)
{
    static const char sketch[] = FORWARD " sink_token=1,4,1,1 stats=2,4,5,1 !left_bound=2 "
                                         "!right_bound=1 !attn_scale_value=0.125";
    struct json_graph read;
    struct kiln_buffer text;
    graph_sketch_accept(&read, sketch, NULL);
    cr_expect_eq(read.graph.nodes[0].attention.scale, 0.125);
    kiln_buffer_init(&text);
    kiln_graph_print(&read.graph, &text);
    cr_expect_not_null(strstr(kiln_buffer_text(&text),
                              "o %4, stats %5 = ATTENTION(q %0, k %1, v %2, sink_token %3) scale "
                              "0.125 first_key i-2 last_key i+1 in float"),
                       "%s", kiln_buffer_text(&text));
    kiln_buffer_fini(&text);
    json_graph_fini(&read);
}

Test(node_attention, scale)
{
    struct json_graph read;
    graph_sketch_accept(&read, FORWARD, NULL);
    cr_expect_eq(read.graph.nodes[0].attention.scale, 1, "the default");
    json_graph_fini(&read);
    graph_sketch_accept(&read, FORWARD " !attn_scale_value=3", NULL);
    cr_expect_eq(read.graph.nodes[0].attention.scale, 3);
    json_graph_fini(&read);
    graph_sketch_accept(&read, FORWARD " scale=1 !attn_scale_value=3", NULL);
    cr_expect_neq(kiln_node_input(&read.graph.nodes[0], KILN_OPERAND_SCALE), KILN_NONE,
                  "the tensor comes first");
    json_graph_fini(&read);
}

static const struct {
    enum kiln_reject_reason reason;
    const char *sketch;
    const char *words;
} declined[] = {
    /* What Kiln does not do, or nobody has specified. */
    {KILN_REJECT_ATTENTION, FORWARD " !dropout_probability=0.5",
     "node 'Sdpa': dropout_probability is 0.5: dropout is not supported"},
    {KILN_REJECT_ATTENTION, FORWARD " dropout_mask=2,4,5,7",
     "node 'Sdpa': tensor 'dropout_mask' (uid 5): it is dropout_mask, and dropout is not "
     "supported"},
    {KILN_REJECT_ATTENTION, FORWARD " dropout_scale=1", "tensor 'dropout_scale' (uid 5)"},
    {KILN_REJECT_ATTENTION, FORWARD " rng_dump=2,4,5,7", "tensor 'rng_dump' (uid 5)"},
    {KILN_REJECT_ATTENTION, BACKWARD " dropout_scale_inv=1",
     "node 'SdpaBackward': tensor 'dropout_scale_inv' (uid 10)"},
    {KILN_REJECT_ATTENTION, FORWARD " page_table_k=2,1,4,1:INT32",
     "tensor 'page_table_k' (uid 5): it is page_table_k, and pages of keys and values are not"},
    {KILN_REJECT_ATTENTION, FORWARD " page_table_v=2,1,4,1:INT32", "'page_table_v' (uid 5)"},
    {KILN_REJECT_ATTENTION, FORWARD " block_mask=2,4,1,1:UINT8",
     "tensor 'block_mask' (uid 5): it is block_mask, and masks of blocks are not supported"},
    {KILN_REJECT_ATTENTION, FORWARD " !alibi_mask=true",
     "node 'Sdpa': alibi_mask is set: which slopes it means is not specified"},
    {KILN_REJECT_ATTENTION, FORWARD " !implementation=3", "implementation 3 is unknown"},
    {KILN_REJECT_ATTENTION, FORWARD " !diagonal_alignment=2", "diagonal_alignment 2 is unknown"},
    {KILN_REJECT_ATTENTION, BACKWARD " !diagonal_alignment=7", "diagonal_alignment 7 is unknown"},
    {KILN_REJECT_UNKNOWN_TYPE, FORWARD " !mma_core_mode=99", "mma_core_mode 99 is not supported"},
    /* Masks that contradict one another. */
    {KILN_REJECT_ATTENTION, FORWARD " !causal_mask=true !causal_mask_bottom_right=true",
     "node 'Sdpa': causal_mask and causal_mask_bottom_right are both set"},
    {KILN_REJECT_ATTENTION, FORWARD " seq_len_kv=" LENGTH,
     "node 'Sdpa': tensor 'seq_len_kv' (uid 5): it is seq_len_kv, and padding_mask is not set"},
    {KILN_REJECT_MISSING_OPERAND, FORWARD " !padding_mask=true",
     "padding_mask is set, and seq_len_q and seq_len_kv are missing"},
    {KILN_REJECT_MISSING_OPERAND, FORWARD " !generate_stats=true",
     "generate_stats is set, and stats is missing"},
    {KILN_REJECT_ATTENTION, BACKWARD " dbias=1,4,5,7",
     "node 'SdpaBackward': tensor 'dbias' (uid 10): it is dbias, and attn_mask, whose gradient it "
     "would be, is missing"},
    /* Shapes. */
    {KILN_REJECT_SHAPE, "Sdpa q=4,5,8 k=2,2,7,8 v=2,2,7,6 o=2,4,5,6",
     "node 'Sdpa': tensor 'q' (uid 1): q has rank 3, must have 4: batch, heads, sequence, depth"},
    {KILN_REJECT_SHAPE, "Sdpa q=2,4,5,8 k=2,7,8 v=2,2,7,6 o=2,4,5,6", "k has rank 3, must have 4"},
    {KILN_REJECT_SHAPE, "Sdpa q=2,4,5,8 k=2,2,7,8 v=2,2,7,6 o=4,5,6", "o has rank 3, must have 4"},
    {KILN_REJECT_SHAPE, "Sdpa q=2,4,5,8 k=1,2,7,8 v=2,2,7,6 o=2,4,5,6",
     "node 'Sdpa': tensor 'k' (uid 2): dimension 0 of k is 1, must be the batch of q, 2"},
    {KILN_REJECT_SHAPE, "Sdpa q=2,4,5,8 k=2,3,7,8 v=2,2,7,6 o=2,4,5,6",
     "node 'Sdpa': tensor 'k' (uid 2): k has 3 heads, must divide the 4 heads of q"},
    {KILN_REJECT_SHAPE, "Sdpa q=2,4,5,8 k=2,2,7,8 v=2,8,7,6 o=2,4,5,6",
     "node 'Sdpa': tensor 'v' (uid 3): v has 8 heads, must divide the 4 heads of q"},
    {KILN_REJECT_SHAPE, "Sdpa q=2,4,5,8 k=2,2,7,9 v=2,2,7,6 o=2,4,5,6",
     "dimension 3 of k is 9, must be the depth of q, 8"},
    {KILN_REJECT_SHAPE, "Sdpa q=2,4,5,8 k=2,2,7,8 v=2,2,6,6 o=2,4,5,6",
     "dimension 2 of v is 6, must be the sequence of k, 7"},
    {KILN_REJECT_SHAPE, "Sdpa " QKV " o=2,4,5,8",
     "node 'Sdpa': tensor 'o' (uid 4): dimension 3 of o is 8, must be the depth of v, 6"},
    {KILN_REJECT_SHAPE, FORWARD " stats=2,4,5,7",
     "node 'Sdpa': tensor 'stats' (uid 5): dimension 3 of stats is 7, must be one, 1"},
    {KILN_REJECT_SHAPE, FORWARD " max=4,5,1", "max has rank 3, must have 4"},
    {KILN_REJECT_SHAPE, FORWARD " sum_exp=2,2,5,1",
     "dimension 1 of sum_exp is 2, must be the heads of q, 4"},
    {KILN_REJECT_SHAPE, FORWARD " sink_token=1,2,1,1",
     "dimension 1 of sink_token is 2, must be the heads of q, 4"},
    {KILN_REJECT_SHAPE, FORWARD " amax_s=4", "amax_s has 4 elements, must have one"},
    {KILN_REJECT_SHAPE, FORWARD " scale=2", "scale has 2 elements, must have one"},
    {KILN_REJECT_SHAPE, FORWARD " descale_q=1,4,1,1",
     "descale_q must have one element, or the shape [2, 2, 1, 1]"},
    {KILN_REJECT_SHAPE, FORWARD " scale_o=1,4,1,1", "scale_o has 4 elements, must have one"},
    {KILN_REJECT_SHAPE, FORWARD " seq_len_q=1,2:INT32 !padding_mask=true",
     "seq_len_q has rank 2, must have 4"},
    {KILN_REJECT_SHAPE, FORWARD " seq_len_q=3:INT32 !padding_mask=true",
     "seq_len_q has rank 1, must have 4"},
    {KILN_REJECT_SHAPE,
     FORWARD " seq_len_q@9=2:INT32 !padding_mask=true | "
             "Pointwise in_0@9 out_0=2:INT32 !operation='NEG'",
     "as in_0 here its shape means something else"},
    {KILN_REJECT_SHAPE, FORWARD " seq_len_kv=3,1,1,1:INT32 !padding_mask=true",
     "dimension 0 of seq_len_kv is 3, must be the batch of q, 2"},
    {KILN_REJECT_BROADCAST, FORWARD " attn_mask=3,5,7",
     "node 'Sdpa': tensor 'attn_mask' (uid 5): dimension 0 of attn_mask is 3, must be 1 or 4, as "
     "the scores have it"},
    {KILN_REJECT_BROADCAST, FORWARD " attn_mask=5,8", "dimension 1 of attn_mask is 8, must be 1"},
    {KILN_REJECT_BROADCAST, FORWARD " attn_mask=1,2,4,5,7", "attn_mask has rank 5, must have 1"},
    {KILN_REJECT_SHAPE, BACKWARD " attn_mask=1,4,5,7 dbias=4,5,7",
     "node 'SdpaBackward': tensor 'dbias' (uid 11): dbias must have the shape of attn_mask"},
    {KILN_REJECT_SHAPE,
     "SdpaBackward " QKV " o=2,4,5,6 do=2,4,5,6 stats=2,4,5,1 dq=2,4,5,8 dk=2,4,7,8 dv=2,2,7,6",
     "node 'SdpaBackward': tensor 'dk' (uid 8): dimension 1 of dk is 4, must be the heads of k, 2"},
    {KILN_REJECT_SHAPE,
     "SdpaBackward " QKV " o=2,4,5,6 do=2,4,5,8 stats=2,4,5,1 dq=2,4,5,8 dk=2,2,7,8 dv=2,2,7,6",
     "dimension 3 of do is 8, must be the depth of v, 6"},
    {KILN_REJECT_SHAPE,
     "SdpaBackward " QKV " o=2,4,5,6 do=2,4,5,6 stats=2,4,5,2 dq=2,4,5,8 dk=2,2,7,8 dv=2,2,7,6",
     "dimension 3 of stats is 2, must be one, 1"},
    /* Types. */
    {KILN_REJECT_UNSUPPORTED_TYPE, "Sdpa q=1,1,2,3:INT8 k=1,1,2,3 v=1,1,2,3 o=1,1,2,3",
     "node 'Sdpa': tensor 'q' (uid 1): q is int8, must be of a floating-point type"},
    {KILN_REJECT_UNSUPPORTED_TYPE, FORWARD " attn_mask=5,7:UINT8",
     "attn_mask is uint8, must be of a floating-point type"},
    {KILN_REJECT_UNSUPPORTED_TYPE, FORWARD " stats=2,4,5,1:INT32",
     "stats is int32, must be of a floating-point type"},
    {KILN_REJECT_UNSUPPORTED_TYPE, FORWARD " seq_len_q=2,1,1,1 !padding_mask=true",
     "seq_len_q is float, must be int32 or int64"},
    {KILN_REJECT_UNSUPPORTED_TYPE, FORWARD " attn_mask=5,7:UINT8",
     "attn_mask is uint8, must be of a floating-point type"},
    {KILN_REJECT_UNSUPPORTED_TYPE, BACKWARD " attn_mask=5,7:BOOLEAN dbias=5,7",
     "tensor 'attn_mask' (uid 10): attn_mask is bool, which has no gradient dbias"},
    {KILN_REJECT_UNSUPPORTED_TYPE, FORWARD " sink_token=1,4,1,1:BOOLEAN",
     "sink_token is bool, must be of a floating-point type"},
    /* Operands. */
    {KILN_REJECT_UNKNOWN_UID, "Sdpa q=1,1,2,3 k@1 v@1", "operand o has uid 0"},
    {KILN_REJECT_UNKNOWN_UID, FORWARD " dropout_mask@77", "operand dropout_mask has uid 77"},
    {KILN_REJECT_CYCLE, "Sdpa q=1,1,2,3 k@1 v@2 o@2=1,1,2,3", "reads its own output"},
    {KILN_REJECT_WRITTEN_TWICE, FORWARD " stats=2,4,5,1 max@5",
     "node 'Sdpa': writes the tensor with uid 5, which node 0 ('Sdpa') writes too"},
    /* What cannot be counted. */
    {KILN_REJECT_TOO_LARGE, "Sdpa q=1,1,2147483648,1 k=1,1,1,1 v=1,1,1,1 o=1,1,2147483648,1",
     "node 'Sdpa': tensor 'q' (uid 1): dimension 2 is 2147483648, at most 2147483647 in attention"},
    {KILN_REJECT_TOO_LARGE, "Sdpa q=1,1,2147483647,1 k=1,1,1,1 v=1,1,1,1 o=1,1,2147483647,1",
     "2147483647 queries and 1 key in 1 head of all batches"},
    {KILN_REJECT_TOO_LARGE, "Sdpa q=65536,65536,1,1 k=65536,1,1,1 v=65536,1,1,1 o=65536,65536,1,1",
     "in 4294967296 heads of all batches"},
    {KILN_REJECT_ENDLESS,
     "Sdpa q=1,1,1000000000,1 k=1,1,1000000000,1 v=1,1,1000000000,1 o=1,1,1000000000,1",
     "node 'Sdpa': it has more than 2^48 scores of queries and keys"},
    {KILN_REJECT_TOO_LARGE,
     "Sdpa q=1,1,16777216,2000000000 k=1,1,16777216,2000000000 v=1,1,16777216,1 o=1,1,16777216,1",
     "node 'Sdpa': its products have more than 2^63 terms"},
    {KILN_REJECT_TOO_LARGE,
     "Sdpa q=1,1,2000000000,1 k=1,1,9,1 v=1,1,9,1 o=1,1,2000000000,1 seq_len_q=1:INT32 "
     "!padding_mask=true !right_bound=1000000000 !diagonal_alignment='BOTTOM_RIGHT'",
     "right_bound 1000000000 is too large for 2000000000 queries and 9 keys"},
};

Test(node_attention, declined)
{
    for (size_t i = 0; i < sizeof declined / sizeof *declined; i++)
        graph_sketch_decline(declined[i].sketch, NULL, declined[i].reason, declined[i].words);
}

/* Each differs from all others. */
Test(node_attention, canonical_form_tells_parameters_apart)
{
    static const char *const variants[] = {
        FORWARD,
        FORWARD " !attn_scale_value=0.25",
        FORWARD " !causal_mask=true",
        FORWARD " !right_bound=1",
        FORWARD " !left_bound=1",
        FORWARD " !causal_mask_bottom_right=true",
        FORWARD " stats=2,4,5,1",
        FORWARD " max=2,4,5,1",
        FORWARD " scale=1",
        FORWARD " descale_q=1",
        FORWARD " seq_len_q=" LENGTH " !padding_mask=true",
        FORWARD " seq_len_kv=" LENGTH " !padding_mask=true",
        FORWARD " seq_len_kv=" LENGTH " !padding_mask=true !causal_mask=true",
        FORWARD " seq_len_kv=" LENGTH " !padding_mask=true !causal_mask_bottom_right=true",
        FORWARD " attn_mask=5,7",
        FORWARD " attn_mask=5,7:BOOLEAN",
        BACKWARD,
    };
    enum { VARIANTS = sizeof variants / sizeof *variants };
    struct kiln_buffer forms[VARIANTS];
    for (size_t i = 0; i < VARIANTS; i++) {
        struct json_graph read;
        graph_sketch_accept(&read, variants[i], NULL);
        kiln_buffer_init(&forms[i]);
        kiln_graph_append_canonical(&read.graph, &forms[i]);
        json_graph_fini(&read);
        for (size_t k = 0; k < i; k++)
            cr_assert(forms[i].size != forms[k].size ||
                          memcmp(forms[i].data, forms[k].data, forms[i].size) != 0,
                      "'%s' and '%s'", variants[k], variants[i]);
    }
    for (size_t i = 0; i < VARIANTS; i++)
        kiln_buffer_fini(&forms[i]);
}

/* Equal computations have equal keys, whichever way they are asked for. */
Test(node_attention, canonical_form_of_one_mask_said_in_two_ways)
{
    static const char *const pairs[][2] = {
        {FORWARD " !causal_mask=true", FORWARD " !right_bound=0"},
        {FORWARD " !causal_mask_bottom_right=true", FORWARD " !right_bound=2"},
        {FORWARD " !left_bound=100", FORWARD},
        {FORWARD " !left_bound=5 !diagonal_alignment='BOTTOM_RIGHT'", FORWARD " !left_bound=3"},
        {FORWARD " stats=2,4,5,1", FORWARD " stats=2,4,5,1 !generate_stats=true"},
        /* Without dropout and without pages nothing is read of these. */
        {FORWARD " seed=1 offset=1", FORWARD},
        {FORWARD " !max_seq_len_kv=3", FORWARD},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct kiln_buffer forms[2];
        for (size_t k = 0; k < 2; k++) {
            struct json_graph read;
            graph_sketch_accept(&read, pairs[i][k], NULL);
            kiln_buffer_init(&forms[k]);
            kiln_graph_append_canonical(&read.graph, &forms[k]);
            json_graph_fini(&read);
        }
        cr_expect(forms[0].size == forms[1].size &&
                      memcmp(forms[0].data, forms[1].data, forms[0].size) == 0,
                  "'%s' and '%s'", pairs[i][0], pairs[i][1]);
        kiln_buffer_fini(&forms[0]);
        kiln_buffer_fini(&forms[1]);
    }
}
