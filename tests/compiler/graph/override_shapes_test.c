/* Override shapes: every wrong kind, and the sizes that follow for virtual tensors and outputs. */
#include "compiler/graph/override_shapes.h"

#include "graph_sketch.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SHAPES = 8 };

TestSuite(override_shapes);

static const char add[] = "Pointwise in_0=4,8 in_1=1,8 out_0=4,8 !operation='ADD'";

/* A shape as a test writes it. */
struct row {
    int64_t uid;
    uint32_t rank;
    int64_t dims[KILN_MAX_RANK];
    int64_t strides[KILN_MAX_RANK];
};

/* The graph of a sketch as a host builds it for override shapes. */
static void make_bytes(const char *sketch, bool takes_overrides, struct kiln_buffer *bytes)
{
    struct json_graph declared;
    struct kiln_buffer text;
    char *plain = graph_sketch_text(sketch);
    kiln_buffer_init(&text);
    kiln_buffer_printf(&text, "{'is_override_shape_enabled':%s,%s",
                       takes_overrides ? "true" : "false", plain + 1);
    json_graph_accept(&declared, kiln_buffer_text(&text), NULL);
    cr_assert_eq(declared.graph.takes_overrides, takes_overrides);
    kiln_buffer_init(bytes);
    kiln_buffer_append(bytes, declared.bytes.data, declared.bytes.size);
    json_graph_fini(&declared);
    kiln_buffer_fini(&text);
    free(plain);
}

struct arrays {
    int64_t uids[MAX_SHAPES];
    uint32_t ranks[MAX_SHAPES];
    const int64_t *dims[MAX_SHAPES];
    const int64_t *strides[MAX_SHAPES];
};

static struct kiln_shape_overrides overrides_of(const struct row *rows, uint32_t count,
                                                struct arrays *arrays)
{
    for (uint32_t i = 0; i < count; i++) {
        arrays->uids[i] = rows[i].uid;
        arrays->ranks[i] = rows[i].rank;
        arrays->dims[i] = rows[i].dims;
        arrays->strides[i] = rows[i].strides;
    }
    return (struct kiln_shape_overrides){count, arrays->uids, arrays->ranks, arrays->dims,
                                         arrays->strides};
}

static enum kiln_status read_rows(const struct kiln_buffer *bytes, const struct row *rows,
                                  uint32_t count, struct kiln_arena *arena,
                                  struct kiln_graph *ret_graph, struct kiln_error *error)
{
    struct arrays arrays;
    const struct kiln_shape_overrides overrides = overrides_of(rows, count, &arrays);
    kiln_error_init(error);
    return kiln_graph_read_with_overrides(bytes->data, bytes->size, &overrides, arena, ret_graph,
                                          error);
}

static void expect_failure(const char *sketch, const struct row *rows, uint32_t count,
                           enum kiln_status expected, const char *sentence)
{
    struct kiln_arena arena;
    struct kiln_graph graph;
    struct kiln_error error;
    struct kiln_buffer bytes;
    make_bytes(sketch, true, &bytes);
    kiln_arena_init(&arena);
    enum kiln_status status = read_rows(&bytes, rows, count, &arena, &graph, &error);
    cr_expect_eq(status, expected, "%s: status %d: %s", sentence, (int)status, error.text);
    cr_expect_not_null(strstr(error.text, sentence), "'%s' lacks '%s'", error.text, sentence);
    kiln_arena_fini(&arena);
    kiln_buffer_fini(&bytes);
}

#define REFUSE(sketch, sentence, ...)                                                              \
    expect_failure(sketch, (const struct row[]){__VA_ARGS__},                                      \
                   sizeof((struct row[]){__VA_ARGS__}) / sizeof(struct row), KILN_BAD_ARGUMENT,    \
                   sentence)

/* Every row is of a 4 x 8 tensor. */
Test(override_shapes, wrong_arrays)
{
    REFUSE(add, "tensor uid 9: no tensor has this uid", {9, 2, {2, 8}, {8, 1}});
    REFUSE(add, "tensor uid 1: it is given twice", {1, 2, {2, 8}, {8, 1}}, {1, 2, {2, 8}, {8, 1}});
    REFUSE(add, "tensor uid 1: rank 1, declared is rank 2", {1, 1, {8}, {1}});
    REFUSE(add, "tensor uid 1: rank 3, declared is rank 2", {1, 3, {1, 4, 8}, {32, 8, 1}});
    REFUSE(add, "tensor uid 1: rank 4000000000, declared", {1, 4000000000U, {4}, {1}});
    REFUSE(add, "tensor uid 1: dimension 0 is 0, must be at least 1", {1, 2, {0, 8}, {8, 1}});
    REFUSE(add, "tensor uid 1: dimension 1 is -3, must be at least 1", {1, 2, {4, -3}, {8, 1}});
    REFUSE(add, "tensor uid 3: dimension 0 is 5, above the declared 4", {3, 2, {5, 8}, {8, 1}});
    REFUSE(add, "dimension 1 is 9223372036854775807, above", {3, 2, {4, INT64_MAX}, {8, 1}});
    REFUSE(add, "tensor uid 1: stride 1 is 0, must be at least 1", {1, 2, {4, 8}, {8, 0}});
    REFUSE(add, "tensor uid 1: stride 0 is -8, must be at least 1", {1, 2, {4, 8}, {-8, 1}});
    REFUSE(add, "strides 0 and 1 are 1 and 4, in another order than the declared 8 and 1",
           {1, 2, {4, 4}, {1, 4}});
    REFUSE(add, "it reaches over 38 elements, more than the declared 32", {1, 2, {4, 8}, {10, 1}});
    REFUSE(add, "it reaches over 9223372036854775807 elements",
           {1, 2, {4, 8}, {INT64_MAX, INT64_MAX}});
}

Test(override_shapes, tensors_without_a_buffer)
{
    static const char chain[] = "Pointwise in_0=4,8 in_1=k out_0=4,8:virtual !operation='ADD' | "
                                "Pointwise in_0@3 out_0=4,8 !operation='NEG'";
    REFUSE(chain, "tensor uid 2: it is a constant, which has no buffer", {2, 1, {1}, {1}});
    REFUSE(chain, "tensor uid 3: it is virtual, which has no buffer", {3, 2, {2, 8}, {8, 1}});
}

Test(override_shapes, missing_arrays)
{
    struct kiln_arena arena;
    struct kiln_graph graph;
    struct kiln_error error;
    struct kiln_buffer bytes;
    struct arrays arrays;
    const struct row row = {1, 2, {2, 8}, {8, 1}};
    make_bytes(add, true, &bytes);
    kiln_arena_init(&arena);
    for (int i = 0; i < 2; i++) {
        const struct kiln_shape_overrides overrides = overrides_of(&row, 1, &arrays);
        *(i == 0 ? &arrays.dims[0] : &arrays.strides[0]) = NULL;
        kiln_error_init(&error);
        cr_expect_eq(kiln_graph_read_with_overrides(bytes.data, bytes.size, &overrides, &arena,
                                                    &graph, &error),
                     KILN_BAD_ARGUMENT);
        cr_expect_not_null(strstr(error.text, i == 0 ? "its array of dimensions is NULL"
                                                     : "its array of strides is NULL"));
    }
    kiln_arena_fini(&arena);
    kiln_buffer_fini(&bytes);
}

Test(override_shapes, shapes_that_do_not_fit_together)
{
    const struct row rows[] = {{1, 2, {2, 8}, {8, 1}}};
    expect_failure(add, rows, 1, KILN_REJECTED, "dimension 0 is 2, must be 1 or 4");
}

Test(override_shapes, graph_that_was_not_built_for_them)
{
    struct kiln_arena arena;
    struct kiln_graph graph;
    struct kiln_error error;
    struct kiln_buffer bytes;
    const struct row row = {1, 2, {2, 8}, {8, 1}};
    make_bytes(add, false, &bytes);
    kiln_arena_init(&arena);
    cr_expect_eq(read_rows(&bytes, &row, 1, &arena, &graph, &error), KILN_BAD_ARGUMENT);
    cr_expect_str_eq(error.text, "override shapes for a graph that was not built for them");
    kiln_arena_fini(&arena);
    kiln_buffer_fini(&bytes);
}

/* What a broadcast tensor declares as stride 0, and sizes of 1, stay as they are. */
Test(override_shapes, strides_of_broadcast_axes)
{
    struct kiln_arena arena;
    struct kiln_graph graph;
    struct kiln_error error;
    struct kiln_buffer bytes;
    const struct row rows[] = {
        {1, 2, {3, 5}, {5, 1}}, {2, 2, {1, 5}, {7, 1}}, {3, 2, {3, 5}, {8, 1}}};
    make_bytes(add, true, &bytes);
    kiln_arena_init(&arena);
    cr_expect_eq(read_rows(&bytes, rows, 3, &arena, &graph, &error), KILN_OK, "%s", error.text);
    cr_expect_eq(graph.tensors[1].strides[0], 0);
    cr_expect_eq(graph.tensors[2].strides[0], 8);
    check_invariants(&graph);
    kiln_arena_fini(&arena);
    kiln_buffer_fini(&bytes);
}

/* The sizes of every tensor, "3,5 1,5 ...", in the order of first appearance. */
static void expect_sizes(const char *sketch, const struct row *rows, uint32_t count,
                         const char *expected)
{
    struct kiln_arena arena;
    struct kiln_graph graph;
    struct kiln_error error;
    struct kiln_buffer bytes;
    struct kiln_buffer text;
    make_bytes(sketch, true, &bytes);
    kiln_arena_init(&arena);
    kiln_buffer_init(&text);
    cr_assert_eq(read_rows(&bytes, rows, count, &arena, &graph, &error), KILN_OK, "%s: %s", sketch,
                 error.text);
    for (uint32_t i = 0; i < graph.tensor_count; i++) {
        const struct kiln_tensor *tensor = &graph.tensors[i];
        for (uint32_t axis = 0; axis < tensor->rank; axis++)
            kiln_buffer_printf(&text, "%s%lld",
                               axis != 0 ? ","
                               : i != 0  ? " "
                                         : "",
                               (long long)tensor->dims[axis]);
    }
    cr_expect_str_eq(kiln_buffer_text(&text), expected, "%s", sketch);
    check_invariants(&graph);
    kiln_buffer_fini(&text);
    kiln_arena_fini(&arena);
    kiln_buffer_fini(&bytes);
}

#define SIZES(sketch, expected, ...)                                                               \
    expect_sizes(sketch, (const struct row[]){__VA_ARGS__},                                        \
                 sizeof((struct row[]){__VA_ARGS__}) / sizeof(struct row), expected)

/* Every node writes a virtual tensor, which a NEG reads. */
Test(override_shapes, virtual_tensors_of_every_kind)
{
    SIZES("Reduction in=4,8 out=4,1:virtual !mode='ADD' | "
          "Pointwise in_0@1 in_1@2 out_0=4,8 !operation='SUB'",
          "3,5 3,1 3,5", {1, 2, {3, 5}, {5, 1}}, {3, 2, {3, 5}, {5, 1}});
    SIZES("Layernorm x=4,8 scale=8 bias=8 epsilon=k y=4,8:virtual !normalized_dim_count=1 | "
          "Pointwise in_0@5 out_0=4,8 !operation='NEG'",
          "3,6 6 6 1 3,6 3,6", {1, 2, {3, 6}, {6, 1}}, {2, 1, {6}, {1}}, {3, 1, {6}, {1}},
          {6, 2, {3, 6}, {6, 1}});
    SIZES("Layernorm x=4,8 scale=8 bias=8 epsilon=k y=4,8 mean=4:virtual inv_variance=4 "
          "!normalized_dim_count=1 !forward_phase=2 | LayernormBackward dy=4,8 x@1 scale@2 mean@6 "
          "inv_variance@7 dx=4,8 dscale=8 dbias=8 !normalized_dim_count=1",
          "3,8 8 8 1 3,8 3,1 3,1 3,8 3,8 8 8", {1, 2, {3, 8}, {8, 1}}, {5, 2, {3, 8}, {8, 1}},
          {7, 1, {3}, {1}}, {8, 2, {3, 8}, {8, 1}}, {9, 2, {3, 8}, {8, 1}});
    SIZES("Matmul a=2,4,8 b=1,8,6 c=2,4,6:virtual | Pointwise in_0@3 out_0=2,4,6 !operation='NEG'",
          "1,3,7 1,7,5 1,3,5 1,3,5", {1, 3, {1, 3, 7}, {21, 7, 1}}, {2, 3, {1, 7, 5}, {48, 6, 1}},
          {4, 3, {1, 3, 5}, {15, 5, 1}});
    SIZES("Pointwise in_0=1,8 in_1=4,1 out_0=4,8:virtual !operation='ADD' | "
          "Pointwise in_0@3 out_0=4,8 !operation='NEG'",
          "1,5 3,1 3,5 3,5", {1, 2, {1, 5}, {5, 1}}, {2, 2, {3, 1}, {1, 1}},
          {4, 2, {3, 5}, {5, 1}});
}

#define WINDOWS "!pre_padding=[1] !post_padding=[0] !stride=[2] !dilation=[1] !conv_mode=2"

/* An image of 9 or 8 elements has 4 windows of 3; the declared image of a gradient tells which. */
Test(override_shapes, virtual_tensors_of_convolutions)
{
    SIZES("ConvolutionFwd x=2,4,9 w=6,2,3 y=2,6,4:virtual " WINDOWS " | "
          "Pointwise in_0@3 out_0=2,6,4 !operation='NEG'",
          "1,4,6 6,2,3 1,6,3 1,6,3", {1, 3, {1, 4, 6}, {24, 6, 1}}, {4, 3, {1, 6, 3}, {18, 3, 1}});
    SIZES("ConvolutionBwd dy=2,6,4 w=6,2,3 dx=2,4,9:virtual " WINDOWS " | "
          "Pointwise in_0@3 out_0=2,4,9 !operation='NEG'",
          "1,6,3 6,2,3 1,4,7 1,4,7", {1, 3, {1, 6, 3}, {18, 3, 1}}, {4, 3, {1, 4, 7}, {28, 7, 1}});
    SIZES("ConvolutionBwd dy=2,6,4 w=6,2,3 dx=2,4,8:virtual " WINDOWS " | "
          "Pointwise in_0@3 out_0=2,4,8 !operation='NEG'",
          "1,6,3 6,2,3 1,4,6 1,4,6", {1, 3, {1, 6, 3}, {18, 3, 1}}, {4, 3, {1, 4, 6}, {24, 6, 1}});
    SIZES("ConvolutionWrw x=2,4,9 dy=2,6,4 dw=6,2,3:virtual " WINDOWS " | "
          "Pointwise in_0@3 out_0=6,2,3 !operation='NEG'",
          "1,4,7 1,6,3 6,2,3 6,2,3", {1, 3, {1, 4, 7}, {28, 7, 1}}, {2, 3, {1, 6, 3}, {18, 3, 1}});
}

Test(override_shapes, virtual_tensors_of_attention)
{
    SIZES("Sdpa q=2,4,6,8 k=2,2,5,8 v=2,2,5,4 o=2,4,6,4:virtual !attn_scale_value=1.0 | "
          "Pointwise in_0@4 out_0=2,4,6,4 !operation='NEG'",
          "1,4,3,8 1,2,5,8 1,2,5,4 1,4,3,4 1,4,3,4", {1, 4, {1, 4, 3, 8}, {192, 48, 8, 1}},
          {2, 4, {1, 2, 5, 8}, {80, 40, 8, 1}}, {3, 4, {1, 2, 5, 4}, {40, 20, 4, 1}},
          {5, 4, {1, 4, 3, 4}, {96, 24, 4, 1}});
}

Test(override_shapes, virtual_tensors_of_blocks)
{
    SIZES("BlockScaleDequantize x=4,64:FP8_E4M3 scale=4,2 y=4,64:virtual !block_size=[32] | "
          "Pointwise in_0@3 out_0=4,64 !operation='NEG'",
          "3,32 3,1 3,32 3,32", {1, 2, {3, 32}, {64, 1}}, {2, 2, {3, 1}, {2, 1}},
          {4, 2, {3, 32}, {32, 1}});
    SIZES("BlockScaleQuantize x=4,64 y=4,64:FP8_E4M3:virtual scale=4,2 !block_size=32 | "
          "Pointwise in_0@2 out_0=4,64 !operation='NEG'",
          "3,33 3,33 3,2 3,33", {1, 2, {3, 33}, {64, 1}}, {3, 2, {3, 2}, {2, 1}},
          {4, 2, {3, 33}, {33, 1}});
}

#define OFFSETS "first_token_offset=3,1,1:INT32"

Test(override_shapes, virtual_tensors_of_grouped_products)
{
    SIZES("MoeGroupedMatmul token=1,37,20 weight=3,20,24 " OFFSETS " output=1,37,24:virtual"
          " | Pointwise in_0@4 out_0=1,37,24 !operation='NEG'",
          "1,9,20 3,20,24 3,1,1 1,9,24 1,9,24", {1, 3, {1, 9, 20}, {180, 20, 1}},
          {5, 3, {1, 9, 24}, {216, 24, 1}});
    SIZES("MoeGroupedMatmulBwd doutput=1,37,24 token=1,37,20 " OFFSETS " dweight=3,20,24:virtual"
          " | Pointwise in_0@4 out_0=3,20,24 !operation='NEG'",
          "1,9,23 1,9,20 3,1,1 3,20,23 3,20,23", {1, 3, {1, 9, 23}, {207, 23, 1}},
          {2, 3, {1, 9, 20}, {180, 20, 1}}, {5, 3, {3, 20, 23}, {460, 23, 1}});
}

/* The last element of an image of 9, which no window of 2 reaches, is there in a smaller one. */
Test(override_shapes, virtual_tensors_of_pooling)
{
#define POOLING                                                                                    \
    " !pre_padding=[0] !post_padding=[0] !stride=[2] !window=[2] !resample_mode='AVGPOOL_INCLUDE_" \
    "PADDING' !padding_mode='ZERO_PAD'"
    SIZES("ResampleFwd x=2,4,9 y=2,4,4:virtual" POOLING " | "
          "Pointwise in_0@2 out_0=2,4,4 !operation='NEG'",
          "1,3,7 1,3,3 1,3,3", {1, 3, {1, 3, 7}, {21, 7, 1}}, {3, 3, {1, 3, 3}, {9, 3, 1}});
    SIZES("ResampleBwd dy=2,4,4 dx=2,4,9:virtual" POOLING " | "
          "Pointwise in_0@2 out_0=2,4,9 !operation='NEG'",
          "1,3,3 1,3,7 1,3,7", {1, 3, {1, 3, 3}, {9, 3, 1}}, {3, 3, {1, 3, 7}, {21, 7, 1}});
}

/* The order of axes in memory is the declared one, and there are no gaps. */
Test(override_shapes, inferred_strides_are_dense)
{
    struct json_graph declared;
    graph_sketch_accept(&declared,
                        "Matmul a=4,8 b=8,6 c=4,6:turned | Pointwise in_0@3 out_0=4,6 "
                        "!operation='NEG'",
                        NULL);
    struct kiln_tensor tensors[4];
    memcpy(tensors, declared.graph.tensors, sizeof tensors);
    tensors[0].dims[0] = 3;
    tensors[1].dims[1] = 5;
    kiln_graph_infer_outputs(&declared.graph, tensors);
    cr_expect(tensors[2].dims[0] == 3 && tensors[2].dims[1] == 5);
    cr_expect(tensors[2].strides[0] == 1 && tensors[2].strides[1] == 3);
    cr_expect(tensors[3].strides[0] == 5 && tensors[3].strides[1] == 1);
    json_graph_fini(&declared);
}
