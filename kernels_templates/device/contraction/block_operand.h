/*
 * Loads of the form BLOCKS (blocks.h) for the packs of an operand (operand.h).
 */
#ifndef KILN_DEVICE_CONTRACTION_BLOCK_OPERAND_H
#define KILN_DEVICE_CONTRACTION_BLOCK_OPERAND_H

#include "device/contraction/blocks.h"
#include "device/contraction/operand.h"
#include "device/convert/parts/packed.h"

/* True if elements stay packed until they are used. The first bytes of the loaded elements are codes then, and the others nothing.
 * Steps on their way take fewer registers, and unpacking waits for no load. */
KILN_CONSTEXPR bool kiln_stays_packed(const kiln_map &map, unsigned bits, unsigned rows, unsigned columns, bool is_along_k)
{
    return is_along_k && bits < 8 && rows == 1 && columns == 1 && map.is_vector && !kiln_is_zero(map.column);
}

KILN_CONSTEXPR kiln_loads kiln_block_loads_of(const kiln_map &map, unsigned bits, unsigned rows,
                                              unsigned columns, bool is_shared, unsigned run,
                                              bool is_along_k, unsigned vector, unsigned elements)
{
    kiln_loads loads = kiln_loads_of(map, run, is_along_k, vector, elements);
    loads.kept = 0;
    if (kiln_stays_packed(map, bits, rows, columns, is_along_k)) {
        loads.k_step = elements;
        loads.steps = 1;
    }
    if (columns > 1) {
        loads.varies_along_k = loads.varies_along_k && !is_shared;
        loads.k_step = 1;
        loads.steps = loads.varies_along_k ? elements : 1;
    }
    if (rows > 1)
        loads.row_step = 1;
    loads.count = loads.rows * (loads.varies_along_k ? elements : 1);
    return loads;
}

/* Bytes that an access of so many packed elements takes at once. */
KILN_CONSTEXPR unsigned kiln_packed_step(unsigned bytes)
{
    return bytes % 16 == 0 ? 16 : bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : bytes % 2 == 0 ? 2 : 1;
}

/* `count` neighbours in memory. */
template <unsigned bits, unsigned count, class Element>
KILN_DEVICE void kiln_load_block_vector(const kiln_packed<bits> &pointer, long long offset,
                                        Element *to)
{
    if constexpr (bits * count % 8 == 0) {
        kiln_load_packed<bits, count, kiln_packed_step(bits * count / 8)>(pointer.vector(offset),
                                                                          to);
    } else {
        KILN_UNROLL
        for (unsigned i = 0; i < count; i++)
            to[i] = pointer[offset + i];
    }
}

template <unsigned bits, unsigned count, class Element>
KILN_DEVICE void kiln_load_block_vector(const Element *pointer, long long offset, Element *to)
{
    kiln_load_neighbours(count, pointer + offset, to);
}

/* Elements of a lane that stay packed. They end before k does, or begin after it: then the first ones of the tile are read. */
template <unsigned bits, unsigned count, class Pointer, class Element>
KILN_DEVICE void kiln_load_codes(const kiln_arguments &arguments, const kiln_map &map,
                                 const Pointer &pointer, long long at, unsigned row, unsigned k,
                                 Element *to)
{
    const unsigned size = bits * count / 8;
    unsigned words[(size + 3) / 4];
    const long long offset = at + kiln_offset_of_block(arguments, map, 1, 1, row, k);
    kiln_load_words<size, kiln_packed_step(size)>(pointer.vector(offset), words);
    __builtin_memcpy(to, words, sizeof words);
}

template <unsigned bits, bool stays_packed, unsigned k_step, unsigned row_step, class Pointer,
          class Element>
KILN_DEVICE void kiln_load_blocks(const kiln_arguments &arguments, const kiln_map &map,
                                  unsigned rows, unsigned columns, const kiln_loads &loads,
                                  const Pointer &pointer, long long at, unsigned row,
                                  unsigned first_k, unsigned k, unsigned rest, Element *to)
{
    if constexpr (stays_packed) {
        kiln_load_codes<bits, k_step>(arguments, map, pointer, at, row,
                                      first_k + KILN_K_WITHIN(k, rest), to);
        return;
    }
    KILN_UNROLL
    for (unsigned j = 0; j < loads.steps; j++) {
        KILN_UNROLL
        for (unsigned r = 0; r < loads.rows; r += row_step) {
            const unsigned step = k + j * k_step;
            Element *elements = to + j * k_step * loads.rows + r;
            if (k_step == 1 || rest == KILN_WHOLE_K || step + k_step <= rest) {
                const long long offset =
                    at + kiln_offset_of_block(arguments, map, rows, columns, row + r,
                                              first_k + KILN_K_WITHIN(step, rest));
                kiln_load_block_vector<bits, k_step * row_step>(pointer, offset, elements);
            } else {
                KILN_UNROLL
                for (unsigned e = 0; e < k_step; e++)
                    elements[e] =
                        pointer[at + kiln_offset_of_block(arguments, map, rows, columns, row + r,
                                                          first_k + KILN_K_WITHIN(step + e, rest))];
            }
        }
    }
}

/* Some elements of the `loaded` ones that stay packed, from `first` on. Whole words are read: parts of them would keep the array in
 * memory. */
template <unsigned bits, unsigned loaded, unsigned count>
KILN_DEVICE void kiln_unpack_some(const unsigned char *from, unsigned first, unsigned char *codes)
{
    unsigned words[(bits * loaded + 31) / 32];
    __builtin_memcpy(words, from, sizeof words);
    KILN_UNROLL
    for (unsigned e = 0; e < count; e++) {
        const unsigned word = (first + e) * bits / 32, shift = (first + e) * bits % 32;
        unsigned code = words[word] >> shift;
        if (shift + bits > 32)
            code |= words[word + 1] << (32 - shift);
        codes[e] = (unsigned char)(code & ((1u << bits) - 1));
    }
}

#define KILN_LOADS_BLOCKS(side, n)                                                                 \
    KILN_FACT kiln_loads kiln_##side##_loads_##n = kiln_block_loads_of(                            \
        kiln_map_##n, kiln_block_bits_##n, kiln_block_rows_##n, kiln_block_columns_##n,            \
        kiln_block_is_shared_##n, kiln_##side##_run, kiln_##side##_is_along_k,                     \
        kiln_##side##_vector, kiln_##side##_loaded);
#define KILN_OFFSETS_BLOCKS(side, n)
#define KILN_LOCATE_BLOCKS(side, n, type)
#define KILN_KEEP_BLOCKS(side, n)
#define KILN_LOAD_BLOCKS(side, n)                                                                  \
    kiln_load_blocks<kiln_block_bits_##n,                                                          \
                     kiln_stays_packed(kiln_map_##n, kiln_block_bits_##n, kiln_block_rows_##n,     \
                                       kiln_block_columns_##n, kiln_##side##_is_along_k),          \
                     kiln_##side##_loads_##n.k_step, kiln_##side##_loads_##n.row_step>(            \
        arguments, kiln_map_##n, kiln_block_rows_##n, kiln_block_columns_##n,                      \
        kiln_##side##_loads_##n, source.p##n, source.at##n, source.row##n + row, source.k##n, k,   \
        rest, inputs.x##n);

#define KILN_PREPARE_CODES(side, SIDE, n)                                                          \
    unsigned char codes##n[kiln_##side##_elements];                                      \
    kiln_unpack_some<kiln_block_bits_##n, kiln_##side##_loaded, kiln_##side##_elements>(           \
        inputs.x##n, first, codes##n);
#define KILN_INPUT_CODES(side, n) codes##n[e]

#endif
