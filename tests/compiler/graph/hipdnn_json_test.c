/*
 * hipDNN's own JSON: the samples, rewritten to its form, are the same graphs; what does not fit is
 * named with its place.
 */
#include "json_graph.h"

#include "compiler/graph/graph_json.h"

#include <criterion/criterion.h>
#include <ctype.h>
#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(hipdnn_json, .timeout = 60);

/* ---- flatc's form to hipDNN's ---- */

static json_t *in_lower_case(const char *text)
{
    char lower[64];
    size_t length = 0;
    for (; text[length] && length + 1 < sizeof lower; length++)
        lower[length] = (char)tolower((unsigned char)text[length]);
    return json_stringn(lower, length);
}

/* Every string that is no name is an enumerator's. */
static void lower_enums(json_t *object)
{
    const char *name;
    json_t *value;
    void *next;
    json_object_foreach_safe(object, next, name, value)
    {
        if (json_is_string(value) && strcmp(name, "name") != 0 && strcmp(name, "conv_mode") != 0 &&
            !strstr(name, "_type_"))
            json_object_set_new(object, name, in_lower_case(json_string_value(value)));
    }
}

/* The attributes go to all places that hipDNN has for them, in turn. */
static void scatter(json_t *node, size_t *turn)
{
    static const char *const groups[] = {"inputs", "outputs", "parameters", "attributes", NULL};
    json_t *attributes = json_incref(json_object_get(node, "attributes"));
    json_object_set_new(node, "type",
                        json_string(json_string_value(json_object_get(node, "attributes_type"))));
    json_object_del(node, "attributes");
    json_object_del(node, "attributes_type");
    lower_enums(attributes);
    const char *name;
    json_t *value;
    json_object_foreach(attributes, name, value)
    {
        const char *group = groups[(*turn)++ % (sizeof groups / sizeof *groups)];
        json_t *place = group ? json_object_get(node, group) : node;
        if (!place) {
            json_object_set_new(node, group, json_pack("{s:n}", "in_2_tensor_uid"));
            place = json_object_get(node, group);
        }
        json_object_set(place, name, value);
    }
    json_decref(attributes);
}

static json_t *as_hipdnn_writes(const char *flatc)
{
    json_error_t error;
    json_t *document = json_loads(flatc, 0, &error);
    cr_assert(document, "%s", error.text);
    size_t index;
    size_t turn = 0;
    json_t *item;
    lower_enums(document);
    json_array_foreach(json_object_get(document, "nodes"), index, item)
    {
        scatter(item, &turn);
        const char *type = json_string_value(json_object_get(item, "compute_data_type"));
        if (type)
            json_object_set_new(item, "compute_data_type", in_lower_case(type));
    }
    json_array_foreach(json_object_get(document, "tensors"), index, item)
    {
        const char *type = json_string_value(json_object_get(item, "data_type"));
        json_object_set_new(item, "data_type", in_lower_case(type ? type : "unset"));
        json_t *value = json_object_get(json_object_get(item, "value"), "value");
        if (value)
            json_object_set(item, "value", value);
    }
    return document;
}

static char *slurp(const char *path)
{
    FILE *file = fopen(path, "rb");
    cr_assert(file, "%s", path);
    char *text = calloc(1, 1 << 20);
    size_t size = fread(text, 1, (1 << 20) - 1, file);
    cr_assert_gt(size, 0);
    fclose(file);
    return text;
}

static void check_sample(const char *path, const enum kiln_wire_era *era)
{
    char *flatc = slurp(path);
    json_t *document = as_hipdnn_writes(flatc);
    char *text = json_dumps(document, JSON_INDENT(2));
    struct kiln_buffer expected;
    struct kiln_buffer canonical;
    kiln_buffer_init(&expected);
    kiln_buffer_init(&canonical);
    canonical_of_json(flatc, era, &expected);
    canonical_of_json(text, NULL, &canonical);
    cr_assert(expected.size == canonical.size &&
                  memcmp(expected.data, canonical.data, expected.size) == 0,
              "'%s' is another graph: %s", path, text);
    kiln_buffer_fini(&expected);
    kiln_buffer_fini(&canonical);
    free(text);
    free(flatc);
    json_decref(document);
}

static void check_samples(const char *folder, enum kiln_wire_era era)
{
    DIR *stream = opendir(folder);
    cr_assert(stream);
    size_t count = 0;
    const struct dirent *entry;
    while ((entry = readdir(stream))) {
        char path[1024];
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (strstr(entry->d_name, ".json")) {
            check_sample(path, &era);
            count++;
        }
    }
    closedir(stream);
    cr_assert_gt(count, 3);
}

Test(hipdnn_json, samples_are_the_same_graphs)
{
    check_samples(KILN_SAMPLES "/current", KILN_WIRE_ERA_CURRENT);
}

Test(hipdnn_json, samples_of_november_2025_are_the_same_graphs)
{
    check_samples(KILN_SAMPLES "/nov2025", KILN_WIRE_ERA_NOV2025);
}

/* ---- details ---- */

static enum kiln_status parse(const char *text, enum kiln_wire_era *ret_era,
                              struct kiln_error *error)
{
    struct kiln_buffer bytes;
    kiln_buffer_init(&bytes);
    kiln_error_init(error);
    enum kiln_status status =
        kiln_graph_json_to_bytes(text, strlen(text), NULL, &bytes, ret_era, error);
    kiln_buffer_fini(&bytes);
    return status;
}

#define NODE "{\"type\": \"PointwiseAttributes\", \"inputs\": {\"in_0_tensor_uid\": 1}}"

Test(hipdnn_json, field_names_choose_the_layout)
{
    struct kiln_error error;
    enum kiln_wire_era era;
    cr_assert_eq(parse("{\"io_type\": \"half\", \"nodes\": [" NODE "]}", &era, &error), KILN_OK,
                 "%s", error.text);
    cr_assert_eq(era, KILN_WIRE_ERA_NOV2025);
    cr_assert_eq(parse("{\"io_data_type\": \"half\", \"nodes\": [" NODE "]}", &era, &error),
                 KILN_OK, "%s", error.text);
    cr_assert_eq(era, KILN_WIRE_ERA_CURRENT);
}

Test(hipdnn_json, numbers_stand_for_names_and_null_for_nothing)
{
    struct kiln_error error;
    enum kiln_wire_era era;
    static const char text[] =
        "{\"id\": \"01234567-89ab-cdef-0123-456789ABCDEF\", \"preferred_engine_id\": null,"
        " \"tensors\": [{\"uid\": 1, \"data_type\": 1, \"dims\": [], \"strides\": [],"
        " \"value_type\": 1, \"value\": 0.5}],"
        " \"nodes\": [{\"type\": 2, \"name\": null, \"operation\": 2, \"outputs\": null},"
        " {\"type\": \"ResampleFwdAttributes\", \"padding_mode\": \"padding_not_set\","
        " \"resample_mode\": \"not_set\"}]}";
    cr_assert_eq(parse(text, &era, &error), KILN_OK, "%s", error.text);
}

Test(hipdnn_json, complaints_name_the_place)
{
#define NODES(text)  "{\"nodes\": [" NODE ", " text "]}"
#define TENSOR(text) "{\"nodes\": [" NODE "], \"tensors\": [{" text "}]}"
    static const struct {
        const char *text;
        const char *complaint;
        enum kiln_reject_reason reason; /* NONE: KILN_BAD_ARGUMENT */
    } rows[] = {
        {"{\n\"nodes\": [" NODE ",]}", "line 2, column", KILN_REJECT_NONE},
        {"{\"nodes\": [" NODE, "line 1, column", KILN_REJECT_NONE},
        {NODES("7"), "'nodes[1]' is an integer and not an object", KILN_REJECT_NONE},
        {NODES("{}"), "'nodes[1]' has no 'type'", KILN_REJECT_NONE},
        {NODES("{\"type\": \"FutureAttributes\"}"), "unknown kind 'FutureAttributes'",
         KILN_REJECT_UNKNOWN_NODE},
        {NODES("{\"type\": 99}"), "'nodes[1]' is a node of an unknown kind",
         KILN_REJECT_UNKNOWN_NODE},
        {NODES("{\"type\": 0}"), "unknown kind", KILN_REJECT_UNKNOWN_NODE},
        {NODES("{\"type\": \"PointwiseAttributes\", \"operation\": \"juggle\"}"),
         "'nodes[1].operation' is a name that Kiln does not know: 'juggle'",
         KILN_REJECT_UNKNOWN_MODE},
        {NODES("{\"type\": \"PointwiseAttributes\", \"operation\": 300}"),
         "'nodes[1].operation' is out of range", KILN_REJECT_NONE},
        {NODES("{\"type\": \"PointwiseAttributes\", \"inputs\": {\"in_9\": 1}}"),
         "'nodes[1].inputs.in_9' is no field of PointwiseAttributes", KILN_REJECT_NONE},
        {NODES("{\"type\": \"PointwiseAttributes\", \"inputs\": {\"in_1_tensor_uid\": \"1\"}}"),
         "'nodes[1].inputs.in_1_tensor_uid' is a string and not an integer", KILN_REJECT_NONE},
        {NODES("{\"type\": \"PointwiseAttributes\", \"relu_lower_clip\": true}"),
         "is a boolean and not a number", KILN_REJECT_NONE},
        {TENSOR("\"dims\": [1, 2.5]"), "'tensors[0].dims[1]' is a number with a fraction",
         KILN_REJECT_NONE},
        {TENSOR("\"dims\": 4"), "'tensors[0].dims' is an integer and not an array",
         KILN_REJECT_NONE},
        {TENSOR("\"data_type\": \"float128\""), "'float128'", KILN_REJECT_UNKNOWN_TYPE},
        {TENSOR("\"value\": 1"), "'tensors[0].value' has no 'value_type'", KILN_REJECT_NONE},
        {TENSOR("\"value_type\": \"Float32Value\", \"value\": null"), "an infinity or a NaN",
         KILN_REJECT_NONE},
        {TENSOR("\"value_type\": \"BigValue\", \"value\": 1"), "'BigValue'", KILN_REJECT_VALUE},
        {TENSOR("\"value_type\": \"Int32Value\", \"value\": 3000000000"), "is out of range",
         KILN_REJECT_NONE},
        {"{\"id\": \"0123\", \"nodes\": [" NODE "]}", "'id' is no UUID", KILN_REJECT_NONE},
        {"{\"id\": \"0\", \"nodes\": [" NODE "]}", "'id' is no UUID", KILN_REJECT_NONE},
        {"{\"colour\": 1, \"nodes\": [" NODE "]}", "'colour' is no field of Graph",
         KILN_REJECT_NONE},
        {"{\"tensors\": {}, \"nodes\": [" NODE "]}", "'tensors' is an object and not an array",
         KILN_REJECT_NONE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kiln_error error;
        enum kiln_wire_era era;
        bool is_rejected = rows[i].reason != KILN_REJECT_NONE;
        cr_expect_eq(parse(rows[i].text, &era, &error),
                     is_rejected ? KILN_REJECTED : KILN_BAD_ARGUMENT, "%s", rows[i].text);
        cr_expect(strstr(error.text, rows[i].complaint), "%s: %s", rows[i].text, error.text);
        if (is_rejected)
            cr_expect_eq(error.reject_reason, rows[i].reason, "%s", rows[i].text);
    }
}

/* Wherever the text ends or a byte is another, there is an answer. */
Test(hipdnn_json, damaged_text)
{
    static const char text[] =
        "{\"id\": \"01234567-89ab-cdef-0123-456789abcdef\", \"tensors\": [{\"uid\": 1, "
        "\"value_type\": \"Float32Value\", \"value\": 2.5, \"data_type\": \"half\", \"dims\": "
        "[2]}], \"nodes\": [" NODE "]}";
    char damaged[sizeof text];
    for (size_t i = 0; i + 1 < sizeof text; i++) {
        struct kiln_error error;
        enum kiln_wire_era era;
        memcpy(damaged, text, sizeof text);
        damaged[i] = '\0';
        cr_expect_neq(parse(damaged, &era, &error), KILN_OK, "%s", damaged);
        for (const char *other = "\"{0"; *other; other++) {
            damaged[i] = *other;
            (void)parse(damaged, &era, &error);
        }
    }
}
