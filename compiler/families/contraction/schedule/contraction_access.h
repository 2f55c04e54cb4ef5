/*
 * How the accesses of a contraction's group walk along the axes of its CONTRACT.
 */
#ifndef KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_ACCESS_H
#define KILN_COMPILER_FAMILIES_CONTRACTION_CONTRACTION_ACCESS_H

#include "compiler/families/contraction/schedule/contraction_schedule.h"

struct kiln_contraction_problem {
    const struct kiln_ir *ir;
    const struct kiln_graph *graph;
    const struct kiln_fusion_group *group;
    const struct kiln_target *target;
    const struct kiln_op *op; /* the first CONTRACT; the second has its axes and types */
    const struct kiln_contraction *axes;
    struct kiln_schedule *schedule;
    struct kiln_contraction_schedule *contraction;
    bool joins_packs; /* packs along k may begin anywhere where the target needs alignment: the
                         template joins them from aligned words */
};

/* What a place's values are in the CONTRACT. */
enum kiln_contract_operand kiln_contract_operand_of(const struct kiln_contraction_problem *problem,
                                                    enum kiln_place place);

/* The stride of an access, in elements, along an axis of its domain, counted from the right. */
int64_t kiln_stride_of_axis(const struct kiln_contraction_problem *problem,
                            const struct kiln_access *access, uint8_t from_right);
/* Neighbours along an axis of the contraction that share an element of an operand's access; 0: none
 * do. */
int64_t kiln_repeat_along(const struct kiln_contraction_problem *problem,
                          const struct kiln_access *access,
                          const struct kiln_contraction_axis *axis);
/* True if an access has packed elements, or blocks that share an element. */
bool kiln_access_has_blocks(const struct kiln_contraction_schedule *contraction,
                            const struct kiln_fusion_group *group, uint32_t access);
/* Elements from an index on an axis of the contraction to the next one. */
int64_t kiln_stride_along(const struct kiln_contraction_problem *problem,
                          const struct kiln_access *access,
                          const struct kiln_contraction_axis *axis);

/* Elements of the result: of operands, no. */
bool kiln_is_access_of_result(const struct kiln_access *access);

/* The heaviest access of a place, in bytes; KILN_NONE when there is none. */
uint32_t kiln_contraction_heaviest(const struct kiln_contraction_problem *problem,
                                   enum kiln_place place, bool is_store);

/* Bytes of an element of the heaviest access; 1 when there is none. */
uint32_t kiln_heaviest_bytes(const struct kiln_contraction_problem *problem, enum kiln_place place,
                             bool is_store);

/* The result's memory runs along m rather than n, or what is reduced does; two products are laid
 * out by what they share. */
bool kiln_contraction_is_transposed(const struct kiln_contraction_problem *problem);

#endif
