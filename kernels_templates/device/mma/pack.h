/*
 * Packs: 16 bytes of k of one row of an operand, what is staged and read at once. The order of packs within a row of a
 * staged tile depends on the row, so that neither eight lanes in eight rows nor eight along a row meet in a bank.
 *
 * The shape of a tile, a constant, is the number of packs of a row, and which bits of row / 8 are in that order too: with 7
 * eight lanes eight rows apart do not meet either, with 3 four rows apart. With fewer bits more places are a constant apart.
 *
 * A line of eight packs goes through all banks once. Of shorter rows several share one: with 3 packs are permuted within lines, so
 * that eight lanes do not meet that are in every second row, or every fourth one, and would otherwise use a part of each line. Of
 * rows of four packs two share a line. With 7 every other pack of them changes places with that of the other row: so eight lanes do
 * not meet that are in four rows, eight apart, and two packs.
 */
#ifndef KILN_DEVICE_MMA_PACK_H
#define KILN_DEVICE_MMA_PACK_H

struct alignas(16) kiln_pack {
    unsigned words[4];
};

/* 1: packs lie in the order that wgmma reads (wgmma.h). */
#ifndef KILN_HAS_WGMMA_ORDER
#define KILN_HAS_WGMMA_ORDER 0
#endif

#define KILN_TILE_SHAPE(row_packs, crossing) ((row_packs) + (crossing) * 65536u)
#define KILN_SHAPE_PACKS(shape)              ((shape) % 65536u)

#define KILN_ARE_LINES_SHARED(shape)                                                               \
    ((shape) / 65536u == 7 && KILN_SHAPE_PACKS(shape) == 4)

/* True if rows are parts of lines, within which packs are permuted. */
#define KILN_ARE_LINES_PERMUTED(shape)                                                             \
    ((shape) / 65536u == 3 && 8 % KILN_SHAPE_PACKS(shape) == 0)

/*
 * gfx950 reads from 64 banks. The lanes 0 to 3, 12 to 15 and 20 to 27 read together (HipKittens' measurement). Their rows are twice
 * eight that differ in their lowest three bits, so bit 3 of a row is in the order too. It exchanges packs within 256 bytes: of the
 * row if it is that long, otherwise of a row and its neighbour.
 *
 * Transposing reads (device/mma/transposed_reads.h) take 64 bytes from each of four rows together, or 32 bytes from eight. So the
 * lowest bits exchange the longest pieces. A fragment of 16 rows reads rows 4 to 11 in the second of two packs. So the lowest bit
 * of the order changes when bits 2 and 3 of a row change together.
 */
#ifndef KILN_HAS_64_BANKS
#if defined(__gfx950__)
#define KILN_HAS_64_BANKS 1
#else
#define KILN_HAS_64_BANKS 0
#endif
#endif
#define KILN_ARE_HALVES_EXCHANGED(shape)                                                           \
    (KILN_HAS_64_BANKS && ((shape) == 8 || ((shape) / 65536u == 0 && KILN_SHAPE_PACKS(shape) % 16 == 0)))
#define KILN_ARE_NEIGHBOURS_EXCHANGED(shape) (KILN_HAS_64_BANKS && (shape) == 8)

/* What a pack's number within its row changes in its place. */
KILN_DEVICE unsigned kiln_pack_bits(unsigned pack, unsigned shape)
{
    return KILN_ARE_LINES_SHARED(shape) ? pack ^ (pack & 1) << 2 : pack;
}

/* What the order of packs within a row, or within a line, is permuted by. */
KILN_DEVICE unsigned kiln_pack_order(unsigned row, unsigned shape)
{
    /* 128 bytes go through all banks once: rows of no multiple of them share the banks with their neighbours, and packs
     * are permuted within the largest power of two that divides a row. */
    const unsigned row_packs = KILN_SHAPE_PACKS(shape), crossing = shape / 65536u;
    const unsigned power = row_packs & (0u - row_packs), permuted = power >= 8 ? 8 : power;
    const unsigned rows_per_line = 8 / permuted;
    const unsigned low = row / rows_per_line;
    const unsigned mask = permuted - 1;
    if (KILN_HAS_WGMMA_ORDER)
        return low & mask;
    if (KILN_ARE_HALVES_EXCHANGED(shape))
        return (row & 3) << 2 | ((row >> 1 ^ row >> 2) & 2) | (row >> 3 & 1);
    if (KILN_ARE_LINES_PERMUTED(shape)) {
        const unsigned line = row % 32 / rows_per_line;
        return (line ^ line >> 3) & 7;
    }
    return (low ^ (row >> 3 & crossing)) & mask;
}

KILN_DEVICE unsigned kiln_pack_place(unsigned row, unsigned pack, unsigned shape)
{
    if (KILN_ARE_LINES_SHARED(shape))
        return row * 4 ^ kiln_pack_bits(pack, shape) ^ kiln_pack_order(row, shape);
    if (KILN_ARE_LINES_PERMUTED(shape) || KILN_ARE_NEIGHBOURS_EXCHANGED(shape))
        return (row * KILN_SHAPE_PACKS(shape) + pack) ^ kiln_pack_order(row, shape);
    return row * KILN_SHAPE_PACKS(shape) + (pack ^ kiln_pack_order(row, shape));
}

/* On RDNA LLVM 19 rounds into either half of a register where elements are those of a vector, and shifts bits otherwise. On
 * CDNA it would multiply in pairs then and round apart, which is more. */
KILN_DEVICE kiln_pack kiln_pack_of(const kiln_element (&elements)[KILN_PACK_ELEMENTS])
{
#if defined(__AMDGCN__) && !defined(__GFX9__)
    typedef kiln_element vector __attribute__((ext_vector_type(KILN_PACK_ELEMENTS)));
    vector all;
    KILN_UNROLL
    for (int e = 0; e < KILN_PACK_ELEMENTS; e++)
        all[e] = elements[e];
    return __builtin_bit_cast(kiln_pack, all);
#else
    kiln_pack pack;
    __builtin_memcpy(&pack, elements, sizeof pack);
    return pack;
#endif
}

/*
 * Halves that were just rounded, as words. LLVM then rounds the second half of a pair into the upper part of the first one's register.
 * It must not see through the first one: it would multiply in pairs on CDNA and round apart.
 */
template <class Element, unsigned COUNT>
KILN_DEVICE void kiln_pair_rounded(Element (&)[COUNT])
{
}
#if defined(__AMDGCN__) && defined(__GFX9__)
template <unsigned COUNT>
KILN_DEVICE void kiln_pair_rounded(_Float16 (&elements)[COUNT])
{
    typedef _Float16 pair __attribute__((ext_vector_type(2)));
    KILN_UNROLL
    for (unsigned e = 0; e + 1 < COUNT; e += 2) {
        pair both;
        _Float16 first = elements[e];
        __asm__("" : "+v"(first));
        both[0] = first;
        both[1] = elements[e + 1];
        __builtin_memcpy(elements + e, &both, sizeof both);
    }
}
#endif

/*
 * The place of a lane's pack, the lane_row-th from `row` and lane_pack-th from `pack`, which are multiples of powers of two above
 * those, is a sum: kiln_lane_place, of which a lane has few different ones, and kiln_lane_offset, which is the same for all lanes.
 * Where shapes cross by 7 the first one is all of it.
 */
#define KILN_IS_PLACE_SPLIT(shape) ((shape) / 65536u != 7)
#define KILN_ORDER_BITS(shape)     (KILN_ARE_HALVES_EXCHANGED(shape) ? 15 : 7)
KILN_DEVICE unsigned kiln_lane_place(unsigned row, unsigned lane_row, unsigned pack,
                                     unsigned lane_pack, unsigned shape)
{
    if (!KILN_IS_PLACE_SPLIT(shape))
        return kiln_pack_place(row + lane_row, pack + lane_pack, shape);
    const unsigned permuting = (pack ^ kiln_pack_order(row, shape)) & KILN_ORDER_BITS(shape);
    if (KILN_ARE_LINES_PERMUTED(shape) || KILN_ARE_NEIGHBOURS_EXCHANGED(shape))
        return (lane_row * KILN_SHAPE_PACKS(shape) + lane_pack) ^
               kiln_pack_order(lane_row, shape) ^ permuting;
    return lane_row * KILN_SHAPE_PACKS(shape) +
           (lane_pack ^ kiln_pack_order(lane_row, shape) ^ permuting);
}

KILN_DEVICE unsigned kiln_lane_offset(unsigned row, unsigned pack, unsigned shape)
{
    return KILN_IS_PLACE_SPLIT(shape)
               ? row * KILN_SHAPE_PACKS(shape) + (pack & ~(unsigned)KILN_ORDER_BITS(shape))
               : 0;
}

/* True if multiples of a number of rows have no bit of an order in common with fewer rows than that. */
#define KILN_IS_APART(rows) ((rows) % 64 == 0 || ((rows) & ((rows) - 1)) == 0)

/*
 * kiln_pack_place(row + more_rows, pack + more_packs) from `place`, that of row and pack; neither sum may carry into a bit of
 * the order, and rows are powers of two. What is constant stands apart from what depends on the lane.
 */
KILN_DEVICE unsigned kiln_pack_place_beyond(unsigned place, unsigned more_rows, unsigned more_packs,
                                            unsigned shape)
{
    const unsigned more = more_rows * KILN_SHAPE_PACKS(shape);
    const unsigned within = KILN_ARE_LINES_SHARED(shape)           ? more & 4 /* the line */
                            : KILN_ARE_NEIGHBOURS_EXCHANGED(shape) ? more & 8
                                                                   : 0;
    return (place ^
            (kiln_pack_bits(more_packs, shape) ^ kiln_pack_order(more_rows, shape) ^ within)) +
           (more - within);
}

/*
 * What of a tile is within k, counted from the tile's first element. All of it is named by a constant, with which the
 * other forms vanish.
 */
#define KILN_WHOLE_K           (~0u)
#define KILN_K_WITHIN(k, rest) ((rest) == KILN_WHOLE_K || (k) < (rest) ? (k) : 0u)

/* Zero from the end of k on in a pack that starts at k. By whole words: where elements are taken out of it one by one, LLVM 19
 * loads them one by one as well. */
KILN_DEVICE void kiln_cut_pack(kiln_pack &pack, unsigned k, unsigned rest)
{
    if (rest == KILN_WHOLE_K)
        return;
    const int bits = ((int)rest - (int)k) * 8 * (int)sizeof(kiln_element);
    KILN_UNROLL
    for (int i = 0; i < 4; i++) {
        const int within = bits - 32 * i;
        pack.words[i] &= within >= 32 ? ~0u : within <= 0 ? 0u : (1u << (within & 31)) - 1;
    }
}

KILN_DEVICE int kiln_smaller(int a, int b)
{
    return a < b ? a : b;
}

/* A bit for each element of a pack from `from` on and before `to`, wherever these are. */
KILN_DEVICE unsigned kiln_elements_within(int from, int to)
{
    const int most = KILN_PACK_ELEMENTS;
    const int begin = kiln_smaller(from < 0 ? 0 : from, most);
    const int end = kiln_smaller(to < 0 ? 0 : to, most);
    return ((1u << end) - 1) & ~((1u << begin) - 1);
}

/* Zero but for the elements that have a bit. */
KILN_DEVICE void kiln_keep_elements(kiln_pack &pack, unsigned kept)
{
    const int bits = 8 * (int)sizeof(kiln_element);
    KILN_UNROLL
    for (int i = 0; i < 4; i++) {
        unsigned mask = 0;
        KILN_UNROLL
        for (int bit = 0; bit < 32; bit += bits) {
            const int e = (32 * i + bit) / bits;
            const unsigned all = 0u - (kept >> e & 1);
            mask |= bits >= 32 ? all : (all & ((1u << (bits & 31)) - 1)) << bit;
        }
        pack.words[i] &= mask;
    }
}

/* Zero unless it is kept. */
KILN_DEVICE void kiln_keep_pack(kiln_pack &pack, bool is_kept)
{
    KILN_UNROLL
    for (int i = 0; i < 4; i++)
        pack.words[i] = is_kept ? pack.words[i] : 0u;
}

#endif
