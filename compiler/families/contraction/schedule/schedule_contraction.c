#include "compiler/families/contraction/schedule/schedule_contraction.h"

#include "compiler/families/contraction/fuse/contraction_group.h"
#include "compiler/families/contraction/schedule/contraction_axes.h"
#include "compiler/families/contraction/schedule/contraction_direct.h"
#include "compiler/families/contraction/schedule/contraction_direct_tile.h"
#include "compiler/families/contraction/schedule/contraction_dtype.h"
#include "compiler/families/contraction/schedule/contraction_forms.h"
#include "compiler/families/contraction/schedule/contraction_fragments.h"
#include "compiler/families/contraction/schedule/contraction_layout.h"
#include "compiler/families/contraction/schedule/contraction_loads.h"
#include "compiler/families/contraction/schedule/contraction_modes.h"
#include "compiler/families/contraction/schedule/contraction_print.h"
#include "compiler/families/contraction/schedule/contraction_rows.h"
#include "compiler/families/contraction/schedule/contraction_runs.h"
#include "compiler/families/contraction/schedule/contraction_schedule.h"
#include "compiler/families/contraction/schedule/contraction_small.h"
#include "compiler/families/contraction/schedule/contraction_statistics.h"
#include "compiler/families/contraction/schedule/contraction_strips.h"
#include "compiler/families/contraction/schedule/contraction_sums.h"
#include "compiler/families/contraction/schedule/contraction_tile.h"
#include "compiler/families/contraction/schedule/contraction_tile_faults.h"
#include "compiler/families/contraction/schedule/contraction_time.h"
#include "compiler/fuse/fuse_family.h"
#include "compiler/fuse/op_cost.h"
#include "compiler/fuse/target_rates.h"
#include "compiler/schedule/schedule_family.h"
#include "compiler/schedule/traffic.h"
#include "compiler/schedule/vector_access.h"
#include "runtime/support/limited_sum.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of the time that an operand's sums take by themselves. By the timing model of an MI300X: what
 * they read lies in caches, and they end with the products. */
#define SUMS_NOT_HIDDEN 0.1

/*
 * Of a product with a single row (or column), the stride between rows may be anything. It becomes
 * what it is where there are more, so that both are the same kernel. What is broadcast along the
 * result stays so.
 */
static void name_strides_of_one(struct kiln_contraction_problem *problem)
{
    const struct kiln_contraction_schedule *contraction = problem->contraction;
    if (problem->ir->is_general)
        return;
    const struct {
        uint32_t access;
        bool has_rows;
    } matrices[] = {
        /* A single row may be gathered from many. */
        {kiln_contraction_heaviest(problem, contraction->left.places[0], false),
         contraction->problem.m > 1 || contraction->problem.routing == KILN_ROUTING_GATHER},
        {kiln_contraction_heaviest(problem, contraction->right.places[0], false),
         contraction->problem.n > 1},
        {kiln_contraction_heaviest(problem, KILN_PLACE_ELEMENT, true), contraction->problem.m > 1},
    };
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++) {
        if (matrices[i].access == KILN_NONE || matrices[i].has_rows)
            continue;
        int64_t *strides = problem->schedule->accesses[matrices[i].access].strides;
        if (strides[KILN_STRIDE_COLUMN] == 1)
            strides[KILN_STRIDE_ROW] = contraction->problem.k * 2;
    }
}

/* ---- tiles ---- */

static uint64_t count_tiles(const struct kiln_contraction_schedule *contraction)
{
    uint64_t batches = kiln_routing_has_rows(contraction->problem.routing)
                           ? 1
                           : kiln_batch_count(&contraction->problem.batches);
    return kiln_row_tiles(contraction) * kiln_column_tiles(contraction) * batches *
           kiln_ending_segments(&contraction->ending) *
           kiln_pipeline_groups(&contraction->pipeline);
}

static uint32_t sum_bytes_of(const struct kiln_contraction_problem *problem)
{
    return kiln_dtype_info(kiln_scalar_dtype(problem->op->scalar))->bytes;
}

static bool are_operands_loaded(const struct kiln_contraction_problem *problem)
{
    const struct kiln_fusion_group *group = problem->group;
    for (uint32_t i = 0; i < 2 * group->anchor_count; i++) {
        uint32_t operand = problem->ir->ops[group->anchors[i / 2]].operands[i % 2];
        if (problem->ir->ops[operand].opcode != KILN_OP_LOAD)
            return false;
    }
    return true;
}

/* Simple operations that decode an fp8 element. Four codes of OCP's types become halves together;
 * for others, the cost lies between that with and without an instruction. */
static uint32_t decoding_cost(enum kiln_dtype loaded, enum kiln_dtype staged)
{
    enum { TOGETHER = 2, ALONE = 8 };
    bool is_fnuz = loaded == KILN_DTYPE_F8E4M3FNUZ || loaded == KILN_DTYPE_F8E5M2FNUZ;
    return is_fnuz && loaded != staged ? ALONE : TOGETHER;
}

/* Simple operations between a loaded element of an operand and the staged one. */
static uint32_t staging_cost(const struct kiln_contraction_problem *problem,
                             const struct kiln_operand_schedule *operand)
{
    const struct kiln_fusion_group *group = problem->group;
    enum kiln_place place = operand->places[0];
    uint32_t cost = 0;
    for (uint32_t i = 0; i < group->op_count; i++) {
        const struct kiln_op *op = &problem->ir->ops[group->ops[i]];
        if ((group->places[i] >> place & 1) != 0 && !kiln_op_is_contraction(op) &&
            op->opcode != KILN_OP_LOAD)
            cost += kiln_op_cost(op);
    }
    for (uint32_t i = 0; i < group->load_count; i++) {
        const struct kiln_dtype_info *info = kiln_dtype_info(group->accesses[i].dtype);
        if (group->accesses[i].place == place && info->bytes == 1 &&
            info->scalar == KILN_SCALAR_F32)
            cost += decoding_cost(group->accesses[i].dtype, problem->contraction->staged);
    }
    return cost;
}

/* Simple operations for each element that find it: a coordinate for each window, its bounds and its
 * place in memory, of a whole pack or of an element that is loaded by itself. */
static uint32_t load_cost(const struct kiln_contraction_problem *problem,
                          const struct kiln_operand_schedule *operand, bool is_windowed)
{
    enum { OFFSET_COST = 2, WINDOW_COST = 8, PACK_WINDOW_COST = 32 };
    uint32_t windows = is_windowed ? problem->contraction->problem.windows.count : 0;
    return kiln_has_whole_loads(problem, operand)
               ? PACK_WINDOW_COST * windows / kiln_pack_elements(problem->contraction)
               : OFFSET_COST + WINDOW_COST * windows;
}

static struct kiln_tile_operand tile_operand(const struct kiln_contraction_problem *problem,
                                             const struct kiln_operand_schedule *operand,
                                             uint32_t lane_run, bool is_windowed)
{
    uint32_t access = kiln_contraction_heaviest(problem, operand->places[0], false);
    return (struct kiln_tile_operand){
        .bytes = kiln_heaviest_bytes(problem, operand->places[0], false),
        .memory_bytes = access == KILN_NONE
                            ? 1
                            : kiln_dtype_info(problem->group->accesses[access].dtype)->bits / 8.0,
        .load_excess = kiln_find_load_excess(problem, operand, lane_run),
        .is_along_rows = kiln_runs_along_rows(problem, operand),
        .is_whole = kiln_has_whole_loads(problem, operand),
        .is_joined = kiln_joins_packs(problem, operand),
        .cost = staging_cost(problem, operand),
        .load_cost = load_cost(problem, operand, is_windowed),
    };
}

/* Products of rows and columns: of groups, as many as there are. */
static uint64_t count_products_of(const struct kiln_product_problem *problem)
{
    return kiln_routing_has_rows(problem->routing) ? (uint64_t)problem->groups
                                                   : kiln_batch_count(&problem->batches);
}

static struct kiln_tile_problem tile_problem(const struct kiln_contraction_problem *problem)
{
    const struct kiln_contraction_schedule *contraction = problem->contraction;
    uint32_t segments = kiln_ending_segments(&contraction->ending);
    uint32_t lane_run = kiln_choose_lane_run(problem);
    bool is_right = contraction->problem.windows.is_right;
    struct kiln_tile_problem tile = {
        .target = problem->target,
        .limits = &problem->schedule->limits,
        .forced = &problem->schedule->options->contraction,
        .batch = problem->ir->is_general ? 1 : segments * count_products_of(&contraction->problem),
        .sum_bytes = sum_bytes_of(problem),
        .result_bytes = kiln_heaviest_bytes(problem, KILN_PLACE_ELEMENT, true),
        .left = tile_operand(problem, &contraction->left, lane_run, !is_right),
        .right = tile_operand(problem, &contraction->right, lane_run, is_right),
        .lane_run = lane_run,
        .are_operands_loaded = are_operands_loaded(problem),
        .is_alone = problem->group->reduced_axes != 0 || segments > 1 ||
                    kiln_group_operand_sum(problem->ir, problem->group) != KILN_NONE ||
                    contraction->problem.windows.count != 0 ||
                    contraction->problem.routing != KILN_ROUTING_NONE ||
                    problem->schedule->options->contraction.segments == 1,
    };
    /* The other kernel's text has their number, once there is a first form. */
    if (kiln_group_has_statistics(problem->group) &&
        (problem->schedule->limits.steps == 0 ||
         problem->schedule->limits.held_elems != UINT64_MAX)) {
        tile.statistics = kiln_statistics_tiles(problem->ir, problem->group, contraction);
        tile.kept_statistics = problem->group->segment_count;
    }
    return tile;
}

/* The tile is chosen for a segment of k, of which there are so many more products. The model of
 * its time is one of GPUs. */
static const char *choose_tile(const struct kiln_tile_problem *tile, bool is_general,
                               struct kiln_contraction_schedule *contraction)
{
    enum { GENERAL_SIZE = 256 }; /* for general kernels, which get one tile for all sizes */
    struct kiln_product_problem *problem = &contraction->problem;
    struct kiln_product_problem whole = *problem;
    if (is_general)
        problem->m = problem->n = problem->k = GENERAL_SIZE;
    problem->k =
        (int64_t)kiln_ceil_div((uint64_t)problem->k, kiln_ending_segments(&contraction->ending));
    /* The sizes of groups are data. Equal sizes are as good a guess as any. */
    if (kiln_routing_has_rows(problem->routing))
        problem->m = (int64_t)kiln_ceil_div((uint64_t)problem->m, (uint64_t)problem->groups);
    if (problem->routing == KILN_ROUTING_SUMS)
        problem->k = (int64_t)kiln_ceil_div((uint64_t)problem->k, (uint64_t)problem->groups);
    problem->routing = KILN_ROUTING_NONE;
    const char *fault = kiln_choose_contraction_tile(tile, contraction);
    *problem = whole;
    return fault;
}

struct kiln_tile_order kiln_choose_tile_order(const struct kiln_target *target)
{
    return (struct kiln_tile_order){
        .chiplets = kiln_is_cdna3_or_later(target) ? 8 : 1, .chiplet_run = 16, .super_rows = 8};
}

/* ---- loads and stores ---- */

/* Where an operand is loaded in packs of the last axis, that is whole packs long; if it is whole
 * tiles long, a tile is of one tap. Other lengths are none of the text's business. */
static uint32_t choose_k_granule(const struct kiln_contraction_problem *problem)
{
    const struct kiln_contraction_schedule *contraction = problem->contraction;
    const struct kiln_operand_schedule *operands[] = {&contraction->left, &contraction->right};
    uint32_t pack = kiln_pack_elements(contraction);
    uint32_t count = contraction->problem.sums.count;
    bool has_packs = false;
    for (size_t i = 0; i < sizeof operands / sizeof *operands; i++) {
        if (contraction->problem.k_run == 0 &&
            kiln_is_axis_windowed(contraction, operands[i], true, count - 1))
            return 1;
        has_packs |= operands[i]->vector == pack && kiln_is_operand_split(problem, operands[i]);
    }
    if (count == 1 || !has_packs || problem->ir->is_general)
        return 1;
    return contraction->problem.sums.sizes[count - 1] % contraction->tile.k == 0
               ? contraction->tile.k
               : pack;
}

static uint64_t count_chunks(const struct kiln_contraction_schedule *contraction, uint32_t block)
{
    switch (contraction->pipeline.kind) {
    case KILN_PIPELINE_STRIPS:
        return (uint64_t)kiln_count_strips(contraction).tiles;
    case KILN_PIPELINE_SMALL:
        return kiln_ceil_div((uint64_t)kiln_count_small_items(contraction), block);
    default:
        return count_tiles(contraction);
    }
}

/* The rest, which follows from the tile and the operands' loads. */
static void fill_schedule(const struct kiln_contraction_problem *problem, uint32_t lds_bytes)
{
    struct kiln_schedule *schedule = problem->schedule;
    const struct kiln_contraction_schedule *contraction = problem->contraction;
    schedule->walk.rank = 1;
    schedule->walk.dims[0] = contraction->problem.n;
    schedule->walk.rows = (uint64_t)contraction->problem.m;
    schedule->walk.cols = (uint64_t)contraction->problem.n;
    schedule->walk.vector_elems = contraction->result_vector;
    schedule->launch.chunk_count = count_chunks(contraction, schedule->launch.block);
    schedule->launch.grid_unit = kiln_pipeline_groups(&contraction->pipeline);
    schedule->walk.index_is_64bit = kiln_offsets_need_64_bits(problem);
    schedule->launch.lds_bytes = lds_bytes;
}

static enum kiln_k_end choose_k_end(const struct kiln_contraction_schedule *contraction)
{
    /* Each phase has a k of its own. */
    bool has_phases = contraction->problem.windows.phase_count != 0 &&
                      contraction->k_granule != contraction->tile.k;
    /* In no operand's memory are neighbours along k: it counts images and pixels, or tokens, of
     * which there may be any number. */
    bool is_any = ((!contraction->left.is_along_k && !contraction->right.is_along_k) ||
                   contraction->problem.routing == KILN_ROUTING_SUMS) &&
                  contraction->pipeline.kind != KILN_PIPELINE_SPECIALIZED;
    bool varies = contraction->problem.routing == KILN_ROUTING_SUMS && !is_any;
    return contraction->pipeline.kind == KILN_PIPELINE_STREAMED || varies ? KILN_K_END_FIRST
           : has_phases || is_any                                         ? KILN_K_END_ANY
           : contraction->problem.k % contraction->tile.k == 0            ? KILN_K_END_NONE
           : contraction->problem.k > contraction->tile.k                 ? KILN_K_END_FIRST
                                                                          : KILN_K_END_ALONE;
}

/* Behind what is used for tiles and sums there is the ring. */
static uint32_t lds_bytes(const struct kiln_contraction_problem *problem, uint32_t sum_bytes)
{
    const struct kiln_contraction_schedule *contraction = problem->contraction;
    uint32_t ring = kiln_pipeline_ring_bytes(&contraction->pipeline);
    uint32_t bytes = kiln_contraction_lds_bytes(contraction, problem->target, sum_bytes) - ring;
    uint32_t sums = kiln_operand_sums_lds_bytes(problem);
    return (bytes > sums ? bytes : sums) + ring;
}

static struct kiln_contraction_problem problem_of(const struct kiln_schedule_task *task,
                                                  struct kiln_schedule *schedule)
{
    const struct kiln_ir *ir = task->ir;
    const struct kiln_op *op = &ir->ops[task->group->anchors[0]];
    return (struct kiln_contraction_problem){
        .ir = ir,
        .graph = task->graph,
        .group = task->group,
        .target = task->target,
        .op = op,
        .axes = &ir->contractions[op->contraction],
        .schedule = schedule,
        .contraction = kiln_contraction_schedule_in(schedule),
        .joins_packs = true,
    };
}

/* The small form, where that is possible: *ret_is_made. */
static enum kiln_status choose_small(const struct kiln_schedule_task *task,
                                     struct kiln_schedule *schedule, bool *ret_is_made,
                                     struct kiln_error *error)
{
    struct kiln_contraction_problem problem = problem_of(task, schedule);
    *ret_is_made = false;
    if (!kiln_may_contraction_be_small(&problem))
        return KILN_OK;
    /* The large form has those that were there. */
    struct kiln_arena *arena = task->ir->arena;
    struct kiln_contraction_schedule *contraction =
        kiln_arena_calloc(arena, 1, sizeof *contraction);
    schedule->accesses =
        kiln_arena_calloc(arena, task->group->access_count, sizeof *schedule->accesses);
    schedule->details = problem.contraction = contraction;
    if (schedule->accesses == NULL || contraction == NULL ||
        !kiln_contraction_begin_accesses(&problem) ||
        !kiln_choose_staged_dtype(task->ir, task->graph, task->group, task->target,
                                  &contraction->staged))
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while scheduling a kernel");
    contraction->k_granule = 1;
    contraction->tile.waves_m = contraction->tile.waves_n = contraction->tile.waves_k = 1;
    contraction->pipeline = (struct kiln_pipeline){.kind = KILN_PIPELINE_SMALL,
                                                   .small = {.row_items = 1, .column_items = 1}};
    kiln_contraction_lay_out_axes(&problem, kiln_contraction_is_transposed(&problem));
    struct kiln_tile_problem tile = tile_problem(&problem);
    tile.alternatives = task->alternatives;
    if (!kiln_choose_small_items(&problem, &tile))
        return KILN_OK;
    kiln_note_tile(&tile, contraction, contraction->time_ns);
    schedule->template_name = "contraction_small";
    schedule->launch.block = kiln_small_block(task->target);
    contraction->result_vector = kiln_result_vector(&problem, contraction->problem.n,
                                                    contraction->pipeline.small.item_columns &
                                                        -contraction->pipeline.small.item_columns);
    kiln_set_access_modes(&problem);
    fill_schedule(&problem, 0);
    *ret_is_made = true;
    return KILN_OK;
}

/* Fills everything but grid and traffic: not in the small form. */
static enum kiln_status choose_large(const struct kiln_schedule_task *task,
                                     struct kiln_schedule *schedule, struct kiln_error *error)
{
    const struct kiln_ir *ir = task->ir;
    const struct kiln_graph *graph = task->graph;
    const struct kiln_fusion_group *group = task->group;
    const struct kiln_target *target = task->target;
    struct kiln_contraction_problem problem = problem_of(task, schedule);
    struct kiln_contraction_schedule *contraction = problem.contraction;
    schedule->template_name =
        kiln_routing_has_rows(problem.axes->routing) ? "contraction_groups" : "contraction";
    if (kiln_group_cuts_k(group))
        contraction->ending =
            (struct kiln_ending){.kind = KILN_ENDING_SEGMENTS, .segments = group->segment_count};
    if (!kiln_contraction_begin_accesses(&problem) ||
        !kiln_choose_staged_dtype(ir, graph, group, target, &contraction->staged))
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while scheduling a kernel");
    bool is_direct = kiln_is_contraction_direct(&problem);
    if (is_direct)
        contraction->pipeline.kind = kiln_contraction_is_depthwise_gradient(problem.axes)
                                         ? KILN_PIPELINE_GRADIENT
                                         : KILN_PIPELINE_DIRECT;
    struct kiln_contraction joined;
    if (!is_direct && kiln_group_operand_sum(ir, group) == KILN_NONE &&
        kiln_join_channels(&problem, kiln_pack_elements(contraction), &joined))
        problem.axes = &joined;
    kiln_contraction_lay_out_axes(&problem, kiln_contraction_is_transposed(&problem));
    name_strides_of_one(&problem);
    contraction->k_granule = 1;
    if (is_direct) {
        schedule->template_name = "contraction_direct";
        kiln_choose_direct(&problem);
        contraction->order = kiln_choose_tile_order(target);
        fill_schedule(&problem, kiln_direct_lds_bytes(contraction, sum_bytes_of(&problem)));
        return KILN_OK;
    }
    struct kiln_tile_problem tile = tile_problem(&problem);
    tile.alternatives = task->alternatives;
    const char *fault = NULL;
    if (contraction->problem.block != 0)
        contraction->ending = (struct kiln_ending){.kind = KILN_ENDING_ROWS, .rows.parts = 1};
    if (kiln_group_has_whole_rows(group) && contraction->problem.block == 0)
        kiln_contraction_choose_row_tile(target, problem.op->scalar, &schedule->limits,
                                         contraction);
    else
        fault = choose_tile(&tile, ir->is_general, contraction);
    /* Without its blocks the product may have a kernel. */
    if (fault != NULL)
        return kiln_error_set(
            error, contraction->problem.block != 0 ? KILN_UNSUPPORTED : KILN_BAD_ARGUMENT,
            "node %u '%s': no matrix product with this schedule on '%s': %s",
            (unsigned)problem.op->node, graph->nodes[problem.op->node].name, target->name, fault);
    contraction->order = kiln_choose_tile_order(target);
    schedule->launch.block =
        (contraction->tile.waves_m * contraction->tile.waves_n * contraction->tile.waves_k +
         kiln_pipeline_producer_waves(&contraction->pipeline)) *
        target->wave_size;
    kiln_choose_operand_loads(&problem, &contraction->left, contraction->tile.m,
                              contraction->tile.m / contraction->tile.waves_m /
                                  kiln_fragment_rows_m(contraction, target));
    kiln_choose_operand_loads(&problem, &contraction->right, kiln_tile_columns(contraction),
                              kiln_tile_columns(contraction) / contraction->tile.waves_n /
                                  kiln_fragment_rows_n(contraction, target));
    contraction->k_granule = choose_k_granule(&problem);
    contraction->k_end = choose_k_end(contraction);
    contraction->result_vector =
        kiln_result_vector(&problem, contraction->problem.n, schedule->limits.vector_elems);
    if (contraction->problem.block != 0)
        contraction->ending.rows.lanes = kiln_min_u32(
            contraction->problem.block / contraction->result_vector, target->wave_size);
    kiln_choose_operand_sums(&problem);
    kiln_set_access_modes(&problem);
    if (contraction->pipeline.kind == KILN_PIPELINE_STAGED) {
        contraction->pipeline.staged.table_bytes = kiln_table_bytes(&problem);
        if (lds_bytes(&problem, tile.sum_bytes) > target->lds_bytes)
            contraction->pipeline.staged.table_bytes = 0;
    }
    fill_schedule(&problem, lds_bytes(&problem, tile.sum_bytes));
    return KILN_OK;
}

/* Compares the times of two models. Tiles of whole rows are chosen without one. */
static bool is_small_faster(const struct kiln_schedule_task *task, struct kiln_schedule *large,
                            const struct kiln_schedule *small)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_schedule_of(large);
    /* So few tiles leave little to gain, and their kernel serves all sizes. */
    bool are_few = large->launch.chunk_count <= task->target->compute_units;
    if (kiln_pipeline_is_direct(&contraction->pipeline) || are_few)
        return false;
    const struct kiln_contraction_problem problem = problem_of(task, large);
    const struct kiln_tile_problem tile = tile_problem(&problem);
    double time =
        contraction->time_ns != 0 ? contraction->time_ns : kiln_staged_time_ns(&tile, contraction);
    time += kiln_tile_starts_ns(task->target, large->launch.chunk_count);
    return kiln_contraction_schedule_of(small)->time_ns < time;
}

/* Whichever form is faster. */
static enum kiln_status choose_all(const struct kiln_schedule_task *task,
                                   struct kiln_schedule *schedule, struct kiln_error *error)
{
    struct kiln_schedule small = *schedule;
    bool has_small = false;
    enum kiln_status status = choose_small(task, &small, &has_small, error);
    bool is_forced = has_small && (schedule->options->contraction.form == KILN_CONTRACTION_SMALL ||
                                   schedule->limits.held_elems < KILN_SMALLEST_TILE);
    if (status == KILN_OK && !is_forced)
        status = choose_large(task, schedule, error);
    if (status == KILN_OK && has_small && (is_forced || is_small_faster(task, schedule, &small)))
        *schedule = small;
    return status;
}

/* The passes over the elements of a row, or of a tile. */
static enum kiln_status schedule_reductions(const struct kiln_schedule_task *task,
                                            struct kiln_schedule *schedule,
                                            struct kiln_error *error)
{
    struct kiln_ending *ending = &kiln_contraction_schedule_in(schedule)->ending;
    struct kiln_reduction_passes passes;
    enum kiln_status status =
        kiln_reduction_passes(task->ir, task->group, task->ir->arena, &passes, error);
    if (status != KILN_OK)
        return status;
    schedule->places = passes.place;
    if (kiln_group_has_statistics(task->group))
        kiln_schedule_statistics(task->ir, task->group, task->target, &passes, schedule);
    else
        ending->rows.passes = passes;
    return KILN_OK;
}

static enum kiln_status schedule_contraction(const struct kiln_schedule_task *task,
                                             struct kiln_schedule *schedule,
                                             struct kiln_error *error)
{
    uint32_t node = task->ir->ops[task->group->anchors[0]].node;
    enum kiln_status status = choose_all(task, schedule, error);
    if (status != KILN_OK)
        return status;
    schedule->launch.chunk_count += kiln_contraction_schedule_of(schedule)->operand_sum.groups;
    if (schedule->launch.chunk_count > INT32_MAX)
        return kiln_error_set(error, KILN_UNSUPPORTED,
                              "node %u '%s': its products have more than 2^31 tiles",
                              (unsigned)node, task->graph->nodes[node].name);
    if (task->group->reduced_axes != 0)
        status = schedule_reductions(task, schedule, error);
    if (status != KILN_OK)
        return status;
    kiln_measure_places(task->ir, task->group, schedule);
    schedule->traffic.operations = kiln_limited_product(
        task->group->cost, (uint64_t)kiln_domain_elements(&task->ir->domains[task->group->domain]));
    return KILN_OK;
}

static bool is_same(const struct kiln_schedule *a, const struct kiln_schedule *b)
{
    const struct kiln_contraction_schedule *x = kiln_contraction_schedule_of(a);
    const struct kiln_contraction_schedule *y = kiln_contraction_schedule_of(b);
    return x->tile.m == y->tile.m && x->tile.n == y->tile.n && x->tile.k == y->tile.k &&
           x->pipeline.kind == y->pipeline.kind &&
           kiln_pipeline_item_rows(&x->pipeline) == kiln_pipeline_item_rows(&y->pipeline) &&
           (!kiln_pipeline_is_direct(&x->pipeline) || a->walk.vector_elems == b->walk.vector_elems);
}

static double product_operations(const struct kiln_schedule *schedule)
{
    const struct kiln_product_problem *problem = &kiln_contraction_schedule_of(schedule)->problem;
    /* Groups divide the rows, or k, of all batches among them. */
    double batches =
        problem->routing == KILN_ROUTING_NONE ? (double)kiln_batch_count(&problem->batches) : 1;
    return 2 * (double)problem->m * (double)problem->n * (double)problem->k * problem->products *
           batches;
}

static void count_products(const struct kiln_schedule *schedule, struct kiln_kernel_work *work)
{
    const struct kiln_contraction_schedule *products = kiln_contraction_schedule_of(schedule);
    work->product_operations = product_operations(schedule);
    work->product_dtype = products->staged;
    work->has_matrix_unit = products->tile.mma != NULL;
}

/* A work-group keeps a compute unit busy, and the last ones of a grid leave others idle. Where the
 * tile's model knows more, it takes longer. */
static double contraction_time(const struct kiln_schedule *schedule,
                               const struct kiln_target *target)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_schedule_of(schedule);
    uint32_t operand_bytes =
        contraction->tile.mma == NULL ? 0 : kiln_dtype_info(contraction->staged)->bytes;
    double traffic = (double)schedule->traffic.bytes_moved;
    double arithmetic =
        kiln_target_matrix_bytes(target, product_operations(schedule), operand_bytes) +
        kiln_target_vector_bytes(target, (double)schedule->traffic.operations);
    uint64_t tiles = schedule->launch.chunk_count - contraction->operand_sum.groups;
    uint64_t turns = kiln_ceil_div(tiles, target->compute_units);
    double slowdown = (double)turns * target->compute_units / (double)tiles;
    double time = (traffic > arithmetic ? traffic : arithmetic) * slowdown;
    /* On a CPU the model compares forms and nothing else. */
    bool is_host = target->kind == KILN_TARGET_HOST;
    double modelled = is_host ? 0 : contraction->time_ns * (double)target->bandwidth_gbs;
    double sums = SUMS_NOT_HIDDEN * (double)contraction->operand_sum.bytes;
    return (modelled > time ? modelled : time) + sums;
}

static void describe_contraction(const struct kiln_schedule *schedule, struct kiln_buffer *buffer)
{
    kiln_describe_contraction(kiln_contraction_schedule_of(schedule), buffer);
}

/* Tiles, where a rule has taken the direct form. */
static bool force_tiles(const struct kiln_schedule *schedule, struct kiln_lower_options *options)
{
    if (options->contraction.form != KILN_CONTRACTION_ANY ||
        !kiln_pipeline_is_direct(&kiln_contraction_schedule_of(schedule)->pipeline))
        return false;
    options->contraction.form = KILN_CONTRACTION_PLAIN;
    return true;
}

const struct kiln_schedule_family kiln_schedule_family_contraction = {
    .details_bytes = sizeof(struct kiln_contraction_schedule),
    .schedule = schedule_contraction,
    .relax = kiln_relax_contraction,
    .is_same = is_same,
    .count_products = count_products,
    .time = contraction_time,
    .describe = describe_contraction,
    .explain = kiln_contraction_explain,
    .force_other = force_tiles,
    .print = kiln_contraction_print,
};
