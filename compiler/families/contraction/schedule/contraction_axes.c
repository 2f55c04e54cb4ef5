#include "compiler/families/contraction/schedule/contraction_axes.h"

#include "compiler/families/contraction/fuse/contraction_group.h"
#include "compiler/families/contraction/schedule/contraction_small.h"

#include <stdlib.h>
#include <string.h>

/* ---- phases ---- */

static int64_t greatest_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

/* The axis of a role that goes along a window with a divisor: there is one, also of size 1. */
static struct kiln_contraction_axis *find_windowed(struct kiln_contraction_axis *axes,
                                                   uint32_t count, enum kiln_contract_operand side,
                                                   uint8_t axis)
{
    for (uint32_t i = 0; i < count; i++) {
        if (axes[i].of[side].along == axis)
            return &axes[i];
    }
    return NULL;
}

/* ---- axes of the kernel ---- */

bool kiln_is_group_axis(const struct kiln_contraction *contraction, uint32_t axis)
{
    const struct kiln_map_axis *left = &contraction->maps[KILN_CONTRACT_LEFT].axes[axis];
    const struct kiln_map_axis *right = &contraction->maps[KILN_CONTRACT_RIGHT].axes[axis];
    const struct kiln_map_axis *result = contraction->maps[KILN_CONTRACT_RESULT].axes;
    if (contraction->roles[axis] != KILN_AXIS_BATCH || contraction->sizes[axis] == 1 ||
        left->along == KILN_NO_AXIS || right->along == KILN_NO_AXIS || left->repeat.value != 1 ||
        right->repeat.value != 1)
        return false;
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        if (contraction->roles[i] == KILN_AXIS_N && result[i].along == result[axis].along)
            return true;
    }
    return false;
}

static bool has_role(const struct kiln_kernel_axes *kernel, uint32_t axis, enum kiln_axis_role role)
{
    const struct kiln_contraction *contraction = kernel->problem->axes;
    if (kiln_pipeline_is_direct(&kernel->problem->contraction->pipeline) &&
        kiln_is_group_axis(contraction, axis))
        return role == KILN_AXIS_N;
    return contraction->roles[axis] == role;
}

/* How short the axes are that gather() leaves out. */
enum gathering {
    GATHER_LONG,      /* those of size 1, if no phases are made of them */
    GATHER_CANONICAL, /* so that one image, or one pixel, has the axes of many */
};

/* True if an axis of the image is the first of all. */
static bool is_of_images(const struct kiln_map *image, uint8_t from_right)
{
    for (uint32_t i = 0; i < image->axis_count; i++) {
        if (image->axes[i].along != KILN_NO_AXIS && image->axes[i].along > from_right)
            return false;
    }
    return from_right != KILN_NO_AXIS;
}

static bool is_kept(const struct kiln_kernel_axes *kernel, const struct kiln_contraction_axis *axis,
                    enum gathering gathering)
{
    const struct kiln_map *image = kiln_contraction_image(kernel->problem->axes);
    uint8_t along = axis->of[kernel->problem->axes->image].along;
    const struct kiln_map_window *window = kiln_map_window_over(image, along);
    if (axis->size > 1 || kernel->problem->ir->is_general ||
        (window != NULL && window->divisor.value > 1))
        return true;
    return gathering == GATHER_CANONICAL && (window != NULL || is_of_images(image, along));
}

/* The axes of a role, the first of them where all would be left out. */
static uint32_t gather(const struct kiln_kernel_axes *kernel, enum kiln_axis_role role,
                       enum gathering gathering, struct kiln_contraction_axis *axes)
{
    const struct kiln_contraction *contraction = kernel->problem->axes;
    uint32_t count = 0;
    uint32_t first = KILN_NONE;
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        const struct kiln_contraction_axis axis = kiln_contraction_axis_at(contraction, i);
        if (!has_role(kernel, i, role))
            continue;
        first = first == KILN_NONE ? i : first;
        if (is_kept(kernel, &axis, gathering)) /* no more than fit: kiln_ir_validate */
            axes[count++] = axis;
    }
    if (count == 0 && first != KILN_NONE)
        axes[count++] = kiln_contraction_axis_at(contraction, first);
    return count;
}

/* Nothing is known of the stride of a single image: it is as if there were more of them. */
static uint64_t sorted_by(const struct kiln_contraction_problem *problem,
                          const struct kiln_access *access,
                          const struct kiln_contraction_axis *axis)
{
    return axis->size == 1 ? UINT64_MAX : (uint64_t)llabs(kiln_stride_along(problem, access, axis));
}

/* Slowest first in the memory of an access: the last axis is the one that has neighbours. */
static void sort_axes(const struct kiln_contraction_problem *problem, uint32_t access,
                      struct kiln_contraction_axis *axes, uint32_t count)
{
    if (access == KILN_NONE || problem->ir->is_general)
        return;
    const struct kiln_access *memory = &problem->group->accesses[access];
    for (uint32_t i = 1; i < count; i++) {
        struct kiln_contraction_axis axis = axes[i];
        uint64_t stride = sorted_by(problem, memory, &axis);
        uint32_t at = i;
        for (; at > 0 && sorted_by(problem, memory, &axes[at - 1]) < stride; at--)
            axes[at] = axes[at - 1];
        axes[at] = axis;
    }
}

/* True if the kernel counts along an axis of the result for an INDEX. */
static bool is_indexed(const struct kiln_contraction_problem *problem, uint8_t from_right)
{
    for (uint32_t i = 0; i < problem->group->op_count; i++) {
        const struct kiln_op *op = &problem->ir->ops[problem->group->ops[i]];
        if (op->opcode == KILN_OP_INDEX &&
            problem->ir->domains[op->domain].rank - 1 - op->axis == from_right)
            return true;
    }
    return false;
}

bool kiln_goes_along_window(const struct kiln_kernel_axes *kernel,
                            const struct kiln_contraction_axis *axis)
{
    const struct kiln_contraction *contraction = kernel->problem->axes;
    return kiln_map_window_over(kiln_contraction_image(contraction),
                                axis->of[contraction->image].along) != NULL;
}

bool kiln_walks_along_windows(const struct kiln_kernel_axes *kernel,
                              const struct kiln_access *access)
{
    const struct kiln_contraction_problem *problem = kernel->problem;
    const struct kiln_map *image = kiln_contraction_image(problem->axes);
    if (kiln_contract_operand_of(problem, access->place) != problem->axes->image)
        return false;
    for (uint32_t w = 0; w < image->window_count; w++) {
        if (kiln_stride_of_axis(problem, access, image->windows[w].over) != 0)
            return true;
    }
    return false;
}

/* True if neighbouring indices share elements of an operand. */
static bool has_repeats(const struct kiln_contraction_axis *axis)
{
    return axis->of[KILN_CONTRACT_LEFT].repeat.value != 1 ||
           axis->of[KILN_CONTRACT_RIGHT].repeat.value != 1;
}

/* True for the elements of blocks that the group reduces. Its accesses of a block count in blocks
 * (contraction_layout.c). */
static bool is_block(const struct kiln_contraction_problem *problem,
                     const struct kiln_contraction_axis *axis)
{
    uint32_t rank = problem->ir->domains[problem->group->domain].rank;
    uint8_t along = axis->of[KILN_CONTRACT_RESULT].along;
    return problem->contraction->problem.block != 0 && along < rank &&
           axis->size == problem->contraction->problem.block &&
           problem->group->reduced_axes == UINT32_C(1) << (rank - 1 - along);
}

/* True if every access walks along two axes as along one. Accesses of a block may differ. */
static bool may_merge_axes(const struct kiln_kernel_axes *kernel,
                           const struct kiln_contraction_axis *outer,
                           const struct kiln_contraction_axis *inner)
{
    const struct kiln_contraction_problem *problem = kernel->problem;
    if (problem->ir->is_general || kiln_goes_along_window(kernel, outer) ||
        kiln_goes_along_window(kernel, inner) || has_repeats(outer) || has_repeats(inner) ||
        is_indexed(problem, outer->of[KILN_CONTRACT_RESULT].along) ||
        is_indexed(problem, inner->of[KILN_CONTRACT_RESULT].along))
        return false;
    bool are_blocks = is_block(problem, inner);
    for (uint32_t i = 0; i < problem->group->access_count; i++) {
        const struct kiln_access *access = &problem->group->accesses[i];
        bool is_of_block = are_blocks && access->place == KILN_PLACE_ROW;
        if (!is_of_block && kiln_stride_along(problem, access, outer) !=
                                kiln_stride_along(problem, access, inner) * inner->size)
            return false;
    }
    return true;
}

static uint32_t merge_axes(const struct kiln_kernel_axes *kernel,
                           struct kiln_contraction_axis *axes, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (kept > 0 && may_merge_axes(kernel, &axes[kept - 1], &axes[i])) {
            axes[i].size *= axes[kept - 1].size;
            axes[kept - 1] = axes[i];
        } else {
            axes[kept++] = axes[i];
        }
    }
    return kept;
}

/*
 * True if a role's axes become one when they are merged, or the last one, with whose length loads
 * are wider, becomes longer. Merging others only would save a division, and make other kernels of
 * other sizes.
 */
static bool is_merging_worth_it(const struct kiln_kernel_axes *kernel, enum kiln_axis_role role,
                                uint32_t access)
{
    struct kiln_contraction_axis axes[KILN_MAX_ROLE_AXES];
    if (kernel->problem->ir->is_general)
        return false;
    uint32_t count = gather(kernel, role, GATHER_LONG, axes);
    if (count < 2)
        return true;
    sort_axes(kernel->problem, access, axes, count);
    int64_t last = axes[count - 1].size;
    count = merge_axes(kernel, axes, count);
    return count == 1 || axes[count - 1].size != last;
}

bool kiln_is_linear(const struct kiln_contraction_problem *problem,
                    const struct kiln_access *access, const struct kiln_contraction_axis *axes,
                    uint32_t count)
{
    int64_t stride = kiln_stride_along(problem, access, &axes[count - 1]) * axes[count - 1].size;
    if (problem->ir->is_general) /* in some shapes it is not */
        return count == 1;
    for (uint32_t i = count - 1; i-- > 0;) {
        if (axes[i].size != 1 && kiln_stride_along(problem, access, &axes[i]) != stride)
            return false;
        stride *= axes[i].size;
    }
    return true;
}

/* Columns of the result are finished in vectors, so all of its accesses walk along them as along
 * one axis: those before that are batches. */
static void make_batches_of_columns(struct kiln_kernel_axes *kernel)
{
    const struct kiln_contraction_problem *problem = kernel->problem;
    for (uint32_t i = 0; i < problem->group->access_count; i++) {
        while (kiln_is_access_of_result(&problem->group->accesses[i]) && kernel->column_count > 1 &&
               kernel->batch_count < KILN_MAX_BATCH_AXES &&
               !kiln_is_linear(problem, &problem->group->accesses[i], kernel->columns,
                               kernel->column_count)) {
            kernel->batches[kernel->batch_count++] = kernel->columns[0];
            kernel->column_count--;
            memmove(kernel->columns, kernel->columns + 1,
                    kernel->column_count * sizeof *kernel->columns);
        }
    }
}

/* All but the last axis of a role are batches. */
static void move_outer_axes(struct kiln_kernel_axes *kernel, struct kiln_contraction_axis *axes,
                            uint32_t *count)
{
    uint32_t moved = 0;
    while (moved + 1 < *count && kernel->batch_count < KILN_MAX_BATCH_AXES)
        kernel->batches[kernel->batch_count++] = axes[moved++];
    *count -= moved;
    memmove(axes, axes + moved, *count * sizeof *axes);
}

/* A long axis is batches of products with one row. */
static void move_long_axis(struct kiln_kernel_axes *kernel, struct kiln_contraction_axis *axes,
                           uint32_t count)
{
    if (count != 1 || axes[0].size <= KILN_SMALL_ROWS || kernel->batch_count == KILN_MAX_BATCH_AXES)
        return;
    kernel->batches[kernel->batch_count++] = axes[0];
    axes[0].size = 1;
    for (uint32_t side = 0; side < KILN_CONTRACT_OPERAND_COUNT; side++)
        axes[0].of[side] = kiln_map_axis_nowhere();
}

/* A small product has one axis of rows and one of columns. Lanes find their batches themselves, so
 * batches are as few axes as possible. */
static void make_small_batches(struct kiln_kernel_axes *kernel)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < kernel->batch_count; i++) {
        if (kernel->batches[i].size != 1)
            kernel->batches[kept++] = kernel->batches[i];
    }
    kernel->batch_count = kept;
    move_outer_axes(kernel, kernel->rows, &kernel->row_count);
    bool has_whole_rows = kiln_group_has_whole_rows(kernel->problem->group);
    if (!has_whole_rows)
        move_outer_axes(kernel, kernel->columns, &kernel->column_count);
    if (kernel->columns[0].size <= KILN_SMALL_ROWS)
        move_long_axis(kernel, kernel->rows, kernel->row_count);
    else if (kernel->rows[0].size <= KILN_SMALL_ROWS && !has_whole_rows)
        move_long_axis(kernel, kernel->columns, kernel->column_count);
    kernel->batch_count = merge_axes(kernel, kernel->batches, kernel->batch_count);
}

/* Sorts rows, and taps, by the phase of their window: coordinates are whole then. */
static void add_phase(struct kiln_kernel_axes *kernel, uint32_t w)
{
    struct kiln_contraction_schedule *schedule = kernel->problem->contraction;
    enum kiln_contract_operand side = kernel->problem->axes->image;
    enum kiln_contract_operand other =
        side == KILN_CONTRACT_LEFT ? KILN_CONTRACT_RIGHT : KILN_CONTRACT_LEFT;
    const struct kiln_map_window *window = &kernel->problem->axes->maps[side].windows[w];
    int64_t divisor = window->divisor.value;
    struct kiln_contraction_axis *row =
        find_windowed(kernel->rows, kernel->row_count, side, window->over);
    struct kiln_contraction_axis *tap =
        find_windowed(kernel->sums, kernel->sum_count, side, window->over);
    struct kiln_phase *phase =
        &schedule->problem.windows.phases[schedule->problem.windows.phase_count++];
    *phase = (struct kiln_phase){
        .batch = kernel->batch_count,
        .offset = window->offset.value,
        .step = tap->of[side].step.value,
        .divisor = divisor,
        .taps = tap->size,
        .row_count = row->size,
    };
    phase->spread = phase->divisor / greatest_divisor(phase->divisor, phase->step);
    struct kiln_contraction_axis *batch = &kernel->batches[kernel->batch_count++];
    *batch = *row;
    batch->role = KILN_AXIS_BATCH;
    batch->size = divisor < row->size ? divisor : row->size;
    batch->of[side] = kiln_map_axis_nowhere();
    row->size = (row->size + divisor - 1) / divisor;
    row->of[KILN_CONTRACT_RESULT].step.value *= divisor;
    tap->size = (tap->size + phase->spread - 1) / phase->spread;
    tap->of[side].step.value = phase->step * phase->spread / phase->divisor;
    tap->of[other].step.value = phase->spread;
}

static void name_phase_axes(struct kiln_kernel_axes *kernel, uint32_t w, struct kiln_phase *phase)
{
    enum kiln_contract_operand side = kernel->problem->axes->image;
    uint8_t over = kernel->problem->axes->maps[side].windows[w].over;
    for (uint32_t i = 0; i < kernel->row_count; i++) {
        if (kernel->rows[i].of[side].along == over)
            phase->row_axis = i;
    }
    for (uint32_t i = 0; i < kernel->sum_count; i++) {
        if (kernel->sums[i].of[side].along == over)
            phase->k_axis = i;
    }
}

/* Which operand's memory the axes of k follow: that of the one with windows. */
static uint32_t access_along_k(const struct kiln_contraction_problem *problem)
{
    bool is_right = problem->axes->maps[KILN_CONTRACT_RIGHT].window_count != 0;
    enum kiln_place place = is_right ? KILN_PLACE_RIGHT : KILN_PLACE_LEFT;
    return kiln_contraction_heaviest(problem, place, false);
}

void kiln_find_kernel_axes(struct kiln_kernel_axes *kernel)
{
    const struct kiln_contraction_problem *problem = kernel->problem;
    enum kiln_axis_role rows = kernel->is_transposed ? KILN_AXIS_N : KILN_AXIS_M;
    enum kiln_axis_role columns = kernel->is_transposed ? KILN_AXIS_M : KILN_AXIS_N;
    uint32_t store = kiln_contraction_heaviest(problem, KILN_PLACE_ELEMENT, true);
    const struct {
        enum kiln_axis_role role;
        uint32_t access; /* whose memory the axes follow */
        struct kiln_contraction_axis *axes;
        uint32_t *count;
    } roles[] = {
        {rows, store, kernel->rows, &kernel->row_count},
        {columns, store, kernel->columns, &kernel->column_count},
        {KILN_AXIS_K, access_along_k(problem), kernel->sums, &kernel->sum_count},
    };
    enum { ROLES = sizeof roles / sizeof *roles };
    bool merges[ROLES];
    bool is_small = kiln_is_contraction_small(problem->contraction);
    bool has_whole_rows = kiln_group_has_whole_rows(problem->group);
    for (size_t i = 0; i < ROLES; i++) {
        bool is_of_small = is_small && roles[i].role != KILN_AXIS_K &&
                           !(has_whole_rows && roles[i].role == columns);
        merges[i] = !is_of_small && is_merging_worth_it(kernel, roles[i].role, roles[i].access);
        *roles[i].count =
            gather(kernel, roles[i].role, merges[i] || is_of_small ? GATHER_LONG : GATHER_CANONICAL,
                   roles[i].axes);
    }
    for (uint32_t i = 0; i < problem->axes->axis_count; i++) {
        const struct kiln_contraction_axis axis = kiln_contraction_axis_at(problem->axes, i);
        bool is_batch = has_role(kernel, i, KILN_AXIS_BATCH) || axis.role == KILN_AXIS_GROUP;
        if (is_batch && kernel->batch_count < KILN_MAX_BATCH_AXES)
            kernel->batches[kernel->batch_count++] = axis;
    }
    const struct kiln_map *image = kiln_contraction_image(problem->axes);
    for (uint32_t w = 0; w < image->window_count; w++) {
        if (image->windows[w].divisor.value > 1)
            add_phase(kernel, w);
    }
    for (size_t i = 0; i < ROLES; i++) {
        sort_axes(problem, roles[i].access, roles[i].axes, *roles[i].count);
        if (merges[i])
            *roles[i].count = merge_axes(kernel, roles[i].axes, *roles[i].count);
    }
    if (is_small)
        make_small_batches(kernel);
    make_batches_of_columns(kernel);
    uint32_t phase = 0;
    for (uint32_t w = 0; w < image->window_count; w++) {
        if (image->windows[w].divisor.value > 1)
            name_phase_axes(kernel, w, &problem->contraction->problem.windows.phases[phase++]);
    }
}
