#include "compiler/kernel_plan.h"

#include "compiler/fuse/op_cost.h"
#include "compiler/graph_parts.h"
#include "compiler/ir/exact_dtypes.h"
#include "compiler/ir/import.h"
#include "compiler/ir/passes.h"
#include "compiler/kernel_plan_parts.h"
#include "compiler/schedule/attention_limits.h"
#include "compiler/schedule/attention_segments.h"
#include "compiler/schedule/attention_tile.h"
#include "compiler/schedule/vector_access.h"
#include "runtime/support/limited_sum.h"
#include "runtime/support/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What the partition has to choose between, best guess first. */
static const struct kiln_partition_strategy strategies[] = {
    {.never_segment = false, .store_shared_values = false},
    {.never_segment = false, .store_shared_values = true},
    {.never_segment = true, .store_shared_values = false},
    {.never_segment = true, .store_shared_values = true},
    {.never_in_tiles = true},
    {.never_in_tiles = true, .store_shared_values = true},
    {.never_in_tiles = true, .never_segment = true},
    {.never_beside = true},
    {.never_beside = true, .store_shared_values = true},
    {.never_beside = true, .never_segment = true},
    {.never_beside = true, .never_in_tiles = true},
};

enum { STRATEGY_COUNT = sizeof strategies / sizeof *strategies };

uint64_t kiln_kernel_plan_bytes(const struct kiln_kernel_plan *plan)
{
    uint64_t bytes = 0;
    for (const struct kiln_kernel_plan *part = plan; part != NULL; part = part->next) {
        for (uint32_t i = 0; i < part->partition.group_count; i++)
            bytes = kiln_limited_sum(bytes, part->schedules[i].bytes_moved);
    }
    return bytes;
}

uint64_t kiln_graph_fewest_bytes(const struct kiln_graph *graph)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < graph->tensor_count; i++) {
        const struct kiln_tensor *tensor = &graph->tensors[i];
        if (tensor->role != KILN_TENSOR_INPUT && tensor->role != KILN_TENSOR_OUTPUT)
            continue;
        uint64_t elements = 1;
        for (uint32_t axis = 0; axis < tensor->rank; axis++)
            elements = kiln_limited_product(
                elements, tensor->strides[axis] != 0 ? (uint64_t)tensor->dims[axis] : 1);
        /* Elements may share memory, as windows do that overlap. */
        uint64_t footprint = (uint64_t)kiln_tensor_footprint_elements(tensor);
        elements = elements < footprint ? elements : footprint;
        bytes = kiln_limited_sum(bytes, elements * kiln_dtype_info(tensor->dtype)->bytes);
    }
    return bytes;
}

/* Of one element; a reduction's is one that goes into it. */
static uint32_t simple_operations(const struct kiln_op *op)
{
    switch (kiln_opcode_info(op->opcode)->op_class) {
    case KILN_OP_CLASS_ELEMENTWISE:
        return op->opcode == KILN_OP_CONVERT || op->opcode == KILN_OP_ROUND ? 0 : kiln_op_cost(op);
    case KILN_OP_CLASS_CONTRACT:
        return 2; /* product and sum, of each point of m, n and k */
    case KILN_OP_CLASS_ATTENTION:
        return kiln_opcode_contracts(op->opcode) ? 2
               : op->opcode == KILN_OP_SCORE_EXP ? 9 /* difference and exponential */
                                                 : 1;
    case KILN_OP_CLASS_REDUCE:
        return op->opcode == KILN_OP_REDUCE_SQUARES ? 3 : 1; /* difference, square, sum */
    default:
        return 0;
    }
}

static uint64_t count_operations(const struct kiln_ir *ir)
{
    uint64_t operations = 0;
    for (uint32_t i = 0; i < ir->op_count; i++) {
        const struct kiln_op *op = &ir->ops[i];
        bool is_reduction = kiln_opcode_info(op->opcode)->op_class == KILN_OP_CLASS_REDUCE ||
                            op->opcode == KILN_OP_SCORE_MAX || op->opcode == KILN_OP_SCORE_SUM ||
                            op->opcode == KILN_OP_SCORE_FOLD;
        uint32_t domain = is_reduction ? ir->ops[op->operands[0]].domain : op->domain;
        uint64_t points = (uint64_t)kiln_domain_elements(&ir->domains[domain]);
        if (kiln_opcode_contracts(op->opcode))
            points *=
                (uint64_t)kiln_contraction_size(&ir->contractions[op->contraction], KILN_AXIS_K);
        operations += simple_operations(op) * points;
    }
    return operations;
}

uint64_t kiln_kernel_plan_operations(const struct kiln_kernel_plan *plan)
{
    uint64_t operations = 0;
    for (const struct kiln_kernel_plan *part = plan; part != NULL; part = part->next)
        operations += count_operations(&part->ir);
    return operations;
}

double kiln_kernel_plan_time(const struct kiln_kernel_plan *plan)
{
    double time = 0;
    for (const struct kiln_kernel_plan *part = plan; part != NULL; part = part->next) {
        for (uint32_t i = 0; i < part->partition.group_count; i++)
            time += kiln_schedule_time(&part->schedules[i], &part->target);
    }
    return time;
}

static enum kiln_status make_with(const struct kiln_graph *graph,
                                  const struct kiln_lower_options *options,
                                  const struct kiln_partition_strategy *strategy,
                                  struct kiln_kernel_plan *plan, struct kiln_error *error)
{
    plan->strategy = *strategy;
    enum kiln_status status =
        kiln_partition(&plan->ir, graph, &plan->target, options, strategy, &plan->partition, error);
    if (status != KILN_OK)
        return status;
    uint32_t count = plan->partition.group_count;
    plan->schedules = kiln_arena_calloc(plan->ir.arena, count, sizeof *plan->schedules);
    plan->ir.exact_dtypes = kiln_ir_exact_dtypes(&plan->ir, graph);
    if (plan->schedules == NULL || plan->ir.exact_dtypes == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while scheduling the graph");
    bool has_other_segments = false;
    if (plan->partition.is_attention_cut)
        return kiln_error_set(error, KILN_UNSUPPORTED, "attention needs a kernel of its own");
    for (uint32_t i = 0; i < count && status == KILN_OK; i++) {
        const struct kiln_fusion_group *group = &plan->partition.groups[i];
        status = kiln_schedule_group(&plan->ir, graph, group, &plan->target, options,
                                     &plan->schedules[i], error);
        if (status != KILN_OK || plan->schedules[i].segment_count == group->segment_count)
            continue;
        kiln_partition_set_segments(&plan->partition, i, plan->schedules[i].segment_count);
        has_other_segments = true;
    }
    if (status == KILN_OK && has_other_segments)
        status = kiln_partition_place(&plan->ir, &plan->partition, error);
    return status;
}

/*
 * What a kernel has walked over last is what the caches hold when the next one starts. So a kernel
 * goes the other way than the one that last touched what most of its traffic is.
 */
static enum kiln_status choose_directions(struct kiln_kernel_plan *plan,
                                          const struct kiln_graph *graph, struct kiln_error *error)
{
    uint32_t *last_user =
        kiln_arena_calloc(plan->ir.arena, graph->tensor_count + 1, sizeof *last_user);
    if (last_user == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while scheduling the graph");
    for (uint32_t i = 0; i < graph->tensor_count; i++)
        last_user[i] = KILN_NONE;
    for (uint32_t i = 0; i < plan->partition.group_count; i++) {
        const struct kiln_fusion_group *group = &plan->partition.groups[i];
        struct kiln_schedule *schedule = &plan->schedules[i];
        uint64_t heaviest = kiln_heaviest_access_bytes(group, schedule);
        uint32_t previous = KILN_NONE;
        for (uint32_t k = 0; k < group->access_count; k++) {
            uint32_t tensor = group->accesses[k].tensor;
            if (tensor == KILN_NONE || !kiln_access_is_heavy(group, schedule, k, heaviest))
                continue;
            if (last_user[tensor] != KILN_NONE && last_user[tensor] != i &&
                (previous == KILN_NONE || last_user[tensor] > previous))
                previous = last_user[tensor];
            last_user[tensor] = i;
        }
        schedule->walks_back = previous != KILN_NONE && kiln_schedule_walks_in_order(schedule) &&
                               !plan->schedules[previous].walks_back;
    }
    return KILN_OK;
}

/* Whether the first plan had the choice that this strategy decides otherwise. */
static bool differs(const struct kiln_partition *first,
                    const struct kiln_partition_strategy *strategy)
{
    return (first->has_segments || !strategy->never_segment) &&
           (first->has_shared_values || !strategy->store_shared_values) &&
           (first->has_statistics || !strategy->never_in_tiles) &&
           (first->has_operand_sums || !strategy->never_beside);
}

/* Tries what the first plan left open, as long as the steps suffice: `best` is the fastest of all,
 * and first->steps grows by what it took. */
static enum kiln_status try_others(const struct kiln_graph *graph,
                                   const struct kiln_lower_options *options,
                                   struct kiln_kernel_plan *first, struct kiln_kernel_plan *best,
                                   struct kiln_error *error)
{
    double best_time = kiln_kernel_plan_time(best);
    for (int i = 1; i < STRATEGY_COUNT && first->steps < first->max_steps; i++) {
        if (first->partition.is_plain || !differs(&first->partition, &strategies[i]))
            continue;
        struct kiln_kernel_plan other = *first;
        struct kiln_partition_strategy strategy = strategies[i];
        strategy.max_steps = first->max_steps - first->steps;
        enum kiln_status status = make_with(graph, options, &strategy, &other, error);
        if (status != KILN_OK)
            return status;
        first->steps += other.partition.steps;
        double time = kiln_kernel_plan_time(&other);
        if (!other.partition.is_plain && time < best_time) {
            best_time = time;
            *best = other;
        }
    }
    return KILN_OK;
}

/* The program that kernels are made of. */
static enum kiln_status make_ir(const struct kiln_graph *graph, const struct kiln_part_nodes *nodes,
                                const struct kiln_lower_options *options, struct kiln_ir *ir,
                                struct kiln_error *error)
{
    enum kiln_status status =
        nodes == NULL ? kiln_ir_import(graph, ir, error)
                      : kiln_ir_import_nodes(graph, nodes->nodes, nodes->count, ir, error);
    if (status == KILN_OK)
        status = kiln_ir_optimize(ir, graph, error);
    if (options->no_fusion)
        return status;
    if (status == KILN_OK)
        status = kiln_ir_recognize_moments(ir, error);
    if (status == KILN_OK)
        status = kiln_ir_recognize_contractions(ir, error);
    if (status == KILN_OK)
        status = kiln_ir_hoist_scales(ir, graph, error);
    if (status == KILN_OK)
        status = kiln_ir_split_reductions(ir, KILN_CONTRACTION_MAX_ROW, error);
    if (status == KILN_OK)
        status = kiln_ir_optimize(ir, graph, error);
    if (status == KILN_OK)
        status = kiln_ir_put_sums_behind_products(ir, error);
    return status;
}

/* The fastest of what the strategies give. */
static enum kiln_status make_best(const struct kiln_graph *graph,
                                  const struct kiln_lower_options *options,
                                  const struct kiln_kernel_plan *pattern,
                                  struct kiln_kernel_plan *ret_best, struct kiln_error *error)
{
    struct kiln_kernel_plan plan = *pattern;
    struct kiln_partition_strategy strategy = strategies[0];
    strategy.max_steps = plan.max_steps;
    enum kiln_status status = make_with(graph, options, &strategy, &plan, error);
    if (status != KILN_OK)
        return status;
    struct kiln_kernel_plan best = plan;
    plan.steps += plan.partition.steps;
    status = try_others(graph, options, &plan, &best, error);
    best.steps = plan.steps;
    *ret_best = best;
    return status;
}

/* Cuts attention of few rows into segments of its columns: *ret_is_cut. */
static enum kiln_status cut_attention(const struct kiln_graph *graph,
                                      const struct kiln_lower_options *options,
                                      struct kiln_kernel_plan *plan, bool *ret_is_cut,
                                      struct kiln_error *error)
{
    struct kiln_ir *ir = &plan->ir;
    enum kiln_status status = KILN_OK;
    uint32_t count = 0;
    *ret_is_cut = false;
    do {
        uint32_t *segments = kiln_arena_calloc(ir->arena, ir->op_count, sizeof *segments);
        if (segments == NULL)
            return kiln_error_set(error, KILN_NO_MEMORY, "no memory to cut attention");
        for (uint32_t i = 0; i < ir->op_count; i++) {
            if (ir->ops[i].opcode == KILN_OP_ATTEND)
                segments[i] = kiln_choose_attention_segments(ir, i, &plan->target, options);
        }
        status = kiln_ir_segment_attention(ir, segments, &count, error);
        *ret_is_cut = *ret_is_cut || count != 0;
    } while (status == KILN_OK && count != 0);
    return status == KILN_OK && *ret_is_cut ? kiln_ir_optimize(ir, graph, error) : status;
}

/* The same as `whole` in segments, in its place if that is faster or asked for. */
static enum kiln_status try_segments(const struct kiln_graph *graph,
                                     const struct kiln_lower_options *options,
                                     const struct kiln_kernel_plan *pattern,
                                     struct kiln_kernel_plan *whole, struct kiln_error *error)
{
    struct kiln_kernel_plan plan = *pattern;
    bool is_cut = false;
    if (whole->steps >= whole->max_steps)
        return KILN_OK;
    plan.ir.domain_slots_used = 0; /* the table has been shared with another program */
    plan.steps = whole->steps;
    enum kiln_status status = cut_attention(graph, options, &plan, &is_cut, error);
    if (status != KILN_OK || !is_cut)
        return status;
    status = make_best(graph, options, &plan, &plan, error);
    whole->steps = plan.steps;
    bool is_better = options->contraction.segments != 0 ||
                     kiln_kernel_plan_time(&plan) < kiln_kernel_plan_time(whole);
    if (status == KILN_OK && !plan.partition.is_plain && is_better)
        *whole = plan;
    return status;
}

/* NULL where there is no memory: it is only an explanation. */
static const char *explain_miss(const struct kiln_graph *graph, struct kiln_arena *arena,
                                const struct kiln_missed_attention *missed)
{
    enum { TEXT_BYTES = 512 };
    char *text = kiln_arena_calloc(arena, TEXT_BYTES, 1);
    if (missed->miss == KILN_ATTENTION_MISS_NOTHING || text == NULL)
        return NULL;
    const char *why = kiln_attention_miss_text(missed->miss);
    const char *score = graph->nodes[missed->score_node].name;
    const char *attend = graph->nodes[missed->attend_node].name;
    if (missed->score_node == missed->attend_node)
        (void)snprintf(text, TEXT_BYTES, "products of node %u '%s': %s",
                       (unsigned)missed->score_node, score, why);
    else
        (void)snprintf(text, TEXT_BYTES, "nodes %u '%s' and %u '%s': %s",
                       (unsigned)missed->score_node, score, (unsigned)missed->attend_node, attend,
                       why);
    return text;
}

/* The same with one kernel for each attention that there is, and with kernels for its gradients,
 * if there are any and each can be: *ret_is_made. */
static enum kiln_status make_with_attention(const struct kiln_graph *graph,
                                            const struct kiln_lower_options *options,
                                            struct kiln_kernel_plan *pattern, bool has_gradients,
                                            struct kiln_kernel_plan *ret_best, bool *ret_is_made,
                                            struct kiln_error *error)
{
    struct kiln_kernel_plan plan = *pattern;
    struct kiln_missed_attention missed;
    bool is_found = false;
    bool is_gradient = false;
    *ret_is_made = false;
    plan.ir.domain_slots_used = 0; /* the table has been shared with another program */
    if (options->no_fusion || !kiln_attention_is_for(&plan.target))
        return KILN_OK;
    enum kiln_status status =
        kiln_ir_recognize_attention(&plan.ir, KILN_ATTENTION_MAX_ROW, &is_found, &missed, error);
    if (status == KILN_OK)
        plan.no_attention = explain_miss(graph, plan.ir.arena, &missed);
    if (plan.no_attention != NULL)
        pattern->no_attention = plan.no_attention;
    if (status == KILN_OK && has_gradients)
        status = kiln_ir_recognize_attention_gradient(&plan.ir, KILN_ATTENTION_MAX_ROW,
                                                      &is_gradient, error);
    if (status != KILN_OK || !(has_gradients ? is_gradient : is_found))
        return status;
    kiln_drop_hidden_values(&plan.ir, graph);
    status = kiln_ir_round_weights(&plan.ir, graph, error);
    if (status == KILN_OK)
        status = kiln_ir_optimize(&plan.ir, graph, error);
    if (status != KILN_OK)
        return status;
    struct kiln_error reason;
    kiln_error_init(&reason);
    struct kiln_kernel_plan whole;
    status = make_best(graph, options, &plan, &whole, &reason);
    *ret_is_made = status == KILN_OK && !whole.partition.is_attention_cut;
    if (*ret_is_made) {
        status = try_segments(graph, options, &plan, &whole, &reason);
        *ret_best = whole;
    }
    if (status != KILN_OK && status != KILN_UNSUPPORTED)
        return kiln_error_set(error, status, "%s", reason.text);
    if (!*ret_is_made && status == KILN_UNSUPPORTED)
        pattern->no_attention = kiln_arena_strndup(plan.ir.arena, reason.text, strlen(reason.text));
    return KILN_OK;
}

enum kiln_status kiln_part_plan_make(const struct kiln_graph *graph,
                                     const struct kiln_part_nodes *nodes, uint64_t max_steps,
                                     const struct kiln_target *target,
                                     const struct kiln_lower_options *options,
                                     struct kiln_arena *arena, struct kiln_kernel_plan *ret_plan,
                                     struct kiln_error *error)
{
    struct kiln_kernel_plan plan = {.target = *target, .max_steps = max_steps};
    struct kiln_kernel_plan best;
    if (target->kind == KILN_TARGET_HOST && options->host_wave_size != 0)
        plan.target.wave_size = options->host_wave_size;
    kiln_ir_init(&plan.ir, arena);
    bool is_made = false;
    enum kiln_status status = make_ir(graph, nodes, options, &plan.ir, error);
    if (status == KILN_OK)
        status = make_with_attention(graph, options, &plan, true, &best, &is_made, error);
    if (status == KILN_OK && !is_made)
        status = make_with_attention(graph, options, &plan, false, &best, &is_made, error);
    plan.ir.domain_slots_used = 0; /* the table has been shared with another program */
    if (status == KILN_OK && !is_made)
        status = make_best(graph, options, &plan, &best, error);
    if (status != KILN_OK)
        return status;
    if (best.partition.is_plain)
        kiln_log(
            KILN_LOG_INFO,
            "the graph is too large to find out what could share a kernel: each of its %" PRIu32
            " nodes gets kernels of its own",
            nodes == NULL ? graph->node_count : nodes->count);
    status = choose_directions(&best, graph, error);
    if (status == KILN_OK)
        *ret_plan = best;
    return status;
}

enum kiln_status kiln_part_plan_repeat(const struct kiln_graph *graph,
                                       const struct kiln_kernel_plan *plan,
                                       const struct kiln_lower_options *options,
                                       struct kiln_arena *arena, struct kiln_kernel_plan *ret_plan,
                                       struct kiln_error *error)
{
    struct kiln_kernel_plan again = *plan;
    if (!kiln_ir_copy(&plan->ir, arena, &again.ir))
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while scheduling the graph");
    if (plan->no_attention != NULL)
        again.no_attention =
            kiln_arena_strndup(arena, plan->no_attention, strlen(plan->no_attention));
    enum kiln_status status = make_with(graph, options, &plan->strategy, &again, error);
    if (status == KILN_OK)
        status = choose_directions(&again, graph, error);
    if (status == KILN_OK)
        *ret_plan = again;
    return status;
}

enum kiln_status kiln_kernel_plan_make(const struct kiln_graph *graph,
                                       const struct kiln_target *target,
                                       const struct kiln_lower_options *options,
                                       struct kiln_arena *arena, struct kiln_kernel_plan *ret_plan,
                                       struct kiln_error *error)
{
    uint32_t most = options->max_part_weight != 0 ? options->max_part_weight : KILN_PART_MAX_WEIGHT;
    uint64_t weight = kiln_graph_weight(graph);
    if (weight > most)
        return kiln_kernel_plan_make_in_parts(graph, most, target, options, arena, ret_plan, error);
    if (graph->node_count > KILN_PART_LEAST_WEIGHT)
        return kiln_kernel_plan_make_either(graph, target, options, arena, ret_plan, error);
    return kiln_part_plan_make(graph, NULL, KILN_PARTITION_MAX_STEPS, target, options, arena,
                               ret_plan, error);
}

uint32_t kiln_kernel_plan_kernels(const struct kiln_kernel_plan *plan)
{
    uint32_t count = 0;
    for (const struct kiln_kernel_plan *part = plan; part != NULL; part = part->next)
        count += part->partition.group_count;
    return count;
}

struct kiln_planned_kernel kiln_kernel_plan_find(const struct kiln_kernel_plan *plan,
                                                 uint32_t kernel)
{
    struct kiln_planned_kernel found = {.part = plan, .index = kernel};
    while (found.index >= found.part->partition.group_count) {
        found.index -= found.part->partition.group_count;
        found.part = found.part->next;
        found.part_number++;
    }
    return found;
}

enum kiln_status kiln_kernel_plan_relax(struct kiln_kernel_plan *plan,
                                        const struct kiln_graph *graph, uint32_t kernel,
                                        struct kiln_error *error)
{
    struct kiln_planned_kernel planned = kiln_kernel_plan_find(plan, kernel);
    const struct kiln_kernel_plan *part = planned.part;
    struct kiln_schedule *schedule = &part->schedules[planned.index];
    struct kiln_schedule next = *schedule;
    enum kiln_status status;
    /* What it stores in segments is read by a kernel that knows how many there are. */
    do
        status = kiln_schedule_relax(&part->ir, part->graph != NULL ? part->graph : graph,
                                     &part->partition.groups[planned.index], &part->target, &next,
                                     &next, error);
    while (status == KILN_OK && next.segment_count != schedule->segment_count);
    if (status == KILN_OK)
        *schedule = next;
    return status;
}

enum kiln_status kiln_kernel_plan_relax_to(struct kiln_kernel_plan *plan,
                                           const struct kiln_graph *graph, uint32_t kernel,
                                           uint32_t form, struct kiln_error *error)
{
    struct kiln_planned_kernel planned = kiln_kernel_plan_find(plan, kernel);
    const struct kiln_schedule *schedule = &planned.part->schedules[planned.index];
    enum kiln_status status = KILN_OK;
    while (status == KILN_OK && schedule->form < form)
        status = kiln_kernel_plan_relax(plan, graph, kernel, error);
    return status == KILN_NOT_FOUND ? KILN_OK : status;
}
