/* Matrix products: operands, what is accepted, reasons to decline. */
#include "graph_sketch.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(node_matmul);

Test(node_matmul, accepted)
{
    static const char *const rows[] = {
        "Matmul a=2,3 b=3,4 c=2,4",
        "Matmul a=1,1 b=1,1 c=1,1",
        "Matmul a=2,3:HALF b=3,4:BFLOAT16 c=2,4:FLOAT",
        "Matmul a=2,3:INT8 b=3,4:UINT8 c=2,4:INT32",
        "Matmul a=2,3:INT8 b=3,4:HALF c=2,4",
        "Matmul a=2,3:FP8_E4M3 b=3,4:FP8_E5M2 c=2,4:HALF",
        "Matmul a=2,3:DOUBLE b=3,4 c=2,4:DOUBLE",
        "Matmul a=6,2,3 b=6,3,4 c=6,2,4",
        "Matmul a=1,2,3 b=6,3,4 c=6,2,4",
        "Matmul a=6,2,3 b=2,3,4 c=6,2,4", /* three neighbours share a matrix */
        "Matmul a=1,2,3 b=1,3,4 c=6,2,4",
        "Matmul a=2,1,2,1,2,1,2,3 b=1,2,1,2,1,2,3,4 c=2,2,2,2,2,2,2,4",
        "Matmul a=3,3 b@1 c=3,3",
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct json_graph read;
        graph_sketch_accept(&read, rows[i], NULL);
        const struct kiln_node *node = &read.graph.nodes[0];
        cr_assert_eq(node->kind, KILN_NODE_MATMUL, "%s", rows[i]);
        cr_expect_eq(kiln_node_input(node, KILN_OPERAND_A), 0, "%s", rows[i]);
        cr_expect_eq(kiln_node_input(node, KILN_OPERAND_B), read.graph.tensor_count == 2 ? 0 : 1,
                     "%s", rows[i]);
        cr_expect_eq(kiln_node_output(node, KILN_OPERAND_C), read.graph.tensor_count - 1, "%s",
                     rows[i]);
        json_graph_fini(&read);
    }
}

Test(node_matmul, declined)
{
    static const struct {
        enum kiln_reject_reason reason;
        const char *sketch;
        const char *words;
    } rows[] = {
        {KILN_REJECT_SHAPE, "Matmul a=2,3 b=4,5 c=2,5",
         "node 'Matmul': tensor 'b' (uid 2): dimension 0 is 4, must be the inner size of A, 3"},
        {KILN_REJECT_SHAPE, "Matmul a=2,3 b=3,5 c=4,5",
         "node 'Matmul': tensor 'c' (uid 3): dimension 0 is 4, must be the rows of A, 2"},
        {KILN_REJECT_SHAPE, "Matmul a=2,3 b=3,5 c=2,1",
         "node 'Matmul': tensor 'c' (uid 3): dimension 1 is 1, must be the columns of B, 5"},
        {KILN_REJECT_SHAPE, "Matmul a=3 b=3 c=1",
         "node 'Matmul': tensor 'c' (uid 3): rank 1, a matrix product has at least 2"},
        {KILN_REJECT_SHAPE, "Matmul a=2,3 b=1,3,4 c=1,2,4",
         "node 'Matmul': tensor 'a' (uid 1): rank 2, must be the result's rank 3"},
        {KILN_REJECT_SHAPE, "Matmul a=1,2,3 b=3,4 c=1,2,4",
         "node 'Matmul': tensor 'b' (uid 2): rank 2, must be the result's rank 3"},
        {KILN_REJECT_BROADCAST, "Matmul a=4,2,3 b=6,3,4 c=6,2,4",
         "node 'Matmul': tensor 'a' (uid 1): batch dimension 0 is 4, must divide the result's 6"},
        {KILN_REJECT_BROADCAST, "Matmul a=1,2,3 b=6,3,4 c=1,2,4",
         "node 'Matmul': tensor 'b' (uid 2): batch dimension 0 is 6, must divide the result's 1"},
        {KILN_REJECT_UNSUPPORTED_TYPE, "Matmul a=2,3:INT32 b=3,4 c=2,4",
         "node 'Matmul': tensor 'a' (uid 1): type int32 has no rule in a matrix product"},
        {KILN_REJECT_UNSUPPORTED_TYPE, "Matmul a=2,3:INT8 b=3,4:INT64 c=2,4",
         "node 'Matmul': tensor 'b' (uid 2): type int64 has no rule in a matrix product"},
        {KILN_REJECT_UNKNOWN_UID, "Matmul a=2,3 c=2,4", "operand b has uid 0"},
        {KILN_REJECT_UNKNOWN_UID, "Matmul a=2,3 b@9 c=2,4",
         "node 'Matmul': operand b has uid 9, and no tensor has this uid"},
        {KILN_REJECT_CYCLE, "Matmul a=3,3 b@2 c@2=3,3", "reads its own output"},
        {KILN_REJECT_TOO_LARGE, "Matmul a=1,4294967296 b=4294967296,1 c=1,1",
         "node 'Matmul': tensor 'a' (uid 1): dimension 1 is 4294967296, at most 2147483647 in a "
         "matrix product"},
        {KILN_REJECT_TOO_LARGE, "Matmul a=2147483648,1 b=1,1 c=2147483648,1",
         "node 'Matmul': tensor 'c' (uid 3): dimension 0 is 2147483648, at most"},
        {KILN_REJECT_TOO_LARGE, "Matmul a=65536,65536,1,1 b=1,1,1,1 c=65536,65536,1,1",
         "node 'Matmul': tensor 'c' (uid 3): a batch of more than 2147483647 matrices"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        graph_sketch_decline(rows[i].sketch, NULL, rows[i].reason, rows[i].words);
}

/* Each operand has about 2^33 elements, the product 2^93 terms. */
Test(node_matmul, more_terms_than_can_be_counted)
{
    graph_sketch_decline("Matmul a=1,2000000000,2000000000 b=1,2000000000,2000000000 "
                         "c=1,2000000000,2000000000",
                         NULL, KILN_REJECT_TOO_LARGE, "node 'Matmul': ");
}

static struct kiln_buffer canonical(const char *sketch)
{
    struct json_graph read;
    struct kiln_buffer bytes;
    kiln_buffer_init(&bytes);
    graph_sketch_accept(&read, sketch, NULL);
    kiln_graph_append_canonical(&read.graph, &bytes);
    json_graph_fini(&read);
    return bytes;
}

static bool are_equal(const char *one, const char *other)
{
    struct kiln_buffer a = canonical(one);
    struct kiln_buffer b = canonical(other);
    bool same = a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
    kiln_buffer_fini(&a);
    kiln_buffer_fini(&b);
    return same;
}

Test(node_matmul, canonical_form)
{
    cr_expect(are_equal("Matmul a=3,3 b=3,3 c=3,3", "Matmul a@7=3,3 b@5=3,3 c@9=3,3"));
    cr_expect_not(are_equal("Matmul a=3,3 b=3,3 c=3,3", "Matmul a=3,3 b@1 c=3,3"));
    cr_expect_not(are_equal("Matmul a=3,3 b=3,3 c=3,3", "Matmul a=3,3:HALF b=3,3 c=3,3"));
    cr_expect_not(are_equal("Matmul a=3,3 b=3,3 c=3,3", "Matmul a=3,4 b=4,3 c=3,3"));
    /* Which operand is which matters. */
    cr_expect_not(are_equal("Matmul a=3,3:HALF b=3,3 c=3,3", "Matmul a=3,3 b=3,3:HALF c=3,3"));
}
