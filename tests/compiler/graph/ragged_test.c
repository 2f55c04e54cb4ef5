/* Ragged tensors: where their batches lie, how they are read, and what is declined. */
#include "json_graph.h"

#include "compiler/graph/ragged.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

TestSuite(ragged);

/* ---- spans ---- */

static const struct kiln_tensor tensor = {
    .rank = 4,
    .dims = {3, 2, 5, 4},
    .strides = {0, 4, 8, 1},
    .ragged = {.multiplier = 4, .token = 8, .longest = 5},
};

struct span_row {
    int64_t first, next, last;
    int64_t base, length;
};

Test(ragged, batches_lie_between_their_offsets_which_are_cut_to_what_there_is)
{
    const int64_t most = 3 * 5 * 8 / 4; /* of all offsets */
    const struct span_row rows[] = {
        {0, 10, 20, 0, 5},
        {4, 8, 20, 16, 2},
        {4, 7, 20, 16, 1}, /* a token is whole or none */
        {4, 4, 20, 16, 0},
        {8, 4, 20, 32, 0},  /* decreasing: none */
        {-8, 4, 20, 0, 2},  /* negative: the first element */
        {4, 40, 12, 16, 4}, /* no further than the last one */
        {0, 24, 24, 0, 5},  /* no more than the longest */
        {0, 4, -1, 0, 0},
        {20, INT64_MAX, INT64_MAX, 80, 5},
        {INT64_MAX, INT64_MAX, INT64_MAX, most * 4, 0},
        {INT64_MIN, INT64_MAX, INT64_MAX, 0, 5},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kiln_span span =
            kiln_ragged_span(&tensor, rows[i].first, rows[i].next, rows[i].last);
        cr_expect_eq(span.base, rows[i].base, "row %zu: base %lld", i, (long long)span.base);
        cr_expect_eq(span.length, rows[i].length, "row %zu: length %lld", i,
                     (long long)span.length);
        cr_expect_leq(span.base + span.length * tensor.ragged.token, most * 4, "row %zu", i);
    }
}

/* ---- reading ---- */

#define RAGGED(offsets, multiplier)                                                                \
    ",'ragged_offset_tensor_uid':" #offsets ",'ragged_offset_multiplier':" #multiplier
#define TENSOR(uid, type, dims, strides, rest)                                                     \
    "{'uid':" #uid ",'data_type':'" type "','dims':[" dims "],'strides':[" strides "]" rest "}"

/* The parts of a graph that rows change. */
struct parts {
    const char *q, *k, *v, *o, *stats, *query_offsets, *key_offsets, *attributes;
};

static const struct parts plain = {
    .q = TENSOR(1, "HALF", "2,4,6,8", "0,8,32,1", RAGGED(6, 32)),
    .k = TENSOR(2, "HALF", "2,2,7,8", "0,8,16,1", RAGGED(7, 1)),
    .v = TENSOR(3, "HALF", "2,2,7,8", "0,8,20,1", RAGGED(7, 1)),
    .o = TENSOR(4, "HALF", "2,4,6,8", "0,8,32,1", RAGGED(6, 32)),
    .stats = TENSOR(5, "FLOAT", "2,4,6,1", "24,6,1,1", ""),
    .query_offsets = TENSOR(6, "INT32", "3,1,1,1", "1,1,1,1", ""),
    .key_offsets = TENSOR(7, "INT64", "3", "1", ""),
    .attributes = "",
};

#define OR(part) (parts->part != NULL ? parts->part : plain.part)

static void read_parts(struct json_graph *read, const struct parts *parts)
{
    char text[4096];
    int length = snprintf(
        text, sizeof text,
        "{'tensors':[%s,%s,%s,%s,%s,%s,%s],'nodes':[{'name':'a','compute_data_type':'FLOAT',"
        "'attributes_type':'SdpaAttributes','attributes':{'q_tensor_uid':1,'k_tensor_uid':2,"
        "'v_tensor_uid':3,'o_tensor_uid':4,'stats_tensor_uid':5%s}}]}",
        OR(q), OR(k), OR(v), OR(o), OR(stats), OR(query_offsets), OR(key_offsets), OR(attributes));
    cr_assert_lt((size_t)length, sizeof text);
    json_graph_init(read, text, NULL);
}

Test(ragged, offsets_are_inputs_of_the_node_and_known_to_the_tensor)
{
    struct json_graph read;
    read_parts(&read, &plain);
    cr_assert_eq(read.status, KILN_OK, "%s", read.error.text);
    check_invariants(&read.graph);
    const struct kiln_node *node = &read.graph.nodes[0];
    const struct kiln_tensor *q = &read.graph.tensors[kiln_node_input(node, KILN_OPERAND_Q)];
    const struct kiln_tensor *v = &read.graph.tensors[kiln_node_input(node, KILN_OPERAND_V)];
    const struct kiln_tensor *stats =
        &read.graph.tensors[kiln_node_output(node, KILN_OPERAND_STATS)];
    cr_expect_eq(read.graph.tensors[q->ragged.offsets].uid, 6);
    cr_expect_eq(kiln_node_input(node, KILN_OPERAND_Q_OFFSETS), q->ragged.offsets);
    cr_expect_eq(kiln_node_input(node, KILN_OPERAND_O_OFFSETS), q->ragged.offsets);
    cr_expect_eq(read.graph.tensors[v->ragged.offsets].uid, 7);
    cr_expect_eq(q->ragged.multiplier, 32);
    cr_expect_eq(v->ragged.multiplier, 1);
    cr_expect_eq(v->ragged.token, 20);
    cr_expect_eq(v->ragged.longest, 7);
    cr_expect_eq(q->strides[0], 0);
    cr_expect_not(kiln_tensor_is_ragged(stats));
    cr_expect_eq(kiln_tensor_footprint_elements(q), 2 * 6 * 32);
    json_graph_fini(&read);
}

Test(ragged, a_sequence_may_be_empty)
{
    struct json_graph read;
    const struct parts parts = {
        .k = TENSOR(2, "HALF", "2,2,0,8", "0,8,16,1", RAGGED(7, 1)),
        .v = TENSOR(3, "HALF", "2,2,0,8", "0,8,16,1", RAGGED(7, 1)),
    };
    read_parts(&read, &parts);
    cr_assert_eq(read.status, KILN_OK, "%s", read.error.text);
    check_invariants(&read.graph);
    const struct kiln_tensor *k =
        &read.graph.tensors[kiln_node_input(&read.graph.nodes[0], KILN_OPERAND_K)];
    cr_expect_eq(k->dims[2], 1);
    cr_expect_eq(k->ragged.longest, 0);
    cr_expect_eq(kiln_ragged_span(k, 0, 100, 100).length, 0);
    json_graph_fini(&read);
}

struct declined {
    struct parts parts;
    const char *sentence;
};

Test(ragged, what_does_not_fit_is_declined)
{
    const struct declined rows[] = {
        {{.q = TENSOR(1, "HALF", "2,4,6,8", "0,8,31,1", RAGGED(6, 31))},
         "stride 31 along its sequence, less than the 32 elements that a token has"},
        {{.q = TENSOR(1, "HALF", "2,4,6,8", "0,8,32,1", RAGGED(6, 0))},
         "ragged_offset_multiplier is 0, must be at least 1"},
        {{.q = TENSOR(1, "HALF", "2,4,6,8", "192,8,32,1", "")}, "o is ragged, and q is not"},
        {{.v = TENSOR(3, "HALF", "2,2,7,8", "112,8,16,1", "")}, "v is not ragged, and k is ragged"},
        {{.query_offsets = TENSOR(6, "FLOAT", "3", "1", "")}, "must be int32 or int64"},
        {{.query_offsets = TENSOR(6, "INT32", "2", "1", "")},
         "must have 3 elements along the first axis"},
        {{.query_offsets = TENSOR(6, "INT32", "1,3", "3,1", "")},
         "must have 3 elements along the first axis"},
        {{.query_offsets = TENSOR(8, "INT32", "3", "1", "")}, "uid 6"},
        {{.k = TENSOR(2, "HALF", "2,2,7,8", "0,1,16,2", RAGGED(7, 1))},
         "stride 2 along its depth, must be 1"},
        {{.stats = TENSOR(5, "FLOAT", "2,4,6,1", "24,6,1,1", ",'virtual':true" RAGGED(6, 1))},
         "stride 1 along its sequence"},
        {{.stats = TENSOR(5, "FLOAT", "2,4,6,1", "24,1,4,1", ",'virtual':true" RAGGED(6, 4))},
         "a ragged tensor between two nodes"},
        {{.stats = TENSOR(5, "DOUBLE", "2,4,6,1", "24,6,1,1", "")}, "computes in double"},
        {{.q = TENSOR(1, "HALF", "4000000000,4,6,8", "0,8,9223372036854775807,1", RAGGED(6, 1))},
         "exceeds 2^63"},
        {{.q = TENSOR(1, "HALF", "1,4,6,8", "0,8,32,1", RAGGED(6, 32)),
          .k = TENSOR(2, "HALF", "1,2,7,8", "0,8,16,1", RAGGED(7, 1)),
          .v = TENSOR(3, "HALF", "1,2,7,8", "0,8,20,1", RAGGED(7, 1)),
          .o = TENSOR(4, "HALF", "1,4,6,8", "0,8,32,1", RAGGED(6, 32)),
          .stats = TENSOR(5, "FLOAT", "1,4,6,1", "24,6,1,1",
                          "},{'uid':9,'data_type':'INT32','dims':[1,1,1,1],'strides':[1,1,1,1],"
                          "'value_type':'Int32Value','value':{'value':3}"),
          .query_offsets = TENSOR(6, "INT32", "2,1,1,1", "1,1,1,1", ""),
          .key_offsets = TENSOR(7, "INT64", "2", "1", ""),
          .attributes = ",'padding_mask':true,'seq_len_q_tensor_uid':9,'seq_len_kv_tensor_uid':9"},
         "must be an input of the graph where operands are ragged"},
        {{.stats = TENSOR(5, "FLOAT", "2,4,6,1", "24,6,1,1",
                          "},{'uid':9,'data_type':'FLOAT','dims':[1,1,1,1],'strides':[1,1,1,1],"
                          "'value_type':'Float32Value','value':{'value':3}"),
          .attributes = ",'attn_mask_tensor_uid':9"},
         "a mask with a constant value"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct json_graph read;
        read_parts(&read, &rows[i].parts);
        cr_expect_eq(read.status, KILN_REJECTED, "row %zu", i);
        cr_expect_neq(strstr(read.error.text, rows[i].sentence), NULL, "row %zu: %s", i,
                      read.error.text);
        json_graph_fini(&read);
    }
}
