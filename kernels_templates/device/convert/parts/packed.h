/*
 * Memory whose elements have 4 or 6 bits: a stream of bits, lowest first. In registers each code
 * has a byte of its own. Vectors start where an element starts a byte, and end where one ends: 2
 * elements of 4 bits, or 4 of 6, are whole bytes.
 *
 * A work-item stores whole bytes. An element is stored alone only by the work-item that has stored
 * all others before it in its byte.
 */
#ifndef KILN_DEVICE_CONVERT_PACKED_H
#define KILN_DEVICE_CONVERT_PACKED_H

#include "device/memory.h"

/* The first byte of an element, and its first bit there. */
template <unsigned bits, class Index> KILN_DEVICE Index kiln_packed_byte(Index index)
{
    return bits == 4 ? index / 2 : index / 4 * 3 + index % 4 * 6 / 8;
}

template <unsigned bits, class Index> KILN_DEVICE unsigned kiln_packed_shift(Index index)
{
    return bits == 4 ? (unsigned)(index % 2) * 4 : (unsigned)(index % 4) * 6 % 8;
}

/* Stands for a pointer to an element. */
template <unsigned bits> struct kiln_packed {
    unsigned char *bytes; /* of the first one */

    template <class Index> KILN_DEVICE_MEMBER unsigned char operator[](Index index) const
    {
        const unsigned char *at = bytes + kiln_packed_byte<bits>(index);
        const unsigned shift = kiln_packed_shift<bits>(index);
        unsigned word = at[0];
        if (shift + bits > 8)
            word |= (unsigned)at[1] << 8;
        return (unsigned char)(word >> shift & ((1u << bits) - 1));
    }

    template <class Index> KILN_DEVICE_MEMBER void store(Index index, unsigned char code) const
    {
        unsigned char *at = bytes + kiln_packed_byte<bits>(index);
        const unsigned shift = kiln_packed_shift<bits>(index);
        const unsigned before = shift == 0 ? 0 : at[0] & ((1u << shift) - 1);
        at[0] = (unsigned char)(before | (unsigned)code << shift);
        if (shift + bits > 8)
            at[1] = (unsigned char)((unsigned)code >> (8 - shift));
    }

    /* Where the vector that starts with this element is. */
    template <class Index> KILN_DEVICE_MEMBER unsigned char *vector(Index index) const
    {
        return bytes + (bits == 4 ? index / 2 : index / 4 * 3);
    }
};

template <unsigned bits, unsigned count>
KILN_DEVICE void kiln_unpack(const unsigned *words, unsigned char *codes)
{
    KILN_UNROLL
    for (unsigned e = 0; e < count; e++) {
        const unsigned word = e * bits / 32, shift = e * bits % 32;
        unsigned code = words[word] >> shift;
        if (shift + bits > 32)
            code |= words[word + 1] << (32 - shift);
        codes[e] = (unsigned char)(code & ((1u << bits) - 1));
    }
}

template <unsigned bits, unsigned count>
KILN_DEVICE void kiln_pack_codes(const unsigned char *codes, unsigned *words)
{
    KILN_UNROLL
    for (unsigned i = 0; i < (bits * count + 31) / 32; i++)
        words[i] = 0;
    KILN_UNROLL
    for (unsigned e = 0; e < count; e++) {
        const unsigned word = e * bits / 32, shift = e * bits % 32;
        words[word] |= (unsigned)codes[e] << shift;
        if (shift + bits > 32)
            words[word + 1] |= (unsigned)codes[e] >> (32 - shift);
    }
}

/* `size` bytes, in accesses of `step` bytes: 1, 2, 4, 8 or 16. */
template <unsigned size, unsigned step>
KILN_DEVICE void kiln_load_words(const unsigned char *from, unsigned *words)
{
    KILN_UNROLL
    for (unsigned i = 0; i < (size + 3) / 4; i++)
        words[i] = 0;
    KILN_UNROLL
    for (unsigned i = 0; i < size; i += step) {
        if constexpr (step == 16) {
            KILN_LOAD_VECTOR(16, &words[i / 4], from + i)
        } else if constexpr (step == 8) {
            KILN_LOAD_VECTOR(8, &words[i / 4], from + i)
        } else if constexpr (step == 4) {
            KILN_LOAD_VECTOR(4, &words[i / 4], from + i)
        } else if constexpr (step == 2) {
            unsigned char pair[2];
            KILN_LOAD_VECTOR(2, pair, from + i)
            words[i / 4] |= (pair[0] | (unsigned)pair[1] << 8) << i % 4 * 8;
        } else {
            words[i / 4] |= (unsigned)from[i] << i % 4 * 8;
        }
    }
}

template <unsigned bits, unsigned count, unsigned step>
KILN_DEVICE void kiln_load_packed(const unsigned char *from, unsigned char *codes)
{
    unsigned words[(bits * count + 31) / 32];
    kiln_load_words<bits * count / 8, step>(from, words);
    kiln_unpack<bits, count>(words, codes);
}

template <unsigned bits, unsigned count, unsigned step>
KILN_DEVICE void kiln_store_packed(unsigned char *to, const unsigned char *codes)
{
    const unsigned size = bits * count / 8;
    unsigned words[(size + 3) / 4];
    kiln_pack_codes<bits, count>(codes, words);
    KILN_UNROLL
    for (unsigned i = 0; i < size; i += step) {
        if constexpr (step == 16) {
            KILN_STORE_VECTOR(16, to + i, &words[i / 4])
        } else if constexpr (step == 8) {
            KILN_STORE_VECTOR(8, to + i, &words[i / 4])
        } else if constexpr (step == 4) {
            KILN_STORE_VECTOR(4, to + i, &words[i / 4])
        } else if constexpr (step == 2) {
            const unsigned char pair[2] = {(unsigned char)(words[i / 4] >> i % 4 * 8),
                                           (unsigned char)(words[i / 4] >> (i % 4 * 8 + 8))};
            KILN_STORE_VECTOR(2, to + i, pair)
        } else {
            to[i] = (unsigned char)(words[i / 4] >> i % 4 * 8);
        }
    }
}

#endif
