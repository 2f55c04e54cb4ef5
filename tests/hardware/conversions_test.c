/*
 * Conversions on a device, compared with the interpreter: float to each narrow type for every upper
 * half of a float with lower halves around ties, and every code of a narrow type to float.
 *
 * usage: conversions_test DEVICE I/N
 *   DEVICE  hip, host or cuda
 *   I/N     only every N-th type, from the I-th on; I counts from 1
 *
 * Exits with 77, which CTest counts as skipped, when there is no such device.
 */
#include "compiler/graph/graph_json.h"
#include "compiler/graph/graph_reader.h"
#include "runtime/engine/engine.h"
#include "tests/end_to_end/checked_graph.h"
#include "tests/end_to_end/execute_on_device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77, POISON = 0xa5, UPPER_HALVES = 1 << 16, CODES = 1 << 8 };

static const struct kiln_shape_overrides no_overrides;
static const uint32_t lower_halves[] = {0, 1, 0x7fff, 0x8000, 0x8001, 0xffff};
enum { LOWER_HALVES = sizeof lower_halves / sizeof *lower_halves };

static const char *const types[] = {
    "HALF",     "BFLOAT16", "FP8_E4M3", "FP8_E5M2", "FP8_E4M3_FNUZ", "FP8_E5M2_FNUZ", "FP8_E8M0",
    "FP4_E2M1", "FP6_E2M3", "FP6_E3M2", "INT4",     "INT8",          "UINT8",
};

struct subject {
    struct kiln_engine *engine;
    struct kiln_device *device;
    struct kiln_arena arena;
    struct kiln_buffer bytes;
    struct kiln_graph graph;
};

static enum kiln_status make_graph(struct subject *subject, const char *from, const char *to,
                                   int rows, int columns, struct kiln_error *error)
{
    char text[1024];
    enum kiln_wire_era era;
    int length = snprintf(
        text, sizeof text,
        "{\"tensors\":[{\"uid\":1,\"data_type\":\"%s\",\"dims\":[%d,%d],\"strides\":[%d,1]},"
        "{\"uid\":2,\"data_type\":\"%s\",\"dims\":[%d,%d],\"strides\":[%d,1]}],"
        "\"nodes\":[{\"compute_data_type\":\"FLOAT\",\"attributes_type\":\"PointwiseAttributes\","
        "\"attributes\":{\"operation\":\"IDENTITY\",\"in_0_tensor_uid\":1,"
        "\"out_0_tensor_uid\":2}}]}",
        from, rows, columns, columns, to, rows, columns, columns);
    enum kiln_status status =
        kiln_graph_json_to_bytes(text, (size_t)length, NULL, &subject->bytes, &era, error);
    return status == KILN_OK ? kiln_graph_read(subject->bytes.data, subject->bytes.size,
                                               &subject->arena, &subject->graph, error)
                             : status;
}

static void fill_floats(uint32_t *floats)
{
    for (uint32_t i = 0; i < UPPER_HALVES; i++)
        for (uint32_t k = 0; k < LOWER_HALVES; k++)
            floats[i * LOWER_HALVES + k] = i << 16 | lower_halves[k];
}

static enum kiln_status execute(struct subject *subject, void *const *memory,
                                struct kiln_error *error)
{
    struct kiln_plan *plan = NULL;
    struct checked_elements elements;
    enum kiln_status status =
        kiln_plan_create(subject->engine, subject->bytes.data, subject->bytes.size, &plan, error);
    if (status == KILN_OK)
        status = execute_on_device(subject->device, plan, &subject->graph, &no_overrides, memory,
                                   POISON, error);
    if (status == KILN_OK)
        status = check_outputs(&subject->graph, memory, POISON, &subject->arena, &elements, error);
    kiln_plan_unref(plan);
    return status;
}

/* Bytes of the narrow type are all codes, or all pairs of them where elements are packed. */
static bool test_type(struct subject *subject, const char *type, bool is_decoding)
{
    struct kiln_random_graph_options options;
    struct kiln_error error;
    void **memory = NULL;
    kiln_error_init(&error);
    kiln_arena_init(&subject->arena);
    kiln_buffer_init(&subject->bytes);
    kiln_random_graph_options_init(&options);
    enum kiln_status status =
        is_decoding ? make_graph(subject, type, "FLOAT", CODES, 3 * CODES, &error)
                    : make_graph(subject, "FLOAT", type, UPPER_HALVES, LOWER_HALVES, &error);
    if (status == KILN_OK) {
        memory = make_tensor_memory(&subject->graph, 1, &options, POISON);
        if (memory == NULL)
            status = kiln_error_set(&error, KILN_NO_MEMORY, "no memory for the tensors");
    }
    if (status == KILN_OK) {
        int64_t size = kiln_tensor_footprint_bytes(&subject->graph.tensors[0]);
        unsigned char *codes = memory[0];
        if (!is_decoding)
            fill_floats(memory[0]);
        for (int64_t i = 0; is_decoding && i < size; i++)
            codes[i] = (unsigned char)(i % 2 == 0 ? i / 2 : i / 512);
        status = execute(subject, memory, &error);
    }
    if (status != KILN_OK)
        printf("FAILED: %s %s: %s\n", is_decoding ? "from" : "to", type, error.text);
    if (memory != NULL)
        free_tensor_memory(&subject->graph, memory);
    kiln_buffer_fini(&subject->bytes);
    kiln_arena_fini(&subject->arena);
    return status == KILN_OK;
}

int main(int argc, char **argv)
{
    struct subject subject = {0};
    struct kiln_error error;
    size_t share = 0, shares = 0;
    int done = 0, failed = 0;
    char rest;
    if (argc != 3 || sscanf(argv[2], "%zu/%zu%c", &share, &shares, &rest) != 2 || share < 1 ||
        share > shares) {
        (void)fprintf(stderr, "usage: %s DEVICE I/N\n", argv[0]);
        return 2;
    }
    const struct kiln_engine_options options = {.device = argv[1]};
    kiln_error_init(&error);
    enum kiln_status status = kiln_device_open(options.device, &subject.device, &error);
    if (status != KILN_OK) {
        printf("%s%s\n", status == KILN_UNSUPPORTED ? "skipped: " : "", error.text);
        return status == KILN_UNSUPPORTED ? SKIPPED : 1;
    }
    if (kiln_engine_create(&options, &subject.engine, &error) != KILN_OK) {
        printf("FAILED: %s\n", error.text);
        return 1;
    }
    for (size_t i = share - 1; i < sizeof types / sizeof *types; i += shares, done++)
        failed += !test_type(&subject, types[i], false) + !test_type(&subject, types[i], true);
    printf("%d types, to and from float: %d failed\n", done, failed);
    kiln_engine_unref(subject.engine);
    kiln_device_close(subject.device);
    return failed != 0 || done == 0;
}
