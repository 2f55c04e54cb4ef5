/*
 * The work on vectors of the result whose rows, blocks of rows, columns or tiles are reduced: kiln_row_start, and for each pass over a row a
 * structure kiln_row_pass_<n> of functions. A pass evaluates elements from their sums again, as far as it needs them. (The other
 * choice: finish.h.)
 *
 * Facts: those of result.h, and
 *   kiln_row                             values of a row, or of a block
 *   KILN_START_LOADS(use), _STORES(use)  accesses of a row before the first pass, as in result.h
 *   kiln_start_row                       values of the row (m) that are known then, from them
 *   KILN_ROW_PASSES(run)                 run(0) run(1) ...; of each pass, for example 0:
 *   KILN_PASS_0_LOADS(use), _STORES(use) accesses of elements
 *   KILN_PASS_0_ACCUMULATORS(use)        use(number, operation, scalar, type, VALUE or MOMENTS, neutral) for each accumulator
 *   kiln_pass_0_element                  computes what is stored of an element (m, n), and what accumulators take of it
 *   KILN_PASS_0_ROW_STORES(use)          stores of a row after the pass
 *   kiln_pass_0_row                      values of the row that are known then, from accumulators
 * or, if accumulators are stored for another kernel, instead of the last two
 *   KILN_STATISTICS(use)                 use(number, type, member) for each store of a member of the totals, such as a0.count
 * With KILN_VECTORS_ABREAST an accumulator has a lane for each element of a vector: columns are reduced.
 */
#ifndef KILN_DEVICE_CONTRACTION_ROW_PASSES_H
#define KILN_DEVICE_CONTRACTION_ROW_PASSES_H

#include "device/contraction/result.h"

#define KILN_ROW_X(n, type, form) , inputs.x##n[0]
#define KILN_ROW_Y(n, type, form) , y##n[0]

/* `column` is the block's number in the tile if columns are reduced in blocks; otherwise 0. */
KILN_DEVICE void kiln_row_start(const kiln_arguments &arguments, const kiln_result_source &source,
                                unsigned at_row, unsigned column, bool is_first, kiln_row &row)
{
    struct {
        KILN_START_LOADS(KILN_RESULT_INPUT)
    } inputs;
    (void)is_first, (void)column, (void)inputs;
    KILN_START_LOADS(KILN_RESULT_LOAD)
    KILN_START_STORES(KILN_RESULT_OUTPUT)
    kiln_start_row(arguments, source.batch, source.row + at_row,
                   row KILN_START_LOADS(KILN_ROW_X) KILN_START_STORES(KILN_ROW_Y));
    if (is_first) {
        KILN_START_STORES(KILN_RESULT_STORE)
    }
}

/* ---- accumulators, by their form ---- */

#ifdef KILN_VECTORS_ABREAST
#define KILN_PASS_LANES             KILN_RESULT_VECTOR
#define KILN_PASS_LANE              e
#define KILN_EACH_VECTOR(use)  use
#define KILN_EACH_ELEMENT(use) KILN_COUNT_NOTHING
#else
#define KILN_PASS_LANES             1
#define KILN_PASS_LANE              0
#define KILN_EACH_VECTOR(use)  KILN_COUNT_NOTHING
#define KILN_EACH_ELEMENT(use) use
#endif
#define KILN_COUNT_NOTHING(i, operation, scalar, type, form, neutral)

#define KILN_TOTAL(i, operation, scalar, type, form, neutral)                                      \
    kiln_##operation##_lanes_##scalar<KILN_PASS_LANES> a##i;
#define KILN_CLEAR(i, operation, scalar, type, form, neutral) KILN_CLEAR_##form(i, neutral)
#define KILN_CLEAR_VALUE(i, neutral) totals.a##i.value[e] = neutral;
#define KILN_CLEAR_MOMENTS(i, neutral)                                                             \
    totals.a##i.count = totals.a##i.mean[e] = totals.a##i.squares[e] = neutral;
#define KILN_EXCHANGE_TOTAL(i, operation, scalar, type, form, neutral)                             \
    kiln_exchange<true, false>(mask, is_second, totals.a##i, second.a##i);                         \
    kiln_merge<false>(second.a##i, totals.a##i);
#define KILN_COUNT(i, operation, scalar, type, form, neutral) KILN_COUNT_##form(i, scalar, type)
#define KILN_COUNT_VALUE(i, scalar, type)
#define KILN_COUNT_MOMENTS(i, scalar, type)                                                        \
    totals.a##i.count += 1;                                                                        \
    const type reciprocal##i = kiln_count_ratio_##scalar((type)1, totals.a##i.count);
#define KILN_TAKEN(i, operation, scalar, type, form, neutral) type t##i;
#define KILN_T(i, operation, scalar, type, form, neutral) , t##i
#define KILN_TAKE_IN(i, operation, scalar, type, form, neutral) KILN_TAKE_IN_##form(i, operation, scalar)
#define KILN_TAKE_IN_VALUE(i, operation, scalar)                                                      \
    totals.a##i.value[KILN_PASS_LANE] = kiln_##operation##_##scalar(totals.a##i.value[KILN_PASS_LANE], t##i);
#define KILN_TAKE_IN_MOMENTS(i, operation, scalar)                                                    \
    kiln_moments_update_##scalar(t##i, reciprocal##i, totals.a##i.mean[KILN_PASS_LANE],                 \
                                 totals.a##i.squares[KILN_PASS_LANE]);
#define KILN_TOTAL_OF_ROW(i, operation, scalar, type, form, neutral) , totals.a##i

/* ---- what a pass leaves ---- */

#ifdef KILN_STATISTICS
#define KILN_STORE_STATISTIC(n, type, member)                                                      \
    source.p##n[kiln_result_offset_in_tile(arguments, kiln_result_##n, source, at_row,             \
                                           column + e)] = kiln_encode_##type(totals.member);

/* Stores what a tile has accumulated of a row, of all of it, or of `lanes` neighbouring columns. */
template <class Totals>
KILN_DEVICE void kiln_store_statistics(const kiln_arguments &arguments,
                                       const kiln_result_source &source, unsigned at_row,
                                       unsigned column, unsigned lanes, const Totals &totals)
{
    KILN_UNROLL
    for (unsigned e = 0; e < lanes; e++) {
        KILN_STATISTICS(KILN_STORE_STATISTIC)
    }
}

#define KILN_FINISH_PASS(pass)                                                                     \
    if (is_first)                                                                                  \
        kiln_store_statistics(arguments, source, at_row, 0, KILN_PASS_LANES, totals);
#else
#define KILN_FINISH_PASS(pass)                                                                     \
    KILN_PASS_##pass##_ROW_STORES(KILN_RESULT_OUTPUT)                                              \
    kiln_pass_##pass##_row(arguments, source.batch, source.row + at_row,                           \
                           row KILN_PASS_##pass##_ACCUMULATORS(KILN_TOTAL_OF_ROW)                  \
                               KILN_PASS_##pass##_ROW_STORES(KILN_ROW_Y));                         \
    if (is_first) {                                                                                \
        KILN_PASS_##pass##_ROW_STORES(KILN_RESULT_STORE)                                           \
    }
#endif

#define KILN_ROW_PASS(pass)                                                                        \
    struct kiln_row_pass_##pass {                                                                  \
        struct totals {                                                                            \
            KILN_PASS_##pass##_ACCUMULATORS(KILN_TOTAL)                                            \
        };                                                                                         \
        KILN_DEVICE void start(totals &totals)                                                     \
        {                                                                                          \
            (void)totals;                                                                          \
            KILN_UNROLL                                                                            \
            for (unsigned e = 0; e < KILN_PASS_LANES; e++) {                                            \
                KILN_PASS_##pass##_ACCUMULATORS(KILN_CLEAR)                                        \
            }                                                                                      \
        }                                                                                          \
        /* Merges the totals of two lanes. */                                                      \
        KILN_DEVICE void exchange(unsigned mask, totals &totals)                                   \
        {                                                                                          \
            const bool is_second = (kiln_lane() & mask) != 0;                                      \
            auto second = totals;                                                                  \
            (void)is_second, (void)second;                                                         \
            KILN_PASS_##pass##_ACCUMULATORS(KILN_EXCHANGE_TOTAL)                                   \
        }                                                                                          \
        /* Evaluates a vector, accumulates and stores. */                                          \
        KILN_DEVICE void update(const kiln_arguments &arguments, const kiln_result_source &source, \
                                unsigned at_row, unsigned column, bool is_inside,                  \
                                const kiln_row &row,                                               \
                                const kiln_sum (&values)[KILN_PRODUCTS][KILN_RESULT_VECTOR],       \
                                totals &totals)                                                    \
        {                                                                                          \
            struct {                                                                               \
                KILN_PASS_##pass##_LOADS(KILN_RESULT_INPUT)                                        \
            } inputs;                                                                              \
            (void)inputs, (void)totals;                                                            \
            KILN_PASS_##pass##_LOADS(KILN_RESULT_LOAD)                                             \
            KILN_PASS_##pass##_STORES(KILN_RESULT_OUTPUT)                                          \
            KILN_PASS_##pass##_ACCUMULATORS(KILN_EACH_VECTOR(KILN_COUNT))                          \
            KILN_UNROLL                                                                            \
            for (unsigned e = 0; e < KILN_RESULT_VECTOR; e++) {                                    \
                KILN_PASS_##pass##_ACCUMULATORS(KILN_TAKEN)                                        \
                KILN_PASS_##pass##_ACCUMULATORS(KILN_EACH_ELEMENT(KILN_COUNT))                     \
                kiln_pass_##pass##_element(                                                        \
                    arguments, source.batch, source.row + at_row, source.column + column + e,      \
                    row KILN_RESULT_SUMS KILN_PASS_##pass##_LOADS(KILN_RESULT_X)                   \
                        KILN_PASS_##pass##_STORES(KILN_RESULT_Y)                                   \
                            KILN_PASS_##pass##_ACCUMULATORS(KILN_T));                              \
                KILN_PASS_##pass##_ACCUMULATORS(KILN_TAKE_IN)                                         \
            }                                                                                      \
            if (!is_inside)                                                                        \
                return;                                                                            \
            KILN_PASS_##pass##_STORES(KILN_RESULT_STORE)                                           \
        }                                                                                          \
        KILN_DEVICE void finish(const kiln_arguments &arguments, const kiln_result_source &source, \
                                unsigned at_row, unsigned column, bool is_first,                   \
                                const totals &totals, kiln_row &row)                               \
        {                                                                                          \
            (void)column, (void)is_first, (void)totals, (void)row;                                 \
            KILN_FINISH_PASS(pass)                                                                 \
        }                                                                                          \
    };

KILN_ROW_PASSES(KILN_ROW_PASS)

#endif
