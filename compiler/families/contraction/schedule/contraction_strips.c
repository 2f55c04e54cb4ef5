#include "compiler/families/contraction/schedule/contraction_strips.h"

#include "compiler/families/contraction/schedule/contraction_direct_tile.h"

enum {
    MOST_TAPS = 7, /* of a line, each number of which is another kernel */
    MOST_STEP = 2,
    LONG_STRIP = 4,
    SHORT_STRIP = 2,
    RESIDENTS = 2, /* work-groups in a compute unit at a time, as the template allows */
    MOST_STEPS = 8,
    SHARED_CHANNELS = 256, /* in local memory, of each tap */
    HOST_CHANNELS = 16,
    STAGED_LINES = 3,  /* of a window, in local memory at a time */
    LINE_BYTES = 128,  /* of caches */
    ELEMENT_BYTES = 2, /* guessed: only proportions count */
};

/* ---- where strips are possible ---- */

/* True if a window's coordinate changes along the last of some axes and no other. */
static bool goes_along_last(const int64_t *steps, uint32_t count)
{
    for (uint32_t i = 0; i + 1 < count; i++) {
        if (steps[i] != 0)
            return false;
    }
    return steps[count - 1] != 0;
}

bool kiln_find_strips(bool is_left_shared, struct kiln_contraction_schedule *contraction)
{
    const struct kiln_window_schedule *along = NULL;
    uint32_t rows = contraction->problem.rows.count;
    uint32_t sums = contraction->problem.sums.count;
    int64_t taps = contraction->problem.sums.sizes[sums - 1];
    for (uint32_t w = 0; w < contraction->problem.windows.count; w++) {
        const struct kiln_window_schedule *window = &contraction->problem.windows.windows[w];
        if (window->k_steps[sums - 1] == 0 && window->row_steps[rows - 1] == 0)
            continue;
        if (along != NULL || !goes_along_last(window->k_steps, sums) ||
            !goes_along_last(window->row_steps, rows))
            return false;
        along = window;
    }
    if (is_left_shared || contraction->pipeline.direct.are_rows_fast ||
        contraction->problem.windows.phase_count != 0 || contraction->problem.batches.rank != 0 ||
        along == NULL || taps < 2 || taps > MOST_TAPS)
        return false;
    int64_t tap_step = along->k_steps[sums - 1];
    int64_t step = along->row_steps[rows - 1];
    if ((tap_step != 1 && tap_step != -1) || step < 1 || step > MOST_STEP)
        return false;
    contraction->pipeline = (struct kiln_pipeline){
        .kind = KILN_PIPELINE_STRIPS, .strips = {.taps = (uint32_t)taps, .step = (uint32_t)step}};
    return true;
}

/* ---- tile ---- */

/* What a work-group has. */
struct tile {
    int64_t vectors;
    int64_t strips; /* of a line */
    int64_t lines;
};

/* Short strips where there are few of them: two kernels, whatever the sizes. */
static uint32_t choose_strip(const struct kiln_target *target,
                             const struct kiln_register_limits *limits,
                             const struct kiln_contraction_schedule *contraction)
{
    int64_t vectors = contraction->problem.n / contraction->result_vector;
    double items = (double)contraction->problem.m * (double)vectors / (double)LONG_STRIP;
    bool is_much = items >= (double)kiln_direct_block(target) * target->compute_units;
    uint32_t strip = is_much ? LONG_STRIP : SHORT_STRIP;
    while (strip > limits->steps)
        strip /= 2;
    return strip;
}

/* Bytes of the image that a work-group loads, in proportion: lines and pixels around its own, and
 * whole lines of the caches where it has some of the channels only. */
static double loaded_bytes(const struct kiln_contraction_schedule *contraction,
                           const struct tile *tile)
{
    const struct kiln_strips_pipeline *strips = &contraction->pipeline.strips;
    int64_t window_lines = contraction->problem.k / strips->taps;
    int64_t step = strips->step;
    int64_t pixels = (tile->strips * (int64_t)strips->direct.item_rows - 1) * step + strips->taps;
    int64_t lines = (tile->lines - 1) * step + window_lines;
    int64_t columns = tile->vectors * (int64_t)contraction->result_vector;
    int64_t bytes = columns * ELEMENT_BYTES;
    if (columns < contraction->problem.n && bytes % LINE_BYTES != 0)
        bytes += LINE_BYTES;
    return (double)(pixels * lines) * (double)bytes;
}

/* Of all work-groups together, in proportion: work-items, idle ones too, and what is loaded. A
 * pixel's arithmetic takes twice as long as its way from the second-level cache. */
static double tile_cost(const struct kiln_contraction_schedule *contraction, uint32_t block,
                        const struct tile *all, const struct tile *tile)
{
    enum { WORK = 2 };
    uint32_t item_rows = contraction->pipeline.strips.direct.item_rows;
    double groups = (double)kiln_ceil_div_i64(all->vectors, tile->vectors) *
                    (double)kiln_ceil_div_i64(all->strips, tile->strips) *
                    (double)kiln_ceil_div_i64(all->lines, tile->lines);
    double work =
        (double)block * item_rows * contraction->result_vector * (double)(ELEMENT_BYTES * WORK);
    return groups * (work + loaded_bytes(contraction, tile));
}

/* Several tiles share what a work-group does once, which takes as long as 0.4 of a tile (H200).
 * Compute units begin their next work-groups at about the same time, so what counts is how often
 * they do that: 3.4 rounds of work-groups take as long as 4. */
static void choose_steps(const struct kiln_target *target,
                         struct kiln_contraction_schedule *contraction)
{
    const double once = 0.4;
    struct kiln_strips_pipeline *strips = &contraction->pipeline.strips;
    double best_cost = 0;
    uint32_t best = 1;
    for (uint32_t steps = 1; steps <= MOST_STEPS; steps++) {
        strips->steps = steps;
        int64_t rounds = kiln_ceil_div_i64(kiln_count_strips(contraction).tiles,
                                           (int64_t)RESIDENTS * target->compute_units);
        double cost = (double)rounds * (steps + once);
        if (best_cost != 0 && cost >= best_cost)
            continue;
        best_cost = cost;
        best = steps;
    }
    strips->steps = best;
}

/* Finds the cheapest tile of at most `most` vectors and `block` work-items. Each number of vectors
 * comes up once, however many parts of the axis have it. Returns how many tiles were compared. */
static uint32_t find_tile(const struct kiln_contraction_schedule *contraction, uint32_t block,
                          int64_t most, const struct tile *all, struct tile *ret_best)
{
    uint32_t compared = 0;
    double best_cost = 0;
    int64_t parts = kiln_ceil_div_i64(all->vectors, most);
    while (parts <= all->vectors) {
        struct tile tile = {.vectors = kiln_ceil_div_i64(all->vectors, parts)};
        int64_t slots = (int64_t)block / tile.vectors;
        for (tile.strips = 1; tile.strips <= kiln_min_i64(slots, all->strips); tile.strips++) {
            tile.lines = kiln_min_i64(slots / tile.strips, all->lines);
            double cost = tile_cost(contraction, block, all, &tile);
            compared++;
            if (best_cost != 0 && cost >= best_cost)
                continue;
            best_cost = cost;
            *ret_best = tile;
        }
        /* The fewest parts that are shorter. */
        parts =
            tile.vectors > 1 ? kiln_ceil_div_i64(all->vectors, tile.vectors - 1) : all->vectors + 1;
    }
    return compared;
}

uint32_t kiln_choose_strip_tile(const struct kiln_target *target,
                                const struct kiln_register_limits *limits,
                                struct kiln_contraction_schedule *contraction)
{
    const uint32_t block = kiln_direct_block(target);
    const int64_t line = contraction->problem.rows.sizes[contraction->problem.rows.count - 1];
    struct kiln_strips_pipeline *strips = &contraction->pipeline.strips;
    kiln_choose_taps(contraction, STAGED_LINES * strips->taps);
    strips->direct.shared_rows = block > 1 ? SHARED_CHANNELS : HOST_CHANNELS;
    strips->direct.item_rows = choose_strip(target, limits, contraction);
    const struct tile all = {
        .vectors = contraction->problem.n / contraction->result_vector,
        .strips = kiln_ceil_div_i64(line, strips->direct.item_rows),
        .lines = contraction->problem.m / line,
    };
    int64_t most = kiln_min_i64(strips->direct.shared_rows / contraction->result_vector, block);
    struct tile best = {0};
    uint32_t compared = find_tile(contraction, block, most, &all, &best);
    strips->direct.vectors = (uint32_t)best.vectors;
    strips->line_slots = (uint32_t)best.strips;
    strips->direct.slots = (uint32_t)(best.strips * best.lines);
    contraction->tile.m = strips->direct.slots * strips->direct.item_rows;
    contraction->tile.n = strips->direct.vectors * contraction->result_vector;
    choose_steps(target, contraction);
    return compared;
}

struct kiln_strip_counts kiln_count_strips(const struct kiln_contraction_schedule *contraction)
{
    const struct kiln_strips_pipeline *strips = &contraction->pipeline.strips;
    struct kiln_strip_counts counts = {
        .line = contraction->problem.rows.sizes[contraction->problem.rows.count - 1],
        .tile_lines = strips->direct.slots / strips->line_slots,
    };
    counts.lines = contraction->problem.m / counts.line;
    counts.strips = kiln_ceil_div_i64(counts.line, strips->direct.item_rows);
    counts.line_tiles = kiln_ceil_div_i64(counts.strips, strips->line_slots);
    counts.column_tiles = kiln_ceil_div_i64(contraction->problem.n, contraction->tile.n);
    counts.tiles = kiln_ceil_div_i64(counts.lines, counts.tile_lines * (int64_t)strips->steps) *
                   counts.line_tiles * counts.column_tiles;
    return counts;
}
