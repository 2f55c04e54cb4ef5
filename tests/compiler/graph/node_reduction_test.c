/* Reduction nodes: modes, axes from shapes, reasons to decline. */
#include "graph_sketch.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

TestSuite(node_reduction);

Test(node_reduction, axes_are_where_the_output_has_one)
{
    static const struct {
        const char *in;
        const char *out;
        uint32_t axes;
    } rows[] = {
        {"4,33", "4,1", 0x2},
        {"4,33", "1,33", 0x1},
        {"4,33", "1,1", 0x3},
        {"3,30,5", "3,1,5", 0x2},
        {"6,5,7", "1,5,1", 0x5},
        /* Of a size of 1 nothing is reduced. */
        {"1,33", "1,1", 0x2},
        {"4,33", "4,33", 0x0},
        {"1,1", "1,1", 0x0},
        {"", "", 0x0},
        {"2,2,2,2,2,2,2,2", "1,1,1,1,1,1,1,1", 0xff},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char sketch[256];
        snprintf(sketch, sizeof sketch, "Reduction in=%s out=%s !mode='AVG'", rows[i].in,
                 rows[i].out);
        struct json_graph read;
        graph_sketch_accept(&read, sketch, NULL);
        const struct kiln_node *node = &read.graph.nodes[0];
        cr_assert_eq(node->kind, KILN_NODE_REDUCTION);
        cr_assert_eq(node->reduction.mode, KILN_REDUCTION_AVG);
        cr_assert_eq(node->reduction.axes, rows[i].axes, "%s", sketch);
        cr_assert_eq(kiln_node_input(node, KILN_OPERAND_IN), 0);
        cr_assert_eq(kiln_node_output(node, KILN_OPERAND_OUT), 1);
        json_graph_fini(&read);
    }
}

Test(node_reduction, every_mode_in_every_type)
{
    static const char *const types[] = {"FLOAT", "HALF", "BFLOAT16", "DOUBLE",   "UINT8",
                                        "INT32", "INT8", "INT64",    "FP8_E4M3", "FP8_E5M2"};
    for (int mode = 1; mode < KILN_REDUCTION_MODE_COUNT; mode++) {
        for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
            char sketch[256];
            snprintf(sketch, sizeof sketch, "Reduction in=4,5:%s out=4,1:%s !mode=%d", types[i],
                     types[i], mode);
            struct json_graph read;
            graph_sketch_accept(&read, sketch, NULL);
            cr_assert_eq(read.graph.nodes[0].reduction.mode, (enum kiln_reduction_mode)mode);
            json_graph_fini(&read);
        }
    }
}

/* hipDNN's names of the two modes whose names flatc keeps for itself. */
Test(node_reduction, minimum_and_maximum_in_json)
{
    struct json_graph read;
    graph_sketch_accept(&read, "Reduction in=4,5 out=4,1 !mode='MIN_OP' !is_deterministic=true",
                        NULL);
    cr_assert_eq(read.graph.nodes[0].reduction.mode, KILN_REDUCTION_MIN);
    json_graph_fini(&read);
    graph_sketch_accept(&read, "Reduction in=4,5 out=4,1 !mode='MAX_OP'", NULL);
    cr_assert_eq(read.graph.nodes[0].reduction.mode, KILN_REDUCTION_MAX);
    json_graph_fini(&read);
}

Test(node_reduction, declined)
{
    static const struct {
        enum kiln_reject_reason reason;
        const char *sketch;
        const char *words;
    } rows[] = {
        {KILN_REJECT_UNKNOWN_MODE, "Reduction in=4,5 out=4,1",
         "node 'Reduction': reduction mode 0 is unknown"},
        {KILN_REJECT_UNKNOWN_MODE, "Reduction in=4,5 out=4,1 !mode=10",
         "node 'Reduction': reduction mode 10 is unknown"},
        {KILN_REJECT_UNKNOWN_UID, "Reduction in=4,5 out@7 !mode='ADD'",
         "node 'Reduction': operand out has uid 7, and no tensor has this uid"},
        {KILN_REJECT_UNKNOWN_UID, "Reduction out=4,1 !mode='ADD'", "operand in has uid 0"},
        {KILN_REJECT_SHAPE, "Reduction in=4,5 out=4 !mode='ADD'",
         "tensor 'out' (uid 2): rank 1, must be the input's rank 2"},
        {KILN_REJECT_SHAPE, "Reduction in=4,5 out=4,2 !mode='ADD'",
         "tensor 'out' (uid 2): dimension 1 is 2, must be 1 or the input's 5"},
        {KILN_REJECT_SHAPE, "Reduction in=1,5 out=4,1 !mode='ADD'",
         "dimension 0 is 4, must be 1 or the input's 1"},
        {KILN_REJECT_CYCLE, "Reduction in@1 out@1=4,5 !mode='ADD'", "reads its own output"},
        {KILN_REJECT_SCALAR_WRITTEN, "Reduction in=4 out=k !mode='ADD'",
         "a constant that the node writes"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        graph_sketch_decline(rows[i].sketch, NULL, rows[i].reason, rows[i].words);
}
