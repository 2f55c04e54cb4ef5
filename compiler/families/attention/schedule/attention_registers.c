#include "compiler/families/attention/schedule/attention_registers.h"

#include "compiler/families/attention/schedule/attention_fragments.h"
#include "compiler/families/contraction/schedule/contraction_fragments.h"
#include "compiler/families/contraction/schedule/contraction_loads.h"
#include "compiler/families/contraction/schedule/mma.h"

enum {
    PACK_REGISTERS = 4,
    WMMA_VALUES_AHEAD = 2, /* fragments: KILN_MMA_VALUES_AHEAD */
    /* Addresses, pointers, what is known of rows, and what the compiler takes besides: as seen with
     * LLVM 19 for heads of 32 to 256. More addresses differ where a row's packs are no power of
     * two. */
    OTHERS = 48,
    OTHERS_OF_UNEVEN_ROWS = 24,
};

/* The facts about a core (device/mma/) that the count depends on. */
struct core {
    uint32_t rows_m, rows_n, k_groups;
    uint32_t fragment;     /* registers */
    uint32_t sums;         /* of an instruction, in a lane */
    bool reads_ahead;      /* fragments of the next step */
    uint32_t values_ahead; /* fragments of a value that are read at once; 0: all of a step */
};

static struct core find_core(const struct kiln_attention_schedule *attention,
                             const struct kiln_target *target)
{
    const struct kiln_mma *mma = attention->products.tile.mma;
    struct core core = {
        .rows_m = kiln_attention_fragment_rows(&attention->products, target, false),
        .rows_n = kiln_attention_fragment_rows(&attention->products, target, true),
        .k_groups = 1,
        .fragment = attention->products.tile.lane_rows * PACK_REGISTERS,
    };
    core.sums = core.rows_m * core.rows_n / target->wave_size;
    if (mma == NULL)
        return core;
    core.k_groups = mma->k_groups;
    core.fragment = kiln_mma_packs(mma) * PACK_REGISTERS;
    core.reads_ahead = true;
    core.values_ahead = mma->layout == KILN_MMA_LAYOUT_MFMA ? 0 : WMMA_VALUES_AHEAD;
    return core;
}

/* Of a lane that has its part of so many packs, or one more than others. */
static uint32_t staged_registers(uint32_t packs, uint32_t lanes)
{
    return (packs + lanes - 1) / lanes * PACK_REGISTERS;
}

/* The packs of one tile at a time, or of all of them together. */
static uint32_t staged_tiles(const struct kiln_attention_schedule *attention, uint32_t lanes)
{
    const struct kiln_contraction_schedule *products = &attention->products;
    uint32_t pack = kiln_pack_elements(products);
    uint32_t row_packs = products->tile.k / pack;
    if (attention->tile.are_tiles_late)
        return KILN_WIDEST_RUN * PACK_REGISTERS;
    uint32_t rights = staged_registers(products->tile.n * row_packs, lanes);
    if (attention->value_count == 0)
        return attention->score_count *
               (staged_registers(products->tile.m * row_packs, lanes) + rights);
    return attention->score_count * rights +
           kiln_attention_own_values(attention) *
               staged_registers(attention->tile.d * products->tile.n / pack, lanes);
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
    const struct core core = find_core(attention, target);
    uint32_t pack = kiln_pack_elements(products);
    uint32_t rows = products->tile.m / products->tile.waves_m / core.rows_m;
    uint32_t columns = products->tile.n / core.rows_n;
    uint32_t depth = attention->tile.d / attention->tile.waves_d / core.rows_n;
    uint32_t step = pack * core.k_groups;
    uint32_t steps_k = products->tile.k / step;
    uint32_t steps_n = (products->tile.n + step - 1) / step;
    uint32_t lanes = products->tile.waves_m * attention->tile.waves_d * target->wave_size;
    uint32_t row_packs = products->tile.k / pack;
    bool is_uneven = (row_packs & (row_packs - 1)) != 0;
    uint32_t ahead = core.reads_ahead && attention->tile.reads_scores_ahead ? 2 : 1;
    uint32_t tile = rows * columns * core.sums;
    uint32_t fragments =
        ahead * (columns + (attention->tile.is_left_kept ? 0 : rows)) * core.fragment;
    uint32_t loaded = attention->score_loads * tile;
    uint32_t scores = attention->score_count * tile + (attention->tile.are_score_loads_late
                                                           ? kiln_max_u32(fragments, loaded)
                                                           : fragments + loaded);
    uint32_t others = OTHERS + (is_uneven ? OTHERS_OF_UNEVEN_ROWS : 0);
    uint32_t staged = staged_tiles(attention, lanes);
    if (attention->value_count == 0)
        return attention->tile.are_tiles_late ? tile + kiln_max_u32(scores, staged) + others
                                              : tile + scores + others + staged;
    uint32_t results = rows * attention->value_count * depth * core.sums;
    uint32_t left =
        attention->tile.is_left_kept ? attention->score_count * rows * steps_k * core.fragment : 0;
    uint32_t values_ahead = core.values_ahead == 0 ? depth : core.values_ahead;
    /* Without matrix instructions weights are in LDS. */
    uint32_t values = products->tile.mma == NULL
                          ? (1 + depth) * core.fragment
                          : attention->value_count * rows * steps_n * core.fragment +
                                2 * values_ahead * core.fragment;
    uint32_t multiplied = kiln_max_u32(scores, values);
    if (attention->tile.are_tiles_late)
        return results + left + kiln_max_u32(multiplied, staged) + others;
    return results + left + staged + multiplied + others;
}

/* True if the registers of a gradient's wave are counted to be at most half of a SIMD's. If the
 * packs of a row are no power of two, the count is too low to say so. */
static bool is_half_of_simd(const struct kiln_attention_schedule *attention,
                            const struct kiln_target *target)
{
    enum { HALF_OF_SIMD = 256 };
    uint32_t row_packs = attention->products.tile.k / kiln_pack_elements(&attention->products);
    return (row_packs & (row_packs - 1)) == 0 &&
           kiln_attention_registers(attention, target) <= HALF_OF_SIMD;
}

/* Work-groups of the other forms take more registers than that leaves. */
bool kiln_attention_has_residents(const struct kiln_attention_schedule *attention,
                                  const struct kiln_target *target)
{
    enum { LARGE_HEAD = 128, MOST_OF_TWO_WAVES = 192 };
    const struct kiln_contraction_schedule *products = &attention->products;
    if (products->tile.mma == NULL)
        return false;
    if (products->tile.mma->layout != KILN_MMA_LAYOUT_MFMA)
        return products->tile.mma->layout == KILN_MMA_LAYOUT_MMA_SYNC;
    bool is_gradient = attention->score_count > 1 || attention->value_count > 1;
    uint32_t most = is_gradient ? LARGE_HEAD : MOST_OF_TWO_WAVES;
    bool is_small = attention->value_count == 0 || attention->tile.d <= most;
    return products->tile.waves_m * attention->tile.waves_d > 1 && products->tile.k <= most &&
           is_small && (!is_gradient || is_half_of_simd(attention, target));
}

uint32_t kiln_attention_register_budget(const struct kiln_attention_schedule *attention,
                                        const struct kiln_target *target)
{
    /* Compilers take some 40 registers more than are counted where there are no matrix
     * instructions: of tiles with 224 all spilled, with 220 some did not. */
    enum { SCALAR = 220, ADDRESSED = 256, WITH_ACCUMULATORS = 512 };
    if (target->kind != KILN_TARGET_AMDGPU)
        return UINT32_MAX;
    if (attention->products.tile.mma == NULL)
        return SCALAR;
    if (target->wave_size == 32)
        return ADDRESSED;
    return kiln_attention_has_residents(attention, target) ? WITH_ACCUMULATORS / 2
                                                           : WITH_ACCUMULATORS;
}
