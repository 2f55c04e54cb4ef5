#include "compiler/schedule/contraction_sums.h"

#include "compiler/fuse/contraction_group.h"
#include "compiler/schedule/contraction_loads.h"
#include "compiler/schedule/schedule_contraction.h"

enum {
    /* Of a work-group: 64 bytes of halves where they are neighbours in memory. With more of them
     * there would be fewer work-groups, each with longer to go along k. */
    ROWS_TOGETHER = 32,
    ROWS_APART = 16,
};

void kiln_choose_operand_sums(const struct kiln_contraction_problem *problem)
{
    struct kiln_contraction_schedule *contraction = problem->contraction;
    if (kiln_group_operand_sum(problem->ir, problem->group) == KILN_NONE)
        return;
    struct kiln_operand_schedule *summed = &contraction->summed;
    *summed = contraction->is_right_summed ? contraction->right : contraction->left;
    bool is_whole = kiln_has_whole_loads(problem, summed);
    summed->run = !summed->is_along_k && is_whole ? KILN_WIDEST_RUN : 1;
    summed->pieces = 1;
    contraction->sum_rows = summed->is_along_k ? ROWS_APART : ROWS_TOGETHER;
    contraction->sum_segments = 1;
    for (uint32_t i = problem->group->load_count; i < problem->group->access_count; i++) {
        const struct kiln_access *store = &problem->group->accesses[i];
        if (store->place == KILN_PLACE_SUM && store->is_accumulator)
            contraction->sum_segments = contraction->segments;
    }
    int64_t rows = contraction->is_right_summed ? contraction->n : contraction->m;
    uint64_t groups = (uint64_t)(rows + contraction->sum_rows - 1) / contraction->sum_rows *
                      contraction->sum_segments;
    uint32_t access = kiln_contraction_heaviest(problem, summed->places[0], false);
    uint32_t bytes =
        access == KILN_NONE ? 0 : kiln_dtype_info(problem->group->accesses[access].dtype)->bytes;
    contraction->summed_bytes = (uint64_t)rows * (uint64_t)contraction->k * bytes;
    for (uint32_t b = 0; b < contraction->batch_rank; b++) {
        if ((contraction->summed_batches >> b & 1u) == 0)
            continue;
        groups *= (uint64_t)contraction->batch_sizes[b];
        contraction->summed_bytes *= (uint64_t)contraction->batch_sizes[b];
    }
    contraction->sum_groups = groups > INT32_MAX ? INT32_MAX : (uint32_t)groups;
}

uint32_t kiln_operand_sums_lds_bytes(const struct kiln_contraction_problem *problem)
{
    const struct kiln_contraction_schedule *contraction = problem->contraction;
    if (contraction->sum_groups == 0)
        return 0;
    uint32_t packs = contraction->tile_k / kiln_pack_elements(contraction);
    uint32_t units = contraction->sum_rows / contraction->summed.run * packs;
    uint32_t tiles = problem->schedule->block > units ? problem->schedule->block / units : 1;
    return contraction->sum_rows * packs * tiles *
           kiln_dtype_info(kiln_scalar_dtype(problem->op->scalar))->bytes;
}
