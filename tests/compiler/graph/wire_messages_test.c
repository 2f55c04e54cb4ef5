#include "compiler/graph/wire_messages.h"

#include "golden_bytes.h"
#include "graph_sketch.h"
#include "json_graph.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

TestSuite(wire_messages);

static struct kiln_engine_config config;

static void read_config(enum golden golden)
{
    size_t size;
    const void *bytes = golden_bytes(golden, &size);
    struct kiln_error error;
    kiln_error_init(&error);
    for (size_t shift = 0; shift < 8; shift++) {
        char *memory = malloc(size + shift);
        memcpy(memory + shift, bytes, size);
        enum kiln_status status = kiln_engine_config_read(memory + shift, size, &config, &error);
        free(memory);
        cr_assert_eq(status, KILN_OK, "%s", error.text);
    }
}

Test(wire_messages, engine_config)
{
    read_config(GOLDEN_CONFIG_ID_1);
    cr_expect_eq(config.engine_id, 1);
    cr_expect_eq(config.setting_count, 0);
    read_config(GOLDEN_CONFIG_ID_0);
    cr_expect_eq(config.engine_id, 0);
    read_config(GOLDEN_CONFIG_KNOB);
    cr_expect_eq(config.engine_id, 0x7cb4a73cee0d08a2);
    cr_expect_eq(config.setting_count, 1);
    cr_expect(config.settings[0].is_integer);
    cr_expect_gt(strlen(config.settings[0].id), 0);
}

Test(wire_messages, engine_config_that_is_none)
{
    size_t size;
    const char *golden = golden_bytes(GOLDEN_CONFIG_KNOB, &size);
    struct kiln_error error;
    for (size_t length = 0; length < size; length++) {
        config.engine_id = 42;
        char *cut = malloc(length != 0 ? length : 1);
        memcpy(cut, golden, length);
        kiln_error_init(&error);
        cr_assert_eq(kiln_engine_config_read(cut, length, &config, &error), KILN_BAD_ARGUMENT);
        cr_assert_eq(config.engine_id, 42, "untouched on failure");
        cr_assert_not_null(strstr(error.text, "'EngineConfig'"));
        free(cut);
    }
}

Test(wire_messages, engine_config_round_trip)
{
    enum { TOO_MANY = KILN_MAX_KNOB_SETTINGS + 1 };
    static struct kiln_knob_setting settings[TOO_MANY] = {
        {.id = "kiln.tile_size", .is_integer = true, .value = INT64_MIN}, {.id = "a.float"}};
    struct kiln_buffer bytes;
    struct kiln_error error;
    kiln_buffer_init(&bytes);
    kiln_error_init(&error);
    cr_assert_eq(kiln_engine_config_write(INT64_MIN, settings, 2, &bytes, &error), KILN_OK);
    cr_assert_eq(kiln_engine_config_read(bytes.data, bytes.size, &config, &error), KILN_OK);
    cr_expect_eq(config.engine_id, INT64_MIN);
    cr_expect_eq(config.setting_count, 2);
    cr_expect_str_eq(config.settings[0].id, "kiln.tile_size");
    cr_expect(config.settings[0].is_integer);
    cr_expect_eq(config.settings[0].value, INT64_MIN);
    cr_expect_str_eq(config.settings[1].id, "a.float");
    cr_expect_not(config.settings[1].is_integer);

    kiln_buffer_clear(&bytes);
    cr_assert_eq(kiln_engine_config_write(1, settings, TOO_MANY, &bytes, &error), KILN_OK);
    cr_expect_eq(kiln_engine_config_read(bytes.data, bytes.size, &config, &error),
                 KILN_BAD_ARGUMENT);
    cr_expect_eq(config.engine_id, INT64_MIN, "untouched on failure");
    cr_expect_not_null(strstr(error.text, "sets 65 knobs"), "%s", error.text);
    kiln_buffer_fini(&bytes);
}

static void check_details(const void *bytes, size_t size, int64_t id, const char *name,
                          uint32_t notes)
{
    struct kiln_error error;
    int64_t read_id = 0;
    char read_name[KILN_ENGINE_NAME_BYTES];
    uint32_t read_notes = 0;
    kiln_error_init(&error);
    cr_assert_eq(kiln_engine_details_read(bytes, size, &read_id, read_name, &read_notes, &error),
                 KILN_OK, "%s", error.text);
    cr_assert_eq(read_id, id);
    cr_assert_str_eq(read_name, name);
    cr_assert_eq(read_notes, notes);
}

Test(wire_messages, engine_details_of_others)
{
    size_t size;
    const void *bytes = golden_bytes(GOLDEN_DETAILS, &size);
    check_details(bytes, size, (int64_t)0x8123456789abcdef, "", 0);
    bytes = golden_bytes(GOLDEN_DETAILS_NAME, &size);
    check_details(bytes, size, 0x7cb4a73cee0d08a2, "ACME_ENGINE", 0);
}

/* The smallest messages have only one reasonable layout: the golden one. */
Test(wire_messages, engine_details_written)
{
    struct kiln_buffer bytes;
    struct kiln_error error;
    size_t size;
    kiln_buffer_init(&bytes);
    kiln_error_init(&error);
    const int64_t id = (int64_t)0x8123456789abcdef;
    struct kiln_engine_details details = {.engine_id = id};
    cr_assert_eq(kiln_engine_details_write(&details, &bytes, &error), KILN_OK);
    const void *golden = golden_bytes(GOLDEN_DETAILS, &size);
    cr_assert_eq(bytes.size, size);
    cr_assert_eq(memcmp(bytes.data, golden, size), 0);
    cr_assert_eq((uintptr_t)bytes.data % 8, 0);

    static const enum kiln_behavior_note notes[] = {KILN_BEHAVIOR_RUNTIME_COMPILATION,
                                                    KILN_BEHAVIOR_GRAPH_CAPTURE};
    static const struct kiln_knob_description knobs[] = {{"a.b", "text", -5, 7, 2, 3}};
    details.name = "KILN_FUSION_ENGINE";
    details.notes = notes;
    details.note_count = 2;
    details.knobs = knobs;
    details.knob_count = 1;
    kiln_buffer_clear(&bytes);
    cr_assert_eq(kiln_engine_details_write(&details, &bytes, &error), KILN_OK);
    struct kiln_knob_description knob;
    cr_expect_not(kiln_engine_details_find_knob(bytes.data, bytes.size, "a.c", &knob));
    cr_assert(kiln_engine_details_find_knob(bytes.data, bytes.size, "a.b", &knob));
    cr_expect(knob.least == -5 && knob.most == 7 && knob.step == 2 && knob.none == 3);
    check_details(bytes.data, bytes.size, id, "KILN_FUSION_ENGINE", 1U << 0 | 1U << 2);
    /* A host of November 2025 looks at slot 0 only. */
    cr_assert_eq(kiln_engine_config_read(bytes.data, 0, &config, &error), KILN_BAD_ARGUMENT);
    kiln_buffer_fini(&bytes);
}

static void check_same_after_write(const char *text, enum kiln_wire_era era)
{
    struct json_graph read;
    struct json_graph again;
    struct kiln_buffer bytes;
    struct kiln_buffer form;
    struct kiln_buffer form_again;
    struct kiln_error error;
    kiln_error_init(&error);
    kiln_buffer_init(&bytes);
    kiln_buffer_init(&form);
    kiln_buffer_init(&form_again);
    json_graph_accept(&read, text, NULL);
    cr_assert_eq(kiln_graph_write(&read.graph, era, &bytes, &error), KILN_OK, "%s", error.text);
    json_graph_init_bytes(&again, bytes.data, bytes.size);
    cr_assert_eq(again.status, KILN_OK, "%s", again.error.text);
    cr_assert_eq(again.graph.era, era);
    kiln_graph_append_canonical(&read.graph, &form);
    kiln_graph_append_canonical(&again.graph, &form_again);
    cr_assert(form.size == form_again.size && memcmp(form.data, form_again.data, form.size) == 0);
    cr_assert_str_eq(again.graph.nodes[0].name, read.graph.nodes[0].name);
    kiln_buffer_fini(&bytes);
    kiln_buffer_fini(&form);
    kiln_buffer_fini(&form_again);
    json_graph_fini(&read);
    json_graph_fini(&again);
}

#define SELECT(type, constant, fields)                                                             \
    "{" fields "'tensors':[{'uid':1,'dims':[2,1,4],'strides':[8,9,2],'data_type':'" type "'},"     \
    "{'uid':-2,'dims':[1],'strides':[1],'data_type':'" type "'," constant "},"                     \
    "{'uid':3,'dims':[2,1,4],'strides':[4,4,1],'data_type':'" type "'}],"                          \
    "'nodes':[{'name':'select','attributes_type':'PointwiseAttributes','attributes':{"             \
    "'operation':'BINARY_SELECT','in_0_tensor_uid':1,'in_1_tensor_uid':-2,'in_2_tensor_uid':1,"    \
    "'out_0_tensor_uid':3}}]}"
#define VALUE(kind, value) "'value_type':'" kind "','value':{'value':" value "}"

Test(wire_messages, written_graphs_read_back_the_same)
{
    static const char *const both[] = {
        SELECT("FLOAT", VALUE("Float32Value", "0.1"), ""),
        SELECT("HALF", VALUE("Float16Value", "0.1"), ""),
        SELECT("BFLOAT16", VALUE("BFloat16Value", "0.1"), ""),
        SELECT("DOUBLE", VALUE("Float64Value", "0.1"), ""),
        SELECT("UINT8", VALUE("Float8Value", "200"), ""),
        SELECT("INT32", VALUE("Int32Value", "-5"), ""),
        "{'tensors':[{'uid':1,'dims':[4],'strides':[1],'data_type':'FLOAT'},"
        "{'uid':2,'dims':[4],'strides':[1],'data_type':'FLOAT'},"
        "{'uid':3,'dims':[4],'strides':[1],'data_type':'HALF'}],'nodes':["
        "{'attributes_type':'PointwiseAttributes','attributes':{'operation':'RELU_BWD',"
        "'in_0_tensor_uid':1,'in_1_tensor_uid':3,'out_0_tensor_uid':2,'relu_upper_clip':6,"
        "'relu_lower_clip_slope':0.25}}]}",
        "{'tensors':[{'uid':1,'dims':[4],'strides':[1],'data_type':'FLOAT'},"
        "{'uid':2,'dims':[4],'strides':[1],'data_type':'FLOAT'}],'nodes':["
        "{'attributes_type':'PointwiseAttributes','attributes':{'operation':'GEN_INDEX',"
        "'in_0_tensor_uid':1,'out_0_tensor_uid':2,'axis_tensor_uid':0}}]}",
    };
    static const char *const only_current[] = {
        SELECT("INT8", VALUE("Int32Value", "-5"), ""),
        SELECT("INT64", VALUE("Int64Value", "-5000000000"), ""),
        SELECT("FP8_E4M3", VALUE("Float8Value", "57"), ""),
        SELECT("FP8_E5M2", VALUE("Float8Value", "57"), ""),
        SELECT("FP8_E4M3_FNUZ", VALUE("Float8Value", "57"), ""),
        SELECT("FP8_E5M2_FNUZ", VALUE("Float8Value", "57"), ""),
        SELECT("BOOLEAN", VALUE("BoolValue", "true"), ""),
        SELECT("FLOAT", "'is_runtime_pass_by_value':true", ""),
        SELECT("FLOAT", "'alignment':64", ""),
    };
    for (size_t i = 0; i < sizeof both / sizeof *both; i++) {
        check_same_after_write(both[i], KILN_WIRE_ERA_NOV2025);
        check_same_after_write(both[i], KILN_WIRE_ERA_CURRENT);
    }
    for (size_t i = 0; i < sizeof only_current / sizeof *only_current; i++) {
        struct json_graph read;
        struct kiln_buffer bytes;
        struct kiln_error error;
        check_same_after_write(only_current[i], KILN_WIRE_ERA_CURRENT);
        json_graph_accept(&read, only_current[i], NULL);
        kiln_buffer_init(&bytes);
        kiln_error_init(&error);
        cr_assert_eq(kiln_graph_write(&read.graph, KILN_WIRE_ERA_NOV2025, &bytes, &error),
                     KILN_UNSUPPORTED, "row %zu", i);
        kiln_buffer_fini(&bytes);
        json_graph_fini(&read);
    }
}

static enum kiln_status write_sketch(const char *sketch, const enum kiln_wire_era *read_era,
                                     enum kiln_wire_era era)
{
    struct json_graph read;
    struct kiln_buffer bytes;
    struct kiln_error error;
    kiln_buffer_init(&bytes);
    kiln_error_init(&error);
    graph_sketch_accept(&read, sketch, read_era);
    enum kiln_status status = kiln_graph_write(&read.graph, era, &bytes, &error);
    if (status == KILN_OK) {
        struct json_graph again;
        struct kiln_buffer form;
        struct kiln_buffer form_again;
        kiln_buffer_init(&form);
        kiln_buffer_init(&form_again);
        json_graph_init_bytes(&again, bytes.data, bytes.size);
        cr_assert_eq(again.status, KILN_OK, "%s\nin %s", again.error.text, sketch);
        cr_assert_eq(again.graph.era, era);
        kiln_graph_append_canonical(&read.graph, &form);
        kiln_graph_append_canonical(&again.graph, &form_again);
        cr_assert(form.size == form_again.size &&
                      memcmp(form.data, form_again.data, form.size) == 0,
                  "%s", sketch);
        kiln_buffer_fini(&form);
        kiln_buffer_fini(&form_again);
        json_graph_fini(&again);
    }
    kiln_buffer_fini(&bytes);
    json_graph_fini(&read);
    return status;
}

Test(wire_messages, every_kind_of_node_with_and_without_its_optional_operands)
{
    static const char *const both[] = {
        "Batchnorm x=3,4 scale=4 bias=4 epsilon=k y=3,4",
        "Batchnorm x=3,4 scale=4 bias=4 epsilon=1 y=3,4 mean=4 inv_variance=4",
        ("Batchnorm x=3,4 scale=4 bias=4 epsilon=1 y=3,4 prev_running_mean=4 "
         "prev_running_variance=4 next_running_mean=4 next_running_variance=4 momentum=k"),
        "BatchnormBackward dy=3,4 x=3,4 scale=4 dx=3,4 dscale=4 dbias=4",
        "BatchnormBackward dy=3,4 x@0=3,4 scale=4 dx=3,4 dscale=4 dbias=4 mean=4 inv_variance=4",
    };
    static const char *const only_current[] = {
        "Reduction in=3,4 out=3,1 !mode='MUL_NO_ZEROS'",
        "Reduction in@0=3,4 out=1,4:DOUBLE !mode='MIN_OP'",
        "Layernorm x=3,4 epsilon=k y=3,4 !normalized_dim_count=1",
        "Layernorm x=2,3,4 scale@0=4 bias=4 epsilon=s y=2,3,4 mean=2,3 inv_variance=2,3,1",
        "Layernorm x=2,3,4 scale=3,4 bias@0=3,4 epsilon=k y=2,3,4 inv_variance=2,1,1",
        "LayernormBackward dy=3,4 x=3,4 scale=4 dx=3,4 dscale=4 dbias=4 !normalized_dim_count=1",
        ("LayernormBackward dy=3,4 x=3,4 scale=4 dx=3,4 dscale=4 dbias=4 epsilon=k "
         "!normalized_dim_count=1"),
        ("LayernormBackward dy=3,4 x=3,4 scale=4 dx=3,4 dscale=4 dbias=4 mean=3 inv_variance=3 "
         "!normalized_dim_count=1"),
        "RMSNorm x=3,4 scale=4 epsilon=k y=3,4",
        "RMSNorm x=3,4 scale=1,4 epsilon=k y=3,4 bias=1 inv_rms=3,1",
        "RMSNormBackward dy=3,4 x=3,4 scale=4 dx=3,4 dscale=4",
        "RMSNormBackward dy=3,4 x=3,4 scale=4 inv_rms@0=3,1 dx=3,4 dscale=4 dbias=4",
        ("BatchnormInferenceAttributesVarianceExt x=3,4 mean=4 variance=4 scale=4 bias=4 y=3,4 "
         "epsilon=k"),
    };
    static const enum kiln_wire_era old_era = KILN_WIRE_ERA_NOV2025;
    static const enum kiln_wire_era new_era = KILN_WIRE_ERA_CURRENT;
    for (size_t i = 0; i < sizeof both / sizeof *both; i++) {
        cr_assert_eq(write_sketch(both[i], &new_era, old_era), KILN_OK, "%s", both[i]);
        cr_assert_eq(write_sketch(both[i], &old_era, new_era), KILN_OK, "%s", both[i]);
    }
    for (size_t i = 0; i < sizeof only_current / sizeof *only_current; i++) {
        cr_assert_eq(write_sketch(only_current[i], NULL, new_era), KILN_OK, "%s", only_current[i]);
        cr_assert_eq(write_sketch(only_current[i], NULL, old_era), KILN_UNSUPPORTED, "%s",
                     only_current[i]);
    }
    /* The third input is an inverse deviation in one layout and a variance in the other. */
    static const char inference[] =
        "BatchnormInference x=3,4 mean=4 inv_variance=4 scale=4 bias=4 y=3,4";
    cr_assert_eq(write_sketch(inference, &old_era, old_era), KILN_OK);
    cr_assert_eq(write_sketch(inference, &new_era, new_era), KILN_OK);
    cr_assert_eq(write_sketch(inference, &old_era, new_era), KILN_UNSUPPORTED);
    cr_assert_eq(write_sketch(inference, &new_era, old_era), KILN_UNSUPPORTED);
}
