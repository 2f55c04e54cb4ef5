/*
 * The access map: says which element of an operand belongs to a point of an iteration space.
 *
 * A point has one index per iteration axis. An axis goes along one axis of the operand, or along
 * none: then the operand is the same for all of its indices. Several may go along the same axis of
 * the operand. The coordinate there is
 *
 *   coordinate = (offset + sum over the axes that go along it of (index / repeat) * step) / divisor
 *
 * where index / repeat rounds down. `repeat` neighbouring indices share an element: a broadcast
 * batch, the query heads of one key head, a block of quantised values.
 *
 * Offset and divisor belong to a window, which an axis of the operand may have. Only coordinates of
 * a window may fall outside the operand, or between two elements of it if the divisor is above 1.
 * The operand has padding there: the element does not exist, and the operation that reads it has
 * another one instead (a sum adds nothing, a maximum is not raised or is at least 0). Without a
 * window the offset is 0, the divisor is 1, and every coordinate must exist.
 *
 *   matrix product, left operand [m, k]   m: 1 (step 1), n: none, k: 0 (step 1)
 *   grouped heads, key [heads, ...]       batch: 2 (step 1, repeat: query heads per key head)
 *   convolution, image [.., pixels]       pixel: 0 (step: stride), tap: 0 (step: dilation),
 *                                         window over 0 (offset: -padding)
 *   its data gradient, result's gradient  pixel: 0 (step 1), tap: 0 (step: -dilation),
 *                                         window over 0 (offset: padding, divisor: stride)
 *   pooling, image                        as for a convolution
 *   its gradient, result's gradient       as for a convolution's data gradient
 *
 * Iteration axes are numbered by the operation that has the map: a CONTRACT by its array of axes, a
 * REDUCE from the right of the domain it iterates over. Axes of operands count from the right, as
 * domains align: 0 is the last one. An operand whose domain does not reach an axis has size 1
 * there.
 */
#ifndef KILN_COMPILER_IR_MAP_H
#define KILN_COMPILER_IR_MAP_H

#include "compiler/graph/graph.h"
#include "runtime/support/buffer.h"

enum {
    /* Iteration axes: a matrix product's result of eight axes, and k; a convolution's groups,
     * images, channels of both kinds, and three axes of pixels and of taps. */
    KILN_MAP_MAX_AXES = 10,
    KILN_MAP_MAX_WINDOWS = KILN_MAX_SPATIAL_AXES,
    KILN_NO_AXIS = 0xff,
};

/* A size or a stride: a constant, or an argument of the kernel. Zero bytes are the constant 0. */
struct kiln_number {
    int64_t value; /* of an argument: for the shapes that the map was made for */
    /* 0: a constant. Otherwise 1 + the index of the argument that holds it. */
    uint32_t argument;
};

/* One iteration axis's part of a coordinate. */
struct kiln_map_axis {
    uint8_t along; /* axis of the operand; KILN_NO_AXIS: none, with repeat 1 and step 1 */
    struct kiln_number
        repeat;              /* positive, divides the axis's size unless the last run is shorter */
    struct kiln_number step; /* positive without a window, not 0 with one */
};

struct kiln_map_window {
    uint8_t over;            /* axis of the operand */
    struct kiln_number size; /* of that axis */
    struct kiln_number offset;
    struct kiln_number divisor; /* positive */
};

struct kiln_map {
    uint32_t axis_count;
    struct kiln_map_axis axes[KILN_MAP_MAX_AXES];
    uint32_t window_count;
    struct kiln_map_window windows[KILN_MAP_MAX_WINDOWS]; /* no two over one axis */
};

/* The iteration space and the operand that a map has to fit. All pointers are borrowed. */
struct kiln_map_setting {
    const char *name;        /* begins each sentence: the tensor or operand */
    const int64_t *sizes;    /* of the iteration axes, which are positive */
    uint32_t axis_count;     /* how many */
    const int64_t *dims;     /* of the operand, outermost first */
    uint32_t rank;           /* how many */
    uint32_t argument_count; /* of the kernel; 0 in the IR, where every number is a constant */
    bool is_result;          /* the map must name every element exactly once */
    bool may_be_ragged;      /* a repeat need not divide the axis's size */
};

struct kiln_number kiln_constant_number(int64_t value);

/* An axis that goes along an axis of the operand, every index to the next element. */
struct kiln_map_axis kiln_map_axis_along(uint8_t along);
/* An axis that the operand does not vary along. */
struct kiln_map_axis kiln_map_axis_nowhere(void);

/* The window over an axis of the operand; NULL where there is none. Borrowed. */
const struct kiln_map_window *kiln_map_window_over(const struct kiln_map *map, uint8_t axis);

/* True if some window has a divisor above 1. */
bool kiln_map_has_divisor(const struct kiln_map *map);

/* The coordinate of a point along an axis of the operand; false where it has none, in padding.
 * `point` has an index for each axis of a valid map. */
bool kiln_map_locate(const struct kiln_map *map, const int64_t *point, uint8_t axis,
                     int64_t *ret_coordinate);

bool kiln_map_is_equal(const struct kiln_map *a, const struct kiln_map *b);

/* Every fault of a map, one sentence per line, appended to `faults`; returns how many. Trusts
 * nothing in the map. */
uint32_t kiln_map_validate(const struct kiln_map *map, const struct kiln_map_setting *setting,
                           struct kiln_buffer *faults);

/*
 * "[2/3, 1*2, -] window 1 of 56 from -3 by 2": for each iteration axis the axis it goes along, its
 * repeat and its step, unless they are 1; then the windows, "by" their divisor. An argument is "$"
 * and its index. Deterministic.
 */
void kiln_map_print(const struct kiln_map *map, struct kiln_buffer *buffer);

#endif
