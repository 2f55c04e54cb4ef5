#include "compiler/families/contraction/schedule/contraction_fragments.h"

enum {
    PACK_BYTES = 16,
    WGMMA_WAVE_ROWS = 16, /* device/mma/wgmma.h: 64 of four warps */
};

uint32_t kiln_pack_elements(const struct kiln_contraction_schedule *contraction)
{
    return (uint32_t)PACK_BYTES / kiln_dtype_info(contraction->staged)->bytes;
}

/* Lanes with rows of their own, without matrix instructions: device/mma/scalar.h. */
static uint32_t scalar_lanes_n(const struct kiln_target *target)
{
    return kiln_min_u32(target->wave_size, 8);
}

uint32_t kiln_fragment_rows_m(const struct kiln_contraction_schedule *contraction,
                              const struct kiln_target *target)
{
    if (contraction->pipeline.kind == KILN_PIPELINE_SPECIALIZED)
        return WGMMA_WAVE_ROWS;
    if (contraction->tile.mma != NULL)
        return contraction->tile.mma->rows_m;
    return target->wave_size / scalar_lanes_n(target) * KILN_SCALAR_BLOCK;
}

uint32_t kiln_fragment_rows_n(const struct kiln_contraction_schedule *contraction,
                              const struct kiln_target *target)
{
    if (contraction->pipeline.kind == KILN_PIPELINE_SPECIALIZED)
        return contraction->tile.n;
    if (contraction->tile.mma != NULL)
        return contraction->tile.mma->rows_n;
    return scalar_lanes_n(target) * KILN_SCALAR_BLOCK;
}

uint32_t kiln_lane_packs(const struct kiln_contraction_schedule *contraction)
{
    const struct kiln_mma *mma = contraction->tile.mma;
    if (mma == NULL)
        return KILN_SCALAR_BLOCK;
    return mma->layout == KILN_MMA_LAYOUT_MMA_SYNC ? 2 : kiln_mma_packs(mma);
}

/* Packs along k of all lanes: KILN_LANE_GROUPS of device/mma/. */
static uint32_t lane_groups(const struct kiln_mma *mma)
{
    if (mma == NULL)
        return 1;
    return mma->layout == KILN_MMA_LAYOUT_MMA_SYNC ? 4 : mma->k_groups;
}

uint32_t kiln_lane_step(const struct kiln_contraction_schedule *contraction)
{
    return lane_groups(contraction->tile.mma) * kiln_pipeline_lane_run(&contraction->pipeline) *
           kiln_pack_elements(contraction);
}

/* Tiles of both operands, one for each buffer, and the tables after them. */
static uint32_t tiles_bytes(const struct kiln_contraction_schedule *contraction)
{
    const struct kiln_tile *tile = &contraction->tile;
    return (tile->m + tile->n) * tile->k * kiln_dtype_info(contraction->staged)->bytes *
               kiln_pipeline_buffers(&contraction->pipeline) +
           kiln_pipeline_table_bytes(&contraction->pipeline);
}

uint32_t kiln_contraction_lds_bytes(const struct kiln_contraction_schedule *contraction,
                                    const struct kiln_target *target, uint32_t sum_bytes)
{
    const struct kiln_tile *tile = &contraction->tile;
    uint32_t strip = tile->waves_k * tile->waves_m * kiln_fragment_rows_m(contraction, target) /
                     kiln_ending_row_parts(&contraction->ending) * tile->n * sum_bytes;
    return kiln_max_u32(tiles_bytes(contraction), strip) +
           kiln_pipeline_ring_bytes(&contraction->pipeline);
}
