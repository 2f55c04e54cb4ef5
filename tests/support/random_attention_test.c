/* Random attention: what it is like, and that the interpreter can say something about it. */
#include "compiler/reference/reference.h"
#include "tests/end_to_end/checked_graph.h"
#include "tests/support/random_graph.h"

#include <criterion/criterion.h>
#include <math.h>

TestSuite(random_attention, .timeout = 120);

enum { SEEDS = 400, INTERPRETED_SEEDS = 80, POISON = 0xa5 };

/* How often what makes attention hard occurs. */
struct occurrences {
    uint32_t nodes, forward, backward, written_out;
    uint32_t grouped, other_value_heads, other_depth, causal, windowed, empty_rows, single_query;
    uint32_t folded, summed_to_keys; /* gradients of masks: over batches, and over queries too */
    uint32_t after_forward, operands[KILN_OPERAND_COUNT], dtypes[KILN_DTYPE_COUNT];
};

static void count_node(const struct kiln_graph *graph, const struct kiln_node *node,
                       struct occurrences *met)
{
    struct kiln_attention_sizes s = kiln_attention_sizes_of(graph, node);
    const struct kiln_attention *a = &node->attention;
    bool is_backward = node->kind == KILN_NODE_ATTENTION_BACKWARD;
    met->forward += !is_backward;
    met->backward += is_backward;
    met->grouped += s.key_heads < s.heads;
    met->other_value_heads += s.value_heads != s.key_heads;
    met->other_depth += s.value_depth != s.depth;
    met->causal += a->has_last_key;
    met->windowed += a->has_first_key;
    met->empty_rows += a->has_last_key && a->last_key < 0;
    met->single_query += s.queries == 1;
    for (uint32_t i = 0; i < node->input_count; i++) {
        uint32_t producer = graph->tensors[node->inputs[i]].producer;
        met->operands[node->input_roles[i]]++;
        met->dtypes[graph->tensors[node->inputs[i]].dtype]++;
        met->after_forward += node->input_roles[i] == KILN_OPERAND_STATS && producer != KILN_NONE &&
                              graph->nodes[producer].kind == KILN_NODE_ATTENTION;
    }
    for (uint32_t i = 0; i < node->output_count; i++)
        met->operands[node->output_roles[i]]++;
    uint32_t bias = kiln_node_output(node, KILN_OPERAND_DBIAS);
    if (bias == KILN_NONE)
        return;
    const struct kiln_tensor *dbias = &graph->tensors[bias];
    bool has_queries = dbias->rank >= 2 && dbias->dims[dbias->rank - 2] == s.queries;
    bool has_keys = dbias->dims[dbias->rank - 1] == s.keys;
    bool is_whole = kiln_tensor_elements(dbias) == s.batch * s.heads * s.queries * s.keys;
    met->folded += has_queries && has_keys && !is_whole;
    met->summed_to_keys += has_keys && !has_queries;
}

static void count_graph(const struct kiln_graph *graph, struct occurrences *met)
{
    uint32_t products = 0;
    met->nodes += graph->node_count;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        products += graph->nodes[i].kind == KILN_NODE_MATMUL;
        if (kiln_node_is_attention(&graph->nodes[i]))
            count_node(graph, &graph->nodes[i], met);
    }
    met->written_out += products / 2;
}

Test(random_attention, meets_every_kind)
{
    struct kiln_random_graph_options options;
    struct occurrences met = {.nodes = 0};
    kiln_random_graph_options_init(&options);
    options.families = KILN_RANDOM_ATTENTION | KILN_RANDOM_POINTWISE;
    options.max_nodes = 12;
    options.max_elements = 8000;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct kiln_arena arena;
        struct kiln_error error;
        struct kiln_graph graph;
        kiln_arena_init(&arena);
        kiln_error_init(&error);
        cr_assert_eq(kiln_random_graph_make(seed, &options, &arena, &graph, &error), KILN_OK);
        count_graph(&graph, &met);
        kiln_arena_fini(&arena);
    }
    const uint32_t all = met.forward + met.backward;
    const uint32_t few = all / 20;
    cr_log_info("%u forward, %u backward, %u written out of %u nodes", met.forward, met.backward,
                met.written_out, met.nodes);
    cr_expect_gt(met.forward, SEEDS / 4);
    cr_expect_gt(met.backward, SEEDS / 5);
    cr_expect_gt(met.written_out, SEEDS / 10);
    cr_expect_gt(met.grouped, few);
    cr_expect_gt(met.other_value_heads, few);
    cr_expect_gt(met.other_depth, few);
    cr_expect_gt(met.causal, few);
    cr_expect_gt(met.windowed, few);
    cr_expect_gt(met.empty_rows, 5);
    cr_expect_gt(met.single_query, few);
    cr_expect_gt(met.after_forward, few);
    for (int i = KILN_OPERAND_Q; i <= KILN_OPERAND_AMAX_O; i++)
        cr_expect_gt(met.operands[i], 5, "%s", kiln_operand_text((enum kiln_operand)i));
    cr_expect_gt(met.operands[KILN_OPERAND_SCALE], few);
    cr_expect_gt(met.operands[KILN_OPERAND_DBIAS], few);
    cr_expect_gt(met.folded, 5);
    cr_expect_gt(met.summed_to_keys, 2);
    for (int i = 0; i < KILN_DTYPE_COUNT; i++) {
        if (!kiln_dtype_is_integer((enum kiln_dtype)i) && (KILN_RANDOM_NARROW_DTYPES >> i & 1) == 0)
            cr_expect_gt(met.dtypes[i], 10, "type %d", i);
    }
}

/* Elements of the outputs, and those of which the interpreter knows something. */
static void interpret(uint64_t seed, const struct kiln_random_graph_options *options,
                      uint64_t *elements, uint64_t *known)
{
    struct kiln_arena arena;
    struct kiln_error error;
    struct kiln_graph graph;
    kiln_arena_init(&arena);
    kiln_error_init(&error);
    cr_assert_eq(kiln_random_graph_make(seed, options, &arena, &graph, &error), KILN_OK);
    void **memory = make_tensor_memory(&graph, seed, options, POISON);
    cr_assert_not_null(memory);
    struct kiln_reference_tensor *reference =
        kiln_arena_calloc(&arena, graph.tensor_count, sizeof *reference);
    cr_assert_not_null(reference);
    cr_assert_eq(kiln_reference_run(&graph, (const void *const *)memory, &arena, reference, &error),
                 KILN_OK, "seed %lu: %s", (unsigned long)seed, error.text);
    for (uint32_t i = 0; i < graph.tensor_count; i++) {
        if (graph.tensors[i].role != KILN_TENSOR_OUTPUT)
            continue;
        for (int64_t n = 0; n < kiln_tensor_elements(&graph.tensors[i]); n++)
            *known += isfinite(reference[i].bound[n]) && !isnan(reference[i].real[n]);
        *elements += (uint64_t)kiln_tensor_elements(&graph.tensors[i]);
    }
    free_tensor_memory(&graph, memory);
    kiln_arena_fini(&arena);
}

Test(random_attention, is_mostly_known_to_the_interpreter)
{
    struct kiln_random_graph_options options;
    kiln_random_graph_options_init(&options);
    options.families = KILN_RANDOM_ATTENTION;
    options.max_nodes = 2;
    uint64_t elements = 0, known = 0;
    for (uint64_t seed = 1; seed <= INTERPRETED_SEEDS; seed++)
        interpret(seed, &options, &elements, &known);
    cr_log_info("%lu of %lu elements known", (unsigned long)known, (unsigned long)elements);
    cr_expect_gt(known * 10, elements * 7);
}
