#include "compiler/schedule/schedule_pointwise.h"

#include "compiler/schedule/tuning.h"
#include "compiler/schedule/vector_access.h"

/*
 * Requirements that the numbers below come from:
 *   1. wide accesses: 16 bytes per work-item for the smallest element that carries real traffic, no
 * element more than 32 bytes per work-item and access, so that mixed types stay wide too;
 *   2. enough loads in flight per work-item that latency is covered, or arithmetic enough to cover
 * it (tuning.def);
 *   3. registers: live values x vector x unroll within three quarters of what the target has;
 *   4. compile time: code grows with cost x vector x unroll; beyond KILN_MAX_UNROLLED_COST a kernel
 * computes more than it moves and gains nothing from being wider.
 */
enum {
    MIN_GROUPS_TO_UNROLL = 2048,
    MANY_SMALL_BYTES = 6, /* for each of a large operand */
    MIN_TILE_DIM = 16,
    LARGE_TILE = 64,
    SMALL_TILE = 32,
    LARGE_TILE_LDS_BYTES = 32768,
    MAX_TILE_LDS_BYTES = 49152,
};

static uint32_t min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Vector length that requirements 1, 3 and 4 allow; `is_dense(i)` are the accesses that can be
 * wide. */
static uint32_t choose_vector(const struct kiln_fusion_group *group,
                              const struct kiln_target *target,
                              const struct kiln_schedule *schedule, const bool *is_dense,
                              uint32_t requested)
{
    uint32_t narrowest;
    uint32_t widest;
    kiln_dense_element_bytes(group, schedule, is_dense, &narrowest, &widest);
    if (narrowest == 0)
        return 1;
    uint32_t vector = min_u32(KILN_ACCESS_BYTES / narrowest, KILN_MAX_ACCESS_BYTES / widest);
    if (requested != 0)
        vector = min_u32(vector, kiln_floor_power_of_two(requested));
    while (vector > 1 && (vector * group->live_registers > target->vgprs * 3 / 4 ||
                          vector * group->cost > KILN_MAX_UNROLLED_COST))
        vector /= 2;
    return vector;
}

/* Bytes that a vector loads, of large operands and of small ones. */
static void count_vector_bytes(const struct kiln_fusion_group *group,
                               const struct kiln_schedule *schedule, uint64_t heaviest,
                               uint32_t *ret_large, uint32_t *ret_small)
{
    *ret_large = 0;
    *ret_small = 0;
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (schedule->accesses[i].mode == KILN_ACCESS_SPLAT)
            continue;
        uint32_t *bytes =
            kiln_access_is_heavy(group, schedule, i, heaviest) ? ret_large : ret_small;
        *bytes += schedule->vector_elems * kiln_dtype_info(group->accesses[i].dtype)->bytes;
    }
}

static uint32_t choose_unroll(const struct kiln_fusion_group *group,
                              const struct kiln_target *target,
                              const struct kiln_lower_options *options,
                              const struct kiln_schedule *schedule, uint64_t heaviest,
                              uint64_t vectors)
{
    const struct kiln_tuning *tuning = kiln_tuning_of(target);
    uint32_t large, small;
    count_vector_bytes(group, schedule, heaviest, &large, &small);
    /* Several vectors of a channels-last tensor mostly share what they read of its parameters. */
    bool is_busy =
        tuning->busy_cost != 0 && (schedule->vector_elems * group->cost >= tuning->busy_cost ||
                                   small >= MANY_SMALL_BYTES * large);
    uint32_t unroll = 1;
    uint32_t most = options->max_vector_elements == 1 ? 1 : 4; /* 1 asks for no array at all */
    while (unroll < most &&
           (unroll * 2 * large <= tuning->bytes_in_flight || (is_busy && unroll < 2)) &&
           unroll * 2 * schedule->vector_elems * group->live_registers <= target->vgprs / 2 &&
           unroll * 2 * schedule->vector_elems * group->cost <= KILN_MAX_UNROLLED_COST &&
           vectors / (KILN_BLOCK * 2 * unroll) >= MIN_GROUPS_TO_UNROLL)
        unroll *= 2;
    return unroll;
}

/* Dense over the whole collapsed domain, in its order. */
static bool is_dense_line(const struct kiln_schedule *schedule,
                          const struct kiln_access_schedule *access)
{
    int64_t stride = 1;
    for (uint32_t axis = schedule->rank; axis-- > 0;) {
        if (access->strides[axis] != stride || (access->guard_axes >> axis) & 1u)
            return false;
        stride *= schedule->dims[axis];
    }
    return true;
}

static bool is_repeated_everywhere(const struct kiln_schedule *schedule,
                                   const struct kiln_access_schedule *access)
{
    for (uint32_t axis = 0; axis < schedule->rank; axis++) {
        if (access->strides[axis] != 0 || (access->guard_axes >> axis) & 1u)
            return false;
    }
    return true;
}

/*
 * The tile axis, or KILN_NONE: the axis other than the inner one along which the most traffic is
 * dense, when both are long enough for a tile to pay.
 */
static uint32_t choose_tile_axis(const struct kiln_fusion_group *group,
                                 const struct kiln_schedule *schedule, uint64_t heaviest)
{
    uint32_t inner = schedule->rank - 1;
    uint32_t best = KILN_NONE;
    uint64_t best_bytes = 0;
    if (schedule->dims[inner] < MIN_TILE_DIM)
        return KILN_NONE;
    for (uint32_t axis = 0; axis < inner; axis++) {
        uint64_t bytes = 0;
        for (uint32_t i = 0; i < group->access_count; i++) {
            const int64_t *strides = schedule->accesses[i].strides;
            if (strides[inner] > 1 && strides[axis] == 1 && schedule->accesses[i].guard_axes == 0 &&
                kiln_access_is_heavy(group, schedule, i, heaviest))
                bytes += kiln_scheduled_access_bytes(group, schedule, i);
        }
        if (schedule->dims[axis] >= MIN_TILE_DIM && bytes > best_bytes) {
            best_bytes = bytes;
            best = axis;
        }
    }
    return best;
}

static uint32_t tile_bytes(uint32_t tile, enum kiln_dtype dtype)
{
    uint32_t bytes = tile * (tile + 1) * kiln_dtype_info(dtype)->bytes;
    return (bytes + 15) / 16 * 16;
}

static void schedule_tiled(const struct kiln_graph *graph, const struct kiln_fusion_group *group,
                           const struct kiln_target *target,
                           const struct kiln_lower_options *options, uint64_t heaviest,
                           bool *is_dense, struct kiln_schedule *schedule)
{
    uint32_t inner = schedule->rank - 1;
    schedule->template_kind = KILN_TEMPLATE_POINTWISE_TILED;
    for (uint32_t i = 0; i < group->access_count; i++) {
        const int64_t *strides = schedule->accesses[i].strides;
        is_dense[i] =
            strides[inner] == 1 || (strides[inner] > 1 && strides[schedule->tile_axis] == 1);
    }
    schedule->vector_elems =
        choose_vector(group, target, schedule, is_dense, options->max_vector_elements);
    uint32_t large = 0;
    for (uint32_t i = 0; i < group->access_count; i++) {
        if (is_dense[i] && schedule->accesses[i].strides[inner] > 1)
            large += tile_bytes(LARGE_TILE, group->accesses[i].dtype);
    }
    int64_t shorter = schedule->dims[inner] < schedule->dims[schedule->tile_axis]
                          ? schedule->dims[inner]
                          : schedule->dims[schedule->tile_axis];
    schedule->tile_elems =
        large <= LARGE_TILE_LDS_BYTES && shorter > SMALL_TILE ? LARGE_TILE : SMALL_TILE;
    for (uint32_t i = 0; i < group->access_count; i++) {
        struct kiln_access_schedule *access = &schedule->accesses[i];
        enum kiln_dtype dtype = group->accesses[i].dtype;
        uint32_t lds = tile_bytes(schedule->tile_elems, dtype);
        if (access->strides[inner] == 1 &&
            kiln_vector_is_possible(graph, target, schedule, group, i, inner)) {
            access->mode = KILN_ACCESS_VECTOR;
            access->alignment_bytes = kiln_vector_alignment(target, dtype, schedule->vector_elems);
        } else if (access->strides[inner] == 0) {
            access->mode = KILN_ACCESS_SPLAT;
        } else if (access->strides[inner] > 1 && access->strides[schedule->tile_axis] == 1 &&
                   access->guard_axes == 0 && kiln_access_is_heavy(group, schedule, i, heaviest) &&
                   schedule->lds_bytes + lds <= MAX_TILE_LDS_BYTES &&
                   kiln_vector_is_possible(graph, target, schedule, group, i,
                                           schedule->tile_axis)) {
            access->mode = KILN_ACCESS_TRANSPOSED;
            access->alignment_bytes = kiln_vector_alignment(target, dtype, schedule->vector_elems);
            schedule->lds_bytes += lds;
        } else {
            access->mode = KILN_ACCESS_GATHER;
        }
    }
    schedule->chunk_count = 1;
    for (uint32_t axis = 0; axis < schedule->rank; axis++) {
        uint64_t size = (uint64_t)schedule->dims[axis];
        bool tiled = axis == inner || axis == schedule->tile_axis;
        schedule->chunk_count *=
            tiled ? (size + schedule->tile_elems - 1) / schedule->tile_elems : size;
    }
    uint32_t vectors = schedule->tile_elems * schedule->tile_elems / schedule->vector_elems;
    schedule->block = min_u32(KILN_BLOCK, vectors);
}

static void schedule_lines(const struct kiln_graph *graph, const struct kiln_fusion_group *group,
                           const struct kiln_target *target,
                           const struct kiln_lower_options *options, uint64_t heaviest,
                           bool *is_dense, struct kiln_schedule *schedule)
{
    uint32_t inner = schedule->rank - 1;
    schedule->template_kind = KILN_TEMPLATE_POINTWISE;
    uint64_t cols = (uint64_t)schedule->dims[inner];
    uint64_t rows = 1;
    for (uint32_t axis = 0; axis < inner; axis++)
        rows *= (uint64_t)schedule->dims[axis];
    uint64_t dense_bytes = 0;
    uint64_t total_bytes = 0;
    for (uint32_t i = 0; i < group->access_count; i++) {
        is_dense[i] = schedule->accesses[i].strides[inner] == 1;
        total_bytes += kiln_scheduled_access_bytes(group, schedule, i);
        if (is_dense_line(schedule, &schedule->accesses[i]))
            dense_bytes += kiln_scheduled_access_bytes(group, schedule, i);
    }
    uint32_t vector =
        choose_vector(group, target, schedule, is_dense, options->max_vector_elements);
    schedule->flattened =
        schedule->rank > 1 && cols % vector != 0 && 2 * dense_bytes >= total_bytes;
    if (schedule->flattened) {
        cols *= rows;
        rows = 1;
    }
    schedule->vector_elems = min_u32(vector, kiln_floor_power_of_two(cols));
    for (uint32_t i = 0; i < group->access_count; i++) {
        struct kiln_access_schedule *access = &schedule->accesses[i];
        bool dense = schedule->flattened ? is_dense_line(schedule, access) : is_dense[i];
        bool repeated = schedule->flattened ? is_repeated_everywhere(schedule, access)
                                            : access->strides[inner] == 0;
        if (dense && kiln_vector_is_possible(graph, target, schedule, group, i, inner)) {
            access->mode = KILN_ACCESS_VECTOR;
            access->alignment_bytes =
                kiln_vector_alignment(target, group->accesses[i].dtype, schedule->vector_elems);
        } else {
            access->mode = repeated ? KILN_ACCESS_SPLAT : KILN_ACCESS_GATHER;
        }
    }
    schedule->rows = rows;
    schedule->cols = cols;
    uint64_t vectors = rows * ((cols + schedule->vector_elems - 1) / schedule->vector_elems);
    schedule->vectors_per_item = choose_unroll(group, target, options, schedule, heaviest, vectors);
    schedule->block = KILN_BLOCK;
    while (schedule->block / 2 >= vectors && schedule->block / 2 >= 64)
        schedule->block /= 2;
    uint64_t per_chunk = (uint64_t)schedule->block * schedule->vectors_per_item;
    schedule->chunk_count = (vectors + per_chunk - 1) / per_chunk;
}

void kiln_schedule_pointwise(const struct kiln_graph *graph, const struct kiln_fusion_group *group,
                             const struct kiln_target *target,
                             const struct kiln_lower_options *options, bool *is_dense,
                             struct kiln_schedule *schedule)
{
    uint64_t heaviest = kiln_heaviest_access_bytes(group, schedule);
    schedule->tile_axis = choose_tile_axis(group, schedule, heaviest);
    if (schedule->tile_axis != KILN_NONE)
        schedule_tiled(graph, group, target, options, heaviest, is_dense, schedule);
    else
        schedule_lines(graph, group, target, options, heaviest, is_dense, schedule);
}
