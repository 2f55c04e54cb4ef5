/*
 * Products without matrix instructions, and the CPU's: each lane has KILN_MMA_BLOCK rows of either
 * operand and the sums of all their products. Lanes form a grid of KILN_MMA_LANES_M x
 * KILN_MMA_LANES_N; neighbouring lanes have neighbouring rows, so that they read different banks.
 *
 * The prelude defines KILN_MMA_LANES_M, KILN_MMA_LANES_N, KILN_MMA_BLOCK, kiln_element (as staged),
 * kiln_sum, KILN_MMA_DECODE(element) and KILN_MMA_ADD(a, b, sum), a * b + sum.
 */
#ifndef KILN_DEVICE_MMA_SCALAR_H
#define KILN_DEVICE_MMA_SCALAR_H

#define KILN_MMA_M      (KILN_MMA_LANES_M * KILN_MMA_BLOCK)
#define KILN_MMA_N      (KILN_MMA_LANES_N * KILN_MMA_BLOCK)
#define KILN_MMA_GROUPS 1
#define KILN_MMA_SLOTS  (KILN_MMA_BLOCK * KILN_MMA_BLOCK)
#define KILN_MMA_RUN    1
/* Rolled: unrolled, all packs of a tile would be decoded at once, into more registers than there
 * are. */
#define KILN_MMA_STEPS KILN_NO_UNROLL

struct kiln_fragment {
    kiln_pack words[KILN_MMA_BLOCK];
};

struct kiln_mma_sums {
    kiln_sum values[KILN_MMA_SLOTS];
    KILN_DEVICE_MEMBER kiln_sum &operator[](int slot)
    {
        return values[slot];
    }
};

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
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_MMA_BLOCK; i++)
        fragment.words[i] = tile[kiln_pack_place(
            row + i * KILN_MMA_LANES_M + kiln_lane() / KILN_MMA_LANES_N, step, shape)];
}

KILN_DEVICE void kiln_load_right(kiln_fragment &fragment, const kiln_pack *tile, unsigned row,
                                 unsigned step, unsigned shape)
{
    KILN_UNROLL
    for (unsigned i = 0; i < KILN_MMA_BLOCK; i++)
        fragment.words[i] = tile[kiln_pack_place(
            row + i * KILN_MMA_LANES_N + kiln_lane() % KILN_MMA_LANES_N, step, shape)];
}

/* A lane's part of a fragment that is loaded from memory by itself. */
#define KILN_LANE_PACKS                KILN_MMA_BLOCK
#define KILN_LANE_GROUPS               1
#define kiln_lane_row_of_left(i)       ((i) * KILN_MMA_LANES_M + kiln_lane() / KILN_MMA_LANES_N)
#define kiln_lane_row_of_right(i)      ((i) * KILN_MMA_LANES_N + kiln_lane() % KILN_MMA_LANES_N)
#define kiln_lane_pack(i)              0u
#define kiln_set_pack(fragment, i, to) (fragment).words[i] = (to)
typedef kiln_fragment kiln_lane_fragment;

KILN_DEVICE void kiln_multiply_add(kiln_mma_sums &sums, const kiln_fragment &left,
                                   const kiln_fragment &right)
{
    enum { COUNT = sizeof(kiln_pack) / sizeof(kiln_element) };
    kiln_element a[KILN_MMA_BLOCK][COUNT], b[KILN_MMA_BLOCK][COUNT];
    __builtin_memcpy(a, &left, sizeof a);
    __builtin_memcpy(b, &right, sizeof b);
    KILN_UNROLL
    for (int k = 0; k < COUNT; k++)
        KILN_UNROLL
    for (int i = 0; i < KILN_MMA_BLOCK; i++)
        KILN_UNROLL
    for (int j = 0; j < KILN_MMA_BLOCK; j++)
        sums[i * KILN_MMA_BLOCK + j] = KILN_MMA_ADD(
            KILN_MMA_DECODE(a[i][k]), KILN_MMA_DECODE(b[j][k]), sums[i * KILN_MMA_BLOCK + j]);
}

KILN_DEVICE unsigned kiln_sum_row(unsigned slot)
{
    return slot / KILN_MMA_BLOCK * KILN_MMA_LANES_M + kiln_lane() / KILN_MMA_LANES_N;
}

KILN_DEVICE unsigned kiln_sum_column(unsigned slot)
{
    return slot % KILN_MMA_BLOCK * KILN_MMA_LANES_N + kiln_lane() % KILN_MMA_LANES_N;
}

/*
 * Chained products: mfma.h says what this is. The lanes of a row share its sums, and each wants all of them: through LDS,
 * unless a lane has whole rows.
 */
#define KILN_CHAIN_IS_LOCAL       (KILN_MMA_LANES_N > 1)
#define KILN_CHAIN_ROWS           KILN_MMA_BLOCK
#define KILN_CHAIN_LANE_FIRST     1
#define KILN_CHAIN_LANE_END       KILN_MMA_LANES_N
#define kiln_chain_place(column)  (column)
#define kiln_chain_row_of_slot(slot) ((slot) / KILN_MMA_BLOCK)
/* The lane's sum number `nth` of a row. */
#define kiln_chain_nth(row, nth)                                                                   \
    ((nth) / KILN_MMA_BLOCK * KILN_MMA_SLOTS + (row) * KILN_MMA_BLOCK + (nth) % KILN_MMA_BLOCK)
#define kiln_chain_sum(row, run, e) kiln_chain_nth(row, (run) * KILN_CHAIN_RUN + (e))

KILN_DEVICE unsigned kiln_chain_row(unsigned row)
{
    return row * KILN_MMA_LANES_M + kiln_lane() / KILN_MMA_LANES_N;
}

#if KILN_CHAIN_IS_LOCAL
#define KILN_CHAIN_RUN 1

KILN_DEVICE unsigned kiln_chain_column(unsigned run)
{
    return run * KILN_MMA_LANES_N + kiln_lane() % KILN_MMA_LANES_N;
}
#else
#define KILN_CHAIN_RUN (KILN_PACK_ELEMENTS < KILN_MMA_BLOCK ? KILN_PACK_ELEMENTS : KILN_MMA_BLOCK)

KILN_DEVICE unsigned kiln_chain_column(unsigned run)
{
    return run * KILN_CHAIN_RUN;
}

KILN_DEVICE void kiln_chain_set(kiln_fragment *left, unsigned row, unsigned run,
                                const kiln_element (&elements)[KILN_CHAIN_RUN])
{
    const unsigned column = run * KILN_CHAIN_RUN;
    __builtin_memcpy((char *)&left[column / KILN_PACK_ELEMENTS].words[row] +
                         column % KILN_PACK_ELEMENTS * sizeof(kiln_element),
                     elements, sizeof elements);
}
#endif

#endif
