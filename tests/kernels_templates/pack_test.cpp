/*
 * device/mma/pack.h: each pack of a tile has a place of its own, which the fragments' loads find,
 * and lanes that are served together do not meet in a bank, neither eight that store rows a run
 * apart nor eight that read neighbouring ones.
 */
#include "device/host.h"

#include <cstdio>
#include <initializer_list>

#define KILN_PACK_ELEMENTS 8
typedef unsigned short kiln_element;
#include "device/mma/pack.h"

namespace {

enum { ROWS = 128, MOST_PACKS = 32, TOGETHER = 8 };

/* attention.hip's: 3 for runs up to four rows, 0 for operands along k. */
unsigned crossing;

unsigned shape_of(unsigned row_packs)
{
    return KILN_TILE_SHAPE(row_packs, crossing);
}

unsigned shared_places(unsigned row_packs)
{
    static bool is_taken[ROWS * MOST_PACKS];
    const unsigned packs = ROWS * row_packs;
    unsigned found = 0;
    for (unsigned at = 0; at < packs; at++)
        is_taken[at] = false;
    for (unsigned index = 0; index < packs; index++) {
        const unsigned at =
            kiln_pack_place(index / row_packs, index % row_packs, shape_of(row_packs));
        found += at >= packs || is_taken[at];
        if (at < packs)
            is_taken[at] = true;
    }
    return found;
}

/* Of fragments of so many rows and of k so many packs. */
unsigned wrong_lanes(unsigned row_packs, unsigned rows, unsigned groups)
{
    const unsigned shape = shape_of(row_packs);
    unsigned wrong = 0;
    for (unsigned row = 0; row < ROWS; row++)
        for (unsigned pack = 0; pack < row_packs / groups * groups; pack++) {
            const unsigned first_row = row / rows * rows, first_pack = pack / groups * groups;
            const unsigned at =
                kiln_lane_place(first_row, row % rows, first_pack, pack % groups, shape) +
                kiln_lane_offset(first_row, first_pack, shape);
            wrong += at != kiln_pack_place(row, pack, shape);
        }
    return wrong;
}

unsigned conflicts(unsigned row_packs, unsigned run)
{
    unsigned found = 0;
    for (unsigned row = 0; row < ROWS; row++) {
        const unsigned first = row / (TOGETHER * run) * (TOGETHER * run) + row % run;
        for (unsigned pack = 0; pack < row_packs; pack++) {
            bool is_taken[TOGETHER] = {};
            for (unsigned lane = 0; lane < TOGETHER; lane++) {
                const unsigned at =
                    kiln_pack_place(first + lane * run, pack, shape_of(row_packs)) % TOGETHER;
                found += is_taken[at];
                is_taken[at] = true;
            }
        }
    }
    return found;
}

/* gfx950 serves 16 lanes together, from 64 banks. A pack of `side` neighbouring rows is read, then
 * the next one. */
unsigned wide_conflicts(unsigned row_packs, unsigned side)
{
    static const unsigned lanes[2][16] = {
        {0, 1, 2, 3, 12, 13, 14, 15, 20, 21, 22, 23, 24, 25, 26, 27},
        {4, 5, 6, 7, 8, 9, 10, 11, 16, 17, 18, 19, 28, 29, 30, 31}};
    unsigned found = 0;
    for (unsigned first = 0; first < ROWS; first += side)
        for (unsigned pack = 0; pack < row_packs; pack += 32 / side)
            for (const auto &together : lanes) {
                bool is_taken[16] = {};
                for (unsigned lane : together) {
                    const unsigned at = kiln_pack_place(first + lane % side, pack + lane / side,
                                                        shape_of(row_packs)) %
                                        16;
                    found += is_taken[at];
                    is_taken[at] = true;
                }
            }
    return found;
}

} // namespace

int main()
{
    unsigned failures = 0;
#if KILN_HAS_64_BANKS
    for (unsigned row_packs : {8u, 16u, 32u}) {
        const unsigned wrong = shared_places(row_packs) + wrong_lanes(row_packs, 32, 2) +
                               wrong_lanes(row_packs, 16, 4) + wide_conflicts(row_packs, 32) +
                               wide_conflicts(row_packs, 16);
        if (wrong != 0)
            std::printf("rows of %u packs along k: %u faults\n", row_packs, wrong);
        failures += wrong;
    }
#else
    (void)wide_conflicts;
#endif
    crossing = 3;
    for (unsigned row_packs : {1u, 2u, 4u, 6u, 8u, 12u, 16u, 32u}) {
        const unsigned shared = shared_places(row_packs);
        const unsigned wrong = wrong_lanes(row_packs, 16, 1) + wrong_lanes(row_packs, 16, 2) +
                               wrong_lanes(row_packs, 32, 2);
        /* Rows of other numbers of packs have no such order. */
        const bool is_power = (row_packs & (row_packs - 1)) == 0;
        const unsigned met =
            is_power ? conflicts(row_packs, 1) + conflicts(row_packs, 2) + conflicts(row_packs, 4)
                     : 0;
        if (shared != 0 || wrong != 0 || met != 0)
            std::printf("rows of %u packs: %u places shared, %u not found, %u lanes in one bank\n",
                        row_packs, shared, wrong, met);
        failures += shared + wrong + met;
    }
    return failures != 0;
}
