/* The oracle's attention: by hand, rows without keys, and the gradients against finite differences
 * of the forward one. */
#include "compiler/reference/reference.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

enum { MOST_TENSORS = 16, MOST_ELEMENTS = 512 };

/* One node, all of whose tensors are packed doubles, but for lengths. */
struct attention {
    struct kiln_node node;
    struct kiln_graph graph;
    struct kiln_tensor tensors[MOST_TENSORS];
    double memory[MOST_TENSORS][MOST_ELEMENTS];
    struct kiln_arena arena;
    struct kiln_reference_tensor results[MOST_TENSORS];
};

static struct attention forward, backward;

static void begin(struct attention *a, enum kiln_node_kind kind)
{
    *a = (struct attention){
        .node = {.kind = kind, .name = "", .compute_type = KILN_DTYPE_F64},
        .graph = {.name = "", .node_count = 1, .nodes = &a->node, .tensors = a->tensors},
    };
    a->node.attention.scale = 1;
    kiln_arena_init(&a->arena);
}

static uint32_t add(struct attention *a, enum kiln_operand role, bool is_output,
                    const int64_t dims[4])
{
    uint32_t ordinal = a->graph.tensor_count++;
    struct kiln_tensor *tensor = &a->tensors[ordinal];
    bool is_length = role == KILN_OPERAND_SEQ_LEN_Q || role == KILN_OPERAND_SEQ_LEN_KV;
    int64_t stride = 1;
    *tensor = (struct kiln_tensor){
        .name = "",
        .dtype = is_length ? KILN_DTYPE_I64 : KILN_DTYPE_F64,
        .role = is_output ? KILN_TENSOR_OUTPUT : KILN_TENSOR_INPUT,
        .rank = 4,
        .producer = is_output ? 0 : KILN_NONE,
    };
    for (uint32_t i = 4; i-- > 0;) {
        tensor->dims[i] = dims[i];
        tensor->strides[i] = dims[i] == 1 ? 0 : stride;
        stride *= dims[i];
    }
    cr_assert_leq(stride, MOST_ELEMENTS);
    if (is_output) {
        a->node.output_roles[a->node.output_count] = (uint8_t)role;
        a->node.outputs[a->node.output_count++] = ordinal;
    } else {
        a->node.input_roles[a->node.input_count] = (uint8_t)role;
        a->node.inputs[a->node.input_count++] = ordinal;
    }
    return ordinal;
}

static double *memory_of(struct attention *a, enum kiln_operand role)
{
    return a->memory[kiln_node_input(&a->node, role)];
}

static const double *result_of(const struct attention *a, enum kiln_operand role)
{
    return a->results[kiln_node_output(&a->node, role)].real;
}

/* Whatever was evaluated before stays in the arena until the end. */
static void evaluate(struct attention *a)
{
    const void *memory[MOST_TENSORS];
    struct kiln_error error;
    kiln_error_init(&error);
    for (uint32_t i = 0; i < a->graph.tensor_count; i++)
        memory[i] = a->memory[i];
    cr_assert_eq(kiln_reference_run(&a->graph, memory, &a->arena, a->results, &error), KILN_OK,
                 "%s", error.text);
}

static void expect(const double *got, const double *expected, int count, const char *what)
{
    for (int i = 0; i < count; i++)
        cr_expect(got[i] == expected[i] || fabs(got[i] - expected[i]) < 1e-14,
                  "%s: element %d is %.17g, not %.17g", what, i, got[i], expected[i]);
}

#define DIMS(...)                                                                                  \
    (const int64_t[])                                                                              \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

/* ---- by hand ---- */

/* Scores 0 and ln 3 for the first query, ln 3 and 0 for the second: probabilities 1/4 and 3/4. */
static void begin_by_hand(void)
{
    const double log3 = log(3);
    begin(&forward, KILN_NODE_ATTENTION);
    add(&forward, KILN_OPERAND_Q, false, DIMS(1, 1, 2, 1));
    add(&forward, KILN_OPERAND_K, false, DIMS(1, 1, 2, 1));
    add(&forward, KILN_OPERAND_V, false, DIMS(1, 1, 2, 1));
    add(&forward, KILN_OPERAND_O, true, DIMS(1, 1, 2, 1));
    add(&forward, KILN_OPERAND_STATS, true, DIMS(1, 1, 2, 1));
    add(&forward, KILN_OPERAND_MAX, true, DIMS(1, 1, 2, 1));
    add(&forward, KILN_OPERAND_SUM_EXP, true, DIMS(1, 1, 2, 1));
    memory_of(&forward, KILN_OPERAND_Q)[0] = 1;
    memory_of(&forward, KILN_OPERAND_Q)[1] = -1;
    memory_of(&forward, KILN_OPERAND_K)[0] = -log3 / 2;
    memory_of(&forward, KILN_OPERAND_K)[1] = log3 / 2;
    memory_of(&forward, KILN_OPERAND_V)[0] = 4;
    memory_of(&forward, KILN_OPERAND_V)[1] = 8;
}

Test(attention_reference, by_hand)
{
    begin_by_hand();
    evaluate(&forward);
    expect(result_of(&forward, KILN_OPERAND_O), (const double[]){7, 5}, 2, "o");
    double max = log(3) / 2;
    expect(result_of(&forward, KILN_OPERAND_MAX), (const double[]){max, max}, 2, "max");
    expect(result_of(&forward, KILN_OPERAND_SUM_EXP), (const double[]){4.0 / 3, 4.0 / 3}, 2, "sum");
    double stats = max + log(4.0 / 3);
    expect(result_of(&forward, KILN_OPERAND_STATS), (const double[]){stats, stats}, 2, "stats");
    kiln_arena_fini(&forward.arena);
}

Test(attention_reference, scale_and_masks)
{
    begin_by_hand();
    forward.node.attention.scale = 2; /* probabilities 1/10 and 9/10 */
    evaluate(&forward);
    expect(result_of(&forward, KILN_OPERAND_O), (const double[]){7.6, 4.4}, 2, "scaled");
    forward.node.attention.scale = 1;
    forward.node.attention.has_last_key = true; /* causal */
    evaluate(&forward);
    expect(result_of(&forward, KILN_OPERAND_O), (const double[]){4, 5}, 2, "causal");
    forward.node.attention.last_key = -1;
    evaluate(&forward);
    expect(result_of(&forward, KILN_OPERAND_O), (const double[]){0, 4}, 2, "keys before");
    expect(result_of(&forward, KILN_OPERAND_STATS), (const double[]){-(double)INFINITY, log(3) / 2},
           2, "statistics of a row without keys");
    forward.node.attention.has_last_key = false;
    forward.node.attention.has_first_key = true;
    forward.node.attention.first_key = 1;
    evaluate(&forward);
    expect(result_of(&forward, KILN_OPERAND_O), (const double[]){8, 0}, 2, "keys behind");
    kiln_arena_fini(&forward.arena);
}

/* The sink has as much weight as both keys together. */
Test(attention_reference, sink)
{
    begin_by_hand();
    add(&forward, KILN_OPERAND_SINK_TOKEN, false, DIMS(1, 1, 1, 1));
    memory_of(&forward, KILN_OPERAND_SINK_TOKEN)[0] = log(4) - log(3) / 2;
    evaluate(&forward); /* weights 1, 3 and the sink's 4, over sqrt(3) */
    expect(result_of(&forward, KILN_OPERAND_O), (const double[]){3.5, 2.5}, 2, "o");
    expect(result_of(&forward, KILN_OPERAND_MAX),
           (const double[]){log(4) - log(3) / 2, log(4) - log(3) / 2}, 2, "max");
    expect(result_of(&forward, KILN_OPERAND_SUM_EXP), (const double[]){2, 2}, 2, "sum");
    kiln_arena_fini(&forward.arena);
}

/* The sink has no part in the results of a query beyond its length. */
Test(attention_reference, sink_of_a_query_beyond_its_length)
{
    const double lowest = -(double)INFINITY;
    begin_by_hand();
    add(&forward, KILN_OPERAND_SINK_TOKEN, false, DIMS(1, 1, 1, 1));
    uint32_t q = add(&forward, KILN_OPERAND_SEQ_LEN_Q, false, DIMS(1, 1, 1, 1));
    memory_of(&forward, KILN_OPERAND_SINK_TOKEN)[0] = log(4) - log(3) / 2;
    *(int64_t *)(void *)forward.memory[q] = 1;
    evaluate(&forward);
    expect(result_of(&forward, KILN_OPERAND_O), (const double[]){3.5, 0}, 2, "o");
    expect(result_of(&forward, KILN_OPERAND_MAX), (const double[]){log(4) - log(3) / 2, lowest}, 2,
           "max");
    expect(result_of(&forward, KILN_OPERAND_SUM_EXP), (const double[]){2, 0}, 2, "sum");
    expect(&result_of(&forward, KILN_OPERAND_STATS)[1], &lowest, 1, "stats");
    kiln_arena_fini(&forward.arena);
}

/* Causal from the corner of the lengths. */
Test(attention_reference, corner_of_the_lengths)
{
    static const struct {
        int64_t queries, keys;
        double o[2];
    } rows[] = {{2, 2, {4, 5}}, {1, 2, {7, 0}}, {2, 1, {0, 4}}, {1, 1, {4, 0}}, {9, -1, {0, 0}}};
    begin_by_hand();
    uint32_t q = add(&forward, KILN_OPERAND_SEQ_LEN_Q, false, DIMS(1, 1, 1, 1));
    uint32_t k = add(&forward, KILN_OPERAND_SEQ_LEN_KV, false, DIMS(1, 1, 1, 1));
    forward.node.attention.has_last_key = true;
    forward.node.attention.is_bottom_right = true;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        *(int64_t *)(void *)forward.memory[q] = rows[i].queries;
        *(int64_t *)(void *)forward.memory[k] = rows[i].keys;
        evaluate(&forward);
        expect(result_of(&forward, KILN_OPERAND_O), rows[i].o, 2, "o");
    }
    kiln_arena_fini(&forward.arena);
}

Test(attention_reference, boolean_mask)
{
    begin_by_hand();
    uint32_t mask = add(&forward, KILN_OPERAND_ATTN_MASK, false, DIMS(1, 1, 2, 2));
    forward.tensors[mask].dtype = KILN_DTYPE_BOOL;
    unsigned char *keeps = (unsigned char *)forward.memory[mask];
    memcpy(keeps, (const unsigned char[]){1, 0, 2, 0xff}, 4);
    evaluate(&forward);
    expect(result_of(&forward, KILN_OPERAND_O), (const double[]){4, 5}, 2, "causal");
    memcpy(keeps, (const unsigned char[]){0, 0, 1, 1}, 4);
    evaluate(&forward);
    expect(result_of(&forward, KILN_OPERAND_O), (const double[]){0, 5}, 2, "an empty row");
    kiln_arena_fini(&forward.arena);
}

Test(attention_reference, lengths_are_cut_to_what_there_is)
{
    static const struct {
        int64_t queries, keys;
        double o[2];
    } rows[] = {{2, 2, {7, 5}}, {1000, 1000, {7, 5}}, {1, 2, {7, 0}},
                {2, 1, {4, 4}}, {2, 0, {0, 0}},       {-3, -3, {0, 0}}};
    begin_by_hand();
    uint32_t q = add(&forward, KILN_OPERAND_SEQ_LEN_Q, false, DIMS(1, 1, 1, 1));
    uint32_t k = add(&forward, KILN_OPERAND_SEQ_LEN_KV, false, DIMS(1, 1, 1, 1));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        *(int64_t *)(void *)forward.memory[q] = rows[i].queries;
        *(int64_t *)(void *)forward.memory[k] = rows[i].keys;
        evaluate(&forward);
        expect(result_of(&forward, KILN_OPERAND_O), rows[i].o, 2, "o");
    }
    kiln_arena_fini(&forward.arena);
}

/* ---- gradients ---- */

static const struct gradient_case {
    const char *name;
    int64_t heads, key_heads, value_heads;
    bool is_causal, has_lengths;
    int64_t mask[4]; /* its shape; rank 0: none */
} gradient_cases[] = {
    {"plain", 2, 2, 2, false, false, {0}},
    {"causal", 1, 1, 1, true, false, {0}},
    {"groups", 4, 2, 1, true, false, {0}},
    {"mask", 2, 1, 2, false, false, {1, 2, 4, 5}},
    {"mask of keys", 2, 2, 1, false, false, {1, 1, 1, 5}},
    {"lengths", 2, 1, 1, false, true, {2, 1, 4, 1}},
};

enum { BATCH = 2, QUERIES = 4, KEYS = 5, DEPTH = 3, VALUE_DEPTH = 2 };

static void fill(double *numbers, uint64_t seed)
{
    for (int n = 0; n < MOST_ELEMENTS; n++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        numbers[n] = (double)(int64_t)(seed >> 11) * 0x1p-52 - 1;
    }
}

static void begin_case(struct attention *a, const struct gradient_case *c, bool is_backward)
{
    const int64_t *q = DIMS(BATCH, c->heads, QUERIES, DEPTH);
    const int64_t *k = DIMS(BATCH, c->key_heads, KEYS, DEPTH);
    const int64_t *v = DIMS(BATCH, c->value_heads, KEYS, VALUE_DEPTH);
    const int64_t *o = DIMS(BATCH, c->heads, QUERIES, VALUE_DEPTH);
    const int64_t *rows = DIMS(BATCH, c->heads, QUERIES, 1);
    begin(a, is_backward ? KILN_NODE_ATTENTION_BACKWARD : KILN_NODE_ATTENTION);
    a->node.attention =
        (struct kiln_attention){.has_last_key = c->is_causal, .last_key = 1, .scale = 0.8};
    add(a, KILN_OPERAND_Q, false, q);
    add(a, KILN_OPERAND_K, false, k);
    add(a, KILN_OPERAND_V, false, v);
    add(a, KILN_OPERAND_O, !is_backward, o);
    add(a, KILN_OPERAND_STATS, !is_backward, rows);
    if (c->mask[0] != 0)
        add(a, KILN_OPERAND_ATTN_MASK, false, c->mask);
    if (c->has_lengths) {
        uint32_t ordinal = add(a, KILN_OPERAND_SEQ_LEN_KV, false, DIMS(BATCH, 1, 1, 1));
        ((int64_t *)(void *)a->memory[ordinal])[0] = 3;
        ((int64_t *)(void *)a->memory[ordinal])[1] = 5;
    }
    if (is_backward) {
        add(a, KILN_OPERAND_DO, false, o);
        add(a, KILN_OPERAND_DQ, true, q);
        add(a, KILN_OPERAND_DK, true, k);
        add(a, KILN_OPERAND_DV, true, v);
        if (c->mask[0] != 0)
            add(a, KILN_OPERAND_DBIAS, true, c->mask);
    }
    for (uint32_t i = 0; i < a->node.input_count; i++) {
        if (a->tensors[a->node.inputs[i]].dtype == KILN_DTYPE_F64)
            fill(a->memory[a->node.inputs[i]], a->node.input_roles[i]);
    }
}

/* The sum of DO * O. */
static double loss(const struct gradient_case *c)
{
    const double *gradient = memory_of(&backward, KILN_OPERAND_DO);
    const double *o;
    double sum = 0;
    evaluate(&forward);
    o = result_of(&forward, KILN_OPERAND_O);
    for (int64_t n = 0; n < BATCH * c->heads * QUERIES * VALUE_DEPTH; n++)
        sum += gradient[n] * o[n];
    return sum;
}

static void check_gradient(const struct gradient_case *c, enum kiln_operand role,
                           enum kiln_operand gradient)
{
    const double step = 1e-4;
    uint32_t ordinal = kiln_node_output(&backward.node, gradient);
    if (ordinal == KILN_NONE)
        return;
    double *numbers = memory_of(&forward, role);
    for (int64_t n = 0; n < kiln_tensor_elements(&backward.tensors[ordinal]); n++) {
        double before = numbers[n];
        numbers[n] = before + step;
        double above = loss(c);
        numbers[n] = before - step;
        double slope = (above - loss(c)) / (2 * step);
        numbers[n] = before;
        cr_expect_float_eq(backward.results[ordinal].real[n], slope, 1e-7,
                           "%s: element %lld of %s is %.9g, the slope %.9g", c->name, (long long)n,
                           kiln_operand_text(gradient), backward.results[ordinal].real[n], slope);
    }
}

Test(attention_reference, gradients_against_finite_differences)
{
    for (size_t i = 0; i < sizeof gradient_cases / sizeof *gradient_cases; i++) {
        const struct gradient_case *c = &gradient_cases[i];
        begin_case(&forward, c, false);
        begin_case(&backward, c, true);
        evaluate(&forward);
        double *o = memory_of(&backward, KILN_OPERAND_O);
        double *stats = memory_of(&backward, KILN_OPERAND_STATS);
        for (int64_t n = 0; n < BATCH * c->heads * QUERIES * VALUE_DEPTH; n++)
            o[n] = result_of(&forward, KILN_OPERAND_O)[n];
        for (int64_t n = 0; n < BATCH * c->heads * QUERIES; n++)
            stats[n] = result_of(&forward, KILN_OPERAND_STATS)[n];
        evaluate(&backward);
        check_gradient(c, KILN_OPERAND_Q, KILN_OPERAND_DQ);
        check_gradient(c, KILN_OPERAND_K, KILN_OPERAND_DK);
        check_gradient(c, KILN_OPERAND_V, KILN_OPERAND_DV);
        check_gradient(c, KILN_OPERAND_ATTN_MASK, KILN_OPERAND_DBIAS);
        kiln_arena_fini(&forward.arena);
        kiln_arena_fini(&backward.arena);
    }
}

/* ---- bounds ---- */

/* In double. That faults are outside of those of narrower types: import_attention_test.c. */
Test(attention_reference, bounds_are_those_of_the_computing_type)
{
    const struct gradient_case *c = &gradient_cases[0];
    begin_case(&forward, c, false);
    evaluate(&forward);
    uint32_t o = kiln_node_output(&forward.node, KILN_OPERAND_O);
    for (int64_t n = 0; n < kiln_tensor_elements(&forward.tensors[o]); n++) {
        cr_expect_gt(forward.results[o].bound[n], 0);
        cr_expect_lt(forward.results[o].bound[n], 1e-13);
    }
    kiln_arena_fini(&forward.arena);
}

/* NaN at a key that nobody sees may be multiplied by 0, or not. */
Test(attention_reference, nan_at_a_key_that_is_not_seen_is_unchecked)
{
    begin_by_hand();
    forward.node.attention.has_last_key = true;
    memory_of(&forward, KILN_OPERAND_V)[1] = NAN;
    evaluate(&forward);
    uint32_t o = kiln_node_output(&forward.node, KILN_OPERAND_O);
    cr_expect_eq(forward.results[o].bound[0], INFINITY);
    cr_expect_eq(forward.results[o].bound[1], INFINITY);
    kiln_arena_fini(&forward.arena);
}
