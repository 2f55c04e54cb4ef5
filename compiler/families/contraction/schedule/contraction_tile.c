#include "compiler/families/contraction/schedule/contraction_tile.h"

#include "compiler/families/contraction/schedule/contraction_fragments.h"
#include "compiler/families/contraction/schedule/contraction_hopper.h"
#include "compiler/families/contraction/schedule/contraction_tile_faults.h"
#include "compiler/families/contraction/schedule/contraction_time.h"

enum {
    SMALLEST_TILE = 32,
    MFMA_WAVES_APART = 4, /* twice as many elsewhere, where a wave has half of the lanes */
    SCALAR_TILE = 64,     /* the largest without matrix instructions */
    NARROW_TILE = 16,
    MIDDLE_TILE = 64,
    LARGE_TILE = 128,
    /* What a lane may hold of a stream on its way, and of sums, in 32-bit registers. */
    STREAM_REGISTERS = 96,
    /* Computed by a lane for the steps that are loaded ahead: a float sigmoid on either operand of
     * a product without matrix instructions would take seconds to compile. */
    STREAM_OPERATIONS = 768,
    /* Operations that find elements count too, as along windows, and multiply-adds of targets
     * without matrix instructions: limits for all steps together, and for one step there. */
    STREAM_TEXT = 1536,
    STREAM_STEP_TEXT = 896,
    /* Operations that find elements of the steps that are loaded ahead, unless two are too many:
     * text twice over, and slower to do than loads are to come. */
    STREAM_FINDING = 320,
};

/* ---- candidates ---- */

/*
 * Kinds of products, which candidates are for. Convolutions of few channels have tiles that are not
 * square, and no larger ones: finding elements takes longer than their products, so that
 * work-groups that multiply meanwhile count, which need registers and local memory.
 */
enum {
    FOR_OTHERS = 1 << 0,
    FOR_FEW_FILTERS = 1 << 1, /* with wide weights, because of taps */
    FOR_RUNS = 1 << 2,        /* along k (run.h) */
    FOR_NARROW_RUNS = 1 << 3, /* with many rows and few columns */
    FOR_SINGLE_TAPS = 1 << 4, /* weights whose taps are found one by one */
    FOR_FEW_COLUMNS = 1 << 5, /* channels of an image's gradient, or filters */
    /* Bytes of WMMA with both operands along their rows. With 128 bytes of k a work-item of gfx12
     * stages quarters of packs and loads 16 bytes of each row. With replicated fragments eight
     * waves would spill, so sixteen stage half packs and load four bytes. */
    FOR_BYTES_ACROSS = 1 << 6,
    FOR_WIDE = FOR_OTHERS | FOR_RUNS,
    FOR_MOST = FOR_WIDE | FOR_NARROW_RUNS,
    /* A lane finds its own elements. Single taps have none: that takes far longer than their
     * products, and staged kernels share it in a table. */
    FOR_STREAMS = FOR_MOST | FOR_FEW_FILTERS | FOR_FEW_COLUMNS,
    FOR_ALL = FOR_STREAMS | FOR_SINGLE_TAPS,
};

struct candidate {
    uint32_t products; /* FOR_... */
    enum kiln_pipeline_kind kind;
    uint32_t tile_m, tile_n;
    uint32_t waves_m, waves_n, waves_k;
    uint32_t k_bytes;  /* of a row of a tile in local memory */
    uint32_t buffers;  /* such tiles */
    uint32_t fragment; /* rows of the matrix instruction, at most */
    double efficiency; /* share of the rate of matrix instructions that the core reaches */
};

/* Of targets with waves of several work-items. The best guess first: equal times go to it. Tiles of
 * 64 bytes of k: two of 128 x 128 take half of the local memory of an AMD GPU, one of 256 x 256
 * of 128 bytes all of it. */
static const struct candidate candidates[] = {
    {FOR_WIDE, KILN_PIPELINE_PINGPONG, 256, 256, 2, 4, 1, 128, 1, 32, 0.55},
    {FOR_BYTES_ACROSS, KILN_PIPELINE_STAGED, 128, 128, 4, 4, 1, 128, 2, 32, 0.45},
    {FOR_BYTES_ACROSS, KILN_PIPELINE_STAGED, 128, 128, 2, 4, 1, 128, 2, 32, 0.45},
    {FOR_BYTES_ACROSS, KILN_PIPELINE_STAGED, 64, 64, 2, 2, 1, 128, 2, 32, 0.30},
    {FOR_WIDE, KILN_PIPELINE_STAGED, 128, 128, 2, 2, 1, 128, 1, 32, 0.50},
    {FOR_WIDE, KILN_PIPELINE_STAGED, 128, 128, 2, 2, 1, 64, 2, 32, 0.40},
    {FOR_WIDE, KILN_PIPELINE_STAGED, 128, 128, 2, 4, 1, 64, 2, 32, 0.35},
    {FOR_OTHERS, KILN_PIPELINE_STAGED, 128, 64, 2, 2, 1, 128, 1, 32, 0.40},
    {FOR_FEW_FILTERS, KILN_PIPELINE_STAGED, 64, 128, 2, 2, 1, 128, 1, 32, 0.40},
    {FOR_RUNS | FOR_NARROW_RUNS, KILN_PIPELINE_STAGED, 128, 64, 2, 2, 1, 64, 1, 32, 0.35},
    {FOR_RUNS | FOR_NARROW_RUNS, KILN_PIPELINE_STAGED, 128, 64, 2, 2, 1, 64, 2, 32, 0.35},
    {FOR_MOST, KILN_PIPELINE_STAGED, 64, 64, 2, 2, 1, 64, 2, 32, 0.25},
    {FOR_SINGLE_TAPS, KILN_PIPELINE_STAGED, 64, 32, 2, 2, 1, 128, 2, 16, 0.20},
    {FOR_FEW_COLUMNS, KILN_PIPELINE_STAGED, 128, 32, 2, 2, 1, 64, 2, 16, 0.20},
    {FOR_FEW_COLUMNS, KILN_PIPELINE_STAGED, 128, 16, 4, 1, 1, 128, 1, 16, 0.20},
    {FOR_FEW_COLUMNS, KILN_PIPELINE_STAGED, 128, 16, 4, 1, 1, 64, 2, 16, 0.20},
    {FOR_MOST, KILN_PIPELINE_STAGED, 64, 64, 2, 2, 2, 256, 1, 32, 0.35},
    {FOR_MOST | FOR_SINGLE_TAPS, KILN_PIPELINE_STAGED, 32, 32, 2, 2, 1, 64, 2, 16, 0.10},
    {FOR_MOST, KILN_PIPELINE_STAGED, 32, 32, 1, 1, 8, 512, 1, 16, 0.22},
    {FOR_MOST, KILN_PIPELINE_STAGED, 32, 32, 1, 1, 4, 512, 1, 16, 0.22},
    {FOR_MOST, KILN_PIPELINE_STAGED, 16, 16, 1, 1, 4, 512, 1, 16, 0.10},
    {FOR_STREAMS, KILN_PIPELINE_STREAMED, 16, 16, 1, 1, 8, 0, 0, 16, 0.10},
    {FOR_STREAMS, KILN_PIPELINE_STREAMED, 16, 64, 1, 1, 8, 0, 0, 16, 0.20},
    {FOR_MOST, KILN_PIPELINE_STREAMED, 64, 16, 1, 1, 8, 0, 0, 16, 0.20},
    {FOR_MOST, KILN_PIPELINE_STREAMED, 64, 64, 1, 1, 8, 0, 0, 16, 0.20},
};

/* A CPU's core makes a tile by itself. */
static const struct candidate host_candidates[] = {
    {FOR_ALL, KILN_PIPELINE_STAGED, 32, 32, 1, 1, 1, 64, 2, 32, 0.5},
    {FOR_ALL, KILN_PIPELINE_STREAMED, 16, 16, 1, 1, 2, 0, 0, 32, 0.01},
};

/*
 * With one buffer of 128 bytes of k, instead of two of 64, a step has twice the matrix instructions
 * to hide loads behind; other work-groups of the compute unit multiply while one writes. By the
 * emulator's model of an MI300X it is the better one for MFMA. WMMA has too few registers, and wide
 * types have more instructions in a step than are worth compiling.
 */
static bool is_deep_tile_worth_it(const struct kiln_contraction_schedule *contraction)
{
    return contraction->tile.mma != NULL && contraction->tile.mma->layout == KILN_MMA_LAYOUT_MFMA &&
           kiln_dtype_info(contraction->staged)->bytes <= 2;
}

/*
 * Fragments of gfx11 take twice the registers, since both halves of a wave hold all of one. With
 * the sums of 64 x 64 they leave enough for loads, but not for what else an operand is made of:
 * then twice the waves have half the sums each.
 */
static bool are_registers_short(const struct kiln_tile_problem *problem,
                                const struct kiln_contraction_schedule *contraction)
{
    return contraction->tile.mma != NULL &&
           contraction->tile.mma->layout == KILN_MMA_LAYOUT_WMMA_REPLICATED &&
           !problem->are_operands_loaded;
}

/* For what is computed of operands: not where runs of rows of both are put together too, or where
 * elements are looked for along windows. */
static bool has_pingpong_registers(const struct kiln_tile_problem *problem,
                                   const struct kiln_contraction_schedule *contraction)
{
    return problem->are_operands_loaded ||
           (contraction->problem.windows.count == 0 &&
            !(problem->left.is_along_rows && problem->right.is_along_rows));
}

/* Simple operations of a lane of a streamed kernel for one step of k: what makes operands of loaded
 * elements and, with loads, what finds elements that are loaded by themselves. */
static uint32_t count_step_operations(const struct kiln_tile_problem *problem,
                                      const struct kiln_contraction_schedule *contraction,
                                      bool with_loads)
{
    uint32_t left_cost = problem->left.cost + (with_loads ? problem->left.load_cost : 0);
    uint32_t right_cost = problem->right.cost + (with_loads ? problem->right.load_cost : 0);
    uint32_t packs = kiln_lane_packs(contraction);
    uint32_t fragments_m = contraction->tile.m / contraction->tile.waves_m /
                           kiln_fragment_rows_m(contraction, problem->target);
    uint32_t fragments_n = contraction->tile.n / contraction->tile.waves_n /
                           kiln_fragment_rows_n(contraction, problem->target);
    return packs * kiln_pack_elements(contraction) *
           (fragments_m * left_cost + fragments_n * right_cost);
}

/* Multiply-adds of a lane for one step of k; 0 with matrix instructions. A multiply-add of bytes
 * counts twice where an operand runs along its rows: its bytes are taken apart, and no dot product
 * of the target takes them. */
static uint32_t count_step_products(const struct kiln_tile_problem *problem,
                                    const struct kiln_contraction_schedule *contraction)
{
    if (contraction->tile.mma != NULL)
        return 0;
    uint32_t rows_m = kiln_fragment_rows_m(contraction, problem->target);
    uint32_t rows_n = kiln_fragment_rows_n(contraction, problem->target);
    bool is_apart = kiln_dtype_info(contraction->staged)->bytes == 1 &&
                    (problem->left.is_along_rows || problem->right.is_along_rows);
    return KILN_SCALAR_BLOCK * KILN_SCALAR_BLOCK * kiln_pack_elements(contraction) *
           (contraction->tile.m / contraction->tile.waves_m / rows_m) *
           (contraction->tile.n / contraction->tile.waves_n / rows_n) * (is_apart ? 2 : 1);
}

/* Then preferences for some tiles do not count, only what is possible. */
static bool is_forced(const struct kiln_contraction_options *forced)
{
    return forced->form != KILN_CONTRACTION_ANY || forced->tile_m != 0 || forced->tile_k != 0 ||
           forced->waves_m != 0;
}

/* A single step, or tile of k, is too much text: a lane has many elements to find and to compute.
 * Staged, the lanes of a work-group share them, few where a tile is short. */
static bool is_text_long(const struct kiln_tile_problem *problem,
                         const struct kiln_contraction_schedule *contraction)
{
    if (is_forced(problem->forced))
        return false;
    if (contraction->pipeline.kind == KILN_PIPELINE_STREAMED)
        return count_step_operations(problem, contraction, true) +
                   count_step_products(problem, contraction) >
               (contraction->tile.mma == NULL ? STREAM_STEP_TEXT : STREAM_TEXT);
    uint32_t lanes = contraction->tile.waves_k * problem->target->wave_size;
    uint32_t operations = contraction->tile.m * (problem->left.cost + problem->left.load_cost) +
                          contraction->tile.n * (problem->right.cost + problem->right.load_cost);
    return contraction->tile.waves_k != 1 && contraction->tile.k * operations / lanes > STREAM_TEXT;
}

/* A loaded element of so many fragments takes this many bytes of registers. An element that is
 * loaded by itself has a whole register, and so has one along rows where no other fragment has the
 * next row. With matrix instructions and one product a lane has so few rows that this makes no
 * difference. */
static uint32_t loaded_bytes(const struct kiln_contraction_schedule *contraction,
                             const struct kiln_tile_operand *operand, uint32_t fragments)
{
    bool has_mma = contraction->tile.mma != NULL;
    bool is_alone = !operand->is_whole || (has_mma && operand->is_along_rows && fragments == 1);
    return is_alone && (!has_mma || contraction->problem.products != 1)
               ? kiln_max_u32(operand->bytes, 4)
               : operand->bytes;
}

/* Steps that a wave of a streamed kernel loads ahead. */
static uint32_t count_slots(const struct kiln_tile_problem *problem,
                            const struct kiln_contraction_schedule *contraction)
{
    uint32_t packs = kiln_lane_packs(contraction);
    uint32_t staged = kiln_dtype_info(contraction->staged)->bytes;
    uint32_t rows_m = kiln_fragment_rows_m(contraction, problem->target);
    uint32_t rows_n = kiln_fragment_rows_n(contraction, problem->target);
    uint32_t fragments_m = contraction->tile.m / contraction->tile.waves_m / rows_m;
    uint32_t fragments_n = contraction->tile.n / contraction->tile.waves_n / rows_n;
    uint32_t left = fragments_m * loaded_bytes(contraction, &problem->left, fragments_m);
    uint32_t right = fragments_n * loaded_bytes(contraction, &problem->right,
                                                fragments_n / contraction->problem.products);
    uint32_t run = kiln_pipeline_lane_run(&contraction->pipeline);
    uint32_t registers = packs * 4 * (left + right) / staged;
    uint32_t most = registers == 0 ? KILN_MAX_STREAM_STEPS : STREAM_REGISTERS / registers;
    most = most > KILN_MAX_STREAM_STEPS * run ? KILN_MAX_STREAM_STEPS * run : most;
    most = most > problem->limits->steps ? problem->limits->steps : most;
    /* What is computed of the operands stands in the kernel's text twice for each of these steps.
     */
    uint32_t operations = count_step_operations(problem, contraction, false);
    uint32_t text = count_step_operations(problem, contraction, true) +
                    count_step_products(problem, contraction);
    if (operations != 0 && most > STREAM_OPERATIONS / operations)
        most = STREAM_OPERATIONS / operations;
    if (text != 0 && most > STREAM_TEXT / text)
        most = STREAM_TEXT / text;
    uint32_t finding = text - operations - count_step_products(problem, contraction);
    if (finding != 0)
        most = kiln_min_u32(most, kiln_max_u32(STREAM_FINDING / finding, 2));
    uint32_t slots = 1;
    while (slots * 2 * run <= most)
        slots *= 2;
    return slots;
}

static void take(const struct kiln_tile_problem *problem, const struct candidate *candidate,
                 struct kiln_contraction_schedule *contraction)
{
    bool is_streamed = candidate->kind == KILN_PIPELINE_STREAMED;
    struct kiln_tile *tile = &contraction->tile;
    *tile = (struct kiln_tile){
        .mma = kiln_mma_find(problem->target, contraction->staged, candidate->fragment),
        .m = candidate->tile_m,
        .n = candidate->tile_n * (is_streamed ? contraction->problem.products : 1),
        .k = candidate->k_bytes / kiln_dtype_info(contraction->staged)->bytes,
        .waves_m = candidate->waves_m,
        .waves_n = candidate->waves_n,
        .waves_k = candidate->waves_k,
    };
    contraction->pipeline = (struct kiln_pipeline){.kind = candidate->kind};
    if (candidate->kind == KILN_PIPELINE_STAGED)
        contraction->pipeline.staged.buffers = candidate->buffers;
    if (is_streamed)
        contraction->pipeline.streamed.lane_run = kiln_max_u32(problem->lane_run, 1);
    if (tile->mma == NULL) {
        /* A fragment of device/mma/scalar.h has up to 32 rows. */
        uint32_t least_m = kiln_fragment_rows_m(contraction, problem->target);
        uint32_t least_n = kiln_fragment_rows_n(contraction, problem->target);
        tile->waves_m = tile->m < tile->waves_m * least_m ? 1 : tile->waves_m;
        tile->waves_n = tile->n < tile->waves_n * least_n ? 1 : tile->waves_n;
        tile->m = kiln_max_u32(tile->m, least_m);
        tile->n = kiln_max_u32(tile->n, least_n);
    }
    /* The narrowest tiles are for the fewest registers: blocks make them wider. */
    uint32_t block = contraction->problem.block * contraction->problem.products;
    if (candidate->kind == KILN_PIPELINE_STAGED && tile->n < block)
        tile->n = block;
    if (is_streamed)
        tile->k = count_slots(problem, contraction) * kiln_lane_step(contraction);
}

static void force(const struct kiln_contraction_options *forced,
                  struct kiln_contraction_schedule *contraction)
{
    if (forced->tile_m != 0) {
        contraction->tile.m = forced->tile_m;
        contraction->tile.n = forced->tile_n;
    }
    if (forced->tile_k != 0)
        contraction->tile.k = forced->tile_k;
    while (kiln_pipeline_lane_run(&contraction->pipeline) > 1 &&
           contraction->tile.k % kiln_lane_step(contraction) != 0)
        contraction->pipeline.streamed.lane_run /= 2;
    if (forced->waves_m != 0) {
        contraction->tile.waves_m = forced->waves_m;
        contraction->tile.waves_n = forced->waves_n;
        contraction->tile.waves_k = forced->waves_k;
    }
}

/* ---- time ---- */

double kiln_staged_time_ns(const struct kiln_tile_problem *problem,
                           const struct kiln_contraction_schedule *contraction)
{
    double efficiency = 0.1;
    for (size_t i = sizeof candidates / sizeof *candidates; i-- > 0;) {
        if ((candidates[i].products & FOR_OTHERS) != 0 &&
            candidates[i].kind == KILN_PIPELINE_STAGED &&
            candidates[i].tile_m <= contraction->tile.m &&
            candidates[i].tile_n <= contraction->tile.n)
            efficiency = candidates[i].efficiency;
    }
    return kiln_model_contraction_time(problem, contraction, efficiency);
}

/* ---- choice ---- */

static bool is_wanted(const struct kiln_tile_problem *problem, const struct candidate *candidate)
{
    static const enum kiln_pipeline_kind kinds[] = {
        [KILN_CONTRACTION_PLAIN] = KILN_PIPELINE_STAGED,
        [KILN_CONTRACTION_PINGPONG] = KILN_PIPELINE_PINGPONG,
        [KILN_CONTRACTION_STREAMED] = KILN_PIPELINE_STREAMED,
    };
    enum kiln_contraction_form form = problem->forced->form;
    return form == KILN_CONTRACTION_ANY || kinds[form] == candidate->kind;
}

/* The compiler had too few registers for larger ones. */
static bool is_within_limits(const struct kiln_tile_problem *problem,
                             const struct candidate *candidate)
{
    uint32_t most = candidate->tile_m > candidate->tile_n ? candidate->tile_m : candidate->tile_n;
    if (candidate->kind == KILN_PIPELINE_STREAMED && problem->limits->steps == 0)
        return false;
    if (most > SMALLEST_TILE)
        return most <= problem->limits->held_elems;
    if (candidate->kind == KILN_PIPELINE_STAGED && candidate->waves_k != 1 &&
        problem->limits->held_elems < SMALLEST_TILE)
        return false;
    /* Staged, it is for nothing else. */
    return candidate->waves_k != 1 || problem->target->wave_size == 1 ||
           problem->limits->held_elems < 2 * SMALLEST_TILE;
}

/*
 * On Hopper a kernel that streams begins and ends sooner than one with a ring: of few rows and few
 * columns it is the faster one.
 */
static void choose_hopper_stream(const struct kiln_tile_problem *problem,
                                 struct kiln_contraction_schedule *contraction)
{
    static const struct candidate streams[] = {
        {FOR_ALL, KILN_PIPELINE_STREAMED, 16, 16, 1, 1, 16, 0, 0, 16, 0},
        {FOR_ALL, KILN_PIPELINE_STREAMED, 16, 16, 1, 1, 8, 0, 0, 16, 0},
        {FOR_ALL, KILN_PIPELINE_STREAMED, 16, 32, 1, 1, 16, 0, 0, 16, 0},
        {FOR_ALL, KILN_PIPELINE_STREAMED, 16, 32, 1, 1, 8, 0, 0, 16, 0},
    };
    /* Where blocks are unpacked, a wave with more columns loads less of the other operand. */
    size_t first = problem->lane_run > 1 ? 2 : 0;
    double least = contraction->time_ns;
    if (is_forced(problem->forced) || contraction->problem.m > 16 || problem->left.is_along_rows ||
        problem->right.is_along_rows || !problem->left.is_whole || !problem->right.is_whole)
        return;
    const struct kiln_contraction_schedule base = *contraction;
    for (size_t i = first; i < first + 2; i++) {
        struct kiln_contraction_schedule tried = base;
        take(problem, &streams[i], &tried);
        double time = kiln_hopper_stream_time_ns(problem, &tried);
        if (kiln_find_tile_fault(problem, &tried) != NULL)
            continue;
        kiln_note_tile(problem, &tried, time);
        if (time >= least)
            continue;
        least = tried.time_ns = time;
        *contraction = tried;
    }
}

/*
 * Candidates that are the best of a few sizes, by less than the model is worth, and would be one
 * more kernel each. Which tile a convolution has changes with the size of its images: that it has
 * been compiled before is worth more.
 */
static bool is_one_too_many(const struct kiln_tile_problem *problem,
                            const struct candidate *candidate,
                            const struct kiln_contraction_schedule *contraction)
{
    const struct kiln_role_axes *sums = &contraction->problem.sums;
    bool is_split = contraction->problem.windows.count != 0 || contraction->problem.rows.count > 1;
    bool is_narrow = contraction->problem.n <= NARROW_TILE || !problem->right.is_whole;
    bool has_rows = problem->left.is_along_rows || problem->right.is_along_rows;
    bool sums_pixels = contraction->problem.windows.is_right ||
                       (problem->left.is_along_rows && problem->right.is_along_rows);
    bool is_small = candidate->tile_m < MIDDLE_TILE;
    if (is_forced(problem->forced) || problem->limits->held_elems < LARGE_TILE ||
        !is_deep_tile_worth_it(contraction))
        return false;
    if (candidate->kind == KILN_PIPELINE_PINGPONG)
        return contraction->problem.k % contraction->tile.k != 0 || is_split;
    if (candidate->kind == KILN_PIPELINE_STAGED && (is_small || candidate->waves_k != 1))
        return has_rows || (is_split && (!is_small || candidate->waves_k != 1));
    if (candidate->kind == KILN_PIPELINE_STREAMED && contraction->problem.k_run != 0)
        return true;
    /* It would be two kernels, one of which has several taps in a tile. */
    if (is_small && candidate->tile_n < MIDDLE_TILE)
        return !sums_pixels && sums->count > 1 &&
               (contraction->problem.windows.phase_count != 0 ||
                sums->sizes[sums->count - 1] % contraction->tile.k != 0);
    if (candidate->kind == KILN_PIPELINE_STREAMED && candidate->tile_n != candidate->tile_m)
        return is_split &&
               (candidate->tile_n == NARROW_TILE ? !is_narrow
                                                 : is_narrow || !problem->right.is_along_rows);
    /* One of 128 x 64 is as fast; streamed, where a window's elements are loaded along k, or none.
     */
    bool has_other = candidate->kind == KILN_PIPELINE_STAGED ||
                     (contraction->problem.windows.count != 0 && has_rows);
    return has_other && candidate->tile_m == MIDDLE_TILE && candidate->tile_n == MIDDLE_TILE;
}

static bool are_bytes_across(const struct kiln_tile_problem *problem,
                             const struct kiln_contraction_schedule *contraction)
{
    const struct kiln_mma *mma = kiln_mma_find(problem->target, contraction->staged, SMALLEST_TILE);
    return mma != NULL &&
           (mma->layout == KILN_MMA_LAYOUT_WMMA ||
            mma->layout == KILN_MMA_LAYOUT_WMMA_REPLICATED) &&
           kiln_dtype_info(contraction->staged)->bytes == 1 && problem->are_operands_loaded &&
           problem->left.is_along_rows && problem->left.is_whole && problem->right.is_along_rows &&
           problem->right.is_whole && contraction->problem.windows.count == 0;
}

/* Kinds of products (FOR_...) whose candidates suit this one. Where a tile is forced, all do but
 * those that only serve bytes across k. */
static uint32_t products_of(const struct kiln_tile_problem *problem,
                            const struct kiln_contraction_schedule *contraction)
{
    const struct kiln_product_problem *product = &contraction->problem;
    bool has_windows = product->windows.count != 0;
    bool has_taps = has_windows && product->windows.is_right;
    uint32_t across = are_bytes_across(problem, contraction) ? FOR_BYTES_ACROSS : 0;
    if (is_forced(problem->forced))
        return FOR_ALL | across;
    if (kiln_mma_find(problem->target, contraction->staged, SMALLEST_TILE) == NULL ||
        product->products != 1 || problem->limits->held_elems < LARGE_TILE)
        return FOR_OTHERS;
    if (across != 0)
        return FOR_OTHERS | across;
    if (has_taps && !problem->right.is_whole)
        return FOR_SINGLE_TAPS;
    if (has_windows && !has_taps && product->n <= SMALLEST_TILE && product->m >= LARGE_TILE)
        return FOR_FEW_COLUMNS;
    if (product->k_run != 0 && product->m >= LARGE_TILE && product->n <= MIDDLE_TILE)
        return FOR_NARROW_RUNS;
    bool are_few = has_taps && product->m <= MIDDLE_TILE && product->n >= LARGE_TILE;
    return (product->k_run != 0 ? FOR_RUNS : FOR_OTHERS) | (are_few ? FOR_FEW_FILTERS : 0);
}

/* False for a candidate that another one is better than on this target, or for this product. */
static bool is_worth_trying(const struct kiln_tile_problem *problem,
                            const struct candidate *candidate,
                            const struct kiln_contraction_schedule *tried)
{
    bool is_deep = candidate->buffers == 1 && candidate->tile_m > SMALLEST_TILE;
    bool is_apart = candidate->waves_k != 1 && candidate->tile_m <= SMALLEST_TILE;
    bool has_more_waves = candidate->waves_n == 4;
    if ((tried->tile.mma == NULL && candidate->tile_m > SCALAR_TILE) ||
        is_one_too_many(problem, candidate, tried) || is_text_long(problem, tried))
        return false;
    if (candidate->products == FOR_BYTES_ACROSS && candidate->tile_m == LARGE_TILE)
        return (candidate->waves_m == 4) ==
               (tried->tile.mma->layout == KILN_MMA_LAYOUT_WMMA_REPLICATED);
    switch (candidate->kind) {
    case KILN_PIPELINE_STAGED:
        return (!is_deep || is_deep_tile_worth_it(tried)) &&
               (!is_apart ||
                (candidate->waves_k == MFMA_WAVES_APART) == is_deep_tile_worth_it(tried)) &&
               (candidate->tile_m != LARGE_TILE ||
                has_more_waves == are_registers_short(problem, tried));
    case KILN_PIPELINE_PINGPONG:
        return problem->forced->form == KILN_CONTRACTION_PINGPONG ||
               (kiln_is_cdna3_or_later(problem->target) && has_pingpong_registers(problem, tried));
    default:
        /* Waves that stage for themselves load whole lines of both operands. */
        return is_forced(problem->forced) || !is_deep_tile_worth_it(tried) ||
               tried->problem.windows.count != 0 || problem->lane_run > 1 ||
               problem->left.is_along_rows || problem->right.is_along_rows ||
               candidate->tile_m == candidate->tile_n;
    }
}

/* A tile that is longer than k would be one more kernel. */
static bool is_too_long(const struct kiln_tile_problem *problem,
                        const struct kiln_contraction_schedule *tried)
{
    return !is_forced(problem->forced) && tried->tile.waves_k != 1 &&
           tried->pipeline.kind != KILN_PIPELINE_STREAMED && tried->problem.k < tried->tile.k;
}

static const char no_schedule[] = "the target has no such schedule, or not with this tile";

/* Chooses the fastest of the candidates for any of these kinds of products (FOR_...). Returns NULL,
 * or a sentence that says why there is none. */
static const char *choose_for(const struct kiln_tile_problem *problem, uint32_t products,
                              struct kiln_contraction_schedule *contraction)
{
    bool is_host = problem->target->wave_size == 1;
    const struct candidate *list = is_host ? host_candidates : candidates;
    size_t count = is_host ? sizeof host_candidates / sizeof *host_candidates
                           : sizeof candidates / sizeof *candidates;
    const char *fault = no_schedule;
    bool is_found = false, has_kept = false;
    double best_time = 0;
    for (size_t i = 0; i < count; i++) {
        struct kiln_contraction_schedule tried = *contraction;
        if ((list[i].products & products) == 0 || !is_wanted(problem, &list[i]) ||
            (problem->forced->tile_m == 0 && !is_within_limits(problem, &list[i])))
            continue;
        take(problem, &list[i], &tried);
        if (!is_worth_trying(problem, &list[i], &tried))
            continue;
        force(problem->forced, &tried);
        if (tried.pipeline.kind == KILN_PIPELINE_STAGED &&
            kiln_contraction_lds_bytes(&tried, problem->target, problem->sum_bytes) >
                problem->target->lds_bytes)
            tried.pipeline.staged.buffers = 1;
        if (is_too_long(problem, &tried))
            continue;
        const char *tried_fault = kiln_find_tile_fault(problem, &tried);
        if (tried_fault != NULL) {
            fault = tried_fault;
            continue;
        }
        double time = kiln_model_contraction_time(problem, &tried, list[i].efficiency);
        kiln_note_tile(problem, &tried, time);
        bool is_kept =
            problem->kept_statistics == 0 ||
            kiln_count_statistics(&problem->statistics, &tried) == problem->kept_statistics;
        if (is_found && ((has_kept && !is_kept) || (has_kept == is_kept && time >= best_time)))
            continue;
        has_kept = is_kept;
        is_found = true;
        best_time = tried.time_ns = time;
        *contraction = tried;
    }
    return is_found ? NULL : fault;
}

const char *kiln_choose_contraction_tile(const struct kiln_tile_problem *problem,
                                         struct kiln_contraction_schedule *contraction)
{
    enum kiln_contraction_form form = problem->forced->form;
    /* Tiles of Hopper's own were measured. */
    if ((form == KILN_CONTRACTION_ANY || form == KILN_CONTRACTION_SPECIALIZED) &&
        kiln_choose_hopper_tile(problem, contraction)) {
        choose_hopper_stream(problem, contraction);
        return NULL;
    }
    /* Forms without a tile of a matrix instruction are chosen elsewhere. */
    if (form == KILN_CONTRACTION_SPECIALIZED || form == KILN_CONTRACTION_DIRECT ||
        form == KILN_CONTRACTION_SMALL)
        return no_schedule;
    uint32_t products = products_of(problem, contraction);
    const char *fault = choose_for(problem, products, contraction);
    /* Few tiles are for a kind of product, and none of them may be possible. */
    return fault != NULL && (products & FOR_OTHERS) == 0
               ? choose_for(problem, FOR_OTHERS, contraction)
               : fault;
}
