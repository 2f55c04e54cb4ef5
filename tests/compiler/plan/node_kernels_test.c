/*
 * The kernels of each node: of small graphs node by node; of samples, shared graphs and random
 * graphs by what must hold for all.
 */
#include "compiler/plan/node_kernels.h"
#include "tests/compiler/every_graph.h"
#include "tests/compiler/sketched_plans.h"

#include <criterion/criterion.h>

/* ---- what holds for every graph ---- */

static bool stores(const struct kiln_kernel_plan *plan, uint32_t tensor)
{
    for (const struct kiln_kernel_plan *part = plan; part != NULL; part = part->next) {
        for (uint32_t g = 0; g < part->partition.group_count; g++) {
            const struct kiln_fusion_group *group = &part->partition.groups[g];
            for (uint32_t i = group->load_count; i < group->access_count; i++) {
                if (group->accesses[i].tensor == tensor)
                    return true;
            }
        }
    }
    return false;
}

/* True if any part of the plan has an operation that was made for the node. */
static bool has_operation(const struct kiln_kernel_plan *plan, uint32_t node)
{
    for (const struct kiln_kernel_plan *part = plan; part != NULL; part = part->next) {
        for (uint32_t i = 0; i < part->ir.op_count; i++) {
            const struct kiln_op *op = &part->ir.ops[i];
            enum kiln_op_class op_class = kiln_opcode_info(op->opcode)->op_class;
            if (op->node == node && op_class != KILN_OP_CLASS_SOURCE &&
                op_class != KILN_OP_CLASS_BROADCAST && op_class != KILN_OP_CLASS_SINK)
                return true;
        }
    }
    return false;
}

static void check_node(const struct kiln_kernel_plan *plan, const struct kiln_graph *graph,
                       const struct kiln_node_kernels *nodes, uint32_t node, const char *name)
{
    const struct kiln_node_home *home = &nodes->homes[node];
    bool has_kernel = home->fate == KILN_NODE_COMPUTED;
    cr_assert_eq(has_kernel, home->kernel < kiln_kernel_plan_kernels(plan), "%s: node %u", name,
                 node);
    cr_assert_eq(home->fate == KILN_NODE_FORWARDED, home->tensor < graph->tensor_count,
                 "%s: node %u", name, node);
    cr_assert(home->fate != KILN_NODE_UNUSED || !has_operation(plan, node),
              "%s: node %u has work, and no kernel", name, node);
    for (uint32_t k = 0; k < graph->nodes[node].output_count; k++) {
        uint32_t tensor = graph->nodes[node].outputs[k];
        bool is_output = graph->tensors[tensor].role == KILN_TENSOR_OUTPUT;
        cr_assert(!is_output || (has_kernel && stores(plan, tensor)), "%s: node %u", name, node);
    }
}

/* Nodes that constants alone go into, however they get there. */
static void find_known(const struct kiln_graph *graph, const struct kiln_node_kernels *nodes,
                       bool *ret_is_known)
{
    for (uint32_t i = 0; i < graph->node_count; i++) {
        const struct kiln_node *node = &graph->nodes[i];
        ret_is_known[i] = true;
        for (uint32_t k = 0; k < node->input_count; k++) {
            const struct kiln_tensor *tensor = &graph->tensors[node->inputs[k]];
            ret_is_known[i] &= tensor->producer == KILN_NONE
                                   ? tensor->role == KILN_TENSOR_CONSTANT
                                   : ret_is_known[tensor->producer] ||
                                         nodes->homes[tensor->producer].fate == KILN_NODE_CONSTANT;
        }
    }
}

/* Every node has one home, and every kernel something to do. */
static void check(const struct kiln_kernel_plan *plan, const struct kiln_graph *graph,
                  const char *name)
{
    struct kiln_arena arena;
    struct kiln_error error;
    struct kiln_node_kernels nodes;
    kiln_arena_init(&arena);
    kiln_error_init(&error);
    cr_assert_eq(kiln_find_node_kernels(plan, graph, &arena, &nodes, &error), KILN_OK);
    uint32_t kernels = kiln_kernel_plan_kernels(plan);
    bool *is_used = kiln_arena_calloc(&arena, (size_t)kernels + 1, sizeof *is_used);
    bool *is_known = kiln_arena_calloc(&arena, graph->node_count, sizeof *is_known);
    find_known(graph, &nodes, is_known);
    for (uint32_t i = 0; i < graph->node_count; i++) {
        check_node(plan, graph, &nodes, i, name);
        /* One operand can make a pointwise node constant, such as a factor of 0. */
        cr_assert(nodes.homes[i].fate != KILN_NODE_CONSTANT || is_known[i] ||
                      graph->nodes[i].kind == KILN_NODE_POINTWISE,
                  "%s: node %u is no constant", name, i);
        if (nodes.homes[i].fate == KILN_NODE_COMPUTED)
            is_used[nodes.homes[i].kernel] = true;
    }
    for (uint32_t i = 0; i < nodes.visit_count; i++) {
        const struct kiln_node_visit *visit = &nodes.visits[i];
        is_used[visit->kernel] = true;
        cr_assert_neq(nodes.homes[visit->node].kernel, visit->kernel, "%s: node %u", name,
                      visit->node);
        cr_assert_eq(nodes.homes[visit->node].fate, KILN_NODE_COMPUTED, "%s: node %u", name,
                     visit->node);
        for (uint32_t k = 0; k < i; k++)
            cr_assert(nodes.visits[k].node != visit->node ||
                          nodes.visits[k].kernel != visit->kernel,
                      "%s: node %u visits kernel %u twice", name, visit->node, visit->kernel);
    }
    for (uint32_t i = 0; i < kernels; i++)
        cr_assert(is_used[i], "%s: kernel %u computes no node", name, i);
    kiln_arena_fini(&arena);
}

static void plan_and_check(const struct kiln_graph *graph, const char *target_name,
                           const struct kiln_lower_options *options, const char *name)
{
    struct kiln_arena arena;
    struct kiln_error error;
    struct kiln_target target;
    struct kiln_kernel_plan plan;
    kiln_error_init(&error);
    kiln_arena_init(&arena);
    cr_assert_eq(kiln_target_parse(target_name, &target, &error), KILN_OK, "%s", error.text);
    enum kiln_status status = kiln_kernel_plan_make(graph, &target, options, &arena, &plan, &error);
    cr_assert(status == KILN_OK || status == KILN_UNSUPPORTED || status == KILN_REJECTED,
              "%s for %s: %s", name, target_name, error.text);
    if (status == KILN_OK)
        check(&plan, graph, name);
    kiln_arena_fini(&arena);
}

static void check_all_ways(const struct kiln_graph *graph, const char *name)
{
    static const struct kiln_lower_options ways[] = {
        {0}, {.no_fusion = true}, {.max_part_weight = 3}};
    plan_and_check(graph, "gfx942", &ways[0], name);
    plan_and_check(graph, "gfx1100", &ways[0], name);
    plan_and_check(graph, "host", &ways[0], name);
    plan_and_check(graph, "gfx942", &ways[1], name);
    plan_and_check(graph, "gfx942", &ways[2], name);
}

Test(node_kernels, every_node_of_stored_graphs_has_one_home, .timeout = 120)
{
    cr_assert_gt(every_stored_graph(check_all_ways), 30);
}

Test(node_kernels, every_node_of_random_graphs_has_one_home, .timeout = 120)
{
    every_random_graph(check_all_ways);
}

/* ---- node by node ---- */

static struct sketched_plans plans;
static struct kiln_node_kernels nodes;

static void set_up(void)
{
    sketched_plans_init(&plans);
}

static void tear_down(void)
{
    sketched_plans_fini(&plans);
}

TestSuite(node_homes, .init = set_up, .fini = tear_down, .timeout = 30);

static uint32_t find(const char *sketch)
{
    const struct kiln_lower_options options = {0};
    struct kiln_kernel_plan plan = sketched_plans_make(&plans, sketch, "gfx942", &options);
    const struct kiln_graph *graph = &plans.graphs[plans.count - 1].graph;
    cr_assert_eq(kiln_find_node_kernels(&plan, graph, &plans.arena, &nodes, &plans.error), KILN_OK);
    check(&plan, graph, sketch);
    return kiln_kernel_plan_kernels(&plan);
}

static void expect_home(uint32_t node, enum kiln_node_fate fate, uint32_t kernel)
{
    cr_expect_eq(nodes.homes[node].fate, fate, "node %u", node);
    cr_expect_eq(nodes.homes[node].kernel, kernel, "node %u in kernel %u", node,
                 nodes.homes[node].kernel);
}

static void expect_visit(uint32_t index, uint32_t node, uint32_t kernel, bool is_again)
{
    cr_assert_lt(index, nodes.visit_count);
    cr_expect_eq(nodes.visits[index].node, node, "%u", nodes.visits[index].node);
    cr_expect_eq(nodes.visits[index].kernel, kernel, "%u", nodes.visits[index].kernel);
    cr_expect_eq(nodes.visits[index].is_again, is_again);
}

Test(node_homes, equal_nodes_are_in_one_kernel)
{
    cr_expect_eq(find("Pointwise in_0@101=64 out_0@102=64 !operation='EXP' | "
                      "Pointwise in_0@101 out_0@103=64 !operation='EXP'"),
                 1);
    expect_home(0, KILN_NODE_COMPUTED, 0);
    expect_home(1, KILN_NODE_COMPUTED, 0);
    cr_expect_eq(nodes.visit_count, 0);
}

Test(node_homes, arithmetic_on_constants_is_done_at_compile_time)
{
    find("Pointwise in_0=k2 in_1=k3 out_0@105=1:virtual !operation='MUL' | "
         "Pointwise in_0@105 in_1=k4 out_0@106=1:virtual !operation='ADD' | "
         "Pointwise in_0@101=64 in_1@106 out_0@102=64 !operation='MUL'");
    expect_home(0, KILN_NODE_CONSTANT, KILN_NONE);
    expect_home(1, KILN_NODE_CONSTANT, KILN_NONE);
    expect_home(2, KILN_NODE_COMPUTED, 0);
}

Test(node_homes, a_result_that_is_an_input_is_forwarded)
{
    find("Pointwise in_0@101=64 out_0@105=64:virtual !operation='IDENTITY' | "
         "Pointwise in_0@105 out_0@102=64 !operation='EXP'");
    expect_home(0, KILN_NODE_FORWARDED, KILN_NONE);
    expect_home(1, KILN_NODE_COMPUTED, 0);
}

Test(node_homes, what_no_output_needs_is_unused)
{
    find("Pointwise in_0@101=64 out_0@105=64:virtual !operation='EXP' | "
         "Pointwise in_0@105 out_0@106=64:virtual !operation='TANH_FWD' | "
         "Pointwise in_0@101 out_0@102=64 !operation='ABS'");
    expect_home(0, KILN_NODE_UNUSED, KILN_NONE);
    expect_home(1, KILN_NODE_UNUSED, KILN_NONE);
    expect_home(2, KILN_NODE_COMPUTED, 0);
}

/* Only the comparison's conversion to an integer is dropped. */
Test(node_homes, an_operation_that_is_left_has_a_kernel)
{
    find("Pointwise in_0@101=64 in_1=k0 out_0@105=64:INT32:virtual !operation='CMP_GT' | "
         "Pointwise in_0@101 in_1=k2 in_2@105 out_0@102=64 !operation='BINARY_SELECT'");
    expect_home(0, KILN_NODE_COMPUTED, 0);
    expect_home(1, KILN_NODE_COMPUTED, 0);
}

Test(node_homes, a_softmax_inside_attention_is_in_its_kernel)
{
    cr_expect_eq(
        find("Matmul a=1,4,64,32:HALF b=1,4,32,64:HALF c@50=1,4,64,64:virtual | "
             "Reduction in@50 out@51=1,4,64,1:virtual !mode='MAX_OP' | "
             "Pointwise in_0@50 in_1@51 out_0@52=1,4,64,64:virtual !operation='SUB' | "
             "Pointwise in_0@52 out_0@53=1,4,64,64:virtual !operation='EXP' | "
             "Reduction in@53 out@54=1,4,64,1:virtual !mode='ADD' | "
             "Pointwise in_0@53 in_1@54 out_0@55=1,4,64,64:HALF:virtual !operation='DIV' | "
             "Matmul a@55 b=1,4,64,32:HALF c=1,4,64,32:HALF"),
        1);
    for (uint32_t i = 0; i < 7; i++)
        expect_home(i, KILN_NODE_COMPUTED, 0);
}

Test(node_homes, sums_in_segments_are_begun_in_another_kernel)
{
    cr_expect_eq(find("Pointwise in_0@101=16777216 out_0@105=16777216:virtual !operation='EXP' | "
                      "Reduction in@105 out@102=1 !mode='ADD'"),
                 2);
    expect_home(0, KILN_NODE_COMPUTED, 0);
    expect_home(1, KILN_NODE_COMPUTED, 1);
    cr_expect_eq(nodes.visit_count, 1);
    expect_visit(0, 1, 0, false);
}

Test(node_homes, cheap_values_are_computed_again)
{
    cr_expect_eq(find("Pointwise in_0@101=4096,4096 out_0@105=4096,4096:virtual !operation='NEG' | "
                      "Reduction in@105 out@102=4096,1 !mode='ADD' | "
                      "Reduction in@102 out@103=1,1 !mode='MAX_OP' | "
                      "Pointwise in_0@105 in_1@103 out_0@104=4096,4096 !operation='MUL'"),
                 3);
    expect_home(0, KILN_NODE_COMPUTED, 0);
    expect_home(1, KILN_NODE_COMPUTED, 0);
    expect_home(2, KILN_NODE_COMPUTED, 1);
    expect_home(3, KILN_NODE_COMPUTED, 2);
    cr_expect_eq(nodes.visit_count, 1);
    expect_visit(0, 0, 2, true);
}
