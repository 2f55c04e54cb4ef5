/*
 * device/contraction/transposed.h and device/mma/transposed_reads.h: what work-items stage and what
 * the lanes of a wave read of it, through a model of gfx950's transposing reads, are the fragments
 * of MFMA. Lanes that are served together do not meet in a bank.
 */
#include "device/host.h"

#include <cstdint>
#include <cstdio>
#include <cstring>

#if TEST_BYTES == 1
#define KILN_PACK_ELEMENTS 16
#define KILN_LEFT_PIECES   4
typedef unsigned char kiln_element;
#else
#define KILN_PACK_ELEMENTS 8
#define KILN_LEFT_PIECES   2
typedef unsigned short kiln_element;
#endif
#include "device/mma/pack.h"

/* The left operand's tile is TEST_ROWS rows, transposed; the right one's is not looked at. */
#define KILN_TILE_K              (KILN_ROW_PACKS * KILN_PACK_ELEMENTS)
#define KILN_TILE_M              TEST_ROWS
#define KILN_TILE_COLUMNS        TEST_ROWS
#define KILN_TILE_N              TEST_ROWS
#define KILN_ROW_PACKS           8
#define KILN_BLOCK               (TEST_ROWS / KILN_PACK_ELEMENTS * KILN_ROW_PACKS * KILN_LEFT_PIECES)
#define KILN_PRODUCTS            1
#define KILN_LEFT_RUN            KILN_PACK_ELEMENTS
#define KILN_RIGHT_RUN           1
#define KILN_RIGHT_PIECES        1
#define KILN_LEFT_IS_ALONG_K     0
#define KILN_RIGHT_IS_ALONG_K    1
#define KILN_LEFT_IS_TRANSPOSED  1
#define KILN_RIGHT_IS_TRANSPOSED 0
#define KILN_LEFT_PACKING(use)   use(left, LEFT, 0, TAKEN, 0, x)
#define KILN_RIGHT_PACKING(use)

/* MFMA of TEST_SIDE rows. A fragment has TEST_PACKS packs, each for 64 / TEST_SIDE lanes along k.
 */
namespace {
unsigned test_item, test_lane;
}
#undef kiln_lane
#define kiln_lane()                      test_lane
#define KILN_MMA_SIDE                    TEST_SIDE
#define KILN_MMA_CALL(left, right, sums) sums
struct kiln_mma_operand {
    kiln_pack packs[TEST_PACKS];
};
struct kiln_mma_sums {};
#include "device/mma/mfma.h"

namespace {

/* An element is a hash of its row and k. */
kiln_element element_of(unsigned row, unsigned k)
{
    return static_cast<kiln_element>((row * 2654435761u ^ (k + 1) * 2246822519u) >> 13);
}

struct kiln_arguments {};
struct kiln_left_source {};
struct kiln_right_source {};
struct kiln_left_inputs {
    kiln_element x0[KILN_PACK_ELEMENTS / KILN_LEFT_PIECES * KILN_LEFT_RUN];
};
struct kiln_right_inputs {};
struct kiln_left_lane {};
struct kiln_right_lane {};
enum : unsigned {
    kiln_left_lane_run = 1,
    kiln_right_lane_run = 1,
    kiln_left_elements = KILN_PACK_ELEMENTS / KILN_LEFT_PIECES,
    kiln_right_elements = KILN_PACK_ELEMENTS
};
#define TEST_OPERAND(side)                                                                         \
    void kiln_##side##_locate(const kiln_arguments &, const kiln_##side##_source &, unsigned,      \
                              unsigned, kiln_##side##_lane &)                                      \
    {                                                                                              \
    }                                                                                              \
    void kiln_##side##_keep(kiln_##side##_lane &)                                                  \
    {                                                                                              \
    }                                                                                              \
    kiln_pack kiln_##side##_pack_from(const kiln_arguments &, const kiln_##side##_inputs &,        \
                                      unsigned, unsigned, unsigned, unsigned, unsigned)            \
    {                                                                                              \
        return {};                                                                                 \
    }
TEST_OPERAND(left)
TEST_OPERAND(right)
void kiln_left_load_at(const kiln_arguments &, const kiln_left_source &, const kiln_left_lane &,
                       unsigned row, unsigned k, unsigned, kiln_left_inputs &inputs)
{
    for (unsigned e = 0; e < kiln_left_elements; e++)
        for (unsigned r = 0; r < KILN_LEFT_RUN; r++)
            inputs.x0[e * KILN_LEFT_RUN + r] = element_of(row + r, k + e);
}
void kiln_right_load_at(const kiln_arguments &, const kiln_right_source &, const kiln_right_lane &,
                        unsigned, unsigned, unsigned, kiln_right_inputs &)
{
}

/* The reads of a lane. */
enum { READS = 2 * KILN_MMA_PACKS, READ_ELEMENTS = 8 / sizeof(kiln_element) };
uintptr_t addresses[64][READS];
unsigned read_count;
void kiln_read_transposed(const void *from, unsigned *)
{
    addresses[test_lane][read_count++] = reinterpret_cast<uintptr_t>(from);
}

#define KILN_STAGE_ITEM       test_item
#define KILN_STAGE_ITEMS      KILN_BLOCK
#define KILN_STAGE_PACKS      KILN_ROW_PACKS
#define KILN_STAGE_FIRST_PACK 0
#define KILN_DEVICE_CONTRACTION_OPERAND_H
#include "device/contraction/transposed.h"

#include "device/contraction/stage_ahead.h"

enum { PACKS = KILN_TILE_M * KILN_ROW_PACKS, REST = KILN_TILE_K - 5 };

alignas(256) kiln_pack tile[PACKS];

void stage(unsigned rest)
{
    const kiln_arguments arguments = {};
    for (test_item = 0; test_item < KILN_BLOCK; test_item++) {
        kiln_left_stage left;
        kiln_left_lanes lanes;
        kiln_left_begin(arguments, {}, KILN_TILE_M, lanes);
        kiln_left_fetch_ahead(arguments, left, lanes, KILN_TILE_M, rest);
        kiln_left_store_ahead(arguments, left, rest, tile);
    }
}

/*
 * The instruction, by the public kernels that use it: groups of 16 lanes have a matrix of 16
 * columns and READ_ELEMENTS lines, each line in 16 / READ_ELEMENTS lanes. A lane gets the column of
 * its number.
 */
kiln_element element_read(unsigned lane, unsigned read, unsigned line)
{
    const unsigned column = lane % 16;
    const unsigned holder = lane / 16 * 16 + line * (16 / READ_ELEMENTS) + column / READ_ELEMENTS;
    kiln_element elements[READ_ELEMENTS];
    std::memcpy(elements, reinterpret_cast<const void *>(addresses[holder][read]), sizeof elements);
    return elements[column % READ_ELEMENTS];
}

/* Counts lanes whose bank is taken: 32 lanes are served together, from 64 banks. */
unsigned conflicts(unsigned read)
{
    unsigned found = 0;
    for (unsigned half = 0; half < 64; half += 32) {
        bool is_taken[32] = {};
        for (unsigned lane = half; lane < half + 32; lane++) {
            const unsigned at = static_cast<unsigned>(addresses[lane][read] / 8 % 32);
            found += is_taken[at];
            is_taken[at] = true;
        }
    }
    return found;
}

void check_reads(unsigned row, unsigned step, unsigned rest, unsigned (&counts)[2])
{
    for (unsigned read = 0; read < READS; read++) {
        counts[1] += conflicts(read);
        for (unsigned lane = 0; lane < 64; lane++)
            for (unsigned e = 0; e < READ_ELEMENTS; e++) {
                const unsigned pack =
                    step * KILN_MMA_GROUPS + read / 2 * KILN_MMA_LANES + lane / KILN_MMA_SIDE;
                const unsigned k = pack * KILN_PACK_ELEMENTS + read % 2 * READ_ELEMENTS + e;
                const kiln_element right =
                    k < rest ? element_of(row + lane % KILN_MMA_SIDE, k) : kiln_element(0);
                counts[0] += element_read(lane, read, e) != right;
            }
    }
}

void check_tile(unsigned rest, unsigned (&counts)[2])
{
    stage(rest);
    for (unsigned row = 0; row < KILN_TILE_M; row += KILN_MMA_SIDE)
        for (unsigned step = 0; step < KILN_ROW_PACKS / KILN_MMA_GROUPS; step++) {
            for (test_lane = 0; test_lane < 64; test_lane++) {
                kiln_fragment fragment = {};
                read_count = 0;
                kiln_load_transposed(fragment, tile, kiln_start_transposed(row, KILN_TILE_M), step,
                                     KILN_TILE_M);
            }
            check_reads(row, step, rest, counts);
        }
}

/* The right tile of attention's first product, as the second one reads it: rows are k, in the order
 * of the sums. */
void check_shared_tile(unsigned (&counts)[2])
{
    const unsigned shape = KILN_TILE_SHAPE(KILN_TILE_M / KILN_PACK_ELEMENTS, 0u);
    for (unsigned k = 0; k < KILN_TILE_K; k++)
        for (unsigned row = 0; row < KILN_TILE_M; row++) {
            kiln_pack &pack =
                tile[kiln_pack_place(kiln_chain_place(k), row / KILN_PACK_ELEMENTS, shape)];
            const kiln_element element = element_of(row, k);
            std::memcpy(reinterpret_cast<char *>(&pack) +
                            row % KILN_PACK_ELEMENTS * sizeof(kiln_element),
                        &element, sizeof element);
        }
    for (unsigned row = 0; row < KILN_TILE_M; row += KILN_MMA_SIDE)
        for (unsigned step = 0; step < KILN_ROW_PACKS / KILN_MMA_GROUPS; step++) {
            for (test_lane = 0; test_lane < 64; test_lane++) {
                kiln_fragment fragment = {};
                read_count = 0;
                kiln_load_right_transposed(fragment, tile, row, step, shape);
            }
            check_reads(row, step, KILN_WHOLE_K, counts);
        }
}

} // namespace

int main()
{
    unsigned counts[2] = {};
    check_tile(KILN_WHOLE_K, counts);
    check_tile(REST, counts);
    /* Attention stages 16 bits. */
    if (sizeof(kiln_element) == 2)
        check_shared_tile(counts);
    std::printf("%u elements wrong, %u reads meet in a bank\n", counts[0], counts[1]);
    return counts[0] != 0 || counts[1] != 0;
}
