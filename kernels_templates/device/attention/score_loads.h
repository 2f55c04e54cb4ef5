/*
 * Loads for scores: masks, biases, statistics of rows, lengths. The facts are kiln_map_<number> of each access, where k is
 * the column, and
 *   KILN_SCORE_LOADS(use), KILN_WEIGHT_LOADS(use)   use(number, type, form) for each access that kiln_score_element, or
 *                        kiln_weight_element, is given. SCALAR: an argument. ROW: once for a row. RUN: for each column
 *   KILN_ARE_RUNS_WHOLE  1: n is a multiple of the longest run. 0: the last run may pass the end, or nothing is loaded by runs
 */
#ifndef KILN_DEVICE_ATTENTION_SCORE_LOADS_H
#define KILN_DEVICE_ATTENTION_SCORE_LOADS_H

#include "device/attention/facts.h"
#include "device/contraction/operand.h"

#define KILN_ALL_SCORE_LOADS(use) KILN_SCORE_LOADS(use) KILN_WEIGHT_LOADS(use)

#define KILN_SCORE_POINTER(n, type, form) KILN_SCORE_POINTER_##form(n, type)
#define KILN_SCORE_POINTER_SCALAR(n, type)
#define KILN_SCORE_POINTER_ROW(n, type) const kiln_storage_##type *p##n;
#define KILN_SCORE_POINTER_RUN(n, type) const kiln_storage_##type *p##n;
struct kiln_score_source {
    kiln_batch batch;
    unsigned row; /* the tile's first one */
    KILN_ALL_SCORE_LOADS(KILN_SCORE_POINTER)
};

#define KILN_SCORE_START(n, type, form) KILN_SCORE_START_##form(n)
#define KILN_SCORE_START_SCALAR(n)
#define KILN_SCORE_START_ROW(n) KILN_SCORE_START_RUN(n)
#define KILN_SCORE_START_RUN(n)                                                                    \
    source.p##n = arguments.a##n + (kiln_offset_of_batch(arguments, kiln_map_##n, batch) +         \
                                    kiln_offset_along(arguments, kiln_map_##n.row, row));
KILN_DEVICE void kiln_score_start(const kiln_arguments &arguments, const kiln_batch &batch,
                                  unsigned row, kiln_score_source &source)
{
    (void)arguments;
    source.batch = batch;
    source.row = row;
    KILN_ALL_SCORE_LOADS(KILN_SCORE_START)
}

/* The elements that are kept for one row of scores. `at_row` is counted from the tile's first one, here and below, columns from 0. */
#define KILN_SCORE_ROW(n, type, form) KILN_SCORE_ROW_##form(n, type)
#define KILN_SCORE_ROW_SCALAR(n, type) kiln_storage_##type x##n;
#define KILN_SCORE_ROW_ROW(n, type)    kiln_storage_##type x##n;
#define KILN_SCORE_ROW_RUN(n, type)
struct kiln_score_row {
    KILN_ALL_SCORE_LOADS(KILN_SCORE_ROW)
};

#define KILN_SCORE_ROW_LOAD(n, type, form) KILN_SCORE_ROW_LOAD_##form(n)
#define KILN_SCORE_ROW_LOAD_SCALAR(n) row.x##n = arguments.a##n;
#define KILN_SCORE_ROW_LOAD_ROW(n)                                                                 \
    row.x##n = source.p##n[kiln_offset_in_tile(arguments, kiln_map_##n, at_row, 0)];
#define KILN_SCORE_ROW_LOAD_RUN(n)
KILN_DEVICE void kiln_score_row_start(const kiln_arguments &arguments,
                                      const kiln_score_source &source, unsigned at_row,
                                      kiln_score_row &row)
{
    (void)arguments, (void)source, (void)at_row, (void)row;
    KILN_ALL_SCORE_LOADS(KILN_SCORE_ROW_LOAD)
}

/* The elements that are loaded for KILN_CHAIN_RUN neighbouring columns of a row. The core says how many columns that is. */
#define KILN_SCORE_INPUT(n, type, form) KILN_SCORE_INPUT_##form(n, type)
#define KILN_SCORE_INPUT_SCALAR(n, type)
#define KILN_SCORE_INPUT_ROW(n, type)
#define KILN_SCORE_INPUT_RUN(n, type) kiln_storage_##type x##n[KILN_CHAIN_RUN];
struct kiln_score_inputs {
    KILN_ALL_SCORE_LOADS(KILN_SCORE_INPUT)
};

/* Vectors have two elements, or as many as the compiler makes of several. */
template <class Element>
KILN_DEVICE void kiln_load_run(const kiln_arguments &arguments, const kiln_map &map,
                               const Element *source, unsigned at_row, unsigned column,
                               Element (&to)[KILN_CHAIN_RUN])
{
    if (map.is_vector && KILN_CHAIN_RUN > 1) {
        const Element *from = source + kiln_offset_in_tile(arguments, map, at_row, column);
        KILN_UNROLL
        for (unsigned e = 0; e < KILN_CHAIN_RUN; e += 2)
            kiln_load_neighbours(2, from + e, to + e);
        return;
    }
    KILN_UNROLL
    for (unsigned e = 0; e < KILN_CHAIN_RUN; e++) {
        const bool is_within = KILN_ARE_RUNS_WHOLE || column + e < (unsigned)arguments.n;
        const unsigned at = is_within ? column + e : (unsigned)arguments.n - 1;
        to[e] = source[kiln_offset_in_tile(arguments, map, at_row, at)];
    }
}

/* Callers ask for no rows and columns beyond the end. Where a run goes on after the last column, that column is loaded again. */
#define KILN_SCORE_LOAD(n, type, form) KILN_SCORE_LOAD_##form(n)
#define KILN_SCORE_LOAD_SCALAR(n)
#define KILN_SCORE_LOAD_ROW(n)
#define KILN_SCORE_LOAD_RUN(n)                                                                     \
    kiln_load_run(arguments, kiln_map_##n, source.p##n, at_row, column, loaded.x##n);
KILN_DEVICE void kiln_score_load(const kiln_arguments &arguments, const kiln_score_source &source,
                                 unsigned at_row, unsigned column, kiln_score_inputs &loaded)
{
    (void)arguments, (void)source, (void)at_row, (void)column, (void)loaded;
    KILN_ALL_SCORE_LOADS(KILN_SCORE_LOAD)
}

/* Arguments of a generated function, whose parameters x<number> they are: of `row` and of element e of `loaded`; of `row` only. */
#define KILN_LOADED(n, type, form) , KILN_LOADED_##form(n)
#define KILN_LOADED_SCALAR(n) row.x##n
#define KILN_LOADED_ROW(n)    row.x##n
#define KILN_LOADED_RUN(n)    loaded.x##n[e]
#define KILN_LOADED_FOR_ROW(n, type, form) KILN_LOADED_FOR_ROW_##form(n)
#define KILN_LOADED_FOR_ROW_SCALAR(n) , row.x##n
#define KILN_LOADED_FOR_ROW_ROW(n)    , row.x##n
#define KILN_LOADED_FOR_ROW_RUN(n)

#endif
