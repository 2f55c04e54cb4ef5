/* Attention and its gradients through import, passes and interpreter, against the oracle. */
#include "compiler/ir/import.h"
#include "compiler/ir/passes.h"
#include "compiler/reference/reference.h"
#include "tests/compiler/ir/import_trial.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

enum mask { MASK_NONE, MASK_KEYS, MASK_QUERIES, MASK_HEADS, MASK_FULL };

struct shape {
    const char *name;
    int64_t batch, heads, key_heads, value_heads, queries, keys, depth, value_depth;
    bool has_first, has_last;
    int64_t first, last;
    enum mask mask;
    bool has_lengths;
    bool has_extras; /* forward: sink, statistics, scales */
};

static const struct shape shapes[] = {
    {"plain", 2, 2, 2, 2, 3, 5, 4, 3, false, false, 0, 0, MASK_NONE, false, false},
    {"one of everything", 1, 1, 1, 1, 1, 1, 1, 1, false, false, 0, 0, MASK_NONE, false, true},
    {"one query", 1, 3, 3, 3, 1, 6, 4, 4, false, false, 0, 0, MASK_NONE, false, true},
    {"one key", 1, 2, 1, 1, 4, 1, 3, 2, false, false, 0, 0, MASK_NONE, false, false},
    {"causal", 1, 2, 2, 2, 5, 5, 4, 4, false, true, 0, 0, MASK_NONE, false, false},
    {"causal, empty rows", 1, 2, 1, 2, 6, 3, 4, 2, false, true, 0, -3, MASK_NONE, false, false},
    {"window", 2, 1, 1, 1, 6, 7, 3, 3, true, true, -2, 1, MASK_NONE, false, true},
    {"window beyond the keys", 1, 1, 1, 1, 6, 4, 3, 3, true, false, 0, 0, MASK_NONE, false, false},
    {"groups", 2, 4, 2, 1, 3, 4, 3, 2, false, true, 0, 0, MASK_NONE, false, true},
    {"groups of two kinds", 1, 6, 2, 3, 3, 4, 3, 2, false, false, 0, 0, MASK_FULL, false, false},
    {"mask of keys", 2, 2, 2, 2, 3, 5, 4, 3, false, false, 0, 0, MASK_KEYS, false, false},
    {"mask of queries", 2, 2, 2, 2, 3, 5, 4, 3, false, false, 0, 0, MASK_QUERIES, false, false},
    {"mask of heads", 2, 4, 2, 2, 3, 5, 4, 3, false, true, 0, 1, MASK_HEADS, false, true},
    {"lengths", 3, 2, 1, 2, 4, 5, 3, 3, false, false, 0, 0, MASK_NONE, true, false},
    {"lengths, causal", 3, 2, 2, 2, 4, 5, 3, 3, false, true, 0, 0, MASK_NONE, true, true},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static void add_mask(struct kiln_trial *trial, const struct shape *s, bool is_backward,
                     enum kiln_dtype type)
{
    const int64_t dims[][4] = {
        [MASK_KEYS] = {1, 1, 1, s->keys},
        [MASK_QUERIES] = {1, 1, s->queries, 1},
        [MASK_HEADS] = {1, s->heads, s->queries, s->keys},
        [MASK_FULL] = {s->batch, s->heads, s->queries, s->keys},
    };
    if (s->mask == MASK_NONE)
        return;
    uint32_t rank = s->mask == MASK_KEYS ? 1 : s->mask == MASK_QUERIES ? 2 : 4;
    const int64_t *shape = dims[s->mask] + (4 - rank);
    kiln_trial_input(trial, KILN_OPERAND_ATTN_MASK, KILN_DTYPE_F32, rank, shape, 0, 2);
    if (is_backward)
        kiln_trial_output(trial, KILN_OPERAND_DBIAS, type, rank, shape);
}

/* Lengths from none to more than there are, and what lies beyond them is NaN. */
static void add_lengths(struct kiln_trial *trial, const struct shape *s)
{
    const int64_t dims[] = {s->batch, 1, 1, 1};
    if (!s->has_lengths)
        return;
    uint32_t q = kiln_trial_input(trial, KILN_OPERAND_SEQ_LEN_Q, KILN_DTYPE_I32, 4, dims, 0, 0);
    uint32_t k = kiln_trial_input(trial, KILN_OPERAND_SEQ_LEN_KV, KILN_DTYPE_I64, 4, dims, 0, 0);
    const int32_t query_lengths[] = {2, 100, 3};
    const int64_t key_lengths[] = {3, INT64_MAX, -5};
    for (int64_t b = 0; b < s->batch; b++) {
        ((int32_t *)trial->memory[q])[b] = query_lengths[b % 3];
        ((int64_t *)trial->memory[k])[b] = key_lengths[b % 3];
    }
}

static void add_forward(struct kiln_trial *trial, const struct shape *s, enum kiln_dtype type,
                        enum kiln_dtype result)
{
    const int64_t q[] = {s->batch, s->heads, s->queries, s->depth};
    const int64_t k[] = {s->batch, s->key_heads, s->keys, s->depth};
    const int64_t v[] = {s->batch, s->value_heads, s->keys, s->value_depth};
    const int64_t o[] = {s->batch, s->heads, s->queries, s->value_depth};
    const int64_t rows[] = {s->batch, s->heads, s->queries, 1};
    const int64_t sink[] = {1, s->heads, 1, 1}, key_scales[] = {s->batch, s->key_heads, 1, 1};
    const int64_t value_scales[] = {s->batch, s->value_heads, 1, 1}, one[] = {1};
    kiln_trial_input(trial, KILN_OPERAND_Q, type, 4, q, 0, 1);
    kiln_trial_input(trial, KILN_OPERAND_K, type, 4, k, 0, 1);
    kiln_trial_input(trial, KILN_OPERAND_V, type, 4, v, 0, 1);
    kiln_trial_output(trial, KILN_OPERAND_O, result, 4, o);
    add_mask(trial, s, false, result);
    add_lengths(trial, s);
    if (!s->has_extras)
        return;
    kiln_trial_input(trial, KILN_OPERAND_SCALE, KILN_DTYPE_F32, 1, one, 1, 0.5);
    kiln_trial_input(trial, KILN_OPERAND_SINK_TOKEN, KILN_DTYPE_F32, 4, sink, 0, 1);
    kiln_trial_input(trial, KILN_OPERAND_DESCALE_Q, KILN_DTYPE_F32, 4, key_scales, 1, 0.5);
    kiln_trial_input(trial, KILN_OPERAND_DESCALE_K, KILN_DTYPE_F32, 1, one, 1, 0.5);
    kiln_trial_input(trial, KILN_OPERAND_DESCALE_V, KILN_DTYPE_F32, 4, value_scales, 1, 0.5);
    kiln_trial_input(trial, KILN_OPERAND_DESCALE_S, KILN_DTYPE_F32, 1, one, 1, 0.5);
    kiln_trial_input(trial, KILN_OPERAND_SCALE_S, KILN_DTYPE_F32, 1, one, 1, 0.5);
    kiln_trial_input(trial, KILN_OPERAND_SCALE_O, KILN_DTYPE_F32, 1, one, 1, 0.5);
    kiln_trial_output(trial, KILN_OPERAND_STATS, KILN_DTYPE_F32, 4, rows);
    kiln_trial_output(trial, KILN_OPERAND_MAX, KILN_DTYPE_F32, 4, rows);
    kiln_trial_output(trial, KILN_OPERAND_SUM_EXP, KILN_DTYPE_F32, 4, rows);
    kiln_trial_output(trial, KILN_OPERAND_AMAX_S, KILN_DTYPE_F32, 1, one);
    kiln_trial_output(trial, KILN_OPERAND_AMAX_O, KILN_DTYPE_F32, 1, one);
}

/* O and STATS need not be those of a forward node. */
static void add_backward(struct kiln_trial *trial, const struct shape *s, enum kiln_dtype type,
                         enum kiln_dtype result)
{
    const int64_t q[] = {s->batch, s->heads, s->queries, s->depth};
    const int64_t k[] = {s->batch, s->key_heads, s->keys, s->depth};
    const int64_t v[] = {s->batch, s->value_heads, s->keys, s->value_depth};
    const int64_t o[] = {s->batch, s->heads, s->queries, s->value_depth};
    const int64_t rows[] = {s->batch, s->heads, s->queries, 1};
    kiln_trial_input(trial, KILN_OPERAND_Q, type, 4, q, 0, 1);
    kiln_trial_input(trial, KILN_OPERAND_K, type, 4, k, 0, 1);
    kiln_trial_input(trial, KILN_OPERAND_V, type, 4, v, 0, 1);
    kiln_trial_input(trial, KILN_OPERAND_O, type, 4, o, 0, 1);
    kiln_trial_input(trial, KILN_OPERAND_DO, type, 4, o, 0, 1);
    kiln_trial_input(trial, KILN_OPERAND_STATS, KILN_DTYPE_F32, 4, rows, 2, 1);
    kiln_trial_output(trial, KILN_OPERAND_DQ, result, 4, q);
    kiln_trial_output(trial, KILN_OPERAND_DK, result, 4, k);
    kiln_trial_output(trial, KILN_OPERAND_DV, result, 4, v);
    add_mask(trial, s, true, result);
    add_lengths(trial, s);
}

static void begin(struct kiln_trial *trial, const struct shape *s, bool is_backward,
                  enum kiln_dtype type, enum kiln_dtype result)
{
    kiln_trial_begin(trial, is_backward ? KILN_NODE_ATTENTION_BACKWARD : KILN_NODE_ATTENTION,
                     (uint64_t)(s - shapes) + 1);
    trial->reverse_strides = (s - shapes) % 2 != 0;
    trial->node.attention = (struct kiln_attention){.has_first_key = s->has_first,
                                                    .has_last_key = s->has_last,
                                                    .first_key = s->first,
                                                    .last_key = s->last,
                                                    .scale = 0.7};
    if (is_backward)
        add_backward(trial, s, type, result);
    else
        add_forward(trial, s, type, result);
    kiln_trial_import(trial);
}

/* Output `index` against the oracle. */
static struct kiln_comparison compare(struct kiln_trial *trial, uint32_t index)
{
    const void *memory[KILN_TRIAL_MAX_TENSORS];
    struct kiln_reference_tensor expected[KILN_TRIAL_MAX_TENSORS];
    struct kiln_comparison comparison;
    uint32_t ordinal = trial->node.outputs[index];
    for (uint32_t i = 0; i < trial->graph.tensor_count; i++)
        memory[i] = trial->memory[i];
    cr_assert_eq(kiln_reference_run(&trial->graph, memory, &trial->arena, expected, &trial->error),
                 KILN_OK, "%s", trial->error.text);
    kiln_reference_compare(&trial->graph, ordinal, trial->memory[ordinal], &expected[ordinal],
                           &comparison);
    return comparison;
}

static void check_numbers(struct kiln_trial *trial, const char *name, bool wants_all)
{
    for (uint32_t i = 0; i < trial->node.output_count; i++) {
        const char *role = kiln_operand_text((enum kiln_operand)trial->node.output_roles[i]);
        struct kiln_comparison comparison = compare(trial, i);
        if (wants_all)
            cr_expect_eq(comparison.unchecked, 0, "%s: %s", name, role);
        cr_expect_eq(comparison.wrong, 0, "%s: element %lld of %s is %.9g, not %.9g +- %g", name,
                     (long long)comparison.first_wrong, role, comparison.got, comparison.expected,
                     comparison.bound);
    }
}

static void check(struct kiln_trial *trial, const char *name)
{
    check_numbers(trial, name, true);
}

static void check_types(enum kiln_dtype type, enum kiln_dtype result)
{
    for (size_t i = 0; i < SHAPES * 2; i++) {
        struct kiln_trial trial;
        const struct shape *shape = &shapes[i / 2];
        begin(&trial, shape, i % 2 != 0, type, result);
        kiln_trial_check_passes(&trial);
        kiln_trial_run(&trial, &trial.plain, KILN_MATH_NATIVE);
        check(&trial, shape->name);
        kiln_trial_run(&trial, &trial.optimized, KILN_MATH_NOISY);
        check(&trial, shape->name);
        kiln_trial_end(&trial);
    }
}

Test(import_attention, float)
{
    check_types(KILN_DTYPE_F32, KILN_DTYPE_F32);
}

Test(import_attention, half)
{
    check_types(KILN_DTYPE_F16, KILN_DTYPE_F16);
}

Test(import_attention, bfloat16)
{
    check_types(KILN_DTYPE_BF16, KILN_DTYPE_F32);
}

Test(import_attention, fp8)
{
    check_types(KILN_DTYPE_F8E4M3, KILN_DTYPE_BF16);
}

Test(import_attention, double)
{
    check_types(KILN_DTYPE_F64, KILN_DTYPE_F64);
}

/* ---- in segments ---- */

/* Each of its columns' segments by itself, and merged again; false where it is not recognized. */
static bool cut(struct kiln_trial *trial)
{
    struct kiln_pass_context context = {.graph = &trial->graph};
    struct kiln_buffer faults;
    struct kiln_ir *ir = &trial->optimized;
    cr_assert_eq(kiln_ir_recognize_attention(ir, &context, &trial->error), KILN_OK);
    if (!context.is_found)
        return false;
    cr_assert_eq(kiln_ir_optimize(ir, &trial->graph, &trial->error), KILN_OK);
    uint32_t *segments = kiln_arena_calloc(ir->arena, ir->op_count, sizeof *segments);
    uint32_t cut_count = 0;
    for (uint32_t i = 0; i < ir->op_count; i++)
        segments[i] = ir->ops[i].opcode == KILN_OP_ATTEND ? 3 : 0;
    cr_assert_eq(kiln_ir_segment_attention(ir, segments, &cut_count, &trial->error), KILN_OK);
    cr_expect_eq(cut_count, 1);
    kiln_buffer_init(&faults);
    cr_expect(kiln_ir_validate(ir, &trial->graph, &faults), "%s", kiln_buffer_text(&faults));
    kiln_buffer_fini(&faults);
    cr_assert_eq(kiln_ir_optimize(ir, &trial->graph, &trial->error), KILN_OK, "%s",
                 trial->error.text);
    cr_expect_gt(kiln_trial_count(trial, KILN_OP_REDUCE_SUM), 0);
    return true;
}

Test(import_attention, in_segments_results_are_the_same)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < SHAPES; i++) {
        struct kiln_trial trial;
        begin(&trial, &shapes[i], false, KILN_DTYPE_F32, KILN_DTYPE_F32);
        count += cut(&trial);
        kiln_trial_run(&trial, &trial.optimized, KILN_MATH_NOISY);
        check(&trial, shapes[i].name);
        kiln_trial_end(&trial);
    }
    cr_expect_gt(count, SHAPES / 2);
}

/* ---- what is not looked at ---- */

static void fill_beyond(struct kiln_trial *trial, enum kiln_operand role, const int64_t *lengths)
{
    uint32_t ordinal = kiln_node_input(&trial->node, role);
    const struct kiln_tensor *tensor = &trial->tensors[ordinal];
    for (int64_t n = 0; n < kiln_tensor_elements(tensor); n++) {
        int64_t at[4];
        kiln_trial_coordinates(tensor, n, at);
        int64_t offset = 0;
        for (uint32_t i = 0; i < 4; i++)
            offset += at[i] * tensor->strides[i];
        if (at[2] >= lengths[at[0]])
            ((float *)trial->memory[ordinal])[offset] = (float)NAN;
    }
}

/* Behind a length there may be NaN in every operand: results are zeros there and numbers before. */
Test(import_attention, nothing_beyond_a_length_is_read)
{
    static const int64_t queries[] = {2, 4, 3}, keys[] = {3, 5, 0};
    const struct shape *shape = &shapes[SHAPES - 2];
    for (int is_backward = 0; is_backward < 2; is_backward++) {
        struct kiln_trial trial;
        begin(&trial, shape, is_backward != 0, KILN_DTYPE_F32, KILN_DTYPE_F32);
        fill_beyond(&trial, KILN_OPERAND_Q, queries);
        fill_beyond(&trial, KILN_OPERAND_K, keys);
        fill_beyond(&trial, KILN_OPERAND_V, keys);
        if (is_backward) {
            fill_beyond(&trial, KILN_OPERAND_O, queries);
            fill_beyond(&trial, KILN_OPERAND_DO, queries);
            fill_beyond(&trial, KILN_OPERAND_STATS, queries);
        }
        kiln_trial_run(&trial, &trial.optimized, KILN_MATH_NATIVE);
        check(&trial, shape->name);
        for (uint32_t i = 0; i < trial.node.output_count; i++) {
            const struct kiln_tensor *tensor = &trial.tensors[trial.node.outputs[i]];
            uint8_t role = trial.node.output_roles[i];
            const int64_t *lengths =
                role == KILN_OPERAND_DK || role == KILN_OPERAND_DV ? keys : queries;
            for (int64_t n = 0; n < kiln_tensor_elements(tensor); n++) {
                int64_t at[4];
                double value = kiln_trial_element(&trial, trial.node.outputs[i], n).real;
                kiln_trial_coordinates(tensor, n, at);
                cr_expect(isfinite(value));
                if (at[2] >= lengths[at[0]])
                    cr_expect_eq(value, 0);
            }
        }
        kiln_trial_end(&trial);
    }
}

/* A mask of -infinity for a whole row: zeros, and statistics that say so. */
Test(import_attention, rows_that_a_mask_leaves_empty)
{
    static const struct shape shape = {
        "mask of queries", 1, 2, 2, 2, 3, 5, 4, 3, false, false, 0, 0, MASK_QUERIES, false, true};
    struct kiln_trial trial;
    kiln_trial_begin(&trial, KILN_NODE_ATTENTION, 7);
    trial.node.attention.scale = 1;
    const int64_t rows[] = {1, 2, 3, 1};
    const int64_t q[] = {1, 2, 3, 4}, k[] = {1, 2, 5, 4}, v[] = {1, 2, 5, 3}, o[] = {1, 2, 3, 3};
    kiln_trial_input(&trial, KILN_OPERAND_Q, KILN_DTYPE_F32, 4, q, 0, 1);
    kiln_trial_input(&trial, KILN_OPERAND_K, KILN_DTYPE_F32, 4, k, 0, 1);
    kiln_trial_input(&trial, KILN_OPERAND_V, KILN_DTYPE_F32, 4, v, 0, 1);
    uint32_t result = kiln_trial_output(&trial, KILN_OPERAND_O, KILN_DTYPE_F32, 4, o);
    add_mask(&trial, &shape, false, KILN_DTYPE_F32);
    uint32_t stats = kiln_trial_output(&trial, KILN_OPERAND_STATS, KILN_DTYPE_F32, 4, rows);
    uint32_t mask = kiln_node_input(&trial.node, KILN_OPERAND_ATTN_MASK);
    ((float *)trial.memory[mask])[1] = -(float)INFINITY;
    kiln_trial_import(&trial);
    kiln_trial_run(&trial, &trial.optimized, KILN_MATH_NATIVE);
    check(&trial, "empty rows");
    for (int64_t d = 0; d < 3; d++)
        cr_expect_eq(kiln_trial_element(&trial, result, 3 + d).real, 0);
    cr_expect_eq(kiln_trial_element(&trial, stats, 1).real, -(double)INFINITY);
    cr_expect(isfinite(kiln_trial_element(&trial, stats, 0).real));
    kiln_trial_end(&trial);
}

/* ---- what the oracle leaves unchecked, and what it finds ---- */

/* Runs in float with one element of an operand set to `value`. */
static void run_with(struct kiln_trial *trial, const struct shape *shape, bool is_backward,
                     enum kiln_operand role, int64_t element, float value)
{
    begin(trial, shape, is_backward, KILN_DTYPE_F32, KILN_DTYPE_F32);
    ((float *)trial->memory[kiln_node_input(&trial->node, role)])[element] = value;
    kiln_trial_run(trial, &trial->optimized, KILN_MATH_NATIVE);
}

static const struct shape one_row = {"one row", 1,     1,     1, 1, 1,         1,     1,
                                     3,         false, false, 0, 0, MASK_NONE, false, false};
static const struct shape causal = {"causal", 1,     1,    1, 1, 5,         5,     2,
                                    3,        false, true, 0, 0, MASK_NONE, false, false};
static const struct shape padded = {"padded", 1,     1,     1, 1, 4,         5,    2,
                                    3,        false, false, 0, 0, MASK_NONE, true, false};
static const struct shape masked = {"masked", 1,     2,     2, 2, 3,         5,     4,
                                    3,        false, false, 0, 0, MASK_KEYS, false, false};

/* A program may skip what has no weight, or multiply it by 0. */
Test(import_attention, no_number_in_a_row_that_is_seen)
{
    static const struct {
        const struct shape *shape;
        bool is_backward;
        enum kiln_operand role;
        int64_t element;
        float value;
    } rows[] = {
        {&one_row, false, KILN_OPERAND_K, 0, INFINITY},
        {&one_row, false, KILN_OPERAND_K, 0, -INFINITY},
        {&one_row, true, KILN_OPERAND_STATS, 0, -INFINITY},
        {&causal, false, KILN_OPERAND_Q, 2, NAN},
        {&causal, true, KILN_OPERAND_STATS, 1, NAN},
        {&causal, true, KILN_OPERAND_STATS, 1, -INFINITY},
        {&causal, true, KILN_OPERAND_DO, 0, NAN},
        {&padded, true, KILN_OPERAND_STATS, 1, NAN},
        {&padded, true, KILN_OPERAND_Q, 0, NAN},
        {&padded, true, KILN_OPERAND_K, 0, NAN},
        {&padded, true, KILN_OPERAND_DO, 0, NAN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kiln_trial trial;
        run_with(&trial, rows[i].shape, rows[i].is_backward, rows[i].role, rows[i].element,
                 rows[i].value);
        check_numbers(&trial, rows[i].shape->name, false);
        kiln_trial_end(&trial);
    }
}

/* Statistics that are NaN, or an output that is, concern what their query sees and nothing else. */
Test(import_attention, statistics_reach_no_key_that_is_not_seen)
{
    enum { QUERY = 1 }; /* sees keys 0 and 1 */
    static const enum kiln_operand roles[] = {KILN_OPERAND_STATS, KILN_OPERAND_O};
    for (size_t r = 0; r < sizeof roles / sizeof *roles; r++) {
        struct kiln_trial trial;
        int64_t element = r == 0 ? QUERY : QUERY * causal.value_depth;
        run_with(&trial, &causal, true, roles[r], element, NAN);
        check_numbers(&trial, "NaN in a row", false);
        for (uint32_t i = 0; i < trial.node.output_count; i++) {
            const struct kiln_tensor *tensor = &trial.tensors[trial.node.outputs[i]];
            for (int64_t n = 0; n < kiln_tensor_elements(tensor); n++) {
                int64_t at[4];
                kiln_trial_coordinates(tensor, n, at);
                double value = kiln_trial_element(&trial, trial.node.outputs[i], n).real;
                bool is_of_query = trial.node.output_roles[i] == KILN_OPERAND_DQ;
                cr_expect(is_of_query ? at[2] == QUERY || isfinite(value)
                                      : at[2] <= QUERY || isfinite(value));
            }
        }
        kiln_trial_end(&trial);
    }
}

/* Programs write -FLT_MAX where they mean -infinity. */
Test(import_attention, the_lowest_number_as_a_mask)
{
    struct kiln_trial trial;
    run_with(&trial, &masked, false, KILN_OPERAND_ATTN_MASK, 1, -FLT_MAX);
    check(&trial, "the lowest number");
    kiln_trial_end(&trial);
}

/* One key more than there was, in any type, is outside of the bounds. */
Test(import_attention, a_mask_that_is_off_by_one_is_found)
{
    static const enum kiln_dtype types[] = {KILN_DTYPE_F32, KILN_DTYPE_F16, KILN_DTYPE_BF16,
                                            KILN_DTYPE_F8E4M3};
    for (size_t i = 0; i < 2 * sizeof types / sizeof *types; i++) {
        struct kiln_trial trial;
        begin(&trial, &causal, i % 2 != 0, types[i / 2], KILN_DTYPE_F32);
        kiln_trial_run(&trial, &trial.optimized, KILN_MATH_NATIVE);
        trial.node.attention.last_key = 1;
        for (uint32_t k = 0; k < trial.node.output_count; k++)
            cr_expect_gt(compare(&trial, k).wrong, 0, "%s, %s", kiln_dtype_info(types[i / 2])->text,
                         kiln_operand_text((enum kiln_operand)trial.node.output_roles[k]));
        kiln_trial_end(&trial);
    }
}

/* ---- the program ---- */

/* Guards against empty rows are there only where a row may be empty. */
Test(import_attention, full_rows_have_no_guards)
{
    static const struct {
        struct shape shape;
        uint32_t selects;
    } rows[] = {
        {{"plain", 1, 2, 2, 2, 4, 4, 4, 4, false, false, 0, 0, MASK_NONE, false, false}, 0},
        {{"causal", 1, 2, 2, 2, 4, 4, 4, 4, false, true, 0, 0, MASK_NONE, false, false}, 1},
        {{"shifted", 1, 2, 2, 2, 4, 4, 4, 4, false, true, 0, -1, MASK_NONE, false, false}, 3},
        {{"masked", 1, 2, 2, 2, 4, 4, 4, 4, false, false, 0, 0, MASK_KEYS, false, false}, 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kiln_trial trial;
        kiln_trial_begin(&trial, KILN_NODE_ATTENTION, 1);
        trial.node.attention = (struct kiln_attention){
            .has_last_key = rows[i].shape.has_last, .last_key = rows[i].shape.last, .scale = 1};
        add_forward(&trial, &rows[i].shape, KILN_DTYPE_F32, KILN_DTYPE_F32);
        kiln_trial_import(&trial);
        cr_expect_eq(kiln_trial_count(&trial, KILN_OP_SELECT), rows[i].selects, "%s",
                     rows[i].shape.name);
        cr_expect_eq(kiln_trial_count(&trial, KILN_OP_CONTRACT), 2);
        kiln_trial_end(&trial);
    }
}

/* Both factors of the second product fit into matrix instructions. */
Test(import_attention, weights_are_rounded_to_the_type_of_the_values)
{
    static const struct {
        enum kiln_dtype type, weights;
    } rows[] = {{KILN_DTYPE_F16, KILN_DTYPE_F16},
                {KILN_DTYPE_BF16, KILN_DTYPE_BF16},
                {KILN_DTYPE_F8E5M2, KILN_DTYPE_F16}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct kiln_trial trial;
        uint32_t found = 0;
        begin(&trial, &shapes[0], false, rows[i].type, KILN_DTYPE_F32);
        for (uint32_t n = 0; n < trial.optimized.op_count; n++) {
            const struct kiln_op *op = &trial.optimized.ops[n];
            found += op->opcode == KILN_OP_ROUND && op->dtype == rows[i].weights &&
                     trial.optimized.ops[op->operands[0]].opcode == KILN_OP_EXP;
        }
        cr_expect_eq(found, 1);
        kiln_trial_end(&trial);
    }
}
