/*
 * A table of 16-bit elements that are an odd function of FP4 codes. A lane computes the function of the eight magnitudes once, and looks
 * up all codes that it has loaded together. The function's other inputs are the same for these. KILN_PACK_TABLED is a way of
 * KILN_PACK_PART (operand.h).
 *
 * By bytes, so that one permutation finds four. An element takes 2.25 instructions, and its share of the table 0.6 to 2.
 */
#ifndef KILN_DEVICE_CONTRACTION_CODE_TABLE_H
#define KILN_DEVICE_CONTRACTION_CODE_TABLE_H

/* The low, or the high, bytes of eight elements without a sign, and the signs of eight codes that the function turns. */
struct kiln_code_table {
    unsigned low[2], high[2];
    unsigned flip;
};

/* Bytes of two words: 0 to 3 are those of `low`, and 4 to 7 those of `high`. CUDA's selector has nibbles instead of bytes. Selectors
 * are constants there, so the conversion is folded. */
KILN_DEVICE unsigned kiln_permute_bytes(unsigned high, unsigned low, unsigned selector)
{
#if defined(__AMDGCN__)
    return __builtin_amdgcn_perm(high, low, selector);
#elif defined(__CUDA_ARCH__)
    return __byte_perm(low, high, (selector & 7u) | (selector >> 4 & 0x70u) |
                                      (selector >> 8 & 0x700u) | (selector >> 12 & 0x7000u));
#else
    const unsigned long long bytes = (unsigned long long)high << 32 | low;
    unsigned result = 0;
    KILN_UNROLL
    for (unsigned i = 0; i < 32; i += 8)
        result |= (unsigned)(bytes >> (selector >> i & 7) * 8 & 255) << i;
    return result;
#endif
}

/* No sign is looked at if the function is known to keep it. */
template <class Element>
KILN_DEVICE kiln_code_table kiln_code_table_of(const Element (&elements)[8], bool keeps_sign)
{
    kiln_code_table table;
    unsigned pairs[4];
    __builtin_memcpy(pairs, elements, sizeof pairs);
    KILN_UNROLL
    for (unsigned i = 0; i < 2; i++) {
        table.low[i] = kiln_permute_bytes(pairs[2 * i + 1], pairs[2 * i], 0x06040200u);
        table.high[i] = kiln_permute_bytes(pairs[2 * i + 1], pairs[2 * i], 0x07050301u) &
                        (keeps_sign ? ~0u : 0x7f7f7f7fu);
    }
    table.flip = keeps_sign || pairs[3] >> 31 == 0 ? 0 : 0x88888888u;
    return table;
}

#ifdef __CUDA_ARCH__
/* prmt takes four codes as they lie for selectors. One with a sign repeats the sign of the byte that it selects. */
KILN_DEVICE void kiln_look_up_four(const kiln_code_table &table, unsigned codes, unsigned *pairs)
{
    const unsigned selector = codes & 0x7777u;
    unsigned signs; /* a byte is 0x80 without a sign, and 0xff with one */
    asm("prmt.b32 %0, %1, %1, %2;" : "=r"(signs) : "r"(0x80808080u), "r"(codes));
    const unsigned low = __byte_perm(table.low[0], table.low[1], selector);
    const unsigned high =
        __byte_perm(table.high[0], table.high[1], selector) ^ (signs << 1 & 0x80808080u);
    pairs[0] = __byte_perm(low, high, 0x5140u);
    pairs[1] = __byte_perm(low, high, 0x7362u);
}
#endif

/* Eight elements, whose codes are the bits of `codes`, lowest first. */
template <class Element>
KILN_DEVICE void kiln_look_up(const kiln_code_table &table, const unsigned char *codes,
                              Element (&to)[8])
{
    unsigned word, pairs[4];
    __builtin_memcpy(&word, codes, sizeof word);
    word ^= table.flip;
#ifdef __CUDA_ARCH__
    kiln_look_up_four(table, word, pairs);
    kiln_look_up_four(table, word >> 16, pairs + 2);
#else
    const unsigned even = word & 0x07070707u, odd = word >> 4 & 0x07070707u;
    const unsigned even_low = kiln_permute_bytes(table.low[1], table.low[0], even);
    const unsigned odd_low = kiln_permute_bytes(table.low[1], table.low[0], odd);
    const unsigned even_high =
        kiln_permute_bytes(table.high[1], table.high[0], even) | (word << 4 & 0x80808080u);
    const unsigned odd_high =
        kiln_permute_bytes(table.high[1], table.high[0], odd) | (word & 0x80808080u);
    KILN_UNROLL
    for (unsigned i = 0; i < 2; i++) {
        const unsigned halves = i == 0 ? 0x05010400u : 0x07030602u;
        const unsigned evens = kiln_permute_bytes(even_high, even_low, halves); /* 0 and 2, 4 and 6 */
        const unsigned odds = kiln_permute_bytes(odd_high, odd_low, halves);
        pairs[2 * i] = kiln_permute_bytes(odds, evens, 0x05040100u);
        pairs[2 * i + 1] = kiln_permute_bytes(odds, evens, 0x07060302u);
    }
#endif
    __builtin_memcpy(to, pairs, sizeof pairs);
}

#define KILN_KEEPS_SIGN_SAME 1
#define KILN_KEEPS_SIGN_ANY  0
/* `n` is the access of the codes; `type` is SAME if the function keeps their signs, otherwise ANY. */
#define KILN_PACK_TABLED(side, SIDE, number, n, type)                                              \
    kiln_element magnitudes[8];                                                                    \
    KILN_UNROLL                                                                                    \
    for (unsigned code = 0; code < 8; code++)                                                      \
        kiln_##side##_element_##number(magnitudes[code] KILN_##SIDE##_INPUTS_##number(KILN_TABLE_INPUT)); \
    kiln_look_up(kiln_code_table_of(magnitudes, KILN_KEEPS_SIGN_##type), inputs.x##n + first / 2, out);
#define KILN_TABLE_INPUT(side, SIDE, n, form) , KILN_TABLE_INPUT_##form(side, n)
#define KILN_TABLE_INPUT_ELEMENTS(side, n)                                                         \
    inputs.x##n[kiln_loaded_element(kiln_##side##_loads_##n, r, first)]
#define KILN_TABLE_INPUT_CODES(side, n) (kiln_storage_f4e2m1)code

#endif
