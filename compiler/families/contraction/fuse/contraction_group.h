/*
 * Groups of products: the data that grouping hands to the schedule and the emitter. Attention uses
 * it too, for its two kinds of products.
 */
#ifndef KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_GROUP_H
#define KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_GROUP_H

#include "compiler/fuse/fusion_group.h"

/* Places of a product's kernel; attention has more (attention_group.h). */
#define KILN_PLACE_LEFT   KILN_PLACE_OWN_0 /* where the left operand is staged */
#define KILN_PLACE_RIGHT  KILN_PLACE_OWN_1 /* and the right one */
#define KILN_PLACE_SECOND KILN_PLACE_OWN_2 /* and what a second product has instead of one */
#define KILN_PLACE_SUM    KILN_PLACE_OWN_3 /* once for all of k, of a row of a summed operand */

/* Loads that divide products into groups (enum kiln_routing): places of operands 2 to 4. */
#define KILN_PLACE_OFFSETS KILN_PLACE_OWN_4
#define KILN_PLACE_INDEX   KILN_PLACE_OWN_5
#define KILN_PLACE_KS      KILN_PLACE_OWN_6

enum {
    KILN_GROUP_MAX_PRODUCTS = 2, /* of each kind: CONTRACT, or SCORE and ATTEND */
    /* A load that several places want counted once: each may bring eight strides as arguments of
     * its kernel, and launches take 4096 bytes of arguments at least. */
    KILN_CONTRACTION_MAX_ACCESSES = 40,
};

/* group->family_data. The group's anchors are its CONTRACTs, ascending: one, or two that have the
 * same axes and an operand in common. */
struct kiln_product_group {
    uint32_t operands[KILN_PLACE_COUNT]; /* the value that a place stages, or KILN_NONE */
    uint32_t between_count;
    const struct kiln_between *betweens; /* contraction_grouping.h: of these products */
};

/* The operand that a group's two CONTRACTs share, LEFT or RIGHT; KILN_PLACE_COUNT if the group has
 * one CONTRACT only. */
enum kiln_place kiln_group_shared_place(const struct kiln_ir *ir,
                                        const struct kiln_fusion_group *group);

/* How the group's products are divided into groups of rows or of k. */
enum kiln_routing kiln_group_routing(const struct kiln_ir *ir,
                                     const struct kiln_fusion_group *group);
/* True for the places of offsets and indices. */
bool kiln_place_routes(enum kiln_place place);

/* The operand that a place stages; KILN_NONE where it stages none. */
uint32_t kiln_group_operand(const struct kiln_fusion_group *group, enum kiln_place place);

/* The REDUCE that sums one of the CONTRACT's operands over k, and which operand, LEFT or RIGHT;
 * KILN_NONE and KILN_PLACE_COUNT where there is none. */
uint32_t kiln_group_operand_sum(const struct kiln_ir *ir, const struct kiln_fusion_group *group);
enum kiln_place kiln_group_summed_place(const struct kiln_ir *ir,
                                        const struct kiln_fusion_group *group);

/*
 * Three kinds of kernels that yield more than, or other than, their result's elements. At most one
 * is true.
 *
 *   statistics  it reduces the elements of each tile along some axes and stores the accumulators
 *   whole rows  it reduces them along an axis that a tile has all of
 *   cuts k      it does each segment of k by itself and stores the sums
 */
bool kiln_group_has_statistics(const struct kiln_fusion_group *group);
bool kiln_group_has_whole_rows(const struct kiln_fusion_group *group);
bool kiln_group_cuts_k(const struct kiln_fusion_group *group);

/* Whole rows may be blocks of rows: the axis of m or n that is reduced is the inner one of two
 * (kiln_contraction_split), and a tile has several blocks of each row. Returns the elements of a
 * block; 0 if the kernel has none. */
uint32_t kiln_group_block(const struct kiln_ir *ir, const struct kiln_fusion_group *group);

/* The elements that fill whole bytes of the packed tensor that the kernel stores; otherwise 1. */
uint32_t kiln_group_packed_unit(const struct kiln_fusion_group *group);

static inline bool kiln_op_is_contraction(const struct kiln_op *op)
{
    return kiln_opcode_info(op->opcode)->op_class == KILN_OP_CLASS_CONTRACT;
}

#endif
