/*
 * A row out of what was loaded of several: of each of KILN_PACK_ELEMENTS k, `run` neighbouring rows lie in registers, a row's
 * elements in as many words.
 */
#ifndef KILN_DEVICE_MMA_TRANSPOSE_H
#define KILN_DEVICE_MMA_TRANSPOSE_H

#if defined(__AMDGCN__)

/* Bytes of both words: 0 to 3 are those of `low`, 4 to 7 those of `high`. */
#define kiln_pick_bytes(high, low, which) __builtin_amdgcn_perm(high, low, which)

/* LLVM makes two instructions of what is one here. */
template <unsigned RUN, unsigned COUNT, typename element>
KILN_DEVICE void kiln_take_row(const element (&from)[COUNT], unsigned r, element *to)
{
    enum {
        BYTES = sizeof(element),
        PER_WORD = 4 / BYTES,
        IS_IN_WORDS = BYTES <= 2 && RUN * BYTES % 4 == 0,
        WORDS = IS_IN_WORDS ? RUN * BYTES / 4 : 1, /* of a k */
        ROW_WORDS = IS_IN_WORDS ? COUNT / RUN * BYTES / 4 : 1
    };
    if (!IS_IN_WORDS) {
        KILN_UNROLL
        for (unsigned e = 0; e < COUNT / RUN; e++)
            to[e] = from[e * RUN + r];
        return;
    }
    unsigned words[COUNT / RUN * WORDS], row[ROW_WORDS];
    __builtin_memcpy(words, from, sizeof words < sizeof from ? sizeof words : sizeof from);
    KILN_UNROLL
    for (unsigned i = 0; i < ROW_WORDS; i++) {
        const unsigned *first = words + i * PER_WORD * WORDS + r / PER_WORD;
        if (BYTES == 2) {
            row[i] = kiln_pick_bytes(first[WORDS], first[0], r % 2 == 0 ? 0x05040100u : 0x07060302u);
        } else {
            /* Two neighbouring rows share the first step. */
            const unsigned pairs = r % 4 < 2 ? 0x05010400u : 0x07030602u;
            const unsigned low = kiln_pick_bytes(first[WORDS], first[0], pairs);
            const unsigned high = kiln_pick_bytes(first[3 * WORDS], first[2 * WORDS], pairs);
            row[i] = kiln_pick_bytes(high, low, r % 2 == 0 ? 0x05040100u : 0x07060302u);
        }
    }
    __builtin_memcpy(to, row, sizeof row);
}

#else

template <unsigned RUN, unsigned COUNT, typename element>
KILN_DEVICE void kiln_take_row(const element (&from)[COUNT], unsigned r, element *to)
{
    KILN_UNROLL
    for (unsigned e = 0; e < COUNT / RUN; e++)
        to[e] = from[e * RUN + r];
}

#endif

#endif
