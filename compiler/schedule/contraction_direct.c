#include "compiler/schedule/contraction_direct.h"

#include "compiler/fuse/contraction_group.h"

enum {
    BLOCK = 256,
    TAPS = 16,           /* of k in local memory at a time: windows of 3 x 3 are done at once */
    SHARED_ROWS = 128,   /* in local memory, with TAPS of each */
    GRADIENT_ROWS = 256, /* of pixels of a gradient: there are few rows of taps for each */
    FAST_ROWS = 64,      /* work-items along rows, where those are neighbours in memory */
    ITEM_ROWS = 2,
    CHANNELS = 4, /* of a work-item, where pixels are neighbours in memory, and channels are not */
    HOST_ITEM_ROWS = 16,
    GROUPS_PER_UNIT = 1, /* work-groups that should be there for each compute unit */
    LINE_PADDING = 16,   /* bytes, so that work-items that write along k do not meet in a bank */
    /* Products of an input channel and an output channel, of each tap and group. Below, a matrix
     * instruction of 16 x 16 has use for a sixteenth of its columns, or a quarter. */
    MOST_PAIRS = 16,
};

/* ---- choice ---- */

/* How many channels of both kinds a group has: the product. 0: there are no groups. */
static int64_t count_pairs(const struct kiln_contraction *contraction)
{
    int64_t pairs = 1;
    const struct kiln_contraction_axis *groups = NULL;
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        if (kiln_is_group_axis(contraction, &contraction->axes[i]))
            groups = &contraction->axes[i];
    }
    if (groups == NULL)
        return 0;
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        const struct kiln_contraction_axis *axis = &contraction->axes[i];
        bool is_channel =
            axis->role == KILN_AXIS_N || (axis->role == KILN_AXIS_K && axis->left == groups->left);
        if (!is_channel)
            continue;
        if (axis->size > MOST_PAIRS)
            return INT64_MAX;
        pairs = pairs > MOST_PAIRS ? pairs : pairs * axis->size;
    }
    return pairs;
}

bool kiln_is_contraction_direct(const struct kiln_contraction_problem *problem)
{
    const struct kiln_fusion_group *group = problem->group;
    const struct kiln_contraction_options *forced = &problem->schedule->forced;
    if (group->contract_count != 1 || kiln_group_has_whole_rows(group) ||
        kiln_group_has_statistics(group) ||
        (kiln_group_cuts_k(group) && !kiln_contraction_is_depthwise_gradient(problem->axes)) ||
        kiln_group_operand_sum(problem->ir, group) != KILN_NONE || problem->axes->is_right_windowed)
        return false;
    if (forced->form != KILN_CONTRACTION_ANY)
        return forced->form == KILN_CONTRACTION_DIRECT;
    int64_t pairs = count_pairs(problem->axes);
    return forced->tile_m == 0 && forced->tile_k == 0 && forced->waves_m == 0 && pairs != 0 &&
           pairs <= MOST_PAIRS;
}

/* ---- tile ---- */

uint32_t kiln_direct_block(const struct kiln_target *target)
{
    return target->wave_size == 1 ? 1 : BLOCK;
}

void kiln_choose_shared_rows(const struct kiln_target *target,
                             struct kiln_contraction_schedule *contraction)
{
    contraction->shared_rows = target->wave_size == 1            ? HOST_ITEM_ROWS
                               : contraction->is_direct_gradient ? GRADIENT_ROWS
                                                                 : SHARED_ROWS;
    contraction->tile_k = TAPS;
    contraction->waves_m = contraction->waves_n = contraction->waves_k = contraction->groups_k = 1;
    contraction->row_parts = 1;
}

uint32_t kiln_direct_lds_bytes(const struct kiln_contraction_schedule *contraction,
                               uint32_t sum_bytes)
{
    return contraction->tile_k * (contraction->shared_rows * sum_bytes + LINE_PADDING);
}

static uint64_t divide_up(uint64_t value, uint64_t divisor)
{
    return (value + divisor - 1) / divisor;
}

/* So many of `count` that parts of as many, `most` at most, are equally long. */
static uint32_t balance(uint64_t count, uint32_t most)
{
    return (uint32_t)divide_up(count, divide_up(count, most));
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Few rows for each work-item where there are few of them: two kernels, whatever the sizes. */
static uint32_t choose_item_rows(const struct kiln_target *target,
                                 const struct kiln_register_limits *limits, bool is_left_shared,
                                 const struct kiln_contraction_schedule *contraction)
{
    if (target->wave_size == 1)
        return (uint32_t)smaller(HOST_ITEM_ROWS, limits->steps);
    uint64_t vectors = (uint64_t)contraction->n / contraction->result_vector;
    uint32_t most = is_left_shared ? CHANNELS : ITEM_ROWS;
    double items = (double)contraction->m * (double)vectors / (double)most;
    for (uint32_t b = 0; b < contraction->batch_rank; b++)
        items *= (double)contraction->batch_sizes[b];
    bool is_much = items >= (double)((uint64_t)BLOCK * GROUPS_PER_UNIT * target->compute_units);
    return contraction->are_rows_fast || !is_much || limits->steps < most ? 1 : most;
}

/* Pixels are loaded one by one, since each is inside of the window or not: so neighbours in memory
 * are neighbouring work-items', and what is the same for several channels is computed once. */
uint32_t kiln_direct_vector_limit(const struct kiln_target *target, bool is_left_shared,
                                  const struct kiln_contraction_schedule *contraction)
{
    if (target->wave_size == 1 && !contraction->are_rows_fast)
        return UINT32_MAX;
    return is_left_shared ? 1 : contraction->are_rows_fast ? (uint32_t)CHANNELS : UINT32_MAX;
}

void kiln_choose_direct_tile(const struct kiln_target *target,
                             const struct kiln_register_limits *limits, bool is_left_shared,
                             struct kiln_contraction_schedule *contraction)
{
    uint32_t block = kiln_direct_block(target);
    uint32_t vector = contraction->result_vector;
    contraction->item_rows = choose_item_rows(target, limits, is_left_shared, contraction);
    kiln_choose_shared_rows(target, contraction);
    uint64_t rows = divide_up((uint64_t)contraction->m, contraction->item_rows);
    uint64_t columns = divide_up((uint64_t)contraction->n, vector);
    uint32_t most_slots =
        is_left_shared ? contraction->shared_rows / contraction->item_rows : block;
    uint32_t most_vectors = is_left_shared ? block : contraction->shared_rows / vector;
    most_slots = (uint32_t)smaller(most_slots, block);
    most_vectors = (uint32_t)smaller(most_vectors, block);
    if (contraction->are_rows_fast) {
        contraction->slots = balance(rows, (uint32_t)smaller(most_slots, FAST_ROWS));
        contraction->vectors =
            balance(columns, (uint32_t)smaller(most_vectors, block / contraction->slots));
    } else {
        contraction->vectors = balance(columns, most_vectors);
        contraction->slots =
            balance(rows, (uint32_t)smaller(most_slots, block / contraction->vectors));
    }
    contraction->tile_m = contraction->slots * contraction->item_rows;
    contraction->tile_n = contraction->vectors * vector;
}
