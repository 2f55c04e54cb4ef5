/*
 * The rows that a work-group makes where groups divide the rows of a product. Tiles are counted over the groups: first tiles of rows
 * that no group has and that are zero, then the tiles of each group. The host knows how many there are at most.
 *
 * From the prelude: kiln_group_offset(arguments, group), arguments.groups and batch0, the number of experts. From group_rows.h or its
 * relatives: KILN_FILLS_BEFORE.
 */
#ifndef KILN_DEVICE_CONTRACTION_GROUPS_H
#define KILN_DEVICE_CONTRACTION_GROUPS_H

#include "device/contraction/group_starts.h"
#include "device/contraction/tile.h"

/* Offsets that are in local memory at a time. */
#define KILN_OFFSETS_AT_ONCE (KILN_LDS_PACKS * 4u)

/* The destination of a row that is not stored. */
#define KILN_NO_ROW 0xffffffffu

struct kiln_group_rows {
    unsigned first;
    unsigned count;  /* at most a tile's; 0: there is no such tile */
    unsigned expert;
    bool is_fill; /* they are zeros */
};

/* A tile is looked for in parts: number 0 is the rows before the first group, number 1 + g is group g. */
struct kiln_group_search {
    unsigned tile; /* counted from the first tile of the next part */
    unsigned first; /* row of the next part */
    bool is_found;
};

/* Takes a part that ends before row `end`. */
KILN_DEVICE void kiln_search_part(kiln_group_search &search, unsigned part, unsigned end,
                                  unsigned experts, kiln_group_rows &rows)
{
    const bool has_tiles = part != 0 || KILN_FILLS_BEFORE;
    const unsigned tiles =
        has_tiles ? (end - search.first + KILN_TILE_M - 1) / KILN_TILE_M : 0;
    if (search.tile >= tiles) {
        search.tile -= tiles;
        search.first = end;
        return;
    }
    search.is_found = true;
    rows.first = search.first + search.tile * KILN_TILE_M;
    rows.count = end - rows.first < KILN_TILE_M ? end - rows.first : KILN_TILE_M;
    rows.is_fill = part == 0;
    rows.expert = part == 0 ? 0 : (part - 1) % experts;
}

/* The rows of a tile. All work-items take part. */
KILN_DEVICE kiln_group_rows kiln_find_rows(const kiln_arguments &arguments, unsigned tile,
                                           kiln_pack *shared)
{
    const unsigned size = (unsigned)arguments.m, groups = (unsigned)arguments.groups;
    int *offsets = (int *)shared;
    kiln_group_search search = {tile, 0, false};
    kiln_group_rows rows = {0, 0, 0, false};
    KILN_NO_UNROLL
    for (unsigned base = 0; base < groups; base += KILN_OFFSETS_AT_ONCE) {
        const unsigned count =
            groups - base < KILN_OFFSETS_AT_ONCE ? groups - base : KILN_OFFSETS_AT_ONCE;
        KILN_NO_UNROLL
        for (unsigned i = kiln_work_item(); i < count; i += KILN_BLOCK)
            offsets[i] = kiln_group_offset(arguments, base + i);
        kiln_barrier();
        KILN_NO_UNROLL
        for (unsigned i = 0; i < count && !search.is_found; i++)
            kiln_search_part(search, base + i, kiln_next_start(offsets[i], search.first, size),
                             (unsigned)arguments.batch0, rows);
        kiln_barrier();
    }
    if (!search.is_found)
        kiln_search_part(search, groups, size, (unsigned)arguments.batch0, rows);
    rows.first = kiln_uniform(rows.first);
    rows.count = kiln_uniform(rows.count);
    rows.expert = kiln_uniform(rows.expert);
    return rows;
}

#endif
