/*
 * The passes of a reduction group: how often its kernel walks over the elements of a row, what it
 * accumulates on each walk and what it knows by then.
 *
 * A reduction whose operand depends on no other reduction of the group is accumulated in pass 0,
 * one whose operand depends on that in pass 1, and so on. A store of an element value happens in
 * the first pass in which the value is known; that may be one more pass than there are to
 * accumulate in.
 */
#ifndef KILN_COMPILER_FAMILIES_REDUCTION_REDUCTION_PASSES_H
#define KILN_COMPILER_FAMILIES_REDUCTION_REDUCTION_PASSES_H

#include "compiler/fuse/accumulator.h"
#include "compiler/fuse/fusion_group.h"

/* State that a walk over a row carries along. */
struct kiln_accumulator {
    enum kiln_accumulator_kind kind;
    enum kiln_scalar scalar;
    uint32_t operand; /* the value that is reduced */
    /* REDUCE operations that it yields. MOMENTS: the mean and the squares, either may be KILN_NONE;
     * others: [1] is KILN_NONE. */
    uint32_t results[2];
    uint32_t pass;
};

/* Memory belongs to the arena. */
struct kiln_reduction_passes {
    uint32_t pass_count; /* walks over the elements, at least 1 */
    uint32_t accumulator_count;
    struct kiln_accumulator *accumulators; /* ascending in pass, then in operand */
    /*
     * Per position in group->ops. pass[i]: the first pass in which the value is known; a row value
     * with pass[i] = p > 0 is known once the accumulators of pass p - 1 are complete.
     * place[i]: ROW where the value does not vary along the reduced axes: a load that has no stride
     * there, an INDEX along another axis, the result of a REDUCE, and what is computed from such
     * values alone (through a BROADCAST too); of COMBINE every value. Else ELEMENT.
     */
    uint32_t *pass;
    enum kiln_place *place;
};

/* Where an access of a reduction group is made: ROW when it has no stride along the reduced axes,
 * else ELEMENT, even a store of a row value. Accumulators: PARTIAL stores them once per row and
 * segment, in COMBINE they are the elements. */
enum kiln_place kiln_reduction_access_place(const struct kiln_fusion_group *group,
                                            const struct kiln_access *access);

/* The passes of a reduction group, whose accesses know their places. */
enum kiln_status kiln_reduction_passes(const struct kiln_ir *ir,
                                       const struct kiln_fusion_group *group,
                                       struct kiln_arena *arena,
                                       struct kiln_reduction_passes *ret_passes,
                                       struct kiln_error *error) KILN_NODISCARD;

/* Tells if pass `pass` evaluates the element value at position `index` of group->ops: a store or an
 * accumulator of that pass needs it. Fills ret_needed[group->op_count] for all positions. Row
 * values are never needed in this sense: each is evaluated once, when it is known. */
void kiln_reduction_pass_values(const struct kiln_ir *ir, const struct kiln_fusion_group *group,
                                const struct kiln_reduction_passes *passes, uint32_t pass,
                                bool *ret_needed);

#endif
