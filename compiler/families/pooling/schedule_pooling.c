/* Schedules of the template pooling. */
#include "compiler/families/pooling/pooling_group.h"
#include "compiler/families/pooling/pooling_schedule.h"
#include "compiler/fuse/fuse_family.h"
#include "compiler/fuse/op_cost.h"
#include "compiler/schedule/collapse.h"
#include "compiler/schedule/integer_math.h"
#include "compiler/schedule/vector_access.h"
#include "compiler/schedule/walk.h"
#include "runtime/support/limited_sum.h"

#include <inttypes.h>
#include <string.h>

/* The usual windows, 2x2 to 4x4, are loaded at once. */
enum { MAX_TAPS_TOGETHER = 16, SMALLEST_BLOCK = 64 };

static bool is_of_image(const struct kiln_fusion_group *group, uint32_t access)
{
    return group->accesses[access].place == KILN_PLACE_IMAGE;
}

/* ---- the walk ---- */

/* Strides over an image become strides from one result to the next. */
static void stride_over_results(const struct kiln_schedule_task *task, int64_t *image_strides)
{
    const struct kiln_map *map = kiln_pooling_map(task->ir, task->group);
    uint32_t rank = task->ir->domains[task->group->domain].rank;
    uint32_t image_rank =
        task->ir->domains[kiln_group_place_domain(task->ir, task->group, KILN_PLACE_IMAGE)].rank;
    int64_t strides[KILN_MAX_RANK] = {0};
    for (uint32_t i = 0; i < rank; i++) {
        const struct kiln_map_axis *axis = &map->axes[i];
        if (axis->along < image_rank)
            strides[rank - 1 - i] = image_strides[image_rank - 1 - axis->along] * axis->step.value;
    }
    memcpy(image_strides, strides, sizeof strides);
}

/* The group as seen from its results: all accesses have strides over them. */
static bool view_from_results(const struct kiln_schedule_task *task,
                              struct kiln_fusion_group *ret_group)
{
    struct kiln_fusion_group group = *task->group;
    group.accesses = kiln_arena_calloc(task->ir->arena, group.access_count, sizeof *group.accesses);
    if (group.accesses == NULL)
        return false;
    memcpy(group.accesses, task->group->accesses, group.access_count * sizeof *group.accesses);
    for (uint32_t i = 0; i < group.access_count; i++) {
        if (!is_of_image(&group, i))
            continue;
        stride_over_results(task, group.accesses[i].strides);
        stride_over_results(task, group.accesses[i].declared_strides);
    }
    *ret_group = group;
    return true;
}

/* ---- windows ---- */

/* The tap before which the loop ends, and whether all coordinates exist. General kernels assume
 * that some do not, since the image may be smaller. */
static void complete_window(int64_t pixels, bool is_general, struct kiln_pooling_window *window)
{
    int64_t last_pixel = window->first + (pixels - 1) * window->step;
    int64_t lowest = window->first;
    int64_t highest = last_pixel + window->reach - 1;
    window->taps = window->reach;
    if (window->divisor != 0) {
        window->taps = (window->reach - 1) / window->divisor + 1;
        lowest = window->first / window->divisor - (window->taps - 1);
        highest = last_pixel / window->divisor;
    }
    window->has_padding = is_general || lowest < 0 || highest >= window->size ||
                          (window->divisor != 0 && window->reach % window->divisor != 0);
}

static void find_window(const struct kiln_schedule_task *task, uint32_t number,
                        struct kiln_schedule *schedule)
{
    const struct kiln_map *map = kiln_pooling_map(task->ir, task->group);
    const struct kiln_domain *iteration =
        &task->ir->domains[kiln_pooling_op(task->ir, task->group)->iteration];
    const struct kiln_domain *results = &task->ir->domains[task->group->domain];
    const struct kiln_map_window *source = &map->windows[number];
    struct kiln_pooling_window window = {
        .over = source->over,
        .pixel = KILN_NONE,
        .first = source->offset.value,
        .step = 1,
        .size = source->size.value,
        .divisor = source->divisor.value > 1 ? source->divisor.value : 0,
        .reach = 1,
    };
    int64_t pixels = 1;
    for (uint32_t i = 0; i < map->axis_count; i++) {
        int64_t size = iteration->dims[iteration->rank - 1 - i];
        int64_t step = map->axes[i].step.value;
        bool is_one =
            i < results->rank ? kiln_domain_is_one(results, results->rank - 1 - i) : size == 1;
        if (map->axes[i].along != source->over || is_one)
            continue;
        if (i < results->rank) {
            window.pixel = schedule->walk.domain_axis[results->rank - 1 - i];
            window.step = step;
            pixels = size;
        } else {
            window.reach = size;
            window.divisor = step < 0 ? source->divisor.value : window.divisor;
        }
    }
    complete_window(pixels, schedule->options->is_general, &window);
    kiln_pooling_schedule_in(schedule)->windows[number] = window;
}

/* True if an element that is reduced twice changes nothing, nor does padding. */
static bool allows_repetition(const struct kiln_op *op)
{
    switch (op->opcode) {
    case KILN_OP_REDUCE_MAX_NUMBER:
    case KILN_OP_REDUCE_ARGMAX:
        return op->constant.real == kiln_ir_neutral_padding(op->opcode).real;
    default:
        return false;
    }
}

/* A tap in padding loads the nearest element, which the same window has, unless the window lies in
 * padding alone. */
static void find_masks(const struct kiln_schedule_task *task, struct kiln_schedule *schedule)
{
    struct kiln_pooling_schedule *pooling = kiln_pooling_schedule_in(schedule);
    int64_t pixels[KILN_MAP_MAX_WINDOWS];
    bool may_repeat = true;
    kiln_ir_point_sizes(task->ir, kiln_pooling_op(task->ir, task->group), pixels);
    for (uint32_t i = 0; i < task->group->anchor_count; i++)
        may_repeat = may_repeat && allows_repetition(&task->ir->ops[task->group->anchors[i]]);
    for (uint32_t i = 0; i < pooling->window_count; i++) {
        struct kiln_pooling_window *window = &pooling->windows[i];
        bool meets_image = window->divisor == 0 && window->first + window->reach > 0 &&
                           window->first + (pixels[i] - 1) * window->step < window->size;
        window->is_masked =
            window->has_padding && (schedule->options->is_general || !(may_repeat && meets_image));
    }
}

static void count_taps(struct kiln_pooling_schedule *pooling)
{
    uint64_t taps = 1;
    for (uint32_t i = pooling->span.middle == 0 ? 0 : 1; i < pooling->window_count; i++)
        taps = kiln_limited_product(taps, (uint64_t)pooling->windows[i].taps);
    pooling->taps = taps < INT32_MAX ? (uint32_t)taps : INT32_MAX;
}

static void find_windows(const struct kiln_schedule_task *task, struct kiln_schedule *schedule)
{
    struct kiln_pooling_schedule *pooling = kiln_pooling_schedule_in(schedule);
    pooling->window_count = kiln_pooling_map(task->ir, task->group)->window_count;
    for (uint32_t i = 0; i < pooling->window_count; i++)
        find_window(task, i, schedule);
    find_masks(task, schedule);
    count_taps(pooling);
}

/* ---- vectors ---- */

/* Vectors lie along an axis that no window moves along, and no row ends within one. */
static uint32_t choose_vector(const struct kiln_schedule_task *task,
                              const struct kiln_schedule *schedule, const bool *is_dense)
{
    const struct kiln_pooling_schedule *pooling = kiln_pooling_schedule_of(schedule);
    uint32_t inner = schedule->walk.rank - 1;
    uint32_t narrowest;
    uint32_t widest;
    kiln_dense_element_bytes(task->group, schedule, is_dense, &narrowest, &widest);
    for (uint32_t i = 0; i < pooling->window_count; i++) {
        if (pooling->windows[i].pixel == inner)
            return 1;
    }
    if (narrowest == 0)
        return 1;
    uint32_t vector = kiln_min_u32(KILN_ACCESS_BYTES / narrowest, KILN_MAX_ACCESS_BYTES / widest);
    vector = kiln_min_u32(vector, kiln_floor_power_of_two(schedule->limits.vector_elems));
    while (vector > 1 && (schedule->walk.dims[inner] % vector != 0 ||
                          vector * task->group->live_registers > task->target->vgprs / 2 ||
                          vector * task->group->cost > KILN_MAX_UNROLLED_COST))
        vector /= 2;
    return vector;
}

/* ---- spans ---- */

/* The stride of an access along an axis of the image, from the right. */
static int64_t image_stride(const struct kiln_schedule_task *task, uint32_t access, uint32_t axis)
{
    uint32_t rank =
        task->ir->domains[kiln_group_place_domain(task->ir, task->group, KILN_PLACE_IMAGE)].rank;
    return axis < rank ? task->group->accesses[access].strides[rank - 1 - axis] : 0;
}

/* True if an image can be read in vectors of so many elements along its last axis, wherever the
 * other coordinates are. */
static bool has_vectors(const struct kiln_schedule_task *task, uint32_t access, uint32_t elements)
{
    const struct kiln_access *memory = &task->group->accesses[access];
    uint32_t bytes = kiln_dtype_info(memory->dtype)->bytes;
    uint32_t alignment = kiln_vector_alignment(task->target, memory->dtype, elements);
    if (elements * bytes > KILN_MAX_ACCESS_BYTES)
        return false;
    for (uint32_t axis = 1; axis < KILN_MAX_RANK; axis++) {
        if (image_stride(task, access, axis) * bytes % alignment != 0)
            return false;
    }
    return memory->kind == KILN_ARGUMENT_WORKSPACE ||
           task->graph->tensors[memory->tensor].alignment_bytes >= alignment;
}

/* Images vary along the last axis from element to element, or not at all; a tap knows no index
 * along it, and all results of a vector share the position that keys are compared with. */
static bool can_read_spans(const struct kiln_schedule_task *task, uint32_t elements)
{
    const struct kiln_fusion_group *group = task->group;
    for (uint32_t i = 0; i < group->anchor_count; i++) {
        if (task->ir->ops[group->anchors[i]].opcode == KILN_OP_REDUCE_SUM_AT)
            return false;
    }
    for (uint32_t i = 0; i < group->load_count; i++) {
        int64_t stride = is_of_image(group, i) ? image_stride(task, i, 0) : 0;
        if (group->accesses[i].kind != KILN_ARGUMENT_HOST_SCALAR &&
            (stride > 1 || (stride == 1 && !has_vectors(task, i, elements))))
            return false;
    }
    for (uint32_t i = 0; i < group->op_count; i++) {
        if ((group->places[i] >> KILN_PLACE_IMAGE & 1) != 0 &&
            task->ir->ops[group->ops[i]].opcode == KILN_OP_INDEX)
            return false;
    }
    return true;
}

/* Bytes of the narrowest element that varies along the last axis of the image; 0: there is none. */
static uint32_t narrowest_image_bytes(const struct kiln_schedule_task *task)
{
    uint32_t narrowest = 0;
    for (uint32_t i = 0; i < task->group->load_count; i++) {
        uint32_t bytes = kiln_dtype_info(task->group->accesses[i].dtype)->bytes;
        if (is_of_image(task->group, i) && image_stride(task, i, 0) == 1 &&
            (narrowest == 0 || bytes < narrowest))
            narrowest = bytes;
    }
    return narrowest;
}

/* The length of vectors along the axis of the first window, with its span; 1: there are none. */
static uint32_t choose_span(const struct kiln_schedule_task *task, struct kiln_schedule *schedule)
{
    struct kiln_pooling_schedule *pooling = kiln_pooling_schedule_in(schedule);
    const struct kiln_pooling_window *window = &pooling->windows[0];
    uint32_t inner = schedule->walk.rank - 1;
    uint32_t bytes = narrowest_image_bytes(task);
    int64_t results = schedule->walk.dims[inner];
    if (pooling->window_count == 0 || window->over != 0 || window->pixel != inner ||
        window->divisor != 0 || window->first > 0 || window->first <= -window->reach ||
        window->step > window->reach || (window->step & (window->step - 1)) != 0 ||
        window->reach > MAX_TAPS_TOGETHER || results * window->step > window->size || bytes == 0)
        return 1;
    uint32_t step = (uint32_t)window->step;
    uint32_t vector = kiln_min_u32(KILN_ACCESS_BYTES / bytes / step,
                                   kiln_floor_power_of_two(schedule->limits.vector_elems));
    while (vector > 1 && (results % vector != 0 || !can_read_spans(task, vector * step)))
        vector /= 2;
    if (vector <= 1)
        return 1;
    int64_t after = window->first + window->reach - window->step;
    pooling->span = (struct kiln_pooling_span){.before = (uint32_t)-window->first,
                                               .middle = vector * step,
                                               .after = after > 0 ? (uint32_t)after : 0};
    return vector;
}

/* True if the access has another element for each tap. Others are the same for a whole window. */
static bool varies_with_taps(const struct kiln_schedule_task *task,
                             const struct kiln_pooling_schedule *pooling, uint32_t access)
{
    const struct kiln_fusion_group *group = task->group;
    uint32_t rank =
        task->ir->domains[kiln_group_place_domain(task->ir, group, KILN_PLACE_IMAGE)].rank;
    for (uint32_t i = 0; is_of_image(group, access) && i < pooling->window_count; i++) {
        uint32_t over = pooling->windows[i].over;
        if (over < rank && group->accesses[access].strides[rank - 1 - over] != 0)
            return true;
    }
    return false;
}

/* Registers that a loaded tap takes. */
static uint32_t tap_registers(const struct kiln_schedule_task *task,
                              const struct kiln_schedule *schedule)
{
    uint32_t bytes = 0;
    for (uint32_t i = 0; i < task->group->load_count; i++) {
        if (varies_with_taps(task, kiln_pooling_schedule_of(schedule), i))
            bytes += kiln_dtype_info(task->group->accesses[i].dtype)->bytes;
    }
    return (bytes * kiln_pooling_tap_elements(schedule, kiln_pooling_schedule_of(schedule)) + 3) /
           4;
}

/* Equal parts of a window, as large as registers and compile time allow. */
static uint32_t choose_taps_together(const struct kiln_schedule_task *task,
                                     const struct kiln_schedule *schedule)
{
    uint32_t taps = kiln_pooling_schedule_of(schedule)->taps;
    uint32_t most = kiln_min_u32(kiln_min_u32(taps, MAX_TAPS_TOGETHER), schedule->limits.steps);
    while (most > 1 &&
           (most * tap_registers(task, schedule) > task->target->vgprs / 4 ||
            most * kiln_pooling_tap_elements(schedule, kiln_pooling_schedule_of(schedule)) *
                    task->group->cost >
                KILN_MAX_UNROLLED_COST))
        most--;
    uint32_t turns = (taps - 1) / most + 1;
    return (taps - 1) / turns + 1;
}

/* True if vectors along the one axis of an image that is dense keep their alignment wherever a tap
 * is. `task` has the image's own strides. */
static bool keeps_alignment(const struct kiln_schedule_task *task, uint32_t access,
                            uint32_t elements)
{
    const struct kiln_access *memory = &task->group->accesses[access];
    const struct kiln_domain *image =
        &task->ir->domains[kiln_group_place_domain(task->ir, task->group, KILN_PLACE_IMAGE)];
    int64_t bytes = kiln_dtype_info(memory->dtype)->bytes;
    int64_t alignment = kiln_vector_alignment(task->target, memory->dtype, elements);
    uint32_t misaligned = 0;
    for (uint32_t axis = 0; axis < image->rank; axis++)
        misaligned += image->dims[axis] != 1 && memory->strides[axis] * bytes % alignment != 0;
    return misaligned <= 1;
}

/* `walked` is the task as seen from the results. */
static void choose_modes(const struct kiln_schedule_task *task,
                         const struct kiln_schedule_task *walked, const bool *is_dense,
                         struct kiln_schedule *schedule)
{
    uint32_t inner = schedule->walk.rank - 1;
    const struct kiln_pooling_span *span = &kiln_pooling_schedule_of(schedule)->span;
    for (uint32_t i = 0; i < task->group->access_count; i++) {
        struct kiln_access_schedule *access = &schedule->accesses[i];
        access->mode = access->strides[inner] == 0 ? KILN_ACCESS_SPLAT : KILN_ACCESS_GATHER;
        if (is_dense[i] && (!is_of_image(task->group, i) ||
                            (keeps_alignment(task, i, schedule->walk.vector_elems) &&
                             kiln_vector_is_aligned(task->graph, task->target, schedule,
                                                    walked->group, i, inner))))
            kiln_set_vector_access(task->graph, task->target, schedule, walked->group, i, inner);
        if (span->middle != 0 && is_of_image(task->group, i) && access->mode != KILN_ACCESS_SPLAT) {
            access->mode = KILN_ACCESS_GATHER; /* the family's own text */
            access->alignment_bytes =
                kiln_vector_alignment(task->target, task->group->accesses[i].dtype, span->middle);
        }
    }
}

/* ---- work ---- */

/* Operations on one result. */
static uint32_t count_cost(const struct kiln_schedule_task *task, uint32_t taps)
{
    const struct kiln_fusion_group *group = task->group;
    uint64_t cost = taps;
    for (uint32_t i = 0; i < group->op_count; i++) {
        const struct kiln_op *op = &task->ir->ops[group->ops[i]];
        if (kiln_opcode_info(op->opcode)->op_class != KILN_OP_CLASS_ELEMENTWISE)
            continue;
        cost += (group->places[i] >> KILN_PLACE_IMAGE & 1) * (uint64_t)taps * kiln_op_cost(op);
        cost += (group->places[i] >> KILN_PLACE_ELEMENT & 1) * kiln_op_cost(op);
    }
    return cost < UINT32_MAX ? (uint32_t)cost : UINT32_MAX;
}

/* An image counts with its own elements, each once: neighbouring windows meet in a cache. */
static void correct_image_traffic(const struct kiln_schedule_task *task,
                                  struct kiln_schedule *schedule)
{
    const struct kiln_fusion_group *group = task->group;
    const struct kiln_domain *image =
        &task->ir->domains[kiln_group_place_domain(task->ir, group, KILN_PLACE_IMAGE)];
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < group->access_count; i++) {
        if (group->accesses[i].kind == KILN_ARGUMENT_HOST_SCALAR)
            continue;
        bytes = kiln_limited_sum(bytes, is_of_image(group, i)
                                            ? kiln_access_traffic_bytes(image, &group->accesses[i])
                                            : kiln_scheduled_access_bytes(group, schedule, i));
        if (is_of_image(group, i))
            schedule->accesses[i].is_streamed = false;
    }
    schedule->traffic.bytes_moved = schedule->traffic.bytes_fewest = bytes;
}

/* True if the last element of an image is too far for 32-bit offsets. */
static bool has_large_image(const struct kiln_schedule_task *task)
{
    const struct kiln_domain *image =
        &task->ir->domains[kiln_group_place_domain(task->ir, task->group, KILN_PLACE_IMAGE)];
    for (uint32_t i = 0; i < task->group->load_count; i++) {
        uint64_t last = 0;
        for (uint32_t axis = 0; is_of_image(task->group, i) && axis < image->rank; axis++)
            last += (uint64_t)(image->dims[axis] - 1) *
                    (uint64_t)task->group->accesses[i].strides[axis];
        if (last > KILN_WALK_INDEX_LIMIT)
            return true;
    }
    return false;
}

static enum kiln_status schedule_pooling(const struct kiln_schedule_task *task,
                                         struct kiln_schedule *schedule, struct kiln_error *error)
{
    struct kiln_fusion_group group;
    struct kiln_schedule_task walked = *task;
    walked.group = &group;
    if (!view_from_results(task, &group))
        return kiln_error_set(error, KILN_NO_MEMORY, "out of memory while scheduling a kernel");
    bool *is_dense;
    enum kiln_status status = kiln_walk_begin(&walked, schedule, &is_dense, error);
    if (status != KILN_OK)
        return status;
    struct kiln_pooling_schedule *pooling = kiln_pooling_schedule_in(schedule);
    schedule->template_name = "pooling";
    if (schedule->options->is_general)
        schedule->walk.sizes = KILN_SIZES_ARGUMENT;
    find_windows(task, schedule);
    for (uint32_t i = 0; i < group.access_count; i++)
        is_dense[i] = kiln_walk_is_dense(schedule, &group, i);
    schedule->walk.vector_elems = choose_vector(&walked, schedule, is_dense);
    if (schedule->walk.vector_elems == 1) {
        schedule->walk.vector_elems = choose_span(task, schedule);
        count_taps(pooling);
    }
    pooling->taps_together = choose_taps_together(task, schedule);
    choose_modes(task, &walked, is_dense, schedule);
    schedule->walk.cols = (uint64_t)schedule->walk.dims[schedule->walk.rank - 1];
    schedule->walk.rows = 1;
    for (uint32_t axis = 0; axis + 1 < schedule->walk.rank; axis++)
        schedule->walk.rows *= (uint64_t)schedule->walk.dims[axis];
    uint64_t vectors = schedule->walk.rows * schedule->walk.cols / schedule->walk.vector_elems;
    schedule->launch.block = KILN_BLOCK;
    while (!schedule->options->is_general && schedule->launch.block / 2 >= vectors &&
           schedule->launch.block / 2 >= SMALLEST_BLOCK)
        schedule->launch.block /= 2;
    schedule->launch.chunk_count = (vectors + schedule->launch.block - 1) / schedule->launch.block;
    schedule->walk.index_is_64bit = has_large_image(task);
    kiln_walk_finish(&walked, NULL, true, count_cost(task, pooling->taps), schedule);
    correct_image_traffic(task, schedule);
    return KILN_OK;
}

/* First fewer taps at once, then shorter vectors. */
static bool relax_pooling(const struct kiln_schedule *schedule, struct kiln_register_limits *limits)
{
    return kiln_halve_limit(&limits->steps, kiln_pooling_schedule_of(schedule)->taps_together, 1) ||
           kiln_halve_limit(&limits->vector_elems, schedule->walk.vector_elems, 1);
}

static bool is_same(const struct kiln_schedule *a, const struct kiln_schedule *b)
{
    return kiln_pooling_schedule_of(a)->taps_together == kiln_pooling_schedule_of(b)->taps_together;
}

static bool walks_in_order(const struct kiln_schedule *schedule)
{
    (void)schedule;
    return true;
}

static void print_pooling(const struct kiln_schedule *schedule,
                          const struct kiln_fusion_group *group, struct kiln_buffer *buffer)
{
    const struct kiln_pooling_schedule *pooling = kiln_pooling_schedule_of(schedule);
    (void)group;
    kiln_walk_print_axes(schedule, buffer);
    kiln_buffer_append_text(buffer, ", window ");
    for (uint32_t i = pooling->window_count; i-- > 0;)
        kiln_buffer_printf(buffer, "%" PRId64 "%s", pooling->windows[i].reach, i != 0 ? "x" : "");
    kiln_buffer_append_text(buffer, " by ");
    for (uint32_t i = pooling->window_count; i-- > 0;) {
        const struct kiln_pooling_window *window = &pooling->windows[i];
        kiln_buffer_printf(buffer, "%" PRId64 "%s",
                           window->divisor != 0 ? window->divisor : window->step,
                           i != 0 ? "x" : "");
    }
    if (pooling->span.middle != 0)
        kiln_buffer_printf(buffer, ", spans of %" PRIu32,
                           kiln_pooling_tap_elements(schedule, pooling));
    kiln_buffer_printf(buffer, ", %" PRIu32 " of %" PRIu32 " %s at once, vector %" PRIu32,
                       pooling->taps_together, pooling->taps, pooling->taps == 1 ? "tap" : "taps",
                       schedule->walk.vector_elems);
}

const struct kiln_schedule_family kiln_schedule_family_pooling = {
    .details_bytes = sizeof(struct kiln_pooling_schedule),
    .schedule = schedule_pooling,
    .relax = relax_pooling,
    .is_same = is_same,
    .walks_in_order = walks_in_order,
    .time = kiln_walk_time,
    .print = print_pooling,
};
