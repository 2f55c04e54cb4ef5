#include "compiler/families/reduction/schedule/reduction_layout.h"

#include "compiler/families/reduction/schedule/reduction_classes.h"
#include "compiler/families/reduction/schedule/reduction_cluster.h"
#include "compiler/families/reduction/schedule/reduction_combine.h"
#include "compiler/families/reduction/schedule/reduction_lds.h"
#include "compiler/families/reduction/schedule/reduction_local.h"
#include "compiler/families/reduction/schedule/reduction_registers.h"
#include "compiler/families/reduction/schedule/reduction_schedule.h"
#include "compiler/families/reduction/schedule/row_ends.h"
#include "compiler/fuse/fuse_family.h"
#include "compiler/schedule/vector_access.h"

/*
 * Requirements that the numbers below and in tuning.def come from, on a GPU:
 *   1. wide accesses, as in schedule_pointwise.c; neighbouring work-items cover at least
 * CONTIGUOUS_BYTES of a line of columns, sector_bytes of a row;
 *   2. a row is read once when it fits into the registers of at most MAX_BLOCK work-items
 * (reduction_registers.c);
 *   3. code grows with cost x vector x steps x passes: MAX_RESIDENT_COST there;
 *   4. enough work-items for the whole target: full_items per compute unit, and no work-item
 * without a step to do;
 *   5. otherwise row_bytes_in_flight of loads at once, so that latency is covered;
 *   6. little LDS, so that several work-groups share a compute unit.
 * Rows that vectors cut have a layout of their own where that is faster (reduction_local.c).
 *
 * On a CPU one work-item does a row, or a vector of rows. The core's cache holds the elements that
 * are read again. Vectors are several registers wide, so additions do not wait for each other. In
 * the form `columns` vectors are a few cache lines wide, so no line is fetched twice.
 */
enum {
    /* Held against half and twice as many work-items, rows and steps on an H200. */
    CONTIGUOUS_BYTES = 128,
    /* Strips of whole columns, if wider ones would leave more than half of the target without work.
     */
    NARROW_BYTES = 64,
    /* Lines that are not aligned on CUDA, where each part of one takes a sector and a word more.
     * Sums of 1023 columns of halves in segments take 21.5 us on an H100, with 128 bytes 24.3. */
    UNALIGNED_CONTIGUOUS_BYTES = 512,
    SHORT_ROW_BYTES = 32,
    /* Blocks of 32 floats to fp8, a row each, took 180 us on an H100 with a work-item for a row,
     * 135 with 32 bytes side by side, and 117 with 64. */
    SHORT_LINE_BYTES = 512,
    SHORT_LINE_SECTOR_BYTES = 64,
    WORD_BYTES = 4,
    SHORT_WORDS_BYTES = 128, /* a line of the caches */
    MAX_NEIGHBOURS = 64,
    TAIL_TIME = 8,
    MIN_HELD_ACCESS_BYTES = 8,
    MAX_BLOCK = 1024,
    GROUPS_PER_UNIT = 2,
    MAX_LDS_BYTES = 32768,
    MIN_MERGED_LINE = 512,
    SHORT_CLASS_STEPS = 256,
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

static bool is_reduced(const struct kiln_schedule *schedule, uint32_t axis)
{
    return (schedule->walk.reduced_axes >> axis) & 1u;
}

static uint64_t line_length(const struct kiln_schedule *schedule)
{
    return (uint64_t)schedule->walk.dims[schedule->walk.rank - 1];
}

/* Time of a line: each vector takes step_time, each element of the tail tail_time. */
static uint64_t line_time(uint64_t line, uint32_t vector, uint32_t step_time, uint32_t tail_time)
{
    return line / vector * step_time + line % vector * tail_time;
}

/* The vector width, at most `widest`, that covers a line of a row in the least time. On a CPU a
 * vector of up to HOST_STEP_ELEMS elements takes as long as an element of the tail. On a GPU any
 * vector is one access, and a tail is walked after all vectors, at TAIL_TIME an element. */
static uint32_t best_row_vector(const struct kiln_reduction_problem *problem, uint64_t line,
                                uint32_t widest)
{
    if (problem->sizes == KILN_LAYOUT_OF_CLASS || problem->moves_back)
        return widest;
    uint64_t least = UINT64_MAX;
    uint32_t best = 1;
    for (uint32_t vector = widest; vector > 0; vector /= 2) {
        uint32_t step_time = problem->is_host ? kiln_max_u32(1, vector / HOST_STEP_ELEMS) : 1;
        uint64_t time = line_time(line, vector, step_time, problem->is_host ? 1 : TAIL_TIME);
        if (time < least) {
            least = time;
            best = vector;
        }
    }
    return best;
}

/* Vector width on a CPU, for accesses whose narrowest element has `narrowest` bytes. */
static uint32_t choose_host_vector(const struct kiln_reduction_problem *problem,
                                   const struct kiln_schedule *schedule, uint32_t narrowest)
{
    uint64_t line = line_length(schedule);
    if (kiln_reduction_is_columns(kiln_reduction_schedule_of(schedule))) {
        uint32_t vector = kiln_min_u32(HOST_COLUMN_ELEMS, HOST_COLUMN_BYTES / narrowest);
        uint64_t columns = schedule->walk.rows * line;
        for (uint32_t axis = 0; axis < schedule->walk.rank; axis++)
            columns /= is_reduced(schedule, axis) ? (uint64_t)schedule->walk.dims[axis] : 1;
        if (problem->group->role == KILN_ROLE_PARTIAL)
            columns *= problem->group->segment_count;
        while (problem->sizes != KILN_LAYOUT_OF_CLASS && vector * narrowest > CACHE_LINE_BYTES &&
               columns / vector < problem->target->compute_units)
            vector /= 2;
        return vector;
    }
    return best_row_vector(problem, line, kiln_min_u32(HOST_ROW_ELEMS, HOST_ROW_BYTES / narrowest));
}

/* Vector width on a GPU, for elements of `narrowest` to `widest` bytes. */
static uint32_t choose_wave_vector(const struct kiln_reduction_problem *problem,
                                   const struct kiln_schedule *schedule, uint32_t narrowest,
                                   uint32_t widest)
{
    uint32_t vector = kiln_min_u32(KILN_ACCESS_BYTES / narrowest, KILN_MAX_ACCESS_BYTES / widest);
    if (problem->sizes == KILN_LAYOUT_OF_SEGMENTS) /* the same however heavy results are */
        vector = KILN_ACCESS_BYTES / widest;
    return kiln_reduction_is_columns(kiln_reduction_schedule_of(schedule))
               ? vector
               : best_row_vector(problem, line_length(schedule), vector);
}

/* The widest vector of whole bytes, at most `widest` if that is possible, that divides lines. Lines
 * are whole bytes. */
static uint32_t packed_vector(const struct kiln_reduction_problem *problem,
                              const struct kiln_schedule *schedule, uint32_t widest)
{
    uint32_t vector = kiln_max_u32(widest, problem->packed_unit);
    while (line_length(schedule) % vector != 0)
        vector /= 2;
    return kiln_vector_within_end(schedule, vector);
}

/* Vector length that the elements' width, registers, the code's size and the inner axis allow. */
static uint32_t choose_vector(const struct kiln_reduction_problem *problem,
                              const struct kiln_schedule *schedule, const bool *is_dense)
{
    const struct kiln_fusion_group *group = problem->group;
    uint32_t narrowest;
    uint32_t widest;
    kiln_dense_element_bytes(group, schedule, is_dense, &narrowest, &widest);
    if (narrowest == 0)
        return problem->packed_unit;
    if (problem->has_short_lines)
        narrowest = widest;
    uint32_t vector = problem->is_host ? choose_host_vector(problem, schedule, narrowest)
                                       : choose_wave_vector(problem, schedule, narrowest, widest);
    vector = kiln_min_u32(vector, kiln_floor_power_of_two(schedule->limits.vector_elems));
    /* Results of segments are few, so that work-items combine one element each. Merged products are
     * as large as the product. */
    uint32_t shortest = vector;
    if (problem->sizes == KILN_LAYOUT_OF_SEGMENTS)
        shortest = kiln_reduction_schedule_of(schedule)->form == KILN_REDUCTION_SEGMENTS
                       ? MIN_MERGED_LINE
                       : UINT32_MAX;
    if (problem->packed_unit > 1)
        vector = packed_vector(problem, schedule, vector);
    else if (schedule->options->shapes == KILN_SHAPES_ARGUMENT && line_length(schedule) < shortest)
        return 1;
    vector = kiln_min_u32(vector, kiln_floor_power_of_two(line_length(schedule)));
    vector = kiln_vector_within_end(schedule, vector);
    uint32_t registers = group->live_registers + problem->accumulator_registers;
    while (vector > problem->packed_unit &&
           ((!problem->is_host && vector * registers > problem->target->vgprs * 3 / 4) ||
            vector * group->cost > KILN_MAX_UNROLLED_COST))
        vector /= 2;
    return vector;
}

/* Rows and steps for a vector length. */
static void count_work(const struct kiln_reduction_problem *problem, struct kiln_schedule *schedule)
{
    const struct kiln_fusion_group *group = problem->group;
    struct kiln_reduction_schedule *reduction = kiln_reduction_schedule_in(schedule);
    reduction->kept_count = 1;
    reduction->step_count = 1;
    for (uint32_t axis = 0; axis < schedule->walk.rank; axis++) {
        uint64_t size = (uint64_t)schedule->walk.dims[axis];
        if (axis == schedule->walk.rank - 1)
            size = kiln_ceil_div(size, schedule->walk.vector_elems);
        *(is_reduced(schedule, axis) ? &reduction->step_count : &reduction->kept_count) *= size;
    }
    reduction->groups_of_row = problem->groups_of_row;
    reduction->segment_count =
        group->role == KILN_ROLE_PARTIAL ? group->segment_count : problem->groups_of_row;
    reduction->steps_per_segment = kiln_ceil_div(reduction->step_count, reduction->segment_count);
}

/* Steps that a looping work-item loads together (requirement 5), spread evenly over the turns of
 * the loop. */
static uint32_t choose_steps_in_flight(const struct kiln_reduction_problem *problem,
                                       const struct kiln_schedule *schedule, uint64_t steps)
{
    const struct kiln_fusion_group *group = problem->group;
    uint32_t most = 1;
    if (problem->may_unroll && !problem->is_host) {
        uint32_t bytes = kiln_step_bytes(problem->group, schedule);
        uint32_t unit = schedule->walk.vector_elems * problem->cost;
        while (most < kiln_min_u32(KILN_MAX_STEPS_IN_FLIGHT, schedule->limits.steps) &&
               2 * most * bytes <= problem->tuning->row_bytes_in_flight &&
               2 * most * unit <= KILN_MAX_UNROLLED_COST &&
               2 * most * schedule->walk.vector_elems * group->live_registers <=
                   problem->target->vgprs * 3 / 4)
            most *= 2;
    }
    if (problem->sizes == KILN_LAYOUT_OF_SEGMENTS)
        return most;
    uint64_t turns = kiln_ceil_div(steps, most);
    return (uint32_t)kiln_ceil_div(steps, turns);
}

/* Requirement 4: whether there is work for the target with so many work-items. */
static bool fills_target(const struct kiln_reduction_problem *problem, uint64_t items)
{
    return items >= (uint64_t)problem->target->compute_units * problem->tuning->full_items;
}

static bool has_many_groups(const struct kiln_reduction_problem *problem, uint64_t groups)
{
    uint64_t each = problem->is_host ? HOST_GROUPS_PER_CORE : GROUPS_PER_UNIT;
    return groups >= problem->target->compute_units * each;
}

/* True if so many work-items are enough for a row, whatever they hold. Most rows of a class are
 * shorter than its longest: where that takes a few waves, further ones would be idle for most. */
static bool suffices_for_class(const struct kiln_reduction_problem *problem, uint64_t steps,
                               uint32_t items)
{
    return problem->sizes == KILN_LAYOUT_OF_CLASS && steps <= SHORT_CLASS_STEPS &&
           items >= problem->target->wave_size;
}

/* True if the last steps of a row leave more than a third of what its waves could do: 513 vectors
 * take 512 work-items two steps, and 256 three. */
static bool leaves_a_third_idle(const struct kiln_reduction_problem *problem,
                                const struct kiln_schedule *schedule, uint32_t items)
{
    return problem->sizes == KILN_LAYOUT_OF_SIZES && items > problem->target->wave_size &&
           3 * kiln_reduction_schedule_of(schedule)->steps_per_segment <
               2 * items * kiln_steps_of_item(schedule, items);
}

/* Form `rows` on a GPU: first how many work-items share a row, then how many rows a work-group
 * takes. */
static void lay_out_rows(const struct kiln_reduction_problem *problem,
                         struct kiln_schedule *schedule)
{
    struct kiln_reduction_schedule *reduction = kiln_reduction_schedule_in(schedule);
    uint64_t steps = reduction->steps_per_segment;
    uint32_t limit = kiln_min_u32(kiln_ceil_power_of_two(steps), problem->max_block);
    uint32_t step_bytes = schedule->walk.vector_elems * problem->element_bytes;
    uint32_t items = 1;
    bool is_cluster = problem->groups_of_row > 1;
    reduction->items_rule = KILN_ITEMS_STEPS;
    if (is_cluster) {
        items = kiln_items_of_cluster(problem, schedule);
        reduction->items_rule = KILN_ITEMS_CLUSTER;
    } else if (steps > 2 && steps * step_bytes > SHORT_ROW_BYTES) {
        items = kiln_ceil_power_of_two(kiln_ceil_div(steps, KILN_STEPS_PER_ITEM));
        uint32_t together = problem->has_short_lines ? kiln_max_u32(problem->tuning->sector_bytes,
                                                                    SHORT_LINE_SECTOR_BYTES)
                                                     : problem->tuning->sector_bytes;
        items = kiln_max_u32(items, kiln_ceil_power_of_two(together / step_bytes));
        /* At most a quarter of a row's work-items are idle. */
        if (items >= steps && 4 * steps <= 3 * (uint64_t)limit)
            items = limit / 2;
    }
    items = kiln_min_u32(kiln_min_u32(items, is_cluster ? KILN_LARGE_BLOCK : KILN_BLOCK), limit);
    uint64_t rows = reduction->kept_count * reduction->segment_count;
    while (items < limit && !fills_target(problem, rows * items)) {
        items *= 2;
        reduction->items_rule = KILN_ITEMS_FILL;
    }
    uint32_t before = items;
    if (kiln_gains_from_holding(problem)) {
        /* A class also serves few rows: long ones take more work-items, with fewer registers. */
        while (!is_cluster && items < kiln_min_u32(limit, KILN_LARGE_BLOCK) &&
               !suffices_for_class(problem, steps, items) &&
               (kiln_holds_too_much(problem, schedule, items) ||
                (problem->sizes == KILN_LAYOUT_OF_CLASS && items > 1 &&
                 kiln_steps_of_item(schedule, items) > KILN_STEPS_PER_ITEM)) &&
               kiln_can_hold_rows(problem, schedule, 2 * items, 1))
            items *= 2;
        /* A row that cannot be held should at least find fewer others in the caches. */
        while (items < limit && !kiln_can_hold_rows(problem, schedule, items, 1))
            items *= 2;
    }
    while (!is_cluster && leaves_a_third_idle(problem, schedule, items) &&
           fills_target(problem, rows * items / 2) &&
           (!kiln_gains_from_holding(problem) ||
            kiln_can_hold_rows(problem, schedule, items / 2, 1))) {
        items /= 2;
        before = items;
    }
    if (items != before)
        reduction->items_rule =
            kiln_can_hold_rows(problem, schedule, items, 1) ? KILN_ITEMS_HOLD : KILN_ITEMS_CACHE;
    uint32_t kept =
        kiln_min_u32(is_cluster ? 1 : kiln_ceil_power_of_two(reduction->kept_count),
                     kiln_max_u32(1, kiln_min_u32(KILN_BLOCK, problem->max_block) / items));
    while (kept > 1 && items * kept > problem->target->wave_size &&
           !has_many_groups(problem, kiln_reduction_work_groups(schedule, kept)))
        kept /= 2;
    reduction->items_along_reduced = items;
    reduction->items_along_kept = kept;
}

/* True if segments of columns are parts of long lines that are not aligned, on CUDA. */
static bool has_unaligned_parts(const struct kiln_reduction_problem *problem,
                                const struct kiln_schedule *schedule)
{
    uint64_t line = line_length(schedule);
    return problem->target->kind == KILN_TARGET_CUDA && problem->group->role == KILN_ROLE_PARTIAL &&
           line % schedule->walk.vector_elems != 0 &&
           line * problem->element_bytes >= 2 * UNALIGNED_CONTIGUOUS_BYTES;
}

/* Least bytes of a line of columns that a work-group covers. */
static uint32_t contiguous_bytes(const struct kiln_reduction_problem *problem,
                                 const struct kiln_schedule *schedule, uint32_t vector_bytes)
{
    if (has_unaligned_parts(problem, schedule))
        return UNALIGNED_CONTIGUOUS_BYTES;
    uint32_t vectors = kiln_ceil_power_of_two(kiln_ceil_div(CONTIGUOUS_BYTES, vector_bytes));
    return problem->group->role == KILN_ROLE_WHOLE &&
                   2 * kiln_reduction_work_groups(schedule, vectors) <
                       problem->target->compute_units
               ? NARROW_BYTES
               : CONTIGUOUS_BYTES;
}

/* Form `columns` on a GPU: as many neighbouring vectors as there are. Where the target is not full,
 * or a column too long to be held, fewer neighbours and more work-items that share a column. */
static void lay_out_columns(const struct kiln_reduction_problem *problem,
                            struct kiln_schedule *schedule)
{
    struct kiln_reduction_schedule *reduction = kiln_reduction_schedule_in(schedule);
    uint32_t block = kiln_min_u32(KILN_BLOCK, problem->max_block);
    uint32_t limit = kiln_ceil_power_of_two(reduction->steps_per_segment);
    uint32_t useful = kiln_ceil_power_of_two(reduction->kept_count);
    uint32_t vector_bytes = schedule->walk.vector_elems * problem->element_bytes;
    uint32_t contiguous = contiguous_bytes(problem, schedule, vector_bytes);
    uint32_t fewest = kiln_min_u32(kiln_ceil_power_of_two(kiln_ceil_div(contiguous, vector_bytes)),
                                   kiln_min_u32(MAX_NEIGHBOURS, kiln_min_u32(useful, block)));
    bool holding = kiln_gains_from_holding(problem);
    uint32_t kept = kiln_min_u32(useful, block);
    uint32_t items = kiln_min_u32(limit, block / kept);
    reduction->items_rule = KILN_ITEMS_BLOCK;
    while (kept > fewest && items < limit &&
           (!has_many_groups(problem, kiln_reduction_work_groups(schedule, kept)) ||
            (holding && (!kiln_can_hold_rows(problem, schedule, items, kept) ||
                         kiln_holds_too_much(problem, schedule, items))))) {
        reduction->items_rule = has_many_groups(problem, kiln_reduction_work_groups(schedule, kept))
                                    ? KILN_ITEMS_HOLD
                                    : KILN_ITEMS_FILL;
        kept /= 2;
        items = kiln_min_u32(limit, block / kept);
    }
    while (items < limit && 2 * items * kept <= problem->max_block &&
           !fills_target(problem, kiln_reduction_work_groups(schedule, kept) * kept * items)) {
        items *= 2;
        reduction->items_rule = KILN_ITEMS_FILL;
    }
    uint32_t wider = items;
    while (holding && wider < limit && 2 * wider * kept <= problem->max_block &&
           !kiln_can_hold_rows(problem, schedule, wider, kept))
        wider *= 2;
    if (holding && wider != items && kiln_can_hold_rows(problem, schedule, wider, kept)) {
        items = wider;
        reduction->items_rule = KILN_ITEMS_HOLD;
    }
    while (kept > fewest && kept * items > KILN_SMALL_BLOCK &&
           kiln_reduction_work_groups(schedule, kept) < problem->target->compute_units)
        kept /= 2;
    reduction->items_along_reduced = items;
    reduction->items_along_kept = kept;
}

static void lay_out_host(const struct kiln_reduction_problem *problem,
                         struct kiln_schedule *schedule)
{
    struct kiln_reduction_schedule *reduction = kiln_reduction_schedule_in(schedule);
    uint32_t kept = kiln_min_u32(kiln_ceil_power_of_two(reduction->kept_count), HOST_BLOCK);
    while (kept > 1 && !has_many_groups(problem, kiln_reduction_work_groups(schedule, kept)))
        kept /= 2;
    reduction->items_along_reduced = 1;
    reduction->items_along_kept = kept;
    reduction->items_rule = KILN_ITEMS_ALONE;
}

/* Returns whether operands that several passes read are held from one pass to the next. */
static bool lay_out(const struct kiln_reduction_problem *problem, struct kiln_schedule *schedule)
{
    struct kiln_reduction_schedule *reduction = kiln_reduction_schedule_in(schedule);
    count_work(problem, schedule);
    uint64_t kept_count = reduction->kept_count;
    uint64_t steps_per_segment = reduction->steps_per_segment;
    if (problem->sizes == KILN_LAYOUT_OF_CLASS)
        kiln_reduction_class(problem, schedule);
    reduction->segments_take_turns = !problem->is_host;
    reduction->items_rule = KILN_ITEMS_ALL_SIZES; /* except where the layout sets it */
    if (problem->is_host)
        lay_out_host(problem, schedule);
    else if (reduction->form == KILN_REDUCTION_SEGMENTS)
        kiln_lay_out_merge(problem, schedule);
    else if (problem->sizes == KILN_LAYOUT_OF_SEGMENTS)
        kiln_lay_out_combine(problem, schedule);
    else if (kiln_reduction_is_columns(reduction) && problem->sizes == KILN_LAYOUT_OF_CLASS)
        kiln_lay_out_column_class(problem, schedule);
    else if (kiln_reduction_is_columns(reduction))
        lay_out_columns(problem, schedule);
    else
        lay_out_rows(problem, schedule);
    schedule->launch.block = reduction->items_along_reduced * reduction->items_along_kept;
    uint64_t steps = kiln_steps_of_item(schedule, reduction->items_along_reduced);
    bool may_hold = problem->sizes != KILN_LAYOUT_OF_SEGMENTS ||
                    (reduction->form == KILN_REDUCTION_SEGMENTS && !problem->is_host);
    bool held = !problem->is_host && may_hold && kiln_gains_from_holding(problem) &&
                kiln_can_hold_rows(problem, schedule, reduction->items_along_reduced,
                                   reduction->items_along_kept);
    reduction->steps_per_item =
        held ? (uint32_t)steps : choose_steps_in_flight(problem, schedule, steps);
    reduction->held = !may_hold || reduction->steps_per_item < steps ? KILN_HELD_NOTHING
                      : held ? kiln_held_form(problem, schedule, steps)
                             : KILN_HELD_CONVERTED;
    if (problem->sizes == KILN_LAYOUT_OF_CLASS) {
        reduction->kept_count = kept_count;
        reduction->steps_per_segment = steps_per_segment;
    }
    schedule->launch.chunk_count =
        kiln_reduction_work_groups(schedule, reduction->items_along_kept);
    schedule->launch.grid_unit = reduction->groups_of_row;
    schedule->launch.lds_bytes = kiln_reduction_lds_bytes(
        problem->passes, reduction, schedule->walk.vector_elems, problem->target->wave_size);
    return held;
}

/* Takes the widest vector that lets rows be held, if there is one, and keeps LDS within its bound.
 * Shorter vectors would cost cut rows more kernels, so those beyond all classes are not held. */
static void choose_layout(struct kiln_reduction_problem *problem, struct kiln_schedule *schedule)
{
    uint32_t vector = schedule->walk.vector_elems;
    bool held = lay_out(problem, schedule);
    /* Shorter vectors have fewer live registers. */
    while (!held && !problem->is_host && kiln_gains_from_holding(problem) &&
           !kiln_is_longer_than_classes(problem, schedule) &&
           schedule->walk.vector_elems > problem->packed_unit &&
           schedule->walk.vector_elems / 2 * problem->element_bytes >= MIN_HELD_ACCESS_BYTES) {
        schedule->walk.vector_elems /= 2;
        held = lay_out(problem, schedule);
    }
    if (!held) {
        schedule->walk.vector_elems = vector;
        (void)lay_out(problem, schedule);
    }
    /* Less LDS: from smaller work-groups, down to the usual size, then from shorter vectors. */
    uint32_t most = kiln_min_u32(problem->target->lds_bytes, MAX_LDS_BYTES);
    while (schedule->launch.lds_bytes > most &&
           (problem->max_block > 1 || schedule->walk.vector_elems > problem->packed_unit)) {
        if (problem->max_block > KILN_BLOCK || schedule->walk.vector_elems == problem->packed_unit)
            problem->max_block /= 2;
        else
            schedule->walk.vector_elems /= 2;
        (void)lay_out(problem, schedule);
    }
}

static void choose_modes(const struct kiln_graph *graph,
                         const struct kiln_reduction_problem *problem,
                         struct kiln_schedule *schedule)
{
    const struct kiln_fusion_group *group = problem->group;
    uint32_t inner = schedule->walk.rank - 1;
    /* On CUDA the unaligned vectors of a short row are mostly stored in pieces. Four words one by
     * one are faster: a softmax of 17 floats reaches 0.96 of a copy on an H100, not 0.69. */
    bool has_short_words = problem->target->kind == KILN_TARGET_CUDA && problem->has_short_lines &&
                           problem->element_bytes >= WORD_BYTES &&
                           line_length(schedule) * problem->element_bytes <= SHORT_WORDS_BYTES;
    for (uint32_t i = 0; i < group->access_count; i++) {
        struct kiln_access_schedule *access = &schedule->accesses[i];
        if (access->strides[inner] == 0) {
            access->mode = KILN_ACCESS_SPLAT;
        } else if (kiln_walk_is_dense(schedule, group, i) &&
                   kiln_vector_is_possible(schedule, group, i, inner) &&
                   (!has_short_words ||
                    kiln_vector_is_aligned(graph, problem->target, schedule, group, i, inner))) {
            kiln_set_vector_access(graph, problem->target, schedule, group, i, inner);
        } else {
            access->mode = KILN_ACCESS_GATHER;
        }
    }
}

/* The fewest elements that fill whole bytes of every packed tensor that is stored. */
static uint32_t packed_unit_of(const struct kiln_fusion_group *group)
{
    uint32_t unit = 1;
    for (uint32_t i = group->load_count; i < group->access_count; i++)
        unit = kiln_max_u32(unit, kiln_dtype_unit(group->accesses[i].dtype));
    return unit;
}

/* True if a group merges the segments of another kernel, and reduces nothing else. */
static bool merges_segments(const struct kiln_ir *ir, const struct kiln_fusion_group *group)
{
    bool has_segments = false;
    for (uint32_t i = 0; i < group->load_count; i++)
        has_segments |= kiln_value_has_segment_axis(ir, group->accesses[i].value);
    return has_segments && group->role == KILN_ROLE_WHOLE && group->reduced_axes == 1;
}

void kiln_lay_out_reduction(const struct kiln_schedule_task *task,
                            const struct kiln_pass_work *work, bool *is_dense,
                            struct kiln_schedule *schedule)
{
    const struct kiln_fusion_group *group = task->group;
    const struct kiln_target *target = task->target;
    uint32_t inner = schedule->walk.rank - 1;
    uint32_t widest, widest_load;
    struct kiln_reduction_problem problem = {
        .group = group,
        .target = target,
        .tuning = kiln_tuning_of(target),
        .passes = &kiln_reduction_schedule_of(schedule)->passes,
        .reads = work->reads,
        .first_pass = work->first_pass,
        .cost = kiln_max_u32(work->cost, 1),
        .is_host = target->wave_size == 1,
        .has_costly_shared_values = work->has_costly_shared_values,
        .may_unroll = schedule->limits.vector_elems != 1,
        .accumulator_registers =
            kiln_accumulator_registers(&kiln_reduction_schedule_of(schedule)->passes),
        .packed_unit = packed_unit_of(group),
        .max_block = MAX_BLOCK,
    };
    struct kiln_reduction_schedule *reduction = kiln_reduction_schedule_in(schedule);
    reduction->form = is_reduced(schedule, inner)        ? KILN_REDUCTION_ROWS
                      : merges_segments(task->ir, group) ? KILN_REDUCTION_SEGMENTS
                                                         : KILN_REDUCTION_COLUMNS;
    if (reduction->form == KILN_REDUCTION_SEGMENTS ||
        (reduction->form == KILN_REDUCTION_COLUMNS && group->role == KILN_ROLE_COMBINE))
        problem.sizes = KILN_LAYOUT_OF_SEGMENTS;
    else if (schedule->options->shapes == KILN_SHAPES_ARGUMENT && problem.packed_unit == 1)
        problem.sizes = KILN_LAYOUT_OF_CLASS;
    if (problem.sizes != KILN_LAYOUT_OF_SIZES)
        schedule->walk.sizes = reduction->form == KILN_REDUCTION_SEGMENTS ? KILN_SIZES_WIDE_ARGUMENT
                                                                          : KILN_SIZES_ARGUMENT;
    schedule->walk.cols = (uint64_t)schedule->walk.dims[inner];
    schedule->walk.rows = 1;
    for (uint32_t axis = 0; axis < inner; axis++)
        schedule->walk.rows *= (uint64_t)schedule->walk.dims[axis];
    for (uint32_t i = 0; i < group->load_count; i++)
        is_dense[i] = kiln_walk_is_dense(schedule, group, i);
    kiln_dense_element_bytes(group, schedule, is_dense, &problem.element_bytes, &widest_load);
    for (uint32_t i = group->load_count; i < group->access_count; i++)
        is_dense[i] = kiln_walk_is_dense(schedule, group, i);
    kiln_dense_element_bytes(group, schedule, is_dense, &problem.element_bytes, &widest);
    problem.has_short_lines = !problem.is_host && !kiln_reduction_is_columns(reduction) &&
                              widest_load == widest &&
                              line_length(schedule) * widest <= SHORT_LINE_BYTES;
    if (problem.has_short_lines)
        problem.element_bytes = widest;
    problem.element_bytes = kiln_max_u32(problem.element_bytes, 1);
    if (kiln_lay_out_local_rows(&problem, work, schedule))
        return;
    problem.moves_back = kiln_may_move_back(&problem, schedule);
    schedule->walk.vector_elems = choose_vector(&problem, schedule, is_dense);
    problem.groups_of_row = kiln_choose_groups_of_row(&problem, schedule);
    choose_layout(&problem, schedule);
    kiln_choose_row_ends(task->graph, &problem, is_dense, schedule);
    choose_modes(task->graph, &problem, schedule);
}
