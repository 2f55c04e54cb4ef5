/*
 * A fusion group: the operations of one kernel, what it reads and writes, and why it begins where
 * it does.
 */
#ifndef KILN_COMPILER_FUSE_FUSION_GROUP_H
#define KILN_COMPILER_FUSE_FUSION_GROUP_H

#include "compiler/ir/ir.h"
#include "compiler/kernel.h"
#include "compiler/kernel_family.h"

enum kiln_boundary {
#define KILN_BOUNDARY(name, text) KILN_BOUNDARY_##name,
#include "compiler/fuse/boundary.def"
#define KILN_FAMILY(name, lower, op_class, text, reason) KILN_BOUNDARY_OF_##name,
#include "compiler/kernel_family.def"
    KILN_BOUNDARY_COUNT
};

/* KILN_BOUNDARY_OF_<name>: where no other reason applies. */
enum kiln_boundary kiln_family_boundary(enum kiln_kernel_family family);

/* The sentence of a boundary's row. Static. */
const char *kiln_boundary_text(enum kiln_boundary boundary);

/* A group's part in work that is cut into segments. */
enum kiln_group_role {
    KILN_ROLE_WHOLE,   /* it is not cut */
    KILN_ROLE_PARTIAL, /* does each segment by itself and stores accumulators */
    KILN_ROLE_COMBINE, /* reads those and yields the result */
};

/* Where in its kernel a value is evaluated, or an access made. */
enum kiln_place {
    KILN_PLACE_ELEMENT, /* at the points of the group's domain */
    KILN_PLACE_ROW,     /* once for all points along the reduced axes */
    /* A family's own, such as one for each operand that it stages: it names them in its room. */
    KILN_PLACE_OWN_0,
    KILN_PLACE_OWN_1,
    KILN_PLACE_OWN_2,
    KILN_PLACE_OWN_3,
    KILN_PLACE_OWN_4,
    KILN_PLACE_OWN_5,
    KILN_PLACE_OWN_6,
    KILN_PLACE_OWN_7,
    KILN_PLACE_OWN_8,
    KILN_PLACE_OWN_9,
    KILN_PLACE_COUNT,
};

/* The bit of a place in kiln_fusion_group.places. */
static inline uint16_t kiln_place_bit(enum kiln_place place)
{
    return (uint16_t)(1u << place);
}

/* One place in memory that a group reads or writes, seen from the group's domain. */
struct kiln_access {
    uint32_t value; /* the IR value that is loaded or stored */
    bool is_store;
    enum kiln_argument_kind kind;
    uint32_t tensor; /* graph tensor, also for workspace (the tensor whose content it is, or
                        KILN_NONE) */
    enum kiln_dtype dtype;
    uint64_t workspace_offset_bytes;
    uint32_t workspace_content; /* of the workspace: equal where accesses mean the same content */
    enum kiln_place place;
    /* In elements, one per axis of the place's domain (kiln_group_place_domain: mostly the
     * group's); 0 on axes that the tensor does not have. */
    int64_t strides[KILN_MAX_RANK];
    /* The strides of the declared tensor, in a general kernel: the order of the axes is that of
     * these. Otherwise the strides. */
    int64_t declared_strides[KILN_MAX_RANK];
    /* Neighbours along the axis that share an element of a REPEAT; 0 on other axes. */
    int64_t repeats[KILN_MAX_RANK];
    /* Stores of a smaller domain: bit i set means "only where the coordinate on axis i is 0". */
    uint32_t guard_axes;
    /*
     * Accumulators between PARTIAL and COMBINE: `value` is the operation they belong to
     * (kiln_accumulator.results[0], or [1] where that is KILN_NONE), `component` the number of the
     * accumulator's component, `segment_stride` the elements from one segment's to the next one's.
     * One access per component. Others: is_accumulator is false.
     */
    bool is_accumulator;
    uint32_t component;
    int64_t segment_stride;
};

enum { KILN_GROUP_MAX_ANCHORS = 4 };

/* Distinct elements of an access along an axis of so many points. */
int64_t kiln_access_elements_along(const struct kiln_access *access, uint32_t axis, int64_t size);

struct kiln_fusion_group {
    enum kiln_kernel_family family;
    enum kiln_group_role role;
    /* Index into ir->domains: the iteration domain; for COMBINE the domain of rows, which the
     * segments are another axis of. */
    uint32_t domain;
    uint32_t reduced_axes; /* bit per axis of the domain; 0 where the domain has none of them */
    /* PARTIAL, COMBINE: the number of segments that the reduced elements are cut into; otherwise 1.
     * The schedule decides the elements of each segment, and some may be empty. If tiles are the
     * segments, this is a guess until the group is scheduled (kiln_partition_set_segments). */
    uint32_t segment_count;
    /* Operations that the kernel evaluates, ascending IR indices; loads and stores are in
     * `accesses`. */
    uint32_t op_count;
    uint32_t *ops;
    /* Core operations that the kernel's tiles serve, in the family's order. The count is 0 for a
     * family whose kernels only walk over the domain. */
    uint32_t anchor_count;
    uint32_t anchors[KILN_GROUP_MAX_ANCHORS];
    uint16_t *places; /* per position in ops: where the value is wanted, bit per enum kiln_place.
                         NULL: everything at the elements */
    const void *family_data; /* what the family keeps of the group, or NULL */
    uint32_t access_count;
    struct kiln_access *accesses; /* loads, then stores; at most one load and one store per value,
                                     tensor and place */
    uint32_t load_count;
    enum kiln_boundary boundary; /* why this group is not part of the one before it */
    uint32_t live_registers;     /* 32-bit registers live at the worst point, for one element */
    uint32_t cost;               /* arithmetic of one element, in simple operations */
};

/* Groups never exceed these; kiln_partition splits (KILN_BOUNDARY_REGISTERS, _SIZE) where they
 * would. */
enum {
    KILN_GROUP_MAX_ACCESSES = 128,
    KILN_GROUP_MAX_OPS = 4096,
    /* For compile time: 256 double-precision tangents, cost 2048, took 4 s. No node costs more than
     * 64, so a chain of 256 stays whole. */
    KILN_GROUP_MAX_COST = 16384,
};

/* Where in group->ops a value is; KILN_NONE when the group neither evaluates nor loads it. */
uint32_t kiln_group_position(const struct kiln_fusion_group *group, uint32_t value);

/* The memory of an access: "uid 7 'scale'", "workspace at 256: uid 9 'mean'", or "workspace at 512:
 * component 1 of the accumulator of node 2 'average'". */
void kiln_access_print_name(const struct kiln_ir *ir, const struct kiln_graph *graph,
                            const struct kiln_access *access, struct kiln_buffer *buffer);

#endif
