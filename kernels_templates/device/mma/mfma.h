/*
 * MFMA of CDNA: a wave of 64 multiplies KILN_MMA_SIDE rows of each operand. Lane l holds row
 * l % SIDE of either operand and, of k, the pack number l / SIDE; the sums in a lane are runs of
 * four columns of one row, since the right operand goes first.
 *
 * The prelude defines KILN_MMA_SIDE, KILN_MMA_CALL(a, b, sums), kiln_mma_operand (what one
 * instruction takes of a lane) and kiln_mma_sums (a vector).
 */
#ifndef KILN_DEVICE_MMA_MFMA_H
#define KILN_DEVICE_MMA_MFMA_H

#define KILN_MMA_M      KILN_MMA_SIDE
#define KILN_MMA_N      KILN_MMA_SIDE
#define KILN_MMA_GROUPS (64 / KILN_MMA_SIDE)
#define KILN_MMA_SLOTS  (KILN_MMA_SIDE * KILN_MMA_SIDE / 64)
#ifndef KILN_MMA_RUN
#define KILN_MMA_RUN 4
#endif
#define KILN_MMA_STEPS KILN_UNROLL
/* Fragments of the next step are read before those of this one are multiplied: there are registers for both. */
#define KILN_MMA_READS_AHEAD 1

struct kiln_fragment {
    kiln_pack words;
};

KILN_DEVICE void kiln_load_left(kiln_fragment &fragment, const kiln_pack *tile, unsigned row,
                                unsigned step, unsigned row_packs)
{
    const unsigned lane = kiln_lane();
    fragment.words =
        tile[kiln_pack_place(row + lane % KILN_MMA_SIDE,
                             step * KILN_MMA_GROUPS + lane / KILN_MMA_SIDE, row_packs)];
}

#define kiln_load_right kiln_load_left

/* A lane's part of a fragment that is loaded from memory by itself. */
#define KILN_LANE_PACKS  1
#define KILN_LANE_GROUPS KILN_MMA_GROUPS
#define kiln_lane_row_of_left(i)       (kiln_lane() % KILN_MMA_SIDE)
#define kiln_lane_row_of_right(i)      (kiln_lane() % KILN_MMA_SIDE)
#define kiln_lane_pack(i)              (kiln_lane() / KILN_MMA_SIDE)
#define kiln_set_pack(fragment, i, to) (fragment).words = (to)
typedef kiln_fragment kiln_lane_fragment;

/* A pack feeds several instructions: any order of k will do that both operands have. */
KILN_DEVICE void kiln_multiply_add(kiln_mma_sums &sums, const kiln_fragment &left,
                                   const kiln_fragment &right)
{
    enum { CALLS = sizeof(kiln_pack) / sizeof(kiln_mma_operand) };
    kiln_mma_operand a[CALLS], b[CALLS];
    __builtin_memcpy(a, &right, sizeof a);
    __builtin_memcpy(b, &left, sizeof b);
    KILN_UNROLL
    for (int i = 0; i < CALLS; i++)
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

#endif
