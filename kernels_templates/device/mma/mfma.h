/*
 * MFMA of CDNA: a wave of 64 multiplies KILN_MMA_SIDE rows of each operand. Lane l holds row
 * l % SIDE of either operand and, of k, the pack number l / SIDE; the sums in a lane are runs of
 * four columns of one row, since the right operand goes first. Several instructions share a pack, or one takes several packs.
 *
 * The prelude defines KILN_MMA_SIDE, KILN_MMA_CALL(a, b, sums), kiln_mma_operand (what one
 * instruction takes of a lane) and kiln_mma_sums (a vector).
 */
#ifndef KILN_DEVICE_MMA_MFMA_H
#define KILN_DEVICE_MMA_MFMA_H

#define KILN_MMA_M      KILN_MMA_SIDE
#define KILN_MMA_N      KILN_MMA_SIDE
/* Packs of k in a lane's fragment, lanes with different k, and packs of them all. */
#define KILN_MMA_PACKS                                                                             \
    (sizeof(kiln_mma_operand) <= sizeof(kiln_pack) ? 1 : (int)(sizeof(kiln_mma_operand) / sizeof(kiln_pack)))
#define KILN_MMA_LANES  (64 / KILN_MMA_SIDE)
#define KILN_MMA_GROUPS (KILN_MMA_LANES * KILN_MMA_PACKS)
#define KILN_MMA_SLOTS  (KILN_MMA_SIDE * KILN_MMA_SIDE / 64)
#ifndef KILN_MMA_RUN
#define KILN_MMA_RUN 4
#endif
#define KILN_MMA_STEPS KILN_UNROLL
/* Fragments of the next step are read before those of this one are multiplied: there are registers for both. */
#define KILN_MMA_READS_AHEAD 1

/* Vector instructions of the same wave are issued while the matrix unit is busy. */
#define KILN_MMA_OVERLAPS 1
/* Instructions for a fragment. */
#define KILN_MMA_CALLS    ((int)(sizeof(kiln_fragment) / sizeof(kiln_mma_operand)))

struct kiln_fragment {
    kiln_pack words[KILN_MMA_PACKS];
};

KILN_DEVICE void kiln_load_left(kiln_fragment &fragment, const kiln_pack *tile, unsigned row,
                                unsigned step, unsigned shape)
{
    const unsigned lane = kiln_lane();
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_MMA_PACKS; i++) {
        const unsigned pack = step * KILN_MMA_GROUPS + i * KILN_MMA_LANES;
        fragment.words[i] =
            (tile + kiln_lane_place(row, lane % KILN_MMA_SIDE, pack, lane / KILN_MMA_SIDE,
                                    shape))[kiln_lane_offset(row, pack, shape)];
    }
}

#define kiln_load_right kiln_load_left

/* The same from where a lane's fragments start. */
KILN_DEVICE unsigned kiln_start_left(unsigned row, unsigned shape)
{
    unsigned place =
        kiln_pack_place(row + kiln_lane() % KILN_MMA_SIDE, kiln_lane() / KILN_MMA_SIDE, shape);
    kiln_keep_offset(place);
    return place;
}

KILN_DEVICE void kiln_load_left_from(kiln_fragment &fragment, const kiln_pack *tile, unsigned start,
                                     unsigned more_rows, unsigned step, unsigned shape)
{
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_MMA_PACKS; i++)
        fragment.words[i] = tile[kiln_pack_place_beyond(
            start, more_rows, step * KILN_MMA_GROUPS + i * KILN_MMA_LANES, shape)];
}

#define kiln_start_right     kiln_start_left
#define kiln_load_right_from kiln_load_left_from

/* A lane's part of a fragment that is loaded from memory by itself. */
#define KILN_LANE_PACKS  KILN_MMA_PACKS
#define KILN_LANE_GROUPS KILN_MMA_GROUPS
#define kiln_lane_row_of_left(i)       (kiln_lane() % KILN_MMA_SIDE)
#define kiln_lane_row_of_right(i)      (kiln_lane() % KILN_MMA_SIDE)
#define kiln_lane_pack(i)              ((i) * KILN_MMA_LANES + kiln_lane() / KILN_MMA_SIDE)
#define kiln_set_pack(fragment, i, to) (fragment).words[i] = (to)
typedef kiln_fragment kiln_lane_fragment;

/* A pack feeds several instructions: any order of k will do that both operands have. */
KILN_DEVICE void kiln_multiply_add(kiln_mma_sums &sums, const kiln_fragment &left,
                                   const kiln_fragment &right)
{
    kiln_mma_operand a[KILN_MMA_CALLS], b[KILN_MMA_CALLS];
    __builtin_memcpy(a, &right, sizeof a);
    __builtin_memcpy(b, &left, sizeof b);
    KILN_UNROLL
    for (int i = 0; i < KILN_MMA_CALLS; i++)
        sums = KILN_MMA_CALL(a[i], b[i], sums);
}

KILN_DEVICE unsigned kiln_sum_row(unsigned)
{
    return kiln_lane() % KILN_MMA_SIDE;
}

KILN_DEVICE unsigned kiln_sum_column(unsigned slot)
{
#if KILN_MMA_RUN == 4
    return 8 * (slot / 4) + 4 * (kiln_lane() / KILN_MMA_SIDE) + slot % 4;
#else /* of doubles */
    return 4 * slot + kiln_lane() / KILN_MMA_SIDE;
#endif
}

/*
 * Chained products: the sums of a lane become its part of the left operand of another product, whose k is the columns. A lane's
 * sums of a row, in the order of fragments and slots, have to be whole packs of neighbouring columns then: so the rows of the
 * right operand of the first product are staged where kiln_chain_place says.
 */
#define KILN_CHAIN_IS_LOCAL 0
/* Rows of a fragment that a lane has sums of, and neighbouring columns that it has side by side, a run. */
#define KILN_CHAIN_ROWS 1
#define KILN_CHAIN_RUN  KILN_PACK_ELEMENTS
/* Lanes whose numbers differ in the bits from FIRST to below END share a row. */
#define KILN_CHAIN_LANE_FIRST KILN_MMA_SIDE
#define KILN_CHAIN_LANE_END   64
#define KILN_CHAIN_TOGETHER   (KILN_MMA_RUN == 4 ? 4 : 1) /* columns of a lane that are neighbours in a fragment */

/* Where the row of the right operand lies in its tile whose sums are that column. */
KILN_DEVICE unsigned kiln_chain_place(unsigned column)
{
    const unsigned group = column / KILN_CHAIN_RUN % KILN_MMA_LANES;
    const unsigned nth = column / (KILN_CHAIN_RUN * KILN_MMA_LANES) * KILN_CHAIN_RUN + column % KILN_CHAIN_RUN;
    const unsigned slot = nth % KILN_MMA_SLOTS;
    return nth / KILN_MMA_SLOTS * KILN_MMA_SIDE +
           slot / KILN_CHAIN_TOGETHER * (KILN_CHAIN_TOGETHER * KILN_MMA_LANES) +
           group * KILN_CHAIN_TOGETHER + slot % KILN_CHAIN_TOGETHER;
}

/* Of the lane's row number `row` in a fragment: that row, and the lane's first column of a run. */
KILN_DEVICE unsigned kiln_chain_row(unsigned)
{
    return kiln_lane() % KILN_MMA_SIDE;
}

KILN_DEVICE unsigned kiln_chain_column(unsigned run)
{
    return (run * KILN_MMA_LANES + kiln_lane() / KILN_MMA_SIDE) * KILN_CHAIN_RUN;
}

/* Sums are numbered by fragments along the columns, then by slots. */
#define kiln_chain_sum(row, run, e)  ((run) * KILN_CHAIN_RUN + (e))
#define kiln_chain_row_of_slot(slot) 0

/* A run as a part of the left fragments, which are numbered by steps along k. */
KILN_DEVICE void kiln_chain_set(kiln_fragment *left, unsigned, unsigned run,
                                const kiln_element (&elements)[KILN_CHAIN_RUN])
{
    __builtin_memcpy(&left[run / KILN_MMA_PACKS].words[run % KILN_MMA_PACKS], elements, sizeof elements);
}

#endif
