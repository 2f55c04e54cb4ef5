/*
 * The result: loads of further operands, such as a bias, and stores. finish.h and row_passes.h have the work between them.
 *
 * Facts: KILN_RESULT_VECTOR, the elements of a vector, and
 *   kiln_result_<number>         a kiln_result_access for each access that is not SCALAR
 *   KILN_RESULT_LOADS(use)       use(number, type, form) for each operand. PLAIN: elements of memory. SCALAR: an argument.
 *                                BLOCK: an element of memory for each block of KILN_ROW_BLOCK columns
 *   KILN_RESULT_STORES(use)      use(number, type, form) for each store, PLAIN, BLOCK or PACKED
 *   kiln_stored_bits_<number>    of a PACKED element, and kiln_stored_bytes_<number>, stored at once
 *
 * Tiles may store accumulators for another kernel. Their segments go along axes of batches (KILN_SEGMENT_BATCHES, a bit for each),
 * along rows of tiles (KILN_HAS_SEGMENTS_OF_ROWS) and along columns of tiles (KILN_HAS_SEGMENTS_OF_COLUMNS).
 */
#ifndef KILN_DEVICE_CONTRACTION_RESULT_H
#define KILN_DEVICE_CONTRACTION_RESULT_H

#include "device/contraction/neighbours.h"
#include "device/contraction/offset.h"

/* ---- an access, by its form ---- */

#define KILN_RESULT_FROM(n, type, form) KILN_RESULT_FROM_##form(n, type)
#define KILN_RESULT_TO(n, type, form) KILN_RESULT_TO_##form(n, type)
#define KILN_RESULT_START(n, type, form) KILN_RESULT_START_##form(n)
#define KILN_RESULT_INPUT(n, type, form) kiln_storage_##type x##n[KILN_RESULT_COUNT_##form(n)];
#define KILN_RESULT_OUTPUT(n, type, form) kiln_storage_##type y##n[KILN_RESULT_VECTOR];
#define KILN_RESULT_LOAD(n, type, form) KILN_RESULT_LOAD_##form(n)
#define KILN_RESULT_STORE(n, type, form) KILN_RESULT_STORE_##form(n)
#define KILN_RESULT_X(n, type, form) , inputs.x##n[KILN_RESULT_COUNT_##form(n) > 1 ? e : 0]
#define KILN_RESULT_Y(n, type, form) , y##n[e]

#define KILN_RESULT_TO_PLAIN(n, type)   kiln_storage_##type *p##n;
#define KILN_RESULT_FROM_PLAIN(n, type) const kiln_storage_##type *p##n;
#define KILN_RESULT_START_PLAIN(n)                                                                 \
    source.p##n = arguments.a##n + kiln_result_offset(arguments, kiln_result_##n, batch, row, column);
#define KILN_RESULT_COUNT_PLAIN(n) kiln_result_count(kiln_result_##n)
#define KILN_RESULT_LOAD_PLAIN(n)                                                                  \
    kiln_result_load(arguments, kiln_result_##n, source, source.p##n, at_row, column, inputs.x##n);

#define KILN_RESULT_STORE_PLAIN(n)                                                                 \
    kiln_result_store(arguments, kiln_result_##n, source, y##n, at_row, column, source.p##n);

/* Columns are counted in blocks, both in the strides and in `column`. */
#define KILN_RESULT_TO_BLOCK(n, type)   KILN_RESULT_TO_PLAIN(n, type)
#define KILN_RESULT_FROM_BLOCK(n, type) KILN_RESULT_FROM_PLAIN(n, type)
#define KILN_RESULT_START_BLOCK(n)                                                                 \
    source.p##n = arguments.a##n + kiln_result_offset(arguments, kiln_result_##n, batch, row,      \
                                                      column / KILN_ROW_BLOCK);
#define KILN_RESULT_COUNT_BLOCK(n) 1u
#define KILN_RESULT_LOAD_BLOCK(n)                                                                  \
    inputs.x##n[0] =                                                                               \
        source.p##n[kiln_result_offset_in_tile(arguments, kiln_result_##n, source, at_row, column)];
#define KILN_RESULT_STORE_BLOCK(n)                                                                 \
    source.p##n[kiln_result_offset_in_tile(arguments, kiln_result_##n, source, at_row, column)] =  \
        y##n[0];

/* Vectors of packed elements are whole bytes. Their place is a number of elements. */
#define KILN_RESULT_TO_PACKED(n, type) unsigned long long p##n;
#define KILN_RESULT_START_PACKED(n)                                                                \
    source.p##n = (unsigned long long)kiln_result_offset(arguments, kiln_result_##n, batch, row, column);
#define KILN_RESULT_STORE_PACKED(n)                                                                \
    kiln_store_packed<kiln_stored_bits_##n, KILN_RESULT_VECTOR, kiln_stored_bytes_##n>(            \
        arguments.a##n.vector(source.p##n + kiln_result_offset_in_tile(arguments, kiln_result_##n, \
                                                                       source, at_row, column)),   \
        y##n);

#define KILN_RESULT_FROM_SCALAR(n, type)
#define KILN_RESULT_START_SCALAR(n)
#define KILN_RESULT_COUNT_SCALAR(n) 1u
#define KILN_RESULT_LOAD_SCALAR(n) inputs.x##n[0] = arguments.a##n;

/* Elements of an access in a vector. */
KILN_CONSTEXPR unsigned kiln_result_count(const kiln_result_access &access)
{
    return kiln_is_zero(access.map.column) ? 1 : KILN_RESULT_VECTOR;
}

KILN_CONSTEXPR bool kiln_splits_rows(const kiln_result_access &access)
{
#ifdef KILN_HAS_SPLIT_ROWS
    return access.splits_rows;
#else
    return (void)access, false;
#endif
}

/* ---- a tile of the result ---- */

struct kiln_result_source {
    kiln_batch batch;
    unsigned row, column; /* of the tile's first element */
    KILN_RESULT_LOADS(KILN_RESULT_FROM)
    KILN_RESULT_STORES(KILN_RESULT_TO)
};

#ifdef KILN_SEGMENT_BATCHES
/* The number of a tile among those that share statistics. */
KILN_DEVICE unsigned kiln_result_segment(const kiln_arguments &arguments, const kiln_batch &batch,
                                         unsigned row, unsigned column)
{
    (void)arguments, (void)batch, (void)row, (void)column;
    unsigned segment = 0;
#define KILN_SEGMENT_ALONG(axis)                                                                   \
    if ((KILN_SEGMENT_BATCHES >> axis & 1) != 0)                                                   \
        segment = segment * (unsigned)kiln_number_of(arguments, kiln_batch_sizes[axis]) +          \
                  batch.c[axis];
    KILN_UP(KILN_BATCH_RANK, KILN_SEGMENT_ALONG)
    const unsigned columns = KILN_TILE_N / KILN_PRODUCTS;
    if (KILN_HAS_SEGMENTS_OF_ROWS)
        segment = segment * (((unsigned)arguments.m + KILN_TILE_M - 1) / KILN_TILE_M) +
                  row / KILN_TILE_M;
    if (KILN_HAS_SEGMENTS_OF_COLUMNS)
        segment = segment * (((unsigned)arguments.n + columns - 1) / columns) + column / columns;
    return segment;
}
#elif KILN_HAS_SEGMENTS
#define kiln_result_segment(arguments, batch, row, column) batch.segment
#else
#define kiln_result_segment(arguments, batch, row, column) 0u
#endif

/* From the first element of an access to the first that a tile has. Rows that are split are counted from the first of all. */
KILN_DEVICE long long kiln_result_offset(const kiln_arguments &arguments,
                                         const kiln_result_access &access, const kiln_batch &batch,
                                         unsigned row, unsigned column)
{
    (void)batch;
    long long offset = 0;
#define KILN_ADD_RESULT_AXIS(axis)                                                                 \
    offset += kiln_offset_along(arguments, access.map.batches[axis].stride, batch.c[axis]);
    KILN_UP(KILN_BATCH_RANK, KILN_ADD_RESULT_AXIS)
#ifdef KILN_SPANS
    if (access.map.span != 0)
        offset += batch.spans[access.map.span - 1].base;
#endif
    if (!kiln_is_zero(access.segment_stride))
        offset += kiln_offset_along(arguments, access.segment_stride,
                                    kiln_result_segment(arguments, batch, row, column));
    if (!kiln_splits_rows(access))
        offset += kiln_offset_along(arguments, access.map.row, row);
    return offset + kiln_offset_along(arguments, access.map.column, column);
}

KILN_DEVICE void kiln_result_start(const kiln_arguments &arguments, const kiln_batch &batch,
                                   unsigned row, unsigned column, kiln_result_source &source)
{
    source.batch = batch;
    source.row = row;
    source.column = column;
    KILN_RESULT_LOADS(KILN_RESULT_START)
    KILN_RESULT_STORES(KILN_RESULT_START)
}

/* ---- a vector ---- */

/* From the pointer of a tile to an element. */
KILN_DEVICE kiln_offset kiln_result_offset_in_tile(const kiln_arguments &arguments,
                                                   const kiln_result_access &access,
                                                   const kiln_result_source &source,
                                                   unsigned at_row, unsigned column)
{
    (void)source;
#ifdef KILN_HAS_SPLIT_ROWS
    if (access.splits_rows)
        return kiln_offset_along_axes(
                   arguments, access.rows,
                   kiln_split_m(arguments, source.batch, source.row + at_row)) +
               kiln_offset_in_tile(arguments, access.map, 0, column);
#endif
    return kiln_offset_in_tile(arguments, access.map, at_row, column);
}

template <class Element>
KILN_DEVICE void kiln_result_load(const kiln_arguments &arguments, const kiln_result_access &access,
                                  const kiln_result_source &source, const Element *from,
                                  unsigned at_row, unsigned column, Element *to)
{
    if (access.map.is_vector) {
        kiln_load_neighbours(
            KILN_RESULT_VECTOR,
            from + kiln_result_offset_in_tile(arguments, access, source, at_row, column), to);
        return;
    }
    KILN_UNROLL
    for (unsigned e = 0; e < kiln_result_count(access); e++)
        to[e] = from[kiln_result_offset_in_tile(arguments, access, source, at_row, column + e)];
}

template <class Element>
KILN_DEVICE void kiln_result_store(const kiln_arguments &arguments,
                                   const kiln_result_access &access,
                                   const kiln_result_source &source, const Element *from,
                                   unsigned at_row, unsigned column, Element *to)
{
    if (access.is_of_row && source.column + column != 0)
        return;
#ifdef KILN_SPANS
    if (access.map.span != 0 &&
        source.row + at_row >= KILN_SPAN_ROWS(source.batch.spans[access.map.span - 1].length))
        return;
#endif
    if (access.map.is_vector) {
        kiln_store_neighbours(
            KILN_RESULT_VECTOR, from,
            to + kiln_result_offset_in_tile(arguments, access, source, at_row, column));
        return;
    }
    KILN_UNROLL
    for (unsigned e = 0; e < kiln_result_count(access); e++)
        to[kiln_result_offset_in_tile(arguments, access, source, at_row, column + e)] = from[e];
}

/* An element's sums, as arguments of a function. */
#if KILN_PRODUCTS > 1
#define KILN_RESULT_SUMS , values[0][e], values[1][e]
#else
#define KILN_RESULT_SUMS , values[0][e]
#endif

#endif
