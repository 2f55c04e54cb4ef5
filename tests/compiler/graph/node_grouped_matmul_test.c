/* Grouped products: operands, what is accepted, reasons to decline. */
#include "graph_sketch.h"

#include "compiler/graph/wire_messages.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(node_grouped_matmul);

#define TOKENS  "MoeGroupedMatmul token=1,20,24 weight=4,24,16 "
#define INDICES "token_index=1,20,1:INT32 token_ks=1,20,1:INT32 "

static const char *const accepted[] = {
    TOKENS "first_token_offset=4,1,1:INT32 output=1,20,16",
    TOKENS "first_token_offset=12,1,1:INT32 output=1,20,16 !mode='NONE' !top_k=0",
    TOKENS "first_token_offset=4,1,1:INT32 token_index=1,33,1:INT32 output=1,33,16 !mode='GATHER'",
    TOKENS "first_token_offset=4,1,1:INT32 " INDICES "output=1,20,16 !mode='SCATTER' !top_k=4",
    ("MoeGroupedMatmulBwd doutput=1,20,16 token=1,20,24 first_token_offset=4,1,1:INT32 "
     "dweight=4,24,16"),
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

Test(node_grouped_matmul, accepted)
{
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; i++) {
        struct json_graph read;
        graph_sketch_accept(&read, accepted[i], NULL);
        check_written(&read, accepted[i]);
        json_graph_fini(&read);
    }
}

Test(node_grouped_matmul, attributes)
{
    struct json_graph read;
    struct kiln_buffer text;
    graph_sketch_accept(&read, accepted[3], NULL);
    const struct kiln_node *node = &read.graph.nodes[0];
    cr_expect_eq(node->grouped_matmul.mode, KILN_GROUPED_SCATTER);
    cr_expect_eq(node->grouped_matmul.top_k, 4);
    kiln_buffer_init(&text);
    kiln_graph_print(&read.graph, &text);
    cr_expect_not_null(strstr(kiln_buffer_text(&text), "SCATTER top_k 4"), "%s",
                       kiln_buffer_text(&text));
    kiln_buffer_fini(&text);
    json_graph_fini(&read);
}

Test(node_grouped_matmul, declined)
{
    static const struct {
        enum kiln_reject_reason reason;
        const char *sketch;
        const char *words;
    } rows[] = {
        {KILN_REJECT_UNKNOWN_MODE, TOKENS "first_token_offset=4,1,1:INT32 output=1,20,16 !mode=3",
         "mode 3 is unknown"},
        {KILN_REJECT_SHAPE, TOKENS "first_token_offset=6,1,1:INT32 output=1,20,16",
         "dimension 0 is 6, must be a multiple of the 4 experts"},
        {KILN_REJECT_SHAPE, TOKENS "first_token_offset=4,1,2:INT32 output=1,20,16",
         "dimension 2 is 2, must be 1"},
        {KILN_REJECT_SHAPE, TOKENS "first_token_offset=4:INT32 output=1,20,16",
         "rank 1, must be 3 in a grouped product"},
        {KILN_REJECT_UNSUPPORTED_TYPE, TOKENS "first_token_offset=4,1,1:INT64 output=1,20,16",
         "type int64, offsets and indices must be int32"},
        {KILN_REJECT_TOO_LARGE, TOKENS "first_token_offset=131072,1,1:INT32 output=1,20,16",
         "131072 groups, at most 65536 are supported"},
        {KILN_REJECT_SHAPE, TOKENS "first_token_offset=4,1,1:INT32 output=1,21,16",
         "dimension 1 is 21, must be 20, that of the tokens"},
        {KILN_REJECT_SHAPE, TOKENS "first_token_offset=4,1,1:INT32 output=1,20,17",
         "dimension 2 is 17, must be 16, that of the weights"},
        {KILN_REJECT_SHAPE,
         "MoeGroupedMatmul token=1,20,24 weight=4,23,16 first_token_offset=4,1,1:INT32 "
         "output=1,20,16",
         "dimension 1 is 23, must be 24, that of the tokens"},
        {KILN_REJECT_SHAPE,
         "MoeGroupedMatmul token=2,20,24 weight=4,24,16 first_token_offset=4,1,1:INT32 "
         "output=1,20,16",
         "dimension 0 is 2, must be 1"},
        {KILN_REJECT_UNSUPPORTED_TYPE,
         "MoeGroupedMatmul token=1,20,24:INT32 weight=4,24,16 first_token_offset=4,1,1:INT32 "
         "output=1,20,16",
         "type int32 has no rule in a matrix product"},
        {KILN_REJECT_SHAPE, TOKENS "first_token_offset=4,1,1:INT32 output=1,20,16 !top_k=2",
         "top_k is 2, must be 0 where nothing is scattered"},
        {KILN_REJECT_SHAPE,
         TOKENS "first_token_offset=4,1,1:INT32 token_index=1,20,1:INT32 output=1,20,16",
         "the operand token_index is given, but the mode has none"},
        {KILN_REJECT_MISSING_OPERAND,
         TOKENS "first_token_offset=4,1,1:INT32 output=1,20,16 !mode='GATHER'",
         "the operand token_index is missing"},
        {KILN_REJECT_SHAPE,
         TOKENS "first_token_offset=4,1,1:INT32 token_index=1,20,1:INT32 output=1,21,16 "
                "!mode='GATHER'",
         "dimension 1 is 20, must be 21, a row of the output each"},
        {KILN_REJECT_MISSING_OPERAND,
         TOKENS "first_token_offset=4,1,1:INT32 token_index=1,20,1:INT32 output=1,20,16 "
                "!mode='SCATTER' !top_k=2",
         "the operand token_ks is missing"},
        {KILN_REJECT_SHAPE,
         TOKENS "first_token_offset=4,1,1:INT32 " INDICES "output=1,20,16 !mode='SCATTER'",
         "top_k is 0, must be at least 1"},
        {KILN_REJECT_SHAPE,
         TOKENS "first_token_offset=4,1,1:INT32 " INDICES "output=1,20,16 !mode='SCATTER' !top_k=5",
         "top_k is 5, at most the 4 experts"},
        {KILN_REJECT_SHAPE,
         "MoeGroupedMatmulBwd doutput=1,20,16 token=1,20,24 first_token_offset=8,1,1:INT32 "
         "dweight=4,24,16",
         "dimension 0 is 8, must be that of the 4 experts"},
        {KILN_REJECT_SHAPE,
         "MoeGroupedMatmulBwd doutput=1,19,16 token=1,20,24 first_token_offset=4,1,1:INT32 "
         "dweight=4,24,16",
         "dimension 1 is 19, must be 20, that of the tokens"},
        {KILN_REJECT_SHAPE,
         "MoeGroupedMatmulBwd doutput=1,20,16 token=1,20,24 first_token_offset=4,1,1:INT32 "
         "dweight=4,16,24",
         "dimension 1 is 16, must be 24, that of the tokens"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        graph_sketch_decline(rows[i].sketch, NULL, rows[i].reason, rows[i].words);
}
