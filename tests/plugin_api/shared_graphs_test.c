/*
 * The plugin on real graphs: every graph of a folder goes through a test host. Graphs of pointwise
 * nodes, reductions, norms, batch norms, matrix products, convolutions, attention and pooling that
 * say "run" must give the expected outputs on the device; every other graph must be declined
 * without an error.
 *
 * usage: shared_graphs_test [--device NAME] [--share I/N] PLUGIN FOLDER [NAME...]
 *   --device  host (the default), hip or cuda
 *   --share   only every N-th graph of the folder, from the I-th on; I counts from 1
 *
 * The folder's README states the formats. An output passes when |got - ref| <= tol + tol * |ref|,
 * NaN matching NaN only. Elements that no index reaches must keep the bytes that they had. Exits
 * with 77, which CTest counts as skipped, when there is no such folder.
 */
#include "compiler/dtype.h"
#include "compiler/reference/convert.h"
#include "runtime/support/buffer.h"
#include "runtime/support/file.h"
#include "tests/plugin_api/plugin_host.h"

#include <jansson.h>

#include <dirent.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TENSORS = 600, MAX_RANK = 8, FILL_BYTE = 0xa5, SKIPPED = 77 };

struct tensor {
    int64_t uid;
    bool is_output;
    enum kiln_dtype dtype;
    int rank;
    int64_t dims[MAX_RANK];
    int64_t strides[MAX_RANK];
    double tolerance;
    const char *file; /* of the JSON; NULL when there is no data */
    unsigned char *memory;
    void *on_device;
    size_t bytes;
};

struct graph_case {
    const char *folder;
    char name[256];
    json_t *json;
    struct kiln_buffer graph;
    bool must_run;
    bool compare; /* false when there is no data or the meaning is open */
    int tensor_count;
    struct tensor tensors[MAX_TENSORS];
};

static struct {
    int ran;
    int compared;
    int declined;
    int failed;
} counts;

static struct {
    const char *device;
    int share;
    int shares;
} settings = {.device = "host", .share = 1, .shares = 1};

static bool type_from_text(const char *text, enum kiln_dtype *ret_dtype)
{
    static const struct {
        const char *text;
        enum kiln_dtype dtype;
    } names[] = {
        {"FLOAT", KILN_DTYPE_F32},
        {"HALF", KILN_DTYPE_F16},
        {"BFLOAT16", KILN_DTYPE_BF16},
        {"DOUBLE", KILN_DTYPE_F64},
        {"UINT8", KILN_DTYPE_U8},
        {"INT32", KILN_DTYPE_I32},
        {"INT8", KILN_DTYPE_I8},
        {"INT64", KILN_DTYPE_I64},
        {"FP8_E4M3", KILN_DTYPE_F8E4M3},
        {"FP8_E5M2", KILN_DTYPE_F8E5M2},
        {"BOOLEAN", KILN_DTYPE_BOOL},
        {"FP8_E4M3_FNUZ", KILN_DTYPE_F8E4M3FNUZ},
        {"FP8_E5M2_FNUZ", KILN_DTYPE_F8E5M2FNUZ},
        {"FP8_E8M0", KILN_DTYPE_E8M0},
        {"FP4_E2M1", KILN_DTYPE_F4E2M1},
        {"FP6_E2M3", KILN_DTYPE_F6E2M3},
        {"FP6_E3M2", KILN_DTYPE_F6E3M2},
        {"INT4", KILN_DTYPE_I4},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(names[i].text, text) == 0) {
            *ret_dtype = names[i].dtype;
            return true;
        }
    }
    return false;
}

static bool read_file(const char *folder, const char *name, struct kiln_buffer *ret_content)
{
    char path[1024];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    struct kiln_error error;
    kiln_error_init(&error);
    if (kiln_file_read(path, (size_t)1 << 30, ret_content, &error) == KILN_OK)
        return true;
    fprintf(stderr, "%s\n", error.text);
    return false;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

/* Either layout's descriptions: "LayerNormBackward", "Reduction:ADD", "BatchnormAttributes". */
static bool is_kind_supported(const char *text)
{
    static const char *const prefixes[] = {"Pointwise", "Reduction:", "Matmul",    "LayerNorm",
                                           "RmsNorm",   "Bn",         "Batchnorm", "Conv",
                                           "Sdpa",      "Resample",   "Quantize",  "Dequantize"};
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        if (strncmp(text, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    }
    return strncmp(text, "MoeMatmul", strlen("MoeMatmul")) == 0;
}

static bool is_supported(const json_t *json)
{
    const json_t *nodes = json_object_get(json, "nodes");
    size_t index;
    json_t *node;
    json_array_foreach(nodes, index, node)
    {
        const char *text = json_string_value(node);
        if (!text || !is_kind_supported(text))
            return false;
    }
    return json_array_size(nodes) > 0;
}

static bool read_tensor(const json_t *json, double tolerance, struct tensor *tensor)
{
    const json_t *dims = json_object_get(json, "dims");
    const json_t *strides = json_object_get(json, "strides");
    tensor->uid = json_integer_value(json_object_get(json, "uid"));
    tensor->is_output = strcmp(text_of(json, "role"), "output") == 0;
    tensor->rank = (int)json_array_size(dims);
    const json_t *own = json_object_get(json, "tolerance");
    tensor->tolerance = own ? json_number_value(own) : tolerance;
    tensor->file = json_string_value(json_object_get(json, "file"));
    if (tensor->rank > MAX_RANK || json_array_size(strides) != json_array_size(dims) ||
        !type_from_text(text_of(json, "type"), &tensor->dtype))
        return false;
    int64_t elements = 1;
    for (int i = 0; i < tensor->rank; i++) {
        tensor->dims[i] = json_integer_value(json_array_get(dims, (size_t)i));
        tensor->strides[i] = json_integer_value(json_array_get(strides, (size_t)i));
        elements += (tensor->dims[i] - 1) * tensor->strides[i];
    }
    tensor->bytes = (size_t)kiln_dtype_memory_bytes(tensor->dtype, elements);
    return true;
}

/* True if the expected output has NaN for the relu of -infinity, as 0 * (-infinity) + 0 is. Kiln
 * gives the lower clip: docs/decisions/0033-todays-hipdnn.md. */
static bool expects_nan_of_relu(const char *name)
{
    return strcmp(name, "pwn_special_relu_fwd_fp32") == 0;
}

static bool load_case(struct graph_case *test)
{
    char file[300];
    snprintf(file, sizeof(file), "%s.bin", test->name);
    if (!read_file(test->folder, file, &test->graph))
        return false;
    char path[1024];
    snprintf(path, sizeof(path), "%s/%s.json", test->folder, test->name);
    json_error_t json_error;
    test->json = json_load_file(path, 0, &json_error);
    if (!test->json) {
        fprintf(stderr, "%s: %s\n", path, json_error.text);
        return false;
    }
    test->must_run =
        is_supported(test->json) && strcmp(text_of(test->json, "expect"), "decline") != 0;
    test->compare = test->must_run && !json_is_true(json_object_get(test->json, "meaning_open")) &&
                    !expects_nan_of_relu(test->name);
    if (!test->must_run)
        return true;
    double tolerance = json_number_value(json_object_get(test->json, "tolerance"));
    size_t index;
    json_t *tensor;
    json_array_foreach(json_object_get(test->json, "tensors"), index, tensor)
    {
        const char *role = text_of(tensor, "role");
        if (strcmp(role, "input") != 0 && strcmp(role, "output") != 0)
            continue;
        if (test->tensor_count == MAX_TENSORS ||
            !read_tensor(tensor, tolerance, &test->tensors[test->tensor_count])) {
            fprintf(stderr, "%s: a tensor cannot be read\n", test->name);
            return false;
        }
        test->compare = test->compare && test->tensors[test->tensor_count].file;
        test->tensor_count++;
    }
    return true;
}

static void drop_case(struct graph_case *test)
{
    for (int i = 0; i < test->tensor_count; i++)
        free(test->tensors[i].memory);
    json_decref(test->json);
    kiln_buffer_fini(&test->graph);
}

/* Inputs get their file's bytes, or zeros where there is none; outputs get a pattern. */
static bool fill_memory(const struct graph_case *test, struct tensor *tensor)
{
    tensor->memory = malloc(tensor->bytes);
    if (!tensor->memory)
        return false;
    memset(tensor->memory, tensor->is_output ? FILL_BYTE : 0, tensor->bytes);
    if (tensor->is_output || !tensor->file)
        return true;
    struct kiln_buffer content;
    kiln_buffer_init(&content);
    bool fine = read_file(test->folder, tensor->file, &content) && content.size == tensor->bytes;
    if (fine)
        memcpy(tensor->memory, content.data, content.size);
    kiln_buffer_fini(&content);
    return fine;
}

static bool copy_to_device(struct kiln_device *device, struct tensor *tensor,
                           struct kiln_error *error)
{
    return device->ops->allocate(device, tensor->bytes, &tensor->on_device, error) == KILN_OK &&
           device->ops->copy_in(device, tensor->on_device, tensor->memory, tensor->bytes, error) ==
               KILN_OK;
}

static bool copy_outputs_back(struct kiln_device *device, struct graph_case *test,
                              struct kiln_error *error)
{
    bool fine = device->ops->synchronize(device, NULL, error) == KILN_OK;
    for (int i = 0; fine && i < test->tensor_count; i++) {
        struct tensor *tensor = &test->tensors[i];
        fine =
            !tensor->is_output || device->ops->copy_out(device, tensor->memory, tensor->on_device,
                                                        tensor->bytes, error) == KILN_OK;
    }
    return fine;
}

static void release_memory(struct kiln_device *device, struct graph_case *test)
{
    for (int i = 0; i < test->tensor_count; i++) {
        device->ops->release(device, test->tensors[i].on_device);
        test->tensors[i].on_device = NULL;
    }
}

static double value_of(const struct tensor *tensor, const void *memory, int64_t offset)
{
    struct kiln_constant value = kiln_element_load_at(tensor->dtype, memory, offset);
    return kiln_dtype_is_integer(tensor->dtype) ? (double)value.integer : value.real;
}

static bool element_agrees(const struct tensor *tensor, const void *expected, int64_t offset)
{
    if (kiln_dtype_is_integer(tensor->dtype) && tensor->tolerance == 0)
        return kiln_element_load_at(tensor->dtype, tensor->memory, offset).integer ==
               kiln_element_load_at(tensor->dtype, expected, offset).integer;
    double a = value_of(tensor, tensor->memory, offset);
    double b = value_of(tensor, expected, offset);
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    return a == b || fabs(a - b) <= tensor->tolerance + tensor->tolerance * fabs(b);
}

/* Walks all indices; marks what they reach. False at the first element that disagrees. */
static bool elements_agree(const struct tensor *tensor, const unsigned char *expected,
                           unsigned char *reached, char *ret_text)
{
    int64_t index[MAX_RANK] = {0};
    for (;;) {
        int64_t offset = 0;
        for (int i = 0; i < tensor->rank; i++)
            offset += index[i] * tensor->strides[i];
        size_t at = (size_t)kiln_dtype_memory_bytes(tensor->dtype, offset);
        size_t end = (size_t)kiln_dtype_memory_bytes(tensor->dtype, offset + 1);
        memset(reached + at, 1, end - at);
        if (!element_agrees(tensor, expected, offset)) {
            snprintf(ret_text, PLUGIN_HOST_TEXT_BYTES,
                     "output uid %lld, element %lld: got %.9g, expected %.9g, tolerance %g",
                     (long long)tensor->uid, (long long)offset,
                     value_of(tensor, tensor->memory, offset), value_of(tensor, expected, offset),
                     tensor->tolerance);
            return false;
        }
        int axis = tensor->rank - 1;
        while (axis >= 0 && ++index[axis] == tensor->dims[axis])
            index[axis--] = 0;
        if (axis < 0)
            return true;
    }
}

static bool output_agrees(const struct graph_case *test, const struct tensor *tensor,
                          char *ret_text)
{
    struct kiln_buffer expected;
    kiln_buffer_init(&expected);
    unsigned char *reached = calloc(tensor->bytes, 1);
    bool fine = reached && read_file(test->folder, tensor->file, &expected);
    if (!fine || expected.size != tensor->bytes) {
        snprintf(ret_text, PLUGIN_HOST_TEXT_BYTES, "'%s' cannot be used", tensor->file);
        fine = false;
    }
    fine = fine && elements_agree(tensor, (const unsigned char *)expected.data, reached, ret_text);
    for (size_t i = 0; fine && i < tensor->bytes; i++) {
        if (!reached[i] && tensor->memory[i] != FILL_BYTE) {
            snprintf(ret_text, PLUGIN_HOST_TEXT_BYTES, "output uid %lld: byte %zu in a gap written",
                     (long long)tensor->uid, i);
            fine = false;
        }
    }
    free(reached);
    kiln_buffer_fini(&expected);
    return fine;
}

static bool outputs_agree(const struct graph_case *test, char *ret_text)
{
    for (int i = 0; i < test->tensor_count; i++) {
        const struct tensor *tensor = &test->tensors[i];
        if (tensor->is_output && !output_agrees(test, tensor, ret_text))
            return false;
    }
    return true;
}

static bool execute(const struct plugin_host *host, hipdnnEnginePluginHandle_t handle,
                    struct graph_case *test, const struct plugin_host_plan *plan, char *ret_text)
{
    static hipdnnPluginDeviceBuffer_t buffers[MAX_TENSORS];
    struct kiln_error error;
    kiln_error_init(&error);
    uint32_t count = 0;
    for (int i = test->tensor_count - 1; i >= 0; i--) {
        struct tensor *tensor = &test->tensors[i];
        if (!fill_memory(test, tensor) || !copy_to_device(host->device, tensor, &error)) {
            snprintf(ret_text, PLUGIN_HOST_TEXT_BYTES, "tensor uid %lld has no memory or data: %s",
                     (long long)tensor->uid, error.text);
            return false;
        }
        buffers[count++] = (hipdnnPluginDeviceBuffer_t){tensor->uid, tensor->on_device};
    }
    if (plugin_host_execute(host, handle, plan, buffers, count, ret_text) != PLUGIN_HOST_DONE)
        return false;
    counts.ran++;
    if (!copy_outputs_back(host->device, test, &error)) {
        snprintf(ret_text, PLUGIN_HOST_TEXT_BYTES, "%s", error.text);
        return false;
    }
    if (!test->compare)
        return true;
    counts.compared++;
    return outputs_agree(test, ret_text);
}

static bool run_case(const struct plugin_host *host, hipdnnEnginePluginHandle_t handle,
                     struct graph_case *test, char *ret_text)
{
    struct plugin_host_plan plan;
    enum plugin_host_outcome outcome =
        plugin_host_prepare(host, handle, test->graph.data, test->graph.size, &plan, ret_text);
    if (outcome == PLUGIN_HOST_FAILED)
        return false;
    if (outcome == PLUGIN_HOST_NOT_APPLICABLE) {
        counts.declined++;
        snprintf(ret_text, PLUGIN_HOST_TEXT_BYTES, "declined");
        return !test->must_run;
    }
    bool fine = test->must_run;
    if (fine) {
        fine = execute(host, handle, test, &plan, ret_text);
        release_memory(host->device, test);
    } else {
        snprintf(ret_text, PLUGIN_HOST_TEXT_BYTES, "taken, but must be declined");
    }
    char release_text[PLUGIN_HOST_TEXT_BYTES];
    if (!plugin_host_release(host, handle, &plan, release_text)) {
        snprintf(ret_text, PLUGIN_HOST_TEXT_BYTES, "%s", release_text);
        return false;
    }
    return fine;
}

static void test_graph(const struct plugin_host *host, hipdnnEnginePluginHandle_t handle,
                       const char *folder, const char *name)
{
    struct graph_case *test = calloc(1, sizeof(*test));
    char text[PLUGIN_HOST_TEXT_BYTES] = "the test's files cannot be read";
    if (!test)
        abort();
    test->folder = folder;
    snprintf(test->name, sizeof(test->name), "%s", name);
    kiln_buffer_init(&test->graph);
    if (!load_case(test) || !run_case(host, handle, test, text)) {
        counts.failed++;
        printf("FAILED %s: %s\n", name, text);
    }
    drop_case(test);
    free(test);
}

static void print_log(hipdnnSeverity_t severity, const char *line)
{
    (void)severity;
    fprintf(stderr, "%s\n", line);
}

static int is_graph(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 4 && strcmp(entry->d_name + length - 4, ".bin") == 0;
}

static int test_folder(const struct plugin_host *host, hipdnnEnginePluginHandle_t handle,
                       const char *folder)
{
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, is_graph, alphasort);
    if (count <= 0) {
        printf("no graphs in '%s': skipped\n", folder);
        return SKIPPED;
    }
    for (int i = 0; i < count; i++) {
        entries[i]->d_name[strlen(entries[i]->d_name) - 4] = '\0';
        if (i % settings.shares == settings.share - 1)
            test_graph(host, handle, folder, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    /* A folder in which nothing ran would prove nothing. */
    return counts.failed == 0 && counts.compared > 0 ? 0 : 1;
}

static bool parse(int argc, char **argv)
{
    static const struct option options[] = {{"device", required_argument, NULL, 'd'},
                                            {"share", required_argument, NULL, 's'},
                                            {NULL, 0, NULL, 0}};
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        char rest;
        if (option == 'd')
            settings.device = optarg;
        else if (option != 's' ||
                 sscanf(optarg, "%d/%d%c", &settings.share, &settings.shares, &rest) != 2)
            return false;
    }
    return argc - optind >= 2 && settings.share >= 1 && settings.share <= settings.shares;
}

static int test_graphs(const struct plugin_host *host, hipdnnEnginePluginHandle_t handle,
                       const char *folder, char *const *names)
{
    int result = 0;
    if (*names == NULL)
        result = test_folder(host, handle, folder);
    for (; *names != NULL; names++)
        test_graph(host, handle, folder, *names);
    printf("%d graphs executed, %d compared, %d declined, %d failed\n", counts.ran, counts.compared,
           counts.declined, counts.failed);
    return result != 0 ? result : counts.failed != 0;
}

int main(int argc, char **argv)
{
    if (!parse(argc, argv)) {
        fprintf(stderr, "usage: %s [--device NAME] [--share I/N] PLUGIN FOLDER [NAME...]\n",
                argv[0]);
        return 2;
    }
    setenv("KILN_DEVICE", settings.device, 1);
    struct plugin_host host;
    struct kiln_device *device = NULL;
    struct kiln_error error;
    kiln_error_init(&error);
    char text[PLUGIN_HOST_TEXT_BYTES];
    hipdnnEnginePluginHandle_t handle = NULL;
    enum kiln_status status = kiln_device_open(settings.device, &device, &error);
    if (status != KILN_OK) {
        printf("%s%s\n", status == KILN_UNSUPPORTED ? "skipped: " : "", error.text);
        return status == KILN_UNSUPPORTED ? SKIPPED : 1;
    }
    if (!plugin_host_load(&host, argv[optind], print_log, text) ||
        host.hipdnnEnginePluginCreate(&handle)) {
        fprintf(stderr, "%s\n", text);
        return 1;
    }
    host.device = device;
    int result = test_graphs(&host, handle, argv[optind + 1], argv + optind + 2);
    host.hipdnnEnginePluginDestroy(handle);
    plugin_host_unload(&host);
    kiln_device_close(device);
    return result;
}
