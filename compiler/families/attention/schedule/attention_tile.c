#include "compiler/families/attention/schedule/attention_tile.h"

#include "compiler/families/attention/schedule/attention_fragments.h"
#include "compiler/families/attention/schedule/attention_registers.h"
#include "compiler/families/contraction/schedule/contraction_fragments.h"
#include "compiler/families/contraction/schedule/mma.h"

enum {
    FEW_ROWS = 16, /* of a matrix instruction: mma.sync, not wgmma; or of all of a batch */
    MOST_ROWS = 32,
    SMALL_HEAD = 64,
    LARGE_HEAD = 128,
    CUDA_LDS_BYTES = 227 << 10, /* that a work-group can ask for */
    WAVES = 4,
    STEP = 32, /* elements that tiles of k, and of the result's columns, are multiples of */
};

bool kiln_attention_is_for(const struct kiln_target *target)
{
    return target->kind != KILN_TARGET_CUDA ||
           kiln_mma_find(target, KILN_DTYPE_F16, FEW_ROWS) != NULL;
}

static uint32_t round_up(int64_t size, uint32_t multiple)
{
    return (uint32_t)((size + multiple - 1) / multiple) * multiple;
}

/* Of a head of up to `most` elements: rows of a work-group's four waves, columns at a time, tiles
 * in LDS, and into how many parts the results of an instruction's rows go through it. */
struct tile {
    int64_t most;
    uint32_t rows, columns, buffers, row_parts;
    bool is_left_kept;
};

/* The same where there are no more rows than a matrix instruction has: waves have the same rows.
 * More of these small work-groups fit a compute unit if they have few columns at a time. */
static struct tile narrow_tile(const struct kiln_target *target,
                               const struct kiln_contraction_schedule *products, int64_t size)
{
    bool is_cuda = target->kind == KILN_TARGET_CUDA;
    bool is_small = !is_cuda && target->wave_size == 32;
    /* Fragments take twice the registers there. */
    bool has_large_fragments = products->tile.mma->layout == KILN_MMA_LAYOUT_WMMA_REPLICATED;
    return (struct tile){
        .rows = kiln_attention_fragment_rows(products, target, false),
        .columns = has_large_fragments             ? 16
                   : is_cuda && size <= LARGE_HEAD ? 64
                                                   : 32,
        .buffers = is_cuda && size <= LARGE_HEAD ? 2 : 1,
        .row_parts = 1,
        .is_left_kept = !is_small,
    };
}

/* Waves of AMD GPUs that share the few rows: as many as have whole parts of the result's columns. A
 * single wave would issue all instructions that stage the tiles, and nothing else runs meanwhile
 * where there are few batches. A wave of 32
 * work-items has too few registers for it too. Then two share the columns and some that do not
 * exist. */
static uint32_t narrow_waves(const struct kiln_target *target, int64_t columns)
{
    uint32_t waves = target->kind == KILN_TARGET_AMDGPU && target->wave_size == 32 ? 2 : 1;
    while (target->kind == KILN_TARGET_AMDGPU && waves < WAVES &&
           round_up(columns, STEP) % (2 * waves * STEP) == 0)
        waves *= 2;
    return waves;
}

/* Of two first products, with one result and with two: those of gradients. */
static const struct tile *find_gradient_tile(const struct kiln_target *target,
                                             const struct kiln_contraction_schedule *products,
                                             bool has_two_values)
{
    enum { COUNT = 3 };
    static const struct tile cuda[2][COUNT] = {
        {{64, 128, 64, 2, 1, false}, {128, 128, 32, 2, 1, false}, {INT64_MAX, 64, 32, 1, 1, false}},
        {{64, 128, 32, 2, 1, false}, {128, 64, 32, 2, 1, true}, {INT64_MAX, 64, 32, 1, 1, false}}};
    static const struct tile mfma[2][COUNT] = {
        {{64, 128, 64, 1, 4, true}, {128, 128, 32, 1, 4, true}, {INT64_MAX, 64, 32, 1, 4, true}},
        {{64, 128, 32, 1, 4, true}, {128, 64, 32, 1, 4, true}, {INT64_MAX, 64, 32, 1, 4, true}}};
    static const struct tile replicated[2][COUNT] = {
        {{64, 64, 16, 1, 2, true}, {128, 64, 16, 1, 1, false}, {INT64_MAX, 64, 16, 1, 2, false}},
        {{64, 64, 16, 1, 2, false}, {128, 64, 16, 1, 2, false}, {INT64_MAX, 64, 16, 1, 2, false}}};
    static const struct tile wmma[2][COUNT] = {
        {{64, 64, 16, 1, 2, true}, {128, 64, 16, 1, 2, true}, {INT64_MAX, 64, 16, 1, 2, false}},
        {{64, 64, 16, 1, 2, true}, {128, 64, 16, 1, 2, false}, {INT64_MAX, 64, 16, 1, 2, false}}};
    static const struct tile scalar = {INT64_MAX, 64, 32, 1, 1, false};
    static const struct tile host = {INT64_MAX, 32, 64, 1, 1, false};
    if (products->tile.mma == NULL)
        return target->wave_size == 1 ? &host : &scalar;
    return products->tile.mma->layout == KILN_MMA_LAYOUT_MMA_SYNC ? cuda[has_two_values]
           : products->tile.mma->layout == KILN_MMA_LAYOUT_MFMA   ? mfma[has_two_values]
           : products->tile.mma->layout == KILN_MMA_LAYOUT_WMMA   ? wmma[has_two_values]
                                                                  : replicated[has_two_values];
}

static const struct tile *find_tile(const struct kiln_target *target,
                                    const struct kiln_attention_schedule *attention, int64_t size)
{
    enum { COUNT = 3 };
    const struct kiln_contraction_schedule *products = &attention->products;
    static const struct tile cuda[COUNT] = {
        {64, 128, 128, 2, 1, false}, {128, 128, 64, 2, 1, false}, {INT64_MAX, 64, 32, 1, 1, false}};
    static const struct tile mfma[COUNT] = {
        {64, 128, 64, 1, 2, true}, {128, 128, 64, 1, 4, true}, {INT64_MAX, 64, 32, 1, 2, false}};
    static const struct tile replicated[COUNT] = {
        {64, 64, 32, 1, 2, true}, {128, 64, 32, 1, 2, false}, {INT64_MAX, 64, 16, 1, 2, false}};
    static const struct tile wmma[COUNT] = {
        {64, 64, 64, 1, 2, true}, {128, 64, 32, 1, 2, true}, {INT64_MAX, 64, 16, 1, 2, false}};
    static const struct tile scalar[COUNT] = {
        {64, 64, 32, 1, 1, false}, {128, 64, 32, 1, 1, false}, {INT64_MAX, 64, 32, 1, 1, false}};
    static const struct tile host[COUNT] = {
        {64, 32, 64, 1, 1, false}, {128, 32, 64, 1, 1, false}, {INT64_MAX, 32, 64, 1, 1, false}};
    const struct tile *tile = target->wave_size == 1 ? host : scalar;
    if (products->tile.mma != NULL)
        tile = products->tile.mma->layout == KILN_MMA_LAYOUT_MMA_SYNC          ? cuda
               : products->tile.mma->layout == KILN_MMA_LAYOUT_MFMA            ? mfma
               : products->tile.mma->layout == KILN_MMA_LAYOUT_WMMA_REPLICATED ? replicated
                                                                               : wmma;
    if (attention->score_count + attention->value_count > 2)
        tile = find_gradient_tile(target, products, attention->value_count > 1);
    while (size > tile->most)
        tile++;
    return tile;
}

static bool fits_lds(const struct kiln_attention_schedule *attention,
                     const struct kiln_target *target)
{
    uint32_t most = target->kind == KILN_TARGET_CUDA ? CUDA_LDS_BYTES : target->lds_bytes;
    return kiln_attention_lds_bytes(attention, target) <= most;
}

/* True if fewer columns still make whole steps of an instruction. */
static bool take_fewer_columns(struct kiln_attention_schedule *attention,
                               const struct kiln_target *target, uint32_t step)
{
    struct kiln_contraction_schedule *products = &attention->products;
    uint32_t columns = kiln_attention_fragment_rows(products, target, true);
    uint32_t least = columns > step ? columns : step;
    if (products->tile.n / 2 < least || products->tile.n / 2 % least != 0)
        return false;
    products->tile.n /= 2;
    return true;
}

/* True if there is a smaller tile: fewer columns, then fewer waves. */
static bool shrink(struct kiln_attention_schedule *attention, const struct kiln_target *target,
                   uint32_t step)
{
    struct kiln_contraction_schedule *products = &attention->products;
    if (take_fewer_columns(attention, target, step))
        return true;
    if (products->tile.waves_m == 1)
        return false;
    products->tile.waves_m /= 2;
    products->tile.m /= 2;
    return true;
}

/* Columns of the result are a multiple of what all waves of a row read of a value at once. */
static uint32_t result_columns(const struct kiln_attention_schedule *attention,
                               const struct kiln_target *target)
{
    uint32_t columns = kiln_attention_fragment_rows(&attention->products, target, true);
    bool is_scalar = attention->products.tile.mma == NULL;
    uint32_t of_wave = is_scalar || columns > STEP ? columns : STEP;
    uint32_t of_all = attention->tile.waves_d * of_wave;
    return round_up(attention->most_d, of_all > STEP ? of_all : STEP);
}

/* True if the changed tile fits local memory and takes fewer registers. Otherwise the change is
 * taken back. */
static bool keep_if_smaller(struct kiln_attention_schedule *attention,
                            const struct kiln_target *target,
                            const struct kiln_attention_schedule *before)
{
    if (fits_lds(attention, target) &&
        kiln_attention_registers(attention, target) < kiln_attention_registers(before, target))
        return true;
    *attention = *before;
    return false;
}

/* Twice as many waves have the same rows: more waves, or half of the rows. */
static bool share_rows(struct kiln_attention_schedule *attention, const struct kiln_target *target,
                       bool has_more_waves)
{
    struct kiln_contraction_schedule *products = &attention->products;
    const struct kiln_attention_schedule before = *attention;
    uint32_t waves = products->tile.waves_m * attention->tile.waves_d;
    if (attention->value_count == 0 ||
        (has_more_waves ? 2 * waves > WAVES : products->tile.waves_m == 1))
        return false;
    if (!has_more_waves) {
        products->tile.m /= 2;
        products->tile.waves_m /= 2;
    }
    attention->tile.waves_d *= 2;
    attention->tile.d = result_columns(attention, target);
    return keep_if_smaller(attention, target, &before);
}

static bool load_tiles_late(struct kiln_attention_schedule *attention,
                            const struct kiln_target *target)
{
    const struct kiln_attention_schedule before = *attention;
    attention->tile.are_tiles_late = target->kind != KILN_TARGET_CUDA;
    return keep_if_smaller(attention, target, &before);
}

/* Without matrix instructions: half of the rows of either operand for a lane. */
static bool halve_lane_rows(struct kiln_attention_schedule *attention,
                            const struct kiln_target *target)
{
    struct kiln_contraction_schedule *products = &attention->products;
    const struct kiln_attention_schedule before = *attention;
    if (products->tile.mma != NULL || products->tile.lane_rows < KILN_SCALAR_BLOCK)
        return false;
    products->tile.lane_rows /= 2;
    products->tile.m /= 2;
    if (attention->value_count != 0)
        attention->tile.d = result_columns(attention, target);
    return keep_if_smaller(attention, target, &before);
}

/* Where registers do not suffice, what scores are computed with is loaded later, then there are
 * fewer columns, then fragments that are not read ahead. A count that is just the budget has been
 * too low. The further steps cost more time: scores are made twice, nothing hides the latency of
 * loads, and what is read from local memory is used for fewer products. */
static void fit_registers(struct kiln_attention_schedule *attention,
                          const struct kiln_target *target, uint32_t limit, uint32_t step)
{
    uint32_t budget = kiln_attention_register_budget(attention, target);
    uint32_t most = budget < limit ? budget : limit;
    attention->tile.reads_scores_ahead = true;
    attention->tile.are_score_loads_late = attention->score_loads != 0 &&
                                           attention->value_count != 0 &&
                                           kiln_attention_registers(attention, target) >= most;
    while (kiln_attention_registers(attention, target) > most &&
           take_fewer_columns(attention, target, step))
        continue;
    attention->tile.reads_scores_ahead = kiln_attention_registers(attention, target) <= most;
    while (kiln_attention_registers(attention, target) > most &&
           (take_fewer_columns(attention, target, step) || share_rows(attention, target, true) ||
            load_tiles_late(attention, target) || share_rows(attention, target, false) ||
            halve_lane_rows(attention, target)))
        continue;
    attention->tile.registers = kiln_attention_registers(attention, target);
}

/* Of a fold: the left operands stay in LDS beside the right ones, since all change with the batch.
 */
static struct tile find_fold_tile(const struct kiln_target *target,
                                  const struct kiln_contraction_schedule *products, int64_t size)
{
    if (products->tile.mma == NULL)
        return (struct tile){.rows = target->wave_size == 1 ? 32 : 64,
                             .columns = target->wave_size == 1 ? 64 : 32,
                             .buffers = 1,
                             .row_parts = 1};
    if (products->tile.mma->layout == KILN_MMA_LAYOUT_MFMA)
        return (struct tile){
            .rows = size <= SMALL_HEAD ? 128 : 64, .columns = 64, .buffers = 1, .row_parts = 1};
    return (struct tile){
        .rows = 64, .columns = size > SMALL_HEAD ? 16 : 32, .buffers = 1, .row_parts = 1};
}

/* Elements of four bytes are in tiles of half as many columns. */
const char *kiln_choose_attention_tile(const struct kiln_target *target,
                                       const struct kiln_register_limits *limits, bool is_general,
                                       struct kiln_attention_schedule *attention)
{
    enum { FEWEST_COLUMNS = 32, HALF_BYTES = 2 };
    struct kiln_contraction_schedule *products = &attention->products;
    uint32_t bytes = kiln_dtype_info(products->staged)->bytes;
    if (bytes == 1)
        return "operands of one byte are not multiplied there";
    int64_t k = attention->most_k;
    int64_t size = attention->value_count == 0 || k > attention->most_d ? k : attention->most_d;
    /* Of the largest heads, and of large ones with two results, instructions of fewer rows leave
     * room for the rest, or for a second wave. */
    bool is_fold = attention->value_count == 0;
    bool are_few = !is_general && products->problem.m <= FEW_ROWS && attention->score_count == 1 &&
                   attention->value_count == 1;
    bool has_few_rows = target->kind == KILN_TARGET_CUDA || are_few ||
                        size > (is_fold || attention->value_count > 1 ? SMALL_HEAD : LARGE_HEAD);
    products->tile.mma =
        kiln_mma_find(target, products->staged, has_few_rows ? FEW_ROWS : MOST_ROWS);
    products->tile.lane_rows = products->tile.mma == NULL ? KILN_SCALAR_BLOCK : 0;
    bool is_narrow = are_few && products->tile.mma != NULL;
    const struct tile tile = is_narrow ? narrow_tile(target, products, size)
                             : is_fold ? find_fold_tile(target, products, size)
                                       : *find_tile(target, attention, size);
    uint32_t groups = products->tile.mma == NULL ? 1 : products->tile.mma->k_groups;
    uint32_t step_k = kiln_pack_elements(products) * groups;
    products->tile.waves_m = is_narrow
                                 ? tile.rows / kiln_attention_fragment_rows(products, target, false)
                             : target->wave_size == 1 ? 1
                                                      : WAVES;
    products->tile.waves_n = products->tile.waves_k = 1;
    products->tile.m = tile.rows;
    while (products->tile.waves_m > 1 &&
           products->tile.waves_m * kiln_attention_fragment_rows(products, target, false) >
               products->tile.m)
        products->tile.waves_m /= 2;
    products->tile.n = tile.columns;
    while (products->tile.n > FEWEST_COLUMNS &&
           products->tile.n * bytes > tile.columns * HALF_BYTES)
        products->tile.n /= 2;
    products->tile.k = round_up(k, step_k > STEP ? step_k : STEP);
    attention->tile.waves_d = is_narrow ? narrow_waves(target, attention->most_d) : 1;
    attention->tile.d = is_fold ? products->tile.n : result_columns(attention, target);
    products->pipeline.staged.buffers = tile.buffers;
    attention->tile.row_parts = tile.row_parts;
    attention->tile.is_left_kept = tile.is_left_kept;
    while (!fits_lds(attention, target) && shrink(attention, target, step_k))
        continue;
    fit_registers(attention, target, limits->registers, step_k);
    if (is_fold)
        attention->tile.d = products->tile.n;
    return fits_lds(attention, target) ? NULL : "its tiles do not fit local memory";
}
