/*
 * Random graphs through import and passes, run by the interpreter of the IR, against the oracle:
 * proves the decomposition of the modes, the passes (the optimized program gives the same bits) and
 * the oracle's bounds, with no device involved.
 *
 * usage: ir_random_test [FIRST_SEED [COUNT]]
 */
#include "compiler/ir/import.h"
#include "compiler/ir/passes.h"
#include "compiler/reference/reference.h"
#include "tests/compiler/ir/ir_interpreter.h"
#include "tests/support/random_graph.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEFAULT_COUNT = 5000,
    MODE_SEEDS = 20,
    RATIO_BINS = 8,
    MAX_UNCHECKED_PERCENT = 5,
    MAX_FAILURES = 5,
};

struct statistics {
    int64_t elements, unchecked, wrong, exact;
    int64_t graphs, ops_before, ops_after;
    double worst_ratio;
    int64_t ratios[RATIO_BINS]; /* outputs by worst error/bound, in eighths */
};

struct trial {
    uint64_t seed;
    struct kiln_random_graph_options options;
    struct kiln_arena arena;
    struct kiln_error error;
    struct kiln_graph graph;
    struct kiln_ir plain, optimized;
    struct kiln_reference_tensor *reference;
};

static bool has_memory(const struct kiln_tensor *tensor)
{
    return tensor->role == KILN_TENSOR_INPUT || tensor->role == KILN_TENSOR_HOST_SCALAR ||
           tensor->role == KILN_TENSOR_OUTPUT;
}

/* Memory for all tensors that have one; inputs filled, outputs 0xFF. */
static void **make_memory(struct trial *trial)
{
    void **memory = kiln_arena_calloc(&trial->arena, trial->graph.tensor_count, sizeof *memory);
    for (uint32_t i = 0; i < trial->graph.tensor_count; i++) {
        const struct kiln_tensor *tensor = &trial->graph.tensors[i];
        if (!has_memory(tensor))
            continue;
        size_t bytes = (size_t)kiln_tensor_footprint_bytes(tensor);
        memory[i] = kiln_arena_calloc(&trial->arena, bytes, 1);
        if (tensor->role == KILN_TENSOR_OUTPUT)
            memset(memory[i], 0xFF, bytes);
        else
            kiln_random_graph_fill(trial->seed, &trial->options, &trial->graph, i, memory[i]);
    }
    return memory;
}

static bool prepare(struct trial *trial, struct statistics *statistics)
{
    if (kiln_random_graph_make(trial->seed, &trial->options, &trial->arena, &trial->graph,
                               &trial->error) != KILN_OK)
        return false;
    kiln_ir_init(&trial->plain, &trial->arena);
    kiln_ir_init(&trial->optimized, &trial->arena);
    if (kiln_ir_import(&trial->graph, &trial->plain, &trial->error) != KILN_OK ||
        kiln_ir_import(&trial->graph, &trial->optimized, &trial->error) != KILN_OK ||
        kiln_ir_optimize(&trial->optimized, &trial->graph, &trial->error) != KILN_OK)
        return false;
    statistics->ops_before += trial->plain.op_count;
    statistics->ops_after += trial->optimized.op_count;
    return true;
}

static void print_programs(const struct trial *trial)
{
    struct kiln_buffer text;
    kiln_buffer_init(&text);
    kiln_ir_print(&trial->optimized, NULL, &text);
    printf("%s", kiln_buffer_text(&text));
    kiln_buffer_fini(&text);
    for (uint32_t i = 0; i < trial->graph.node_count; i++) {
        const struct kiln_node *node = &trial->graph.nodes[i];
        printf("node %" PRIu32 ": kind %d %s in", i, (int)node->kind,
               node->kind == KILN_NODE_POINTWISE
                   ? kiln_pointwise_mode_info(node->pointwise.mode)->name
               : node->kind == KILN_NODE_REDUCTION
                   ? kiln_reduction_mode_info(node->reduction.mode)->name
                   : "");
        for (uint32_t j = 0; j < node->input_count; j++)
            printf(" %" PRIu32, node->inputs[j]);
        for (uint32_t j = 0; j < node->output_count; j++) {
            const struct kiln_tensor *output = &trial->graph.tensors[node->outputs[j]];
            printf(" out %" PRIu32 " %s", node->outputs[j], kiln_dtype_info(output->dtype)->text);
        }
        printf("\n");
    }
}

/* Compares all outputs with the oracle. */
static bool check_outputs(struct trial *trial, void *const *memory, const char *what,
                          struct statistics *statistics)
{
    for (uint32_t i = 0; i < trial->graph.tensor_count; i++) {
        if (trial->graph.tensors[i].role != KILN_TENSOR_OUTPUT)
            continue;
        struct kiln_comparison comparison;
        kiln_reference_compare(&trial->graph, i, memory[i], &trial->reference[i], &comparison);
        statistics->elements += comparison.elements;
        statistics->unchecked += comparison.unchecked;
        if (comparison.wrong == 0) {
            int bin = (int)(comparison.worst_ratio * (double)RATIO_BINS);
            statistics->worst_ratio = fmax(statistics->worst_ratio, comparison.worst_ratio);
            statistics->exact += comparison.worst_ratio == 0;
            statistics->ratios[bin < RATIO_BINS ? bin : RATIO_BINS - 1]++;
            continue;
        }
        statistics->wrong += comparison.wrong;
        printf("seed %" PRIu64 " (%s): tensor %" PRIu32 " (%s), element %" PRId64
               ": got %.17g, expected %.17g +- %g\n",
               trial->seed, what, i, kiln_dtype_info(trial->graph.tensors[i].dtype)->text,
               comparison.first_wrong, comparison.got, comparison.expected, comparison.bound);
        return false;
    }
    return true;
}

static bool same_value(enum kiln_dtype dtype, const unsigned char *a, const unsigned char *b)
{
    size_t bytes = kiln_dtype_info(dtype)->bytes;
    if (memcmp(a, b, bytes) == 0)
        return true;
    /* NaN has many codes; which one is nobody's promise. */
    static const struct {
        enum kiln_dtype dtype;
        uint64_t infinity; /* magnitudes above are NaN */
    } rows[] = {{KILN_DTYPE_F32, 0x7f800000}, {KILN_DTYPE_F16, 0x7c00},
                {KILN_DTYPE_BF16, 0x7f80},    {KILN_DTYPE_F64, UINT64_C(0x7ff0000000000000)},
                {KILN_DTYPE_F8E4M3, 0x7e},    {KILN_DTYPE_F8E5M2, 0x7c}};
    uint64_t x = 0, y = 0, mask = UINT64_MAX >> (65 - 8 * bytes);
    memcpy(&x, a, bytes);
    memcpy(&y, b, bytes);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].dtype == dtype)
            return (x & mask) > rows[i].infinity && (y & mask) > rows[i].infinity;
    }
    return false;
}

static bool check_same_bits(const struct trial *trial, void *const *a, void *const *b)
{
    for (uint32_t i = 0; i < trial->graph.tensor_count; i++) {
        const struct kiln_tensor *tensor = &trial->graph.tensors[i];
        if (tensor->role != KILN_TENSOR_OUTPUT)
            continue;
        const unsigned char *x = a[i], *y = b[i];
        size_t bytes = kiln_dtype_info(tensor->dtype)->bytes;
        if (kiln_dtype_is_packed(tensor->dtype)) {
            if (memcmp(x, y, (size_t)kiln_tensor_footprint_bytes(tensor)) == 0)
                continue;
            printf("seed %" PRIu64 ": passes changed tensor %" PRIu32 "\n", trial->seed, i);
            return false;
        }
        for (int64_t n = kiln_tensor_footprint_elements(tensor); n > 0;
             n--, x += bytes, y += bytes) {
            if (same_value(tensor->dtype, x, y))
                continue;
            printf("seed %" PRIu64 ": passes changed tensor %" PRIu32 "\n", trial->seed, i);
            return false;
        }
    }
    return true;
}

/* Runs a program on fresh memory; NULL on failure. */
static void **interpret(struct trial *trial, const struct kiln_ir *ir,
                        enum kiln_interpreter_math math)
{
    void **memory = make_memory(trial);
    if (kiln_ir_interpret(ir, &trial->graph, memory, math, &trial->arena, &trial->error) != KILN_OK)
        return NULL;
    return memory;
}

static bool run(struct trial *trial, struct statistics *statistics)
{
    if (!prepare(trial, statistics))
        return false;
    trial->reference =
        kiln_arena_calloc(&trial->arena, trial->graph.tensor_count, sizeof *trial->reference);
    /* With math rounded once, as constants are folded, the passes must keep every bit. */
    void **plain = interpret(trial, &trial->plain, KILN_MATH_ROUNDED);
    void **optimized = interpret(trial, &trial->optimized, KILN_MATH_ROUNDED);
    void **native = interpret(trial, &trial->plain, KILN_MATH_NATIVE);
    void **noisy = interpret(trial, &trial->optimized, KILN_MATH_NOISY);
    if (plain == NULL || optimized == NULL || native == NULL || noisy == NULL ||
        kiln_reference_run(&trial->graph, (const void *const *)plain, &trial->arena,
                           trial->reference, &trial->error) != KILN_OK)
        return false;
    bool good = check_outputs(trial, native, "imported", statistics) &&
                check_outputs(trial, noisy, "optimized", statistics) &&
                check_same_bits(trial, plain, optimized);
    statistics->graphs++;
    if (!good)
        print_programs(trial);
    return good;
}

static void print_statistics(const struct statistics *statistics)
{
    printf("%" PRId64 " graphs, %" PRId64 " operations, %" PRId64 " after the passes\n",
           statistics->graphs, statistics->ops_before, statistics->ops_after);
    printf("%" PRId64 " elements, %.2f %% unchecked; outputs by worst error/bound:",
           statistics->elements,
           100.0 * (double)statistics->unchecked / (double)statistics->elements);
    printf(" 0: %" PRId64, statistics->exact);
    for (int i = 0; i < RATIO_BINS; i++)
        printf(" <%d/%d: %" PRId64, i + 1, RATIO_BINS,
               statistics->ratios[i] - (i == 0 ? statistics->exact : 0));
    printf("\n");
}

static bool run_seed(uint64_t seed, const struct kiln_random_graph_options *options,
                     struct statistics *statistics)
{
    struct trial trial = {.seed = seed, .options = *options};
    kiln_arena_init(&trial.arena);
    kiln_error_init(&trial.error);
    bool good = run(&trial, statistics);
    if (!good)
        printf("seed %" PRIu64 " failed %s\n", seed, trial.error.text);
    kiln_arena_fini(&trial.arena);
    return good;
}

/* Each mode alone on floats: every mode is met, and its bound is seen to be neither too small nor
 * idle. */
static int run_modes(uint64_t first, struct statistics *total)
{
    int failures = 0;
    printf("worst error/bound of each mode on floats:");
    for (uint32_t mode = 1; mode < KILN_POINTWISE_MODE_COUNT; mode++) {
        struct statistics statistics = {0};
        struct kiln_random_graph_options options;
        kiln_random_graph_options_init(&options);
        options.max_nodes = 1;
        options.modes = UINT64_C(1) << mode;
        options.dtypes = 1u << KILN_DTYPE_F32;
        for (uint64_t seed = first; seed < first + MODE_SEEDS; seed++)
            failures += !run_seed(seed, &options, &statistics);
        printf(" %s %.2f", kiln_pointwise_mode_info((enum kiln_pointwise_mode)mode)->name,
               statistics.worst_ratio);
        total->elements += statistics.elements;
        total->unchecked += statistics.unchecked;
        total->graphs += statistics.graphs;
    }
    printf("\n");
    return failures;
}

int main(int argc, char **argv)
{
    uint64_t first = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : DEFAULT_COUNT;
    struct statistics statistics = {0};
    int failures = run_modes(first, &statistics);
    for (uint64_t seed = first; seed < first + count && failures < MAX_FAILURES; seed++) {
        struct kiln_random_graph_options options;
        kiln_random_graph_options_init(&options);
        options.max_elements = 300;
        options.max_nodes = seed % 100 == 0 ? 256 : seed % 4 == 0 ? 40 : 6;
        options.families = seed % 2 == 0   ? KILN_RANDOM_POINTWISE
                           : seed % 8 == 1 ? KILN_RANDOM_GROUPED | KILN_RANDOM_POINTWISE
                                           : KILN_RANDOM_ALL;
        failures += !run_seed(seed, &options, &statistics);
    }
    print_statistics(&statistics);
    bool vague = statistics.unchecked * 100 > statistics.elements * MAX_UNCHECKED_PERCENT;
    if (vague)
        printf("too many elements are unchecked\n");
    return failures != 0 || vague ? EXIT_FAILURE : EXIT_SUCCESS;
}
