#include "compiler/families/contraction/schedule/contraction_runs.h"

#include "compiler/families/contraction/fuse/contraction_group.h"
#include "compiler/fuse/fuse_family.h"

enum { MOST_WASTE = 2 }; /* of k, for loads that are as many times fewer as a pack has elements */

/* True if the heaviest access of an operand has stride 1 along an axis. */
static bool is_dense(const struct kiln_contraction_problem *problem, enum kiln_place place,
                     const struct kiln_contraction_axis *axis)
{
    uint32_t access = kiln_contraction_heaviest(problem, place, false);
    return access != KILN_NONE &&
           kiln_stride_along(problem, &problem->group->accesses[access], axis) == 1;
}

/* The index of the axis of k that goes along this axis of the image; KILN_NONE where there is none,
 * or another axis does as well and is no row. */
static uint32_t k_along(const struct kiln_contraction *contraction, uint8_t along)
{
    const struct kiln_map *image = kiln_contraction_image(contraction);
    uint32_t found = KILN_NONE;
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        enum kiln_axis_role role = contraction->roles[i];
        if (image->axes[i].along != along || role == KILN_AXIS_M || role == KILN_AXIS_N)
            continue;
        if (role != KILN_AXIS_K || found != KILN_NONE)
            return KILN_NONE;
        found = i;
    }
    return found;
}

/* True if nothing but this axis goes along its axis of the image. */
static bool is_alone(const struct kiln_map *image, uint32_t axis)
{
    for (uint32_t i = 0; i < image->axis_count; i++) {
        if (i != axis && image->axes[i].along == image->axes[axis].along)
            return false;
    }
    return true;
}

/* True if every access of both operands has the channels of a tap right after the previous tap's.
 * The heaviest access of each operand must also have stride 1 along the channels. */
static bool are_neighbours(const struct kiln_contraction_problem *problem,
                           const struct kiln_contraction_axis *taps,
                           const struct kiln_contraction_axis *channels)
{
    for (uint32_t i = 0; i < problem->group->access_count; i++) {
        const struct kiln_access *access = &problem->group->accesses[i];
        if (!kiln_is_access_of_result(access) &&
            kiln_stride_along(problem, access, taps) !=
                kiln_stride_along(problem, access, channels) * channels->size)
            return false;
    }
    return is_dense(problem, KILN_PLACE_LEFT, channels) &&
           is_dense(problem, KILN_PLACE_RIGHT, channels);
}

/* Everything that goes along the window is counted in channels. */
static bool join(const struct kiln_contraction *contraction, uint32_t window, uint32_t taps,
                 uint32_t channels, struct kiln_contraction *ret_joined)
{
    const struct kiln_map *image = kiln_contraction_image(contraction);
    uint8_t over = image->windows[window].over;
    uint8_t to = image->axes[channels].along;
    int64_t count = contraction->sizes[channels];
    *ret_joined = (struct kiln_contraction){.image = contraction->image};
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        struct kiln_contraction_axis axis = kiln_contraction_axis_at(contraction, i);
        struct kiln_map_axis *of_image = &axis.of[contraction->image];
        if (i == taps)
            continue;
        if (i == channels) {
            axis.size *= contraction->sizes[taps];
        } else if (of_image->along == over) {
            of_image->along = to;
            of_image->step.value *= count;
        }
        kiln_contraction_append(ret_joined, axis.role, axis.size, axis.of[KILN_CONTRACT_LEFT],
                                axis.of[KILN_CONTRACT_RIGHT], axis.of[KILN_CONTRACT_RESULT]);
    }
    struct kiln_map *joined_image = &ret_joined->maps[ret_joined->image];
    joined_image->window_count = image->window_count;
    for (uint32_t w = 0; w < image->window_count; w++)
        joined_image->windows[w] = image->windows[w];
    struct kiln_map_window *joined = &joined_image->windows[window];
    joined->over = to;
    return !__builtin_mul_overflow(joined->size.value, count, &joined->size.value) &&
           !__builtin_mul_overflow(joined->offset.value, count, &joined->offset.value) &&
           joined->size.value <= INT32_MAX / 2 && joined->offset.value >= INT32_MIN / 2;
}

/* True if these channels and the taps can be one axis, and packs of channels alone are not whole.
 */
static bool may_join(const struct kiln_contraction_problem *problem, uint32_t taps,
                     uint32_t channels, uint32_t pack)
{
    const struct kiln_contraction *contraction = problem->axes;
    const struct kiln_map *image = kiln_contraction_image(contraction);
    const struct kiln_map_axis *along = &image->axes[channels];
    if (contraction->roles[channels] != KILN_AXIS_K || channels == taps ||
        contraction->sizes[channels] % pack == 0 || along->step.value != 1 ||
        kiln_map_window_over(image, along->along) != NULL || !is_alone(image, channels))
        return false;
    const struct kiln_contraction_axis of_taps = kiln_contraction_axis_at(contraction, taps);
    const struct kiln_contraction_axis of_channels =
        kiln_contraction_axis_at(contraction, channels);
    return are_neighbours(problem, &of_taps, &of_channels);
}

bool kiln_join_channels(const struct kiln_contraction_problem *problem, uint32_t pack,
                        struct kiln_contraction *ret_joined)
{
    const struct kiln_contraction *contraction = problem->axes;
    const struct kiln_map *image = kiln_contraction_image(contraction);
    if (problem->ir->is_general)
        return false;
    for (uint32_t w = 0; w < image->window_count; w++) {
        uint32_t taps = k_along(contraction, image->windows[w].over);
        if (image->windows[w].divisor.value != 1 || taps == KILN_NONE ||
            contraction->sizes[taps] == 1 || image->axes[taps].step.value != 1)
            continue;
        for (uint32_t i = 0; i < contraction->axis_count; i++) {
            if (may_join(problem, taps, i, pack))
                return join(contraction, w, taps, i, ret_joined);
        }
    }
    return false;
}

bool kiln_has_runs(const struct kiln_kernel_axes *kernel, uint32_t pack)
{
    const struct kiln_contraction_problem *problem = kernel->problem;
    const struct kiln_contraction_axis *last = &kernel->sums[kernel->sum_count - 1];
    int64_t waste = (last->size + pack - 1) / pack * pack - last->size;
    if (problem->ir->is_general || kiln_pipeline_is_direct(&problem->contraction->pipeline) ||
        problem->contraction->problem.windows.phase_count != 0 ||
        problem->contraction->problem.products != 1 || kernel->batch_count != 0 ||
        kernel->sum_count < 2 || !kiln_goes_along_window(kernel, last) ||
        last->of[problem->axes->image].step.value != 1 || waste > (MOST_WASTE - 1) * last->size)
        return false;
    for (uint32_t i = 0; i < problem->group->access_count; i++) {
        const struct kiln_access *access = &problem->group->accesses[i];
        int64_t stride = kiln_stride_along(problem, access, last);
        if (!kiln_is_access_of_result(access) && stride != 0 &&
            (stride != 1 || kiln_last_pack(problem->ir, problem->group, i, pack) < 0))
            return false;
    }
    return is_dense(problem, KILN_PLACE_LEFT, last) && is_dense(problem, KILN_PLACE_RIGHT, last);
}

int64_t kiln_last_pack(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                       uint32_t access, uint32_t pack)
{
    const struct kiln_access *memory = &group->accesses[access];
    const struct kiln_domain *domain =
        &ir->domains[kiln_group_place_domain(ir, group, memory->place)];
    int64_t elements = 1;
    for (uint32_t i = 0; i < domain->rank; i++)
        elements += (domain->dims[i] - 1) * memory->strides[i];
    return elements - pack;
}
