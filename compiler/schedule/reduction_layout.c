#include "compiler/schedule/reduction_layout.h"

#include "compiler/fuse/register_pressure.h"
#include "compiler/schedule/attention_segments.h"
#include "compiler/schedule/reduction_lds.h"
#include "compiler/schedule/tuning.h"
#include "compiler/schedule/vector_access.h"

/*
 * Requirements that the numbers below and in tuning.def come from, on a GPU:
 *   1. wide accesses, as in schedule_pointwise.c; neighbouring work-items cover at least
 * CONTIGUOUS_BYTES of a line of columns, sector_bytes of a row;
 *   2. a row is read once when it fits into the registers of at most MAX_BLOCK work-items
 * (resident_registers, usable_registers);
 *   3. code grows with cost x vector x steps x passes: MAX_RESIDENT_COST;
 *   4. enough work-items for the whole target: full_items per compute unit, and no work-item
 * without a step to do;
 *   5. otherwise reduction_bytes_in_flight of loads at once, so that latency is covered;
 *   6. little LDS, so that several work-groups share a compute unit.
 *
 * On a CPU a row, or a vector of rows, is one work-item's: the core's cache holds what is read
 * again, vectors are several registers wide, so that additions do not wait for each other, and in
 * the form `columns` a few cache lines wide, so that none is fetched twice.
 */
enum {
    /* Held against half and twice as many work-items, rows and steps on an H200. */
    CONTIGUOUS_BYTES = 128,
    SHORT_ROW_BYTES = 32,
    MAX_NEIGHBOURS = 64,
    TAIL_TIME = 8,
    MAX_STEPS_IN_FLIGHT = 8,
    MIN_HELD_ACCESS_BYTES = 8,
    COMFORTABLE_HELD_REGISTERS = 64,
    MAX_RESIDENT_COST = 8192,
    STEPS_PER_ITEM = 4,
    SPARE_REGISTERS = 8,
    CUDA_REGISTER_FILE = 65536,
    MAX_BLOCK = 1024,
    LARGE_BLOCK = 512,
    MIN_BLOCK = 64,
    GROUPS_PER_UNIT = 2,
    MAX_LDS_BYTES = 32768,
    COMBINE_ITEMS = 8,
    FEW_SEGMENTS = 8, /* of attention, that a work-item merges by itself */
    MERGE_BYTES = 64, /* of neighbours where a wave does */
    ACCUMULATOR_BYTES = 4,
    /* Measured on a Zen core with AVX2: Welford's update of rows is three times as fast with 128
     * bytes of floats at once as with 64. Sums of columns are three times as fast with 256 bytes as
     * with 64; with 512 the accumulators leave no vector register free. */
    HOST_ROW_ELEMS = 64,
    HOST_ROW_BYTES = 128,
    HOST_COLUMN_ELEMS = 64,
    HOST_COLUMN_BYTES = 256,
    HOST_STEP_ELEMS = 32,
    HOST_BLOCK = 16,
    HOST_GROUPS_PER_CORE = 4,
    CACHE_LINE_BYTES = 64,
};

/* What the choices depend on and does not change with them. */
struct problem {
    const struct kiln_fusion_group *group;
    const struct kiln_target *target;
    const struct kiln_tuning *tuning;
    const struct kiln_reduction_passes *passes;
    const uint32_t *reads;
    uint32_t cost; /* arithmetic of one element in all passes together, at least 1 */
    bool is_host;
    bool may_unroll;        /* several steps, and so arrays, in a work-item */
    uint32_t element_bytes; /* of the narrowest dense access that carries real traffic, or 1 */
    uint32_t accumulator_registers; /* for one lane of a vector, at the worst pass */
    uint32_t max_block;
};

static uint64_t ceil_div(uint64_t a, uint64_t b)
{
    return (a + b - 1) / b;
}

static uint32_t min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t max_u32(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static bool is_reduced(const struct kiln_schedule *schedule, uint32_t axis)
{
    return (schedule->reduced_axes >> axis) & 1u;
}

static uint32_t count_accumulator_registers(const struct kiln_reduction_passes *passes)
{
    uint32_t worst = 0;
    for (uint32_t pass = 0; pass < passes->pass_count; pass++) {
        uint32_t registers = 0;
        for (uint32_t i = 0; i < passes->accumulator_count; i++) {
            const struct kiln_accumulator *accumulator = &passes->accumulators[i];
            if (accumulator->pass == pass)
                registers += kiln_accumulator_info(accumulator->kind)->components *
                             kiln_scalar_registers(accumulator->scalar);
        }
        worst = max_u32(worst, registers);
    }
    return worst;
}

static uint64_t line_length(const struct kiln_schedule *schedule)
{
    return (uint64_t)schedule->dims[schedule->rank - 1];
}

/* How long a line takes in vectors of which one takes step_time, an element that is in none
 * tail_time. */
static uint64_t line_time(uint64_t line, uint32_t vector, uint32_t step_time, uint32_t tail_time)
{
    return line / vector * step_time + line % vector * tail_time;
}

/* Of the vectors up to `widest` the one that is through a line of a row first. On a CPU a vector of
 * up to HOST_STEP_ELEMS elements takes as long as an element that is in none; on a GPU any vector
 * is one access, and elements that are in none are walked after all vectors, with all that costs.
 */
static uint32_t best_row_vector(const struct problem *problem, uint64_t line, uint32_t widest)
{
    uint64_t least = UINT64_MAX;
    uint32_t best = 1;
    for (uint32_t vector = widest; vector > 0; vector /= 2) {
        uint32_t step_time = problem->is_host ? max_u32(1, vector / HOST_STEP_ELEMS) : 1;
        uint64_t time = line_time(line, vector, step_time, problem->is_host ? 1 : TAIL_TIME);
        if (time < least) {
            least = time;
            best = vector;
        }
    }
    return best;
}

/* On a CPU, for accesses whose narrowest element has so many bytes. */
static uint32_t choose_host_vector(const struct problem *problem,
                                   const struct kiln_schedule *schedule, uint32_t narrowest)
{
    uint64_t line = line_length(schedule);
    if (schedule->reduction.is_columns) {
        uint32_t vector = min_u32(HOST_COLUMN_ELEMS, HOST_COLUMN_BYTES / narrowest);
        uint64_t columns = schedule->rows * line;
        for (uint32_t axis = 0; axis < schedule->rank; axis++)
            columns /= is_reduced(schedule, axis) ? (uint64_t)schedule->dims[axis] : 1;
        if (problem->group->role == KILN_ROLE_PARTIAL)
            columns *= problem->group->segment_count;
        while (vector * narrowest > CACHE_LINE_BYTES &&
               columns / vector < problem->target->compute_units)
            vector /= 2;
        return vector;
    }
    return best_row_vector(problem, line, min_u32(HOST_ROW_ELEMS, HOST_ROW_BYTES / narrowest));
}

/* On a GPU. */
static uint32_t choose_wave_vector(const struct problem *problem,
                                   const struct kiln_schedule *schedule, uint32_t narrowest,
                                   uint32_t widest)
{
    uint32_t vector = min_u32(KILN_ACCESS_BYTES / narrowest, KILN_MAX_ACCESS_BYTES / widest);
    if (schedule->sizes_are_arguments) /* the same however heavy results are */
        vector = KILN_ACCESS_BYTES / widest;
    return schedule->reduction.is_columns ? vector
                                          : best_row_vector(problem, line_length(schedule), vector);
}

/* Vector length that the elements' width, registers, the code's size and the inner axis allow. */
static uint32_t choose_vector(const struct problem *problem, const struct kiln_schedule *schedule,
                              const bool *is_dense)
{
    const struct kiln_fusion_group *group = problem->group;
    uint32_t narrowest;
    uint32_t widest;
    kiln_dense_element_bytes(group, schedule, is_dense, &narrowest, &widest);
    if (narrowest == 0)
        return 1;
    uint32_t vector = problem->is_host ? choose_host_vector(problem, schedule, narrowest)
                                       : choose_wave_vector(problem, schedule, narrowest, widest);
    vector = min_u32(vector, kiln_floor_power_of_two(schedule->limits.vector_elems));
    vector = min_u32(vector, kiln_floor_power_of_two(line_length(schedule)));
    uint32_t registers = group->live_registers + problem->accumulator_registers;
    while (vector > 1 &&
           ((!problem->is_host && vector * registers > problem->target->vgprs * 3 / 4) ||
            vector * group->cost > KILN_MAX_UNROLLED_COST))
        vector /= 2;
    return vector;
}

/* Rows and steps for a vector length. */
static void count_work(const struct kiln_fusion_group *group, struct kiln_schedule *schedule)
{
    struct kiln_reduction_schedule *reduction = &schedule->reduction;
    reduction->kept_count = 1;
    reduction->step_count = 1;
    for (uint32_t axis = 0; axis < schedule->rank; axis++) {
        uint64_t size = (uint64_t)schedule->dims[axis];
        if (axis == schedule->rank - 1)
            size = ceil_div(size, schedule->vector_elems);
        *(is_reduced(schedule, axis) ? &reduction->step_count : &reduction->kept_count) *= size;
    }
    reduction->segment_count = group->role == KILN_ROLE_PARTIAL ? group->segment_count : 1;
    reduction->steps_per_segment = ceil_div(reduction->step_count, reduction->segment_count);
}

/* Elements of an access in one step, as they lie in registers. */
static uint32_t step_elements(const struct kiln_schedule *schedule, uint32_t access)
{
    return schedule->accesses[access].strides[schedule->rank - 1] == 0 ? 1 : schedule->vector_elems;
}

/* Registers of one step for what several passes read: as it is computed with, since the conversion
 * is done once. */
static uint32_t held_registers(const struct problem *problem, const struct kiln_schedule *schedule)
{
    uint32_t registers = 0;
    for (uint32_t i = 0; i < problem->group->load_count; i++) {
        uint32_t bytes = kiln_dtype_info(problem->group->accesses[i].dtype)->bytes;
        if (problem->reads[i] > 1)
            registers += step_elements(schedule, i) * max_u32(1, bytes / 4);
    }
    return registers;
}

/* Registers of one step for what one pass alone reads: as it lies in memory. */
static uint32_t passing_registers(const struct problem *problem,
                                  const struct kiln_schedule *schedule)
{
    const struct kiln_fusion_group *group = problem->group;
    uint32_t registers = 0;
    for (uint32_t i = 0; i < group->load_count; i++) {
        uint32_t bytes = kiln_dtype_info(group->accesses[i].dtype)->bytes;
        if (problem->reads[i] == 1 && group->accesses[i].place != KILN_PLACE_ROW)
            registers += (step_elements(schedule, i) * bytes + 3) / 4;
    }
    return registers;
}

/*
 * Registers of a work-item that holds so many steps. A pass loads all its steps before it uses
 * them; what only one pass reads belongs to the last one as a rule, which accumulates nothing. One
 * more a step is for its address. An estimate: LLVM 19 spilled none in the largest softmax and
 * layer norm kernels that it allows for gfx9, gfx10, gfx11 and gfx12.
 */
static uint64_t resident_registers(const struct problem *problem,
                                   const struct kiln_schedule *schedule, uint64_t steps)
{
    uint64_t passing = passing_registers(problem, schedule);
    uint32_t live =
        problem->group->live_registers + (passing == 0 ? problem->accumulator_registers : 0);
    return steps * (held_registers(problem, schedule) + passing + 1) +
           (uint64_t)schedule->vector_elems * live;
}

/* Registers that each work-item of a block of this size can have: the whole block is on one compute
 * unit. */
static uint32_t usable_registers(const struct kiln_target *target, uint32_t block)
{
    if (target->kind == KILN_TARGET_CUDA)
        return min_u32(target->vgprs, CUDA_REGISTER_FILE / block);
    return block > LARGE_BLOCK ? target->vgprs / 2 : target->vgprs;
}

/* Requirements 2 and 3 for `steps` steps held by each work-item of a block. */
static bool can_hold(const struct problem *problem, const struct kiln_schedule *schedule,
                     uint32_t block, uint64_t steps)
{
    return steps * schedule->vector_elems <= schedule->limits.held_elems &&
           resident_registers(problem, schedule, steps) + SPARE_REGISTERS <=
               usable_registers(problem->target, block) &&
           steps * schedule->vector_elems * problem->cost <= MAX_RESIDENT_COST;
}

/* Something is read in more passes than one, so that holding it saves traffic. */
static bool gains_from_holding(const struct problem *problem)
{
    for (uint32_t i = 0; i < problem->group->load_count; i++) {
        if (problem->reads[i] > 1)
            return true;
    }
    return false;
}

static uint64_t steps_of_item(const struct kiln_schedule *schedule, uint32_t items_along_reduced)
{
    return ceil_div(schedule->reduction.steps_per_segment, items_along_reduced);
}

/* Whether rows of several passes are held when so many work-items share one. */
static bool holds_rows(const struct problem *problem, const struct kiln_schedule *schedule,
                       uint32_t items_along_reduced, uint32_t items_along_kept)
{
    uint64_t steps = steps_of_item(schedule, items_along_reduced);
    return (steps == 1 || problem->may_unroll) &&
           can_hold(problem, schedule, items_along_reduced * items_along_kept, steps);
}

/* Whether so many steps become so much code that more work-items are worth having, for the time
 * that it takes to compile. LLVM 15 takes 23 ms for each step of a layernorm with swish in half; on
 * an H200, where kernels are made to be measured, half as many steps make a softmax in half 14 %
 * slower. */
static bool compiles_slowly(const struct problem *problem, const struct kiln_schedule *schedule,
                            uint64_t steps)
{
    uint32_t most = problem->tuning->comfortable_cost;
    return most != 0 && steps * schedule->vector_elems * problem->cost > most;
}

/* Whether more work-items are worth having for less that each holds: several work-groups on a
 * compute unit at once, so that one loads while another computes. */
static bool holds_much(const struct problem *problem, const struct kiln_schedule *schedule,
                       uint32_t items_along_reduced)
{
    uint64_t steps = steps_of_item(schedule, items_along_reduced);
    return steps * held_registers(problem, schedule) > COMFORTABLE_HELD_REGISTERS ||
           compiles_slowly(problem, schedule, steps);
}

/* How many steps a looping work-item loads together: requirement 5; evenly spread over the turns of
 * the loop. */
static uint32_t choose_steps_in_flight(const struct problem *problem,
                                       const struct kiln_schedule *schedule, uint64_t steps)
{
    const struct kiln_fusion_group *group = problem->group;
    uint32_t most = 1;
    if (problem->may_unroll && !problem->is_host) {
        uint32_t bytes = 0;
        for (uint32_t i = 0; i < group->load_count; i++) {
            if (group->accesses[i].place != KILN_PLACE_ROW)
                bytes +=
                    step_elements(schedule, i) * kiln_dtype_info(group->accesses[i].dtype)->bytes;
        }
        uint32_t unit = schedule->vector_elems * problem->cost;
        while (most < min_u32(MAX_STEPS_IN_FLIGHT, schedule->limits.steps) &&
               2 * most * bytes <= problem->tuning->reduction_bytes_in_flight &&
               2 * most * unit <= KILN_MAX_UNROLLED_COST &&
               2 * most * schedule->vector_elems * group->live_registers <=
                   problem->target->vgprs * 3 / 4)
            most *= 2;
    }
    if (schedule->sizes_are_arguments)
        return most;
    uint64_t turns = ceil_div(steps, most);
    return (uint32_t)ceil_div(steps, turns);
}

static uint64_t work_groups(const struct kiln_schedule *schedule, uint32_t items_along_kept)
{
    const struct kiln_reduction_schedule *reduction = &schedule->reduction;
    return ceil_div(reduction->kept_count, items_along_kept) * reduction->segment_count;
}

/* Requirement 4: whether there is work for the target with so many work-items. */
static bool fills_target(const struct problem *problem, uint64_t items)
{
    return items >= (uint64_t)problem->target->compute_units * problem->tuning->full_items;
}

static bool has_many_groups(const struct problem *problem, uint64_t groups)
{
    uint64_t each = problem->is_host ? HOST_GROUPS_PER_CORE : GROUPS_PER_UNIT;
    return groups >= problem->target->compute_units * each;
}

/* Form `rows` on a GPU: first how many work-items share a row, then how many rows a work-group
 * takes. */
static void lay_out_rows(const struct problem *problem, struct kiln_schedule *schedule)
{
    struct kiln_reduction_schedule *reduction = &schedule->reduction;
    uint64_t steps = reduction->steps_per_segment;
    uint32_t limit = min_u32(kiln_ceil_power_of_two(steps), problem->max_block);
    uint32_t step_bytes = schedule->vector_elems * problem->element_bytes;
    uint32_t items = 1;
    if (steps > 2 && steps * step_bytes > SHORT_ROW_BYTES) {
        items = kiln_ceil_power_of_two(ceil_div(steps, STEPS_PER_ITEM));
        items = max_u32(items, kiln_ceil_power_of_two(problem->tuning->sector_bytes / step_bytes));
        /* Of a row's work-items no more than a quarter has nothing to do. */
        if (items >= steps && 4 * steps <= 3 * (uint64_t)limit)
            items = limit / 2;
    }
    items = min_u32(min_u32(items, KILN_BLOCK), limit);
    uint64_t rows = reduction->kept_count * reduction->segment_count;
    while (items < limit && !fills_target(problem, rows * items))
        items *= 2;
    if (gains_from_holding(problem)) {
        while (items < min_u32(limit, LARGE_BLOCK) && holds_much(problem, schedule, items) &&
               holds_rows(problem, schedule, 2 * items, 1))
            items *= 2;
        /* A row that cannot be held should at least find fewer others in the caches. */
        while (items < limit && !holds_rows(problem, schedule, items, 1))
            items *= 2;
    }
    uint32_t kept = min_u32(kiln_ceil_power_of_two(reduction->kept_count),
                            max_u32(1, min_u32(KILN_BLOCK, problem->max_block) / items));
    while (kept > 1 && items * kept > problem->target->wave_size &&
           !has_many_groups(problem, work_groups(schedule, kept)))
        kept /= 2;
    reduction->items_along_reduced = items;
    reduction->items_along_kept = kept;
}

/* Form `columns` on a GPU: as many neighbouring vectors as there are, traded for work-items that
 * share one where the target is not full or a column is too long to be held. */
static void lay_out_columns(const struct problem *problem, struct kiln_schedule *schedule)
{
    struct kiln_reduction_schedule *reduction = &schedule->reduction;
    uint32_t block = min_u32(KILN_BLOCK, problem->max_block);
    uint32_t limit = kiln_ceil_power_of_two(reduction->steps_per_segment);
    uint32_t useful = kiln_ceil_power_of_two(reduction->kept_count);
    uint32_t vector_bytes = schedule->vector_elems * problem->element_bytes;
    uint32_t fewest = min_u32(kiln_ceil_power_of_two(ceil_div(CONTIGUOUS_BYTES, vector_bytes)),
                              min_u32(MAX_NEIGHBOURS, min_u32(useful, block)));
    bool holding = gains_from_holding(problem);
    uint32_t kept = min_u32(useful, block);
    uint32_t items = min_u32(limit, block / kept);
    while (kept > fewest && items < limit &&
           (!has_many_groups(problem, work_groups(schedule, kept)) ||
            (holding && (!holds_rows(problem, schedule, items, kept) ||
                         holds_much(problem, schedule, items))))) {
        kept /= 2;
        items = min_u32(limit, block / kept);
    }
    while (items < limit && 2 * items * kept <= problem->max_block &&
           !fills_target(problem, work_groups(schedule, kept) * kept * items))
        items *= 2;
    uint32_t wider = items;
    while (holding && wider < limit && 2 * wider * kept <= problem->max_block &&
           !holds_rows(problem, schedule, wider, kept))
        wider *= 2;
    if (holding && holds_rows(problem, schedule, wider, kept))
        items = wider;
    while (kept > fewest && kept * items > MIN_BLOCK &&
           work_groups(schedule, kept) < problem->target->compute_units)
        kept /= 2;
    reduction->items_along_reduced = items;
    reduction->items_along_kept = kept;
}

/*
 * A COMBINE group in the form `columns` on a GPU, in a few ways for all sizes. What segments have
 * left is little, in a cache, and waited for: so it is shared out to as many work-groups and
 * work-items as neighbours in memory allow. There are eight segments, or multiples of it, as a rule
 * (fuse/segments.h), but as many as a contraction's tiles where these have statistics.
 */
static void lay_out_combine(const struct problem *problem, struct kiln_schedule *schedule)
{
    struct kiln_reduction_schedule *reduction = &schedule->reduction;
    /* Also where no access has neighbours: accumulators are four bytes or more. */
    uint32_t vector_bytes =
        schedule->vector_elems * max_u32(problem->element_bytes, ACCUMULATOR_BYTES);
    uint32_t fewest = kiln_ceil_power_of_two(ceil_div(problem->tuning->sector_bytes, vector_bytes));
    uint32_t block = min_u32(KILN_BLOCK, problem->max_block);
    uint32_t items = min_u32(COMBINE_ITEMS, block);
    uint32_t kept = block / items;
    if (reduction->step_count > items &&
        work_groups(schedule, kept) < problem->target->compute_units) {
        kept = min_u32(fewest, block);
        if (reduction->step_count > block / kept * MAX_STEPS_IN_FLIGHT) {
            block = problem->max_block;
            kept = 1; /* half a sector: what is shared by two work-groups is in a cache */
        }
        items = block / kept;
    }
    reduction->items_along_reduced = items;
    reduction->items_along_kept = kept;
}

/*
 * Segments of attention on a GPU, in two ways for all sizes. All loads of a work-item are under way
 * at once, and none needs local memory: few segments are one work-item's; many, of which there are
 * where rows are few, are shared out to a wave, which has as many neighbours as a sector.
 */
static void lay_out_merge(const struct problem *problem, struct kiln_schedule *schedule)
{
    struct kiln_reduction_schedule *reduction = &schedule->reduction;
    uint32_t wave = problem->target->wave_size;
    uint32_t vector_bytes =
        schedule->vector_elems * max_u32(problem->element_bytes, ACCUMULATOR_BYTES);
    bool is_few = reduction->step_count <= FEW_SEGMENTS;
    uint64_t most = is_few ? FEW_SEGMENTS : KILN_MAX_ATTENTION_SEGMENTS;
    uint32_t kept = kiln_ceil_power_of_two(ceil_div(MERGE_BYTES, vector_bytes));
    reduction->items_along_kept = is_few ? MIN_BLOCK : min_u32(kept, wave);
    reduction->items_along_reduced = is_few ? 1 : wave / reduction->items_along_kept;
    if (reduction->steps_per_segment < most)
        reduction->steps_per_segment = most;
}

static void lay_out_host(const struct problem *problem, struct kiln_schedule *schedule)
{
    struct kiln_reduction_schedule *reduction = &schedule->reduction;
    uint32_t kept = min_u32(kiln_ceil_power_of_two(reduction->kept_count), HOST_BLOCK);
    while (kept > 1 && !has_many_groups(problem, work_groups(schedule, kept)))
        kept /= 2;
    reduction->items_along_reduced = 1;
    reduction->items_along_kept = kept;
}

/* Returns whether what is read in several passes is held from one to the next. */
static bool lay_out(const struct problem *problem, struct kiln_schedule *schedule)
{
    struct kiln_reduction_schedule *reduction = &schedule->reduction;
    count_work(problem->group, schedule);
    reduction->segments_take_turns = !problem->is_host;
    if (problem->is_host)
        lay_out_host(problem, schedule);
    else if (reduction->merges_attention)
        lay_out_merge(problem, schedule);
    else if (schedule->sizes_are_arguments)
        lay_out_combine(problem, schedule);
    else if (reduction->is_columns)
        lay_out_columns(problem, schedule);
    else
        lay_out_rows(problem, schedule);
    schedule->block = reduction->items_along_reduced * reduction->items_along_kept;
    uint64_t steps = steps_of_item(schedule, reduction->items_along_reduced);
    bool may_hold =
        !schedule->sizes_are_arguments || (reduction->merges_attention && !problem->is_host);
    bool held =
        !problem->is_host && may_hold && gains_from_holding(problem) &&
        holds_rows(problem, schedule, reduction->items_along_reduced, reduction->items_along_kept);
    reduction->steps_per_item =
        held ? (uint32_t)steps : choose_steps_in_flight(problem, schedule, steps);
    reduction->is_resident = may_hold && reduction->steps_per_item >= steps;
    schedule->chunk_count = work_groups(schedule, reduction->items_along_kept);
    schedule->lds_bytes = kiln_reduction_lds_bytes(
        problem->passes, reduction, schedule->vector_elems, problem->target->wave_size);
    return held;
}

/* The layout for the widest vector with which rows are held, if there is one, in not too much LDS.
 */
static void choose_layout(struct problem *problem, struct kiln_schedule *schedule)
{
    uint32_t vector = schedule->vector_elems;
    bool held = lay_out(problem, schedule);
    /* Shorter vectors have fewer live registers. */
    while (!held && !problem->is_host && gains_from_holding(problem) &&
           schedule->vector_elems / 2 * problem->element_bytes >= MIN_HELD_ACCESS_BYTES) {
        schedule->vector_elems /= 2;
        held = lay_out(problem, schedule);
    }
    if (!held) {
        schedule->vector_elems = vector;
        (void)lay_out(problem, schedule);
    }
    /* Less LDS: from smaller work-groups, down to the usual size, then from shorter vectors. */
    uint32_t most = min_u32(problem->target->lds_bytes, MAX_LDS_BYTES);
    while (schedule->lds_bytes > most && (problem->max_block > 1 || schedule->vector_elems > 1)) {
        if (problem->max_block > KILN_BLOCK || schedule->vector_elems == 1)
            problem->max_block /= 2;
        else
            schedule->vector_elems /= 2;
        (void)lay_out(problem, schedule);
    }
}

static void choose_modes(const struct kiln_graph *graph, const struct problem *problem,
                         struct kiln_schedule *schedule)
{
    const struct kiln_fusion_group *group = problem->group;
    uint32_t inner = schedule->rank - 1;
    for (uint32_t i = 0; i < group->access_count; i++) {
        struct kiln_access_schedule *access = &schedule->accesses[i];
        if (access->strides[inner] == 0) {
            access->mode = KILN_ACCESS_SPLAT;
        } else if (access->strides[inner] == 1 &&
                   kiln_vector_is_possible(graph, problem->target, schedule, group, i, inner)) {
            access->mode = KILN_ACCESS_VECTOR;
            access->alignment_bytes = kiln_vector_alignment(
                problem->target, group->accesses[i].dtype, schedule->vector_elems);
        } else {
            access->mode = KILN_ACCESS_GATHER;
        }
    }
}

void kiln_lay_out_reduction(const struct kiln_schedule_task *task,
                            const struct kiln_pass_work *work, bool *is_dense,
                            struct kiln_schedule *schedule)
{
    const struct kiln_fusion_group *group = task->group;
    const struct kiln_target *target = task->target;
    uint32_t inner = schedule->rank - 1;
    uint32_t widest;
    struct problem problem = {
        .group = group,
        .target = target,
        .tuning = kiln_tuning_of(target),
        .passes = &schedule->reduction.passes,
        .reads = work->reads,
        .cost = max_u32(work->cost, 1),
        .is_host = target->wave_size == 1,
        .may_unroll = schedule->limits.vector_elems != 1,
        .accumulator_registers = count_accumulator_registers(&schedule->reduction.passes),
        .max_block = MAX_BLOCK,
    };
    schedule->reduction.is_columns = !is_reduced(schedule, inner);
    schedule->reduction.merges_attention =
        schedule->reduction.is_columns && kiln_merges_attention_segments(task->ir, group);
    schedule->sizes_are_arguments =
        schedule->reduction.merges_attention ||
        (group->role == KILN_ROLE_COMBINE && schedule->reduction.is_columns);
    schedule->cols = (uint64_t)schedule->dims[inner];
    schedule->rows = 1;
    for (uint32_t axis = 0; axis < inner; axis++)
        schedule->rows *= (uint64_t)schedule->dims[axis];
    for (uint32_t i = 0; i < group->access_count; i++)
        is_dense[i] = schedule->accesses[i].strides[inner] == 1;
    kiln_dense_element_bytes(group, schedule, is_dense, &problem.element_bytes, &widest);
    problem.element_bytes = max_u32(problem.element_bytes, 1);
    schedule->vector_elems = choose_vector(&problem, schedule, is_dense);
    choose_layout(&problem, schedule);
    schedule->reduction.decodes_again = !problem.is_host && gains_from_holding(&problem) &&
                                        schedule->reduction.is_resident &&
                                        !work->has_costly_shared_values;
    choose_modes(task->graph, &problem, schedule);
}
