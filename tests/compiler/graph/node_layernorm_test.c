/* Layernorm nodes: axes, shapes of statistics, absent operands, reasons to decline. */
#include "graph_sketch.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

TestSuite(node_layernorm);

Test(node_layernorm, axes)
{
    static const struct {
        const char *sketch;
        uint32_t axes;
    } rows[] = {
        {"Layernorm x=3,5,40 scale=40 bias=40 epsilon=k y=3,5,40 !normalized_dim_count=1", 0x4},
        {"Layernorm x=3,5,40 scale=1,1,40 bias=40 epsilon=k y=3,5,40 !normalized_dim_count=1", 0x4},
        {"Layernorm x=3,5,40 scale=5,40 bias=1,5,40 epsilon=k y=3,5,40 !normalized_dim_count=2",
         0x6},
        {"Layernorm x=5,40 scale=5,40 bias=5,40 epsilon=k y=5,40 !normalized_dim_count=2", 0x3},
        {"Layernorm x=2,2,2,2,2,2,2,2 scale=1 bias=2 epsilon=k y=2,2,2,2,2,2,2,2 "
         "!normalized_dim_count=8",
         0xff},
        /* Without a count the scale tells. */
        {"Layernorm x=3,5,40 scale=40 bias=40 epsilon=k y=3,5,40", 0x4},
        {"Layernorm x=3,5,40 scale=1,5,40 bias=5,40 epsilon=k y=3,5,40", 0x6},
        {"Layernorm x=1,5,40 scale=1,5,40 bias=5,40 epsilon=k y=1,5,40", 0x7},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct json_graph read;
        graph_sketch_accept(&read, rows[i].sketch, NULL);
        cr_assert_eq(read.graph.nodes[0].kind, KILN_NODE_LAYERNORM);
        cr_assert_eq(read.graph.nodes[0].normalization.axes, rows[i].axes, "%s: %#x",
                     rows[i].sketch, read.graph.nodes[0].normalization.axes);
        json_graph_fini(&read);
    }
}

Test(node_layernorm, scale_and_bias_may_be_absent)
{
    static const struct {
        const char *sketch;
        uint32_t inputs;
        uint32_t scale;
        uint32_t bias;
    } rows[] = {
        {"Layernorm x=3,40 epsilon=k y=3,40 !normalized_dim_count=1", 2, KILN_NONE, KILN_NONE},
        {"Layernorm x=3,40 scale=40 epsilon=k y=3,40 !normalized_dim_count=1", 3, 1, KILN_NONE},
        {"Layernorm x=3,40 bias=40 epsilon=k y=3,40 !normalized_dim_count=1", 3, KILN_NONE, 1},
        /* uid 0 is not written: it is the operand that has no other uid. */
        {"Layernorm x=3,40 scale@0=40 bias=40 epsilon=k y=3,40 !normalized_dim_count=1", 4, 1, 2},
        {"Layernorm x=3,40 scale=40 bias@0=40 epsilon=k y=3,40 !normalized_dim_count=1", 4, 1, 2},
        {"Layernorm x@0=3,40 scale=40 epsilon=k y=3,40 !normalized_dim_count=1", 3, 1, KILN_NONE},
        {"Layernorm x@0=3,40 epsilon=k y=3,40 !normalized_dim_count=1", 2, KILN_NONE, KILN_NONE},
        {"Layernorm x=3,40 epsilon=k y=3,40 mean@0=3,1 !normalized_dim_count=1", 2, KILN_NONE,
         KILN_NONE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct json_graph read;
        graph_sketch_accept(&read, rows[i].sketch, NULL);
        const struct kiln_node *node = &read.graph.nodes[0];
        cr_assert_eq(node->input_count, rows[i].inputs, "%s", rows[i].sketch);
        cr_assert_eq(kiln_node_input(node, KILN_OPERAND_SCALE), rows[i].scale, "%s",
                     rows[i].sketch);
        cr_assert_eq(kiln_node_input(node, KILN_OPERAND_BIAS), rows[i].bias, "%s", rows[i].sketch);
        json_graph_fini(&read);
    }
}

Test(node_layernorm, outputs_say_what_is_wanted_whatever_the_phase)
{
    for (int phase = 0; phase <= 2; phase++) {
        char sketch[256];
        struct json_graph read;
        snprintf(sketch, sizeof sketch,
                 "Layernorm x=3,40 scale=40 bias=40 epsilon=s y=3,40 inv_variance=3,1 "
                 "!normalized_dim_count=1 !forward_phase=%d",
                 phase);
        graph_sketch_accept(&read, sketch, NULL);
        const struct kiln_node *node = &read.graph.nodes[0];
        cr_assert_eq(node->output_count, 2);
        cr_assert_eq(node->output_roles[1], KILN_OPERAND_INV_VARIANCE);
        json_graph_fini(&read);
    }
}

static void check_dims(const struct kiln_tensor *tensor, uint32_t rank, int64_t d0, int64_t d1,
                       int64_t d2)
{
    const int64_t dims[] = {d0, d1, d2};
    cr_assert_eq(tensor->rank, rank);
    for (uint32_t i = 0; i < rank; i++)
        cr_assert_eq(tensor->dims[i], dims[i], "dimension %u", i);
}

Test(node_layernorm, statistics_in_the_shape_of_the_batch_get_trailing_ones)
{
    struct json_graph read;
    graph_sketch_accept(&read,
                        "Layernorm x=3,5,40 scale=40 bias=40 epsilon=k y@5=3,5,40 mean@6=3,5 "
                        "inv_variance@7=3,5,1 !normalized_dim_count=1 | "
                        "LayernormBackward dy=3,5,40 x@5 scale=40 mean@6 inv_variance@7 dx=3,5,40 "
                        "dscale=40 dbias=1,1,40 !normalized_dim_count=1",
                        NULL);
    const struct kiln_node *node = &read.graph.nodes[0];
    const struct kiln_tensor *mean = &read.graph.tensors[kiln_node_output(node, KILN_OPERAND_MEAN)];
    check_dims(mean, 3, 3, 5, 1);
    cr_assert(mean->strides[0] == 5 && mean->strides[1] == 1 && mean->strides[2] == 0);
    cr_assert_eq(kiln_node_input(&read.graph.nodes[1], KILN_OPERAND_MEAN),
                 kiln_node_output(node, KILN_OPERAND_MEAN));
    json_graph_fini(&read);

    /* Nothing is lost where the batch is one row, and nothing is in the way of other readers. */
    graph_sketch_accept(&read,
                        "Layernorm x=1,40 scale=40 bias=40 epsilon=k y=1,40 mean@6=1:virtual "
                        "!normalized_dim_count=1 | Pointwise in_0@6 out_0=1 !operation='NEG'",
                        NULL);
    json_graph_fini(&read);
    graph_sketch_accept(&read,
                        "Layernorm x=4,4,40 scale=40 bias=40 epsilon=k y=4,4,40 mean=4,4 "
                        "inv_variance=4,4 !normalized_dim_count=1",
                        NULL);
    json_graph_fini(&read);
}

Test(node_layernorm, padded_statistics_have_the_canonical_form_of_full_ones)
{
    static const char format[] = "Layernorm x=3,40 scale=40 bias=40 epsilon=k y=3,40 mean=%s "
                                 "!normalized_dim_count=1";
    struct kiln_buffer forms[2];
    for (int i = 0; i < 2; i++) {
        char sketch[256];
        struct json_graph read;
        snprintf(sketch, sizeof sketch, format, i == 0 ? "3" : "3,1");
        graph_sketch_accept(&read, sketch, NULL);
        kiln_buffer_init(&forms[i]);
        kiln_graph_append_canonical(&read.graph, &forms[i]);
        json_graph_fini(&read);
    }
    cr_assert(forms[0].size == forms[1].size &&
              memcmp(forms[0].data, forms[1].data, forms[0].size) == 0);
    kiln_buffer_fini(&forms[0]);
    kiln_buffer_fini(&forms[1]);
}

Test(node_layernorm, backward_with_and_without_statistics)
{
    static const struct {
        const char *sketch;
        uint32_t inputs;
    } rows[] = {
        {" ", 3},
        {" epsilon=k", 4},
        {" mean=3,1 inv_variance=3", 5},
        /* Nobody reads an epsilon beside statistics. */
        {" mean=3,1 inv_variance=3 epsilon=k", 5},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char sketch[256];
        struct json_graph read;
        snprintf(sketch, sizeof sketch,
                 "LayernormBackward dy=3,40 x=3,40 scale=40%s dx=3,40 dscale=40 dbias=40 "
                 "!normalized_dim_count=1",
                 rows[i].sketch);
        graph_sketch_accept(&read, sketch, NULL);
        cr_assert_eq(read.graph.nodes[0].kind, KILN_NODE_LAYERNORM_BACKWARD);
        cr_assert_eq(read.graph.nodes[0].input_count, rows[i].inputs, "%s", sketch);
        cr_assert_eq(read.graph.nodes[0].normalization.epsilon, 1e-5);
        json_graph_fini(&read);
    }
}

#define FORWARD(rest) "Layernorm x=3,5,40 scale=40 bias=40 epsilon=k y=3,5,40 " rest
#define COUNT         " !normalized_dim_count=1"

Test(node_layernorm, declined)
{
    static const struct {
        enum kiln_reject_reason reason;
        const char *sketch;
        const char *words;
    } rows[] = {
        {KILN_REJECT_AXIS, FORWARD("!normalized_dim_count=4"),
         "tensor 'x' (uid 1): 4 normalised axes of a tensor of rank 3"},
        {KILN_REJECT_AXIS, FORWARD("!normalized_dim_count=9"),
         "node 'Layernorm': 9 normalised axes, must be 0 to 8"},
        {KILN_REJECT_AXIS, FORWARD("!normalized_dim_count=-1"), "-1 normalised axes"},
        {KILN_REJECT_AXIS, FORWARD("!normalized_dim_count=4294967297"),
         "4294967297 normalised axes"},
        {KILN_REJECT_AXIS, "Layernorm x=5,40 scale=5,40 bias=5,40 epsilon=k y=5,40",
         "tensor 'scale' (uid 2): without a count of axes, the shape of scale does not tell what "
         "to normalise over"},
        {KILN_REJECT_AXIS, "Layernorm x=5,40 scale=1 bias=1 epsilon=k y=5,40",
         "the shape of scale does not tell"},
        {KILN_REJECT_AXIS, "Layernorm x=5,40 epsilon=k y=5,40",
         "node 'Layernorm': neither a count of axes nor a scale says what to normalise over"},
        {KILN_REJECT_AXIS, "Layernorm x= scale= bias= epsilon=k y=" COUNT,
         "1 normalised axes of a tensor of rank 0"},
        {KILN_REJECT_UNKNOWN_MODE, FORWARD("!forward_phase=3" COUNT),
         "node 'Layernorm': forward phase 3 is unknown"},
        {KILN_REJECT_MISSING_OPERAND,
         "Layernorm x=5,40 epsilon=k y=5,40 | "
         "Pointwise in_0@0=4 out_0=4 !operation='NEG'",
         "either of the operands scale and bias may be the tensor with uid 0"},
        {KILN_REJECT_SHAPE, FORWARD("mean=3,1,1" COUNT),
         "tensor 'mean' (uid 6): mean has 1 along axis 1 of x, must have 5"},
        {KILN_REJECT_SHAPE, FORWARD("mean=5,3" COUNT), "mean has 1 along axis 0 of x, must have 3"},
        {KILN_REJECT_SHAPE, FORWARD("inv_variance=3,5,1,1" COUNT),
         "inv_variance has rank 4, above x's rank 3"},
        {KILN_REJECT_SHAPE, "Layernorm x=3,5,40 scale=5,40 bias=40 epsilon=k y=3,5,40" COUNT,
         "scale has 5 along axis 1 of x, must have 1"},
        {KILN_REJECT_SHAPE, "Layernorm x=3,5,40 scale=40 bias=39 epsilon=k y=3,5,40" COUNT,
         "bias has 39 along axis 2 of x, must have 40"},
        {KILN_REJECT_SHAPE,
         "LayernormBackward dy=3,40 x=3,40 scale=1 dx=3,40 dscale=1 dbias=40" COUNT,
         "scale has 1 along axis 1 of x, must have 40"},
        {KILN_REJECT_SHAPE,
         "LayernormBackward dy=3,40 x=3,40 scale=40 dx=3,40 dscale=3,40 dbias=40" COUNT,
         "dscale has 3 along axis 0 of x, must have 1"},
        {KILN_REJECT_MISSING_OPERAND,
         "LayernormBackward dy=3,40 x=3,40 scale=40 mean=3 dx=3,40 dscale=40 dbias=40" COUNT,
         "operand mean without operand inv_variance"},
        {KILN_REJECT_UNSUPPORTED_TYPE,
         "Layernorm x=3,40 scale=40:INT32 bias=40 epsilon=k y=3,40" COUNT,
         "scale of data type int32 is not supported"},
        /* The shape of the batch alone means something else to others. */
        {KILN_REJECT_SHAPE,
         "Layernorm x=4,4 scale=4 bias=4 epsilon=k y=4,4 mean@6=4" COUNT
         " | Pointwise in_0@6 out_0=4 !operation='NEG'",
         "node 'Pointwise': tensor 'mean' (uid 6): its last axes, of size 1, are left out, as "
         "statistics and lengths may do; as in_0 here its shape means something else"},
        {KILN_REJECT_SHAPE,
         "Pointwise in_0=4 out_0@60=4 !operation='NEG' | "
         "LayernormBackward dy=4,4 x=4,4 scale=4 mean@60 inv_variance@60 dx=4,4 dscale=4 "
         "dbias=4" COUNT,
         "as out_0 here its shape means something else"},
        {KILN_REJECT_SHAPE,
         "Layernorm x=4,4 scale=4 bias=4 epsilon=k y=4,4 mean@6=4" COUNT
         " | Layernorm x=4,4,4 scale=4,4 bias=4 epsilon=k y@77=4,4,4 !normalized_dim_count=2"
         " | LayernormBackward dy@77 x@77 scale=4,4 mean@6 inv_variance@6 dx=4,4,4 dscale=4,4 "
         "dbias=4,4 !normalized_dim_count=2",
         "its shape means something else"},
        {KILN_REJECT_SHAPE,
         "Layernorm x=4,4 scale=4 bias=4 epsilon=k y=4,4 mean@6=4" COUNT
         " | Layernorm x=4,4 scale@6 bias=4 epsilon=k y=4,4" COUNT,
         "as scale here its shape means something else"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        graph_sketch_decline(rows[i].sketch, NULL, rows[i].reason, rows[i].words);
}
