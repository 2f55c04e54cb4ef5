#include "compiler/schedule/attention_registers.h"

#include "compiler/schedule/attention_tile.h"
#include "compiler/schedule/mma.h"
#include "compiler/schedule/schedule_contraction.h"

enum {
    PACK_REGISTERS = 4,
    WMMA_VALUES_AHEAD = 2, /* fragments: KILN_MMA_VALUES_AHEAD */
    /* Addresses, pointers, what is known of rows, and what the compiler takes besides: as seen with
     * LLVM 19 for heads of 32 to 256. More addresses differ where a row's packs are no power of
     * two. */
    OTHERS = 48,
    OTHERS_OF_UNEVEN_ROWS = 24,
};

static bool is_counted(const struct kiln_attention_schedule *attention,
                       const struct kiln_target *target)
{
    return target->kind == KILN_TARGET_AMDGPU && attention->products.mma != NULL;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* Of a lane that has its part of so many packs, or one more than others. */
static uint32_t staged_registers(uint32_t packs, uint32_t lanes)
{
    return (packs + lanes - 1) / lanes * PACK_REGISTERS;
}

/*
 * Results and left operands are live everywhere, and so are the next tiles, which are loaded while
 * these are multiplied. Beside them the first products have their sums, fragments of two steps and
 * what is loaded for the scores, unless that comes after them; the second ones have weights and
 * fragments of values. The result of a fold is as large as one product's sums, and the next left
 * operands are on their way too.
 */
uint32_t kiln_attention_registers(const struct kiln_attention_schedule *attention,
                                  const struct kiln_target *target)
{
    const struct kiln_contraction_schedule *products = &attention->products;
    if (!is_counted(attention, target))
        return 0;
    const struct kiln_mma *mma = products->mma;
    bool is_replicated = mma->layout == KILN_MMA_LAYOUT_WMMA_REPLICATED;
    bool is_mfma = mma->layout == KILN_MMA_LAYOUT_MFMA;
    uint32_t pack = kiln_pack_elements(products);
    uint32_t packs = is_replicated ? mma->k_groups : 1; /* of a fragment */
    uint32_t fragment = packs * PACK_REGISTERS;
    uint32_t sums = mma->rows_m * mma->rows_n / target->wave_size;
    uint32_t rows = products->tile_m / products->waves_m / mma->rows_m;
    uint32_t columns = products->tile_n / mma->rows_n;
    uint32_t depth = attention->tile_d / mma->rows_n;
    uint32_t steps_k = products->tile_k / (pack * mma->k_groups);
    uint32_t steps_n = (products->tile_n + pack * mma->k_groups - 1) / (pack * mma->k_groups);
    uint32_t lanes = products->waves_m * target->wave_size;
    uint32_t row_packs = products->tile_k / pack;
    bool is_uneven = (row_packs & (row_packs - 1)) != 0;
    uint32_t ahead = attention->reads_scores_ahead ? 2 : 1;
    uint32_t tile = rows * columns * sums;
    uint32_t fragments = ahead * (columns + (attention->is_left_kept ? 0 : rows)) * fragment;
    uint32_t loaded = attention->score_loads * tile;
    uint32_t scores =
        attention->score_count * tile +
        (attention->are_score_loads_late ? larger(fragments, loaded) : fragments + loaded);
    uint32_t others = OTHERS + (is_uneven ? OTHERS_OF_UNEVEN_ROWS : 0);
    if (attention->value_count == 0)
        return tile + scores + others +
               attention->score_count * (staged_registers(products->tile_m * row_packs, lanes) +
                                         staged_registers(products->tile_n * row_packs, lanes));
    uint32_t staged = attention->score_count *
                          staged_registers(products->tile_n * products->tile_k / pack, lanes) +
                      attention->value_count *
                          staged_registers(attention->tile_d * products->tile_n / pack, lanes);
    uint32_t results = rows * attention->value_count * depth * sums;
    uint32_t left =
        attention->is_left_kept ? attention->score_count * rows * steps_k * fragment : 0;
    uint32_t values_ahead = is_mfma ? depth : (uint32_t)WMMA_VALUES_AHEAD;
    uint32_t values =
        attention->value_count * rows * steps_n * fragment + 2 * values_ahead * fragment;
    return results + left + staged + larger(scores, values) + others;
}

uint32_t kiln_attention_register_budget(const struct kiln_attention_schedule *attention,
                                        const struct kiln_target *target)
{
    enum { OF_RDNA = 256, OF_CDNA = 512 };
    if (!is_counted(attention, target))
        return 0;
    if (target->wave_size == 32)
        return OF_RDNA;
    return kiln_attention_has_residents(attention, target) ? OF_CDNA / 2 : OF_CDNA;
}
