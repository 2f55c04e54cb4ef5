#include "compiler/families/contraction/schedule/contraction_tile_faults.h"

#include "compiler/families/contraction/schedule/contraction_fragments.h"

#include <string.h>

enum { MAX_BLOCK = 1024, MAX_SUM_REGISTERS = 256 };

bool kiln_is_cdna3_or_later(const struct kiln_target *target)
{
    return strcmp(target->processor, "gfx942") == 0 || strcmp(target->processor, "gfx950") == 0;
}

/* True if halves of a work-group may take turns. The pipeline is for two waves of a SIMD with 256
 * registers each. On gfx90a it is not chosen: by the emulator's model of an MI250X a tile takes as
 * long as four of 128 x 128, and fewer are left to share among 110 compute units (4096 cubed 1050
 * us and 890 us, 8192 cubed 6842 and 6497). */
static bool has_pingpong(const struct kiln_target *target)
{
    return strcmp(target->processor, "gfx90a") == 0 || kiln_is_cdna3_or_later(target);
}

static bool is_power_of_two(uint32_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

/* Why a kernel cannot stream this tile; NULL if it can. */
static const char *find_stream_fault(const struct kiln_contraction_schedule *contraction,
                                     uint32_t rows_n)
{
    const struct kiln_tile *tile = &contraction->tile;
    uint32_t products = contraction->problem.products;
    uint32_t step = kiln_lane_step(contraction);
    if (products > 1 && (tile->waves_n != 1 || tile->n % (products * rows_n) != 0))
        return "streamed, a wave has all columns of two products";
    if (tile->k % step != 0)
        return "the tile's k is no whole number of steps of the instruction";
    return tile->k / step > KILN_MAX_STREAM_STEPS ? "a wave loads at most 8 steps of k ahead"
                                                  : NULL;
}

/* Why a tile in local memory cannot have this k; NULL if it can. */
static const char *find_staged_fault(const struct kiln_contraction_schedule *contraction)
{
    const struct kiln_tile *tile = &contraction->tile;
    uint32_t packs = tile->k / kiln_pack_elements(contraction);
    uint32_t groups = tile->mma != NULL ? tile->mma->k_groups : 1;
    if (tile->k % (groups * kiln_pack_elements(contraction)) != 0)
        return "the tile's k is no whole number of steps of the instruction";
    if (!is_power_of_two(packs))
        return "the tile's k is no power of two";
    if (packs / groups % tile->waves_k != 0)
        return "the steps of the tile's k cannot be shared by the waves along k";
    return NULL;
}

/* Why halves of a work-group cannot take turns at the tile; NULL if they can. */
static const char *find_pingpong_fault(const struct kiln_target *target,
                                       const struct kiln_contraction_schedule *contraction)
{
    enum { WAVES = 8, QUARTERS = 4, WIDEST_BYTES = 2 };
    const struct kiln_tile *tile = &contraction->tile;
    const char *fault = find_staged_fault(contraction);
    if (fault != NULL)
        return fault;
    if (!has_pingpong(target) || kiln_dtype_info(contraction->staged)->bytes > WIDEST_BYTES)
        return "the ping-pong schedule is for types of 16 bits and less on gfx90a, gfx942 and "
               "gfx950";
    if (tile->mma == NULL || tile->waves_m * tile->waves_n != WAVES || tile->waves_k != 1)
        return "the ping-pong schedule has 8 waves";
    /* With two steps, half of a wave's rows in a step is a quarter of its products. */
    uint32_t steps = tile->k / kiln_pack_elements(contraction) / tile->mma->k_groups;
    if (steps != QUARTERS &&
        (steps != QUARTERS / 2 || tile->m / tile->waves_m / tile->mma->rows_m % 2 != 0))
        return "the ping-pong schedule has four steps of k, or two and an even number of "
               "fragments along the rows";
    if (contraction->problem.k < tile->k)
        return "the ping-pong schedule needs a k of a tile at least";
    return NULL;
}

const char *kiln_find_tile_fault(const struct kiln_tile_problem *problem,
                                 const struct kiln_contraction_schedule *contraction)
{
    const struct kiln_target *target = problem->target;
    const struct kiln_tile *tile = &contraction->tile;
    uint32_t rows_n = kiln_fragment_rows_n(contraction, target);
    uint32_t waves = tile->waves_m * tile->waves_n;
    if (tile->m % (tile->waves_m * kiln_fragment_rows_m(contraction, target)) != 0 ||
        tile->n % (tile->waves_n * rows_n) != 0)
        return "the tile is no whole number of fragments for each wave";
    if (!is_power_of_two(tile->n))
        return "the tile's columns are no power of two";
    if (kiln_has_part_of_block(contraction))
        return "the tile has no whole blocks of columns";
    if (waves * tile->waves_k * target->wave_size > MAX_BLOCK)
        return "a work-group has 1024 work-items at most";
    if (target->wave_size != 1 &&
        tile->m * tile->n / (waves * target->wave_size) * problem->sum_bytes / 4 >
            MAX_SUM_REGISTERS)
        return "the sums of a tile do not fit into the registers of its waves";
    if (kiln_contraction_lds_bytes(contraction, target, problem->sum_bytes) > target->lds_bytes)
        return "the tile does not fit into local memory";
    switch (contraction->pipeline.kind) {
    case KILN_PIPELINE_STREAMED:
        return find_stream_fault(contraction, rows_n);
    case KILN_PIPELINE_PINGPONG:
        return find_pingpong_fault(target, contraction);
    default:
        return find_staged_fault(contraction);
    }
}
