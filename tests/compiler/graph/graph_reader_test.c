/* What kiln_graph_read makes of good graphs. */
#include "golden_bytes.h"
#include "graph_sketch.h"
#include "json_graph.h"

#include "compiler/graph/wire_messages.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* JSON in macros: breaking it by rule makes it unreadable. */
/* clang-format off */

TestSuite(graph_reader);

static const enum kiln_wire_era old_era = KILN_WIRE_ERA_NOV2025;
static const enum kiln_wire_era new_era = KILN_WIRE_ERA_CURRENT;

Test(graph_reader, golden_relu_of_november_2025)
{
    size_t size;
    const void *bytes = golden_bytes(GOLDEN_G1, &size);
    cr_assert_eq(size, 336);
    struct json_graph read;
    json_graph_init_bytes(&read, bytes, size);
    cr_assert_eq(read.status, KILN_OK, "%s", read.error.text);
    check_invariants(&read.graph);
    const struct kiln_graph *graph = &read.graph;
    cr_assert_eq(graph->era, KILN_WIRE_ERA_NOV2025);
    cr_assert_str_eq(graph->name, "g");
    cr_assert(graph->node_count == 1 && graph->tensor_count == 2);
    const struct kiln_node *node = &graph->nodes[0];
    cr_assert_str_eq(node->name, "r");
    cr_assert_eq(node->pointwise.mode, KILN_POINTWISE_RELU_FWD);
    cr_assert(node->pointwise.has_relu_parameter);
    cr_assert_eq(node->pointwise.relu_lower_clip, 0.0);
    cr_assert_eq(node->pointwise.relu_upper_clip, 6.0);
    cr_assert_eq(node->pointwise.relu_lower_clip_slope, 0.0);
    cr_assert_eq(node->compute_type, KILN_DTYPE_F32);
    const struct kiln_tensor *x = &graph->tensors[0];
    const struct kiln_tensor *y = &graph->tensors[1];
    cr_assert(x->uid == 1 && x->role == KILN_TENSOR_INPUT && x->dtype == KILN_DTYPE_F32);
    cr_assert_str_eq(x->name, "x");
    cr_assert(x->rank == 2 && x->dims[0] == 2 && x->dims[1] == 3);
    cr_assert(x->strides[0] == 3 && x->strides[1] == 1);
    cr_assert_eq(x->alignment_bytes, 16);
    cr_assert(y->uid == 2 && y->role == KILN_TENSOR_OUTPUT && y->producer == 0);
    json_graph_fini(&read);
}

Test(graph_reader, golden_matmul_of_the_current_layout)
{
    size_t size;
    const void *bytes = golden_bytes(GOLDEN_G2, &size);
    struct json_graph read;
    json_graph_init_bytes(&read, bytes, size);
    cr_assert_eq(read.status, KILN_OK, "%s", read.error.text);
    const struct kiln_node *node = &read.graph.nodes[0];
    cr_assert_str_eq(node->name, "m");
    cr_assert_eq(node->kind, KILN_NODE_MATMUL);
    cr_assert_neq(kiln_node_input(node, KILN_OPERAND_A), KILN_NONE);
    cr_assert_neq(kiln_node_input(node, KILN_OPERAND_B), KILN_NONE);
    cr_assert_neq(kiln_node_output(node, KILN_OPERAND_C), KILN_NONE);
    json_graph_fini(&read);
}

/* G3's output is virtual, so the graph computes nothing; with that one flag cleared it does. */
Test(graph_reader, golden_multiplication_by_a_constant_with_uid_0)
{
    size_t size;
    unsigned char bytes[1024];
    const void *golden = golden_bytes(GOLDEN_G3, &size);
    memcpy(bytes, golden, size);
    struct json_graph read;
    json_graph_init_bytes(&read, bytes, size);
    cr_assert_eq(read.status, KILN_REJECTED);
    cr_assert_eq(read.error.reject_reason, KILN_REJECT_NO_OUTPUT);
    json_graph_fini(&read);

    enum { VIRTUAL_FLAG = 0xc3 };
    cr_assert_eq(bytes[VIRTUAL_FLAG], 1);
    bytes[VIRTUAL_FLAG] = 0;
    json_graph_init_bytes(&read, bytes, size);
    cr_assert_eq(read.status, KILN_OK, "%s", read.error.text);
    check_invariants(&read.graph);
    const struct kiln_graph *graph = &read.graph;
    cr_assert_eq(graph->era, KILN_WIRE_ERA_CURRENT);
    cr_assert_eq(graph->nodes[0].pointwise.mode, KILN_POINTWISE_MUL);
    cr_assert_eq(graph->nodes[0].compute_type, KILN_DTYPE_F32);
    cr_assert_eq(graph->tensor_count, 3);
    const struct kiln_tensor *constant = &graph->tensors[1];
    cr_assert(constant->uid == 0 && constant->role == KILN_TENSOR_CONSTANT);
    cr_assert_eq(constant->constant.real, 0.5);
    cr_assert(graph->tensors[2].uid == 2 && graph->tensors[2].role == KILN_TENSOR_OUTPUT);
    cr_assert_eq(graph->tensors[2].alignment_bytes, 32);
    json_graph_fini(&read);
}

Test(graph_reader, address_of_the_bytes_does_not_matter)
{
    size_t size;
    const void *golden = golden_bytes(GOLDEN_G1, &size);
    for (size_t shift = 0; shift < 16; shift++) {
        char *memory = malloc(size + shift);
        memcpy(memory + shift, golden, size);
        struct kiln_arena arena;
        struct kiln_error error;
        struct kiln_graph graph;
        kiln_arena_init(&arena);
        kiln_error_init(&error);
        cr_assert_eq(kiln_graph_read(memory + shift, size, &arena, &graph, &error), KILN_OK);
        free(memory);
        check_invariants(&graph);
        cr_assert_str_eq(graph.tensors[0].name, "x", "nothing of the bytes is referenced");
        kiln_arena_fini(&arena);
    }
}

#define TENSOR(uid, rest) "{'uid':" #uid ",'dims':[4],'strides':[1],'data_type':'FLOAT'" rest "}"
#define NODE(name, mode, rest)                                                                     \
    "{'name':'" name "','attributes_type':'PointwiseAttributes','attributes':{'operation':'" mode  \
    "'" rest "}}"
#define GRAPH(fields, tensors, nodes) "{" fields "'tensors':[" tensors "],'nodes':[" nodes "]}"

Test(graph_reader, defaults_of_parameters)
{
    struct json_graph read;
    json_graph_accept(&read,
                      GRAPH("", TENSOR(1, "") "," TENSOR(2, ""),
                            NODE("n", "SWISH_FWD", ",'in_0_tensor_uid':1,'out_0_tensor_uid':2")),
                      &new_era);
    const struct kiln_pointwise *pointwise = &read.graph.nodes[0].pointwise;
    cr_assert(!pointwise->has_relu_parameter);
    cr_assert_eq(pointwise->relu_lower_clip, 0.0);
    cr_assert(isinf(pointwise->relu_upper_clip) && pointwise->relu_upper_clip > 0);
    cr_assert_eq(pointwise->relu_lower_clip_slope, 0.0);
    cr_assert_eq(pointwise->swish_beta, 1.0);
    cr_assert_eq(pointwise->elu_alpha, 1.0);
    cr_assert_eq(pointwise->softplus_beta, 1.0);
    json_graph_fini(&read);
}

/* A parameter that is given counts, even as 0, for each of the three. */
Test(graph_reader, relu_parameters_are_nullable)
{
    static const char *const parameters[] = {"relu_lower_clip", "relu_upper_clip",
                                             "relu_lower_clip_slope"};
    for (size_t i = 0; i < 3; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 GRAPH("", TENSOR(1, "") "," TENSOR(2, ""),
                       NODE("n", "RELU_FWD", ",'in_0_tensor_uid':1,'out_0_tensor_uid':2,'%s':0.0")),
                 parameters[i]);
        struct json_graph read;
        json_graph_accept(&read, text, &old_era);
        cr_assert(read.graph.nodes[0].pointwise.has_relu_parameter, "%s", parameters[i]);
        if (i == 1)
            cr_assert_eq(read.graph.nodes[0].pointwise.relu_upper_clip, 0.0);
        json_graph_fini(&read);
    }
}

Test(graph_reader, every_mode_is_read_with_its_arity)
{
    for (int mode = 1; mode < KILN_POINTWISE_MODE_COUNT; mode++) {
        const struct kiln_pointwise_mode_info *info =
            kiln_pointwise_mode_info((enum kiln_pointwise_mode)mode);
        char text[1024];
        snprintf(text, sizeof text,
                 GRAPH("", TENSOR(1, "") "," TENSOR(2, "") "," TENSOR(3, "") "," TENSOR(4, ""),
                       NODE("n", "%s",
                            ",'in_0_tensor_uid':1,'in_1_tensor_uid':2,'in_2_tensor_uid':3,"
                            "'out_0_tensor_uid':4,'axis_tensor_uid':0")),
                 info->name);
        for (int era = 0; era < 2; era++) {
            struct json_graph read;
            json_graph_accept(&read, text, era == 0 ? &old_era : &new_era);
            cr_assert_eq((int)read.graph.nodes[0].pointwise.mode, mode);
            cr_assert_eq(read.graph.nodes[0].input_count, info->arity);
            cr_assert_eq(read.graph.tensor_count, info->arity + 1U,
                         "operands that the mode does not have are ignored");
            json_graph_fini(&read);
        }
    }
}

Test(graph_reader, missing_compute_types_come_from_the_graph)
{
    struct json_graph read;
    json_graph_accept(&read,
                      GRAPH("'compute_type':'DOUBLE',", TENSOR(1, "") "," TENSOR(2, ""),
                            NODE("a", "NEG", ",'in_0_tensor_uid':1,'out_0_tensor_uid':2")),
                      &old_era);
    cr_assert_eq(read.graph.nodes[0].compute_type, KILN_DTYPE_F64);
    json_graph_fini(&read);

    json_graph_accept(&read,
                      GRAPH("'compute_data_type':'DOUBLE',", TENSOR(1, "") "," TENSOR(2, ""),
                            "{'compute_data_type':'BFLOAT16','attributes_type':'PointwiseAttributes',"
                            "'attributes':{'operation':'NEG','in_0_tensor_uid':1,"
                            "'out_0_tensor_uid':2}}"),
                      NULL);
    cr_assert_eq(read.graph.era, KILN_WIRE_ERA_CURRENT);
    cr_assert_eq(read.graph.nodes[0].compute_type, KILN_DTYPE_BF16, "the node's goes first");
    json_graph_fini(&read);
}

Test(graph_reader, strides_of_dimensions_of_size_1_are_dropped)
{
    struct json_graph read;
    json_graph_accept(&read,
                      GRAPH("",
                            "{'uid':1,'dims':[1,4,1],'strides':[-7,1,9223372036854775807],"
                            "'data_type':'FLOAT'},"
                            "{'uid':2,'dims':[1,4,1],'strides':[4,1,1],'data_type':'FLOAT'}",
                            NODE("n", "NEG", ",'in_0_tensor_uid':1,'out_0_tensor_uid':2")),
                      NULL);
    const struct kiln_tensor *x = &read.graph.tensors[0];
    cr_assert(x->strides[0] == 0 && x->strides[1] == 1 && x->strides[2] == 0);
    json_graph_fini(&read);
}

Test(graph_reader, zero_stride_input_is_a_broadcast)
{
    struct json_graph read;
    json_graph_accept(&read,
                      GRAPH("",
                            "{'uid':1,'dims':[3,4],'strides':[0,1],'data_type':'FLOAT'},"
                            "{'uid':2,'dims':[3,4],'strides':[4,1],'data_type':'FLOAT'}",
                            NODE("n", "NEG", ",'in_0_tensor_uid':1,'out_0_tensor_uid':2")),
                      NULL);
    cr_assert_eq(kiln_tensor_footprint_elements(&read.graph.tensors[0]), 4);
    json_graph_fini(&read);
}

Test(graph_reader, rank_0_and_rank_8)
{
    struct json_graph read;
    json_graph_accept(&read,
                      GRAPH("",
                            "{'uid':1,'dims':[],'strides':[],'data_type':'FLOAT'},"
                            "{'uid':2,'dims':[2,1,2,1,2,1,2,2],'strides':[16,16,8,8,4,4,2,1],"
                            "'data_type':'FLOAT'}",
                            NODE("n", "NEG", ",'in_0_tensor_uid':1,'out_0_tensor_uid':2")),
                      NULL);
    cr_assert_eq(read.graph.tensors[0].rank, 0);
    cr_assert_eq(read.graph.tensors[1].rank, 8);
    json_graph_fini(&read);
}

/* Writers leave empty vectors out. */
Test(graph_reader, dims_of_constants_and_host_scalars_may_be_absent)
{
    struct json_graph read;
    json_graph_accept(
        &read,
        GRAPH("",
              "{'uid':1,'data_type':'FLOAT','value_type':'Float32Value','value':{'value':2.5}},"
              "{'uid':2,'data_type':'FLOAT','is_runtime_pass_by_value':true}," TENSOR(3, ""),
              NODE("n", "ADD", ",'in_0_tensor_uid':1,'in_1_tensor_uid':2,'out_0_tensor_uid':3")),
        NULL);
    cr_assert_eq(read.graph.tensors[0].rank, 0);
    cr_assert_eq(read.graph.tensors[0].role, KILN_TENSOR_CONSTANT);
    cr_assert_eq(read.graph.tensors[1].rank, 0);
    cr_assert_eq(read.graph.tensors[1].role, KILN_TENSOR_HOST_SCALAR);
    json_graph_fini(&read);
}

Test(graph_reader, alignment_is_at_least_the_element_and_not_absurd)
{
    struct json_graph read;
    json_graph_accept(
        &read,
        GRAPH("",
              TENSOR(1, ",'alignment':1") "," TENSOR(2, ",'alignment':4611686018427387904"),
              NODE("n", "NEG", ",'in_0_tensor_uid':1,'out_0_tensor_uid':2")),
        NULL);
    cr_assert_eq(read.graph.tensors[0].alignment_bytes, 4);
    cr_assert_eq(read.graph.tensors[1].alignment_bytes, 1U << 30);
    json_graph_fini(&read);
}

Test(graph_reader, host_scalars_and_their_defaults)
{
    struct json_graph read;
    json_graph_accept(
        &read,
        GRAPH("",
              TENSOR(1, "") ","
              "{'uid':2,'dims':[1],'strides':[1],'data_type':'FLOAT','is_runtime_pass_by_value':true},"
              "{'uid':3,'dims':[1],'strides':[1],'data_type':'FLOAT','is_runtime_pass_by_value':true,"
              "'value_type':'Float32Value','value':{'value':2.5}}," TENSOR(4, ""),
              NODE("n", "BINARY_SELECT",
                   ",'in_0_tensor_uid':1,'in_1_tensor_uid':2,'in_2_tensor_uid':3,"
                   "'out_0_tensor_uid':4")),
        NULL);
    cr_assert_eq(read.graph.tensors[1].role, KILN_TENSOR_HOST_SCALAR);
    cr_assert_eq(read.graph.tensors[2].role, KILN_TENSOR_CONSTANT, "a baked value wins");
    cr_assert_eq(read.graph.tensors[2].constant.real, 2.5);
    json_graph_fini(&read);
}

/* kind, value, tensor type -> what the constant becomes. */
Test(graph_reader, constants_are_converted_by_kind_to_the_type_of_the_tensor)
{
    static const struct {
        const char *kind;
        const char *value;
        const char *type;
        double real;
        int64_t integer;
    } rows[] = {
        {"Float32Value", "0.1", "FLOAT", 0x1.99999ap-4, 0},
        {"Float32Value", "0.1", "HALF", 0x1.998p-4, 0},
        {"Float16Value", "1.5", "BFLOAT16", 1.5, 0},
        {"BFloat16Value", "1.5", "FLOAT", 1.5, 0},
        {"Float64Value", "0.1", "DOUBLE", 0.1, 0},
        {"Float64Value", "0.1", "FLOAT", 0x1.99999ap-4, 0},
        {"Float32Value", "2.5", "INT32", 2, 2},
        {"Float32Value", "3.5", "INT32", 4, 4},
        {"Float64Value", "1e30", "INT64", 9223372036854775807.0, INT64_MAX},
        {"Float32Value", "-9", "UINT8", 0, 0},
        {"Float32Value", "nan", "INT32", 0, 0},
        {"Int32Value", "-7", "FLOAT", -7, 0},
        {"Int32Value", "300", "UINT8", 255, 255},
        {"Int32Value", "-300", "INT8", -128, -128},
        {"Int64Value", "5000000000", "INT64", 5e9, 5000000000},
        {"Int64Value", "5000000000", "INT32", 2147483647, 2147483647},
        {"BoolValue", "true", "FLOAT", 1, 0},
        {"BoolValue", "true", "INT8", 1, 1},
        {"Float8Value", "200", "UINT8", 200, 200},
        {"Float8Value", "200", "INT8", -56, -56},
        {"Float8Value", "56", "FP8_E4M3", 1.0, 0},
        {"Float8Value", "60", "FP8_E5M2", 1.0, 0},
        {"Float8Value", "64", "FP8_E4M3_FNUZ", 1.0, 0},
        {"Float8Value", "64", "FP8_E5M2_FNUZ", 1.0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 GRAPH("",
                       TENSOR(1, "") ","
                       "{'uid':2,'dims':[1],'strides':[1],'data_type':'%s','value_type':'%s',"
                       "'value':{'value':%s}}," TENSOR(3, ""),
                       NODE("n", "ADD",
                            ",'in_0_tensor_uid':1,'in_1_tensor_uid':2,'out_0_tensor_uid':3")),
                 rows[i].type, rows[i].kind, rows[i].value);
        struct json_graph read;
        json_graph_accept(&read, text, NULL);
        const struct kiln_tensor *tensor = &read.graph.tensors[1];
        cr_assert_eq(tensor->role, KILN_TENSOR_CONSTANT);
        cr_assert_eq(tensor->constant.real, rows[i].real, "row %zu: %a", i, tensor->constant.real);
        if (kiln_dtype_is_integer(tensor->dtype))
            cr_assert_eq(tensor->constant.integer, rows[i].integer, "row %zu", i);
        json_graph_fini(&read);
    }
}

Test(graph_reader, unreferenced_tensors_are_not_part_of_the_graph)
{
    struct json_graph read;
    json_graph_accept(&read,
                      GRAPH("",
                            "{'uid':9,'dims':[-1],'data_type':99,'alignment':3}," TENSOR(2, "") ","
                            TENSOR(1, ""),
                            NODE("n", "NEG", ",'in_0_tensor_uid':1,'out_0_tensor_uid':2")),
                      NULL);
    cr_assert_eq(read.graph.tensor_count, 2);
    json_graph_fini(&read);
}

Test(graph_reader, unsorted_nodes_are_sorted_and_keep_their_order_where_they_can)
{
    struct json_graph read;
    json_graph_accept(
        &read,
        GRAPH("",
              TENSOR(1, "") "," TENSOR(2, ",'virtual':true") "," TENSOR(3, ",'virtual':true") ","
              TENSOR(4, "") "," TENSOR(5, ""),
              NODE("last", "ADD", ",'in_0_tensor_uid':2,'in_1_tensor_uid':3,'out_0_tensor_uid':4")
              "," NODE("free", "ABS", ",'in_0_tensor_uid':1,'out_0_tensor_uid':5")
              "," NODE("second", "NEG", ",'in_0_tensor_uid':2,'out_0_tensor_uid':3")
              "," NODE("first", "EXP", ",'in_0_tensor_uid':1,'out_0_tensor_uid':2")),
        NULL);
    static const char *const expected[] = {"free", "first", "second", "last"};
    for (size_t i = 0; i < 4; i++)
        cr_assert_str_eq(read.graph.nodes[i].name, expected[i]);
    json_graph_fini(&read);
}

static void read_written(const struct kiln_graph *graph, enum kiln_wire_era era,
                         struct json_graph *ret_read)
{
    struct kiln_buffer bytes;
    struct kiln_error error;
    kiln_buffer_init(&bytes);
    kiln_error_init(&error);
    cr_assert_eq(kiln_graph_write(graph, era, &bytes, &error), KILN_OK, "%s", error.text);
    json_graph_init_bytes(ret_read, bytes.data, bytes.size);
    kiln_buffer_fini(&bytes);
}

Test(graph_reader, chain_of_1000_nodes_sorted_and_reversed)
{
    enum { NODES = 1000 };
    struct kiln_arena arena;
    kiln_arena_init(&arena);
    struct kiln_graph chain = chain_graph(&arena, NODES);
    for (int turn = 0; turn < 2; turn++) {
        struct json_graph read;
        read_written(&chain, turn == 0 ? KILN_WIRE_ERA_CURRENT : KILN_WIRE_ERA_NOV2025, &read);
        cr_assert_eq(read.status, KILN_OK, "%s", read.error.text);
        check_invariants(&read.graph);
        cr_assert_eq(read.graph.node_count, NODES);
        cr_assert_eq(read.graph.tensor_count, NODES + 1);
        cr_assert_eq(read.graph.tensors[NODES].uid, NODES);
        json_graph_fini(&read);
        for (uint32_t i = 0; i < NODES / 2; i++) {
            struct kiln_node node = chain.nodes[i];
            chain.nodes[i] = chain.nodes[NODES - 1 - i];
            chain.nodes[NODES - 1 - i] = node;
        }
    }
    kiln_arena_fini(&arena);
}

/* Numbers instead of names: a table of names could be wrong in the same way. */
Test(graph_reader, types_have_the_numbers_of_each_era)
{
    static const struct {
        int wire;
        enum kiln_dtype dtype;
    } rows[] = {
        {1, KILN_DTYPE_F32},     {2, KILN_DTYPE_F16},         {3, KILN_DTYPE_BF16},
        {4, KILN_DTYPE_F64},     {5, KILN_DTYPE_U8},          {6, KILN_DTYPE_I32},
        {7, KILN_DTYPE_I8},      {8, KILN_DTYPE_F8E4M3},      {9, KILN_DTYPE_F8E5M2},
        {15, KILN_DTYPE_I64},    {16, KILN_DTYPE_BOOL},       {17, KILN_DTYPE_F8E4M3FNUZ},
        {18, KILN_DTYPE_F8E5M2FNUZ}, {10, KILN_DTYPE_E8M0},        {11, KILN_DTYPE_F4E2M1},
        {12, KILN_DTYPE_F6E2M3},     {13, KILN_DTYPE_F6E3M2},      {14, KILN_DTYPE_I4},
    };
    enum kiln_wire_era eras[] = {KILN_WIRE_ERA_NOV2025, KILN_WIRE_ERA_CURRENT};
    for (int wire = 1; wire < 256; wire++) {
        size_t row = 0;
        while (row < sizeof rows / sizeof *rows && rows[row].wire != wire)
            row++;
        for (size_t era = 0; era < sizeof eras / sizeof *eras; era++) {
            int last = eras[era] == KILN_WIRE_ERA_CURRENT ? 18 : 6;
            char text[512];
            struct json_graph read;
            snprintf(text, sizeof text,
                     GRAPH("", "{'uid':1,'dims':[4],'strides':[1],'data_type':%d}," TENSOR(2, ""),
                           NODE("n", "NEG", ",'in_0_tensor_uid':1,'out_0_tensor_uid':2")),
                     wire);
            json_graph_init(&read, text, &eras[era]);
            if (row < sizeof rows / sizeof *rows && wire <= last) {
                cr_expect_eq(read.status, KILN_OK, "type %d", wire);
                cr_expect_eq(read.graph.tensors[0].dtype, rows[row].dtype, "type %d", wire);
            } else {
                cr_expect_eq(read.error.reject_reason,
                             wire <= last ? KILN_REJECT_UNSUPPORTED_TYPE : KILN_REJECT_UNKNOWN_TYPE,
                             "type %d", wire);
            }
            json_graph_fini(&read);
        }
    }
}

/* in_0 is the gradient now, and was the forward input in November 2025. */
Test(graph_reader, backward_modes_have_the_gradient_first)
{
    for (uint32_t mode = 1; mode < KILN_POINTWISE_MODE_COUNT; mode++) {
        const struct kiln_pointwise_mode_info *info = kiln_pointwise_mode_info(mode);
        bool is_backward = strstr(info->name, "_BWD") != NULL;
        if (info->arity != 2)
            continue;
        char text[512];
        struct json_graph now, then;
        snprintf(text, sizeof text,
                 GRAPH("", TENSOR(7, "") "," TENSOR(8, "") "," TENSOR(9, ""),
                       NODE("n", "%s",
                            ",'in_0_tensor_uid':7,'in_1_tensor_uid':8,'out_0_tensor_uid':9")),
                 info->name);
        json_graph_accept(&now, text, &new_era);
        json_graph_accept(&then, text, &old_era);
        const uint32_t *inputs = then.graph.nodes[0].inputs;
        cr_expect_eq(now.graph.tensors[now.graph.nodes[0].inputs[0]].uid, 7, "%s", info->name);
        cr_expect_eq(then.graph.tensors[inputs[0]].uid, is_backward ? 8 : 7, "%s", info->name);
        cr_expect_eq(then.graph.tensors[inputs[1]].uid, is_backward ? 7 : 8, "%s", info->name);
        json_graph_fini(&now);
        json_graph_fini(&then);
    }
}

Test(graph_reader, names_are_cut_and_shared_ones_do_not_multiply)
{
    char text[4096];
    char name[1001];
    memset(name, 'n', 1000);
    name[1000] = '\0';
    snprintf(text, sizeof text,
             GRAPH("'name':'%s',", TENSOR(1, ",'name':'%s'") "," TENSOR(2, ""),
                   NODE("n", "NEG", ",'in_0_tensor_uid':1,'out_0_tensor_uid':2")),
             name, name);
    struct json_graph read;
    json_graph_accept(&read, text, NULL);
    cr_assert_eq(strlen(read.graph.name), 255);
    cr_assert_eq(strlen(read.graph.tensors[0].name), 255);
    cr_assert_str_eq(read.graph.tensors[1].name, "");
    json_graph_fini(&read);
}

Test(graph_reader, dump_shows_everything_and_nothing_dangerous)
{
    struct json_graph read;
    json_graph_accept(
        &read,
        GRAPH("'name':'g\\u001b[2J',",
              TENSOR(1, ",'name':'x'") ","
              "{'uid':2,'dims':[1],'strides':[1],'data_type':'INT32','value_type':'Int32Value',"
              "'value':{'value':-3}}," TENSOR(3, ",'virtual':true") "," TENSOR(4, ""),
              NODE("a", "MUL", ",'in_0_tensor_uid':1,'in_1_tensor_uid':2,'out_0_tensor_uid':3")
              "," NODE("b", "RELU_FWD", ",'in_0_tensor_uid':3,'out_0_tensor_uid':4,"
                                        "'relu_upper_clip':6")),
        NULL);
    struct kiln_buffer dump;
    kiln_buffer_init(&dump);
    kiln_graph_print(&read.graph, &dump);
    cr_assert_str_eq(kiln_buffer_text(&dump),
                     "graph 'g\\x1b[2J' (current layout): 4 tensors, 2 nodes\n"
                     "  %0 = input float [4] strides [1] align 16 uid 1 'x'\n"
                     "  %1 = constant int32 [1] strides [0] value -3 uid 2 ''\n"
                     "  %2 = virtual float [4] strides [1] uid 3 ''\n"
                     "  %3 = output float [4] strides [1] align 16 uid 4 ''\n"
                     "  %2 = MUL(%0, %1) in float 'a'\n"
                     "  %3 = RELU_FWD(%2) lower 0 upper 6 slope 0 in float 'b'\n");
    kiln_buffer_fini(&dump);
    json_graph_fini(&read);
}

/* The last line of a graph of one node. */
static void check_dump_of_node(const char *sketch, const enum kiln_wire_era *era, const char *line)
{
    struct json_graph read;
    struct kiln_buffer dump;
    graph_sketch_accept(&read, sketch, era);
    kiln_buffer_init(&dump);
    kiln_graph_print(&read.graph, &dump);
    const char *text = kiln_buffer_text(&dump);
    cr_assert_gt(strlen(text), strlen(line));
    cr_assert_str_eq(text + strlen(text) - strlen(line), line);
    kiln_buffer_fini(&dump);
    json_graph_fini(&read);
}

Test(graph_reader, dump_names_the_operands_of_reductions_and_norms)
{
    check_dump_of_node("Reduction in=3,4,5 out=1,4,1 !mode='MUL_NO_ZEROS'", NULL,
                       "\n  out %1 = REDUCE_MUL_NO_ZEROS(in %0) axes [0,2] in float 'Reduction'\n");
    check_dump_of_node("Layernorm x=3,4 scale=4 epsilon=k y=3,4 mean=3 !normalized_dim_count=1", NULL,
                       "\n  y %3, mean %4 = LAYERNORM(x %0, scale %1, epsilon %2) axes [1] in float "
                       "'Layernorm'\n");
    check_dump_of_node("RMSNormBackward dy=3,4 x=3,4 scale=4 dx=3,4 dscale=4", NULL,
                       "\n  dx %3, dscale %4 = RMSNORM_BWD(dy %0, x %1, scale %2) axes [1] epsilon "
                       "1e-05 in float 'RMSNormBackward'\n");
    check_dump_of_node("BatchnormInference x=3,4 mean=4 inv_variance=4 scale=4 bias=4 y=3,4", &old_era,
                       "\n  y %5 = BATCHNORM_INFERENCE(x %0, mean %1, variance %2, scale %3, bias %4) "
                       "axes [0] epsilon 1e-05 in float 'BatchnormInference'\n");
    check_dump_of_node("BatchnormInference x=3,4 mean=4 inv_variance=4 scale=4 bias=4 y=3,4", &new_era,
                       "\n  y %5 = BATCHNORM_INFERENCE(x %0, mean %1, inv_variance %2, scale %3, "
                       "bias %4) axes [0] in float 'BatchnormInference'\n");
    check_dump_of_node("Batchnorm x=3,4 scale=4 bias=4 epsilon=k y=3,4 prev_running_mean=4 "
                       "prev_running_variance=4 next_running_mean=4 next_running_variance=4",
                       NULL,
                       "\n  y %6, next_running_mean %7, next_running_variance %8 = "
                       "BATCHNORM_TRAINING(x %0, scale %1, bias %2, epsilon %3, "
                       "prev_running_mean %4, prev_running_variance %5) axes [0] momentum 0.1 in "
                       "float 'Batchnorm'\n");
}

Test(graph_reader, operations_in_a_word)
{
    static const struct {
        struct kiln_node node;
        const char *word;
    } rows[] = {
        {{.kind = KILN_NODE_POINTWISE, .pointwise = {.mode = KILN_POINTWISE_GELU_FWD}}, "GELU_FWD"},
        {{.kind = KILN_NODE_REDUCTION, .reduction = {.mode = KILN_REDUCTION_MAX}}, "REDUCE_MAX"},
        {{.kind = KILN_NODE_LAYERNORM}, "LAYERNORM"},
        {{.kind = KILN_NODE_LAYERNORM_BACKWARD}, "LAYERNORM_BWD"},
        {{.kind = KILN_NODE_RMSNORM}, "RMSNORM"},
        {{.kind = KILN_NODE_RMSNORM_BACKWARD}, "RMSNORM_BWD"},
        {{.kind = KILN_NODE_BATCHNORM_INFERENCE}, "BATCHNORM_INFERENCE"},
        {{.kind = KILN_NODE_BATCHNORM_TRAINING}, "BATCHNORM_TRAINING"},
        {{.kind = KILN_NODE_BATCHNORM_BACKWARD}, "BATCHNORM_BWD"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_assert_str_eq(kiln_node_operation(&rows[i].node), rows[i].word);
}
