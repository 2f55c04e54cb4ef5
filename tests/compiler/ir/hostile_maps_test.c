/*
 * Convolutions and products of extreme sizes: whatever the graph's checks accept is imported to
 * maps that the validator accepts; other graphs are declined with a sentence.
 */
#include "compiler/ir/import.h"
#include "tests/compiler/graph/graph_sketch.h"
#include "tests/support/random_numbers.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>

/* Sizes at which something ends. */
static const int64_t sizes[] = {1,
                                1,
                                2,
                                3,
                                5,
                                7,
                                64,
                                65535,
                                65536,
                                INT32_MAX / 2,
                                INT32_MAX - 1,
                                INT32_MAX,
                                INT64_C(1) << 32,
                                INT64_C(1) << 61};

/* One of the first `count` sizes. */
static int64_t pick(struct kiln_random *random, uint32_t count)
{
    return sizes[kiln_random_below(random, count)];
}

static bool is_imported(const char *sketch)
{
    struct json_graph graph;
    graph_sketch_init(&graph, sketch, NULL);
    bool is_accepted = graph.status == KILN_OK;
    if (is_accepted) {
        struct kiln_arena arena;
        struct kiln_ir ir;
        struct kiln_error error;
        struct kiln_buffer faults;
        kiln_error_init(&error);
        kiln_arena_init(&arena);
        kiln_ir_init(&ir, &arena);
        kiln_buffer_init(&faults);
        cr_assert_eq(kiln_ir_import(&graph.graph, &ir, &error), KILN_OK, "%s: %s", sketch,
                     error.text);
        cr_expect(kiln_ir_validate(&ir, &graph.graph, &faults), "%s: %s", sketch,
                  kiln_buffer_text(&faults));
        kiln_buffer_fini(&faults);
        kiln_arena_fini(&arena);
    } else {
        cr_expect_neq(graph.error.text[0], '\0', "%s: declined without a sentence", sketch);
    }
    json_graph_fini(&graph);
    return is_accepted;
}

Test(hostile_maps, convolutions)
{
    static const char *const forms[] = {
        "ConvolutionFwd x=1,%" PRId64 ",%" PRId64 " w=%" PRId64 ",%" PRId64 ",%" PRId64
        " y=1,%" PRId64 ",%" PRId64,
        "ConvolutionBwd dx=1,%" PRId64 ",%" PRId64 " w=%" PRId64 ",%" PRId64 ",%" PRId64
        " dy=1,%" PRId64 ",%" PRId64,
        "ConvolutionWrw x=1,%" PRId64 ",%" PRId64 " dw=%" PRId64 ",%" PRId64 ",%" PRId64
        " dy=1,%" PRId64 ",%" PRId64,
    };
    enum { COUNT = sizeof sizes / sizeof *sizes, GRAPHS = 1500 };
    struct kiln_random random = {.state = 29};
    int accepted = 0;
    for (int i = 0; i < GRAPHS; i++) {
        int64_t channels = pick(&random, 6), filters = channels * pick(&random, 4);
        int64_t group_channels = kiln_random_below(&random, 2) != 0 ? channels : 1;
        int64_t image = pick(&random, COUNT), taps = pick(&random, COUNT - 2);
        int64_t pre = pick(&random, COUNT) - 1, post = pick(&random, COUNT) - 1;
        int64_t stride = pick(&random, COUNT), dilation = pick(&random, COUNT - 2);
        int64_t span = 0;
        bool is_countable = !__builtin_mul_overflow(taps - 1, dilation, &span);
        int64_t result = is_countable ? (image + pre + post - 1 - span) / stride + 1 : 1;
        char sketch[512];
        int length = snprintf(sketch, sizeof sketch, forms[i % 3], channels, image, filters,
                              group_channels, taps, filters, result < 1 ? 1 : result);
        snprintf(sketch + length, sizeof sketch - (size_t)length,
                 " !pre_padding=[%" PRId64 "] !post_padding=[%" PRId64 "] !stride=[%" PRId64
                 "] !dilation=[%" PRId64 "] !conv_mode='%s'",
                 pre, post, stride, dilation,
                 kiln_random_below(&random, 2) != 0 ? "CONVOLUTION" : "CROSS_CORRELATION");
        accepted += is_imported(sketch);
    }
    cr_expect_gt(accepted, GRAPHS / 50, "%d graphs were accepted", accepted);
    cr_expect_lt(accepted, GRAPHS, "%d graphs were accepted", accepted);
}

/* An operand's batch may repeat only if it divides the result's batch. */
Test(hostile_maps, products)
{
    enum { COUNT = sizeof sizes / sizeof *sizes, GRAPHS = 600 };
    struct kiln_random random = {.state = 31};
    int accepted = 0;
    for (int i = 0; i < GRAPHS; i++) {
        int64_t m = pick(&random, COUNT), n = pick(&random, COUNT), k = pick(&random, COUNT);
        int64_t batch = pick(&random, COUNT), left = pick(&random, COUNT);
        int64_t right = kiln_random_below(&random, 2) != 0 ? batch : pick(&random, 6);
        char sketch[512];
        snprintf(sketch, sizeof sketch,
                 "Matmul a=%" PRId64 ",%" PRId64 ",%" PRId64 " b=%" PRId64 ",%" PRId64 ",%" PRId64
                 " c=%" PRId64 ",%" PRId64 ",%" PRId64,
                 left, m, k, right, k, n, batch, m, n);
        accepted += is_imported(sketch);
    }
    cr_expect_gt(accepted, GRAPHS / 50, "%d graphs were accepted", accepted);
    cr_expect_lt(accepted, GRAPHS, "%d graphs were accepted", accepted);
}
