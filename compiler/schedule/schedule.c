#include "compiler/schedule/schedule.h"

#include "compiler/fuse/fuse_family.h"
#include "compiler/schedule/collapse.h"
#include "compiler/schedule/pass_work.h"
#include "compiler/schedule/schedule_contraction.h"
#include "compiler/schedule/schedule_pointwise.h"
#include "compiler/schedule/schedule_reduction.h"
#include "compiler/schedule/traffic.h"
#include "compiler/schedule/vector_access.h"
#include "runtime/support/limited_sum.h"

#include <inttypes.h>

enum { MAX_GRID = 1 << 22 };

/* HIP counts the work-items of a launch in 32 bits and refuses 2^32. */
static uint32_t largest_grid(uint32_t block)
{
    return UINT32_MAX / block < MAX_GRID ? UINT32_MAX / block : MAX_GRID;
}

/* Offsets, and numbers of elements, vectors, rows and steps, stay below 2^31 with room for what
 * lies behind the last vector. */
static bool needs_64bit_index(const struct kiln_fusion_group *group,
                              const struct kiln_schedule *schedule)
{
    const uint64_t limit = INT32_MAX - (1 << 20);
    const struct kiln_reduction_schedule *reduction = &schedule->reduction;
    uint64_t elements = 1;
    for (uint32_t axis = 0; axis < schedule->rank; axis++)
        elements *= (uint64_t)schedule->dims[axis];
    if (elements > limit || schedule->chunk_count * schedule->block > limit)
        return true;
    if (schedule->template_kind == KILN_TEMPLATE_REDUCTION &&
        (reduction->steps_per_segment + (uint64_t)reduction->steps_per_item * schedule->block) *
                reduction->segment_count >
            limit)
        return true;
    for (uint32_t i = 0; i < group->access_count; i++) {
        const struct kiln_access *access = &group->accesses[i];
        uint64_t last = 0;
        for (uint32_t axis = 0; axis < schedule->rank; axis++)
            last += (uint64_t)(schedule->dims[axis] - 1) *
                    (uint64_t)schedule->accesses[i].strides[axis];
        if (group->role == KILN_ROLE_PARTIAL && access->is_accumulator)
            last += (uint64_t)access->segment_stride * (group->segment_count - 1);
        if (last > limit)
            return true;
    }
    return false;
}

static void find_streams(const struct kiln_fusion_group *group, struct kiln_schedule *schedule)
{
    uint64_t heaviest = kiln_heaviest_access_bytes(group, schedule);
    for (uint32_t i = 0; i < group->load_count; i++)
        schedule->accesses[i].is_streamed = schedule->accesses[i].mode == KILN_ACCESS_VECTOR &&
                                            kiln_access_is_heavy(group, schedule, i, heaviest);
}

/* Of a contraction each access counts once: what a tile reads again comes out of a cache. */
static void measure_contraction(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                                struct kiln_schedule *schedule)
{
    for (uint32_t i = 0; i < group->access_count; i++) {
        const struct kiln_access *access = &group->accesses[i];
        const struct kiln_domain *domain =
            &ir->domains[kiln_group_place_domain(ir, group, access->place)];
        uint64_t bytes = kiln_dtype_info(access->dtype)->bytes;
        for (uint32_t axis = 0; axis < domain->rank; axis++) {
            if (access->strides[axis] != 0)
                bytes = kiln_limited_product(bytes, (uint64_t)domain->dims[axis]);
        }
        schedule->bytes_fewest = kiln_limited_sum(schedule->bytes_fewest, bytes);
    }
    schedule->bytes_moved = schedule->bytes_fewest;
}

static enum kiln_status
schedule_contraction(const struct kiln_ir *ir, const struct kiln_graph *graph,
                     const struct kiln_fusion_group *group, const struct kiln_target *target,
                     struct kiln_schedule *schedule, struct kiln_schedule *ret_schedule,
                     struct kiln_error *error)
{
    if (schedule->accesses == NULL ||
        !kiln_schedule_contraction(ir, graph, group, target, schedule))
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while scheduling a kernel");
    if (schedule->chunk_count > INT32_MAX)
        return kiln_error_set(error, KILN_UNSUPPORTED,
                              "node %u '%s': the matrix product has more than 2^31 tiles",
                              (unsigned)ir->ops[group->contracts[0]].node,
                              graph->nodes[ir->ops[group->contracts[0]].node].name);
    schedule->grid = (uint32_t)schedule->chunk_count;
    measure_contraction(ir, group, schedule);
    *ret_schedule = *schedule;
    return KILN_OK;
}

static enum kiln_status schedule_within(const struct kiln_ir *ir, const struct kiln_graph *graph,
                                        const struct kiln_fusion_group *group,
                                        const struct kiln_target *target,
                                        const struct kiln_register_limits *limits,
                                        struct kiln_schedule *ret_schedule,
                                        struct kiln_error *error)
{
    struct kiln_schedule schedule = {.vectors_per_item = 1, .limits = *limits};
    schedule.accesses =
        kiln_arena_calloc(ir->arena, group->access_count, sizeof *schedule.accesses);
    bool *is_dense = kiln_arena_calloc(ir->arena, group->access_count, sizeof *is_dense);
    struct kiln_pass_work work;
    if (group->family == KILN_FAMILY_CONTRACTION)
        return schedule_contraction(ir, graph, group, target, &schedule, ret_schedule, error);
    if (schedule.accesses == NULL || is_dense == NULL ||
        !kiln_collapse_domain(ir, group, &schedule))
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while scheduling a kernel");
    for (uint32_t i = 0; i < group->access_count; i++)
        schedule.accesses[i].alignment_bytes = kiln_dtype_info(group->accesses[i].dtype)->bytes;
    if (group->family != KILN_FAMILY_POINTWISE) {
        enum kiln_status status =
            kiln_reduction_passes(ir, group, ir->arena, &schedule.passes, error);
        if (status != KILN_OK)
            return status;
    }
    if (!kiln_measure_passes(ir, group, &schedule.passes, &work))
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while scheduling a kernel");
    if (group->family == KILN_FAMILY_POINTWISE)
        kiln_schedule_pointwise(graph, group, target, is_dense, &schedule);
    else
        kiln_schedule_reduction(graph, group, target, &work, is_dense, &schedule);
    find_streams(group, &schedule);
    schedule.index_is_64bit = needs_64bit_index(group, &schedule);
    uint32_t most = largest_grid(schedule.block);
    schedule.grid = schedule.chunk_count < most ? (uint32_t)schedule.chunk_count : most;
    kiln_measure_traffic(group, target, work.reads, &schedule);
    *ret_schedule = schedule;
    return KILN_OK;
}

enum kiln_status kiln_schedule_group(const struct kiln_ir *ir, const struct kiln_graph *graph,
                                     const struct kiln_fusion_group *group,
                                     const struct kiln_target *target,
                                     const struct kiln_lower_options *options,
                                     struct kiln_schedule *ret_schedule, struct kiln_error *error)
{
    struct kiln_register_limits limits = {
        .vector_elems = UINT32_MAX, .steps = UINT32_MAX, .held_elems = UINT64_MAX};
    if (options->max_vector_elements != 0)
        limits.vector_elems = options->max_vector_elements;
    if (options->max_vector_elements == 1)
        limits.steps = 1;
    return schedule_within(ir, graph, group, target, &limits, ret_schedule, error);
}

/* Two forms of a schedule are the same kernel. */
static bool is_same_kernel(const struct kiln_schedule *a, const struct kiln_schedule *b)
{
    return a->vector_elems == b->vector_elems && a->vectors_per_item == b->vectors_per_item &&
           a->block == b->block && a->chunk_count == b->chunk_count &&
           a->tile_elems == b->tile_elems && a->contraction.tile_m == b->contraction.tile_m &&
           a->contraction.tile_n == b->contraction.tile_n && a->decodes_again == b->decodes_again &&
           a->reduction.items_along_reduced == b->reduction.items_along_reduced &&
           a->reduction.steps_per_item == b->reduction.steps_per_item &&
           a->reduction.is_resident == b->reduction.is_resident;
}

enum kiln_status kiln_schedule_relax(const struct kiln_ir *ir, const struct kiln_graph *graph,
                                     const struct kiln_fusion_group *group,
                                     const struct kiln_target *target,
                                     const struct kiln_schedule *previous,
                                     struct kiln_schedule *ret_schedule, struct kiln_error *error)
{
    struct kiln_schedule schedule = *previous;
    /* A smaller bound need not change the kernel; each step makes one smaller, so this ends. */
    while (is_same_kernel(&schedule, previous)) {
        struct kiln_register_limits limits = schedule.limits;
        bool is_smaller =
            group->family == KILN_FAMILY_POINTWISE     ? kiln_relax_pointwise(&schedule, &limits)
            : group->family == KILN_FAMILY_CONTRACTION ? kiln_relax_contraction(&schedule, &limits)
                                                       : kiln_relax_reduction(&schedule, &limits);
        if (!is_smaller)
            return KILN_NOT_FOUND;
        enum kiln_status status =
            schedule_within(ir, graph, group, target, &limits, &schedule, error);
        if (status != KILN_OK)
            return status;
    }
    schedule.form = previous->form + 1;
    schedule.walks_back = previous->walks_back;
    *ret_schedule = schedule;
    return KILN_OK;
}

bool kiln_schedule_has_tails(const struct kiln_schedule *schedule)
{
    if (schedule->template_kind != KILN_TEMPLATE_POINTWISE_TILED)
        return schedule->cols % schedule->vector_elems != 0;
    return schedule->dims[schedule->rank - 1] % schedule->vector_elems != 0 ||
           schedule->dims[schedule->tile_axis] % schedule->vector_elems != 0;
}

static void print_axes(const struct kiln_schedule *schedule, struct kiln_buffer *buffer)
{
    kiln_buffer_append_text(buffer, ", axes");
    for (uint32_t axis = 0; axis < schedule->rank; axis++) {
        bool is_reduced = (schedule->reduction.reduced_axes >> axis) & 1u;
        kiln_buffer_printf(buffer, " %s%" PRId64, is_reduced ? "reduced " : "",
                           schedule->dims[axis]);
    }
    if (schedule->flattened)
        kiln_buffer_append_text(buffer, " walked as one line");
}

static void print_reduction(const struct kiln_schedule *schedule, struct kiln_buffer *buffer)
{
    const struct kiln_reduction_schedule *reduction = &schedule->reduction;
    kiln_buffer_printf(buffer,
                       ", %" PRIu32 " work-items along the reduced axes x %" PRIu32
                       " along the kept ones, steps %" PRIu64 ", %" PRIu32 " at once, ",
                       reduction->items_along_reduced, reduction->items_along_kept,
                       reduction->steps_per_segment, reduction->steps_per_item);
    if (reduction->is_resident)
        kiln_buffer_append_text(buffer, "read once and held");
    else
        kiln_buffer_printf(buffer, "%" PRIu32 " pass%s over memory", schedule->passes.pass_count,
                           schedule->passes.pass_count == 1 ? "" : "es");
    if (reduction->segment_count > 1)
        kiln_buffer_printf(buffer, ", %" PRIu32 " segments", reduction->segment_count);
    if (schedule->lds_bytes != 0)
        kiln_buffer_printf(buffer, ", lds %" PRIu32 " bytes", schedule->lds_bytes);
    kiln_buffer_printf(buffer, ", vector %" PRIu32, schedule->vector_elems);
}

void kiln_schedule_print(const struct kiln_schedule *schedule,
                         const struct kiln_fusion_group *group, struct kiln_buffer *buffer)
{
    static const char *const modes[] = {"vector", "splat", "gather", "transposed"};
    static const char *const templates[] = {"pointwise", "pointwise_tiled", "reduction",
                                            "contraction"};
    bool is_reduction = schedule->template_kind == KILN_TEMPLATE_REDUCTION;
    kiln_buffer_printf(buffer, "  template %s", templates[schedule->template_kind]);
    if (is_reduction)
        kiln_buffer_append_text(buffer, schedule->reduction.is_columns ? " (columns)" : " (rows)");
    bool is_contraction = schedule->template_kind == KILN_TEMPLATE_CONTRACTION;
    if (!is_contraction)
        print_axes(schedule, buffer);
    if (schedule->template_kind == KILN_TEMPLATE_POINTWISE_TILED)
        kiln_buffer_printf(
            buffer, ", tile %" PRIu32 "x%" PRIu32 " over axis %" PRIu32 ", lds %" PRIu32 " bytes",
            schedule->tile_elems, schedule->tile_elems, schedule->tile_axis, schedule->lds_bytes);
    if (is_reduction)
        print_reduction(schedule, buffer);
    else if (is_contraction)
        kiln_print_contraction(schedule, group, buffer);
    else
        kiln_buffer_printf(buffer, ", vector %" PRIu32 " x %" PRIu32, schedule->vector_elems,
                           schedule->vectors_per_item);
    if (schedule->walks_back)
        kiln_buffer_append_text(buffer, ", walks back");
    kiln_buffer_printf(buffer, ", block %" PRIu32 ", grid %" PRIu32 ", %d-bit index\n",
                       schedule->block, schedule->grid, schedule->index_is_64bit ? 64 : 32);
    if (schedule->form != 0)
        kiln_buffer_printf(buffer,
                           "  form %" PRIu32
                           " of this schedule: the compiler had too few registers "
                           "for the faster ones before it\n",
                           schedule->form + 1);
    for (uint32_t i = 0; i < group->access_count; i++) {
        const struct kiln_access *access = &group->accesses[i];
        static const char *const kinds[] = {"tensor ", "workspace copy of tensor ", "host scalar "};
        bool is_unnamed = access->tensor == KILN_NONE;
        kiln_buffer_printf(buffer, "  %s ", access->is_store ? "store" : "load");
        if (access->is_accumulator)
            kiln_buffer_printf(buffer, "component %" PRIu32 " of the accumulator of value %%",
                               access->component);
        kiln_buffer_printf(buffer, "%s%" PRIu32 " (%s): %s\n",
                           access->is_accumulator ? ""
                           : is_unnamed           ? "workspace copy of value %"
                                                  : kinds[access->kind],
                           is_unnamed || access->is_accumulator ? access->value : access->tensor,
                           kiln_dtype_info(access->dtype)->text, modes[schedule->accesses[i].mode]);
    }
}
