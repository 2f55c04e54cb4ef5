/*
 * Bytes of anybody: every truncation and seeded random damage of graphs of both layouts must end in
 * a graph that keeps the invariants or in a reason, without touching memory that is not the
 * message's (each message is a heap block of exactly its size, for the address sanitizer).
 */
#include "golden_bytes.h"
#include "graph_sketch.h"
#include "json_graph.h"

#include "compiler/graph/graph_json.h"
#include "compiler/graph/wire_messages.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(graph_robustness, .timeout = 120);

static const char sample[] =
    "{'name':'all','compute_data_type':'FLOAT','intermediate_data_type':'FLOAT',"
    "'io_data_type':'HALF','tensors':["
    "{'uid':1,'name':'x','dims':[2,3,4],'strides':[12,4,1],'data_type':'HALF'},"
    "{'uid':2,'name':'c','dims':[1],'strides':[1],'data_type':'FLOAT',"
    "'value_type':'Float32Value','value':{'value':0.5}},"
    "{'uid':3,'name':'s','dims':[1],'strides':[1],'data_type':'DOUBLE',"
    "'is_runtime_pass_by_value':true,'alignment':8},"
    "{'uid':4,'name':'v','dims':[2,3,4],'strides':[12,4,1],'virtual':true,'data_type':'FLOAT'},"
    "{'uid':5,'name':'i','dims':[2,3,4],'strides':[12,1,3],'data_type':'INT32'},"
    "{'uid':6,'name':'y','dims':[2,3,4],'strides':[16,5,1],'data_type':'FLOAT'}],"
    "'nodes':["
    "{'name':'mul','compute_data_type':'DOUBLE','attributes_type':'PointwiseAttributes',"
    "'attributes':{'operation':'MUL','in_0_tensor_uid':1,'in_1_tensor_uid':2,'out_0_tensor_uid':4}}"
    ","
    "{'name':'index','attributes_type':'PointwiseAttributes',"
    "'attributes':{'operation':'GEN_INDEX','in_0_tensor_uid':4,'axis_tensor_uid':2,"
    "'out_0_tensor_uid':5}},"
    "{'name':'select','attributes_type':'PointwiseAttributes',"
    "'attributes':{'operation':'BINARY_SELECT','in_0_tensor_uid':4,'in_1_tensor_uid':3,"
    "'in_2_tensor_uid':5,'out_0_tensor_uid':6,'swish_beta':2}}],"
    "'preferred_engine_id':7,'min_required_engine_api_version':{'major':1,'minor':2,'patch':0}}";

static const char old_sample[] =
    "{'io_type':'FLOAT','tensors':["
    "{'uid':1,'dims':[5],'strides':[1],'data_type':'FLOAT'},{'uid':2,'dims':[5],'strides':[1],'"
    "virtual':true,"
    "'data_type':'HALF'},{'uid':3,'dims':[],'strides':[],'data_type':'FLOAT',"
    "'value_type':'Float64Value','value':{'value':3}},"
    "{'uid':4,'dims':[5],'strides':[2],'data_type':'FLOAT'}],'nodes':["
    "{'name':'a','attributes_type':'PointwiseAttributes','attributes':{'operation':'RELU_FWD',"
    "'in_0_tensor_uid':1,'out_0_tensor_uid':2,'relu_upper_clip':6}},"
    "{'name':'b','attributes_type':'PointwiseAttributes','attributes':{'operation':'SUB',"
    "'in_0_tensor_uid':2,'in_1_tensor_uid':3,'out_0_tensor_uid':4}}]}";

/* Returns whether the graph was accepted. */
static bool read_anything(const void *bytes, size_t size)
{
    struct json_graph read;
    json_graph_init_bytes(&read, bytes, size);
    if (read.status == KILN_OK) {
        struct kiln_buffer text;
        kiln_buffer_init(&text);
        check_invariants(&read.graph);
        kiln_graph_append_canonical(&read.graph, &text);
        kiln_graph_print(&read.graph, &text);
        cr_assert(!text.failed);
        kiln_buffer_fini(&text);
    } else {
        cr_assert_eq(read.status, KILN_REJECTED, "%s", read.error.text);
        cr_assert(read.error.reject_reason != KILN_REJECT_NONE &&
                  read.error.reject_reason < KILN_REJECT_REASON_COUNT);
        cr_assert_neq(read.error.text[0], '\0');
    }
    bool accepted = read.status == KILN_OK;
    json_graph_fini(&read);
    return accepted;
}

static void truncate_everywhere(const void *bytes, size_t size)
{
    for (size_t length = 0; length < size; length++)
        (void)read_anything(bytes, length);
}

static uint64_t random_state;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Offsets and counts are small numbers: those do more than noise. */
static void damage(unsigned char *bytes, size_t size)
{
    static const unsigned char favourites[] = {0, 1, 2, 4, 8, 12, 16, 0x7f, 0x80, 0xff};
    unsigned changes = 1 + (unsigned)(next_random() % 4);
    for (unsigned i = 0; i < changes; i++) {
        size_t place = next_random() % size;
        switch (next_random() % 3) {
        case 0:
            bytes[place] ^= (unsigned char)(1U << next_random() % 8);
            break;
        case 1:
            bytes[place] = favourites[next_random() % sizeof favourites];
            break;
        default:
            bytes[place] = (unsigned char)next_random();
            break;
        }
    }
}

static void flip_randomly(const void *bytes, size_t size, unsigned rounds)
{
    unsigned accepted = 0;
    unsigned char *copy = malloc(size);
    for (unsigned round = 0; round < rounds; round++) {
        memcpy(copy, bytes, size);
        damage(copy, size);
        accepted += read_anything(copy, size);
    }
    free(copy);
    cr_assert(accepted > 0 && accepted < rounds, "%u of %u were accepted", accepted, rounds);
}

Test(graph_robustness, golden_graphs)
{
    for (enum golden golden = GOLDEN_G1; golden <= GOLDEN_G3; golden++) {
        size_t size;
        const void *bytes = golden_bytes(golden, &size);
        truncate_everywhere(bytes, size);
    }
    size_t size;
    const void *bytes = golden_bytes(GOLDEN_G1, &size);
    random_state = 1;
    flip_randomly(bytes, size, 3000);
}

Test(graph_robustness, both_layouts_with_everything_in_them)
{
    struct json_graph read;
    json_graph_accept(&read, sample, NULL);
    cr_assert_eq(read.graph.era, KILN_WIRE_ERA_CURRENT);
    truncate_everywhere(read.bytes.data, read.bytes.size);
    random_state = 2;
    flip_randomly(read.bytes.data, read.bytes.size, 5000);
    json_graph_fini(&read);
    json_graph_accept(&read, old_sample, NULL);
    cr_assert_eq(read.graph.era, KILN_WIRE_ERA_NOV2025);
    truncate_everywhere(read.bytes.data, read.bytes.size);
    random_state = 3;
    flip_randomly(read.bytes.data, read.bytes.size, 5000);
    json_graph_fini(&read);
}

/* Every kind of node that has a reader, with as many operands as it takes. */
Test(graph_robustness, every_other_kind_of_node)
{
    static const char *const sketches[] = {
        "Reduction in=2,3,4 out=2,1,4 !mode='NORM2' !is_deterministic=true",
        "Layernorm x=2,3,4 scale=3,4 bias@0=4 epsilon=k y@90=2,3,4:virtual mean@91=2 "
        "inv_variance@92=2,1,1 !normalized_dim_count=2 !forward_phase=2 | "
        "LayernormBackward dy=2,3,4 x@90 scale=3,4 mean@91 inv_variance@92 epsilon=k dx=2,3,4 "
        "dscale=3,4 dbias=3,4 !normalized_dim_count=2",
        "RMSNorm x@1=3,4:HALF scale@2=1,4 epsilon=s y=3,4:HALF bias=4 inv_rms@0=3,1 "
        "!forward_phase=2 | RMSNormBackward dy=3,4 x@1 scale@2 dx=3,4 dscale=1,4 dbias=1,4",
        "Batchnorm x=2,8,3 scale=8,1 bias=1,8,1 epsilon=1,1,1 y=2,8,3 mean=8,1 inv_variance=8,1 "
        "prev_running_mean=8,1 prev_running_variance=8,1 next_running_mean=8,1 "
        "next_running_variance=8,1 momentum=k !peer_stats_tensor_uid=[]",
        "BatchnormBackward dy=2,8 x=2,8 mean=8 inv_variance=8 scale=8 dx=2,8 dscale=8 dbias=8",
        "BatchnormInference x=2,8 mean=8 inv_variance=8 scale=8 bias=8 y@50=2,8 | "
        "Pointwise in_0@50 out_0=2,8 !operation='RELU_FWD'",
        "ConvolutionFwd x=2,4,5,6 w=6,2,3,2 y=2,6,3,7:virtual !pre_padding=[1,0] "
        "!post_padding=[1,2] !stride=[2,1] !dilation=[1,1] !conv_mode=2 | "
        "ConvolutionBwd dy@3 w@2 dx=2,4,5,6 !pre_padding=[1,0] !post_padding=[1,2] !stride=[2,1] "
        "!dilation=[1,1] !conv_mode=1 | "
        "ConvolutionWrw x@1 dy@3 dw=6,2,3,2 !pre_padding=[1,0] !post_padding=[1,2] !stride=[2,1] "
        "!dilation=[1,1] !conv_mode=2",
        "BatchnormInferenceAttributesVarianceExt x=2,8 mean=8 variance=8 scale=8 bias=8 y=2,8 "
        "epsilon=k",
        "Matmul a=2,1,3,4 b=1,3,4,2 c=2,3,3,2",
    };
    static const enum kiln_wire_era eras[] = {KILN_WIRE_ERA_NOV2025, KILN_WIRE_ERA_CURRENT};
    enum { FIRST_OF_BOTH_LAYOUTS = 3, LAST_OF_BOTH_LAYOUTS = 6 };
    for (size_t i = 0; i < sizeof sketches / sizeof *sketches; i++) {
        bool is_in_both = i >= FIRST_OF_BOTH_LAYOUTS && i <= LAST_OF_BOTH_LAYOUTS;
        for (size_t era = is_in_both ? 0 : 1; era < 2; era++) {
            struct json_graph read;
            graph_sketch_accept(&read, sketches[i], &eras[era]);
            truncate_everywhere(read.bytes.data, read.bytes.size);
            random_state = 10 + 2 * i + era;
            flip_randomly(read.bytes.data, read.bytes.size, 3000);
            json_graph_fini(&read);
        }
    }
}

Test(graph_robustness, other_messages_and_json_of_damaged_bytes)
{
    struct kiln_error error;
    struct json_graph read;
    size_t config_size;
    unsigned char config[128];
    kiln_error_init(&error);
    const void *golden = golden_bytes(GOLDEN_CONFIG_KNOB, &config_size);
    json_graph_accept(&read, sample, NULL);
    random_state = 4;
    for (unsigned round = 0; round < 2000; round++) {
        struct kiln_engine_config read_config;
        memcpy(config, golden, config_size);
        damage(config, config_size);
        (void)!kiln_engine_config_read(config, config_size, &read_config, &error);
    }
    unsigned char *copy = malloc(read.bytes.size);
    for (unsigned round = 0; round < 100; round++) {
        struct kiln_buffer json;
        kiln_buffer_init(&json);
        memcpy(copy, read.bytes.data, read.bytes.size);
        damage(copy, read.bytes.size);
        (void)!kiln_graph_json_from_bytes(copy, read.bytes.size, &json, &error);
        kiln_buffer_fini(&json);
    }
    free(copy);
    json_graph_fini(&read);
}

/* The parser of the library is not ours; it must survive what users feed it. */
Test(graph_robustness, damaged_json)
{
    struct kiln_error error;
    kiln_error_init(&error);
    size_t length = strlen(sample);
    char *text = malloc(length + 1);
    random_state = 5;
    for (unsigned round = 0; round < 300; round++) {
        struct kiln_buffer bytes;
        enum kiln_wire_era era;
        for (size_t i = 0; i <= length; i++)
            text[i] = sample[i] == '\'' ? '"' : sample[i];
        size_t used = length;
        if (round % 3 == 0)
            used = 1 + next_random() % length;
        else
            damage((unsigned char *)text, length);
        kiln_buffer_init(&bytes);
        enum kiln_status status = kiln_graph_json_to_bytes(text, used, NULL, &bytes, &era, &error);
        if (status == KILN_OK)
            (void)read_anything(bytes.data, bytes.size);
        else
            cr_assert_eq(status, KILN_BAD_ARGUMENT);
        kiln_buffer_fini(&bytes);
    }
    free(text);
}
