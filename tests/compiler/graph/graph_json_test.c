#include "golden_bytes.h"
#include "json_graph.h"

#include "compiler/graph/graph_json.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(graph_json);

static enum kiln_status parse(const char *text, const enum kiln_wire_era *era,
                              struct kiln_buffer *bytes, enum kiln_wire_era *ret_era,
                              struct kiln_error *error)
{
    kiln_buffer_init(bytes);
    kiln_error_init(error);
    return kiln_graph_json_to_bytes(text, strlen(text), era, bytes, ret_era, error);
}

Test(graph_json, chooses_the_layout_that_the_text_fits)
{
    static const struct {
        const char *text;
        enum kiln_wire_era era;
    } rows[] = {
        {"{\"nodes\": [{\"compute_data_type\": \"HALF\"}]}", KILN_WIRE_ERA_CURRENT},
        {"{\"io_data_type\": \"HALF\"}", KILN_WIRE_ERA_CURRENT},
        {"{\"io_type\": \"HALF\"}", KILN_WIRE_ERA_NOV2025},
        {"{\"compute_type\": \"FLOAT\", \"nodes\": []}", KILN_WIRE_ERA_NOV2025},
        {"{}", KILN_WIRE_ERA_CURRENT},
        {"{ name: 'relaxed', /* as flatc takes it */ tensors: [], }", KILN_WIRE_ERA_CURRENT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kiln_buffer bytes;
        struct kiln_error error;
        enum kiln_wire_era era;
        cr_assert_eq(parse(rows[i].text, NULL, &bytes, &era, &error), KILN_OK, "%s: %s",
                     rows[i].text, error.text);
        cr_assert_eq(era, rows[i].era, "%s", rows[i].text);
        kiln_buffer_fini(&bytes);
    }
}

Test(graph_json, complaints_name_what_is_wrong)
{
    static const struct {
        const char *text;
        const char *complaint;
    } rows[] = {
        {"", "empty"},
        {"[", "the text is no graph in JSON: line 1, column "},
        {"{\"io_data_type\": \"HALVE\"}", "HALVE"},
        {"{\"io_type\": \"HALVE\"}", "HALVE"},
        {"{\"nodes\": [{\"attributes_type\": \"Nothing\"}]}", "Nothing"},
        {"{\"colour\": 1}", "colour"},
        {"table Evil { x: int; } root_type Evil; {\"x\": 1}", "the text is no graph in JSON: "},
        {"include \"graph.fbs\"; {}", "the text is no graph in JSON: "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kiln_buffer bytes;
        struct kiln_error error;
        enum kiln_wire_era era;
        cr_assert_eq(parse(rows[i].text, NULL, &bytes, &era, &error), KILN_BAD_ARGUMENT, "%s",
                     rows[i].text);
        cr_assert_not_null(strstr(error.text, rows[i].complaint), "%s: %s", rows[i].text,
                           error.text);
        kiln_buffer_fini(&bytes);
    }
}

Test(graph_json, era_can_be_forced)
{
    struct kiln_buffer bytes;
    struct kiln_error error;
    enum kiln_wire_era era;
    const enum kiln_wire_era old_era = KILN_WIRE_ERA_NOV2025;
    const enum kiln_wire_era new_era = KILN_WIRE_ERA_CURRENT;
    cr_assert_eq(parse("{\"io_data_type\": \"HALF\"}", &old_era, &bytes, &era, &error),
                 KILN_BAD_ARGUMENT);
    kiln_buffer_fini(&bytes);
    cr_assert_eq(parse("{\"io_type\": \"HALF\"}", &new_era, &bytes, &era, &error),
                 KILN_BAD_ARGUMENT);
    kiln_buffer_fini(&bytes);
}

static void check_round_trip(const void *bytes, size_t size)
{
    struct kiln_buffer json;
    struct kiln_buffer again;
    struct kiln_buffer json_again;
    struct kiln_error error;
    enum kiln_wire_era era;
    kiln_buffer_init(&json);
    kiln_buffer_init(&again);
    kiln_buffer_init(&json_again);
    kiln_error_init(&error);
    cr_assert_eq(kiln_graph_json_from_bytes(bytes, size, &json, &error), KILN_OK, "%s", error.text);
    cr_assert_eq(json.data[json.size - 1], '\n');
    cr_assert_eq(kiln_graph_json_to_bytes(json.data, json.size, NULL, &again, &era, &error),
                 KILN_OK, "%s", error.text);
    /* The layout may change where nothing in the text tells it; the content may not. */
    cr_assert_eq(kiln_graph_json_from_bytes(again.data, again.size, &json_again, &error), KILN_OK);
    cr_assert_str_eq(json_again.data, json.data);
    kiln_buffer_fini(&json);
    kiln_buffer_fini(&again);
    kiln_buffer_fini(&json_again);
}

/* Numbers come back bit by bit, however small or long they are. */
Test(graph_json, numbers_keep_their_value)
{
    static const char *const numbers[] = {"0.17677669", "1e-8",  "3.4028235e38", "1e-45",
                                          "-0.1",       "100.0", "16777217.0",   "-inf"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char text[256];
        struct kiln_buffer bytes, json, again;
        struct kiln_error error;
        enum kiln_wire_era era;
        (void)snprintf(text, sizeof text,
                       "{\"tensors\": [{\"value_type\": \"Float32Value\", \"value\": "
                       "{\"value\": %s}}, {\"value_type\": \"Float64Value\", \"value\": "
                       "{\"value\": %s}}]}",
                       numbers[i], numbers[i]);
        cr_assert_eq(parse(text, NULL, &bytes, &era, &error), KILN_OK, "%s", error.text);
        kiln_buffer_init(&json);
        kiln_buffer_init(&again);
        cr_assert_eq(kiln_graph_json_from_bytes(bytes.data, bytes.size, &json, &error), KILN_OK);
        cr_assert_eq(kiln_graph_json_to_bytes(json.data, json.size, &era, &again, &era, &error),
                     KILN_OK, "%s", error.text);
        cr_expect(again.size == bytes.size && memcmp(again.data, bytes.data, bytes.size) == 0,
                  "%s became %s", numbers[i], kiln_buffer_text(&json));
        kiln_buffer_fini(&again);
        kiln_buffer_fini(&json);
        kiln_buffer_fini(&bytes);
    }
}

Test(graph_json, round_trip_of_golden_graphs)
{
    for (enum golden golden = GOLDEN_G1; golden <= GOLDEN_G3; golden++) {
        size_t size;
        const void *bytes = golden_bytes(golden, &size);
        check_round_trip(bytes, size);
    }
}

/* Every table of the newer schema once: the names are the format of hand-written graphs. */
Test(graph_json, round_trip_of_every_kind_of_node)
{
    static const struct {
        const char *kind;
        enum kiln_reject_reason reason; /* of a node of which nothing but the kind is given */
    } kinds[] = {
        {"BatchnormInferenceAttributes", KILN_REJECT_UNKNOWN_UID},
        {"PointwiseAttributes", KILN_REJECT_UNKNOWN_MODE},
        {"BatchnormBackwardAttributes", KILN_REJECT_UNKNOWN_UID},
        {"BatchnormAttributes", KILN_REJECT_UNKNOWN_UID},
        {"ConvolutionFwdAttributes", KILN_REJECT_UNKNOWN_UID},
        {"ConvolutionBwdAttributes", KILN_REJECT_UNKNOWN_UID},
        {"ConvolutionWrwAttributes", KILN_REJECT_UNKNOWN_UID},
        {"BatchnormInferenceAttributesVarianceExt", KILN_REJECT_UNKNOWN_UID},
        {"MatmulAttributes", KILN_REJECT_UNKNOWN_UID},
        {"RMSNormAttributes", KILN_REJECT_UNKNOWN_UID},
        {"LayernormAttributes", KILN_REJECT_UNKNOWN_UID},
        {"SdpaAttributes", KILN_REJECT_UNKNOWN_UID},
        {"BlockScaleDequantizeAttributes", KILN_REJECT_BLOCK_SIZE},
        {"BlockScaleQuantizeAttributes", KILN_REJECT_BLOCK_SIZE},
        {"SdpaBackwardAttributes", KILN_REJECT_UNKNOWN_UID},
        {"CustomOpAttributes", KILN_REJECT_UNSUPPORTED_NODE},
        {"RMSNormBackwardAttributes", KILN_REJECT_UNKNOWN_UID},
        {"ReductionAttributes", KILN_REJECT_UNKNOWN_MODE},
        {"ResampleFwdAttributes", KILN_REJECT_UNKNOWN_MODE},
        {"LayernormBackwardAttributes", KILN_REJECT_UNKNOWN_UID},
        {"ResampleBwdAttributes", KILN_REJECT_UNKNOWN_MODE},
        {"MoeGroupedMatmulAttributes", KILN_REJECT_UNKNOWN_UID},
        {"MoeGroupedMatmulBwdAttributes", KILN_REJECT_UNKNOWN_UID},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "{'tensors':[{'uid':1}],'nodes':[{'attributes_type':'%s','attributes':{}}]}",
                 kinds[i].kind);
        struct json_graph read;
        json_graph_init(&read, text, NULL);
        check_round_trip(read.bytes.data, read.bytes.size);
        cr_assert_eq(read.status, KILN_REJECTED);
        cr_assert_eq(read.error.reject_reason, kinds[i].reason, "%s: %s", kinds[i].kind,
                     read.error.text);
        json_graph_fini(&read);
    }
}

Test(graph_json, bytes_without_a_json_form)
{
    struct kiln_buffer json;
    struct kiln_error error;
    kiln_buffer_init(&json);
    kiln_error_init(&error);
    cr_assert_eq(kiln_graph_json_from_bytes("noise...", 8, &json, &error), KILN_REJECTED);
    cr_assert_eq(error.reject_reason, KILN_REJECT_MALFORMED);
    kiln_buffer_fini(&json);
}

/* Nesting is bounded by the library; the text is anybody's. */
Test(graph_json, hostile_text)
{
    enum { DEPTH = 100000 };
    char *text = malloc(DEPTH + 64);
    static const struct {
        const char *start;
        char fill;
    } rows[] = {
        {"", '['}, {"", '{'}, {"{\"nodes\": ", '['}, {"{\"x\":", '['}, {"{\"name\": \"", '\\'}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t length = strlen(rows[i].start);
        memcpy(text, rows[i].start, length);
        memset(text + length, rows[i].fill, DEPTH);
        text[length + DEPTH] = '\0';
        struct kiln_buffer bytes;
        struct kiln_error error;
        enum kiln_wire_era era;
        cr_assert_eq(parse(text, NULL, &bytes, &era, &error), KILN_BAD_ARGUMENT);
        kiln_buffer_fini(&bytes);
    }
    free(text);

    struct kiln_buffer bytes;
    struct kiln_error error;
    enum kiln_wire_era era;
    kiln_buffer_init(&bytes);
    kiln_error_init(&error);
    cr_assert_eq(kiln_graph_json_to_bytes("{}\0{}", 5, NULL, &bytes, &era, &error),
                 KILN_BAD_ARGUMENT);
    kiln_buffer_fini(&bytes);
}
