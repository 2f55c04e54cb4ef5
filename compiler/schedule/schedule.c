#include "compiler/schedule/schedule.h"

#include "compiler/fuse/target_rates.h"
#include "compiler/schedule/schedule_family.h"

#include <assert.h>
#include <inttypes.h>

/* No launch has more work-groups: with the largest block they are 2^32 work-items, just too many,
 * so that has half as many. A power of two is a multiple of every grid_unit. */
enum { MOST_GROUPS = 1 << 22 };

/* All families of kernels loop over the pieces of work that a clamped grid leaves. */
static enum kiln_status set_grid(struct kiln_schedule *schedule, struct kiln_error *error)
{
    uint64_t most = MOST_GROUPS;
    while (most * schedule->block > KILN_LAUNCH_MAX_ITEMS)
        most /= 2;
    if (schedule->max_groups != 0 && schedule->max_groups < most)
        most = schedule->max_groups / schedule->grid_unit * schedule->grid_unit;
    most = most < schedule->grid_unit ? schedule->grid_unit : most;
    schedule->grid =
        schedule->chunk_count < most ? (uint32_t)schedule->chunk_count : (uint32_t)most;
    if (schedule->grid == 0 || schedule->grid % schedule->grid_unit != 0)
        return kiln_error_set(error, KILN_INTERNAL,
                              "a kernel of %" PRIu64 " pieces of work has no launch",
                              schedule->chunk_count);
    return KILN_OK;
}

static enum kiln_status schedule_within(const struct kiln_schedule_task *task,
                                        const struct kiln_register_limits *limits,
                                        uint32_t max_groups, struct kiln_schedule *ret_schedule,
                                        struct kiln_error *error)
{
    struct kiln_schedule schedule = {
        .family = task->group->family,
        .limits = *limits,
        .forced = *task->forced,
        .accesses = kiln_arena_calloc(task->ir->arena, task->group->access_count,
                                      sizeof *schedule.accesses),
        .tile_axis = KILN_NONE,
        .grid_unit = 1,
        .max_groups = max_groups,
        .segment_count = task->group->segment_count,
    };
    if (schedule.accesses == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while scheduling a kernel");
    enum kiln_status status =
        kiln_schedule_family(schedule.family)->schedule(task, &schedule, error);
    if (status == KILN_OK)
        status = set_grid(&schedule, error);
    if (status == KILN_OK)
        *ret_schedule = schedule;
    return status;
}

enum kiln_status kiln_schedule_group(const struct kiln_ir *ir, const struct kiln_graph *graph,
                                     const struct kiln_fusion_group *group,
                                     const struct kiln_target *target,
                                     const struct kiln_lower_options *options,
                                     struct kiln_schedule *ret_schedule, struct kiln_error *error)
{
    struct kiln_register_limits limits = {
        .vector_elems = UINT32_MAX,
        .steps = UINT32_MAX,
        .held_elems = UINT64_MAX,
        .registers = UINT32_MAX,
    };
    if (options->max_vector_elements != 0)
        limits.vector_elems = options->max_vector_elements;
    if (options->max_vector_elements == 1)
        limits.steps = 1;
    const struct kiln_schedule_task task = {ir, graph, group, target, &options->contraction};
    return schedule_within(&task, &limits, options->max_groups, ret_schedule, error);
}

/* Two forms of a schedule are the same kernel. */
static bool is_same_kernel(const struct kiln_schedule *a, const struct kiln_schedule *b)
{
    return a->vector_elems == b->vector_elems && a->block == b->block &&
           a->chunk_count == b->chunk_count && kiln_schedule_family(a->family)->is_same(a, b);
}

/* True if a limit fell and none rose. A fall is by an eighth at least, so that no limit
 * falls for long. */
static bool has_shrunk(const struct kiln_register_limits *before,
                       const struct kiln_register_limits *after)
{
    const struct {
        uint64_t before, after;
    } limits[] = {
        {before->vector_elems, after->vector_elems},
        {before->steps, after->steps},
        {before->held_elems, after->held_elems},
        {before->registers, after->registers},
    };
    _Static_assert(sizeof *before == 3 * sizeof(uint64_t), "list all limits");
    bool has_fallen = false;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        if (limits[i].after == limits[i].before)
            continue;
        if (limits[i].after >= limits[i].before ||
            limits[i].after > limits[i].before - limits[i].before / 8)
            return false;
        has_fallen = true;
    }
    return has_fallen;
}

enum kiln_status kiln_schedule_relax(const struct kiln_ir *ir, const struct kiln_graph *graph,
                                     const struct kiln_fusion_group *group,
                                     const struct kiln_target *target,
                                     const struct kiln_schedule *previous,
                                     struct kiln_schedule *ret_schedule, struct kiln_error *error)
{
    const struct kiln_contraction_options forced = previous->forced;
    const struct kiln_schedule_task task = {ir, graph, group, target, &forced};
    struct kiln_schedule schedule = *previous;
    if (previous->form + 1 >= KILN_MAX_FORMS)
        return KILN_NOT_FOUND;
    /* A smaller limit need not change the kernel. */
    while (is_same_kernel(&schedule, previous)) {
        struct kiln_register_limits limits = schedule.limits;
        if (!kiln_schedule_family(schedule.family)->relax(&schedule, &limits))
            return KILN_NOT_FOUND;
        bool ends = has_shrunk(&schedule.limits, &limits);
        assert(ends);
        if (!ends)
            return KILN_NOT_FOUND;
        enum kiln_status status =
            schedule_within(&task, &limits, previous->max_groups, &schedule, error);
        if (status != KILN_OK)
            return status;
    }
    schedule.form = previous->form + 1;
    schedule.walks_back = previous->walks_back;
    *ret_schedule = schedule;
    return KILN_OK;
}

double kiln_schedule_time(const struct kiln_schedule *schedule, const struct kiln_target *target)
{
    return (double)kiln_target_launch_bytes(target) +
           kiln_schedule_family(schedule->family)->time(schedule, target);
}

struct kiln_kernel_work kiln_schedule_work(const struct kiln_schedule *schedule)
{
    const struct kiln_schedule_family *family = kiln_schedule_family(schedule->family);
    struct kiln_kernel_work work = {
        .template_name = schedule->template_name,
        .bytes_moved = schedule->bytes_moved,
        .bytes_fewest = schedule->bytes_fewest,
        .simple_operations = (double)schedule->operations,
    };
    if (family->count_products != NULL)
        family->count_products(schedule, &work);
    return work;
}

bool kiln_schedule_walks_in_order(const struct kiln_schedule *schedule)
{
    return kiln_schedule_family(schedule->family)->walks_in_order(schedule);
}

bool kiln_schedule_has_tails(const struct kiln_schedule *schedule)
{
    if (schedule->tile_axis == KILN_NONE)
        return schedule->cols % schedule->vector_elems != 0;
    return schedule->dims[schedule->rank - 1] % schedule->vector_elems != 0 ||
           schedule->dims[schedule->tile_axis] % schedule->vector_elems != 0;
}

bool kiln_schedule_has_turns(const struct kiln_schedule *schedule)
{
    return schedule->chunk_count > schedule->grid;
}

void kiln_schedule_print(const struct kiln_schedule *schedule,
                         const struct kiln_fusion_group *group, struct kiln_buffer *buffer)
{
    static const char *const modes[] = {"vector", "splat", "gather", "transposed"};
    kiln_buffer_printf(buffer, "  template %s", schedule->template_name);
    kiln_schedule_family(schedule->family)->print(schedule, group, buffer);
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
