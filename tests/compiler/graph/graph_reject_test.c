/* One row per way to be declined; every reason of reject.def has at least one. */
#include "graph_sketch.h"
#include "json_graph.h"

#include "compiler/graph/wire_graph.h"
#include "compiler/graph/wire_messages.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* JSON in macros: breaking it by rule makes it unreadable. */
/* clang-format off */

TestSuite(graph_reject);

static const enum kiln_wire_era old_era = KILN_WIRE_ERA_NOV2025;

#define T(uid, rest)                                                                               \
    "{'uid':" #uid ",'name':'t" #uid "','dims':[4],'strides':[1],'data_type':'FLOAT'" rest "}"
#define T2(uid, dims, strides, rest)                                                               \
    "{'uid':" #uid ",'name':'t" #uid "','dims':" dims ",'strides':" strides ",'data_type':'FLOAT'" \
    rest "}"
#define TX(uid, fields) "{'uid':" #uid ",'name':'t" #uid "'," fields "}"
#define N(name, mode, operands)                                                                    \
    "{'name':'" name "','attributes_type':'PointwiseAttributes','attributes':{'operation':'" mode  \
    "'," operands "}}"
#define IN(a, out) "'in_0_tensor_uid':" #a ",'out_0_tensor_uid':" #out
#define IN2(a, b, out) IN(a, out) ",'in_1_tensor_uid':" #b
#define GRAPH(fields, tensors, nodes) "{" fields "'tensors':[" tensors "],'nodes':[" nodes "]}"
/* A graph of one NEG with a first tensor to spoil. */
#define NEG(tensor) GRAPH("", tensor "," T(2, ""), N("n", "NEG", IN(1, 2)))

struct row {
    enum kiln_reject_reason reason;
    const char *text;
    const char *sentence;
};

#define ROW(reason, text, sentence) {KILN_REJECT_##reason, text, sentence}

static const struct row rows[] = {
    ROW(NO_NODES, "{'tensors':[" T(1, "") "]}", "the graph has no nodes"),
    ROW(NO_NODES, "{}", "the graph has no nodes"),
    ROW(NO_TENSORS, "{'nodes':[" N("n", "NEG", IN(1, 2)) "]}",
        "the graph has nodes and no tensors"),
    ROW(API_VERSION,
        GRAPH("'min_required_engine_api_version':{'major':1,'minor':4,'patch':1},",
              T(1, "") "," T(2, ""), N("n", "NEG", IN(1, 2))),
        "the graph needs engine plugin interface 1.4.1, known is 1.4.0"),
    ROW(API_VERSION,
        GRAPH("'min_required_engine_api_version':{'major':0,'minor':9,'patch':0},",
              T(1, "") "," T(2, ""), N("n", "NEG", IN(1, 2))),
        "the graph needs engine plugin interface 0.9.0, known is 1.4.0"),
    ROW(API_VERSION,
        GRAPH("'min_required_engine_api_version':{'major':2,'minor':0,'patch':0},",
              T(1, "") "," T(2, ""), N("n", "NEG", IN(1, 2))),
        "the graph needs engine plugin interface 2.0.0, known is 1.4.0"),
    ROW(DUPLICATE_UID,
        GRAPH("", T(1, "") "," T(2, "") "," T(1, ""), N("n", "NEG", IN(1, 2))),
        "have the same uid 1"),
    ROW(UNKNOWN_UID, GRAPH("", T(1, "") "," T(2, ""), N("n", "NEG", IN(7, 2))),
        "node 'n': operand in_0 has uid 7, and no tensor has this uid"),
    ROW(UNKNOWN_UID, GRAPH("", T(1, "") "," T(2, ""), N("n", "NEG", IN(1, -7))),
        "node 'n': operand out_0 has uid -7, and no tensor has this uid"),
    ROW(UNKNOWN_UID, GRAPH("", T(1, "") "," T(2, ""), N("n", "ADD", IN2(1, 3, 2))),
        "node 'n': operand in_1 has uid 3, and no tensor has this uid"),
    ROW(MISSING_ATTRIBUTES, GRAPH("", T(1, "") "," T(2, ""), "{'name':'n'}"),
        "node 'n': the attributes are missing"),
    ROW(MISSING_ATTRIBUTES,
        GRAPH("", T(1, "") "," T(2, ""), N("n", "NEG", IN(1, 2)) ",{'compute_data_type':'HALF'}"),
        "node 1: the attributes are missing"),
    ROW(UNSUPPORTED_NODE,
        GRAPH("", T(1, "") "," T(2, ""),
              "{'name':'c','attributes_type':'CustomOpAttributes','attributes':{}}"),
        "node 'c': custom op is not supported"),
    ROW(CONVOLUTION,
        GRAPH("", T(1, "") "," T(2, ""),
              "{'name':'c','attributes_type':'ConvolutionFwdAttributes',"
              "'attributes':{'x_tensor_uid':1,'w_tensor_uid':1,'y_tensor_uid':2}}"),
        "node 'c': pre_padding has 0 entries, must be one for each of 1 to 3 spatial axes"),
    ROW(ATTENTION,
        GRAPH("", T(1, "") "," T(2, ""),
              "{'name':'a','attributes_type':'SdpaAttributes','attributes':{'q_tensor_uid':1,"
              "'k_tensor_uid':1,'v_tensor_uid':1,'o_tensor_uid':2,'alibi_mask':true}}"),
        "node 'a': alibi_mask is set: which slopes it means is not specified"),
    ROW(UNKNOWN_UID,
        GRAPH("", T(1, "") "," T(2, ""),
              "{'attributes_type':'MoeGroupedMatmulBwdAttributes','attributes':{}}"),
        "node 0: operand doutput has uid 0, and no tensor has this uid"),
    ROW(UNKNOWN_MODE,
        GRAPH("", T(1, "") "," T(2, ""), N("n", "UNSET", IN(1, 2))),
        "node 'n': pointwise mode 0 is unknown"),
    ROW(UNKNOWN_MODE,
        GRAPH("", T(1, "") "," T(2, ""),
              "{'name':'n','attributes_type':'PointwiseAttributes',"
              "'attributes':{'operation':48," IN(1, 2) "}}"),
        "node 'n': pointwise mode 48 is unknown"),
    ROW(MISSING_OPERAND, GRAPH("", T(1, "") "," T(2, ""), N("n", "ADD", IN(1, 2))),
        "node 'n': ADD without operand in_1"),
    ROW(MISSING_OPERAND, GRAPH("", T(1, "") "," T(2, ""), N("n", "BINARY_SELECT", IN2(1, 1, 2))),
        "node 'n': BINARY_SELECT without operand in_2"),
    ROW(BROADCAST, NEG(T2(1, "[3]", "[1]", "")),
        "node 'n': tensor 't1' (uid 1): dimension 0 is 3, must be 1 or 4 to broadcast to the output"),
    ROW(BROADCAST, NEG(T2(1, "[1,4]", "[4,1]", "")),
        "node 'n': tensor 't1' (uid 1): rank 2 is above the output's rank 1"),
    ROW(AXIS, GRAPH("", T(1, "") "," T(2, ""), N("n", "GEN_INDEX", IN(1, 2))),
        "node 'n': GEN_INDEX without an axis"),
    ROW(AXIS, GRAPH("", T(1, "") "," T(2, ""), N("n", "GEN_INDEX", IN(1, 2) ",'axis_tensor_uid':1")),
        "node 'n': tensor 't2' (uid 2): GEN_INDEX along axis 1 of a tensor of rank 1"),
    ROW(AXIS, GRAPH("", T(1, "") "," T(2, ""), N("n", "GEN_INDEX", IN(1, 2) ",'axis_tensor_uid':-1")),
        "node 'n': GEN_INDEX along axis -1, must be 0 to 7"),
    ROW(RANK, NEG(T2(1, "[1,1,1,1,1,1,1,1,4]", "[1,1,1,1,1,1,1,1,1]", "")),
        "node 'n': tensor 't1' (uid 1): rank 9, at most 8 is supported"),
    ROW(STRIDE_COUNT, NEG(T2(1, "[4]", "[]", "")),
        "node 'n': tensor 't1' (uid 1): 0 strides for 1 dimension"),
    ROW(STRIDE_COUNT, NEG(T2(1, "[4]", "[4,1]", "")),
        "node 'n': tensor 't1' (uid 1): 2 strides for 1 dimension"),
    ROW(DIMENSION, NEG(T2(1, "[4,4,-3]", "[1,1,1]", "")),
        "node 'n': tensor 't1' (uid 1): dimension 2 is -3, must be at least 1"),
    ROW(DIMENSION, NEG(T2(1, "[0]", "[1]", "")),
        "node 'n': tensor 't1' (uid 1): dimension 0 is 0, must be at least 1"),
    ROW(DIMENSION, NEG(T2(1, "[-9223372036854775808]", "[1]", "")), "must be at least 1"),
    ROW(STRIDE, NEG(T2(1, "[4]", "[-1]", "")),
        "node 'n': tensor 't1' (uid 1): stride 0 is -1, must not be negative"),
    ROW(TOO_LARGE, NEG(T2(1, "[4294967296,4294967296]", "[0,0]", "")),
        "node 'n': tensor 't1' (uid 1): its size in bytes exceeds 2^63"),
    ROW(TOO_LARGE, NEG(T2(1, "[2305843009213693952]", "[1]", "")), "exceeds 2^63"),
    ROW(TOO_LARGE, NEG(T2(1, "[3]", "[1152921504606846976]", "")), "exceeds 2^63"),
    ROW(TOO_LARGE, NEG(T2(1, "[2,2]", "[1152921504606846976,1152921504606846976]", "")),
        "exceeds 2^63"),
    ROW(ENDLESS,
        GRAPH("", T2(1, "[1073741824,536870912]", "[0,0]", "") "," T2(2, "[1,1]", "[1,1]", ""),
              "{'name':'n','attributes_type':'ReductionAttributes','attributes':{'mode':'ADD',"
              "'in_tensor_uid':1,'out_tensor_uid':2}}"),
        "its tensors have 576460752303423489 elements together, more than the 2^48"),
    ROW(OVERLAP,
        GRAPH("", T2(1, "[2,4]", "[4,1]", "") "," T2(2, "[2,4]", "[0,1]", ""),
              N("n", "NEG", IN(1, 2))),
        "node 'n': tensor 't2' (uid 2): it is written, and with stride 0 of dimension 0 two of its "
        "elements may be at the same place"),
    ROW(OVERLAP,
        GRAPH("", T2(1, "[2,4]", "[4,1]", "") "," T2(2, "[2,4]", "[3,1]", ""),
              N("n", "NEG", IN(1, 2))),
        "stride 3 of dimension 0"),
    ROW(OVERLAP,
        GRAPH("", T2(1, "[2,4]", "[4,1]", "") "," T2(2, "[2,4]", "[1,1]", ",'virtual':true") "," T2(
                      3, "[2,4]", "[4,1]", ""),
              N("n", "NEG", IN(1, 2)) "," N("m", "NEG", IN(2, 3))),
        "stride 1 of dimension 1"),
    ROW(UNKNOWN_TYPE, NEG(TX(1, "'dims':[4],'strides':[1],'data_type':99")),
        "node 'n': tensor 't1' (uid 1): data type 99 is unknown"),
    ROW(UNKNOWN_TYPE,
        GRAPH("'compute_data_type':200,", T(1, "") "," T(2, ""), N("n", "NEG", IN(1, 2))),
        "node 'n': compute type 200 is not supported"),
    ROW(PACKED_LAYOUT, NEG(TX(1, "'dims':[4],'strides':[2],'data_type':'FP4_E2M1'")),
        "node 'n': tensor 't1' (uid 1): its elements of type fp4_e2m1 are packed, and its strides "
        "leave gaps or overlap"),
    ROW(PACKED_LAYOUT, NEG(TX(1, "'dims':[4],'strides':[0],'data_type':'INT4'")),
        "elements of type int4 are packed"),
    ROW(PACKED_LAYOUT, NEG(TX(1, "'dims':[2,4],'strides':[5,1],'data_type':'FP6_E3M2'")),
        "elements of type fp6_e3m2 are packed"),
    ROW(UNSUPPORTED_TYPE,
        NEG(TX(1, "'dims':[1],'strides':[1],'data_type':'FP4_E2M1',"
                  "'is_runtime_pass_by_value':true")),
        "node 'n': tensor 't1' (uid 1): a host scalar of type fp4_e2m1"),
    ROW(UNSUPPORTED_TYPE,
        NEG(TX(1, "'dims':[1],'strides':[1],'data_type':'INT4','value_type':'Int32Value',"
                  "'value':{'value':3}")),
        "a constant of type int4"),
    ROW(TOO_LARGE, NEG(TX(1, "'dims':[1152921504606846976],'strides':[1],'data_type':'INT4'")),
        "exceeds 2^63"),
    ROW(UNSET_TYPE, NEG(TX(1, "'dims':[4],'strides':[1]")),
        "node 'n': tensor 't1' (uid 1): its data type is UNSET"),
    ROW(UNSET_TYPE,
        GRAPH("'io_data_type':'FLOAT',", TX(1, "'dims':[4],'strides':[1]") "," T(2, ""),
              N("n", "NEG", IN(1, 2))),
        "node 'n': tensor 't1' (uid 1): its data type is UNSET"),
    ROW(NO_DIMS, NEG(TX(1, "'data_type':'FLOAT'")),
        "node 'n': tensor 't1' (uid 1): its dimensions are missing"),
    ROW(NO_DIMS, NEG(TX(1, "'strides':[1],'data_type':'FLOAT'")), "its dimensions are missing"),
    ROW(NO_DIMS, GRAPH("", T2(1, "[]", "[]", "") "," TX(2, "'data_type':'FLOAT'"), N("n", "NEG", IN(1, 2))),
        "node 'n': tensor 't2' (uid 2): its dimensions are missing"),
    ROW(ALIGNMENT, NEG(T(1, ",'alignment':24")),
        "node 'n': tensor 't1' (uid 1): alignment of 24 bytes, must be a power of two"),
    ROW(ALIGNMENT, NEG(T(1, ",'alignment':0")), "alignment of 0 bytes"),
    ROW(ALIGNMENT, NEG(T(1, ",'alignment':-9223372036854775808")), "must be a power of two"),
    ROW(RAGGED, NEG(T(1, ",'ragged_offset_tensor_uid':0")),
        "node 'n': tensor 't1' (uid 1): a ragged tensor of rank 1, must have 4: batch, heads, sequence, depth"),
    ROW(RAGGED,
        NEG(TX(1, "'data_type':'FLOAT','dims':[2,3,4,5],'strides':[60,5,15,1],'ragged_offset_tensor_uid':0")),
        "node 'n': tensor 't1' (uid 1): a ragged tensor, which only the operands q, k, v, o and the statistics of attention, "
        "without its gradients, may be"),
    ROW(RAGGED, NEG(T(1, ",'ragged_offset_multiplier':64")),
        "node 'n': tensor 't1' (uid 1): ragged_offset_multiplier is 64, and it has no offsets"),
    ROW(VALUE,
        NEG("{'uid':1,'dims':[1],'strides':[1],'data_type':'FLOAT','value_type':'Float8Value',"
            "'value':{'value':1}}"),
        "node 'n': tensor uid 1: a one-byte constant for data type float"),
    ROW(SCALAR_SIZE,
        NEG(T(1, ",'value_type':'Float32Value','value':{'value':1}")),
        "node 'n': tensor 't1' (uid 1): a constant with more than one element"),
    ROW(SCALAR_SIZE, NEG(T(1, ",'is_runtime_pass_by_value':true")),
        "node 'n': tensor 't1' (uid 1): a host scalar with more than one element"),
    ROW(SCALAR_WRITTEN,
        GRAPH("",
              T2(1, "[1]", "[1]", "") "," T2(
                  2, "[1]", "[1]", ",'value_type':'Float32Value','value':{'value':1}"),
              N("n", "NEG", IN(1, 2))),
        "node 'n': tensor 't2' (uid 2): a constant that the node writes"),
    ROW(SCALAR_WRITTEN,
        GRAPH("", T2(1, "[1]", "[1]", "") "," T2(2, "[1]", "[1]", ",'is_runtime_pass_by_value':true"),
              N("n", "NEG", IN(1, 2))),
        "node 'n': tensor 't2' (uid 2): a host scalar that the node writes"),
    ROW(SCALAR_VIRTUAL, NEG(T2(1, "[1]", "[1]", ",'is_runtime_pass_by_value':true,'virtual':true")),
        "node 'n': tensor 't1' (uid 1): a host scalar that is marked virtual"),
    ROW(NEVER_WRITTEN, NEG(T(1, ",'virtual':true")),
        "node 'n': tensor 't1' (uid 1): virtual, and no node writes it"),
    ROW(WRITTEN_TWICE,
        GRAPH("", T(1, "") "," T(2, ""), N("n", "NEG", IN(1, 2)) "," N("m", "ABS", IN(1, 2))),
        "node 'm': writes the tensor with uid 2, which node 0 ('n') writes too"),
    ROW(CYCLE, GRAPH("", T(1, "") "," T(2, ""), N("n", "ADD", IN2(1, 2, 2))),
        "node 'n': reads its own output"),
    ROW(CYCLE,
        GRAPH("", T(1, "") "," T(2, "") "," T(3, "") "," T(4, ""),
              N("free", "NEG", IN(1, 4)) "," N("a", "ADD", IN2(1, 3, 2)) "," N("b", "ABS", IN(2, 3))),
        "part of a cycle"),
    ROW(NO_OUTPUT,
        GRAPH("", T(1, "") "," T(2, ",'virtual':true"), N("n", "NEG", IN(1, 2))),
        "all results of the graph are virtual"),
    /* Names are anybody's bytes. */
    ROW(BROADCAST,
        GRAPH("",
              "{'uid':1,'name':'\\u001b[31m\\n\\u00e9\\u0022','dims':[3],'strides':[1],'data_type':1},"
              T(2, ""),
              N("", "NEG", IN(1, 2))),
        "node 0: tensor '\\x1b[31m\\x0a\\xc3\\xa9\"' (uid 1): dimension 0 is 3"),
    ROW(BROADCAST,
        GRAPH("", T2(1, "[3]", "[1]", "") "," T(2, ""),
              N("0123456789012345678901234567890123456789012345678901234567890123456789", "NEG",
                IN(1, 2))),
        "node '0123456789012345678901234567890123456789012345678901234...': tensor 't1' (uid 1): "),
};

static bool seen[KILN_REJECT_REASON_COUNT];

static void expect(const struct json_graph *read, enum kiln_reject_reason reason,
                   const char *sentence, const char *what)
{
    cr_assert_eq(read->status, KILN_REJECTED, "%s", what);
    cr_assert_eq(read->error.status, KILN_REJECTED);
    cr_assert_str_eq(kiln_reject_name(read->error.reject_reason), kiln_reject_name(reason),
                     "%s\nin %s", read->error.text, what);
    cr_assert_not_null(strstr(read->error.text, sentence), "got: %s\nwanted: %s",
                       read->error.text, sentence);
    seen[reason] = true;
}

static void check_rows(void)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct json_graph read;
        json_graph_init(&read, rows[i].text, NULL);
        expect(&read, rows[i].reason, rows[i].sentence, rows[i].text);
        json_graph_fini(&read);
    }
}

/* A graph with too many nodes or tensors is not even verified. */
static void check_counts(void)
{
    struct kiln_arena arena;
    struct kiln_buffer bytes;
    struct kiln_error error;
    struct json_graph read;
    kiln_error_init(&error);
    kiln_arena_init(&arena);
    kiln_buffer_init(&bytes);
    struct kiln_graph chain = chain_graph(&arena, KILN_MAX_GRAPH_NODES + 1);
    cr_assert_eq(kiln_graph_write(&chain, KILN_WIRE_ERA_CURRENT, &bytes, &error), KILN_OK);
    json_graph_init_bytes(&read, bytes.data, bytes.size);
    expect(&read, KILN_REJECT_TOO_MANY_NODES, "the graph has more than 4096 nodes", "nodes");
    json_graph_fini(&read);

    chain = chain_graph(&arena, KILN_MAX_GRAPH_TENSORS);
    chain.node_count = 1;
    kiln_buffer_clear(&bytes);
    cr_assert_eq(kiln_graph_write(&chain, KILN_WIRE_ERA_NOV2025, &bytes, &error), KILN_OK);
    json_graph_init_bytes(&read, bytes.data, bytes.size);
    expect(&read, KILN_REJECT_TOO_MANY_TENSORS, "the graph has more than 16384 tensors", "tensors");
    json_graph_fini(&read);

    chain = chain_graph(&arena, KILN_MAX_GRAPH_NODES);
    kiln_buffer_clear(&bytes);
    cr_assert_eq(kiln_graph_write(&chain, KILN_WIRE_ERA_CURRENT, &bytes, &error), KILN_OK);
    json_graph_init_bytes(&read, bytes.data, bytes.size);
    cr_assert_eq(read.status, KILN_OK, "the limit itself is allowed: %s", read.error.text);
    json_graph_fini(&read);

    for (uint32_t i = 1; i < KILN_MAX_GRAPH_NODES; i++)
        chain.tensors[i].role = KILN_TENSOR_OUTPUT;
    kiln_buffer_clear(&bytes);
    cr_assert_eq(kiln_graph_write(&chain, KILN_WIRE_ERA_CURRENT, &bytes, &error), KILN_OK);
    json_graph_init_bytes(&read, bytes.data, bytes.size);
    expect(&read, KILN_REJECT_TOO_MANY_TENSORS,
           "the host would have to supply 4097 tensors at each execution, at most 4096", "bindings");
    json_graph_fini(&read);
    chain.tensors[1].role = KILN_TENSOR_VIRTUAL;
    kiln_buffer_clear(&bytes);
    cr_assert_eq(kiln_graph_write(&chain, KILN_WIRE_ERA_CURRENT, &bytes, &error), KILN_OK);
    json_graph_init_bytes(&read, bytes.data, bytes.size);
    cr_assert_eq(read.status, KILN_OK, "the limit itself is allowed: %s", read.error.text);
    json_graph_fini(&read);
    kiln_buffer_fini(&bytes);
    kiln_arena_fini(&arena);
}

static void check_bytes(void)
{
    struct json_graph read;
    json_graph_init_bytes(&read, "", 0);
    expect(&read, KILN_REJECT_MALFORMED, "the bytes are no hipDNN graph", "no bytes");
    json_graph_fini(&read);
    char noise[64];
    memset(noise, 0x41, sizeof noise);
    json_graph_init_bytes(&read, noise, sizeof noise);
    expect(&read, KILN_REJECT_MALFORMED, "the bytes are no hipDNN graph", "noise");
    json_graph_fini(&read);
    json_graph_init(&read, NEG(T(1, "")), &old_era);
    struct json_graph cut;
    json_graph_init_bytes(&cut, read.bytes.data, read.bytes.size - 8);
    expect(&cut, KILN_REJECT_MALFORMED, "no valid graph of the November 2025 layout", "cut");
    json_graph_fini(&cut);
    json_graph_fini(&read);

    /* Nothing but the size is looked at. */
    struct kiln_arena arena;
    struct kiln_graph graph;
    kiln_arena_init(&arena);
    read.status =
        kiln_graph_read("", (size_t)KILN_MAX_GRAPH_BYTES + 1, &arena, &graph, &read.error);
    expect(&read, KILN_REJECT_TOO_LARGE, "the graph has more than 64 MiB", "size");
    kiln_arena_fini(&arena);
}

/* More of these in node_reduction_test.c and its like. */
static void check_sketches(void)
{
    static const struct row sketches[] = {
        ROW(SHAPE, "Reduction in=4,5 out=4,2 !mode='ADD'",
            "node 'Reduction': tensor 'out' (uid 2): dimension 1 is 2, must be 1 or the input's 5"),
        ROW(BLOCK_SIZE, "BlockScaleDequantize x=4,64 scale=4,2 y=4,64 !block_size=[0]",
            "node 'BlockScaleDequantize': block_size 0 is 0, must be at least 1"),
        ROW(PEER_STATISTICS,
            "Batchnorm x=2,8 scale=8 bias=8 epsilon=k y=2,8 !peer_stats_tensor_uid=[1]",
            "node 'Batchnorm': statistics of 1 peer devices are not supported"),
    };
    for (size_t i = 0; i < sizeof sketches / sizeof *sketches; i++) {
        struct json_graph read;
        graph_sketch_init(&read, sketches[i].text, NULL);
        expect(&read, sketches[i].reason, sketches[i].sentence, sketches[i].text);
        json_graph_fini(&read);
    }
}

static void check_unknown_kinds(void)
{
    static const char text[] = GRAPH(
        "", "{'uid':1,'dims':[1],'strides':[1],'value_type':'Float32Value','value':{'value':1},"
            "'data_type':'FLOAT','name':'c'}," T2(2, "[1]", "[1]", ""),
        "{'attributes_type':'PointwiseAttributes','attributes':{'operation':'NEG'," IN(1, 2) "}}");
    struct kiln_arena arena;
    struct kiln_wire_graph wire;
    struct kiln_error error;
    struct json_graph read;
    struct json_graph spoiled;
    kiln_error_init(&error);
    json_graph_accept(&read, text, &old_era);
    kiln_arena_init(&arena);
    cr_assert_eq(kiln_wire_graph_parse(read.bytes.data, read.bytes.size, &arena, &wire, &error),
                 KILN_OK);
    cr_assert(wire.tensors[0].value_kind == 1 && wire.nodes[0].attributes_type == 2);
    kiln_arena_fini(&arena);

    /* Every byte in turn: the value's kind and the node's type are among the ones and twos. */
    bool has_value = false;
    bool has_node = false;
    for (size_t i = 0; i < read.bytes.size; i++) {
        char original = read.bytes.data[i];
        if (original != 1 && original != 2)
            continue;
        read.bytes.data[i] = 77;
        json_graph_init_bytes(&spoiled, read.bytes.data, read.bytes.size);
        if (spoiled.error.reject_reason == KILN_REJECT_VALUE) {
            expect(&spoiled, KILN_REJECT_VALUE,
                   "node 0: tensor 'c' (uid 1): its constant of kind 77 is absent or unknown",
                   "value");
            has_value = true;
        } else if (spoiled.error.reject_reason == KILN_REJECT_UNKNOWN_NODE) {
            expect(&spoiled, KILN_REJECT_UNKNOWN_NODE, "node 0: its kind 77 is unknown", "node");
            has_node = true;
        }
        json_graph_fini(&spoiled);
        read.bytes.data[i] = original;
    }
    cr_assert(has_value && has_node);
    json_graph_fini(&read);
}

Test(graph_reject, every_reason)
{
    check_rows();
    check_counts();
    check_bytes();
    check_sketches();
    check_unknown_kinds();
    for (uint32_t reason = 1; reason < KILN_REJECT_REASON_COUNT; reason++)
        cr_assert(seen[reason], "%s is tested nowhere", kiln_reject_name(reason));
}

/* Kinds that came later are unknown to the older layout, not merely unsupported. */
Test(graph_reject, newer_kinds_of_value_in_the_older_layout)
{
    static const char text[] =
        GRAPH("", "{'uid':1,'dims':[1],'strides':[1],'value_type':'Float64Value',"
                  "'value':{'value':1},'data_type':'INT32','name':'c'}," T2(2, "[1]", "[1]", ""),
              "{'attributes_type':'PointwiseAttributes','attributes':{'operation':'NEG'," IN(1, 2) "}}");
    struct json_graph read;
    json_graph_accept(&read, text, &old_era);
    bool found = false;
    for (size_t i = 0; i < read.bytes.size; i++) {
        if (read.bytes.data[i] != KILN_WIRE_VALUE_FLOAT64)
            continue;
        struct json_graph spoiled;
        read.bytes.data[i] = KILN_WIRE_VALUE_INT64;
        json_graph_init_bytes(&spoiled, read.bytes.data, read.bytes.size);
        found = found || spoiled.error.reject_reason == KILN_REJECT_VALUE;
        json_graph_fini(&spoiled);
        read.bytes.data[i] = KILN_WIRE_VALUE_FLOAT64;
    }
    cr_assert(found);
    json_graph_fini(&read);
}

Test(graph_reject, names_of_reasons)
{
    cr_assert_str_eq(kiln_reject_name(KILN_REJECT_NONE), "NONE");
    cr_assert_str_eq(kiln_reject_name(KILN_REJECT_DUPLICATE_UID), "DUPLICATE_UID");
    cr_assert_str_eq(kiln_reject_name(UINT32_MAX), "UNKNOWN");
}
