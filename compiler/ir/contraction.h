/*
 * The iteration space of a CONTRACT: sums of products of two operands along the axes that both have
 * and the result has not.
 *
 *   result[batch, m, n] = sum over k of left[batch, m, k] * right[batch, k, n]
 *
 * Each of batch, m, n and k may be several axes, or none. Three maps (map.h) say where the elements
 * of the operands and of the result are. Neighbouring batches may share elements of an operand, and
 * several axes may go along one axis of an operand or of the result. A grouped convolution has two
 * axes along its channels: one counts groups, the other the channels of a group. An axis of pixels,
 * in m, and one of taps, in k, go along the same axis of the image through a window. In padding
 * products count as zero.
 */
#ifndef KILN_COMPILER_IR_CONTRACTION_H
#define KILN_COMPILER_IR_CONTRACTION_H

#include "compiler/ir/map.h"

enum kiln_axis_role {
    KILN_AXIS_BATCH, /* in the result; an operand may have it, shorter by a whole factor, or not */
    KILN_AXIS_M,     /* in the left operand and the result */
    KILN_AXIS_N,     /* in the right operand and the result */
    KILN_AXIS_K,     /* in both operands, summed over */
    KILN_AXIS_GROUP, /* in the right operand only: its index is the number of the row's group,
                        modulo the axis's size. One of a grouped product, none otherwise */
    KILN_AXIS_ROLE_COUNT,
};

enum kiln_contract_operand {
    KILN_CONTRACT_LEFT,
    KILN_CONTRACT_RIGHT,
    KILN_CONTRACT_RESULT,
    KILN_CONTRACT_OPERAND_COUNT,
};

/*
 * The way that data divides a grouped product of a mixture of experts (struct
 * kiln_grouped_matmul in graph.h has its definition). The operation has more operands then, all of
 * them LOADs: the first row of each group, and one or two numbers for each row.
 */
enum kiln_routing {
    KILN_ROUTING_NONE,
    KILN_ROUTING_ROWS,    /* groups of rows m, each with its own index along the group axis */
    KILN_ROUTING_GATHER,  /* the same; row m reads the left operand's row of its number */
    KILN_ROUTING_SCATTER, /* the same; row m makes the result's row number * top_k + ks */
    KILN_ROUTING_SUMS,    /* groups of k: batch g sums the k of group g */
};

enum {
    KILN_CONTRACTION_MAX_AXES = KILN_MAP_MAX_AXES,
    /* Of one role: images and three axes of pixels, or channels and three of taps. Batches of a
     * product are what rows and columns leave of eight axes. */
    KILN_CONTRACTION_MAX_ROLE_AXES = 4,
    KILN_CONTRACTION_MAX_BATCH_AXES = KILN_MAX_RANK - 2,
    /* Sums in a row of a result that is reduced along n, so that one tile has all of it. Half as
     * many of 8 bytes. */
    KILN_CONTRACTION_MAX_ROW = 1024,
    KILN_ATTENTION_MAX_ROW = 256, /* elements in a row of queries, keys, values or the result */
};

struct kiln_contraction {
    uint32_t axis_count;
    enum kiln_axis_role roles[KILN_CONTRACTION_MAX_AXES];
    int64_t sizes[KILN_CONTRACTION_MAX_AXES];
    struct kiln_map maps[KILN_CONTRACT_OPERAND_COUNT];
    /* LEFT or RIGHT: the operand along which pixels and taps meet, the only one that may have
     * windows. It has none if no tap leaves it. LEFT for a matrix product. */
    enum kiln_contract_operand image;
    enum kiln_routing routing;
    int64_t top_k; /* KILN_ROUTING_SCATTER; otherwise 0 */
};

/* One axis, with its part of each map. */
struct kiln_contraction_axis {
    enum kiln_axis_role role;
    int64_t size;
    struct kiln_map_axis of[KILN_CONTRACT_OPERAND_COUNT];
};

struct kiln_contraction_axis kiln_contraction_axis_at(const struct kiln_contraction *contraction,
                                                      uint32_t index);

/* Appends an axis; there is room for it. */
void kiln_contraction_append(struct kiln_contraction *contraction, enum kiln_axis_role role,
                             int64_t size, struct kiln_map_axis left, struct kiln_map_axis right,
                             struct kiln_map_axis result);

/* The product of the sizes of all axes of a role: 1 where there are none. */
int64_t kiln_contraction_size(const struct kiln_contraction *contraction, enum kiln_axis_role role);

/* The only axis of a role; false where there are none or several. */
bool kiln_contraction_only_axis(const struct kiln_contraction *contraction,
                                enum kiln_axis_role role, struct kiln_contraction_axis *ret_axis);

/* True if rows m are divided into groups; gaps between groups are rows of zeros. */
bool kiln_routing_has_rows(enum kiln_routing routing);

/* The map of the image. Borrowed. */
const struct kiln_map *kiln_contraction_image(const struct kiln_contraction *contraction);

/* The same products with the operands in the other order. Groups of rows cannot be swapped. */
struct kiln_contraction kiln_contraction_swap(const struct kiln_contraction *contraction);

/* Splits an axis of the result, counted from the right, into blocks of `size`: two axes of m or n
 * instead of one. False if other axes go along it too, or a window does. */
bool kiln_contraction_split(const struct kiln_contraction *contraction, uint8_t axis, int64_t size,
                            struct kiln_contraction *ret_split);
/* The inverse question: if an axis of the result is the inner one of two that count one axis of an
 * operand, its size and role. Otherwise 0. */
int64_t kiln_contraction_block(const struct kiln_contraction *contraction, uint8_t axis,
                               enum kiln_axis_role *ret_role);

bool kiln_contraction_is_equal(const struct kiln_contraction *a, const struct kiln_contraction *b);

/* True if this is the weight gradient of a depthwise convolution with the image as its left
 * operand: groups are batches, m is taps of the one channel that a group has, k are images and
 * pixels. */
bool kiln_contraction_is_depthwise_gradient(const struct kiln_contraction *contraction);

/* The operands and the result that a contraction has to fit, by kiln_contract_operand. Borrowed. */
struct kiln_contraction_setting {
    const char *names[KILN_CONTRACT_OPERAND_COUNT]; /* begin sentences about operands */
    const int64_t *dims[KILN_CONTRACT_OPERAND_COUNT];
    uint32_t ranks[KILN_CONTRACT_OPERAND_COUNT];
};

/* Every fault, one sentence per line, appended to `faults`; returns how many. Sentences about axes
 * begin with the result's name. Trusts nothing in the contraction. */
uint32_t kiln_contraction_validate(const struct kiln_contraction *contraction,
                                   const struct kiln_contraction_setting *setting,
                                   struct kiln_buffer *faults);

/* "b6 m4 n5 k3 left [2/3, 1, -, 0] right [2, -, 0, 1] result [2, 1, 0, -]": roles and sizes of the
 * axes, then the maps. */
void kiln_contraction_print_maps(const struct kiln_contraction *contraction,
                                 struct kiln_buffer *buffer);

#endif
