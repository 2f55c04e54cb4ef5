#include "compiler/families/contraction/schedule/contraction_modes.h"

#include "compiler/families/contraction/fuse/contraction_group.h"
#include "compiler/families/contraction/schedule/contraction_loads.h"
#include "compiler/fuse/fuse_family.h"
#include "compiler/schedule/vector_access.h"

void kiln_set_access_mode(const struct kiln_contraction_problem *problem, uint32_t access,
                          int64_t stride, uint32_t vector)
{
    enum kiln_dtype dtype = problem->group->accesses[access].dtype;
    struct kiln_access_schedule *scheduled = &problem->schedule->accesses[access];
    bool is_vector = stride == 1 && vector > 1;
    scheduled->mode = stride == 0 ? KILN_ACCESS_SPLAT
                      : is_vector ? KILN_ACCESS_VECTOR
                                  : KILN_ACCESS_GATHER;
    scheduled->alignment_bytes = is_vector ? kiln_vector_alignment(problem->target, dtype, vector)
                                           : kiln_dtype_info(dtype)->bytes;
}

void kiln_set_access_modes(struct kiln_contraction_problem *problem)
{
    const struct kiln_contraction_schedule *contraction = problem->contraction;
    for (uint32_t i = 0; i < problem->group->access_count; i++) {
        const struct kiln_access *memory = &problem->group->accesses[i];
        const struct kiln_access_schedule *access = &problem->schedule->accesses[i];
        const struct kiln_operand_schedule *operand =
            memory->place == contraction->left.places[0] ? &contraction->left : &contraction->right;
        bool is_result = kiln_is_access_of_result(memory);
        bool is_of_sums = memory->place == KILN_PLACE_SUM; /* a work-item has one */
        bool is_summed = contraction->operand_sum.groups != 0 &&
                         memory->place == contraction->operand_sum.operand.places[0];
        bool along_column = is_result || operand->is_along_k;
        uint32_t vector = is_result             ? contraction->result_vector
                          : operand->is_along_k ? operand->vector
                          : is_summed           ? contraction->operand_sum.operand.run
                                                : operand->run;
        int64_t stride = access->strides[along_column ? KILN_STRIDE_COLUMN : KILN_STRIDE_ROW];
        const struct kiln_contraction_access *walks = &contraction->accesses[i];
        bool has_blocks = !is_result && (along_column ? walks->k_repeat : walks->row_repeat) != 0;
        bool is_of_block = contraction->problem.block != 0 && memory->place == KILN_PLACE_ROW;
        bool is_few = has_blocks || is_of_block || is_of_sums || kiln_place_routes(memory->place) ||
                      (memory->is_accumulator && memory->place == KILN_PLACE_ROW);
        kiln_set_access_mode(problem, i, stride, is_few ? 1 : vector);
        if (problem->schedule->accesses[i].mode == KILN_ACCESS_VECTOR && !is_result &&
            operand->is_along_k && !kiln_are_packs_aligned(problem, i, vector))
            problem->schedule->accesses[i].alignment_bytes = kiln_dtype_info(memory->dtype)->bytes;
    }
}

void kiln_set_direct_modes(struct kiln_contraction_problem *problem)
{
    const struct kiln_contraction_schedule *contraction = problem->contraction;
    uint32_t vector = contraction->result_vector;
    kiln_set_access_modes(problem);
    for (uint32_t i = 0; i < problem->group->access_count; i++) {
        const struct kiln_access *memory = &problem->group->accesses[i];
        const struct kiln_access_schedule *access = &problem->schedule->accesses[i];
        if (kiln_is_access_of_result(memory))
            continue;
        bool is_vector = vector > 1 && memory->place == KILN_PLACE_LEFT &&
                         contraction->left.places[0] == KILN_PLACE_LEFT &&
                         contraction->problem.columns.count == 1 &&
                         access->strides[KILN_STRIDE_ACROSS] == 1 &&
                         kiln_is_access_aligned(problem, i, KILN_STRIDE_ACROSS, vector);
        /* Stride 1 rules out a splat: a pixel may lie outside of the image for some work-items
         * only. */
        kiln_set_access_mode(problem, i, 1, is_vector ? vector : 1);
    }
}

/* How far elements of an access that is split, or of a direct operand, are apart at most; 0 of
 * others. */
static int64_t footprint(const struct kiln_contraction_problem *problem, uint32_t access)
{
    const struct kiln_access *memory = &problem->group->accesses[access];
    const struct kiln_contraction_access *walks = &problem->contraction->accesses[access];
    bool is_windowed =
        problem->contraction->problem.windows.count != 0 && !kiln_is_access_of_result(memory);
    const struct kiln_domain *domain =
        &problem->ir->domains[kiln_group_place_domain(problem->ir, problem->group, memory->place)];
    int64_t elements = 1;
    for (uint32_t i = 0; i < domain->rank; i++)
        elements += (domain->dims[i] - 1) * memory->strides[i];
    bool is_whole = kiln_pipeline_is_direct(&problem->contraction->pipeline) &&
                    (!kiln_is_access_of_result(memory) ||
                     problem->contraction->pipeline.kind == KILN_PIPELINE_STRIPS);
    enum kiln_routing routing = problem->contraction->problem.routing;
    bool is_routed = (routing == KILN_ROUTING_GATHER && memory->place == KILN_PLACE_LEFT) ||
                     (routing == KILN_ROUTING_SCATTER && kiln_is_access_of_result(memory));
    return walks->splits_rows || walks->splits_columns || is_windowed || is_whole || is_routed
               ? elements
               : 0;
}

bool kiln_offsets_need_64_bits(const struct kiln_contraction_problem *problem)
{
    const int64_t limit = INT32_MAX - (1 << 20);
    const struct kiln_contraction_schedule *contraction = problem->contraction;
    if (contraction->problem.m > limit || contraction->problem.n > limit ||
        contraction->problem.k > limit)
        return true;
    for (uint32_t i = 0; i < problem->group->access_count; i++) {
        const int64_t *strides = problem->schedule->accesses[i].strides;
        /* Within a tile; from tile to tile pointers go. */
        int64_t rows =
            contraction->tile.m > contraction->tile.n ? contraction->tile.m : contraction->tile.n;
        int64_t columns = rows > (int64_t)contraction->tile.k ? rows : (int64_t)contraction->tile.k;
        /* Offsets are bytes. */
        int64_t most = limit / 2 / kiln_dtype_info(problem->group->accesses[i].dtype)->bytes;
        if (strides[KILN_STRIDE_ROW] > most / rows || strides[KILN_STRIDE_COLUMN] > most / columns)
            return true;
        /* What is taken apart is counted from the first element of all. */
        if (footprint(problem, i) > most)
            return true;
    }
    return false;
}

bool kiln_walks_along_k(const struct kiln_contraction_schedule *contraction)
{
    /* In a streamed kernel, what is known of all the steps on their way would take more registers
     * than there are. */
    return contraction->problem.sums.count > 1 && contraction->k_granule == 1 &&
           contraction->pipeline.kind != KILN_PIPELINE_STREAMED &&
           !kiln_pipeline_is_direct(&contraction->pipeline);
}

bool kiln_is_access_walked(const struct kiln_contraction_schedule *contraction,
                           const struct kiln_operand_schedule *operand,
                           const struct kiln_schedule *schedule,
                           const struct kiln_fusion_group *group, uint32_t access)
{
    bool is_vector = operand->is_along_k && schedule->accesses[access].mode == KILN_ACCESS_VECTOR;
    return kiln_walks_along_k(contraction) && !is_vector &&
           group->accesses[access].kind != KILN_ARGUMENT_HOST_SCALAR &&
           contraction->accesses[access].splits_columns;
}

/* True if one access of the operands is walked, and has the windows. */
static bool is_one_walked(const struct kiln_contraction_problem *problem)
{
    const struct kiln_contraction_schedule *contraction = problem->contraction;
    uint32_t count = 0, windowed = 0;
    for (uint32_t i = 0; i < problem->group->load_count; i++) {
        enum kiln_place place = problem->group->accesses[i].place;
        bool is_left = place == contraction->left.places[0];
        if ((is_left || place == contraction->right.places[0]) &&
            kiln_is_access_walked(contraction, is_left ? &contraction->left : &contraction->right,
                                  problem->schedule, problem->group, i)) {
            count++;
            windowed += contraction->accesses[i].is_windowed;
        }
    }
    return count == 1 && windowed == 1;
}

/* True if device/contraction/inside_table.h is possible, wherever there is room. */
static bool may_have_table(const struct kiln_contraction_problem *problem)
{
    enum { MOST_WINDOWS = 3 };
    const struct kiln_contraction_schedule *contraction = problem->contraction;
    const struct kiln_product_problem *sizes = &contraction->problem;
    bool is_staged = contraction->pipeline.kind == KILN_PIPELINE_STAGED &&
                     contraction->tile.waves_k == 1 && problem->target->wave_size > 1;
    bool is_single = sizes->products == 1 && contraction->operand_sum.groups == 0;
    return is_staged && is_single && !contraction->left.is_along_k &&
           !contraction->right.is_along_k && sizes->windows.count <= MOST_WINDOWS &&
           sizes->windows.phase_count == 0 && is_one_walked(problem) &&
           !kiln_offsets_need_64_bits(problem);
}

uint32_t kiln_table_bytes(const struct kiln_contraction_problem *problem)
{
    enum { TABLES = 2, POINT_BYTES = 16 };
    return may_have_table(problem) ? TABLES * problem->contraction->tile.k * POINT_BYTES : 0;
}
