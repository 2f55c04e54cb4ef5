/*
 * Vectors at any multiple of an element on NVIDIA GPUs, which trap on an access that is not aligned to its own size. Memory sees
 * aligned words only, of the vector's size and at most 16 bytes:
 *   load   the words that cover the vector are joined by shifts; the last of them is the first of a neighbouring lane, so it
 *          comes from the nearest cache
 *   store  lanes whose vectors follow each other exchange parts, so that each of them writes whole words; the ends of such a
 *          sequence are written in pieces
 * No word is touched that holds no byte of the vector. All lanes that are active take part in a store, whichever they are.
 */
#ifndef KILN_DEVICE_UNALIGNED_H
#define KILN_DEVICE_UNALIGNED_H

template <int words> struct kiln_aligned_words;
template <> struct kiln_aligned_words<1> {
    typedef kiln_words_of_4 type;
};
template <> struct kiln_aligned_words<2> {
    typedef kiln_words_of_8 type;
};
template <> struct kiln_aligned_words<4> {
    typedef kiln_words_of_16 type;
};

template <int words> KILN_DEVICE void kiln_read_words(const char *from, unsigned *to)
{
    typedef typename kiln_aligned_words<words>::type type;
    const type value = *(const type *)from;
    __builtin_memcpy(to, &value, sizeof value);
}

template <int words> KILN_DEVICE void kiln_write_words(char *to, const unsigned *from)
{
    typedef typename kiln_aligned_words<words>::type type;
    type value;
    __builtin_memcpy(&value, from, sizeof value);
    *(type *)to = value;
}

/* `words` words of `low` and `high` one after the other, from byte `shift` < 4 * words on; a multiple of `element` bytes. */
template <int words, int element>
KILN_DEVICE void kiln_join_words(const unsigned *low, const unsigned *high, unsigned shift, unsigned *to)
{
    unsigned both[2 * words];
    KILN_UNROLL
    for (int i = 0; i < words; i++) {
        both[i] = low[i];
        both[words + i] = high[i];
    }
    KILN_UNROLL
    for (int step = words / 2; step > 0; step /= 2) {
        KILN_UNROLL
        for (int i = 0; 4 * step >= element && i < words + step; i++)
            both[i] = shift & (unsigned)(4 * step) ? both[i + step] : both[i];
    }
    KILN_UNROLL
    for (int i = 0; i < words; i++)
        to[i] = element < 4 ? __funnelshift_r(both[i], both[i + 1], (shift & 3) * 8) : both[i];
}

template <int words> KILN_DEVICE unsigned kiln_word_at(const unsigned *from, unsigned byte)
{
    unsigned word = from[0];
    KILN_UNROLL
    for (int i = 1; i < words; i++)
        word = byte / 4 == (unsigned)i ? from[i] : word;
    return word >> (byte & 3) * 8;
}

/* The bytes of an aligned piece of memory from `begin` to its end. */
template <int words, int element>
KILN_DEVICE void kiln_store_upper(char *to, const unsigned *from, unsigned begin)
{
    if (element == 1 && (begin & 1)) {
        *(unsigned char *)(to + begin) = (unsigned char)kiln_word_at<words>(from, begin);
        begin += 1;
    }
    if (element <= 2 && (begin & 2)) {
        *(unsigned short *)(to + begin) = (unsigned short)kiln_word_at<words>(from, begin);
        begin += 2;
    }
    if (words >= 2 && element <= 4 && (begin & 4)) {
        *(unsigned *)(to + begin) = kiln_word_at<words>(from, begin);
        begin += 4;
    }
    if constexpr (words == 4) {
        if (begin & 8)
            kiln_write_words<2>(to + 8, from + 2);
    }
}

/* Its bytes before `end`. */
template <int words, int element>
KILN_DEVICE void kiln_store_lower(char *to, const unsigned *from, unsigned end)
{
    unsigned at = 0;
    if constexpr (words == 4) {
        if (end & 8) {
            kiln_write_words<2>(to, from);
            at = 8;
        }
    }
    if (words >= 2 && element <= 4 && (end & 4)) {
        *(unsigned *)(to + at) = kiln_word_at<words>(from, at);
        at += 4;
    }
    if (element <= 2 && (end & 2)) {
        *(unsigned short *)(to + at) = (unsigned short)kiln_word_at<words>(from, at);
        at += 2;
    }
    if (element == 1 && (end & 1))
        *(unsigned char *)(to + at) = (unsigned char)kiln_word_at<words>(from, at);
}

template <int bytes, int element> KILN_DEVICE void kiln_load_unaligned(void *to, const void *from)
{
    if constexpr (bytes == 2) { /* two bytes */
        ((unsigned char *)to)[0] = ((const unsigned char *)from)[0];
        ((unsigned char *)to)[1] = ((const unsigned char *)from)[1];
    } else {
        constexpr int unit = bytes < 16 ? bytes : 16;
        constexpr int words = unit / 4;
        const unsigned shift = (unsigned)(unsigned long long)from & (unsigned)(unit - 1);
        const char *at = (const char *)from - shift;
        unsigned low[words], high[words], joined[words];
        kiln_read_words<words>(at, low);
        KILN_UNROLL
        for (int offset = 0; offset < bytes; offset += unit) {
            /* Without a condition around it: loads of several vectors wait together. */
            at += offset + unit < bytes ? unit : (int)((shift + unit - 1) & unit);
            kiln_read_words<words>(at, high);
            kiln_join_words<words, element>(low, high, shift, joined);
            __builtin_memcpy((char *)to + offset, joined, unit);
            __builtin_memcpy(low, high, unit);
        }
    }
}

/* The vector at byte `at` of memory that begins at `memory` and has `end` bytes. It may lie partly or wholly beyond the memory, and
 * has anything there: words are read within it. */
template <int bytes, int element, class Offset>
KILN_DEVICE void kiln_load_unaligned_within(void *to, const void *memory, Offset at, Offset end)
{
    if constexpr (bytes == 2) { /* two bytes */
        KILN_UNROLL
        for (int i = 0; i < bytes; i++) {
            const Offset byte = at + i;
            ((unsigned char *)to)[i] =
                ((const unsigned char *)memory)[byte < 0 ? 0 : byte < end ? byte : end - 1];
        }
    } else {
        constexpr int unit = bytes < 16 ? bytes : 16;
        constexpr int words = unit / 4;
        const int before = (int)((unsigned long long)memory & (unsigned)(unit - 1));
        const char *base = (const char *)memory - before;
        const Offset first = at + before, last = (end - 1 + before) & -unit;
        const unsigned shift = (unsigned)first & (unsigned)(unit - 1);
        unsigned low[words], high[words], joined[words];
        Offset word = first & -unit;
        kiln_read_words<words>(base + (word < 0 ? 0 : word < last ? word : last), low);
        KILN_UNROLL
        for (int offset = 0; offset < bytes; offset += unit) {
            word = (first + offset + unit - 1 + (offset + unit < bytes)) & -unit;
            kiln_read_words<words>(base + (word < 0 ? 0 : word < last ? word : last), high);
            kiln_join_words<words, element>(low, high, shift, joined);
            __builtin_memcpy((char *)to + offset, joined, unit);
            __builtin_memcpy(low, high, unit);
        }
    }
}

template <int bytes, int element> KILN_DEVICE void kiln_store_unaligned(void *to, const void *from)
{
    if constexpr (bytes == 2) {
        ((unsigned char *)to)[0] = ((const unsigned char *)from)[0];
        ((unsigned char *)to)[1] = ((const unsigned char *)from)[1];
    } else {
        constexpr int unit = bytes < 16 ? bytes : 16;
        constexpr int words = unit / 4;
        const unsigned long long address = (unsigned long long)to;
        const unsigned shift = (unsigned)address & (unsigned)(unit - 1);
        const unsigned up = unit - shift;
        char *at = (char *)to - shift;
        unsigned data[bytes / 4], next[words], whole[words];
        __builtin_memcpy(data, from, bytes);
        if (shift == 0) { /* of no use to others, which have the same shift as their neighbours */
            KILN_UNROLL
            for (int offset = 0; offset < bytes; offset += unit)
                kiln_write_words<words>(at + offset, data + offset / 4);
            return;
        }
        const unsigned lanes = __activemask();
        const unsigned lane = kiln_lane();
        KILN_UNROLL
        for (int i = 0; i < words; i++)
            next[i] = __shfl_down_sync(lanes, data[i], 1);
        const unsigned long long next_address = __shfl_down_sync(lanes, address, 1);
        const bool joins_next =
            lane < 31 && (lanes >> (lane + 1) & 1) != 0 && next_address == address + bytes;
        const unsigned joining = __ballot_sync(lanes, joins_next);
        if (lane == 0 || (joining >> (lane - 1) & 1) == 0) {
            kiln_join_words<words, element>(data, data, up, whole);
            kiln_store_upper<words, element>(at, whole, shift);
        }
        KILN_UNROLL
        for (int offset = unit; offset < bytes; offset += unit) {
            kiln_join_words<words, element>(data + offset / 4 - words, data + offset / 4, up, whole);
            kiln_write_words<words>(at + offset, whole);
        }
        kiln_join_words<words, element>(data + bytes / 4 - words, next, up, whole);
        if (joins_next)
            kiln_write_words<words>(at + bytes, whole);
        else
            kiln_store_lower<words, element>(at + bytes, whole, shift);
    }
}

#define KILN_LOAD_UNALIGNED(bytes, to, from)  kiln_load_unaligned<bytes, (int)sizeof *(from)>(to, from);
#define KILN_STORE_UNALIGNED(bytes, to, from) kiln_store_unaligned<bytes, (int)sizeof *(to)>(to, from);

#endif
