/*
 * wgmma of NVIDIA's Hopper: four warps multiply 64 rows by all columns of the tile, from LDS, while they go on. Some warps
 * (consumers) only multiply, the others (producers) only stage; a ring of tiles lies between them, and for each tile there is
 * one barrier that says it is full and one that says it is free again.
 *
 * The prelude defines kiln_wgmma(sums, left, right, adds), one instruction of 64 x KILN_TILE_N x 16, KILN_CONSUMERS,
 * KILN_PRODUCERS (work-items; consumers come first) and KILN_STAGE_GROUPS (of producers). A row of a tile has 128 bytes: PTX ISA,
 * matrix descriptors with 128-byte swizzling.
 */
#ifndef KILN_DEVICE_MMA_WGMMA_H
#define KILN_DEVICE_MMA_WGMMA_H

#include "device/mma/async_copy.h"

#define KILN_MMA_M     16 /* of one warp of the four */
#define KILN_MMA_N     KILN_TILE_N
#define KILN_MMA_SLOTS (KILN_TILE_N / 2)
#define KILN_MMA_RUN   2

#define KILN_WGMMA_ROWS  64
#define KILN_WGMMA_STEPS 4 /* instructions along KILN_TILE_K */

struct kiln_mma_sums {
    float values[KILN_MMA_SLOTS];
    KILN_DEVICE_MEMBER float &operator[](int slot)
    {
        return values[slot];
    }
};

KILN_DEVICE unsigned kiln_sum_row(unsigned slot)
{
    return kiln_lane() / 4 + 8 * (slot / 2 % 2);
}

KILN_DEVICE unsigned kiln_sum_column(unsigned slot)
{
    return 8 * (slot / 4) + 2 * (kiln_lane() % 4) + slot % 2;
}

/*
 * What an instruction finds at an address, in lines of 128 bytes whose packs are swizzled, 8 lines to 1024 bytes. A line is the k
 * of a row; or, transposed, 64 neighbouring rows at one k, and the next 64 rows are a tile of k further.
 */
KILN_DEVICE unsigned long long kiln_describe_operand(unsigned address, bool is_transposed)
{
    const unsigned long long swizzle = 1ull << 62, group = 1024ull / 16 << 32;
    const unsigned long long rows = is_transposed ? KILN_TILE_K * 128ull / 16 << 16 : 1ull << 16;
    return swizzle | group | rows | (address & 0x3ffffu) / 16;
}

/* Bytes from one instruction's k to the next one's. */
KILN_DEVICE unsigned kiln_step_bytes(bool is_transposed)
{
    return is_transposed ? 16 * 128 : 32;
}

/* Begins to multiply the tile; kiln_await_products says when it is done. */
KILN_DEVICE void kiln_begin_products(const kiln_pack *tile, unsigned wave_row, bool is_first,
                                     kiln_mma_sums &sums)
{
    const unsigned first_row = wave_row / KILN_WGMMA_ROWS * KILN_WGMMA_ROWS;
    const unsigned left = kiln_local_address(tile + first_row * KILN_ROW_PACKS);
    const unsigned right = kiln_local_address(tile + KILN_TILE_M * KILN_ROW_PACKS);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    KILN_UNROLL
    for (unsigned step = 0; step < KILN_WGMMA_STEPS; step++)
        kiln_wgmma(sums.values,
                   kiln_describe_operand(left + step * kiln_step_bytes(KILN_LEFT_IS_TRANSPOSED),
                                         KILN_LEFT_IS_TRANSPOSED),
                   kiln_describe_operand(right + step * kiln_step_bytes(KILN_RIGHT_IS_TRANSPOSED),
                                         KILN_RIGHT_IS_TRANSPOSED),
                   !is_first || step > 0);
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/* Until no more than `count` tiles are being multiplied; a constant. */
#define kiln_await_products(count)                                                                 \
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(count) : "memory")

/* ---- the ring ---- */

/*
 * A barrier tells the parity of its phase only, so whoever waits for a tile has to have waited for the one before it in the same
 * slot. And a tile is released when the next one of its consumers is there, which must not wait for the same slot.
 */
static_assert(KILN_BUFFERS % KILN_WAVES_K == 0 && KILN_BUFFERS > KILN_WAVES_K, "consumers of a slot");
static_assert(KILN_BUFFERS % KILN_STAGE_GROUPS == 0, "producers of a slot");
#ifndef KILN_LDS_IS_DYNAMIC
#error "swizzled lines begin at multiples of 1024 bytes"
#endif

/* Arrivals of a producer for a tile: one if it only copies or only stores, two if it does both. */
#define KILN_RING_ARRIVALS (KILN_LEFT_IS_COPIED == KILN_RIGHT_IS_COPIED ? 1 : 2)

/* Addresses of KILN_BUFFERS barriers each. */
struct kiln_ring {
    unsigned full;
    unsigned free;
};

KILN_DEVICE void kiln_barrier_init(unsigned barrier, unsigned arrivals)
{
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

KILN_DEVICE void kiln_barrier_arrive(unsigned barrier)
{
    asm volatile("{\n.reg .b64 state;\nmbarrier.arrive.shared.b64 state, [%0];\n}" ::"r"(barrier)
                 : "memory");
}

KILN_DEVICE void kiln_barrier_await(unsigned barrier, unsigned phase)
{
    unsigned is_done;
    do
        asm volatile("{\n.reg .pred done;\n"
                     "mbarrier.try_wait.parity.shared.b64 done, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, done;\n}"
                     : "=r"(is_done)
                     : "r"(barrier), "r"(phase)
                     : "memory");
    while (is_done == 0);
}

/* `barriers` has room for two of 8 bytes for each tile of the ring. All work-items call it. */
KILN_DEVICE kiln_ring kiln_ring_init(kiln_pack *barriers)
{
    kiln_ring ring;
    ring.full = kiln_local_address(barriers);
    ring.free = ring.full + KILN_BUFFERS * 8;
    if (kiln_work_item() == 0) {
        for (unsigned slot = 0; slot < KILN_BUFFERS; slot++) {
            kiln_barrier_init(ring.full + slot * 8, KILN_RING_ARRIVALS * KILN_PRODUCERS / KILN_STAGE_GROUPS);
            kiln_barrier_init(ring.free + slot * 8, KILN_CONSUMERS / KILN_WAVES_K);
        }
    }
    kiln_barrier();
    return ring;
}

/* Called after a barrier that follows the last use: the next turn makes the ring again. */
KILN_DEVICE void kiln_ring_end(const kiln_ring &ring)
{
#if KILN_HAS_TURNS
    for (unsigned slot = 0; slot < 2 * KILN_BUFFERS && kiln_work_item() == 0; slot++)
        asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(ring.full + slot * 8) : "memory");
#else
    (void)ring;
#endif
}

/* A tile number `step` lies in slot step % KILN_BUFFERS, and is the one of number step / KILN_BUFFERS there. */
KILN_DEVICE unsigned kiln_ring_slot(unsigned step)
{
    return step % KILN_BUFFERS;
}

KILN_DEVICE void kiln_ring_await_free(const kiln_ring &ring, unsigned step)
{
    kiln_barrier_await(ring.free + kiln_ring_slot(step) * 8, (step / KILN_BUFFERS + 1) % 2);
}

KILN_DEVICE void kiln_ring_await_full(const kiln_ring &ring, unsigned step)
{
    kiln_barrier_await(ring.full + kiln_ring_slot(step) * 8, step / KILN_BUFFERS % 2);
    /* wgmma reads LDS on a way of its own. A producer's fence would wait for all that it is copying. */
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

KILN_DEVICE void kiln_ring_release(const kiln_ring &ring, unsigned step)
{
    kiln_barrier_arrive(ring.free + kiln_ring_slot(step) * 8);
}

/* A pack that is copied: where it comes from, and its place in the tile. */
struct kiln_copied_pack {
    unsigned row;
    unsigned k;
    unsigned place;
};

KILN_DEVICE kiln_copied_pack kiln_locate_copy(unsigned index, bool is_transposed, unsigned rows)
{
    kiln_copied_pack pack;
    if (is_transposed) {
        const unsigned packs = rows / KILN_PACK_ELEMENTS, nth = index % packs;
        pack.row = nth * KILN_PACK_ELEMENTS;
        pack.k = index / packs;
        pack.place = (nth / 8 * KILN_TILE_K + pack.k) * 8 + (nth % 8 ^ pack.k % 8);
    } else {
        pack.row = index / KILN_ROW_PACKS;
        pack.k = index % KILN_ROW_PACKS * KILN_PACK_ELEMENTS;
        pack.place = kiln_pack_place(pack.row, index % KILN_ROW_PACKS, KILN_TILE_SHAPE(KILN_ROW_PACKS, 7));
    }
    return pack;
}

/* The tile is full when all producers have arrived: with their copies, which may still be on their way, and with their stores. */
KILN_DEVICE void kiln_ring_publish(const kiln_ring &ring, unsigned step)
{
    const unsigned barrier = ring.full + kiln_ring_slot(step) * 8;
    if (KILN_LEFT_IS_COPIED || KILN_RIGHT_IS_COPIED)
        asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(barrier) : "memory");
    if (!KILN_LEFT_IS_COPIED || !KILN_RIGHT_IS_COPIED)
        kiln_barrier_arrive(barrier);
}

#endif
