#include "compiler/schedule/contraction_access.h"

#include "compiler/fuse/contraction_group.h"
#include "compiler/fuse/fuse_family.h"

bool kiln_is_access_of_result(const struct kiln_access *access)
{
    return access->place == KILN_PLACE_ELEMENT || access->place == KILN_PLACE_ROW;
}

enum kiln_contract_operand kiln_contract_operand_of(const struct kiln_contraction_problem *problem,
                                                    enum kiln_place place)
{
    if (place == KILN_PLACE_SECOND)
        place = kiln_group_shared_place(problem->ir, problem->group) == KILN_PLACE_LEFT
                    ? KILN_PLACE_RIGHT
                    : KILN_PLACE_LEFT;
    if (place == KILN_PLACE_SUM)
        place = kiln_group_summed_place(problem->ir, problem->group);
    return place == KILN_PLACE_LEFT    ? KILN_CONTRACT_LEFT
           : place == KILN_PLACE_RIGHT ? KILN_CONTRACT_RIGHT
                                       : KILN_CONTRACT_RESULT;
}

/* The stride of an access along an axis of its domain, counted from the right. */
int64_t kiln_stride_of_axis(const struct kiln_contraction_problem *problem,
                            const struct kiln_access *access, uint8_t from_right)
{
    const struct kiln_domain *domain =
        &problem->ir->domains[kiln_group_place_domain(problem->ir, problem->group, access->place)];
    return from_right < domain->rank ? access->strides[domain->rank - 1 - from_right] : 0;
}

uint8_t kiln_operand_axis(const struct kiln_contraction_axis *axis, enum kiln_contract_operand side)
{
    return side == KILN_CONTRACT_LEFT    ? axis->left
           : side == KILN_CONTRACT_RIGHT ? axis->right
                                         : axis->result;
}

int64_t kiln_operand_step(const struct kiln_contraction_axis *axis, enum kiln_contract_operand side)
{
    return side == KILN_CONTRACT_LEFT    ? axis->left_step
           : side == KILN_CONTRACT_RIGHT ? axis->right_step
                                         : axis->result_step;
}

/* Elements from an index on an axis of the contraction to the next one. */
int64_t kiln_stride_along(const struct kiln_contraction_problem *problem,
                          const struct kiln_access *access,
                          const struct kiln_contraction_axis *axis)
{
    enum kiln_contract_operand side = kiln_contract_operand_of(problem, access->place);
    uint8_t from_right = kiln_operand_axis(axis, side);
    return from_right == KILN_NO_AXIS
               ? 0
               : kiln_stride_of_axis(problem, access, from_right) * kiln_operand_step(axis, side);
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
            kiln_stride_along(problem, &problem->group->accesses[access], axis) == 1)
            return true;
    }
    return false;
}

bool kiln_contraction_is_transposed(const struct kiln_contraction_problem *problem)
{
    if (problem->contraction->is_direct_gradient)
        return false;
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
