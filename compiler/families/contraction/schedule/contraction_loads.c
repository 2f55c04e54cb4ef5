#include "compiler/families/contraction/schedule/contraction_loads.h"

#include "compiler/families/contraction/fuse/contraction_group.h"
#include "compiler/families/contraction/schedule/contraction_fragments.h"
#include "compiler/families/contraction/schedule/contraction_layout.h"
#include "compiler/schedule/vector_access.h"

#include <stdlib.h>

/* Vectors of packed elements begin at multiples of their length, so they are whole bytes. The first
 * tile of k may have the remainder, so k has to be whole vectors. */
static bool is_packed_access_aligned(const struct kiln_contraction_problem *problem,
                                     uint32_t access, uint32_t dense, uint32_t vector)
{
    const struct kiln_access *memory = &problem->group->accesses[access];
    const int64_t *strides = problem->schedule->accesses[access].strides;
    for (uint32_t i = 0; i < KILN_STRIDE_COUNT; i++) {
        if (i != dense && strides[i] % vector != 0)
            return false;
    }
    if (dense == KILN_STRIDE_COLUMN && problem->contraction->problem.k % vector != 0)
        return false;
    return problem->target->kind != KILN_TARGET_CUDA ||
           problem->graph->tensors[memory->tensor].alignment_bytes >=
               kiln_packed_access_bytes(memory->dtype, vector);
}

/* True if a pointer and all strides but the dense one keep a vector's alignment where the target
 * needs it. */
bool kiln_is_access_aligned(const struct kiln_contraction_problem *problem, uint32_t access,
                            uint32_t dense, uint32_t vector)
{
    const struct kiln_access *memory = &problem->group->accesses[access];
    if (kiln_dtype_is_packed(memory->dtype))
        return is_packed_access_aligned(problem, access, dense, vector);
    uint32_t needed = kiln_vector_alignment(problem->target, memory->dtype, vector);
    uint32_t bytes = kiln_dtype_info(memory->dtype)->bytes;
    const int64_t *strides = problem->schedule->accesses[access].strides;
    for (uint32_t i = 0; i < KILN_STRIDE_COUNT; i++) {
        if (i != dense && (strides[i] * (int64_t)bytes) % (int64_t)needed != 0)
            return false;
    }
    if (((uint64_t)memory->segment_stride * bytes) % needed != 0)
        return false;
    if (memory->kind == KILN_ARGUMENT_WORKSPACE)
        return true;
    const struct kiln_tensor *tensor = &problem->graph->tensors[memory->tensor];
    bool begins_anywhere = (uint64_t)tensor->ragged.multiplier * bytes % needed != 0;
    return !begins_anywhere && tensor->alignment_bytes >= needed;
}

bool kiln_are_packs_aligned(const struct kiln_contraction_problem *problem, uint32_t access,
                            uint32_t pack)
{
    const struct kiln_product_problem *product = &problem->contraction->problem;
    enum kiln_dtype dtype = problem->group->accesses[access].dtype;
    return kiln_dtype_is_packed(dtype) ||
           kiln_vector_alignment(problem->target, dtype, pack) == kiln_dtype_info(dtype)->bytes ||
           (product->k_run == 0 && product->k % pack == 0 &&
            kiln_is_access_aligned(problem, access, KILN_STRIDE_COLUMN, pack));
}

/* True if neighbours along the axis share an element, so that no vector of them is loaded. */
static bool has_blocks_along(const struct kiln_contraction_problem *problem, uint32_t access,
                             uint32_t dense)
{
    const struct kiln_contraction_access *walks = &problem->contraction->accesses[access];
    return (dense == KILN_STRIDE_ROW ? walks->row_repeat : walks->k_repeat) != 0;
}

/* True if every access of the place can take `vector` neighbours along a dense stride at once, to
 * the end of the axis. */
bool kiln_are_accesses_whole(const struct kiln_contraction_problem *problem, enum kiln_place place,
                             uint32_t dense, int64_t size, uint32_t vector)
{
    if (size % vector != 0)
        return false;
    for (uint32_t i = 0; i < problem->group->access_count; i++) {
        if (problem->group->accesses[i].place == place &&
            problem->schedule->accesses[i].strides[dense] == 1 &&
            !has_blocks_along(problem, i, dense) &&
            !kiln_is_access_aligned(problem, i, dense, vector))
            return false;
    }
    return true;
}

/* True if indices of some of an operand's accesses are taken apart. */
bool kiln_is_operand_split(const struct kiln_contraction_problem *problem,
                           const struct kiln_operand_schedule *operand)
{
    const struct kiln_contraction_schedule *contraction = problem->contraction;
    if (contraction->problem.windows.count != 0 &&
        contraction->problem.windows.is_right == kiln_is_right_operand(contraction, operand))
        return true;
    for (uint32_t i = 0; i < problem->group->access_count; i++) {
        const struct kiln_contraction_access *access = &contraction->accesses[i];
        for (uint32_t part = 0; part < operand->part_count; part++) {
            if (problem->group->accesses[i].place == operand->places[part] &&
                (access->splits_rows || access->splits_columns))
                return true;
        }
    }
    return false;
}

/* True if an operand's memory runs along its rows. */
bool kiln_runs_along_rows(const struct kiln_contraction_problem *problem,
                          const struct kiln_operand_schedule *operand)
{
    if (problem->ir->is_general) /* k may end anywhere then */
        return true;
    uint32_t access = kiln_contraction_heaviest(problem, operand->places[0], false);
    const int64_t *strides =
        access == KILN_NONE ? NULL : problem->schedule->accesses[access].strides;
    if (strides == NULL || strides[KILN_STRIDE_COLUMN] == 1)
        return false;
    /* Neighbouring pixels may be a stride apart. */
    return kiln_is_operand_split(problem, operand)
               ? strides[KILN_STRIDE_ROW] != 0 &&
                     llabs(strides[KILN_STRIDE_ROW]) < llabs(strides[KILN_STRIDE_COLUMN])
               : strides[KILN_STRIDE_ROW] == 1;
}

/* How many neighbours along an operand's rows, or along k, are sure to be neighbours in memory if
 * the first two are; 0: any number. */
static int64_t neighbour_count(const struct kiln_contraction_problem *problem,
                               const struct kiln_operand_schedule *operand, bool is_k)
{
    const struct kiln_contraction_schedule *contraction = problem->contraction;
    if (kiln_is_operand_split(problem, operand)) {
        const struct kiln_role_axes *role = is_k ? &contraction->problem.sums
                                            : kiln_is_left_operand(contraction, operand)
                                                ? &contraction->problem.rows
                                                : &contraction->problem.columns;
        bool has_runs = is_k && contraction->problem.k_run != 0;
        bool is_windowed =
            !has_runs && kiln_is_axis_windowed(contraction, operand, is_k, role->count - 1);
        return is_windowed ? 1 : role->sizes[role->count - 1];
    }
    return is_k ? operand->k_size : operand->row_size;
}

/* True if packs along k may begin at any element. That holds for runs, and for an operand whose
 * indices are not taken apart. Vectors of packed elements are whole bytes. */
static bool do_packs_begin_anywhere(const struct kiln_contraction_problem *problem,
                                    const struct kiln_operand_schedule *operand)
{
    bool needs_alignment = kiln_vector_alignment(problem->target, KILN_DTYPE_F16, 2) > 2;
    bool anywhere =
        (!needs_alignment || problem->joins_packs) &&
        (problem->contraction->problem.k_run != 0 || !kiln_is_operand_split(problem, operand));
    for (uint32_t i = 0; i < problem->group->access_count; i++) {
        for (uint32_t part = 0; part < operand->part_count; part++)
            anywhere &= problem->group->accesses[i].place != operand->places[part] ||
                        !kiln_dtype_is_packed(problem->group->accesses[i].dtype);
    }
    return anywhere;
}

/*
 * True if an operand is loaded in runs of KILN_WIDEST_RUN rows, or in packs along k, wherever whole
 * tiles are; otherwise element by element. Vectors between these would be more kernels to compile
 * than they are worth.
 */
bool kiln_has_whole_loads(const struct kiln_contraction_problem *problem,
                          const struct kiln_operand_schedule *operand)
{
    if (problem->ir->is_general)
        return false;
    bool along_rows = kiln_runs_along_rows(problem, operand);
    /* Groups begin at any row, or at any k. */
    const struct kiln_contraction_schedule *contraction = problem->contraction;
    if (along_rows ? kiln_routing_has_rows(contraction->problem.routing) &&
                         kiln_is_left_operand(contraction, operand)
                   : contraction->problem.routing == KILN_ROUTING_SUMS)
        return false;
    if (!along_rows && do_packs_begin_anywhere(problem, operand))
        return true;
    int64_t neighbours = neighbour_count(problem, operand, !along_rows);
    bool is_whole = true;
    for (uint32_t part = 0; part < operand->part_count; part++)
        is_whole &=
            along_rows
                ? kiln_are_accesses_whole(problem, operand->places[part], KILN_STRIDE_ROW,
                                          neighbours, KILN_WIDEST_RUN)
                : kiln_are_accesses_whole(problem, operand->places[part], KILN_STRIDE_COLUMN,
                                          neighbours, kiln_pack_elements(problem->contraction));
    return is_whole;
}

bool kiln_joins_packs(const struct kiln_contraction_problem *problem,
                      const struct kiln_operand_schedule *operand)
{
    uint32_t pack = kiln_pack_elements(problem->contraction);
    bool any = false;
    if (kiln_runs_along_rows(problem, operand) || !kiln_has_whole_loads(problem, operand))
        return false;
    for (uint32_t i = 0; i < problem->group->access_count; i++) {
        bool is_pack = problem->schedule->accesses[i].strides[KILN_STRIDE_COLUMN] == 1;
        for (uint32_t part = 0; part < operand->part_count; part++)
            any |= is_pack && problem->group->accesses[i].place == operand->places[part] &&
                   !kiln_are_packs_aligned(problem, i, pack);
    }
    return any;
}

bool kiln_shares_block(const struct kiln_contraction_problem *problem, uint32_t access,
                       uint32_t elements)
{
    const struct kiln_contraction_schedule *contraction = problem->contraction;
    uint32_t repeat = (uint32_t)contraction->accesses[access].k_repeat;
    /* The first element of a lane may be any multiple of what k is a multiple of. */
    return repeat != 0 && repeat % elements == 0 && contraction->problem.k % elements == 0;
}

/* True if a lane can load so many elements of the operand together: packed ones in whole vectors,
 * and one scale for all. */
static bool may_load_together(const struct kiln_contraction_problem *problem,
                              const struct kiln_operand_schedule *operand, uint32_t elements)
{
    enum { MOST_BITS = 256 };
    bool is_possible = problem->contraction->problem.k % elements == 0;
    for (uint32_t i = 0; i < problem->group->access_count; i++) {
        const struct kiln_access *memory = &problem->group->accesses[i];
        bool is_repeated = problem->contraction->accesses[i].k_repeat != 0;
        if (memory->place != operand->places[0])
            continue;
        if (is_repeated)
            is_possible &= kiln_shares_block(problem, i, elements);
        else if (kiln_dtype_is_packed(memory->dtype))
            is_possible &= elements * kiln_dtype_info(memory->dtype)->bits <= MOST_BITS &&
                           is_packed_access_aligned(problem, i, KILN_STRIDE_COLUMN, elements);
    }
    return is_possible;
}

static bool has_blocks(const struct kiln_contraction_problem *problem,
                       const struct kiln_operand_schedule *operand)
{
    bool any = false;
    for (uint32_t i = 0; i < problem->group->access_count; i++)
        any |= problem->group->accesses[i].place == operand->places[0] &&
               kiln_access_has_blocks(problem->contraction, problem->group, i);
    return any;
}

enum { LONGEST_LANE_RUN = 4 };

uint32_t kiln_choose_lane_run(const struct kiln_contraction_problem *problem)
{
    const struct kiln_contraction_schedule *contraction = problem->contraction;
    const struct kiln_operand_schedule *operands[] = {&contraction->left, &contraction->right};
    bool any = false;
    uint32_t run = LONGEST_LANE_RUN;
    for (size_t i = 0; i < sizeof operands / sizeof *operands; i++) {
        any |= has_blocks(problem, operands[i]);
        if (kiln_runs_along_rows(problem, operands[i]) ||
            !kiln_has_whole_loads(problem, operands[i]) ||
            kiln_is_operand_split(problem, operands[i]))
            return 1;
        while (run > 1 &&
               !may_load_together(problem, operands[i], run * kiln_pack_elements(contraction)))
            run /= 2;
    }
    return any && contraction->problem.products == 1 ? run : 1;
}

double kiln_find_load_excess(const struct kiln_contraction_problem *problem,
                             const struct kiln_operand_schedule *operand, uint32_t lane_run)
{
    const uint32_t access_bits = 128;
    uint32_t elements = lane_run * kiln_pack_elements(problem->contraction);
    double loads = 0, bits = 0;
    if (kiln_runs_along_rows(problem, operand))
        return 1;
    for (uint32_t i = 0; i < problem->group->access_count; i++) {
        const struct kiln_access *memory = &problem->group->accesses[i];
        uint32_t own = elements * kiln_dtype_info(memory->dtype)->bits;
        bool is_along_k = problem->contraction->accesses[i].k_repeat != 0 ||
                          problem->schedule->accesses[i].strides[KILN_STRIDE_COLUMN] != 0;
        /* Without k, rows are neighbours: few lines. */
        if (memory->place != operand->places[0] || !is_along_k)
            continue;
        if (kiln_shares_block(problem, i, elements))
            loads++;
        else
            loads += (own + access_bits - 1) / access_bits;
        bits = own > bits ? own : bits;
    }
    return bits == 0 ? 1 : loads * access_bits / bits;
}

/*
 * True if quarters of packs of 16 rows are as many as work-items, like packs of four rows. Elements
 * have one byte, so that loads have 16. The quarters of eight packs lie side by side in LDS without
 * a conflict: four runs of rows and two packs (device/contraction/stage_ahead.h). Computed operands
 * are left out: scales of 16 rows are more loads than are saved. By the emulator's models int8
 * weights that become halves took 8 % longer on an MI300X, and 35 % on an MI250X.
 */
static bool are_quarters_enough(const struct kiln_contraction_problem *problem,
                                const struct kiln_operand_schedule *operand, uint32_t tile_rows,
                                uint32_t rows)
{
    enum { RUN = 16, ABREAST = 4, LEAST_ROW_PACKS = 8 };
    const struct kiln_contraction_schedule *contraction = problem->contraction;
    uint32_t row_packs = contraction->tile.k / kiln_pack_elements(contraction);
    bool is_whole = kiln_pack_elements(contraction) == RUN && rows == RUN / 4 &&
                    row_packs >= LEAST_ROW_PACKS &&
                    tile_rows / rows * row_packs == problem->schedule->launch.block &&
                    tile_rows / RUN % ABREAST == 0 && !kiln_is_operand_split(problem, operand);
    for (uint32_t part = 0; is_whole && part < operand->part_count; part++) {
        enum kiln_place place = operand->places[part];
        uint32_t value = kiln_group_operand(problem->group, place);
        is_whole = problem->ir->ops[value].opcode == KILN_OP_LOAD &&
                   kiln_are_accesses_whole(problem, place, KILN_STRIDE_ROW, operand->row_size, RUN);
    }
    return is_whole;
}

/*
 * True if half packs of twice as many rows are as many as work-items, like packs of so many rows.
 * Both halves of eight packs lie side by side in LDS without a conflict: eight runs of rows, or
 * four where a row has four packs (device/contraction/stage_ahead.h). Four runs have more
 * addresses, and RDNA has too few registers for both operands.
 */
static bool are_half_packs_enough(const struct kiln_contraction_problem *problem,
                                  const struct kiln_operand_schedule *operand, uint32_t tile_rows,
                                  uint32_t rows)
{
    enum { ABREAST = 8, LEAST_ROW_PACKS = 4, LEAST_PACK = 8 };
    const struct kiln_contraction_schedule *contraction = problem->contraction;
    uint32_t row_packs = contraction->tile.k / kiln_pack_elements(contraction);
    bool are_both = kiln_runs_along_rows(problem, &contraction->left) &&
                    kiln_runs_along_rows(problem, &contraction->right);
    return kiln_pack_elements(contraction) >= LEAST_PACK && row_packs >= LEAST_ROW_PACKS &&
           rows > 1 && rows < KILN_WIDEST_RUN &&
           tile_rows / rows * row_packs == problem->schedule->launch.block &&
           tile_rows / rows / 2 % ABREAST == 0 && !kiln_is_operand_split(problem, operand) &&
           (row_packs >= ABREAST || !are_both);
}

uint32_t kiln_result_vector(const struct kiln_contraction_problem *problem, int64_t size,
                            uint32_t limit)
{
    enum { PACK_BYTES = 16, WIDEST = 8, BYTES_WITHOUT_STORE = 4 };
    uint32_t store = kiln_contraction_heaviest(problem, KILN_PLACE_ELEMENT, true);
    uint32_t bytes = store == KILN_NONE
                         ? BYTES_WITHOUT_STORE
                         : kiln_dtype_info(problem->group->accesses[store].dtype)->bytes;
    uint32_t most = kiln_min_u32(PACK_BYTES / bytes, WIDEST);
    most = kiln_floor_power_of_two(kiln_min_u32(most, limit));
    /* A packed store (fuse_contraction.c) has whole vectors, which may begin at any byte. */
    uint32_t unit = kiln_group_packed_unit(problem->group);
    if (unit > 1)
        return kiln_max_u32(most, unit);
    return !problem->ir->is_general && kiln_are_accesses_whole(problem, KILN_PLACE_ELEMENT,
                                                               KILN_STRIDE_COLUMN, size, most)
               ? most
               : 1;
}

/* Sets a run of rows where memory runs along them, and packs along k where it runs there. Both are
 * 1 where loads are not whole. */
static void set_loads(const struct kiln_contraction_problem *problem,
                      struct kiln_operand_schedule *operand, uint32_t run)
{
    bool is_whole = kiln_has_whole_loads(problem, operand);
    operand->is_along_k = !kiln_runs_along_rows(problem, operand);
    operand->vector =
        operand->is_along_k && is_whole ? kiln_pack_elements(problem->contraction) : 1;
    operand->run = operand->is_along_k || !is_whole ? 1 : run;
}

/* The longest run of rows that leaves each work-item some of the tile. */
static uint32_t staged_run(const struct kiln_contraction_problem *problem, uint32_t tile_rows,
                           uint32_t tile_k)
{
    uint32_t run = KILN_WIDEST_RUN;
    uint32_t packs = tile_rows * (tile_k / kiln_pack_elements(problem->contraction));
    while (run > 1 && packs / run < problem->schedule->launch.block)
        run /= 2;
    return run;
}

/* The longest run of packs along k of an operand with blocks that leaves each of the work-items
 * that stage some of the tile. */
static uint32_t staged_lane_run(const struct kiln_contraction_problem *problem,
                                const struct kiln_operand_schedule *operand, uint32_t tile_rows)
{
    const struct kiln_contraction_schedule *contraction = problem->contraction;
    uint32_t producers =
        kiln_pipeline_producer_waves(&contraction->pipeline) * problem->target->wave_size;
    uint32_t items = producers != 0 ? producers : problem->schedule->launch.block;
    uint32_t pack = kiln_pack_elements(contraction);
    uint32_t row_packs = contraction->tile.k / pack;
    /* A wave may stage its slice of each row by itself. */
    uint32_t slice_packs = row_packs / contraction->tile.waves_k;
    uint32_t run = LONGEST_LANE_RUN;
    if (!has_blocks(problem, operand) || !operand->is_along_k || operand->vector == 1 ||
        operand->part_count != 1 || kiln_is_operand_split(problem, operand))
        return 1;
    while (run > 1 && (slice_packs % run != 0 || tile_rows * row_packs / run < items ||
                       !may_load_together(problem, operand, run * pack)))
        run /= 2;
    return run;
}

void kiln_choose_staged_loads(const struct kiln_contraction_problem *problem,
                              struct kiln_operand_schedule *operand, uint32_t tile_rows,
                              uint32_t tile_k)
{
    operand->lane_run = 1;
    set_loads(problem, operand, staged_run(problem, tile_rows, tile_k));
}

void kiln_choose_operand_loads(const struct kiln_contraction_problem *problem,
                               struct kiln_operand_schedule *operand, uint32_t tile_rows,
                               uint32_t fragments)
{
    operand->pieces = 1;
    operand->lane_run = kiln_pipeline_lane_run(&problem->contraction->pipeline);
    switch (problem->contraction->pipeline.kind) {
    case KILN_PIPELINE_STREAMED:
        set_loads(problem, operand,
                  kiln_min_u32(kiln_floor_power_of_two(fragments), KILN_WIDEST_RUN));
        return;
    case KILN_PIPELINE_SPECIALIZED:
        set_loads(problem, operand, KILN_WIDEST_RUN);
        operand->lane_run = staged_lane_run(problem, operand, tile_rows);
        return;
    default:
        break;
    }
    uint32_t run = staged_run(problem, tile_rows, problem->contraction->tile.k);
    set_loads(problem, operand, run);
    operand->lane_run = staged_lane_run(problem, operand, tile_rows);
    if (!operand->is_along_k && kiln_has_whole_loads(problem, operand))
        operand->pieces = are_quarters_enough(problem, operand, tile_rows, run)     ? 4
                          : are_half_packs_enough(problem, operand, tile_rows, run) ? 2
                                                                                    : 1;
    operand->run *= operand->pieces;
}
