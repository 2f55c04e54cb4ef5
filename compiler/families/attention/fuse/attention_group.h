/*
 * Groups of attention: their places, and what grouping leaves for the schedule and the emitter.
 */
#ifndef KILN_COMPILER_FAMILIES_ATTENTION_ATTENTION_GROUP_H
#define KILN_COMPILER_FAMILIES_ATTENTION_ATTENTION_GROUP_H

#include "compiler/families/contraction/fuse/contraction_group.h"

/* Places. The first product's operands are LEFT and RIGHT. ROW: once for a row of scores. */
#define KILN_PLACE_VALUE  KILN_PLACE_OWN_4 /* where the second product's other operand is staged */
#define KILN_PLACE_SCORE  KILN_PLACE_OWN_5 /* at the scores, up to the exponential's argument */
#define KILN_PLACE_WEIGHT KILN_PLACE_OWN_6 /* at the scores, from there on */
/* Operands of the other product, if there are two first products or two second products. */
#define KILN_PLACE_LEFT_1  KILN_PLACE_OWN_7
#define KILN_PLACE_RIGHT_1 KILN_PLACE_OWN_8
#define KILN_PLACE_VALUE_1 KILN_PLACE_OWN_9

/* group->family_data. The group's anchors are SCOREs, score_count of them, then the ATTENDs, if it
 * has any. */
struct kiln_attention_group {
    struct kiln_product_group products; /* comes first: contractions read it */
    uint32_t score_count;
};

static inline uint32_t kiln_group_score_count(const struct kiln_fusion_group *group)
{
    return ((const struct kiln_attention_group *)group->family_data)->score_count;
}

/* The SCORE_FOLD, or KILN_NONE; and what the nth ATTEND multiplies or the SCORE_FOLD sums. */
uint32_t kiln_group_fold(const struct kiln_ir *ir, const struct kiln_fusion_group *group);
uint32_t kiln_group_weights(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                            uint32_t nth);

#endif
