#include "compiler/families/reduction/schedule/reduction_local.h"

#include "compiler/families/reduction/schedule/reduction_lds.h"
#include "compiler/families/reduction/schedule/reduction_registers.h"
#include "compiler/schedule/vector_access.h"
#include "compiler/schedule/walk.h"

enum {
    WORD_BYTES = 16,
    /* Elements of a work-item, at most; longer rows take more than half of it. On an H100 half as
     * many cost softmax of 17 to 4097 halves 15 to 40 %. */
    ELEMS_PER_ITEM = 24,
    MANY_ELEMS_PER_ITEM = 40, /* the same where fewer waves have to meet then */
    MAX_LINE = 256,
    MAX_CUDA_LINE = 8192,
    MAX_CUDA_LINE_BYTES = 20 << 10, /* local memory has room for a few such rows */
    MAX_CUDA_GATHERED_LINE = 512,   /* the same if an operand is gathered */
    MAX_ELEMENT_BYTES = 2,          /* of all operands, on AMD GPUs */
    /* Small, since they wait for each other. On an H100 softmax of 1023 halves reaches 0.92 of a
     * copy, and 0.75 with 256 work-items. Rows of more than 5120 elements take 256. */
    BLOCK = 128,
    GROUPS_PER_UNIT = 2,
    /* Several work-groups share a compute unit: one loads while another computes. */
    COMFORTABLE_LDS_BYTES = 24 << 10,
    MAX_LOCAL_BYTES = 48 << 10,
    BANKS = 32,
    BANK_BYTES = 4,
};

/* True if rows of the access follow each other without a gap. */
static bool is_contiguous(const struct kiln_schedule *schedule, uint32_t access)
{
    const struct kiln_access_schedule *layout = &schedule->accesses[access];
    int64_t stride = 1;
    for (uint32_t axis = schedule->walk.rank; axis-- > 0;) {
        if (layout->strides[axis] != stride || layout->repeats[axis] != 0)
            return false;
        stride *= schedule->walk.dims[axis];
    }
    return layout->guard_axes == 0;
}

/* True if the access has an element for each element of the domain, however it lies in memory. */
static bool has_rows(const struct kiln_schedule *schedule, uint32_t access)
{
    const int64_t *strides = schedule->accesses[access].strides;
    bool varies = schedule->walk.rank == 1;
    for (uint32_t axis = 0; axis + 1 < schedule->walk.rank; axis++)
        varies = varies || strides[axis] != 0;
    return varies && strides[schedule->walk.rank - 1] != 0;
}

/* True if all operands and results as large as the domain are contiguous, and vectors do not divide
 * their rows. */
static bool are_cut_and_contiguous(const struct kiln_fusion_group *group,
                                   const struct kiln_schedule *schedule)
{
    uint32_t widest = 0;
    for (uint32_t i = 0; i < group->access_count; i++) {
        if (kiln_dtype_is_packed(group->accesses[i].dtype))
            return false;
        if (!has_rows(schedule, i))
            continue;
        if (!is_contiguous(schedule, i))
            return false;
        widest = kiln_max_u32(widest, kiln_dtype_info(group->accesses[i].dtype)->bytes);
    }
    return widest != 0 && schedule->walk.cols * widest % WORD_BYTES != 0;
}

/* True if vectors of a row leave more than an eighth of what a power of two of work-items could
 * take. */
static bool wastes_work_items(uint64_t cols, uint32_t widest)
{
    uint32_t vector = WORD_BYTES / widest;
    return cols * 8 < (uint64_t)kiln_ceil_power_of_two(kiln_ceil_div(cols, vector)) * vector * 7;
}

/*
 * AMD GPUs access vectors anywhere, so long rows and rows that fill their vectors gain nothing
 * there. Floats and several operands lose, since local memory has room for too few work-groups.
 *
 * On CUDA unaligned vectors of words are cheap: a layer norm of 1023 floats reaches 0.88 of a copy
 * on an H100 with them, and 0.80 from local memory. Longer rows have skewed vectors there, which
 * are aligned (kiln_walk.skew_elems): a softmax of 8191 floats reaches 0.98 with them, and 0.71
 * from local memory. Where rows lie in local memory, an operand of their own length, such as a
 * scale, is gathered: RMSNorm of 4097 halves reaches 0.85, and 0.96 with vectors. Layer norm of
 * halves does not gain (0.75 and 0.67).
 */
static bool gains_from_local_rows(const struct kiln_reduction_problem *problem,
                                  const struct kiln_schedule *schedule)
{
    uint64_t cols = schedule->walk.cols;
    uint32_t widest = 1;
    uint32_t bytes = 0; /* of operands, per element */
    bool gathers = false;
    for (uint32_t i = 0; i < problem->group->access_count; i++) {
        gathers = gathers || (!has_rows(schedule, i) &&
                              schedule->accesses[i].strides[schedule->walk.rank - 1] != 0);
        if (!has_rows(schedule, i))
            continue;
        uint32_t element = kiln_dtype_info(problem->group->accesses[i].dtype)->bytes;
        widest = kiln_max_u32(widest, element);
        bytes += i < problem->group->load_count ? element : 0;
    }
    bool has_moments = kiln_has_moments(problem->passes);
    if (problem->target->kind == KILN_TARGET_CUDA)
        return cols <= (has_moments && widest >= BANK_BYTES ? MAX_LINE
                        : gathers && !has_moments           ? MAX_CUDA_GATHERED_LINE
                                                            : MAX_CUDA_LINE) &&
               cols * widest <= MAX_CUDA_LINE_BYTES;
    return cols <= MAX_LINE && bytes <= MAX_ELEMENT_BYTES && wastes_work_items(cols, widest);
}

static bool may_be_local(const struct kiln_reduction_problem *problem,
                         const struct kiln_schedule *schedule)
{
    const struct kiln_walk *walk = &schedule->walk;
    return !problem->is_host && problem->may_unroll && problem->sizes == KILN_LAYOUT_OF_SIZES &&
           problem->group->role == KILN_ROLE_WHOLE && walk->form == KILN_WALK_LINES &&
           walk->reduced_axes == 1u << (walk->rank - 1) && walk->end == 0 && walk->cols > 1 &&
           walk->rows * walk->cols < KILN_WALK_INDEX_LIMIT &&
           are_cut_and_contiguous(problem->group, schedule) &&
           gains_from_local_rows(problem, schedule);
}

uint32_t kiln_local_elements(const struct kiln_fusion_group *group,
                             const struct kiln_schedule *schedule, uint32_t access)
{
    uint32_t unit = (uint32_t)WORD_BYTES / kiln_dtype_info(group->accesses[access].dtype)->bytes;
    uint32_t rows = kiln_reduction_schedule_of(schedule)->items_along_kept;
    return kiln_round_up_u32(rows * (uint32_t)schedule->walk.cols + unit - 1, unit);
}

/* Results may lie where operands did if they are known when no operand is loaded any more. False
 * where there are no results in local memory. */
static bool results_can_replace_operands(const struct kiln_reduction_problem *problem,
                                         const struct kiln_pass_work *work,
                                         const struct kiln_schedule *schedule)
{
    const struct kiln_fusion_group *group = problem->group;
    const uint32_t last = problem->passes->pass_count - 1;
    bool can = last > 0, has_results = false;
    for (uint32_t i = 0; i < group->access_count; i++) {
        if (schedule->accesses[i].mode != KILN_ACCESS_STAGED)
            continue;
        uint32_t position = kiln_group_position(group, group->accesses[i].value);
        has_results |= i >= group->load_count;
        can = can && (i < group->load_count ? work->first_pass[i] < last
                                            : problem->passes->pass[position] == last);
    }
    return can && has_results;
}

uint32_t kiln_local_bytes(const struct kiln_fusion_group *group,
                          const struct kiln_schedule *schedule, uint32_t wave_size)
{
    const struct kiln_reduction_schedule *reduction = kiln_reduction_schedule_of(schedule);
    uint32_t bytes[2] = {0, 0}; /* operands, results */
    for (uint32_t i = 0; i < group->access_count; i++) {
        if (schedule->accesses[i].mode == KILN_ACCESS_STAGED)
            bytes[i >= group->load_count] += kiln_local_elements(group, schedule, i) *
                                             kiln_dtype_info(group->accesses[i].dtype)->bytes;
    }
    uint32_t rows = reduction->results_replace_operands ? kiln_max_u32(bytes[0], bytes[1])
                                                        : bytes[0] + bytes[1];
    uint32_t merged = kiln_reduction_lds_bytes(&reduction->passes, reduction, 1, wave_size);
    return rows + kiln_round_up_u32(merged, WORD_BYTES);
}

/* The most words of a bank that a wave asks for at once, in local memory whose elements have so
 * many bytes. */
static uint32_t bank_conflicts(const struct kiln_schedule *schedule, uint32_t wave, uint32_t bytes,
                               uint32_t spacing)
{
    const struct kiln_reduction_schedule *reduction = kiln_reduction_schedule_of(schedule);
    uint32_t items = reduction->items_along_reduced;
    uint32_t rounds = reduction->items_along_kept / spacing;
    uint64_t words[BANKS][BANKS];
    uint32_t count[BANKS] = {0};
    uint32_t most = 0;
    for (uint32_t lane = 0; lane < kiln_min_u32(wave, BANKS); lane++) {
        uint32_t place = lane / items;
        uint64_t row = place % rounds * spacing + place / rounds;
        uint64_t word = (row * schedule->walk.cols + lane % items) * bytes / BANK_BYTES;
        uint32_t bank = (uint32_t)(word % BANKS);
        bool is_known = false;
        for (uint32_t i = 0; i < count[bank]; i++)
            is_known = is_known || words[bank][i] == word;
        if (!is_known)
            words[bank][count[bank]++] = word;
        most = kiln_max_u32(most, count[bank]);
    }
    return most;
}

/* The narrowest spacing with the fewest conflicts. */
static uint32_t choose_row_spacing(const struct kiln_reduction_problem *problem,
                                   const struct kiln_schedule *schedule)
{
    uint32_t rows = kiln_reduction_schedule_of(schedule)->items_along_kept;
    uint32_t best = 1;
    uint32_t fewest = UINT32_MAX;
    for (uint32_t spacing = 1; spacing <= rows; spacing *= 2) {
        uint32_t conflicts = 0;
        for (uint32_t i = 0; i < problem->group->access_count; i++) {
            if (schedule->accesses[i].mode == KILN_ACCESS_STAGED)
                conflicts += bank_conflicts(
                    schedule, problem->target->wave_size,
                    kiln_dtype_info(problem->group->accesses[i].dtype)->bytes, spacing);
        }
        if (conflicts < fewest) {
            fewest = conflicts;
            best = spacing;
        }
    }
    return best;
}

static void choose_modes(const struct kiln_reduction_problem *problem,
                         struct kiln_schedule *schedule)
{
    uint32_t inner = schedule->walk.rank - 1;
    for (uint32_t i = 0; i < problem->group->access_count; i++) {
        struct kiln_access_schedule *access = &schedule->accesses[i];
        access->mode = access->strides[inner] == 0 ? KILN_ACCESS_SPLAT
                       : has_rows(schedule, i)     ? KILN_ACCESS_STAGED
                                                   : KILN_ACCESS_GATHER;
    }
}

bool kiln_lay_out_local_rows(const struct kiln_reduction_problem *problem,
                             const struct kiln_pass_work *work, struct kiln_schedule *schedule)
{
    struct kiln_reduction_schedule *reduction = kiln_reduction_schedule_in(schedule);
    const struct kiln_reduction_schedule given = *reduction;
    uint32_t vector = schedule->walk.vector_elems;
    if (!may_be_local(problem, schedule))
        return false;
    schedule->walk.vector_elems = 1;
    reduction->kept_count = schedule->walk.rows;
    reduction->step_count = schedule->walk.cols;
    reduction->segment_count = 1;
    reduction->groups_of_row = 1;
    reduction->steps_per_segment = schedule->walk.cols;
    uint32_t items = kiln_ceil_power_of_two(kiln_ceil_div(schedule->walk.cols, ELEMS_PER_ITEM));
    uint32_t wave = problem->target->wave_size;
    if (items > wave)
        items = kiln_max_u32(
            wave, kiln_ceil_power_of_two(kiln_ceil_div(schedule->walk.cols, MANY_ELEMS_PER_ITEM)));
    uint32_t kept =
        kiln_min_u32(kiln_max_u32(1, BLOCK / items), kiln_ceil_power_of_two(schedule->walk.rows));
    /* Each end of the rows takes a work-item for each of its elements. */
    if (items * kept < WORD_BYTES || !kiln_can_hold_rows(problem, schedule, items, kept)) {
        *reduction = given;
        schedule->walk.vector_elems = vector;
        return false;
    }
    choose_modes(problem, schedule);
    reduction->results_replace_operands = results_can_replace_operands(problem, work, schedule);
    reduction->items_along_reduced = items;
    reduction->items_along_kept = kept;
    while (reduction->items_along_kept > 1 && items * reduction->items_along_kept > wave &&
           (kiln_local_bytes(problem->group, schedule, wave) > COMFORTABLE_LDS_BYTES ||
            kiln_reduction_work_groups(schedule, reduction->items_along_kept) <
                (uint64_t)problem->target->compute_units * GROUPS_PER_UNIT))
        reduction->items_along_kept /= 2;
    if (kiln_local_bytes(problem->group, schedule, wave) >
        kiln_min_u32(problem->target->lds_bytes, MAX_LOCAL_BYTES)) {
        *reduction = given;
        schedule->walk.vector_elems = vector;
        return false;
    }
    reduction->row_spacing = choose_row_spacing(problem, schedule);
    reduction->segments_take_turns = true;
    reduction->items_rule = KILN_ITEMS_LOCAL;
    reduction->steps_per_item = (uint32_t)kiln_steps_of_item(schedule, items);
    reduction->held = KILN_HELD_LOCAL;
    schedule->launch.block = items * reduction->items_along_kept;
    schedule->launch.chunk_count =
        kiln_reduction_work_groups(schedule, reduction->items_along_kept);
    schedule->launch.lds_bytes = kiln_local_bytes(problem->group, schedule, wave);
    return true;
}
