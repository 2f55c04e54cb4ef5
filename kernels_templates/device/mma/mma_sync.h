/*
 * mma.sync of NVIDIA: a warp multiplies 16 rows of each operand in two instructions of 16 x 8 x 16.
 * ldmatrix brings the fragments: 8 rows of 16 bytes for each register.
 *
 * The prelude defines KILN_MMA_TYPE, "f16" or "bf16".
 */
#ifndef KILN_DEVICE_MMA_MMA_SYNC_H
#define KILN_DEVICE_MMA_MMA_SYNC_H

#include "device/mma/async_copy.h"

#define KILN_MMA_M      16
#define KILN_MMA_N      16
#define KILN_MMA_GROUPS 2
#define KILN_MMA_SLOTS  8
#define KILN_MMA_RUN    2
#define KILN_MMA_STEPS  KILN_UNROLL

struct kiln_fragment {
    unsigned words[4];
};

struct kiln_mma_sums {
    float values[KILN_MMA_SLOTS];
    KILN_DEVICE_MEMBER float &operator[](int slot)
    {
        return values[slot];
    }
};

/* Addresses are sums of 32 bits, the same for all lanes last: that is in the instruction. */
KILN_DEVICE unsigned kiln_matrix_address(const kiln_pack *tile, unsigned row, unsigned lane_row,
                                         unsigned pack, unsigned lane_pack, unsigned shape)
{
    return kiln_as_one(kiln_local_address(tile) +
                       kiln_lane_place(row, lane_row, pack, lane_pack, shape) * 16) +
           kiln_lane_offset(row, pack, shape) * 16;
}

KILN_DEVICE void kiln_load_matrices(kiln_fragment &fragment, unsigned address)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(fragment.words[0]), "=r"(fragment.words[1]), "=r"(fragment.words[2]),
                   "=r"(fragment.words[3])
                 : "r"(address)
                 : "memory");
}

/* Fragments are found by their rows. */
#define kiln_start_left(row, shape)  (row)
#define kiln_start_right(row, shape) (row)
#define kiln_load_left_from(fragment, tile, start, more_rows, step, shape)                         \
    kiln_load_left(fragment, tile, (start) + (more_rows), step, shape)
#define kiln_load_right_from(fragment, tile, start, more_rows, step, shape)                        \
    kiln_load_right(fragment, tile, (start) + (more_rows), step, shape)

KILN_DEVICE void kiln_load_left(kiln_fragment &fragment, const kiln_pack *tile, unsigned row,
                                unsigned step, unsigned shape)
{
    const unsigned lane = kiln_lane();
    kiln_load_matrices(fragment,
                       kiln_matrix_address(tile, row, lane % 16, step * 2, lane / 16, shape));
}

KILN_DEVICE void kiln_load_right(kiln_fragment &fragment, const kiln_pack *tile, unsigned row,
                                 unsigned step, unsigned shape)
{
    const unsigned lane = kiln_lane();
    kiln_load_matrices(fragment, kiln_matrix_address(tile, row, lane % 8 + lane / 16 * 8, step * 2,
                                                     lane / 8 % 2, shape));
}

KILN_DEVICE void kiln_multiply_add_half(float *sums, const unsigned *a, unsigned b0, unsigned b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32." KILN_MMA_TYPE "." KILN_MMA_TYPE ".f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

KILN_DEVICE void kiln_multiply_add(kiln_mma_sums &sums, const kiln_fragment &left,
                                   const kiln_fragment &right)
{
    kiln_multiply_add_half(sums.values, left.words, right.words[0], right.words[1]);
    kiln_multiply_add_half(sums.values + 4, left.words, right.words[2], right.words[3]);
}

/*
 * A lane's part of a fragment that is loaded from memory by itself: rows l / 4 and l / 4 + 8, of k
 * the pack l % 4. An instruction wants two k of a lane here and two eight further on; any order of k
 * will do that both operands have, so these are the four words of a pack.
 */
#define KILN_LANE_PACKS                2
#define KILN_LANE_GROUPS               4
#define kiln_lane_row_of_left(i)       (kiln_lane() / 4 + 8 * (i))
#define kiln_lane_row_of_right(i)      (kiln_lane() / 4 + 8 * (i))
#define kiln_lane_pack(i)              (kiln_lane() % 4)
#define kiln_set_pack(fragment, i, to) (fragment).packs[i] = (to)

struct kiln_lane_fragment {
    kiln_pack packs[KILN_LANE_PACKS];
};

KILN_DEVICE void kiln_multiply_add(kiln_mma_sums &sums, const kiln_lane_fragment &left,
                                   const kiln_lane_fragment &right)
{
    KILN_UNROLL
    for (int half = 0; half < 4; half += 2) {
        const unsigned a[4] = {left.packs[0].words[half], left.packs[1].words[half],
                               left.packs[0].words[half + 1], left.packs[1].words[half + 1]};
        kiln_multiply_add_half(sums.values, a, right.packs[0].words[half],
                               right.packs[0].words[half + 1]);
        kiln_multiply_add_half(sums.values + 4, a, right.packs[1].words[half],
                               right.packs[1].words[half + 1]);
    }
}

KILN_DEVICE unsigned kiln_sum_row(unsigned slot)
{
    return kiln_lane() / 4 + 8 * (slot / 2 % 2);
}

KILN_DEVICE unsigned kiln_sum_column(unsigned slot)
{
    return 8 * (slot / 4) + 2 * (kiln_lane() % 4) + slot % 2;
}

/* Chained products: mfma.h says what this is. Sums of 16 x 16 are the left fragment as they lie. */
#define KILN_CHAIN_IS_LOCAL       0
#define KILN_CHAIN_ROWS           2
#define KILN_CHAIN_RUN            2
#define KILN_CHAIN_LANE_FIRST     1
#define KILN_CHAIN_LANE_END       4
#define kiln_chain_place(column)  (column)
#define kiln_chain_sum(row, run, e)  ((run) * 4 + (row) * 2 + (e))
#define kiln_chain_row_of_slot(slot) ((slot) / 2 % 2)

KILN_DEVICE unsigned kiln_chain_row(unsigned row)
{
    return kiln_lane() / 4 + 8 * row;
}

KILN_DEVICE unsigned kiln_chain_column(unsigned run)
{
    return run * 8 + kiln_lane() % 4 * 2;
}

KILN_DEVICE void kiln_chain_set(kiln_fragment *left, unsigned row, unsigned run,
                                const kiln_element (&elements)[KILN_CHAIN_RUN])
{
    __builtin_memcpy(&left[run / 2].words[run % 2 * 2 + row], elements, sizeof elements);
}

/* The right fragment of a tile that lies the other way round: its rows are k, its packs are along the operand's rows. */
#define KILN_MMA_READS_TRANSPOSED 1
KILN_DEVICE void kiln_load_right_transposed(kiln_fragment &fragment, const kiln_pack *tile,
                                            unsigned row, unsigned step, unsigned shape)
{
    const unsigned lane = kiln_lane();
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(fragment.words[0]), "=r"(fragment.words[1]), "=r"(fragment.words[2]),
                   "=r"(fragment.words[3])
                 : "r"(kiln_matrix_address(tile, step * 16, lane % 16, row / 8, lane / 16, shape))
                 : "memory");
}

#endif
