/*
 * Strips: the direct form of a contraction whose rows are pixels of an image, where a work-item
 * computes neighbouring pixels of a line, so that what it loads of the image is used for several
 * taps and pixels. For windows with few taps along lines, without dilation along them.
 */
#ifndef KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_STRIPS_H
#define KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_STRIPS_H

#include "compiler/families/contraction/schedule/contraction_schedule.h"

/* True if the axes of a direct contraction allow strips: its pipeline becomes STRIPS, with taps and
 * step. is_left_shared as for kiln_choose_direct_tile. */
bool kiln_find_strips(bool is_left_shared, struct kiln_contraction_schedule *contraction);

/* Chooses the tile and the other numbers of the pipeline but `lines`. Returns how many tiles it has
 * compared: a few thousand at most, whatever the sizes. */
uint32_t kiln_choose_strip_tile(const struct kiln_target *target,
                                const struct kiln_register_limits *limits,
                                struct kiln_contraction_schedule *contraction);

/* How many there are, all together if nothing else is said. */
struct kiln_strip_counts {
    int64_t line; /* pixels of the result's line */
    int64_t lines;
    int64_t strips;       /* of a line */
    int64_t tile_lines;   /* lines of a work-group */
    int64_t line_tiles;   /* work-groups that share a line's pixels */
    int64_t column_tiles; /* work-groups that share a pixel's columns */
    int64_t tiles;        /* work-groups */
};

struct kiln_strip_counts kiln_count_strips(const struct kiln_contraction_schedule *contraction);

#endif
