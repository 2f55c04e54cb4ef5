#include "compiler/schedule/contraction_statistics.h"

#include "compiler/schedule/schedule_contraction.h"
#include "compiler/schedule/vector_access.h"

enum {
    PACK_BYTES = 16,
    BANKS = 32,         /* of local memory, of 4 bytes */
    ROWS_OF_A_WAVE = 8, /* at most: strips have whole waves of rows */
};

static bool is_reduced(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                       uint8_t from_right)
{
    uint32_t rank = ir->domains[group->domain].rank;
    return from_right < rank && ((group->reduced_axes >> (rank - 1 - from_right)) & 1u) != 0;
}

/* Whether the axes of a role, all or none of them, are reduced. */
static bool is_role_reduced(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                            enum kiln_axis_role role)
{
    const struct kiln_contraction *axes =
        &ir->contractions[ir->ops[group->contracts[0]].contraction];
    for (uint32_t i = 0; i < axes->axis_count; i++) {
        if (axes->axes[i].role == role && is_reduced(ir, group, axes->axes[i].result))
            return true;
    }
    return false;
}

uint32_t kiln_vectors_abreast(const struct kiln_schedule *schedule)
{
    const struct kiln_contraction_schedule *contraction = &schedule->contraction;
    uint32_t vectors = kiln_tile_columns(contraction) / contraction->result_vector;
    return vectors < schedule->block ? vectors : schedule->block;
}

uint32_t kiln_statistics_entries(const struct kiln_schedule *schedule,
                                 const struct kiln_target *target)
{
    uint32_t abreast = kiln_vectors_abreast(schedule);
    if (schedule->contraction.statistics != KILN_STATISTICS_COLUMNS)
        return schedule->block / target->wave_size;
    return schedule->block + (abreast < BANKS ? abreast : 0);
}

/* Local memory for that, one accumulator at a time. */
static uint32_t meeting_bytes(const struct kiln_schedule *schedule,
                              const struct kiln_target *target)
{
    const struct kiln_contraction_schedule *contraction = &schedule->contraction;
    bool is_columns = contraction->statistics == KILN_STATISTICS_COLUMNS;
    uint32_t lanes = is_columns ? contraction->result_vector : 1;
    uint32_t entries = kiln_statistics_entries(schedule, target);
    uint32_t most = 0;
    for (uint32_t i = 0; i < contraction->passes.accumulator_count; i++) {
        const struct kiln_accumulator *accumulator = &contraction->passes.accumulators[i];
        /* Of moments the lanes share the count. */
        uint32_t numbers =
            kiln_accumulator_info(accumulator->kind)->components == 1 ? lanes : 2 * lanes + 1;
        uint32_t bytes = numbers * kiln_dtype_info(kiln_scalar_dtype(accumulator->scalar))->bytes;
        most = bytes > most ? bytes : most;
    }
    return contraction->statistics == KILN_STATISTICS_ROWS ? 0 : most * entries;
}

/* Neighbouring lanes that share a row of a strip, so that all of it is done at once. */
static uint32_t row_lanes(const struct kiln_schedule *schedule, const struct kiln_target *target)
{
    const struct kiln_contraction_schedule *contraction = &schedule->contraction;
    uint32_t rows = contraction->waves_m * kiln_fragment_rows_m(contraction, target);
    uint32_t least = (target->wave_size + ROWS_OF_A_WAVE - 1) / ROWS_OF_A_WAVE;
    uint32_t lanes =
        kiln_floor_power_of_two(schedule->block / rows > 0 ? schedule->block / rows : 1);
    lanes = lanes < least ? least : lanes;
    return lanes > target->wave_size ? target->wave_size : lanes;
}

struct kiln_statistics_tiles
kiln_statistics_tiles(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                      const struct kiln_contraction_schedule *contraction)
{
    bool is_swapped = contraction->left.places[0] == KILN_PLACE_RIGHT;
    struct kiln_statistics_tiles tiles = {
        .reduces_m = is_role_reduced(ir, group, is_swapped ? KILN_AXIS_N : KILN_AXIS_M),
        .reduces_n = is_role_reduced(ir, group, is_swapped ? KILN_AXIS_M : KILN_AXIS_N),
        .batches = 1,
    };
    for (uint32_t b = 0; b < contraction->batch_rank; b++) {
        if (!is_reduced(ir, group, contraction->batch_axes[b]))
            continue;
        tiles.reduced_batches |= 1u << b;
        tiles.batches *= (uint64_t)contraction->batch_sizes[b];
    }
    return tiles;
}

uint64_t kiln_count_statistics(const struct kiln_statistics_tiles *tiles,
                               const struct kiln_contraction_schedule *contraction)
{
    uint32_t columns = kiln_tile_columns(contraction);
    uint64_t count = tiles->batches;
    if (tiles->reduces_m)
        count *= ((uint64_t)contraction->m + contraction->tile_m - 1) / contraction->tile_m;
    if (tiles->reduces_n)
        count *= ((uint64_t)contraction->n + columns - 1) / columns;
    return count;
}

void kiln_schedule_statistics(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                              const struct kiln_target *target, struct kiln_schedule *schedule)
{
    struct kiln_contraction_schedule *contraction = &schedule->contraction;
    const struct kiln_statistics_tiles tiles = kiln_statistics_tiles(ir, group, contraction);
    contraction->statistics = !tiles.reduces_m   ? KILN_STATISTICS_ROWS
                              : !tiles.reduces_n ? KILN_STATISTICS_COLUMNS
                                                 : KILN_STATISTICS_TILE;
    contraction->reduced_batches = tiles.reduced_batches;
    /* no more than tiles */
    schedule->segment_count = (uint32_t)kiln_count_statistics(&tiles, contraction);
    if (!tiles.reduces_m)
        contraction->row_lanes = row_lanes(schedule, target);
    contraction->statistics_bytes =
        (meeting_bytes(schedule, target) + PACK_BYTES - 1) / PACK_BYTES * PACK_BYTES;
    uint32_t ring = contraction->producer_waves != 0 ? contraction->buffers * PACK_BYTES : 0;
    if (schedule->lds_bytes < contraction->statistics_bytes + ring)
        schedule->lds_bytes = contraction->statistics_bytes + ring;
}
