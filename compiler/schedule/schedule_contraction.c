#include "compiler/schedule/schedule_contraction.h"

#include "compiler/fuse/contraction_group.h"
#include "compiler/fuse/fuse_family.h"
#include "compiler/fuse/op_cost.h"
#include "compiler/fuse/target_rates.h"
#include "compiler/schedule/contraction_axes.h"
#include "compiler/schedule/contraction_direct.h"
#include "compiler/schedule/contraction_dtype.h"
#include "compiler/schedule/contraction_forms.h"
#include "compiler/schedule/contraction_layout.h"
#include "compiler/schedule/contraction_loads.h"
#include "compiler/schedule/contraction_modes.h"
#include "compiler/schedule/contraction_print.h"
#include "compiler/schedule/contraction_rows.h"
#include "compiler/schedule/contraction_runs.h"
#include "compiler/schedule/contraction_small.h"
#include "compiler/schedule/contraction_statistics.h"
#include "compiler/schedule/contraction_strips.h"
#include "compiler/schedule/contraction_sums.h"
#include "compiler/schedule/contraction_time.h"
#include "compiler/schedule/schedule_family.h"
#include "compiler/schedule/vector_access.h"
#include "runtime/support/limited_sum.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PACK_BYTES = 16 };

/* Of the time that an operand's sums take by themselves. By the timing model of an MI300X: what
 * they read lies in caches, and they end with the products. */
#define SUMS_NOT_HIDDEN 0.1

uint32_t kiln_tile_columns(const struct kiln_contraction_schedule *contraction)
{
    return contraction->tile_n / contraction->products;
}

/*
 * Of a product with a single row (or column), the stride between rows may be anything. It becomes
 * what it is where there are more, so that both are the same kernel. What is broadcast along the
 * result stays so.
 */
static void name_strides_of_one(struct kiln_contraction_problem *problem)
{
    const struct kiln_contraction_schedule *contraction = problem->contraction;
    const struct {
        uint32_t access;
        bool has_rows;
    } matrices[] = {
        {kiln_contraction_heaviest(problem, contraction->left.places[0], false),
         contraction->m > 1},
        {kiln_contraction_heaviest(problem, contraction->right.places[0], false),
         contraction->n > 1},
        {kiln_contraction_heaviest(problem, KILN_PLACE_ELEMENT, true), contraction->m > 1},
    };
    for (size_t i = 0; i < sizeof matrices / sizeof *matrices; i++) {
        if (matrices[i].access == KILN_NONE || matrices[i].has_rows)
            continue;
        int64_t *strides = problem->schedule->accesses[matrices[i].access].strides;
        if (strides[KILN_STRIDE_COLUMN] == 1)
            strides[KILN_STRIDE_ROW] = contraction->k * 2;
    }
}

/* ---- tiles ---- */

static uint64_t count_tiles(const struct kiln_contraction_schedule *contraction)
{
    uint64_t m = ((uint64_t)contraction->m + contraction->tile_m - 1) / contraction->tile_m;
    uint32_t columns = kiln_tile_columns(contraction);
    uint64_t n = ((uint64_t)contraction->n + columns - 1) / columns;
    uint64_t tiles = m * n * contraction->segments * contraction->groups_k;
    for (uint32_t i = 0; i < contraction->batch_rank; i++)
        tiles *= (uint64_t)contraction->batch_sizes[i];
    return tiles;
}

static uint32_t heaviest_bytes(const struct kiln_contraction_problem *problem,
                               enum kiln_place place, bool is_store)
{
    uint32_t access = kiln_contraction_heaviest(problem, place, is_store);
    return access == KILN_NONE ? 1 : kiln_dtype_info(problem->group->accesses[access].dtype)->bytes;
}

static bool are_operands_loaded(const struct kiln_contraction_problem *problem)
{
    const struct kiln_fusion_group *group = problem->group;
    for (uint32_t i = 0; i < 2 * group->contract_count; i++) {
        uint32_t operand = problem->ir->ops[group->contracts[i / 2]].operands[i % 2];
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

/* Simple operations that find an element which is loaded by itself: a coordinate for each window,
 * its bounds and its place in memory. */
static uint32_t load_cost(const struct kiln_contraction_problem *problem,
                          const struct kiln_operand_schedule *operand, bool is_windowed)
{
    enum { OFFSET_COST = 2, WINDOW_COST = 8 };
    if (kiln_has_whole_loads(problem, operand))
        return 0;
    return OFFSET_COST + (is_windowed ? WINDOW_COST * problem->contraction->window_count : 0);
}

static struct kiln_tile_problem tile_problem(const struct kiln_contraction_problem *problem)
{
    const struct kiln_contraction_schedule *contraction = problem->contraction;
    struct kiln_tile_problem tile = {
        .target = problem->target,
        .limits = &problem->schedule->limits,
        .forced = &problem->schedule->forced,
        .batch = contraction->segments,
        .sum_bytes = kiln_dtype_info(kiln_scalar_dtype(problem->op->scalar))->bytes,
        .left_bytes = heaviest_bytes(problem, contraction->left.places[0], false),
        .right_bytes = heaviest_bytes(problem, contraction->right.places[0], false),
        .result_bytes = heaviest_bytes(problem, KILN_PLACE_ELEMENT, true),
        .left_along_rows = kiln_runs_along_rows(problem, &contraction->left),
        .right_along_rows = kiln_runs_along_rows(problem, &contraction->right),
        .left_is_whole = kiln_has_whole_loads(problem, &contraction->left),
        .right_is_whole = kiln_has_whole_loads(problem, &contraction->right),
        .left_cost = staging_cost(problem, &contraction->left),
        .right_cost = staging_cost(problem, &contraction->right),
        .left_load_cost = load_cost(problem, &contraction->left, !contraction->is_right_windowed),
        .right_load_cost = load_cost(problem, &contraction->right, contraction->is_right_windowed),
        .are_operands_loaded = are_operands_loaded(problem),
        .is_alone = problem->group->reduced_axes != 0 || contraction->segments > 1 ||
                    kiln_group_operand_sum(problem->ir, problem->group) != KILN_NONE ||
                    contraction->window_count != 0 || problem->schedule->forced.segments == 1,
    };
    for (uint32_t i = 0; i < contraction->batch_rank; i++)
        tile.batch *= (uint64_t)contraction->batch_sizes[i];
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
static const char *choose_tile(const struct kiln_tile_problem *tile,
                               struct kiln_contraction_schedule *contraction)
{
    int64_t k = contraction->k;
    contraction->k = (k + contraction->segments - 1) / contraction->segments;
    const char *fault = kiln_choose_contraction_tile(tile, contraction);
    if (fault == NULL && contraction->time_ns == 0)
        contraction->time_ns = kiln_contraction_time_ns(tile, contraction);
    contraction->k = k;
    return fault;
}

/* Chiplets of MI300X and MI325X with a second-level cache each. Runs of 16 and columns of 8 tiles:
 * what HipKittens measured as best on an MI325X; nothing was measured for Kiln. */
static void choose_order(struct kiln_contraction_problem *problem)
{
    problem->contraction->chiplets = kiln_is_cdna3_or_later(problem->target) ? 8 : 1;
    problem->contraction->chiplet_run = 16;
    problem->contraction->super_rows = 8;
}

/* ---- loads and stores ---- */

/* Where an operand is loaded in packs of the last axis, that is whole packs long; if it is whole
 * tiles long, a tile is of one tap. Other lengths are none of the text's business. */
static uint32_t choose_k_granule(const struct kiln_contraction_problem *problem)
{
    const struct kiln_contraction_schedule *contraction = problem->contraction;
    const struct kiln_operand_schedule *operands[] = {&contraction->left, &contraction->right};
    uint32_t pack = kiln_pack_elements(contraction);
    uint32_t count = contraction->sums.count;
    bool has_packs = false;
    for (size_t i = 0; i < sizeof operands / sizeof *operands; i++) {
        if (contraction->k_run == 0 &&
            kiln_is_axis_windowed(contraction, operands[i], true, count - 1))
            return 1;
        has_packs |= operands[i]->vector == pack && kiln_is_operand_split(problem, operands[i]);
    }
    if (count == 1 || !has_packs)
        return 1;
    return contraction->sums.sizes[count - 1] % contraction->tile_k == 0 ? contraction->tile_k
                                                                         : pack;
}

/* Neighbours of the result that are finished at once: as many as 16 bytes have, or one. */
static void choose_result_vector(struct kiln_contraction_problem *problem, uint32_t limit)
{
    struct kiln_contraction_schedule *contraction = problem->contraction;
    const struct kiln_fusion_group *group = problem->group;
    uint32_t store = kiln_contraction_heaviest(problem, KILN_PLACE_ELEMENT, true);
    uint32_t most = (uint32_t)PACK_BYTES /
                    (store == KILN_NONE ? 4 : kiln_dtype_info(group->accesses[store].dtype)->bytes);
    most = most > 8 ? 8 : most;
    most = kiln_floor_power_of_two(most < limit ? most : limit);
    bool is_vector = kiln_are_accesses_whole(problem, KILN_PLACE_ELEMENT, KILN_STRIDE_COLUMN,
                                             contraction->n, most);
    contraction->result_vector = is_vector ? most : 1;
}

/* The rest, which follows from the tile and the operands' loads. */
static void fill_schedule(const struct kiln_contraction_problem *problem, uint32_t lds_bytes)
{
    struct kiln_schedule *schedule = problem->schedule;
    const struct kiln_contraction_schedule *contraction = problem->contraction;
    schedule->rank = 1;
    schedule->dims[0] = contraction->n;
    schedule->rows = (uint64_t)contraction->m;
    schedule->cols = (uint64_t)contraction->n;
    schedule->vector_elems = contraction->result_vector;
    uint64_t small_items = (uint64_t)kiln_count_small_items(contraction);
    schedule->chunk_count = contraction->strip_taps != 0
                                ? (uint64_t)kiln_count_strips(contraction).tiles
                            : kiln_is_contraction_small(contraction)
                                ? (small_items + schedule->block - 1) / schedule->block
                                : count_tiles(contraction);
    schedule->grid_unit = contraction->groups_k;
    schedule->index_is_64bit = kiln_offsets_need_64_bits(problem);
    schedule->lds_bytes = lds_bytes;
}

/* Whether the image's memory runs along the result's columns. */
static bool is_image_across(const struct kiln_contraction_problem *problem)
{
    uint32_t image = kiln_contraction_heaviest(problem, KILN_PLACE_LEFT, false);
    return image != KILN_NONE &&
           problem->schedule->accesses[image].strides[KILN_STRIDE_ACROSS] == 1;
}

/* Channels of a work-item: as many as a load of the image brings, whatever the sums' type is. */
static uint32_t gradient_vector(const struct kiln_contraction_problem *problem, uint32_t limit)
{
    uint32_t vector = (uint32_t)PACK_BYTES / heaviest_bytes(problem, KILN_PLACE_LEFT, false);
    vector = kiln_floor_power_of_two(vector < limit ? vector : limit);
    vector = vector > 8 ? 8 : vector;
    bool is_whole = kiln_are_accesses_whole(problem, KILN_PLACE_ELEMENT, KILN_STRIDE_COLUMN,
                                            problem->contraction->n, vector);
    return is_whole ? vector : 1;
}

/* Elements that are loaded one by one have an offset each, and are decoded one by one. A single
 * line of them is enough to wait for, and enough text. */
static void choose_strip_lines(struct kiln_contraction_problem *problem)
{
    enum { STRIP_LINES = 3 };
    uint32_t image = kiln_contraction_heaviest(problem, KILN_PLACE_LEFT, false);
    bool is_vector =
        image != KILN_NONE && problem->schedule->accesses[image].mode == KILN_ACCESS_VECTOR;
    problem->contraction->strip_lines = is_vector ? STRIP_LINES : 1;
}

/* Work-items compute elements of the result themselves. */
static void choose_direct(struct kiln_contraction_problem *problem)
{
    struct kiln_contraction_schedule *contraction = problem->contraction;
    uint32_t store = kiln_contraction_heaviest(problem, KILN_PLACE_ELEMENT, true);
    uint32_t sum_bytes = kiln_dtype_info(kiln_scalar_dtype(problem->op->scalar))->bytes;
    contraction->are_rows_fast =
        store != KILN_NONE && contraction->n > 1 &&
        problem->schedule->accesses[store].strides[KILN_STRIDE_COLUMN] != 1;
    bool is_swapped = contraction->left.places[0] == KILN_PLACE_RIGHT;
    uint32_t limit = problem->schedule->limits.vector_elems;
    if (contraction->is_direct_gradient)
        contraction->are_rows_fast = !is_image_across(problem);
    uint32_t most = kiln_direct_vector_limit(problem->target, is_swapped, contraction);
    choose_result_vector(problem, most < limit ? most : limit);
    if (contraction->is_direct_gradient && !contraction->are_rows_fast)
        contraction->result_vector = gradient_vector(problem, limit);
    struct kiln_operand_schedule *shared = is_swapped ? &contraction->left : &contraction->right;
    shared->is_along_k = !kiln_runs_along_rows(problem, shared);
    if (!contraction->is_direct_gradient && kiln_find_strips(is_swapped, contraction)) {
        problem->schedule->template_name = "contraction_strips";
        kiln_choose_strip_tile(problem->target, &problem->schedule->limits, contraction);
    } else {
        kiln_choose_direct_tile(problem->target, &problem->schedule->limits, is_swapped,
                                contraction);
    }
    choose_order(problem);
    problem->schedule->block = kiln_direct_block(problem->target);
    kiln_set_direct_modes(problem);
    choose_strip_lines(problem);
    fill_schedule(problem, kiln_direct_lds_bytes(contraction, sum_bytes));
}

static enum kiln_k_end choose_k_end(const struct kiln_contraction_schedule *contraction)
{
    /* Each phase has a k of its own. */
    bool has_phases =
        contraction->phase_count != 0 && contraction->k_granule != contraction->tile_k;
    /* In no operand's memory are neighbours along k: it counts images and pixels, or tokens, of
     * which there may be any number. */
    bool is_any = !contraction->left.is_along_k && !contraction->right.is_along_k &&
                  contraction->producer_waves == 0;
    return contraction->is_streamed                    ? KILN_K_END_FIRST
           : has_phases || is_any                      ? KILN_K_END_ANY
           : contraction->k % contraction->tile_k == 0 ? KILN_K_END_NONE
           : contraction->k > contraction->tile_k      ? KILN_K_END_FIRST
                                                       : KILN_K_END_ALONE;
}

/* Behind what is used for tiles and sums there is the ring. */
static uint32_t lds_bytes(const struct kiln_contraction_problem *problem, uint32_t sum_bytes)
{
    const struct kiln_contraction_schedule *contraction = problem->contraction;
    uint32_t ring = contraction->producer_waves != 0 ? contraction->buffers * PACK_BYTES : 0;
    uint32_t bytes = kiln_contraction_lds_bytes(contraction, problem->target, sum_bytes) - ring;
    uint32_t sums = kiln_operand_sums_lds_bytes(problem);
    return (bytes > sums ? bytes : sums) + ring;
}

static struct kiln_contraction_problem problem_of(const struct kiln_schedule_task *task,
                                                  struct kiln_schedule *schedule)
{
    const struct kiln_ir *ir = task->ir;
    const struct kiln_op *op = &ir->ops[task->group->contracts[0]];
    return (struct kiln_contraction_problem){
        .ir = ir,
        .graph = task->graph,
        .group = task->group,
        .target = task->target,
        .op = op,
        .axes = &ir->contractions[op->contraction],
        .schedule = schedule,
        .contraction = &schedule->contraction,
    };
}

/* The small form, where that is possible: *ret_is_made. */
static enum kiln_status choose_small(const struct kiln_schedule_task *task,
                                     struct kiln_schedule *schedule, bool *ret_is_made,
                                     struct kiln_error *error)
{
    struct kiln_contraction_problem problem = problem_of(task, schedule);
    struct kiln_contraction_schedule *contraction = problem.contraction;
    *ret_is_made = false;
    if (!kiln_may_contraction_be_small(&problem))
        return KILN_OK;
    schedule->accesses =
        kiln_arena_calloc(task->ir->arena, task->group->access_count, sizeof *schedule->accesses);
    if (schedule->accesses == NULL || !kiln_choose_staged_dtype(task->ir, task->graph, task->group,
                                                                task->target, &contraction->staged))
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while scheduling a kernel");
    contraction->segments = contraction->groups_k = contraction->k_granule = 1;
    contraction->waves_m = contraction->waves_n = contraction->waves_k = 1;
    contraction->row_parts = 1;
    contraction->row_items = contraction->column_items = 1;
    kiln_contraction_lay_out_axes(&problem, kiln_contraction_is_transposed(&problem));
    const struct kiln_tile_problem tile = tile_problem(&problem);
    if (!kiln_choose_small_items(&problem, &tile))
        return KILN_OK;
    schedule->template_name = "contraction_small";
    schedule->block = kiln_small_block(task->target);
    choose_result_vector(&problem, contraction->item_columns & -contraction->item_columns);
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
    schedule->template_name = "contraction";
    contraction->segments = kiln_group_cuts_k(group) ? group->segment_count : 1;
    if (!kiln_choose_staged_dtype(ir, graph, group, target, &contraction->staged))
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while scheduling a kernel");
    contraction->is_direct = kiln_is_contraction_direct(&problem);
    contraction->is_direct_gradient =
        contraction->is_direct && kiln_contraction_is_depthwise_gradient(problem.axes);
    struct kiln_contraction joined;
    if (!contraction->is_direct && kiln_group_operand_sum(ir, group) == KILN_NONE &&
        kiln_join_channels(&problem, kiln_pack_elements(contraction), &joined))
        problem.axes = &joined;
    kiln_contraction_lay_out_axes(&problem, kiln_contraction_is_transposed(&problem));
    name_strides_of_one(&problem);
    contraction->k_granule = 1;
    if (contraction->is_direct) {
        schedule->template_name = "contraction_direct";
        choose_direct(&problem);
        return KILN_OK;
    }
    const struct kiln_tile_problem tile = tile_problem(&problem);
    contraction->row_parts = 1;
    contraction->groups_k = 1;
    const char *fault = NULL;
    if (kiln_group_has_whole_rows(group))
        kiln_contraction_choose_row_tile(target, problem.op->scalar, &schedule->limits,
                                         contraction);
    else
        fault = choose_tile(&tile, contraction);
    if (fault != NULL)
        return kiln_error_set(error, KILN_BAD_ARGUMENT,
                              "node %u '%s': no matrix product with this schedule on '%s': %s",
                              (unsigned)problem.op->node, graph->nodes[problem.op->node].name,
                              target->name, fault);
    choose_order(&problem);
    schedule->block = (contraction->waves_m * contraction->waves_n * contraction->waves_k +
                       contraction->producer_waves) *
                      target->wave_size;
    kiln_choose_operand_loads(&problem, &contraction->left, contraction->tile_m,
                              contraction->tile_m / contraction->waves_m /
                                  kiln_fragment_rows_m(contraction, target));
    kiln_choose_operand_loads(&problem, &contraction->right, kiln_tile_columns(contraction),
                              kiln_tile_columns(contraction) / contraction->waves_n /
                                  kiln_fragment_rows_n(contraction, target));
    contraction->k_granule = choose_k_granule(&problem);
    contraction->k_end = choose_k_end(contraction);
    choose_result_vector(&problem, schedule->limits.vector_elems);
    kiln_choose_operand_sums(&problem);
    kiln_set_access_modes(&problem);
    fill_schedule(&problem, lds_bytes(&problem, tile.sum_bytes));
    return KILN_OK;
}

/* Compares the times of two models. Tiles of whole rows are chosen without one. */
static bool is_small_faster(const struct kiln_schedule_task *task, struct kiln_schedule *large,
                            const struct kiln_schedule *small)
{
    const struct kiln_contraction_schedule *contraction = &large->contraction;
    /* So few tiles leave little to gain, and their kernel serves all sizes. */
    bool are_few = large->chunk_count <= task->target->compute_units;
    if (contraction->is_direct || are_few)
        return false;
    const struct kiln_contraction_problem problem = problem_of(task, large);
    const struct kiln_tile_problem tile = tile_problem(&problem);
    double time = contraction->time_ns != 0 ? contraction->time_ns
                                            : kiln_contraction_time_ns(&tile, contraction);
    time += kiln_tile_starts_ns(task->target, large->chunk_count);
    return small->contraction.time_ns < time;
}

/* Whichever form is faster. */
static enum kiln_status choose_all(const struct kiln_schedule_task *task,
                                   struct kiln_schedule *schedule, struct kiln_error *error)
{
    struct kiln_schedule small = *schedule;
    bool has_small = false;
    enum kiln_status status = choose_small(task, &small, &has_small, error);
    bool is_forced = has_small && (schedule->forced.form == KILN_CONTRACTION_SMALL ||
                                   schedule->limits.held_elems < KILN_SMALLEST_TILE);
    if (status == KILN_OK && !is_forced)
        status = choose_large(task, schedule, error);
    if (status == KILN_OK && has_small && (is_forced || is_small_faster(task, schedule, &small)))
        *schedule = small;
    return status;
}

/* Of a contraction each access counts once: what a tile reads again comes out of a cache. */
static void measure_contraction(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                                struct kiln_schedule *schedule)
{
    for (uint32_t i = 0; i < group->access_count; i++) {
        const struct kiln_access *access = &group->accesses[i];
        const struct kiln_domain *domain =
            &ir->domains[kiln_group_place_domain(ir, group, access->place)];
        uint64_t bytes = kiln_dtype_info(access->dtype)->bytes *
                         (access->is_accumulator ? (uint64_t)schedule->segment_count : 1);
        for (uint32_t axis = 0; axis < domain->rank; axis++) {
            if (access->strides[axis] != 0)
                bytes = kiln_limited_product(bytes, (uint64_t)domain->dims[axis]);
        }
        schedule->bytes_fewest = kiln_limited_sum(schedule->bytes_fewest, bytes);
    }
    schedule->bytes_moved = schedule->bytes_fewest;
}

static enum kiln_status schedule_contraction(const struct kiln_schedule_task *task,
                                             struct kiln_schedule *schedule,
                                             struct kiln_error *error)
{
    uint32_t node = task->ir->ops[task->group->contracts[0]].node;
    enum kiln_status status = choose_all(task, schedule, error);
    if (status != KILN_OK)
        return status;
    schedule->chunk_count += schedule->contraction.sum_groups;
    if (schedule->chunk_count > INT32_MAX)
        return kiln_error_set(error, KILN_UNSUPPORTED,
                              "node %u '%s': its products have more than 2^31 tiles",
                              (unsigned)node, task->graph->nodes[node].name);
    if (task->group->reduced_axes != 0) {
        status = kiln_reduction_passes(task->ir, task->group, task->ir->arena,
                                       &schedule->contraction.passes, error);
        if (status != KILN_OK)
            return status;
        schedule->places = schedule->contraction.passes.place;
    }
    if (kiln_group_has_statistics(task->group))
        kiln_schedule_statistics(task->ir, task->group, task->target, schedule);
    measure_contraction(task->ir, task->group, schedule);
    schedule->operations = kiln_limited_product(
        task->group->cost, (uint64_t)kiln_domain_elements(&task->ir->domains[task->group->domain]));
    return KILN_OK;
}

static bool is_same(const struct kiln_schedule *a, const struct kiln_schedule *b)
{
    return a->contraction.tile_m == b->contraction.tile_m &&
           a->contraction.tile_n == b->contraction.tile_n &&
           a->contraction.tile_k == b->contraction.tile_k &&
           a->contraction.is_streamed == b->contraction.is_streamed &&
           a->contraction.item_rows == b->contraction.item_rows &&
           (!a->contraction.is_direct || a->vector_elems == b->vector_elems);
}

static bool walks_in_order(const struct kiln_schedule *schedule)
{
    (void)schedule;
    return false;
}

static double product_operations(const struct kiln_schedule *schedule)
{
    const struct kiln_contraction_schedule *contraction = &schedule->contraction;
    double operations = 2 * (double)contraction->m * (double)contraction->n *
                        (double)contraction->k * contraction->products;
    for (uint32_t i = 0; i < contraction->batch_rank; i++)
        operations *= (double)contraction->batch_sizes[i];
    return operations;
}

static void count_products(const struct kiln_schedule *schedule, struct kiln_kernel_work *work)
{
    const struct kiln_contraction_schedule *products = &schedule->contraction;
    work->product_operations = product_operations(schedule);
    work->product_dtype = products->staged;
    work->has_matrix_unit = products->mma != NULL;
}

/* A work-group keeps a compute unit busy, and the last ones of a grid leave others idle. Where the
 * tile's model knows more, it takes longer. */
static double contraction_time(const struct kiln_schedule *schedule,
                               const struct kiln_target *target)
{
    const struct kiln_contraction_schedule *contraction = &schedule->contraction;
    uint32_t operand_bytes =
        contraction->mma == NULL ? 0 : kiln_dtype_info(contraction->staged)->bytes;
    double traffic = (double)schedule->bytes_moved;
    double arithmetic =
        kiln_target_matrix_bytes(target, product_operations(schedule), operand_bytes) +
        kiln_target_vector_bytes(target, (double)schedule->operations);
    uint64_t tiles = schedule->chunk_count - contraction->sum_groups;
    uint64_t turns = (tiles + target->compute_units - 1) / target->compute_units;
    double slowdown = (double)turns * target->compute_units / (double)tiles;
    double time = (traffic > arithmetic ? traffic : arithmetic) * slowdown;
    /* On a CPU the model compares forms and nothing else. */
    bool is_host = target->kind == KILN_TARGET_HOST;
    double modelled = is_host ? 0 : contraction->time_ns * (double)target->bandwidth_gbs;
    double sums = SUMS_NOT_HIDDEN * (double)contraction->summed_bytes;
    return (modelled > time ? modelled : time) + sums;
}

const struct kiln_schedule_family kiln_schedule_family_contraction = {
    .schedule = schedule_contraction,
    .relax = kiln_relax_contraction,
    .is_same = is_same,
    .walks_in_order = walks_in_order,
    .count_products = count_products,
    .time = contraction_time,
    .print = kiln_contraction_print,
};
