/* Schedules of the templates pointwise and pointwise_tiled. */
#include "compiler/schedule/integer_math.h"
#include "compiler/schedule/tuning.h"
#include "compiler/schedule/vector_access.h"
#include "compiler/schedule/walk.h"

#include <inttypes.h>

/*
 * Requirements that the numbers below come from:
 *   1. wide accesses: 16 bytes per work-item for the smallest element that carries real traffic, no
 * element more than 32 bytes per work-item and access, so that mixed types stay wide too, or
 * access_bytes (tuning.def) of any operand;
 *   2. enough loads in flight per work-item that latency is covered, or arithmetic enough to cover
 * it (tuning.def);
 *   3. registers: live values x vector x unroll within three quarters of what the target has;
 *   4. compile time: code grows with cost x vector x unroll; beyond KILN_MAX_UNROLLED_COST a kernel
 * computes more than it moves and gains nothing from being wider.
 */
enum {
    MAX_UNROLL = 4,
    MIN_GROUPS_TO_UNROLL = 2048,
    MANY_SMALL_BYTES = 6, /* for each of a large operand */
    MIN_TILE_DIM = 16,
    MIN_TILE = 32,
    MIN_TILE_VECTORS = 8,
    TILES_PER_COMPUTE_UNIT = 4,
    LARGE_TILE_LDS_BYTES = 32768,
    MAX_TILE_LDS_BYTES = 49152,
};

/* Bytes of the widest element among all accesses that can be wide. */
static uint32_t widest_element(const struct kiln_fusion_group *group, const bool *is_dense)
{
    uint32_t widest = 1;
    for (uint32_t i = 0; i < group->access_count; i++) {
        uint32_t bytes = kiln_dtype_info(group->accesses[i].dtype)->bytes;
        if (is_dense[i] && bytes > widest)
            widest = bytes;
    }
    return widest;
}

/* Vector length that requirements 1, 3 and 4 allow; `is_dense(i)` are the accesses that can be
 * wide. */
static uint32_t choose_vector(const struct kiln_fusion_group *group,
                              const struct kiln_target *target,
                              const struct kiln_schedule *schedule, const bool *is_dense)
{
    uint32_t narrowest;
    uint32_t widest;
    kiln_dense_element_bytes(group, schedule, is_dense, &narrowest, &widest);
    if (narrowest == 0)
        return 1;
    uint32_t vector = kiln_min_u32(KILN_ACCESS_BYTES / narrowest, KILN_MAX_ACCESS_BYTES / widest);
    vector = kiln_min_u32(vector, kiln_floor_power_of_two(schedule->limits.vector_elems));
    uint32_t most = kiln_tuning_of(target)->access_bytes;
    if (most != 0)
        vector = kiln_min_u32(vector, most / widest_element(group, is_dense));
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
    uint32_t most = kiln_min_u32(MAX_UNROLL, schedule->limits.steps);
    while (2 * unroll <= most &&
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

/* Bytes that pass through local memory when every access that can be staged is staged. */
struct staging {
    uint32_t load_bytes;  /* of an element of each operand that is loaded, added */
    uint32_t bytes;       /* and of those that are stored */
    uint32_t plain_bytes; /* of an element of each operand that a work-item loads for itself */
};

static struct staging measure_staging(const struct kiln_fusion_group *group,
                                      const struct kiln_schedule *schedule, const bool *is_dense)
{
    struct staging staging = {0};
    for (uint32_t i = 0; i < group->access_count; i++) {
        uint32_t bytes = kiln_dtype_info(group->accesses[i].dtype)->bytes;
        int64_t stride = schedule->accesses[i].strides[schedule->rank - 1];
        bool is_staged = is_dense[i] && stride > 1;
        staging.bytes += is_staged ? bytes : 0;
        if (i < group->load_count) {
            staging.load_bytes += is_staged ? bytes : 0;
            staging.plain_bytes += !is_staged && stride != 0 ? bytes : 0;
        }
    }
    return staging;
}

static uint64_t count_tiles(const struct kiln_schedule *schedule, uint32_t tile)
{
    uint64_t count = 1;
    for (uint32_t axis = 0; axis < schedule->rank; axis++) {
        uint64_t size = (uint64_t)schedule->dims[axis];
        bool tiled = axis == schedule->rank - 1 || axis == schedule->tile_axis;
        count *= tiled ? (size + tile - 1) / tile : size;
    }
    return count;
}

static uint32_t smallest_tile(uint32_t vector)
{
    return MIN_TILE_VECTORS * vector < MIN_TILE ? MIN_TILE : MIN_TILE_VECTORS * vector;
}

/*
 * A work-item transposes squares of vector x vector elements, which it holds in registers. A tile
 * has at least 8 x 8 of them, so that neighbouring work-items' vectors fill whole lines of the
 * caches and all banks of local memory; 16 x 16 where local memory allows for it and every compute
 * unit has work even so. Where the shorter axis would leave half of a tile empty, the vectors are
 * shorter.
 */
static void choose_tile(const struct kiln_target *target, const struct staging *staging,
                        struct kiln_schedule *schedule)
{
    int64_t columns = schedule->dims[schedule->rank - 1];
    int64_t lines = schedule->dims[schedule->tile_axis];
    uint64_t shorter = (uint64_t)(columns < lines ? columns : lines);
    uint32_t vector = schedule->vector_elems;
    uint32_t tile = smallest_tile(vector);
    while (tile > MIN_TILE &&
           (tile / 2 >= shorter || tile * tile * staging->bytes > LARGE_TILE_LDS_BYTES ||
            vector * vector * staging->load_bytes / 4 > target->vgprs / 2)) {
        vector /= 2;
        tile = smallest_tile(vector);
    }
    if (tile < 2 * MIN_TILE_VECTORS * vector && shorter > tile &&
        4 * tile * tile * staging->bytes <= LARGE_TILE_LDS_BYTES &&
        count_tiles(schedule, 2 * tile) >= (uint64_t)TILES_PER_COMPUTE_UNIT * target->compute_units)
        tile *= 2;
    schedule->vector_elems = vector;
    schedule->pointwise.tile_elems = tile;
    uint32_t vectors = tile / vector;
    schedule->block = kiln_min_u32(KILN_BLOCK, vectors * vectors);
}

/* Vectors that a work-item loads together, beside the square that it transposes. */
static uint32_t choose_tile_unroll(const struct kiln_fusion_group *group,
                                   const struct kiln_target *target, const struct staging *staging,
                                   const struct kiln_schedule *schedule)
{
    uint32_t vector = schedule->vector_elems;
    uint32_t vectors = schedule->pointwise.tile_elems / vector;
    uint32_t square = vector * vector * staging->load_bytes;
    uint32_t unroll = vectors * vectors / schedule->block * vector;
    while (unroll > 1 &&
           (unroll > schedule->limits.steps ||
            (square + unroll * vector * staging->plain_bytes) / 4 > target->vgprs / 2 ||
            unroll * vector * group->cost > KILN_MAX_UNROLLED_COST))
        unroll /= 2;
    return unroll;
}

static void schedule_tiled(const struct kiln_graph *graph, const struct kiln_fusion_group *group,
                           const struct kiln_target *target, uint64_t heaviest, bool *is_dense,
                           struct kiln_schedule *schedule)
{
    uint32_t inner = schedule->rank - 1;
    schedule->template_name = "pointwise_tiled";
    for (uint32_t i = 0; i < group->access_count; i++) {
        const int64_t *strides = schedule->accesses[i].strides;
        is_dense[i] =
            strides[inner] == 1 || (strides[inner] > 1 && strides[schedule->tile_axis] == 1);
    }
    schedule->vector_elems = choose_vector(group, target, schedule, is_dense);
    struct staging staging = measure_staging(group, schedule, is_dense);
    choose_tile(target, &staging, schedule);
    schedule->pointwise.vectors_per_item = choose_tile_unroll(group, target, &staging, schedule);
    for (uint32_t i = 0; i < group->access_count; i++) {
        struct kiln_access_schedule *access = &schedule->accesses[i];
        enum kiln_dtype dtype = group->accesses[i].dtype;
        uint32_t lds = schedule->pointwise.tile_elems * schedule->pointwise.tile_elems *
                       kiln_dtype_info(dtype)->bytes;
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
    schedule->chunk_count = count_tiles(schedule, schedule->pointwise.tile_elems);
}

static void schedule_lines(const struct kiln_graph *graph, const struct kiln_fusion_group *group,
                           const struct kiln_target *target, uint64_t heaviest, bool *is_dense,
                           struct kiln_schedule *schedule)
{
    uint32_t inner = schedule->rank - 1;
    schedule->template_name = "pointwise";
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
    uint32_t vector = choose_vector(group, target, schedule, is_dense);
    schedule->flattened =
        schedule->rank > 1 && cols % vector != 0 && 2 * dense_bytes >= total_bytes;
    if (schedule->flattened) {
        cols *= rows;
        rows = 1;
    }
    schedule->vector_elems = kiln_min_u32(vector, kiln_floor_power_of_two(cols));
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
    schedule->pointwise.vectors_per_item =
        choose_unroll(group, target, schedule, heaviest, vectors);
    schedule->block = KILN_BLOCK;
    while (schedule->block / 2 >= vectors && schedule->block / 2 >= 64)
        schedule->block /= 2;
    uint64_t per_chunk = (uint64_t)schedule->block * schedule->pointwise.vectors_per_item;
    schedule->chunk_count = (vectors + per_chunk - 1) / per_chunk;
}

static enum kiln_status schedule_pointwise(const struct kiln_schedule_task *task,
                                           struct kiln_schedule *schedule, struct kiln_error *error)
{
    const struct kiln_fusion_group *group = task->group;
    bool *is_dense;
    enum kiln_status status = kiln_walk_begin(task, schedule, &is_dense, error);
    if (status != KILN_OK)
        return status;
    uint64_t heaviest = kiln_heaviest_access_bytes(group, schedule);
    schedule->tile_axis = choose_tile_axis(group, schedule, heaviest);
    if (schedule->tile_axis != KILN_NONE)
        schedule_tiled(task->graph, group, task->target, heaviest, is_dense, schedule);
    else
        schedule_lines(task->graph, group, task->target, heaviest, is_dense, schedule);
    kiln_walk_finish(task, NULL, true, group->cost, schedule);
    return KILN_OK;
}

/* First fewer vectors at once, then shorter ones. */
static bool relax_pointwise(const struct kiln_schedule *schedule,
                            struct kiln_register_limits *limits)
{
    return kiln_halve_limit(&limits->steps, schedule->pointwise.vectors_per_item, 1) ||
           kiln_halve_limit(&limits->vector_elems, schedule->vector_elems, 1);
}

static bool is_same(const struct kiln_schedule *a, const struct kiln_schedule *b)
{
    return a->pointwise.vectors_per_item == b->pointwise.vectors_per_item &&
           a->pointwise.tile_elems == b->pointwise.tile_elems;
}

static bool walks_in_order(const struct kiln_schedule *schedule)
{
    (void)schedule;
    return true;
}

static void print_pointwise(const struct kiln_schedule *schedule,
                            const struct kiln_fusion_group *group, struct kiln_buffer *buffer)
{
    uint32_t tile = schedule->pointwise.tile_elems;
    (void)group;
    kiln_walk_print_axes(schedule, buffer);
    if (schedule->tile_axis != KILN_NONE)
        kiln_buffer_printf(
            buffer, ", tile %" PRIu32 "x%" PRIu32 " over axis %" PRIu32 ", lds %" PRIu32 " bytes",
            tile, tile, schedule->tile_axis, schedule->lds_bytes);
    kiln_buffer_printf(buffer, ", vector %" PRIu32 " x %" PRIu32, schedule->vector_elems,
                       schedule->pointwise.vectors_per_item);
}

const struct kiln_schedule_family kiln_schedule_family_pointwise = {
    .schedule = schedule_pointwise,
    .relax = relax_pointwise,
    .is_same = is_same,
    .walks_in_order = walks_in_order,
    .time = kiln_walk_time,
    .print = print_pointwise,
};
