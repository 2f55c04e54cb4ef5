/*
 * WMMA of RDNA: a wave of 32 multiplies 16 rows of each operand. The right operand goes first, so
 * that the sums of a lane lie along a row of the result.
 *
 * gfx11: a lane holds all 16 k of row l % 16, the upper half of the wave the same as the lower one;
 * its sums are every second column. gfx12: the halves of the wave hold a half of k each; sums are
 * eight neighbours. gfx125x is the same with two packs of k in a lane instead of one.
 *
 * The prelude defines KILN_MMA_CALL(a, b, sums), kiln_mma_operand, kiln_mma_sums and
 * KILN_MMA_IS_REPLICATED (gfx11).
 */
#ifndef KILN_DEVICE_MMA_WMMA_H
#define KILN_DEVICE_MMA_WMMA_H

#define KILN_MMA_M     16
#define KILN_MMA_N     16
#define KILN_MMA_SLOTS 8
#if KILN_MMA_IS_REPLICATED
#define KILN_MMA_PACKS  ((int)(sizeof(kiln_mma_operand) / sizeof(kiln_pack)))
#define KILN_MMA_LANES  1 /* with different k */
#define KILN_MMA_RUN    1
#else
#define KILN_MMA_PACKS                                                                             \
    (sizeof(kiln_mma_operand) <= sizeof(kiln_pack) ? 1 : (int)(sizeof(kiln_mma_operand) / sizeof(kiln_pack)))
#define KILN_MMA_LANES  2
#define KILN_MMA_RUN    8
#endif
#define KILN_MMA_GROUPS (KILN_MMA_LANES * KILN_MMA_PACKS) /* packs of k */
#define KILN_MMA_STEPS KILN_UNROLL
/* Of attention's values so many fragments are read at once, ahead of those that are multiplied: compilers would read all that
 * is left of a tile, into more registers than there are, or one at a time, and wait for each. */
#define KILN_MMA_VALUES_AHEAD 2
/* LLVM moves products behind branches that do not need them, where all fragments wait for them in registers. */
#define KILN_MMA_COMPUTE_HERE(sums) kiln_compute_here(sums)

struct kiln_fragment {
    kiln_pack words[KILN_MMA_PACKS];
};

KILN_DEVICE void kiln_load_left_of(unsigned lane, kiln_fragment &fragment, const kiln_pack *tile,
                                   unsigned row, unsigned step, unsigned shape)
{
#if KILN_MMA_IS_REPLICATED
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_MMA_PACKS; i++)
        fragment.words[i] =
            (tile + kiln_lane_place(row, lane % 16, step * KILN_MMA_PACKS + i, 0,
                                    shape))[kiln_lane_offset(row, step * KILN_MMA_PACKS + i, shape)];
#else
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_MMA_PACKS; i++) {
        const unsigned pack = step * KILN_MMA_GROUPS + i * KILN_MMA_LANES;
        fragment.words[i] = (tile + kiln_lane_place(row, lane % 16, pack, lane / 16,
                                                    shape))[kiln_lane_offset(row, pack, shape)];
    }
#endif
}

#define kiln_load_left(...)  kiln_load_left_of(kiln_lane(), __VA_ARGS__)
#define kiln_load_right      kiln_load_left
#define kiln_load_right_of   kiln_load_left_of
#define KILN_MMA_LOADS_OF_LANE 1

/* The same from where a lane's fragments start. */
KILN_DEVICE unsigned kiln_start_left(unsigned row, unsigned shape)
{
    unsigned place = kiln_pack_place(row + kiln_lane() % 16,
                                     KILN_MMA_IS_REPLICATED ? 0 : kiln_lane() / 16, shape);
    kiln_keep_offset(place);
    return place;
}

KILN_DEVICE void kiln_load_left_from(kiln_fragment &fragment, const kiln_pack *tile, unsigned start,
                                     unsigned more_rows, unsigned step, unsigned shape)
{
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_MMA_PACKS; i++)
        fragment.words[i] =
            tile[kiln_pack_place_beyond(start, more_rows,
                                        step * KILN_MMA_GROUPS + i * KILN_MMA_LANES, shape)];
}

#define kiln_start_right     kiln_start_left
#define kiln_load_right_from kiln_load_left_from

/* A lane's part of a fragment that is loaded from memory by itself. */
#define KILN_LANE_PACKS           KILN_MMA_PACKS
#define KILN_LANE_GROUPS          KILN_MMA_GROUPS
#define kiln_lane_row_of_left(i)  (kiln_lane() % 16)
#define kiln_lane_row_of_right(i) (kiln_lane() % 16)
#if KILN_MMA_IS_REPLICATED
#define kiln_lane_pack(i) (i)
#else
#define kiln_lane_pack(i) ((i) * KILN_MMA_LANES + kiln_lane() / 16)
#endif
#define kiln_set_pack(fragment, i, to) (fragment).words[i] = (to)
typedef kiln_fragment kiln_lane_fragment;

KILN_DEVICE void kiln_multiply_add(kiln_mma_sums &sums, const kiln_fragment &left,
                                   const kiln_fragment &right)
{
    enum { CALLS = sizeof(kiln_fragment) / sizeof(kiln_mma_operand) };
    kiln_mma_operand a[CALLS], b[CALLS];
    __builtin_memcpy(a, &right, sizeof a);
    __builtin_memcpy(b, &left, sizeof b);
    KILN_UNROLL
    for (int i = 0; i < CALLS; i++)
        sums = KILN_MMA_CALL(a[i], b[i], sums);
}

KILN_DEVICE unsigned kiln_sum_row(unsigned)
{
    return kiln_lane() % 16;
}

KILN_DEVICE unsigned kiln_sum_column(unsigned slot)
{
#if KILN_MMA_IS_REPLICATED
    return 2 * slot + kiln_lane() / 16;
#else
    return 8 * (kiln_lane() / 16) + slot;
#endif
}

/* Chained products: mfma.h says what this is. */
#define KILN_CHAIN_IS_LOCAL   0
#define KILN_CHAIN_ROWS       1
#define KILN_CHAIN_LANE_FIRST 16
#define KILN_CHAIN_LANE_END   32

KILN_DEVICE unsigned kiln_chain_row(unsigned)
{
    return kiln_lane() % 16;
}

#define kiln_chain_sum(row, run, e)  ((run) * KILN_CHAIN_RUN + (e))
#define kiln_chain_row_of_slot(slot) 0

#if KILN_MMA_IS_REPLICATED
/* Either half of the wave has a half of 16 columns, and gets the other half from the other one. */
#define KILN_CHAIN_RUN 8

KILN_DEVICE unsigned kiln_chain_place(unsigned column)
{
    return column / 16 * 16 + column % 8 * 2 + column / 8 % 2;
}

KILN_DEVICE unsigned kiln_chain_column(unsigned run)
{
    return run * 16 + kiln_lane() / 16 * 8;
}

KILN_DEVICE void kiln_chain_set(kiln_fragment *left, unsigned, unsigned run,
                                const kiln_element (&elements)[KILN_CHAIN_RUN])
{
    enum { WORDS = sizeof elements / 4 };
    unsigned own[WORDS], other[WORDS], words[2 * WORDS];
    __builtin_memcpy(own, elements, sizeof elements);
    const bool is_upper = kiln_lane() >= 16;
    KILN_UNROLL
    for (int i = 0; i < WORDS; i++) {
        other[i] = __builtin_amdgcn_permlanex16(own[i], own[i], 0x76543210u, 0xfedcba98u, false, false);
        words[i] = is_upper ? other[i] : own[i];
        words[WORDS + i] = is_upper ? own[i] : other[i];
    }
    __builtin_memcpy((char *)left + run * sizeof words, words, sizeof words);
}
#else
#define KILN_CHAIN_RUN KILN_PACK_ELEMENTS

KILN_DEVICE unsigned kiln_chain_place(unsigned column)
{
    const unsigned half = column / KILN_CHAIN_RUN % 2;
    const unsigned nth = column / (2 * KILN_CHAIN_RUN) * KILN_CHAIN_RUN + column % KILN_CHAIN_RUN;
    return nth / 8 * 16 + half * 8 + nth % 8;
}

KILN_DEVICE unsigned kiln_chain_column(unsigned run)
{
    return (run * 2 + kiln_lane() / 16) * KILN_CHAIN_RUN;
}

KILN_DEVICE void kiln_chain_set(kiln_fragment *left, unsigned, unsigned run,
                                const kiln_element (&elements)[KILN_CHAIN_RUN])
{
    __builtin_memcpy(&left[run / KILN_MMA_PACKS].words[run % KILN_MMA_PACKS], elements, sizeof elements);
}
#endif

#endif
