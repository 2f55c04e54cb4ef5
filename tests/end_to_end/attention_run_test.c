/*
 * Attention, written out and as a node, in one kernel on the host device, against the interpreter.
 */
#include "tests/end_to_end/checked_sketch.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Scores of 2 x 4 heads with this many rows and columns, of operands of this type. */
#define SHAPE(m, n) "2,4," #m "," #n
#define SCALED(m, n, c, type)                                                                      \
    "Matmul a=" SHAPE(m, c) type " b=" SHAPE(c, n) type " c=" SHAPE(                               \
        m, n) ":virtual | "                                                                        \
              "Pointwise in_0@3 in_1=s out_0=" SHAPE(m, n) ":virtual !operation='MUL' | "
/* Of x: its maximum, the difference, its exponential and their sum are the next tensors. */
#define SOFTMAX(m, n, x, max, d, e)                                                                \
    "Reduction in@" #x                                                                             \
    " out=" SHAPE(m, 1) ":virtual !mode='MAX_OP' | "                                               \
                        "Pointwise in_0@" #x " in_1@" #max                                         \
                        " out_0=" SHAPE(m, n) ":virtual !operation='SUB' | "                       \
                                              "Pointwise in_0@" #d " out_0=" SHAPE(                \
                                                  m, n) ":virtual !operation='EXP' | "             \
                                                        "Reduction in@" #e " out=" SHAPE(          \
                                                            m, 1) ":virtual !mode='ADD' | "
#define DIVIDED(m, n, e, l, type)                                                                  \
    "Pointwise in_0@" #e " in_1@" #l " out_0=" SHAPE(m, n) type ":virtual !operation='DIV' | "
/* Of scores, the first tensor: 1 in columns before the row's, as the next tensors but two. */
#define BEFORE(m, n, x, row, column)                                                               \
    "Pointwise in_0@" #x                                                                           \
    " out_0=" SHAPE(m, n) ":INT32:virtual !operation='GEN_INDEX' !axis_tensor_uid=2 | "            \
                          "Pointwise in_0@" #x " out_0=" SHAPE(                                    \
                              m, n) ":INT32:virtual !operation='GEN_INDEX' !axis_tensor_uid=3 | "  \
                                    "Pointwise in_0@" #column " in_1@" #row                        \
                                    " out_0=" SHAPE(m, n) ":virtual !operation='CMP_LT' | "
#define ATTENDED(m, n, d, p, type) "Matmul a@" #p " b=" SHAPE(n, d) type " c=" SHAPE(m, d) type
#define PLAIN(m, n, c, d, type)                                                                    \
    SCALED(m, n, c, type)                                                                          \
    SOFTMAX(m, n, 5, 6, 7, 8) DIVIDED(m, n, 8, 9, type) ATTENDED(m, n, d, 10, type)
#define BIASED(m, n, bias)                                                                         \
    SCALED(m, n, 64, ":HALF")                                                                      \
    "Pointwise in_0@5 in_1=" bias                                                                  \
    " out_0=" SHAPE(m, n) ":virtual !operation='ADD' | " SOFTMAX(m, n, 7, 8, 9, 10)                \
        DIVIDED(m, n, 10, 11, ":HALF") ATTENDED(m, n, 64, 12, ":HALF")

#define EXPONENTIALS(shift, type)                                                                  \
    "Matmul a=" SHAPE(37, 64) type " b=" SHAPE(64, 67) type                                        \
        " c=" SHAPE(37, 67) ":virtual | "                                                          \
                            "Pointwise in_0@3 in_1=k0.25 out_0=" SHAPE(                            \
                                37, 67) ":virtual !operation='MUL' | "                             \
                                        "Pointwise in_0@5 in_1=" shift " out_0=" SHAPE(            \
                                            37, 67) ":virtual !operation='SUB' | "                 \
                                                    "Pointwise in_0@7 out_0=" SHAPE(               \
                                                        37, 67) ":virtual !operation='EXP' | "     \
                                                                "Matmul a@8 b=" SHAPE(67, 64) type \
        " c=" SHAPE(37, 64) type

static const char *const sketches[] = {
    PLAIN(40, 50, 32, 24, ""),
    PLAIN(70, 130, 64, 64, ":HALF"),
    PLAIN(33, 65, 96, 80, ":BFLOAT16"),
    PLAIN(17, 3, 8, 256, ":HALF"),
    PLAIN(1, 97, 72, 128, ":HALF"),
    BIASED(37, 67, "1,4,37,67:HALF"),
    BIASED(33, 64, "2,1,1,64"),
    /* soft cap */
    SCALED(37, 67, 64, ":HALF") "Pointwise in_0@5 out_0=" SHAPE(
        37, 67) ":virtual !operation='TANH_FWD' | "
                "Pointwise in_0@6 in_1=s out_0=" SHAPE(
                    37, 67) ":virtual !operation='MUL' | " SOFTMAX(37, 67, 8, 9, 10, 11)
                    DIVIDED(37, 67, 11, 12, ":HALF") ATTENDED(37, 67, 64, 13, ":HALF"),
    /* a penalty on later columns, by indices */
    SCALED(37, 67, 64, ":HALF") "Pointwise in_0@5 out_0=" SHAPE(
        37, 67) ":INT32:virtual !operation='GEN_INDEX' "
                "!axis_tensor_uid=2 | "
                "Pointwise in_0@5 out_0=" SHAPE(
                    37, 67) ":INT32:virtual !operation='GEN_INDEX' "
                            "!axis_tensor_uid=3 | "
                            "Pointwise in_0@7 in_1@6 out_0=" SHAPE(
                                37, 67) ":virtual !operation='CMP_GT' | "
                                        "Pointwise in_0@5 in_1@8 out_0=" SHAPE(
                                            37, 67) ":virtual !operation='SUB' | " SOFTMAX(37, 67,
                                                                                           9, 10,
                                                                                           11, 12)
                                            DIVIDED(37, 67, 12, 13, ":HALF")
                                                ATTENDED(37, 67, 64, 14, ":HALF"),
    /* columns before a length of each batch plus a number */
    SCALED(37, 67, 64, ":HALF") "Pointwise in_0@5 out_0=" SHAPE(
        37, 67) ":INT32:virtual !operation='GEN_INDEX' !axis_tensor_uid=3 | "
                "Pointwise in_0=2,1,1,1:INT32 in_1=k20:INT32 out_0=2,1,1,1:INT32:virtual "
                "!operation='ADD' | "
                "Pointwise in_0@6 in_1@9 out_0=" SHAPE(
                    37, 67) ":virtual !operation='CMP_LT' | "
                            "Pointwise in_0=k0 in_1=k0 out_0=1:virtual !operation='SUB' | "
                            "Pointwise in_0@13 out_0=1:virtual !operation='LOG' | "
                            "Pointwise in_0@5 in_1@14 in_2@10 out_0=" SHAPE(
                                37, 67) ":virtual !operation='BINARY_SELECT' | " SOFTMAX(37, 67, 15,
                                                                                         16, 17, 18)
                                DIVIDED(37, 67, 18, 19, ":HALF") ATTENDED(37, 67, 64, 20, ":HALF"),
    /* statistics of the rows are an output too */
    SCALED(70, 130, 64, ":HALF") SOFTMAX(70, 130, 5, 6, 7, 8)
        DIVIDED(70, 130, 8, 9, ":HALF") "Pointwise in_0@9 out_0=" SHAPE(
            70, 1) ":virtual !operation='LOG' | "
                   "Pointwise in_0@11 in_1@6 out_0=" SHAPE(70, 1) " !operation='ADD' | " ATTENDED(
                       70, 130, 64, 10, ":HALF"),
    /* divided behind the product already; gate and residual */
    SCALED(37, 67, 64, ":HALF") SOFTMAX(37, 67, 5, 6, 7, 8) "Pointwise in_0@8 out_0=" SHAPE(
        37,
        67) ":HALF:virtual !operation='IDENTITY' | "
            "Matmul a@10 b=" SHAPE(67, 64) ":HALF c=" SHAPE(
                37,
                64) ":virtual | "
                    "Pointwise in_0@12 in_1@9 out_0=" SHAPE(
                        37,
                        64) ":virtual !operation='DIV' | "
                            "Pointwise in_0@13 in_1=" SHAPE(37, 64) ":HALF out_0=" SHAPE(
                                37,
                                64) ":virtual !operation='MUL' | "
                                    "Pointwise in_0@15 in_1=" SHAPE(37, 64) ":HALF out_0=" SHAPE(
                                        37, 64) ":HALF !operation='ADD'",
    /* sigmoid of the scores */
    SCALED(37, 67, 64, ":HALF") "Pointwise in_0@5 out_0=" SHAPE(
        37, 67) ":HALF:virtual !operation='SIGMOID_FWD' | " ATTENDED(37, 67, 64, 6, ":HALF"),
    /* exponentials of differences to a constant, of either sign */
    EXPONENTIALS("k-3", ":BFLOAT16"),
    EXPONENTIALS("k3", ":BFLOAT16"),
    /* keys and values that run along their rows, of which the last rows see no whole run */
    "Sdpa q=2,4,37,32:HALF k=2,4,64,32:HALF:turned v=2,4,64,32:HALF:turned o=2,4,37,32:HALF "
    "!causal_mask=true",
    "Sdpa q=2,4,77,32:BFLOAT16 k=2,4,128,32:BFLOAT16:turned v=2,4,128,32:BFLOAT16 "
    "o=2,4,77,32:BFLOAT16 !causal_mask=true",
    /* a row that sees nothing, of which the weights are set to 0 */
    SCALED(37, 64, 64, ":HALF") BEFORE(
        37, 64, 5, 6,
        7) "Pointwise in_0=k in_1=k out_0=1:virtual !operation='SUB' | "
           "Pointwise in_0@11 out_0=1:virtual !operation='LOG' | "
           "Pointwise in_0@5 in_1@12 in_2@8 out_0=" SHAPE(
               37,
               64) ":virtual "
                   "!operation='BINARY_SELECT' "
                   "| " SOFTMAX(37, 64, 13, 14, 15, 16) "Pointwise in_0@16 in_1@17 out_0=" SHAPE(
                       37, 64) ":virtual "
                               "!operation='DIV' | "
                               "Pointwise in_0@18 "
                               "in_1@11 in_2@8 "
                               "out_0=" SHAPE(37, 64) ":HALF:virtual "
                                                      "!operation='"
                                                      "BINARY_SELECT' "
                                                      "| " ATTENDED(37, 64, 64, 19,
                                                                    ":H"
                                                                    "AL"
                                                                    "F"),
    /* what is subtracted is not the same in all of a row */
    SCALED(37, 67, 64, ":HALF") "Reduction in@5 out=" SHAPE(
        37, 1) ":virtual !mode='MAX_OP' | "
               "Pointwise in_0@6 in_1=1,1,1,67 out_0=" SHAPE(
                   37, 67) ":virtual !operation='ADD' | "
                           "Pointwise in_0@5 in_1@8 out_0=" SHAPE(
                               37, 67) ":virtual !operation='SUB' | "
                                       "Pointwise in_0@9 out_0=" SHAPE(
                                           37, 67) ":virtual !operation='EXP' | "
                                                   "Reduction in@10 out=" SHAPE(
                                                       37,
                                                       1) ":virtual !mode='ADD' | " DIVIDED(37, 67,
                                                                                            10, 11,
                                                                                            ":HALF")
                                                       ATTENDED(37, 67, 64, 12, ":HALF"),
    /* two heads of keys and values for eight of queries */
    "Matmul a=2,8,5,64:HALF b=2,2,64,130:HALF c=2,8,5,130:virtual | "
    "Reduction in@3 out=2,8,5,1:virtual !mode='MAX_OP' | "
    "Pointwise in_0@3 in_1@4 out_0=2,8,5,130:virtual !operation='SUB' | "
    "Pointwise in_0@5 out_0=2,8,5,130:virtual !operation='EXP' | "
    "Reduction in@6 out=2,8,5,1:virtual !mode='ADD' | "
    "Pointwise in_0@6 in_1@7 out_0=2,8,5,130:HALF:virtual !operation='DIV' | "
    "Matmul a@8 b=2,2,130,64:HALF c=2,8,5,64:HALF",
    /* nodes whose rows see some of the columns, or none */
    "Sdpa q=2,4,40,64:HALF k=2,2,130,64:HALF v=2,2,130,64:HALF o=2,4,40,64:HALF "
    "!causal_mask_bottom_right=true",
    "Sdpa q=2,4,72,64:HALF k=2,2,130,64:HALF v=2,2,130,64:HALF o=2,4,72,64:HALF "
    "!left_bound=16 !right_bound=3",
    "Sdpa q=2,4,40,32:HALF k=2,2,70,32:HALF v=2,2,70,32:HALF o=2,4,40,32:HALF "
    "seq_len_q=2,1,1,1:INT32 seq_len_kv=2,1,1,1:INT64 !padding_mask=true",
    "Sdpa q=2,4,40,32:HALF k=2,2,70,32:HALF v=2,2,70,32:HALF o=2,4,40,32:HALF stats=2,4,40 "
    "seq_len_q=2:INT32 seq_len_kv=2,1:INT64 !padding_mask=true",
    "Sdpa q=1,2,140,32:HALF k=1,2,50,32:HALF v=1,2,50,32:HALF o=1,2,140,32:HALF "
    "stats=1,2,140,1 !generate_stats=true !causal_mask_bottom_right=true",
};

static void use_no_cache(void)
{
    cr_assert_eq(setenv("KILN_CACHE_DIR", "", 1), 0);
}

TestSuite(attention_run, .init = use_no_cache, .timeout = 250);

/* Keys that end within a tile: no weight of 0 may meet an infinite value there. */
static const char infinite_values[] =
    "Pointwise in_0=1,2,67,32:HALF out_0=1,2,67,32:virtual !operation='ABS' | "
    "Pointwise in_0@2 in_1=k1e30 out_0=1,2,67,32:virtual !operation='ADD' | "
    "Pointwise in_0@4 in_1@3 out_0=1,2,67,32:virtual !operation='MUL' | "
    "Sdpa q=1,2,37,32:HALF k=1,2,67,32:HALF v@5 o=1,2,37,32";

static void expect_infinite(const struct kiln_graph *graph, void *const *memory)
{
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct kiln_tensor *tensor = &graph->tensors[i];
        if (tensor->role != KILN_TENSOR_OUTPUT)
            continue;
        for (int64_t n = 0; n < kiln_tensor_elements(tensor); n++)
            cr_assert_eq(((const float *)memory[i])[n], (float)INFINITY, "element %lld",
                         (long long)n);
    }
}

Test(attention_run, infinite_values)
{
    const struct kiln_lower_options options = {0};
    run_sketch(infinite_values, &options, NULL, expect_infinite);
}

static void run_all(uint32_t wave_size)
{
    const struct kiln_lower_options options = {.host_wave_size = wave_size};
    for (size_t i = 0; i < sizeof sketches / sizeof *sketches; i++)
        run_checked_sketch(sketches[i], &options);
}

Test(attention_run, agrees_with_the_interpreter)
{
    run_all(0);
}

/* Lanes that share rows exchange what they know of them, and weights through local memory. */
Test(attention_run, agrees_as_for_a_gpu)
{
    run_all(32);
}

/* Large scores that are exact, as they are rounded to half: so are their differences. */
static const char rounded_scores[] =
    "Matmul a=2,4,40,32:HALF b=2,4,32,90:HALF c=2,4,40,90:HALF:virtual | "
    "Pointwise in_0@3 in_1=k4 out_0=2,4,40,90:HALF:virtual !operation='MUL' | "
    "Reduction in@5 out=2,4,40,1:virtual !mode='MAX_OP' | "
    "Pointwise in_0@5 in_1@6 out_0=2,4,40,90:virtual !operation='SUB' | "
    "Pointwise in_0@7 out_0=2,4,40,90:virtual !operation='EXP' | "
    "Reduction in@8 out=2,4,40,1 !mode='ADD' | " DIVIDED(40, 90, 8, 9, ":HALF")
        ATTENDED(40, 90, 24, 10, ":HALF");

Test(attention_run, sums_are_as_precise_as_differences)
{
    for (uint32_t segments = 1; segments <= 3; segments += 2) {
        const struct kiln_lower_options options = {.host_wave_size = 32,
                                                   .contraction = {.segments = segments}};
        run_checked_sketch(rounded_scores, &options);
    }
}

#define ONE_QUERY(q, k, v, n)                                                                      \
    "Sdpa q=2," #q ",1,64:HALF k=2," #k "," #n ",64:HALF v=2," #v "," #n ",64:HALF o=2," #q        \
    ",1,64:HALF "

/* One query in each head, of which those that share keys and values are rows of one tile. */
static const char *const single_queries[] = {
    ONE_QUERY(8, 2, 2, 300) "stats=2,8,1,1 !generate_stats=true !causal_mask_bottom_right=true",
    ONE_QUERY(8, 4, 2, 300) "attn_mask=1,8,1,300:HALF",
    ONE_QUERY(12, 2, 4, 130) "!left_bound=0 !right_bound=100",
    ONE_QUERY(8, 1, 1, 130) "seq_len_kv=2,1,1,1:INT32 seq_len_q=2,1,1,1:INT32 !padding_mask=true",
    ONE_QUERY(5, 5, 1, 70) "sink_token=1,5,1,1",
    /* a sink of a single element, which queries beyond their length do not see */
    "Sdpa q=1,1,31,64:HALF k=1,1,70,64:HALF v=1,1,70,64:HALF o=1,1,31,64:HALF stats=1,1,31,1 "
    "sink_token=1,1,1,1 seq_len_q=1,1,1,1:INT32 seq_len_kv=1,1,1,1:INT32 !padding_mask=true "
    "!generate_stats=true",
    /* a penalty on distances, times the head's number */
    "Matmul a=2,8,1,64:HALF b=2,2,64,130:HALF c=2,8,1,130:virtual | "
    "Pointwise in_0@3 out_0=2,8,1,130:virtual !operation='GEN_INDEX' !axis_tensor_uid=1 | "
    "Pointwise in_0=1,1,1,130 in_1@4 out_0=2,8,1,130:virtual !operation='MUL' | "
    "Pointwise in_0@3 in_1@6 out_0=2,8,1,130:virtual !operation='ADD' | "
    "Reduction in@7 out=2,8,1,1:virtual !mode='MAX_OP' | "
    "Pointwise in_0@7 in_1@8 out_0=2,8,1,130:virtual !operation='SUB' | "
    "Pointwise in_0@9 out_0=2,8,1,130:virtual !operation='EXP' | "
    "Reduction in@10 out=2,8,1,1:virtual !mode='ADD' | "
    "Pointwise in_0@10 in_1@11 out_0=2,8,1,130:HALF:virtual !operation='DIV' | "
    "Matmul a@12 b=2,2,130,64:HALF c=2,8,1,64:HALF:virtual | "
    "Pointwise in_0@14 in_1=2,8,1,64:HALF out_0=2,8,1,64:HALF !operation='ADD'",
};

static void run_single_queries(uint32_t wave_size, uint32_t segments)
{
    const struct kiln_lower_options options = {.host_wave_size = wave_size,
                                               .contraction = {.segments = segments}};
    for (size_t i = 0; i < sizeof single_queries / sizeof *single_queries; i++)
        run_checked_sketch(single_queries[i], &options);
}

Test(attention_run, heads_of_a_single_query_share_keys)
{
    run_single_queries(0, 1);
}

/* Some segments have no columns. */
Test(attention_run, keys_of_a_single_query_in_segments)
{
    run_single_queries(0, 5);
}

Test(attention_run, keys_of_a_single_query_in_segments_as_for_a_gpu)
{
    run_single_queries(32, 3);
}

/* ---- what lies behind a length ---- */

enum { KEYS = 130, DEPTH = 64, HEADS = 2 };

/* One sequence has 37 keys, and NaN behind them in keys and values, half of it. */
static void spoil_behind_length(const struct kiln_graph *graph, void *const *memory)
{
    const struct kiln_node *node = &graph->nodes[0];
    static const uint16_t not_a_number = 0x7e00; /* half */
    const int32_t lengths[] = {37, KEYS};
    memcpy(memory[kiln_node_input(node, KILN_OPERAND_SEQ_LEN_KV)], lengths, sizeof lengths);
    memcpy(memory[kiln_node_input(node, KILN_OPERAND_SEQ_LEN_Q)], lengths, sizeof lengths);
    for (int32_t head = 0; head < HEADS; head++) {
        for (int32_t i = lengths[0] * DEPTH; i < KEYS * DEPTH; i++) {
            int32_t at = head * KEYS * DEPTH + i;
            ((uint16_t *)memory[kiln_node_input(node, KILN_OPERAND_K)])[at] = not_a_number;
            ((uint16_t *)memory[kiln_node_input(node, KILN_OPERAND_V)])[at] = not_a_number;
        }
    }
}

#define PADDED(m)                                                                                  \
    "Sdpa q=2,4," #m ",64:HALF k=2,2,130,64:HALF v=2,2,130,64:HALF o=2,4," #m                      \
    ",64:HALF seq_len_q=2,1,1,1:INT32 seq_len_kv=2,1,1,1:INT32 !padding_mask=true"

Test(attention_run, what_lies_behind_a_length_is_not_looked_at)
{
    for (uint32_t wave_size = 0; wave_size <= 32; wave_size += 32) {
        for (uint32_t segments = 1; segments <= 3; segments += 2) {
            const struct kiln_lower_options options = {.host_wave_size = wave_size,
                                                       .contraction = {.segments = segments}};
            run_prepared_sketch(PADDED(40), &options, spoil_behind_length);
            run_prepared_sketch(PADDED(1), &options, spoil_behind_length);
        }
    }
}

/* Head 0 has a key of NaN, and both heads one of infinities: their columns of scores. */
static void spoil_keys(const struct kiln_graph *graph, void *const *memory)
{
    enum { HEAD = 32 * KEYS, NAN_KEY = 5, INFINITE_KEY = 99 };
    const uint16_t not_a_number = 0x7e00, infinity = 0x7c00;
    uint16_t *keys = memory[kiln_node_input(&graph->nodes[0], KILN_OPERAND_B)];
    keys[NAN_KEY] = not_a_number;
    for (int32_t head = 0; head < 2; head++)
        keys[head * HEAD + INFINITE_KEY] = infinity;
}

#define MAXIMUM_SHOWN(m)                                                                           \
    "Matmul a=1,2," #m ",32:HALF b=1,2,32,130:HALF c=1,2," #m ",130:virtual | "                    \
    "Reduction in@3 out=1,2," #m ",1 !mode='MAX_OP' | "                                            \
    "Pointwise in_0@3 in_1@4 out_0=1,2," #m ",130:virtual !operation='SUB' | "                     \
    "Pointwise in_0@5 out_0=1,2," #m ",130:virtual !operation='EXP' | "                            \
    "Reduction in@6 out=1,2," #m ",1:virtual !mode='ADD' | "                                       \
    "Pointwise in_0@6 in_1@7 out_0=1,2," #m ",130:HALF:virtual !operation='DIV' | "                \
    "Matmul a@8 b=1,2,130,64:HALF c=1,2," #m ",64:HALF"

/* Found by random graph 310100012: the maximum was the infinity. */
Test(attention_run, maxima_that_are_outputs_keep_nan)
{
    for (uint32_t wave_size = 0; wave_size <= 32; wave_size += 32) {
        for (uint32_t segments = 1; segments <= 3; segments += 2) {
            const struct kiln_lower_options options = {.host_wave_size = wave_size,
                                                       .contraction = {.segments = segments}};
            run_prepared_sketch(MAXIMUM_SHOWN(37), &options, spoil_keys);
            run_prepared_sketch(MAXIMUM_SHOWN(1), &options, spoil_keys);
        }
    }
}
