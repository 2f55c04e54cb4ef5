#include "compiler/families/contraction/schedule/contraction_direct_tile.h"

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
};

uint32_t kiln_direct_block(const struct kiln_target *target)
{
    return target->wave_size == 1 ? 1 : BLOCK;
}

void kiln_choose_taps(struct kiln_contraction_schedule *contraction, uint32_t taps)
{
    contraction->tile.k = taps;
    contraction->tile.waves_m = contraction->tile.waves_n = contraction->tile.waves_k = 1;
}

uint32_t kiln_direct_lds_bytes(const struct kiln_contraction_schedule *contraction,
                               uint32_t sum_bytes)
{
    return contraction->tile.k *
           (kiln_direct_pipeline(&contraction->pipeline)->shared_rows * sum_bytes + LINE_PADDING);
}

/* Splits `count` into the fewest parts of at most `most`, as equal as possible. Returns the length
 * of a part. */
static uint32_t balance(uint64_t count, uint32_t most)
{
    return (uint32_t)kiln_ceil_div(count, kiln_ceil_div(count, most));
}

/* Few rows for each work-item where there are few of them: two kernels, whatever the sizes. */
static uint32_t choose_item_rows(const struct kiln_target *target,
                                 const struct kiln_register_limits *limits, bool is_left_shared,
                                 const struct kiln_contraction_schedule *contraction)
{
    if (target->wave_size == 1)
        return (uint32_t)kiln_min_u64(HOST_ITEM_ROWS, limits->steps);
    uint64_t vectors = (uint64_t)contraction->problem.n / contraction->result_vector;
    uint32_t most = is_left_shared ? CHANNELS : ITEM_ROWS;
    double items = (double)contraction->problem.m * (double)vectors / (double)most *
                   (double)kiln_batch_count(&contraction->problem.batches);
    bool is_much = items >= (double)((uint64_t)BLOCK * GROUPS_PER_UNIT * target->compute_units);
    return contraction->pipeline.direct.are_rows_fast || !is_much || limits->steps < most ? 1
                                                                                          : most;
}

uint32_t kiln_direct_vector_limit(const struct kiln_target *target, bool is_left_shared,
                                  bool are_rows_fast)
{
    if (target->wave_size == 1 && !are_rows_fast)
        return UINT32_MAX;
    return is_left_shared ? 1 : are_rows_fast ? (uint32_t)CHANNELS : UINT32_MAX;
}

void kiln_choose_direct_tile(const struct kiln_target *target,
                             const struct kiln_register_limits *limits, bool is_left_shared,
                             struct kiln_contraction_schedule *contraction)
{
    uint32_t block = kiln_direct_block(target);
    uint32_t vector = contraction->result_vector;
    struct kiln_direct_pipeline *direct = &contraction->pipeline.direct;
    bool is_gradient = contraction->pipeline.kind == KILN_PIPELINE_GRADIENT;
    direct->item_rows = choose_item_rows(target, limits, is_left_shared, contraction);
    direct->shared_rows = target->wave_size == 1 ? HOST_ITEM_ROWS
                          : is_gradient          ? GRADIENT_ROWS
                                                 : SHARED_ROWS;
    kiln_choose_taps(contraction, TAPS);
    uint64_t rows = kiln_ceil_div((uint64_t)contraction->problem.m, direct->item_rows);
    uint64_t columns = kiln_ceil_div((uint64_t)contraction->problem.n, vector);
    uint32_t most_slots = is_left_shared ? direct->shared_rows / direct->item_rows : block;
    uint32_t most_vectors = is_left_shared ? block : direct->shared_rows / vector;
    most_slots = (uint32_t)kiln_min_u64(most_slots, block);
    most_vectors = (uint32_t)kiln_min_u64(most_vectors, block);
    if (direct->are_rows_fast) {
        direct->slots = balance(rows, (uint32_t)kiln_min_u64(most_slots, FAST_ROWS));
        direct->vectors =
            balance(columns, (uint32_t)kiln_min_u64(most_vectors, block / direct->slots));
    } else {
        direct->vectors = balance(columns, most_vectors);
        direct->slots = balance(rows, (uint32_t)kiln_min_u64(most_slots, block / direct->vectors));
    }
    contraction->tile.m = direct->slots * direct->item_rows;
    contraction->tile.n = direct->vectors * vector;
}
