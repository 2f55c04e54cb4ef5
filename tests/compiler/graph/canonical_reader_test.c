/* Canonical forms read back: of every sample graph, and of nothing that is no such form. */
#include "compiler/graph/canonical_reader.h"

#include "graph_sketch.h"
#include "json_graph.h"

#include "compiler/graph/canonical_form.h"
#include "compiler/graph/graph_json.h"
#include "runtime/support/file.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(canonical_reader, .timeout = 120);

static struct kiln_error error;

static enum kiln_status read_form(const void *bytes, size_t size, struct kiln_arena *arena,
                                  struct kiln_graph *graph)
{
    /* Memory of exactly the size, for the address sanitizer. */
    unsigned char *copy = malloc(size != 0 ? size : 1);
    memcpy(copy, bytes, size);
    kiln_error_init(&error);
    enum kiln_status status = kiln_graph_read_canonical(copy, size, arena, graph, &error);
    free(copy);
    return status;
}

static void check_round_trip(const struct kiln_graph *graph, const char *name)
{
    struct kiln_buffer form;
    struct kiln_arena arena;
    struct kiln_graph again;
    kiln_buffer_init(&form);
    kiln_arena_init(&arena);
    kiln_graph_append_canonical(graph, &form);
    cr_assert_eq(read_form(form.data, form.size, &arena, &again), KILN_OK, "%s: %s", name,
                 error.text);
    cr_assert_eq(again.node_count, graph->node_count);
    cr_assert_eq(again.tensor_count, graph->tensor_count);
    for (uint32_t i = 0; i < graph->node_count; i++)
        cr_assert_str_eq(kiln_node_operation(&again.nodes[i]),
                         kiln_node_operation(&graph->nodes[i]));
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct kiln_tensor *tensor = &graph->tensors[i];
        cr_assert_eq(again.tensors[i].producer, tensor->producer);
        cr_assert_eq(again.tensors[i].dtype, tensor->dtype);
        cr_assert_eq(again.tensors[i].role, tensor->role);
        cr_assert_eq(again.tensors[i].rank, tensor->rank);
        cr_assert_eq(memcmp(again.tensors[i].dims, tensor->dims, sizeof tensor->dims), 0);
        cr_assert_eq(memcmp(again.tensors[i].strides, tensor->strides, sizeof tensor->strides), 0);
    }
    kiln_arena_fini(&arena);
    kiln_buffer_fini(&form);
}

Test(canonical_reader, every_sample_comes_back)
{
    DIR *directory = opendir(KILN_SAMPLES "/current");
    cr_assert_not_null(directory);
    unsigned count = 0;
    for (struct dirent *item; (item = readdir(directory)) != NULL;) {
        if (strstr(item->d_name, ".json") == NULL)
            continue;
        char path[4096];
        struct kiln_buffer text;
        struct kiln_buffer bytes;
        struct json_graph graph;
        kiln_buffer_init(&text);
        kiln_buffer_init(&bytes);
        (void)snprintf(path, sizeof path, "%s/current/%s", KILN_SAMPLES, item->d_name);
        cr_assert_eq(kiln_file_read(path, 1 << 20, &text, &error), KILN_OK, "%s", error.text);
        enum kiln_wire_era era;
        cr_assert_eq(kiln_graph_json_to_bytes(text.data, text.size, NULL, &bytes, &era, &error),
                     KILN_OK, "%s", error.text);
        json_graph_init_bytes(&graph, bytes.data, bytes.size);
        cr_assert_eq(graph.status, KILN_OK, "%s", graph.error.text);
        check_round_trip(&graph.graph, item->d_name);
        json_graph_fini(&graph);
        kiln_buffer_fini(&text);
        kiln_buffer_fini(&bytes);
        count++;
    }
    cr_assert_eq(closedir(directory), 0);
    cr_assert_gt(count, 10);
}

/* Every kind of node, and parameters that are written or left out. */
static const char *const sketches[] = {
    "Pointwise in_0=2,3 in_1=3 out_0=2,3 !operation=ADD",
    "Pointwise in_0=2,3 out_0=2,3:BFLOAT16 !operation=RELU_FWD !relu_upper_clip=6",
    "Pointwise in_0=2,3 in_1=2,3 out_0=2,3 !operation=RELU_BWD",
    "Pointwise in_0=2,3 out_0=2,3 !operation=SWISH_FWD !swish_beta=2",
    "Pointwise in_0=2,3 in_1=k out_0=2,3 !operation=MUL",
    "Pointwise in_0=2,3 in_1=s out_0=2,3 !operation=MUL",
    "Layernorm x=2,3,40 scale=40 bias=40 epsilon=k y=2,3,40 !normalized_dim_count=1",
    "ConvolutionFwd x=1,4,5,6 w=6,2,3,2 y=1,6,3,7 !pre_padding=[1,0] !post_padding=[1,2] "
    "!stride=[2,1] !dilation=[1,1] !conv_mode='CONVOLUTION'",
    "ConvolutionWrw x=1,1,8 dy=1,1,6 dw=1,1,3 !pre_padding=[0] !post_padding=[0] !stride=[1] "
    "!dilation=[1] !conv_mode='CROSS_CORRELATION'",
};

static void form_of(const char *sketch, struct kiln_buffer *ret_form)
{
    struct json_graph graph;
    graph_sketch_accept(&graph, sketch, NULL);
    check_round_trip(&graph.graph, sketch);
    kiln_buffer_init(ret_form);
    kiln_graph_append_canonical(&graph.graph, ret_form);
    json_graph_fini(&graph);
}

/* What is read is the same bytes again; all else is refused, and nothing of it crashes. */
Test(canonical_reader, damage_is_refused_or_another_form)
{
    unsigned refused = 0;
    unsigned taken = 0;
    unsigned faults = 0;
    for (size_t i = 0; i < sizeof sketches / sizeof *sketches; i++) {
        struct kiln_buffer form;
        form_of(sketches[i], &form);
        for (size_t size = 0; size < form.size; size++) {
            struct kiln_arena arena;
            struct kiln_graph graph;
            kiln_arena_init(&arena);
            faults += read_form(form.data, size, &arena, &graph) != KILN_CORRUPT;
            kiln_arena_fini(&arena);
        }
        for (size_t at = 0; at < form.size; at++) {
            char good = form.data[at];
            for (unsigned value = 0; value < 256; value++) {
                struct kiln_arena arena;
                struct kiln_graph graph;
                struct kiln_buffer again;
                if ((char)value == good)
                    continue;
                form.data[at] = (char)value;
                kiln_arena_init(&arena);
                kiln_buffer_init(&again);
                enum kiln_status status = read_form(form.data, form.size, &arena, &graph);
                if (status == KILN_OK) {
                    taken++;
                    kiln_graph_append_canonical(&graph, &again);
                    faults +=
                        again.size != form.size || memcmp(again.data, form.data, form.size) != 0;
                    /* Describing is safe, whatever the numbers. */
                    kiln_buffer_clear(&again);
                    kiln_graph_print(&graph, &again);
                } else {
                    refused++;
                    faults += status != (at < 4 ? KILN_UNSUPPORTED : KILN_CORRUPT);
                }
                kiln_buffer_fini(&again);
                kiln_arena_fini(&arena);
            }
            form.data[at] = good;
        }
        kiln_buffer_fini(&form);
    }
    cr_assert_eq(faults, 0, "%u", faults);
    cr_assert_gt(refused, 5000);
    cr_assert_gt(taken, 5000);
}

/* A count that asks for more than the bytes can hold takes no memory. */
Test(canonical_reader, giant_counts_are_refused)
{
    struct kiln_buffer form;
    struct kiln_arena arena;
    struct kiln_graph graph;
    kiln_buffer_init(&form);
    kiln_arena_init(&arena);
    kiln_buffer_append_u32(&form, KILN_CANONICAL_VERSION);
    kiln_buffer_append_u32(&form, UINT32_MAX);
    kiln_buffer_append_u32(&form, UINT32_MAX);
    cr_assert_eq(read_form(form.data, form.size, &arena, &graph), KILN_CORRUPT);
    cr_assert_null(arena.chunks);
    kiln_arena_fini(&arena);
    kiln_buffer_fini(&form);
}
