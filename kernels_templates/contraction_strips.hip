/*
 * Sums of products as in contraction_direct.hip, where the rows of the result are pixels of an image and the last axis of k is a
 * line of a window's taps. A work-item computes a strip, KILN_ITEM_ROWS neighbouring pixels of one line of the result, in a
 * vector of KILN_RESULT_VECTOR columns. It loads each pixel of the image once for each line of the window, all of a line's at
 * once, and uses it for every tap and every pixel of the strip that it belongs to. So how many taps a line has (KILN_STRIP_TAPS)
 * and how far apart in the image neighbours of the result are (KILN_STRIP_STEP) are in the text; all else is arguments.
 *
 * A work-group has `slots` x `vectors` work-items with something to do. Neighbours take neighbouring vectors of columns, then
 * neighbouring strips of a line, `line_slots` of them, then neighbouring lines. Their windows overlap, so the next line finds in the
 * nearest cache what one has loaded. It makes `steps` such tiles, each below the one before, with the same weights. Strips and lines
 * beyond the end are read again from the last one and not stored.
 *
 * The prelude is that of contraction_direct.hip, without rows that are neighbours' (KILN_ARE_ROWS_FAST), weights that are rows of the result
 * (KILN_ARE_WEIGHTS_LEFT), and phases. Besides:
 *   KILN_STRIP_WINDOW  device/contraction/strip_operand.h
 *   KILN_AHEAD         lines of a window that are loaded together
 */
#ifndef KILN_SYMBOL
#include "default/contraction_strips_prelude.h"
#endif

#include "device/contraction/batch.h"
#include "device/contraction/chiplet.h"
#include "device/contraction/shared_weights.h"
#include "device/contraction/strip_operand.h"

KILN_DIRECT_OPERAND(image, IMAGE, true, KILN_RESULT_VECTOR)
KILN_DIRECT_OPERAND(weights, WEIGHTS, false, 1)
KILN_STRIP_OPERAND(image, IMAGE)

#define KILN_STAGED_LINES (KILN_TAPS / KILN_STRIP_TAPS)
#define KILN_STAGED_TAPS  (KILN_STAGED_LINES * KILN_STRIP_TAPS)

/* What a work-item computes: clamped to what there is. */
struct kiln_strip {
    unsigned row; /* the first one */
    unsigned count;
    unsigned column;
    unsigned at_column; /* within the work-group's */
};

/* Of each channel of the work-group's `count` taps from `first` on, whole lines: what a work-item loads is of one channel. */
KILN_DEVICE void kiln_stage_lines(const kiln_arguments &arguments, const kiln_weights_source &source,
                                  unsigned start, unsigned channels, unsigned first, unsigned count,
                                  kiln_weights_line *lines)
{
    KILN_NO_UNROLL
    for (unsigned at = kiln_work_item(); at < channels; at += KILN_BLOCK) {
        kiln_weights_inputs inputs[KILN_STAGED_TAPS];
        KILN_UNROLL
        for (unsigned tap = 0; tap < KILN_STAGED_TAPS; tap++)
            if (tap / KILN_STRIP_TAPS * KILN_STRIP_TAPS < count)
                kiln_weights_load(arguments, source, start + at, start + at, first + tap,
                                  inputs[tap]);
        KILN_UNROLL
        for (unsigned tap = 0; tap < KILN_STAGED_TAPS; tap++) {
            if (tap / KILN_STRIP_TAPS * KILN_STRIP_TAPS >= count)
                continue;
            kiln_sum values[1];
            kiln_weights_values(inputs[tap], values);
            lines[tap].at[at] = values[0];
        }
    }
}

/* `Lines` lines of the window, the first of which begins with the index k and is `lines` in LDS: all loads before the first
 * product. */
template <unsigned Lines>
KILN_DEVICE void kiln_add_lines(const kiln_arguments &arguments, const kiln_image_source &source,
                                const kiln_strip &strip, unsigned k, const kiln_weights_line *lines,
                                kiln_sum (&sums)[KILN_ITEM_ROWS][KILN_RESULT_VECTOR])
{
    const unsigned first_tap = kiln_first_tap(arguments);
    kiln_image_inputs inputs[Lines][KILN_STRIP_PIXELS];
    KILN_UNROLL
    for (unsigned l = 0; l < Lines; l++) {
        const unsigned first = k + l * KILN_STRIP_TAPS + first_tap;
        kiln_image_line line;
        kiln_image_find_line(arguments, source, strip.row, first, line);
        KILN_UNROLL
        for (unsigned p = 0; p < KILN_STRIP_PIXELS; p++)
            kiln_image_load_pixel(arguments, source, line, strip.row, strip.column, first, p,
                                  inputs[l][p]);
    }
    KILN_UNROLL
    for (unsigned l = 0; l < Lines; l++) {
        kiln_sum weights[KILN_STRIP_TAPS][KILN_RESULT_VECTOR];
        KILN_UNROLL
        for (unsigned t = 0; t < KILN_STRIP_TAPS; t++)
            kiln_read_shared(lines[l * KILN_STRIP_TAPS +
                                   (first_tap == 0 ? t : KILN_STRIP_TAPS - 1 - t)],
                             strip.at_column, weights[t]);
        KILN_UNROLL
        for (unsigned p = 0; p < KILN_STRIP_PIXELS; p++) {
            kiln_sum values[KILN_RESULT_VECTOR];
            kiln_image_values(inputs[l][p], values);
            KILN_UNROLL
            for (unsigned r = 0; r < KILN_ITEM_ROWS; r++) {
                if (p < r * KILN_STRIP_STEP || p - r * KILN_STRIP_STEP >= KILN_STRIP_TAPS)
                    continue;
                KILN_UNROLL
                for (unsigned e = 0; e < KILN_RESULT_VECTOR; e++)
                    sums[r][e] = KILN_MMA_ADD(
                        values[e], weights[(p - r * KILN_STRIP_STEP) % KILN_STRIP_TAPS][e],
                        sums[r][e]);
            }
        }
    }
}

/* Where in each of the work-group's tiles a work-item's strip is. */
struct kiln_slot {
    unsigned line;
    unsigned at; /* the first pixel of the result's line */
    bool has_work;
};

KILN_DEVICE void kiln_find_slot(const kiln_arguments &arguments, unsigned tile_strip, unsigned column,
                                kiln_slot &slot, kiln_strip &strip)
{
    const unsigned nth = kiln_divide(kiln_work_item(), arguments.vectors_divisor);
    const unsigned vector = kiln_work_item() - nth * (unsigned)arguments.vectors;
    const unsigned strips = (unsigned)arguments.strips;
    slot.line = kiln_divide(nth, arguments.line_slots_divisor);
    const unsigned at = tile_strip + nth - slot.line * (unsigned)arguments.line_slots;
    slot.at = (at < strips ? at : strips - 1) * KILN_ITEM_ROWS;
    strip.at_column = vector * KILN_RESULT_VECTOR;
    slot.has_work = nth < (unsigned)arguments.slots && at < strips &&
                    column + strip.at_column < (unsigned)arguments.n;
    strip.at_column = slot.has_work ? strip.at_column : 0;
    strip.column = column + strip.at_column;
}

/* The slot's strip in the tile whose lines begin with `line`. */
KILN_DEVICE void kiln_find_strip(const kiln_arguments &arguments, unsigned line,
                                 const kiln_slot &slot, kiln_strip &strip)
{
    const unsigned lines = (unsigned)arguments.lines, own = line + slot.line;
    const unsigned left = (unsigned)arguments.line - slot.at;
    strip.row = (own < lines ? own : lines - 1) * (unsigned)arguments.line + slot.at;
    strip.count = !slot.has_work || own >= lines ? 0
                  : left < KILN_ITEM_ROWS        ? left
                                                 : KILN_ITEM_ROWS;
}

/* The products of a strip with all taps. Weights are in LDS already where that has a place for all of them. */
KILN_DEVICE void kiln_add_taps(const kiln_arguments &arguments, const kiln_image_source &image,
                               const kiln_weights_source &weights, const kiln_strip &strip,
                               unsigned column, bool are_staged, kiln_weights_line *lines,
                               kiln_sum (&sums)[KILN_ITEM_ROWS][KILN_RESULT_VECTOR])
{
    const unsigned k = (unsigned)arguments.k;
    const unsigned tile_columns = (unsigned)arguments.vectors * KILN_RESULT_VECTOR;
    const unsigned left = (unsigned)arguments.n - column;
    KILN_UNROLL
    for (unsigned r = 0; r < KILN_ITEM_ROWS; r++)
        KILN_UNROLL
    for (unsigned e = 0; e < KILN_RESULT_VECTOR; e++)
        sums[r][e] = 0;
    KILN_NO_UNROLL
    for (unsigned first = 0; first < k; first += KILN_STAGED_TAPS) {
        const unsigned count = k - first < KILN_STAGED_TAPS ? k - first : KILN_STAGED_TAPS;
        if (!are_staged) {
            kiln_barrier();
            kiln_stage_lines(arguments, weights, column, tile_columns < left ? tile_columns : left,
                             first, count, lines);
            kiln_barrier();
        }
        unsigned tap = 0;
        KILN_NO_UNROLL
        for (; tap + KILN_AHEAD * KILN_STRIP_TAPS <= count; tap += KILN_AHEAD * KILN_STRIP_TAPS)
            kiln_add_lines<KILN_AHEAD>(arguments, image, strip, first + tap, lines + tap, sums);
        KILN_NO_UNROLL
        for (; tap < count; tap += KILN_STRIP_TAPS)
            kiln_add_lines<1>(arguments, image, strip, first + tap, lines + tap, sums);
    }
}

KILN_DEVICE void kiln_finish_strip(const kiln_arguments &arguments,
                                   const kiln_result_source &result, const kiln_strip &strip,
                                   kiln_sum (&sums)[KILN_ITEM_ROWS][KILN_RESULT_VECTOR])
{
    kiln_result_inputs inputs[KILN_ITEM_ROWS];
    KILN_UNROLL
    for (unsigned r = 0; r < KILN_ITEM_ROWS; r++)
        if (r < strip.count)
            kiln_result_load(arguments, result, strip.row + r, strip.at_column, inputs[r]);
    KILN_UNROLL
    for (unsigned r = 0; r < KILN_ITEM_ROWS; r++) {
        if (r >= strip.count)
            continue;
        kiln_sum values[KILN_PRODUCTS][KILN_RESULT_VECTOR];
        KILN_UNROLL
        for (unsigned e = 0; e < KILN_RESULT_VECTOR; e++)
            values[0][e] = sums[r][e];
        kiln_finish(arguments, result, strip.row + r, strip.at_column, inputs[r], values);
    }
}

KILN_TURN_KERNEL(kiln_weights_line, staged, KILN_STAGED_TAPS)
{
    KILN_TURN(group, kiln_weights_line, staged, KILN_STAGED_TAPS)
    const unsigned lines = (unsigned)arguments.lines, tile_lines = (unsigned)arguments.tile_lines;
    const unsigned tile_columns = (unsigned)arguments.vectors * KILN_RESULT_VECTOR;
    const unsigned tile = kiln_run_of_chiplet(group, (unsigned)arguments.tiles);
    const unsigned row_tile = kiln_divide(tile, arguments.column_tiles_divisor);
    const unsigned column = (tile - row_tile * (unsigned)arguments.column_tiles) * tile_columns;
    const unsigned line_tile = kiln_divide(row_tile, arguments.line_tiles_divisor);
    const unsigned tile_strip =
        (row_tile - line_tile * (unsigned)arguments.line_tiles) * (unsigned)arguments.line_slots;
    const unsigned first = line_tile * (unsigned)arguments.steps * tile_lines;
    const unsigned left = (lines - first + tile_lines - 1) / tile_lines;
    const unsigned steps = (unsigned)arguments.steps < left ? (unsigned)arguments.steps : left;
    kiln_batch batch;
    kiln_locate_batch(arguments, 0, batch);
    kiln_image_source image;
    kiln_weights_source weights;
    kiln_result_source result;
    kiln_image_start(arguments, batch, image);
    kiln_weights_start(arguments, batch, weights);
    kiln_result_start(arguments, batch, 0, column, result);
    kiln_slot slot;
    kiln_strip strip;
    kiln_find_slot(arguments, tile_strip, column, slot, strip);
    bool has_nan = false;
    const bool has_all = (unsigned)arguments.k <= KILN_STAGED_TAPS;
    KILN_NO_UNROLL
    for (unsigned step = 0; step < steps; step++) {
        kiln_sum sums[KILN_ITEM_ROWS][KILN_RESULT_VECTOR];
        kiln_find_strip(arguments, first + step * tile_lines, slot, strip);
        kiln_add_taps(arguments, image, weights, strip, column, has_all && step != 0, staged, sums);
        has_nan |= kiln_has_any_nan(sums);
        kiln_finish_strip(arguments, result, strip, sums);
    }
    KILN_NO_UNROLL
    for (unsigned step = 0; has_nan && step < steps; step++) {
        kiln_find_strip(arguments, first + step * tile_lines, slot, strip);
        KILN_NO_UNROLL
        for (unsigned r = 0; r < strip.count; r++)
            kiln_finish_inside(arguments, result, strip.row + r, strip.at_column);
    }
}
