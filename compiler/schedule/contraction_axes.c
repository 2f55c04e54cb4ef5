#include "compiler/schedule/contraction_axes.h"

#include "compiler/fuse/contraction_group.h"
#include "compiler/fuse/fuse_family.h"

#include <stdlib.h>
#include <string.h>

/* What a place's values are in the CONTRACT. */
enum side {
    SIDE_LEFT,
    SIDE_RIGHT,
    SIDE_RESULT,
};

/* The axes of the kernel, before they are in the schedule. */
struct layout {
    const struct kiln_contraction_problem *problem;
    bool is_transposed;
    struct kiln_contraction_axis rows[KILN_MAX_ROLE_AXES];
    struct kiln_contraction_axis columns[KILN_MAX_ROLE_AXES];
    struct kiln_contraction_axis sums[KILN_MAX_ROLE_AXES];
    struct kiln_contraction_axis batches[KILN_MAX_BATCH_AXES];
    uint32_t row_count, column_count, sum_count, batch_count;
};

/* ---- accesses ---- */

bool kiln_is_access_of_result(const struct kiln_access *access)
{
    return access->place == KILN_PLACE_ELEMENT || access->place == KILN_PLACE_ROW;
}

static enum side side_of(const struct kiln_contraction_problem *problem, enum kiln_place place)
{
    if (place == KILN_PLACE_SECOND)
        place = kiln_group_shared_place(problem->ir, problem->group) == KILN_PLACE_LEFT
                    ? KILN_PLACE_RIGHT
                    : KILN_PLACE_LEFT;
    return place == KILN_PLACE_LEFT    ? SIDE_LEFT
           : place == KILN_PLACE_RIGHT ? SIDE_RIGHT
                                       : SIDE_RESULT;
}

/* The stride of an access along an axis of its domain, counted from the right. */
static int64_t stride_of(const struct kiln_contraction_problem *problem,
                         const struct kiln_access *access, uint8_t from_right)
{
    const struct kiln_domain *domain =
        &problem->ir->domains[kiln_group_place_domain(problem->ir, problem->group, access->place)];
    return from_right < domain->rank ? access->strides[domain->rank - 1 - from_right] : 0;
}

static uint8_t operand_axis(const struct kiln_contraction_axis *axis, enum side side)
{
    return side == SIDE_LEFT ? axis->left : side == SIDE_RIGHT ? axis->right : axis->result;
}

static int64_t operand_step(const struct kiln_contraction_axis *axis, enum side side)
{
    return side == SIDE_LEFT    ? axis->left_step
           : side == SIDE_RIGHT ? axis->right_step
                                : axis->result_step;
}

/* Elements from an index on an axis of the contraction to the next one. */
static int64_t stride_along(const struct kiln_contraction_problem *problem,
                            const struct kiln_access *access,
                            const struct kiln_contraction_axis *axis)
{
    enum side side = side_of(problem, access->place);
    uint8_t from_right = operand_axis(axis, side);
    return from_right == KILN_NO_AXIS
               ? 0
               : stride_of(problem, access, from_right) * operand_step(axis, side);
}

static uint64_t access_bytes(const struct kiln_contraction_problem *problem, uint32_t access)
{
    const struct kiln_access *memory = &problem->group->accesses[access];
    const struct kiln_domain *domain =
        &problem->ir->domains[kiln_group_place_domain(problem->ir, problem->group, memory->place)];
    uint64_t elements = 1;
    for (uint32_t i = 0; i < domain->rank; i++)
        elements *= memory->strides[i] != 0 ? (uint64_t)domain->dims[i] : 1;
    return elements * kiln_dtype_info(memory->dtype)->bytes;
}

uint32_t kiln_contraction_heaviest(const struct kiln_contraction_problem *problem,
                                   enum kiln_place place, bool is_store)
{
    uint32_t found = KILN_NONE;
    uint64_t most = 0;
    for (uint32_t i = 0; i < problem->group->access_count; i++) {
        const struct kiln_access *access = &problem->group->accesses[i];
        if (access->place != place || access->is_store != is_store)
            continue;
        uint64_t bytes = access_bytes(problem, i);
        if (found == KILN_NONE || bytes > most) {
            most = bytes;
            found = i;
        }
    }
    return found;
}

/* Whether some axis of a role is of the result's that values of the group are reduced along. */
static bool is_reduced_along(const struct kiln_contraction_problem *problem,
                             enum kiln_axis_role role)
{
    uint32_t rank = problem->ir->domains[problem->group->domain].rank;
    for (uint32_t i = 0; i < problem->axes->axis_count; i++) {
        const struct kiln_contraction_axis *axis = &problem->axes->axes[i];
        if (axis->role == role && axis->result < rank &&
            (problem->group->reduced_axes >> (rank - 1 - axis->result) & 1u) != 0)
            return true;
    }
    return false;
}

/* Whether an access has neighbours along a role: the stride of one of its axes is 1. */
static bool is_dense_along(const struct kiln_contraction_problem *problem, uint32_t access,
                           enum kiln_axis_role role)
{
    for (uint32_t i = 0; i < problem->axes->axis_count; i++) {
        const struct kiln_contraction_axis *axis = &problem->axes->axes[i];
        if (axis->role == role && axis->size > 1 &&
            stride_along(problem, &problem->group->accesses[access], axis) == 1)
            return true;
    }
    return false;
}

bool kiln_contraction_is_transposed(const struct kiln_contraction_problem *problem)
{
    /* Phases are of rows. */
    for (uint32_t w = 0; w < problem->axes->window_count; w++) {
        if (problem->axes->windows[w].divisor > 1)
            return problem->axes->is_right_windowed;
    }
    if (kiln_group_has_whole_rows(problem->group))
        return is_reduced_along(problem, KILN_AXIS_M);
    if (problem->group->contract_count == 2)
        return kiln_group_shared_place(problem->ir, problem->group) == KILN_PLACE_RIGHT;
    uint32_t store = kiln_contraction_heaviest(problem, KILN_PLACE_ELEMENT, true);
    return store != KILN_NONE && is_dense_along(problem, store, KILN_AXIS_M) &&
           !is_dense_along(problem, store, KILN_AXIS_N);
}

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
                                                   uint32_t count, enum side side, uint8_t axis)
{
    for (uint32_t i = 0; i < count; i++) {
        if (operand_axis(&axes[i], side) == axis)
            return &axes[i];
    }
    return NULL;
}

/* ---- axes of the kernel ---- */

static void set_step(struct kiln_contraction_axis *axis, enum side side, int64_t step)
{
    if (side == SIDE_LEFT)
        axis->left_step = step;
    else
        axis->right_step = step;
}

bool kiln_is_group_axis(const struct kiln_contraction *contraction,
                        const struct kiln_contraction_axis *axis)
{
    if (axis->role != KILN_AXIS_BATCH || axis->size == 1 || axis->left == KILN_NO_AXIS ||
        axis->right == KILN_NO_AXIS || axis->left_repeat != 1 || axis->right_repeat != 1)
        return false;
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        if (contraction->axes[i].role == KILN_AXIS_N &&
            contraction->axes[i].result == axis->result && axis->result != KILN_NO_AXIS)
            return true;
    }
    return false;
}

static bool has_role(const struct layout *layout, const struct kiln_contraction_axis *axis,
                     enum kiln_axis_role role)
{
    if (layout->problem->contraction->is_direct && kiln_is_group_axis(layout->problem->axes, axis))
        return role == KILN_AXIS_N;
    return axis->role == role;
}

/* How short the axes are that gather() leaves out. */
enum gathering {
    GATHER_LONG,      /* those of size 1, if no phases are made of them */
    GATHER_CANONICAL, /* so that one image, or one pixel, has the axes of many */
};

/* Whether an axis of the operand with the image is the first of all. */
static bool is_of_images(const struct kiln_contraction *contraction, bool is_right,
                         uint8_t from_right)
{
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        const struct kiln_contraction_axis *axis = &contraction->axes[i];
        uint8_t other = is_right ? axis->right : axis->left;
        if (other != KILN_NO_AXIS && other > from_right)
            return false;
    }
    return from_right != KILN_NO_AXIS;
}

static bool is_kept(const struct layout *layout, const struct kiln_contraction_axis *axis,
                    enum gathering gathering)
{
    const struct kiln_contraction_problem *problem = layout->problem;
    bool is_right = problem->axes->is_right_windowed;
    uint8_t from_right = is_right ? axis->right : axis->left;
    const struct kiln_contraction_window *window =
        kiln_contraction_window_over(problem->axes, is_right, from_right);
    if (axis->size > 1 || (window != NULL && window->divisor > 1))
        return true;
    return gathering == GATHER_CANONICAL &&
           (window != NULL || is_of_images(problem->axes, is_right, from_right));
}

/* The axes of a role, the first of them where all would be left out. */
static uint32_t gather(const struct layout *layout, enum kiln_axis_role role,
                       enum gathering gathering, struct kiln_contraction_axis *axes)
{
    const struct kiln_contraction *contraction = layout->problem->axes;
    uint32_t count = 0;
    const struct kiln_contraction_axis *first = NULL;
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        const struct kiln_contraction_axis *axis = &contraction->axes[i];
        if (!has_role(layout, axis, role))
            continue;
        first = first == NULL ? axis : first;
        if (is_kept(layout, axis, gathering) && count < KILN_MAX_ROLE_AXES)
            axes[count++] = *axis;
    }
    if (count == 0 && first != NULL)
        axes[count++] = *first;
    return count;
}

/* Nothing is known of the stride of a single image: it is as if there were more of them. */
static uint64_t sorted_by(const struct kiln_contraction_problem *problem,
                          const struct kiln_access *access,
                          const struct kiln_contraction_axis *axis)
{
    return axis->size == 1 ? UINT64_MAX : (uint64_t)llabs(stride_along(problem, access, axis));
}

/* Slowest first in the memory of an access: the last axis is the one that has neighbours. */
static void sort_axes(const struct kiln_contraction_problem *problem, uint32_t access,
                      struct kiln_contraction_axis *axes, uint32_t count)
{
    if (access == KILN_NONE)
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

/* Whether the kernel counts along an axis of the result for an INDEX. */
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

static enum side windowed_side(const struct layout *layout)
{
    return layout->problem->axes->is_right_windowed ? SIDE_RIGHT : SIDE_LEFT;
}

static bool goes_along_window(const struct layout *layout, const struct kiln_contraction_axis *axis)
{
    for (uint32_t w = 0; w < layout->problem->axes->window_count; w++) {
        if (operand_axis(axis, windowed_side(layout)) == layout->problem->axes->windows[w].axis)
            return true;
    }
    return false;
}

/* Whether an access is of the operand with the windows, and varies along some of them. */
static bool walks_along_windows(const struct layout *layout, const struct kiln_access *access)
{
    const struct kiln_contraction_problem *problem = layout->problem;
    if (side_of(problem, access->place) != windowed_side(layout))
        return false;
    for (uint32_t w = 0; w < problem->axes->window_count; w++) {
        if (stride_of(problem, access, problem->axes->windows[w].axis) != 0)
            return true;
    }
    return false;
}

/* Whether every access walks along two axes as along one. */
static bool may_merge_axes(const struct layout *layout, const struct kiln_contraction_axis *outer,
                           const struct kiln_contraction_axis *inner)
{
    const struct kiln_contraction_problem *problem = layout->problem;
    if (goes_along_window(layout, outer) || goes_along_window(layout, inner) ||
        (outer->result != KILN_NO_AXIS && is_indexed(problem, outer->result)) ||
        (inner->result != KILN_NO_AXIS && is_indexed(problem, inner->result)))
        return false;
    for (uint32_t i = 0; i < problem->group->access_count; i++) {
        const struct kiln_access *access = &problem->group->accesses[i];
        if (stride_along(problem, access, outer) !=
            stride_along(problem, access, inner) * inner->size)
            return false;
    }
    return true;
}

static uint32_t merge_axes(const struct layout *layout, struct kiln_contraction_axis *axes,
                           uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (kept > 0 && may_merge_axes(layout, &axes[kept - 1], &axes[i])) {
            axes[i].size *= axes[kept - 1].size;
            axes[kept - 1] = axes[i];
        } else {
            axes[kept++] = axes[i];
        }
    }
    return kept;
}

/*
 * Whether a role's axes become one when they are merged, or the last one, with whose length loads
 * are wider, becomes longer. Merging others only would save a division, and make other kernels of
 * other sizes.
 */
static bool is_merging_worth_it(const struct layout *layout, enum kiln_axis_role role,
                                uint32_t access)
{
    struct kiln_contraction_axis axes[KILN_MAX_ROLE_AXES];
    uint32_t count = gather(layout, role, GATHER_LONG, axes);
    if (count < 2)
        return true;
    sort_axes(layout->problem, access, axes, count);
    int64_t last = axes[count - 1].size;
    count = merge_axes(layout, axes, count);
    return count == 1 || axes[count - 1].size != last;
}

/* Whether an access walks along these axes as along one; those of one index are passed over. */
static bool is_linear(const struct kiln_contraction_problem *problem,
                      const struct kiln_access *access, const struct kiln_contraction_axis *axes,
                      uint32_t count)
{
    int64_t stride = stride_along(problem, access, &axes[count - 1]) * axes[count - 1].size;
    for (uint32_t i = count - 1; i-- > 0;) {
        if (axes[i].size != 1 && stride_along(problem, access, &axes[i]) != stride)
            return false;
        stride *= axes[i].size;
    }
    return true;
}

/* Columns of the result are finished in vectors, so all of its accesses walk along them as along
 * one axis: those before that are batches. */
static void make_batches_of_columns(struct layout *layout)
{
    const struct kiln_contraction_problem *problem = layout->problem;
    for (uint32_t i = 0; i < problem->group->access_count; i++) {
        while (kiln_is_access_of_result(&problem->group->accesses[i]) && layout->column_count > 1 &&
               layout->batch_count < KILN_MAX_BATCH_AXES &&
               !is_linear(problem, &problem->group->accesses[i], layout->columns,
                          layout->column_count)) {
            layout->batches[layout->batch_count++] = layout->columns[0];
            layout->column_count--;
            memmove(layout->columns, layout->columns + 1,
                    layout->column_count * sizeof *layout->columns);
        }
    }
}

/* Sorts rows, and taps, by the phase of their window: coordinates are whole then. */
static void add_phase(struct layout *layout, uint32_t w)
{
    struct kiln_contraction_schedule *schedule = layout->problem->contraction;
    const struct kiln_contraction_window *window = &layout->problem->axes->windows[w];
    enum side side = windowed_side(layout);
    struct kiln_contraction_axis *row =
        find_windowed(layout->rows, layout->row_count, side, window->axis);
    struct kiln_contraction_axis *tap =
        find_windowed(layout->sums, layout->sum_count, side, window->axis);
    struct kiln_phase *phase = &schedule->phases[schedule->phase_count++];
    *phase = (struct kiln_phase){
        .batch = layout->batch_count,
        .offset = window->offset,
        .step = operand_step(tap, side),
        .divisor = window->divisor,
        .taps = tap->size,
        .row_count = row->size,
    };
    phase->spread = phase->divisor / greatest_divisor(phase->divisor, phase->step);
    struct kiln_contraction_axis *batch = &layout->batches[layout->batch_count++];
    *batch = *row;
    batch->role = KILN_AXIS_BATCH;
    batch->size = window->divisor < row->size ? window->divisor : row->size;
    batch->left = side == SIDE_LEFT ? KILN_NO_AXIS : batch->left;
    batch->right = side == SIDE_RIGHT ? KILN_NO_AXIS : batch->right;
    row->size = (row->size + window->divisor - 1) / window->divisor;
    row->result_step *= window->divisor;
    tap->size = (tap->size + phase->spread - 1) / phase->spread;
    set_step(tap, side, phase->step * phase->spread / phase->divisor);
    set_step(tap, side == SIDE_LEFT ? SIDE_RIGHT : SIDE_LEFT, phase->spread);
}

static void name_phase_axes(struct layout *layout, uint32_t w, struct kiln_phase *phase)
{
    enum side side = windowed_side(layout);
    for (uint32_t i = 0; i < layout->row_count; i++) {
        if (operand_axis(&layout->rows[i], side) == layout->problem->axes->windows[w].axis)
            phase->row_axis = i;
    }
    for (uint32_t i = 0; i < layout->sum_count; i++) {
        if (operand_axis(&layout->sums[i], side) == layout->problem->axes->windows[w].axis)
            phase->k_axis = i;
    }
}

/* Which operand's memory the axes of k follow: that of the one with windows. */
static uint32_t access_along_k(const struct kiln_contraction_problem *problem)
{
    const struct kiln_contraction *contraction = problem->axes;
    enum kiln_place place = contraction->window_count != 0 && contraction->is_right_windowed
                                ? KILN_PLACE_RIGHT
                                : KILN_PLACE_LEFT;
    return kiln_contraction_heaviest(problem, place, false);
}

static void find_axes(struct layout *layout)
{
    const struct kiln_contraction_problem *problem = layout->problem;
    enum kiln_axis_role rows = layout->is_transposed ? KILN_AXIS_N : KILN_AXIS_M;
    enum kiln_axis_role columns = layout->is_transposed ? KILN_AXIS_M : KILN_AXIS_N;
    uint32_t store = kiln_contraction_heaviest(problem, KILN_PLACE_ELEMENT, true);
    const struct {
        enum kiln_axis_role role;
        uint32_t access; /* whose memory the axes follow */
        struct kiln_contraction_axis *axes;
        uint32_t *count;
    } roles[] = {
        {rows, store, layout->rows, &layout->row_count},
        {columns, store, layout->columns, &layout->column_count},
        {KILN_AXIS_K, access_along_k(problem), layout->sums, &layout->sum_count},
    };
    enum { ROLES = sizeof roles / sizeof *roles };
    bool merges[ROLES];
    for (size_t i = 0; i < ROLES; i++) {
        merges[i] = is_merging_worth_it(layout, roles[i].role, roles[i].access);
        *roles[i].count = gather(layout, roles[i].role, merges[i] ? GATHER_LONG : GATHER_CANONICAL,
                                 roles[i].axes);
    }
    for (uint32_t i = 0; i < problem->axes->axis_count; i++) {
        if (has_role(layout, &problem->axes->axes[i], KILN_AXIS_BATCH) &&
            layout->batch_count < KILN_MAX_BATCH_AXES)
            layout->batches[layout->batch_count++] = problem->axes->axes[i];
    }
    for (uint32_t w = 0; w < problem->axes->window_count; w++) {
        if (problem->axes->windows[w].divisor > 1)
            add_phase(layout, w);
    }
    for (size_t i = 0; i < ROLES; i++) {
        sort_axes(problem, roles[i].access, roles[i].axes, *roles[i].count);
        if (merges[i])
            *roles[i].count = merge_axes(layout, roles[i].axes, *roles[i].count);
    }
    make_batches_of_columns(layout);
}

/* ---- the schedule's ---- */

static int64_t set_role(const struct kiln_contraction_axis *axes, uint32_t count,
                        struct kiln_role_axes *role)
{
    int64_t size = 1;
    role->count = count;
    for (uint32_t i = 0; i < count; i++) {
        role->sizes[i] = axes[i].size;
        role->domain_axes[i] = axes[i].result;
        role->domain_steps[i] = axes[i].result_step;
        size *= axes[i].size;
    }
    return size;
}

static void set_batches(const struct layout *layout)
{
    struct kiln_contraction_schedule *contraction = layout->problem->contraction;
    contraction->batch_rank = layout->batch_count;
    for (uint32_t b = 0; b < layout->batch_count; b++) {
        const struct kiln_contraction_axis *axis = &layout->batches[b];
        contraction->batch_sizes[b] = axis->size;
        contraction->batch_axes[b] = axis->result;
        contraction->batch_domain_steps[b] = axis->result_step;
        contraction->left_repeats[b] =
            layout->is_transposed ? axis->right_repeat : axis->left_repeat;
        contraction->right_repeats[b] =
            layout->is_transposed ? axis->left_repeat : axis->right_repeat;
    }
}

static int64_t window_step(const struct layout *layout, const struct kiln_contraction_axis *axis,
                           uint32_t w)
{
    enum side side = windowed_side(layout);
    uint8_t along = layout->problem->axes->windows[w].axis;
    return operand_axis(axis, side) == along ? operand_step(axis, side) : 0;
}

static void set_windows(const struct layout *layout)
{
    const struct kiln_contraction *contraction = layout->problem->axes;
    struct kiln_contraction_schedule *schedule = layout->problem->contraction;
    bool is_right = contraction->is_right_windowed != layout->is_transposed;
    const struct kiln_contraction_axis *rows = is_right ? layout->columns : layout->rows;
    uint32_t row_count = is_right ? layout->column_count : layout->row_count;
    schedule->window_count = contraction->window_count;
    schedule->is_right_windowed = is_right;
    uint32_t phase = 0;
    for (uint32_t w = 0; w < contraction->window_count; w++) {
        struct kiln_window_schedule *window = &schedule->windows[w];
        *window = (struct kiln_window_schedule){
            .size = contraction->windows[w].size,
            .offset = contraction->windows[w].offset,
            .phase = contraction->windows[w].divisor > 1 ? phase++ : KILN_NONE,
        };
        for (uint32_t i = 0; i < row_count; i++)
            window->row_steps[i] = window_step(layout, &rows[i], w);
        for (uint32_t i = 0; i < layout->sum_count; i++)
            window->k_steps[i] = window_step(layout, &layout->sums[i], w);
        for (uint32_t i = 0; i < layout->batch_count; i++)
            window->batch_steps[i] = window_step(layout, &layout->batches[i], w);
    }
}

/* The stride of an access along one of its two roles, whose index it splits or not. Along windows
 * it does, also where strides happen to be those of one axis: others of the same kernel's are not.
 */
static bool set_role_strides(const struct layout *layout, const struct kiln_access *access,
                             const struct kiln_contraction_axis *axes, uint32_t count,
                             enum kiln_contraction_stride inner, enum kiln_contraction_stride outer,
                             int64_t *strides)
{
    const struct kiln_contraction_problem *problem = layout->problem;
    bool is_split = !is_linear(problem, access, axes, count);
    for (uint32_t i = 0; i < count && count > 1 && walks_along_windows(layout, access); i++)
        is_split |= goes_along_window(layout, &axes[i]);
    strides[inner] = stride_along(problem, access, &axes[count - 1]);
    for (uint32_t i = count - 1; i-- > 0 && is_split;) {
        int64_t after = i + 2 < count ? strides[outer + i + 1] : strides[inner];
        strides[outer + i] =
            axes[i].size == 1 ? after * axes[i + 1].size : stride_along(problem, access, &axes[i]);
    }
    return is_split;
}

/* From where windows begin, and along their phases. */
static void set_window_strides(const struct layout *layout, const struct kiln_access *access,
                               struct kiln_access_schedule *scheduled)
{
    int64_t *strides = scheduled->strides;
    const struct kiln_contraction_problem *problem = layout->problem;
    enum side side = side_of(problem, access->place);
    uint32_t phase = 0;
    for (uint32_t w = 0; w < problem->axes->window_count; w++) {
        const struct kiln_contraction_window *window = &problem->axes->windows[w];
        bool has_phase = window->divisor > 1;
        if (side == windowed_side(layout)) {
            int64_t stride = stride_of(problem, access, window->axis);
            scheduled->is_windowed |= stride != 0;
            if (has_phase)
                strides[KILN_STRIDE_PHASE + phase] = stride;
            else
                strides[KILN_STRIDE_ORIGIN] += window->offset * stride;
        } else if (has_phase && side != SIDE_RESULT) {
            const struct kiln_phase *of = &problem->contraction->phases[phase];
            strides[KILN_STRIDE_PHASE + phase] =
                stride_along(problem, access, &layout->sums[of->k_axis]) / of->spread;
        }
        phase += has_phase;
    }
}

/* Along the axes that are the other operand's rows, of which groups are both's. */
static void set_strides_across(const struct layout *layout, const struct kiln_access *access,
                               bool has_rows, int64_t *strides)
{
    const struct kiln_contraction_axis *axes = has_rows ? layout->columns : layout->rows;
    uint32_t count = has_rows ? layout->column_count : layout->row_count;
    for (uint32_t i = 0; i < count; i++)
        strides[KILN_STRIDE_ACROSS + i] = stride_along(layout->problem, access, &axes[i]);
}

static void set_strides(const struct layout *layout)
{
    const struct kiln_contraction_problem *problem = layout->problem;
    for (uint32_t i = 0; i < problem->group->access_count; i++) {
        const struct kiln_access *access = &problem->group->accesses[i];
        struct kiln_access_schedule *scheduled = &problem->schedule->accesses[i];
        bool is_result = kiln_is_access_of_result(access);
        bool has_rows = is_result || access->place == problem->contraction->left.places[0];
        scheduled->splits_rows =
            set_role_strides(layout, access, has_rows ? layout->rows : layout->columns,
                             has_rows ? layout->row_count : layout->column_count, KILN_STRIDE_ROW,
                             KILN_STRIDE_OUTER_ROW, scheduled->strides);
        scheduled->splits_columns =
            set_role_strides(layout, access, is_result ? layout->columns : layout->sums,
                             is_result ? layout->column_count : layout->sum_count,
                             KILN_STRIDE_COLUMN, KILN_STRIDE_OUTER_COLUMN, scheduled->strides);
        for (uint32_t b = 0; b < layout->batch_count; b++)
            scheduled->strides[KILN_STRIDE_BATCH + b] =
                stride_along(problem, access, &layout->batches[b]);
        set_window_strides(layout, access, scheduled);
        if (problem->contraction->is_direct && side_of(problem, access->place) == SIDE_LEFT)
            set_strides_across(layout, access, has_rows, scheduled->strides);
    }
}

/* Where taps are so many in one phase and so many in another, what follows them in k is where that
 * says; rows beyond the last phase's end are there in all. So nothing is linear along them. */
static void split_phases(const struct layout *layout)
{
    const struct kiln_contraction_problem *problem = layout->problem;
    const struct kiln_contraction_schedule *contraction = problem->contraction;
    for (uint32_t i = 0; i < problem->group->access_count && contraction->phase_count != 0; i++) {
        const struct kiln_access *access = &problem->group->accesses[i];
        struct kiln_access_schedule *scheduled = &problem->schedule->accesses[i];
        if (kiln_is_access_of_result(access) || layout->sum_count < 2 || scheduled->splits_columns)
            continue;
        for (uint32_t axis = 0; axis + 1 < layout->sum_count; axis++) {
            int64_t stride = stride_along(problem, access, &layout->sums[axis]);
            scheduled->strides[KILN_STRIDE_OUTER_COLUMN + axis] = stride;
            scheduled->splits_columns |= stride != 0;
        }
        scheduled->splits_columns |= scheduled->strides[KILN_STRIDE_COLUMN] != 0;
    }
}

void kiln_contraction_lay_out_axes(struct kiln_contraction_problem *problem, bool is_transposed)
{
    struct kiln_contraction_schedule *contraction = problem->contraction;
    struct layout layout = {.problem = problem, .is_transposed = is_transposed};
    contraction->products = problem->group->contract_count;
    contraction->left.part_count = 1;
    contraction->left.places[0] = is_transposed ? KILN_PLACE_RIGHT : KILN_PLACE_LEFT;
    contraction->right.part_count = contraction->products;
    contraction->right.places[0] = is_transposed ? KILN_PLACE_LEFT : KILN_PLACE_RIGHT;
    contraction->right.places[1] = KILN_PLACE_SECOND;
    find_axes(&layout);
    contraction->m = set_role(layout.rows, layout.row_count, &contraction->rows);
    contraction->n = set_role(layout.columns, layout.column_count, &contraction->columns);
    contraction->k = set_role(layout.sums, layout.sum_count, &contraction->sums);
    set_batches(&layout);
    uint32_t phase = 0;
    for (uint32_t w = 0; w < problem->axes->window_count; w++) {
        if (problem->axes->windows[w].divisor > 1)
            name_phase_axes(&layout, w, &contraction->phases[phase++]);
    }
    set_windows(&layout);
    set_strides(&layout);
    split_phases(&layout);
}

bool kiln_is_axis_windowed(const struct kiln_contraction_schedule *contraction,
                           const struct kiln_operand_schedule *operand, bool is_k, uint32_t axis)
{
    if ((operand == &contraction->right) != contraction->is_right_windowed)
        return false;
    for (uint32_t w = 0; w < contraction->window_count; w++) {
        const int64_t *steps =
            is_k ? contraction->windows[w].k_steps : contraction->windows[w].row_steps;
        if (steps[axis] != 0)
            return true;
    }
    return false;
}
