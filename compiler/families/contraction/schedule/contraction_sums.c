#include "compiler/families/contraction/schedule/contraction_sums.h"

#include "compiler/families/contraction/fuse/contraction_group.h"
#include "compiler/families/contraction/schedule/contraction_fragments.h"
#include "compiler/families/contraction/schedule/contraction_loads.h"

enum {
    /* Rows of a work-group: 64 bytes of halves where rows are neighbours in memory. More rows would
     * leave fewer work-groups, and each would take longer along k. */
    ROWS_TOGETHER = 32,
    ROWS_APART = 16,
};

void kiln_choose_operand_sums(const struct kiln_contraction_problem *problem)
{
    struct kiln_contraction_schedule *contraction = problem->contraction;
    if (kiln_group_operand_sum(problem->ir, problem->group) == KILN_NONE)
        return;
    struct kiln_operand_schedule *summed = &contraction->operand_sum.operand;
    *summed = contraction->operand_sum.is_right ? contraction->right : contraction->left;
    bool is_whole = kiln_has_whole_loads(problem, summed);
    summed->run = !summed->is_along_k && is_whole ? KILN_WIDEST_RUN : 1;
    summed->pieces = 1;
    summed->lane_run = 1;
    contraction->operand_sum.rows = summed->is_along_k ? ROWS_APART : ROWS_TOGETHER;
    contraction->operand_sum.segments = 1;
    for (uint32_t i = problem->group->load_count; i < problem->group->access_count; i++) {
        const struct kiln_access *store = &problem->group->accesses[i];
        if (store->place == KILN_PLACE_SUM && store->is_accumulator)
            contraction->operand_sum.segments = kiln_ending_segments(&contraction->ending);
    }
    int64_t rows =
        contraction->operand_sum.is_right ? contraction->problem.n : contraction->problem.m;
    uint64_t groups = (uint64_t)(rows + contraction->operand_sum.rows - 1) /
                      contraction->operand_sum.rows * contraction->operand_sum.segments;
    uint32_t access = kiln_contraction_heaviest(problem, summed->places[0], false);
    uint32_t bytes =
        access == KILN_NONE ? 0 : kiln_dtype_info(problem->group->accesses[access].dtype)->bytes;
    contraction->operand_sum.bytes = (uint64_t)rows * (uint64_t)contraction->problem.k * bytes;
    for (uint32_t b = 0; b < contraction->problem.batches.rank; b++) {
        if ((contraction->operand_sum.batches >> b & 1u) == 0)
            continue;
        groups *= (uint64_t)contraction->problem.batches.sizes[b];
        contraction->operand_sum.bytes *= (uint64_t)contraction->problem.batches.sizes[b];
    }
    contraction->operand_sum.groups = groups > INT32_MAX ? INT32_MAX : (uint32_t)groups;
}

uint32_t kiln_operand_sums_lds_bytes(const struct kiln_contraction_problem *problem)
{
    const struct kiln_contraction_schedule *contraction = problem->contraction;
    if (contraction->operand_sum.groups == 0)
        return 0;
    uint32_t packs = contraction->tile.k / kiln_pack_elements(contraction);
    uint32_t units = contraction->operand_sum.rows / contraction->operand_sum.operand.run * packs;
    uint32_t tiles =
        problem->schedule->launch.block > units ? problem->schedule->launch.block / units : 1;
    return contraction->operand_sum.rows * packs * tiles *
           kiln_dtype_info(kiln_scalar_dtype(problem->op->scalar))->bytes;
}
