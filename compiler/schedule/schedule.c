#include "compiler/schedule/schedule.h"

#include "compiler/schedule/collapse.h"

#include <inttypes.h>

/*
 * Requirements that the numbers below come from:
 *   1. wide accesses: 16 bytes per work-item for the smallest element that carries real traffic, no
 * element more than 32 bytes per work-item and access, so that mixed types stay wide too;
 *   2. about 64 bytes of loads in flight per work-item, so that latency is covered at moderate
 * occupancy;
 *   3. registers: live values x vector x unroll within three quarters of what the target has;
 *   4. compile time: code grows with cost x vector x unroll; beyond MAX_UNROLLED_COST a kernel
 * computes more than it moves and gains nothing from being wider.
 */
enum {
    ACCESS_BYTES = 16,
    MAX_ACCESS_BYTES = 32,
    BYTES_IN_FLIGHT = 64,
    MAX_UNROLLED_COST = 2048,
    BLOCK = 256,
    MIN_GROUPS_TO_UNROLL = 2048,
    MAX_GRID = 1 << 22,
    MIN_TILE_DIM = 16,
    LARGE_TILE = 64,
    SMALL_TILE = 32,
    LARGE_TILE_LDS_BYTES = 32768,
    MAX_TILE_LDS_BYTES = 49152,
};

struct traffic {
    uint64_t total;
    uint64_t heaviest;
};

static struct traffic measure_traffic(const struct kiln_domain *domain,
                                      const struct kiln_fusion_group *group)
{
    struct traffic traffic = {0};
    for (uint32_t i = 0; i < group->access_count; i++) {
        uint64_t bytes = kiln_access_traffic_bytes(domain, &group->accesses[i]);
        traffic.total += bytes;
        if (bytes > traffic.heaviest)
            traffic.heaviest = bytes;
    }
    return traffic;
}

/* Worth shaping the schedule for: at least a quarter of the heaviest access. */
static bool is_heavy(const struct kiln_domain *domain, const struct kiln_access *access,
                     struct traffic traffic)
{
    return 4 * kiln_access_traffic_bytes(domain, access) >= traffic.heaviest;
}

static uint32_t floor_power_of_two(uint64_t value)
{
    uint32_t power = 1;
    while (2 * (uint64_t)power <= value && power < (1u << 30))
        power *= 2;
    return power;
}

static uint32_t min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Vector length that requirements 1, 3 and 4 allow; `is_dense(i)` are the accesses that can be
 * wide. */
static uint32_t choose_vector(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                              const struct kiln_target *target, const bool *is_dense,
                              struct traffic traffic, uint32_t requested)
{
    const struct kiln_domain *domain = &ir->domains[group->domain];
    uint32_t smallest = 0;
    uint32_t largest = 1;
    for (uint32_t i = 0; i < group->access_count; i++) {
        if (!is_dense[i] || !is_heavy(domain, &group->accesses[i], traffic))
            continue;
        uint32_t bytes = kiln_dtype_info(group->accesses[i].dtype)->bytes;
        smallest = smallest == 0 ? bytes : min_u32(smallest, bytes);
        largest = bytes > largest ? bytes : largest;
    }
    if (smallest == 0)
        return 1;
    uint32_t vector = min_u32(ACCESS_BYTES / smallest, MAX_ACCESS_BYTES / largest);
    if (requested != 0)
        vector = min_u32(vector, floor_power_of_two(requested));
    while (vector > 1 && (vector * group->live_registers > target->vgprs * 3 / 4 ||
                          vector * group->cost > MAX_UNROLLED_COST))
        vector /= 2;
    return vector;
}

static uint32_t choose_unroll(const struct kiln_fusion_group *group,
                              const struct kiln_target *target,
                              const struct kiln_lower_options *options,
                              const struct kiln_schedule *schedule, uint64_t vectors)
{
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < group->load_count; i++) {
        if (schedule->accesses[i].mode != KILN_ACCESS_SPLAT)
            bytes += schedule->vector_elems * kiln_dtype_info(group->accesses[i].dtype)->bytes;
    }
    uint32_t unroll = 1;
    uint32_t most = options->max_vector_elements == 1 ? 1 : 4; /* 1 asks for no array at all */
    while (unroll < most && unroll * 2 * bytes <= BYTES_IN_FLIGHT &&
           unroll * 2 * schedule->vector_elems * group->live_registers <= target->vgprs / 2 &&
           unroll * 2 * schedule->vector_elems * group->cost <= MAX_UNROLLED_COST &&
           vectors / (BLOCK * 2 * unroll) >= MIN_GROUPS_TO_UNROLL)
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

/* Whether a vector along `axis` of this length starts aligned wherever the other coordinates are.
 */
static bool keeps_alignment(const struct kiln_schedule *schedule,
                            const struct kiln_access_schedule *access, uint32_t axis,
                            uint32_t vector)
{
    for (uint32_t i = 0; i < schedule->rank; i++) {
        if (i != axis && access->strides[i] % (int64_t)vector != 0)
            return false;
    }
    return true;
}

static uint32_t vector_alignment(const struct kiln_target *target, enum kiln_dtype dtype,
                                 uint32_t vector)
{
    uint32_t bytes = kiln_dtype_info(dtype)->bytes;
    return target->kind == KILN_TARGET_CUDA ? min_u32(bytes * vector, ACCESS_BYTES) : bytes;
}

/* Only CUDA traps on a vector that is aligned to its elements alone; AMDGPU and the host do not. */
static bool vector_possible(const struct kiln_graph *graph, const struct kiln_target *target,
                            const struct kiln_schedule *schedule,
                            const struct kiln_fusion_group *group, uint32_t index, uint32_t axis)
{
    if (target->kind != KILN_TARGET_CUDA)
        return true;
    const struct kiln_access *access = &group->accesses[index];
    uint32_t needed = vector_alignment(target, access->dtype, schedule->vector_elems);
    return keeps_alignment(schedule, &schedule->accesses[index], axis, schedule->vector_elems) &&
           (access->kind == KILN_ARGUMENT_WORKSPACE ||
            graph->tensors[access->tensor].alignment_bytes >= needed);
}

/*
 * The tile axis, or KILN_NONE: the axis other than the inner one along which the most traffic is
 * dense, when both are long enough for a tile to pay.
 */
static uint32_t choose_tile_axis(const struct kiln_domain *domain,
                                 const struct kiln_fusion_group *group,
                                 const struct kiln_schedule *schedule, struct traffic traffic)
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
                is_heavy(domain, &group->accesses[i], traffic))
                bytes += kiln_access_traffic_bytes(domain, &group->accesses[i]);
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

static void schedule_tiled(const struct kiln_ir *ir, const struct kiln_graph *graph,
                           const struct kiln_fusion_group *group, const struct kiln_target *target,
                           const struct kiln_lower_options *options, struct traffic traffic,
                           bool *is_dense, struct kiln_schedule *schedule)
{
    const struct kiln_domain *domain = &ir->domains[group->domain];
    uint32_t inner = schedule->rank - 1;
    schedule->template_kind = KILN_TEMPLATE_POINTWISE_TILED;
    for (uint32_t i = 0; i < group->access_count; i++) {
        const int64_t *strides = schedule->accesses[i].strides;
        is_dense[i] =
            strides[inner] == 1 || (strides[inner] > 1 && strides[schedule->tile_axis] == 1);
    }
    schedule->vector_elems =
        choose_vector(ir, group, target, is_dense, traffic, options->max_vector_elements);
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
            vector_possible(graph, target, schedule, group, i, inner)) {
            access->mode = KILN_ACCESS_VECTOR;
            access->alignment_bytes = vector_alignment(target, dtype, schedule->vector_elems);
        } else if (access->strides[inner] == 0) {
            access->mode = KILN_ACCESS_SPLAT;
        } else if (access->strides[inner] > 1 && access->strides[schedule->tile_axis] == 1 &&
                   access->guard_axes == 0 && is_heavy(domain, &group->accesses[i], traffic) &&
                   schedule->lds_bytes + lds <= MAX_TILE_LDS_BYTES &&
                   vector_possible(graph, target, schedule, group, i, schedule->tile_axis)) {
            access->mode = KILN_ACCESS_TRANSPOSED;
            access->alignment_bytes = vector_alignment(target, dtype, schedule->vector_elems);
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
    schedule->block = min_u32(BLOCK, vectors);
}

static void schedule_lines(const struct kiln_ir *ir, const struct kiln_graph *graph,
                           const struct kiln_fusion_group *group, const struct kiln_target *target,
                           const struct kiln_lower_options *options, struct traffic traffic,
                           bool *is_dense, struct kiln_schedule *schedule)
{
    const struct kiln_domain *domain = &ir->domains[group->domain];
    uint32_t inner = schedule->rank - 1;
    schedule->template_kind = KILN_TEMPLATE_POINTWISE;
    uint64_t cols = (uint64_t)schedule->dims[inner];
    uint64_t rows = (uint64_t)kiln_domain_elements(domain) / cols;
    uint64_t dense_bytes = 0;
    for (uint32_t i = 0; i < group->access_count; i++) {
        is_dense[i] = schedule->accesses[i].strides[inner] == 1;
        if (is_dense_line(schedule, &schedule->accesses[i]))
            dense_bytes += kiln_access_traffic_bytes(domain, &group->accesses[i]);
    }
    uint32_t vector =
        choose_vector(ir, group, target, is_dense, traffic, options->max_vector_elements);
    schedule->flattened =
        schedule->rank > 1 && cols % vector != 0 && 2 * dense_bytes >= traffic.total;
    if (schedule->flattened) {
        cols *= rows;
        rows = 1;
    }
    schedule->vector_elems = min_u32(vector, floor_power_of_two(cols));
    for (uint32_t i = 0; i < group->access_count; i++) {
        struct kiln_access_schedule *access = &schedule->accesses[i];
        bool dense = schedule->flattened ? is_dense_line(schedule, access) : is_dense[i];
        bool repeated = schedule->flattened ? is_repeated_everywhere(schedule, access)
                                            : access->strides[inner] == 0;
        if (dense && vector_possible(graph, target, schedule, group, i, inner)) {
            access->mode = KILN_ACCESS_VECTOR;
            access->alignment_bytes =
                vector_alignment(target, group->accesses[i].dtype, schedule->vector_elems);
        } else {
            access->mode = repeated ? KILN_ACCESS_SPLAT : KILN_ACCESS_GATHER;
        }
    }
    schedule->rows = rows;
    schedule->cols = cols;
    uint64_t vectors = rows * ((cols + schedule->vector_elems - 1) / schedule->vector_elems);
    schedule->vectors_per_item = choose_unroll(group, target, options, schedule, vectors);
    schedule->block = BLOCK;
    while (schedule->block / 2 >= vectors && schedule->block / 2 >= 64)
        schedule->block /= 2;
    uint64_t per_chunk = (uint64_t)schedule->block * schedule->vectors_per_item;
    schedule->chunk_count = (vectors + per_chunk - 1) / per_chunk;
}

/* Offsets and vector numbers stay below 2^31 with room for what lies behind the last vector. */
static bool needs_64bit_index(const struct kiln_domain *domain,
                              const struct kiln_fusion_group *group,
                              const struct kiln_schedule *schedule)
{
    const int64_t limit = INT32_MAX - (1 << 20);
    if (kiln_domain_elements(domain) > limit ||
        schedule->chunk_count * schedule->block > (uint64_t)limit)
        return true;
    for (uint32_t i = 0; i < group->access_count; i++) {
        int64_t last = 0;
        for (uint32_t axis = 0; axis < schedule->rank; axis++)
            last += (schedule->dims[axis] - 1) * schedule->accesses[i].strides[axis];
        if (last > limit)
            return true;
    }
    return false;
}

enum kiln_status kiln_schedule_group(const struct kiln_ir *ir, const struct kiln_graph *graph,
                                     const struct kiln_fusion_group *group,
                                     const struct kiln_target *target,
                                     const struct kiln_lower_options *options,
                                     struct kiln_schedule *ret_schedule, struct kiln_error *error)
{
    const struct kiln_domain *domain = &ir->domains[group->domain];
    struct kiln_schedule schedule = {.vectors_per_item = 1};
    schedule.accesses =
        kiln_arena_calloc(ir->arena, group->access_count, sizeof *schedule.accesses);
    bool *is_dense = kiln_arena_calloc(ir->arena, group->access_count, sizeof *is_dense);
    if (schedule.accesses == NULL || is_dense == NULL ||
        !kiln_collapse_domain(ir, group, &schedule))
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while scheduling a kernel");
    for (uint32_t i = 0; i < group->access_count; i++)
        schedule.accesses[i].alignment_bytes = kiln_dtype_info(group->accesses[i].dtype)->bytes;
    struct traffic traffic = measure_traffic(domain, group);
    schedule.tile_axis = choose_tile_axis(domain, group, &schedule, traffic);
    if (schedule.tile_axis != KILN_NONE)
        schedule_tiled(ir, graph, group, target, options, traffic, is_dense, &schedule);
    else
        schedule_lines(ir, graph, group, target, options, traffic, is_dense, &schedule);
    schedule.index_is_64bit = needs_64bit_index(domain, group, &schedule);
    schedule.grid =
        schedule.chunk_count < MAX_GRID ? (uint32_t)schedule.chunk_count : (uint32_t)MAX_GRID;
    *ret_schedule = schedule;
    return KILN_OK;
}

bool kiln_schedule_has_tails(const struct kiln_schedule *schedule)
{
    if (schedule->template_kind == KILN_TEMPLATE_POINTWISE)
        return schedule->cols % schedule->vector_elems != 0;
    return schedule->dims[schedule->rank - 1] % schedule->vector_elems != 0 ||
           schedule->dims[schedule->tile_axis] % schedule->vector_elems != 0;
}

void kiln_schedule_print(const struct kiln_schedule *schedule,
                         const struct kiln_fusion_group *group, struct kiln_buffer *buffer)
{
    static const char *const modes[] = {"vector", "splat", "gather", "transposed"};
    kiln_buffer_printf(buffer, "  template %s, axes",
                       schedule->template_kind == KILN_TEMPLATE_POINTWISE ? "pointwise"
                                                                          : "pointwise_tiled");
    for (uint32_t axis = 0; axis < schedule->rank; axis++)
        kiln_buffer_printf(buffer, " %" PRId64, schedule->dims[axis]);
    if (schedule->flattened)
        kiln_buffer_append_text(buffer, " walked as one line");
    if (schedule->template_kind == KILN_TEMPLATE_POINTWISE_TILED)
        kiln_buffer_printf(
            buffer, ", tile %" PRIu32 "x%" PRIu32 " over axis %" PRIu32 ", lds %" PRIu32 " bytes",
            schedule->tile_elems, schedule->tile_elems, schedule->tile_axis, schedule->lds_bytes);
    kiln_buffer_printf(buffer,
                       ", vector %" PRIu32 " x %" PRIu32 ", block %" PRIu32 ", grid %" PRIu32
                       ", %d-bit index\n",
                       schedule->vector_elems, schedule->vectors_per_item, schedule->block,
                       schedule->grid, schedule->index_is_64bit ? 64 : 32);
    for (uint32_t i = 0; i < group->access_count; i++) {
        const struct kiln_access *access = &group->accesses[i];
        static const char *const kinds[] = {"tensor ", "workspace copy of tensor ", "host scalar "};
        bool is_unnamed = access->tensor == KILN_NONE;
        kiln_buffer_printf(buffer, "  %s %s%" PRIu32 " (%s): %s\n",
                           access->is_store ? "store" : "load",
                           is_unnamed ? "workspace copy of value %" : kinds[access->kind],
                           is_unnamed ? access->value : access->tensor,
                           kiln_dtype_info(access->dtype)->text, modes[schedule->accesses[i].mode]);
    }
}
