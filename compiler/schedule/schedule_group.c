#include "compiler/schedule/schedule_group.h"

#include "compiler/fuse/target_rates.h"
#include "compiler/schedule/schedule_family.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* No launch has more work-groups: with the largest block they are 2^32 work-items, just too many,
 * so that has half as many. A power of two is a multiple of every grid_unit. */
enum { MOST_GROUPS = 1 << 22 };

/* All families of kernels loop over the pieces of work that a clamped grid leaves. */
static enum kiln_status set_grid(struct kiln_schedule *schedule, struct kiln_error *error)
{
    uint64_t most = MOST_GROUPS;
    while (most * schedule->launch.block > KILN_LAUNCH_MAX_ITEMS)
        most /= 2;
    uint32_t max_groups = schedule->options->max_groups;
    if (max_groups != 0 && max_groups < most)
        most = max_groups / schedule->launch.grid_unit * schedule->launch.grid_unit;
    most = most < schedule->launch.grid_unit ? schedule->launch.grid_unit : most;
    schedule->launch.grid = schedule->launch.chunk_count < most
                                ? (uint32_t)schedule->launch.chunk_count
                                : (uint32_t)most;
    if (schedule->launch.grid == 0 || schedule->launch.grid % schedule->launch.grid_unit != 0)
        return kiln_error_set(error, KILN_INTERNAL,
                              "a kernel of %" PRIu64 " pieces of work has no launch",
                              schedule->launch.chunk_count);
    return KILN_OK;
}

/* True if an access is the memory of a ragged tensor. */
static bool is_ragged(const struct kiln_graph *graph, const struct kiln_access *access)
{
    return access->kind == KILN_ARGUMENT_TENSOR &&
           kiln_tensor_is_ragged(&graph->tensors[access->tensor]);
}

static enum kiln_status check_ragged(const struct kiln_schedule_task *task,
                                     struct kiln_error *error)
{
    for (uint32_t i = 0; i < task->group->access_count; i++) {
        if (is_ragged(task->graph, &task->group->accesses[i]))
            return kiln_error_set(error, KILN_UNSUPPORTED,
                                  "kernels of this kind do not read or write ragged tensors");
    }
    return KILN_OK;
}

static enum kiln_status schedule_within(const struct kiln_schedule_task *task,
                                        const struct kiln_lower_options *options,
                                        const struct kiln_register_limits *limits,
                                        struct kiln_schedule *ret_schedule,
                                        struct kiln_error *error)
{
    const struct kiln_schedule_family *family = kiln_schedule_family(task->group->family);
    struct kiln_arena *arena = task->ir->arena;
    struct kiln_schedule schedule = {
        .family = task->group->family,
        .limits = *limits,
        .options = options,
        .details = kiln_arena_calloc(arena, 1, family->details_bytes),
        .accesses = kiln_arena_calloc(arena, task->group->access_count, sizeof *schedule.accesses),
        .launch.grid_unit = 1,
        .segment_count = task->group->segment_count,
    };
    if (schedule.details == NULL || schedule.accesses == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while scheduling a kernel");
    enum kiln_status status = family->takes_ragged ? KILN_OK : check_ragged(task, error);
    if (status == KILN_OK)
        status = family->schedule(task, &schedule, error);
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
    if (options->is_general)
        limits.vector_elems = 1;
    if (limits.vector_elems == 1)
        limits.steps = 1;
    const struct kiln_schedule_task task = {ir, graph, group, target, NULL};
    struct kiln_lower_options *copy = kiln_arena_calloc(ir->arena, 1, sizeof *copy);
    if (copy == NULL)
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while scheduling a kernel");
    *copy = *options;
    return schedule_within(&task, copy, &limits, ret_schedule, error);
}

static void describe(const struct kiln_schedule *schedule, char *ret_what, size_t bytes)
{
    struct kiln_buffer what;
    kiln_buffer_init(&what);
    kiln_schedule_family(schedule->family)->describe(schedule, &what);
    (void)snprintf(ret_what, bytes, "%s", kiln_buffer_text(&what));
    kiln_buffer_fini(&what);
}

static double time_ns(const struct kiln_schedule *schedule, const struct kiln_target *target)
{
    return kiln_schedule_family(schedule->family)->time(schedule, target) /
           (double)target->bandwidth_gbs;
}

static void append_alternative(const struct kiln_schedule *schedule, double time_ns,
                               const char *why_not, struct kiln_alternatives *alternatives)
{
    struct kiln_alternative item = {.time_ns = time_ns, .why_not = why_not};
    describe(schedule, item.what, sizeof item.what);
    bool is_new = alternatives->count < KILN_MAX_ALTERNATIVES;
    for (uint32_t i = 0; i < alternatives->count; i++)
        is_new &= strcmp(alternatives->items[i].what, item.what) != 0;
    if (is_new)
        alternatives->items[alternatives->count++] = item;
}

/* The chosen schedule is the first already. It gets the time that the search compared: on a CPU
 * tiles have one for comparisons only. Returns whether the search has looked at it. */
static bool append_searched(const struct kiln_alternatives *searched,
                            struct kiln_alternatives *alternatives)
{
    struct kiln_alternative *chosen = &alternatives->items[0];
    bool is_searched = false;
    const struct kiln_alternative *end = searched->items + searched->count;
    for (const struct kiln_alternative *item = searched->items; item < end; item++) {
        if (strcmp(item->what, chosen->what) == 0) {
            chosen->time_ns = item->time_ns;
            is_searched = true;
        }
    }
    for (const struct kiln_alternative *item = searched->items; item < end; item++) {
        if (strcmp(item->what, chosen->what) == 0 || alternatives->count == KILN_MAX_ALTERNATIVES)
            continue;
        struct kiln_alternative *added = &alternatives->items[alternatives->count++];
        *added = *item;
        if (added->time_ns >= chosen->time_ns)
            added->why_not = "no faster by the model";
    }
    return is_searched;
}

/* The form that rules have passed over. */
static enum kiln_status append_other(const struct kiln_schedule_task *task,
                                     const struct kiln_schedule *schedule,
                                     struct kiln_alternatives *alternatives,
                                     struct kiln_error *error)
{
    const struct kiln_schedule_family *family = kiln_schedule_family(schedule->family);
    struct kiln_lower_options options = *schedule->options;
    struct kiln_schedule other;
    if (family->force_other == NULL || !family->force_other(schedule, &options))
        return KILN_OK;
    enum kiln_status status = schedule_within(task, &options, &schedule->limits, &other, error);
    if (status == KILN_OK)
        append_alternative(&other, time_ns(&other, task->target), "a rule prefers the chosen one",
                           alternatives);
    return status == KILN_NO_MEMORY ? status : KILN_OK; /* others: it cannot be forced */
}

enum kiln_status kiln_find_alternatives(const struct kiln_ir *ir, const struct kiln_graph *graph,
                                        const struct kiln_fusion_group *group,
                                        const struct kiln_target *target,
                                        const struct kiln_schedule *schedule,
                                        struct kiln_alternatives *ret_alternatives,
                                        struct kiln_error *error)
{
    struct kiln_alternatives searched = {0};
    struct kiln_alternatives alternatives = {0};
    struct kiln_schedule_task task = {ir, graph, group, target, &searched};
    struct kiln_schedule form;
    *ret_alternatives = alternatives;
    if (kiln_schedule_family(schedule->family)->describe == NULL || target->bandwidth_gbs == 0)
        return KILN_OK;
    enum kiln_status status =
        schedule_within(&task, schedule->options, &schedule->limits, &form, error);
    append_alternative(schedule, time_ns(schedule, target), NULL, &alternatives);
    bool is_searched = append_searched(&searched, &alternatives);
    task.alternatives = NULL;
    if (status == KILN_OK && !is_searched)
        status = append_other(&task, schedule, &alternatives, error);
    form = *schedule;
    while (status == KILN_OK && !is_searched && alternatives.count < KILN_MAX_ALTERNATIVES) {
        struct kiln_schedule next;
        status = kiln_schedule_relax(ir, graph, group, target, &form, &next, error);
        if (status != KILN_OK)
            break;
        /* The model counts no registers, so its time would say nothing about this one. */
        append_alternative(&next, 0, "next if compilers lack registers", &alternatives);
        form = next;
    }
    if (status != KILN_OK && status != KILN_NOT_FOUND)
        return status;
    *ret_alternatives = alternatives;
    return KILN_OK;
}

void kiln_schedule_explain(const struct kiln_schedule *schedule, const struct kiln_target *target,
                           struct kiln_buffer *buffer)
{
    const struct kiln_schedule_family *family = kiln_schedule_family(schedule->family);
    if (family->explain != NULL)
        family->explain(schedule, target, buffer);
}

/* Two forms of a schedule are the same kernel. */
static bool is_same_kernel(const struct kiln_schedule *a, const struct kiln_schedule *b)
{
    return a->walk.vector_elems == b->walk.vector_elems && a->launch.block == b->launch.block &&
           a->launch.chunk_count == b->launch.chunk_count &&
           kiln_schedule_family(a->family)->is_same(a, b);
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
    const struct kiln_schedule_task task = {ir, graph, group, target, NULL};
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
            schedule_within(&task, previous->options, &limits, &schedule, error);
        if (status != KILN_OK)
            return status;
    }
    schedule.form = previous->form + 1;
    schedule.walk.is_backward = previous->walk.is_backward;
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
        .bytes_moved = schedule->traffic.bytes_moved,
        .bytes_fewest = schedule->traffic.bytes_fewest,
        .simple_operations = (double)schedule->traffic.operations,
    };
    if (family->count_products != NULL)
        family->count_products(schedule, &work);
    return work;
}

bool kiln_schedule_walks_in_order(const struct kiln_schedule *schedule)
{
    const struct kiln_schedule_family *family = kiln_schedule_family(schedule->family);
    return family->walks_in_order != NULL && family->walks_in_order(schedule);
}

void kiln_schedule_print(const struct kiln_schedule *schedule,
                         const struct kiln_fusion_group *group, struct kiln_buffer *buffer)
{
    kiln_buffer_printf(buffer, "  template %s", schedule->template_name);
    kiln_schedule_family(schedule->family)->print(schedule, group, buffer);
    if (schedule->walk.is_backward)
        kiln_buffer_append_text(buffer, ", walks back");
    kiln_buffer_printf(buffer, ", block %" PRIu32 ", grid %" PRIu32 ", %d-bit index\n",
                       schedule->launch.block, schedule->launch.grid,
                       schedule->walk.index_is_64bit ? 64 : 32);
    if (schedule->form != 0)
        kiln_buffer_printf(buffer,
                           "  form %" PRIu32
                           " of this schedule: the compiler had too few registers "
                           "for the faster ones before it\n",
                           schedule->form + 1);
}

void kiln_schedule_print_accesses(const struct kiln_schedule *schedule, const struct kiln_ir *ir,
                                  const struct kiln_graph *graph,
                                  const struct kiln_fusion_group *group, struct kiln_buffer *buffer)
{
    static const char *const modes[] = {
        [KILN_ACCESS_VECTOR] = "vector",         [KILN_ACCESS_SPLAT] = "splat",
        [KILN_ACCESS_GATHER] = "gather",         [KILN_ACCESS_STAGED] = "staged",
        [KILN_ACCESS_TRANSPOSED] = "transposed",
    };
    for (uint32_t i = 0; i < group->access_count; i++) {
        const struct kiln_access *access = &group->accesses[i];
        kiln_buffer_append_text(buffer, access->is_store ? "  writes " : "  reads ");
        kiln_access_print_name(ir, graph, access, buffer);
        kiln_buffer_printf(buffer, " (%s): %s\n", kiln_dtype_info(access->dtype)->text,
                           modes[schedule->accesses[i].mode]);
    }
}
