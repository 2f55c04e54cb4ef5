/*
 * What the schedules of all templates ask about accesses: how much they move, how wide a vector
 * they allow, how it must be aligned.
 */
#ifndef KILN_COMPILER_SCHEDULE_VECTOR_ACCESS_H
#define KILN_COMPILER_SCHEDULE_VECTOR_ACCESS_H

#include "compiler/schedule/schedule.h"

enum {
    KILN_ACCESS_BYTES = 16,     /* the widest access of a work-item on a GPU */
    KILN_MAX_ACCESS_BYTES = 32, /* of elements wider than the narrowest ones, in several accesses */
    /* Code grows with cost x vector x unroll; beyond this a kernel computes more than it moves and
     * gains nothing from being wider. */
    KILN_MAX_UNROLLED_COST = 2048,
    KILN_BLOCK = 256, /* work-items of a work-group where nothing asks for another number */
};

/* The largest power of two not above `value`, at least 1 and at most 2^30. */
uint32_t kiln_floor_power_of_two(uint64_t value);
/* The smallest power of two not below `value`, at most 2^30. */
uint32_t kiln_ceil_power_of_two(uint64_t value);

/* `vector`, or the longest power of two below it whose vectors do not cross a short last block's
 * end. */
uint32_t kiln_vector_within_end(const struct kiln_schedule *schedule, uint32_t vector);

/* Bytes of the distinct elements of an access over the collapsed domain and all segments. */
uint64_t kiln_scheduled_access_bytes(const struct kiln_fusion_group *group,
                                     const struct kiln_schedule *schedule, uint32_t access);

/* The weight of an access within its kernel: its bytes. If sizes are arguments, the weight does not
 * depend on them, so all sizes have the same kernel. */
uint64_t kiln_access_weight(const struct kiln_fusion_group *group,
                            const struct kiln_schedule *schedule, uint32_t access);
uint64_t kiln_heaviest_access(const struct kiln_fusion_group *group,
                              const struct kiln_schedule *schedule);
/* True if an access is worth shaping the schedule for: at least a quarter of the heaviest one. */
bool kiln_access_is_heavy(const struct kiln_fusion_group *group,
                          const struct kiln_schedule *schedule, uint32_t access, uint64_t heaviest);

/* Bytes of the narrowest and the widest element among the heavy accesses for which is_dense is
 * true; 0 and 0 when there is none. */
void kiln_dense_element_bytes(const struct kiln_fusion_group *group,
                              const struct kiln_schedule *schedule, const bool *is_dense,
                              uint32_t *ret_narrowest, uint32_t *ret_widest);

/* The alignment, in bytes, at which the target makes an access of a vector as it is. */
uint32_t kiln_vector_alignment(const struct kiln_target *target, enum kiln_dtype dtype,
                               uint32_t vector_elems);

/* Bytes that an access of a vector of packed elements takes at once: 1, 2, 4, 8 or 16. The vector
 * is whole bytes. */
uint32_t kiln_packed_access_bytes(enum kiln_dtype dtype, uint32_t vector_elems);

/* True if an access that is dense along a collapsed axis can be done in vectors along it. Only
 * vectors of packed elements cannot start anywhere: they take whole bytes. */
bool kiln_vector_is_possible(const struct kiln_schedule *schedule,
                             const struct kiln_fusion_group *group, uint32_t access, uint32_t axis);
/* True if all vectors of such an access, of elements of whole bytes, have the alignment that
 * kiln_vector_alignment says. */
bool kiln_vector_is_aligned(const struct kiln_graph *graph, const struct kiln_target *target,
                            const struct kiln_schedule *schedule,
                            const struct kiln_fusion_group *group, uint32_t access, uint32_t axis);
/* Makes an access VECTOR along a collapsed axis, and sets the alignment of its pointer: a vector's,
 * or an element's if vectors may start anywhere. */
void kiln_set_vector_access(const struct kiln_graph *graph, const struct kiln_target *target,
                            struct kiln_schedule *schedule, const struct kiln_fusion_group *group,
                            uint32_t access, uint32_t axis);
/* True if the kernel needs device/unaligned.h for the vectors of an access. */
bool kiln_access_is_unaligned(const struct kiln_fusion_group *group,
                              const struct kiln_target *target,
                              const struct kiln_schedule *schedule, uint32_t access);

#endif
