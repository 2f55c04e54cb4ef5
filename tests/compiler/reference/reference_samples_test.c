/*
 * The oracle against the expected outputs that come with the sample graphs: every graph of
 * both layouts that Kiln reads, within the tolerance of its manifest; where a single node made the
 * output, within the oracle's own bound, too. Skips itself where the samples are absent.
 */
#include "compiler/graph/graph_reader.h"
#include "compiler/reference/convert.h"
#include "compiler/reference/reference.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_BYTES = 1024, LINE_BYTES = 512 };

/* The whole file in the arena; NULL when it is absent. */
static void *read_file(struct kiln_arena *arena, const char *path, size_t *ret_size)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return NULL;
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    rewind(file);
    void *bytes = kiln_arena_calloc(arena, size, 1);
    cr_assert_not_null(bytes);
    cr_assert_eq(fread(bytes, 1, size, file), size);
    fclose(file);
    *ret_size = size;
    return bytes;
}

static void *read_data(struct kiln_arena *arena, const char *folder, const char *name,
                       const char *kind, int64_t uid)
{
    char path[PATH_BYTES];
    size_t size;
    snprintf(path, sizeof path, "%s/data/%s.%s.%" PRId64 ".bin", folder, name, kind, uid);
    return read_file(arena, path, &size);
}

/* The place of element n in memory. */
static int64_t place_of(const struct kiln_tensor *tensor, int64_t n)
{
    int64_t offset = 0;
    for (uint32_t axis = tensor->rank; axis-- > 0;) {
        offset += n % tensor->dims[axis] * tensor->strides[axis];
        n /= tensor->dims[axis];
    }
    return offset;
}

static double value_at(const struct kiln_tensor *tensor, const unsigned char *bytes, int64_t n)
{
    struct kiln_constant value = kiln_element_load_at(tensor->dtype, bytes, place_of(tensor, n));
    return kiln_dtype_is_integer(tensor->dtype) ? (double)value.integer : value.real;
}

static void check_output(const char *name, const struct kiln_tensor *tensor,
                         const unsigned char *expected_bytes,
                         const struct kiln_reference_tensor *reference, double tolerance,
                         bool is_bounded)
{
    for (int64_t n = 0; n < kiln_tensor_elements(tensor); n++) {
        double expected = value_at(tensor, expected_bytes, n);
        double got = reference->real[n];
        if (isnan(expected) != isnan(got) && isinf(reference->bound[n]))
            continue; /* the oracle knows that it does not know */
        if (isnan(expected) || isnan(got)) {
            cr_assert(isnan(expected) && isnan(got), "%s[%" PRId64 "]: %g, expected %g", name, n,
                      got, expected);
        } else if (got != expected) {
            cr_assert_leq(fabs(got - expected), tolerance + tolerance * fabs(expected),
                          "%s[%" PRId64 "]: %.9g, expected %.9g", name, n, got, expected);
            cr_assert(!is_bounded || fabs(got - expected) <= reference->bound[n],
                      "%s[%" PRId64 "]: %.9g, expected %.9g within %.3g", name, n, got, expected,
                      reference->bound[n]);
        }
    }
}

/* True when the graph was one that Kiln reads and had data. */
static bool check_graph(const char *folder, const char *file_name, double tolerance,
                        bool is_bounded)
{
    struct kiln_arena arena;
    struct kiln_error error;
    struct kiln_graph graph;
    char path[PATH_BYTES], name[LINE_BYTES];
    size_t size;
    bool checked = false;
    kiln_arena_init(&arena);
    kiln_error_init(&error);
    snprintf(path, sizeof path, "%s/%s", folder, file_name);
    snprintf(name, sizeof name, "%.*s", (int)(strlen(file_name) - strlen(".bin")), file_name);
    void *bytes = read_file(&arena, path, &size);
    cr_assert_not_null(bytes, "%s", path);
    if (kiln_graph_read(bytes, size, &arena, &graph, &error) == KILN_OK) {
        const void **memory = kiln_arena_calloc(&arena, graph.tensor_count, sizeof *memory);
        struct kiln_reference_tensor *reference =
            kiln_arena_calloc(&arena, graph.tensor_count, sizeof *reference);
        bool complete = true;
        for (uint32_t i = 0; i < graph.tensor_count; i++) {
            enum kiln_tensor_role role = graph.tensors[i].role;
            if (role != KILN_TENSOR_INPUT && role != KILN_TENSOR_HOST_SCALAR)
                continue;
            memory[i] = read_data(&arena, folder, name, "in", graph.tensors[i].uid);
            complete = complete && memory[i] != NULL;
        }
        if (complete) {
            cr_assert_eq(kiln_reference_run(&graph, memory, &arena, reference, &error), KILN_OK,
                         "%s: %s", name, error.text);
            for (uint32_t i = 0; i < graph.tensor_count; i++) {
                if (graph.tensors[i].role != KILN_TENSOR_OUTPUT)
                    continue;
                void *expected = read_data(&arena, folder, name, "ref", graph.tensors[i].uid);
                if (expected == NULL)
                    continue;
                check_output(name, &graph.tensors[i], expected, &reference[i], tolerance,
                             is_bounded && graph.node_count == 1);
                checked = true;
            }
        }
    }
    kiln_arena_fini(&arena);
    return checked;
}

static void check_folder(const char *folder, bool is_bounded, int least)
{
    char path[PATH_BYTES], line[LINE_BYTES];
    snprintf(path, sizeof path, "%s/MANIFEST.tsv", folder);
    FILE *manifest = fopen(path, "r");
    if (manifest == NULL)
        cr_skip_test("no sample graphs at '%s'", folder);
    int checked = 0;
    while (fgets(line, sizeof line, manifest) != NULL) {
        char *rest = line;
        const char *file_name = strsep(&rest, "\t");
        strsep(&rest, "\t"); /* bytes */
        strsep(&rest, "\t"); /* nodes */
        const char *tolerance = strsep(&rest, "\t");
        if (tolerance == NULL || strstr(file_name, ".bin") == NULL)
            continue;
        /* NaN for the relu of -infinity: docs/decisions/0033-todays-hipdnn.md. */
        if (strcmp(file_name, "pwn_special_relu_fwd_fp32.bin") == 0)
            continue;
        checked += check_graph(folder, file_name, strtod(tolerance, NULL), is_bounded);
    }
    fclose(manifest);
    cr_log_info("%s: %d graphs checked", folder, checked);
    cr_assert_geq(checked, least);
}

Test(reference_samples, current_layout)
{
    check_folder(KILN_SAMPLE_GRAPHS "/current", true, 224);
}

Test(reference_samples, nov2025_layout)
{
    check_folder(KILN_SAMPLE_GRAPHS "/nov2025", false, 280);
}
