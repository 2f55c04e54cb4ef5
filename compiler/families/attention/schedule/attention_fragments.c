#include "compiler/families/attention/schedule/attention_fragments.h"

#include "compiler/families/contraction/schedule/contraction_fragments.h"

enum { PACK_BYTES = 16, SCALAR_LANES_N = 8 };

uint32_t kiln_attention_fragment_rows(const struct kiln_contraction_schedule *products,
                                      const struct kiln_target *target, bool is_right)
{
    uint32_t lanes_n = target->wave_size < SCALAR_LANES_N ? target->wave_size : SCALAR_LANES_N;
    if (products->tile.mma != NULL)
        return is_right ? products->tile.mma->rows_n : products->tile.mma->rows_m;
    return products->tile.lane_rows * (is_right ? lanes_n : target->wave_size / lanes_n);
}

bool kiln_attention_may_share_tiles(const struct kiln_attention_schedule *attention)
{
    const struct kiln_contraction_schedule *products = &attention->products;
    const struct kiln_mma *mma = products->tile.mma;
    if (mma == NULL || kiln_dtype_info(products->staged)->bytes != 2)
        return false;
    bool are_all_shared = attention->value.shares != 0 &&
                          (attention->value_count == 1 || attention->value_1.shares != 0);
    return mma->layout == KILN_MMA_LAYOUT_MMA_SYNC
               ? kiln_pipeline_buffers(&products->pipeline) > 1
               : mma->is_transposable && are_all_shared && attention->tile.d <= products->tile.k;
}

uint32_t kiln_attention_own_values(const struct kiln_attention_schedule *attention)
{
    uint32_t shared = (attention->value.shares != 0 ? 1u : 0u) +
                      (attention->value_count > 1 && attention->value_1.shares != 0 ? 1u : 0u);
    return attention->value_count - (kiln_attention_may_share_tiles(attention) ? shared : 0);
}

/* kernels_templates/device/attention/tile.h counts the same. The loop needs left operands that
 * registers have no room for, one or two steps of the others, and weights if lanes exchange them
 * there. Before and after it the memory holds a left operand on its way, or the strip of results
 * with the totals of their rows. */
uint32_t kiln_attention_lds_bytes(const struct kiln_attention_schedule *attention,
                                  const struct kiln_target *target)
{
    enum { SUM_BYTES = 4, ROW_TOTALS_BYTES = 8 };
    const struct kiln_contraction_schedule *products = &attention->products;
    uint32_t pack = kiln_pack_elements(products);
    uint32_t left = products->tile.m * (products->tile.k / pack);
    uint32_t step =
        attention->score_count * products->tile.n * (products->tile.k / pack) +
        kiln_attention_own_values(attention) * attention->tile.d * (products->tile.n / pack);
    bool is_local = products->tile.mma == NULL && target->wave_size > 1;
    uint32_t weights =
        is_local ? attention->value_count * products->tile.m * (products->tile.n / pack) : 0;
    uint32_t loop = (attention->tile.is_left_kept ? 0 : attention->score_count * left) +
                    kiln_pipeline_buffers(&products->pipeline) * step + weights;
    uint32_t strip_rows = products->tile.waves_m *
                          kiln_attention_fragment_rows(products, target, false) /
                          attention->tile.row_parts;
    uint32_t strip_columns =
        attention->value_count == 0 ? products->tile.n : attention->value_count * attention->tile.d;
    uint32_t strip = strip_rows * strip_columns * SUM_BYTES / PACK_BYTES +
                     (products->tile.m * ROW_TOTALS_BYTES + PACK_BYTES - 1) / PACK_BYTES;
    return kiln_max_u32(loop, kiln_max_u32(strip, left)) * PACK_BYTES;
}
