#include "compiler/schedule/contraction_tile.h"

#include "compiler/schedule/contraction_hopper.h"
#include "compiler/schedule/contraction_time.h"

#include <string.h>

enum {
    PACK_BYTES = 16,
    SCALAR_BLOCK = 4, /* device/mma/scalar.h: rows of either operand in a lane */
    MAX_BLOCK = 1024,
    MAX_SLOTS = 8,
    SMALLEST_TILE = 32,
    SCALAR_TILE = 64, /* the largest without matrix instructions */
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
    MAX_SUM_REGISTERS = 256,
    WGMMA_WAVE_ROWS = 16, /* device/mma/wgmma.h: 64 of four warps */
};

uint32_t kiln_pack_elements(const struct kiln_contraction_schedule *contraction)
{
    return (uint32_t)PACK_BYTES / kiln_dtype_info(contraction->staged)->bytes;
}

uint32_t kiln_loaded_elements(const struct kiln_contraction_schedule *contraction,
                              const struct kiln_operand_schedule *operand)
{
    return kiln_pack_elements(contraction) / operand->pieces;
}

/* ---- fragments ---- */

uint32_t kiln_fragment_rows_m(const struct kiln_contraction_schedule *contraction,
                              const struct kiln_target *target)
{
    if (contraction->producer_waves != 0)
        return WGMMA_WAVE_ROWS;
    if (contraction->mma != NULL)
        return contraction->mma->rows_m;
    return target->wave_size < 8 ? SCALAR_BLOCK : target->wave_size / 8 * SCALAR_BLOCK;
}

uint32_t kiln_fragment_rows_n(const struct kiln_contraction_schedule *contraction,
                              const struct kiln_target *target)
{
    if (contraction->producer_waves != 0)
        return contraction->tile_n;
    if (contraction->mma != NULL)
        return contraction->mma->rows_n;
    return (target->wave_size < 8 ? target->wave_size : 8) * SCALAR_BLOCK;
}

/* What a lane loads of a fragment of its own, and the packs along k of all lanes: KILN_LANE_PACKS
 * and KILN_LANE_GROUPS of device/mma/. */
static void lane_packs(const struct kiln_contraction_schedule *contraction, uint32_t *ret_packs,
                       uint32_t *ret_groups)
{
    const struct kiln_mma *mma = contraction->mma;
    *ret_packs = 1;
    *ret_groups = mma != NULL ? mma->k_groups : 1;
    if (mma == NULL) {
        *ret_packs = SCALAR_BLOCK;
    } else if (mma->layout == KILN_MMA_LAYOUT_WMMA_REPLICATED) {
        *ret_packs = mma->k_groups;
    } else if (mma->layout == KILN_MMA_LAYOUT_MMA_SYNC) {
        *ret_packs = 2;
        *ret_groups = 4;
    }
}

uint32_t kiln_contraction_lds_bytes(const struct kiln_contraction_schedule *contraction,
                                    const struct kiln_target *target, uint32_t sum_bytes)
{
    uint32_t tiles = (contraction->tile_m + contraction->tile_n) * contraction->tile_k *
                     kiln_dtype_info(contraction->staged)->bytes * contraction->buffers;
    uint32_t parts = contraction->row_parts > 1 ? contraction->row_parts : 1;
    uint32_t strip = contraction->waves_k * contraction->waves_m *
                     kiln_fragment_rows_m(contraction, target) / parts * contraction->tile_n *
                     sum_bytes;
    uint32_t ring = contraction->producer_waves != 0 ? contraction->buffers * PACK_BYTES : 0;
    return (tiles > strip ? tiles : strip) + ring;
}

/* ---- candidates ---- */

enum form {
    FORM_PLAIN,
    FORM_PINGPONG,
    FORM_STREAMED,
};

struct candidate {
    enum form form;
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
    {FORM_PINGPONG, 256, 256, 2, 4, 1, 128, 1, 32, 0.55},
    {FORM_PLAIN, 128, 128, 2, 2, 1, 128, 1, 32, 0.50},
    {FORM_PLAIN, 128, 128, 2, 2, 1, 64, 2, 32, 0.40},
    {FORM_PLAIN, 128, 128, 2, 4, 1, 64, 2, 32, 0.35},
    {FORM_PLAIN, 128, 64, 2, 2, 1, 128, 1, 32, 0.40},
    {FORM_PLAIN, 64, 64, 2, 2, 1, 64, 2, 32, 0.25},
    {FORM_PLAIN, 32, 32, 2, 2, 1, 64, 2, 16, 0.10},
    {FORM_PLAIN, 32, 32, 1, 1, 8, 512, 1, 16, 0.12},
    {FORM_STREAMED, 16, 16, 1, 1, 8, 0, 0, 16, 0.10},
    {FORM_STREAMED, 16, 64, 1, 1, 8, 0, 0, 16, 0.20},
    {FORM_STREAMED, 64, 16, 1, 1, 8, 0, 0, 16, 0.20},
    {FORM_STREAMED, 64, 64, 1, 1, 8, 0, 0, 16, 0.20},
};

/* A CPU's core makes a tile by itself. */
static const struct candidate host_candidates[] = {
    {FORM_PLAIN, 32, 32, 1, 1, 1, 64, 2, 32, 0.5},
    {FORM_STREAMED, 16, 16, 1, 1, 2, 0, 0, 32, 0.01},
};

/*
 * With one buffer of 128 bytes of k, instead of two of 64, a step has twice the matrix instructions
 * to hide loads behind; other work-groups of the compute unit multiply while one writes. By the
 * emulator's model of an MI300X it is the better one for MFMA. WMMA has too few registers, and wide
 * types have more instructions in a step than are worth compiling.
 */
static bool is_deep_tile_worth_it(const struct kiln_contraction_schedule *contraction)
{
    return contraction->mma != NULL && contraction->mma->layout == KILN_MMA_LAYOUT_MFMA &&
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
    return contraction->mma != NULL &&
           contraction->mma->layout == KILN_MMA_LAYOUT_WMMA_REPLICATED &&
           !problem->are_operands_loaded;
}

/* For what is computed of operands: not where runs of rows of both are put together too, or where
 * elements are looked for along windows. */
static bool has_pingpong_registers(const struct kiln_tile_problem *problem,
                                   const struct kiln_contraction_schedule *contraction)
{
    return problem->are_operands_loaded ||
           (contraction->window_count == 0 &&
            !(problem->left_along_rows && problem->right_along_rows));
}

bool kiln_is_cdna3_or_later(const struct kiln_target *target)
{
    return strcmp(target->processor, "gfx942") == 0 || strcmp(target->processor, "gfx950") == 0;
}

/* It is for two waves of a SIMD with 256 registers each. On gfx90a it is not chosen: by the
 * emulator's model of an MI250X a tile takes as long as four of 128 x 128, and fewer are left to
 * share among 110 compute units (4096 cubed 1050 us and 890 us, 8192 cubed 6842 and 6497). */
static bool has_pingpong(const struct kiln_target *target)
{
    return strcmp(target->processor, "gfx90a") == 0 || kiln_is_cdna3_or_later(target);
}

/* Simple operations of a lane of a streamed kernel for one step of k: what makes operands of loaded
 * elements and, with loads, what finds elements that are loaded by themselves. */
static uint32_t count_step_operations(const struct kiln_tile_problem *problem,
                                      const struct kiln_contraction_schedule *contraction,
                                      bool with_loads)
{
    uint32_t left_cost = problem->left_cost + (with_loads ? problem->left_load_cost : 0);
    uint32_t right_cost = problem->right_cost + (with_loads ? problem->right_load_cost : 0);
    uint32_t packs, groups;
    lane_packs(contraction, &packs, &groups);
    uint32_t fragments_m = contraction->tile_m / contraction->waves_m /
                           kiln_fragment_rows_m(contraction, problem->target);
    uint32_t fragments_n = contraction->tile_n / contraction->waves_n /
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
    if (contraction->mma != NULL)
        return 0;
    uint32_t rows_m = kiln_fragment_rows_m(contraction, problem->target);
    uint32_t rows_n = kiln_fragment_rows_n(contraction, problem->target);
    bool is_apart = kiln_dtype_info(contraction->staged)->bytes == 1 &&
                    (problem->left_along_rows || problem->right_along_rows);
    return SCALAR_BLOCK * SCALAR_BLOCK * kiln_pack_elements(contraction) *
           (contraction->tile_m / contraction->waves_m / rows_m) *
           (contraction->tile_n / contraction->waves_n / rows_n) * (is_apart ? 2 : 1);
}

/* A single step, or tile of k, is too much text: a lane has many elements to find and to compute.
 * Staged, the lanes of a work-group share them, few where a tile is short. */
static bool is_text_long(const struct kiln_tile_problem *problem,
                         const struct kiln_contraction_schedule *contraction)
{
    if (problem->forced->form != KILN_CONTRACTION_ANY || problem->forced->tile_m != 0)
        return false;
    if (contraction->is_streamed)
        return count_step_operations(problem, contraction, true) +
                   count_step_products(problem, contraction) >
               (contraction->mma == NULL ? STREAM_STEP_TEXT : STREAM_TEXT);
    uint32_t lanes = contraction->waves_k * problem->target->wave_size;
    uint32_t operations = contraction->tile_m * (problem->left_cost + problem->left_load_cost) +
                          contraction->tile_n * (problem->right_cost + problem->right_load_cost);
    return contraction->waves_k != 1 && contraction->tile_k * operations / lanes > STREAM_TEXT;
}

/* Bytes of registers for a loaded element. One that is loaded by itself has a whole register; of
 * matrix instructions a lane has so few rows that this makes no difference. */
static uint32_t loaded_bytes(const struct kiln_contraction_schedule *contraction, uint32_t bytes,
                             bool is_whole)
{
    return contraction->mma == NULL && !is_whole && bytes < 4 ? 4 : bytes;
}

/* Steps that a wave of a streamed kernel loads ahead. */
static uint32_t count_slots(const struct kiln_tile_problem *problem,
                            const struct kiln_contraction_schedule *contraction)
{
    uint32_t packs, groups;
    lane_packs(contraction, &packs, &groups);
    uint32_t staged = kiln_dtype_info(contraction->staged)->bytes;
    uint32_t rows_m = kiln_fragment_rows_m(contraction, problem->target);
    uint32_t rows_n = kiln_fragment_rows_n(contraction, problem->target);
    uint32_t left = contraction->tile_m / contraction->waves_m / rows_m *
                    loaded_bytes(contraction, problem->left_bytes, problem->left_is_whole);
    uint32_t right = contraction->tile_n / contraction->waves_n / rows_n *
                     loaded_bytes(contraction, problem->right_bytes, problem->right_is_whole);
    uint32_t registers = packs * 4 * (left + right) / staged;
    uint32_t most = registers == 0 ? MAX_SLOTS : STREAM_REGISTERS / registers;
    most = most > MAX_SLOTS ? MAX_SLOTS : most;
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
    uint32_t slots = 1;
    while (slots * 2 <= most)
        slots *= 2;
    return slots;
}

static void take(const struct kiln_tile_problem *problem, const struct candidate *candidate,
                 struct kiln_contraction_schedule *contraction)
{
    uint32_t staged_bytes = kiln_dtype_info(contraction->staged)->bytes;
    contraction->mma = kiln_mma_find(problem->target, contraction->staged, candidate->fragment);
    contraction->tile_m = candidate->tile_m;
    contraction->tile_n = candidate->form == FORM_STREAMED
                              ? candidate->tile_n * contraction->products
                              : candidate->tile_n;
    contraction->waves_m = candidate->waves_m;
    contraction->waves_n = candidate->waves_n;
    contraction->waves_k = candidate->waves_k;
    contraction->is_pingpong = candidate->form == FORM_PINGPONG;
    contraction->is_streamed = candidate->form == FORM_STREAMED;
    contraction->buffers = candidate->buffers;
    /* A fragment of device/mma/scalar.h has up to 32 rows. */
    uint32_t least_m = kiln_fragment_rows_m(contraction, problem->target);
    uint32_t least_n = kiln_fragment_rows_n(contraction, problem->target);
    if (contraction->mma == NULL && contraction->tile_m < contraction->waves_m * least_m)
        contraction->waves_m = 1;
    if (contraction->mma == NULL && contraction->tile_n < contraction->waves_n * least_n)
        contraction->waves_n = 1;
    if (contraction->mma == NULL && contraction->tile_m < least_m)
        contraction->tile_m = least_m;
    if (contraction->mma == NULL && contraction->tile_n < least_n)
        contraction->tile_n = least_n;
    contraction->tile_k = candidate->k_bytes / staged_bytes;
    if (contraction->is_streamed) {
        uint32_t packs, groups;
        lane_packs(contraction, &packs, &groups);
        contraction->tile_k =
            count_slots(problem, contraction) * groups * kiln_pack_elements(contraction);
    }
}

static void force(const struct kiln_contraction_options *forced,
                  struct kiln_contraction_schedule *contraction)
{
    if (forced->tile_m != 0) {
        contraction->tile_m = forced->tile_m;
        contraction->tile_n = forced->tile_n;
    }
    if (forced->tile_k != 0)
        contraction->tile_k = forced->tile_k;
    if (forced->waves_m != 0) {
        contraction->waves_m = forced->waves_m;
        contraction->waves_n = forced->waves_n;
        contraction->waves_k = forced->waves_k;
    }
}

static bool is_power_of_two(uint32_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

/* NULL, or why the template cannot be made with these values. */
static const char *find_fault(const struct kiln_tile_problem *problem,
                              const struct kiln_contraction_schedule *contraction)
{
    const struct kiln_target *target = problem->target;
    uint32_t rows_m = kiln_fragment_rows_m(contraction, target);
    uint32_t rows_n = kiln_fragment_rows_n(contraction, target);
    uint32_t waves = contraction->waves_m * contraction->waves_n;
    uint32_t staged_bytes = kiln_dtype_info(contraction->staged)->bytes;
    uint32_t pack = kiln_pack_elements(contraction);
    uint32_t packs, groups;
    lane_packs(contraction, &packs, &groups);
    if (contraction->tile_m % (contraction->waves_m * rows_m) != 0 ||
        contraction->tile_n % (contraction->waves_n * rows_n) != 0)
        return "the tile is no whole number of fragments for each wave";
    if (contraction->products > 1 && contraction->is_streamed &&
        (contraction->waves_n != 1 || contraction->tile_n % (contraction->products * rows_n) != 0))
        return "streamed, a wave has all columns of two products";
    if (!is_power_of_two(contraction->tile_n))
        return "the tile's columns are no power of two";
    if (waves * contraction->waves_k * target->wave_size > MAX_BLOCK)
        return "a work-group has 1024 work-items at most";
    if (target->wave_size != 1 && contraction->tile_m * contraction->tile_n /
                                          (waves * target->wave_size) * problem->sum_bytes / 4 >
                                      MAX_SUM_REGISTERS)
        return "the sums of a tile do not fit into the registers of its waves";
    if (kiln_contraction_lds_bytes(contraction, target, problem->sum_bytes) > target->lds_bytes)
        return "the tile does not fit into local memory";
    uint32_t groups_of_tile = contraction->mma != NULL ? contraction->mma->k_groups : 1;
    if (!contraction->is_streamed)
        groups = groups_of_tile;
    if (contraction->tile_k % (groups * pack) != 0)
        return "the tile's k is no whole number of steps of the instruction";
    if (contraction->is_streamed)
        return contraction->tile_k / (groups * pack) > MAX_SLOTS
                   ? "a wave loads at most 8 steps of k ahead"
                   : NULL;
    if (!is_power_of_two(contraction->tile_k / pack))
        return "the tile's k is no power of two";
    if (!contraction->is_pingpong)
        return contraction->tile_k / (groups_of_tile * pack) % contraction->waves_k != 0
                   ? "the steps of the tile's k cannot be shared by the waves along k"
                   : NULL;
    if (!has_pingpong(target) || staged_bytes > 2)
        return "the ping-pong schedule is for types of 16 bits and less on gfx90a, gfx942 and "
               "gfx950";
    if (contraction->mma == NULL || waves != 8 || contraction->waves_k != 1 ||
        contraction->tile_k / pack != 4 * contraction->mma->k_groups)
        return "the ping-pong schedule has 8 waves and four steps of k";
    if (contraction->k < contraction->tile_k)
        return "the ping-pong schedule needs a k of a tile at least";
    return NULL;
}

/* ---- time ---- */

static double efficiency_of(const struct kiln_contraction_schedule *contraction)
{
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++) {
        bool is_streamed = candidates[i].form == FORM_STREAMED;
        if (candidates[i].tile_m <= contraction->tile_m &&
            candidates[i].tile_n <= contraction->tile_n && is_streamed == contraction->is_streamed)
            return candidates[i].efficiency;
    }
    return 0.1;
}

double kiln_contraction_time_ns(const struct kiln_tile_problem *problem,
                                const struct kiln_contraction_schedule *contraction)
{
    return contraction->producer_waves != 0
               ? kiln_hopper_time_ns(problem, contraction)
               : kiln_model_contraction_time(problem, contraction, efficiency_of(contraction));
}

/* ---- choice ---- */

static bool is_wanted(const struct kiln_tile_problem *problem, const struct candidate *candidate)
{
    static const enum form forms[] = {
        [KILN_CONTRACTION_PLAIN] = FORM_PLAIN,
        [KILN_CONTRACTION_PINGPONG] = FORM_PINGPONG,
        [KILN_CONTRACTION_STREAMED] = FORM_STREAMED,
    };
    enum kiln_contraction_form form = problem->forced->form;
    return form == KILN_CONTRACTION_ANY || forms[form] == candidate->form;
}

/* The compiler had too few registers for larger ones. */
static bool is_within_limits(const struct kiln_tile_problem *problem,
                             const struct candidate *candidate)
{
    uint32_t most = candidate->tile_m > candidate->tile_n ? candidate->tile_m : candidate->tile_n;
    if (candidate->form == FORM_STREAMED && problem->limits->steps == 0)
        return false;
    if (most > SMALLEST_TILE)
        return most <= problem->limits->held_elems;
    if (candidate->form == FORM_PLAIN && candidate->waves_k != 1 &&
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
        {FORM_STREAMED, 16, 16, 1, 1, 16, 0, 0, 16, 0},
        {FORM_STREAMED, 16, 16, 1, 1, 8, 0, 0, 16, 0},
    };
    double least = contraction->time_ns;
    if (problem->forced->form != KILN_CONTRACTION_ANY || problem->forced->tile_m != 0 ||
        contraction->m > 16 || problem->left_along_rows || problem->right_along_rows ||
        !problem->left_is_whole || !problem->right_is_whole)
        return;
    struct kiln_contraction_schedule base = *contraction;
    base.producer_waves = 0;
    base.groups_k = 1;
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        struct kiln_contraction_schedule tried = base;
        take(problem, &streams[i], &tried);
        double time = kiln_hopper_stream_time_ns(problem, &tried);
        if (time >= least || find_fault(problem, &tried) != NULL)
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
    const struct kiln_contraction_options *forced = problem->forced;
    const struct kiln_role_axes *sums = &contraction->sums;
    bool is_split = contraction->window_count != 0 || contraction->rows.count > 1;
    bool is_narrow = contraction->n <= NARROW_TILE || !problem->right_is_whole;
    bool has_rows = problem->left_along_rows || problem->right_along_rows;
    bool sums_pixels =
        contraction->is_right_windowed || (problem->left_along_rows && problem->right_along_rows);
    bool is_small = candidate->tile_m < MIDDLE_TILE;
    if (forced->form != KILN_CONTRACTION_ANY || forced->tile_m != 0 || forced->tile_k != 0 ||
        forced->waves_m != 0 || problem->limits->held_elems < LARGE_TILE ||
        !is_deep_tile_worth_it(contraction))
        return false;
    if (candidate->form == FORM_PINGPONG)
        return contraction->k % contraction->tile_k != 0 || is_split;
    if (candidate->form == FORM_PLAIN && is_small)
        return has_rows;
    if (candidate->form == FORM_STREAMED && contraction->k_run != 0)
        return true;
    /* It would be two kernels, one of which has several taps in a tile. */
    if (is_small && candidate->tile_n < MIDDLE_TILE)
        return !sums_pixels && sums->count > 1 &&
               (contraction->phase_count != 0 ||
                sums->sizes[sums->count - 1] % contraction->tile_k != 0);
    if (candidate->form == FORM_STREAMED && candidate->tile_n != candidate->tile_m)
        return is_split &&
               (candidate->tile_n == NARROW_TILE ? !is_narrow
                                                 : is_narrow || !problem->right_along_rows);
    /* One of 128 x 64 is as fast; streamed, where a window's elements are loaded along k, or none.
     */
    bool has_other = candidate->form == FORM_PLAIN || (contraction->window_count != 0 && has_rows);
    return has_other && candidate->tile_m == MIDDLE_TILE && candidate->tile_n == MIDDLE_TILE;
}

const char *kiln_choose_contraction_tile(const struct kiln_tile_problem *problem,
                                         struct kiln_contraction_schedule *contraction)
{
    bool is_host = problem->target->wave_size == 1;
    const struct candidate *list = is_host ? host_candidates : candidates;
    size_t count = is_host ? sizeof host_candidates / sizeof *host_candidates
                           : sizeof candidates / sizeof *candidates;
    const char *fault = "the target has no such schedule, or not with this tile";
    enum kiln_contraction_form form = problem->forced->form;
    contraction->groups_k = 1;
    /* Where it is possible, it is what was measured. */
    if ((form == KILN_CONTRACTION_ANY || form == KILN_CONTRACTION_SPECIALIZED) &&
        kiln_choose_hopper_tile(problem, contraction)) {
        choose_hopper_stream(problem, contraction);
        return NULL;
    }
    /* What has no tile of a matrix instruction is not chosen here. */
    if (form == KILN_CONTRACTION_SPECIALIZED || form == KILN_CONTRACTION_DIRECT ||
        form == KILN_CONTRACTION_SMALL)
        return fault;
    bool is_found = false, has_kept = false;
    double best_time = 0;
    for (size_t i = 0; i < count; i++) {
        struct kiln_contraction_schedule tried = *contraction;
        if (!is_wanted(problem, &list[i]) ||
            (problem->forced->tile_m == 0 && !is_within_limits(problem, &list[i])))
            continue;
        take(problem, &list[i], &tried);
        if (tried.mma == NULL && list[i].tile_m > SCALAR_TILE)
            continue;
        if (is_one_too_many(problem, &list[i], &tried))
            continue;
        if (is_text_long(problem, &tried))
            continue;
        bool is_deep = list[i].form == FORM_PLAIN && list[i].buffers == 1 && list[i].waves_k == 1;
        if (is_deep && !is_deep_tile_worth_it(&tried))
            continue;
        if (list[i].form == FORM_PLAIN && list[i].tile_m == LARGE_TILE &&
            (list[i].waves_n == 4) != are_registers_short(problem, &tried))
            continue;
        if (list[i].form == FORM_PINGPONG && problem->forced->form != KILN_CONTRACTION_PINGPONG &&
            !(kiln_is_cdna3_or_later(problem->target) && has_pingpong_registers(problem, &tried)))
            continue;
        force(problem->forced, &tried);
        if (kiln_contraction_lds_bytes(&tried, problem->target, problem->sum_bytes) >
            problem->target->lds_bytes)
            tried.buffers = 1;
        /* A tile that is longer than k would be one more kernel. */
        bool is_too_long = problem->forced->tile_k == 0 && tried.waves_k != 1 &&
                           !tried.is_streamed && tried.k < tried.tile_k;
        if (is_too_long && problem->forced->form == KILN_CONTRACTION_ANY &&
            problem->forced->tile_m == 0)
            continue;
        const char *tried_fault = find_fault(problem, &tried);
        if (tried_fault != NULL) {
            fault = tried_fault;
            continue;
        }
        double time = kiln_model_contraction_time(problem, &tried, list[i].efficiency);
        bool is_kept =
            problem->kept_statistics == 0 ||
            kiln_count_statistics(&problem->statistics, &tried) == problem->kept_statistics;
        if (is_found && ((has_kept && !is_kept) || (has_kept == is_kept && time >= best_time)))
            continue;
        has_kept = is_kept;
        is_found = true;
        best_time = time;
        *contraction = tried;
    }
    return is_found ? NULL : fault;
}
