/*
 * Gradients of attention on the host device, against the interpreter.
 */
#include "compiler/schedule/schedule.h"
#include "tests/end_to_end/checked_sketch.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* Attention of `heads` heads of m queries, `groups` heads of n keys and values, and gradients of
 * others with its results and statistics: these fit well enough that every element can be checked.
 */
#define SHAPES(heads, groups, m, n, k, d, type)                                                    \
    "q=2," heads "," #m "," #k type " k=2," groups "," #n "," #k type " v=2," groups "," #n        \
    "," #d type
#define FORWARD(heads, groups, m, n, k, d, type)                                                   \
    "Sdpa " SHAPES(heads, groups, m, n, k, d, type) " o=2," heads "," #m "," #d type               \
                                                    " stats=2," heads "," #m                       \
                                                    ",1 !generate_stats=true "
#define BACKWARD(heads, groups, m, n, k, d, type)                                                  \
    " | SdpaBackward " SHAPES(heads, groups, m, n, k, d, type) " o@4 do=2," heads "," #m           \
                                                               "," #d type " stats@5 dq=2," heads  \
                                                               "," #m "," #k type " dk=2," groups  \
                                                               "," #n "," #k type " dv=2," groups  \
                                                               "," #n "," #d type " "
#define BOTH(heads, groups, m, n, k, d, type, attributes)                                          \
    FORWARD(heads, groups, m, n, k, d, type)                                                       \
    attributes BACKWARD(heads, groups, m, n, k, d, type)                                           \
    attributes

static const char *const sketches[] = {
    BOTH("2", "2", 37, 67, 32, 32, "", ""),
    BOTH("4", "2", 70, 130, 64, 64, ":HALF", ""),
    BOTH("4", "1", 33, 64, 96, 96, ":BFLOAT16", "!causal_mask=true"),
    BOTH("2", "2", 40, 72, 32, 32, ":HALF", "!causal_mask_bottom_right=true"),
    BOTH("6", "3", 40, 90, 32, 32, ":HALF", "!left_bound=16 !right_bound=3"),
    BOTH("4", "2", 37, 67, 48, 32, ":HALF", "!causal_mask=true"),
    BOTH("2", "2", 1, 67, 32, 32, ":HALF", ""),
    BOTH("2", "2", 37, 64, 8, 256, ":HALF", ""),
    FORWARD("2", "1", 37, 67, 32, 32, ":HALF") "attn_mask=2,1,37,67" BACKWARD(
        "2", "1", 37, 67, 32, 32, ":HALF") "attn_mask@6",
    FORWARD("2", "2", 37, 67, 32, 32, ":HALF") "attn_mask=1,2,1,67:HALF scale=s" BACKWARD(
        "2", "2", 37, 67, 32, 32, ":HALF") "attn_mask@6 scale@7",
    FORWARD("4", "2", 37, 67, 32, 32, ":HALF") "attn_mask=2,4,37,67 !causal_mask=true" BACKWARD(
        "4", "2", 37, 67, 32, 32, ":HALF") "attn_mask@6 dbias=2,4,37,67 !causal_mask=true",
    /* Rounded for the products, and for the result. */
    FORWARD("2", "2", 37, 67, 32, 32, ":HALF") "attn_mask=2,2,37,67:HALF" BACKWARD(
        "2", "2", 37, 67, 32, 32, ":HALF") "attn_mask@6 dbias=2,2,37,67:HALF",
    FORWARD("4", "1", 70, 130, 64, 64, ":HALF") "attn_mask=1,4,70,130" BACKWARD(
        "4", "1", 70, 130, 64, 64, ":HALF") "attn_mask@6 dbias=1,4,70,130",
    FORWARD("2", "2", 37, 67, 32, 48, ":HALF") "attn_mask=2,1,37,67:HALF" BACKWARD(
        "2", "2", 37, 67, 32, 48, ":HALF") "attn_mask@6 dbias=2,1,37,67:HALF",
    FORWARD("4", "2", 37, 67, 32, 32, "") "attn_mask=37,67 !left_bound=16 !right_bound=3" BACKWARD(
        "4", "2", 37, 67, 32, 32, "") "attn_mask@6 dbias=37,67 !left_bound=16 !right_bound=3",
    FORWARD("2", "2", 37, 67, 32, 32, ":HALF") "attn_mask=2,1,1,67" BACKWARD(
        "2", "2", 37, 67, 32, 32, ":HALF") "attn_mask@6 dbias=2,1,1,67",
    FORWARD("2", "2", 37, 67, 32, 32, ":HALF") "attn_mask=37,1" BACKWARD(
        "2", "2", 37, 67, 32, 32, ":HALF") "attn_mask@6 dbias=37,1",
    /* Scores know their head, and the gradients of keys that all heads share have no such axis. */
    "Pointwise in_0@20=1,4,37,67 out_0@21=1,4,37,67:virtual !operation='GEN_INDEX' "
    "!axis_tensor_uid=1 | "
    "Sdpa q@1=1,4,37,32:HALF k@2=1,1,67,32:HALF v@3=1,1,67,32:HALF attn_mask@21 "
    "o@4=1,4,37,32:HALF stats@5=1,4,37,1 !generate_stats=true | "
    "SdpaBackward q@6=1,4,37,32:HALF k@7=1,1,67,32:HALF v@8=1,1,67,32:HALF attn_mask@21 o@4 "
    "do@9=1,4,37,32:HALF stats@5 dq@10=1,4,37,32:HALF dk@11=1,1,67,32:HALF dv@12=1,1,67,32:HALF",
};

static void use_no_cache(void)
{
    cr_assert_eq(setenv("KILN_CACHE_DIR", "", 1), 0);
}

static uint32_t tensor_of(const struct kiln_graph *graph, int64_t uid)
{
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        if (graph->tensors[i].uid == uid)
            return i;
    }
    cr_assert(false, "no tensor has uid %lld", (long long)uid);
    return KILN_NONE;
}

/* Queries, keys and values of the second node, of which the queries follow what the first one has,
 * are those of the first one. */
static void copy_operands(const struct kiln_graph *graph, void *const *memory)
{
    const struct kiln_tensor *queries = &graph->tensors[tensor_of(graph, 1)];
    int64_t first = 6;
    while (memcmp(graph->tensors[tensor_of(graph, first)].dims, queries->dims,
                  sizeof queries->dims) != 0)
        first++;
    for (int64_t i = 0; i < 3; i++) {
        uint32_t from = tensor_of(graph, 1 + i);
        uint32_t to = tensor_of(graph, first + i);
        const struct kiln_tensor *tensor = &graph->tensors[from];
        size_t bytes =
            (size_t)kiln_tensor_footprint_elements(tensor) * kiln_dtype_info(tensor->dtype)->bytes;
        memcpy(memory[to], memory[from], bytes);
    }
}

TestSuite(attention_gradient_run, .init = use_no_cache, .timeout = 250);

static void run_all(uint32_t wave_size)
{
    const struct kiln_lower_options options = {.host_wave_size = wave_size};
    for (size_t i = 0; i < sizeof sketches / sizeof *sketches; i++)
        run_prepared_sketch(sketches[i], &options, copy_operands);
}

Test(attention_gradient_run, agrees_with_the_interpreter)
{
    run_all(0);
}

/* Lanes that share rows exchange weights through local memory. */
Test(attention_gradient_run, agrees_as_for_a_gpu)
{
    run_all(32);
}

/* Waves share rows, tiles are loaded late, and a lane has fewer rows. Forward too, with a softmax,
 * and for the gradient of a mask. */
Test(attention_gradient_run, agrees_in_later_forms)
{
    static const char *const large[] = {
        BOTH("4", "2", 37, 67, 128, 128, ":HALF", "!causal_mask=true"),
        BOTH("2", "1", 33, 40, 96, 160, ":BFLOAT16", ""),
        FORWARD("2", "2", 37, 67, 64, 64, "") "attn_mask=2,2,37,67" BACKWARD(
            "2", "2", 37, 67, 64, 64, "") "attn_mask@6 dbias=2,2,37,67",
    };
    static const uint32_t forms[] = {1, 3, KILN_MAX_FORMS - 1};
    static const uint32_t wave_sizes[] = {32, 0, 64};
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        const struct kiln_lower_options options = {.skipped_forms = forms[i],
                                                   .host_wave_size = wave_sizes[i]};
        run_prepared_sketch(large[i], &options, copy_operands);
    }
}
