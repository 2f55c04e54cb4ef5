/* Schedules of the templates pointwise and pointwise_tiled. */
#include "compiler/families/pointwise/pointwise_schedule.h"
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
    MANY_REPEATED = 16,   /* elements of a vector that rows repeat */
    MIN_ROW_VECTORS = 32, /* of rows on CUDA that keep their own vectors */
    MIN_TILE_DIM = 16,
    MIN_TILE = 32,
    MIN_TILE_VECTORS = 8,
    TILES_PER_COMPUTE_UNIT = 2,
    MIN_ELEMS_PER_REPEATED = 2, /* so many for each that a tile computes again */
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
        *bytes += schedule->walk.vector_elems * kiln_dtype_info(group->accesses[i].dtype)->bytes;
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
        tuning->busy_cost != 0 && (schedule->walk.vector_elems * group->cost >= tuning->busy_cost ||
                                   small >= MANY_SMALL_BYTES * large);
    uint32_t unroll = 1;
    uint32_t most = kiln_min_u32(MAX_UNROLL, schedule->limits.steps);
    /* Unaligned stores have instructions enough: with one vector, a batch norm of 1023 channels of
     * halves takes 64 us on an H100 instead of 68. */
    for (uint32_t i = group->load_count; i < group->access_count; i++)
        is_busy = is_busy && !kiln_access_is_unaligned(group, target, schedule, i);
    bool are_constants = schedule->options->shapes == KILN_SHAPES_CONSTANT;
    uint32_t fewest = MIN_GROUPS_TO_UNROLL;
    if (schedule->options->max_groups != 0) /* small graphs are to do what huge ones do */
        fewest = kiln_min_u32(fewest, schedule->options->max_groups);
    while (2 * unroll <= most &&
           (unroll * 2 * large <= tuning->bytes_in_flight || (is_busy && unroll < 2)) &&
           unroll * 2 * schedule->walk.vector_elems * group->live_registers <= target->vgprs / 2 &&
           unroll * 2 * schedule->walk.vector_elems * group->cost <= KILN_MAX_UNROLLED_COST &&
           (!are_constants || vectors / (KILN_BLOCK * 2 * unroll) >= fewest))
        unroll *= 2;
    /* All or nothing where sizes are arguments: two kernels for all sizes. */
    return are_constants || vectors / (KILN_BLOCK * unroll) >= fewest ? unroll : 1;
}

/* Dense over the whole collapsed domain, in its order. */
static bool is_dense_line(const struct kiln_schedule *schedule,
                          const struct kiln_access_schedule *access)
{
    int64_t stride = 1;
    for (uint32_t axis = schedule->walk.rank; axis-- > 0;) {
        if (access->strides[axis] != stride || access->repeats[axis] != 0 ||
            (access->guard_axes >> axis) & 1u)
            return false;
        stride *= schedule->walk.dims[axis];
    }
    return true;
}

static bool is_repeated_everywhere(const struct kiln_schedule *schedule,
                                   const struct kiln_access_schedule *access)
{
    for (uint32_t axis = 0; axis < schedule->walk.rank; axis++) {
        if (access->strides[axis] != 0 || (access->guard_axes >> axis) & 1u)
            return false;
    }
    return true;
}

/* True if vectors that are not aligned cost no more than others. */
static bool starts_anywhere(const struct kiln_target *target)
{
    return target->kind != KILN_TARGET_CUDA;
}

/*
 * The tile axis, or KILN_NONE: the axis other than the inner one along which the most traffic is
 * dense, when both are long enough for a tile to pay. Columns are stored, and on CUDA few of them
 * are better gathered: a transposition of rows of 17 halves reaches 0.72 of a copy on an H100,
 * and 0.38 in tiles, where most vectors are cut.
 */
static uint32_t choose_tile_axis(const struct kiln_fusion_group *group,
                                 const struct kiln_target *target,
                                 const struct kiln_schedule *schedule, uint64_t heaviest)
{
    uint32_t inner = schedule->walk.rank - 1;
    uint32_t best = KILN_NONE;
    uint64_t best_bytes = 0;
    if (schedule->walk.dims[inner] < (starts_anywhere(target) ? MIN_TILE_DIM : MIN_TILE))
        return KILN_NONE;
    for (uint32_t axis = 0; axis < inner; axis++) {
        uint64_t bytes = 0;
        for (uint32_t i = 0; i < group->access_count; i++) {
            const int64_t *strides = schedule->accesses[i].strides;
            if (strides[inner] > 1 && kiln_access_is_dense(&schedule->accesses[i], axis) &&
                schedule->accesses[i].repeats[inner] == 0 &&
                schedule->accesses[i].guard_axes == 0 &&
                kiln_access_is_heavy(group, schedule, i, heaviest))
                bytes += kiln_access_weight(group, schedule, i);
        }
        if (schedule->walk.dims[axis] >= MIN_TILE_DIM && bytes > best_bytes) {
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
        int64_t stride = schedule->accesses[i].strides[schedule->walk.rank - 1];
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
    for (uint32_t axis = 0; axis < schedule->walk.rank; axis++) {
        uint64_t size = (uint64_t)schedule->walk.dims[axis];
        bool tiled = axis == schedule->walk.rank - 1 || axis == schedule->walk.tile_axis;
        count *= tiled ? (size + tile - 1) / tile : size;
    }
    return count;
}

static uint32_t smallest_tile(uint32_t vector)
{
    return MIN_TILE_VECTORS * vector < MIN_TILE ? MIN_TILE : MIN_TILE_VECTORS * vector;
}

/* The two axes of a tile. */
struct plane {
    uint64_t columns, lines;
};

/* Elements that tiles compute: the last one along each axis is moved back, and computes some that
 * another one has. Both axes have a tile's length. */
static uint64_t covered_by_tiles(struct plane plane, uint32_t tile)
{
    return (plane.columns + tile - 1) / tile * tile * ((plane.lines + tile - 1) / tile * tile);
}

static bool is_much_more(uint64_t covered, uint64_t elems)
{
    return (covered - elems) * MIN_ELEMS_PER_REPEATED > elems;
}

/*
 * A work-item transposes squares of vector x vector elements, which it holds in registers. A tile
 * has at least 8 x 8 of them, so that neighbouring work-items' vectors fill whole lines of the
 * caches and all banks of local memory. It has 16 x 16 where local memory has room for them and
 * every compute unit has work even so. Vectors are shorter if the shorter axis would leave half of
 * a tile empty or cut vectors, or if tiles would compute much more than smaller ones.
 */
static void choose_tile(const struct kiln_target *target, const struct staging *staging,
                        struct kiln_schedule *schedule)
{
    const struct plane plane = {
        .columns = (uint64_t)schedule->walk.dims[schedule->walk.rank - 1],
        .lines = (uint64_t)schedule->walk.dims[schedule->walk.tile_axis],
    };
    uint64_t shorter = plane.columns < plane.lines ? plane.columns : plane.lines;
    uint32_t vector = schedule->walk.vector_elems;
    uint32_t tile = smallest_tile(vector);
    while (tile > MIN_TILE &&
           ((tile > shorter && (tile / 2 >= shorter || shorter % vector != 0)) ||
            (tile <= shorter &&
             is_much_more(covered_by_tiles(plane, tile), covered_by_tiles(plane, tile / 2))) ||
            tile * tile * staging->bytes > LARGE_TILE_LDS_BYTES ||
            vector * vector * staging->load_bytes / 4 > target->vgprs / 2)) {
        vector /= 2;
        tile = smallest_tile(vector);
    }
    if (tile < 2 * MIN_TILE_VECTORS * vector && 2 * tile <= shorter &&
        !is_much_more(covered_by_tiles(plane, 2 * tile), plane.columns * plane.lines) &&
        4 * tile * tile * staging->bytes <= LARGE_TILE_LDS_BYTES &&
        count_tiles(schedule, 2 * tile) >= (uint64_t)TILES_PER_COMPUTE_UNIT * target->compute_units)
        tile *= 2;
    schedule->walk.vector_elems = vector;
    schedule->walk.tile_elems = tile;
    uint32_t vectors = tile / vector;
    schedule->launch.block = kiln_min_u32(KILN_BLOCK, vectors * vectors);
}

/* Vectors that a work-item loads together, beside the square that it transposes. */
static uint32_t choose_tile_unroll(const struct kiln_fusion_group *group,
                                   const struct kiln_target *target, const struct staging *staging,
                                   const struct kiln_schedule *schedule)
{
    uint32_t vector = schedule->walk.vector_elems;
    uint32_t vectors = schedule->walk.tile_elems / vector;
    uint32_t square = vector * vector * staging->load_bytes;
    uint32_t unroll = vectors * vectors / schedule->launch.block * vector;
    while (unroll > 1 &&
           (unroll > schedule->limits.steps ||
            (square + unroll * vector * staging->plain_bytes) / 4 > target->vgprs / 2 ||
            unroll * vector * group->cost > KILN_MAX_UNROLLED_COST))
        unroll /= 2;
    return unroll;
}

static void schedule_tiled(const struct kiln_graph *graph, const struct kiln_fusion_group *group,
                           const struct kiln_target *target, uint32_t tile_axis, uint64_t heaviest,
                           bool *is_dense, struct kiln_schedule *schedule)
{
    uint32_t inner = schedule->walk.rank - 1;
    schedule->template_name = "pointwise_tiled";
    schedule->walk.form = KILN_WALK_TILES;
    schedule->walk.tile_axis = tile_axis;
    for (uint32_t i = 0; i < group->access_count; i++) {
        const struct kiln_access_schedule *access = &schedule->accesses[i];
        is_dense[i] = kiln_access_is_dense(access, inner) ||
                      (access->strides[inner] > 1 && access->repeats[inner] == 0 &&
                       kiln_access_is_dense(access, schedule->walk.tile_axis));
    }
    schedule->walk.vector_elems = choose_vector(group, target, schedule, is_dense);
    struct staging staging = measure_staging(group, schedule, is_dense);
    choose_tile(target, &staging, schedule);
    kiln_pointwise_schedule_in(schedule)->vectors_per_item =
        choose_tile_unroll(group, target, &staging, schedule);
    for (uint32_t i = 0; i < group->access_count; i++) {
        struct kiln_access_schedule *access = &schedule->accesses[i];
        uint32_t lds = schedule->walk.tile_elems * schedule->walk.tile_elems *
                       kiln_dtype_info(group->accesses[i].dtype)->bytes;
        if (kiln_access_is_dense(access, inner) &&
            kiln_vector_is_possible(schedule, group, i, inner)) {
            kiln_set_vector_access(graph, target, schedule, group, i, inner);
        } else if (kiln_access_is_shared(schedule, access, inner)) {
            access->mode = KILN_ACCESS_SPLAT;
        } else if (access->strides[inner] > 1 && access->repeats[inner] == 0 &&
                   kiln_access_is_dense(access, schedule->walk.tile_axis) &&
                   access->guard_axes == 0 && kiln_access_is_heavy(group, schedule, i, heaviest) &&
                   schedule->launch.lds_bytes + lds <= MAX_TILE_LDS_BYTES &&
                   kiln_vector_is_possible(schedule, group, i, schedule->walk.tile_axis)) {
            kiln_set_vector_access(graph, target, schedule, group, i, schedule->walk.tile_axis);
            access->mode = KILN_ACCESS_TRANSPOSED;
            schedule->launch.lds_bytes += lds;
        } else {
            access->mode = KILN_ACCESS_GATHER;
        }
    }
    schedule->launch.chunk_count = count_tiles(schedule, schedule->walk.tile_elems);
}

/* The fewest elements that fill whole bytes of every packed tensor that is stored. */
static uint32_t packed_store_unit(const struct kiln_fusion_group *group)
{
    uint32_t unit = 1;
    for (uint32_t i = group->load_count; i < group->access_count; i++) {
        uint32_t own = kiln_dtype_unit(group->accesses[i].dtype);
        unit = own > unit ? own : unit;
    }
    return unit;
}

static bool has_packed_access(const struct kiln_fusion_group *group)
{
    for (uint32_t i = 0; i < group->access_count; i++) {
        if (kiln_dtype_is_packed(group->accesses[i].dtype))
            return true;
    }
    return false;
}

/* True if rows keep their own vectors although these do not divide them: the last vector is moved
 * back to where it is whole. Then operands that rows repeat are vectors, too, and a vector takes
 * one division instead of one for each element. On CUDA vectors of large operands are aligned only
 * along one line, so this pays for many repeated elements in long rows. A batch norm of 1023 halves
 * takes 39 us on an H100 instead of 54, but one of 127 halves 42 instead of 33. Moved vectors of
 * packed elements would start within a byte. */
static bool keeps_rows(const struct kiln_fusion_group *group, const struct kiln_target *target,
                       const struct kiln_schedule *schedule, uint32_t vector)
{
    uint32_t repeated = 0;
    uint64_t cols = (uint64_t)schedule->walk.dims[schedule->walk.rank - 1];
    if (has_packed_access(group))
        return false;
    for (uint32_t i = 0; i < group->load_count; i++)
        repeated += !is_dense_line(schedule, &schedule->accesses[i]) &&
                    !is_repeated_everywhere(schedule, &schedule->accesses[i]);
    return starts_anywhere(target)
               ? cols >= vector
               : repeated * vector >= MANY_REPEATED && cols >= MIN_ROW_VECTORS * vector;
}

static void schedule_lines(const struct kiln_graph *graph, const struct kiln_fusion_group *group,
                           const struct kiln_target *target, uint64_t heaviest, bool *is_dense,
                           struct kiln_schedule *schedule)
{
    uint32_t inner = schedule->walk.rank - 1;
    schedule->template_name = "pointwise";
    uint64_t cols = (uint64_t)schedule->walk.dims[inner];
    uint64_t rows = 1;
    for (uint32_t axis = 0; axis < inner; axis++)
        rows *= (uint64_t)schedule->walk.dims[axis];
    uint64_t dense_bytes = 0;
    uint64_t total_bytes = 0;
    for (uint32_t i = 0; i < group->access_count; i++) {
        is_dense[i] = kiln_walk_is_dense(schedule, group, i);
        total_bytes += kiln_access_weight(group, schedule, i);
        if (is_dense_line(schedule, &schedule->accesses[i]))
            dense_bytes += kiln_access_weight(group, schedule, i);
    }
    uint32_t vector = choose_vector(group, target, schedule, is_dense);
    /* Vectors of a packed store are whole bytes; where rows are not, there is one row. */
    uint32_t unit = packed_store_unit(group);
    vector = kiln_vector_within_end(schedule, vector > unit ? vector : unit);
    bool keeps = keeps_rows(group, target, schedule, vector);
    bool is_flattened =
        schedule->walk.rank > 1 && schedule->walk.end == 0 &&
        ((cols % vector != 0 && 2 * dense_bytes >= total_bytes && !keeps) || cols % unit != 0);
    if (is_flattened) {
        schedule->walk.form = KILN_WALK_FLATTENED;
        cols *= rows;
        rows = 1;
    }
    schedule->walk.vector_elems = kiln_min_u32(vector, kiln_floor_power_of_two(cols));
    if (schedule->walk.sizes == KILN_SIZES_ARGUMENT && schedule->walk.vector_elems < vector)
        schedule->walk.vector_elems = 1;
    if (schedule->walk.vector_elems < unit)
        schedule->walk.vector_elems = unit;
    uint32_t cut = (uint32_t)(cols % schedule->walk.vector_elems);
    if (rows > 1 && cut != 0 && schedule->walk.end == 0 && keeps)
        schedule->walk.moved_elems = schedule->walk.vector_elems - cut;
    for (uint32_t i = 0; i < group->access_count; i++) {
        struct kiln_access_schedule *access = &schedule->accesses[i];
        bool dense = is_flattened ? is_dense_line(schedule, access) : is_dense[i];
        bool repeated = is_flattened ? is_repeated_everywhere(schedule, access)
                                     : kiln_access_is_shared(schedule, access, inner);
        if (dense && kiln_vector_is_possible(schedule, group, i, inner))
            kiln_set_vector_access(graph, target, schedule, group, i, inner);
        else
            access->mode = repeated ? KILN_ACCESS_SPLAT : KILN_ACCESS_GATHER;
    }
    schedule->walk.rows = rows;
    schedule->walk.cols = cols;
    uint64_t vectors =
        rows * ((cols + schedule->walk.vector_elems - 1) / schedule->walk.vector_elems);
    kiln_pointwise_schedule_in(schedule)->vectors_per_item =
        choose_unroll(group, target, schedule, heaviest, vectors);
    schedule->launch.block = KILN_BLOCK;
    while (schedule->walk.sizes == KILN_SIZES_CONSTANT && schedule->launch.block / 2 >= vectors &&
           schedule->launch.block / 2 >= 64)
        schedule->launch.block /= 2;
    uint64_t per_chunk =
        (uint64_t)schedule->launch.block * kiln_pointwise_schedule_of(schedule)->vectors_per_item;
    schedule->launch.chunk_count = (vectors + per_chunk - 1) / per_chunk;
}

static enum kiln_status schedule_pointwise(const struct kiln_schedule_task *task,
                                           struct kiln_schedule *schedule, struct kiln_error *error)
{
    const struct kiln_fusion_group *group = task->group;
    bool *is_dense;
    enum kiln_status status = kiln_walk_begin(task, schedule, &is_dense, error);
    if (status != KILN_OK)
        return status;
    if (schedule->options->shapes == KILN_SHAPES_ARGUMENT)
        schedule->walk.sizes = KILN_SIZES_ARGUMENT;
    uint64_t heaviest = kiln_heaviest_access(group, schedule);
    uint32_t tile_axis =
        has_packed_access(group) || schedule->options->is_general || schedule->walk.end != 0
            ? KILN_NONE
            : choose_tile_axis(group, task->target, schedule, heaviest);
    if (tile_axis != KILN_NONE)
        schedule_tiled(task->graph, group, task->target, tile_axis, heaviest, is_dense, schedule);
    else
        schedule_lines(task->graph, group, task->target, heaviest, is_dense, schedule);
    kiln_walk_finish(task, NULL, true, group->cost, schedule);
    return KILN_OK;
}

/* First fewer vectors at once, then shorter ones. */
static bool relax_pointwise(const struct kiln_schedule *schedule,
                            struct kiln_register_limits *limits)
{
    return kiln_halve_limit(&limits->steps, kiln_pointwise_schedule_of(schedule)->vectors_per_item,
                            1) ||
           kiln_halve_limit(&limits->vector_elems, schedule->walk.vector_elems, 1);
}

static bool is_same(const struct kiln_schedule *a, const struct kiln_schedule *b)
{
    const struct kiln_pointwise_schedule *x = kiln_pointwise_schedule_of(a);
    const struct kiln_pointwise_schedule *y = kiln_pointwise_schedule_of(b);
    return x->vectors_per_item == y->vectors_per_item && a->walk.tile_elems == b->walk.tile_elems;
}

static bool walks_in_order(const struct kiln_schedule *schedule)
{
    (void)schedule;
    return true;
}

static void print_pointwise(const struct kiln_schedule *schedule,
                            const struct kiln_fusion_group *group, struct kiln_buffer *buffer)
{
    uint32_t tile = schedule->walk.tile_elems;
    (void)group;
    kiln_walk_print_axes(schedule, buffer);
    if (schedule->walk.form == KILN_WALK_TILES)
        kiln_buffer_printf(
            buffer, ", tile %" PRIu32 "x%" PRIu32 " over axis %" PRIu32 ", lds %" PRIu32 " bytes",
            tile, tile, schedule->walk.tile_axis, schedule->launch.lds_bytes);
    kiln_buffer_printf(buffer, ", vector %" PRIu32 " x %" PRIu32, schedule->walk.vector_elems,
                       kiln_pointwise_schedule_of(schedule)->vectors_per_item);
}

const struct kiln_schedule_family kiln_schedule_family_pointwise = {
    .details_bytes = sizeof(struct kiln_pointwise_schedule),
    .schedule = schedule_pointwise,
    .relax = relax_pointwise,
    .is_same = is_same,
    .walks_in_order = walks_in_order,
    .time = kiln_walk_time,
    .print = print_pointwise,
};
