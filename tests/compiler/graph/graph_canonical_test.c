/* The canonical form: equal for the same computation, different for whatever means another one. */
#include "graph_sketch.h"
#include "json_graph.h"

#include "compiler/graph/wire_messages.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* JSON in macros: breaking it by rule makes it unreadable. */
/* clang-format off */

TestSuite(graph_canonical);

static const enum kiln_wire_era old_era = KILN_WIRE_ERA_NOV2025;
static const enum kiln_wire_era new_era = KILN_WIRE_ERA_CURRENT;

#define A "{'uid':1,'name':'a','dims':[2,3],'strides':[3,1],'data_type':'FLOAT'}"
#define B "{'uid':2,'name':'b','dims':[3],'strides':[1],'data_type':'FLOAT'}"
#define K                                                                                          \
    "{'uid':3,'dims':[1],'strides':[1],'data_type':'FLOAT','value_type':'Float32Value',"           \
    "'value':{'value':0.5}}"
#define V "{'uid':4,'dims':[2,3],'strides':[3,1],'data_type':'FLOAT','virtual':true}"
#define Y "{'uid':5,'dims':[2,3],'strides':[3,1],'data_type':'FLOAT'}"
#define ADD                                                                                        \
    "{'name':'add','attributes_type':'PointwiseAttributes','attributes':{'operation':'ADD',"       \
    "'in_0_tensor_uid':1,'in_1_tensor_uid':2,'out_0_tensor_uid':4}}"
#define MUL                                                                                        \
    "{'name':'mul','attributes_type':'PointwiseAttributes','attributes':{'operation':'MUL',"       \
    "'in_0_tensor_uid':4,'in_1_tensor_uid':3,'out_0_tensor_uid':5}}"
#define GRAPH(tensors, nodes) "{'name':'g','tensors':[" tensors "],'nodes':[" nodes "]}"
#define BASE GRAPH(A "," B "," K "," V "," Y, ADD "," MUL)

static bool is_same(const char *left, const enum kiln_wire_era *left_era, const char *right,
                    const enum kiln_wire_era *right_era)
{
    struct kiln_buffer a;
    struct kiln_buffer b;
    canonical_of_json(left, left_era, &a);
    canonical_of_json(right, right_era, &b);
    bool same = a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
    kiln_buffer_fini(&a);
    kiln_buffer_fini(&b);
    return same;
}

Test(graph_canonical, ignores_labels_numbers_order_and_layout)
{
    cr_assert(is_same(BASE, &new_era, BASE, &old_era), "layout");
    cr_assert(is_same(BASE, NULL, GRAPH(Y "," V "," K "," B "," A, ADD "," MUL), NULL),
              "order of tensors");
    cr_assert(is_same(BASE, NULL, GRAPH(A "," B "," K "," V "," Y, MUL "," ADD), NULL),
              "nodes that were not sorted");
    static const char renamed[] =
        "{'tensors':[{'uid':0,'dims':[2,3],'strides':[3,1],'data_type':'FLOAT','name':'z'},"
        "{'uid':-9,'dims':[3],'strides':[1],'data_type':'FLOAT'},"
        "{'uid':9223372036854775807,'dims':[1],'strides':[77],'data_type':'FLOAT',"
        "'value_type':'Float64Value','value':{'value':0.5}},"
        "{'uid':8,'dims':[2,3],'strides':[3,1],'data_type':'FLOAT','virtual':true,'alignment':64},"
        "{'uid':7,'dims':[2,3],'strides':[3,1],'data_type':'FLOAT'},"
        "{'uid':6,'dims':[1],'strides':[1],'data_type':'HALF'}],"
        "'nodes':[{'attributes_type':'PointwiseAttributes','attributes':{'operation':'ADD',"
        "'in_0_tensor_uid':0,'in_1_tensor_uid':-9,'out_0_tensor_uid':8,'in_2_tensor_uid':55}},"
        "{'compute_data_type':'FLOAT','attributes_type':'PointwiseAttributes',"
        "'attributes':{'operation':'MUL','in_0_tensor_uid':8,"
        "'in_1_tensor_uid':9223372036854775807,'out_0_tensor_uid':7,'swish_beta':3}}],"
        "'preferred_engine_id':5,'io_data_type':'HALF',"
        "'min_required_engine_api_version':{'major':1,'minor':3,'patch':0}}";
    cr_assert(is_same(BASE, NULL, renamed, NULL), "names, uids, unused tensors and parameters");
}

/* Each variant differs from the base, and all from each other, in one thing that matters. */
Test(graph_canonical, tells_apart_what_differs)
{
    static const char *const variants[] = {
        BASE,
        /* shapes, strides, types */
        GRAPH("{'uid':1,'dims':[2,3],'strides':[4,1],'data_type':'FLOAT'}," B "," K "," V "," Y,
              ADD "," MUL),
        GRAPH("{'uid':1,'dims':[2,3],'strides':[1,2],'data_type':'FLOAT'}," B "," K "," V "," Y,
              ADD "," MUL),
        GRAPH("{'uid':1,'dims':[1,3],'strides':[3,1],'data_type':'FLOAT'}," B "," K "," V "," Y,
              ADD "," MUL),
        GRAPH("{'uid':1,'dims':[3],'strides':[1],'data_type':'FLOAT'}," B "," K "," V "," Y,
              ADD "," MUL),
        GRAPH("{'uid':1,'dims':[2,3],'strides':[3,1],'data_type':'HALF'}," B "," K "," V "," Y,
              ADD "," MUL),
        GRAPH(A "," B "," K "," V
                ",{'uid':5,'dims':[2,3],'strides':[3,1],'data_type':'FLOAT','alignment':32}",
              ADD "," MUL),
        GRAPH(A "," B "," K ",{'uid':4,'dims':[2,3],'strides':[3,1],'data_type':'BFLOAT16',"
                "'virtual':true}," Y,
              ADD "," MUL),
        /* roles */
        GRAPH(A "," B "," K ",{'uid':4,'dims':[2,3],'strides':[3,1],'data_type':'FLOAT'}," Y,
              ADD "," MUL),
        GRAPH(A "," B ",{'uid':3,'dims':[1],'strides':[1],'data_type':'FLOAT'}," V "," Y,
              ADD "," MUL),
        GRAPH(A "," B ",{'uid':3,'dims':[1],'strides':[1],'data_type':'FLOAT',"
                "'is_runtime_pass_by_value':true}," V "," Y,
              ADD "," MUL),
        /* constants */
        GRAPH(A "," B ",{'uid':3,'dims':[1],'strides':[1],'data_type':'FLOAT',"
                "'value_type':'Float32Value','value':{'value':0.25}}," V "," Y,
              ADD "," MUL),
        GRAPH(A "," B ",{'uid':3,'dims':[1],'strides':[1],'data_type':'FLOAT',"
                "'value_type':'Float32Value','value':{'value':0}}," V "," Y,
              ADD "," MUL),
        GRAPH(A "," B ",{'uid':3,'dims':[1],'strides':[1],'data_type':'FLOAT',"
                "'value_type':'Float32Value','value':{'value':-0.0}}," V "," Y,
              ADD "," MUL),
        GRAPH(A "," B ",{'uid':3,'dims':[1],'strides':[1],'data_type':'INT32',"
                "'value_type':'Int32Value','value':{'value':1}}," V "," Y,
              ADD "," MUL),
        GRAPH(A "," B ",{'uid':3,'dims':[1],'strides':[1],'data_type':'INT32',"
                "'value_type':'Int32Value','value':{'value':2}}," V "," Y,
              ADD "," MUL),
        GRAPH(A "," B ",{'uid':3,'dims':[1,1],'strides':[1,1],'data_type':'FLOAT',"
                "'value_type':'Float32Value','value':{'value':0.5}}," V "," Y,
              ADD "," MUL),
        /* operations and edges */
        GRAPH(A "," B "," K "," V "," Y,
              "{'attributes_type':'PointwiseAttributes','attributes':{'operation':'SUB',"
              "'in_0_tensor_uid':1,'in_1_tensor_uid':2,'out_0_tensor_uid':4}}," MUL),
        GRAPH(A "," B "," K "," V "," Y,
              "{'attributes_type':'PointwiseAttributes','attributes':{'operation':'ADD',"
              "'in_0_tensor_uid':2,'in_1_tensor_uid':1,'out_0_tensor_uid':4}}," MUL),
        GRAPH(A "," B "," K "," V "," Y,
              "{'attributes_type':'PointwiseAttributes','attributes':{'operation':'ADD',"
              "'in_0_tensor_uid':1,'in_1_tensor_uid':1,'out_0_tensor_uid':4}}," MUL),
        GRAPH(A "," B "," K "," V "," Y,
              "{'compute_data_type':'DOUBLE','attributes_type':'PointwiseAttributes',"
              "'attributes':{'operation':'ADD','in_0_tensor_uid':1,'in_1_tensor_uid':2,"
              "'out_0_tensor_uid':4}}," MUL),
    };
    enum { VARIANTS = sizeof variants / sizeof *variants };
    struct kiln_buffer forms[VARIANTS];
    for (size_t i = 0; i < VARIANTS; i++) {
        canonical_of_json(variants[i], &new_era, &forms[i]);
        for (size_t k = 0; k < i; k++)
            cr_assert(forms[i].size != forms[k].size ||
                          memcmp(forms[i].data, forms[k].data, forms[i].size) != 0,
                      "variants %zu and %zu", k, i);
    }
    for (size_t i = 0; i < VARIANTS; i++)
        kiln_buffer_fini(&forms[i]);
}

#define UNARY(mode, parameters)                                                                    \
    "{'tensors':[{'uid':1,'dims':[2,3],'strides':[3,1],'data_type':'FLOAT'},"                      \
    "{'uid':2,'dims':[2,3],'strides':[3,1],'data_type':'FLOAT'}],'nodes':["                        \
    "{'attributes_type':'PointwiseAttributes','attributes':{'operation':'" mode                    \
    "','in_0_tensor_uid':1,'in_1_tensor_uid':1,'out_0_tensor_uid':2" parameters "}}]}"

Test(graph_canonical, parameters_count_where_the_mode_reads_them)
{
    static const struct {
        const char *left;
        const char *right;
        bool same;
    } rows[] = {
        {UNARY("RELU_FWD", ""), UNARY("RELU_FWD", ",'relu_lower_clip':0.0"), true},
        {UNARY("RELU_FWD", ""), UNARY("RELU_FWD", ",'relu_lower_clip':1"), false},
        {UNARY("RELU_FWD", ""), UNARY("RELU_FWD", ",'relu_upper_clip':0.0"), false},
        {UNARY("RELU_FWD", ""), UNARY("RELU_FWD", ",'relu_lower_clip_slope':0.1"), false},
        /* A given parameter chooses RELU_BWD's other formula. */
        {UNARY("RELU_BWD", ""), UNARY("RELU_BWD", ",'relu_lower_clip':0.0"), false},
        {UNARY("RELU_BWD", ",'relu_lower_clip_slope':0"), UNARY("RELU_BWD", ",'relu_lower_clip':0"),
         true},
        {UNARY("SWISH_FWD", ""), UNARY("SWISH_FWD", ",'swish_beta':1"), true},
        {UNARY("SWISH_FWD", ""), UNARY("SWISH_FWD", ",'swish_beta':2"), false},
        {UNARY("SWISH_BWD", ""), UNARY("SWISH_BWD", ",'swish_beta':2"), false},
        {UNARY("SWISH_FWD", ""), UNARY("SWISH_FWD", ",'elu_alpha':2"), true},
        {UNARY("ELU_FWD", ""), UNARY("ELU_FWD", ",'elu_alpha':2"), false},
        {UNARY("ELU_BWD", ""), UNARY("ELU_BWD", ",'elu_alpha':2"), false},
        {UNARY("SOFTPLUS_FWD", ""), UNARY("SOFTPLUS_FWD", ",'softplus_beta':2"), false},
        {UNARY("SOFTPLUS_BWD", ""), UNARY("SOFTPLUS_BWD", ",'softplus_beta':2"), false},
        {UNARY("NEG", ""), UNARY("NEG", ",'axis_tensor_uid':1"), true},
        {UNARY("GEN_INDEX", ",'axis_tensor_uid':0"), UNARY("GEN_INDEX", ",'axis_tensor_uid':1"),
         false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_assert_eq(is_same(rows[i].left, &old_era, rows[i].right, &new_era), rows[i].same,
                     "row %zu", i);
}

#define LAYERNORM(rest) "Layernorm x=2,3,4 scale=4 bias=4 epsilon=k y=2,3,4 " rest
#define CONVOLUTION(rest)                                                                          \
    "Convolution" rest " !pre_padding=[0] !post_padding=[0] !stride=[1] !dilation=[1] !conv_mode=2"
#define BACKWARD "RMSNormBackward dy=3,4 x=3,4 scale=4"

static void form_of_sketch(const char *sketch, const enum kiln_wire_era *era,
                           struct kiln_buffer *ret_form)
{
    char *text = graph_sketch_text(sketch);
    canonical_of_json(text, era, ret_form);
    free(text);
}

/* Each differs from all others, though some have the same tensors. */
Test(graph_canonical, tells_apart_kinds_roles_and_axes)
{
    static const char *const variants[] = {
        "Reduction in=3,4 out=3,1 !mode='ADD'",
        "Reduction in=3,4 out=3,1 !mode='AVG'",
        "Reduction in=3,4 out=1,4 !mode='ADD'",
        "Reduction in=3,4 out=3,4 !mode='ADD'",
        "Pointwise in_0=3,4 out_0=3,4 !operation='ABS'", /* as REDUCE_ADD numerically */
        LAYERNORM("!normalized_dim_count=1"),
        "Layernorm x=2,3,4 scale=1 bias=1 epsilon=k y=2,3,4 !normalized_dim_count=1",
        "Layernorm x=2,3,4 scale=1 bias=1 epsilon=k y=2,3,4 !normalized_dim_count=2",
        "Layernorm x=2,3,4 scale=1 bias=1 epsilon=k y=2,3,4 !normalized_dim_count=3",
        "Layernorm x=2,3,4 scale=4 epsilon=k y=2,3,4 !normalized_dim_count=1",
        "Layernorm x=2,3,4 bias=4 epsilon=k y=2,3,4 !normalized_dim_count=1",
        "Layernorm x=2,3,4 scale=4 bias=4 epsilon=s y=2,3,4 !normalized_dim_count=1",
        "Layernorm x=2,3,4 scale=4 bias=4 epsilon=1 y=2,3,4 !normalized_dim_count=1",
        LAYERNORM("mean=2,3,1 !normalized_dim_count=1"),
        LAYERNORM("inv_variance=2,3,1 !normalized_dim_count=1"),
        "RMSNorm x=2,3,4 scale=4 epsilon=k y=2,3,4",
        "RMSNorm x=2,3,4 scale=4 epsilon=k y=2,3,4 bias=4",
        "Matmul a=3,4 b=4,3 c=3,3",
        "Matmul a=3,3 b=3,3 c=3,3",
        "Matmul a=3,3 b@1 c=3,3",
        CONVOLUTION("Fwd x=1,1,1 w=1,1,1 y=1,1,1"),
        CONVOLUTION("Bwd dy=1,1,1 w=1,1,1 dx=1,1,1"),
        CONVOLUTION("Wrw x=1,1,1 dy=1,1,1 dw=1,1,1"),
        BACKWARD " dx=3,4 dscale=4",
        BACKWARD " dx=3,4 dscale=4 dbias=4",
        BACKWARD " inv_rms=3,1 dx=3,4 dscale=4 dbias=4",
        BACKWARD " inv_rms=3,1 dx=3,4 dscale=4",
        "BatchnormInference x=3,4 mean=4 inv_variance=4 scale=4 bias=4 y=3,4",
        "BatchnormInferenceAttributesVarianceExt x=3,4 mean=4 variance=4 scale=4 bias=4 y=3,4 epsilon=k",
        "Batchnorm x=3,4 scale=4 bias=4 epsilon=k y=3,4",
        "Batchnorm x=3,4 scale=4 bias=4 epsilon=k y=3,4 mean=4",
        "BatchnormBackward dy=3,4 x=3,4 scale=4 dx=3,4 dscale=4 dbias=4",
        "LayernormBackward dy=3,4 x=3,4 scale=4 dx=3,4 dscale=4 dbias=4 !normalized_dim_count=1",
    };
    enum { VARIANTS = sizeof variants / sizeof *variants };
    struct kiln_buffer forms[VARIANTS];
    for (size_t i = 0; i < VARIANTS; i++) {
        form_of_sketch(variants[i], &new_era, &forms[i]);
        for (size_t k = 0; k < i; k++)
            cr_assert(forms[i].size != forms[k].size ||
                          memcmp(forms[i].data, forms[k].data, forms[i].size) != 0,
                      "'%s' and '%s'", variants[k], variants[i]);
    }
    /* The same bytes, the other layout's meaning of the third input. */
    struct kiln_buffer old;
    form_of_sketch("BatchnormInference x=3,4 mean=4 inv_variance=4 scale=4 bias=4 y=3,4", &old_era,
                   &old);
    for (size_t i = 0; i < VARIANTS; i++)
        cr_assert(forms[i].size != old.size || memcmp(forms[i].data, old.data, old.size) != 0,
                  "'%s'", variants[i]);
    kiln_buffer_fini(&old);
    for (size_t i = 0; i < VARIANTS; i++)
        kiln_buffer_fini(&forms[i]);
}

Test(graph_canonical, ignores_labels_and_what_norms_do_not_read)
{
    static const char *const pairs[][2] = {
        {LAYERNORM("!normalized_dim_count=1"),
         "Layernorm y@-3=2,3,4 epsilon@0=k bias@9=4 scale@8=4 x@7=2,3,4 !forward_phase=2"},
        {"Reduction in=3,4 out=3,1 !mode='ADD'",
         "Reduction out@0=3,1 in@-1=3,4 !mode='ADD' !is_deterministic=true"},
        {"Batchnorm x=3,4 scale=4 bias=4 epsilon=k y=3,4",
         "Batchnorm x=3,4 scale=4 bias=4 epsilon=k y=3,4 momentum=k prev_running_mean=4"},
        {"LayernormBackward dy=3,4 x=3,4 scale=4 mean=3 inv_variance=3,1 dx=3,4 dscale=4 dbias=4 "
         "!normalized_dim_count=1",
         "LayernormBackward dy=3,4 x=3,4 scale=4 mean=3,1 inv_variance=3 epsilon=s dx=3,4 "
         "dscale=4 dbias=4"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct kiln_buffer left;
        struct kiln_buffer right;
        form_of_sketch(pairs[i][0], &new_era, &left);
        form_of_sketch(pairs[i][1], &new_era, &right);
        cr_assert(left.size == right.size && memcmp(left.data, right.data, left.size) == 0,
                  "row %zu", i);
        kiln_buffer_fini(&left);
        kiln_buffer_fini(&right);
    }
}

/* Numbers that no wire carries: graphs that are built by hand may have others. */
Test(graph_canonical, epsilon_and_momentum_count_where_no_operand_has_them)
{
    static const struct {
        const char *sketch;
        bool epsilon_counts;
        bool momentum_counts;
    } rows[] = {
        {"RMSNormBackward dy=3,4 x=3,4 scale=4 dx=3,4 dscale=4", true, true},
        {"RMSNorm x=3,4 scale=4 epsilon=k y=3,4", false, true},
        {"Batchnorm x=3,4 scale=4 bias=4 epsilon=k y=3,4 momentum=k prev_running_mean=4 "
         "prev_running_variance=4 next_running_mean=4 next_running_variance=4",
         false, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct json_graph read;
        struct kiln_buffer forms[3];
        graph_sketch_accept(&read, rows[i].sketch, NULL);
        for (int k = 0; k < 3; k++) {
            read.graph.nodes[0].normalization.epsilon = k == 1 ? 1e-3 : 1e-5;
            read.graph.nodes[0].normalization.momentum = k == 2 ? 0.5 : 0.1;
            kiln_buffer_init(&forms[k]);
            kiln_graph_append_canonical(&read.graph, &forms[k]);
            cr_assert_eq(forms[k].size, forms[0].size);
        }
        cr_assert_eq(memcmp(forms[0].data, forms[1].data, forms[0].size) != 0,
                     rows[i].epsilon_counts, "%s", rows[i].sketch);
        cr_assert_eq(memcmp(forms[0].data, forms[2].data, forms[0].size) != 0,
                     rows[i].momentum_counts, "%s", rows[i].sketch);
        for (int k = 0; k < 3; k++)
            kiln_buffer_fini(&forms[k]);
        json_graph_fini(&read);
    }
}

/* The bytes are in cache keys on disk: a change of them needs a change of the version in them. */
Test(graph_canonical, bytes_are_stable)
{
    static const unsigned char expected[] = {
        4, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, /* version, tensors, nodes */
        1, 0, 2, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, /* float input, rank 2, dims */
        3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0, /* strides, not ragged, alignment */
        1, 1, 2, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, /* float output */
        3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0,
        0, 1, 1, 1, 0, 0, 0, 0, 0, 3, 1, 0, 0, 0, 31, /* pointwise in float, in_0 %0 -> out_0 %1, NEG */
    };
    struct kiln_buffer form;
    canonical_of_json(UNARY("NEG", ""), NULL, &form);
    cr_assert_eq(form.size, sizeof expected);
    cr_assert_eq(memcmp(form.data, expected, sizeof expected), 0);
    kiln_buffer_fini(&form);

    /* Roles are numbers of operand.def: its rows keep their places. */
    static const unsigned char reduction[] = {1, 1, 1, 1, 4, 0, 0, 0, 0, 5, 1, 0, 0, 0, 6, 2, 0, 0, 0};
    static const unsigned char last_roles[] = {22, 6, 0, 0, 0, 23, 7, 0, 0, 0};
    form_of_sketch("Reduction in=3,4 out=3,1 !mode='AVG'", NULL, &form);
    cr_assert_eq(memcmp(form.data + form.size - sizeof reduction, reduction, sizeof reduction), 0);
    kiln_buffer_fini(&form);
    form_of_sketch("BatchnormBackward dy=3,4 x=3,4 mean=4 inv_variance=4 scale=4 dx=3,4 dscale=4 "
                   "dbias=4 !peer_stats_tensor_uid=[]", NULL, &form);
    cr_assert_not_null(memmem(form.data, form.size, last_roles, sizeof last_roles));
    kiln_buffer_fini(&form);
}
