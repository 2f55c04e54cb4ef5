/*
 * Sizes, strides and paddings are arguments: how many kernels the convolutions of two models
 * compile. Texts are told apart by their symbols, which are made of them.
 */
#include "compiler/program.h"
#include "tests/compiler/graph/json_graph.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

enum { MAX_TEXTS = 128, SYMBOL_BYTES = 64 };

struct texts {
    enum kiln_node_kind direction;
    char symbols[MAX_TEXTS][SYMBOL_BYTES];
    unsigned count;
};

struct shape {
    long images, channels, size, filters, window, stride, groups;
};

static void count_text(struct texts *texts, const char *symbol)
{
    unsigned i = 0;
    while (i < texts->count && strcmp(texts->symbols[i], symbol) != 0)
        i++;
    cr_assert_lt(i, MAX_TEXTS);
    if (i == texts->count)
        (void)snprintf(texts->symbols[texts->count++], SYMBOL_BYTES, "%s", symbol);
}

/* Channels last. */
static void print_tensor(char *text, size_t size, unsigned uid, const long *dims)
{
    (void)snprintf(text, size,
                   "{'uid':%u,'name':'t%u','data_type':'HALF','alignment':256,'dims':[%ld,%ld,%ld,"
                   "%ld],'strides':[%ld,1,%ld,%ld]}",
                   uid, uid, dims[0], dims[1], dims[2], dims[3], dims[1] * dims[2] * dims[3],
                   dims[3] * dims[1], dims[1]);
}

static void lower(struct texts *texts, struct shape shape)
{
    long pad = shape.window / 2;
    long out = (shape.size + 2 * pad - shape.window) / shape.stride + 1;
    const long x[] = {shape.images, shape.channels, shape.size, shape.size};
    const long w[] = {shape.filters, shape.channels / shape.groups, shape.window, shape.window};
    const long y[] = {shape.images, shape.filters, out, out};
    static const char *const names[] = {"Fwd", "Bwd", "Wrw"};
    static const char *const attributes[] = {
        "'x_tensor_uid':1,'w_tensor_uid':2,'y_tensor_uid':3",
        "'dx_tensor_uid':1,'w_tensor_uid':2,'dy_tensor_uid':3",
        "'x_tensor_uid':1,'dw_tensor_uid':2,'dy_tensor_uid':3",
    };
    int direction = texts->direction == KILN_NODE_CONVOLUTION_FORWARD         ? 0
                    : texts->direction == KILN_NODE_CONVOLUTION_DATA_GRADIENT ? 1
                                                                              : 2;
    char tensors[3][256];
    print_tensor(tensors[0], sizeof *tensors, 1, x);
    print_tensor(tensors[1], sizeof *tensors, 2, w);
    print_tensor(tensors[2], sizeof *tensors, 3, y);
    char text[2048];
    (void)snprintf(
        text, sizeof text,
        "{'name':'g','compute_data_type':'FLOAT','intermediate_data_type':'FLOAT','io_data_type':"
        "'HALF','tensors':[%s,%s,%s],'nodes':[{'name':'c','compute_data_type':'FLOAT',"
        "'attributes_type':'Convolution%sAttributes','attributes':{%s,'pre_padding':[%ld,%ld],"
        "'post_padding':[%ld,%ld],'stride':[%ld,%ld],'dilation':[1,1],'conv_mode':2}}]}",
        tensors[0], tensors[1], tensors[2], names[direction], attributes[direction], pad, pad, pad,
        pad, shape.stride, shape.stride);
    struct json_graph read;
    struct kiln_arena arena;
    struct kiln_error error;
    struct kiln_target target;
    struct kiln_program program;
    const struct kiln_lower_options options = {0};
    kiln_arena_init(&arena);
    kiln_error_init(&error);
    json_graph_accept(&read, text, NULL);
    cr_assert_eq(kiln_target_parse("gfx942", &target, &error), KILN_OK);
    cr_assert_eq(kiln_lower(&read.graph, &target, &options, &arena, &program, NULL, &error),
                 KILN_OK, "%s: %s", text, error.text);
    for (uint32_t i = 0; i < program.kernel_count; i++)
        count_text(texts, program.kernels[i].symbol);
    kiln_arena_fini(&arena);
    json_graph_fini(&read);
}

/* ResNet-50, with the stride in the 3 x 3 convolution of a block, and in its first one. */
static void lower_resnet(struct texts *texts, long images, long size)
{
    lower(texts, (struct shape){images, 3, size, 64, 7, 2, 1});
    long channels = 64;
    size /= 4;
    for (long stage = 0; stage < 4; stage++) {
        long stride = stage == 0 ? 1 : 2;
        long width = 64L << stage;
        long after = (size - 1) / stride + 1;
        lower(texts, (struct shape){images, channels, size, width, 1, 1, 1});
        lower(texts, (struct shape){images, channels, size, width, 1, stride, 1});
        lower(texts, (struct shape){images, width, size, width, 3, stride, 1});
        lower(texts, (struct shape){images, width, after, 4 * width, 1, 1, 1});
        lower(texts, (struct shape){images, channels, size, 4 * width, 1, stride, 1});
        lower(texts, (struct shape){images, 4 * width, after, width, 1, 1, 1});
        lower(texts, (struct shape){images, width, after, width, 3, 1, 1});
        channels = 4 * width;
        size = after;
    }
}

/* MobileNet-v2: expansion, depthwise convolution and projection of each block. */
static void lower_mobilenet(struct texts *texts, long images, long size)
{
    static const struct {
        long expansion, channels, count, stride;
    } stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 2, 2}, {6, 64, 2, 2},
                  {6, 96, 2, 1}, {6, 160, 2, 2}, {6, 320, 1, 1}};
    lower(texts, (struct shape){images, 3, size, 32, 3, 2, 1});
    long channels = 32;
    size = (size + 1) / 2;
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        for (long block = 0; block < stages[i].count; block++) {
            long stride = block == 0 ? stages[i].stride : 1;
            long wide = channels * stages[i].expansion;
            if (wide != channels)
                lower(texts, (struct shape){images, channels, size, wide, 1, 1, 1});
            lower(texts, (struct shape){images, wide, size, wide, 3, stride, wide});
            size = (size - 1) / stride + 1;
            lower(texts, (struct shape){images, wide, size, stages[i].channels, 1, 1, 1});
            channels = stages[i].channels;
        }
    }
    lower(texts, (struct shape){images, channels, size, 1280, 1, 1, 1});
}

static void lower_models(struct texts *texts, long images, long size)
{
    lower_resnet(texts, images, size);
    lower_mobilenet(texts, images, size);
}

/* A batch or a size of images that was not seen before compiles nothing. */
static void check_direction(enum kiln_node_kind direction)
{
    static const struct {
        long images, size;
    } unseen[] = {{2, 224}, {5, 299}, {16, 224}, {24, 224}, {48, 224},
                  {1, 96},  {4, 192}, {64, 256}, {16, 299}, {96, 384}};
    struct texts texts = {.direction = direction};
    lower_models(&texts, 1, 224);
    lower_models(&texts, 8, 224);
    lower_models(&texts, 64, 224);
    cr_assert_leq(texts.count, 40, "%u kernels", texts.count);
    unsigned known = texts.count;
    for (size_t i = 0; i < sizeof unseen / sizeof *unseen; i++) {
        lower_models(&texts, unseen[i].images, unseen[i].size);
        cr_assert_eq(texts.count, known, "%u new kernels for %ld images of %ld",
                     texts.count - known, unseen[i].images, unseen[i].size);
    }
}

Test(convolution_texts, forward)
{
    check_direction(KILN_NODE_CONVOLUTION_FORWARD);
}

Test(convolution_texts, data_gradient)
{
    check_direction(KILN_NODE_CONVOLUTION_DATA_GRADIENT);
}

Test(convolution_texts, weight_gradient)
{
    check_direction(KILN_NODE_CONVOLUTION_WEIGHT_GRADIENT);
}

/* One image, one pixel or a window of one tap have the axes of more; strides, dilations and
 * paddings are numbers. */
Test(convolution_texts, windows)
{
    static const struct shape shapes[] = {
        {64, 64, 28, 64, 3, 1, 1}, {64, 64, 29, 64, 3, 1, 1}, {64, 64, 56, 64, 3, 2, 1},
        {64, 64, 64, 64, 5, 2, 1}, {64, 64, 57, 64, 3, 2, 1}, {64, 64, 84, 64, 3, 3, 1},
    };
    struct texts texts = {.direction = KILN_NODE_CONVOLUTION_FORWARD};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        lower(&texts, shapes[i]);
    cr_assert_eq(texts.count, 1, "%u kernels", texts.count);
}

/* The result is stored in one order of images and pixels, what is reduced of it in another. */
Test(convolution_texts, statistics_of_rows_lie_as_what_is_reduced)
{
    static const char text[] =
        "{'name':'g','compute_data_type':'FLOAT','intermediate_data_type':'FLOAT','io_data_type':"
        "'FLOAT','tensors':["
        "{'uid':1,'name':'x','data_type':'FLOAT','dims':[4,4,32,8],'strides':[1024,1,32,4]},"
        "{'uid':2,'name':'w','data_type':'FLOAT','dims':[1040,4,1,1],'strides':[4,1,4,4]},"
        "{'uid':3,'name':'y','data_type':'FLOAT','dims':[4,1040,32,8],"
        "'strides':[1040,1,33280,4160]},"
        "{'uid':4,'name':'sums','data_type':'FLOAT','dims':[4,1,32,8],'strides':[1,1,32,4]},"
        "{'uid':5,'name':'padded','data_type':'FLOAT','dims':[4,1040,32,8],"
        "'strides':[274560,1,8320,1040]}],'nodes':["
        "{'name':'c','compute_data_type':'FLOAT','attributes_type':'ConvolutionFwdAttributes',"
        "'attributes':{'x_tensor_uid':1,'w_tensor_uid':2,'y_tensor_uid':3,'pre_padding':[0,0],"
        "'post_padding':[0,0],'stride':[1,1],'dilation':[1,1],'conv_mode':2}},"
        "{'name':'r','compute_data_type':'FLOAT','attributes_type':'ReductionAttributes',"
        "'attributes':{'mode':'ADD','in_tensor_uid':3,'out_tensor_uid':4}},"
        "{'name':'p','compute_data_type':'FLOAT','attributes_type':'PointwiseAttributes',"
        "'attributes':{'operation':'RELU_FWD','in_0_tensor_uid':3,'out_0_tensor_uid':5}}]}";
    struct json_graph read;
    struct kiln_arena arena;
    struct kiln_error error;
    struct kiln_target target;
    struct kiln_program program;
    const struct kiln_lower_options options = {0};
    kiln_arena_init(&arena);
    kiln_error_init(&error);
    json_graph_accept(&read, text, NULL);
    cr_assert_eq(kiln_target_parse("gfx942", &target, &error), KILN_OK);
    cr_assert_eq(kiln_lower(&read.graph, &target, &options, &arena, &program, NULL, &error),
                 KILN_OK, "%s", error.text);
    const char *source = program.kernels[0].source;
    cr_assert_not_null(strstr(source, "device/contraction/rows.h"));
    /* The accumulators have strides of their own along the axes of rows. */
    cr_expect_not_null(
        strstr(source, "KILN_ARGUMENT(segment_stride), false, true, {KILN_ARGUMENT("));
    kiln_arena_fini(&arena);
    json_graph_fini(&read);
}
