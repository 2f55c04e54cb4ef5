#include "compiler/schedule/contraction_strips.h"

#include "compiler/schedule/contraction_direct.h"

enum {
    MOST_TAPS = 7, /* of a line, each number of which is another kernel */
    MOST_STEP = 2,
    LONG_STRIP = 4,
    SHORT_STRIP = 2,
    RESIDENTS = 2, /* work-groups in a compute unit at a time, as the template allows */
    MOST_STEPS = 8,
    SHARED_CHANNELS = 256, /* in local memory, of each tap */
    STAGED_LINES = 3,      /* of a window, in local memory at a time */
    LINE_BYTES = 128,      /* of caches */
    ELEMENT_BYTES = 2,     /* guessed: only proportions count */
};

/* ---- where strips are possible ---- */

/* Whether a window's coordinate changes along the last of some axes and no other. */
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
    uint32_t rows = contraction->rows.count;
    uint32_t sums = contraction->sums.count;
    int64_t taps = contraction->sums.sizes[sums - 1];
    contraction->strip_taps = contraction->strip_step = 0;
    for (uint32_t w = 0; w < contraction->window_count; w++) {
        const struct kiln_window_schedule *window = &contraction->windows[w];
        if (window->k_steps[sums - 1] == 0 && window->row_steps[rows - 1] == 0)
            continue;
        if (along != NULL || !goes_along_last(window->k_steps, sums) ||
            !goes_along_last(window->row_steps, rows))
            return false;
        along = window;
    }
    if (is_left_shared || contraction->are_rows_fast || contraction->phase_count != 0 ||
        contraction->batch_rank != 0 || along == NULL || taps < 2 || taps > MOST_TAPS)
        return false;
    int64_t tap_step = along->k_steps[sums - 1];
    int64_t step = along->row_steps[rows - 1];
    if ((tap_step != 1 && tap_step != -1) || step < 1 || step > MOST_STEP)
        return false;
    contraction->strip_taps = (uint32_t)taps;
    contraction->strip_step = (uint32_t)step;
    return true;
}

/* ---- tile ---- */

static int64_t divide_up(int64_t value, int64_t divisor)
{
    return (value + divisor - 1) / divisor;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

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
    int64_t vectors = contraction->n / contraction->result_vector;
    double items = (double)contraction->m * (double)vectors / (double)LONG_STRIP;
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
    int64_t window_lines = contraction->k / contraction->strip_taps;
    int64_t step = contraction->strip_step;
    int64_t pixels =
        (tile->strips * (int64_t)contraction->item_rows - 1) * step + contraction->strip_taps;
    int64_t lines = (tile->lines - 1) * step + window_lines;
    int64_t columns = tile->vectors * (int64_t)contraction->result_vector;
    int64_t bytes = columns * ELEMENT_BYTES;
    if (columns < contraction->n && bytes % LINE_BYTES != 0)
        bytes += LINE_BYTES;
    return (double)(pixels * lines) * (double)bytes;
}

/* Of all work-groups together, in proportion: work-items, idle ones too, and what is loaded. A
 * pixel's arithmetic takes twice as long as its way from the second-level cache. */
static double tile_cost(const struct kiln_contraction_schedule *contraction, uint32_t block,
                        const struct tile *all, const struct tile *tile)
{
    enum { WORK = 2 };
    double groups = (double)divide_up(all->vectors, tile->vectors) *
                    (double)divide_up(all->strips, tile->strips) *
                    (double)divide_up(all->lines, tile->lines);
    double work = (double)block * contraction->item_rows * contraction->result_vector *
                  (double)(ELEMENT_BYTES * WORK);
    return groups * (work + loaded_bytes(contraction, tile));
}

/* Several tiles share what a work-group does once, which takes as long as 0.4 of a tile (H200).
 * Compute units begin their next work-groups at about the same time, so what counts is how often
 * they do that: 3.4 rounds of work-groups take as long as 4. */
static void choose_steps(const struct kiln_target *target,
                         struct kiln_contraction_schedule *contraction)
{
    const double once = 0.4;
    double best_cost = 0;
    uint32_t best = 1;
    for (uint32_t steps = 1; steps <= MOST_STEPS; steps++) {
        contraction->strip_steps = steps;
        int64_t rounds = divide_up(kiln_count_strips(contraction).tiles,
                                   (int64_t)RESIDENTS * target->compute_units);
        double cost = (double)rounds * (steps + once);
        if (best_cost != 0 && cost >= best_cost)
            continue;
        best_cost = cost;
        best = steps;
    }
    contraction->strip_steps = best;
}

/* Finds the cheapest tile of at most `most` vectors and `block` work-items. Each number of vectors
 * comes up once, however many parts of the axis have it. Returns how many tiles were compared. */
static uint32_t find_tile(const struct kiln_contraction_schedule *contraction, uint32_t block,
                          int64_t most, const struct tile *all, struct tile *ret_best)
{
    uint32_t compared = 0;
    double best_cost = 0;
    int64_t parts = divide_up(all->vectors, most);
    while (parts <= all->vectors) {
        struct tile tile = {.vectors = divide_up(all->vectors, parts)};
        int64_t slots = (int64_t)block / tile.vectors;
        for (tile.strips = 1; tile.strips <= smaller(slots, all->strips); tile.strips++) {
            tile.lines = smaller(slots / tile.strips, all->lines);
            double cost = tile_cost(contraction, block, all, &tile);
            compared++;
            if (best_cost != 0 && cost >= best_cost)
                continue;
            best_cost = cost;
            *ret_best = tile;
        }
        /* The fewest parts that are shorter. */
        parts = tile.vectors > 1 ? divide_up(all->vectors, tile.vectors - 1) : all->vectors + 1;
    }
    return compared;
}

uint32_t kiln_choose_strip_tile(const struct kiln_target *target,
                                const struct kiln_register_limits *limits,
                                struct kiln_contraction_schedule *contraction)
{
    const uint32_t block = kiln_direct_block(target);
    const int64_t line = contraction->rows.sizes[contraction->rows.count - 1];
    kiln_choose_shared_rows(target, contraction);
    contraction->tile_k = STAGED_LINES * contraction->strip_taps;
    if (block > 1)
        contraction->shared_rows = SHARED_CHANNELS;
    contraction->item_rows = choose_strip(target, limits, contraction);
    const struct tile all = {
        .vectors = contraction->n / contraction->result_vector,
        .strips = divide_up(line, contraction->item_rows),
        .lines = contraction->m / line,
    };
    int64_t most = smaller(contraction->shared_rows / contraction->result_vector, block);
    struct tile best = {0};
    uint32_t compared = find_tile(contraction, block, most, &all, &best);
    contraction->vectors = (uint32_t)best.vectors;
    contraction->line_slots = (uint32_t)best.strips;
    contraction->slots = (uint32_t)(best.strips * best.lines);
    contraction->tile_m = contraction->slots * contraction->item_rows;
    contraction->tile_n = contraction->vectors * contraction->result_vector;
    choose_steps(target, contraction);
    return compared;
}

struct kiln_strip_counts kiln_count_strips(const struct kiln_contraction_schedule *contraction)
{
    struct kiln_strip_counts counts = {
        .line = contraction->rows.sizes[contraction->rows.count - 1],
        .tile_lines = contraction->slots / contraction->line_slots,
    };
    counts.lines = contraction->m / counts.line;
    counts.strips = divide_up(counts.line, contraction->item_rows);
    counts.line_tiles = divide_up(counts.strips, contraction->line_slots);
    counts.column_tiles = divide_up(contraction->n, contraction->tile_n);
    counts.tiles = divide_up(counts.lines, counts.tile_lines * (int64_t)contraction->strip_steps) *
                   counts.line_tiles * counts.column_tiles;
    return counts;
}
