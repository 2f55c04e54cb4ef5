/*
 * Parts of large graphs: every node is in one, none reads what a later one makes, and they end
 * where little goes from one to the next.
 */
#include "compiler/plan/graph_parts.h"

#include "tests/support/hostile_graph.h"

#include <criterion/criterion.h>

static struct kiln_arena arena;

static void set_up(void)
{
    kiln_arena_init(&arena);
}

static void tear_down(void)
{
    kiln_arena_fini(&arena);
}

TestSuite(graph_parts, .init = set_up, .fini = tear_down, .timeout = 60);

static struct kiln_graph make(enum kiln_hostile_family family, uint32_t nodes)
{
    struct kiln_graph graph;
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_hostile_graph_make(family, nodes, &arena, &graph, &error), KILN_OK);
    return graph;
}

static struct kiln_graph_parts split(const struct kiln_graph *graph, uint32_t most)
{
    struct kiln_graph_parts parts;
    struct kiln_error error;
    kiln_error_init(&error);
    cr_assert_eq(kiln_graph_split(graph, most, &arena, &parts, &error), KILN_OK);
    return parts;
}

/* The part of each node. */
static uint32_t *parts_of_nodes(const struct kiln_graph *graph,
                                const struct kiln_graph_parts *parts)
{
    uint32_t *part_of = kiln_arena_calloc(&arena, graph->node_count, sizeof *part_of);
    cr_assert_eq(parts->first[0], 0);
    cr_assert_eq(parts->first[parts->count], graph->node_count);
    for (uint32_t part = 0; part < parts->count; part++) {
        for (uint32_t i = parts->first[part]; i < parts->first[part + 1]; i++) {
            cr_expect(i == parts->first[part] || parts->nodes[i] > parts->nodes[i - 1]);
            cr_assert_eq(part_of[parts->nodes[i]], 0, "node %u comes twice", parts->nodes[i]);
            part_of[parts->nodes[i]] = part + 1;
        }
    }
    return part_of;
}

Test(graph_parts, have_each_node_once_and_read_earlier_parts_only)
{
    for (int family = 0; family < KILN_HOSTILE_COUNT; family++) {
        struct kiln_graph graph = make((enum kiln_hostile_family)family, 200);
        struct kiln_graph_parts parts = split(&graph, 17);
        const uint32_t *part_of = parts_of_nodes(&graph, &parts);
        for (uint32_t i = 0; i < graph.node_count; i++) {
            cr_assert_neq(part_of[i], 0);
            for (uint32_t k = 0; k < graph.nodes[i].input_count; k++) {
                uint32_t producer = graph.tensors[graph.nodes[i].inputs[k]].producer;
                cr_expect(producer == KILN_NONE || part_of[producer] <= part_of[i], "%s: node %u",
                          kiln_hostile_text((enum kiln_hostile_family)family), i);
            }
        }
    }
}

Test(graph_parts, are_as_heavy_as_they_may_be_and_no_heavier)
{
    struct kiln_graph chain = make(KILN_HOSTILE_POINTWISE_CHAIN, 100);
    cr_expect_eq(kiln_graph_weight(&chain), 100);
    struct kiln_graph_parts parts = split(&chain, 30);
    cr_expect_eq(parts.count, 4);
    for (uint32_t part = 0; part < parts.count; part++)
        cr_expect_leq(parts.first[part + 1] - parts.first[part], 30);
    cr_expect_eq(split(&chain, 100).count, 1);
    struct kiln_graph attention = make(KILN_HOSTILE_ATTENTION, 5);
    cr_expect_gt(kiln_graph_weight(&attention), 5);
    cr_expect_eq(split(&attention, 1).count, 5, "a node is in no more than one part");
}

/* Softmaxes that are written out, each step of all before the next one of any: a part has whole
 * ones, since less goes through memory between them. */
Test(graph_parts, bring_together_what_leads_to_one_result)
{
    enum { STEPS = 8, NODES = 64 * STEPS };
    struct kiln_graph graph = make(KILN_HOSTILE_ATTENTION_IN_STEPS, NODES);
    struct kiln_graph_parts parts = split(&graph, 300);
    const uint32_t *part_of = parts_of_nodes(&graph, &parts);
    uint32_t cut = 0;
    cr_assert_gt(parts.count, 2);
    for (uint32_t i = 0; i < graph.node_count; i++) {
        for (uint32_t k = 0; k < graph.nodes[i].input_count; k++) {
            uint32_t producer = graph.tensors[graph.nodes[i].inputs[k]].producer;
            cut += producer != KILN_NONE && part_of[producer] != part_of[i];
        }
    }
    cr_expect_leq(cut, 2, "%u operands come from another part", cut);
}

Test(graph_parts, end_before_a_product_where_as_much_crosses_elsewhere)
{
    struct kiln_graph graph = make(KILN_HOSTILE_LINEAR, 90);
    struct kiln_graph_parts parts = split(&graph, 100);
    cr_assert_gt(parts.count, 2);
    for (uint32_t part = 1; part < parts.count; part++)
        cr_expect_eq(graph.nodes[parts.nodes[parts.first[part]]].kind, KILN_NODE_MATMUL);
}
