#include "compiler/schedule/contraction_runs.h"

#include "compiler/fuse/fuse_family.h"
#include "compiler/schedule/vector_access.h"

enum { MOST_WASTE = 2 }; /* of k, for loads that are as many times fewer as a pack has elements */

/* Whether vectors may begin at any element. */
static bool begin_anywhere(const struct kiln_target *target)
{
    return kiln_vector_alignment(target, KILN_DTYPE_F16, 2) <= 2;
}

/* Whether an axis is that along which the heaviest access of an operand has neighbours. */
static bool is_dense(const struct kiln_contraction_problem *problem, enum kiln_place place,
                     const struct kiln_contraction_axis *axis)
{
    uint32_t access = kiln_contraction_heaviest(problem, place, false);
    return access != KILN_NONE &&
           kiln_stride_along(problem, &problem->group->accesses[access], axis) == 1;
}

/* The axis of k that goes along this axis of an operand; NULL where there is none, or another axis
 * does as well and is no row. */
static const struct kiln_contraction_axis *k_along(const struct kiln_contraction *contraction,
                                                   enum kiln_contract_operand side, uint8_t axis)
{
    const struct kiln_contraction_axis *found = NULL;
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        const struct kiln_contraction_axis *other = &contraction->axes[i];
        if (kiln_operand_axis(other, side) != axis || other->role == KILN_AXIS_M ||
            other->role == KILN_AXIS_N)
            continue;
        if (other->role != KILN_AXIS_K || found != NULL)
            return NULL;
        found = other;
    }
    return found;
}

/* Whether nothing but this axis goes along its operand's. */
static bool is_alone(const struct kiln_contraction *contraction, enum kiln_contract_operand side,
                     const struct kiln_contraction_axis *axis)
{
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        const struct kiln_contraction_axis *other = &contraction->axes[i];
        if (other != axis && kiln_operand_axis(other, side) == kiln_operand_axis(axis, side))
            return false;
    }
    return true;
}

/* Whether all accesses of both operands have the channels of a tap behind those of the one before,
 * and the heaviest of each one behind the other. */
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
static bool join(const struct kiln_contraction *contraction, uint32_t window,
                 enum kiln_contract_operand side, const struct kiln_contraction_axis *taps,
                 const struct kiln_contraction_axis *channels, struct kiln_contraction *ret_joined)
{
    uint8_t along = contraction->windows[window].axis;
    uint8_t to = kiln_operand_axis(channels, side);
    struct kiln_contraction_window *joined = &ret_joined->windows[window];
    *ret_joined = *contraction;
    ret_joined->axis_count = 0;
    joined->axis = to;
    if (__builtin_mul_overflow(joined->size, channels->size, &joined->size) ||
        __builtin_mul_overflow(joined->offset, channels->size, &joined->offset) ||
        joined->size > INT32_MAX / 2 || joined->offset < INT32_MIN / 2)
        return false;
    for (uint32_t i = 0; i < contraction->axis_count; i++) {
        const struct kiln_contraction_axis *axis = &contraction->axes[i];
        if (axis == taps)
            continue;
        struct kiln_contraction_axis *kept = &ret_joined->axes[ret_joined->axis_count++];
        *kept = *axis;
        if (axis == channels)
            kept->size *= taps->size;
        else if (side == KILN_CONTRACT_LEFT && axis->left == along) {
            kept->left = to;
            kept->left_step *= channels->size;
        } else if (side == KILN_CONTRACT_RIGHT && axis->right == along) {
            kept->right = to;
            kept->right_step *= channels->size;
        }
    }
    return true;
}

bool kiln_join_channels(const struct kiln_contraction_problem *problem, uint32_t pack,
                        struct kiln_contraction *ret_joined)
{
    const struct kiln_contraction *contraction = problem->axes;
    enum kiln_contract_operand side =
        contraction->is_right_windowed ? KILN_CONTRACT_RIGHT : KILN_CONTRACT_LEFT;
    if (!begin_anywhere(problem->target))
        return false;
    for (uint32_t w = 0; w < contraction->window_count; w++) {
        const struct kiln_contraction_axis *taps =
            k_along(contraction, side, contraction->windows[w].axis);
        if (contraction->windows[w].divisor != 1 || taps == NULL || taps->size == 1 ||
            kiln_operand_step(taps, side) != 1)
            continue;
        for (uint32_t i = 0; i < contraction->axis_count; i++) {
            const struct kiln_contraction_axis *channels = &contraction->axes[i];
            uint8_t axis = kiln_operand_axis(channels, side);
            if (channels->role == KILN_AXIS_K && channels != taps && channels->size % pack != 0 &&
                kiln_operand_step(channels, side) == 1 &&
                kiln_contraction_window_over(contraction, contraction->is_right_windowed, axis) ==
                    NULL &&
                is_alone(contraction, side, channels) && are_neighbours(problem, taps, channels))
                return join(contraction, w, side, taps, channels, ret_joined);
        }
    }
    return false;
}

bool kiln_has_runs(const struct kiln_kernel_axes *kernel, uint32_t pack)
{
    const struct kiln_contraction_problem *problem = kernel->problem;
    const struct kiln_contraction_axis *last = &kernel->sums[kernel->sum_count - 1];
    int64_t waste = (last->size + pack - 1) / pack * pack - last->size;
    if (problem->contraction->is_direct || problem->contraction->phase_count != 0 ||
        problem->contraction->products != 1 || kernel->batch_count != 0 || kernel->sum_count < 2 ||
        !begin_anywhere(problem->target) || !kiln_goes_along_window(kernel, last) ||
        kiln_operand_step(last, kiln_windowed_side(kernel)) != 1 ||
        waste > (MOST_WASTE - 1) * last->size)
        return false;
    for (uint32_t i = 0; i < problem->group->access_count; i++) {
        const struct kiln_access *access = &problem->group->accesses[i];
        int64_t stride = kiln_stride_along(problem, access, last);
        if (!kiln_is_access_of_result(access) && stride != 0 && stride != 1)
            return false;
    }
    return is_dense(problem, KILN_PLACE_LEFT, last) && is_dense(problem, KILN_PLACE_RIGHT, last);
}

int64_t kiln_last_pack(const struct kiln_contraction_problem *problem, uint32_t access,
                       uint32_t pack)
{
    const struct kiln_access *memory = &problem->group->accesses[access];
    const struct kiln_domain *domain =
        &problem->ir->domains[kiln_group_place_domain(problem->ir, problem->group, memory->place)];
    int64_t elements = 1;
    for (uint32_t i = 0; i < domain->rank; i++)
        elements += (domain->dims[i] - 1) * memory->strides[i];
    return elements - pack;
}
