#include "compiler/families/contraction/schedule/contraction_statistics.h"
#include "compiler/families/contraction/schedule/contraction_schedule.h"

#include "compiler/families/contraction/fuse/contraction_group.h"
#include "compiler/families/contraction/schedule/contraction_fragments.h"
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

/* True if the axes of a role, all or none of them, are reduced. */
static bool is_role_reduced(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                            enum kiln_axis_role role)
{
    const struct kiln_contraction *axes = &ir->contractions[ir->ops[group->anchors[0]].contraction];
    for (uint32_t i = 0; i < axes->axis_count; i++) {
        if (axes->roles[i] == role &&
            is_reduced(ir, group, axes->maps[KILN_CONTRACT_RESULT].axes[i].along))
            return true;
    }
    return false;
}

uint32_t kiln_vectors_abreast(const struct kiln_schedule *schedule)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_schedule_of(schedule);
    uint32_t vectors = kiln_tile_columns(contraction) / contraction->result_vector;
    return vectors < schedule->launch.block ? vectors : schedule->launch.block;
}

uint32_t kiln_statistics_entries(const struct kiln_schedule *schedule,
                                 const struct kiln_target *target)
{
    uint32_t abreast = kiln_vectors_abreast(schedule);
    if (kiln_ending_statistics(&kiln_contraction_schedule_of(schedule)->ending) !=
        KILN_STATISTICS_COLUMNS)
        return schedule->launch.block / target->wave_size;
    return schedule->launch.block + (abreast < BANKS ? abreast : 0);
}

/* Local memory for that, one accumulator at a time. */
static uint32_t meeting_bytes(const struct kiln_schedule *schedule,
                              const struct kiln_target *target)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_schedule_of(schedule);
    bool is_columns = kiln_ending_statistics(&contraction->ending) == KILN_STATISTICS_COLUMNS;
    uint32_t lanes = is_columns ? contraction->result_vector : 1;
    uint32_t entries = kiln_statistics_entries(schedule, target);
    uint32_t most = 0;
    const struct kiln_reduction_passes *passes = &contraction->ending.statistics.passes;
    for (uint32_t i = 0; i < passes->accumulator_count; i++) {
        const struct kiln_accumulator *accumulator = &passes->accumulators[i];
        /* Of moments the lanes share the count. */
        uint32_t numbers =
            kiln_accumulator_info(accumulator->kind)->components == 1 ? lanes : 2 * lanes + 1;
        uint32_t bytes = numbers * kiln_dtype_info(kiln_scalar_dtype(accumulator->scalar))->bytes;
        most = bytes > most ? bytes : most;
    }
    return kiln_ending_statistics(&contraction->ending) == KILN_STATISTICS_ROWS ? 0
                                                                                : most * entries;
}

/* Neighbouring lanes that share a row of a strip, so that all of it is done at once. */
static uint32_t row_lanes(const struct kiln_schedule *schedule, const struct kiln_target *target)
{
    const struct kiln_contraction_schedule *contraction = kiln_contraction_schedule_of(schedule);
    uint32_t rows = contraction->tile.waves_m * kiln_fragment_rows_m(contraction, target);
    uint32_t least = (target->wave_size + ROWS_OF_A_WAVE - 1) / ROWS_OF_A_WAVE;
    uint32_t lanes = kiln_floor_power_of_two(
        schedule->launch.block / rows > 0 ? schedule->launch.block / rows : 1);
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
    for (uint32_t b = 0; b < contraction->problem.batches.rank; b++) {
        if (!is_reduced(ir, group, contraction->problem.batches.axes[b]))
            continue;
        tiles.reduced_batches |= 1u << b;
        tiles.batches *= (uint64_t)contraction->problem.batches.sizes[b];
    }
    return tiles;
}

uint64_t kiln_count_statistics(const struct kiln_statistics_tiles *tiles,
                               const struct kiln_contraction_schedule *contraction)
{
    return tiles->batches * (tiles->reduces_m ? kiln_row_tiles(contraction) : 1) *
           (tiles->reduces_n ? kiln_column_tiles(contraction) : 1);
}

void kiln_schedule_statistics(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                              const struct kiln_target *target,
                              const struct kiln_reduction_passes *passes,
                              struct kiln_schedule *schedule)
{
    struct kiln_contraction_schedule *contraction = kiln_contraction_schedule_in(schedule);
    const struct kiln_statistics_tiles tiles = kiln_statistics_tiles(ir, group, contraction);
    contraction->ending = (struct kiln_ending){
        .kind = KILN_ENDING_STATISTICS,
        .statistics = {.of = !tiles.reduces_m   ? KILN_STATISTICS_ROWS
                             : !tiles.reduces_n ? KILN_STATISTICS_COLUMNS
                                                : KILN_STATISTICS_TILE,
                       .batches = tiles.reduced_batches,
                       .passes = *passes},
    };
    struct kiln_statistics_ending *statistics = &contraction->ending.statistics;
    /* no more than tiles */
    schedule->segment_count = (uint32_t)kiln_count_statistics(&tiles, contraction);
    if (!tiles.reduces_m)
        statistics->row_lanes = row_lanes(schedule, target);
    statistics->bytes =
        (meeting_bytes(schedule, target) + PACK_BYTES - 1) / PACK_BYTES * PACK_BYTES;
    uint32_t ring = kiln_pipeline_ring_bytes(&contraction->pipeline);
    if (schedule->launch.lds_bytes < statistics->bytes + ring)
        schedule->launch.lds_bytes = statistics->bytes + ring;
}
