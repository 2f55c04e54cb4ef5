/*
 * device/contraction/stage_ahead.h where work-items load halves or quarters of packs, or two packs
 * of a row, and where each of four waves stages a slice of k. The tile in LDS is the one that whole
 * packs are. Lanes that are served together do not meet in a bank.
 */
#include "device/host.h"

#include <cstdio>
#include <cstring>

/* Runs of 16 rows are of elements of one byte. */
#if TEST_RUN == 16
#define KILN_PACK_ELEMENTS 16
#define KILN_LEFT_PIECES   4
typedef unsigned char kiln_element;
#else
#define KILN_PACK_ELEMENTS 8
#define KILN_LEFT_PIECES   (TEST_RUN == 1 ? 1 : 2)
typedef unsigned short kiln_element;
#endif
/* Runs of one row are packs along k, in slices. */
#define TEST_WAVES (TEST_RUN == 1 ? 4 : 1)
#include "device/mma/pack.h"

/* The left operand's tile is TEST_ROWS rows; so is the right one's. */
#define KILN_BLOCK            TEST_ITEMS
#define KILN_TILE_M           TEST_ROWS
#define KILN_TILE_COLUMNS     TEST_ROWS
#define KILN_ROW_PACKS        TEST_ROW_PACKS
#define KILN_PRODUCTS         1
#define KILN_LEFT_RUN         TEST_RUN
#define KILN_RIGHT_RUN        1
#define KILN_RIGHT_PIECES     1
#define KILN_LEFT_IS_ALONG_K  (TEST_RUN == 1)
#define KILN_RIGHT_IS_ALONG_K 1

namespace {

unsigned test_item;

/* Of a row from some k on: elements that all differ, or nearly so where they are of one byte. */
struct place {
    unsigned row, k;
};

kiln_pack elements_of(unsigned row, unsigned k, unsigned count)
{
    kiln_pack pack = {};
    kiln_element elements[KILN_PACK_ELEMENTS] = {};
    for (unsigned e = 0; e < count; e++) {
        const unsigned number = row * KILN_ROW_PACKS * KILN_PACK_ELEMENTS + k + e;
        const unsigned mixed = sizeof(kiln_element) == 1 ? number * 2654435761u >> 24 : number;
        elements[e] = static_cast<kiln_element>(mixed);
    }
    std::memcpy(&pack, elements, sizeof pack);
    return pack;
}

struct kiln_arguments {};
struct kiln_left_source {};
struct kiln_right_source {};
typedef place kiln_left_inputs;
typedef place kiln_right_inputs;
typedef place kiln_left_lane;
typedef place kiln_right_lane;

#define TEST_OPERAND(side, elements)                                                               \
    void kiln_##side##_locate(const kiln_arguments &, const kiln_##side##_source &, unsigned,      \
                              unsigned, place &)                                                   \
    {                                                                                              \
    }                                                                                              \
    void kiln_##side##_keep(place &)                                                               \
    {                                                                                              \
    }                                                                                              \
    void kiln_##side##_load_at(const kiln_arguments &, const kiln_##side##_source &,               \
                               const place &, unsigned row, unsigned k, unsigned, place &inputs)   \
    {                                                                                              \
        inputs = {row, k};                                                                         \
    }                                                                                              \
    kiln_pack kiln_##side##_pack_from(const kiln_arguments &, const place &inputs, unsigned first, \
                                      unsigned, unsigned r, unsigned, unsigned)                    \
    {                                                                                              \
        return elements_of(inputs.row + r, inputs.k + first, elements);                            \
    }
enum : unsigned { kiln_left_lane_run = 1, kiln_right_lane_run = 2 };
TEST_OPERAND(left, KILN_PACK_ELEMENTS / KILN_LEFT_PIECES)
TEST_OPERAND(right, KILN_PACK_ELEMENTS)

#define KILN_STAGE_ITEM       (test_item % KILN_STAGE_ITEMS)
#define KILN_STAGE_ITEMS      (KILN_BLOCK / TEST_WAVES)
#define KILN_STAGE_PACKS      (KILN_ROW_PACKS / TEST_WAVES)
#define KILN_STAGE_FIRST_PACK (test_item / KILN_STAGE_ITEMS * KILN_STAGE_PACKS)
#include "device/contraction/make.h"
#include "device/contraction/stage_ahead.h"

enum {
    PACKS = TEST_ROWS * TEST_ROW_PACKS,
    BANKS = 32,
    PIECE_BANKS = 4 / KILN_LEFT_PIECES,
    TOGETHER = BANKS / PIECE_BANKS,
};

kiln_pack tile[2][PACKS];

unsigned wrong_elements()
{
    const kiln_arguments arguments = {};
    for (test_item = 0; test_item < TEST_ITEMS; test_item++) {
        kiln_left_stage left;
        kiln_right_stage right;
        kiln_left_lanes left_lanes;
        kiln_right_lanes right_lanes;
        kiln_left_begin(arguments, {}, TEST_ROWS, left_lanes);
        kiln_right_begin(arguments, {}, TEST_ROWS, right_lanes);
        kiln_left_fetch_ahead(arguments, left, left_lanes, TEST_ROWS, KILN_WHOLE_K);
        kiln_right_fetch_ahead(arguments, right, right_lanes, TEST_ROWS, KILN_WHOLE_K);
        /* Pieces in two steps, as between products; runs of packs at once. */
        kiln_pack packs[KILN_LEFT_PACKS];
        kiln_left_make<0, 1>(arguments, left, packs);
        kiln_left_write(packs, tile[0]);
        kiln_right_store_ahead(arguments, right, KILN_WHOLE_K, tile[1]);
    }
    unsigned wrong = 0;
    for (unsigned row = 0; row < TEST_ROWS; row++)
        for (unsigned pack = 0; pack < TEST_ROW_PACKS; pack++) {
            const kiln_pack right = elements_of(row, pack * KILN_PACK_ELEMENTS, KILN_PACK_ELEMENTS);
            const unsigned at = kiln_pack_place(row, pack, KILN_STAGED_SHAPE);
            wrong += std::memcmp(&tile[0][at], &right, sizeof right) != 0;
            wrong += std::memcmp(&tile[1][at], &right, sizeof right) != 0;
        }
    return wrong;
}

/* Lanes that all banks serve at once: 8 that store 16 bytes, 16 that store 8, or 32 that store 4. A
 * run's rows are stored one after the other. */
unsigned conflicts()
{
    unsigned found = 0;
    for (unsigned first = 0; first < TEST_ITEMS; first += TOGETHER)
        for (unsigned r = 0; r < TEST_RUN; r++) {
            bool is_taken[TOGETHER] = {};
            for (test_item = first; test_item < first + TOGETHER; test_item++) {
                const kiln_part_of_tile unit = kiln_locate_unit_of_turn(
                    0, TEST_RUN, KILN_LEFT_IS_ALONG_K, TEST_ROWS, KILN_LEFT_PIECES, 1);
                const unsigned at =
                    kiln_part_place(unit, 0, TEST_ROWS, r, 0) * KILN_LEFT_PIECES + unit.piece;
                found += is_taken[at % TOGETHER];
                is_taken[at % TOGETHER] = true;
            }
        }
    return found;
}

/* Of eight lanes that read the same pack of eight rows. */
unsigned read_conflicts()
{
    unsigned found = 0;
    for (unsigned row = 0; row < TEST_ROWS; row += 8)
        for (unsigned pack = 0; pack < TEST_ROW_PACKS; pack++) {
            bool is_taken[8] = {};
            for (unsigned lane = 0; lane < 8; lane++) {
                const unsigned at = kiln_pack_place(row + lane, pack, KILN_STAGED_SHAPE) % 8;
                found += is_taken[at];
                is_taken[at] = true;
            }
        }
    return found;
}

} // namespace

int main()
{
    const unsigned counts[] = {wrong_elements(), conflicts(), read_conflicts()};
    std::printf("%u packs wrong, %u stores and %u reads meet in a bank\n", counts[0], counts[1],
                counts[2]);
    return counts[0] != 0 || counts[1] != 0 || counts[2] != 0;
}
