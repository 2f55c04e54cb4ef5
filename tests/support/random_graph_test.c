#include "compiler/graph/graph_reader.h"
#include "compiler/graph/wire_messages.h"
#include "tests/support/random_graph.h"

#include <criterion/criterion.h>
#include <string.h>

enum { SEEDS = 300 };

static void expect_round_trip(uint64_t seed, const struct kiln_random_graph_options *options)
{
    struct kiln_arena arena;
    struct kiln_error error;
    struct kiln_graph graph, copy;
    struct kiln_buffer bytes, before, after;
    kiln_arena_init(&arena);
    kiln_error_init(&error);
    kiln_buffer_init(&bytes);
    kiln_buffer_init(&before);
    kiln_buffer_init(&after);
    cr_assert_eq(kiln_random_graph_make(seed, options, &arena, &graph, &error), KILN_OK);
    cr_assert_eq(kiln_graph_write(&graph, options->era, &bytes, &error), KILN_OK, "seed %lu: %s",
                 (unsigned long)seed, error.text);
    cr_assert_eq(kiln_graph_read(bytes.data, bytes.size, &arena, &copy, &error), KILN_OK,
                 "seed %lu: %s", (unsigned long)seed, error.text);
    kiln_graph_append_canonical(&graph, &before);
    kiln_graph_append_canonical(&copy, &after);
    cr_assert(before.size == after.size && memcmp(before.data, after.data, before.size) == 0,
              "seed %lu reads back as another graph", (unsigned long)seed);
    kiln_buffer_fini(&bytes);
    kiln_buffer_fini(&before);
    kiln_buffer_fini(&after);
    kiln_arena_fini(&arena);
}

static void expect_round_trips(uint32_t families, enum kiln_wire_era era)
{
    struct kiln_random_graph_options options;
    kiln_random_graph_options_init(&options);
    options.families = families;
    options.era = era;
    options.dtypes &= ~(UINT32_C(1) << KILN_DTYPE_BOOL); /* has no number on the wire */
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        expect_round_trip(seed, &options);
}

/* The graphs obey the reader's rules and its canonical order: they come back as they were made. */
Test(random_graph, pointwise_graphs_survive_the_current_layout)
{
    expect_round_trips(KILN_RANDOM_POINTWISE, KILN_WIRE_ERA_CURRENT);
}

Test(random_graph, pointwise_graphs_survive_the_nov2025_layout)
{
    expect_round_trips(KILN_RANDOM_POINTWISE, KILN_WIRE_ERA_NOV2025);
}

Test(random_graph, reductions_survive_the_current_layout)
{
    expect_round_trips(KILN_RANDOM_POINTWISE | KILN_RANDOM_REDUCTIONS, KILN_WIRE_ERA_CURRENT);
}

Test(random_graph, all_families_survive_the_current_layout)
{
    expect_round_trips(KILN_RANDOM_ALL, KILN_WIRE_ERA_CURRENT);
}

Test(random_graph, all_families_survive_the_nov2025_layout)
{
    expect_round_trips(KILN_RANDOM_ALL, KILN_WIRE_ERA_NOV2025);
}

Test(random_graph, convolutions_survive_the_current_layout)
{
    expect_round_trips(KILN_RANDOM_CONVOLUTIONS, KILN_WIRE_ERA_CURRENT);
    expect_round_trips(KILN_RANDOM_CONVOLUTIONS | KILN_RANDOM_ALL, KILN_WIRE_ERA_CURRENT);
}

Test(random_graph, convolutions_survive_the_nov2025_layout)
{
    expect_round_trips(KILN_RANDOM_CONVOLUTIONS, KILN_WIRE_ERA_NOV2025);
}

Test(random_graph, grouped_products_survive_the_current_layout)
{
    expect_round_trips(KILN_RANDOM_GROUPED | KILN_RANDOM_POINTWISE, KILN_WIRE_ERA_CURRENT);
}

Test(random_graph, attention_survives_the_current_layout)
{
    expect_round_trips(KILN_RANDOM_ATTENTION, KILN_WIRE_ERA_CURRENT);
    expect_round_trips(KILN_RANDOM_ATTENTION | KILN_RANDOM_ALL, KILN_WIRE_ERA_CURRENT);
}

/* Calls `visit` with the graphs of SEEDS seeds. */
static void visit_graphs(const struct kiln_random_graph_options *options,
                         void (*visit)(const struct kiln_graph *graph, void *context),
                         void *context)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct kiln_arena arena;
        struct kiln_error error;
        struct kiln_graph graph;
        kiln_arena_init(&arena);
        kiln_error_init(&error);
        cr_assert_eq(kiln_random_graph_make(seed, options, &arena, &graph, &error), KILN_OK);
        visit(&graph, context);
        kiln_arena_fini(&arena);
    }
}

struct occurrences {
    bool modes[KILN_POINTWISE_MODE_COUNT], dtypes[KILN_DTYPE_COUNT];
    bool ranks[KILN_MAX_RANK + 1], roles[KILN_TENSOR_HOST_SCALAR + 1];
    bool zero_stride, read_output;
};

static void note_occurrences(const struct kiln_graph *graph, void *context)
{
    struct occurrences *met = context;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct kiln_tensor *tensor = &graph->tensors[i];
        met->dtypes[tensor->dtype] = true;
        met->ranks[tensor->rank] = true;
        met->roles[tensor->role] = true;
        for (uint32_t axis = 0; axis < tensor->rank; axis++)
            met->zero_stride =
                met->zero_stride || (tensor->dims[axis] > 1 && tensor->strides[axis] == 0);
    }
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct kiln_node *node = &graph->nodes[i];
        cr_assert_eq(node->kind, KILN_NODE_POINTWISE);
        met->modes[node->pointwise.mode] = true;
        for (uint32_t j = 0; j < node->input_count; j++)
            met->read_output =
                met->read_output || graph->tensors[node->inputs[j]].role == KILN_TENSOR_OUTPUT;
    }
}

Test(random_graph, meets_every_mode_type_rank_and_role)
{
    struct kiln_random_graph_options options;
    struct occurrences met = {.zero_stride = false};
    kiln_random_graph_options_init(&options);
    visit_graphs(&options, note_occurrences, &met);
    for (int i = 1; i < KILN_POINTWISE_MODE_COUNT; i++)
        cr_expect(met.modes[i], "mode %d", i);
    for (int i = 0; i < KILN_DTYPE_COUNT; i++)
        cr_expect(met.dtypes[i] != 0 || (KILN_RANDOM_NARROW_DTYPES >> i & 1) != 0, "type %d", i);
    for (int i = 0; i <= KILN_MAX_RANK; i++)
        cr_expect(met.ranks[i], "rank %d", i);
    for (int i = 0; i <= KILN_TENSOR_HOST_SCALAR; i++)
        cr_expect(met.roles[i], "role %d", i);
    cr_expect(met.zero_stride);
    cr_expect(met.read_output);
}

/* How often the kinds and modes of reductions and norms, and what makes them hard, occur. */
struct reductions {
    uint32_t nodes, kinds[KILN_NODE_BATCHNORM_BACKWARD + 1], modes[KILN_REDUCTION_MODE_COUNT];
    uint32_t inputs[KILN_OPERAND_COUNT], outputs[KILN_OPERAND_COUNT];
    uint32_t without_statistics; /* backward nodes that find mean and deviation themselves */
    uint32_t saved_statistics;   /* backward nodes that get them from a forward node */
    uint32_t inner, outer, all;  /* reductions of the last axis but not all, of others, of all */
    uint32_t chains;             /* reductions of a value that the same axes were reduced for */
    uint32_t long_rows, dead_outputs;
    uint32_t whole_scales; /* RMSNorms with a scale per element, of a batch above 1 */
};

/* True if a producer of the node's operand, at most three nodes up, reads a reduction over the same
 * axes. */
static bool continues_chain(const struct kiln_graph *graph, const struct kiln_node *reduction,
                            uint32_t tensor, uint32_t depth)
{
    uint32_t producer = graph->tensors[tensor].producer;
    if (producer == KILN_NONE || depth == 0)
        return false;
    const struct kiln_node *node = &graph->nodes[producer];
    if (node->kind == KILN_NODE_REDUCTION)
        return node->reduction.axes == reduction->reduction.axes && node->reduction.axes != 0;
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->kind == KILN_NODE_POINTWISE &&
            continues_chain(graph, reduction, node->inputs[i], depth - 1))
            return true;
    }
    return false;
}

static void count_reduction(const struct kiln_graph *graph, const struct kiln_node *node,
                            struct reductions *met)
{
    const struct kiln_tensor *in = &graph->tensors[node->inputs[0]];
    const struct kiln_tensor *out = &graph->tensors[node->outputs[0]];
    uint32_t axes = 0, longer = 0, last = 0;
    cr_assert_eq(in->rank, out->rank);
    for (uint32_t i = 0; i < in->rank; i++) {
        cr_assert(out->dims[i] == 1 || out->dims[i] == in->dims[i]);
        axes |= (uint32_t)(out->dims[i] != in->dims[i]) << i;
        longer |= (uint32_t)(in->dims[i] > 1) << i;
        last = in->dims[i] > 1 ? UINT32_C(1) << i : last;
    }
    cr_assert_eq(node->reduction.axes, axes);
    met->modes[node->reduction.mode]++;
    met->all += axes != 0 && axes == longer;
    met->inner += axes != longer && (axes & last) != 0;
    met->outer += axes != 0 && (axes & last) == 0;
    met->chains += continues_chain(graph, node, node->inputs[0], 4);
    met->long_rows += kiln_tensor_elements(in) / kiln_tensor_elements(out) >= 1000;
}

static void count_nodes(const struct kiln_graph *graph, void *context)
{
    struct reductions *met = context;
    met->nodes += graph->node_count;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct kiln_node *node = &graph->nodes[i];
        met->kinds[node->kind]++;
        for (uint32_t k = 0; k < node->input_count; k++)
            met->inputs[node->input_roles[k]]++;
        for (uint32_t k = 0; k < node->output_count; k++) {
            const struct kiln_tensor *tensor = &graph->tensors[node->outputs[k]];
            cr_assert_eq(tensor->producer, i);
            met->outputs[node->output_roles[k]]++;
            met->dead_outputs += k != 0 && tensor->role == KILN_TENSOR_VIRTUAL;
        }
        if (node->kind == KILN_NODE_REDUCTION)
            count_reduction(graph, node, met);
        if (node->kind == KILN_NODE_LAYERNORM_BACKWARD ||
            node->kind == KILN_NODE_BATCHNORM_BACKWARD) {
            uint32_t mean = kiln_node_input(node, KILN_OPERAND_MEAN);
            met->without_statistics += mean == KILN_NONE;
            met->saved_statistics +=
                mean != KILN_NONE && graph->tensors[mean].producer != KILN_NONE;
        }
        if (node->kind == KILN_NODE_RMSNORM || node->kind == KILN_NODE_RMSNORM_BACKWARD) {
            const struct kiln_tensor *x = &graph->tensors[kiln_node_input(node, KILN_OPERAND_X)];
            uint32_t scale = kiln_node_input(node, KILN_OPERAND_SCALE);
            met->whole_scales += x->dims[0] > 1 && kiln_tensor_elements(&graph->tensors[scale]) ==
                                                       kiln_tensor_elements(x);
        }
    }
}

Test(random_graph, meets_every_kind_and_mode_of_reductions)
{
    struct kiln_random_graph_options options;
    struct reductions met = {.nodes = 0};
    kiln_random_graph_options_init(&options);
    options.families = KILN_RANDOM_POINTWISE | KILN_RANDOM_REDUCTIONS | KILN_RANDOM_NORMS;
    visit_graphs(&options, count_nodes, &met);
    uint32_t norms = met.nodes - met.kinds[KILN_NODE_POINTWISE] - met.kinds[KILN_NODE_REDUCTION];
    /* Of the nodes, a sixth at least of each family, and most of all pointwise ones between them.
     */
    cr_expect_gt(met.kinds[KILN_NODE_POINTWISE], met.nodes / 3);
    cr_expect_gt(met.kinds[KILN_NODE_REDUCTION], met.nodes / 6);
    cr_expect_gt(norms, met.nodes / 6);
    for (int i = 0; i <= KILN_NODE_BATCHNORM_BACKWARD; i++)
        cr_expect_gt(met.kinds[i], met.nodes / 100, "kind %d", i);
    for (int i = 1; i < KILN_REDUCTION_MODE_COUNT; i++)
        cr_expect_gt(met.modes[i], met.nodes / 200, "mode %d", i);
    for (int i = 0; i < KILN_OPERAND_COUNT; i++) {
        if (i >= KILN_OPERAND_A) /* of products, convolutions and attention */
            continue;
        cr_expect_gt(met.inputs[i] + met.outputs[i], met.nodes / 200, "%s",
                     kiln_operand_text((enum kiln_operand)i));
    }
    cr_expect_gt(met.without_statistics, 20);
    cr_expect_gt(met.saved_statistics, 20);
    cr_expect_gt(met.inner, met.kinds[KILN_NODE_REDUCTION] / 10);
    cr_expect_gt(met.outer, met.kinds[KILN_NODE_REDUCTION] / 10);
    cr_expect_gt(met.all, met.kinds[KILN_NODE_REDUCTION] / 10);
    cr_expect_gt(met.chains, met.kinds[KILN_NODE_REDUCTION] / 10);
    cr_expect_gt(met.long_rows, met.kinds[KILN_NODE_REDUCTION] / 50);
    cr_expect_gt(met.dead_outputs, 20);
    cr_expect_gt(met.whole_scales, 20);
}

static void expect_nov2025_kinds(const struct kiln_graph *graph, void *context)
{
    bool *met = context;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct kiln_node *node = &graph->nodes[i];
        cr_assert(node->kind == KILN_NODE_POINTWISE || kiln_node_is_convolution(node) ||
                  (node->kind >= KILN_NODE_BATCHNORM_INFERENCE &&
                   node->kind <= KILN_NODE_BATCHNORM_BACKWARD));
        if (node->kind == KILN_NODE_BATCHNORM_INFERENCE) {
            cr_assert_neq(kiln_node_input(node, KILN_OPERAND_VARIANCE), KILN_NONE);
            cr_assert_eq(kiln_node_input(node, KILN_OPERAND_EPSILON), KILN_NONE);
        }
        met[node->kind] = true;
    }
}

Test(random_graph, keeps_to_what_the_older_layout_has)
{
    struct kiln_random_graph_options options;
    bool met[KILN_NODE_KIND_COUNT] = {false};
    kiln_random_graph_options_init(&options);
    options.families = KILN_RANDOM_ALL;
    options.era = KILN_WIRE_ERA_NOV2025;
    visit_graphs(&options, expect_nov2025_kinds, met);
    for (int i = KILN_NODE_BATCHNORM_INFERENCE; i <= KILN_NODE_BATCHNORM_BACKWARD; i++)
        cr_expect(met[i], "kind %d", i);
}

/* What the graphs with matrix products have been seen to do. */
struct products {
    uint32_t nodes, products, deep, repeated, shared, transposed, squares, computed, read, chained;
    uint32_t dtypes[KILN_DTYPE_COUNT];
};

static bool is_product(const struct kiln_graph *graph, uint32_t node)
{
    return node != KILN_NONE && graph->nodes[node].kind == KILN_NODE_MATMUL;
}

static void count_product(const struct kiln_graph *graph, const struct kiln_node *node,
                          struct products *met)
{
    const struct kiln_tensor *c = &graph->tensors[node->outputs[0]];
    met->products++;
    met->deep += c->rank > 4;
    met->squares += node->inputs[0] == node->inputs[1];
    for (uint32_t i = 0; i < 2; i++) {
        const struct kiln_tensor *factor = &graph->tensors[node->inputs[i]];
        met->dtypes[factor->dtype]++;
        met->computed += factor->producer != KILN_NONE;
        met->chained += is_product(graph, factor->producer);
        met->transposed += factor->strides[factor->rank - 2] == 1;
        for (uint32_t axis = 0; axis + 2 < c->rank; axis++) {
            met->shared += factor->dims[axis] == 1 && c->dims[axis] > 1;
            met->repeated += factor->dims[axis] > 1 && factor->dims[axis] < c->dims[axis];
        }
    }
}

static void count_products(const struct kiln_graph *graph, void *context)
{
    struct products *met = context;
    met->nodes += graph->node_count;
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct kiln_node *node = &graph->nodes[i];
        if (node->kind == KILN_NODE_MATMUL)
            count_product(graph, node, met);
        for (uint32_t j = 0; j < node->input_count; j++)
            met->read += is_product(graph, graph->tensors[node->inputs[j]].producer);
    }
}

Test(random_graph, meets_every_kind_of_matrix_product)
{
    struct kiln_random_graph_options options;
    struct products met = {.nodes = 0};
    kiln_random_graph_options_init(&options);
    options.families =
        KILN_RANDOM_POINTWISE | KILN_RANDOM_REDUCTIONS | KILN_RANDOM_NORMS | KILN_RANDOM_PRODUCTS;
    options.max_nodes = 10;
    visit_graphs(&options, count_products, &met);
    cr_expect_gt(met.products, met.nodes / 8);
    const uint32_t few = met.products / 50;
    cr_expect_gt(met.deep, few);
    cr_expect_gt(met.repeated, few);
    cr_expect_gt(met.shared, few);
    cr_expect_gt(met.transposed, few);
    cr_expect_gt(met.squares, met.products / 200);
    cr_expect_gt(met.computed, few);
    cr_expect_gt(met.chained, few);
    cr_expect_gt(met.read, few);
    for (int i = 0; i < KILN_DTYPE_COUNT; i++) {
        bool has_rule =
            !kiln_dtype_is_integer((enum kiln_dtype)i) || i == KILN_DTYPE_I8 || i == KILN_DTYPE_U8;
        if (has_rule && (KILN_RANDOM_NARROW_DTYPES >> i & 1) == 0)
            cr_expect_gt(met.dtypes[i], met.products / 100, "type %d", i);
    }
}
