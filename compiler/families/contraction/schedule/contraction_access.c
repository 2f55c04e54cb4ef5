#include "compiler/families/contraction/schedule/contraction_access.h"

#include "compiler/families/contraction/fuse/contraction_group.h"
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

/* Elements from an index on an axis of the contraction to the next one. */
int64_t kiln_stride_along(const struct kiln_contraction_problem *problem,
                          const struct kiln_access *access,
                          const struct kiln_contraction_axis *axis)
{
    const struct kiln_map_axis *of = &axis->of[kiln_contract_operand_of(problem, access->place)];
    return of->along == KILN_NO_AXIS
               ? 0
               : kiln_stride_of_axis(problem, access, of->along) * of->step.value;
}

int64_t kiln_repeat_along(const struct kiln_contraction_problem *problem,
                          const struct kiln_access *access,
                          const struct kiln_contraction_axis *axis)
{
    const struct kiln_domain *domain =
        &problem->ir->domains[kiln_group_place_domain(problem->ir, problem->group, access->place)];
    uint8_t along = axis->of[kiln_contract_operand_of(problem, access->place)].along;
    return along < domain->rank ? access->repeats[domain->rank - 1 - along] : 0;
}

bool kiln_access_has_blocks(const struct kiln_contraction_schedule *contraction,
                            const struct kiln_fusion_group *group, uint32_t access)
{
    return kiln_dtype_is_packed(group->accesses[access].dtype) ||
           contraction->accesses[access].row_repeat != 0 ||
           contraction->accesses[access].k_repeat != 0;
}

static uint64_t access_bytes(const struct kiln_contraction_problem *problem, uint32_t access)
{
    const struct kiln_access *memory = &problem->group->accesses[access];
    const struct kiln_domain *domain =
        &problem->ir->domains[kiln_group_place_domain(problem->ir, problem->group, memory->place)];
    uint64_t elements = 1;
    for (uint32_t i = 0; i < domain->rank; i++)
        elements *= (uint64_t)kiln_access_elements_along(memory, i, domain->dims[i]);
    return (uint64_t)kiln_dtype_memory_bytes(memory->dtype, (int64_t)elements);
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
        uint64_t bytes = problem->ir->is_general ? 0 : access_bytes(problem, i);
        if (found == KILN_NONE || bytes > most) {
            most = bytes;
            found = i;
        }
    }
    return found;
}

/* True if some axis of a role is of the result's that values of the group are reduced along. */
static bool is_reduced_along(const struct kiln_contraction_problem *problem,
                             enum kiln_axis_role role)
{
    uint32_t rank = problem->ir->domains[problem->group->domain].rank;
    for (uint32_t i = 0; i < problem->axes->axis_count; i++) {
        uint8_t along = problem->axes->maps[KILN_CONTRACT_RESULT].axes[i].along;
        if (problem->axes->roles[i] == role && along < rank &&
            (problem->group->reduced_axes >> (rank - 1 - along) & 1u) != 0)
            return true;
    }
    return false;
}

/* True if an access has neighbours along a role: the stride of one of its axes is 1. */
static bool is_dense_along(const struct kiln_contraction_problem *problem, uint32_t access,
                           enum kiln_axis_role role)
{
    for (uint32_t i = 0; i < problem->axes->axis_count; i++) {
        const struct kiln_contraction_axis axis = kiln_contraction_axis_at(problem->axes, i);
        if (axis.role == role && axis.size > 1 &&
            kiln_stride_along(problem, &problem->group->accesses[access], &axis) == 1)
            return true;
    }
    return false;
}

uint32_t kiln_heaviest_bytes(const struct kiln_contraction_problem *problem, enum kiln_place place,
                             bool is_store)
{
    uint32_t access = kiln_contraction_heaviest(problem, place, is_store);
    return access == KILN_NONE ? 1 : kiln_dtype_info(problem->group->accesses[access].dtype)->bytes;
}

bool kiln_contraction_is_transposed(const struct kiln_contraction_problem *problem)
{
    if (problem->contraction->pipeline.kind == KILN_PIPELINE_GRADIENT ||
        kiln_routing_has_rows(problem->axes->routing))
        return false;
    /* Phases are of rows. */
    if (kiln_map_has_divisor(kiln_contraction_image(problem->axes)))
        return problem->axes->image == KILN_CONTRACT_RIGHT;
    if (kiln_group_has_whole_rows(problem->group))
        return is_reduced_along(problem, KILN_AXIS_M);
    if (problem->group->anchor_count == 2)
        return kiln_group_shared_place(problem->ir, problem->group) == KILN_PLACE_RIGHT;
    uint32_t store = kiln_contraction_heaviest(problem, KILN_PLACE_ELEMENT, true);
    return store != KILN_NONE && !problem->ir->is_general &&
           is_dense_along(problem, store, KILN_AXIS_M) &&
           !is_dense_along(problem, store, KILN_AXIS_N);
}
